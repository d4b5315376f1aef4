"""Run a search over a cluster: the service plans, counts, ranks and limits; workers search.

`search_plans` chooses the repositories, `worker_rows` reads what workers find in them, and `worker_reports` unites what
they say besides. At the end, `account_for` puts each planned repository into one set: complete, skipped, excluded or
unfinished.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Iterator, Mapping
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.backends.cluster.connection import ClusterSnapshot, repositories_of
from sourcelight.backends.cluster.coordinator.members import FailedAttempt, ReplicaOrder, reasons
from sourcelight.backends.cluster.search_plans import ClusterPlans, make_cluster_plans
from sourcelight.backends.cluster.worker_reports import ReportUnion, unite_reports
from sourcelight.backends.cluster.worker_rows import WorkerRows
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.advice import skipped_items
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.plan_cache import NO_PLANS, PlanSummary
from sourcelight.engines.execution.results.owners import ownership_alert
from sourcelight.engines.execution.scope.scope import ScopeSelector
from sourcelight.engines.execution.scope.selection import info_test, predicates_of, select_repositories
from sourcelight.engines.execution.source import SearchTask, SourceReport, scope_alert, scope_items
from sourcelight.repos import Catalog


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
    unfinished
        Repositories that no worker searched completely, because the search stopped at its limit of matches.
    """

    planned: frozenset[str] = frozenset()
    done: frozenset[str] = frozenset()
    skipped: Mapping[str, tuple[FailedAttempt, ...]] = field(default_factory=dict)
    excluded: frozenset[str] = frozenset()
    unfinished: frozenset[str] = frozenset()

    @property
    def unanswered(self) -> frozenset[str]:
        """Skipped repositories of which no worker failed: the time limit passed before one could answer."""
        return frozenset(name for name, attempts in self.skipped.items() if not attempts)


def account_for(
    planned: Collection[str], union: ReportUnion, replicas: ReplicaOrder, *, limit_hit: bool
) -> ShardAccounting:
    """Assign every planned repository to one set.

    Parameters
    ----------
    planned
        Names of the repositories.
    union
        The reports of all workers.
    replicas
        The workers that were asked, with their failed attempts.
    limit_hit
        Whether the search stopped at its limit of matches. Then repositories without an answer did not fail.
    """
    names = frozenset(planned)
    remaining = names - union.completed
    searched = ShardAccounting(
        planned=names, done=frozenset(union.completed - union.excluded), excluded=frozenset(union.excluded)
    )
    if limit_hit:
        # A limit ends the search before all workers have answered: none of them failed.
        return replace(searched, unfinished=remaining)

    skipped = {name: replicas.failures(name) for name in planned if name in remaining}
    return replace(searched, skipped=skipped)


def unanswered_items(
    skipped: Mapping[str, tuple[FailedAttempt, ...]], partly_shown: Collection[str]
) -> Iterator[Skipped]:
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


class ClusterSource:
    """`SearchSource` over the workers of a cluster.

    Parameters
    ----------
    cluster
        The generation and the workers.
    task
        The search.

    Attributes
    ----------
    accounting
        What became of each repository; empty before `report`.
    """

    def __init__(self, cluster: ClusterSnapshot, task: SearchTask) -> None:
        self.cluster = cluster
        self.task = task
        self.accounting = ShardAccounting()
        self._planned: ClusterPlans | None = None
        self._rows: WorkerRows | None = None

    @property
    def plans(self) -> list[Plan]:
        """One plan per alternative, after `resolve`; `report` removes the repositories that workers excluded."""
        return [] if self._planned is None else self._planned.plans

    @property
    def summary(self) -> PlanSummary:
        """Summary of the plans."""
        return NO_PLANS if self._planned is None else self._planned.summary

    def activity(self) -> tuple[Skipped, ...]:
        """Return nothing: a cluster doesn't build indexes during a search."""
        return ()

    def prepare(self) -> Iterator[Skipped]:
        """Wait for nothing: shards are built before a generation names them."""
        return iter(())

    def resolve(self) -> Iterator[Skipped]:
        """Select the visible repositories of the query, and make plans for them."""
        self._planned = make_cluster_plans(self.cluster, self.task.viewer, self.task.scoped)
        return iter(())

    def batches(self, limit: int) -> Generator[Any, None, None]:
        """Yield all rows, ranked if a search on one machine would rank them."""
        if self._planned is None:
            raise RuntimeError("`resolve` makes the plans that `batches` needs: call it first")

        self._rows = WorkerRows(self.cluster, self.task, self._planned, limit)
        yield from self._rows.batches()

    def finds(self) -> bool:
        """Return whether there is a match within the time limit."""
        for _ in self.resolve():
            pass

        batches = self.batches(1)
        try:
            return any(batch.num_rows for batch in batches)
        finally:
            # At once: workers stop to look for further matches.
            batches.close()

    def report(self, matched_repositories: Collection[str], *, limit_hit: bool) -> SourceReport:
        """Unite the workers' reports, and account for every shard."""
        if self._planned is None or self._rows is None:
            raise RuntimeError("`report` sums up a search: call `resolve` and `batches` first")

        rows, union = self._rows, unite_reports(self._rows.reports)
        accounting = account_for(self._planned.names, union, rows.replicas, limit_hit=limit_hit)
        late_repositories: set[str] = set()
        if self.task.cancellation.expired and not limit_hit:
            # Workers may have sent more rows than were yielded before the time limit passed.
            # No worker failed where the time limit passed before one could answer.
            late_repositories = union.timed_out | rows.unread | accounting.unanswered

        self.accounting = accounting
        self._planned = self._planned.without(accounting.excluded)
        scope = _with_notices(self._planned.scope, union)
        failures = {name: attempts for name, attempts in accounting.skipped.items() if name not in late_repositories}
        return SourceReport(
            late_repositories=sorted(late_repositories),
            skipped=[
                *unanswered_items(failures, matched_repositories),
                *self._skipped_items(self._planned, scope, union),
            ],
            capped=rows.capped,
            is_complete=not accounting.skipped,
            # Workers read the CODEOWNERS files; only their counts arrive here.
            owners_alert=ownership_alert(
                union.searched,
                unknown=union.unknown_owners,
                unowned_files=sum(union.unowned.values()),
                later=union.later_owners,
            ),
            scope_alert=scope_alert(scope),
        )

    def _skipped_items(self, planned: ClusterPlans, scope: ScopeSelector, union: ReportUnion) -> Iterator[Skipped]:
        """Yield the items about what workers could not search, in the order of one machine."""
        yield from skipped_items.not_indexed(self._build_problems(planned.summary))
        yield from scope_items(scope, planned.summary, union.without_history, union.unread, union.shallow)
        if self.task.viewer.sees_private:
            yield from skipped_items.unreadable(self.cluster.catalog.skipped)

        yield from skipped_items.named_only(union.name_only, union.missing, union.unread_cells)

    def _build_problems(self, summary: PlanSummary) -> dict[str, str]:
        """Return repositories in scope whose last build failed, with the reason.

        Some of them are searched as of an earlier build. Others never had a shard, so the catalog lacks them.
        """
        problems = {entry.name: entry.problem for entry in self.cluster.generation.entries if entry.problem}
        # Most generations have none: their searches make no catalog of repositories without a shard.
        if not problems:
            return {}

        in_scope = self._unbuilt_in_scope().union(summary.searched)
        return {name: problem for name, problem in problems.items() if name in in_scope}

    def _unbuilt_in_scope(self) -> set[str]:
        """Return the names of repositories without a shard that the query would search."""
        repositories = repositories_of(self.cluster.generation.unbuilt)
        if not repositories:
            return set()

        names: set[str] = set()
        visible = Catalog.from_repositories(repositories).visible(self.task.viewer)
        for item in self.task.scoped:
            candidates = visible
            if item.revisions_by_name is not None:
                candidates = tuple(repository for repository in visible if repository.name in item.revisions_by_name)

            test = info_test(predicates_of(item.alternative))
            selected = select_repositories(item.alternative, candidates, test)
            names.update(repository.name for repository in selected.repositories)

        return names


def _with_notices(scope: ScopeSelector, union: ReportUnion) -> ScopeSelector:
    """Return the selector with the workers' notices beside its own."""
    # A copy, and not the selector of the plans: their notices stay those of the catalog.
    noted = copy(scope)
    noted.unsearchable = scope.unsearchable | union.unsearchable
    noted.invalid = scope.invalid | union.invalid
    return noted
