"""One table for a fleet: the units that hold each trigram, and each quad.

A shard has its posting lists and bitmaps in a file of its own, so a search over twenty shards takes twenty looks for
each trigram of a word, and the trigrams of short words are in all of them. This table joins the lists and bitmaps of
all shards of a corpus: one row for each of the most common trigrams, and one for each hash of a quad, with a bit for
each unit, and one list for each other trigram. The units with all trigrams of a word are then the intersection of a few
rows of some kilobytes each. If one of its trigrams has a list, they are those units of the shortest list that are in
these rows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array, UInt32Array, runs
from sourcelight.engines.search.index.postings import TRIGRAM_BITS, Postings
from sourcelight.engines.search.index.quads import QUAD_BITS, literal_quads, quad_words
from sourcelight.engines.search.index.shard import LooseShard, Shard

MAX_TABLE_BYTES = 40 << 20
"""Bytes of a table. With more units it has fewer trigrams, and none from 160,000 units on."""

MAX_LIST_BYTES = 40 << 20
"""Bytes of the lists of a table: those of the rarest trigrams. 250 MB of text have 23 MB of them."""

MAX_COMMON = 4096
"""Trigrams with a row. The rarest of them are in a twentieth of the units."""

MAX_PROBED_UNITS = 128
"""Units of a list of which each is looked up in the rows; for more of them, whole rows are intersected."""

MAX_QUADS, MAX_TRIGRAMS = 8, 8
"""Rows of a literal that are read: of its quads, and of its rarest trigrams that have one."""

MAX_SHORT_ITEM = 1 << 16
"""Units of a corpus up to which an item of a list has two bytes."""

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
        highest_count = _MAX_CODE - len(self._rows)
        codes = np.minimum(counts, highest_count).astype(np.uint16)
        codes[common] = _MAX_CODE - np.arange(_QUADS, len(self._rows))
        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._codes: memoryview[int] = codes.data

        counts[common] = 0
        dtype = np.dtype(np.uint16 if int(unit_base[-1]) <= MAX_SHORT_ITEM else np.uint32)
        self._longest = min(highest_count - 1, _longest_list(counts, MAX_LIST_BYTES // dtype.itemsize))
        with_list = ((counts > 0) & (counts <= self._longest)).nonzero()[0].astype(np.uint32)
        starts = np.concatenate(([0], counts[with_list].cumsum()))
        self._lists = _join_lists(shards, unit_base, with_list, starts, dtype)
        self._keys: memoryview[int] = with_list.data
        self._starts: memoryview[int] = starts.data

    def rows_of(self, text: bytes, trigrams: Sequence[int]) -> tuple[list[int], int | None]:
        """Return the rows of a literal with these trigrams, and the rarest of those with a list; None without one."""
        codes, first_row = self._codes, _MAX_CODE - len(self._rows)
        rows, fewest, rarest = [], self._longest + 1, None
        for trigram in trigrams:
            code = codes[trigram]
            if code > first_row:
                rows.append(_MAX_CODE - code)
            elif code < fewest:
                fewest, rarest = code, trigram

        # A phrase has dozens. Rows are numbered by rarity, and the rarest few leave about as little as all.
        if len(rows) > MAX_TRIGRAMS:
            rows = sorted(rows)[:MAX_TRIGRAMS]
        rows += literal_quads(text, MAX_QUADS)
        return rows, rarest

    def units_with(
        self, rows: Sequence[int], rarest: int | None, selected: NDArray[np.uint64] | None = None
    ) -> Int64Array:
        """Return the units, ascending, of all of some rows and of the list of a trigram, among the `selected`.

        At least one row or the trigram is needed.
        """
        if rarest is None:
            return self.units_of(self.bits_of(rows, selected))

        units = self.list_of(rarest)
        if not len(units) or (not rows and selected is None):
            return units
        if len(units) <= MAX_PROBED_UNITS:
            return self._among_rows(units, rows, selected)
        return self._among(units, self.bits_of(rows, selected))

    def list_of(self, trigram: int) -> Int64Array:
        """Return the units of a trigram with a list, or of one that no unit holds."""
        keys, starts = self._keys, self._starts
        position = bisect_left(keys, trigram)
        if position == len(keys) or keys[position] != trigram:
            return self._lists[:0].astype(np.int64)
        return self._lists[starts[position] : starts[position + 1]].astype(np.int64)

    def bits_of(self, rows: Sequence[int], selected: NDArray[np.uint64] | None = None) -> NDArray[np.uint64]:
        """Return a bit for each unit that is in all of some rows and among the `selected`; at least one of both."""
        # One intersection after another: `bitwise_and.reduce` would first copy all rows.
        table, bits = self._rows, selected
        for row in rows:
            bits = table[row] if bits is None else bits & table[row]
        if bits is None:
            raise ValueError("no rows and no selection")
        return bits

    def _among_rows(self, units: Int64Array, rows: Sequence[int], selected: NDArray[np.uint64] | None) -> Int64Array:
        """Return those of a few units that are in all of some rows, and among the `selected`."""
        number = self._bit_number[units]
        byte = number >> 3
        # A byte of each row and unit: whole rows are kilobytes each, which have left the processor's caches.
        of_units = np.bitwise_and.reduce(self._bytes[np.array(rows, dtype=np.intp)[:, None], byte])
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

    def _among(self, units: Int64Array, bits: NDArray[np.uint64]) -> Int64Array:
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


def _longest_list(counts: Int64Array, limit: int) -> int:
    """Return a length such that all lists of at most this length have at most so many items together."""
    of_length = np.bincount(counts)
    return int((of_length * np.arange(len(of_length))).cumsum().searchsorted(limit, side="right")) - 1


def _join_lists(
    shards: Sequence[Shard], unit_base: Int64Array, trigrams: UInt32Array, starts: Int64Array, dtype: np.dtype[Any]
) -> AnyArray:
    """Return the units of some trigrams, ascending, in all shards: one list after another, from where it starts."""
    lists = np.empty(int(starts[-1]), dtype=dtype)
    # Where the next units of each list belong.
    ends = starts[:-1].copy()
    list_of = np.full(1 << TRIGRAM_BITS, -1, dtype=np.int32)
    list_of[trigrams] = np.arange(len(trigrams))

    def add(numbers: AnyArray, sizes: Int64Array, units: AnyArray) -> None:
        lists[runs(ends[numbers], sizes)] = units
        ends[numbers] += sizes

    for base, shard in zip(unit_base.tolist(), shards, strict=False):
        postings = shard.postings
        numbers = list_of[postings.keys]
        has_list = numbers >= 0
        sizes = np.diff(postings.starts).astype(np.int64)
        postings.lists.check(0, len(postings.lists))
        units = postings.lists.unchecked[has_list.repeat(sizes)]
        add(numbers[has_list], sizes[has_list], units.astype(dtype) + base)

        # Bitmaps of a small shard: trigrams that are common there alone. Their blocks were checked when counted.
        numbers = list_of[postings.dense_keys]
        has_list = numbers >= 0
        bits = postings.dense_bits.unchecked.reshape(-1, _bytes_of(shard.units))[has_list]
        sizes = np.bitwise_count(bits).sum(axis=1, dtype=np.int64)
        # Over all rows at once: numpy finds pairs of numbers ten times as slowly.
        positions = np.unpackbits(bits, axis=1, bitorder="little").reshape(-1).view(np.bool_).nonzero()[0]
        units = positions - (8 * bits.shape[1] * np.arange(len(bits))).repeat(sizes)
        add(numbers[has_list], sizes, units.astype(dtype) + base)
    return lists


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
