"""How messages are packed: in few values, since Dask looks at each of them several times before it is sent."""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.backends.cluster.worker.search__pieces import Failed, Passed, Piece

_SMALL_BYTES = 1 << 16
"""Bytes of a batch up to which a copy costs less than a frame of its own."""

Message = dict[str, Any]


def wrapped_message(message: Message) -> Message:
    """Record batches and tables as frames beside the message."""
    from distributed.protocol import to_serialize

    if message["kind"] == "pieces" or "pieces" in message or "outcome" in message:
        large: list[Any] = []
        pieces = [_piece_to_plain(piece, large) for piece in message.get("pieces", ())]
        said = packed({"pieces": pieces, "outcome": message.get("outcome")})
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


def packed(plain: Mapping[str, Any]) -> bytes:
    """Values in one piece: Dask looks at each value of a message several times before it is sent."""
    return pickle.dumps(plain)


def unpacked(written: bytes | Message) -> Message:
    """What `packed` gave; other versions send their orders as they are, and are told that they are others."""
    if isinstance(written, dict):
        return written
    found: Message = pickle.loads(written)  # noqa: S301 - who has a certificate may run code here, as Dask is made for
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


def piece_from_plain(plain: Mapping[str, Any], large: Sequence[Any]) -> Piece | Passed | Failed:
    """The piece that values tell of, whose batch may be among the `large` ones."""
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
