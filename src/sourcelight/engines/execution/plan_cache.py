"""Plans of the latest queries, and what they sum up to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, TypeAlias, TypeVar

from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.caching import IdentityCache, LruCache
from sourcelight.core.query import Filter
from sourcelight.core.wire.events import Alert
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.scope.contexts import ScopedAlternative
from sourcelight.engines.search import Target
from sourcelight.engines.structure.pattern import StructurePattern
from sourcelight.repos import Repository, Viewer

_MAX_CACHED_PLANS = 64
"""Plans that are cached: people repeat and vary the same few queries."""

T = TypeVar("T")
_Key: TypeAlias = tuple[tuple[int, ...], Viewer]
_TARGET_SUMMARIES: IdentityCache[tuple[Target, ...], _TargetSummary] = IdentityCache(8)


@dataclass(frozen=True, slots=True)
class PlanSummary:
    """A summary of some plans.

    Attributes
    ----------
    infos
        Attributes of all repositories in the plans, by name.
    searched
        Repositories whose files or definitions are searched, by name.
    replaced
        Number of replaced objects in repositories that have any, by name.
    structures
        The structural patterns of the plans.
    forks, archived
        Names of repositories that are left out only because forks, or archived repositories, were not requested.
    """

    infos: Mapping[str, RepositoryInfo]
    searched: Mapping[str, Repository]
    replaced: Mapping[str, int]
    structures: tuple[StructurePattern, ...]
    forks: list[str]
    archived: list[str]


@dataclass(frozen=True, slots=True)
class _TargetSummary:
    """Facts about the targets of a plan that are the same for every query."""

    infos: Mapping[str, RepositoryInfo]
    repositories: Mapping[str, Repository]

    @classmethod
    def of(cls, targets: tuple[Target, ...]) -> _TargetSummary:
        """Return the summary of some targets: the same one for the same tuple, which most queries share."""
        summary = _TARGET_SUMMARIES.get(targets)
        if summary is None:
            repositories = {target.repository.info.name: target.repository for target in targets}
            summary = cls({name: repository.info for name, repository in repositories.items()}, repositories)
            _TARGET_SUMMARIES.put(targets, summary)
        return summary


def summary_of(plans: Sequence[Plan]) -> PlanSummary:
    """Sum up plans."""
    infos: Mapping[str, RepositoryInfo] = {}
    searched: Mapping[str, Repository] = {}
    for plan in plans:
        targets = _TargetSummary.of(plan.targets)
        infos = {**infos, **targets.infos} if infos else targets.infos
        if plan.searches:
            searched = {**searched, **targets.repositories} if searched else targets.repositories

    return PlanSummary(
        infos=infos,
        searched=searched,
        replaced={name: info.replaced_objects for name, info in infos.items() if info.replaced_objects},
        structures=tuple(dict.fromkeys(structure for plan in plans for structure in plan.structures)),
        forks=sorted({name for plan in plans for name in plan.selection.forks_left_out}),
        archived=sorted({name for plan in plans for name in plan.selection.archived_left_out}),
    )


NO_PLANS = summary_of(())


@dataclass(frozen=True, slots=True)
class CachedPlan:
    """A query's plans over the repositories that its viewer saw, with their summary.

    Attributes
    ----------
    worktrees
        Repositories that are searched at HEAD and have a work tree, which may differ from it.
    advice
        The alert, or None, of a complete search without matches; empty before there was one.
    """

    plans: list[Plan]
    worktrees: Sequence[Repository]
    summary: PlanSummary
    advice: list[Alert | None] = field(default_factory=list)


class PlanCache(Generic[T]):
    """Plans of the latest queries, by viewer, valid while the catalog returns the same repositories.

    The key of a query is the ids of its alternatives. The parser caches these objects, and a cached plan holds its own,
    so no other object can get their ids.
    """

    def __init__(self) -> None:
        self._plans: LruCache[_Key, tuple[Sequence[ScopedAlternative], tuple[Repository, ...], T]] = LruCache(
            _MAX_CACHED_PLANS
        )
        self._similar: LruCache[_Key, tuple[Sequence[ScopedAlternative], tuple[Repository, ...], T]] = LruCache(
            _MAX_CACHED_PLANS
        )

    def get(
        self, scopes: Sequence[ScopedAlternative], viewer: Viewer, repositories: tuple[Repository, ...]
    ) -> T | None:
        """Return the cached value, if it is still valid."""
        # `is not`: the catalog returns the same tuple while nothing changed, and comparing thousands of repositories
        # would cost more than planning.
        cached = self._plans.get(_key(scopes, viewer))
        return None if cached is None or cached[1] is not repositories else cached[2]

    def put(
        self, scopes: Sequence[ScopedAlternative], viewer: Viewer, repositories: tuple[Repository, ...], plans: T
    ) -> None:
        """Store the plan and the alternatives that it is found by."""
        self._plans.put(_key(scopes, viewer), (scopes, repositories, plans))
        if len(scopes) == 1 and scopes[0].alternative.filters:
            self._similar.put(_shape(scopes, viewer), (scopes, repositories, plans))

    def similar(
        self, scopes: Sequence[ScopedAlternative], viewer: Viewer, repositories: tuple[Repository, ...]
    ) -> T | None:
        """Return the plan of another query with the same filters, if it is still valid.

        They are the same objects if both queries have one shape: see `sourcelight.core.query.shapes`.
        """
        if len(scopes) != 1 or not scopes[0].alternative.filters:
            return None
        cached = self._similar.get(_shape(scopes, viewer))
        return None if cached is None or cached[1] is not repositories else cached[2]

    def clear(self) -> None:
        """Clear the cache."""
        self._plans.clear()
        self._similar.clear()


def _key(scopes: Sequence[ScopedAlternative], viewer: Viewer) -> _Key:
    # The viewer is part of the key, so a plan is never used for an account that may see other repositories.
    return tuple(id(item.alternative) for item in scopes), viewer


def _shape(scopes: Sequence[ScopedAlternative], viewer: Viewer) -> _Key:
    # The cached alternative holds the filters, so no others get their id.
    return (id(scopes[0].alternative.filters),), viewer


def stands(scoped: Sequence[ScopedAlternative], plans: Sequence[Plan]) -> bool:
    """Return whether plans depend only on the list of repositories, not on a ref, context, date, file or history."""
    if any(plan.commits is not None or plan.history_commits for plan in plans):
        return False
    return all(map(_names_no_state, scoped))


def _names_no_state(item: ScopedAlternative) -> bool:
    """Return whether an alternative asks for nothing that changes while the list of repositories stays."""
    if item.revisions_by_name is not None or item.context:
        return False
    return all(
        isinstance(predicate, Filter) and predicate.name != "rev" and predicate.revs is None
        for predicate in item.alternative.filters
    )
