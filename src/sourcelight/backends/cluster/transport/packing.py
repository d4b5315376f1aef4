"""Pack the messages of a worker as few values.

Dask inspects each value of a message several times before it sends it. And a record batch of a few rows costs more to
pack and to read than to find, so few rows travel as the arrays of the engine.
"""

from __future__ import annotations

import pickle
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sourcelight.backends.cluster.messages import RepositoriesDone, RepositoriesFailed, ResultBatch
from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.codecs.raw_matches import RawMatches, RepositoryRevision
from sourcelight.engines.search.scan.raw_batches import record_batch

Message = dict[str, Any]

_ARRAYS = ("lengths", "numbers", "offsets", "sizes", "counts", "matches", "starts", "ends")
"""Arrays of raw matches that travel as they are."""

_SMALL_BYTES = 1 << 16
"""Bytes of a batch up to which a copy costs less than a frame of its own."""


def wrap_message(message: Message) -> Message:
    """Record batches and tables as frames beside the message."""
    from distributed.protocol import to_serialize

    # Results are packed by this module and not by Dask: it would walk every tuple and dict of each one to look for
    # values that need a serializer of their own.
    if message["kind"] == "results" or "results" in message or "outcome" in message:
        large: list[Any] = []
        payloads = [_result_to_plain(result, large) for result in message.get("results", ())]
        body = pack({"results": payloads, "outcome": message.get("outcome")})
        return {"kind": message["kind"], "said": body, "large": list(map(to_serialize, large))}

    wrapped = dict(message)
    for name in ("table", "rows"):
        if wrapped.get(name) is not None:
            wrapped[name] = to_serialize(wrapped[name])

    if "answer" in wrapped:
        answer = dict(wrapped["answer"])
        answer["table"] = to_serialize(answer["table"])
        answer["attributes"] = to_serialize({"attributes": answer["attributes"]})
        wrapped["answer"] = answer

    return wrapped


def pack(payload: Mapping[str, Any]) -> bytes:
    """Return values as one block of bytes: Dask looks at each value of a message several times before it is sent."""
    return pickle.dumps(payload)


def unpack(encoded: bytes | Message) -> Message:
    """Unpack the result of `pack`; other versions send plain orders, and get an error about their version."""
    if isinstance(encoded, dict):
        return encoded
    message: Message = pickle.loads(encoded)  # noqa: S301 - who has a certificate may run code here, as Dask is made for
    return message


def _result_to_plain(result: ResultBatch | RepositoriesDone | RepositoriesFailed, large: list[Any]) -> Message:
    """Return a result as values; a large batch is appended to `large`, which travels beside the message uncopied."""
    if isinstance(result, RepositoriesDone):
        return {"passed": result.repositories}
    if isinstance(result, RepositoriesFailed):
        return {"failed": result.reasons, "unfit": result.unfit}

    payload: Message = {"phase": result.phase, "repositories": result.repositories, "ends": result.ends}
    if isinstance(result.batch, RawMatches):
        payload["rows"] = _rows_to_plain(result.batch)
    elif result.batch.nbytes > _SMALL_BYTES:
        # A large batch travels as a frame, which Dask sends from where it lies. Its index replaces it in the packed
        # message.
        payload["large"] = len(large)
        large.append(result.batch)
    else:
        payload["batch"] = _batch_to_bytes(result.batch)
    return payload


def result_from_plain(
    payload: Mapping[str, Any], large: Sequence[Any]
) -> ResultBatch | RepositoriesDone | RepositoriesFailed:
    """Restore a result from values; its batch may be among the `large` ones."""
    if "passed" in payload:
        return RepositoriesDone(tuple(payload["passed"]))
    if "failed" in payload:
        return RepositoriesFailed(payload["failed"], payload["unfit"])

    batch: Any
    if "rows" in payload:
        batch = _rows_from_plain(payload["rows"])
    elif "large" in payload:
        batch = large[payload["large"]]
    else:
        batch = _batch_from_bytes(payload["batch"])

    return ResultBatch(
        phase=payload["phase"], repositories=tuple(payload["repositories"]), ends=tuple(payload["ends"]), batch=batch
    )


def _batch_to_bytes(batch: Any) -> bytes:
    import pyarrow as pa

    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, batch.schema, options=pa.ipc.IpcWriteOptions()) as writer:
        writer.write_batch(batch)
    encoded: bytes = sink.getvalue().to_pybytes()
    return encoded


def _batch_from_bytes(encoded: bytes) -> Any:
    import pyarrow as pa

    with pa.ipc.open_stream(encoded) as reader:
        return reader.read_next_batch()


def _rows_to_plain(matches: RawMatches) -> dict[str, Any]:
    """Return matches as plain values, with their arrays as one block of bytes and without columns of lines."""
    # First the arrays of `_ARRAYS`, then `in_content` and the locations of the rows, then the codes of each value.
    arrays = [getattr(matches, name) for name in _ARRAYS]
    arrays.append(matches.in_content.astype(np.int64))

    # Matches may refer to the values of a whole corpus: only those of their own rows travel, numbered again.
    location_codes, location_index = _distinct_codes(matches.location_index)
    arrays.append(location_index)

    values: dict[str, list[Any]] = {}
    for name, (corpus_values, corpus_codes) in matches.file_values.items():
        value_codes, row_codes = _distinct_codes(corpus_codes)
        values[name] = [corpus_values[code] for code in value_codes]
        arrays.append(row_codes)

    return {
        "locations": [tuple(matches.locations[code]) for code in location_codes],
        "values": values,
        "paths": matches.paths,
        "names": matches.names,
        "sizes": list(map(len, arrays)),
        "arrays": np.concatenate(arrays).astype(np.int64, copy=False).tobytes(),
        "data": matches.data,
    }


def _rows_from_plain(payload: Mapping[str, Any]) -> RawMatches:
    """Restore the matches from `_rows_to_plain`."""
    block = np.frombuffer(payload["arrays"], np.int64)
    arrays: list[Int64Array] = []
    start = 0
    for size in payload["sizes"]:
        arrays.append(block[start : start + size])
        start += size

    # In the order in which `_rows_to_plain` has put them.
    count = len(_ARRAYS)
    in_content = arrays[count]
    location_index = arrays[count + 1]
    file_values: dict[str, tuple[list[Any], Int64Array]] = {}
    for (name, values), codes in zip(payload["values"].items(), arrays[count + 2 :], strict=True):
        file_values[name] = (values, codes)

    matches = RawMatches(
        locations=[RepositoryRevision(*location) for location in payload["locations"]],
        in_content=in_content.astype(np.bool_),
        location_index=location_index,
        file_values=file_values,
        paths=payload["paths"],
        names=payload["names"],
        line_values={},
        data=payload["data"],
        make=lambda: record_batch(matches),
        path_json=None,
        **dict(zip(_ARRAYS, arrays[:count], strict=True)),
    )
    return matches


def _distinct_codes(codes: Int64Array) -> tuple[list[int], Int64Array]:
    """Return the distinct codes, ascending, and the index of each code among them."""
    distinct_codes = np.flatnonzero(np.bincount(codes))
    return distinct_codes.tolist(), distinct_codes.searchsorted(codes)
