"""What a client needs of the thing that answers: engines in this process, or a service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any, Protocol

from sourcelight.core.batches import Event, RepositoryInfo
from sourcelight.core.batches.results import CallObserver, ToolResult
from sourcelight.core.wire.request import SearchRequest


class Backend(Protocol):
    """Answers searches as streams of events. All methods run on one event loop.

    Attributes
    ----------
    name
        What the reader is shown: ``embedded``, or the endpoint without credentials.
    local
        Whether searches run in this process: ``count:all`` is never capped, and one search at a time is fastest.
    """

    name: str
    local: bool

    def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Events of one search, ending after `Done`.

        Closing or cancelling the generator stops the work. A query at fault raises `QueryError` before the first
        event; a stream that ends too early raises `StreamBroken`.
        """

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """Arrow table of the columns `by`, matches and files; None: this backend can't count without streaming."""

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """What a query means over these repositories, with a ``text`` to be read; None: this backend can't tell."""

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """Facts of the repositories that can be searched."""

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """Answer a tool call or an analysis, whole unless `arguments` limit it; cancelling stops the work.

        `name` is a tool of the service's MCP endpoints, or an analysis of `sourcelight.engines.tools`; arguments have
        the tool's own names. Raises `UnsupportedTool` where this backend can't answer.
        """

    async def aclose(self) -> None:
        """Give back connections, threads and files."""


class BackendWrapper:
    """What another backend answers; for backends that search in their own way and leave all else to that one.

    Parameters
    ----------
    backend
        What answers; closing this closes it.
    """

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.name, self.local = backend.name, backend.local

    async def count(self, request: SearchRequest, by: Sequence[str]) -> Any | None:
        """What the backend counts, which is never capped; None when it can't."""
        return await self.backend.count(request, by)

    async def explain(self, request: SearchRequest) -> Mapping[str, Any] | None:
        """What the backend says."""
        return await self.backend.explain(request)

    async def repositories(self) -> tuple[RepositoryInfo, ...]:
        """What the backend says."""
        return await self.backend.repositories()

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> ToolResult:
        """What the backend answers."""
        return await self.backend.call(name, arguments, observer)

    async def aclose(self) -> None:
        """Close the backend."""
        await self.backend.aclose()
