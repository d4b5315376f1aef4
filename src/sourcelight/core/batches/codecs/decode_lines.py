"""Decode matched lines and chunks of the wire into columns, many at a time and without an object per row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from operator import attrgetter
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.core.batches.codecs.wire_columns import LineColumns
from sourcelight.core.batches.columns import (
    CodePoints,
    Columns,
    FileColumns,
    distinct,
    int32,
    lists,
    repeats,
    strings,
    text_of,
)
from sourcelight.core.batches.records import WireLine, WireRange, WireRecord

#: Parts of matches in one decoding beyond one for each line; ranges of real matches don't lie over each other.
MAX_OVERLAPS = 1 << 23

_FIRST_LINE = attrgetter("content_start.line")


class OverlappingRanges(ValueError):
    """Raised for ranges that lie over each other so often that they can't be matches."""


class ChunkRows:
    """Collects the chunks of records; these can be dropped after `add`, which keeps numbers and text only."""

    def __init__(self) -> None:
        self._files = FileColumns()
        self._lines = LineColumns()
        self._sizes = array("i")
        self._texts: list[str] = []
        self._truncated: list[bool] = []
        self._first = array("q")
        self._offsets = array("q")
        self._counts = array("i")
        self._extents = tuple(array("q") for _ in range(6))

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        self._files.add(records)
        self._lines.add(records)
        groups = [record.chunk_matches or () for record in records]
        self._sizes.fromlist(list(map(len, groups)))

        # Services send the best chunk first; rows of a file are in line order.
        chunks = [chunk for group in groups for chunk in (group if len(group) < 2 else sorted(group, key=_FIRST_LINE))]
        self._texts += [chunk.content or chunk.context or "" for chunk in chunks]
        self._truncated += [chunk.content_truncated is True for chunk in chunks]
        tops = [chunk.content_start for chunk in chunks]
        self._first.fromlist([top.line for top in tops])
        self._offsets.fromlist([top.offset for top in tops])
        ranges = [chunk.ranges for chunk in chunks]
        self._counts.fromlist(list(map(len, ranges)))
        extents: list[WireRange] = list(chain.from_iterable(ranges))
        for location_groups, ends in (
            (self._extents[:3], [extent.start for extent in extents]),
            (self._extents[3:], [extent.end for extent in extents]),
        ):
            location_groups[0].fromlist([end.line for end in ends])
            location_groups[1].fromlist([end.column for end in ends])
            location_groups[2].fromlist([end.offset for end in ends])

    @property
    def matches(self) -> int:
        """Number of matches, including matches in lines that were not sent."""
        return len(self._extents[0])

    def columns(self) -> tuple[Columns, Int64Array] | None:
        """Return the columns of all lines with matches, and the record of each, or None if there are none.

        Raises
        ------
        OverlappingRanges
            If ranges lie over each other so often that they can't be matches.
        """
        if not self._texts:
            return None

        texts = strings(self._texts)
        lines = _ChunkLines.of(texts)
        first, offset = np.asarray(self._first), np.asarray(self._offsets)
        locations = [np.asarray(extent) for extent in self._extents]
        parts = _Parts(repeats(np.asarray(self._counts)), locations, first, lines)
        if not len(parts.line):
            return None

        # All parts of one line make a row.
        bounds = np.flatnonzero(np.concatenate(([True], parts.line[1:] != parts.line[:-1], [True])))
        top, counts = bounds[:-1], bounds[1:] - bounds[:-1]
        line, chunk = parts.line[top], parts.chunk[top]
        line_offset = parts.line_offset(top, lines)
        start, end = lists(counts, parts.start, parts.end)
        byte_start, byte_end = start, end
        if not lines.points.ascii:
            byte_start, byte_end = lists(counts, *parts.in_bytes(np.repeat(line_offset, counts), lines))

        take = repeats(np.asarray(self._sizes))[chunk]
        columns = self._files.columns("content", take) | {
            "line_number": int32(first[chunk] + (line - lines.first[chunk]) + 1),
            "line": lines.texts(line),
            "start": start,
            "end": end,
            "match_count": int32(np.add.reduceat(parts.is_first, top, dtype=np.int32)),
            "chunk": distinct(self._texts, chunk, texts),
            "chunk_start_line": int32(first[chunk] + 1),
            "truncated": pa.array(np.array(self._truncated)[chunk]),
            "line_offset": pa.array(line_offset),
            "byte_start": byte_start,
            "byte_end": byte_end,
            "chunk_offset": pa.array(offset[chunk]),
            **self._files.name_columns(take),
            **self._lines.columns(take),
        }
        return columns, take


@dataclass(frozen=True, slots=True)
class _ChunkLines:
    """The lines of all chunks, numbered through: bytes `start` to `end` of the joined text."""

    data: Any
    points: CodePoints
    start: Int64Array
    end: Int64Array
    first: Int64Array
    count: Int64Array

    @classmethod
    def of(cls, texts: Any) -> _ChunkLines:
        bounds, text = text_of(texts)
        breaks = np.flatnonzero(text == ord("\n"))
        breaks_before = np.searchsorted(breaks, bounds)

        # Each chunk starts a line and ends one; so does each newline.
        start = np.sort(np.concatenate((bounds[:-1], breaks + 1)))
        end = np.sort(np.concatenate((bounds[1:], breaks)))
        first, count = breaks_before[:-1] + np.arange(len(texts)), breaks_before[1:] - breaks_before[:-1] + 1
        return cls(data=texts.buffers()[2], points=CodePoints(text), start=start, end=end, first=first, count=count)

    def texts(self, line: Int64Array) -> Any:
        """Return the text of the lines `line`, which are in order and none of them twice."""
        # Every other text of this array lies between two lines.
        bounds = np.empty(2 * len(line), np.int32)
        bounds[0::2], bounds[1::2] = self.start[line], self.end[line]
        texts = pa.StringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), self.data)
        return texts.take(pa.array(np.arange(0, len(bounds), 2)))

    def length(self, line: Int64Array) -> Int64Array:
        """Return the number of code points of each line."""
        return self.points.before(self.end[line]) - self.points.before(self.start[line])

    def size(self, line: Int64Array) -> Int64Array:
        """Return bytes of each line."""
        return self.end[line] - self.start[line]

    def byte(self, line: Int64Array, point: Int64Array) -> Int64Array:
        """Convert code points into each line to bytes."""
        if self.points.ascii:
            return point
        start = self.start[line]
        return self.points.byte(self.points.before(start) + point) - start


class _Parts:
    """The parts of ranges that lie in one line each, ordered by line; lines that were not sent are left out."""

    def __init__(
        self, chunk: NDArray[np.int32], extents: list[Int64Array], first: Int64Array, lines: _ChunkLines
    ) -> None:
        starts, begin_column, begin_offset, stops, stop_column, stop_offset = extents
        back = (starts[1:] < starts[:-1]) | (starts[1:] == starts[:-1]) & (begin_column[1:] < begin_column[:-1])
        if (back & (chunk[1:] == chunk[:-1])).any():
            order = np.lexsort((begin_column, starts, chunk))
            starts, begin_column, begin_offset = starts[order], begin_column[order], begin_offset[order]
            stops, stop_column, stop_offset = stops[order], stop_column[order], stop_offset[order]

        starts, stops = starts - first[chunk], stops - first[chunk]
        start = np.maximum(starts, 0)

        # A range that ends before the first column ends with the newline before it.
        end = np.minimum(stops - ((stops > starts) & (stop_column == 0)), lines.count[chunk] - 1)
        counts = np.maximum(end - start + 1, 0)
        total = int(counts.sum())
        if total > MAX_OVERLAPS + len(lines.start):
            raise OverlappingRanges("the ranges of a match overlap too often")

        location_index = repeats(counts)
        position = start[location_index] + np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        line = lines.first[chunk[location_index]] + position
        if (line[1:] < line[:-1]).any():
            order = np.argsort(line, kind="stable")
            location_index, position, line = location_index[order], position[order], line[order]

        length = lines.length(line)
        self.line = line
        self.chunk = chunk[location_index]
        self.is_first = position == starts[location_index]
        self._is_last = position == stops[location_index]
        self._is_head = position == start[location_index]
        self._begin_column, self._stop_column = begin_column[location_index], stop_column[location_index]
        self._begin_offset, self._stop_offset = begin_offset[location_index], stop_offset[location_index]
        self.start = np.where(self.is_first, np.minimum(self._begin_column, length), 0)

        # The part of a match that continues ends after the newline.
        self.end = np.where(self._is_last, np.minimum(self._stop_column, length), length + 1)

    def line_offset(self, top: Int64Array, lines: _ChunkLines) -> Int64Array:
        """Return bytes in the file before the line of each row, whose first part is at `top`."""
        line = self.line[top]
        inside = lines.byte(line, np.maximum(self.start[top], 0))
        offset = self._begin_offset[top] - inside
        # A row that starts with the end of a match follows the row of the line before it.
        offsets: Int64Array = np.maximum.accumulate(np.where(self._is_head[top], np.arange(len(top)), 0))
        line_offset: Int64Array = offset[offsets] + lines.start[line] - lines.start[line[offsets]]
        return line_offset

    def in_bytes(self, line_offset: Int64Array, lines: _ChunkLines) -> tuple[Int64Array, Int64Array]:
        """Start and end of each part in bytes of its line, which is at `line_offset` of the file.

        Offsets of the wire count bytes of the file, even where the text shows a replacement.
        """
        size = lines.size(self.line)
        start = np.where(self.start == self._begin_column, self._begin_offset - line_offset, size)
        end = np.where(self._is_last & (self.end == self._stop_column), self._stop_offset - line_offset, size)
        return np.where(self.is_first, start, 0), end + ~self._is_last


class LineRows:
    """Collects the matched lines of records; these can be dropped after `add`, which keeps numbers and text only."""

    def __init__(self) -> None:
        self._files = FileColumns()
        self._lines = LineColumns()
        self._sizes = array("i")
        self._numbers = array("i")
        self._texts: list[str] = []
        self._counts = array("i")
        self._spans = array("i")

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        self._files.add(records)
        self._lines.add(records)
        groups = [record.line_matches or () for record in records]
        lines: list[WireLine] = list(chain.from_iterable(groups))
        pairs = [line.offset_and_lengths for line in lines]
        self._sizes.fromlist(list(map(len, groups)))
        self._numbers.fromlist([line.line_number for line in lines])
        self._texts += [line.line for line in lines]
        self._counts.fromlist(list(map(len, pairs)))
        self._spans.fromlist(list(chain.from_iterable(chain.from_iterable(pairs))))

    @property
    def matches(self) -> int:
        """Number of matches; a line without spans, whose match is empty, counts as one."""
        return int(np.maximum(np.asarray(self._counts), 1).sum())

    def columns(self) -> tuple[Columns, AnyArray] | None:
        """Return the columns of all rows, and the record of each, or None if there are none."""
        if not self._texts:
            return None

        take, texts = repeats(np.asarray(self._sizes)), self._texts
        numbers, counts, flat = np.asarray(self._numbers), np.asarray(self._counts), np.asarray(self._spans)
        starts, ends = flat[0::2], flat[0::2] + flat[1::2]

        # Services may send lines of a file out of order; frames have them sorted. The check is one pass, the sort is
        # rare.
        order = None
        if ((numbers[1:] < numbers[:-1]) & (take[1:] == take[:-1])).any():
            order = np.lexsort((numbers, take))
            # The inverse of `order` gives each line its new position; repeated per span, a stable sort moves the spans
            # along.
            span_order = np.argsort(np.argsort(order)[repeats(counts)], kind="stable")
            numbers, counts, texts = numbers[order], counts[order], [texts[i] for i in order.tolist()]
            starts, ends = starts[span_order], ends[span_order]

        line = strings(texts)
        start, end = lists(counts, starts, ends)
        byte_start, byte_end = _in_bytes(line, counts, starts, ends) or (start, end)
        columns = self._files.columns("content", take) | {
            "line_number": int32(numbers + np.int32(1)),
            "line": line,
            "start": start,
            "end": end,
            "match_count": int32(counts),
            **self._files.name_columns(take),
            **self._lines.columns(take, order),
            "byte_start": byte_start,
            "byte_end": byte_end,
        }
        return columns, take


def _in_bytes(line: Any, counts: AnyArray, *offsets: NDArray[np.int32]) -> tuple[Any, ...]:
    """Return columns of code point offsets (`counts` per line) as byte offsets; empty if all is ASCII."""
    bounds, text = text_of(line)
    points = CodePoints(text)
    if points.ascii:
        return ()

    first = points.before(bounds)
    line_starts, minimum, maximum = (np.repeat(bound, counts) for bound in (bounds[:-1], first[:-1], first[1:]))
    byte_offsets = (
        points.byte(np.minimum(minimum + np.maximum(position, 0), maximum)) - line_starts for position in offsets
    )
    return lists(counts, *(position.astype(np.int32) for position in byte_offsets))
