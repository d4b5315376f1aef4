"""A call of a client on its way to the tools of a service."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from sourcelight.backends.remote.mcp.arguments import fit_arguments
from sourcelight.backends.remote.mcp.payloads import Blob, Payload, blob
from sourcelight.backends.remote.mcp.session import ServerTool
from sourcelight.core.batches import Event
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.wire.request import SearchRequest

Stream = Callable[[SearchRequest], AsyncGenerator[Event, None]]


class ToolServer(Protocol):
    """The tools of a service, on any of its endpoints."""

    async def tool(self, name: str) -> ServerTool:
        """Return the tool of that name; raise `UnsupportedTool` without one."""

    async def ask(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None) -> Payload:
        """Call a tool with arguments that fit its schema."""


@dataclass(slots=True)
class ToolRequest:
    """A running call.

    Parameters
    ----------
    name
        Name of the tool or the analysis.
    arguments
        Arguments by the names of the service's documents, without those that are None.
    server
        The tools of the service.
    stream
        Searches the service; some results are complete only there.
    base_url
        Address of the service.
    observer
        Receives progress.

    Attributes
    ----------
    doubts
        Why an answer may lack something that its rows can't show.
    last
        The newest answer of the service.
    """

    name: str
    arguments: Mapping[str, Any]
    server: ToolServer
    stream: Stream
    base_url: str = ""
    observer: CallObserver | None = None
    doubts: list[str] = field(default_factory=list)
    last: Payload | None = None

    async def schema(self, name: str = "") -> Mapping[str, Any]:
        """Return the input schema of a tool, by default of the called one."""
        return (await self.server.tool(name or self.name)).schema

    async def ask(
        self, arguments: Mapping[str, Any], name: str = "", beside: Mapping[str, Any] | None = None
    ) -> Payload:
        """Call a tool, by default the called one; fit arguments outside of `beside` to the server's schema."""
        name = name or self.name
        fitting = fit_arguments(name, arguments, await self.schema(name))
        payload = await self.server.ask(name, {**fitting, **(beside or {})}, self.observer)
        self.last = payload = replace(payload, doubts=self.doubts)
        payload.check()
        return payload

    def report(self, stage: str, done: int = 0, total: int = 0, detail: str = "") -> None:
        """Report progress."""
        if self.observer is not None:
            self.observer(ToolProgress(stage, done, total, detail))

    def relative(self, url: str) -> str:
        """Return an address of the service without its host and prefix."""
        parts = urlsplit(url)
        prefix = urlsplit(self.base_url).path
        path = parts.path.removeprefix(prefix) if prefix and parts.path.startswith(f"{prefix}/") else parts.path
        return f"{path}?{parts.query}" if parts.query else path

    def blob(self, url: str) -> Blob:
        """Parse the address of a file; empty parts when it can't be parsed."""
        return blob(self.relative(url)) or Blob("", "", "")
