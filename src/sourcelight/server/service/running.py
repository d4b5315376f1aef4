"""Binding a socket and running the service on it until it is told to stop."""

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

import uvicorn
from starlette.applications import Starlette

from sourcelight.core.errors import ConfigurationError
from sourcelight.server.service.connections import (
    AcceptFaults,
    ConnectionLimits,
    ConnectionRegister,
    raise_descriptor_limit,
)
from sourcelight.server.service.guards import LOOPBACK_NAMES
from sourcelight.server.service.parsing import BoundedHttp
from sourcelight.server.service.producer import SearchEngine

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


class Server(uvicorn.Server):
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
    server = Server(app)
    server.run(sockets=[listener])
    if server.received == signal.SIGINT:
        raise KeyboardInterrupt
