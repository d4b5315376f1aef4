"""Dask's servers and sockets, and nothing else: the one module that knows them.

`worker.handlers` and the comms are what Dask's own shuffle is built on, half public: what is used here has a contract
test that runs against the installed version.
"""

from __future__ import annotations

import asyncio
import contextlib
import selectors
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sourcelight.backends.cluster.messages import CALL, HELLO, KEEP, SEARCH, TELL
from sourcelight.backends.cluster.worker.search import Failed, Passed, Piece
from sourcelight.core.errors import ConfigurationError, MissingExtra, WorkersUnreachable

CONNECT_S = 0.4
"""Seconds that a worker has to take a connection; Dask itself tries a refused port again until its time is over."""

_TRIES = 5
"""Dask gives its first try one in so many of the seconds that it is allowed."""

_LOOPBACK = ("127.", "localhost", "[::1]")

Message = dict[str, Any]


class ConnectionBroke(WorkersUnreachable):
    """Raised when a connection ends while the other side has a question in hand."""


def require_distributed() -> None:
    """Raise `MissingExtra` where Dask distributed is not installed."""
    try:
        import distributed  # noqa: F401 - only whether it is there
    except ImportError as error:
        raise MissingExtra("sourcelight[cluster]", "a cluster") from error


def check_address(address: str, tls: Mapping[str, str] | None) -> None:
    """Raise `ConfigurationError` for an address that is none, is not encrypted off this machine, or wants files."""
    scheme, mark, rest = address.partition("://")
    if not mark or scheme not in {"tcp", "tls"} or not rest:
        raise ConfigurationError(
            f"{address!r} is no address of a scheduler: use tls://HOST:PORT, or tcp:// on loopback"
        )
    if scheme == "tcp" and not rest.startswith(_LOOPBACK):
        raise ConfigurationError(f"{address} is not encrypted: use tls:// with certificates for other machines")
    if scheme == "tls" and not tls:
        raise ConfigurationError(f"{address} wants certificates: name the files ca, cert and key")


def security_of(tls: Mapping[str, str] | None) -> Any:
    """Dask's security settings from the files ``ca``, ``cert`` and ``key``; None without any."""
    if not tls:
        return None
    missing = [name for name in ("ca", "cert", "key") if not tls.get(name)]
    if missing:
        raise ConfigurationError(f"TLS needs the files ca, cert and key; {missing[0]} is not given")
    from distributed.security import Security

    names = {"tls_ca_file": tls["ca"], "require_encryption": True}
    for role in ("client", "worker", "scheduler"):
        names[f"tls_{role}_cert"], names[f"tls_{role}_key"] = tls["cert"], tls["key"]
    return Security(**names)


def serve_orders(worker: Any, desk: Any) -> None:
    """Let a Dask worker's own server take the orders of services."""
    from distributed.core import Status

    def handler(operation: str) -> Any:
        async def take(comm: Any, order: Mapping[str, Any]) -> Any:
            messages = desk.messages(operation, order)
            try:
                async with contextlib.aclosing(messages):
                    async for message in messages:
                        await comm.write(_wrapped(message), serializers=["dask", "pickle"])
            except OSError:
                comm.abort()  # whoever asked is gone; the work was stopped
            return Status.dont_reply

        return take

    async def hello(comm: Any) -> Any:
        await comm.write(desk.hello())
        return Status.dont_reply

    async def keep(comm: Any, order: Mapping[str, Any]) -> Any:
        desk.keep(order)
        await comm.write({"kind": "end"})
        return Status.dont_reply

    worker.handlers[SEARCH] = handler(SEARCH)
    worker.handlers[CALL] = handler(CALL)
    worker.handlers[TELL] = handler(TELL)
    worker.handlers[KEEP] = keep
    worker.handlers[HELLO] = hello


class Connections:
    """Connections to schedulers and workers of one cluster, kept for the next question. On one event loop.

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
        self._connecting: set[asyncio.Task[Any]] = set()

    async def ask(
        self, address: str, operation: str, order: Mapping[str, Any] | None = None
    ) -> AsyncGenerator[Message]:
        """The messages that answer an order. Closing the iterator before its end stops the work at the other side.

        Raises `WorkersUnreachable` when there is no connection or what it gives can't be read, and `ConnectionBroke`
        when it ends before the answer does.
        """
        message: Message = {"op": operation} if order is None else {"op": operation, "order": dict(order)}
        comm, first = await self._written(address, message)
        whole = False
        try:
            while True:
                answer = _answer(address, operation, first if first is not None else await _read(address, comm))
                first = None
                if operation == HELLO or answer["kind"] in {"end", "fault"}:
                    whole = True
                    yield answer
                    return
                yield answer
        finally:
            if whole:
                self._idle.setdefault(address, []).append(comm)
            else:
                comm.abort()

    async def _written(self, address: str, message: Message) -> tuple[Any, Any]:
        """A connection on which a message was answered for the first time, and that answer.

        One that was kept may be closed at the other side while the message is written; then a new one is made.
        """
        while True:
            comm, kept = await self._comm(address)
            try:
                try:
                    await comm.write(message)
                except OSError as error:
                    if kept:
                        comm.abort()
                        continue
                    raise _broke(address, error) from error
                return comm, await _read(address, comm)
            except BaseException:
                comm.abort()
                raise

    async def workers(self, scheduler: str) -> dict[str, str]:
        """Names and addresses of the workers that a scheduler knows; raises `WorkersUnreachable`."""
        comm, said = await self._written(scheduler, {"op": "identity", "n_workers": -1})
        try:
            found = {str(one["name"]): str(address) for address, one in said["workers"].items()}
        except (KeyError, TypeError, AttributeError) as error:
            comm.abort()
            raise WorkersUnreachable(scheduler, f"it does not say who its workers are ({_words(said)})") from error
        self._idle.setdefault(scheduler, []).append(comm)
        return found

    @property
    def beginning(self) -> frozenset[asyncio.Task[Any]]:
        """What makes connections at this moment."""
        return frozenset(self._connecting)

    async def close(self) -> None:
        """Give back all connections; waits a moment for those that begin."""
        if self._connecting:
            rest = (await asyncio.wait(self._connecting, timeout=CONNECT_S))[1]
            for task in rest:
                task.cancel()
            await asyncio.gather(*rest, return_exceptions=True)
        for comms in self._idle.values():
            for comm in comms:
                comm.abort()
        self._idle.clear()

    async def _comm(self, address: str) -> tuple[Any, bool]:
        """A connection, and whether it was kept from a former question."""
        from distributed.comm import connect

        idle = self._idle.get(address, [])
        while idle:
            comm = idle.pop()
            if _is_open(comm):
                return comm, True
            comm.abort()
        connecting = asyncio.ensure_future(
            connect(address, timeout=CONNECT_S * _TRIES, deserialize=True, **self._arguments)
        )
        self._connecting.add(connecting)
        try:
            await asyncio.wait([connecting], timeout=CONNECT_S)
            if not connecting.done():
                raise WorkersUnreachable(address, f"it takes no connection within {CONNECT_S:g} s")
            return connecting.result(), False
        except (OSError, TimeoutError, ValueError) as error:
            raise WorkersUnreachable(address, str(error) or type(error).__name__) from error
        finally:
            # One that is cut off in its middle leaves its socket open: it is left to end by itself.
            connecting.add_done_callback(self._connecting.discard)
            if not connecting.done():
                connecting.add_done_callback(_give_back)


def _give_back(connecting: asyncio.Task[Any]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().abort()


async def _read(address: str, comm: Any) -> Any:
    try:
        return await comm.read()
    except OSError as error:
        raise _broke(address, error) from error
    except Exception as error:  # whatever unpacking raises where the other side packs in another way
        raise WorkersUnreachable(address, f"what it sends can't be read ({type(error).__name__}: {error})") from error


def _broke(address: str, error: OSError) -> ConnectionBroke:
    return ConnectionBroke(address, f"the connection broke ({type(error).__name__})")


def _is_open(comm: Any) -> bool:
    """Whether the other side still listens: one that waits for a question has nothing to say but that it ended."""
    if comm.closed():
        return False
    with selectors.DefaultSelector() as selector:
        selector.register(comm.stream.socket, selectors.EVENT_READ)
        return not selector.select(0)


def _wrapped(message: Message) -> Message:
    """Record batches and tables as frames beside the message."""
    from distributed.protocol import to_serialize

    if message["kind"] == "pieces":
        return {
            "kind": "pieces",
            "pieces": [
                {"passed": list(piece.repositories)}
                if isinstance(piece, Passed)
                else {"failed": piece.reasons, "unfit": piece.unfit}
                if isinstance(piece, Failed)
                else {"phase": piece.phase, "repository": piece.repository, "batch": to_serialize(piece.batch)}
                for piece in message["pieces"]
            ],
        }
    wrapped = dict(message)
    for name in ("table", "rows"):
        if wrapped.get(name) is not None:
            wrapped[name] = to_serialize(wrapped[name])
    if "answer" in wrapped:
        answer = wrapped["answer"]
        facts = to_serialize({"attributes": answer["attributes"]})
        wrapped["answer"] = {**answer, "table": to_serialize(answer["table"]), "attributes": facts}
    return wrapped


def _answer(address: str, operation: str, message: Any) -> Message:
    """A message of ours; what else a server of Dask says, as it does while it shuts down, is no answer."""
    if not isinstance(message, dict) or (operation != HELLO and "kind" not in message):
        raise WorkersUnreachable(address, f"it takes no orders ({_words(message)})")
    if message.get("kind") == "pieces":
        message["pieces"] = [
            Passed(tuple(piece["passed"]))
            if "passed" in piece
            else Failed(piece["failed"], piece["unfit"])
            if "failed" in piece
            else Piece(piece["phase"], piece["repository"], piece["batch"])
            for piece in message["pieces"]
        ]
    elif "answer" in message:
        message["answer"] = {**message["answer"], "attributes": message["answer"]["attributes"]["attributes"]}
    return dict(message)


def _words(message: Any) -> str:
    """What a server of Dask says where an answer was expected."""
    said = message.get("exception_text") if isinstance(message, dict) else None
    return str(said or f"it answers {type(message).__name__}")


def dask_client(scheduler: str, tls: Mapping[str, str] | None) -> Any:
    """Dask's own client of a scheduler; raises `WorkersUnreachable`."""
    require_distributed()
    from distributed import Client

    security = security_of(tls)
    options = {} if security is None else {"security": security}
    try:
        return Client(scheduler, timeout="5s", set_as_default=False, **options)
    except (OSError, TimeoutError) as error:
        raise WorkersUnreachable(scheduler, str(error) or "no answer") from error
