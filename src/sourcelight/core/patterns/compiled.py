"""Patterns that are ready to scan: one object per text, kind and case.

A scan goes from cheap to exact. A plain text is found as bytes. A regular expression is first reduced to texts that
every match contains: the rarest of them is looked for, and RE2 reads only the lines or documents around it; without a
rare text RE2 reads all of them. The lines so found are candidates, and `spans` tells the matches in them. Whatever is
not needed for a short plain text, RE2 included, is made on first use, since most searches for a word never ask for it.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Stopped, check_stopped, never
from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.bulk import NEWLINE
from sourcelight.core.patterns.engines import PatternEngines, PatternKind
from sourcelight.core.patterns.formula import (
    FOLD_HAZARDS,
    RequiredText,
    RequiredTree,
    differ_in_case_alone,
    lower_ascii,
)
from sourcelight.core.patterns.ranges import (
    BufferList,
    as_ranges,
    count_texts,
    counts_in_each,
    cut_at_lines,
    every_line,
    find_in_all,
    find_texts,
    join_adjacent,
    join_near,
    lines_around,
    offsets_within,
    portions,
)
from sourcelight.core.patterns.required import drops_hazards, required_texts
from sourcelight.core.patterns.texts import (
    Prefilter,
    find_lowered,
    hides_matches,
    prefilters,
    rarest_prefilter,
    separate_texts,
)
from sourcelight.core.patterns.tree import literal_of, nullable

SHORT_BYTES = 256
"""Bytes of a text that RE2 compiles in far less than its memory, so that compiling it can be put off."""

_TWIN_LETTERS = frozenset("kKsS")
"""Letters that one of `FOLD_HAZARDS` matches where case is ignored."""

PORTION = 8 << 20
"""Bytes in which a plain text is searched for before the caller is asked whether to stop."""


class CompiledPattern:
    r"""A literal or RE2 pattern with everything the engines ask of it; safe to share between threads.

    Attributes
    ----------
    text, kind, case_sensitive, whole_text
        As given to `compile_pattern`.
    multi_line
        True when the pattern can match a newline or names the ends of the text (``\A``): it must be evaluated per
        document. Pass whole documents as the ranges of `lines`, and take the matches from `find_document`; `spans`
        would miss the matches that cross lines.
    matches_empty
        True when the pattern can match the empty text. `lines` then reports every line; empty matches are never in
        `find`, `spans` or `count`, but `match_many` counts them as a match.
    literal
        The bytes that the pattern matches when it is one plain text in one spelling (also a regular expression such
        as ``foo\.bar``), else None.
    exact
        True when `lines` gives exact, non-overlapping starts of matches that are all ``len(literal)`` bytes long.
    required
        What the folded bytes of every match contain. Texts of a regular expression have 3 to 64 bytes; that of a
        literal pattern may be shorter or longer.
    required_as_written
        The same with the letters as they must be written, or None where `required` says more, as for a pattern that
        ignores case.
    lowered
        A literal of ASCII letters whose case does not count, in lower case: it matches where folded text without
        `FOLD_HAZARDS` holds it. Empty for every other pattern.
    needs_fold_check
        True when a letter of `required` (k or s) may be spelled with one of `FOLD_HAZARDS`. A unit or document that
        holds a hazard must then be a candidate whatever `required` says; `lines` and `spans` need no further care.
    """

    def __init__(self, text: str, kind: PatternKind, *, case_sensitive: bool, whole_text: bool) -> None:
        self.text = text
        self.kind: PatternKind = kind
        self.case_sensitive = case_sensitive
        self.whole_text = whole_text
        try:
            raw = text.encode()
        except UnicodeEncodeError as error:
            raise PatternError(text, "invalid UTF-8") from error

        if kind == "literal" and text and text.isascii() and len(raw) <= SHORT_BYTES:
            # A short ASCII text needs no parser and no RE2 to say these, and most searches for one never ask RE2: to
            # compile a word costs more than to read the posting lists of its keys. Errors can't be put off with it,
            # since RE2 refuses no quoted text of this size.
            folds = not case_sensitive
            self.multi_line = b"\n" in raw
            self.matches_empty = not raw
            self.literal = raw if case_sensitive or raw.lower() == raw.upper() else None
            self.required: RequiredTree = RequiredText(lower_ascii(raw))
            self.needs_fold_check = folds and not _TWIN_LETTERS.isdisjoint(text)
        else:
            engines = self._engines
            tree = engines.source_tree
            self.multi_line = engines.multi_line
            self.matches_empty = nullable(tree)
            self.literal = raw if kind == "literal" and case_sensitive and raw else literal_of(tree)

            # A literal requires itself in full, folded. With other letters and without case it has several spellings,
            # so its tree is analyzed like that of a regular expression.
            literal = kind == "literal" and (self.literal or (not case_sensitive and text.isascii()))
            self.required = RequiredText(lower_ascii(raw)) if raw and literal else required_texts(tree)
            self.needs_fold_check = drops_hazards(tree)

        self.exact = self.literal is not None
        self._lowered = lower_ascii(raw) if kind == "literal" and text.isascii() and not self.multi_line else b""
        self.lowered = b"" if case_sensitive or self.literal is not None else self._lowered

    @property
    def in_any_case(self) -> CompiledPattern:
        """The same pattern without regard to case."""
        return compile_pattern(self.text, kind=self.kind, case_sensitive=False, whole_text=self.whole_text)

    @functools.cached_property
    def required_as_written(self) -> RequiredTree | None:
        """See the class."""
        if not self.case_sensitive:
            return None
        if self.kind == "literal" and self.literal:
            return RequiredText(self.literal)

        # A set of letters in both cases has more texts than without case, and may have too many.
        tree = required_texts(self._engines.source_tree, fold_case=False)
        return tree if differ_in_case_alone(tree, self.required) else None

    @functools.cached_property
    def _engines(self) -> PatternEngines:
        return PatternEngines.of(self.text, self.kind, case_sensitive=self.case_sensitive, whole_text=self.whole_text)

    @functools.cached_property
    def _prefilters(self) -> tuple[Prefilter, ...]:
        return prefilters(self._engines.tree)

    def __repr__(self) -> str:
        return f"CompiledPattern({self.text!r}, kind={self.kind!r}, case_sensitive={self.case_sensitive})"

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Return the non-empty spans in one text, in bytes, leftmost-first, non-overlapping: the oracle of `spans`."""
        return self._engines.matcher.find(bytes(text))

    def find_document(self, text: bytes, stopped: Stopped = never) -> list[tuple[int, int]]:
        """Return the non-empty spans in a whole document; they may cross lines, ``^`` and ``$`` are line bounds."""
        return self._engines.finder.find(text, stopped=stopped)

    def document_spans(self, text: bytes, stopped: Stopped = never) -> Int64Array:
        """Return the spans of `find_document` as an n x 2 array."""
        if self._engines.runs is not None:
            _, starts, ends = self._engines.finder.spans(
                memoryview(text), np.zeros(1, np.int64), np.array([len(text)]), stopped
            )
            return np.stack((starts, ends), axis=1)
        return np.array(self._engines.finder.find(text, stopped=stopped), dtype=np.int64).reshape(-1, 2)

    def lines(self, buffer: Any, ranges: Any, stopped: Stopped = never) -> Int64Array:
        """Find candidate lines.

        Parameters
        ----------
        buffer
            Bytes-like, a memory map for one, or `BufferList`.
        ranges
            n x 2 byte offsets, ascending and apart, each at line bounds (whole documents when `multi_line`).
        stopped
            Called about every 10 ms; `ScanStopped` is raised when it returns True.

        Returns
        -------
        Offsets
            Ascending byte offsets in the ranges, each on a byte of a candidate line or on its newline. Lines may be
            reported that hold no match, and a line more than once; no line that holds one is left out, nor, when
            `multi_line`, a document.
        """
        buffers = BufferList.of(buffer)
        byte_ranges = as_ranges(ranges)
        if not len(byte_ranges):
            return np.empty(0, dtype=np.int64)

        if not self.multi_line:
            # Joining is right for lines only: documents that touch are matched apart.
            byte_ranges = join_adjacent(byte_ranges)

        passes = byte_ranges if self.multi_line else join_near(byte_ranges)
        if self.literal is not None:
            offsets = find_in_all(buffers, self.literal, passes)
            if passes is byte_ranges:
                return offsets
            return offsets_within(offsets, byte_ranges)

        # Nearly every line would match: all are reported, without RE2.
        if self._engines.nullable or (self._engines.runs is not None and self._engines.runs.everywhere):
            return every_line(buffers, byte_ranges)
        if self.multi_line:
            return self._documents(buffers, byte_ranges, stopped)[:, 0]

        offsets = self._candidates(buffers, passes, stopped)
        return offsets if passes is byte_ranges else offsets_within(offsets, byte_ranges)

    def starts(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped = never) -> Int64Array | None:
        """Return the starts of all matches if they have one length and need no RE2; else None.

        This works for a plain text: `literal`, or `lowered` where the ranges hold no `FOLD_HAZARDS` that could match.
        Buffers, ranges and `stopped` as for `lines`.
        """
        if self.literal is not None:
            return self.lines(buffers, ranges, stopped)
        if not self.lowered:
            return None

        batches = [np.empty(0, dtype=np.int64)]
        # Portions bound the time between two requests to stop; a lowered copy is made of a small piece at a time.
        for portion in portions(join_adjacent(ranges), PORTION):
            check_stopped(stopped)
            offsets = find_lowered(buffers, self.lowered, portion, hazards=self.needs_fold_check)
            if offsets is None:
                return None
            batches.append(offsets)

        return np.concatenate(batches)

    def text_spans(
        self, buffers: BufferList, ranges: Int64Array, stopped: Stopped = never
    ) -> tuple[Int64Array, Int64Array] | None:
        """Return starts and ends of all occurrences of the texts of `exact_texts`, sorted by start.

        None without such texts, or if only RE2 can tell which occurrences are matches. Occurrences of two texts may
        overlap: the later one is no match. Buffers, ranges and `stopped` as for `lines`.
        """
        if not self._exact_texts:
            return None

        merged = join_adjacent(ranges)
        passes = join_near(merged)

        # A pass for each text reads 10 GB/s or more; RE2 reads 0.6 GB/s, and a second time for the spans.
        starts, ends = [], []
        for text in self._exact_texts:
            check_stopped(stopped)
            offsets = find_in_all(buffers, text, passes)
            starts.append(offsets if passes is merged else offsets_within(offsets, merged))
            ends.append(starts[-1] + len(text))

        start, end = np.concatenate(starts), np.concatenate(ends)
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
        # Rare: two texts at one place, one of which can also begin inside itself.
        return None if hides_matches(self._exact_texts, start, end) else (start, end)

    @functools.cached_property
    def _exact_texts(self) -> tuple[bytes, ...]:
        """The texts that a regular expression matches, if known without RE2; otherwise empty."""
        if self.kind == "literal" or self.multi_line or self.literal is not None or not self._engines.unanchored:
            return ()
        return separate_texts(self._engines.source_tree)

    def spans(
        self, buffer: Any, line_starts: Any, line_ends: Any, stopped: Stopped = never
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the exact non-empty matches in the given lines.

        Parameters
        ----------
        buffer
            Bytes-like.
        line_starts, line_ends
            Byte offsets of the lines, ends without the newline. Any texts will do: paths, repository names.
        stopped
            As for `lines`.

        Returns
        -------
        tuple
            Index of the line, start and end of the match in bytes from the start of the line; ordered by both.
        """
        view = memoryview(buffer)
        starts = np.asarray(line_starts, dtype=np.int64)
        ends = np.asarray(line_ends, dtype=np.int64)
        if self.literal is not None:
            offsets, rows = _matches_in_rows(view, self.literal, starts, ends)
            span_starts = offsets - starts[rows]
            return rows, span_starts, span_starts + len(self.literal)

        if self._lowered and len(starts):
            spans = self._folded_spans(view, starts, ends)
            if spans is not None:
                return spans

        return self._engines.finder.spans(view, starts, ends, stopped)

    def count(self, buffer: Any, ranges: Any) -> int:
        """Count the non-empty matches in the ranges (bounds as for `lines`)."""
        view = memoryview(buffer)
        byte_ranges = as_ranges(ranges)
        if self.literal is not None:
            return count_texts(view, self.literal, byte_ranges if self.multi_line else join_adjacent(byte_ranges))
        if self.multi_line:
            # A pattern that can match a newline may span lines, so each range is one text; others are counted by line.
            return sum(len(self._engines.matcher.find(view[start:end])) for start, end in byte_ranges.tolist())

        byte_ranges = join_adjacent(byte_ranges)
        starts, ends = lines_around(view, self.lines(view, byte_ranges), byte_ranges)
        return len(self.spans(view, starts, ends)[0])

    def counts(self, buffer: Any, ranges: Any) -> Int64Array:
        """Count the occurrences in each of the ranges of an `exact` pattern (buffer and bounds as for `lines`)."""
        return counts_in_each(BufferList.of(buffer), self.literal or b"", as_ranges(ranges))

    def match_many(self, text: Any, starts: Any, ends: Any, stopped: Stopped = never) -> BoolArray:
        r"""Return which texts ``text[start:end]`` the pattern matches; empty matches count.

        Meant for paths, with `whole_text` patterns. Any layout is correct; fastest where the texts ascend with small
        gaps. Raises `ScanStopped` when `stopped` returns True.
        """
        view = memoryview(text)
        text_starts = np.asarray(starts, dtype=np.int64)
        text_ends = np.asarray(ends, dtype=np.int64)
        if self.matches_empty and self._engines.unanchored:
            return np.ones(len(text_starts), dtype=np.bool_)
        return self._engines.bulk.matches(view, text_starts, text_ends, stopped)

    def _folded_spans(
        self, view: memoryview, starts: Int64Array, ends: Int64Array
    ) -> tuple[Int64Array, Int64Array, Int64Array] | None:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        lowered = lower_ascii(b"\n".join([view[start:end] for start, end in pairs]))
        if self.needs_fold_check and any(hazard in lowered for hazard in FOLD_HAZARDS):
            return None

        # Texts are joined by newlines, which `_lowered` never holds: no occurrence lies in two texts.
        bounds = np.cumsum(ends - starts + 1)
        whole_range = np.array([[0, len(lowered)]], dtype=np.int64)
        offsets = find_texts(memoryview(lowered), self._lowered, whole_range)
        rows = np.searchsorted(bounds, offsets, side="right").astype(np.int64)
        start = offsets - np.concatenate(([0], bounds))[rows]
        return rows, start, start + len(self._lowered)

    def _candidates(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
        blocks = cut_at_lines(buffers, ranges, PORTION)
        # A required text that is rare is found far faster than RE2 reads; the lines of its places are a superset.
        prefilter = rarest_prefilter(self._prefilters, buffers, blocks)
        if prefilter is None:
            return self._matching_lines(buffers, blocks, stopped)
        return _prefilter_offsets(prefilter, buffers, blocks, stopped)

    def _matching_lines(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
        if not self._engines.line_is_text:
            return self._engines.bulk.lines(buffers, ranges, stopped)

        offsets = [np.empty(0, dtype=np.int64)]
        for (start, _), text in zip(ranges.tolist(), buffers.slices(ranges), strict=True):
            # Each line is matched as a text of its own, since \A and \z mean the ends of a line here.
            ends = np.append(np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == NEWLINE), len(text))
            starts = np.append(0, ends[:-1] + 1)
            offsets.append(starts[self._engines.bulk.matches(text, starts, ends, stopped)] + start)

        return np.concatenate(offsets)

    def _documents(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
        """Return the starts and ends of the ranges in which RE2 finds the pattern."""
        prefilter = rarest_prefilter(self._prefilters, buffers, ranges)
        if prefilter is not None:
            offsets = _prefilter_offsets(prefilter, buffers, ranges, stopped)
            # Places are addresses; the range that begins last before each holds it.
            ranges = ranges[np.unique(np.searchsorted(ranges[:, 0], offsets, side="right") - 1)]
        return self._engines.bulk.documents(buffers, ranges, stopped)


def _prefilter_offsets(prefilter: Prefilter, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
    """Return the places of required texts in ranges, a portion at a time; raises `ScanStopped` between two."""
    offsets = [np.empty(0, dtype=np.int64)]
    for portion in portions(ranges, PORTION):
        check_stopped(stopped)
        offsets.append(prefilter.find(buffers, portion))
    return np.concatenate(offsets)


def _matches_in_rows(
    view: memoryview, text: bytes, starts: Int64Array, ends: Int64Array
) -> tuple[Int64Array, Int64Array]:
    offsets = find_texts(view, text, np.stack((starts, ends), axis=1))
    if len(starts) > 1 and (starts[1:] < ends[:-1]).any():
        # Texts that overlap or don't ascend: a look-up by start would name the wrong row, so each row is counted.
        bounds = np.stack((starts, ends), axis=1)
        counts = [count_texts(view, text, bounds[row : row + 1]) for row in range(len(starts))]
        return offsets, np.repeat(np.arange(len(starts), dtype=np.int64), counts)

    return offsets, (np.searchsorted(starts, offsets, side="right") - 1).astype(np.int64)


@functools.lru_cache(maxsize=256)
def compile_pattern(text: str, *, kind: PatternKind, case_sensitive: bool, whole_text: bool = False) -> CompiledPattern:
    """Compile a pattern; the last 256 stay compiled.

    Parameters
    ----------
    text
        A literal text, or a regular expression in RE2's syntax.
    kind
        ``literal`` or ``regexp``.
    case_sensitive
        False folds case as Unicode does, so that k also matches U+212A, and s U+017F.
    whole_text
        True for paths and names: ``^`` and ``$`` are the ends of the text. False: they are the ends of its lines.

    Raises
    ------
    PatternError
        For what RE2 refuses, with RE2's reason.
    """
    return CompiledPattern(text, kind, case_sensitive=case_sensitive, whole_text=whole_text)
