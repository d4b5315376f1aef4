"""Quads: bitmaps of the units of a shard for each four letters in a row.

A *quad* is four letters, digits or underscores in a row, of mapped text. Quads have no lists, but a bitmap for each
hash of 8 to 11 bits. They are read where the other keys leave many units, and rule out two thirds of those that hold
these keys at different places. A few units are scanned instead: bitmaps are rarely in the caches of the processor.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
import stringzilla
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, UInt32Array
from sourcelight.engines.search.index.postings import CLASSES, MAPPING, NON_WORD
from sourcelight.engines.storage.sections import SectionFile

QUAD_BITS = 11
"""Bits of the hash of a quad; a shard of short units drops some of them, see `quad_bits`."""

_QUAD_BYTES = 4
_FACTOR, _UINT32 = 0x27D4EB2F, 0xFFFFFFFF
_MAX_QUADS = 4
"""Quads of a literal whose bitmaps are read."""

_IN_QUADS = bytes(code < NON_WORD for code in CLASSES)
"""For each mapped byte, whether a quad may have it."""


_WORDS = bytes(code if _IN_QUADS[code] else ord(" ") for code in range(256))
"""For each mapped byte the same one, or a space if no quad has it."""


def all_quads(mapped: bytes) -> tuple[UInt32Array, BoolArray]:
    """Return for each byte of mapped text but the last three the hash of four bytes, and whether these are a quad."""
    if len(mapped) < _QUAD_BYTES:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.bool_)

    # A quad never has a newline, so that it lies in one unit, as all keys do.
    kinds = np.frombuffer(stringzilla.translate(mapped, _IN_QUADS), np.bool_)
    is_quad = kinds[:-3] & kinds[1:-2]
    is_quad &= kinds[2:-1]
    is_quad &= kinds[3:]
    # Four bytes from any place, the first one lowest. The top bits of the product depend on all of them.
    quads: UInt32Array = np.ndarray((len(mapped) - _QUAD_BYTES + 1,), "<u4", mapped, strides=(1,)) * np.uint32(_FACTOR)
    quads >>= np.uint32(32 - QUAD_BITS)
    return quads, is_quad


@functools.lru_cache(maxsize=4096)
def literal_quads(text: bytes, limit: int = _MAX_QUADS) -> tuple[int, ...]:
    """Return the hashes of some quads of every text with this literal, case ignored; at most `limit`."""
    # One by one: a literal has a few bytes, and an array takes longer.
    mapped, number = text.translate(MAPPING), int.from_bytes
    hashes: dict[int, None] = {}
    for word in mapped.translate(_WORDS).split(b" "):
        for start in range(len(word) - _QUAD_BYTES + 1):
            quad = number(word[start : start + _QUAD_BYTES], "little") * _FACTOR & _UINT32
            hashes[quad >> 32 - QUAD_BITS] = None

    quads = tuple(hashes)
    if len(quads) > limit:
        # Far from one another, since quads that begin side by side have three bytes in common.
        return tuple([quads[number * (len(quads) - 1) // (limit - 1)] for number in range(limit)])
    return quads


class QuadBits:
    """The memory-mapped bitmaps of quads of a shard: for each hash, a bit for each unit.

    Parameters
    ----------
    file
        The file.
    units
        The number of units of the shard.
    """

    def __init__(self, file: SectionFile, units: int) -> None:
        self._bits = file.blocks("quad_bits")
        self._width = quad_words(units)
        self._rows = self._bits.unchecked.reshape(-1, self._width)
        # Hashes of this shard lack their low bits, as in `HashLists`.
        self._shift = QUAD_BITS + 1 - len(self._rows).bit_length()

    def all_rows(self) -> NDArray[np.uint64]:
        """Return a bitmap for each hash of `QUAD_BITS` bits."""
        self._bits.check(0, len(self._bits))
        return self._rows.repeat(1 << self._shift, axis=0)

    def among(self, units: Int64Array, quads: Sequence[int]) -> BoolArray:
        """Return which of some units may hold all of these quads."""
        rows = [quad >> self._shift for quad in quads]
        # One intersection after another: to copy the rows into one array first takes three times as long.
        for row in rows:
            self._bits.check(row * self._width, (row + 1) * self._width)
        bits = self._rows[rows[0]]
        for row in rows[1:]:
            bits = bits & self._rows[row]
        is_possible: BoolArray = np.unpackbits(bits.view(np.uint8), bitorder="little").view(np.bool_)[units]
        return is_possible


def quad_words(units: int) -> int:
    """Return the words of 64 bits of a bitmap of units."""
    return -(-units // 64)
