"""Make the posting lists of a shard from its text: for every key the units that have it, ascending.

Text is collected in blocks of many units, and numpy handles a block at once: most files have a few kilobytes, for which
its calls cost as much as their work. The keys of a block are numbers of 32 bits, the key above the unit, so that one
sort finds those that occur several times. At the end a second sort joins the blocks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import stringzilla
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, UInt8Array, UInt16Array, UInt32Array
from sourcelight.core.patterns import FOLD_HAZARDS
from sourcelight.engines.search.index.postings import COMMON_KEY, HASH_BITS, MAPPING, TRIGRAM_BITS, all_grams, all_keys
from sourcelight.engines.search.index.quads import QUAD_BITS, all_quads, quad_words

BLOCK_BYTES = 256 * 1024
"""Bytes of text whose keys are sorted at once; its arrays fit the processor's caches."""

_UNIT_BITS = 32 - TRIGRAM_BITS
"""Bits of a unit's number within its block."""

_SLICE_BITS = 16
"""Bits of a key within its slice, and of a unit within its shard."""

_UNIT_MASK = np.uint32((1 << _UNIT_BITS) - 1)

_MAX_UNITS = int(_UNIT_MASK)
"""Units of a block: one less than there are numbers, so that no pair of key and unit is `_NO_KEY`."""

_NO_KEY = np.uint32(0xFFFFFFFF)
"""Stands for a trigram with a newline; as the largest number, all of them end up last in a sort."""

_OVERLAP_BYTES = 5
"""Bytes that two parts of a long unit share: one less than the longest key reads."""

DENSE_FRACTION = 16
"""A list with more than one unit in sixteen is smaller as a bitmap (16 bits a unit), and faster to intersect."""

COMMON_FRACTION, MIN_COMMON_UNITS = 4, 8
"""A window or gram in more than one unit in four, and in more than eight, has no list: it leaves few units less."""

_MAX_MATRIX_BYTES = 8 * 1024 * 1024
_MIN_HASH_BITS = 8

_MIN_QUAD_BITS = 8
"""Bits of a hash below which a shard has no bitmaps of quads: they would rule out little."""

_PORTION_BYTES = 32
"""Bytes of a unit's hashes whose bitmaps are made at once: 16 MB for a shard of the largest size."""

_Keys: TypeAlias = tuple[UInt32Array, UInt32Array, UInt32Array, UInt8Array]


def hash_bits(text_bytes: int) -> int:
    """Return the bits of windows in a shard of this size: the table of starts then takes about 3 % of the text."""
    return max(_MIN_HASH_BITS, min(HASH_BITS, (text_bytes // 128).bit_length()))


def gram_bits(text_bytes: int) -> int:
    """Return the bits of grams in a shard of this size: there are fewer of them than windows."""
    return max(_MIN_HASH_BITS, hash_bits(text_bytes) - 2)


def quad_bits(text_bytes: int, units: int) -> int:
    """Return the bits of quads in a shard, whose bitmaps then take at most 5 % of the text; 0 for no bitmaps."""
    bits = min(QUAD_BITS, (text_bytes // max(20 * 8 * quad_words(units), 1)).bit_length() - 1)
    return bits if bits >= _MIN_QUAD_BITS else 0


class PostingBuilder:
    """Collects the text of units in order, and makes the posting lists of all of them."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0
        self._units = 0
        self._trigrams = _PairTable(TRIGRAM_BITS)
        self._windows = _PairTable(HASH_BITS)
        self._grams = _PairTable(HASH_BITS)
        # A row for each unit, with a bit for each hash of a quad.
        self._quads: list[UInt8Array] = []

    def add(self, text: bytes) -> None:
        """Add the next unit."""
        # Closed before it would grow too long, not after: only a block of one unit may be longer.
        if self._parts and (self._size + len(text) > BLOCK_BYTES or len(self._parts) == _MAX_UNITS):
            self._close_block()
        self._parts.append(text)
        self._size += len(text) + 1

    def sections(self, text_bytes: int) -> dict[str, list[AnyArray]]:
        """Return the sections of a shard with `text_bytes` bytes, each in parts; nothing can be added afterwards."""
        if self._parts:
            self._close_block()
        bits = hash_bits(text_bytes)
        return {
            **_trigram_sections(self._trigrams, self._units),
            **_hash_sections("key", self._windows, bits, self._units),
            **_hash_sections("gram", self._grams, gram_bits(text_bytes), self._units),
            **_quad_sections(self._quads, quad_bits(text_bytes, self._units)),
        }

    def _close_block(self) -> None:
        parts, self._parts, self._size = self._parts, [], 0
        is_long = len(parts) == 1 and len(parts[0]) > BLOCK_BYTES
        trigrams, windows, grams, quads = _keys_of_long_unit(parts[0]) if is_long else _keys_of_units(parts)
        self._trigrams.add(trigrams, self._units)
        self._windows.add(windows, self._units)
        self._grams.add(grams, self._units)
        self._quads.append(quads)
        self._units += len(parts)


class _PairTable:
    """Pairs of key and unit of a shard, in slices by the high bits of the key.

    Within a slice, the low 16 bits of the key and the unit make a number of 32 bits, and one sort orders them by both.
    Sorting them as numbers of 64 bits takes three times as long and twice the memory.
    """

    def __init__(self, bits: int) -> None:
        self._slices: list[list[UInt32Array]] = [[] for _ in range(1 << bits - _SLICE_BITS)]
        self._starts = np.arange(len(self._slices), dtype=np.uint32) << np.uint32(_SLICE_BITS + _UNIT_BITS)

    def add(self, keys: UInt32Array, first_unit: int) -> None:
        """Add the sorted keys of a block whose first unit is `first_unit`."""
        bounds = [*keys.searchsorted(self._starts).tolist(), len(keys)]
        pairs = keys & _UNIT_MASK

        # Fits: a shard has fewer than 65,536 units.
        pairs += np.uint32(first_unit)
        keys >>= np.uint32(_UNIT_BITS)

        # The high bits of the key, which are the number of its slice, are shifted out.
        keys <<= np.uint32(_SLICE_BITS)
        pairs |= keys
        for pairs_of_slice, (start, end) in zip(self._slices, pairwise(bounds), strict=True):
            if start < end:
                pairs_of_slice.append(pairs[start:end])

    def take(self, drop_bits: int = 0) -> Iterator[tuple[int, UInt32Array, UInt16Array]]:
        """Yield for each slice its first key, the low bits of its keys, and their units, sorted; empties the table.

        Keys lose `drop_bits` low bits: different hashes of a small shard may then share a list.
        """
        for number, blocks in enumerate(self._slices):
            if not blocks:
                continue

            pairs = np.concatenate(blocks)
            blocks.clear()
            if drop_bits:
                units = pairs & np.uint32(0xFFFF)
                pairs >>= np.uint32(_SLICE_BITS + drop_bits)
                pairs <<= np.uint32(_SLICE_BITS)
                pairs |= units
                pairs = _distinct(pairs)
            else:
                pairs.sort()

            # The cast drops the key.
            lists = pairs.astype(np.uint16)
            pairs >>= np.uint32(_SLICE_BITS)
            yield number << _SLICE_BITS >> drop_bits, pairs, lists


def _keys_of_units(parts: Sequence[bytes]) -> _Keys:
    """Return the distinct trigrams, windows and grams of units, sorted, and a row of bits of the quads of each unit.

    The former are ``key << _UNIT_BITS | unit``.
    """
    # Keys never contain a newline, so none crosses from one unit to the next.
    text = b"\n".join(parts)
    if not text.isascii() and any(hazard in text for hazard in FOLD_HAZARDS):
        parts = [_with_folded(part) for part in parts]
        text = b"\n".join(parts)
    # The newline after the last unit is missing, and no key begins there.
    lengths = np.fromiter((len(part) + 1 for part in parts), np.intp, len(parts))
    return _sorted_keys(text, np.repeat(np.arange(len(parts), dtype=np.uint32), lengths), len(parts))


def _sorted_keys(text: bytes, units: UInt32Array, unit_count: int) -> _Keys:
    """Return the distinct keys of a text; `units` has the unit of each byte."""
    mapped = stringzilla.translate(text, MAPPING)
    quads = _quad_rows(mapped, units, unit_count)
    trigrams, is_complete, windows, cuts = all_keys(mapped)
    # In place: a new array of this size costs as much as the shift.
    trigrams <<= np.uint32(_UNIT_BITS)
    trigrams |= units[: len(trigrams)]
    windows <<= np.uint32(_UNIT_BITS)
    windows |= units.take(cuts)
    grams, positions = all_grams(text)
    grams <<= np.uint32(_UNIT_BITS)
    grams |= units.take(positions)

    # Replaced and sorted with the others: copying those without a newline takes three times as long.
    np.copyto(trigrams, _NO_KEY, where=~is_complete)
    trigrams = _distinct(trigrams)
    if len(trigrams) and trigrams[-1] == _NO_KEY:
        trigrams = trigrams[:-1]

    return trigrams, _distinct(windows), _distinct(grams), quads


def _quad_rows(mapped: bytes, units: UInt32Array, unit_count: int) -> UInt8Array:
    """Return a row of bits for each unit: which hashes its quads have."""
    quads, is_quad = all_quads(mapped)
    # Stamps, not a sort: a unit has at most 2,048 hashes, whose stamps fit the processor's first cache.
    positions = units[: len(quads)] << np.uint32(QUAD_BITS)
    positions |= quads
    has_quad = np.zeros(unit_count << QUAD_BITS, dtype=np.bool_)
    # As numbers of the type of an index: numpy converts others piece by piece, in three times the time.
    has_quad[positions.compress(is_quad).astype(np.intp)] = True
    return np.packbits(has_quad.reshape(unit_count, -1), axis=1)


def _keys_of_long_unit(text: bytes) -> _Keys:
    # Folded before it is cut: a cut may fall within a letter.
    text = _with_folded(text)
    trigrams = windows = grams = np.zeros(0, dtype=np.uint32)
    quads = np.zeros((1, (1 << QUAD_BITS) // 8), dtype=np.uint8)
    for start in range(0, len(text), BLOCK_BYTES):
        part = text[max(start - _OVERLAP_BYTES, 0) : start + BLOCK_BYTES]
        *keys, quads_of_part = _sorted_keys(part, np.zeros(len(part), dtype=np.uint32), 1)
        quads |= quads_of_part
        # Joined one by one: there are 2²¹ trigrams, and all parts together may have hundreds of times as many.
        trigrams, windows, grams = (
            _distinct(np.concatenate(pair)) for pair in zip((trigrams, windows, grams), keys, strict=True)
        )

    return trigrams, windows, grams, quads


def _with_folded(text: bytes) -> bytes:
    """Append the text with letters for the Kelvin sign and the long s.

    They match k and s when case is ignored, so both readings are indexed.
    """
    for hazard, ascii_letter in zip(FOLD_HAZARDS, (b"k", b"s"), strict=True):
        if hazard in text:
            text = text + b"\n" + text.replace(hazard, ascii_letter)
    return text


def _distinct(keys: UInt32Array) -> UInt32Array:
    """Sort keys in place, and return each once."""
    # A sort of 32-bit numbers is vectorized (4.5 ns each); stamps in a table of all keys take as long for units of
    # 16 KiB, and twice that for small ones.
    keys.sort()
    return keys.compress(_is_first(keys))


def _is_first(keys: UInt32Array) -> BoolArray:
    """Return whether each of sorted keys differs from the one before."""
    is_first = np.ones(len(keys), dtype=np.bool_)
    np.not_equal(keys[1:], keys[:-1], out=is_first[1:])
    return is_first


def _trigram_sections(table: _PairTable, units: int) -> dict[str, list[AnyArray]]:
    """Make the sections of trigram lists, each in parts."""
    # Each begins with an empty part, which has the type if a shard has no key.
    no_keys = np.zeros(0, dtype=np.uint32)
    sections: dict[str, list[AnyArray]] = {
        "tri_keys": [no_keys],
        "tri_starts": [np.zeros(1, dtype=np.uint32)],
        "tri_lists": [np.zeros(0, dtype=np.uint16)],
        "dense_keys": [no_keys],
        "dense_bits": [np.zeros(0, dtype=np.uint8)],
    }
    sparse_pairs = 0
    for first_key, low_bits, lists in table.take():
        starts = np.flatnonzero(_is_first(low_bits))
        counts = np.diff(starts, append=len(low_bits))
        keys = low_bits.take(starts) + np.uint32(first_key)
        is_dense = counts > max(units // DENSE_FRACTION, 8)
        in_dense = np.repeat(is_dense, counts)
        sections["dense_keys"].append(keys[is_dense])
        sections["dense_bits"].append(_bitmaps(lists[in_dense], counts[is_dense], units))
        sections["tri_keys"].append(keys[~is_dense])
        sections["tri_starts"].append(np.cumsum(counts[~is_dense], dtype=np.uint32) + np.uint32(sparse_pairs))
        sections["tri_lists"].append(lists[~in_dense])
        sparse_pairs += len(sections["tri_lists"][-1])

    return sections


def _bitmaps(lists: UInt16Array, counts: NDArray[np.intp], units: int) -> UInt8Array:
    # A row is unpacked to a byte per unit before it is packed, so rows are made in portions.
    width = (units + 7) // 8
    rows = max(1, _MAX_MATRIX_BYTES // max(units, 1))
    packed = np.zeros((len(counts), width), dtype=np.uint8)
    ends = np.cumsum(counts)
    for first_row in range(0, len(counts), rows):
        row_counts = counts[first_row : first_row + rows]
        start, end = int(ends[first_row] - counts[first_row]), int(ends[first_row + len(row_counts) - 1])
        matrix = np.zeros(len(row_counts) * units, dtype=np.bool_)
        positions = np.repeat(np.arange(len(row_counts)) * units, row_counts)
        positions += lists[start:end]

        # One index for row and unit together: numpy takes twice as long for two.
        matrix[positions] = True
        packed[first_row : first_row + len(row_counts)] = np.packbits(
            matrix.reshape(-1, units), axis=1, bitorder="little"
        )

    return packed.ravel()


def _hash_sections(kind: str, table: _PairTable, bits: int, units: int) -> dict[str, list[AnyArray]]:
    """Make the sections of the lists of windows or grams, each in parts; their hashes have `bits` bits."""
    drop_bits = HASH_BITS - bits
    counts = np.zeros(1 << bits, dtype=np.intp)
    is_common = np.zeros(1 << bits, dtype=np.bool_)
    lists: list[AnyArray] = [np.zeros(0, dtype=np.uint16)]
    width = 1 << _SLICE_BITS - drop_bits
    limit = max(units // COMMON_FRACTION, MIN_COMMON_UNITS)
    for first_key, low_bits, units_of_keys in table.take(drop_bits):
        slice_counts = np.bincount(low_bits, minlength=width)
        is_over = slice_counts > limit
        lists.append(units_of_keys[np.repeat(~is_over, slice_counts)])
        slice_counts[is_over] = 0
        counts[first_key : first_key + width] = slice_counts
        is_common[first_key : first_key + width] = is_over

    # A table with an entry for every possible hash: a look-up is two reads, where trigrams need a binary search.
    starts = np.zeros(len(counts) + 1, dtype=np.uint32)
    np.cumsum(counts, out=starts[1:])
    starts[:-1][is_common] |= np.uint32(COMMON_KEY)
    return {f"{kind}_starts": [starts], f"{kind}_lists": lists}


def _quad_sections(rows: list[UInt8Array], bits: int) -> dict[str, list[AnyArray]]:
    """Make the section of the bitmaps of quads, in parts, from the rows of units; empty for hashes of 0 bits."""
    if not bits:
        return {}

    of_units = np.concatenate(rows)
    units = len(of_units)
    parts: list[AnyArray] = []
    # Neighboring hashes share a bitmap, as they share a list in `_PairTable.take`.
    hashes_of_bitmap = 1 << QUAD_BITS - bits
    for first in range(0, of_units.shape[1], _PORTION_BYTES):
        has_quad = np.unpackbits(of_units[:, first : first + _PORTION_BYTES], axis=1)
        if hashes_of_bitmap > 1:
            has_quad = has_quad.reshape(units, -1, hashes_of_bitmap).max(axis=2)
        bitmaps = np.zeros((has_quad.shape[1], 8 * quad_words(units)), dtype=np.uint8)
        bitmaps[:, : (units + 7) // 8] = np.packbits(np.ascontiguousarray(has_quad.T), axis=1, bitorder="little")
        parts.append(bitmaps.view("<u8").ravel())
    return {"quad_bits": parts}
