"""What the index knows of a text: trigrams, and hashed windows of six bytes around word starts.

Both are taken from *mapped* text: ASCII letters lowered, bytes from 0x80 on spread over the codes that lowering and
control characters leave free, so that a byte has seven bits and a trigram 21. Mapping only ever makes different bytes
alike, so a text that holds a literal always holds the keys of that literal.

A window stands at a cut point: a word byte after a non-word byte, or within a word between two bytes of one class, of
which there are four. It holds the three bytes before the cut and the three after it. Keys never hold a newline.
"""

from __future__ import annotations

import functools

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import FOLD_HAZARDS, fold

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


class KeyFinder:
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
    trigrams, windows = _keys(fold(text).translate(MAPPING))
    return np.unique(trigrams), np.unique(windows)
