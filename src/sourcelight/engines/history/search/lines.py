"""Match patterns against many short texts (messages, distinct lines, paths, people), and map lines to changes.

A segment stores each distinct line once, so a pattern is matched once per distinct line: postings lead from a line to
its rows, and rows to changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Int64Array, runs, unique_sorted
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, RowNumbers
from sourcelight.engines.history.search.query import Side
from sourcelight.engines.history.segment import LINE, Segment

BOTH: tuple[Side, ...] = ("added", "removed")

_DENSE_FRACTION = 8
"""If at least one in this many rows matches, testing every row is faster than following postings."""

_RARE_FRACTION = 256
"""If fewer than one in this many rows match, a table of the changes of all rows costs more than it saves."""


def matching_texts(
    pattern: CompiledPattern, raw: memoryview, starts: Int64Array, stopped: Stopped = never
) -> Int64Array:
    """Return the numbers of the texts in which a pattern matches, ascending.

    `raw` holds texts with a newline behind each; `starts` has where each begins, and the end. Raises `ScanStopped`.
    """
    count = len(starts) - 1
    if count <= 0:
        return np.zeros(0, np.int64)

    # Such patterns can match across newlines or at every offset, so each text is matched by itself.
    if pattern.matches_empty or pattern.multi_line:
        return np.flatnonzero(pattern.match_many(raw, starts[:-1], starts[1:] - 1, stopped))

    offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
    texts = unique_sorted(np.searchsorted(starts, offsets, side="right") - 1)
    if pattern.exact or not len(texts):
        return texts

    # A scan of the whole blob finds candidates: `\s` and `[^x]` can cross newlines there (340 lines for 194 true ones),
    # so each candidate is verified by itself.
    matched, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts[unique_sorted(matched)]


def count_in_texts(
    pattern: CompiledPattern, raw: memoryview, starts: Int64Array, stopped: Stopped = never
) -> tuple[Int64Array, Int64Array]:
    """Return the numbers of matching texts, ascending, and the matches in each; empty ones don't count."""
    # Offsets of an exact literal are its matches, one by one: counting runs of the same text is enough.
    if pattern.exact and not pattern.multi_line and len(starts) > 1:
        offsets = pattern.lines(raw, np.array([[0, len(raw)]]), stopped)
        texts = np.searchsorted(starts, offsets, side="right") - 1
        first_offsets = np.flatnonzero(texts[1:] != texts[:-1]) + 1
        first_offsets = np.concatenate((np.zeros(min(1, len(texts)), np.int64), first_offsets))
        return texts[first_offsets], np.diff(first_offsets, append=len(texts))

    texts = matching_texts(pattern, raw, starts, stopped)
    text_index, _, _ = pattern.spans(raw, starts[texts], starts[texts + 1] - 1, stopped)
    return texts, np.bincount(text_index, minlength=len(texts))


def join_texts(items: Iterable[bytes]) -> tuple[memoryview, Int64Array]:
    """Join texts into the form of `matching_texts`; newlines in them become spaces."""
    cleaned = [item.replace(b"\n", b" ") for item in items]
    starts = np.cumsum([0, *(len(item) + 1 for item in cleaned)])
    return memoryview(b"".join(item + b"\n" for item in cleaned)), starts


def with_newlines(items: Iterable[bytes]) -> dict[int, bytes]:
    """Return the texts that `join_texts` changes, by number; callers match each by itself."""
    return {index: item for index, item in enumerate(items) if b"\n" in item}


def texts_matching_any(
    patterns: Sequence[CompiledPattern], raw: memoryview, starts: Int64Array, stopped: Stopped = never
) -> BoolArray:
    """Return a mask of the texts in which any of the patterns matches."""
    mask: BoolArray = np.zeros(max(0, len(starts) - 1), np.bool_)
    for pattern in patterns:
        mask[matching_texts(pattern, raw, starts, stopped)] = True
    return mask


@dataclass(frozen=True, eq=False)
class LineSelection:
    """Distinct lines of a segment, and their rows and changes.

    Attributes
    ----------
    history, segment_index
        Of which history, and of which of its segments.
    lines, counts
        Numbers of the lines, and the number of matches in each.
    """

    history: History
    segment_index: int
    lines: Int64Array
    counts: Int64Array

    @property
    def segment(self) -> Segment:
        """The segment."""
        return self.history.segments[self.segment_index]

    @cached_property
    def _sizes(self) -> tuple[Int64Array, Int64Array]:
        """First posting of each line, and the number of its postings."""
        starts = self.segment["posting_starts"]
        first_postings = starts[self.lines].astype(np.int64)
        return first_postings, starts[self.lines + 1] - first_postings

    @property
    def _postings(self) -> Int64Array:
        first_postings, sizes = self._sizes
        return runs(first_postings, sizes)

    def rows(self, sides: Sequence[Side] = BOTH) -> RowNumbers:
        """Return rows (of the history) that have one of the lines, in no order."""
        rows = self.segment["postings"][self._postings].astype(np.int64)
        if len(sides) < len(BOTH):
            rows = rows[(self.segment["rows"][rows] > LINE) == ("removed" in sides)]
        return RowNumbers(rows + self.history.bases.rows[self.segment_index])

    def signed_changes(self) -> tuple[NDArray[np.integer], BoolArray, Int64Array]:
        """Return for each row with one of the lines its change, whether it was removed, and its line's count."""
        segment, sizes = self.segment, self._sizes[1]
        total = int(sizes.sum())
        base = self.history.bases.changes[self.segment_index]

        # Common texts: one pass over all rows in order beats random access through postings.
        if total * _DENSE_FRACTION > segment.rows:
            weights = np.zeros(len(segment["posting_starts"]) - 1, np.int64)
            weights[self.lines] = self.counts
            row_weights = weights[segment["rows"] & LINE]
            rows = np.flatnonzero(row_weights)
            return segment.change_of_row[rows] + base, segment["rows"][rows] > LINE, row_weights[rows]

        positions = self._postings
        if total * _RARE_FRACTION < segment.rows:
            rows = segment["postings"][positions]
            changes = np.searchsorted(segment["row_starts"], rows, side="right") - 1
            return changes + base, segment["rows"][rows] > LINE, np.repeat(self.counts, sizes)

        signed = segment.change_of_posting[positions]
        return (signed >> 1) + base, (signed & 1).astype(np.bool_), np.repeat(self.counts, sizes)


def lines_with(
    history: History, pattern: CompiledPattern, stopped: Stopped = never, *, with_counts: bool = False
) -> list[LineSelection]:
    """Return the matching lines of each segment; `with_counts` counts the matches in each."""
    # Each distinct line is stored once per segment, so the pattern sees a text once however many commits changed it.
    selections = []
    for number, segment in enumerate(history.segments):
        raw = segment.bytes_of("lines")
        if with_counts:
            lines, counts = count_in_texts(pattern, raw, segment.line_starts, stopped)
        else:
            lines = matching_texts(pattern, raw, segment.line_starts, stopped)
            counts = np.ones(len(lines), np.int64)
        selections.append(LineSelection(history, number, lines, counts))

    return selections


def rows_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> RowNumbers:
    """Return the rows (of the history) whose text matches, in no order."""
    return rows_of(lines_with(history, pattern, stopped))


def rows_of(selections: Sequence[LineSelection], sides: Sequence[Side] = BOTH) -> RowNumbers:
    """Return rows (of the history) that have one of the lines, in no order."""
    row_lists = [selection.rows(sides) for selection in selections]
    if len(row_lists) == 1:
        return row_lists[0]
    return RowNumbers(np.concatenate([np.zeros(0, np.int64), *row_lists]))


def changes_of(history: History, rows: RowNumbers) -> ChangeNumbers:
    """Return the change of each row."""
    if len(rows) * _RARE_FRACTION < history.bases.rows[-1]:
        return ChangeNumbers(np.searchsorted(history.changes.row_starts, rows, side="right") - 1)
    return ChangeNumbers(history.change_of_row[rows].astype(np.int64))


def changes_with(history: History, pattern: CompiledPattern, stopped: Stopped = never) -> BoolArray:
    """Return a mask of the changes with a matching line."""
    return changes_holding(history, lines_with(history, pattern, stopped))


def changes_holding(history: History, selections: Sequence[LineSelection], sides: Sequence[Side] = BOTH) -> BoolArray:
    """Return a mask of the changes that have one of the lines."""
    mask: BoolArray = np.zeros(len(history.changes), np.bool_)
    for selection in selections:
        changes, removed, _ = selection.signed_changes()
        mask[changes if len(sides) == len(BOTH) else changes[removed == ("removed" in sides)]] = True
    return mask


def changes_counting(history: History, selections: Sequence[LineSelection]) -> BoolArray:
    """Return a mask of the changes that alter the number of matches, as ``git log -S``.

    Lines that stay cancel out, so the sum over added and removed lines equals a count of whole files.
    """
    sums = np.zeros(len(history.changes))
    for selection in selections:
        changes, removed, counts = selection.signed_changes()
        # Sums of whole numbers below 2**53 are exact.
        sums += np.bincount(changes, counts * (1 - 2 * removed), len(sums))
    mask: BoolArray = sums != 0
    return mask


def rows_of_changes(history: History, changes: ChangeNumbers) -> RowNumbers:
    """Return all rows of some changes, in their order."""
    starts = history.changes.row_starts[changes]
    return RowNumbers(runs(starts, history.changes.row_starts[changes + 1] - starts))


def removed_rows(history: History, rows: RowNumbers) -> BoolArray:
    """Return a mask of the rows whose line was removed."""
    if len(history.segments) == 1:
        return history.segments[0]["rows"][rows] > LINE

    of_segment = np.searchsorted(history.bases.rows, rows, side="right") - 1
    mask = np.zeros(len(rows), np.bool_)
    for segment_index, segment in enumerate(history.segments):
        in_segment = of_segment == segment_index
        mask[in_segment] = segment["rows"][rows[in_segment] - history.bases.rows[segment_index]] > LINE

    return mask
