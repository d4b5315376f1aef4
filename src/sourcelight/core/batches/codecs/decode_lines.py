"""Decode matched lines of the wire into columns, many at a time and without an object per row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches.codecs.wire_columns import LineColumns
from sourcelight.core.batches.columns import (
    CodePoints,
    Columns,
    FileColumns,
    int32,
    lists,
    refuse_negative,
    repeats,
    strings,
    text_of,
)
from sourcelight.core.batches.records import WireLine, WireRecord


class _MatchedLines(NamedTuple):
    """Matched lines of several files, and the spans of all lines, one line after the other.

    `counts` has the number of spans of each line. Line numbers are 0-based. Spans are in code points of their line.
    """

    texts: list[str]
    numbers: AnyArray
    counts: AnyArray
    starts: AnyArray
    ends: AnyArray

    def reorder(self, order: AnyArray) -> _MatchedLines:
        """Return the lines in an order of their indexes, with their spans."""
        # The inverse of `order` gives each line its new position; repeated per span, a stable sort moves the spans
        # along.
        new_positions = np.argsort(order)
        span_order = np.argsort(new_positions[repeats(self.counts)], kind="stable")
        return _MatchedLines(
            texts=[self.texts[index] for index in order.tolist()],
            numbers=self.numbers[order],
            counts=self.counts[order],
            starts=self.starts[span_order],
            ends=self.ends[span_order],
        )


class LineRows:
    """Collects the matched lines of records; these can be dropped after `add`, which keeps numbers and text only."""

    def __init__(self) -> None:
        self._files = FileColumns()
        self._lines = LineColumns()
        # Lines by record.
        self._sizes = array("i")
        self._numbers = array("i")
        self._texts: list[str] = []
        # Spans by line; a span is an offset and a length.
        self._counts = array("i")
        self._spans = array("i")

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        self._files.add(records)
        self._lines.add(records)
        groups = [record.line_matches or () for record in records]
        self._sizes.fromlist(list(map(len, groups)))

        lines: list[WireLine] = list(chain.from_iterable(groups))
        self._numbers.fromlist([line.line_number for line in lines])
        self._texts += [line.line for line in lines]

        pairs_by_line = [line.offset_and_lengths for line in lines]
        self._counts.fromlist(list(map(len, pairs_by_line)))
        pairs = chain.from_iterable(pairs_by_line)
        self._spans.fromlist(list(chain.from_iterable(pairs)))

    @property
    def matches(self) -> int:
        """Number of matches; a line without spans, whose match is empty, counts as one."""
        return int(np.maximum(np.asarray(self._counts), 1).sum())

    def columns(self) -> tuple[Columns, AnyArray] | None:
        """Return the columns of all rows, and the record of each, or None if there are none."""
        if not self._texts:
            return None

        take = repeats(np.asarray(self._sizes))
        refuse_negative(np.asarray(self._numbers), np.asarray(self._spans))
        lines = self._make_lines()
        order = _sorted_order(lines.numbers, take)
        if order is not None:
            lines = lines.reorder(order)

        line = strings(lines.texts)
        start, end = lists(lines.counts, lines.starts, lines.ends)
        byte_start, byte_end = _in_bytes(line, lines.counts, lines.starts, lines.ends) or (start, end)
        columns = self._files.columns("content", take)
        columns |= {
            "line_number": int32(lines.numbers + np.int32(1)),
            "line": line,
            "start": start,
            "end": end,
            "match_count": int32(lines.counts),
        }
        columns |= self._files.name_columns(take)
        columns |= self._lines.columns(take, order)
        columns |= {"byte_start": byte_start, "byte_end": byte_end}
        return columns, take

    def _make_lines(self) -> _MatchedLines:
        # Pairs of offset and length, one after the other.
        spans = np.asarray(self._spans)
        starts = spans[0::2]
        return _MatchedLines(
            texts=self._texts,
            numbers=np.asarray(self._numbers),
            counts=np.asarray(self._counts),
            starts=starts,
            ends=starts + spans[1::2],
        )


def _sorted_order(numbers: AnyArray, files: AnyArray) -> AnyArray | None:
    """Return the order of lines by their number in their file, or None if they have it."""
    # Services may send lines of a file out of order; frames have them sorted. The check is one pass, the sort is rare.
    is_same_file = files[1:] == files[:-1]
    is_descending = numbers[1:] < numbers[:-1]
    if (is_same_file & is_descending).any():
        return np.lexsort((numbers, files))
    return None


def _in_bytes(line: Any, counts: AnyArray, *offsets: NDArray[np.int32]) -> tuple[Any, ...]:
    """Return columns of code point offsets (`counts` per line) as byte offsets; empty if all is ASCII."""
    bounds, text = text_of(line)
    points = CodePoints(text)
    if points.ascii:
        return ()

    # Code points before each line, and behind the last. A span beyond its line ends with the line.
    points_before = points.before(bounds)
    line_starts = np.repeat(bounds[:-1], counts)
    minimum = np.repeat(points_before[:-1], counts)
    maximum = np.repeat(points_before[1:], counts)
    columns = []
    for positions in offsets:
        valid_points = np.minimum(minimum + np.maximum(positions, 0), maximum)
        byte_offsets = points.byte(valid_points) - line_starts
        columns.append(byte_offsets.astype(np.int32))

    return lists(counts, *columns)
