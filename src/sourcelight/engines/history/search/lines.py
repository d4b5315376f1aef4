"""From patterns to distinct lines, from those to rows, and from rows to changes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.halting import Stopped, never
from sourcelight.engines.history.search.model import Side
from sourcelight.engines.history.search.texts import counted_in, found_in
from sourcelight.engines.history.snapshot import History, Ints, Mask
from sourcelight.engines.history.store.segment import LINE, Segment

BOTH: tuple[Side, ...] = ("added", "removed")

_DENSE = 8
"""When one in so many rows is wanted, asking every row is quicker than following postings."""


def matching_lines(segment: Segment, pattern: CompiledPattern, stopped: Stopped = never) -> Ints:
    """Numbers of the distinct lines of a segment that match."""
    return found_in(pattern, segment.bytes_of("lines"), segment.line_starts, stopped)


def rows_of_lines(segment: Segment, lines: Ints) -> Ints:
    """Rows (of the segment) that have one of the lines, ascending."""
    if not len(lines):
        return np.zeros(0, np.int64)
    starts = segment["posting_starts"]
    low, high = starts[lines].astype(np.int64), starts[lines + 1].astype(np.int64)
    counts = high - low
    total = int(counts.sum())
    if total * _DENSE > segment.rows:
        wanted = np.zeros(len(starts) - 1, np.bool_)
        wanted[lines] = True
        return np.flatnonzero(wanted[segment["rows"] & LINE])
    place = np.arange(total) + np.repeat(low - np.cumsum(counts) + counts, counts)
    return np.sort(segment["postings"][place]).astype(np.int64)


def rows_with(
    history: History, pattern: CompiledPattern, sides: Sequence[Side] = BOTH, stopped: Stopped = never
) -> Ints:
    """Rows (of the history) whose text matches, ascending."""
    found = []
    for base, segment in zip(history.bases.rows, history.segments, strict=False):
        rows = rows_of_lines(segment, matching_lines(segment, pattern, stopped))
        if len(sides) < len(BOTH):
            rows = rows[(segment["rows"][rows] > LINE) == ("removed" in sides)]
        found.append(rows + base)
    return _joined(found)


def changes_of(history: History, rows: Ints) -> Ints:
    """The change that each row belongs to."""
    return np.searchsorted(history.changes.row_starts, rows, side="right") - 1


def changes_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> Mask:
    """Tell for each change whether one of its lines matches."""
    mask: NDArray[np.bool_] = np.zeros(len(history.changes), np.bool_)
    mask[changes_of(history, rows_with(history, pattern, stopped=stopped))] = True
    return mask


def counts_changed(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> tuple[Mask, Ints]:
    """Tell for each change whether matches became more or fewer, and give the rows that hold any, ascending.

    As lines that stay cancel out, the sum over added and removed lines says what counting whole files would.
    """
    found = []
    mask: NDArray[np.bool_] = np.zeros(len(history.changes), np.bool_)
    for base, segment in zip(history.bases.rows, history.segments, strict=False):
        lines, counts = counted_in(pattern, segment.bytes_of("lines"), segment.line_starts, stopped)
        rows = rows_of_lines(segment, lines)
        signed = segment["rows"][rows]
        weights = np.zeros(len(segment.line_starts), np.int64)
        weights[lines] = counts
        weight = weights[signed & LINE]
        weight[signed > LINE] *= -1
        rows += base
        changes = changes_of(history, rows)
        first = np.flatnonzero(np.diff(changes, prepend=-1))
        if len(first):
            mask[changes[first][np.add.reduceat(weight, first) != 0]] = True
        found.append(rows)
    return mask, _joined(found)


def _joined(parts: Sequence[Ints]) -> Ints:
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])
