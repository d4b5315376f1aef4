"""Decode matched chunks of the wire into columns, many at a time and without an object per row.

A chunk is some lines of a file with the ranges of matches in them. A range may span several lines. It is cut into
*line ranges*, one for each of its lines, and all line ranges in one line are one row::

    chunk                  ranges                 line ranges             rows
    7  wait(              7:0 to 8:5             7: 0 to 6, 8: 0 to 5    7: wait(
    8      3)             8:4 to 8:6             8: 4 to 6               8:     3)
"""

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
    refuse_negative,
    repeats,
    strings,
    text_of,
)
from sourcelight.core.batches.records import WireChunk, WireLocation, WireRange, WireRecord

MAX_OVERLAPS = 8 * 1024 * 1024
"""Line ranges in one decoding beyond one for each line; ranges of real matches don't lie over each other."""

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
        self._starts = _Locations()
        self._ends = _Locations()

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        self._files.add(records)
        self._lines.add(records)
        chunks: list[WireChunk] = []
        for record in records:
            group = record.chunk_matches or ()
            self._sizes.append(len(group))
            # Services send the best chunk first; rows of a file are in line order.
            chunks += group if len(group) < 2 else sorted(group, key=_FIRST_LINE)

        self._texts += [chunk.content or chunk.context or "" for chunk in chunks]
        self._truncated += [chunk.content_truncated is True for chunk in chunks]
        self._first.fromlist([chunk.content_start.line for chunk in chunks])
        self._offsets.fromlist([chunk.content_start.offset for chunk in chunks])
        self._counts.fromlist([len(chunk.ranges) for chunk in chunks])
        ranges: list[WireRange] = list(chain.from_iterable([chunk.ranges for chunk in chunks]))
        self._starts.add([extent.start for extent in ranges])
        self._ends.add([extent.end for extent in ranges])

    @property
    def matches(self) -> int:
        """Number of matches, including matches in lines that were not sent."""
        return len(self._starts.line)

    def columns(self) -> tuple[Columns, Int64Array] | None:
        """Return the columns of all lines with matches, and the record of each, or None if there are none.

        Raises
        ------
        OverlappingRanges
            If ranges lie over each other so often that they can't be matches.
        OverflowError
            If a position is negative, a range ends before it starts, or no range of a record lies in the lines that
            were sent, so it has no row.
        """
        if not self._texts:
            return None

        texts = strings(self._texts)
        lines = _ChunkLines.of(texts)
        first = np.asarray(self._first)
        offset = np.asarray(self._offsets)
        chunk_of_range = repeats(np.asarray(self._counts))
        starts, ends = self._starts.arrays(), self._ends.arrays()
        refuse_negative(first, starts.line, starts.column, ends.line, ends.column)
        is_reversed = (ends.line < starts.line) | ((ends.line == starts.line) & (ends.column < starts.column))
        if is_reversed.any():
            raise OverflowError("a range ends before it starts")
        line_ranges = _LineRanges(chunk_of_range, starts, ends, first, lines)
        self._refuse_rowless(line_ranges.chunk)
        if not len(line_ranges.line):
            return None

        # All line ranges in one line make a row, whose first line range is at `top`.
        bounds = np.flatnonzero(np.concatenate(([True], line_ranges.line[1:] != line_ranges.line[:-1], [True])))
        top = bounds[:-1]
        counts = np.diff(bounds)
        line = line_ranges.line[top]
        chunk = line_ranges.chunk[top]
        line_offset = line_ranges.line_offset(top, lines)
        start, end = lists(counts, line_ranges.start, line_ranges.end)
        byte_start = start
        byte_end = end
        if not lines.points.ascii:
            byte_start, byte_end = lists(counts, *line_ranges.in_bytes(np.repeat(line_offset, counts), lines))

        take = repeats(np.asarray(self._sizes))[chunk]
        columns = self._files.columns("content", take) | {
            "line_number": int32(first[chunk] + (line - lines.first[chunk]) + 1),
            "line": lines.texts(line),
            "start": start,
            "end": end,
            "match_count": int32(np.add.reduceat(line_ranges.is_first, top, dtype=np.int32)),
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

    def _refuse_rowless(self, chunk: AnyArray) -> None:
        """Raise OverflowError for a record without a row; the ranges of a truncated chunk may lie in the rest.

        `chunk` is the chunk of each line range.
        """
        record = repeats(np.asarray(self._sizes))
        has_row = np.zeros(len(self._sizes), bool)
        has_row[record[chunk]] = True
        needs_row = record[~np.array(self._truncated)]
        if not has_row[needs_row].all():
            raise OverflowError("no range lies in the lines that were sent")


@dataclass(frozen=True, slots=True)
class _LocationArrays:
    """Locations in files, as arrays: line and column from 0, and byte of the file."""

    line: Int64Array
    column: Int64Array
    offset: Int64Array

    def take(self, order: NDArray[np.int64]) -> _LocationArrays:
        return _LocationArrays(self.line[order], self.column[order], self.offset[order])


class _Locations:
    """Locations that are being collected."""

    def __init__(self) -> None:
        self.line = array("q")
        self._column = array("q")
        self._offset = array("q")

    def add(self, locations: Sequence[WireLocation]) -> None:
        self.line.fromlist([location.line for location in locations])
        self._column.fromlist([location.column for location in locations])
        self._offset.fromlist([location.offset for location in locations])

    def arrays(self) -> _LocationArrays:
        return _LocationArrays(np.asarray(self.line), np.asarray(self._column), np.asarray(self._offset))


@dataclass(frozen=True, slots=True)
class _ChunkLines:
    """The lines of all chunks, numbered through.

    Attributes
    ----------
    data
        The buffer of the joined text.
    points
        Its code points.
    start, end
        First byte and end of each line in the joined text, without the newline.
    first, count
        The first line of each chunk, and its number of lines.
    """

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
        first = breaks_before[:-1] + np.arange(len(texts))
        count = np.diff(breaks_before) + 1
        return cls(data=texts.buffers()[2], points=CodePoints(text), start=start, end=end, first=first, count=count)

    def texts(self, line: Int64Array) -> Any:
        """Return the text of the lines `line`, which are in order and none of them twice."""
        # Every other text of this array lies between two lines.
        bounds = np.empty(2 * len(line), np.int32)
        bounds[0::2] = self.start[line]
        bounds[1::2] = self.end[line]
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


class _LineRanges:
    """Ranges cut at their lines, ordered by line; lines that were not sent are left out.

    Parameters
    ----------
    chunk
        The chunk of each range.
    range_starts, range_ends
        Where each range starts and ends in its file.
    first
        The first line of each chunk in its file, from 0.
    lines
        The lines of all chunks.

    Attributes
    ----------
    line, chunk
        The line of each line range among those of all chunks, and its chunk.
    start, end
        Code points of the line; the end of a line range whose range goes on is behind the newline.
    is_first
        Whether its range starts with it.
    """

    def __init__(
        self,
        chunk: NDArray[np.int32],
        range_starts: _LocationArrays,
        range_ends: _LocationArrays,
        first: Int64Array,
        lines: _ChunkLines,
    ) -> None:
        order = _order_of_ranges(chunk, range_starts)
        if order is not None:
            range_starts = range_starts.take(order)
            range_ends = range_ends.take(order)

        # Lines of each range, counted from the first line of its chunk.
        first_line = range_starts.line - first[chunk]
        last_line = range_ends.line - first[chunk]
        start = np.maximum(first_line, 0)
        # A range that ends before the first column ends with the newline before it.
        ends_with_newline = (last_line > first_line) & (range_ends.column == 0)
        end = np.minimum(last_line - ends_with_newline, lines.count[chunk] - 1)
        counts = np.maximum(end - start + 1, 0)
        total = int(counts.sum())
        if total > MAX_OVERLAPS + len(lines.start):
            raise OverlappingRanges("the ranges of a match overlap too often")

        # From here on, each item is a line range: the number of its range, and its line in the chunk.
        range_index = repeats(counts)
        line_number = np.arange(total) - np.repeat(np.cumsum(counts) - counts, counts)
        position = start[range_index] + line_number
        line = lines.first[chunk[range_index]] + position
        if (line[1:] < line[:-1]).any():
            order = np.argsort(line, kind="stable")
            range_index = range_index[order]
            position = position[order]
            line = line[order]

        length = lines.length(line)
        self.line = line
        self.chunk = chunk[range_index]
        self.is_first = position == first_line[range_index]
        self._is_last = position == last_line[range_index]
        # The first line range of its range that was sent.
        self._is_head = position == start[range_index]
        self._start_column = range_starts.column[range_index]
        self._start_offset = range_starts.offset[range_index]
        self._end_column = range_ends.column[range_index]
        self._end_offset = range_ends.offset[range_index]
        self.start = np.where(self.is_first, np.minimum(self._start_column, length), 0)

        # The line range of a match that continues ends after the newline.
        self.end = np.where(self._is_last, np.minimum(self._end_column, length), length + 1)

    def line_offset(self, top: Int64Array, lines: _ChunkLines) -> Int64Array:
        """Return bytes in the file before the line of each row, whose first line range is at `top`."""
        line = self.line[top]
        bytes_before_start = lines.byte(line, np.maximum(self.start[top], 0))
        offset = self._start_offset[top] - bytes_before_start
        # A row that starts with the end of a match has no offset of its own: it is counted from the last row that has.
        head_rows: Int64Array = np.maximum.accumulate(np.where(self._is_head[top], np.arange(len(top)), 0))
        line_offset: Int64Array = offset[head_rows] + lines.start[line] - lines.start[line[head_rows]]
        return line_offset

    def in_bytes(self, line_offset: Int64Array, lines: _ChunkLines) -> tuple[Int64Array, Int64Array]:
        """Return start and end of each line range in bytes of its line, which is at `line_offset` of the file.

        Offsets of the wire count bytes of the file, even where the text shows a replacement.
        """
        size = lines.size(self.line)
        # A column beyond its line, which was shortened, has no offset of its own: it is the end of the line.
        start = np.where(self.start == self._start_column, self._start_offset - line_offset, size)
        end = np.where(self._is_last & (self.end == self._end_column), self._end_offset - line_offset, size)
        return np.where(self.is_first, start, 0), end + ~self._is_last


def _order_of_ranges(chunk: NDArray[np.int32], starts: _LocationArrays) -> NDArray[np.int64] | None:
    """Return the order of ranges by chunk, line and column; None if they have it, as from most services."""
    is_before_line = starts.line[1:] < starts.line[:-1]
    is_before_column = (starts.line[1:] == starts.line[:-1]) & (starts.column[1:] < starts.column[:-1])
    is_same_chunk = chunk[1:] == chunk[:-1]
    if not (is_same_chunk & (is_before_line | is_before_column)).any():
        return None
    return np.lexsort((starts.column, starts.line, chunk))
