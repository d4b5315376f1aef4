r"""Exact spans by RE2: google-re2 for single texts, Arrow's RE2 kernels for many lines at once.

RE2 reads text as UTF-8. Measured and tested rule for invalid UTF-8: a byte that is part of no well-formed sequence is
matched by nothing (not by ``.``, ``\W``, ``[^a]``, nor by a written U+FFFD) except ``\C``, and ends every match before
it; well-formed text on both sides of it matches as usual. RE2 takes encoded surrogates and F4 90-BF for characters.

Patterns of one character class, repeated or not (``.``, ``\w{40,}``, ``x*``), get their spans by comparing all bytes.

A megabyte in one line holds a million matches of ``.``; a call of RE2 for each takes a second, this a few milliseconds.
Only ASCII text is read this way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from re2 import _re2  # the wrapper above it builds a Python object for each match, at five times the cost

from sourcelight.core.arrays import BoolArray, Int64Array, UInt8Array, to_numpy
from sourcelight.core.cancellation import Stopped, check_stopped, never
from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.bulk import paced_runs
from sourcelight.core.patterns.syntax import Chars, Concat, Node, Repeat

MANY_MEMBERS = 8
"""ASCII members from which on nearly every line holds one."""

_ASCII_END = 0x80

FEW_ROWS = 64
"""Rows below which a Python loop beats the set-up of Arrow's kernels."""

MAX_ROUNDS = 8
"""Matches of a line that are searched for in all lines at once; lines with more are finished one by one."""

MATCHES_PER_CHECK = 16
"""Matches between two looks at whether to stop: one in a line of megabytes takes a millisecond."""

LINES_PER_CHECK = 64
_UNANCHORED = _re2.RE2.Anchor.UNANCHORED


@dataclass(frozen=True, slots=True, eq=False)
class ClassRuns:
    """Runs of `low` to `high` bytes that are members of a class, the longest first; `high` None is without end."""

    members: BoolArray
    low: int
    high: int | None

    @property
    def everywhere(self) -> bool:
        """Whether nearly every line has a match, so that selecting lines first saves nothing."""
        return self.low == 1 and int(np.count_nonzero(self.members)) > MANY_MEMBERS

    def spans(
        self, view: memoryview, starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array, Int64Array, Int64Array]:
        """Return (row, start, end) of the spans in ``view[starts[i]:ends[i]]``, and the rows that are not ASCII."""
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
            non_ascii = np.flatnonzero(raw >= _ASCII_END)
            of_row = np.searchsorted(offsets, non_ascii, side="right") - 1
            remaining = np.unique(of_row[(of_row >= 0) & (non_ascii < limits[of_row])])
            left_out = np.zeros(len(starts), dtype=np.bool_)
            left_out[remaining] = True
            selected &= ~left_out[row]

        if not selected.all():
            row, run_starts, run_ends = row[selected], run_starts[selected], run_ends[selected]

        base = offsets[row]
        return row, run_starts - base, run_ends - base, remaining

    def _together(self, view: memoryview, starts: Int64Array, ends: Int64Array) -> tuple[UInt8Array, Int64Array]:
        """Return bytes that hold all texts, each followed by a byte of no text, and the start of each."""
        first, last = int(starts[0]), int(ends[-1])
        # Nothing is copied where the texts lie apart and make up at least half of the bytes between the first and the
        # last. `>`: each text needs a byte after it.
        are_separate = bool((starts[1:] > ends[:-1]).all())
        if are_separate and last > first and 2 * int((ends - starts).sum() + len(starts)) >= last - first:
            return np.frombuffer(view, np.uint8)[first:last], starts - first

        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        text = b"\n".join([*(view[start:end] for start, end in pairs), b""])
        bounds = np.cumsum(ends - starts + 1)
        return np.frombuffer(text, np.uint8), bounds - (ends - starts + 1)

    def _split_runs(self, is_member: BoolArray) -> tuple[Int64Array, Int64Array]:
        if self.high == 1:
            run_starts = np.flatnonzero(is_member).astype(np.int64)
            return run_starts, run_starts + 1

        # Padded with False, a run begins at each even edge and ends at the next odd one.
        edges = np.flatnonzero(np.diff(is_member, prepend=False, append=False)).astype(np.int64)
        run_starts, run_ends = edges[0::2], edges[1::2]
        if self.high is None:
            selected = run_ends - run_starts >= self.low
            return run_starts[selected], run_ends[selected]

        # Greedy {low,high} cuts a run from its left into pieces of `high`, and the rest where it is long enough. The
        # first line is a division that rounds up.
        piece_counts = -(-(run_ends - run_starts) // self.high)
        step = np.arange(int(piece_counts.sum())) - np.repeat(np.cumsum(piece_counts) - piece_counts, piece_counts)
        run_starts = np.repeat(run_starts, piece_counts) + step * self.high
        run_ends = np.minimum(run_starts + self.high, np.repeat(run_ends, piece_counts))
        selected = run_ends - run_starts >= self.low
        return run_starts[selected], run_ends[selected]


def class_runs(tree: Node, *, greedy: bool) -> ClassRuns | None:
    """Return a pattern without empty matches as runs of a class, or None when it is anything else."""
    node = tree
    while isinstance(node, Concat) and len(node.parts) == 1:
        node = node.parts[0]

    minimum, maximum = 1, 1
    if isinstance(node, Repeat):
        minimum, maximum, node = node.low, node.high, node.part  # type: ignore[assignment]
        # A lazy repetition takes `low` characters, not as many as there are.
        if not greedy and minimum != maximum:
            return None

    if not isinstance(node, Chars) or minimum < 1 or maximum == 0:
        return None

    members = np.zeros(256, dtype=np.bool_)
    members[[code for code in range(_ASCII_END) if node.narrow >> code & 1]] = True
    return ClassRuns(members, minimum, maximum)


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
        raise PatternError(quoted, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason))

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
    return lambda name: match(_UNANCHORED, name, 0, len(name))[0][0] >= 0


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
                position = match_end if match_end > position else position + 1

            check_stopped(stopped)

    def spans(
        self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped = never
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return (row, start, end) of every match in ``view[starts[i]:ends[i]]``, by row, then start."""
        rows: list[Int64Array] = []
        lows: list[Int64Array] = []
        highs: list[Int64Array] = []
        chunk = self._chunk if self._runs is None else self._by_runs
        for first, last in paced_runs(ends - starts, stopped):
            row, match_starts, match_ends = chunk(view, starts[first:last], ends[first:last], stopped)
            # Rows are relative to their portion; portions bound the time between two checks for a stop.
            rows.append(row + first)
            lows.append(match_starts)
            highs.append(match_ends)

        if not rows:
            return _empty(), _empty(), _empty()

        return np.concatenate(rows), np.concatenate(lows), np.concatenate(highs)

    def _by_runs(
        self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        if self._runs is None:
            return self._chunk(view, starts, ends, stopped)

        row, match_starts, match_ends, remaining = self._runs.spans(view, starts, ends)
        if not len(remaining):
            return row, match_starts, match_ends

        next_texts, next_starts, next_ends = self._chunk(view, starts[remaining], ends[remaining], stopped)
        row, match_starts, match_ends = (
            np.concatenate(arrays)
            for arrays in ((row, remaining[next_texts]), (match_starts, next_starts), (match_ends, next_ends))
        )

        # Both parts are sorted by row and share no row: a stable sort keeps the spans of a row in order.
        order = np.argsort(row, kind="stable")
        return row[order], match_starts[order], match_ends[order]

    def _chunk(
        self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        all_rows = np.arange(len(starts), dtype=np.int64)
        nowhere = np.zeros(len(starts), dtype=np.int64)

        # Arrow's kernel gives one match per text, so an empty one would hide a longer one after it.
        if self._nullable or self._kernel_source is None:
            return self._one_by_one(view, starts, ends, all_rows, nowhere, stopped)

        rounds: list[tuple[Int64Array, Int64Array, Int64Array]] = []
        rows, froms = all_rows, nowhere

        # Each round gives the next match of every row that is left, in the text after its last one. After a cut, ^ or
        # \b would match at the cut, so such patterns have one round.
        for _ in range(1 if self._looks_behind else MAX_ROUNDS):
            if len(rows) < FEW_ROWS:
                break

            check_stopped(stopped)
            texts = gather_texts(view, starts[rows] + froms, ends[rows])
            spans = pc.extract_regex_span(texts, pattern=f"(?P<m>{self._kernel_source})")
            is_match = to_numpy(spans.is_valid())

            # Field 0 is a fixed-size list (offset, length) of the only group, m; null rows have no match.
            pairs = np.frombuffer(spans.field(0).values.buffers()[1], dtype=np.int64).reshape(-1, 2)[is_match]
            rows, froms = rows[is_match], froms[is_match]
            match_starts = froms + pairs[:, 0]
            froms = match_starts + pairs[:, 1]
            rounds.append((rows, match_starts, froms))
            is_unfinished = froms < (ends - starts)[rows]
            rows, froms = rows[is_unfinished], froms[is_unfinished]

        if len(rows):
            rounds.append(self._one_by_one(view, starts, ends, rows, froms, stopped))

        row, match_starts, match_ends = (
            (np.concatenate([part[i] for part in rounds]) for i in range(3)) if rounds else (_empty(),) * 3
        )
        if len(rounds) > 1:
            # Rounds interleave the matches of a row: sort by row, then by start.
            order = np.lexsort((match_starts, row))
            row, match_starts, match_ends = row[order], match_starts[order], match_ends[order]

        return row, match_starts, match_ends

    def _one_by_one(
        self,
        view: memoryview,
        starts: Int64Array,
        ends: Int64Array,
        rows: Int64Array,
        froms: Int64Array,
        stopped: Stopped,
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        spans: list[tuple[int, int, int]] = []
        for number, (row, start, end, position) in enumerate(
            zip(rows.tolist(), starts[rows].tolist(), ends[rows].tolist(), froms.tolist(), strict=True)
        ):
            if number % LINES_PER_CHECK == 0:
                check_stopped(stopped)
            # The whole line is passed with a position to start at: `\b` and `^` depend on the text before it.
            spans += [(row, lower, upper) for lower, upper in self.find(bytes(view[start:end]), position, stopped)]

        table = np.array(spans, dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]


def gather_texts(view: memoryview, starts: Int64Array, ends: Int64Array) -> Any:
    """Copy texts into one Arrow string array; they need not be UTF-8, and are not checked."""
    if (starts[1:] >= ends[:-1]).all():
        # Texts and gaps alternate in one array over the bytes themselves: taking every other item copies in C.
        bounds = np.stack((starts, ends), axis=1).ravel() - starts[0]
        data = pa.py_buffer(view[int(starts[0]) : int(ends[-1])])
        texts = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), data)
        every_other = np.arange(0, len(bounds), 2)
        return texts.take(pa.Int64Array.from_buffers(pa.int64(), len(every_other), [None, pa.py_buffer(every_other)]))

    data = b"".join([view[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)])
    offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(ends - starts)))
    return pa.LargeStringArray.from_buffers(len(starts), pa.py_buffer(offsets), pa.py_buffer(data))


def _empty() -> Int64Array:
    return np.empty(0, dtype=np.int64)
