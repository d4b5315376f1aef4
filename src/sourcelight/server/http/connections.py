"""Limits on connections, and the client address behind a trusted proxy.

An idle connection costs its peer nothing and the service a descriptor. When there are too many, the service closes the
ones that have been idle for longest and accepts the new one, so that clients with requests are always served.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import logging
import sys
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.server import ServerState

log = logging.getLogger("sourcelight.service")

HEALTH_PATHS = frozenset({"/healthz", "/readyz"})

PENDING_BYTES = "sourcelight.pending_bytes"
"""Key of a request's extensions: a function that returns the unread bytes of its response."""

MAX_OPEN_FILES = 8_192
# Descriptors for index, repositories, git and state; a service with 300 repositories used 150.
_OTHER_FILES = 384
_MIN_CONNECTIONS, _MAX_CONNECTIONS = 64, 4_096
_LOG_PERIOD_S = 10.0

_MAX_HEADER_BYTES = 4_096


@dataclass(frozen=True, slots=True)
class ConnectionLimits:
    """Limits on the connections of one service.

    Parameters
    ----------
    connections
        Maximum; None: the free descriptors of the process.
    per_address
        Idle connections of one address; a trusted proxy has no such limit.
    reserve
        Extra connections for health checks only.
    head_s
        Seconds until a request's head must be complete, from the connection or its first byte.
    body_s
        Seconds until its body must be complete.
    stall_s
        Seconds that a reader may read no byte of a response.
    """

    connections: int | None = None
    per_address: int = 256
    reserve: int = 16
    head_s: float = 10.0
    body_s: float = 60.0
    stall_s: float = 60.0


class _WaitingConnection(Protocol):
    """The part of a connection that the register uses."""

    def drop(self) -> None:
        """Close at once."""
        ...


class ConnectionRegister:
    """All connections of one service; used in its event loop only.

    Parameters
    ----------
    limits
        The limits.
    is_trusted
        Tells whether an address is a trusted proxy with many readers.
    """

    def __init__(self, limits: ConnectionLimits, is_trusted: Callable[[str], bool] = lambda _: False) -> None:
        self.limits = limits
        self.max_connections = limits.connections or _connections_by_descriptors()
        self.dropped = 0
        self._is_trusted = is_trusted
        self._open: dict[Any, str] = {}
        self._waiting_connections: OrderedDict[Any, None] = OrderedDict()
        self._by_address: dict[str, OrderedDict[Any, None]] = {}
        self._logged = -_LOG_PERIOD_S

    def __len__(self) -> int:
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether only health checks are answered."""
        return len(self._open) > self.max_connections

    def add(self, connection: _WaitingConnection, address: str) -> None:
        """Register a new idle connection; may close others."""
        self._open[connection] = address
        self.wait(connection)
        same_address = self._by_address[address]

        # A trusted proxy carries all users, so its address alone has no limit.
        if len(same_address) > self.limits.per_address and not self._is_trusted(address):
            self._drop(next(iter(same_address)))

        # The oldest idle connection goes first; a dictionary keeps the order of arrival.
        if len(self._open) > self.max_connections and len(self._waiting_connections) > 1:
            self._drop(next(iter(self._waiting_connections)))

        # The reserve keeps descriptors for health checks while all others are busy.
        if len(self._open) > self.max_connections + self.limits.reserve:
            self._drop(connection)

    def wait(self, connection: _WaitingConnection) -> None:
        """Mark a connection as idle."""
        address = self._open.get(connection)
        if address is not None and connection not in self._waiting_connections:
            self._waiting_connections[connection] = None
            self._by_address.setdefault(address, OrderedDict())[connection] = None

    def note_answer(self, connection: _WaitingConnection) -> None:
        """Mark a waiting connection as the most recently answered."""
        if connection in self._waiting_connections:
            self._waiting_connections.move_to_end(connection)
            self._by_address[self._open[connection]].move_to_end(connection)

    def work(self, connection: _WaitingConnection) -> None:
        """Mark a connection as busy with a complete request."""
        if self._waiting_connections.pop(connection, self) is None:
            same_address = self._by_address[self._open[connection]]
            del same_address[connection]
            if not same_address:
                del self._by_address[self._open[connection]]

    def remove(self, connection: _WaitingConnection) -> None:
        """Remove a closed connection."""
        self.work(connection)
        self._open.pop(connection, None)

    def _drop(self, connection: Any) -> None:
        self.dropped += 1
        now_s = time.monotonic()
        if now_s - self._logged >= _LOG_PERIOD_S:
            self._logged = now_s
            log.warning(
                "too many connections: %d open, closed %d idle ones so far; "
                "limit clients at the proxy, or raise the hard limit of open files",
                len(self._open), self.dropped,
            )  # fmt: skip

        self.remove(connection)
        connection.drop()


def bytes_in_system(transport: asyncio.Transport) -> int:
    """Return the sent bytes that the peer has not acknowledged; 0 if unknown.

    The system may buffer megabytes. Without this count, a reader of some kilobytes a second would look stalled.
    """
    try:
        import fcntl
        import termios

        # TIOCOUTQ (tcp(7)): bytes in the send queue. A reader that takes nothing leaves them there, though `write` has
        # succeeded.
        return int.from_bytes(
            fcntl.ioctl(transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, bytes(4)), sys.byteorder
        )
    except (ImportError, AttributeError, OSError, ValueError):
        return 0


def raise_descriptor_limit() -> None:
    """Raise the limit on open files as far as the system allows, at most to 8,192."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        limit = MAX_OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, MAX_OPEN_FILES)
        if soft != resource.RLIM_INFINITY and soft < limit:
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def _connections_by_descriptors() -> int:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return _MAX_CONNECTIONS

    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return _MAX_CONNECTIONS

    return max(_MIN_CONNECTIONS, min(_MAX_CONNECTIONS, (soft - _OTHER_FILES) // 2))


class AcceptFaults:
    """Logs errors of the event loop, at most one line in ten seconds for OS errors such as missing descriptors."""

    def __init__(self) -> None:
        self._last = -_LOG_PERIOD_S

    def __call__(self, loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Handle an error as `asyncio.loop.set_exception_handler` defines."""
        exc = context.get("exception")
        if not isinstance(exc, OSError):
            loop.default_exception_handler(context)
            return

        now_s = time.monotonic()
        if now_s - self._last >= _LOG_PERIOD_S:
            self._last = now_s
            log.error("%s: %s", context.get("message", "connection error"), exc.strerror or exc)


class SharedState(ServerState):
    """State that the server passes to each connection, including the register of all connections."""

    def __init__(self, register: ConnectionRegister, app_state: Any) -> None:
        super().__init__()
        self.register = register
        self._app_state = app_state

    @property
    def shortcut(self) -> Any:
        """The shortcut past the application; None until it is open."""
        return self._app_state.shortcut


class TrustedProxies:
    """Networks of the operator's proxies, whose ``X-Forwarded-For`` is trusted."""

    def __init__(self, networks: Iterable[str] = ()) -> None:
        self._networks = [ipaddress.ip_network(network) for network in networks]

    def __contains__(self, address: object) -> bool:
        if not self._networks:
            return False
        try:
            parsed = ipaddress.ip_address(str(address))
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)

    def client_of(self, forwarded: str) -> str:
        """Return the last address of an ``X-Forwarded-For`` header that isn't a trusted proxy; empty without one.

        That client may have forged the addresses before it.
        """
        for text in reversed(forwarded.split(",")):
            try:
                address = ipaddress.ip_address(text.strip().strip("[]"))
            except ValueError:
                return ""
            if address not in self:
                return str(address)

        return ""

    def address_of(self, scope: Scope) -> tuple[str, int] | None:
        """Return where a request came from: the address of its connection, or of the client behind a trusted proxy."""
        client: tuple[str, int] | None = scope.get("client")
        if client and client[0] in self:
            values = [value for name, value in scope["headers"] if name == b"x-forwarded-for"]
            text = b",".join(values)[-_MAX_HEADER_BYTES:].decode("latin-1")
            if client_address := self.client_of(text):
                return client_address, 0
        return client


class ForwardedAddress:
    """Replaces the address of a trusted proxy by its client's address."""

    def __init__(self, app: ASGIApp, *, proxies: TrustedProxies) -> None:
        self._app = app
        self._proxies = proxies

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its client address."""
        if scope["type"] == "http" and (client := self._proxies.address_of(scope)):
            scope["client"] = client
        await self._app(scope, receive, send)
