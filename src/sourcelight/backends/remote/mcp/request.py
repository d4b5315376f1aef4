"""A call of a client, which one or several calls of tools of a service answer.

A module for each tool (`files`, `history`, …) takes a `ToolRequest`, asks for what it needs, and makes a table of it.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol
from urllib.parse import urlsplit

from sourcelight.backends.remote.mcp.arguments import AcceptedArguments
from sourcelight.backends.remote.mcp.payloads import Blob, Payload, blob
from sourcelight.backends.remote.mcp.session import ServerTool
from sourcelight.backends.remote.mcp.text_forms import TextChunk, parse_chunks
from sourcelight.core.batches import Event
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.errors import ProtocolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.answer_stream import MAX_READ_BYTES
from sourcelight.core.wire.request import SearchRequest

Stream = Callable[[SearchRequest], AsyncGenerator[Event, None]]


class Received:
    """The answers of a service for one request: which tool sent the newest, and how much they are together."""

    def __init__(self) -> None:
        self.newest = ""
        self._bytes = 0

    def add(self, tool: str, payload: Payload) -> None:
        """Count an answer; raises `ProtocolError` above the bound: a service may have a next page for ever."""
        self.newest = tool
        self._bytes += payload.size
        if self._bytes > MAX_READ_BYTES:
            raise ProtocolError(f"{tool}: the answers of the service have more than {MAX_READ_BYTES:,} bytes")


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
    received
        What all calls for this request brought, also those of requests that were made of it.
    """

    name: str
    arguments: Mapping[str, Any]
    server: ToolServer
    stream: Stream
    base_url: str = ""
    observer: CallObserver | None = None
    doubts: list[str] = field(default_factory=list)
    last: Payload | None = None
    received: Received = field(default_factory=Received)

    async def accepted_arguments(self, name: str = "") -> AcceptedArguments:
        """Return the arguments that the server accepts for a tool, by default for the called one."""
        return (await self.server.tool(name or self.name)).accepted

    async def ask(
        self, arguments: Mapping[str, Any], name: str = "", beside: Mapping[str, Any] | None = None
    ) -> Payload:
        """Call a tool, by default the called one; fit arguments outside of `beside` to the server's schema."""
        name = name or self.name
        fitted_arguments = (await self.accepted_arguments(name)).fit(name, arguments)
        answer = await self.server.ask(name, {**fitted_arguments, **(beside or {})}, self.observer)
        payload = replace(answer, doubts=self.doubts)
        self.last = payload
        self.received.add(name, payload)
        payload.check()
        return payload

    def chunks_of(self, entry: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str, list[TextChunk]]]:
        """Yield the chunks of an entry: fields, content and numbered lines; those without lines are a doubt."""
        chunks = entry.get("chunks") or []
        entries = chunks if isinstance(chunks, list) else [chunks]
        unread = 0
        for chunk in entries:
            content = chunk.get("content") if isinstance(chunk, Mapping) else None
            text_chunks = parse_chunks(content) if isinstance(content, str) else []
            unread += not text_chunks
            if isinstance(content, str) and text_chunks:
                yield chunk, content, text_chunks

        if unread:
            self.doubts.append(f"The service sent {count_of(unread, 'chunk')} without lines that can be read.")

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
