"""A call of a client, which one or several calls of tools of a service answer.

A module for each tool (`files`, `history`, …) takes a `ToolRequest`, asks for what it needs, and makes a table of it.
"""

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
        fitted_arguments = fit_arguments(name, arguments, await self.schema(name))
        answer = await self.server.ask(name, {**fitted_arguments, **(beside or {})}, self.observer)
        payload = replace(answer, doubts=self.doubts)
        self.last = payload
        payload.check()
        return payload

    def report(self, stage: str, done: int = 0, total: int = 0, detail: str = "") -> None:
        """Report progress."""
        if self.observer is not None:
            self.observer(ToolProgress(stage, done, total, detail))

    def relative(self, url: str) -> str:
        """Return an address of the service without its host and prefix."""
        parts = urlsplit(url)
        path = parts.path
        prefix = urlsplit(self.base_url).path
        if prefix and path.startswith(f"{prefix}/"):
            path = path.removeprefix(prefix)
        if parts.query:
            return f"{path}?{parts.query}"
        return path

    def blob(self, url: str) -> Blob:
        """Parse the address of a file; empty parts when it can't be parsed."""
        return blob(self.relative(url)) or Blob("", "", "")
