"""Small builders of Arrow columns from Python lists, in the types of the match schema."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Array = Any


def repeats(counts: NDArray[np.int64]) -> Array:
    """Positions that repeat element i ``counts[i]`` times when taken."""
    return pa.array(np.repeat(np.arange(len(counts), dtype=np.int32), counts))


def dictionary(values: Sequence[str | None], take: Array = None, *, index: Any = None) -> Array:
    """A dictionary-encoded column of `values`, at the positions `take` if given; None is null."""
    known: dict[str, int] = {}
    raw = np.array([-1 if v is None else known.setdefault(v, len(known)) for v in values], np.int32)
    if take is not None:
        raw = raw[np.asarray(take)]
    missing = raw < 0
    codes = pa.array(raw, index or pa.int32(), mask=missing if missing.any() else None)
    return pa.DictionaryArray.from_arrays(codes, pa.array(list(known), pa.string()), safe=False)


def constant(value: str, rows: int) -> Array:
    """A dictionary-encoded column (8-bit codes) of one value."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int8)), pa.array([value], pa.string()))


def lists(counts: NDArray[np.int64], values: NDArray[np.int32]) -> Array:
    """A column of lists: `counts` values for each row, from `values` in order."""
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, pa.int32()))


def span_lists(rows: Sequence[Sequence[tuple[int, int]]], take: Array = None) -> tuple[Array, Array]:
    """Columns of starts and of ends from a sequence of (start, end) pairs for each row, at the positions `take`."""
    if not any(rows):
        empty = lists(np.zeros(len(rows) if take is None else len(take), np.int64), np.zeros(0, np.int32))
        return empty, empty
    counts = np.array([len(row) for row in rows], np.int64)
    flat = np.array([pair for row in rows for pair in row], np.int32).reshape(-1, 2)
    starts, ends = lists(counts, flat[:, 0]), lists(counts, flat[:, 1])
    return (starts, ends) if take is None else (starts.take(take), ends.take(take))


def int32(values: Any) -> Array:
    """A column of 32-bit numbers."""
    return pa.array(values, pa.int32())


def strings(values: Sequence[str | None]) -> Array:
    """A column of text."""
    return pa.array(values, pa.string())
