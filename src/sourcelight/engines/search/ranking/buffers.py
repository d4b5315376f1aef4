"""Reusable scratch buffers for scoring; allocating them for each question costs more than the scoring."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, UInt8Array

_MAX_FREE = 2
"""Maximum free buffers of a collection: questions at once, each of which has one while it is scored."""

_MAX_KEPT_FACTOR = 2
"""Maximum entries of a kept buffer, for each chunk of the collection."""


class ScratchBuffer:
    """Arrays for scoring one question over a number of chunks.

    Attributes
    ----------
    scores
        Score of each chunk.
    marks
        A flag for each chunk; code that sets one clears it again.
    """

    def __init__(self, chunks: int) -> None:
        self.scores: Float64Array = np.zeros(chunks)
        self.marks: BoolArray = np.zeros(chunks, dtype=np.bool_)
        self._floats: tuple[Float64Array, Float64Array] = np.zeros(0), np.zeros(0)
        self._numbers: Int64Array = np.zeros(0, dtype=np.int64)
        self._bytes: tuple[UInt8Array, UInt8Array] = (np.zeros(0, np.uint8), np.zeros(0, np.uint8))
        self._size = 0

    def clear(self, entries: int, max_entries: int) -> None:
        """Reserve space for `entries` of all terms and `max_entries` of one term; earlier content is lost."""
        self.scores.fill(0.0)
        self._size = 0
        if entries > len(self._numbers):
            self._numbers = np.empty(entries, dtype=np.int64)
            self._bytes = np.empty(entries, dtype=np.uint8), np.empty(entries, dtype=np.uint8)
        if max_entries > len(self._floats[0]):
            self._floats = np.empty(max_entries), np.empty(max_entries)

    def entries(self, size: int) -> tuple[Int64Array, UInt8Array, UInt8Array]:
        """Return arrays for the next entries: chunk numbers, and two columns of uint8."""
        window = slice(self._size, self._size + size)
        self._size += size
        return self._numbers[window], self._bytes[0][window], self._bytes[1][window]

    def floats(self, size: int) -> tuple[Float64Array, Float64Array]:
        """Return two arrays of floats; the next caller gets the same memory."""
        return self._floats[0][:size], self._floats[1][:size]

    @property
    def is_small(self) -> bool:
        """Whether the buffer is small enough to keep; questions of many words need large ones."""
        return len(self._numbers) <= _MAX_KEPT_FACTOR * len(self.scores)


class ScratchBuffers:
    """Free buffers for one collection. Safe to share between threads."""

    def __init__(self, chunks: int) -> None:
        self._chunks = chunks
        self._free: list[ScratchBuffer] = []
        self._guard = threading.Lock()

    @contextmanager
    def buffer(self) -> Iterator[ScratchBuffer]:
        """Lend a buffer to one caller until the end of the block; after an exception it is discarded."""
        with self._guard:
            buffer = self._free.pop() if self._free else None
        buffer = buffer or ScratchBuffer(self._chunks)
        yield buffer
        with self._guard:
            if buffer.is_small and len(self._free) < _MAX_FREE:
                self._free.append(buffer)
