r"""Exact spans by RE2: google-re2 for single texts, Arrow's RE2 kernels for many lines at once.

RE2 reads text as UTF-8. Measured and tested rule for invalid UTF-8: a byte that is part of no well-formed sequence is
matched by nothing (not by ``.``, ``\W``, ``[^a]``, nor by a written U+FFFD) except ``\C``, and ends every match before
it; well-formed text on both sides of it matches as ever. RE2 takes encoded surrogates and F4 90-BF for characters.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from re2 import _re2  # the wrapper above it builds a Python object for each match, at five times the cost

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.buffers import Offsets
from sourcelight.core.patterns.bulk import mask_of, paced
from sourcelight.core.patterns.halting import Stopped, check, never
from sourcelight.core.patterns.runs import ClassRuns

FEW_ROWS = 64
"""Rows below which a Python loop beats the set-up of Arrow's kernels."""
MOST_ROUNDS = 8
"""Matches of a line that are looked for in all lines at once; lines with more are finished one by one."""

MATCHES_PER_CHECK = 16
"""Matches between two looks at whether to stop: one in a line of megabytes takes a millisecond."""

LINES_PER_CHECK = 64

_UNANCHORED = _re2.RE2.Anchor.UNANCHORED


def compile_re2(source: bytes, *, case_sensitive: bool, shown: str) -> Any:
    """Compile `source` in UTF-8 mode without captures; a refusal names `shown` as the pattern."""
    options = _re2.RE2.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive
    options.never_capture = True
    regexp = _re2.RE2(source, options)
    if not regexp.ok():
        reason = regexp.error()
        raise PatternError(shown, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason))
    return regexp


def quote(text: bytes) -> bytes:
    """Write `text` as an RE2 pattern that matches it literally."""
    quoted: bytes = _re2.RE2.QuoteMeta(text)
    return quoted


class ExactMatcher:
    r"""Spans of one pattern, leftmost-first, non-overlapping, without empty ones.

    Parameters
    ----------
    regexp
        From `compile_re2`.
    kernel_source
        The same pattern with its flags written out and no captures, for Arrow; None when it can't be had.
    looks_behind
        Whether text before a match can decide about it (``^``, ``\b``).
    nullable
        Whether a match can be empty.
    runs
        The pattern as runs of a character class, where it is that.
    """

    def __init__(
        self,
        regexp: Any,
        kernel_source: bytes | None,
        *,
        looks_behind: bool,
        nullable: bool,
        runs: ClassRuns | None = None,
    ) -> None:
        self._runs = runs
        self.regexp = regexp
        self._kernel_source = None if kernel_source is None else kernel_source.decode()
        self._looks_behind = looks_behind
        self._nullable = nullable

    def find(self, text: Any, start: int = 0, stopped: Stopped = never) -> list[tuple[int, int]]:
        """Give the non-empty spans of one text from byte `start` on."""
        match = self.regexp.Match
        found: list[tuple[int, int]] = []
        stop = len(text)
        at = start
        while True:
            for _ in range(MATCHES_PER_CHECK):
                low, high = match(_UNANCHORED, text, at, stop)[0]
                if low < 0:
                    return found
                if high > low:
                    found.append((low, high))
                if at == stop:
                    return found
                at = high if high > at else at + 1
            check(stopped)

    def first_start(self, text: Any, low: int, high: int) -> int:
        """Give the start of the first match in ``text[low:high]``, -1 when there is none."""
        start: int = self.regexp.Match(_UNANCHORED, text, low, high)[0][0]
        return start

    def spans(
        self, view: memoryview, starts: Offsets, ends: Offsets, stopped: Stopped = never
    ) -> tuple[Offsets, Offsets, Offsets]:
        """Give (row, start, end) of every match in ``view[starts[i]:ends[i]]``, by row, then start."""
        rows: list[Offsets] = []
        lows: list[Offsets] = []
        highs: list[Offsets] = []
        chunk = self._chunk if self._runs is None else self._by_runs
        for first, last in paced(ends - starts, stopped):
            row, low, high = chunk(view, starts[first:last], ends[first:last], stopped)
            rows.append(row + first)
            lows.append(low)
            highs.append(high)
        if not rows:
            return _empty(), _empty(), _empty()
        return np.concatenate(rows), np.concatenate(lows), np.concatenate(highs)

    def _by_runs(
        self, view: memoryview, starts: Offsets, ends: Offsets, stopped: Stopped
    ) -> tuple[Offsets, Offsets, Offsets]:
        if self._runs is None:
            return self._chunk(view, starts, ends, stopped)
        row, low, high, rest = self._runs.spans(view, starts, ends)
        if not len(rest):
            return row, low, high
        of_rest, rest_low, rest_high = self._chunk(view, starts[rest], ends[rest], stopped)
        row, low, high = (np.concatenate(both) for both in ((row, rest[of_rest]), (low, rest_low), (high, rest_high)))
        order = np.argsort(row, kind="stable")
        return row[order], low[order], high[order]

    def _chunk(
        self, view: memoryview, starts: Offsets, ends: Offsets, stopped: Stopped
    ) -> tuple[Offsets, Offsets, Offsets]:
        everything = np.arange(len(starts), dtype=np.int64)
        nowhere = np.zeros(len(starts), dtype=np.int64)
        if self._nullable or self._kernel_source is None:
            return self._one_by_one(view, starts, ends, everything, nowhere, stopped)
        found: list[tuple[Offsets, Offsets, Offsets]] = []
        rows, froms = everything, nowhere
        for _ in range(1 if self._looks_behind else MOST_ROUNDS):
            if len(rows) < FEW_ROWS:
                break
            check(stopped)
            texts = gathered(view, starts[rows] + froms, ends[rows])
            spans = pc.extract_regex_span(texts, pattern=f"(?P<m>{self._kernel_source})")
            hit = mask_of(spans.is_valid())
            pairs = np.frombuffer(spans.field(0).values.buffers()[1], dtype=np.int64).reshape(-1, 2)[hit]
            rows, froms = rows[hit], froms[hit]
            low = froms + pairs[:, 0]
            froms = low + pairs[:, 1]
            found.append((rows, low, froms))
            more = froms < (ends - starts)[rows]
            rows, froms = rows[more], froms[more]
        if len(rows):
            found.append(self._one_by_one(view, starts, ends, rows, froms, stopped))
        row, low, high = (np.concatenate([part[i] for part in found]) for i in range(3)) if found else (_empty(),) * 3
        if len(found) > 1:
            order = np.lexsort((low, row))
            row, low, high = row[order], low[order], high[order]
        return row, low, high

    def _one_by_one(
        self, view: memoryview, starts: Offsets, ends: Offsets, rows: Offsets, froms: Offsets, stopped: Stopped
    ) -> tuple[Offsets, Offsets, Offsets]:
        found: list[tuple[int, int, int]] = []
        for number, (row, start, end, at) in enumerate(
            zip(rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), froms.tolist(), strict=True)
        ):
            if number % LINES_PER_CHECK == 0:
                check(stopped)
            found += [(row, low, high) for low, high in self.find(bytes(view[start:end]), at, stopped)]
        table = np.array(found, dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def gathered(view: memoryview, starts: Offsets, ends: Offsets) -> Any:
    """Copy texts into one Arrow string array; that they are UTF-8 is neither needed nor checked."""
    if (starts[1:] >= ends[:-1]).all():
        # Texts and what stands between them are an array over the bytes themselves: taking every other copies in C.
        bounds = np.stack((starts, ends), axis=1).ravel() - starts[0]
        data = pa.py_buffer(view[int(starts[0]) : int(ends[-1])])
        whole = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), data)
        every_other = np.arange(0, len(bounds), 2)
        return whole.take(pa.Int64Array.from_buffers(pa.int64(), len(every_other), [None, pa.py_buffer(every_other)]))
    data = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ends - starts)))
    return pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(data))


def _empty() -> Offsets:
    return np.empty(0, dtype=np.int64)
