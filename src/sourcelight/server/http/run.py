"""Run the service on a listening socket, with limits on the size, time and number of requests.

The parser is httptools, which is written in C and sets no limits itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Iterator, MutableMapping
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import unquote

import uvicorn
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sourcelight.server.http.connections import (
    HEALTH_PATHS,
    PENDING_BYTES,
    AcceptFaults,
    ConnectionLimits,
    ConnectionRegister,
    SharedState,
    bytes_in_system,
    raise_descriptor_limit,
)
from sourcelight.server.http.huge_pages import HugePages

if TYPE_CHECKING:
    from sourcelight.server.http.front import Application
    from sourcelight.server.http.shortcut import HeadBytes, RequestHead, Shortcut
    from sourcelight.server.mcp.opening import EngineOpening

#: Far above the accepted size, so that an address that is too long gets a 414 and not the parser's bare 400.
MAX_HEAD_BYTES = 512 * 1024
# The parser of addresses counts in 16 bits.
_MAX_PARSED_BYTES = 0xFFFF


_OF_BODY_OR_UPGRADE = frozenset({b"content-length", b"transfer-encoding", b"expect", b"upgrade"})


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 on one connection, which closes when the bytes outside of bodies exceed `MAX_HEAD_BYTES`.

    The parser sets no limit on a request line, on headers, or on the trailers after a chunked body; trailers are
    ignored here. It also doesn't limit the time that a peer takes to send a request or to read a response.
    """

    register: ConnectionRegister
    _beside_body = 0
    _in_head = True
    _phase: Literal["idle", "head", "body"] = "head"
    _deadline: asyncio.TimerHandle | None = None
    _deadline_of = ""
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0
    _shortcut: Shortcut | None = None
    _may_shorten = False
    _waits_for_end = False
    _portion = b""
    _head_bytes: HeadBytes | None = None
    _was_tried = False
    _answered_s = 0.0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._marks: dict[str, Any] = {}
        # `HttpServer` has one register for all connections; under another server each connection has its own.
        state = self.server_state
        self.register = state.register if isinstance(state, SharedState) else ConnectionRegister(ConnectionLimits())

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """Register a new connection; its peer must send a request now."""
        super().connection_made(transport)
        self.register.add(self, self.client[0] if self.client else "")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget a closed connection."""
        self.register.remove(self)
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def drop(self) -> None:
        """Close at once, without waiting for unread bytes."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Parse bytes, unless there were too many already."""
        if self._phase == "idle" and self._answer_next(data):
            return

        if self._phase == "idle":
            self._phase = "head"

        state = self.server_state
        if self._shortcut is None and isinstance(state, SharedState):
            self._shortcut = state.shortcut

        # One a portion: a peer that sends many requests at once must not keep the event loop from all others.
        self._may_shorten = self._shortcut is not None and not self._was_tried
        self._was_tried, self._portion = False, data
        if self._beside_body <= MAX_HEAD_BYTES:
            super().data_received(data)
            self._beside_body += len(data)
        elif self._in_head:
            self.send_400_response("Invalid HTTP request received.")
        else:
            self.transport.close()

        self._portion = b""
        self._watch()

    def _answer_next(self, data: bytes) -> bool:
        """Answer a request that has the head of an earlier one; False if it has another, or the application has to.

        The parser has read these bytes once. It is between two requests, so it need not know of this one.
        """
        before, shortcut = self._head_bytes, self._shortcut
        query = None if before is None else before.query_of(data)
        if before is None or query is None or shortcut is None or not self._is_free():
            return False

        if self._answer_by(shortcut, before.head, query):
            self.server_state.total_requests += 1
            return True

        self._was_tried = True
        return False

    def _watch(self) -> None:
        """Set a deadline for the current part of a request; the next part gets a new one."""
        phase = self._phase
        if self._deadline is not None and self._deadline_of != phase:
            self._deadline.cancel()
            self._deadline = None

        if self._deadline is None and phase != "idle":
            limits = self.register.limits
            self._deadline_of = phase
            self._deadline = self.loop.call_later(limits.head_s if phase == "head" else limits.body_s, self.drop)

    def on_response_complete(self) -> None:
        """Record a sent response: the connection waits for the next request."""
        super().on_response_complete()
        if self._phase == "idle" and (self.cycle is None or self.cycle.response_complete):
            self.register.wait(self)

    def pause_writing(self) -> None:
        """Start to watch a peer that reads slower than the service writes; it must read something."""
        super().pause_writing()
        self._unsent = self._pending_bytes()
        self._check_again()

    def resume_writing(self) -> None:
        """Stop watching: the peer has read most bytes."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _pending_bytes(self) -> int:
        """Return the bytes that the peer has not read: in the write buffer and in the system."""
        return self.transport.get_write_buffer_size() + bytes_in_system(self.transport)

    def _check_again(self) -> None:
        self._stall = self.loop.call_later(self.register.limits.stall_s, self._end_stall)

    def _end_stall(self) -> None:
        unsent = self._pending_bytes()
        if unsent >= self._unsent > 0:
            self.drop()
            return
        self._unsent = unsent
        self._check_again()

    def on_message_begin(self) -> None:
        """Start a request."""
        self._in_head, self._beside_body, self._phase = True, 0, "head"
        super().on_message_begin()
        self.scope["extensions"] = {PENDING_BYTES: self._pending_bytes}  # type: ignore[dict-item]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Store a header."""
        if self._in_head:
            # The parser keeps spaces after a value, which are not part of it (RFC 9110, 5.5).
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Finish the head, unless the end of the message may bring an answer by the shortcut."""
        self._in_head, self._beside_body, self._phase = False, 0, "body"
        if self._may_shorten and self._is_short():
            self._may_shorten, self._waits_for_end = False, True
        else:
            self._finish_head()

    def _is_short(self) -> bool:
        """Return whether the shortcut may answer: a GET of its path, with no other request on this connection."""
        shortcut = self._shortcut
        return (
            shortcut is not None
            and self.url.partition(b"?")[0] == shortcut.path
            and b"#" not in self.url
            and len(self.url) <= _MAX_PARSED_BYTES
            and not self.root_path
            and self.parser.get_method() == b"GET"
            and self.parser.get_http_version() == "1.1"
            and self.parser.should_keep_alive()
            and not any(name in _OF_BODY_OR_UPGRADE for name, _ in self.headers)
            and self._is_free()
        )

    def _is_free(self) -> bool:
        """Return whether this connection answers no other request, and its peer reads what was sent."""
        return (
            (self.cycle is None or self.cycle.response_complete)
            and not self.pipeline
            and not self.register.is_full
            and not self.flow.write_paused
            and not self.transport.is_closing()
        )

    def _finish_head(self) -> None:
        """Start the application; refuse the request when there are too many connections."""
        address = self.url
        app = self.app
        self.scope.update(self._marks)  # type: ignore[typeddict-item]
        self._marks = {}
        if self.register.is_full and address.partition(b"?")[0].decode("latin-1") not in HEALTH_PATHS:
            self.app = service_unavailable

        try:
            self._read_head(address)
        finally:
            self.app = app

    def on_message_complete(self) -> None:
        """Finish the request: the connection now works on it."""
        if self._waits_for_end:
            self._waits_for_end = False
            if self._answer_shortly():
                return
            self._finish_head()

        self._phase = "idle"
        self.register.work(self)
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self.register.wait(self)

    def _answer_shortly(self) -> bool:
        """Answer by the shortcut; False if the application has to."""
        shortcut = self._shortcut
        scope: MutableMapping[str, Any] = self.scope  # type: ignore[assignment]  # a dictionary of fixed keys
        path, _, query = self.url.partition(b"?")
        scope["method"], scope["path"], scope["raw_path"], scope["query_string"] = "GET", path.decode(), path, query
        head = None if shortcut is None else shortcut.head_of(scope)
        if shortcut is None or head is None or not self._answer_by(shortcut, head, query):
            return False

        self._head_bytes = shortcut.bytes_of(self._portion, self.url, head)
        super().on_response_complete()
        return True

    def _answer_by(self, shortcut: Shortcut, head: RequestHead, query: bytes) -> bool:
        """Answer by the shortcut; False if the application has to."""
        # A mark of an earlier request has gone to its application.
        self._marks = {}
        try:
            answer = shortcut.answer(head, query, self._marks)
        except Exception:  # noqa: BLE001 - the application meets it again, and answers and logs it
            answer = None
        if answer is None:
            return False

        # One write, where the base class would send two.
        self.transport.write(answer.to_bytes(self.server_state.default_headers))
        shortcut.note(head, answer)
        self._phase, self._answered_s = "idle", self.loop.time()
        self.register.note_answer(self)
        return True

    def timeout_keep_alive_handler(self) -> None:
        """Close a connection without a request for some time; one that the shortcut answers has the timer of its first.

        To end a timer and start another for each request takes longer than to look at the clock in the end.
        """
        left_s = self._answered_s + self.timeout_keep_alive - self.loop.time()
        if left_s > 0:
            self.timeout_keep_alive_task = self.loop.call_later(left_s, self.timeout_keep_alive_handler)
        else:
            super().timeout_keep_alive_handler()

    def _read_head(self, address: bytes) -> None:
        if len(address) <= _MAX_PARSED_BYTES:
            super().on_headers_complete()
            return

        self.url = b"/"
        super().on_headers_complete()

        # The application is not called before this returns.
        path, _, query = address.partition(b"#")[0].partition(b"?")
        self.scope["path"], self.scope["raw_path"] = unquote(path.decode("latin-1")), path
        self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        """Receive bytes of the body."""
        self._beside_body = 0
        super().on_body(body)


class HttpServer(uvicorn.Server):
    """A server that ends running streams before it waits for them, and returns on a signal.

    Parameters
    ----------
    app
        As `create_app` or `create_front` makes it.
    grace_s
        Seconds that responses may take to end after a stop.
    connections
        Limits of connections; None: the limits of `app`.
    opening
        Opens the engine of `app` once the server listens; the server ends if that fails. None: it is open.
    """

    def __init__(
        self,
        app: Application,
        *,
        grace_s: float = 8.0,
        connections: ConnectionLimits | None = None,
        opening: EngineOpening | None = None,
    ) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHttp,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                # uvicorn would trust X-Forwarded-For of any peer; `ForwardedAddress` trusts named proxies only.
                proxy_headers=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=max(1, round(grace_s)),
            )
        )
        limits = connections or app.state.connection_limits
        self.register = ConnectionRegister(limits, app.state.is_trusted_proxy)
        self.server_state = SharedState(self.register, app.state)
        self._app = app
        self._opening = opening
        self._huge_pages = HugePages(lambda: -1 if self.server_state.tasks else self.server_state.total_requests)
        self.received: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; log errors of connections in one line, at a limited rate."""
        asyncio.get_running_loop().set_exception_handler(AcceptFaults())
        await super().startup(sockets)
        if self._opening is not None:
            self._opening.start()
        self._huge_pages.start()

    async def on_tick(self, counter: int) -> bool:
        """Return whether to stop."""
        failed = self._opening is not None and self._opening.failure is not None
        return await super().on_tick(counter) or failed

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the connections."""
        self._huge_pages.stop()
        self._app.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; a second one stops at once. Only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return

        previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.received = number


def run(app: Application, listener: socket.socket, opening: EngineOpening | None = None) -> None:
    """Serve on `listener` until SIGTERM (then return) or SIGINT (then raise).

    Raises
    ------
    KeyboardInterrupt
        After an orderly stop by SIGINT.
    SourcelightError
        When `opening` can't open the engine, such as `NoRepositories`.
    """
    raise_descriptor_limit()
    server = HttpServer(app, opening=opening)
    server.run(sockets=[listener])
    if server.received == signal.SIGINT:
        raise KeyboardInterrupt
    if server.received is None and opening is not None and opening.failure is not None:
        raise opening.failure
