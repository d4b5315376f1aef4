"""The engine of a cluster, and the view of it that its administrator gets.

It plans queries from the facts of a generation; workers answer, and estimate from their indexes what a query reads.
"""

from __future__ import annotations

import copy
import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.coordinator.members import ReplicaOrder, WorkerInfo
from sourcelight.backends.cluster.coordinator.requests import HolderRequests, NoWorkerAnswered
from sourcelight.backends.cluster.messages import EXPLAIN, WorkerRequest
from sourcelight.backends.cluster.partial_calls import sentence, wait_for
from sourcelight.backends.cluster.search import ClusterPlanCache, ClusterSearch, catalog_of, make_cluster_plans
from sourcelight.backends.cluster.tool_calls import COORDINATED, count_on_workers, route
from sourcelight.backends.cluster.transport.connections import dask_client
from sourcelight.core.batches.overview import IndexProgress
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryNotFound
from sourcelight.core.tools.tool import A
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Limits, LocalEngine
from sourcelight.engines.execution.advice import Advice
from sourcelight.engines.execution.explain import Explanation, combine_explanations
from sourcelight.engines.execution.protocol import ToolHandler
from sourcelight.engines.search import IndexReport, IndexStore
from sourcelight.engines.search.model import GroupBy
from sourcelight.repos import Viewer

if TYPE_CHECKING:
    from sourcelight.engines.tools import ToolContext


class ClusterView:
    """The value of `Client.cluster`, for clients that opened the cluster themselves: an administrator's right.

    Attributes
    ----------
    schedulers
        Addresses of the cells' schedulers.
    """

    def __init__(self, fleet: ClusterConnection) -> None:
        self.schedulers = fleet.schedulers
        self._fleet = fleet
        self._clients: list[Any] = []

    def __repr__(self) -> str:
        workers = self._fleet.run(self._live())
        generation = self._fleet.generation
        return (
            f"<Cluster {', '.join(self.schedulers)}: {len(workers)} workers, generation {generation.number}, "
            f"{len(generation.searchable)} repositories>"
        )

    @property
    def client(self) -> Any:
        """Dask's `Client` of the first cell, for maps over repositories; made on first use."""
        if not self._clients:
            self._clients.append(dask_client(self.schedulers[0], self._fleet.tls))
        return self._clients[0]

    @property
    def workers(self) -> dict[str, str]:
        """Addresses of the workers that answer, by name."""
        return {member.name: member.address for member in self._fleet.run(self._live())}

    @property
    def generation(self) -> int:
        """Number of the generation that searches run over."""
        return self._fleet.generation.number

    def replicas(self, repository: str) -> list[str]:
        """Addresses of the workers that hold a repository, the preferred one first: for ``workers=`` of Dask.

        Raises `RepositoryNotFound` for a name that is none.
        """
        holders = self._fleet.holders()
        if repository not in holders:
            raise RepositoryNotFound(repository)
        return [member.address for member in holders[repository]]

    def close(self) -> None:
        """Close Dask's client, if there is one."""
        for client in self._clients:
            client.close()
        self._clients.clear()

    async def _live(self) -> tuple[Any, ...]:
        await self._fleet.members.ready()
        return self._fleet.members.live


class ClusterEngine(LocalEngine):
    """Answers queries over the repositories of a cluster's newest generation.

    Nothing of a repository but its facts is on this machine.

    Parameters
    ----------
    fleet
        The workers; closed by whoever made it.
    limits
        Bounds of every search.
    """

    searches = ClusterSearch
    holds_files = False

    def __init__(self, fleet: ClusterConnection, *, limits: Limits | None = None) -> None:
        self.fleet = fleet
        self.generation = fleet.generation
        super().__init__(catalog_of(self.generation), IndexStore(os.devnull), limits=limits)
        self.cluster = ClusterView(fleet)
        self.plannings = ClusterPlanCache()
        self._swapping = threading.Lock()
        self._at_rest = False

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Read a newer generation, if there is one."""
        del cancellation
        newest = self.fleet.generation
        with self._swapping:
            if newest.id != self.generation.id and not self._at_rest:
                self.generation, self.catalog = newest, catalog_of(newest)

    def snapshot(self) -> ClusterEngine:
        """Return this engine bound to the newest generation for one search or call; later ones don't affect it."""
        self.refresh()
        with self._swapping:
            engine = copy.copy(self)
            engine._at_rest = True  # noqa: SLF001 - a copy of this one
        return engine

    def holders(self) -> dict[str, tuple[WorkerInfo, ...]]:
        """For each repository of this engine's generation the workers that hold its shard."""
        return self.fleet.holders(self.generation)

    def update(
        self,
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Nothing is indexed here: `build` does it on the workers."""
        del progress, cancellation
        return IndexReport()

    def count(
        self, request: SearchRequest, by: Sequence[GroupBy], viewer: Viewer, cancellation: Cancellation
    ) -> Any | None:
        """Matches and files by ``repository``, ``language`` or ``path``; see `LocalEngine.count`."""
        self.read(request)
        return count_on_workers(self.snapshot(), request, by, viewer, cancellation)

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: ToolContext) -> ToolResult:
        """Run a tool on the workers, or here, from the catalog and by searches; see `LocalEngine`."""
        if handler.tool.scope in COORDINATED:
            return super().run_tool(handler, arguments, context)
        return route(self.snapshot(), handler, arguments.to_wire(), context)

    def close(self) -> None:
        """End the connections to the workers."""
        super().close()
        self.cluster.close()
        self.fleet.close()

    def run_step(self, step: str, request: Any, context: Any, on_event: Callable[[Any], None]) -> Any:
        """Run a step of deep search on a worker that has the repositories of the question."""
        from sourcelight.backends.cluster.tool_calls import run_step

        return run_step(self.snapshot(), step, request, context, on_event)

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        """Explain a query; the workers add what their indexes can't rule out. See `LocalEngine.explain`."""
        explanation = explain_by_workers(self.snapshot(), request, viewer, cancellation or Cancellation())
        return super().explain(request, viewer, cancellation) if explanation is None else explanation


def explain_by_workers(
    engine: ClusterEngine, request: SearchRequest, viewer: Viewer, cancellation: Cancellation
) -> Explanation | None:
    """Explain a query; None where it chooses no repository.

    Raises
    ------
    QueryError
        When the query can't be read, or holds what is not supported.
    ClusterError
        When no worker answers for any repository.
    """
    query, scoped = engine.parse(request)
    _, plans, names = make_cluster_plans(engine, viewer, cancellation, scoped)
    if not names:
        return None
    fleet = engine.fleet
    order = WorkerRequest(
        engine.generation.id,
        tuple(names),
        viewer=viewer.name,
        allowed_s=cancellation.remaining_s,
        request=request,
        step=EXPLAIN,
    )
    turns = ReplicaOrder(fleet.members, engine.holders())
    asking = HolderRequests(turns, engine.generation, order, fleet.silence_s)
    messages = wait_for(engine, asking.each(), cancellation)
    if not messages:
        raise NoWorkerAnswered("explain", [one for name in asking.skipped for one in turns.why(name)])
    explanation = combine_explanations(
        engine, query, request, plans, [one["answer"]["attributes"]["explained"] for one in messages]
    )
    advice = [Advice("backend-missing", sentence(name, turns.why(name))) for name in sorted(asking.skipped)]
    return replace(explanation, warnings=(*explanation.warnings, *advice))
