"""Plans of a search over a cluster: made from the metadata of a generation, before any worker gets a request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from sourcelight.backends.cluster.connection import ClusterSnapshot
from sourcelight.backends.cluster.worker.phases import COMMITS, FILES, REPOSITORIES, SYMBOLS
from sourcelight.core.query import Pattern
from sourcelight.engines.execution.commits.query import asked_of
from sourcelight.engines.execution.plan import Plan, make_plan
from sourcelight.engines.execution.plan_cache import PlanSummary, stands, summary_of
from sourcelight.engines.execution.scope.contexts import ScopedAlternative
from sourcelight.engines.execution.scope.scope import ScopeSelector
from sourcelight.repos import Viewer


@dataclass(frozen=True)
class ClusterPlans:
    """The plans of a query over the repositories that its viewer may see.

    Attributes
    ----------
    scope
        The selector that chose the repositories, with its notices.
    plans
        One plan per alternative of the query.
    names
        Names of the repositories of all plans, sorted.
    """

    scope: ScopeSelector
    plans: list[Plan]
    names: list[str]

    @cached_property
    def summary(self) -> PlanSummary:
        """Summary of the plans."""
        # Made on first use: explanations and calls need the names alone.
        return summary_of(self.plans)

    def without(self, excluded: frozenset[str]) -> ClusterPlans:
        """Return the plans without some repositories."""
        if not excluded:
            return self

        plans = [_plan_without(plan, excluded) for plan in self.plans]
        names = [name for name in self.names if name not in excluded]
        return ClusterPlans(self.scope, plans, names)


def make_cluster_plans(cluster: ClusterSnapshot, viewer: Viewer, scopes: Sequence[ScopedAlternative]) -> ClusterPlans:
    """Make the plans of a query over the repositories that the viewer may see.

    Raises `QueryError` for an invalid pattern.
    """
    scope = ScopeSelector(cluster.catalog, viewer)
    repositories = cluster.catalog.repositories
    cached = cluster.plan_cache.get(scopes, viewer, repositories)
    if cached is not None:
        return ClusterPlans(scope, *cached)

    selected = scope.select(scopes)
    # `make_plan` compiles the patterns: their errors are raised once, here. Without targets it matches no names of
    # repositories; workers do that.
    plans_without_targets = [make_plan(replace(item, targets=())) for item in selected]
    plans = [replace(plan, targets=item.targets) for plan, item in zip(plans_without_targets, selected, strict=True)]

    names: set[str] = set()
    for plan in plans:
        names.update(target.repository.name for target in plan.targets)

    cluster_plans = ClusterPlans(scope, plans, sorted(names))
    # Other plans depend on a ref, a context, a date or a file, or have notices, which the cache doesn't keep.
    if scope.clean and stands(scopes, plans):
        cluster.plan_cache.put(scopes, viewer, repositories, (cluster_plans.plans, cluster_plans.names))

    return cluster_plans


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


def _plan_without(plan: Plan, excluded: frozenset[str]) -> Plan:
    targets = tuple(target for target in plan.targets if target.repository.name not in excluded)
    return replace(plan, targets=targets)
