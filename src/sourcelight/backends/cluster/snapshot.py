"""A cluster as one search or call sees it: a generation, its repositories, and the workers that hold them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.coordinator.members import WorkerInfo
from sourcelight.backends.cluster.storage.generation import Generation, StoredShard
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.plan_cache import PlanCache
from sourcelight.repos import Catalog, Repository

ClusterPlanCache = PlanCache[tuple[list[Plan], list[str]]]
"""Plans of a query, and the names of their repositories."""


@dataclass(frozen=True)
class ClusterSnapshot:
    """One generation of a cluster, and the workers.

    A search or call takes one and keeps it: plans, names and shards are then of the same generation, though a newer one
    may come while it runs.

    Parameters
    ----------
    fleet
        The workers.
    generation
        What is searched.
    plan_cache
        Plans of earlier searches.
    """

    fleet: ClusterConnection
    generation: Generation
    plan_cache: ClusterPlanCache

    @cached_property
    def catalog(self) -> Catalog:
        """The repositories that have a shard, as a catalog with no place on this machine."""
        return catalog_of(self.generation)

    def holders(self) -> dict[str, tuple[WorkerInfo, ...]]:
        """For each repository of the generation the workers that hold its shard."""
        return self.fleet.holders(self.generation)


def catalog_of(generation: Generation) -> Catalog:
    """Return the repositories of a generation that have a shard."""
    return Catalog.from_repositories(
        repositories_of(generation.searchable), contexts=generation.contexts, skipped=generation.skipped
    )


def repositories_of(entries: Iterable[StoredShard]) -> list[Repository]:
    """Return the repositories of some shards; they have no directory here."""
    return [
        Repository(entry.facts, entry.shard, "git", "", "", entry.incomplete, lender_names=entry.lenders)
        for entry in entries
    ]
