"""One MCP endpoint: a connection, its list of tools, and calls with typed errors.

The SDK wants its connection opened and closed in one task, so a task holds it, and calls of other tasks use its client.
What goes wrong is noted where it is seen: the SDK reports a refusal, and a body that is too large, only as a closed
connection. Connecting is tried again, and so is a call that the service refused because it was busy; after any other
error it may have done the work. Recordings and replays take the place of the network at two points: the list of tools
and a call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from sourcelight.backends.remote.bodies import MAX_BODY_BYTES, bound_bodies
from sourcelight.backends.remote.endpoint import (
    BUSY,
    REFUSED,
    Credential,
    Endpoint,
    RetryPolicy,
    Secret,
    certificate_context,
    hide,
    refusal_error,
)
from sourcelight.backends.remote.mcp.arguments import AcceptedArguments
from sourcelight.backends.remote.mcp.payloads import Payload, tool_error
from sourcelight.backends.remote.mcp.server_messages import answer_every_request, with_readable_tools
from sourcelight.backends.remote.recording import LIVE, Route, route
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.errors import ConnectFailed, ServiceError, SourcelightError, ToolError

CALL_TIMEOUT_S = 300.0
"""Timeout of a call: deep search takes minutes."""

_MAX_REFUSAL_CHARS = 2000
"""Bytes of the body of a refusal that are read: it may be a whole page of a proxy."""

_MAX_STAGE_CHARS = 500
"""Characters of a message of progress."""

_MAX_PAGES, _MAX_TOOLS = 100, 10_000
"""Pages of a list of tools, and tools: a broken service may send cursors forever."""

_UNWIND_S = 0.1
"""Seconds for the message that cancels a call to reach the service."""

# This module raises its errors; its log lines would appear in a notebook.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("client").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool of a server: its name there, the JSON Schema of its arguments, and its description."""

    name: str
    schema: Mapping[str, Any]
    description: str = ""

    @property
    def accepted(self) -> AcceptedArguments:
        """The arguments that the schema describes."""
        return AcceptedArguments.from_schema(self.schema)


class McpSession:
    """A connection to one MCP endpoint of a service, opened on first use and again after an error.

    Parameters
    ----------
    endpoint
        The service.
    path
        Path of the MCP endpoint below the service.
    credential
        Credential for its requests.
    retry_policy
        Timeouts and retries.

    Attributes
    ----------
    unreadable_tools
        Entries of the last list of tools that had no name.
    """

    def __init__(self, endpoint: Endpoint, path: str, credential: Credential, retry_policy: RetryPolicy) -> None:
        self.url = endpoint.url + path
        self._endpoint = endpoint
        self._credential = credential
        self._retry_policy = retry_policy
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Any] | None = None
        self._closing: asyncio.Event | None = None
        self._tools: Mapping[str, ServerTool] | None = None
        self._tools_of: Route | None = None
        self._listing = asyncio.Lock()
        self._refusal: tuple[int, str, str] | None = None
        self._body_error: SourcelightError | None = None
        self.unreadable_tools = 0

    async def tools(self) -> Mapping[str, ServerTool]:
        """Return the tools of the endpoint by canonical name, without the ``sg_`` of older services.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            The request failed; `NotFound` if the service has no such endpoint.
        """
        async with self._listing:
            current = route()
            # A recording must contain the list of tools, and a replay must use the recorded one.
            if self._tools is None or current is not self._tools_of:
                self._tools = await self._ask_tools(current)
                self._tools_of = current
        return self._tools

    async def _ask_tools(self, current: Route) -> Mapping[str, ServerTool]:
        async def call_live(_: Any) -> Any:
            tools = await self._list_tools()
            return [[name, tool.name, dict(tool.schema), tool.description] for name, tool in tools.items()]

        tools = await current.ask("tools", self.url, None, call_live, lambda _: None, self._redact)
        return {name: ServerTool(wire_name, schema, *description) for name, wire_name, schema, *description in tools}

    async def _list_tools(self) -> Mapping[str, ServerTool]:
        tools: dict[str, ServerTool] = {}
        self.unreadable_tools = 0
        cursor = None
        cursors: set[str | None] = set()

        # Bounded, because a broken service may send a next cursor without end.
        while cursor not in cursors and len(cursors) < _MAX_PAGES and len(tools) < _MAX_TOOLS:
            cursors.add(cursor)
            page = await self._ask(lambda client, cursor=cursor: client.list_tools(cursor=cursor))
            for tool in page.tools:
                tools[tool.name.removeprefix("sg_")] = ServerTool(tool.name, tool.input_schema, tool.description or "")
            cursor = page.next_cursor

        return tools

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> Payload:
        """Call a tool by its canonical name; cancellation closes the connection, which stops the call.

        Raises
        ------
        ToolError, RepositoryError
            The tool refuses the call.
        TransportError, ServiceError, ProtocolError
            There was no response.
        """
        tool = (await self.tools())[name]
        current = route()

        async def call_live(note: Any) -> Any:
            def on_progress(event: ToolProgress) -> None:
                note([event.stage, event.done, event.total])

            # A recording keeps progress even if nobody watches it now: a replay may have an observer.
            wants_progress = observer is not None or current is not LIVE
            payload = await self._live_call(name, tool, arguments, on_progress if wants_progress else None)
            reply = {"structured": payload.structured, "texts": list(payload.texts)}
            return reply | ({"other": list(payload.other)} if payload.other else {})

        def on_note(note: Any) -> None:
            if observer is not None:
                observer(ToolProgress(*note))

        request = {"name": tool.name, "arguments": dict(arguments)}
        reply = await current.ask("tool", self.url, request, call_live, on_note, self._redact)
        return Payload(reply["structured"], reply["texts"], reply.get("other", ()))

    async def _live_call(
        self, name: str, tool: ServerTool, arguments: Mapping[str, Any], observer: CallObserver | None
    ) -> Payload:
        async def on_progress(progress: float, total: float | None, message: str | None) -> None:
            if observer is not None:
                observer(ToolProgress((message or "working")[:_MAX_STAGE_CHARS], _to_count(progress), _to_count(total)))

        try:
            result = await self._ask(
                lambda client: client.call_tool(
                    tool.name, dict(arguments), progress_callback=on_progress if observer else None
                )
            )
        except ToolError as exc:
            raise type(exc)(f"{name}: {exc}", tool=name) from None

        texts, other = _contents(result.content)
        structured = result.structured_content
        payload = Payload(structured if isinstance(structured, Mapping) else None, texts, other)
        if result.is_error:
            raise tool_error(name, self._redact(payload.text_content.strip()))

        return payload

    async def aclose(self) -> None:
        """Close the connection."""
        # Cleared before anything is awaited, so that a call in the meantime opens a new connection.
        owner, self._owner = self._owner, None
        if self._closing is not None:
            self._closing.set()
        if owner is not None:
            with suppress(BaseException):
                await asyncio.wait_for(owner, 2.0)

    async def _ask(self, send: Any) -> Any:
        """Send a request with the SDK's client.

        Connecting is retried. A call is retried only after 429 and 503, which mean that the service did nothing. After
        any other error, it may have done the work.
        """
        for attempt in count():
            connected = False
            try:
                client, owner = await self._connect()
                connected = True
                return await self._send(send, client, owner)
            except (ConnectFailed, ServiceError) as exc:
                refused = isinstance(exc, ServiceError) and exc.status in {429, 503}
                if connected and not refused:
                    raise
                wait_s = self._retry_policy.retry_wait_s(attempt, exc, REFUSED if connected else BUSY)
                if wait_s is None:
                    raise

            await asyncio.sleep(wait_s)

        raise AssertionError

    async def _send(self, send: Any, client: Any, owner: asyncio.Task[None]) -> Any:
        self._refusal = self._body_error = None
        call = asyncio.ensure_future(send(client))
        try:
            await asyncio.wait({call, owner}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()
            # Sends the cancellation to the service before this task ends.
            await asyncio.wait({call}, timeout=_UNWIND_S)
            raise

        if not call.done():
            call.cancel()

        error = call.exception() if call.done() and not call.cancelled() else _outcome(owner)
        if call.done() and error is None:
            return call.result()

        # The error of the connection is more specific than the error of the call.
        raise self._to_error(_outcome(owner) or error) from None

    async def _connect(self) -> tuple[Any, asyncio.Task[None]]:
        owner, ready = self._owner, self._ready
        if owner is None or ready is None or owner.done():
            self._refusal = self._body_error = None
            self._closing = asyncio.Event()
            ready = self._ready = asyncio.get_running_loop().create_future()
            owner = self._owner = asyncio.get_running_loop().create_task(self._hold_connection(ready, self._closing))
            owner.add_done_callback(_outcome)  # the next call raises the error of a connection that broke before it

        await asyncio.wait({ready, owner}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            raise self._to_error(_outcome(owner))

        return ready.result(), owner

    async def _hold_connection(self, ready: asyncio.Future[Any], closing: asyncio.Event) -> None:
        """Hold the connection in one task from start to end, because its cancel scopes need that."""
        # Loading takes about a second; the event loop must not block for that long.
        await asyncio.to_thread(import_module, "sourcelight.backends.remote.mcp.sdk_errors")
        import httpx2
        from mcp.client import Client
        from mcp.client.streamable_http import streamable_http_client

        async def note(response: httpx2.Response) -> None:
            # The SDK reports a refusal as a broken connection, without status or text, so they are noted here.
            if response.status_code >= httpx2.codes.BAD_REQUEST:
                text = (await response.aread())[:_MAX_REFUSAL_CHARS].decode(errors="replace").strip()
                self._refusal = (response.status_code, text, response.headers.get("Retry-After", ""))

        proxy = self._endpoint.proxy
        bodies = httpx2.AsyncByteStream
        http = httpx2.AsyncClient(
            headers={name: value.reveal() for name, value in self._endpoint.headers}
            | {"User-Agent": "sourcelight", "Accept-Encoding": "gzip"},
            auth=_auth(self._credential),
            proxy=None if proxy is None else proxy.reveal(),
            timeout=httpx2.Timeout(self._retry_policy.connect_timeout_s, read=CALL_TIMEOUT_S),
            verify=certificate_context(),
            event_hooks={"response": [bound_bodies(bodies, self._note_body_error), note, answer_every_request(bodies)]},
        )
        async with http:
            transport = streamable_http_client(self.url, http_client=http, max_sse_event_size=MAX_BODY_BYTES)
            readable = with_readable_tools(transport, self._note_unreadable)
            async with Client(readable, mode="auto", read_timeout_seconds=CALL_TIMEOUT_S) as client:
                ready.set_result(client)
                await closing.wait()

    def _to_error(self, exc: BaseException | None) -> SourcelightError:
        """Convert an error of the SDK; if the service refused the request, use its response instead."""
        from sourcelight.backends.remote.mcp.sdk_errors import to_error

        parts = urlsplit(self.url)
        refusal, self._refusal = self._refusal, None
        body_error, self._body_error = self._body_error, None
        if body_error is not None:
            return body_error
        if refusal is None:
            return to_error(exc, parts.netloc, self._redact)

        status, text, retry_after = refusal
        missing = f"has no MCP tools at {parts.path}"
        return refusal_error(self._endpoint.url, status, self._redact(text), retry_after, missing=missing)

    def _note_body_error(self, error: SourcelightError) -> None:
        # The SDK reports an error while a body is read as a closed connection.
        self._body_error = error

    def _note_unreadable(self, count: int) -> None:
        self.unreadable_tools += count

    def _redact(self, text: str) -> str:
        return hide(self._credential.redact(text), *(value for _, value in self._endpoint.headers))


def _to_count(number: float | None) -> int:
    """Return a count of progress; 0 for one that no bar can show, such as an infinite one."""
    return int(number) if number is not None and 0 <= number < 1 << 53 else 0


def _contents(blocks: Sequence[Any]) -> tuple[list[str], list[str]]:
    """Return the texts of content blocks, those of embedded files too, and the kinds of the other blocks."""
    from mcp_types import EmbeddedResource, TextContent, TextResourceContents

    texts, other = [], []
    for block in blocks:
        content = block.resource if isinstance(block, EmbeddedResource) else block
        if isinstance(content, TextContent | TextResourceContents):
            texts.append(content.text)
        else:
            other.append(block.type.replace("_", " "))

    return texts, other


def _outcome(task: asyncio.Task[None]) -> BaseException | None:
    return None if task.cancelled() or not task.done() else task.exception()


def _auth(credential: Credential) -> Any:
    """Return the credential in the form of the SDK's HTTP library."""
    import httpx2

    class Auth(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            value: Secret | None = await credential.authorization()
            if value is not None:
                request.headers["Authorization"] = value.reveal()

            response = yield request
            if value is not None and response.status_code == httpx2.codes.UNAUTHORIZED:
                renewed = await credential.renew(value)
                if renewed is not None:
                    request.headers["Authorization"] = renewed.reveal()
                    yield request

    return Auth()
