"""Several services as one backend: searches, tools and lists."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from sourcelight.client.exhaustive import ExhaustiveSearch
from sourcelight.client.federation.fan_out import answers, ask_all
from sourcelight.client.federation.service import Service, explanation_of
from sourcelight.client.federation.service_tools import federated_tools
from sourcelight.client.federation.stream_merge import StreamMerge
from sourcelight.client.federation.tool_calls import FederatedTools
from sourcelight.client.provenance import FEDERATION
from sourcelight.client.queries import everything
from sourcelight.client.search_run import SearchRun
from sourcelight.core.backend import BackendWrapper, Features
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo, ServiceStatuses
from sourcelight.core.batches.results import CallObserver, ToolResult
from sourcelight.core.wire.request import SearchRequest

IDLE_TIMEOUT_S = 30.0


class FederatedBackend:
    """`client.Backend` over the backends of several services.

    Parameters
    ----------
    services
        What is asked, in the order that decides between equals.
    clients
        A client of each service, by its name.
    close
        Gives back what was opened for the federation alone.
    idle_timeout_s
        Seconds without news of a search after which a service that is not in this process is given up.
    """

    def __init__(
        self,
        services: Sequence[Service],
        *,
        clients: Mapping[str, Any] | None = None,
        close: Callable[[], Any] | None = None,
        idle_timeout_s: float = IDLE_TIMEOUT_S,
    ) -> None:
        self.services = tuple(services)
        self.features = Features(
            services=dict(clients or {}),
            cached_names=self._cached_names,
            folder_of=self._folder_of,
            service=federated_tools(self.services),
        )
        self.name = f"{FEDERATION}{', '.join(service.name for service in services)}"
        self.local = all(service.backend.local for service in services)
        self.idle_timeout_s = idle_timeout_s
        self._close = close
        self._calls = FederatedTools(self.services, idle_timeout_s=idle_timeout_s)

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Events of all services as they arrive; duplicate rows are yielded once."""
        merge = StreamMerge(self.services, request, idle_timeout_s=self.idle_timeout_s, keeps_rows=False)
        async with aclosing(merge.events()) as events:
            async for event in events:
                yield event

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """None: rows of several services must not count twice, so the caller counts the merged stream."""
        del request, by
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Explanations of a query by each service, one after the other; None without any."""
        return await explanation_of(self.services, request)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Information about the repositories of all services; the first service that has one wins.

        Raises
        ------
        SourcelightError
            When no service can tell: the fault of the first.
        """
        replies = await ask_all(self.services, lambda service: service.backend.repositories())
        info_by_name: dict[str, RepositoryInfo] = {}
        for _, repositories in answers(replies):
            for info in repositories:
                info_by_name.setdefault(info.name, info)
        return tuple(info_by_name[name] for name in sorted(info_by_name))

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer by the service that has the repository, or by all of them; see `calls`."""
        return await self._calls.answer(name, arguments, observer)

    def _cached_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(name for service in self.services for name in service.names or ()))

    def _folder_of(self, repository: str) -> str:
        folders = (service.backend.features.folder_of(repository) for service in self.services)
        return next(filter(None, folders), "")

    async def aclose(self) -> None:
        """Close the backends that the federation opened; clients that were passed in stay open."""
        if self._close is not None:
            await self._close()


class FederatedSearch(BackendWrapper):
    """A federation for one search; calls go to the federation itself.

    Parameters
    ----------
    backend
        The federation.
    services
        What is asked in place of its own services.
    kept
        Whether rows are kept, to be brought into order when the search has ended.
    """

    def __init__(self, backend: FederatedBackend, services: Sequence[Service], *, keeps_rows: bool) -> None:
        super().__init__(backend)
        self.services = tuple(services)
        self._keeps_rows = keeps_rows
        self._idle_timeout_s = backend.idle_timeout_s
        self._merge: StreamMerge | None = None

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Events as they arrive."""
        self._merge = StreamMerge(
            self.services, request, idle_timeout_s=self._idle_timeout_s, keeps_rows=self._keeps_rows
        )
        async with aclosing(self._merge.events()) as events:
            async for event in events:
                yield event

    async def arrange(self) -> tuple[list[Any], ServiceStatuses]:
        """All rows of the newest complete search, in order, and the status of each service."""
        if self._merge is None:
            raise RuntimeError("nothing was searched")
        return await asyncio.to_thread(self._merge.arrange)

    def undelivered_batches(self) -> list[MatchBatch]:
        """Rows that arrived for the newest search but were not yielded before it stopped."""
        return [] if self._merge is None else list(self._merge.undelivered_batches())


def federated_run(
    backend: FederatedBackend, request: SearchRequest, *, exhaustive: bool, keeps_rows: bool
) -> SearchRun:
    """The search of a `FederatedBackend`.

    Parameters
    ----------
    backend
        The federation.
    request
        What is asked.
    exhaustive
        Ask each service that caps its answers in as many parts as it takes.
    keeps_rows
        Whether all rows are kept, so that they can be brought into order.
    """
    services: Sequence[Service] = backend.services
    if exhaustive:
        request = replace(request, query=everything(request.query, request.pattern_type, request.version))
    searches: dict[str, ExhaustiveSearch] = {}
    if exhaustive and not backend.local:
        searches = {s.name: ExhaustiveSearch(s.backend) for s in services if not s.backend.local}
        services = [_in_parts(service, searches.get(service.name)) for service in services]
    if not keeps_rows and not searches:
        return SearchRun(backend, request)
    search = FederatedSearch(backend, services, keeps_rows=keeps_rows)
    run = SearchRun(search, request, recover=search.undelivered_batches if searches else None, arrange=search.arrange)
    report_parts = _sum_reports(run.state.set_parts)
    for name, searches_of_service in searches.items():
        searches_of_service.on_progress = report_parts(name)
    return run


def _in_parts(service: Service, search: ExhaustiveSearch | None) -> Service:
    return service if search is None else replace(service, backend=search, recover=search.undelivered_batches)


def _sum_reports(report: Callable[[int, int, int], None]) -> Callable[[str], Callable[[int, int, int], None]]:
    """Progress callbacks by service, whose numbers are reported as sums."""
    latest: dict[str, tuple[int, int, int]] = {}

    def of(name: str) -> Callable[[int, int, int], None]:
        def tell(done: int, parts: int, matches: int) -> None:
            latest[name] = done, parts, matches
            first, second, third = (sum(column) for column in zip(*latest.values(), strict=True))
            report(first, second, third)

        return tell

    return of
