"""Spans of patterns in a shard's content, as absolute byte offsets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.scan.snapshot import unique_sorted

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Hits:
    """Spans sorted by start, none overlapping another; `line` is the line on which each starts."""

    start: Places
    end: Places
    line: Places

    def __len__(self) -> int:
        return len(self.start)

    def chosen(self, mask: NDArray[np.bool_]) -> Hits:
        """Keep those under the mask."""
        return self if mask.all() else Hits(self.start[mask], self.end[mask], self.line[mask])


_NONE = np.zeros(0, dtype=np.int64)
NO_HITS = Hits(_NONE, _NONE, _NONE)


def ranges_of(shard: Shard, units: NDArray[np.intp]) -> Places:
    """Give the byte ranges of units, those that touch joined: one row of (start, end) for each."""
    starts = shard.unit_start[units].astype(np.int64)
    ends = shard.unit_start[units + 1].astype(np.int64)
    if len(units) > 1:
        apart = starts[1:] != ends[:-1]
        starts = starts[np.concatenate(([True], apart))]
        ends = ends[np.concatenate((apart, [True]))]
    return np.stack((starts, ends), axis=1)


def find_hits(shard: Shard, pattern: CompiledPattern, units: NDArray[np.intp], stopped: Callable[[], bool]) -> Hits:
    """Find the exact spans of a pattern in some units (for one that can cross lines: in their documents)."""
    if not len(units):
        return NO_HITS
    if pattern.multi_line:
        return _find_in_documents(shard, pattern, unique_sorted(shard.unit_doc[units]), stopped)
    offsets = pattern.lines(shard.content, ranges_of(shard, units))
    if not len(offsets):
        return NO_HITS
    lines = shard.lines_of(offsets)
    if pattern.exact and pattern.literal is not None:
        return Hits(offsets, offsets + len(pattern.literal), lines)
    lines = unique_sorted(lines)
    starts = shard.newlines[lines].astype(np.int64) + 1
    ends = shard.newlines[lines + 1].astype(np.int64)
    row, start, end = pattern.spans(shard.content, starts, ends)
    base = starts[row]
    return Hits(base + start, base + end, lines[row])


def _find_in_documents(
    shard: Shard, pattern: CompiledPattern, documents: NDArray[np.intp], stopped: Callable[[], bool]
) -> Hits:
    found: list[Places] = []
    starts = shard.doc_start[documents].astype(np.int64)
    ranges = np.stack((starts, starts + shard.doc_size[documents]), axis=1)
    offsets = pattern.lines(shard.content, ranges)
    for document in unique_sorted(shard.docs_of(offsets)).tolist():
        if stopped():
            break
        spans = pattern.find_document(shard.text(document))
        if spans:
            found.append(np.array(spans, dtype=np.int64) + int(shard.doc_start[document]))
    if not found:
        return NO_HITS
    table = np.concatenate(found)
    return Hits(table[:, 0], table[:, 1], shard.lines_of(table[:, 0]))


def merge_hits(parts: list[Hits]) -> Hits:
    """Join the spans of several patterns: sorted, overlaps removed, the longest kept of those with one start."""
    parts = [part for part in parts if len(part)]
    if len(parts) < 2:
        return parts[0] if parts else NO_HITS
    start = np.concatenate([part.start for part in parts])
    end = np.concatenate([part.end for part in parts])
    line = np.concatenate([part.line for part in parts])
    order = np.lexsort((-end, start))
    kept = order[without_overlaps(start[order], end[order])]
    return Hits(start[kept], end[kept], line[kept])


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
