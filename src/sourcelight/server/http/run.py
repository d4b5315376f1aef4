"""Requests read by httptools, whose parser is written in C, within bounds of ours: of size, of time and of number.

Binding a socket and running the service on it until it is told to stop.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import ipaddress
import os
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import unquote

import uvicorn
from starlette.applications import Starlette
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from sourcelight.core.errors import ConfigurationError
from sourcelight.server.http.connections import (
    HEALTH_PATHS,
    PENDING_BYTES,
    AcceptFaults,
    ConnectionLimits,
    ConnectionRegister,
    bytes_in_system,
    raise_descriptor_limit,
)
from sourcelight.server.http.middleware import LOOPBACK_NAMES
from sourcelight.server.http.producer import SearchEngine

#: Far above what is answered, so that over-long addresses get their 414 in place of the parser's bare 400.
MAX_HEAD_BYTES = 512 * 1024
# The parser of addresses counts in 16 bits.
_LONGEST_PARSED = 0xFFFF


class BoundedHttp(HttpToolsProtocol):
    """HTTP/1.1 on one connection, ended when what comes beside bodies grows beyond `MAX_HEAD_BYTES`.

    The parser itself sets no bound to a request line, to headers, or to the headers that may follow a body sent in
    chunks; nothing here reads those last ones, so they are dropped. Neither does it bound the time that a peer takes
    to send a request or to read an answer.
    """

    register: ConnectionRegister
    _beside_body = 0
    _in_head = True
    _phase: Literal["idle", "head", "body"] = "head"
    _deadline: asyncio.TimerHandle | None = None
    _deadline_of = ""
    _stall: asyncio.TimerHandle | None = None
    _unsent = 0

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        # A server of our own has one for all its connections; elsewhere each connection is bounded by itself.
        register = getattr(self.server_state, "register", None)
        self.register = ConnectionRegister(ConnectionLimits()) if register is None else register

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as its base has it
        """A connection was opened: its peer has to send a request now."""
        super().connection_made(transport)
        self.register.add(self, self.client[0] if self.client else "")
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        """It is closed."""
        self.register.remove(self)
        for timer in (self._deadline, self._stall):
            if timer is not None:
                timer.cancel()
        super().connection_lost(exc)
        self._unset_keepalive_if_required()

    def drop(self) -> None:
        """Close at once, without waiting for what was not read yet."""
        if self.transport is not None:
            self.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Read on, unless too much was read already."""
        if self._phase == "idle":
            self._phase = "head"
        if self._beside_body <= MAX_HEAD_BYTES:
            super().data_received(data)
            self._beside_body += len(data)
        elif self._in_head:
            self.send_400_response("Invalid HTTP request received.")
        else:
            self.transport.close()
        self._watch()

    def _watch(self) -> None:
        """Set a deadline for the part of a request that has begun; a later part has a later one."""
        phase = self._phase
        if self._deadline is not None and self._deadline_of != phase:
            self._deadline.cancel()
            self._deadline = None
        if self._deadline is None and phase != "idle":
            limits = self.register.limits
            self._deadline_of = phase
            self._deadline = self.loop.call_later(limits.head_s if phase == "head" else limits.body_s, self.drop)

    def on_response_complete(self) -> None:
        """An answer has gone out: the connection waits for the next request."""
        super().on_response_complete()
        if self._phase == "idle" and (self.cycle is None or self.cycle.response_complete):
            self.register.wait(self)

    def pause_writing(self) -> None:
        """The peer takes less than there is for it; it has to take something."""
        super().pause_writing()
        self._unsent = self._pending_bytes()
        self._look_again()

    def resume_writing(self) -> None:
        """The peer has taken most of it."""
        super().resume_writing()
        if self._stall is not None:
            self._stall.cancel()
            self._stall = None

    def _pending_bytes(self) -> int:
        """Bytes that the peer has not taken: those that wait here, and those that the system holds for it."""
        return self.transport.get_write_buffer_size() + bytes_in_system(self.transport)

    def _look_again(self) -> None:
        self._stall = self.loop.call_later(self.register.limits.stall_s, self._end_stall)

    def _end_stall(self) -> None:
        unsent = self._pending_bytes()
        if unsent >= self._unsent > 0:
            self.drop()
            return
        self._unsent = unsent
        self._look_again()

    def on_message_begin(self) -> None:
        """A request begins."""
        self._in_head, self._beside_body, self._phase = True, 0, "head"
        super().on_message_begin()
        self.scope["extensions"] = {PENDING_BYTES: self._pending_bytes}  # type: ignore[dict-item]

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header has been read."""
        if self._in_head:
            # The parser keeps blanks behind a value, which are no part of it (RFC 9110, 5.5).
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """The head has been read."""
        self._in_head, self._beside_body, self._phase = False, 0, "body"
        address = self.url
        app = self.app
        if self.register.is_full and address.partition(b"?")[0].decode("latin-1") not in HEALTH_PATHS:
            self.app = service_unavailable
        try:
            self._read_head(address)
        finally:
            self.app = app

    def on_message_complete(self) -> None:
        """The whole request has been read."""
        self._phase = "idle"
        self.register.work(self)
        super().on_message_complete()
        if self.cycle is not None and self.cycle.response_complete:
            self.register.wait(self)

    def _read_head(self, address: bytes) -> None:
        if len(address) <= _LONGEST_PARSED:
            super().on_headers_complete()
            return
        self.url = b"/"
        super().on_headers_complete()
        # The application has not been called yet.
        path, _, query = address.partition(b"#")[0].partition(b"?")
        self.scope["path"], self.scope["raw_path"] = unquote(path.decode("latin-1")), path
        self.scope["query_string"] = query

    def on_body(self, body: bytes) -> None:
        """A piece of the body has been read."""
        self._beside_body = 0
        super().on_body(body)


DEFAULT_PORT = 7080


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens on `host`."""
    if host.lower() in LOOPBACK_NAMES:
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def bind(host: str, port: int) -> socket.socket:
    """A listening socket; port 0 takes a free one.

    Raises
    ------
    ConfigurationError
        When the port is taken, needs more rights, or the host is no address of this machine.
    """
    name = host.strip("[]")
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            name or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (socket.gaierror, OverflowError) as fault:
        raise ConfigurationError(f"--host {host} --port {port}: no such address ({fault})") from fault
    listener = socket.socket(family, kind, protocol)
    try:
        # On Windows this option would let two processes share a port.
        if os.name == "posix":
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(128)
    except OSError as fault:
        listener.close()
        raise ConfigurationError(
            f"can't listen on {host}:{port}: {fault.strerror or fault}; choose another with --port (0: any free one)"
        ) from fault
    return listener


def address_of(listener: socket.socket) -> str:
    """The address of a bound socket, such as ``http://127.0.0.1:7080``."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class HttpServer(uvicorn.Server):
    """A server that ends running streams before it waits for them, and returns instead of dying by the signal.

    Parameters
    ----------
    app
        As `create_app` makes it.
    grace_s
        Seconds that answers may take to end once it is told to stop.
    connections
        Bounds of connections; None: the defaults, with what `app` was configured with.
    """

    def __init__(self, app: Starlette, *, grace_s: float = 8.0, connections: ConnectionLimits | None = None) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=BoundedHttp,
                ws="none",
                lifespan="off",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=30,
                timeout_graceful_shutdown=max(1, round(grace_s)),
            )
        )
        limits = connections or app.state.connection_limits
        self.register = ConnectionRegister(limits, app.state.is_trusted_proxy)
        self.server_state.register = self.register  # type: ignore[attr-defined]  # what each connection is made with
        self._search = app.state.search
        self._mcp = app.state.mcp
        self._deepsearch = app.state.deepsearch
        self.received: int | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen; faults of connections are logged in one line each, and not each of them."""
        asyncio.get_running_loop().set_exception_handler(AcceptFaults())
        await super().startup(sockets)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the streams, then the connections."""
        self._search.stop()
        self._mcp.stop()
        if self._deepsearch is not None:
            self._deepsearch.stop()
        await super().shutdown(sockets)

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Stop on SIGINT and SIGTERM; a second one stops at once. Only in the main thread."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        former = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in former.items():
                signal.signal(number, handler)

    def _note(self, number: int, _: object) -> None:
        self.force_exit = self.should_exit
        self.should_exit = True
        self.received = number


def warm_up(engine: SearchEngine) -> None:
    """Load what a first search would have to wait for (0.3 s measured): scanners, codecs, the views of the index.

    What is there by then stays. No collection of garbage looks through it any more: one that did stopped all threads
    for 60 ms over 95,000 objects.
    """
    from sourcelight.core.cancellation import Cancellation
    from sourcelight.core.wire.request import SearchRequest
    from sourcelight.repos import Viewer

    # Patterns that match nearly everywhere, so that text is really read.
    for pattern in ("e", "/[aeiou]/"):
        request = SearchRequest(f"{pattern} count:1")
        for _ in engine.stream(request, Viewer.owner(), Cancellation(2.0)):
            pass
    gc.collect()
    gc.freeze()


def run(app: Starlette, listener: socket.socket) -> None:
    """Serve on `listener` until SIGTERM (then return) or SIGINT (then raise).

    Raises
    ------
    KeyboardInterrupt
        After an orderly stop by SIGINT.
    """
    raise_descriptor_limit()
    server = HttpServer(app)
    server.run(sockets=[listener])
    if server.received == signal.SIGINT:
        raise KeyboardInterrupt
