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

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array
from sourcelight.core.patterns import FOLD_HAZARDS, lower_ascii
from sourcelight.engines.storage.sections import SectionFile

WINDOW_BITS = 20
"""Bits of a window key; a small shard drops some of them, see `window_bits`."""

TRIGRAM_BITS = 21
"""Bits of a trigram key: seven for each byte of mapped text."""

_KEY_BYTES = 3
_BLOCK_BYTES = 48 * 1024
"""Bytes whose distinct keys are found at once: a position in the block must fit 16 bits."""

_NEWLINE = 10
_NON_WORD = 4
# The first two 32-bit primes of xxHash. Keys on disk depend on them, as on the mapping and the classes below: a change
# of any needs another format.
_UINT32 = 0xFFFFFFFF
_SHORT_BYTES = 32
"""Bytes of a literal up to which its keys are computed one by one."""

_HASH_FACTORS = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)


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


class KeyExtractor:
    """Finds the distinct keys of texts. It has scratch memory: use one per thread."""

    def __init__(self) -> None:
        self._last = np.zeros(1 << TRIGRAM_BITS, dtype=np.uint16)
        self._last_window = np.zeros(1 << WINDOW_BITS, dtype=np.uint16)
        self._positions = np.arange(1 << 16, dtype=np.uint16)

    def keys(self, text: bytes) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """Return arrays of trigram keys and of window keys; a key is never twice in one array."""
        for hazard, ascii_letter in zip(FOLD_HAZARDS, (b"k", b"s"), strict=True):
            # The Kelvin sign and the long s match k and s when case is ignored, so both readings are indexed.
            if hazard in text:
                text = text + b"\n" + text.replace(hazard, ascii_letter)
        mapped = text.translate(MAPPING)
        keys: tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]] = ([], [])
        # Blocks overlap by a key at both ends, so no key is cut. A key may then be in two blocks; `PairList.take` drops
        # the second.
        for start in range(0, max(len(mapped) - _KEY_BYTES + 1, 0), _BLOCK_BYTES):
            trigrams, windows = _extract_keys(mapped[max(start - _KEY_BYTES, 0) : start + _BLOCK_BYTES + _KEY_BYTES])
            keys[0].append(self._distinct(trigrams, self._last))
            if len(windows):
                keys[1].append(self._distinct(windows, self._last_window))
        return keys

    def _distinct(self, keys: NDArray[np.uint32], last: NDArray[np.uint16]) -> NDArray[np.intp]:
        codes = keys.astype(np.intp)
        positions = self._positions[: len(codes)]
        # Each code keeps the position of its last writer, and only that position reads itself back: distinct codes
        # without a sort (first measured: 90 MB of text per CPU-second; a sort 36, `np.unique` 23). Stamps of earlier
        # calls don't matter, since every code read here was written here.
        last[codes] = positions
        distinct: NDArray[np.intp] = codes[last[codes] == positions]
        return distinct


def _extract_keys(mapped: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return all trigrams and all windows of mapped text, in order."""
    text = np.frombuffer(mapped, np.uint8)
    if len(text) < _KEY_BYTES:
        no_keys = np.zeros(0, dtype=np.uint32)
        return no_keys, no_keys
    is_text = text != _NEWLINE
    # Entry i of all arrays below is the trigram of bytes i to i + 2, 7 bits each, the first byte lowest.
    is_complete = is_text[:-2] & is_text[1:-1]
    is_complete &= is_text[2:]
    codes = text.astype(np.uint32)
    trigrams = codes[1:-1] << np.uint32(7)
    trigrams |= codes[:-2]
    trigrams |= codes[2:] << np.uint32(14)
    return trigrams.compress(is_complete), _extract_windows(mapped, trigrams, is_complete)


def _extract_windows(mapped: bytes, trigrams: NDArray[np.uint32], is_complete: BoolArray) -> NDArray[np.uint32]:
    if len(mapped) < 2 * _KEY_BYTES:
        return np.zeros(0, dtype=np.uint32)
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
    cuts = np.flatnonzero(is_cut)
    windows = trigrams.take(cuts)
    windows *= _HASH_FACTORS[0]
    following = trigrams.take(cuts + _KEY_BYTES)
    following *= _HASH_FACTORS[1]
    # uint32 wraps around, as the hash needs. Its top bits are the key: each depends on all bits below.
    windows ^= following
    windows ^= windows >> np.uint32(15)
    windows *= _HASH_FACTORS[0]
    windows >>= np.uint32(32 - WINDOW_BITS)
    return windows


@functools.lru_cache(maxsize=4096)
def literal_keys(text: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the keys of every text with this literal, case ignored: sorted trigrams and sorted windows.

    Trigrams and windows that would contain a newline are left out: keys never cross a line.
    """
    mapped = lower_ascii(text).translate(MAPPING)
    trigrams, windows = _short_keys(mapped) if len(mapped) <= _SHORT_BYTES else map(np.unique, _extract_keys(mapped))
    return trigrams, windows


def _short_keys(mapped: bytes) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return what `_extract_keys` returns, sorted and without repeats: a text of some bytes needs no array."""
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


_DENSE_FRACTION = 16
"""A list with more than one unit in sixteen is smaller as a bitmap (16 bits a unit), and faster to intersect."""

_MAX_MATRIX_BYTES = 32 * 1024 * 1024
_MIN_WINDOW_BITS = 8
_INITIAL_PAIRS = 1 << 14

Pairs = Int64Array

_MIN_NARROWED_UNITS = 4
"""Units below which scanning them takes no longer than looking them up in another list."""

_NO_UNITS: Int64Array = np.zeros(0, dtype=np.intp)


class PairList:
    """Collects (key, unit) pairs as int64 ``key << 16 | unit``, so that one sort orders them by key and unit."""

    def __init__(self) -> None:
        self._pairs = np.empty(_INITIAL_PAIRS, dtype=np.int64)
        self._length = 0
        self._repeats = False

    def add(self, unit: int, keys: list[NDArray[np.intp]]) -> None:
        """Add the keys of a unit; a key may be in several of the arrays."""
        self._repeats = self._repeats or len(keys) > 1
        for keys_of_block in keys:
            end = self._length + len(keys_of_block)
            if end > len(self._pairs):
                # Doubling keeps the cost of copies linear in the number of keys.
                grown = np.empty(max(end, 2 * len(self._pairs)), dtype=np.int64)
                grown[: self._length] = self._pairs[: self._length]
                self._pairs = grown
            added = self._pairs[self._length : end]
            # A pair is (key << 16 | unit): sorting the pairs sorts by key and, within a key, by unit. A shard has fewer
            # than 65,536 units.
            np.left_shift(keys_of_block, 16, out=added)
            added |= unit
            self._length = end

    def take(self, drop_bits: int = 0) -> Pairs:
        """Return the distinct pairs, sorted, with `drop_bits` low bits of the keys removed; empties the list."""
        pairs = self._pairs[: self._length]
        self._pairs = np.empty(0, dtype=np.int64)
        self._length = 0
        # Keys lose their low bits, units stay: different windows of a small shard may then share a list.
        if drop_bits:
            units = pairs & 0xFFFF
            pairs >>= 16 + drop_bits
            pairs <<= 16
            pairs |= units
        # Plain numbers in place: 111 MB of text per CPU-second, where a stable argsort of keys gives 60.
        pairs.sort()
        if (self._repeats or drop_bits) and len(pairs):
            is_first = np.empty(len(pairs), dtype=np.bool_)
            is_first[0] = True
            np.not_equal(pairs[1:], pairs[:-1], out=is_first[1:])
            pairs = pairs[is_first]
        return pairs


def window_bits(text_bytes: int) -> int:
    """Return the bits of window keys in a shard of this size: the table of starts then takes about 3 % of the text."""
    return max(_MIN_WINDOW_BITS, min(WINDOW_BITS, (text_bytes // 128).bit_length()))


def trigram_sections(pairs: Pairs, units: int) -> dict[str, AnyArray]:
    """Make the sections of trigram lists from sorted pairs."""
    codes = (pairs >> 16).astype(np.uint32)
    # The cast drops the key: the low 16 bits are the unit.
    lists = pairs.astype(np.uint16)
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1]))) if len(codes) else np.zeros(0, np.intp)
    counts = np.diff(np.append(starts, len(codes)))
    keys = codes[starts]
    is_dense = counts > max(units // _DENSE_FRACTION, 8)
    in_dense = np.repeat(is_dense, counts)
    sparse_counts = counts[~is_dense]
    return {
        "tri_keys": keys[~is_dense],
        "tri_starts": np.concatenate(([0], np.cumsum(sparse_counts))).astype(np.uint32),
        "tri_lists": lists[~in_dense],
        "dense_keys": keys[is_dense],
        "dense_bits": _bitmaps(lists[in_dense], counts[is_dense], units),
    }


def _bitmaps(lists: NDArray[np.uint16], counts: NDArray[np.intp], units: int) -> UInt8Array:
    # A row is unpacked to a byte per unit before it is packed, so rows are made in portions of 32 MB.
    width = (units + 7) // 8
    rows = max(1, _MAX_MATRIX_BYTES // max(units, 1))
    packed = np.zeros((len(counts), width), dtype=np.uint8)
    ends = np.cumsum(counts)
    for first_row in range(0, len(counts), rows):
        row_counts = counts[first_row : first_row + rows]
        start, end = int(ends[first_row] - counts[first_row]), int(ends[first_row + len(row_counts) - 1])
        matrix = np.zeros((len(row_counts), units), dtype=np.bool_)
        matrix[np.repeat(np.arange(len(row_counts)), row_counts), lists[start:end]] = True
        packed[first_row : first_row + len(row_counts)] = np.packbits(matrix, axis=1, bitorder="little")
    return packed.ravel()


def window_sections(pairs: Pairs, bits: int) -> dict[str, AnyArray]:
    """Make the sections of window lists from sorted pairs with keys of `bits` bits."""
    # A table with an entry for every possible key: a look-up is two reads, where trigrams need a binary search.
    starts = np.zeros((1 << bits) + 1, dtype=np.uint32)
    np.cumsum(np.bincount((pairs >> 16).astype(np.intp), minlength=1 << bits), out=starts[1:])
    return {"win_starts": starts, "win_lists": pairs.astype(np.uint16)}


class Postings:
    """The memory-mapped posting lists of a shard."""

    def __init__(self, file: SectionFile, units: int) -> None:
        self._units = units
        self._keys = file.array("tri_keys")
        self._starts = file.array("tri_starts")
        self._lists = file.array("tri_lists")
        self._dense_keys = file.array("dense_keys")
        self._dense_bits = (
            file.array("dense_bits").reshape(len(self._dense_keys), -1) if len(self._dense_keys) else None
        )
        self._window_starts = file.array("win_starts")
        self.window_lists = file.array("win_lists")
        # The table has 2^bits + 1 entries; keys of this shard lack the low WINDOW_BITS - bits bits.
        self._shift = WINDOW_BITS - (len(self._window_starts) - 1).bit_length() + 1
        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._key_view, self._start_view, self._dense_view, self._window_view = (
            array.data for array in (self._keys, self._starts, self._dense_keys, self._window_starts)
        )

    @property
    def trigrams(self) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
        """All trigrams of the shard: those with lists, and the common ones with bitmaps."""
        # Each trigram is in one of the two tables, as `trigram_sections` divides them by the length of their lists.
        return self._keys, self._dense_keys

    def window_bounds(self, windows: list[int]) -> list[tuple[int, int]] | None:
        """Return the range in `window_lists` of each window's list; None when one of the lists is empty."""
        starts, shift = self._window_view, self._shift
        bounds = []
        for window in windows:
            key = window >> shift
            start, end = starts[key], starts[key + 1]
            # An empty list proves that no unit holds the window, so no unit can match.
            if start == end:
                return None
            bounds.append((start, end))
        return bounds

    def units_with(self, trigrams: NDArray[np.uint32]) -> Int64Array | None:
        """Return the units that hold all trigrams, ascending; None without a trigram."""
        if not len(trigrams):
            return None
        lists, bitmap, is_possible = self._lists_of(trigrams)
        if not is_possible:
            return _NO_UNITS
        # Shortest first: its length bounds the work of every following intersection.
        lists.sort(key=len)
        if not lists:
            # All lists were dense and stored as bitmaps; the bit order is that of `packbits` at build time.
            return np.flatnonzero(np.unpackbits(bitmap, count=self._units, bitorder="little"))
        units = lists[0].astype(np.intp)
        return self._filter(units, lists[1:], bitmap)

    def filter(self, units: Int64Array, trigrams: NDArray[np.uint32]) -> Int64Array:
        """Return those of `units`, ascending, that hold all trigrams."""
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

    def _lists_of(self, trigrams: NDArray[np.uint32]) -> tuple[list[Any], Any, bool]:
        lists: list[Any] = []
        rows: list[int] = []
        keys, dense, starts = self._key_view, self._dense_view, self._start_view
        size, dense_size = len(keys), len(dense)
        for key, position in zip(trigrams.tolist(), self._keys.searchsorted(trigrams).tolist(), strict=True):
            if position < size and keys[position] == key:
                lists.append(self._lists[starts[position] : starts[position + 1]])
                continue
            row = bisect_left(dense, key)
            if row == dense_size or dense[row] != key:
                # Each trigram of the shard is in one of the two tables, so no unit holds this one.
                return [], None, False
            rows.append(row)
        bitmap = None
        if rows and self._dense_bits is not None:
            # All common trigrams in one call: eight units a byte, no lists.
            bitmap = np.bitwise_and.reduce(self._dense_bits[rows], axis=0)
        return lists, bitmap, True


def intersect_lists(candidates: Int64Array, lists: list[Any], units: int) -> Int64Array:
    """Return those of `candidates`, ascending, that are in all lists, or a superset where the scan is cheaper.

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
            # Past the end, every entry is smaller than the candidate, so any entry serves to tell them apart.
            positions[positions == len(posting_list)] = 0
            candidates = candidates[posting_list[positions] == candidates]
    return candidates
