"""Types of numpy arrays under one name each, small operations on them, and conversions from and to Arrow.

pyarrow's own conversions load pandas, which a service never needs: with them, the first search of a process took 0.45
CPU seconds and 145 MB, without them 0.05 and 111.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Int64Array: TypeAlias = NDArray[np.int64]
"""Numbers, ids and offsets: int64 holds a byte offset into all shards of a search."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""A mask over rows, files, documents or units."""

Float64Array: TypeAlias = NDArray[np.float64]
"""Scores and weights."""

UInt8Array: TypeAlias = NDArray[np.uint8]
"""Bytes of text, and small codes."""

UInt16Array: TypeAlias = NDArray[np.uint16]
"""Numbers of units in a block of posting lists."""

UInt32Array: TypeAlias = NDArray[np.uint32]
"""Keys of posting lists."""

AnyArray: TypeAlias = NDArray[Any]
"""An array with the dtype of its file: sections store the narrowest type that fits."""


_MIN_INTERSECTED = 4
"""Candidates that are all kept: to look them up in another list takes longer than to read their text."""


def mask_of(indices: Int64Array, size: int) -> BoolArray:
    """Return a mask over `size` items that is true at some indices."""
    mask = np.zeros(size, dtype=np.bool_)
    mask[indices] = True
    return mask


def distinct(values: AnyArray) -> AnyArray:
    """Return the distinct values, sorted, as `np.unique` does, which loads `numpy.ma`: 9 ms of a first search."""
    return unique_sorted(np.sort(values))


def unique_sorted(values: AnyArray) -> AnyArray:
    """Drop repetitions from sorted values; numpy's `unique` would sort them again."""
    if len(values) < 2:
        return values
    is_first = np.empty(len(values), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(values[1:], values[:-1], out=is_first[1:])
    return values if is_first.all() else values[is_first]


def pairs(first: Int64Array, second: Int64Array) -> Int64Array:
    """Return an array with a row for each pair of values, as `np.stack` does: that calls seven functions in Python."""
    rows = np.empty((len(first), 2), dtype=np.int64)
    rows[:, 0] = first
    rows[:, 1] = second
    return rows


def runs(starts: Int64Array, lengths: Int64Array) -> Int64Array:
    """Return the numbers from ``starts[i]`` up to ``starts[i] + lengths[i]``, one run after another."""
    # Most files have one row or one document. Then the starts are the result.
    if bool((lengths == 1).all()):
        return starts
    ends: Int64Array = lengths.cumsum()
    numbers: Int64Array = np.arange(int(ends[-1]) if len(ends) else 0) + (starts - (ends - lengths)).repeat(lengths)
    return numbers


def intersect_lists(candidates: Int64Array, lists: list[Any], size: int) -> Int64Array:
    """Intersect `candidates` with all lists, which ascend and have numbers below `size`; a superset if few are left.

    A list up to 64 times longer is probed through a mask over all numbers, a longer one by binary search.
    """
    for posting_list in lists:
        if len(candidates) < _MIN_INTERSECTED:
            break

        if len(posting_list) < 64 * len(candidates):
            is_listed = np.zeros(size, dtype=np.bool_)
            is_listed[posting_list] = True
            candidates = candidates[is_listed[candidates]]
        else:
            # With the dtype of the list: `searchsorted` would first copy the list, which is long, to a common type.
            positions = posting_list.searchsorted(candidates.astype(posting_list.dtype))
            # Past the end, every entry is smaller than the candidate, so any entry distinguishes them.
            positions[positions == len(posting_list)] = 0
            candidates = candidates[posting_list[positions] == candidates]

    return candidates


def arrow_array(values: AnyArray, valid: BoolArray | None = None) -> Any:
    """Make an Arrow array of numbers without copying them, or of flags; null where not `valid`."""
    import pyarrow as pa

    dtype = pa.from_numpy_dtype(values.dtype)
    # Arrow packs booleans and validity into bits, the least significant first.
    buffer = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    validity = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(dtype, len(values), [validity, pa.py_buffer(buffer)])


def arrow_strings(values: Sequence[str]) -> Any:
    """Make an Arrow string array of a few texts."""
    import pyarrow as pa

    encoded = [value.encode() for value in values]
    offsets = np.cumsum([0, *(len(text) for text in encoded)]).astype(np.int32)
    return pa.Array.from_buffers(
        pa.string(), len(encoded), [None, pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))]
    )


def keep_pandas_out() -> None:
    """Let pyarrow convert without pandas in this process; for processes that make no frames.

    The first conversion of a Python value in pyarrow imports pandas, to recognize its types: 0.3 CPU seconds and 34 MB.
    One that finds none continues without, as where it isn't installed; `to_pandas` imports it all the same. pyarrow
    doesn't look again for an argument that is a frame, so a notebook must not call this.
    """
    import pyarrow as pa

    if "pandas" in sys.modules:
        return

    sys.meta_path.insert(0, _NoPandas)
    try:
        pa.array([0])
    finally:
        sys.meta_path.remove(_NoPandas)


class _NoPandas:
    """A finder that finds no pandas, and leaves all else to others."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> None:  # noqa: ARG004 - as importlib calls it
        """Refuse pandas.

        Raises
        ------
        ModuleNotFoundError
            For pandas.
        """
        if name == "pandas":
            raise ModuleNotFoundError(name)


def to_numpy(column: Any) -> AnyArray:
    """Return the numbers, in place, or the flags of an Arrow array without nulls."""
    import pyarrow as pa

    if pa.types.is_boolean(column.type):
        raw = column.buffers()[1]
        bits = np.unpackbits(np.frombuffer(raw, np.uint8), bitorder="little") if raw is not None else np.zeros(0)
        return bits[column.offset : column.offset + len(column)].astype(np.bool_)

    kind = np.dtype(str(column.type))  # to_pandas_dtype of PyArrow 17 needs pandas
    data = column.buffers()[1]
    if data is None:
        return np.zeros(0, kind)

    return np.frombuffer(data, kind, len(column), column.offset * kind.itemsize)


def to_filled(column: Any, value: int) -> AnyArray:
    """Return the numbers of an Arrow array, with `value` for null."""
    values = to_numpy(column)
    if not column.null_count:
        return values
    bits = np.unpackbits(np.frombuffer(column.buffers()[0], np.uint8), bitorder="little")
    return np.where(bits[column.offset : column.offset + len(column)].astype(np.bool_), values, value)
