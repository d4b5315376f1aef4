"""Posting lists: for every key the units that hold it, sorted; bitmaps where a list would be longer.

What the index knows of a text: trigrams, and hashed windows of six bytes around word starts.

Both are taken from *mapped* text: ASCII letters lowered, bytes from 0x80 on spread over the codes that lowering and
control characters leave free, so that a byte has seven bits and a trigram 21. Mapping only ever makes different bytes
alike, so a text that holds a literal always holds the keys of that literal.

A window stands at a cut point: a word byte after a non-word byte, or within a word between two bytes of one class, of
which there are four. It holds the three bytes before the cut and the three after it. Keys never hold a newline.
"""

from __future__ import annotations

import functools
from bisect import bisect_left
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import FOLD_HAZARDS, lower_ascii
from sourcelight.engines.storage.sections import Array, SectionFile

WINDOW_BITS = 20
"""Bits of a window key before a shard drops as many as its size allows."""

_SIDE = 3
_PIECE = 48 * 1024
"""Bytes whose distinct keys are found at once: positions in it must fit 16 bits."""

_NEWLINE = 10
_NON_WORD = 4
_FACTORS = np.uint32(0x9E3779B1), np.uint32(0x85EBCA77)

Keys = NDArray[np.uint32]


def _mapping() -> bytes:
    free = [*(code for code in range(1, 32) if code not in {9, 10, 13}), *range(65, 91), 127]
    return bytes(bytes([code]).lower()[0] if code < 128 else free[code % len(free)] for code in range(256))


MAPPING = _mapping()


def _classes() -> bytes:
    # The order is that of frequency in source text, so that the four classes are about equally common.
    by_frequency = b"etraionslcdpumfhgybvwxkqjz_0123456789"
    classes = bytearray([_NON_WORD]) * 256
    for place, code in enumerate(by_frequency):
        classes[code] = (place + place // 4) % 4
    for code in MAPPING[128:]:
        classes[code] = code % 4
    return bytes(classes)


_CLASSES = _classes()


class KeyExtractor:
    """Finds the distinct keys of a text; keeps scratch memory, so one per thread."""

    def __init__(self) -> None:
        self._last = np.zeros(1 << 21, dtype=np.uint16)
        self._last_window = np.zeros(1 << WINDOW_BITS, dtype=np.uint16)
        self._positions = np.arange(1 << 16, dtype=np.uint16)

    def keys(self, text: bytes) -> tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]]:
        """Give trigram keys and window keys of `text`; a key may occur in several of the arrays, never twice in one."""
        for hazard, plain in zip(FOLD_HAZARDS, (b"k", b"s"), strict=True):
            if hazard in text:
                text = text + b"\n" + text.replace(hazard, plain)  # both readings are indexed
        mapped = text.translate(MAPPING)
        found: tuple[list[NDArray[np.intp]], list[NDArray[np.intp]]] = ([], [])
        for start in range(0, max(len(mapped) - _SIDE + 1, 0), _PIECE):
            trigrams, windows = _keys(mapped[max(start - _SIDE, 0) : start + _PIECE + _SIDE])
            found[0].append(self._distinct(trigrams, self._last))
            if len(windows):
                found[1].append(self._distinct(windows, self._last_window))
        return found

    def _distinct(self, keys: Keys, last: NDArray[np.uint16]) -> NDArray[np.intp]:
        places = keys.astype(np.intp)
        positions = self._positions[: len(places)]
        last[places] = positions
        distinct: NDArray[np.intp] = places[last[places] == positions]
        return distinct


def _keys(mapped: bytes) -> tuple[Keys, Keys]:
    """Give all trigrams and all windows of mapped text, in order."""
    text = np.frombuffer(mapped, np.uint8)
    if len(text) < _SIDE:
        none = np.zeros(0, dtype=np.uint32)
        return none, none
    plain = text != _NEWLINE
    whole = plain[:-2] & plain[1:-1]
    whole &= plain[2:]
    codes = text.astype(np.uint32)
    trigrams = codes[1:-1] << np.uint32(7)
    trigrams |= codes[:-2]
    trigrams |= codes[2:] << np.uint32(14)
    return trigrams.compress(whole), _windows(mapped, trigrams, whole)


def _windows(mapped: bytes, trigrams: Keys, whole: NDArray[np.bool_]) -> Keys:
    if len(mapped) < 2 * _SIDE:
        return np.zeros(0, dtype=np.uint32)
    classes = np.frombuffer(mapped.translate(_CLASSES), np.uint8)
    before, after = classes[_SIDE - 1 : -_SIDE], classes[_SIDE : 1 - _SIDE]
    change = before ^ after
    cut = change == 0
    cut |= change >= _NON_WORD
    cut &= after < _NON_WORD
    cut &= whole[:-_SIDE]
    cut &= whole[_SIDE:]
    places = np.flatnonzero(cut)
    windows = trigrams.take(places)
    windows *= _FACTORS[0]
    others = trigrams.take(places + _SIDE)
    others *= _FACTORS[1]
    windows ^= others
    windows ^= windows >> np.uint32(15)
    windows *= _FACTORS[0]
    windows >>= np.uint32(32 - WINDOW_BITS)
    return windows


@functools.lru_cache(maxsize=4096)
def literal_keys(text: bytes) -> tuple[Keys, Keys]:
    """Give the keys that every text with this literal (case ignored) has: sorted trigrams and sorted windows.

    Only what stands between newlines counts, since keys never cross a unit's end.
    """
    trigrams, windows = _keys(lower_ascii(text).translate(MAPPING))
    return np.unique(trigrams), np.unique(windows)


_DENSE = 16
"""A list of more than one unit in sixteen takes less room, and is read faster, as a bitmap."""

_MATRIX_BYTES = 32 * 1024 * 1024
_SMALLEST_BITS = 8
_FIRST_PAIRS = 1 << 14

Units = NDArray[np.intp]
Pairs = NDArray[np.int64]

_FEW = 4
"""Units that are scanned as soon as looked up in another list."""

_NO_UNITS: Units = np.zeros(0, dtype=np.intp)


class PairList:
    """Gathers (key, unit) pairs as numbers that sort by key, then unit."""

    def __init__(self) -> None:
        self._pairs = np.empty(_FIRST_PAIRS, dtype=np.int64)
        self._length = 0
        self._repeats = False

    def add(self, unit: int, keys: list[NDArray[np.intp]]) -> None:
        """Add the keys of a unit; one may stand in several of the arrays."""
        self._repeats = self._repeats or len(keys) > 1
        for part in keys:
            end = self._length + len(part)
            if end > len(self._pairs):
                grown = np.empty(max(end, 2 * len(self._pairs)), dtype=np.int64)
                grown[: self._length] = self._pairs[: self._length]
                self._pairs = grown
            place = self._pairs[self._length : end]
            np.left_shift(part, 16, out=place)
            place |= unit
            self._length = end

    def take(self, drop_bits: int = 0) -> Pairs:
        """Give the distinct pairs, sorted, without the lowest bits of the keys; nothing is left here."""
        pairs = self._pairs[: self._length]
        self._pairs = np.empty(0, dtype=np.int64)
        self._length = 0
        if drop_bits:
            units = pairs & 0xFFFF
            pairs >>= 16 + drop_bits
            pairs <<= 16
            pairs |= units
        pairs.sort()
        if (self._repeats or drop_bits) and len(pairs):
            fresh = np.empty(len(pairs), dtype=np.bool_)
            fresh[0] = True
            np.not_equal(pairs[1:], pairs[:-1], out=fresh[1:])
            pairs = pairs[fresh]
        return pairs


def window_bits(text_bytes: int) -> int:
    """Bits of a window key in a shard of that much text: the table of starts stays near 3 % of the text."""
    return max(_SMALLEST_BITS, min(WINDOW_BITS, (text_bytes // 128).bit_length()))


def trigram_sections(pairs: Pairs, units: int) -> dict[str, Array]:
    """Make the sections of trigrams from sorted pairs."""
    codes = (pairs >> 16).astype(np.uint32)
    lists = pairs.astype(np.uint16)
    starts = np.flatnonzero(np.concatenate(([True], codes[1:] != codes[:-1]))) if len(codes) else np.zeros(0, np.intp)
    counts = np.diff(np.append(starts, len(codes)))
    distinct = codes[starts]
    dense = counts > max(units // _DENSE, 8)
    in_dense = np.repeat(dense, counts)
    sparse_counts = counts[~dense]
    return {
        "tri_keys": distinct[~dense],
        "tri_starts": np.concatenate(([0], np.cumsum(sparse_counts))).astype(np.uint32),
        "tri_lists": lists[~in_dense],
        "dense_keys": distinct[dense],
        "dense_bits": _bitmaps(lists[in_dense], counts[dense], units),
    }


def _bitmaps(lists: NDArray[np.uint16], counts: NDArray[np.intp], units: int) -> NDArray[np.uint8]:
    width = (units + 7) // 8
    rows = max(1, _MATRIX_BYTES // max(units, 1))
    packed = np.zeros((len(counts), width), dtype=np.uint8)
    ends = np.cumsum(counts)
    for first in range(0, len(counts), rows):
        part = counts[first : first + rows]
        lo, hi = int(ends[first] - counts[first]), int(ends[first + len(part) - 1])
        matrix = np.zeros((len(part), units), dtype=np.bool_)
        matrix[np.repeat(np.arange(len(part)), part), lists[lo:hi]] = True
        packed[first : first + len(part)] = np.packbits(matrix, axis=1, bitorder="little")
    return packed.ravel()


def window_sections(pairs: Pairs, bits: int) -> dict[str, Array]:
    """Make the sections of windows from sorted pairs whose keys have so many bits."""
    starts = np.zeros((1 << bits) + 1, dtype=np.uint32)
    np.cumsum(np.bincount((pairs >> 16).astype(np.intp), minlength=1 << bits), out=starts[1:])
    return {"win_starts": starts, "win_lists": pairs.astype(np.uint16)}


class Postings:
    """The posting lists of a shard, read in place."""

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
        self._shift = WINDOW_BITS - (len(self._window_starts) - 1).bit_length() + 1
        # One number out of a view costs a tenth of one out of an array.
        self._key_places, self._start_places, self._dense_places, self._window_places = (
            array.data for array in (self._keys, self._starts, self._dense_keys, self._window_starts)
        )

    def windows(self, windows: list[int]) -> list[tuple[int, int]] | None:
        """Say where in `window_lists` the list of each window stands; None when one of them is empty."""
        starts, shift = self._window_places, self._shift
        found = []
        for window in windows:
            key = window >> shift
            low, high = starts[key], starts[key + 1]
            if low == high:
                return None
            found.append((low, high))
        return found

    def units_with(self, trigrams: Keys) -> Units | None:
        """Give the units that hold all trigrams, ascending; None when there is none to tell by."""
        if not len(trigrams):
            return None
        lists, bitmap, possible = self._lists_of(trigrams)
        if not possible:
            return _NO_UNITS
        lists.sort(key=len)
        if not lists:
            return np.flatnonzero(np.unpackbits(bitmap, count=self._units, bitorder="little"))
        found = lists[0].astype(np.intp)
        return self._held(found, lists[1:], bitmap)

    def narrowed(self, units: Units, trigrams: Keys) -> Units:
        """Keep those of some units, ascending, that hold all trigrams."""
        lists, bitmap, possible = self._lists_of(trigrams)
        if not possible:
            return _NO_UNITS
        lists.sort(key=len)
        return self._held(units, lists, bitmap)

    def _held(self, found: Units, lists: list[Any], bitmap: Any) -> Units:
        found = narrow(found, lists, self._units)
        if bitmap is not None and len(found):
            found = found[(bitmap[found >> 3] >> (found & 7).astype(np.uint8)) & 1 == 1]
        return found

    def _lists_of(self, trigrams: Keys) -> tuple[list[Any], Any, bool]:
        lists: list[Any] = []
        rows: list[int] = []
        keys, dense, starts = self._key_places, self._dense_places, self._start_places
        size, dense_size = len(keys), len(dense)
        for key, place in zip(trigrams.tolist(), self._keys.searchsorted(trigrams).tolist(), strict=True):
            if place < size and keys[place] == key:
                lists.append(self._lists[starts[place] : starts[place + 1]])
                continue
            row = bisect_left(dense, key)
            if row == dense_size or dense[row] != key:
                return [], None, False
            rows.append(row)
        bitmap = None
        if rows and self._dense_bits is not None:
            bitmap = np.bitwise_and.reduce(self._dense_bits[rows], axis=0)
        return lists, bitmap, True


def narrow(found: Units, lists: list[Any], units: int) -> Units:
    """Keep of some units, ascending, those that stand in all lists; what takes more than it saves is left out."""
    for other in lists:
        if len(found) < _FEW:
            break
        if len(other) < 64 * len(found):
            held = np.zeros(units, dtype=np.bool_)
            held[other] = True
            found = found[held[found]]
        else:
            places = other.searchsorted(found.astype(other.dtype))
            places[places == len(other)] = 0
            found = found[other[places] == found]
    return found
