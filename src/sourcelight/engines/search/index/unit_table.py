"""One table of bitmaps for a fleet: the units that hold each common trigram, and each quad.

A shard has its posting lists and bitmaps in a file of its own, so a search over twenty shards takes twenty looks for
each trigram of a word, and the trigrams of short words are in all of them. This table joins the bitmaps of all shards
of a corpus: one row for each of the most common trigrams, and one for each hash of a quad, with a bit for each unit.
The units with all trigrams of a word are then the intersection of a few rows of some kilobytes each.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array, UInt32Array, runs
from sourcelight.engines.search.index.postings import TRIGRAM_BITS, Postings
from sourcelight.engines.search.index.quads import QUAD_BITS, literal_quads, quad_words
from sourcelight.engines.search.index.shard import LooseShard, Shard

MAX_TABLE_BYTES = 40 << 20
"""Bytes of a table. With more units it has fewer trigrams, and none from 160,000 units on."""

MAX_COMMON = 4096
"""Trigrams with a row. The rarest of them are in a twentieth of the units."""

MAX_QUADS, MAX_TRIGRAMS = 8, 8
"""Rows of a literal that are read: of its quads, and of its rarest trigrams that have one."""

_QUADS = 1 << QUAD_BITS
_WORD_BITS = 64
_MAX_CODE = 0xFFFF


def has_table(shards: Sequence[Shard]) -> bool:
    """Return whether shards can have a table: very many units have no room, and loose documents no posting lists."""
    words = sum(quad_words(shard.units) for shard in shards)
    return 0 < 8 * words * _QUADS <= MAX_TABLE_BYTES and not any(isinstance(shard, LooseShard) for shard in shards)


class UnitTable:
    """The bitmaps of units of all shards of a corpus. Safe to share between threads.

    Parameters
    ----------
    shards
        The shards of the corpus, for which `has_table` is true.
    unit_base
        The first unit of each shard, and the number of units.

    Raises
    ------
    IndexDamaged
        When a list or a bitmap is damaged.
    """

    def __init__(self, shards: Sequence[Shard], unit_base: Int64Array) -> None:
        widths = [quad_words(shard.units) for shard in shards]
        bounds = list(pairwise([0, *accumulate(widths)]))
        # Each shard begins with a new word, so the units of a word follow one another.
        self._first_unit = np.concatenate(
            [base + _WORD_BITS * np.arange(width) for base, width in zip(unit_base.tolist(), widths, strict=False)]
        )
        self._bit_number = np.concatenate(
            [_WORD_BITS * first + np.arange(shard.units) for (first, _), shard in zip(bounds, shards, strict=True)]
        )
        self._size = _WORD_BITS * sum(widths)

        counts = np.zeros(1 << TRIGRAM_BITS, dtype=np.int64)
        for shard in shards:
            for trigrams, units in _counts(shard.postings, shard.units):
                counts[trigrams] += units

        common = _most_common(counts, min(MAX_COMMON, 8 * MAX_TABLE_BYTES // self._size - _QUADS))
        # The rarest first. A shard has its trigrams in ascending order.
        by_key = common.argsort()
        self._rows = np.empty((_QUADS + len(common), sum(widths)), dtype=np.uint64)
        for (first, end), shard in zip(bounds, shards, strict=True):
            self._rows[:_QUADS, first:end] = _quad_rows(shard)
            trigrams = common[by_key].astype(np.uint32)
            self._rows[_QUADS + by_key, first:end] = _bitmaps(shard.postings, shard.units, trigrams)

        self._bytes: NDArray[np.uint8] = self._rows.view(np.uint8)

        # By trigram: its units, or if it has a row, the row counted down from the highest code.
        self._highest_count = _MAX_CODE - len(self._rows)
        codes = np.minimum(counts, self._highest_count).astype(np.uint16)
        codes[common] = _MAX_CODE - np.arange(_QUADS, len(self._rows))
        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._codes: memoryview[int] = codes.data

    def rows_of(self, text: bytes, trigrams: Sequence[int]) -> tuple[list[int], list[int]]:
        """Return the rows of a literal with these trigrams, and the trigrams without a row, the rarest first."""
        codes, highest_count = self._codes, self._highest_count
        rows, rare = [], []
        for trigram in trigrams:
            code = codes[trigram]
            if code > highest_count:
                rows.append(_MAX_CODE - code)
            else:
                rare.append((code, trigram))

        # A phrase has dozens. Rows are numbered by rarity, and the rarest few leave about as little as all.
        if len(rows) > MAX_TRIGRAMS:
            rows = sorted(rows)[:MAX_TRIGRAMS]
        rows += literal_quads(text, MAX_QUADS)
        rare.sort()
        return rows, [trigram for _, trigram in rare]

    def bits_of(self, rows: Sequence[int], selected: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """Return a bit for each unit that is in all of some rows, at least one, and among the `selected`."""
        # One intersection after another: `bitwise_and.reduce` would first copy all rows.
        table = self._rows
        bits: NDArray[np.uint64] = table[rows[0]]
        for row in rows[1:]:
            bits = bits & table[row]
        return bits if selected is None else bits & selected

    def among_rows(
        self, units: Int64Array, rows: Sequence[int], selected: NDArray[np.uint64] | None = None
    ) -> Int64Array:
        """Return those of a few units that are in all of some rows, and among the `selected`."""
        number = self._bit_number[units]
        byte = number >> 3
        # A byte of each row and unit: whole rows are kilobytes each, which have left the processor's caches.
        of_units = np.bitwise_and.reduce(self._bytes[np.array(rows)[:, None], byte])
        if selected is not None:
            of_units &= selected.view(np.uint8)[byte]
        return _with_bit(units, of_units, number)

    def pack(self, is_selected: BoolArray) -> NDArray[np.uint64]:
        """Return a bit for each unit of a mask."""
        mask = np.zeros(self._size, dtype=np.bool_)
        mask[self._bit_number] = is_selected
        return np.packbits(mask, bitorder="little").view(np.uint64)

    def units_of(self, bits: NDArray[np.uint64]) -> Int64Array:
        """Return the units of some bits, ascending."""
        # Most words have no bit, and a byte for each unit is made of the others alone.
        words = bits.nonzero()[0]
        of_words = np.unpackbits(bits[words].view(np.uint8), bitorder="little").reshape(-1, _WORD_BITS)
        word, unit = of_words.nonzero()
        unit += self._first_unit[words[word]]
        return unit

    def among(self, units: Int64Array, bits: NDArray[np.uint64]) -> Int64Array:
        """Return those of some units that have a bit."""
        number = self._bit_number[units]
        return _with_bit(units, bits.view(np.uint8)[number >> 3], number)


def _with_bit(units: Int64Array, of_units: UInt8Array, number: Int64Array) -> Int64Array:
    """Return the units whose byte has the bit of a number."""
    # Little bit order: bit n is bit n & 7 of byte n >> 3.
    is_set = of_units >> (number & 7).astype(np.uint8) & 1
    with_bit: Int64Array = units[is_set.view(np.bool_)]
    return with_bit


def _counts(postings: Postings, units: int) -> tuple[tuple[UInt32Array, AnyArray], tuple[UInt32Array, AnyArray]]:
    """Return all trigrams and the number of units with each: of those with lists, and of those with bitmaps."""
    bits = postings.dense_bits
    bits.check(0, len(bits))
    in_bitmaps = np.bitwise_count(bits.unchecked.reshape(-1, _bytes_of(units))).sum(axis=1, dtype=np.int64)
    return (postings.keys, np.diff(postings.starts)), (postings.dense_keys, in_bitmaps)


def _bytes_of(units: int) -> int:
    """Return the bytes of a bitmap of common trigrams; one without a unit too, which numpy can't divide by."""
    return max(-(-units // 8), 1)


def _bitmaps(postings: Postings, units: int, trigrams: UInt32Array) -> NDArray[np.uint64]:
    """Return for each of some trigrams, ascending, a bit for each unit that holds it."""
    bits = np.zeros((len(trigrams), _WORD_BITS // 8 * quad_words(units)), dtype=np.uint8)
    rows, positions = _positions(postings.dense_keys, trigrams)
    # Their blocks were checked when they were counted.
    width = _bytes_of(units)
    bits[rows, :width] = postings.dense_bits.unchecked.reshape(-1, width)[positions]

    rows, positions = _positions(postings.keys, trigrams)
    # All lists at once: trigrams ascend, and so do the units of each.
    starts = postings.starts[positions].astype(np.int64)
    sizes = postings.starts[positions + 1] - starts
    of_lists = postings.lists.take(runs(starts, sizes)).astype(np.int64)
    byte_numbers = (rows * bits.shape[1]).repeat(sizes) + (of_lists >> 3)
    if len(byte_numbers):
        # Units of one byte follow one another.
        first = np.concatenate(([True], byte_numbers[1:] != byte_numbers[:-1])).nonzero()[0]
        values = np.uint8(1) << (of_lists & 7).astype(np.uint8)
        bits.reshape(-1)[byte_numbers[first]] = np.bitwise_or.reduceat(values, first)
    return bits.view(np.uint64)


def _positions(keys: UInt32Array, trigrams: UInt32Array) -> tuple[Int64Array, Int64Array]:
    """Return which of some trigrams are among keys, and where; both ascend."""
    positions = keys.searchsorted(trigrams)
    rows = (positions < len(keys)).nonzero()[0]
    rows = rows[keys[positions[rows]] == trigrams[rows]]
    return rows, positions[rows]


def _most_common(counts: Int64Array, limit: int) -> Int64Array:
    """Return at most so many numbers with the highest counts, the lowest count first."""
    numbers = counts.nonzero()[0]
    counts = counts[numbers]
    # By a histogram: to sort two million counts takes half a second.
    with_more = np.bincount(counts)[::-1].cumsum()
    least = len(with_more) - int(with_more.searchsorted(limit, side="right"))
    is_common = counts >= least
    return numbers[is_common][counts[is_common].argsort(kind="stable")]


def _quad_rows(shard: Shard) -> NDArray[np.uint64]:
    """Return a bitmap for each hash of a quad: of all units in a shard that has none."""
    if shard.quads is not None:
        return shard.quads.all_rows()
    is_unit = np.arange(_WORD_BITS * quad_words(shard.units)) < shard.units
    return np.packbits(is_unit, bitorder="little").view(np.uint64)
