r"""Patterns of one character class (``.``, ``\w{40,}``, ``x*``), whose spans are found by comparing all bytes.

A megabyte in one line holds a million matches of ``.``. A call of RE2 for each takes a second, this a few milliseconds.
Only ASCII text is read this way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, UInt8Array
from sourcelight.core.patterns.tree import Chars, Concat, Node, Repeat

MANY_MEMBERS = 8
"""ASCII members from which on nearly every line holds one."""

_ASCII_END = 0x80
"""The first byte that isn't ASCII."""


class RowSpans(NamedTuple):
    """Spans of several texts: the number of the text, and the start and the end of the span in it, in bytes."""

    row: Int64Array
    start: Int64Array
    end: Int64Array


@dataclass(frozen=True, slots=True, eq=False)
class ClassRuns:
    r"""A pattern that is one class, repeated.

    Attributes
    ----------
    members
        Whether each of the 256 bytes belongs to the class.
    low, high
        Minimum and maximum length of a match in bytes: 40 and None, without an end, for ``\w{40,}``. A match is as
        long as can be.
    """

    members: BoolArray
    low: int
    high: int | None

    @property
    def everywhere(self) -> bool:
        """Whether nearly every line has a match, so that selecting lines first saves nothing."""
        return self.low == 1 and int(np.count_nonzero(self.members)) > MANY_MEMBERS

    def spans(self, view: memoryview, starts: Int64Array, ends: Int64Array) -> tuple[RowSpans, Int64Array]:
        """Return the spans in ``view[starts[i]:ends[i]]``, and the rows that are not ASCII, which it leaves out."""
        raw, offsets = self._together(view, starts, ends)
        limits = offsets + (ends - starts)
        is_member = self.members[raw]

        # The bytes right before and after a text are made non-members, so that no run crosses from one text to the
        # next.
        is_member[limits[limits < len(raw)]] = False
        is_member[offsets[1:] - 1] = False
        run_starts, run_ends = self._split_runs(is_member)
        row = np.searchsorted(offsets, run_starts, side="right") - 1
        selected = (row >= 0) & (run_starts < limits[row])
        remaining = np.zeros(0, dtype=np.int64)
        if len(raw) and int(raw.max()) >= _ASCII_END:
            # The class may hold characters of several bytes, which a comparison of bytes can't decide. Only their rows
            # go to RE2.
            remaining = _non_ascii_rows(raw, offsets, limits)
            is_remaining = np.zeros(len(starts), dtype=np.bool_)
            is_remaining[remaining] = True
            selected &= ~is_remaining[row]

        if not selected.all():
            row = row[selected]
            run_starts = run_starts[selected]
            run_ends = run_ends[selected]

        base = offsets[row]
        return RowSpans(row, run_starts - base, run_ends - base), remaining

    def _together(self, view: memoryview, starts: Int64Array, ends: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Return bytes that hold all texts, each followed by a byte of no text, and the start of each."""
        first = int(starts[0])
        last = int(ends[-1])
        # Each text needs a byte after it.
        sizes = ends - starts + 1
        # Nothing is copied where the texts lie apart and make up at least half of the bytes between the first and the
        # last.
        are_separate = bool((starts[1:] > ends[:-1]).all())
        if are_separate and last > first and 2 * int(sizes.sum()) >= last - first:
            return np.frombuffer(view, np.uint8)[first:last], starts - first

        texts = [view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
        joined_text = b"\n".join([*texts, b""])
        return np.frombuffer(joined_text, np.uint8), np.cumsum(sizes) - sizes

    def _split_runs(self, is_member: BoolArray) -> tuple[Int64Array, Int64Array]:
        """Return the starts and the ends of the matches in a row of bytes."""
        if self.high == 1:
            run_starts = np.flatnonzero(is_member).astype(np.int64)
            return run_starts, run_starts + 1

        # Padded with False, a run begins at each even edge and ends at the next odd one.
        edges = np.flatnonzero(np.diff(is_member, prepend=False, append=False)).astype(np.int64)
        run_starts = edges[0::2]
        run_ends = edges[1::2]
        if self.high is None:
            selected = run_ends - run_starts >= self.low
            return run_starts[selected], run_ends[selected]

        # Greedy {low,high} cuts a run from its left into pieces of `high`, and the rest where it is long enough. This
        # division rounds up.
        piece_counts = -(-(run_ends - run_starts) // self.high)
        first_pieces = np.cumsum(piece_counts) - piece_counts
        # The number of each piece in its run, from 0.
        piece_numbers = np.arange(int(piece_counts.sum())) - np.repeat(first_pieces, piece_counts)
        run_starts = np.repeat(run_starts, piece_counts) + piece_numbers * self.high
        run_ends = np.minimum(run_starts + self.high, np.repeat(run_ends, piece_counts))
        selected = run_ends - run_starts >= self.low
        return run_starts[selected], run_ends[selected]


def _non_ascii_rows(raw: UInt8Array, offsets: Int64Array, limits: Int64Array) -> Int64Array:
    """Return the texts, from `offsets` to `limits`, that hold a byte that isn't ASCII."""
    positions = np.flatnonzero(raw >= _ASCII_END)
    row = np.searchsorted(offsets, positions, side="right") - 1
    # A byte before the first text, or between two, belongs to none.
    is_inside = (row >= 0) & (positions < limits[row])
    return np.unique(row[is_inside])


def class_runs(tree: Node, *, greedy: bool) -> ClassRuns | None:
    """Return a pattern without empty matches as runs of a class, or None when it is anything else."""
    node = tree
    while isinstance(node, Concat) and len(node.parts) == 1:
        node = node.parts[0]

    low = 1
    high: int | None = 1
    if isinstance(node, Repeat):
        low = node.low
        high = node.high
        node = node.part
        # A lazy repetition takes `low` characters, not as many as there are.
        if not greedy and low != high:
            return None

    if not isinstance(node, Chars) or low < 1 or high == 0:
        return None

    members = np.zeros(256, dtype=np.bool_)
    for code in range(_ASCII_END):
        members[code] = bool(node.narrow >> code & 1)
    return ClassRuns(members, low, high)
