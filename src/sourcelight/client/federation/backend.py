"""Several services as one backend.

A search of a federation as a client runs it.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from sourcelight.client.backend import BackendWrapper
from sourcelight.client.exhaustive import ExhaustiveSearch
from sourcelight.client.federation.fan_out import answers, ask_all, did_not_answer
from sourcelight.client.federation.service import Service, explanation_of
from sourcelight.client.federation.stream_merge import StreamMerge
from sourcelight.client.federation.tool_calls import FederatedTools
from sourcelight.client.provenance import FEDERATION
from sourcelight.client.queries import everything
from sourcelight.client.search_run import SearchRun
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
        self.clients: Mapping[str, Any] = dict(clients or {})
        self.name = f"{FEDERATION}{', '.join(service.name for service in services)}"
        self.local = all(service.backend.local for service in services)
        self.idle_timeout_s = idle_timeout_s
        self._close = close
        self._calls = FederatedTools(self.services, idle_timeout_s=idle_timeout_s)

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Events of all services as they arrive; rows that several give are given once."""
        merge = StreamMerge(self.services, request, idle_timeout_s=self.idle_timeout_s, kept=False)
        async with aclosing(merge.events()) as events:
            async for event in events:
                yield event

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """None: what several services have must not be counted twice, so the caller counts the merged stream."""
        del request, by
        return None

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """What each service says of a query, one after the other; None where none can tell."""
        return await explanation_of(self.services, request)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Facts of the repositories of all services that can tell, each as the first that has it says."""
        return (await self.listed())[0]

    async def listed(self) -> tuple[tuple[RepositoryInfo, ...], dict[str, str], tuple[str, ...]]:
        """Facts of all repositories by name, the services that have each, and why some are missing.

        Raises
        ------
        SourcelightError
            When no service can tell: the fault of the first.
        """
        told = await ask_all(self.services, lambda service: service.backend.repositories())
        answers(told)
        found: dict[str, RepositoryInfo] = {}
        owners: dict[str, list[str]] = {}
        for one in told:
            for facts in one.value or ():
                found.setdefault(facts.name, facts)
                owners.setdefault(facts.name, []).append(one.service.name)
        reasons = tuple(did_not_answer(one.service, one.fault) for one in told if one.fault is not None)
        names = {name: ", ".join(services) for name, services in owners.items()}
        return tuple(found[name] for name in sorted(found)), names, reasons

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer by the service that has the repository, or by all of them; see `calls`."""
        return await self._calls.answer(name, arguments, observer)

    def names(self) -> tuple[str, ...]:
        """Names of repositories that this process knows without asking."""
        return tuple(dict.fromkeys(name for service in self.services for name in service.names or ()))

    def folder_of(self, repository: str) -> str:
        """Folder of a repository's work tree, of the first service in this process that has one; else empty."""
        for service in self.services:
            folder_of = getattr(service.backend, "folder_of", None)
            if folder_of is not None and (folder := folder_of(repository)):
                return str(folder)
        return ""

    async def aclose(self) -> None:
        """Give back what was opened for the federation; clients that were passed in stay open."""
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

    def __init__(self, backend: FederatedBackend, services: Sequence[Service], *, kept: bool) -> None:
        super().__init__(backend)
        self.services = tuple(services)
        self._kept = kept
        self._idle_timeout_s = backend.idle_timeout_s
        self.clients = backend.clients
        self.folder_of = backend.folder_of
        self._merge: StreamMerge | None = None

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Events as they arrive."""
        self._merge = StreamMerge(self.services, request, idle_timeout_s=self._idle_timeout_s, kept=self._kept)
        async with aclosing(self._merge.events()) as events:
            async for event in events:
                yield event

    async def arranged(self) -> tuple[list[Any], ServiceStatuses]:
        """All rows of the newest search that came to its end, in their order, and how each service ended."""
        if self._merge is None:
            raise RuntimeError("nothing was searched")
        return await asyncio.to_thread(self._merge.arrange)

    def held(self) -> list[MatchBatch]:
        """What had arrived for the newest search but was not given yet, when that was stopped."""
        return [] if self._merge is None else list(self._merge.held())


def federated_run(backend: Any, request: SearchRequest, *, exhaustive: bool, kept: bool) -> SearchRun:
    """The search of a `FederatedBackend`.

    Parameters
    ----------
    backend
        The federation.
    request
        What is asked.
    exhaustive
        Ask each service that caps its answers in as many parts as it takes.
    kept
        Whether all rows are kept, so that they can be brought into order.
    """
    services = backend.services
    if exhaustive:
        request = replace(request, query=everything(request.query, request.pattern_type, request.version))
    run = SearchRun(backend, request)
    if exhaustive and not backend.local:
        tell = _summed(run.state.cut)
        services = [service if service.backend.local else _whole(service, tell) for service in services]
    if kept or services is not backend.services:
        search = FederatedSearch(backend, services, kept=kept)
        run.backend = search
        run.held = search.held if services is not backend.services else None
    return run


def _whole(service: Service, tell: Callable[[str], Callable[[int, int, int], None]]) -> Service:
    return replace(service, backend=ExhaustiveSearch(service.backend, told=tell(service.name)))


def _summed(told: Callable[[int, int, int], None]) -> Callable[[str], Callable[[int, int, int], None]]:
    """Tellers by service, whose numbers are told as their sums."""
    known: dict[str, tuple[int, int, int]] = {}

    def of(name: str) -> Callable[[int, int, int], None]:
        def tell(done: int, parts: int, matches: int) -> None:
            known[name] = done, parts, matches
            first, second, third = (sum(column) for column in zip(*known.values(), strict=True))
            told(first, second, third)

        return tell

    return of
