"""From patterns to distinct lines, from those to rows, and from rows to changes.

Patterns against many short texts that stand one behind the other: messages, distinct lines, paths, people.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History, Ints, Mask
from sourcelight.engines.history.search.query import Side
from sourcelight.engines.history.segment import LINE, Segment


def found_in(pattern: CompiledPattern, raw: memoryview, starts: Ints, stopped: Stopped = never) -> Ints:
    """Numbers of the texts in which a pattern is found, ascending.

    `raw` holds texts with a newline behind each; `starts` has where each begins, and the end. Raises `Halted`.
    """
    count = len(starts) - 1
    if count <= 0:
        return np.zeros(0, np.int64)
    if pattern.matches_empty or pattern.multi_line:
        return np.flatnonzero(pattern.match_many(raw, starts[:-1], starts[1:] - 1, stopped))
    offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
    texts = distinct(np.searchsorted(starts, offsets, side="right") - 1)
    if pattern.exact or not len(texts):
        return texts
    which, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts[distinct(which)]


def counted_in(pattern: CompiledPattern, raw: memoryview, starts: Ints, stopped: Stopped = never) -> tuple[Ints, Ints]:
    """Numbers of the texts in which a pattern is found, ascending, and how often; empty matches don't count."""
    if pattern.exact and not pattern.multi_line and len(starts) > 1:
        offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
        texts = np.searchsorted(starts, offsets, side="right") - 1
        first = np.flatnonzero(texts[1:] != texts[:-1]) + 1
        first = np.concatenate((np.zeros(min(1, len(texts)), np.int64), first))
        return texts[first], np.diff(first, append=len(texts))
    texts = found_in(pattern, raw, starts, stopped)
    at, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts, np.bincount(at, minlength=len(texts))


def distinct(ascending: Ints) -> Ints:
    """Drop repeated numbers."""
    if len(ascending) < 2:
        return ascending
    return ascending[np.concatenate(([True], ascending[1:] != ascending[:-1]))]


def joined(items: Iterable[bytes]) -> tuple[memoryview, Ints]:
    """Put texts one behind the other, as `found_in` wants them; newlines in them become spaces."""
    cleaned = [item.replace(b"\n", b" ") for item in items]
    starts = np.cumsum([0, *(len(item) + 1 for item in cleaned)])
    return memoryview(b"".join(item + b"\n" for item in cleaned)), starts


def with_newlines(items: Iterable[bytes]) -> dict[int, bytes]:
    """Give the texts that `joined` changes, by number: each is matched by itself, as it is."""
    return {at: item for at, item in enumerate(items) if b"\n" in item}


def any_of(patterns: Sequence[CompiledPattern], raw: memoryview, starts: Ints, stopped: Stopped = never) -> Mask:
    """Tell for each text whether one of the patterns is found in it."""
    mask: NDArray[np.bool_] = np.zeros(max(0, len(starts) - 1), np.bool_)
    for pattern in patterns:
        mask[found_in(pattern, raw, starts, stopped)] = True
    return mask


BOTH: tuple[Side, ...] = ("added", "removed")

_DENSE = 8
"""When one in so many rows is wanted, asking every row is quicker than following postings."""

_RARE = 256
"""When less than one in so many rows is wanted, a table of the changes of all rows is not worth making."""


@dataclass(frozen=True, eq=False)
class LineSelection:
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
) -> list[LineSelection]:
    """The lines that match, by segment; `counted`: with how often."""
    found = []
    for number, segment in enumerate(history.segments):
        raw = segment.bytes_of("lines")
        if counted:
            lines, counts = counted_in(pattern, raw, segment.line_starts, stopped)
        else:
            lines = found_in(pattern, raw, segment.line_starts, stopped)
            counts = np.ones(len(lines), np.int64)
        found.append(LineSelection(history, number, lines, counts))
    return found


def rows_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> Ints:
    """Rows (of the history) whose text matches, in no order."""
    return rows_of(lines_with(history, pattern, stopped))


def rows_of(found: Sequence[LineSelection], sides: Sequence[Side] = BOTH) -> Ints:
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


def changes_holding(history: History, found: Sequence[LineSelection], sides: Sequence[Side] = BOTH) -> Mask:
    """Tell for each change whether it has one of the lines."""
    mask: NDArray[np.bool_] = np.zeros(len(history.changes), np.bool_)
    for one in found:
        changes, removed, _ = one.signed_changes()
        mask[changes if len(sides) == len(BOTH) else changes[removed == ("removed" in sides)]] = True
    return mask


def changes_counting(history: History, found: Sequence[LineSelection]) -> Mask:
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
