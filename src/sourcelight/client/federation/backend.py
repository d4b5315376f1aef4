"""Several backends as one backend, and the tools that their services advertise.

A stream is merged as it arrives, and equal rows are given once, those of the first service. A search whose rows are
kept can be sorted afterwards, and one for everything splits the query for each service that caps its answers. Counts
are of the merged rows, since two services may have the same repository. A service that fails is named in the status and
does not stop the others.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sourcelight.client.federation.fan_out import answers, ask_all
from sourcelight.client.federation.service import Service, explanation_of
from sourcelight.client.federation.stream_merge import StreamMerge
from sourcelight.client.federation.tool_calls import FederatedTools
from sourcelight.client.provenance import FEDERATION
from sourcelight.client.search.exhaustive import ExhaustiveSearch
from sourcelight.client.search.queries import everything
from sourcelight.client.search.search_run import SearchRun
from sourcelight.core.backend import BackendWrapper, Features, ServiceEndpoint
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo, ServiceStatuses
from sourcelight.core.batches.results import AdvertisedTool, CallObserver, ToolReply, ToolResult
from sourcelight.core.errors import NotFound, SourcelightError, ToolError, UnsupportedTool
from sourcelight.core.wire.request import SearchRequest

IDLE_TIMEOUT_S = 30.0
"""Seconds without a byte after which a service is given up, so that the others can answer without it."""


class FederatedBackend:
    """`client.Backend` over the backends of several services.

    Parameters
    ----------
    services
        The services; for equal rows, the first one wins.
    clients
        A client of each service, by its name.
    close
        Closes the clients that were opened for the federation only.
    idle_timeout_s
        Seconds without an event after which a remote service is dropped from a search.
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
            service=merge_service_tools(self.services),
        )
        self.name = f"{FEDERATION}{', '.join(service.name for service in services)}"
        self.local = all(service.backend.local for service in services)
        self.idle_timeout_s = idle_timeout_s
        self._close = close
        self._calls = FederatedTools(self.services, idle_timeout_s=idle_timeout_s)

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield events of all services as they arrive; duplicate rows are yielded once."""
        merge = StreamMerge(self.services, request, idle_timeout_s=self.idle_timeout_s, keeps_rows=False)
        async with aclosing(merge.events()) as events:
            async for event in events:
                yield event

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """Return None, so that the caller counts the merged stream: several services may have the same rows."""
        del request, by
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """Return the explanations of a query by each service, or None without any."""
        return await explanation_of(self.services, request)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Return the repositories of all services; attributes come from the first service that has one.

        Raises
        ------
        SourcelightError
            No service answered: the error of the first one.
        """
        replies = await ask_all(self.services, lambda service: service.backend.repositories())
        info_by_name: dict[str, RepositoryInfo] = {}
        for _, repositories in answers(replies):
            for info in repositories:
                info_by_name.setdefault(info.name, info)
        return tuple(info_by_name[name] for name in sorted(info_by_name))

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer by the service that has the repository, or by all of them; see `tool_calls`."""
        return await self._calls.answer(name, arguments, observer)

    def _cached_names(self) -> tuple[str, ...]:
        names: dict[str, None] = {}
        for service in self.services:
            names.update(dict.fromkeys(service.names or ()))
        return tuple(names)

    def _folder_of(self, repository: str) -> str:
        """Return the directory of a repository, of the first service that has it on this machine; empty without one."""
        for service in self.services:
            folder = service.backend.features.folder_of(repository)
            if folder:
                return folder
        return ""

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
        The services to search, instead of all.
    keeps_rows
        Whether rows are kept, so that `arrange` can sort them after the search.
    """

    def __init__(self, backend: FederatedBackend, services: Sequence[Service], *, keeps_rows: bool) -> None:
        super().__init__(backend)
        self.services = tuple(services)
        self._keeps_rows = keeps_rows
        self._idle_timeout_s = backend.idle_timeout_s
        self._merge: StreamMerge | None = None

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield events as they arrive."""
        self._merge = StreamMerge(
            self.services, request, idle_timeout_s=self._idle_timeout_s, keeps_rows=self._keeps_rows
        )
        async with aclosing(self._merge.events()) as events:
            async for event in events:
                yield event

    async def arrange(self) -> tuple[list[Any], ServiceStatuses]:
        """Return all rows of the newest complete search, in order, and the status of each service."""
        if self._merge is None:
            raise RuntimeError("nothing was searched")
        return await asyncio.to_thread(self._merge.arrange)

    def undelivered_batches(self) -> list[MatchBatch]:
        """Return rows that arrived for the newest search but were not yielded before it stopped."""
        return [] if self._merge is None else list(self._merge.undelivered_batches())


def make_search_run(
    backend: FederatedBackend, request: SearchRequest, *, exhaustive: bool, keeps_rows: bool
) -> SearchRun:
    """Return the search of a `FederatedBackend`.

    Parameters
    ----------
    backend
        The federation.
    request
        The request.
    exhaustive
        Whether to search services that cap their answers in as many parts as necessary.
    keeps_rows
        Whether rows are kept, so that they can be sorted after the search.
    """
    services: Sequence[Service] = backend.services
    if exhaustive:
        request = replace(request, query=everything(request.query, request.pattern_type, request.version))

    searches: dict[str, ExhaustiveSearch] = {}
    if exhaustive:
        remote_services = [service for service in services if not service.backend.local]
        searches = {service.name: ExhaustiveSearch(service.backend) for service in remote_services}
        services = [_in_parts(service, searches.get(service.name)) for service in services]

    # The plain backend is enough here: rows go to the caller as they arrive, and none is needed later.
    if not keeps_rows and not searches:
        return SearchRun(backend, request)

    search = FederatedSearch(backend, services, keeps_rows=keeps_rows)
    run = SearchRun(search, request, recover=search.undelivered_batches if searches else None, arrange=search.arrange)
    progress = _ProgressSum(run.state.set_parts)
    for name, exhaustive_search in searches.items():
        exhaustive_search.on_progress = partial(progress.update, name)

    return run


def _in_parts(service: Service, search: ExhaustiveSearch | None) -> Service:
    if search is None:
        return service
    return replace(service, backend=search, recover=search.undelivered_batches)


class _ProgressSum:
    """The progress of several services as one; `report` gets the sums of done parts, parts and matches."""

    def __init__(self, report: Callable[[int, int, int], None]) -> None:
        self._report = report
        self._newest: dict[str, tuple[int, int, int]] = {}

    def update(self, service_name: str, done: int, parts: int, matches: int) -> None:
        """Replace the numbers of a service, and report the sums of all services."""
        self._newest[service_name] = done, parts, matches
        done_sum, parts_sum, matches_sum = (sum(numbers) for numbers in zip(*self._newest.values(), strict=True))
        self._report(done_sum, parts_sum, matches_sum)


def merge_service_tools(services: Sequence[Service]) -> FederatedServiceTools | None:
    """Merge the tools of several services; None without a service over HTTP."""
    over_http = tuple(service for service in services if service.backend.features.service is not None)
    return FederatedServiceTools(over_http) if over_http else None


@dataclass(frozen=True, slots=True)
class FederatedServiceTools:
    """`core.backend.ServiceEndpoint` over several services.

    A tool of a single service keeps its name. A tool of several services is named ``service:tool`` for each of them,
    because the answer of one service would not be the answer of all.
    """

    services: Sequence[Service]

    async def advertised_tools(self) -> Mapping[str, AdvertisedTool]:
        """Return the tools of all services that answer, by name."""
        return {name: tool for name, (_, tool) in (await self._tools()).items()}

    async def call_advertised(
        self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None
    ) -> ToolReply:
        """Call a tool of the service that has it; raise `UnsupportedTool` when none has."""
        owner = (await self._tools()).get(name)
        if owner is None:
            raise UnsupportedTool(f"no service of the federation has a tool {name!r}", tool=name)
        service, tool = owner
        return await _endpoint_of(service).call_advertised(tool.name, arguments, observer)

    async def fetch_file(self, link: str) -> bytes:
        """Return a file of the first service that has it; a service refuses addresses of other hosts."""
        error: SourcelightError | None = None
        for service in self.services:
            try:
                return await _endpoint_of(service).fetch_file(link)
            except (NotFound, ToolError) as exc:
                # `NotFound` is more specific: the other error may only mean that the address is another service's.
                error = exc if error is None or isinstance(exc, NotFound) else error

        raise error or ToolError(f"no service of the federation has {link[:200]!r}")

    async def _tools(self) -> dict[str, tuple[Service, AdvertisedTool]]:
        replies = await ask_all(self.services, lambda service: _endpoint_of(service).advertised_tools())
        service_tools = [(reply.service, tools) for reply, tools in answers(replies)]
        counts: Counter[str] = Counter()
        for _, tools in service_tools:
            counts.update(tools.keys())

        tools_by_name: dict[str, tuple[Service, AdvertisedTool]] = {}
        for service, tools in service_tools:
            for name, tool in tools.items():
                unique_name = name if counts[name] == 1 else f"{service.name}:{name}"
                tools_by_name[unique_name] = service, tool
        return tools_by_name


def _endpoint_of(service: Service) -> ServiceEndpoint:
    endpoint = service.backend.features.service
    assert endpoint is not None  # noqa: S101 - `merge_service_tools` selects services with one
    return endpoint
