"""One order to a server of Dask, and what it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sourcelight.backends.cluster.messages import HELLO
from sourcelight.backends.cluster.wiring.packing import Message, piece_from_plain, unpacked
from sourcelight.core.errors import WorkersUnreachable

if TYPE_CHECKING:
    from sourcelight.backends.cluster.wiring.connections import Connections


class ConnectionBroke(WorkersUnreachable):
    """Raised when a connection ends while the other side has a question in hand."""


class Exchange:
    """An order and what is answered, message by message, on one connection.

    Attributes
    ----------
    listening
        Whether the other side has the order, and is waited for.
    whole
        Whether the answer has ended.
    """

    def __init__(self, connections: Connections, address: str, message: Message) -> None:
        self._connections = connections
        self._address = address
        self._message = message
        self._comm: Any = None
        self._silent = False
        self.listening = False
        self.whole = False

    async def begin(self) -> None:
        """Give the order; raises `WorkersUnreachable` when there is no connection."""
        self._comm = await self._connections.written(self._address, self._message)

    async def hear(self) -> Message:
        """The next message.

        Raises `WorkersUnreachable` when it can't be read, `ConnectionBroke` when the connection ends, and
        `TimeoutError` after `give_up`.
        """
        self.listening = True
        try:
            said = await heard(self._address, self._comm)
        except ConnectionBroke:
            if self._silent:
                raise TimeoutError from None
            raise
        finally:
            self.listening = False
        operation = self._message["op"]
        answer = _answer(self._address, operation, said)
        self.whole = operation == HELLO or answer["kind"] in {"end", "fault"}
        return answer

    def give_up(self) -> None:
        """Wait for nothing more: the other side said nothing for too long."""
        self._silent = True
        self._comm.abort()

    def close(self) -> None:
        """Give the connection back; one whose answer has not ended is cut, which stops the work at the other side."""
        comm, self._comm = self._comm, None
        if comm is not None and self.whole:
            self._connections.keep(self._address, comm)
        elif comm is not None:
            comm.abort()


async def heard(address: str, comm: Any) -> Any:
    """What is said on a connection; raises as `Exchange.hear`."""
    try:
        return await comm.read()
    except OSError as error:
        raise broken(address, error) from error
    except Exception as error:  # whatever unpacking raises where the other side packs in another way
        raise WorkersUnreachable(address, f"what it sends can't be read ({type(error).__name__}: {error})") from error


def broken(address: str, error: OSError) -> ConnectionBroke:
    """What is raised for a connection that ended."""
    return ConnectionBroke(address, f"the connection broke ({type(error).__name__})")


def _answer(address: str, operation: str, message: Any) -> Message:
    """A message of ours; what else a server of Dask says, as it does while it shuts down, is no answer."""
    if not isinstance(message, dict) or (operation != HELLO and "kind" not in message):
        raise WorkersUnreachable(address, f"it takes no orders ({words(message)})")
    if "said" in message:
        said = unpacked(message["said"])
        pieces = [piece_from_plain(plain, message["large"]) for plain in said["pieces"]]
        return {"kind": message["kind"], "pieces": pieces, "outcome": said["outcome"]}
    if "answer" in message:
        message["answer"] = {**message["answer"], "attributes": message["answer"]["attributes"]["attributes"]}
    return dict(message)


def words(message: Any) -> str:
    """What a server of Dask says where an answer was expected."""
    said = message.get("exception_text") if isinstance(message, dict) else None
    return str(said or f"it answers {type(message).__name__}")
