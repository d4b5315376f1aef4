"""What the index knows of a text: trigrams, and hashed windows of seven bytes around word starts.

Both are taken from *mapped* text: ASCII letters lowered, bytes from 0x80 on spread over the codes that lowering and
control characters leave free, so that a byte has seven bits and a trigram 21. Mapping only ever makes different bytes
alike, so a text that holds a literal always holds the keys of that literal.

A window stands at a cut point: a word byte after a non-word byte, or one in four places within words, chosen by a hash
of the two bytes around it. Windows hold the four bytes before the cut and three after it, and never a newline.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import FOLD_HAZARDS, fold

WINDOW_BITS = 20
"""Bits of a window key before a shard drops as many as its size allows."""

_BEFORE, _AFTER = 4, 3
_PIECE = 48 * 1024
"""Bytes whose distinct keys are found at once: positions in it must fit 16 bits."""

_HASH = np.uint64(0x9E3779B97F4A7C15)
_SEVEN_BYTES = np.uint64((1 << 56) - 1)
_NEWLINE = 10

Keys = NDArray[np.uint32]


def _mapping() -> bytes:
    free = [*(code for code in range(1, 32) if code not in {9, 10, 13}), *range(65, 91), 127]
    return bytes(byte.lower()[0] if (byte := bytes([code]))[0] < 128 else free[code % len(free)] for code in range(256))


MAPPING = _mapping()


def _cut_table() -> NDArray[np.bool_]:
    word = np.zeros(128, dtype=np.bool_)
    for code in b"abcdefghijklmnopqrstuvwxyz0123456789_":
        word[code] = True
    for code in range(128, 256):
        word[MAPPING[code]] = True
    first, second = np.meshgrid(np.arange(128), np.arange(128), indexing="ij")
    inside = ((first * 2654435761 + second * 40503) >> 7) % 4 == 0
    table = np.zeros(1 << 16, dtype=np.bool_)
    cut = word[second] & (~word[first] | inside) & (first != _NEWLINE)
    table[(first | (second << 8)).ravel()] = cut.ravel()
    return table


_CUTS = _cut_table()


def _unaligned(mapped: bytes, dtype: str, count: int) -> NDArray[Any]:
    return np.ndarray((max(count, 0),), dtype, mapped, 0, (1,))


class KeyFinder:
    """Finds the distinct keys of a text; keeps scratch memory, so one per thread."""

    def __init__(self) -> None:
        self._last = np.zeros(1 << 21, dtype=np.uint16)
        self._last_window = np.zeros(1 << WINDOW_BITS, dtype=np.uint16)
        self._positions = np.arange(1 << 16, dtype=np.uint16)

    def keys(self, text: bytes) -> tuple[list[Keys], list[Keys]]:
        """Give trigram keys and window keys of `text`; a key may occur in several of the arrays, never twice in one."""
        for hazard, plain in zip(FOLD_HAZARDS, (b"k", b"s"), strict=True):
            if hazard in text:
                text = text + b"\n" + text.replace(hazard, plain)
        mapped = text.translate(MAPPING)
        trigrams: list[Keys] = []
        windows: list[Keys] = []
        for start in range(0, max(len(mapped) - 2, 0), _PIECE):
            piece = mapped[start : start + _PIECE + 2]
            trigrams.append(_without_newlines(self._distinct(_trigrams(piece), self._last)))
            piece = mapped[max(start - _BEFORE, 0) : start + _PIECE + _AFTER]
            found = _windows(piece)
            if len(found):
                windows.append(self._distinct(found, self._last_window))
        return trigrams, windows

    def _distinct(self, codes: NDArray[np.int64], last: NDArray[np.uint16]) -> Keys:
        positions = self._positions[: len(codes)]
        last[codes] = positions
        distinct: Keys = codes[last[codes] == positions].astype(np.uint32)
        return distinct


def _trigrams(mapped: bytes) -> NDArray[np.int64]:
    codes = np.frombuffer(mapped, np.uint8).astype(np.int64)
    found = codes[:-2] | (codes[1:-1] << 7)
    found |= codes[2:] << 14
    return found


def _without_newlines(keys: Keys) -> Keys:
    code = np.uint32(_NEWLINE)
    kept = ((keys & 127) != code) & ((keys >> 14) != code)
    kept &= (keys & (127 << 7)) != (code << 7)
    plain: Keys = keys[kept]
    return plain


def _windows(mapped: bytes) -> NDArray[np.int64]:
    pairs = _unaligned(mapped, "<u2", len(mapped) - 1)
    cuts = np.flatnonzero(_CUTS[pairs]) + 1
    cuts = cuts[(cuts >= _BEFORE) & (cuts + _AFTER <= len(mapped))]
    if not len(cuts):
        return cuts
    words = _unaligned(mapped + b"\0", "<u8", len(mapped) - 6)[cuts - _BEFORE] & _SEVEN_BYTES
    marked = words ^ np.uint64(0x0A0A0A0A0A0A0A)
    newline = (marked - np.uint64(0x01010101010101)) & ~marked & np.uint64(0x80808080808080)
    words = words[newline == 0]
    hashed: NDArray[np.int64] = ((words * _HASH) >> np.uint64(64 - WINDOW_BITS)).astype(np.int64)
    return hashed


def _literal_keys(text: bytes) -> tuple[list[int], list[int]]:
    mapped = fold(text).translate(MAPPING)
    trigrams = np.unique(_trigrams(mapped)).tolist() if len(mapped) > 2 else []
    return trigrams, np.unique(_windows(mapped)).tolist()


@functools.lru_cache(maxsize=4096)
def literal_keys(text: bytes) -> tuple[Keys, Keys]:
    """Give the keys that every text with this literal (case ignored) has: sorted trigrams and sorted windows.

    Only what stands between newlines counts, since keys never cross a unit's end.
    """
    parts: Sequence[bytes] = text.split(b"\n")
    found = [_literal_keys(part) for part in parts]
    trigrams = sorted({key for part, _ in found for key in part})
    windows = sorted({key for _, part in found for key in part})
    return np.array(trigrams, dtype=np.uint32), np.array(windows, dtype=np.uint32)
