"""Posting lists: for every key the units that hold it, ascending; bitmaps for the common keys.

Keys are trigrams, hashed *windows* of six bytes, and hashed *grams* of four. The first two are taken from *mapped*
text: ASCII letters in lower case, bytes from 0x80 on spread over the codes that lowering and control characters leave
free, so that a byte has seven bits and a trigram 21. The mapping only merges bytes, so a text that holds a literal
always holds the keys of that literal.

A window is taken at each cut point: a word byte after a non-word byte, or within a word between two bytes of one class,
of which there are four. It has the three bytes before the cut and the three after it. Windows are what makes a phrase
selective: its trigrams are common one by one, and together leave many units that hold them apart. Cut points depend
only on the two bytes beside them, so a literal has the same windows wherever it occurs.

A gram is a capital and the three letters, digits or underscores after it, as they are written. Most words with a
capital are constants or names of types, whose trigrams are common in other words: `FROM` is in 597 of 16,440 units with
its trigrams. A search that ignores case doesn't read grams. Keys never contain a newline.
"""

from __future__ import annotations

import functools
import re
from bisect import bisect_left
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import stringzilla
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, UInt32Array, distinct, intersect_lists
from sourcelight.engines.storage.sections import SectionFile

HASH_BITS = 20
"""Bits of the hash of a window or gram; a small shard drops some of them, see `hash_bits`."""

TRIGRAM_BITS = 21
"""Bits of a trigram key: seven for each byte of mapped text."""

_KEY_BYTES = 3
_NEWLINE = 10
NON_WORD = 4
_GRAM_BYTES = 4

_SHORT_BYTES = 32
"""Bytes of a literal up to which its keys are computed one by one."""

# The first three 32-bit primes of xxHash. Keys on disk depend on them, as on the mapping and the classes below: a
# change of any needs another format.
_HASH_FACTORS = 0x9E3779B1, 0x85EBCA77
_GRAM_FACTOR = 0xC2B2AE3D
_UINT32 = 0xFFFFFFFF

_MAX_GRAMS = 3
"""Grams of a literal whose lists are read: each further one costs a look into each shard, and leaves few units less."""

_FIND_GRAMS = re.compile(rb"[A-Z](?=[A-Za-z0-9_]{3})").finditer

COMMON_KEY = 1 << 31
"""Added to the start of the list of a window or gram that has no list, since it is in many units."""

_LIST_MASK = COMMON_KEY - 1

ListBounds: TypeAlias = tuple[int, int]
"""Begin and end of a list."""

_MIN_NARROWED_UNITS = 4
"""Units below which scanning them takes no longer than looking them up in another bitmap."""

_NO_UNITS: Int64Array = np.zeros(0, dtype=np.intp)


def _mapping() -> bytes:
    # Control characters without tab, newline and carriage return; capitals; DEL.
    free_codes = [*(code for code in range(1, 32) if code not in {9, 10, 13}), *range(65, 91), 127]
    return bytes(bytes([code]).lower()[0] if code < 128 else free_codes[code % len(free_codes)] for code in range(256))


MAPPING = _mapping()


def _classes() -> bytes:
    # Letters in order of their frequency in source text are dealt to the classes in turn, so that all four are about
    # equally common, and a cut falls between every fourth pair of letters.
    by_frequency = b"etraionslcdpumfhgybvwxkqjz_0123456789"
    classes = bytearray([NON_WORD]) * 256
    for rank, code in enumerate(by_frequency):
        classes[code] = (rank + rank // 4) % 4
    for code in MAPPING[128:]:
        classes[code] = code % 4
    return bytes(classes)


CLASSES = _classes()
"""The class of each mapped byte: `NON_WORD`, or one of four of word bytes."""


def _kinds() -> bytes:
    # Bit 0: a capital. Bit 1: a letter, digit or underscore.
    kinds = bytearray(256)
    for code in b"abcdefghijklmnopqrstuvwxyz_0123456789":
        kinds[code] = 2
    for code in b"ABCDEFGHIJKLMNOPQRSTUVWXYZ":
        kinds[code] = 3
    return bytes(kinds)


_KINDS = _kinds()


def all_keys(mapped: bytes) -> tuple[UInt32Array, BoolArray, UInt32Array, NDArray[np.intp]]:
    """Return the keys of mapped text in order, also repeated keys.

    Returns
    -------
    trigrams, is_complete
        For each byte but the last two the trigram that begins there, and whether it has no newline.
    windows, positions
        The windows without a newline, and where each begins.
    """
    text = np.frombuffer(mapped, np.uint8)
    if len(text) < _KEY_BYTES:
        no_keys = np.zeros(0, dtype=np.uint32)
        return no_keys, np.zeros(0, dtype=np.bool_), no_keys, np.zeros(0, dtype=np.intp)

    is_text = text != _NEWLINE
    # Entry i of all arrays below is the trigram of bytes i to i + 2, 7 bits each, the first byte lowest.
    is_complete = is_text[:-2] & is_text[1:-1]
    is_complete &= is_text[2:]
    codes = text.astype(np.uint32)
    trigrams = codes[1:-1] << np.uint32(7)
    trigrams |= codes[:-2]
    codes <<= np.uint32(14)
    trigrams |= codes[2:]
    cuts = _cuts(mapped, is_complete)
    return trigrams, is_complete, _hash_windows(trigrams.take(cuts), trigrams.take(cuts + _KEY_BYTES)), cuts


def _cuts(mapped: bytes, is_complete: BoolArray) -> NDArray[np.intp]:
    """Return where the windows begin: three bytes before a cut."""
    if len(mapped) < 2 * _KEY_BYTES:
        return np.zeros(0, dtype=np.intp)

    classes = np.frombuffer(stringzilla.translate(mapped, CLASSES), np.uint8)
    # Entry i is the cut between bytes i + 2 and i + 3: trigram i ends there, trigram i + 3 begins there.
    before, after = classes[_KEY_BYTES - 1 : -_KEY_BYTES], classes[_KEY_BYTES : 1 - _KEY_BYTES]
    change = before ^ after

    # Of two classes, the exclusive or is 0 for equal ones and 4 or more where one is a non-word. With a word byte after
    # the cut, this leaves starts of words and pairs of one class.
    is_cut = change == 0
    is_cut |= change >= NON_WORD
    is_cut &= after < NON_WORD
    is_cut &= is_complete[:-_KEY_BYTES]
    is_cut &= is_complete[_KEY_BYTES:]
    return np.flatnonzero(is_cut)


def _hash_windows(windows: UInt32Array, following: UInt32Array) -> UInt32Array:
    windows *= _HASH_FACTORS[0]
    following *= _HASH_FACTORS[1]
    windows ^= following
    return _finish(windows)


def _finish(hashes: UInt32Array) -> UInt32Array:
    # uint32 wraps around, as the hash needs. Its top bits are the key: each depends on all bits below.
    hashes ^= hashes >> np.uint32(15)
    hashes *= _HASH_FACTORS[0]
    hashes >>= np.uint32(32 - HASH_BITS)
    return hashes


def _finish_number(value: int) -> int:
    """Return what `_finish` makes of one number."""
    value &= _UINT32
    return ((value ^ value >> 15) * _HASH_FACTORS[0] & _UINT32) >> 32 - HASH_BITS


def all_grams(text: bytes) -> tuple[UInt32Array, NDArray[np.intp]]:
    """Return the grams of a text in order, also repeated ones, and where each begins."""
    if len(text) < _GRAM_BYTES:
        return np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.intp)

    kinds = np.frombuffer(stringzilla.translate(text, _KINDS), np.uint8)
    is_gram = kinds[:-3] & kinds[1:-2] >> 1
    is_gram &= (kinds[2:-1] & kinds[3:]) >> 1
    positions = np.flatnonzero(is_gram.view(np.bool_))
    # Four bytes from any place, the first one lowest.
    grams = np.ndarray((len(text) - _GRAM_BYTES + 1,), "<u4", text, strides=(1,))[positions]
    grams *= _GRAM_FACTOR
    return _finish(grams), positions


@functools.lru_cache(maxsize=4096)
def literal_trigrams(text: bytes) -> list[int]:
    """Return the trigrams of every text with this literal, case ignored, sorted.

    Trigrams that would contain a newline are left out, and so are windows: keys never cross a line.
    """
    mapped = text.translate(MAPPING)
    if len(mapped) <= _SHORT_BYTES:
        return sorted({trigram for trigram in _short_trigrams(mapped) if trigram is not None})
    trigrams, is_complete, _, _ = all_keys(mapped)
    return list(distinct(trigrams[is_complete]).tolist())


@functools.lru_cache(maxsize=4096)
def literal_windows(text: bytes) -> list[int]:
    """Return the windows of every text with this literal, case ignored, sorted."""
    mapped = text.translate(MAPPING)
    if len(mapped) <= _SHORT_BYTES:
        return sorted(_short_windows(mapped))
    return list(distinct(all_keys(mapped)[2]).tolist())


def _short_trigrams(mapped: bytes) -> Sequence[int | None]:
    """Return the trigrams of `all_keys`, None for one with a newline: a text of some bytes needs no array."""
    triples = zip(mapped, mapped[1:], mapped[2:], strict=False)
    if _NEWLINE in mapped:
        return [None if _NEWLINE in (a, b, c) else a | b << 7 | c << 14 for a, b, c in triples]
    return [a | b << 7 | c << 14 for a, b, c in triples]


def _short_windows(mapped: bytes) -> set[int]:
    first, second = _HASH_FACTORS
    trigrams, windows = _short_trigrams(mapped), set()
    for before, (trigram, following) in enumerate(zip(trigrams, trigrams[_KEY_BYTES:], strict=False), _KEY_BYTES - 1):
        after = CLASSES[mapped[before + 1]]
        change = CLASSES[mapped[before]] ^ after
        if after < NON_WORD and (not change or change >= NON_WORD) and trigram is not None and following is not None:
            windows.add(_finish_number(trigram * first ^ following * second))
    return windows


@functools.lru_cache(maxsize=4096)
def literal_grams(text: bytes) -> tuple[int, ...]:
    """Return some of the grams of every text with this literal, which leave about as few units as all of them."""
    starts = [gram.start() for gram in _FIND_GRAMS(text)]
    if len(starts) > _MAX_GRAMS:
        # Far from one another, since grams that begin side by side have three bytes in common.
        starts = [starts[number * (len(starts) - 1) // (_MAX_GRAMS - 1)] for number in range(_MAX_GRAMS)]
    grams = set()
    for start in starts:
        gram = int.from_bytes(text[start : start + _GRAM_BYTES], "little")
        grams.add(_finish_number(gram * _GRAM_FACTOR))
    return tuple(sorted(grams))


class HashLists:
    """The memory-mapped lists of the windows or grams of a shard.

    Parameters
    ----------
    file, name
        The file, and how the names of the two sections begin.
    units
        The number of units of the shard.
    """

    def __init__(self, file: SectionFile, name: str, units: int) -> None:
        self._units = units
        self._starts = file.blocks(f"{name}_starts")
        self.items = file.blocks(f"{name}_lists")

        # The table has 2^bits + 1 entries; hashes of this shard lack the low HASH_BITS - bits bits.
        self._shift = HASH_BITS - (len(self._starts) - 1).bit_length() + 1
        self._start_view = self._starts.unchecked.data

    def bounds(self, hashes: Sequence[int]) -> list[ListBounds] | None:
        """Return the range in `items` of the list of each hash, or None if one of the lists is empty.

        A negative start stands for a key without a list, since it is in many units: their number is end - start.
        """
        starts, shift = self._start_view, self._shift
        is_checked, block_shift = self._starts.is_checked, self._starts.shift
        bounds = []
        for value in hashes:
            key = value >> shift
            # Most were checked before, and a call for each hash and shard costs more than the rest of this loop.
            if not (is_checked[key >> block_shift] and is_checked[key + 1 >> block_shift]):
                self._starts.check(key, key + 2)
            start, end = starts[key], starts[key + 1] & _LIST_MASK
            # An empty list proves that no unit holds the key, so no unit can match.
            if start == end:
                return None
            bounds.append((start, end) if start < end else (-1, self._units - 1))

        return bounds


class Postings:
    """The memory-mapped posting lists of a shard.

    Attributes
    ----------
    keys, starts, lists
        The rare trigrams, ascending; where the list of each starts in `lists`, and the end of the last one.
    dense_keys, dense_bits
        The common trigrams, ascending; a bitmap of the units for each, in whole bytes.
    """

    def __init__(self, file: SectionFile, units: int) -> None:
        self._units = units
        self.keys = file.array("tri_keys")
        self.starts = file.array("tri_starts")
        self.lists = file.blocks("tri_lists")
        self.dense_keys = file.array("dense_keys")
        self.dense_bits = file.blocks("dense_bits")
        # Earlier versions wrote no grams, and sections of other names.
        self.grams = HashLists(file, "gram", units) if "gram_starts" in file else None
        self.windows = HashLists(file, "win" if self.grams is None else "key", units)
        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._key_view, self._start_view, self._dense_view = (
            array.data for array in (self.keys, self.starts, self.dense_keys)
        )

    @property
    def trigrams(self) -> tuple[UInt32Array, UInt32Array]:
        """All trigrams of the shard: rare trigrams with lists, and common trigrams with bitmaps."""
        # Each trigram is in one of the two tables, as `posting_builder` divides them by the length of their lists.
        return self.keys, self.dense_keys

    def units_with(self, trigrams: UInt32Array) -> Int64Array | None:
        """Return the units that hold all trigrams, ascending, or None without a trigram."""
        if not len(trigrams):
            return None

        lists, rows, is_possible = self._lists_of(trigrams)
        if not is_possible:
            return _NO_UNITS

        # Shortest first: its length bounds the work of every following intersection.
        lists.sort(key=len)
        if not lists:
            # All lists were dense and stored as bitmaps, in the bit order of `packbits` at build time.
            return np.flatnonzero(np.unpackbits(self._bitmap_of(rows), count=self._units, bitorder="little"))

        units = lists[0].astype(np.intp)
        return self._filter(units, lists[1:], rows)

    def filter(self, units: Int64Array, trigrams: UInt32Array) -> Int64Array:
        """Filter `units` to the units with all trigrams; ascending."""
        lists, rows, is_possible = self._lists_of(trigrams)
        if not is_possible:
            return _NO_UNITS
        lists.sort(key=len)
        return self._filter(units, lists, rows)

    def _filter(self, units: Int64Array, lists: list[Any], rows: list[int]) -> Int64Array:
        units = intersect_lists(units, lists, self._units)
        # A few units are read in less time than the bits of the common trigrams, which nearly all words have.
        if not rows or len(units) < _MIN_NARROWED_UNITS:
            return units

        bitmap = self._bitmap_of(rows)
        # Little bit order: unit n is bit n & 7 of byte n >> 3.
        with_all: Int64Array = units[(bitmap[units >> 3] >> (units & 7).astype(np.uint8)) & 1 == 1]
        return with_all

    def _bitmap_of(self, rows: list[int]) -> Any:
        """Return a bit for each unit, eight a byte, that holds all common trigrams of some rows."""
        dense_size = len(self._dense_view)
        width = len(self.dense_bits) // dense_size
        for row in rows:
            self.dense_bits.check(row * width, (row + 1) * width)
        # All rows in one call: eight units a byte, no lists.
        return np.bitwise_and.reduce(self.dense_bits.unchecked.reshape(dense_size, width)[rows], axis=0)

    def _lists_of(self, trigrams: UInt32Array) -> tuple[list[Any], list[int], bool]:
        """Return the lists of rare trigrams, the rows of common ones, and whether a unit may hold them all."""
        lists: list[Any] = []
        rows: list[int] = []
        keys, dense, starts = self._key_view, self._dense_view, self._start_view
        size, dense_size = len(keys), len(dense)
        for key, position in zip(trigrams.tolist(), self.keys.searchsorted(trigrams).tolist(), strict=True):
            if position < size and keys[position] == key:
                lists.append(self.lists.slice(starts[position], starts[position + 1]))
                continue
            row = bisect_left(dense, key)
            if row == dense_size or dense[row] != key:
                # Each trigram of the shard is in one of the two tables, so no unit holds this one.
                return [], [], False
            rows.append(row)

        return lists, rows, True
