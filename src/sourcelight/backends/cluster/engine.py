"""The engine of a cluster, and the view for its administrator.

It plans queries from the metadata of a generation. Workers answer, and estimate the work of a query from their indexes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

from sourcelight.backends.cluster.connection import ClusterConnection, ClusterSnapshot
from sourcelight.backends.cluster.coordinator.members import ReplicaOrder
from sourcelight.backends.cluster.coordinator.requests import HolderRequests, NoWorkerAnswered
from sourcelight.backends.cluster.messages import EXPLAIN, WorkerRequest
from sourcelight.backends.cluster.partial_calls import sentence, wait_for
from sourcelight.backends.cluster.search import ClusterSource
from sourcelight.backends.cluster.search_plans import make_cluster_plans
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.backends.cluster.tool_calls import COORDINATED, count_on_workers, route, run_step
from sourcelight.backends.cluster.transport.connections import dask_client
from sourcelight.core.batches import Event
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, RepositoryNotFound, SearchIndexError
from sourcelight.core.explanation import Advice, Explanation
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.tool import A
from sourcelight.core.wire.events import Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Limits
from sourcelight.engines.execution.advice import notices
from sourcelight.engines.execution.advice.explain import combine_explanations, explain
from sourcelight.engines.execution.indexes.first_indexing import FirstIndexing
from sourcelight.engines.execution.plan_cache import PlanCache
from sourcelight.engines.execution.protocol import ToolHandler
from sourcelight.engines.execution.query_reader import QueryReader
from sourcelight.engines.execution.run import SearchExecution
from sourcelight.engines.execution.source import SearchTask
from sourcelight.engines.search import IndexReport, Target
from sourcelight.engines.search.model import GroupBy
from sourcelight.repos import Catalog, Viewer

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
            f"<Cluster {', '.join(self.schedulers)}: {count_of(len(workers), 'worker')}, "
            f"generation {generation.number}, {count_of(len(generation.searchable), 'repository')}>"
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
        """Return the addresses of the workers that hold a repository, the preferred one first, for Dask's ``workers=``.

        Raises `RepositoryNotFound` if no repository has the name.
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


class ClusterEngine:
    """`Engine` over the repositories of a cluster's newest generation.

    This machine has only the metadata of each repository; files and indexes are on the workers.

    Parameters
    ----------
    fleet
        The workers. `close` ends their connections.
    limits
        Bounds of every search.
    """

    holds_files = False

    def __init__(self, fleet: ClusterConnection, *, limits: Limits | None = None) -> None:
        self.fleet = fleet
        self.limits = limits or Limits()
        self.indexing = FirstIndexing()  # never runs: `build` indexes on the workers
        self.report: IndexReport | None = None
        self.cluster = ClusterView(fleet)
        self._queries = QueryReader(self.limits)
        self._snapshot = ClusterSnapshot(fleet, fleet.generation, PlanCache())
        self._swapping = threading.Lock()

    @property
    def catalog(self) -> Catalog:
        """The repositories of the newest generation that was noticed."""
        return self._snapshot.catalog

    @property
    def generation(self) -> Generation:
        """The newest generation that was noticed."""
        return self._snapshot.generation

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Read a newer generation, if there is one."""
        del cancellation
        self.snapshot()

    def snapshot(self) -> ClusterSnapshot:
        """Return the newest generation for one search or call; later ones don't affect it."""
        newest = self.fleet.generation
        # Compared and replaced under one lock, so that two threads don't make two snapshots of one generation, each
        # with its own plan cache.
        with self._swapping:
            if newest.id != self._snapshot.generation.id:
                self._snapshot = replace(self._snapshot, generation=newest)
            return self._snapshot

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> None:
        """Return None: the answer needs requests to workers."""

    def stream(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        """Search and yield events as they arrive; see `LocalEngine.stream`."""
        started = time.monotonic()
        cluster = self.snapshot()
        read = self._queries.read(request, cluster.catalog.contexts)
        read_s = time.monotonic() - started
        if isinstance(read, float):
            return notices.late_to_read(read, read_s)

        task = SearchTask(*read, request, viewer, cancellation, started, read_s)

        def finds(text: str) -> bool:
            return self._finds(replace(request, query=text), viewer)

        return SearchExecution(ClusterSource(cluster, task), task, self.limits, finds).events()

    def count(
        self,
        request: SearchRequest,
        by: Sequence[GroupBy],
        viewer: Viewer,
        cancellation: Cancellation,
        on_skipped: Callable[[tuple[Skipped, ...]], None] | None = None,
    ) -> Any | None:
        """Return matches and files by ``repository``, ``commit``, ``language`` or ``path``; see `LocalEngine.count`."""
        del on_skipped  # a worker's count that lacks something is None
        cluster = self.snapshot()
        self._queries.read(request, cluster.catalog.contexts)  # an invalid query reaches no worker
        return count_on_workers(cluster, request, by, viewer, cancellation)

    def run_tool(self, handler: ToolHandler[A], arguments: A, context: ToolContext) -> ToolResult:
        """Run a tool on the workers, or here, from the catalog and by searches; see `LocalEngine.run_tool`."""
        if handler.tool.scope in COORDINATED:
            return handler.run(arguments, context)
        return route(self.snapshot(), handler, arguments.to_wire(), context)

    def close(self) -> None:
        """End the connections to the workers."""
        self.cluster.close()
        self.fleet.close()

    def step_runner(self, step: str, request: Any, context: Any, on_event: Callable[[Any], None]) -> Any:
        """Run a step of deep search on a worker that has the repositories of the question."""
        return run_step(self.snapshot(), step, request, context, on_event)

    def explain(self, request: SearchRequest, viewer: Viewer, cancellation: Cancellation | None = None) -> Explanation:
        """Explain a query; the workers add what their indexes can't rule out. See `LocalEngine.explain`.

        Raises
        ------
        QueryError
            The query can't be parsed, or has an unsupported feature.
        ClusterError
            No worker answers for any repository.
        """
        cluster = self.snapshot()
        query, scoped = self._queries.parse(request, cluster.catalog.contexts)
        cancel = cancellation or Cancellation()
        planned = make_cluster_plans(cluster, viewer, scoped)
        if not planned.names:
            return explain(_open_nothing, self.limits, query, request, planned.plans, cancel)

        order = WorkerRequest(
            cluster.generation.id,
            tuple(planned.names),
            viewer=viewer.name,
            allowed_s=cancel.remaining_s,
            request=request,
            step=EXPLAIN,
        )
        replicas = ReplicaOrder(self.fleet.members, cluster.holders())
        requests = HolderRequests(replicas, cluster.generation, order, self.fleet.silence_s)
        messages = wait_for(self.fleet, requests.last_messages(), cancel)
        if not messages:
            raise NoWorkerAnswered(
                "explain", [attempt for name in requests.skipped for attempt in replicas.failures(name)]
            )

        parts = [message["answer"]["attributes"]["explained"] for message in messages]
        explanation = combine_explanations(self.limits, query, request, planned.plans, parts)
        advice = [
            Advice("backend-missing", sentence(name, replicas.failures(name))) for name in sorted(requests.skipped)
        ]
        return replace(explanation, warnings=(*explanation.warnings, *advice))

    def _finds(self, request: SearchRequest, viewer: Viewer) -> bool:
        """Return whether a query has a match within a short time; False also when it can't be parsed."""
        cluster = self.snapshot()
        try:
            read = self._queries.parse(request, cluster.catalog.contexts)
            return ClusterSource(cluster, SearchTask(*read, request, viewer, Cancellation(notices.TRY_S))).finds()
        except QueryError:
            return False


def _open_nothing(target: Target) -> NoReturn:
    raise SearchIndexError(target.repository.name, "its index is on the workers")
