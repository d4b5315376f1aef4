"""Exchange one request with a Dask server.

`WorkerExchange` is the side of a service: one connection for one request, which returns to the pool only after a
complete answer. `serve_orders` is the side of a worker, and adds the operations of `messages` to the server of
Dask. Any error of a library is one of `WorkersUnreachable`.
"""

from __future__ import annotations

import contextlib
from typing import Any, Protocol

from sourcelight.backends.cluster.messages import CALL, HELLO, KEEP, SEARCH, TELL
from sourcelight.backends.cluster.transport.packing import Message, result_from_plain, unpack, wrap_message
from sourcelight.core.errors import WorkersUnreachable


class ConnectionBroke(WorkersUnreachable):
    """Raised when a connection ends before the other side has answered."""


class Connections(Protocol):
    """The part of a connection pool that an exchange uses."""

    async def write(self, address: str, message: Message) -> Any:
        """Send a message over a connection, and return the connection."""
        ...

    def keep(self, address: str, comm: Any) -> None:
        """Take a connection back for the next exchange."""
        ...


class WorkerExchange:
    """A request and its answer, message by message, on one connection.

    Attributes
    ----------
    is_waiting
        Whether the other side has the request and its answer is awaited.
    is_complete
        Whether the answer has ended.
    """

    def __init__(self, connections: Connections, address: str, message: Message) -> None:
        self._connections = connections
        self._address = address
        self._message = message
        self._comm: Any = None
        self._is_given_up = False
        self.is_waiting = False
        self.is_complete = False

    async def start(self) -> None:
        """Send the request; raises `WorkersUnreachable` when there is no connection."""
        self._comm = await self._connections.write(self._address, self._message)

    async def receive(self) -> Message:
        """Return the next message.

        Raises `WorkersUnreachable` when it can't be read, `ConnectionBroke` when the connection ends, and
        `TimeoutError` after `give_up`.
        """
        self.is_waiting = True
        try:
            message = await read_message(self._address, self._comm)
        except ConnectionBroke:
            if self._is_given_up:
                raise TimeoutError from None
            raise
        finally:
            self.is_waiting = False

        operation = self._message["op"]
        answer = _answer(self._address, operation, message)
        self.is_complete = operation == HELLO or answer["kind"] in {"end", "fault"}
        return answer

    def give_up(self) -> None:
        """Stop waiting: the other side was silent for too long."""
        # Set before the abort: the reader wakes with `ConnectionBroke` and has to tell this from a worker that died.
        self._is_given_up = True
        self._comm.abort()

    def close(self) -> None:
        """Return the connection to the pool; close it if the answer is unfinished, to stop the other side."""
        comm, self._comm = self._comm, None
        if comm is not None and self.is_complete:
            self._connections.keep(self._address, comm)
        elif comm is not None:
            comm.abort()


async def read_message(address: str, comm: Any) -> Any:
    """Return the messages of a connection; raises as `WorkerExchange.receive`."""
    try:
        return await comm.read()
    except OSError as error:
        raise broken(address, error) from error
    # Versions of pickle, pyarrow and this package each fail in their own way: no list of errors would be complete.
    except Exception as error:
        raise WorkersUnreachable(address, f"its answer can't be read ({type(error).__name__}: {error})") from error


def broken(address: str, error: OSError) -> ConnectionBroke:
    """Return the error for a connection that ended."""
    return ConnectionBroke(address, f"the connection broke ({type(error).__name__})")


def _answer(address: str, operation: str, message: Any) -> Message:
    """Return a message of this protocol; other messages of a Dask server, sent while it shuts down, are no answer."""
    # A worker that shuts down answers with Dask's own error message, which has no `kind`.
    if not isinstance(message, dict) or (operation != HELLO and "kind" not in message):
        raise WorkersUnreachable(address, f"it doesn't accept requests ({error_text(message)})")

    if "said" in message:
        body = unpack(message["said"])
        parts = [result_from_plain(item, message["large"]) for item in body["results"]]
        return {"kind": message["kind"], "results": parts, "outcome": body["outcome"]}

    if "answer" in message:
        message["answer"] = {**message["answer"], "attributes": message["answer"]["attributes"]["attributes"]}

    return dict(message)


def error_text(message: Any) -> str:
    """Return the error text that a Dask server sent instead of an answer."""
    text = message.get("exception_text") if isinstance(message, dict) else None
    return str(text or f"it answers {type(message).__name__}")


def serve_orders(worker: Any, service: Any) -> None:
    """Accept orders of services on a Dask worker's own server."""
    from distributed.core import Status

    def handler(operation: str) -> Any:
        async def answer(comm: Any, order: bytes) -> Any:
            messages = service.messages(operation, unpack(order))
            try:
                async with contextlib.aclosing(messages):
                    async for message in messages:
                        await comm.write(wrap_message(message), serializers=["dask", "pickle"])
                        if comm.stream is not None and comm.stream.writing():
                            await comm.stream.write(
                                b""
                            )  # waits for the socket, which Dask does not: unread messages would pile up
            except OSError:
                comm.abort()  # the coordinator is gone, and the work was stopped

            return Status.dont_reply

        return answer

    async def hello(comm: Any) -> Any:
        await comm.write(service.hello())
        return Status.dont_reply

    async def keep(comm: Any, order: bytes) -> Any:
        service.keep(unpack(order))
        await comm.write({"kind": "end"})
        return Status.dont_reply

    worker.handlers[SEARCH] = handler(SEARCH)
    worker.handlers[CALL] = handler(CALL)
    worker.handlers[TELL] = handler(TELL)
    worker.handlers[KEEP] = keep
    worker.handlers[HELLO] = hello
