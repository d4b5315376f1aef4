"""Dask's servers and sockets, and nothing else: the one module that knows them.

`worker.handlers` and the comms are what Dask's own shuffle is built on, half public: what is used here has a contract
test that runs against the installed version.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import pickle
import selectors
from collections.abc import AsyncGenerator, Mapping, Sequence
from typing import Any

from sourcelight.backends.cluster.messages import CALL, HELLO, KEEP, SEARCH, TELL
from sourcelight.backends.cluster.patience import patient
from sourcelight.backends.cluster.worker.search import Failed, Passed, Piece
from sourcelight.core.errors import ConfigurationError, MissingExtra, WorkersUnreachable

CONNECT_S, GREET_S = 0.4, 2.0
"""Seconds that a machine has to take a connection, and a worker on it to greet: it may be busy."""

_LOOK_S = 0.1
"""Seconds after which somebody looks whether there is a machine at all: Dask tries a refused port again and again."""

_TRIES = 5
"""Dask gives its first try one in so many of the seconds that it is allowed."""

_AT_ONCE = 32
"""Connections that are made at the same time; others wait, which counts for nothing."""

_SMALL_BYTES = 1 << 16
"""Bytes of a batch up to which a copy costs less than a frame of its own."""

_Selector: Any = getattr(selectors, "PollSelector", selectors.DefaultSelector)
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
        async def take(comm: Any, order: bytes) -> Any:
            messages = desk.messages(operation, _unpacked(order))
            try:
                async with contextlib.aclosing(messages):
                    async for message in messages:
                        await comm.write(_wrapped(message), serializers=["dask", "pickle"])
                        if comm.stream is not None and comm.stream.writing():
                            await comm.stream.write(b"")  # Dask waits for no socket: what is not read would pile up
            except OSError:
                comm.abort()  # whoever asked is gone; the work was stopped
            return Status.dont_reply

        return take

    async def hello(comm: Any) -> Any:
        await comm.write(desk.hello())
        return Status.dont_reply

    async def keep(comm: Any, order: bytes) -> Any:
        desk.keep(_unpacked(order))
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
        self._places = asyncio.Semaphore(_AT_ONCE)

    async def ask(
        self, address: str, operation: str, order: Mapping[str, Any] | None = None, silence_s: float = math.inf
    ) -> AsyncGenerator[Message]:
        """The messages that answer an order. Closing the iterator before its end stops the work at the other side.

        Raises `WorkersUnreachable` when there is no connection or what it gives can't be read, `ConnectionBroke`
        when it ends before the answer does, and `TimeoutError` when nothing comes for `silence_s` seconds.
        """
        message: Message = {"op": operation} if order is None else {"op": operation, "order": _packed(order)}
        comm, first = await self._written(address, message, silence_s)
        whole = False
        try:
            while True:
                said = first if first is not None else await _read(address, comm, silence_s)
                answer = _answer(address, operation, said)
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

    async def _written(self, address: str, message: Message, silence_s: float = math.inf) -> tuple[Any, Any]:
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
                return comm, await _read(address, comm, silence_s)
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
        async with self._places:
            connecting = asyncio.ensure_future(
                connect(address, timeout=GREET_S * _TRIES, deserialize=True, **self._arguments)
            )
            self._connecting.add(connecting)
            taken = False
            try:
                await _greeted(address, connecting)
                taken = True
                return connecting.result(), False
            except (OSError, ValueError) as error:
                raise WorkersUnreachable(address, str(error) or type(error).__name__) from error
            finally:
                # One that is cut off in its middle leaves its socket open: it is left to end by itself.
                connecting.add_done_callback(self._connecting.discard)
                if not taken:
                    connecting.add_done_callback(_give_back)


async def _greeted(address: str, connecting: asyncio.Task[Any]) -> None:
    """Wait until a worker has greeted, or failed to; raises `WorkersUnreachable` where none listens."""
    await asyncio.wait([connecting], timeout=_LOOK_S)
    if connecting.done():
        return
    host, _, port = address.partition("://")[2].rpartition(":")
    try:
        async with patient(CONNECT_S):
            _, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        writer.close()
    except TimeoutError:
        raise WorkersUnreachable(address, f"it takes no connection within {CONNECT_S:g} s") from None
    try:
        async with patient(GREET_S):
            await asyncio.wait([connecting])
    except TimeoutError:
        raise WorkersUnreachable(address, f"it takes a connection, and says nothing for {GREET_S:g} s") from None


def _give_back(connecting: asyncio.Task[Any]) -> None:
    if not connecting.cancelled() and connecting.exception() is None:
        connecting.result().abort()


async def _read(address: str, comm: Any, silence_s: float = math.inf) -> Any:
    if silence_s < math.inf:
        async with patient(silence_s):
            return await _read(address, comm)
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
    with _Selector() as selector:
        selector.register(comm.stream.socket, selectors.EVENT_READ)
        return not selector.select(0)


def _wrapped(message: Message) -> Message:
    """Record batches and tables as frames beside the message."""
    from distributed.protocol import to_serialize

    if message["kind"] == "pieces" or "pieces" in message or "outcome" in message:
        large: list[Any] = []
        pieces = [_piece_to_plain(piece, large) for piece in message.get("pieces", ())]
        said = _packed({"pieces": pieces, "outcome": message.get("outcome")})
        return {"kind": message["kind"], "said": said, "large": [to_serialize(batch) for batch in large]}
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
    if "said" in message:
        said = _unpacked(message["said"])
        pieces = [_piece_from_plain(plain, message["large"]) for plain in said["pieces"]]
        return {"kind": message["kind"], "pieces": pieces, "outcome": said["outcome"]}
    if "answer" in message:
        message["answer"] = {**message["answer"], "attributes": message["answer"]["attributes"]["attributes"]}
    return dict(message)


def _packed(plain: Mapping[str, Any]) -> bytes:
    """Values in one piece: Dask looks at each value of a message several times before it is sent."""
    return pickle.dumps(plain)


def _unpacked(packed: bytes | Message) -> Message:
    """What `_packed` gave; other versions send their orders as they are, and are told that they are others."""
    if isinstance(packed, dict):
        return packed
    found: Message = pickle.loads(packed)  # noqa: S301 - who has a certificate may run code here, as Dask is made for
    return found


def _piece_to_plain(piece: Piece | Passed | Failed, large: list[Any]) -> Message:
    """A piece as values; a large batch is put to the others that travel beside the message, without a copy."""
    if isinstance(piece, Passed):
        return {"passed": piece.repositories}
    if isinstance(piece, Failed):
        return {"failed": piece.reasons, "unfit": piece.unfit}
    plain: Message = {"phase": piece.phase, "repositories": piece.repositories, "ends": piece.ends}
    if piece.batch.nbytes > _SMALL_BYTES:
        large.append(piece.batch)
        return {**plain, "large": len(large) - 1}
    return {**plain, "batch": _batch_to_bytes(piece.batch)}


def _piece_from_plain(plain: Mapping[str, Any], large: Sequence[Any]) -> Piece | Passed | Failed:
    if "passed" in plain:
        return Passed(tuple(plain["passed"]))
    if "failed" in plain:
        return Failed(plain["failed"], plain["unfit"])
    batch = large[plain["large"]] if "large" in plain else _batch_from_bytes(plain["batch"])
    return Piece(plain["phase"], tuple(plain["repositories"]), tuple(plain["ends"]), batch)


def _batch_to_bytes(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions()) as writer:
        writer.write_batch(batch)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _batch_from_bytes(written: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(written) as reader:
        return reader.read_next_batch()


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
