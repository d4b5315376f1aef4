r"""Exact spans by RE2: google-re2 for single texts, Arrow's RE2 kernels for many lines at once.

RE2 reads text as UTF-8. Measured and tested rule for invalid UTF-8: a byte that is part of no well-formed sequence is
matched by nothing (not by ``.``, ``\W``, ``[^a]``, nor by a written U+FFFD) except ``\C``, and ends every match before
it; well-formed text on both sides of it matches as usual. RE2 takes encoded surrogates and F4 90-BF for characters.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from re2 import _re2  # the wrapper above it builds a Python object for each match, at five times the cost

from sourcelight.core.arrays import Int64Array, to_numpy
from sourcelight.core.cancellation import Stopped, check_stopped, never
from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.bulk import paced_runs
from sourcelight.core.patterns.class_runs import ClassRuns, RowSpans

FEW_ROWS = 64
"""Rows below which a Python loop beats the set-up of Arrow's kernels."""

MAX_ROUNDS = 8
"""Matches of a line that are searched for in all lines at once; lines with more are finished one by one."""

MATCHES_PER_CHECK = 16
"""Matches between two looks at whether to stop: one in a line of megabytes takes a millisecond."""

LINES_PER_CHECK = 64
"""Lines between two looks at whether to stop; a short one takes some microseconds."""

_UNANCHORED = _re2.RE2.Anchor.UNANCHORED


def compile_re2(source: bytes, *, case_sensitive: bool, quoted: str) -> Any:
    """Compile `source` in UTF-8 mode without captures; a refusal names `quoted` as the pattern."""
    options = _re2.RE2.Options()
    options.log_errors = False
    options.case_sensitive = case_sensitive

    # Captures would make RE2 slower, and only the bounds of the whole match are read.
    options.never_capture = True
    regexp = _re2.RE2(source, options)
    if not regexp.ok():
        reason = regexp.error()
        if isinstance(reason, bytes):
            reason = reason.decode(errors="replace")
        raise PatternError(quoted, str(reason))

    return regexp


NameTest: TypeAlias = Callable[[bytes], bool]
"""Whether a name matches; an empty match counts."""


@functools.lru_cache(maxsize=256)
def name_test(pattern: str) -> NameTest:
    """Compile a regular expression for names, without regard to case: no tree, no spans, one expression of RE2.

    Raises `PatternError`.
    """
    try:
        source = pattern.encode()
    except UnicodeEncodeError as error:
        raise PatternError(pattern, "invalid UTF-8") from error

    # Of a name it only matters whether it matches: spans and trees of a whole `CompiledPattern` take three expressions
    # of RE2 and an analysis, longer than to look at all names.
    match = compile_re2(source, case_sensitive=False, quoted=pattern).Match

    def matches(name: bytes) -> bool:
        # RE2 returns a pair for each group; group 0 is the whole match, -1 and -1 without one.
        start, _ = match(_UNANCHORED, name, 0, len(name))[0]
        return bool(start >= 0)

    return matches


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
        """Return the non-empty spans of one text from byte `start` on."""
        match = self.regexp.Match
        spans: list[tuple[int, int]] = []
        text_end = len(text)
        position = start
        while True:
            for _ in range(MATCHES_PER_CHECK):
                match_start, match_end = match(_UNANCHORED, text, position, text_end)[0]
                if match_start < 0:
                    return spans

                if match_end > match_start:
                    spans.append((match_start, match_end))

                # An empty match at the end was the last one possible.
                if position == text_end:
                    return spans

                # After an empty match the search moves on by one byte; else RE2 would give the same match forever.
                position = max(match_end, position + 1)

            check_stopped(stopped)

    def spans(self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped = never) -> RowSpans:
        """Return every match in ``view[starts[i]:ends[i]]``, by row, then start."""
        portions: list[RowSpans] = []
        find = self._find_by_re2 if self._runs is None else self._find_by_runs
        for first, last in paced_runs(ends - starts, stopped):
            spans = find(view, starts[first:last], ends[first:last], stopped)
            # Rows are relative to their portion; portions bound the time between two checks for a stop.
            portions.append(RowSpans(spans.row + first, spans.start, spans.end))

        return _concatenate(portions)

    def _find_by_runs(self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped) -> RowSpans:
        if self._runs is None:
            return self._find_by_re2(view, starts, ends, stopped)

        spans, remaining = self._runs.spans(view, starts, ends)
        if not len(remaining):
            return spans

        next_spans = self._find_by_re2(view, starts[remaining], ends[remaining], stopped)
        all_spans = _concatenate([spans, RowSpans(remaining[next_spans.row], next_spans.start, next_spans.end)])

        # Both are sorted by row and share no row: a stable sort keeps the spans of a row in order.
        return _take(all_spans, np.argsort(all_spans.row, kind="stable"))

    def _find_by_re2(self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped) -> RowSpans:
        """Find in all texts at once by Arrow's kernels, and in few texts, or with other patterns, one by one."""
        # The texts that are left, and where the search in each goes on.
        rows = np.arange(len(starts), dtype=np.int64)
        positions = np.zeros(len(starts), dtype=np.int64)

        # Arrow's kernel gives one match per text, so an empty one would hide a longer one after it.
        if self._nullable or self._kernel_source is None:
            return self._find_one_by_one(view, starts, ends=ends, rows=rows, positions=positions, stopped=stopped)

        rounds: list[RowSpans] = []

        # Each round gives the next match of every row that is left, in the text after its last one. After a cut, ^ or
        # \b would match at the cut, so such patterns have one round.
        for _ in range(1 if self._looks_behind else MAX_ROUNDS):
            if len(rows) < FEW_ROWS:
                break

            check_stopped(stopped)
            texts = gather_texts(view, starts[rows] + positions, ends[rows])
            spans = pc.extract_regex_span(texts, pattern=f"(?P<m>{self._kernel_source})")
            is_match = to_numpy(spans.is_valid())

            # Field 0 is a fixed-size list (offset, length) of the only group, m; null rows have no match.
            pairs = np.frombuffer(spans.field(0).values.buffers()[1], dtype=np.int64).reshape(-1, 2)[is_match]
            rows = rows[is_match]
            match_starts = positions[is_match] + pairs[:, 0]
            match_ends = match_starts + pairs[:, 1]
            rounds.append(RowSpans(rows, match_starts, match_ends))
            is_unfinished = match_ends < (ends - starts)[rows]
            rows = rows[is_unfinished]
            positions = match_ends[is_unfinished]

        if len(rows):
            rounds.append(
                self._find_one_by_one(view, starts, ends=ends, rows=rows, positions=positions, stopped=stopped)
            )

        spans_of_rounds = _concatenate(rounds)
        if len(rounds) < 2:
            return spans_of_rounds
        # Rounds interleave the matches of a row: sort by row, then by start.
        return _take(spans_of_rounds, np.lexsort((spans_of_rounds.start, spans_of_rounds.row)))

    def _find_one_by_one(
        self,
        view: memoryview,
        starts: Int64Array,
        *,
        ends: Int64Array,
        rows: Int64Array,
        positions: Int64Array,
        stopped: Stopped,
    ) -> RowSpans:
        """Find in some rows, in each from a position on."""
        spans: list[tuple[int, int, int]] = []
        searches = zip(rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), positions.tolist(), strict=True)
        for number, (row, start, end, position) in enumerate(searches):
            if number % LINES_PER_CHECK == 0:
                check_stopped(stopped)
            # The whole line is passed with a position to start at: `\b` and `^` depend on the text before it.
            text = bytes(view[start:end])
            spans += [(row, lower, upper) for lower, upper in self.find(text, position, stopped)]

        table = np.array(spans, dtype=np.int64).reshape(-1, 3)
        return RowSpans(table[:, 0], table[:, 1], table[:, 2])


def gather_texts(view: memoryview, starts: Int64Array, ends: Int64Array) -> Any:
    """Copy texts into one Arrow string array; they need not be UTF-8, and are not checked."""
    if (starts[1:] >= ends[:-1]).all():
        # Texts and gaps alternate in one array over the bytes themselves: taking every other item copies in C.
        bounds = np.stack((starts, ends), axis=1).ravel() - starts[0]
        data = pa.py_buffer(view[int(starts[0]) : int(ends[-1])])
        texts = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), data)
        every_other = np.arange(0, len(bounds), 2)
        indices = pa.Int64Array.from_buffers(pa.int64(), len(every_other), [None, pa.py_buffer(every_other)])
        return texts.take(indices)

    data = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ends - starts)))
    return pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(data))


def _concatenate(portions: Sequence[RowSpans]) -> RowSpans:
    if not portions:
        nothing = np.empty(0, dtype=np.int64)
        return RowSpans(nothing, nothing, nothing)
    if len(portions) == 1:
        return portions[0]
    return RowSpans(*map(np.concatenate, zip(*portions, strict=True)))


def _take(spans: RowSpans, order: Int64Array) -> RowSpans:
    return RowSpans(spans.row[order], spans.start[order], spans.end[order])
