"""Reusable scratch buffers for scoring; allocating them for each question costs more than the scoring."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, UInt8Array


class ScratchBuffer:
    """Arrays for one question to a space of so many chunks.

    Attributes
    ----------
    scores
        A number for each chunk.
    marks
        A mark for each chunk; whoever sets one takes it away.
    """

    def __init__(self, chunks: int) -> None:
        self.scores: Float64Array = np.zeros(chunks)
        self.marks: BoolArray = np.zeros(chunks, dtype=np.bool_)
        self._floats: tuple[Float64Array, Float64Array] = np.zeros(0), np.zeros(0)
        self._numbers: Int64Array = np.zeros(0, dtype=np.int64)
        self._bytes: tuple[UInt8Array, UInt8Array] = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))
        self._used = 0

    def clear(self, entries: int, max_entries: int) -> None:
        """Make room for so many entries of all terms, of `max_entries` for one term; what was there is lost."""
        self.scores.fill(0.0)
        self._used = 0
        if entries > len(self._numbers):
            self._numbers = np.empty(entries, dtype=np.int64)
            self._bytes = np.empty(entries, dtype=np.uint8), np.empty(entries, dtype=np.uint8)
        if max_entries > len(self._floats[0]):
            self._floats = np.empty(max_entries), np.empty(max_entries)

    def entries(self, size: int) -> tuple[Int64Array, UInt8Array, UInt8Array]:
        """Give room for the next entries: a chunk, and two small numbers of each."""
        used = slice(self._used, self._used + size)
        self._used += size
        return self._numbers[used], self._bytes[0][used], self._bytes[1][used]

    def floats(self, size: int) -> tuple[Float64Array, Float64Array]:
        """Give room for as many numbers twice; the next caller gets the same."""
        return self._floats[0][:size], self._floats[1][:size]

    @property
    def is_small(self) -> bool:
        """Whether it is worth keeping: questions of many words need more than is good to hold."""
        return len(self._numbers) <= _MAX_KEPT_FACTOR * len(self.scores)


class ScratchBuffers:
    """Rooms that are free, for a space of so many chunks. Safe to share between threads."""

    def __init__(self, chunks: int) -> None:
        self._chunks = chunks
        self._free: list[ScratchBuffer] = []
        self._guard = threading.Lock()

    @contextmanager
    def one(self) -> Iterator[ScratchBuffer]:
        """Give a room to one caller until the end of the block; one in which something failed is thrown away."""
        with self._guard:
            buffer = self._free.pop() if self._free else None
        buffer = buffer or ScratchBuffer(self._chunks)
        yield buffer
        with self._guard:
            if buffer.is_small and len(self._free) < _MAX_FREE:
                self._free.append(buffer)


_MAX_FREE = 2
_MAX_KEPT_FACTOR = 2
