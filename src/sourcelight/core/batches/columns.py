"""Small builders of Arrow columns from Python lists, in the types of the match schema."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = Any
Numbers = NDArray[Any]

_INT8, _INT32, _STRING, _LIST = pa.int8(), pa.int32(), pa.string(), pa.list_(pa.int32())


def repeats(counts: Numbers) -> Numbers:
    """Positions that repeat element i ``counts[i]`` times when taken."""
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def dictionary(values: Sequence[str | None], take: Numbers | None = None, *, index: Any = None) -> Array:
    """A dictionary-encoded column of `values`, at the positions `take` if given; None is null."""
    # Both passes over the values run in C.
    known = dict(zip(dict.fromkeys(values), range(len(values)), strict=False))
    simple = index is None and None not in known
    if simple and take is not None and len(known) == 1:
        raw = np.zeros(len(take), np.int32)
    else:
        raw = np.fromiter(map(known.__getitem__, values), np.int32, len(values))
        raw = raw if take is None else raw[take]
    if simple:
        return pa.DictionaryArray.from_arrays(numbers(raw), strings(list(known)), safe=False)
    # Null has its own place among the values until here.
    null = known.pop(None, len(known))
    codes = pa.array(raw - (raw > null), index or _INT32, mask=raw == null)
    return pa.DictionaryArray.from_arrays(codes, strings(list(known)), safe=False)


def distinct(values: Sequence[str | None], take: Numbers, texts: Array | None = None) -> Array:
    """What `dictionary` gives, faster where all values are different; `texts`: the column of `values`, if at hand."""
    if len(known := set(values)) < len(values) or None in known:
        return dictionary(values, take)
    return pa.DictionaryArray.from_arrays(numbers(take), strings(values) if texts is None else texts, safe=False)


def constant(value: str, rows: int) -> Array:
    """A dictionary-encoded column (8-bit codes) of one value."""
    codes = pa.Array.from_buffers(_INT8, rows, [None, pa.py_buffer(bytes(rows))])
    return pa.DictionaryArray.from_arrays(codes, _single(value), safe=False)


@cache
def _single(value: str) -> Array:
    return strings([value])


def numbers(values: NDArray[np.int32]) -> Array:
    """A column of 32-bit numbers that shares the memory of `values`."""
    return pa.Array.from_buffers(_INT32, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def lists(counts: Numbers, *values: Numbers) -> tuple[Array, ...]:
    """Columns of lists, one for each of `values`: `counts` of these in each row, in order.

    Raises
    ------
    OverflowError
        For a number of more than 32 bits.
    """
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    at = pa.py_buffer(offsets)
    return tuple(pa.Array.from_buffers(_LIST, len(counts), [None, at], children=[int32(v)]) for v in values)


def span_lists(rows: Sequence[Sequence[tuple[int, int]]], take: Numbers | None = None) -> tuple[Array, Array]:
    """Columns of starts and of ends from a sequence of (start, end) pairs for each row, at the positions `take`."""
    if not any(rows):
        (empty,) = lists(np.zeros(len(rows) if take is None else len(take), np.int32), np.zeros(0, np.int32))
        return empty, empty
    counts = np.fromiter(map(len, rows), np.int32, len(rows))
    flat = np.array(list(chain.from_iterable(chain.from_iterable(rows))), np.int32)
    starts, ends = lists(counts, flat[0::2], flat[1::2])
    return (starts, ends) if take is None else (starts.take(pa.array(take)), ends.take(pa.array(take)))


def int32(values: Any) -> Array:
    """A column of 32-bit numbers.

    Raises
    ------
    OverflowError, pyarrow.ArrowInvalid
        For a number of more than 32 bits.
    """
    if not isinstance(values, np.ndarray):
        return pa.array(values, _INT32)
    small = values.astype(np.int32, copy=False)
    if small is not values and (small != values).any():
        raise OverflowError("a number of more than 32 bits")
    return numbers(small)


def strings(values: Sequence[str | None]) -> Array:
    """A column of text."""
    return pa.array(values, _STRING)
