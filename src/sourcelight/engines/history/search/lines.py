"""From patterns to distinct lines, from those to rows, and from rows to changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.search.model import Side
from sourcelight.engines.history.search.texts import counted_in, found_in
from sourcelight.engines.history.snapshot import History, Ints, Mask
from sourcelight.engines.history.store.segment import LINE, Segment

BOTH: tuple[Side, ...] = ("added", "removed")

_DENSE = 8
"""When one in so many rows is wanted, asking every row is quicker than following postings."""

_RARE = 256
"""When less than one in so many rows is wanted, a table of the changes of all rows is not worth making."""


@dataclass(frozen=True, eq=False)
class Held:
    """Distinct lines of a segment, and what has them.

    Attributes
    ----------
    history, number
        Of which history, and of which of its segments.
    lines, counts
        Numbers of the lines, and how often each holds what was looked for.
    """

    history: History
    number: int
    lines: Ints
    counts: Ints

    @property
    def segment(self) -> Segment:
        """The segment."""
        return self.history.segments[self.number]

    @cached_property
    def _sizes(self) -> tuple[Ints, Ints]:
        """First posting of each line, and how many there are."""
        starts = self.segment["posting_starts"]
        low = starts[self.lines].astype(np.int64)
        return low, starts[self.lines + 1] - low

    @property
    def _postings(self) -> Ints:
        low, sizes = self._sizes
        ends = np.cumsum(sizes)
        places: Ints = np.arange(int(ends[-1]) if len(ends) else 0) + np.repeat(low - ends + sizes, sizes)
        return places

    def rows(self, sides: Sequence[Side] = BOTH) -> Ints:
        """Rows (of the history) that have one of the lines, in no order."""
        rows = self.segment["postings"][self._postings].astype(np.int64)
        if len(sides) < len(BOTH):
            rows = rows[(self.segment["rows"][rows] > LINE) == ("removed" in sides)]
        return rows + self.history.bases.rows[self.number]

    def signed_changes(self) -> tuple[NDArray[np.integer], Mask, Ints]:
        """For each row that has one of the lines its change, whether it was removed, and the count of its line."""
        segment, sizes = self.segment, self._sizes[1]
        total = int(sizes.sum())
        base = self.history.bases.changes[self.number]
        if total * _DENSE > segment.rows:
            weights = np.zeros(len(segment["posting_starts"]) - 1, np.int64)
            weights[self.lines] = self.counts
            of_row = weights[segment["rows"] & LINE]
            rows = np.flatnonzero(of_row)
            return segment.change_of_row[rows] + base, segment["rows"][rows] > LINE, of_row[rows]
        places = self._postings
        if total * _RARE < segment.rows:
            rows = segment["postings"][places]
            changes = np.searchsorted(segment["row_starts"], rows, side="right") - 1
            return changes + base, segment["rows"][rows] > LINE, np.repeat(self.counts, sizes)
        found = segment.change_of_posting[places]
        return (found >> 1) + base, (found & 1).astype(np.bool_), np.repeat(self.counts, sizes)


def lines_with(
    history: History, pattern: CompiledPattern, stopped: Stopped = never, *, counted: bool = False
) -> list[Held]:
    """The lines that match, by segment; `counted`: with how often."""
    found = []
    for number, segment in enumerate(history.segments):
        raw = segment.bytes_of("lines")
        if counted:
            lines, counts = counted_in(pattern, raw, segment.line_starts, stopped)
        else:
            lines = found_in(pattern, raw, segment.line_starts, stopped)
            counts = np.ones(len(lines), np.int64)
        found.append(Held(history, number, lines, counts))
    return found


def rows_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> Ints:
    """Rows (of the history) whose text matches, in no order."""
    return rows_of(lines_with(history, pattern, stopped))


def rows_of(found: Sequence[Held], sides: Sequence[Side] = BOTH) -> Ints:
    """Rows (of the history) that have one of the lines, in no order."""
    parts = [one.rows(sides) for one in found]
    return parts[0] if len(parts) == 1 else np.concatenate([np.zeros(0, np.int64), *parts])


def changes_of(history: History, rows: Ints) -> Ints:
    """The change that each row belongs to."""
    if len(rows) * _RARE < history.bases.rows[-1]:
        return np.searchsorted(history.changes.row_starts, rows, side="right") - 1
    return history.change_of_row[rows].astype(np.int64)


def changes_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> Mask:
    """Tell for each change whether one of its lines matches."""
    return changes_holding(history, lines_with(history, pattern, stopped))


def changes_holding(history: History, found: Sequence[Held], sides: Sequence[Side] = BOTH) -> Mask:
    """Tell for each change whether it has one of the lines."""
    mask: NDArray[np.bool_] = np.zeros(len(history.changes), np.bool_)
    for one in found:
        changes, removed, _ = one.signed_changes()
        mask[changes if len(sides) == len(BOTH) else changes[removed == ("removed" in sides)]] = True
    return mask


def changes_counting(history: History, found: Sequence[Held]) -> Mask:
    """Tell for each change whether matches became more or fewer.

    As lines that stay cancel out, the sum over added and removed lines says what counting whole files would.
    """
    sums = np.zeros(len(history.changes))
    for one in found:
        changes, removed, counts = one.signed_changes()
        # Sums of whole numbers below 2**53 are exact.
        sums += np.bincount(changes, counts * (1 - 2 * removed), len(sums))
    mask: Mask = sums != 0
    return mask
