"""One running search: from plans to events, with counts and notices on the way."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, run_in_thread, run_with_deadline
from sourcelight.core.completeness import limits
from sourcelight.core.errors import Cancelled
from sourcelight.core.query import Query
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest, display_limit, match_limit
from sourcelight.engines.execution import notices
from sourcelight.engines.execution import protocol as limit_items
from sourcelight.engines.execution.background import WAIT_S, under_way
from sourcelight.engines.execution.commits.search import CommitSearch, history_of
from sourcelight.engines.execution.pipeline import ResultPipeline, limit_of
from sourcelight.engines.execution.plan import (
    NO_PLANS,
    CachedPlan,
    Plan,
    PlanSummary,
    make_plan,
    stands,
    summary_of,
    takes_a_moment,
    unmade_plan,
)
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.execution.scope.revisions import ScopedAlternative
from sourcelight.engines.execution.scope.scope import Scope, ScopeResolver
from sourcelight.engines.search import SearchPart
from sourcelight.engines.search.model import add_maximum
from sourcelight.repos import Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.engines.execution.local import LocalEngine

PROGRESS_EVERY_S = 0.1


@dataclass(slots=True)
class SearchExecution:
    """One search under way."""

    engine: LocalEngine
    query: Query
    scoped: Sequence[ScopedAlternative]
    request: SearchRequest
    viewer: Viewer
    cancellation: Cancellation
    started: float
    tally: Tally = field(default_factory=Tally)
    shown: int = 0
    limit_hit: bool = False
    done: Counter[str] = field(default_factory=Counter)
    name_only: dict[str, dict[str, int]] = field(default_factory=dict)
    missing: dict[str, tuple[str, ...]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    introduced: set[str] = field(default_factory=set)
    summary: PlanSummary = NO_PLANS
    standing: CachedPlan | None = None
    last_progress: float = 0.0
    gathering: ResultPipeline | None = None
    read_s: float = 0.0
    raw: bool = False
    pending: frozenset[str] = frozenset()
    histories: CommitSearch = field(init=False)

    def __post_init__(self) -> None:
        self.histories = CommitSearch(self.engine.history, self.cancellation, self.request.diff_previews)

    def events(self) -> Generator[Event, None, None]:
        """Events in the order of the wire: matches and progress, the final filters and progress, an alert, done."""
        engine = self.engine
        for item in engine.indexing.wait(self.cancellation):
            yield self._progress(done=False, skipped=(item,))
        engine.refresh(self.cancellation)
        limit = self._limit()
        allowed_s = self._allowed_s()
        self.cancellation.limit(None if allowed_s is None else allowed_s - self.read_s)

        scoper = ScopeResolver(engine, self.viewer, self.cancellation)
        try:
            plans = yield from self._make_plans(scoper)
        except Cancelled:
            return
        self.summary = summary_of(plans) if self.standing is None else self.standing.summary
        self.pending = frozenset(engine.pending([target for plan in plans for target in plan.targets]))

        self.last_progress = time.monotonic()
        if self.raw:
            yield from self._closing(plans, scoper, limit, allowed_s)
            return
        self.gathering = ResultPipeline(
            engine.store,
            self.histories,
            plans,
            self.request,
            self.cancellation,
            limit,
            self._note,
            raw=self.request.display < 0,
        )
        if needed := history_of(plans):
            for item in engine.histories.wait(needed, self.cancellation):
                yield self._progress(done=False, skipped=(item,))
            self.histories.failed.update(engine.histories.failures(needed))
        if defining := [target for p in plans if p.symbols is not None for target in p.targets]:
            wait_s = None if limit == sys.maxsize else WAIT_S
            for missing in engine.definitions.wait(defining, self.cancellation, wait_s):
                yield self._progress(done=False, skipped=(under_way(missing),))
        yield from self._match_events(self.gathering.batches(), limit)
        if self.cancellation.cancelled:
            return
        yield from self._closing(plans, scoper, limit, allowed_s)

    def _make_plans(self, scoper: ScopeResolver) -> Generator[Event, None, list[Plan]]:
        """The plans: cached ones for the same repositories, or new ones; raises `Cancelled`."""
        repositories = self.engine.catalog.repositories
        self.standing = self.engine.standings.get(self.scoped, self.viewer, repositories)
        if self.standing is not None:
            return self.standing.plans
        plans = self._plans((yield from self._scopes(scoper)))
        self.standing = self._keep(plans, scoper, repositories)
        return plans

    def _keep(
        self, plans: list[Plan], scoper: ScopeResolver, repositories: tuple[Repository, ...]
    ) -> CachedPlan | None:
        """Keep the plans for the next search, if they depend on the repositories alone."""
        if self.engine.worktree or self.raw or not scoper.clean or not stands(self.scoped, plans):
            return None
        summary = summary_of(plans)
        worktrees = [one for one in scoper.at_head(summary.searched.values()) if one.worktree]
        cached_plan = CachedPlan(plans, worktrees, summary)
        self.engine.standings.put(self.scoped, self.viewer, repositories, cached_plan)
        return cached_plan

    def _match_events(self, batches: Iterable[Any], limit: int) -> Iterator[Event]:
        """Visible matches and progress; ends after `limit` matches."""
        display_limit = limit if self.request.display < 0 else min(limit, self.request.display)
        for batch in batches:
            if self.cancellation.cancelled:
                return
            if isinstance(batch, RawMatches):
                yield from self._as_found(batch)
                continue
            visible = batch
            if self.tally.matches + match_count(batch) >= limit:
                visible = first_matches(batch, limit - self.tally.matches)
                self.limit_hit = True
            self.tally.add(visible)
            remaining = display_limit - self.shown
            if remaining > 0:
                visible_part = first_matches(visible, remaining)
                if not self.shown:
                    yield from self._filters(exhaustive=False)
                self.shown += match_count(visible_part)
                yield MatchBatch(visible_part, self._introduce(visible_part))
            if self.limit_hit:
                return
            yield from self._from_time_to_time()

    def _as_found(self, matches: RawMatches) -> Iterator[Event]:
        """Matches in the order of the engine, all of which are shown."""
        self.tally.add_raw(matches)
        if not self.shown:
            yield from self._filters(exhaustive=False)
        self.shown = self.tally.matches
        names = [matches.places[index].repository for index in np.flatnonzero(np.bincount(matches.place)).tolist()]
        yield RawMatchBatch(matches, self._new(names))
        yield from self._from_time_to_time()

    def _from_time_to_time(self) -> Iterator[Event]:
        if time.monotonic() - self.last_progress >= PROGRESS_EVERY_S:
            self.last_progress = time.monotonic()
            yield from self._filters(exhaustive=False)
            yield self._progress(done=False)

    def finds(self) -> bool:
        """Whether there is a match within the time limit; indexes, counts and reports nothing."""
        repositories = self.engine.catalog.repositories
        standing = self.engine.standings.get(self.scoped, self.viewer, repositories)
        if standing is None:
            scoper = ScopeResolver(self.engine, self.viewer, self.cancellation)
            try:
                plans = self._plans(scoper.narrow(scoper.scopes(self.scoped)))
            except Cancelled:
                return False
            self._keep(plans, scoper, repositories)
        else:
            plans = standing.plans
        gathering = ResultPipeline(
            self.engine.store, self.histories, plans, self.request, self.cancellation, 1, lambda _: None
        )
        with closing(gathering.batches()) as batches:
            return any(batch.num_rows for batch in batches)

    def _limit(self) -> int:
        """Matches after which the search stops; `sys.maxsize`: never."""
        return limit_of(self.query.plan, self.request.default_matches or self.engine.limits.matches)

    def _allowed_s(self) -> float | None:
        plan, request_timeout_s = self.query.plan, self.request.timeout_s
        timeouts = [a.timeout_s() for a in plan]
        longest = max((t for t in timeouts if t is not None), default=None)
        if request_timeout_s is not None:
            longest = request_timeout_s if longest is None else min(longest, request_timeout_s)
        # Who asks for a number of matches is given the time for it, wherever that number stands.
        has_count = self.request.default_matches is not None or any(a.first("count") is not None for a in plan)
        return self.engine.limits.timeout_s(longest, has_count=has_count)

    def _plans(self, scopes: Sequence[Scope]) -> list[Plan]:
        """The plans, in which all patterns are compiled; when that takes too long, plans that search nothing."""

        def make() -> list[Plan]:
            plans = []
            for scope in scopes:
                if self.cancellation.stopped:
                    raise DeadlineExceeded
                plans.append(make_plan(scope))
            return plans

        try:
            return make() if takes_a_moment(scopes) else run_with_deadline(make, self.cancellation)
        except DeadlineExceeded:
            self.raw = True
            return [unmade_plan(scope) for scope in scopes]

    def _scopes(self, scoper: ScopeResolver) -> Generator[Event, None, list[Scope]]:
        """Resolve repositories and revisions, telling of the revisions that must be indexed first."""
        scopes = scoper.scopes(self.scoped)
        targets = scoper.unindexed_targets(scopes)
        if targets:
            state = notices.IndexingNotice(targets)
            for _ in run_in_thread(
                lambda stop: scoper.index(targets, progress=state.note, cancellation=stop),
                self.cancellation,
                PROGRESS_EVERY_S,
            ):
                yield self._progress(done=False, skipped=(state.item(),))
        self.cancellation.check()
        return scoper.narrow(scopes)

    def _note(self, search_part: SearchPart) -> None:
        self.missing.update(search_part.missing)
        self.done.update(search_part.repositories_done)
        self.failed.update(search_part.failed)
        for name, counts in search_part.skipped.items():
            add_maximum(self.name_only.setdefault(name, {}), counts)

    def _introduce(self, batch: Any) -> tuple[RepositoryInfo, ...]:
        column = batch.column(batch.schema.get_field_index("repository"))
        codes = np.unique(column.indices.to_numpy(zero_copy_only=False))
        values = column.dictionary.to_pylist()
        return self._new([values[c] for c in codes])

    def _new(self, names: Sequence[str]) -> tuple[RepositoryInfo, ...]:
        """Information about repositories that was not sent before."""
        new = [name for name in names if name not in self.introduced]
        self.introduced.update(new)
        return tuple(self.summary.facts[name] for name in new if name in self.summary.facts)

    def _progress(self, *, done: bool, skipped: Sequence[Skipped] = ()) -> Progress:
        if not done:
            skipped = (*skipped, *self._excluded())
        return Progress(
            done=done,
            match_count=self.tally.matches,
            duration_ms=round((time.monotonic() - self.started) * 1000),
            repositories_count=len(self.tally.repositories) or None,
            skipped=tuple(skipped),
        )

    def _filters(self, *, exhaustive: bool) -> Iterator[Event]:
        forks, archived = len(self.summary.forks), len(self.summary.archived)
        filters = self.tally.filters(exhaustive=exhaustive, forks=forks, archived=archived)
        if filters:
            yield Filters(filters)

    def _closing(
        self, plans: list[Plan], scoper: ScopeResolver, limit: int, allowed_s: float | None
    ) -> Iterator[Event]:
        timed_out = self._late(plans, scoper) if self.cancellation.expired and not self.limit_hit else []
        timed_out = sorted(self.cancellation.untold.union(timed_out))
        skipped = list(self._left_out(plans, scoper))
        capped = limit if self.limit_hit else self._cap()
        if capped:
            skipped.append(match_limit(capped))
        if timed_out and self.tally.matches:
            skipped.append(limit_items.timed_out(timed_out, allowed_s, self.cancellation.untold))
        skipped += self._excluded()
        exhaustive = not (capped or timed_out) and self._whole()
        yield from self._filters(exhaustive=exhaustive)
        yield self._progress(done=True, skipped=skipped)
        alert = self._alert(plans, scoper, timed_out, allowed_s)
        if alert is None:
            alert = self._hint(len(self.summary.searched), exhaustive=exhaustive)
        if alert is not None:
            yield alert
        yield Done()

    def _excluded(self) -> Iterator[Skipped]:
        """What is left out on purpose, which is known while the search goes on."""
        if self.summary.forks:
            yield limit_items.forks_left_out(self.summary.forks)
        if self.summary.archived:
            yield limit_items.archived_left_out(self.summary.archived)
        if 0 <= self.request.display < self.tally.matches:
            yield display_limit(self.request.display, self.tally.matches)

    def _late(self, plans: list[Plan], scoper: ScopeResolver) -> list[str]:
        """Repositories with a revision that was not completely searched."""
        if self.raw:
            return sorted({t.repository.facts.name for p in plans for t in p.targets} | scoper.undecided)
        sources = [targets for p in plans for targets in [p.targets] * ((p.text is not None) + (p.symbols is not None))]
        needed = Counter(t.repository.facts.name for targets in sources for t in targets)
        timed_out = {name for name, count in needed.items() if self.done[name] < count} | scoper.undecided
        histories = {place.repository.name for p in plans for place in p.places}
        return sorted(timed_out | histories.difference(self.histories.done, self.histories.failed))

    def lacks(self, plan: Plan, scoper: ScopeResolver, parts: Sequence[SearchPart] = ()) -> tuple[str, ...]:
        """Why the count of one plan is incomplete, from the parts it reported; empty if it is complete.

        What a stream would say of the same search decides, so that both have one status. Without parts: what is known
        before anything is counted.
        """
        self.summary = summary_of([plan])
        for part in parts:
            self._note(part)
        return limits(self._missing_work([plan], scoper), ())

    def _left_out(self, plans: list[Plan], scoper: ScopeResolver) -> Iterator[Skipped]:
        yield from self._missing_work(plans, scoper)
        if not self.engine.worktree:
            standing = self.standing
            at_head = scoper.at_head(self.summary.searched.values()) if standing is None else standing.worktrees
            yield from notices.changed_worktrees(self.engine.changes.count(at_head))

    def _missing_work(self, plans: list[Plan], scoper: ScopeResolver) -> Iterator[Skipped]:
        engine, targets = self.engine, self.summary.searched
        failures = {} if engine.report is None else dict(engine.report.failures)
        if unread := self.pending.intersection(self.failed):
            yield engine.indexing.missing(sorted(unread))
            self.failed = {name: why for name, why in self.failed.items() if name not in unread}
        yield from notices.not_indexed({n: why for n, why in (self.failed | failures).items() if n in targets})
        yield from self._left_out_everywhere(scoper)
        if self.viewer.sees_private:
            yield from notices.unreadable(engine.catalog.skipped)
            yield from notices.removed_repositories(engine.removed_repositories)
        yield from notices.named_only(self.unread_files(plans, scoper), self.missing_names(plans))

    def missing_names(self, plans: Sequence[Plan]) -> dict[str, tuple[str, ...]]:
        """Some of the files that the query asks to look into and whose content is not there, by repository."""
        owners = {} if self.gathering is None else self.gathering.ownership.missing
        names: dict[str, tuple[str, ...]] = {name: (path,) for name, path in owners.items()}
        return names | self.missing if _reads_any(plans) else names

    def unread_files(self, plans: Sequence[Plan], scoper: ScopeResolver) -> dict[str, dict[str, int]]:
        """How many files were not looked into though the query asks for that, by repository and by reason."""
        counts_by_name = {name: dict(counts) for name, counts in self.name_only.items()} if _reads_any(plans) else {}
        for name, count in scoper.missing.items():
            add_maximum(counts_by_name.setdefault(name, {}), {"missing": count})
        for name in set() if self.gathering is None else self.gathering.ownership.missing:
            add_maximum(counts_by_name.setdefault(name, {}), {"missing": 1})
        return counts_by_name

    def _left_out_everywhere(self, scoper: ScopeResolver) -> Iterator[Skipped]:
        """What is left out in the same way on this machine and on workers."""
        yield from notices.unsearchable(scoper.unsearchable | scoper.invalid)
        yield from notices.without_history(self.histories.failed)
        yield from notices.unread_commits(self.histories.unread)
        yield from notices.cut_histories(self.histories.shallow)
        yield from notices.replaced_item(self.summary.replaced)

    def _cap(self) -> int:
        """The largest ``count:`` of one alternative among several that was reached; 0: none."""
        return self.gathering.capped if self.gathering else 0

    def _whole(self) -> bool:
        """Whether every repository that was to be searched answered."""
        return not self.pending.intersection(self.failed)

    def _of_owners(self, searched: int) -> Alert | None:
        """The notice about missing CODEOWNERS; `searched` is the number of searched repositories."""
        return None if self.gathering is None else self.gathering.ownership.alert(searched)

    def _hint(self, searched: int, *, exhaustive: bool) -> Alert | None:
        """The notice about missing CODEOWNERS, or about a search without a match."""
        alert = self._of_owners(searched) or notices.without_effect(self.query)
        if alert is not None or self.tally.matches or not exhaustive:
            return alert
        if self.standing is not None and self.standing.advice:
            return self.standing.advice[0]

        def finds(text: str) -> bool:
            return self.engine.finds(replace(self.request, query=text), self.viewer, notices.TRY_S)

        began = time.monotonic()
        alert = notices.nothing_found(self.query, finds)
        if self.standing is not None and time.monotonic() - began < notices.TRY_S:
            # No variant was given up for its time, so that nothing else would be said of the same repositories.
            self.standing.advice.append(alert)
        return alert

    def _alert(
        self, plans: list[Plan], scoper: ScopeResolver, late: list[str], allowed_s: float | None
    ) -> Alert | None:
        if late and not self.tally.matches:
            return notices.timed_out(self.query, late, allowed_s)
        if scoper.invalid:
            return notices.invalid_revisions(scoper.invalid)
        if scoper.unsearchable:
            return notices.unsearchable_alert(scoper.unsearchable)
        if scoper.absent:
            return notices.absent_facts(scoper.absent)
        if not any(plan.targets for plan in plans):
            context = next((item.context for item in self.scoped if item.context), "")
            forks, archived = bool(self.summary.forks), bool(self.summary.archived)
            return notices.no_repositories(self.query, forks=forks, archived=archived, context=context)
        return None


def _reads_any(plans: Sequence[Plan]) -> bool:
    """Whether any plan looks into files."""
    return any(plan.symbols is not None or (plan.text is not None and reads_content(plan)) for plan in plans)


def reads_content(plan: Plan) -> bool:
    """Whether a plan looks into files, so that those matched by name only are worth telling."""
    alternative = plan.alternative
    required = any(predicate.name == "has.content" for predicate in alternative.predicates("file"))
    return required or (alternative.pattern is not None and "file" in alternative.types)
