"""One call of a client: which tool answers it, where, and what every answer is made with."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol
from urllib.parse import urlsplit

from sourcelight.backends.remote.mcp.payloads import Blob, Payload, blob, fitted
from sourcelight.backends.remote.mcp.session import ServerTool
from sourcelight.core.batches import Event
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.wire.request import SearchRequest

Stream = Callable[[SearchRequest], AsyncGenerator[Event, None]]


class ToolServer(Protocol):
    """The tools of a service, wherever it offers them."""

    async def tool(self, name: str) -> ServerTool:
        """The tool of that name; raises `UnsupportedTool` where there is none."""

    async def ask(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None) -> Payload:
        """Call a tool with arguments that fit it."""


@dataclass(slots=True)
class ToolRequest:
    """A call under way.

    Parameters
    ----------
    name
        Name of the tool or the analysis.
    arguments
        Arguments by the names of the service's documents, without those that are None.
    server
        Answers tools.
    stream
        Searches the service; some answers come whole only from there.
    base_url
        Address of the service.
    observer
        Told how far the call is.
    """

    name: str
    arguments: Mapping[str, Any]
    server: ToolServer
    stream: Stream
    base_url: str = ""
    observer: CallObserver | None = None
    notices: list[str] = field(default_factory=list)

    async def schema(self, name: str = "") -> Mapping[str, Any]:
        """Input schema of a tool at the server; by default of the one that was called."""
        return (await self.server.tool(name or self.name)).schema

    async def ask(self, arguments: Mapping[str, Any], name: str = "") -> Payload:
        """Call a tool, by default the one that was called; arguments are made to fit the server's schema."""
        name = name or self.name
        return await self.server.ask(name, fitted(name, arguments, await self.schema(name)), self.observer)

    def tell(self, stage: str, done: int = 0, total: int = 0, detail: str = "") -> None:
        """Say how far the call is."""
        if self.observer is not None:
            self.observer(ToolProgress(stage, done, total, detail))

    def relative(self, url: str) -> str:
        """An address of the service without its host: as it is in this process."""
        parts = urlsplit(url)
        prefix = urlsplit(self.base_url).path
        path = parts.path.removeprefix(prefix) if prefix and parts.path.startswith(f"{prefix}/") else parts.path
        return f"{path}?{parts.query}" if parts.query else path

    def blob(self, url: str) -> Blob:
        """What the address of a file says; empty where it can't be read."""
        return blob(self.relative(url)) or Blob("", "", "")
