"""Spans of patterns in the contents of a fleet, as addresses.

From spans to rows: one row for each line that a span touches.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, check
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.paths import unique_sorted

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans sorted by start, none overlapping another; `line` is the line on which each starts, where that is known."""

    start: Places
    end: Places
    line: Places | None = None

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, mask: NDArray[np.bool_]) -> Spans:
        """Keep those under the mask."""
        if mask.all():
            return self
        return Spans(self.start[mask], self.end[mask], None if self.line is None else self.line[mask])

    def between(self, first: int, last: int) -> Spans:
        """Those from number `first` up to `last`."""
        part = slice(first, last)
        return Spans(self.start[part], self.end[part], None if self.line is None else self.line[part])


_NONE = np.zeros(0, dtype=np.int64)
NO_HITS = Spans(_NONE, _NONE)


def ranges_of(fleet: Corpus, units: Places) -> Places:
    """Give the byte ranges of units, those that touch joined: one row of (start, end) for each."""
    starts, ends = fleet.unit_start[units], fleet.unit_end[units]
    if len(units) > 1:
        apart = starts[1:] != ends[:-1]
        if not apart.all():
            starts = starts[np.concatenate(([True], apart))]
            ends = ends[np.concatenate((apart, [True]))]
    return np.stack((starts, ends), axis=1)


def find_hits(fleet: Corpus, pattern: CompiledPattern, units: Places, stopped: Stopped) -> Spans:
    """Find the exact spans of a pattern in some units (for one that can cross lines: in their documents).

    Raises `Halted` once `stopped` says so.
    """
    if not len(units):
        return NO_HITS
    if pattern.multi_line:
        return _find_in_documents(fleet, pattern, unique_sorted(fleet.unit_doc[units]), stopped)
    ranges = ranges_of(fleet, units)
    start = pattern.starts(fleet.buffers, ranges, stopped)
    if start is not None:
        return Spans(start, start + len(pattern.literal or pattern.folded)) if len(start) else NO_HITS
    offsets = pattern.lines(fleet.buffers, ranges, stopped)
    if not len(offsets):
        return NO_HITS
    lines = unique_sorted(fleet.lines_of(offsets))
    begin, stop = fleet.bounds_of(lines)
    data = fleet.data(begin, stop + 1)
    at = np.cumsum(stop - begin + 1)
    row, start, end = pattern.spans(data, at - (stop - begin + 1), at - 1, stopped)
    base = begin[row]
    return Spans(base + start, base + end, lines[row])


def _find_in_documents(fleet: Corpus, pattern: CompiledPattern, documents: Places, stopped: Stopped) -> Spans:
    found: list[Places] = []
    starts = fleet.doc_start[documents]
    ranges = np.stack((starts, starts + fleet.doc_size[documents]), axis=1)
    offsets = pattern.lines(fleet.buffers, ranges, stopped)
    for document in unique_sorted(fleet.docs_of(offsets)).tolist():
        check(stopped)
        found.append(pattern.document_spans(fleet.text(document), stopped) + int(fleet.doc_start[document]))
    if not found:
        return NO_HITS
    table = np.concatenate(found)
    return Spans(table[:, 0], table[:, 1])


def merge_hits(parts: list[Spans]) -> Spans:
    """Join the spans of several patterns: sorted, overlaps removed, the longest kept of those with one start."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else NO_HITS
    start = np.concatenate([part.start for part in parts])
    end = np.concatenate([part.end for part in parts])
    order = np.lexsort((-end, start))
    kept = order[without_overlaps(start[order], end[order])]
    return Spans(start[kept], end[kept])


def concatenated(parts: list[Spans]) -> Spans:
    """Spans that come one after another."""
    if len(parts) == 1:
        return parts[0]
    lines = [part.line for part in parts if part.line is not None]
    return Spans(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate(lines) if len(lines) == len(parts) else None,
    )


def without_overlaps(start: Places, end: Places) -> NDArray[np.bool_]:
    """Tell which of the spans, sorted by start and then longest first, a walk from the left keeps."""
    kept = np.ones(len(start), dtype=np.bool_)
    farthest = np.maximum.accumulate(end)
    clash = np.concatenate(([False], start[1:] < farthest[:-1]))
    if not clash.any():
        return kept
    # A group runs from a span that clears all before it to the next such span; only groups with a clash are walked.
    heads = np.flatnonzero(~clash)
    bounds = np.append(heads, len(start))
    for group in np.unique(np.searchsorted(heads, np.flatnonzero(clash), side="right") - 1).tolist():
        reached = -1
        for at in range(int(bounds[group]), int(bounds[group + 1])):
            if start[at] < reached:
                kept[at] = False
            else:
                reached = end[at]
    return kept


@dataclass(frozen=True, slots=True)
class MatchedLines:
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

    def taken(self, order: Places) -> MatchedLines:
        """Some of the rows, in that order."""
        counts = np.diff(self.first)[order]
        spans = np.repeat(self.first[:-1][order] - np.cumsum(counts) + counts, counts) + np.arange(int(counts.sum()))
        first = np.concatenate(([0], np.cumsum(counts)))
        begin, stop, line = self.begin[order], self.stop[order], self.line[order]
        return MatchedLines(line, begin, stop, first, self.start[spans], self.end[spans], self.count[order])


_NO_ROWS: Places = np.zeros(0, dtype=np.int64)
NO_ROWS = MatchedLines(_NO_ROWS, _NO_ROWS, _NO_ROWS, np.zeros(1, dtype=np.int64), _NO_ROWS, _NO_ROWS, _NO_ROWS)


def rows_of(fleet: Corpus, hits: Spans) -> MatchedLines:
    """Group spans by line; a span that goes past its line's end goes on in the lines after it."""
    line = fleet.lines_of(hits.start) if hits.line is None else hits.line
    first, lines = _groups(line)
    begin, stop = fleet.bounds_of(lines)
    counts = np.diff(first)
    one_each = len(lines) == len(line)
    if (hits.end > (stop if one_each else np.repeat(stop, counts)) + 1).any():
        return _crossing(fleet, hits, line)
    base = begin if one_each else np.repeat(begin, counts)
    return MatchedLines(lines, begin, stop, first, hits.start - base, hits.end - base, counts)


def _groups(line: Places) -> tuple[Places, Places]:
    """Where each line's spans begin, and last where they all end; and the lines."""
    heads = np.empty(len(line), dtype=np.bool_)
    heads[:1] = True
    np.not_equal(line[1:], line[:-1], out=heads[1:])
    first = np.append(np.flatnonzero(heads), len(line))
    return first, line[first[:-1]]


def _crossing(fleet: Corpus, hits: Spans, line: Places) -> MatchedLines:
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
    return MatchedLines(lines, begin[heads], stop[heads], first, start, end, count)


def rows_together(parts: list[MatchedLines]) -> MatchedLines:
    """Join rows, one part after another."""
    if len(parts) == 1:
        return parts[0]
    line, begin, stop, start, end, count = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("line", "begin", "stop", "start", "end", "count")
    )
    first = np.concatenate(([0], np.cumsum(np.concatenate([np.diff(part.first) for part in parts]))))
    return MatchedLines(line, begin, stop, first, start, end, count)
