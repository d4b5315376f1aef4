"""Connections to schedulers and workers: addresses, TLS, a pool, and timeouts.

A timeout counts the time in which the event loop was idle, so that a busy machine doesn't use it up.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import math
import selectors
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sourcelight.backends.cluster.transport.exchange import WorkerExchange, broken, error_text, read_message
from sourcelight.backends.cluster.transport.packing import Message, pack
from sourcelight.core.errors import ConfigurationError, MissingExtra, WorkersUnreachable

_TICK_S = 0.1
"""Seconds of a tick of a timeout: it counts ticks of the loop, so that a blocked process loses no time."""

CONNECT_S, GREET_S = 0.4, 2.0
"""Seconds that a machine has to take a connection, and a worker on it to greet: it may be busy."""

_LOOK_S = 0.1
"""Seconds after which a separate check finds out whether the machine exists: Dask retries a refused port."""

_TRIES = 5
"""Dask gives its first try one in so many of the seconds that it is allowed."""

_AT_ONCE = 32
"""Connections that are made at the same time; others wait, which counts for nothing."""


def require_distributed() -> None:
    """Raise `MissingExtra` where Dask distributed is not installed."""
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("sourcelight[cluster]", "a cluster") from error


def check_address(address: str, tls: Mapping[str, str] | None) -> None:
    """Raise `ConfigurationError` if an address is invalid, needs encryption, or needs certificate files."""
    scheme, separator, host = address.partition("://")
    if not separator or scheme not in {"tcp", "tls"} or not host:
        raise ConfigurationError(f"invalid scheduler address {address!r}; use tls://HOST:PORT, or tcp:// on loopback")
    if scheme == "tcp" and not is_loopback(host_of(host)):
        raise ConfigurationError(f"{address} is not encrypted; use tls:// with certificates for other machines")
    if scheme == "tls" and not tls:
        raise ConfigurationError(f"{address} needs certificates; name the files ca, cert and key")


def check_listening(scheme: str, host: str) -> None:
    """Raise `ConfigurationError` where a worker without certificates would listen to other machines.

    Who reaches its port can have it run code.
    """
    if scheme != "tls" and not is_loopback(host):
        raise ConfigurationError(
            f"a worker without certificates listens on loopback only, not on {host}; use tls:// with certificates"
        )


def is_loopback(host: str) -> bool:
    """Return whether `host` is a loopback address or ``localhost``; a name that only begins like an address is not."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_of(address: str) -> str:
    """Return the host of ``HOST:PORT``."""
    host, colon, port = address.rpartition(":")
    return host if colon and port.isdigit() else address


def security_of(tls: Mapping[str, str] | None) -> Any:
    """Return Dask's security settings from the files ``ca``, ``cert`` and ``key``, or None without any."""
    if not tls:
        return None

    missing_keys = [name for name in ("ca", "cert", "key") if not tls.get(name)]
    if missing_keys:
        raise ConfigurationError(f"TLS needs the files ca, cert and key; {missing_keys[0]} is missing")

    from distributed.security import Security

    # One certificate for all roles: who may connect as a client is decided by the CA alone. `require_encryption` makes
    # Dask refuse a plain tcp:// address that a scheduler announces for one of its workers.
    names = {"tls_ca_file": tls["ca"], "require_encryption": True}
    for role in ("client", "worker", "scheduler"):
        names[f"tls_{role}_cert"], names[f"tls_{role}_key"] = tls["cert"], tls["key"]

    return Security(**names)


def dask_client(scheduler: str, tls: Mapping[str, str] | None) -> Any:
    """Open Dask's own client of a scheduler; raises `WorkersUnreachable`."""
    require_distributed()
    from distributed import Client

    security = security_of(tls)
    options = {} if security is None else {"security": security}
    try:
        # Not the default client: a notebook may have a Dask client of its own, and `dask.compute` must keep using that
        # one.
        return Client(scheduler, timeout="5s", set_as_default=False, **options)
    except (OSError, TimeoutError) as error:
        raise WorkersUnreachable(scheduler, str(error) or "no answer") from error


@contextlib.asynccontextmanager
async def patient(seconds: float) -> AsyncGenerator[None]:
    """Raise `TimeoutError` inside the block after `seconds`, by a clock that ticks on the event loop.

    A loop that is busy, or a process that gets no core, ticks late, and each tick counts for a tenth of a second:
    one that can't listen takes no other for silent.
    """
    loop = asyncio.get_running_loop()
    ticking: asyncio.TimerHandle | None = None

    def tick(left: int) -> None:
        nonlocal ticking
        if left > 0:
            # Each tick schedules the next one only when it runs, so ticks that a busy loop missed are not made up for.
            ticking = loop.call_later(_TICK_S, tick, left - 1)
        else:
            limit.reschedule(loop.time())

    # Without a deadline at first: the last tick sets the present as the deadline, which ends the block.
    async with asyncio.timeout(None) as limit:
        tick(max(math.ceil(seconds / _TICK_S), 1))
        try:
            yield
        finally:
            if ticking is not None:
                ticking.cancel()


# Poll and not epoll: an epoll selector opens a descriptor of its own, for one look. `select` can't watch descriptors
# above 1023.
_Selector: Any = getattr(selectors, "PollSelector", selectors.DefaultSelector)


class ConnectionPool:
    """Connections to schedulers and workers of one cluster, reused between questions. On one event loop.

    Parameters
    ----------
    tls
        Files ``ca``, ``cert`` and ``key``; None: no encryption, for loopback.
    """

    def __init__(self, tls: Mapping[str, str] | None = None) -> None:
        require_distributed()
        security = security_of(tls)
        self._arguments = {} if security is None else security.get_connection_args("client")
        self._idle: dict[str, list[Any]] = {}

        # Tasks by strong reference: asyncio has only weak ones, and a connection that is collected halfway leaks its
        # socket.
        self._connecting: set[asyncio.Task[Any]] = set()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    async def ask(
        self, address: str, operation: str, order: Mapping[str, Any] | None = None, silence_s: float = math.inf
    ) -> AsyncGenerator[Message]:
        """Yield the messages that answer an order. Closing the iterator early stops the work at the other side.

        Raises `WorkersUnreachable` without a connection or a readable answer, `ConnectionBroke` if it ends before the
        answer, and `TimeoutError` when nothing comes for `silence_s` seconds.
        """
        exchange = self.exchange(address, operation, order)
        try:
            await exchange.start()
            while not exchange.is_complete:
                if silence_s < math.inf:
                    async with patient(silence_s):
                        message = await exchange.receive()
                else:
                    message = await exchange.receive()
                yield message
        finally:
            exchange.close()

    def exchange(self, address: str, operation: str, order: Mapping[str, Any] | None = None) -> WorkerExchange:
        """Return an exchange that is about to start."""
        message: Message = {"op": operation} if order is None else {"op": operation, "order": pack(order)}
        return WorkerExchange(self, address, message)

    async def write(self, address: str, message: Message) -> Any:
        """Return a connection on which a message was written.

        One that was kept may be closed at the other side meanwhile; then a new one is made.
        """
        # Ends after at most one more round than there are idle connections: a failed one is not returned to the pool,
        # and a new connection that fails raises.
        while True:
            comm, is_pooled = await self._comm(address)
            try:
                await comm.write(message)
            except OSError as error:
                comm.abort()
                if not is_pooled:
                    raise broken(address, error) from error
            # A cancelled write may have sent half a message. The connection can't be reused, since the other side waits
            # for the rest.
            except BaseException:
                comm.abort()
                raise
            else:
                return comm

    def keep(self, address: str, comm: Any) -> None:
        """Return a connection to the pool."""
        # The newest is used next (`pop` from the end): the others stay idle until the far side closes them, so the pool
        # shrinks to what is needed.
        self._idle.setdefault(address, []).append(comm)

    async def workers(self, scheduler: str) -> dict[str, str]:
        """Return names and addresses of the workers that a scheduler knows; raises `WorkersUnreachable`."""
        comm = await self.write(scheduler, {"op": "identity", "n_workers": -1})
        try:
            reply = await read_message(scheduler, comm)
        except BaseException:
            comm.abort()
            raise

        try:
            addresses = {str(worker["name"]): str(address) for address, worker in reply["workers"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            comm.abort()
            raise WorkersUnreachable(scheduler, f"it doesn't list its workers ({error_text(reply)})") from error

        self.keep(scheduler, comm)
        return addresses

    @property
    def beginning(self) -> frozenset[asyncio.Task[Any]]:
        """Tasks that are opening connections now."""
        return frozenset(self._connecting)

    async def close(self) -> None:
        """Release all connections; waits briefly for those that are opening."""
        if self._connecting:
            unfinished = (await asyncio.wait(self._connecting, timeout=CONNECT_S))[1]
            for task in unfinished:
                task.cancel()
            await asyncio.gather(*unfinished, return_exceptions=True)

        for comms in self._idle.values():
            for comm in comms:
                comm.abort()

        self._idle.clear()

    async def _comm(self, address: str) -> tuple[Any, bool]:
        """Return a connection, and whether it is a reused one."""
        from distributed.comm import connect

        # No await between `pop` and the return: two tasks can't take the same connection.
        idle = self._idle.get(address, [])
        while idle:
            comm = idle.pop()
            if _is_open(comm):
                return comm, True
            comm.abort()

        async with self._slots:
            connecting = asyncio.ensure_future(
                # Dask's timeout is for all its tries. The checks of `_await_greeting` end a hopeless one much earlier.
                connect(address, timeout=GREET_S * _TRIES, deserialize=True, **self._arguments)
            )
            self._connecting.add(connecting)

            # Whether the caller got the connection. It is set last, so that an error or a cancellation at any point
            # before gives the connection to `_give_back`, which closes it when it is there at last.
            is_owned = False
            try:
                await _await_greeting(address, connecting)
                is_owned = True
                return connecting.result(), False
            except (OSError, ValueError) as error:
                raise WorkersUnreachable(address, str(error) or type(error).__name__) from error
            finally:
                # One that is cut off in its middle leaves its socket open: it is left to end by itself.
                connecting.add_done_callback(self._connecting.discard)
                if not is_owned:
                    connecting.add_done_callback(_give_back)


async def _await_greeting(address: str, connecting: asyncio.Task[Any]) -> None:
    """Wait until a worker has greeted, or failed to; raises `WorkersUnreachable` where none listens."""
    await asyncio.wait([connecting], timeout=_LOOK_S)
    if connecting.done():
        return

    # A plain TCP connection tells a dead host from a worker that is too busy to greet: the kernel accepts for a busy
    # one.
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        async with patient(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
    except TimeoutError:
        raise WorkersUnreachable(address, f"it accepts no connection within {CONNECT_S:g} s") from None

    try:
        async with patient(GREET_S):
            await asyncio.wait([connecting])
    except TimeoutError:
        raise WorkersUnreachable(address, f"it accepts a connection but sends nothing for {GREET_S:g} s") from None


def _give_back(connecting: asyncio.Task[Any]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().abort()


def _is_open(comm: Any) -> bool:
    """Return whether the peer is connected: while it waits for a request, it can send only the end of the stream."""
    if comm.closed():
        return False
    with _Selector() as selector:
        selector.register(comm.stream.socket, selectors.EVENT_READ)
        return not selector.select(0)
