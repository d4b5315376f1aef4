"""What a query is about over a cluster: chosen from the generation's facts, before any worker is asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.worker.search import COMMITS, FILES, REPOSITORIES, SYMBOLS
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query import Pattern
from sourcelight.engines.execution.commits.query import asked_of
from sourcelight.engines.execution.plan import Kept, Plan, make_plan, stands
from sourcelight.engines.execution.scope.revisions import Scoped
from sourcelight.engines.execution.scope.scope import Scoper
from sourcelight.repos import Catalog, Repository, Viewer

if TYPE_CHECKING:
    from sourcelight.backends.cluster.engine import ClusterEngine
    from sourcelight.backends.cluster.storage.generation import ShardEntry

Planned = tuple[list[Plan], list[str]]

Plannings = Kept[Planned]


def catalog_of(entries: Iterable[ShardEntry], contexts: Mapping[str, Mapping[str, Any]] | None = None) -> Catalog:
    """Some repositories of a generation as a catalog, with no place on this machine."""
    found = [
        Repository(entry.facts, entry.shard, "git", "", "", entry.incomplete, lender_names=entry.lenders)
        for entry in entries
    ]
    return Catalog.listed(found, contexts=contexts)


def planned(
    engine: ClusterEngine, viewer: Viewer, cancellation: Cancellation, scopes: Sequence[Scoped]
) -> tuple[Scoper, list[Plan], list[str]]:
    """What chose the repositories, plans that name them, and their names; of those that the viewer may see.

    Raises `QueryError` for a pattern that can't be searched for.
    """
    scoper = Scoper(engine, viewer, cancellation)
    repositories = engine.catalog.repositories
    found = engine.plannings.of(scopes, viewer, repositories)
    if found is None:
        selected = scoper.selected(scopes)
        # Compiles patterns: what is wrong with them is said once, here. Names of repositories are matched by workers.
        made = [make_plan(replace(scope, targets=())) for scope in selected]
        plans = [replace(plan, targets=scope.targets) for plan, scope in zip(made, selected, strict=True)]
        found = plans, sorted({target.repository.name for plan in plans for target in plan.targets})
        if scoper.clean and stands(scopes, plans):
            engine.plannings.keep(scopes, viewer, repositories, found)
    return scoper, *found


def phases_of(plans: Sequence[Plan]) -> tuple[int, ...]:
    """The phases in which an answer may have rows: the less there are, the sooner the first row is known."""
    found = [FILES]
    if any("symbol" in plan.alternative.types for plan in plans):
        found.append(SYMBOLS)
    if any(asked_of(plan.alternative) is not None for plan in plans):
        found.append(COMMITS)
    if any(map(_may_name_repositories, plans)):
        found.append(REPOSITORIES)
    return tuple(sorted(found))


def _may_name_repositories(plan: Plan) -> bool:
    """Whether the pattern may stand in the name of a repository: of others than one literal nothing is known here."""
    pattern = plan.alternative.pattern
    if not isinstance(pattern, Pattern) or pattern.kind != "literal" or pattern.negated or not pattern.value.isascii():
        return True
    text = pattern.value.partition("@")[0].lower()
    return any(text in target.repository.name.lower() for target in plan.targets)
