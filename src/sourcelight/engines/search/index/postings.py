"""Posting lists: for every key the units that hold it, ascending; bitmaps for the common keys.

Keys are trigrams, and hashed windows of six bytes. Both are taken from *mapped* text: ASCII letters in lower case,
bytes from 0x80 on spread over the codes that lowering and control characters leave free, so that a byte has seven bits
and a trigram 21. The mapping only merges bytes, so a text that holds a literal always holds the keys of that literal.

A window is taken at each cut point: a word byte after a non-word byte, or within a word between two bytes of one class,
of which there are four. It has the three bytes before the cut and the three after it. Windows are what makes a phrase
selective: its trigrams are common one by one, and together leave many units that hold them apart. Cut points depend
only on the two bytes beside them, so a literal has the same windows wherever it occurs. Keys never contain a newline.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, UInt32Array
from sourcelight.core.patterns import lower_ascii
from sourcelight.engines.storage.sections import SectionFile

WINDOW_BITS = 20
"""Bits of a window key; a small shard drops some of them, see `window_bits`."""

TRIGRAM_BITS = 21
"""Bits of a trigram key: seven for each byte of mapped text."""

_KEY_BYTES = 3
_NEWLINE = 10
_NON_WORD = 4
# The first two 32-bit primes of xxHash. Keys on disk depend on them, as on the mapping and the classes below: a change
# of any needs another format.
_UINT32 = 0xFFFFFFFF

_SHORT_BYTES = 32
"""Bytes of a literal up to which its keys are computed one by one."""

_HASH_FACTORS = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)

_MIN_NARROWED_UNITS = 4
"""Units below which scanning them takes no longer than looking them up in another list."""

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
    classes = bytearray([_NON_WORD]) * 256
    for rank, code in enumerate(by_frequency):
        classes[code] = (rank + rank // 4) % 4
    for code in MAPPING[128:]:
        classes[code] = code % 4
    return bytes(classes)


_CLASSES = _classes()


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

    classes = np.frombuffer(mapped.translate(_CLASSES), np.uint8)
    # Entry i is the cut between bytes i + 2 and i + 3: trigram i ends there, trigram i + 3 begins there.
    before, after = classes[_KEY_BYTES - 1 : -_KEY_BYTES], classes[_KEY_BYTES : 1 - _KEY_BYTES]
    change = before ^ after

    # Of two classes, the exclusive or is 0 for equal ones and 4 or more where one is a non-word. With a word byte after
    # the cut, this leaves starts of words and pairs of one class.
    is_cut = change == 0
    is_cut |= change >= _NON_WORD
    is_cut &= after < _NON_WORD
    is_cut &= is_complete[:-_KEY_BYTES]
    is_cut &= is_complete[_KEY_BYTES:]
    return np.flatnonzero(is_cut)


def _hash_windows(windows: UInt32Array, following: UInt32Array) -> UInt32Array:
    windows *= _HASH_FACTORS[0]
    following *= _HASH_FACTORS[1]

    # uint32 wraps around, as the hash needs. Its top bits are the key: each depends on all bits below.
    windows ^= following
    windows ^= windows >> np.uint32(15)
    windows *= _HASH_FACTORS[0]
    windows >>= np.uint32(32 - WINDOW_BITS)
    return windows


@functools.lru_cache(maxsize=4096)
def literal_keys(text: bytes) -> tuple[UInt32Array, UInt32Array]:
    """Return the keys of every text with this literal, case ignored: sorted trigrams and sorted windows.

    Trigrams and windows that would contain a newline are left out: keys never cross a line.
    """
    mapped = lower_ascii(text).translate(MAPPING)
    if len(mapped) <= _SHORT_BYTES:
        return _short_keys(mapped)
    trigrams, is_complete, windows, _ = all_keys(mapped)
    return np.unique(trigrams[is_complete]), np.unique(windows)


def _short_keys(mapped: bytes) -> tuple[UInt32Array, UInt32Array]:
    """Return the keys of `all_keys`, sorted and without repeats: a text of some bytes needs no array."""
    first, second = map(int, _HASH_FACTORS)
    # None if a trigram would contain a newline.
    trigrams = [
        None if _NEWLINE in (a, b, c) else a | b << 7 | c << 14
        for a, b, c in zip(mapped, mapped[1:], mapped[2:], strict=False)
    ]
    windows = set()
    for before, (trigram, following) in enumerate(zip(trigrams, trigrams[_KEY_BYTES:], strict=False), _KEY_BYTES - 1):
        after = _CLASSES[mapped[before + 1]]
        change = _CLASSES[mapped[before]] ^ after
        if after < _NON_WORD and (not change or change >= _NON_WORD) and trigram is not None and following is not None:
            window = (trigram * first ^ following * second) & _UINT32
            windows.add(((window ^ window >> 15) * first & _UINT32) >> 32 - WINDOW_BITS)

    distinct = {trigram for trigram in trigrams if trigram is not None}
    return np.array(sorted(distinct), dtype=np.uint32), np.array(sorted(windows), dtype=np.uint32)


class Postings:
    """The memory-mapped posting lists of a shard."""

    def __init__(self, file: SectionFile, units: int) -> None:
        self._units = units
        self._keys = file.array("tri_keys")
        self._starts = file.array("tri_starts")
        self._lists = file.blocks("tri_lists")
        self._dense_keys = file.array("dense_keys")
        self._dense_bits = file.blocks("dense_bits")
        self._window_starts = file.blocks("win_starts")
        self.window_lists = file.blocks("win_lists")

        # The table has 2^bits + 1 entries; keys of this shard lack the low WINDOW_BITS - bits bits.
        self._shift = WINDOW_BITS - (len(self._window_starts) - 1).bit_length() + 1
        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._key_view, self._start_view, self._dense_view, self._window_view = (
            array.data for array in (self._keys, self._starts, self._dense_keys, self._window_starts.unchecked)
        )

    @property
    def trigrams(self) -> tuple[UInt32Array, UInt32Array]:
        """All trigrams of the shard: rare trigrams with lists, and common trigrams with bitmaps."""
        # Each trigram is in one of the two tables, as `posting_builder` divides them by the length of their lists.
        return self._keys, self._dense_keys

    def window_bounds(self, windows: list[int]) -> list[tuple[int, int]] | None:
        """Return the range in `window_lists` of each window's list, or None when one of the lists is empty."""
        starts, shift = self._window_view, self._shift
        is_checked, block_shift = self._window_starts.is_checked, self._window_starts.shift
        bounds = []
        for window in windows:
            key = window >> shift
            # Most were checked before, and a call for each window and shard costs more than the rest of this loop.
            if not (is_checked[key >> block_shift] and is_checked[key + 1 >> block_shift]):
                self._window_starts.check(key, key + 2)
            start, end = starts[key], starts[key + 1]
            # An empty list proves that no unit holds the window, so no unit can match.
            if start == end:
                return None
            bounds.append((start, end))

        return bounds

    def units_with(self, trigrams: UInt32Array) -> Int64Array | None:
        """Return the units that hold all trigrams, ascending, or None without a trigram."""
        if not len(trigrams):
            return None

        lists, bitmap, is_possible = self._lists_of(trigrams)
        if not is_possible:
            return _NO_UNITS

        # Shortest first: its length bounds the work of every following intersection.
        lists.sort(key=len)
        if not lists:
            # All lists were dense and stored as bitmaps, in the bit order of `packbits` at build time.
            return np.flatnonzero(np.unpackbits(bitmap, count=self._units, bitorder="little"))

        units = lists[0].astype(np.intp)
        return self._filter(units, lists[1:], bitmap)

    def filter(self, units: Int64Array, trigrams: UInt32Array) -> Int64Array:
        """Filter `units` to the units with all trigrams; ascending."""
        lists, bitmap, is_possible = self._lists_of(trigrams)
        if not is_possible:
            return _NO_UNITS
        lists.sort(key=len)
        return self._filter(units, lists, bitmap)

    def _filter(self, units: Int64Array, lists: list[Any], bitmap: Any) -> Int64Array:
        units = intersect_lists(units, lists, self._units)
        if bitmap is not None and len(units):
            # Little bit order: unit n is bit n & 7 of byte n >> 3.
            units = units[(bitmap[units >> 3] >> (units & 7).astype(np.uint8)) & 1 == 1]
        return units

    def _lists_of(self, trigrams: UInt32Array) -> tuple[list[Any], Any, bool]:
        lists: list[Any] = []
        rows: list[int] = []
        keys, dense, starts = self._key_view, self._dense_view, self._start_view
        size, dense_size = len(keys), len(dense)
        for key, position in zip(trigrams.tolist(), self._keys.searchsorted(trigrams).tolist(), strict=True):
            if position < size and keys[position] == key:
                lists.append(self._lists.slice(starts[position], starts[position + 1]))
                continue
            row = bisect_left(dense, key)
            if row == dense_size or dense[row] != key:
                # Each trigram of the shard is in one of the two tables, so no unit holds this one.
                return [], None, False
            rows.append(row)

        bitmap = None
        if rows:
            # All common trigrams in one call: eight units a byte, no lists.
            width = len(self._dense_bits) // dense_size
            for row in rows:
                self._dense_bits.check(row * width, (row + 1) * width)
            bitmap = np.bitwise_and.reduce(self._dense_bits.unchecked.reshape(dense_size, width)[rows], axis=0)

        return lists, bitmap, True


def intersect_lists(candidates: Int64Array, lists: list[Any], units: int) -> Int64Array:
    """Intersect `candidates`, ascending, with all lists; a superset where the scan is cheaper.

    A list up to 64 times longer is probed through a mask over all units, a longer one by binary search.
    """
    for posting_list in lists:
        if len(candidates) < _MIN_NARROWED_UNITS:
            break

        if len(posting_list) < 64 * len(candidates):
            is_listed = np.zeros(units, dtype=np.bool_)
            is_listed[posting_list] = True
            candidates = candidates[is_listed[candidates]]
        else:
            # With the dtype of the list: `searchsorted` would first copy the list, which is long, to a common type.
            positions = posting_list.searchsorted(candidates.astype(posting_list.dtype))
            # Past the end, every entry is smaller than the candidate, so any entry distinguishes them.
            positions[positions == len(posting_list)] = 0
            candidates = candidates[posting_list[positions] == candidates]

    return candidates
