"""One MCP endpoint: a connection that one task owns, its list of tools, and calls with typed errors."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from sourcelight.backends.remote.bodies import MAX_BODY_BYTES, bound_bodies
from sourcelight.backends.remote.endpoint import Credential, Endpoint, RetryPolicy, Secret, hide
from sourcelight.backends.remote.mcp.payloads import Payload, tool_error
from sourcelight.backends.remote.recording import Recording, tape
from sourcelight.backends.remote.transport import refused
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.errors import ConnectFailed, ServiceError, SourcelightError, ToolError

CALL_SILENCE_S = 300.0
"""Longest wait for an answer: deep search takes minutes."""
_MOST_REFUSAL_TEXT = 2000
_MOST_PAGES = 100
_UNWIND_S = 0.1

# Its errors are raised here as ours; what it logs besides would land on a notebook's screen.
logging.getLogger("mcp").addHandler(logging.NullHandler())
logging.getLogger("client").addHandler(logging.NullHandler())


@dataclass(frozen=True, slots=True)
class ServerTool:
    """A tool as a server offers it: its name there, and the JSON Schema of its arguments."""

    name: str
    schema: Mapping[str, Any]


class McpSession:
    """A connection to one MCP endpoint of a service, opened by the first use and again after a fault.

    Parameters
    ----------
    endpoint
        The service.
    path
        Path of the MCP endpoint below the service.
    credential
        What opens it.
    patience
        How long and how often to try.
    """

    def __init__(self, endpoint: Endpoint, path: str, credential: Credential, patience: RetryPolicy) -> None:
        self.url = endpoint.url + path
        self._endpoint = endpoint
        self._credential = credential
        self._patience = patience
        self._owner: asyncio.Task[None] | None = None
        self._ready: asyncio.Future[Any] | None = None
        self._closing: asyncio.Event | None = None
        self._tools: Mapping[str, ServerTool] | None = None
        self._tools_of: Recording | None = None
        self._listing = asyncio.Lock()
        self._refusal: tuple[int, str, str] | None = None

    async def tools(self) -> Mapping[str, ServerTool]:
        """Tools of the endpoint by their canonical name, without the ``sg_`` of older services.

        Raises
        ------
        TransportError, ServiceError, ProtocolError
            As their names say; `NotFound` where there is no such endpoint.
        """
        async with self._listing:
            running = tape()
            # A recording has to hold the list, and a replay must not hear of another one.
            if self._tools is None or running is not self._tools_of:
                self._tools = await (self._listed() if running is None else self._taped_list(running))
                self._tools_of = running
        return self._tools

    async def _taped_list(self, running: Recording) -> Mapping[str, ServerTool]:
        async def live(_: Any) -> Any:
            return [[name, tool.name, dict(tool.schema)] for name, tool in (await self._listed()).items()]

        told = await running.deck.ask("tools", self.url, None, live, lambda _: None, self._hidden)
        return {name: ServerTool(own, schema) for name, own, schema in told}

    async def _listed(self) -> Mapping[str, ServerTool]:
        found: dict[str, ServerTool] = {}
        cursor = None
        for _ in range(_MOST_PAGES):
            page = await self._ask(lambda client, cursor=cursor: client.list_tools(cursor=cursor))
            for tool in page.tools:
                found[tool.name.removeprefix("sg_")] = ServerTool(tool.name, tool.input_schema)
            cursor = page.next_cursor
            if cursor is None:
                break
        return found

    async def call(self, name: str, arguments: Mapping[str, Any], observer: CallObserver | None = None) -> Payload:
        """Call a tool by its canonical name; cancelling hangs up, which stops the work.

        Raises
        ------
        ToolError, RepositoryError
            What the tool said against the call.
        TransportError, ServiceError, ProtocolError
            When there is no answer at all.
        """
        tool = (await self.tools())[name]
        running = tape()
        if running is None:
            return await self._live_call(name, tool, arguments, observer)

        async def live(note: Any) -> Any:
            def noted(at: ToolProgress) -> None:
                note([at.stage, at.done, at.total])

            payload = await self._live_call(name, tool, arguments, noted)
            return {"structured": payload.structured, "texts": list(payload.texts)}

        def seen(note: Any) -> None:
            if observer is not None:
                observer(ToolProgress(*note))

        what = {"name": tool.name, "arguments": dict(arguments)}
        said = await running.deck.ask("tool", self.url, what, live, seen, self._hidden)
        return Payload(said["structured"], said["texts"])

    async def _live_call(
        self, name: str, tool: ServerTool, arguments: Mapping[str, Any], observer: CallObserver | None
    ) -> Payload:
        async def told(progress: float, total: float | None, message: str | None) -> None:
            if observer is not None:
                observer(ToolProgress(message or "working", int(progress), int(total or 0)))

        try:
            result = await self._ask(
                lambda client: client.call_tool(
                    tool.name, dict(arguments), progress_callback=told if observer else None
                )
            )
        except ToolError as exc:
            raise type(exc)(f"{name}: {exc}", tool=name) from None
        texts = [block.text for block in result.content if getattr(block, "type", "") == "text"]
        structured = result.structured_content
        payload = Payload(structured if isinstance(structured, Mapping) else None, texts)
        if result.is_error:
            raise tool_error(name, self._hidden(payload.words.strip()))
        return payload

    async def aclose(self) -> None:
        """Close the connection."""
        owner, self._owner = self._owner, None
        if self._closing is not None:
            self._closing.set()
        if owner is not None:
            with suppress(BaseException):
                await asyncio.wait_for(owner, 2.0)

    async def _ask(self, what: Any) -> Any:
        """Await something of the SDK's client; connecting is tried again, a call never is: it may have been heard."""
        for attempt in range(self._patience.retries + 1):
            try:
                client, owner = await self._opened()
                break
            except (ConnectFailed, ServiceError) as exc:
                busy = isinstance(exc, ConnectFailed) or exc.status in {502, 503, 504}
                if not busy or attempt == self._patience.retries:
                    raise
                await asyncio.sleep(self._patience.wait_s(attempt))
        self._refusal = None
        call = asyncio.ensure_future(what(client))
        try:
            await asyncio.wait({call, owner}, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            call.cancel()
            # The cancellation is on its way to the service before this task ends.
            await asyncio.wait({call}, timeout=_UNWIND_S)
            raise
        if not call.done():
            call.cancel()
        fault = call.exception() if call.done() and not call.cancelled() else _outcome(owner)
        if call.done() and fault is None:
            return call.result()
        # The connection's own end says more than what became of the call.
        raise self._fault(_outcome(owner) or fault) from None

    async def _opened(self) -> tuple[Any, asyncio.Task[None]]:
        owner, ready = self._owner, self._ready
        if owner is None or ready is None or owner.done():
            self._refusal = None
            self._closing = asyncio.Event()
            ready = self._ready = asyncio.get_running_loop().create_future()
            owner = self._owner = asyncio.get_running_loop().create_task(self._own(ready, self._closing))
            owner.add_done_callback(_outcome)  # a connection that breaks between calls is told by the next call
        await asyncio.wait({ready, owner}, return_when=asyncio.FIRST_COMPLETED)
        if not ready.done():
            raise self._fault(_outcome(owner))
        return ready.result(), owner

    async def _own(self, ready: asyncio.Future[Any], closing: asyncio.Event) -> None:
        """Hold the connection from its beginning to its end in one task, as its cancel scopes demand."""
        # Loading takes about a second, in which the loop has to live.
        await asyncio.to_thread(import_module, "sourcelight.backends.remote.mcp.sdk_errors")
        import httpx2
        from mcp.client import Client
        from mcp.client.streamable_http import streamable_http_client

        async def note(response: httpx2.Response) -> None:
            if response.status_code >= httpx2.codes.BAD_REQUEST:
                text = (await response.aread())[:_MOST_REFUSAL_TEXT].decode(errors="replace").strip()
                self._refusal = (response.status_code, text, response.headers.get("Retry-After", ""))

        proxy = self._endpoint.proxy
        http = httpx2.AsyncClient(
            headers={name: value.reveal() for name, value in self._endpoint.headers}
            | {"User-Agent": "sourcelight", "Accept-Encoding": "gzip"},
            auth=_auth(self._credential),
            proxy=None if proxy is None else proxy.reveal(),
            timeout=httpx2.Timeout(self._patience.connect_timeout_s, read=CALL_SILENCE_S),
            event_hooks={"response": [bound_bodies(httpx2.AsyncByteStream), note]},
        )
        async with http:
            transport = streamable_http_client(self.url, http_client=http, max_sse_event_size=MAX_BODY_BYTES)
            async with Client(transport, mode="auto", read_timeout_seconds=CALL_SILENCE_S) as client:
                ready.set_result(client)
                await closing.wait()

    def _fault(self, exc: BaseException | None) -> SourcelightError:
        """Ours of a foreign error; what the service refused with, where it did, says most."""
        from sourcelight.backends.remote.mcp.sdk_errors import fault_of

        parts = urlsplit(self.url)
        refusal, self._refusal = self._refusal, None
        if refusal is None:
            return fault_of(exc, parts.netloc, self._hidden)
        status, text, retry_after = refusal
        missing = f"has no MCP tools at {parts.path}"
        return refused(self._endpoint.url, status, self._hidden(text), retry_after, missing=missing)

    def _hidden(self, text: str) -> str:
        return hide(self._credential.hidden(text), *(value for _, value in self._endpoint.headers))


def _outcome(task: asyncio.Task[None]) -> BaseException | None:
    return None if task.cancelled() or not task.done() else task.exception()


def _auth(credential: Credential) -> Any:
    """The credential as the SDK's HTTP library wants it."""
    import httpx2

    class Auth(httpx2.Auth):
        async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
            value: Secret | None = await credential.authorization()
            if value is not None:
                request.headers["Authorization"] = value.reveal()
            response = yield request
            if value is not None and response.status_code == httpx2.codes.UNAUTHORIZED:
                again = await credential.renewed(value)
                if again is not None:
                    request.headers["Authorization"] = again.reveal()
                    yield request

    return Auth()
