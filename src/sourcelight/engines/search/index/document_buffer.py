"""Documents laid out in memory as a shard has them, for shards that have no file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

import numpy as np
import stringzilla

from sourcelight.core.arrays import AnyArray
from sourcelight.engines.storage.sections import TAIL

# Smaller units leave less text to scan per candidate, and make the posting lists longer.
UNIT_BYTES = 16 * 1024

_NEWLINE = 10

FindNewline = Callable[[int], int]
"""Returns the offset of the first newline at an offset or behind it; negative if there is none."""


def cut_units(start: int, end: int, find_newline: FindNewline) -> list[int]:
    """Return the ends of the units of a document, ascending; none for an empty document.

    Parameters
    ----------
    start, end
        Offsets of the document.
    find_newline
        May find a newline behind the document.
    """
    ends: list[int] = []
    while end - start > UNIT_BYTES + UNIT_BYTES // 2:
        # A unit has UNIT_BYTES or more, and the rest up to half as much again: no tiny unit at the end.
        newline = find_newline(start + UNIT_BYTES - 1)
        if newline < 0 or newline + 1 >= end:
            break  # no line ends further on, and a unit never cuts a line
        start = newline + 1
        ends.append(start)

    return [*ends, end] if end > start else ends


class DocumentBuffer:
    """Documents back to back, each copied once, to its place in the content of a shard.

    The first use of new memory takes longer than all else here, 1.3 ns a byte on a virtual machine, so there is no
    second copy.

    Parameters
    ----------
    sizes_sum
        Bytes of all documents that will be added.
    documents
        Their number.
    """

    def __init__(self, sizes_sum: int, documents: int) -> None:
        # A newline first, one after each document at most, and zeros behind: readers may read eight bytes from any
        # offset.
        self._content = np.empty(1 + sizes_sum + documents + TAIL, dtype=np.uint8)
        self._bytes: memoryview = self._content.data
        self._bytes[0] = _NEWLINE
        self._find = stringzilla.Str(self._bytes).find
        self._size = 1
        self._starts: list[int] = []
        self._sizes: list[int] = []
        self._first_units: list[int] = []
        self._unit_starts: list[int] = []
        self.blob_ids: list[bytes] = []

    @classmethod
    def of(cls, documents: Sequence[tuple[bytes, bytes]]) -> Self:
        """Return a buffer of blob ids and texts; texts have no NUL byte."""
        buffer = cls(sum(len(text) for _, text in documents), len(documents))
        for blob_id, text in documents:
            buffer.add(blob_id, text)
        return buffer

    @property
    def text_bytes(self) -> int:
        """Bytes of all documents added so far."""
        return sum(self._sizes)

    def add(self, blob_id: bytes, text: bytes | memoryview) -> bool:
        """Add a document; return False, and add none, if it has a NUL byte."""
        start, size = self._size, len(text)
        end = start + size
        self._bytes[start:end] = text
        if self._find(b"\0", start, end) >= 0:
            return False

        self.blob_ids.append(blob_id)
        self._starts.append(start)
        self._sizes.append(size)
        self._first_units.append(len(self._unit_starts))

        if size:
            ends = cut_units(start, end, lambda offset: self._find(b"\n", offset, end))
            self._unit_starts += [start, *ends[:-1]]
            # Every document ends with a newline here, so no line, and no match of `$`, runs over into the next one.
            if self._bytes[end - 1] != _NEWLINE:
                self._bytes[end] = _NEWLINE
                end += 1

        self._size = end
        return True

    def sections(self) -> dict[str, AnyArray]:
        """Return content and offsets under the names of a shard's sections; nothing can be added afterwards."""
        self._bytes[self._size : self._size + TAIL] = bytes(TAIL)
        # A unit ends where the next begins, so a newline that was added after a document is in its last unit.
        return {
            "content": self._content[: self._size],
            "doc_start": np.array(self._starts, dtype=np.uint32),
            "doc_size": np.array(self._sizes, dtype=np.uint32),
            "doc_unit": np.array([*self._first_units, len(self._unit_starts)], dtype=np.uint32),
            "unit_start": np.array([*self._unit_starts, self._size], dtype=np.uint32),
        }
