"""Byte ranges of several texts, addressed as one, and the plain texts and lines inside them.

One address space makes a scan of many files of an index one call, and not one call per file.
"""

from __future__ import annotations

import functools
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import stringzilla
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array, pairs

RANGE_COST_BYTES = 4096
"""Bytes whose scan costs about as much as one more range."""

SPARSE = 1024
"""Bytes for each occurrence of a single byte below which comparing all bytes is quicker than a search for each one."""

DENSE = 96
"""Bytes for each occurrence of a longer text below which the same holds."""

MANY = 16
"""Ranges from which on one search of all that lies between them is quicker, if that is little."""

PROBE = 1 << 20
"""First bytes of the ranges, a sample for the density of a text; counting in all takes as long as finding."""

FEW = 32
"""Occurrences up to which nothing is sampled before they are found one by one."""

BLOCK = 256 << 10
"""Bytes compared at once, so that they stay in the processor's cache."""


class BufferList:
    """Texts one after another: byte *n* of text *i* has the address ``first[i] + n``.

    Parameters
    ----------
    views
        The texts, none of which is copied.
    first
        Addresses of their first bytes, ascending. Between a text and the next there must be more than
        `RANGE_COST_BYTES` addresses, so that `join_near` joins no ranges of two texts.
    """

    def __init__(self, views: Sequence[memoryview], first: Int64Array) -> None:
        self.views = views
        self.first = first

    @classmethod
    def of(cls, buffer: Any) -> BufferList:
        """Return a `BufferList` unchanged, or one of a single text, addressed from 0."""
        if isinstance(buffer, cls):
            return buffer
        return cls([memoryview(buffer)], np.zeros(1, dtype=np.int64))

    def check(self, ranges: Int64Array) -> None:
        """Do nothing: all bytes may be read. A subclass may check ranges here before they are."""

    def slices(self, ranges: Int64Array) -> list[memoryview]:
        """Return the bytes of ranges, clipped to their texts."""
        self.check(ranges)
        if len(self.views) == 1:
            view, base = self.views[0], int(self.first[0])
            return [view[start - base : end - base] for start, end in ranges.tolist()]

        which = self.index_of(ranges[:, 0])
        numbers = which.tolist()

        views = self.views
        local_ranges = ranges - self.first[which][:, None]
        return [views[number][start:end] for number, (start, end) in zip(numbers, local_ranges.tolist(), strict=True)]

    def index_of(self, addresses: Int64Array) -> NDArray[np.intp]:
        """Return the index of the text that holds each address."""
        return self.first.searchsorted(addresses, side="right") - 1

    def runs(self, addresses: Int64Array) -> Iterator[tuple[int, int, int]]:
        """Cut ascending addresses by text: yield (text, first, last) for each text that has any."""
        if not len(addresses):
            return
        if len(self.views) == 1:
            yield 0, 0, len(addresses)
            return

        # Texts follow one another in the address space, so the addresses of each are one slice.
        bounds = addresses.searchsorted(self.first).tolist()
        bounds.append(len(addresses))
        yield from skip_empty(bounds)


def skip_empty(bounds: list[int]) -> Iterator[tuple[int, int, int]]:
    """Yield the number, start and end of each range that isn't empty; range *i* is from ``bounds[i]`` to the next."""
    # Most texts have no match, so the loop is over distinct bounds: the last range that starts at one isn't empty.
    starts = sorted(set(bounds))
    for start, end in pairwise(starts):
        yield bisect_right(bounds, start) - 1, start, end


def as_ranges(ranges: Any) -> Int64Array:
    """Return `ranges` as an n x 2 array of byte offsets."""
    return np.asarray(ranges, dtype=np.int64).reshape(-1, 2)


def join_adjacent(ranges: Int64Array) -> Int64Array:
    """Join ranges where one ends at the start of the next."""
    if len(ranges) < 2:
        return ranges
    is_separate = ranges[1:, 0] != ranges[:-1, 1]
    first = np.concatenate(([True], is_separate))
    last = np.concatenate((is_separate, [True]))
    return pairs(ranges[first, 0], ranges[last, 1])


def join_near(ranges: Int64Array) -> Int64Array:
    """Join ranges whose gap costs less to scan than one more range."""
    if len(ranges) < 2:
        return ranges

    # Bytes of a gap are read for nothing, but a range costs a call: the shorter gaps are cheaper to read.
    is_separate = ranges[1:, 0] - ranges[:-1, 1] > RANGE_COST_BYTES
    if is_separate.all():
        return ranges

    first = np.concatenate(([True], is_separate))
    last = np.concatenate((is_separate, [True]))
    return pairs(ranges[first, 0], ranges[last, 1])


def offsets_within(offsets: Int64Array, ranges: Int64Array) -> Int64Array:
    """Keep the offsets that lie in `ranges` (ascending, apart)."""
    # The last range that starts at or before each offset. Row -1, before all ranges, would mean the last one.
    row = np.searchsorted(ranges[:, 0], offsets, side="right") - 1
    selected: Int64Array = offsets[(row >= 0) & (offsets < ranges[row, 1])]
    return selected


def cut_at_lines(buffers: BufferList, ranges: Int64Array, portion: int) -> Int64Array:
    """Cut ranges that are far longer than `portion` bytes at newlines into pieces of about that size."""
    # Twice the portion: a range slightly above it would leave a tiny rest.
    if not (ranges[:, 1] - ranges[:, 0] > 2 * portion).any():
        return ranges

    blocks: list[tuple[int, int]] = []
    for (base, _), text in zip(ranges.tolist(), buffers.slices(ranges), strict=True):
        find = stringzilla.Str(text).find
        position, size = 0, len(text)
        while size - position > 2 * portion and (newline := find(b"\n", position + portion, size)) >= 0:
            blocks.append((base + position, base + newline + 1))
            position = newline + 1
        blocks.append((base + position, base + size))

    return np.array(blocks, dtype=np.int64)


def portions(ranges: Int64Array, size: int) -> Iterator[Int64Array]:
    """Cut a list of ranges into lists of at most `size` bytes, or one range; empty ranges are left out."""
    ranges = ranges[ranges[:, 1] > ranges[:, 0]]
    ends = np.cumsum(ranges[:, 1] - ranges[:, 0])
    first = 0
    while first < len(ranges):
        done = int(ends[first - 1]) if first else 0
        # A range larger than `size` makes a portion by itself.
        last = max(first + 1, int(np.searchsorted(ends, done + size, side="right")))
        yield ranges[first:last]
        first = last


def find_in_all(buffers: BufferList, text: bytes, ranges: Int64Array) -> Int64Array:
    """Return the addresses of all occurrences of `text` in each range, as `find_texts` does for one text."""
    # The texts are read in place here, and not by `slices`. Bytes between ranges may be read too, but decide nothing.
    buffers.check(ranges)
    if len(buffers.views) == 1 and not buffers.first[0]:
        return find_texts(buffers.views[0], text, ranges)

    width = len(text)
    if width == 1:
        return _find_in_each(buffers, text, ranges)

    starts: list[int] = []
    add = starts.append
    scanned, may_be_dense = 0, never_overlaps(text)
    for number, first, last in buffers.runs(ranges[:, 0]):
        find, base = stringzilla.Str(buffers.views[number]).find, int(buffers.first[number])
        for start, end in (ranges[first:last] - base).tolist():
            scanned += end - start
            position = find(text, start, end)
            # As in most ranges of a rare text: the rest of this loop takes a quarter of the time of reading one.
            if position < 0:
                continue
            while position >= 0:
                add(position + base)
                position = find(text, position + width, end)
            # Where matches are dense, numpy finds them for whole ranges; this loop pays about a microsecond for each.
            # The bytes read so far are the sample: a separate one would read a rare text's few ranges twice.
            if may_be_dense and len(starts) * DENSE > scanned > BLOCK:
                return _find_in_each(buffers, text, ranges)

    return np.array(starts, dtype=np.int64)


def _find_in_each(buffers: BufferList, text: bytes, ranges: Int64Array) -> Int64Array:
    """Find a common text as `find_texts` does, in one text after another."""
    offsets = [np.empty(0, dtype=np.int64)]
    for number, first, last in buffers.runs(ranges[:, 0]):
        base = int(buffers.first[number])
        offsets.append(find_texts(buffers.views[number], text, ranges[first:last] - base) + base)
    return np.concatenate(offsets)


def find_texts(view: memoryview, text: bytes, ranges: Int64Array) -> Int64Array:
    """Return the starts of all non-overlapping occurrences of `text` in each range."""
    if _together(text, ranges):
        offsets = find_texts(view, text, np.array([[ranges[0, 0], ranges[-1, 1]]]))
        # The range that begins last before the match.
        position = np.searchsorted(ranges[:, 0], offsets, side="right") - 1
        # Drops matches in a gap or across the end of a range. The text can't overlap itself, so these hid no other.
        within_range: Int64Array = offsets[offsets + len(text) <= ranges[position, 1]]
        return within_range

    haystack = stringzilla.Str(view)
    if len(ranges) == 1:
        low, high = ranges[0].tolist()
        few = _find_few(haystack, text, low, high)
        if few is not None:
            return few

    if len(text) == 1 and len(ranges):
        probe = _first_bytes(ranges, PROBE)
        if count_texts(view, text, probe) * SPARSE > int((probe[:, 1] - probe[:, 0]).sum()):
            return _find_byte(view, text[0], ranges)

    if len(text) > 1 and never_overlaps(text) and len(ranges):
        probe = _first_bytes(ranges, PROBE)
        size = int((probe[:, 1] - probe[:, 0]).sum())
        if size > BLOCK and count_texts(view, text, probe) * DENSE > size:
            return _find_dense(view, text, ranges)

    if len(ranges) == 1:
        return _find_between(haystack, text, *ranges[0].tolist())

    find = haystack.find
    width = len(text)
    starts: list[int] = []
    add = starts.append
    for start, end in ranges.tolist():
        position = find(text, start, end)
        while position >= 0:
            add(position)
            position = find(text, position + width, end)

    return np.array(starts, dtype=np.int64)


def _find_few(haystack: stringzilla.Str, text: bytes, start: int, end: int) -> Int64Array | None:
    """Find a text that occurs a few times, in one pass; return None if there are more."""
    # To sample first reads a megabyte twice, which for a rare text is all that there is to do.
    find, width = haystack.find, len(text)
    starts: list[int] = []
    position = find(text, start, end)
    while position >= 0:
        if len(starts) == FEW:
            return None
        starts.append(position)
        position = find(text, position + width, end)

    return np.array(starts, dtype=np.int64)


def _find_between(haystack: stringzilla.Str, text: bytes, start: int, end: int) -> Int64Array:
    """Find a text by splitting at its occurrences: half the cost of a call for each."""
    # Piece and separator add up to the end of each occurrence; the last piece ends at the range and is dropped.
    ends = np.cumsum(np.fromiter(map(len, haystack[start:end].split_iter(text)), np.int64) + len(text))
    return ends[:-1] + (start - len(text))


def _together(text: bytes, ranges: Int64Array) -> bool:
    """Return whether to search ranges as one: they are many and close together, and no occurrence hides another."""
    if len(ranges) < MANY or not text or not never_overlaps(text):
        return False
    starts, ends = ranges[:, 0], ranges[:, 1]
    return bool((starts[1:] >= ends[:-1]).all() and 2 * int((ends - starts).sum()) > int(ends[-1] - starts[0]))


def _first_bytes(ranges: Int64Array, limit_bytes: int) -> Int64Array:
    """Return the ranges that hold the first `limit_bytes` bytes."""
    ends = np.cumsum(ranges[:, 1] - ranges[:, 0])
    if int(ends[-1]) <= limit_bytes:
        return ranges
    last = int(np.searchsorted(ends, limit_bytes))
    first = ranges[: last + 1].copy()
    first[last, 1] -= int(ends[last]) - limit_bytes
    return first


@functools.lru_cache(maxsize=256)
def never_overlaps(text: bytes) -> bool:
    """Return whether no proper suffix of the text is one of its prefixes."""
    # Only a suffix that begins with the first byte can be a prefix, and few words have another one.
    start = text.find(text[:1], 1) if text else -1
    while start >= 0:
        if text.startswith(text[start:]):
            return False
        start = text.find(text[:1], start + 1)
    return True


def _find_dense(view: memoryview, text: bytes, ranges: Int64Array) -> Int64Array:
    """Find a text that can't overlap itself by its rarest byte, in all places of a block at once."""
    raw = np.frombuffer(view, dtype=np.uint8)
    start, end = int(ranges[0, 0]), int(ranges[-1, 1])
    counts = np.bincount(raw[start : min(start + BLOCK, end)], minlength=256)

    # The rarest byte of a sample leaves the fewest candidates; the others are compared by rarity too, so that the array
    # shrinks fast.
    rarest = min(range(len(text)), key=lambda position: int(counts[text[position]]))
    other_indexes = sorted(
        (position for position in range(len(text)) if position != rarest),
        key=lambda position: int(counts[text[position]]),
    )
    offsets = [np.empty(0, dtype=np.int64)]
    for start, end in ranges.tolist():
        # Places of the rarest byte for which the whole text lies in the range.
        first, last = start + rarest, end - (len(text) - 1 - rarest)
        for position in range(first, last, BLOCK):
            candidates = np.flatnonzero(raw[position : min(position + BLOCK, last)] == text[rarest]) + (
                position - rarest
            )
            for index in other_indexes:
                candidates = candidates[raw[candidates + index] == text[index]]
            offsets.append(candidates)

    return np.concatenate(offsets)


def _find_byte(view: memoryview, byte: int, ranges: Int64Array) -> Int64Array:
    raw = np.frombuffer(view, dtype=np.uint8)
    offsets = [np.empty(0, dtype=np.int64)]
    for start, end in ranges.tolist():
        offsets += (
            np.flatnonzero(raw[offset : min(offset + BLOCK, end)] == byte) + offset
            for offset in range(start, end, BLOCK)
        )

    return np.concatenate(offsets)


def count_texts(view: memoryview, text: bytes, ranges: Int64Array) -> int:
    """Count the non-overlapping occurrences of `text` in the ranges."""
    haystack = stringzilla.Str(view)
    return sum(haystack.count(text, start, end) for start, end in ranges.tolist())


def counts_in_each(buffers: BufferList, text: bytes, ranges: Int64Array) -> Int64Array:
    """Count the non-overlapping occurrences of a text in each range."""
    texts = buffers.slices(ranges)
    text_in = stringzilla.Str
    return np.fromiter((text_in(part).count(text) for part in texts), np.int64, len(texts))


def lines_around(view: memoryview, offsets: Int64Array, ranges: Int64Array) -> tuple[Int64Array, Int64Array]:
    """Return the starts and ends (newline excluded) of the lines that hold `offsets`, each line once."""
    haystack = stringzilla.Str(view)
    starts: list[int] = []
    ends: list[int] = []
    line_end = -1
    rows = np.maximum(np.searchsorted(ranges[:, 0], offsets, side="right") - 1, 0)
    for offset, (range_start, range_end) in zip(offsets.tolist(), ranges[rows].tolist(), strict=True):
        # Offsets ascend: this one lies on the line that was just added.
        if offset <= line_end:
            continue
        newline = haystack.find(b"\n", offset, range_end)
        line_end = newline if newline >= 0 else range_end
        starts.append(max(haystack.rfind(b"\n", range_start, offset) + 1, range_start))
        ends.append(line_end)

    return np.array(starts, dtype=np.int64), np.array(ends, dtype=np.int64)


def every_line(buffers: BufferList, ranges: Int64Array) -> Int64Array:
    """Return one offset per line of the ranges: its newline, or the last byte of a range that ends without one."""
    offsets: list[Int64Array] = []
    for (start, end), text in zip(ranges.tolist(), buffers.slices(ranges), strict=True):
        raw = np.frombuffer(text, dtype=np.uint8)
        offsets.append(np.flatnonzero(raw == 10) + start)
        if end > start and raw[-1] != 10:
            offsets.append(np.array([end - 1]))
    if offsets:
        return np.concatenate(offsets).astype(np.int64)
    return np.empty(0, dtype=np.int64)


def disjoint_spans(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return distinct spans, sorted; of overlapping ones the earlier stays, of the same start the longest."""
    disjoint: list[tuple[int, int]] = []
    for span in sorted(set(spans), key=lambda span: (span[0], -span[1])):
        if not disjoint or span[0] >= disjoint[-1][1]:
            disjoint.append(span)
    return disjoint
