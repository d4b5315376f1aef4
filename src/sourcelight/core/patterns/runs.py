r"""Patterns that are one character class, repeated or not (``.``, ``\w{40,}``, ``x*``): spans by comparing all bytes.

A megabyte in one line holds a million matches of ``.``; a call of RE2 for each takes a second, this some milliseconds.
Only ASCII text is read this way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns.buffers import Offsets
from sourcelight.core.patterns.syntax import Chars, Concat, Node, Repeat

MANY_MEMBERS = 8
"""ASCII members from which on nearly every line holds one."""

_ASCII_END = 0x80


@dataclass(frozen=True, slots=True, eq=False)
class ClassRuns:
    """Runs of `low` to `high` bytes that are members of a class, the longest first; `high` None is without end."""

    members: NDArray[np.bool_]
    low: int
    high: int | None

    @property
    def everywhere(self) -> bool:
        """Whether it is no use to look for the lines that hold a match."""
        return self.low == 1 and int(np.count_nonzero(self.members)) > MANY_MEMBERS

    def spans(self, view: memoryview, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets, Offsets, Offsets]:
        """Give (row, start, end) of the spans in ``view[starts[i]:ends[i]]``, and the rows left out: not all ASCII."""
        raw, places = self._together(view, starts, ends)
        limits = places + (ends - starts)
        held = self.members[raw]
        held[limits[limits < len(raw)]] = False
        held[places[1:] - 1] = False
        low, high = self._cut(held)
        row = np.searchsorted(places, low, side="right") - 1
        kept = (row >= 0) & (low < limits[row])
        rest = np.zeros(0, dtype=np.int64)
        if len(raw) and int(raw.max()) >= _ASCII_END:
            beyond = np.flatnonzero(raw >= _ASCII_END)
            of_row = np.searchsorted(places, beyond, side="right") - 1
            rest = np.unique(of_row[(of_row >= 0) & (beyond < limits[of_row])])
            left_out = np.zeros(len(starts), dtype=np.bool_)
            left_out[rest] = True
            kept &= ~left_out[row]
        if not kept.all():
            row, low, high = row[kept], low[kept], high[kept]
        base = places[row]
        return row, low - base, high - base, rest

    def _together(self, view: memoryview, starts: Offsets, ends: Offsets) -> tuple[NDArray[np.uint8], Offsets]:
        """Give bytes that hold all texts, each followed by a byte that is no text's, and where each begins."""
        first, last = int(starts[0]), int(ends[-1])
        apart = bool((starts[1:] > ends[:-1]).all())
        if apart and last > first and 2 * int((ends - starts).sum() + len(starts)) >= last - first:
            return np.frombuffer(view, np.uint8)[first:last], starts - first
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        joined = b"\n".join([*(view[low:high] for low, high in pairs), b""])
        bounds = np.cumsum(ends - starts + 1)
        return np.frombuffer(joined, np.uint8), bounds - (ends - starts + 1)

    def _cut(self, held: NDArray[np.bool_]) -> tuple[Offsets, Offsets]:
        if self.high == 1:
            low = np.flatnonzero(held).astype(np.int64)
            return low, low + 1
        edges = np.flatnonzero(np.diff(held, prepend=False, append=False)).astype(np.int64)
        low, high = edges[0::2], edges[1::2]
        if self.high is None:
            kept = high - low >= self.low
            return low[kept], high[kept]
        pieces = -(-(high - low) // self.high)
        step = np.arange(int(pieces.sum())) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        low = np.repeat(low, pieces) + step * self.high
        high = np.minimum(low + self.high, np.repeat(high, pieces))
        kept = high - low >= self.low
        return low[kept], high[kept]


def class_runs(tree: Node, *, greedy: bool) -> ClassRuns | None:
    """Give the runs that a pattern without empty matches consists of; None when it is anything else."""
    node = tree
    while isinstance(node, Concat) and len(node.parts) == 1:
        node = node.parts[0]
    low, high = 1, 1
    if isinstance(node, Repeat):
        low, high, node = node.low, node.high, node.part  # type: ignore[assignment]
        if not greedy and low != high:
            return None
    if not isinstance(node, Chars) or low < 1 or high == 0:
        return None
    members = np.zeros(256, dtype=np.bool_)
    members[[code for code in range(_ASCII_END) if node.narrow >> code & 1]] = True
    return ClassRuns(members, low, high)
