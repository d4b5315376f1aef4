"""From spans to rows: one row for each line that a span touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.scan.fleet import Fleet
from sourcelight.engines.search.scan.hits import Hits

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in order of lines.

    `line` is the line in the shard, `begin` and `stop` its bytes without the newline. Spans of row *i* are
    ``first[i]:first[i + 1]`` of `start` and `end`, in bytes into the line; `count` says how many begin in the row.
    """

    line: Places
    begin: Places
    stop: Places
    first: Places
    start: Places
    end: Places
    count: Places

    def __len__(self) -> int:
        return len(self.line)

    def taken(self, order: Places) -> Rows:
        """Some of the rows, in that order."""
        counts = np.diff(self.first)[order]
        spans = np.repeat(self.first[:-1][order] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        first = np.concatenate(([0], np.cumsum(counts)))
        begin, stop, line = self.begin[order], self.stop[order], self.line[order]
        return Rows(line, begin, stop, first, self.start[spans], self.end[spans], self.count[order])


_NONE: Places = np.zeros(0, dtype=np.int64)
NO_ROWS = Rows(_NONE, _NONE, _NONE, np.zeros(1, dtype=np.int64), _NONE, _NONE, _NONE)


def rows_of(fleet: Fleet, hits: Hits) -> Rows:
    """Group spans by line; a span that goes past its line's end goes on in the lines after it."""
    line = fleet.lines_of(hits.start) if hits.line is None else hits.line
    first, lines = _groups(line)
    begin, stop = fleet.bounds_of(lines)
    counts = np.diff(first)
    one_each = len(lines) == len(line)
    if (hits.end > (stop if one_each else np.repeat(stop, counts)) + 1).any():
        return _crossing(fleet, hits, line)
    base = begin if one_each else np.repeat(begin, counts)
    return Rows(lines, begin, stop, first, hits.start - base, hits.end - base, counts)


def _groups(line: Places) -> tuple[Places, Places]:
    """Where each line's spans begin, and last where they all end; and the lines."""
    heads = np.empty(len(line), dtype=np.bool_)
    heads[:1] = True
    np.not_equal(line[1:], line[:-1], out=heads[1:])
    first = np.append(np.flatnonzero(heads), len(line))
    return first, line[first[:-1]]


def _crossing(fleet: Fleet, hits: Hits, line: Places) -> Rows:
    last = fleet.lines_of(hits.end - 1)
    pieces = last - line + 1
    origin = np.repeat(np.arange(len(hits)), pieces)
    step = np.arange(len(origin)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    line = line[origin] + step
    begin, stop = fleet.bounds_of(line)
    start = np.maximum(hits.start[origin], begin) - begin
    end = np.minimum(hits.end[origin], stop + 1) - begin
    first, lines = _groups(line)
    heads = first[:-1]
    count = np.add.reduceat((step == 0).astype(np.int64), heads)
    return Rows(lines, begin[heads], stop[heads], first, start, end, count)


def rows_together(parts: list[Rows]) -> Rows:
    """Join rows, one part after another."""
    if len(parts) == 1:
        return parts[0]
    line, begin, stop, start, end, count = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("line", "begin", "stop", "start", "end", "count")
    )
    first = np.concatenate(([0], np.cumsum(np.concatenate([np.diff(part.first) for part in parts]))))
    return Rows(line, begin, stop, first, start, end, count)
