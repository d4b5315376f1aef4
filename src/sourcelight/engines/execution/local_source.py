"""Search the repositories of this machine: plans, batches, and what could not be searched.

A search calls its source in one order: `prepare`, `resolve`, `batches`, `report`. In between, it asks for `activity`.
`finds` and `nothing_found` are for advice about another query, and need none of the others.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, run_in_thread, run_with_deadline
from sourcelight.core.completeness import limits
from sourcelight.core.errors import Cancelled, QueryError
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.engines.execution.advice import notices, skipped_items
from sourcelight.engines.execution.indexes.background import under_way
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.execution.pipeline import ResultPipeline
from sourcelight.engines.execution.plan import (
    Plan,
    asks_for_contributors,
    can_vary,
    count_searches,
    histories_of,
    is_plain,
    make_plan,
    names_of_histories,
    names_of_targets,
    reads_any,
    scope_in_any_case,
    takes_a_moment,
    targets_of,
    unmade_plan,
    vary,
)
from sourcelight.engines.execution.plan_cache import NO_PLANS, CachedPlan, PlanCache, PlanSummary, stands, summary_of
from sourcelight.engines.execution.results.alternatives import CountPolicy
from sourcelight.engines.execution.results.ranking import FileRanker
from sourcelight.engines.execution.scope.scope import Scope, ScopeResolver
from sourcelight.engines.execution.scope.selection import needs_no_index, predicates_of
from sourcelight.engines.execution.source import SearchTask, SourceReport, scope_alert, scope_items
from sourcelight.engines.search import SearchOptions, SearchPart
from sourcelight.engines.search.model import add_maxima, add_maximum
from sourcelight.repos import Repository

if TYPE_CHECKING:
    from sourcelight.engines.execution.commits.search import CommitSearch

INDEXING_EVERY_S = 0.1
"""Seconds between two events about indexing, so that its progress moves without filling the stream."""


@dataclass(slots=True)
class LocalSource:
    """`SearchSource` over the indexes of this machine.

    Parameters
    ----------
    repositories
        The searched repositories.
    plan_cache
        Plans of earlier searches.
    task
        The search.

    Attributes
    ----------
    plans, summary, cached_plan
        What `resolve` chose. `cached_plan` is what the cache keeps of it; None if no other search may use it.
    late_to_plan
        Whether patterns took too long to compile, so that `plans` search nothing.
    scoper
        Selects repositories and revisions, and records those that can't be searched.
    finished, failed, name_only, unread_cells
        What `note` recorded while matches were read, by repository: how many of its searches ended, why it failed, how
        many files match by name alone and why, and which notebooks have cells that weren't read.
    """

    repositories: IndexedRepositories
    plan_cache: PlanCache[CachedPlan]
    task: SearchTask
    plans: list[Plan] = field(init=False, default_factory=list)
    summary: PlanSummary = field(init=False, default=NO_PLANS)
    cached_plan: CachedPlan | None = field(init=False, default=None)
    pipeline: ResultPipeline | None = field(init=False, default=None)
    finished: Counter[str] = field(init=False, default_factory=Counter)
    name_only: dict[str, Mapping[str, int]] = field(init=False, default_factory=dict)
    failed: dict[str, str] = field(init=False, default_factory=dict)
    late_to_plan: bool = field(init=False, default=False)
    scoper: ScopeResolver = field(init=False)
    _missing: dict[str, tuple[str, ...]] = field(init=False, default_factory=dict)
    unread_cells: dict[str, Mapping[str, tuple[str, ...]]] = field(init=False, default_factory=dict)
    _pending: frozenset[str] = field(init=False, default=frozenset())
    _reads_unindexed: bool = field(init=False, default=False)
    _commits: CommitSearch | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.scoper = ScopeResolver(self.repositories, self.task.viewer, self.task.cancellation)

    @property
    def commits(self) -> CommitSearch:
        """The search of commits; made, and its engine loaded, only for queries about them."""
        if self._commits is None:
            # With all that it imports, it takes longer to load than a search of a small repository.
            from sourcelight.engines.execution.commits.search import CommitSearch

            task, updater = self.task, self.repositories.histories
            with_previews, with_cells = task.request.diff_previews, task.request.cells
            self._commits = CommitSearch(updater, task.cancellation, with_previews=with_previews, with_cells=with_cells)
        return self._commits

    def prepare(self) -> Iterator[Skipped]:
        """Wait for the first indexing if the search needs it, then look whether commits have moved."""
        indexing = self.repositories.indexing
        if indexing.is_running:
            self._reads_unindexed = self._needs_no_index()
            if not self._reads_unindexed:
                yield from indexing.wait(self.task.cancellation)
        self.repositories.refresh(self.task.cancellation)

    def _needs_no_index(self) -> bool:
        """Return whether the query can be answered before the repositories are indexed."""
        return all(needs_no_index(item.alternative) for item in self.task.scoped)

    def resolve(self) -> Iterator[Skipped]:
        """Take cached plans for the same repositories, or make new ones."""
        repositories = self.repositories.catalog.repositories
        if not self._take_cached_plan(repositories):
            # In two steps: the first finds repositories and revisions, which have to be indexed before the second can
            # read files for predicates such as `repo:has.path`.
            scopes = self.scoper.scopes(self.task.scoped)
            yield from self._index(scopes)
            self._make_plans(self.scoper.narrow(scopes))
            self._cache(repositories)

        # Taken once, before the search: whether the result is complete depends on what was missing when it began.
        self._pending = frozenset(self.repositories.pending(targets_of(self.plans)))

    def _take_cached_plan(self, repositories: tuple[Repository, ...]) -> bool:
        """Take the plan of an earlier search; return False if there is none for this query."""
        task = self.task
        cached = self.plan_cache.get(task.scoped, task.viewer, repositories) or self._vary_similar_plan(repositories)
        if cached is None:
            return False

        self.cached_plan = cached
        self.plans = cached.plans
        self.summary = cached.summary
        return True

    def _vary_similar_plan(self, repositories: tuple[Repository, ...]) -> CachedPlan | None:
        """Make the plan from that of a query that differs in its pattern alone, and cache it; None without one."""
        scoped, viewer = self.task.scoped, self.task.viewer
        similar = self.plan_cache.similar(scoped, viewer, repositories)
        if similar is None or len(similar.plans) != 1 or not can_vary(similar.plans[0]):
            return None

        # Filters alone decide what is searched, so the summary stays.
        plan = vary(similar.plans[0], scoped[0].alternative)
        cached = CachedPlan([plan], similar.worktrees, similar.summary)
        self.plan_cache.put(scoped, viewer, repositories, cached)
        return cached

    def batches(self, limit: int) -> Generator[Any, None, None]:
        """Yield matches, after what they need has been built in the background."""
        if self.late_to_plan:
            return

        # Only a record batch can be cut at a number of matches. A result that is shown whole needs none, and is faster
        # with raw matches.
        is_whole = self.task.request.display < 0
        pipeline = self.make_pipeline(limit, self.note, raw_rows=sys.maxsize if is_whole else 0)
        yield from self.activity()
        yield from self.read_histories(pipeline.newest_commits)
        defining = targets_of(plan for plan in self.plans if plan.symbols is not None)
        if defining:
            # Also if a limit is reached before: which matches it keeps must not depend on what is ready.
            for missing in self.repositories.definitions.wait(defining, self.task.cancellation, None):
                yield under_way(missing)

        with self.repositories.indexing.searching() if self._reads_unindexed else nullcontext():
            yield from pipeline.batches()

    def read_histories(self, newest: Callable[[], Iterator[Any]] = lambda: iter(())) -> Iterator[Any]:
        """Wait for the histories that the plans need, and yield how far that is, after the batches of `newest`."""
        with_changes, commits_alone = histories_of(self.plans)
        if not with_changes and not commits_alone:
            return

        if with_changes:
            # Contributors of files come from all commits.
            if not any(asks_for_contributors(plan.alternative) for plan in self.plans):
                searches = [(plan.commits, plan.history_commits) for plan in self.plans if plan.commits]
                self.commits.take_parts(with_changes, searches)
            yield from newest()

        yield from self.commits.histories.wait(with_changes, commits_alone)

    def activity(self) -> Sequence[Skipped]:
        """Mention the first indexing while this search reads files that aren't indexed yet."""
        indexing = self.repositories.indexing
        if self._pending and self._reads_unindexed and indexing.is_running:
            return (indexing.item(),)
        return ()

    def make_pipeline(
        self,
        limit: int,
        note: Callable[[SearchPart], None],
        *,
        order: Callable[[FileRanker, Iterable[Any]], Iterator[Any]] = FileRanker.rank,
        counts: CountPolicy | None = None,
        raw_rows: int = 0,
        ranked: bool = True,
    ) -> ResultPipeline:
        """Make the pipeline of the plans, with the parameters of `ResultPipeline`.

        `ranked`: whether it matters which matches a limit keeps.
        """
        direct = self.repositories.direct_while_indexing(self.task.cancellation) if self._reads_unindexed else None
        self.pipeline = ResultPipeline(
            self.repositories.store,
            lambda: self.commits,
            self.plans,
            self.task.request,
            self.task.cancellation,
            limit,
            note,
            order=order,
            counts=counts,
            raw_rows=raw_rows,
            direct=direct,
            request_definitions=self.repositories.definitions.start if ranked else None,
        )
        return self.pipeline

    def note(self, part: SearchPart) -> None:
        """Record what a part of the search reports besides its matches."""
        self._missing.update(part.missing)
        self.unread_cells.update(part.unread_cells)
        self.finished.update(part.repositories_done)
        self.failed.update(part.failed)
        add_maxima(self.name_only, part.skipped)

    def report(self, matched_repositories: Collection[str], *, limit_hit: bool) -> SourceReport:
        """Sum up the search."""
        del matched_repositories  # a repository that is late here is named whether it has matches or not
        # After the limit was reached, the timeout isn't the reason for unsearched repositories.
        timed_out = self.late_repositories() if self.task.cancellation.expired and not limit_hit else []

        skipped = list(self.missing_work())
        cached = self.cached_plan
        if not self.repositories.worktree:
            at_head = self.scoper.at_head(self.summary.searched.values()) if cached is None else cached.worktrees
            skipped += skipped_items.changed_worktrees(self.repositories.changes.count(at_head))

        pipeline = self.pipeline
        return SourceReport(
            timed_out,
            skipped,
            capped=0 if pipeline is None else pipeline.capped,
            is_complete=not self._pending.intersection(self.failed),
            owners_alert=None if pipeline is None else pipeline.ownership.alert(len(self.summary.searched)),
            scope_alert=scope_alert(self.scoper),
            advice=None if cached is None else cached.advice,
        )

    def finds(self) -> bool:
        """Return whether there is a match within the time limit; indexes, counts and reports nothing."""
        if self.repositories.indexing.is_running:
            self._reads_unindexed = self._needs_no_index()

        try:
            self.plan()
        except Cancelled:
            return False

        # While indexes are built, the pipeline reads unindexed files from their repository.
        if not self.repositories.indexing.is_running and all(map(is_plain, self.plans)):
            return any(plan.repository_hits or self._has_file(plan, self.task.cancellation) for plan in self.plans)

        with closing(self.make_pipeline(1, lambda _: None, ranked=False).batches()) as batches:
            return any(batch.num_rows for batch in batches)

    def plan(self) -> None:
        """Take cached plans or make new ones, without an index of revisions that have none; raises `Cancelled`."""
        repositories = self.repositories.catalog.repositories
        if not self._take_cached_plan(repositories):
            self._make_plans(self.scoper.narrow(self.scoper.scopes(self.task.scoped)))
            self._cache(repositories)

    def nothing_found(self, finds: Callable[[str], bool]) -> Alert | None:
        """Return the alert of a complete search without a match, which another search made; raises `Cancelled`.

        `finds` tells whether another query has a match.
        """
        self.plan()
        advice = None if self.cached_plan is None else self.cached_plan.advice
        return notices.advice_of(self.task.query, advice, finds, self.may_find_in_any_case)

    def may_find_in_any_case(self) -> bool:
        """Return whether these plans may match if case is ignored, or True if only another query can tell."""
        if self.repositories.indexing.is_running:
            return True

        cancellation = Cancellation(notices.TRY_S)
        for plan in self.plans:
            alternative = plan.alternative
            if not is_plain(plan) or predicates_of(alternative):
                return True

            try:
                insensitive_plan = make_plan(scope_in_any_case(plan))
            except QueryError:
                return True

            if insensitive_plan.repository_hits or self._has_file(insensitive_plan, cancellation):
                return True

        return False

    def _has_file(self, plan: Plan, cancellation: Cancellation) -> bool:
        """Return whether a file matches the text of a plan."""
        store, text = self.repositories.store, plan.text
        if text is None:
            return False

        matched = store.has_match(plan.targets, text, cancellation)
        if matched is not None:
            return matched

        options = SearchOptions(max_matches=1, lines=False)
        return any(part.files for part in store.search(plan.targets, text, options, cancellation))

    def missing_from_count(self, plan: Plan, parts: Sequence[SearchPart] = ()) -> tuple[str, ...]:
        """Return why the count of one plan is incomplete, from its reported parts; empty if it is complete.

        The same search as a stream decides, so that both have one status. Without parts: what is known before anything
        is counted.
        """
        self.plans, self.summary = [plan], summary_of([plan])
        for part in parts:
            self.note(part)
        return limits(self.missing_work(), ())

    def late_repositories(self) -> list[str]:
        """Return repositories with a revision that was not completely searched."""
        undecided = self.scoper.undecided
        if self.late_to_plan:
            return sorted(names_of_targets(self.plans) | undecided)

        unfinished = {name for name, count in count_searches(self.plans).items() if self.finished[name] < count}
        histories = names_of_histories(self.plans)
        if histories:
            histories = histories.difference(self.commits.done, self.commits.failed)
        return sorted(unfinished | undecided | histories)

    def missing_names(self) -> dict[str, tuple[str, ...]]:
        """Return some of the files that the query asks to look into and whose content is not there, by repository."""
        owners = {} if self.pipeline is None else self.pipeline.ownership.missing
        names: dict[str, tuple[str, ...]] = {name: (path,) for name, path in owners.items()}
        return names | self._missing if reads_any(self.plans) else names

    def unread_files(self) -> dict[str, Mapping[str, int]]:
        """Count the files that the query covers but the search did not read, by repository and by reason."""
        counts_by_name = dict(self.name_only) if reads_any(self.plans) else {}
        for name, count in self.scoper.missing.items():
            add_maximum(counts_by_name, name, {"missing": count})

        if self.pipeline is not None:
            for name in self.pipeline.ownership.missing:
                add_maximum(counts_by_name, name, {"missing": 1})

        return counts_by_name

    def _index(self, scopes: Sequence[Scope]) -> Iterator[Skipped]:
        """Index revisions that never were, and yield how far that is."""
        targets = self.scoper.unindexed_targets(scopes)
        if targets:
            notice = skipped_items.IndexingNotice(targets)

            def index(cancellation: Cancellation) -> None:
                self.scoper.index(targets, progress=notice.note, cancellation=cancellation)

            for _ in run_in_thread(index, self.task.cancellation, INDEXING_EVERY_S):
                yield notice.item()

        self.task.cancellation.check()

    def _make_plans(self, scopes: Sequence[Scope]) -> None:
        """Make plans with all patterns compiled; if that takes too long, make plans that search nothing."""

        def make() -> list[Plan]:
            plans = []
            for scope in scopes:
                if self.task.cancellation.stopped:
                    raise DeadlineExceeded
                plans.append(make_plan(scope))
            return plans

        try:
            self.plans = make() if takes_a_moment(scopes) else run_with_deadline(make, self.task.cancellation)
        except DeadlineExceeded:
            self.late_to_plan = True
            self.plans = [unmade_plan(scope) for scope in scopes]

        self.summary = summary_of(self.plans)

    def _cache(self, repositories: tuple[Repository, ...]) -> None:
        """Keep the plans for the next search, if they depend on the repositories alone."""
        scoped = self.task.scoped
        if self.repositories.worktree or self.late_to_plan or not self.scoper.clean or not stands(scoped, self.plans):
            return
        worktrees = self.scoper.at_head(item for item in self.summary.searched.values() if item.worktree)
        self.cached_plan = CachedPlan(self.plans, worktrees, self.summary)
        self.plan_cache.put(scoped, self.task.viewer, repositories, self.cached_plan)

    def missing_work(self) -> Iterator[Skipped]:
        """Yield what was not searched, and why; work trees that differ from HEAD are not among it."""
        repositories, targets = self.repositories, self.summary.searched
        # The notice that a repository isn't indexed yet replaces that of its failure.
        unread = self._pending.intersection(self.failed)
        if unread:
            yield repositories.indexing.missing(sorted(unread))

        failed_index = {} if repositories.report is None else repositories.report.failures
        failures = {name: self.failed[name] for name in self.failed if name not in unread} | dict(failed_index)
        yield from skipped_items.not_indexed({name: failures[name] for name in failures if name in targets})
        commits = self._commits
        notes = ({}, {}, {}) if commits is None else (commits.failed, commits.unread, commits.shallow)
        yield from scope_items(self.scoper, self.summary, *notes)
        at_head = self.scoper.at_head(targets.values())
        yield from skipped_items.unread_worktrees(repositories.unread_worktrees(at_head, self.task.viewer))
        if self.task.viewer.sees_private:
            yield from skipped_items.unreadable(repositories.catalog.skipped)
            yield from skipped_items.removed_repositories(repositories.removed_repositories)

        yield from skipped_items.named_only(self.unread_files(), self.missing_names(), self.unread_cells)
