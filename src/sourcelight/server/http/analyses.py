"""Analyses over HTTP: a call with JSON arguments, answered by a stream of progress and rows.

``GET /.api/sourcelight`` lists the service's analyses, so that clients need not try. ``POST /.api/analyses/NAME`` takes
the arguments of the definition in `sourcelight.core.tools`, and streams what `sourcelight.core.tools.answer_stream`
describes. The viewer alone decides which repositories exist for a call, as for searches and tools.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import BaseRoute, Route
from starlette.types import Receive, Scope, Send

from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.answer_stream import encode_answer, encode_error, encode_progress, limit_answer
from sourcelight.core.tools.catalog import analysis_tools
from sourcelight.core.tools.tool import Tool
from sourcelight.server.http.middleware.access_log import RequestNotes, notes_of
from sourcelight.server.http.middleware.guards import plain_response
from sourcelight.server.http.requests import RequestRefused, read_json_object
from sourcelight.server.http.response import StreamResponse, accepts_gzip
from sourcelight.server.identity import Authenticator, FairQueue, Principal, QueueFull, Refusal

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

log = logging.getLogger("sourcelight.service")
DESCRIPTION_PATH = "/.api/sourcelight"
PREFIX = "/.api/analyses/"
MAX_BODY_BYTES = 1 << 20
_END: Any = object()
_HEARTBEAT = b": working\n\n"
_ACCESS_ENDED = "your access has ended or changed since the call started"


@dataclass(frozen=True, slots=True)
class AnalysisLimits:
    """Limits of the analyses of one service.

    Parameters
    ----------
    calls
        Concurrent calls; others wait, accounts in turn.
    calls_per_account
        Concurrent calls of one account, or of all readers without one.
    open_per_account
        Open calls of one account, waiting ones and unread answers included; one more gets 429.
    tick_s
        Seconds between reports of progress.
    heartbeat_s
        Seconds of silence after which a comment is sent, and the access of the caller is checked again.
    """

    calls: int = 8
    calls_per_account: int = 6
    open_per_account: int = 32
    tick_s: float = 0.1
    heartbeat_s: float = 2.0


class _Progress:
    """The newest progress of a call, passed from its thread to the event loop."""

    def __init__(self) -> None:
        self.newest: ToolProgress | None = None

    def observe(self, progress: ToolProgress) -> None:
        """Record progress; the next one replaces it, so that a slow reader never delays the work."""
        self.newest = progress

    def take(self) -> ToolProgress | None:
        """Return the newest progress once."""
        progress, self.newest = self.newest, None
        return progress


class Analyses:
    """The analyses of one engine.

    Parameters
    ----------
    engine
        The engine that answers.
    authenticator
        Identifies the sender of a request.
    enabled
        Whether the service has analyses at all.
    timeout_s
        Longest call.
    limits
        Other limits.
    """

    def __init__(
        self,
        engine: Engine,
        authenticator: Authenticator,
        *,
        enabled: bool = True,
        timeout_s: float = 600.0,
        limits: AnalysisLimits | None = None,
    ) -> None:
        self._engine = engine
        self._authenticator = authenticator
        self._enabled = enabled
        self._timeout_s = timeout_s
        self._limits = limits or AnalysisLimits()
        self._queue = FairQueue(self._limits.calls, self._limits.calls_per_account, self._limits.open_per_account)
        self._threads = ThreadPoolExecutor(self._limits.calls, thread_name_prefix="sourcelight-analysis")
        self._open: Counter[str] = Counter()
        self._running: set[Cancellation] = set()
        self._stopping = False

    def routes(self) -> list[BaseRoute]:
        """Return the routes of the description and of the calls."""
        return [
            Route(DESCRIPTION_PATH, self._describe, methods=["GET"]),
            Route(PREFIX + "{name}", self, methods=["POST"]),
        ]

    def stop(self) -> None:
        """Stop running calls and refuse new ones. Callable from any thread."""
        self._stopping = True
        for cancellation in list(self._running):
            cancellation.cancel()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _describe(self, _: Request) -> Response:
        names = list(analysis_tools()) if self._enabled else []
        # Tools that accept `repos` and `revision`, although the specification's schema doesn't have them.
        described = {"service": "sourcelight", "analyses": names, "takesScope": ["deepsearch"]}
        return JSONResponse(described, headers={"Cache-Control": "no-store"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a call."""
        request = Request(scope, receive)
        principal = self._authenticator.for_search(request.headers)
        if isinstance(principal, Refusal):
            challenge = 'Bearer realm="sourcelight", error="insufficient_scope", scope="user:all"'
            extra = {"WWW-Authenticate": challenge} if principal.error == "insufficient_scope" else {}
            await plain_response(principal.status, principal.text, extra)(scope, receive, send)
            return

        notes_of(scope).name(principal)
        tool = analysis_tools().get(request.path_params["name"]) if self._enabled else None
        if tool is None:
            await plain_response(404, "This service has no such analysis.")(scope, receive, send)
            return
        if self._stopping:
            await plain_response(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return

        try:
            arguments = await read_json_object(request, max_bytes=MAX_BODY_BYTES)
        except RequestRefused as exc:
            await plain_response(exc.status, exc.text)(scope, receive, send)
            return

        reader = principal.account or f"anonymous {(scope.get('client') or ('',))[0]}"
        if self._open[reader] >= self._limits.open_per_account:
            text = f"You have {count_of(self._limits.open_per_account, 'open call')}, the maximum; close one first."
            await plain_response(429, text, {"Retry-After": "1"})(scope, receive, send)
            return

        self._open[reader] += 1
        try:
            await self._answer(_AnalysisCall(tool, arguments, principal), scope, receive, send)
        finally:
            self._open[reader] -= 1
            if not self._open[reader]:
                del self._open[reader]

    async def _answer(self, call: _AnalysisCall, scope: Scope, receive: Receive, send: Send) -> None:
        headers, notes = Headers(scope=scope), notes_of(scope)
        response = StreamResponse(send, zipped=accepts_gzip(headers.get("accept-encoding", "")))
        work = asyncio.create_task(self._work(call))
        work.add_done_callback(_outcome)
        disconnected = asyncio.create_task(_wait_for_end(receive))
        self._running.add(call.cancellation)

        try:
            await response.start()
            await self._report(call, work, disconnected, response, headers)
            if disconnected.done():
                notes.outcome = "disconnected"
            else:
                await self._finish(call, work, response, headers, notes)
        except OSError:
            notes.outcome = "stalled"
        finally:
            call.cancellation.cancel()
            self._running.discard(call.cancellation)
            disconnected.cancel()
            work.cancel()
            with contextlib.suppress(BaseException):
                await asyncio.wait({disconnected, work})

    async def _report(
        self, call: _AnalysisCall, work: asyncio.Task[ToolResult], disconnected: asyncio.Task[None],
        response: StreamResponse, headers: Headers,
    ) -> None:  # fmt: skip
        """Send progress until the work ends, the reader has gone or the access has ended."""
        loop = asyncio.get_running_loop()
        last_s = loop.time()
        while True:
            await asyncio.wait({work, disconnected}, timeout=self._limits.tick_s, return_when=asyncio.FIRST_COMPLETED)
            if work.done() or disconnected.done():
                return

            progress = call.progress.take()
            is_quiet = loop.time() - last_s >= self._limits.heartbeat_s
            if is_quiet and not self._holds(call, headers):
                return

            if progress is not None or is_quiet:
                await response.write([encode_progress(progress) if progress is not None else _HEARTBEAT])
                last_s = loop.time()

    async def _finish(
        self, call: _AnalysisCall, work: asyncio.Task[ToolResult], response: StreamResponse, headers: Headers,
        notes: RequestNotes,
    ) -> None:  # fmt: skip
        """Send the answer, or the error, and end the response."""
        # Access is checked again after the work, which may have run for minutes. Errors name repositories as well.
        if not self._holds(call, headers):
            notes.outcome = "access"
            await response.end([_refusal(call.tool, _ACCESS_ENDED)])
            return

        try:
            answer = await work
        except BaseException as exc:
            if isinstance(exc, asyncio.CancelledError) and not work.cancelled():
                raise
            notes.outcome = type(exc).__name__
            await response.end([self._error_event(call, exc)])
            return

        notes.outcome, notes.rows = "done", answer.table.num_rows
        events = encode_answer(limit_answer(answer))

        # Encoding a portion takes a few milliseconds, so it runs in a thread and doesn't block the event loop. One more
        # portion is read ahead: the last one is sent together with the end of the body.
        pending = await asyncio.to_thread(next, events, _END)
        while pending is not _END:
            following = await asyncio.to_thread(next, events, _END)
            # Before each portion: a slow reader may take them for hours.
            if not self._holds(call, headers):
                notes.outcome = "access"
                await response.end([_refusal(call.tool, _ACCESS_ENDED)])
                return
            if following is _END:
                await response.end([pending])
            else:
                await response.write([pending])
            pending = following

    async def _work(self, call: _AnalysisCall) -> ToolResult:
        account = call.principal.viewer.name
        try:
            await self._queue.acquire(account, self._timeout_s)
        except QueueFull:
            raise ToolError(f"{call.tool.name}: the service is busy; retry later", tool=call.tool.name) from None

        loop = asyncio.get_running_loop()
        # Most work checks for cancellation and not for a deadline, so a timer turns the timeout into a cancellation.
        timer = loop.call_later(self._timeout_s, call.expire)
        thread = loop.run_in_executor(self._threads, self._run, call)
        try:
            return await asyncio.shield(thread)
        finally:
            timer.cancel()
            call.cancellation.cancel()
            # A cancelled call still occupies its thread, so its slot is released only when the thread ends.
            if thread.done():
                self._queue.release(account)
            else:
                thread.add_done_callback(_outcome)
                thread.add_done_callback(lambda _: self._queue.release(account))

    def _run(self, call: _AnalysisCall) -> ToolResult:
        from sourcelight.engines import tools
        from sourcelight.engines.tools import ToolContext

        context = ToolContext(
            engine=self._engine,
            viewer=call.principal.viewer,
            cancellation=call.cancellation,
            observer=call.progress.observe,
        )
        return tools.answer(call.tool, call.arguments, context)

    def _holds(self, call: _AnalysisCall, headers: Headers) -> bool:
        return self._authenticator.still_searches(headers, call.principal)

    def _error_event(self, call: _AnalysisCall, exc: BaseException) -> bytes:
        name = call.tool.name
        typed_error = encode_error(exc)
        if typed_error is not None:
            return typed_error

        if isinstance(exc, Cancelled | asyncio.CancelledError):
            if call.has_expired:
                reason = (
                    f"stopped after {self._timeout_s:g} s, the limit of this service for one call; narrow it to fewer "
                    "repositories, a path or a period"
                )
                return _refusal(call.tool, reason)
            return _refusal(call.tool, "the service stopped the call before it had a result; retry later")

        if isinstance(exc, ClusterError):
            log.warning("%s failed: %s", name, exc)
            return _refusal(call.tool, exc.for_callers)

        # The caller gets an id, the log the error: its text may name paths of this machine.
        error_id = secrets.token_hex(6)
        log.error("%s failed, id %s", name, error_id, exc_info=exc)
        return _refusal(call.tool, f"internal error, id {error_id}: see the log of the service")


class _AnalysisCall:
    """A call: of what, by whom, how far it is, and how to stop it."""

    def __init__(self, tool: Tool[Any], arguments: Mapping[str, Any], principal: Principal) -> None:
        self.tool = tool
        self.arguments = arguments
        self.principal = principal
        self.cancellation = Cancellation()
        self.progress = _Progress()
        self.has_expired = False

    def expire(self) -> None:
        """Stop the call, which has had its time."""
        self.has_expired = True
        self.cancellation.cancel()


def _refusal(tool: Tool[Any], reason: str) -> bytes:
    event = encode_error(ToolError(f"{tool.name}: {reason}", tool=tool.name))
    assert event is not None  # noqa: S101 - of a known class
    return event


def _outcome(future: asyncio.Future[ToolResult]) -> None:
    """Read the error of abandoned work, which the event loop would log otherwise."""
    if not future.cancelled():
        future.exception()


async def _wait_for_end(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
