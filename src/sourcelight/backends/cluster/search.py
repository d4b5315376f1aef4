"""Run a search over a cluster: the service plans, counts, ranks and limits; workers search.

Plans are made from the metadata of a generation, before any worker gets a request.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import CancelledError
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from sourcelight.backends.cluster.alternative_counts import AlternativeCounts
from sourcelight.backends.cluster.connection import ClusterSnapshot, repositories_of
from sourcelight.backends.cluster.coordinator.members import FailedAttempt, ReplicaOrder, reasons
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.coordinator.streams import WorkerStreams
from sourcelight.backends.cluster.messages import WorkerRequest
from sourcelight.backends.cluster.worker.search import COMMITS, FILES, REPOSITORIES, SYMBOLS, SearchOutcome
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.core.query import Pattern
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.advice import skipped_items
from sourcelight.engines.execution.commits.query import asked_of
from sourcelight.engines.execution.plan import Plan, make_plan
from sourcelight.engines.execution.plan_cache import NO_PLANS, stands, summary_of
from sourcelight.engines.execution.results.owners import OwnerPredicate
from sourcelight.engines.execution.results.ranking import SCORE, FileRanker
from sourcelight.engines.execution.results.select import by_file
from sourcelight.engines.execution.scope.revisions import ScopedAlternative
from sourcelight.engines.execution.scope.scope import ScopeSelector
from sourcelight.engines.execution.scope.selection import info_test, predicates_of, select_repositories
from sourcelight.engines.execution.source import SearchTask, SourceReport, scope_alert, scope_items
from sourcelight.repos import Catalog, Viewer

_STOP_S = 1.0
"""Seconds that a search which ends early waits until its connections are closed."""

T = TypeVar("T")


def make_cluster_plans(
    cluster: ClusterSnapshot, viewer: Viewer, scopes: Sequence[ScopedAlternative]
) -> tuple[ScopeSelector, list[Plan], list[str]]:
    """Return the selector, the plans over repositories that the viewer may see, and the names of these.

    Raises `QueryError` for an invalid pattern.
    """
    scoper = ScopeSelector(cluster.catalog, viewer)
    repositories = cluster.catalog.repositories
    cached = cluster.plan_cache.get(scopes, viewer, repositories)
    if cached is None:
        selected = scoper.select(scopes)
        # `make_plan` compiles the patterns: their errors are raised once, here. Without targets it matches no names of
        # repositories; workers do that.
        plans_by_facts = [make_plan(replace(scope, targets=())) for scope in selected]
        plans = [replace(plan, targets=scope.targets) for plan, scope in zip(plans_by_facts, selected, strict=True)]
        cached = plans, sorted({target.repository.name for plan in plans for target in plan.targets})
        if scoper.clean and stands(scopes, plans):
            cluster.plan_cache.put(scopes, viewer, repositories, cached)

    return scoper, *cached


def phases_of(plans: Sequence[Plan]) -> tuple[int, ...]:
    """Return the phases in which an answer may have rows; with fewer phases, the first row is known sooner."""
    phases = [FILES]
    if any("symbol" in plan.alternative.types for plan in plans):
        phases.append(SYMBOLS)

    if any(asked_of(plan.alternative) is not None for plan in plans):
        phases.append(COMMITS)

    if any(map(_may_name_repositories, plans)):
        phases.append(REPOSITORIES)

    return tuple(sorted(phases))


def _may_name_repositories(plan: Plan) -> bool:
    """Return whether the pattern may occur in a repository name; only a single literal can be ruled out here."""
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "literal" or pattern.negated or not pattern.value.isascii():
        return True
    text = pattern.value.partition("@")[0].lower()
    return any(text in target.repository.name.lower() for target in plan.targets)


@dataclass(frozen=True, slots=True)
class ShardAccounting:
    """Outcome of the shards of a search: each planned shard is in exactly one of the other sets.

    Attributes
    ----------
    planned
        Repositories in the scope of the query that the viewer may see.
    done
        Repositories that a worker searched completely.
    skipped
        Repositories that no worker searched completely, with the failed attempts.
    excluded
        Repositories that a worker excluded: they lack the revision, or a predicate excludes them.
    """

    planned: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    skipped: dict[str, tuple[FailedAttempt, ...]] | None = None
    excluded: frozenset[str] = frozenset()


class ClusterSource:
    """`SearchSource` over the workers of a cluster; `accounting` is complete after `report`.

    Parameters
    ----------
    cluster
        The generation and the workers.
    task
        The search.
    """

    def __init__(self, cluster: ClusterSnapshot, task: SearchTask) -> None:
        self.cluster = cluster
        self.task = task
        self.plans: list[Plan] = []
        self.summary = NO_PLANS
        self.accounting = ShardAccounting()
        self._names: list[str] = []
        self._scope = ScopeSelector(cluster.catalog, task.viewer)
        self._slots = OrderedMerge((), ())
        self._streams: WorkerStreams | None = None
        self._counts = AlternativeCounts(())

        # Only its counters and its alert are used here: workers read the CODEOWNERS files.
        self._owners = OwnerPredicate(lambda *_: None, lambda *_: False)
        self._late_repositories: set[str] = set()
        self._searched = 0
        self._gaps = SearchOutcome()

    def under_way(self) -> Sequence[Skipped]:
        """Return nothing: a cluster doesn't build indexes during a search."""
        return ()

    def prepare(self) -> Iterator[Skipped]:
        """Wait for nothing: shards are built before a generation names them."""
        return iter(())

    def resolve(self) -> Iterator[Skipped]:
        """Select the visible repositories of the query, and make plans for them."""
        self._scope, self.plans, self._names = make_cluster_plans(self.cluster, self.task.viewer, self.task.scoped)
        self.summary = summary_of(self.plans)
        return iter(())

    def batches(self, limit: int) -> Generator[Any, None, None]:
        """Yield all rows, ranked if a search on one machine would rank them."""
        plans, task, fleet = self.plans, self.task, self.cluster.fleet
        self._slots = OrderedMerge(self._names, phases_of(plans))
        self._counts = AlternativeCounts([plan.alternative for plan in plans])
        if not self._names:
            return

        remaining = task.cancellation.remaining_s
        order = WorkerRequest(
            self.cluster.generation.id,
            (),  # `WorkerStreams` fills in the names for each worker
            viewer=task.viewer.name,
            allowed_s=remaining,
            request=replace(task.request, timeout_s=remaining if remaining is None else max(remaining, 0.0)),
            limit=limit,
        )
        replicas = ReplicaOrder(fleet.members)
        self._streams = WorkerStreams(replicas, self.cluster.generation, order, self._slots, silence_s=fleet.silence_s)
        fleet.start(self._streams.run())
        is_stopped = lambda: task.cancellation.stopped  # noqa: E731 - checked between units
        try:
            batches = self._slots.batches(is_stopped)
            if self._counts.any:
                batches = self._counts.apply(batches)

            if limit < sys.maxsize and any(plan.ranked for plan in plans):
                # A search on one machine also stops to rank after the repository that completes the limit.
                place_batches = (rows for batch in batches for rows in by_file(batch))
                batches = self._ranking(limit).rank(place_batches)

            for batch in batches:
                if isinstance(batch, RawMatches):
                    yield batch
                    continue
                # Workers add scores for the ranking here; answers have no such column.
                column = batch.schema.get_field_index(SCORE)
                yield batch.remove_column(column) if column >= 0 else batch
        finally:
            if not self._slots.is_settled:
                # A future of `start` is over as soon as it is cancelled, so `stop` waits for the work itself. Whoever
                # closed this generator may have an exception of its own, which a slow end must not replace.
                with suppress(TimeoutError, CancelledError):
                    fleet.start(self._streams.stop()).result(timeout=_STOP_S)

    def finds(self) -> bool:
        """Return whether there is a match within the time limit."""
        for _ in self.resolve():
            pass
        batches = self.batches(1)
        try:
            return any(batch.num_rows for batch in batches)
        finally:
            batches.close()

    def report(self, matched_repositories: Collection[str], *, limit_hit: bool) -> SourceReport:
        """Merge the workers' reports, and account for every shard."""
        outcomes = [] if self._streams is None else self._streams.outcomes
        self._merge(outcomes)
        self._account(outcomes, limit_hit=limit_hit)
        if self.accounting.excluded:
            self.plans = without(self.plans, self.accounting.excluded)
            self.summary = summary_of(self.plans)

        is_late = self.task.cancellation.expired and not limit_hit
        return SourceReport(
            sorted(self._late_repositories) if is_late else [],
            list(self._skipped_items(matched_repositories)),
            capped=self._counts.capped,
            is_complete=not self.accounting.skipped,
            owners_alert=self._owners.alert(self._searched),
            scope_alert=scope_alert(self._scope),
        )

    def _ranking(self, limit: int) -> FileRanker:
        display = self.task.request.display
        stars = {target.repository.name: target.repository.info.stars for plan in self.plans for target in plan.targets}
        ranked_limit = limit if display < 0 else min(limit, display)
        ranks_all = any(plan.alternative.ranks_all() for plan in self.plans)
        return FileRanker(phrases=(), case_sensitive=False, stars=stars, limit=ranked_limit, is_settled=ranks_all)

    def _merge(self, outcomes: Sequence[tuple[SearchOutcome, frozenset[str]]]) -> None:
        """Merge the outcomes of workers; of each, only the given repositories count."""
        gaps, scope = self._gaps, self._scope
        for outcome, names in outcomes:
            # A worker that gave up on a repository has reported on it, too; only the worker that completed it counts.
            gaps.excluded += names & set(outcome.excluded)
            gaps.name_only |= _of(outcome.name_only, names)
            gaps.missing |= _of(outcome.missing, names)
            gaps.unread_cells |= _of(outcome.unread_cells, names)
            gaps.without_history |= _of(outcome.without_history, names)
            gaps.unread |= _of(outcome.unread, names)
            gaps.shallow |= _of(outcome.shallow, names)
            scope.unsearchable |= {
                name: reason for name, reason in outcome.unsearchable.items() if _repository_of(name, names) in names
            }
            scope.invalid |= outcome.invalid
            self._late_repositories |= names & set(outcome.timed_out)
            self._owners.unknown |= names & set(outcome.unknown_owners)
            self._owners.later |= names & set(outcome.later_owners)
            self._owners.unowned.update(_of(outcome.unowned, names))
            self._searched += min(outcome.targets, len(names))

    def _account(self, outcomes: Sequence[tuple[SearchOutcome, frozenset[str]]], *, limit_hit: bool) -> None:
        """Assign every planned shard to one of the three sets of `accounting`."""
        names, streams, excluded = self._names, self._streams, frozenset(self._gaps.excluded)
        expired = self.task.cancellation.expired
        if expired and not limit_hit:
            # The time limit passed before all rows that workers had sent were yielded.
            self._late_repositories |= self._slots.left

        done = {name for _, worker_names in outcomes for name in worker_names}
        skipped = (
            {} if streams is None else {name: streams.replicas.failures(name) for name in names if name not in done}
        )
        if limit_hit:
            # The limit ended the search early: repositories without an answer did not fail.
            skipped = {}
            done = set(names)
        elif expired:
            # No worker failed: the time limit passed before one could answer.
            self._late_repositories |= {name for name, attempts in skipped.items() if not attempts}

        self.accounting = ShardAccounting(
            planned=frozenset(names), done=frozenset(done - excluded), skipped=skipped, excluded=excluded
        )

    def _skipped_items(self, shown_names: Collection[str]) -> Iterator[Skipped]:
        gaps = self._gaps
        skipped = {
            n: attempts for n, attempts in (self.accounting.skipped or {}).items() if n not in self._late_repositories
        }
        yield from unanswered_items(skipped, shown_names)
        yield from skipped_items.not_indexed(self._problems())
        yield from scope_items(self._scope, self.summary, gaps.without_history, gaps.unread, gaps.shallow)
        if self.task.viewer.sees_private:
            yield from skipped_items.unreadable(self.cluster.catalog.skipped)

        yield from skipped_items.named_only(gaps.name_only, gaps.missing, gaps.unread_cells)

    def _problems(self) -> dict[str, str]:
        """Return repositories in scope whose last build failed, with the reason.

        Some of them are searched as of an earlier build. Others never had a shard, so the catalog lacks them.
        """
        generation = self.cluster.generation
        problems = {entry.name: entry.problem for entry in generation.entries if entry.problem}
        visible = {name for name in self.summary.searched if name in problems}
        unbuilt = Catalog.from_repositories(repositories_of(generation.unbuilt)).visible(self.task.viewer)
        for item in self.task.scoped if unbuilt else ():
            candidates = [
                shard for shard in unbuilt if item.revisions_by_name is None or shard.name in item.revisions_by_name
            ]
            test = info_test(predicates_of(item.alternative))
            visible |= {shard.name for shard in select_repositories(item.alternative, candidates, test).repositories}

        return {name: problem for name, problem in problems.items() if name in visible}


def without(plans: Sequence[Plan], excluded: frozenset[str]) -> list[Plan]:
    """Return plans without the repositories that workers excluded."""
    if not excluded:
        return list(plans)
    return [
        replace(plan, targets=tuple(target for target in plan.targets if target.repository.name not in excluded))
        for plan in plans
    ]


def unanswered_items(skipped: dict[str, tuple[FailedAttempt, ...]], partly_shown: Collection[str]) -> Iterator[Skipped]:
    """Yield one item for each repository that no worker completed."""
    for name, attempts in sorted(skipped.items()):
        partly = "Some of its matches are shown. " if name in partly_shown else ""
        yield Skipped(
            reason="backend-missing",
            title=f"{name} did not answer",
            message=f"`{name}` was not searched completely. {partly}Tried: {reasons(attempts)}. "
            "Run the search again in a moment.",
            severity="error",
        )


def _of(values: Mapping[str, T], names: frozenset[str]) -> dict[str, T]:
    if values:
        return {name: value for name, value in values.items() if name in names}
    return {}


def _repository_of(label: str, names: frozenset[str]) -> str:
    """Return the repository of a label such as ``name@revision``."""
    if label in names:
        return label
    return next((label[:index] for index in range(len(label)) if label[index] == "@" and label[:index] in names), label)
