"""Run a search over a cluster: the service plans, counts, ranks and limits; workers search.

Plans come from the facts of a generation, before any worker is asked.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from sourcelight.backends.cluster.alternative_counts import AlternativeCounts
from sourcelight.backends.cluster.coordinator.members import FailedAttempt, ReplicaOrder, reasons
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.coordinator.streams import WorkerStreams
from sourcelight.backends.cluster.messages import WorkerRequest
from sourcelight.backends.cluster.worker.search import COMMITS, FILES, REPOSITORIES, SYMBOLS
from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query import Pattern
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.engines.execution import notices
from sourcelight.engines.execution.commits.query import asked_of
from sourcelight.engines.execution.plan import Plan, PlanCache, make_plan, stands, summary_of
from sourcelight.engines.execution.results.owners import OwnerPredicate
from sourcelight.engines.execution.results.ranking import SCORE, FileRanker
from sourcelight.engines.execution.results.select import by_place
from sourcelight.engines.execution.run import SearchExecution
from sourcelight.engines.execution.scope.revisions import ScopedAlternative
from sourcelight.engines.execution.scope.scope import ScopeResolver
from sourcelight.engines.execution.scope.selection import facts_test, predicates_of, select_repositories
from sourcelight.repos import Catalog, Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.backends.cluster.engine import ClusterEngine
    from sourcelight.backends.cluster.storage.generation import Generation, StoredShard


Planned = tuple[list[Plan], list[str]]

ClusterPlanCache = PlanCache[Planned]


def catalog_of(generation: Generation) -> Catalog:
    """The repositories of a generation that have a shard, as a catalog with no place on this machine."""
    return Catalog.from_repositories(
        _repositories(generation.searchable), contexts=generation.contexts, skipped=generation.skipped
    )


def _repositories(entries: Iterable[StoredShard]) -> list[Repository]:
    return [
        Repository(entry.facts, entry.shard, "git", "", "", entry.incomplete, lender_names=entry.lenders)
        for entry in entries
    ]


def make_cluster_plans(
    engine: ClusterEngine, viewer: Viewer, cancellation: Cancellation, scopes: Sequence[ScopedAlternative]
) -> tuple[ScopeResolver, list[Plan], list[str]]:
    """What chose the repositories, plans that name them, and their names; of those that the viewer may see.

    Raises `QueryError` for a pattern that can't be searched for.
    """
    scoper = ScopeResolver(engine, viewer, cancellation)
    repositories = engine.catalog.repositories
    cached = engine.plannings.get(scopes, viewer, repositories)
    if cached is None:
        selected = scoper.select(scopes)
        # Compiles patterns: what is wrong with them is said once, here. Names of repositories are matched by workers.
        plans_by_facts = [make_plan(replace(scope, targets=())) for scope in selected]
        plans = [replace(plan, targets=scope.targets) for plan, scope in zip(plans_by_facts, selected, strict=True)]
        cached = plans, sorted({target.repository.name for plan in plans for target in plan.targets})
        if scoper.clean and stands(scopes, plans):
            engine.plannings.put(scopes, viewer, repositories, cached)
    return scoper, *cached


def phases_of(plans: Sequence[Plan]) -> tuple[int, ...]:
    """The phases in which an answer may have rows: the less there are, the sooner the first row is known."""
    phases = [FILES]
    if any("symbol" in plan.alternative.types for plan in plans):
        phases.append(SYMBOLS)
    if any(asked_of(plan.alternative) is not None for plan in plans):
        phases.append(COMMITS)
    if any(map(_may_name_repositories, plans)):
        phases.append(REPOSITORIES)
    return tuple(sorted(phases))


def _may_name_repositories(plan: Plan) -> bool:
    """Whether the pattern may occur in a repository name; only a single literal can be ruled out here."""
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "literal" or pattern.negated or not pattern.value.isascii():
        return True
    text = pattern.value.partition("@")[0].lower()
    return any(text in target.repository.name.lower() for target in plan.targets)


T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ShardAccounting:
    """What became of the shards that a search was planned on: each is in exactly one of the three.

    Attributes
    ----------
    planned
        Repositories that the query names, of those the viewer may see.
    done
        Those that a worker told whole.
    skipped
        Those that no worker told whole, with the workers that were asked.
    excluded
        Those of which the worker found that the query does not search them: no such revision, a predicate that fails.
    """

    planned: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    skipped: dict[str, tuple[FailedAttempt, ...]] | None = None
    excluded: frozenset[str] = frozenset()


class ClusterSearch(SearchExecution):
    """One search under way; `accounting` is whole when its events have ended."""

    accounting: ShardAccounting = ShardAccounting()
    _slots: OrderedMerge
    _streams: WorkerStreams | None = None
    _owners: OwnerPredicate
    _searched: int = 0
    _counts: AlternativeCounts
    _told_late: set[str]

    def events(self) -> Generator[Event, None, None]:
        """Events in the order of the wire: matches and progress, the final filters and progress, an alert, done."""
        limit = self._limit()
        allowed_s = self._allowed_s()
        # Planning has used up part of the time limit already.
        self.cancellation.limit(None if allowed_s is None else allowed_s - self.read_s)
        scoper, plans, names = self._cluster_plans()
        self.summary = summary_of(plans)
        self.last_progress = time.monotonic()
        self._owners = OwnerPredicate(lambda *_: None, lambda *_: False)
        self._told_late = set()
        yield from self._match_events(self._batches(plans, names, limit), limit)
        if self.cancellation.cancelled:
            return
        self._sum_up(names, scoper)
        plans = without(plans, self.accounting.excluded)
        self.summary = summary_of(plans)
        yield from self._closing(plans, scoper, limit, allowed_s)

    def finds(self) -> bool:
        """Whether there is a match within the time limit."""
        _, plans, names = self._cluster_plans()
        batches = self._batches(plans, names, 1)
        try:
            return any(batch.num_rows for batch in batches)
        finally:
            batches.close()

    def _cluster_plans(self) -> tuple[ScopeResolver, list[Plan], list[str]]:
        """The visible repositories that the query names, and the work for them."""
        engine: ClusterEngine = self.engine  # type: ignore[assignment]  # the one that made this search
        self.engine = engine.snapshot()
        return make_cluster_plans(self.engine, self.viewer, self.cancellation, self.scoped)

    def _batches(self, plans: list[Plan], names: list[str], limit: int) -> Generator[Any, None, None]:
        """All rows, ranked where a search on one machine would rank them."""
        engine: ClusterEngine = self.engine  # type: ignore[assignment]  # the snapshot that was planned on
        self._slots = OrderedMerge(names, phases_of(plans))
        self._counts = AlternativeCounts([plan.alternative for plan in plans])
        self._streams: WorkerStreams | None = None
        if not names:
            return
        fleet = engine.fleet
        remaining = self.cancellation.remaining_s
        order = WorkerRequest(
            engine.generation.id,
            (),
            viewer=self.viewer.name,
            allowed_s=remaining,
            request=replace(self.request, timeout_s=remaining if remaining is None else max(remaining, 0.0)),
            limit=limit,
        )
        turns = ReplicaOrder(fleet.members)
        self._streams = WorkerStreams(turns, engine.generation, order, self._slots, silence_s=fleet.silence_s)
        work: Future[None] = fleet.start(self._streams.run())
        is_stopped = lambda: self.cancellation.stopped  # noqa: E731 - asked between units
        try:
            batches = self._slots.batches(is_stopped)
            if self._counts.any:
                batches = self._counts.apply(batches)
            if limit < sys.maxsize and any(plan.ranked for plan in plans):
                # As on one machine: what is ranked ends with the repository in which there are enough.
                place_batches = (piece for batch in batches for piece in by_place(batch))
                batches = self._ranking(plans, limit).rank(place_batches)
            for batch in batches:
                column = batch.schema.get_field_index(SCORE)
                yield batch.remove_column(column) if column >= 0 else batch
        finally:
            if not self._slots.is_settled:
                work.cancel()
                with suppress(BaseException):
                    work.result(timeout=1.0)

    def _ranking(self, plans: list[Plan], limit: int) -> FileRanker:
        ranked_limit = limit if self.request.display < 0 else min(limit, self.request.display)
        stars = {t.repository.name: t.repository.facts.stars for plan in plans for t in plan.targets}
        return FileRanker(phrases=(), case_sensitive=False, stars=stars, limit=ranked_limit)

    def _sum_up(self, names: list[str], scoper: ScopeResolver) -> None:
        """Merge what the workers reported beside their matches."""
        streams = self._streams
        outcomes = [] if streams is None else streams.outcomes
        excluded: set[str] = set()
        for outcome, own_names in outcomes:
            excluded |= own_names & set(outcome.excluded)
            self.name_only |= _of(outcome.name_only, own_names)
            self.missing |= {name: tuple(named) for name, named in _of(outcome.missing, own_names).items()}
            labelled = {k: v for k, v in outcome.unsearchable.items() if _repository_of(k, own_names) in own_names}
            scoper.unsearchable |= labelled
            scoper.invalid |= outcome.invalid
            self.histories.failed |= _of(outcome.without_history, own_names)
            self.histories.unread |= _of(outcome.unread, own_names)
            self.histories.shallow |= _of(outcome.shallow, own_names)
            self._told_late |= own_names & set(outcome.late)
            self._owners.unknown |= own_names & set(outcome.unknown_owners)
            self._owners.later |= own_names & set(outcome.later_owners)
            self._owners.unowned.update(_of(outcome.unowned, own_names))
            self._searched += min(outcome.targets, len(own_names))
        if self.cancellation.expired and not self.limit_hit:
            # Workers may have told what there was no time to give on.
            self._told_late |= self._slots.left
        done = {name for _, own_names in outcomes for name in own_names}
        skipped = {} if streams is None else {n: streams.turns.why(n) for n in names if n not in done}
        if self.limit_hit:
            skipped = {}
            done = set(names)
        elif self.cancellation.expired:
            # No worker failed: the time that the query has was over before one could answer.
            self._told_late |= {name for name, tried in skipped.items() if not tried}
        done -= excluded
        self.accounting = ShardAccounting(frozenset(names), frozenset(done), skipped, frozenset(excluded))

    def _late(self, plans: list[Plan], scoper: ScopeResolver) -> list[str]:
        del plans, scoper
        return sorted(self._told_late)

    def _left_out(self, plans: list[Plan], scoper: ScopeResolver) -> Iterator[Skipped]:
        del plans
        skipped = {n: tried for n, tried in (self.accounting.skipped or {}).items() if n not in self._told_late}
        yield from unanswered_items(skipped, self.tally.repositories)
        yield from notices.not_indexed(self._problems())
        yield from self._left_out_everywhere(scoper)
        if self.viewer.sees_private:
            yield from notices.unreadable(self.engine.catalog.skipped)
        yield from notices.named_only(self.name_only, self.missing)

    def _problems(self) -> dict[str, str]:
        """Repositories that the query names and whose last build failed, and why.

        Those that are searched as a former build left them, and those that no shard was ever built of, which are not in
        the catalog.
        """
        engine: ClusterEngine = self.engine  # type: ignore[assignment]  # the snapshot that was planned on
        problems = {entry.name: entry.problem for entry in engine.generation.entries if entry.problem}
        visible = {name for name in self.summary.searched if name in problems}
        unbuilt = Catalog.from_repositories(_repositories(engine.generation.unbuilt)).visible(self.viewer)
        for item in self.scoped if unbuilt else ():
            listed = [one for one in unbuilt if item.listed is None or one.name in item.listed]
            test = facts_test(predicates_of(item.alternative))
            visible |= {one.name for one in select_repositories(item.alternative, listed, test).repositories}
        return {name: problem for name, problem in problems.items() if name in visible}

    def _of_owners(self, searched: int) -> Alert | None:
        del searched  # workers know how many were
        return self._owners.alert(self._searched)

    def _cap(self) -> int:
        return self._counts.capped

    def _whole(self) -> bool:
        return not self.accounting.skipped


def without(plans: Sequence[Plan], excluded: frozenset[str]) -> list[Plan]:
    """Plans without the repositories that workers excluded."""
    if not excluded:
        return list(plans)
    return [replace(p, targets=tuple(t for t in p.targets if t.repository.name not in excluded)) for p in plans]


def unanswered_items(skipped: dict[str, tuple[FailedAttempt, ...]], partly_shown: set[str]) -> Iterator[Skipped]:
    """One item for each repository that no worker completed."""
    for name, tried in sorted(skipped.items()):
        partly = "Some of its matches are shown. " if name in partly_shown else ""
        yield Skipped(
            reason="backend-missing",
            title=f"{name} did not answer",
            message=f"`{name}` was not searched to its end. {partly}Asked: {reasons(tried)}. "
            "Run the search again in a moment.",
            severity="error",
        )


def _of(values: Mapping[str, T], names: frozenset[str]) -> dict[str, T]:
    return {name: value for name, value in values.items() if name in names}


def _repository_of(label: str, names: frozenset[str]) -> str:
    """The repository of a label such as ``name@revision``."""
    if label in names:
        return label
    return next((label[:at] for at in range(len(label)) if label[at] == "@" and label[:at] in names), label)
