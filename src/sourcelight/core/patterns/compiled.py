"""Patterns that are ready to scan: one object per text, kind and case."""

from __future__ import annotations

import functools
import threading
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.buffers import Buffers, Offsets
from sourcelight.core.patterns.exact import ExactMatcher, compile_re2, quote
from sourcelight.core.patterns.formula import FOLD_HAZARDS, Formula, Needs, fold
from sourcelight.core.patterns.halting import Stopped, check, never
from sourcelight.core.patterns.ranges import (
    as_ranges,
    bridged,
    count_texts,
    counts_in_each,
    cut_at_lines,
    every_line,
    find_in_all,
    find_texts,
    glued,
    inside,
    lines_around,
)
from sourcelight.core.patterns.required import drops_hazards, required_texts
from sourcelight.core.patterns.runs import class_runs
from sourcelight.core.patterns.scanner import Refused, Scanner, TooManyHits
from sourcelight.core.patterns.syntax import (
    Syntax,
    Unknown,
    anchors,
    literal_tree,
    matches_newline,
    never_empty,
    nullable,
    parse,
    plain_text,
)
from sourcelight.core.patterns.translate import Precision, Untranslatable, translate

PatternKind: TypeAlias = Literal["literal", "regexp"]

MOST_CHECKS = 4000
"""Candidate texts of `match_many` that are checked one by one; more go through Arrow together."""


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
    folded
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
        except UnicodeEncodeError as fault:
            raise PatternError(text, "invalid UTF-8") from fault
        source = quote(raw) if kind == "literal" else raw
        if kind == "regexp":  # refusals quote the pattern without our flags
            compile_re2(source, case_sensitive=case_sensitive, shown=text)
        flagged = source if whole_text else b"(?m)" + source
        regexp = compile_re2(flagged, case_sensitive=case_sensitive, shown=text)
        if kind == "literal":
            syntax = Syntax(literal_tree(text, fold=not case_sensitive), source)
        else:
            syntax = parse(text, fold=not case_sensitive, multi_line=not whole_text)
        self._tree = syntax.tree
        places = anchors(self._tree)
        ends = {"text-start", "text-end"} & places
        self.multi_line = matches_newline(self._tree) or (bool(ends) and not whole_text)
        self.matches_empty = nullable(self._tree)
        self.literal = raw if kind == "literal" and case_sensitive and raw else plain_text(self._tree)
        self.exact = self.literal is not None
        literal = kind == "literal" and (self.literal or (not case_sensitive and text.isascii()))
        self.required: Formula = Needs(fold(raw)) if raw and literal else required_texts(self._tree)
        self.needs_fold_check = drops_hazards(self._tree)
        self._folded = fold(raw) if kind == "literal" and text.isascii() and not self.multi_line else b""
        self.folded = b"" if case_sensitive or self.literal is not None else self._folded
        flags = ("" if case_sensitive else "i") + ("" if whole_text else "m")
        kernel = _with_flags(flags, syntax.plain_source)
        looks_behind = bool(places - {"line-end", "text-end"}) or isinstance(self._tree, Unknown)
        self._matcher = ExactMatcher(regexp, kernel, looks_behind=looks_behind, nullable=self.matches_empty)
        shorter = never_empty(syntax) if kind == "regexp" and not places else None
        if shorter is not None:
            # Empty matches are dropped anyway, and without them there is none to try at each and every character.
            self._tree, kernel = shorter.tree, _with_flags(flags, shorter.plain_source)
            regexp = compile_re2(kernel or b"", case_sensitive=case_sensitive, shown=text)
        self._nullable = self.matches_empty and shorter is None
        self._runs = None if self._nullable or places else class_runs(self._tree, greedy=syntax.greedy)
        self._finder = ExactMatcher(regexp, kernel, looks_behind=looks_behind, nullable=self._nullable, runs=self._runs)
        self._unanchored = not places
        self._reports_ranges = bool(ends)
        self._lock = threading.Lock()
        self._scanners: dict[bool, tuple[Scanner | None, Precision]] = {}

    def __repr__(self) -> str:
        return f"CompiledPattern({self.text!r}, kind={self.kind!r}, case_sensitive={self.case_sensitive})"

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Give the non-empty spans in one text, in bytes, leftmost-first, non-overlapping: the oracle of `spans`."""
        return self._matcher.find(bytes(text))

    @property
    def is_warm(self) -> bool:
        """Whether scanning needs no compiling first, which takes about a millisecond."""
        return self.literal is not None or bool(self._scanners)

    def find_document(self, text: bytes, stopped: Stopped = never) -> list[tuple[int, int]]:
        """Give the non-empty spans in a whole document; they may cross lines, ``^`` and ``$`` stand at line bounds."""
        return self._finder.find(text, stopped=stopped)

    def document_spans(self, text: bytes, stopped: Stopped = never) -> Offsets:
        """Give what `find_document` gives as an n x 2 array."""
        if self._runs is not None:
            _, low, high = self._finder.spans(memoryview(text), np.zeros(1, np.int64), np.array([len(text)]), stopped)
            return np.stack((low, high), axis=1)
        return np.array(self._finder.find(text, stopped=stopped), dtype=np.int64).reshape(-1, 2)

    def lines(self, buffer: Any, ranges: Any, stopped: Stopped = never) -> Offsets:
        """Find candidate lines.

        Parameters
        ----------
        buffer
            Bytes-like, a memory map for one, or `Buffers`.
        ranges
            n x 2 byte offsets, ascending and apart, each at line bounds (whole documents when `multi_line`).
        stopped
            Asked about every 10 ms; when it says so, `halting.Halted` is raised.

        Returns
        -------
        Offsets
            Ascending byte offsets in the ranges, each on a byte of a candidate match (or, where nearly every line
            matches, on the newline of each line). Lines may be reported that hold no match, and a line more than
            once; no line that holds one is left out, nor, when `multi_line`, a document.
        """
        buffers = Buffers.of(buffer)
        wanted = as_ranges(ranges)
        if not len(wanted):
            return np.empty(0, dtype=np.int64)
        if not self.multi_line:
            wanted = glued(wanted)
        passes = wanted if self.multi_line else bridged(wanted)
        if self.literal is not None:
            found = find_in_all(buffers, self.literal, passes)
            return found if passes is wanted else inside(found, wanted)
        if self._nullable or (self._runs is not None and self._runs.everywhere):
            return every_line(buffers, wanted)
        scanner, _ = self._scanner(one_line=False)
        if scanner is not None:
            portions = passes if self.multi_line else cut_at_lines(buffers, passes)
            found = scanner.last_bytes(buffers, portions, every_line, stopped, documents=self.multi_line)
            return found if passes is wanted else inside(found, wanted)
        return self._lines_by_re2(buffers, wanted, stopped)

    def spans(
        self, buffer: Any, line_starts: Any, line_ends: Any, stopped: Stopped = never
    ) -> tuple[Offsets, Offsets, Offsets]:
        """Give the exact non-empty matches in the given lines.

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
            found, rows = _found_in_rows(view, self.literal, starts, ends)
            low = found - starts[rows]
            return rows, low, low + len(self.literal)
        if self._folded and len(starts):
            spans = self._folded_spans(view, starts, ends)
            if spans is not None:
                return spans
        return self._finder.spans(view, starts, ends, stopped)

    def count(self, buffer: Any, ranges: Any) -> int:
        """Count the non-empty matches in the ranges (bounds as for `lines`)."""
        view = memoryview(buffer)
        wanted = as_ranges(ranges)
        if self.literal is not None:
            return count_texts(view, self.literal, wanted if self.multi_line else glued(wanted))
        if self.multi_line:
            return sum(len(self._matcher.find(view[low:high])) for low, high in wanted.tolist())
        wanted = glued(wanted)
        starts, ends = lines_around(view, self.lines(view, wanted), wanted)
        return len(self.spans(view, starts, ends)[0])

    def counts(self, buffer: Any, ranges: Any) -> Offsets:
        """Count the occurrences in each of the ranges of an `exact` pattern (buffer and bounds as for `lines`)."""
        return counts_in_each(Buffers.of(buffer), self.literal or b"", as_ranges(ranges))

    def match_many(self, joined: Any, starts: Any, ends: Any) -> NDArray[np.bool_]:
        r"""Tell for each text ``joined[start:end]`` whether the pattern is found in it; empty matches count.

        Meant for paths, with `whole_text` patterns. Fastest where exactly one newline follows each text and no text
        holds one (then no candidate is checked twice); any other layout is right, too.
        """
        view = memoryview(joined)
        low = np.asarray(starts, dtype=np.int64)
        high = np.asarray(ends, dtype=np.int64)
        if self.matches_empty and self._unanchored:
            return np.ones(len(low), dtype=np.bool_)
        mask = np.zeros(len(low), dtype=np.bool_)
        scanner, precision = (None, Precision.NEVER) if self.matches_empty else self._scanner(one_line=True)
        if scanner is None or not len(low) or not _one_newline_after_each(view, low, high):
            return self._matcher.matches(view, low, high)
        whole = np.array([[low[0], min(int(high[-1]) + 1, len(view))]], dtype=np.int64)
        try:
            found = scanner.last_bytes(Buffers.of(view), whole)
        except TooManyHits:
            return self._matcher.matches(view, low, high)
        rows = np.unique(np.searchsorted(low, found, side="right") - 1)
        if precision is Precision.NEVER or (
            precision is Precision.ASCII and not bytes(view[int(low[0]) : int(high[-1])]).isascii()
        ):
            rows = rows[self._check(view, low[rows], high[rows])]
        mask[rows] = True
        return mask

    def _check(self, view: memoryview, starts: Offsets, ends: Offsets) -> NDArray[np.bool_]:
        if len(starts) > MOST_CHECKS:
            return self._matcher.matches(view, starts, ends)
        texts = (bytes(view[low:high]) for low, high in zip(starts.tolist(), ends.tolist(), strict=True))
        return np.array([self._matcher.first_start(text, 0, len(text)) >= 0 for text in texts], dtype=np.bool_)

    def _folded_spans(
        self, view: memoryview, starts: Offsets, ends: Offsets
    ) -> tuple[Offsets, Offsets, Offsets] | None:
        pairs = zip(starts.tolist(), ends.tolist(), strict=True)
        folded = b"\n".join([view[low:high] for low, high in pairs]).lower()
        if self.needs_fold_check and any(hazard in folded for hazard in FOLD_HAZARDS):
            return None
        bounds = np.cumsum(ends - starts + 1)
        whole = np.array([[0, len(folded)]], dtype=np.int64)
        found = find_texts(memoryview(folded), self._folded, whole)
        rows = np.searchsorted(bounds, found, side="right").astype(np.int64)
        low = found - np.concatenate(([0], bounds))[rows]
        return rows, low, low + len(self._folded)

    def _scanner(self, *, one_line: bool) -> tuple[Scanner | None, Precision]:
        with self._lock:
            if one_line not in self._scanners:
                self._scanners[one_line] = self._new_scanner(one_line=one_line)
            return self._scanners[one_line]

    def _new_scanner(self, *, one_line: bool) -> tuple[Scanner | None, Precision]:
        try:
            expressions, precision = translate(self._tree, one_line=one_line)
            scanner = Scanner(expressions)
        except (Untranslatable, Refused, RecursionError):
            return None, Precision.NEVER
        return scanner, precision if scanner.precise else Precision.NEVER

    def _lines_by_re2(self, buffers: Buffers, ranges: Offsets, stopped: Stopped) -> Offsets:
        found: list[int] = []
        for base, piece in zip(ranges[:, 0].tolist(), buffers.slices(ranges), strict=True):
            check(stopped)
            if self._reports_ranges:
                found.append(base)  # RE2 would take the ends of the buffer for the ends of the text
                continue
            at, size = 0, len(piece)
            while at < size and (start := self._finder.first_start(piece, at, size)) >= 0:
                check(stopped)
                found.append(base + start)
                newline = lines_around(piece, np.array([start]), np.array([[0, size]]))[1]
                at = int(newline[0]) + 1
        return np.array(found, dtype=np.int64)


def _with_flags(flags: str, source: bytes | None) -> bytes | None:
    if source is None:
        return None
    return b"(?" + flags.encode() + b":" + source + b")" if flags else b"(?:" + source + b")"


def _found_in_rows(view: memoryview, text: bytes, starts: Offsets, ends: Offsets) -> tuple[Offsets, Offsets]:
    found = find_texts(view, text, np.stack((starts, ends), axis=1))
    if len(starts) > 1 and (starts[1:] < ends[:-1]).any():
        rows = [
            i
            for i, (lo, hi) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True))
            for _ in range(count_texts(view, text, np.array([[lo, hi]])))
        ]
        return found, np.array(rows, dtype=np.int64)
    return found, (np.searchsorted(starts, found, side="right") - 1).astype(np.int64)


def _one_newline_after_each(view: memoryview, starts: Offsets, ends: Offsets) -> bool:
    low, high = int(starts[0]), int(ends[-1])
    return (
        np.array_equal(starts[1:], ends[:-1] + 1)
        and bool((np.frombuffer(view, dtype=np.uint8)[ends[:-1]] == 10).all())
        and count_texts(view, b"\n", np.array([[low, high]])) == len(starts) - 1
    )


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
