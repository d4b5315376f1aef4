"""Patterns that are ready to scan: one object per text, kind and case."""

from __future__ import annotations

import functools
from typing import Any, Literal, TypeAlias

import numpy as np
import re2
from numpy.typing import NDArray

from sourcelight.core.errors import PatternError
from sourcelight.core.patterns.formula import ANYTHING, Formula, Needs, fold

Offsets: TypeAlias = NDArray[np.int64]
PatternKind: TypeAlias = Literal["literal", "regexp"]


class CompiledPattern:
    """A literal or RE2 pattern with everything the engines ask of it; safe to share between threads.

    Attributes
    ----------
    needs_fold_check
        True when a letter of `required` (k or s) may be spelled with one of `FOLD_HAZARDS`. Then a unit or document
        that holds a hazard must be a candidate whatever `required` says; `lines` and `spans` need no further care.
    multi_line
        True when the pattern must be evaluated per document: pass whole documents as the ranges of `lines`, and take
        the matches from `find_document`.
    """

    def __init__(self, text: str, kind: PatternKind, *, case_sensitive: bool, whole_text: bool) -> None:
        self.text = text
        self.kind: PatternKind = kind
        self.case_sensitive = case_sensitive
        self.whole_text = whole_text
        options = re2.Options()
        options.log_errors = False
        options.case_sensitive = case_sensitive
        try:
            raw = text.encode()
            source = re2.escape(raw) if kind == "literal" else raw
            re2.compile(source, options)
            self._regexp = re2.compile(source if whole_text else b"(?m)" + source, options)
        except UnicodeEncodeError as fault:
            raise PatternError(text, "invalid UTF-8") from fault
        except re2.error as fault:
            reason = fault.args[0] if fault.args else fault
            raise PatternError(
                text, reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)
            ) from fault
        self.literal: bytes | None = raw if kind == "literal" and case_sensitive and raw else None
        self.exact = self.literal is not None
        self.multi_line = kind == "regexp" or b"\n" in raw
        self.matches_empty = not raw if kind == "literal" else self._regexp.search(b"") is not None
        self.required: Formula = Needs(fold(raw)) if self.literal else ANYTHING
        self.needs_fold_check = False

    def find(self, text: bytes) -> list[tuple[int, int]]:
        """Give the non-empty spans in `text`, in bytes, leftmost first."""
        return [m.span() for m in self._regexp.finditer(bytes(text)) if m.end() > m.start()]

    def find_document(self, text: bytes) -> list[tuple[int, int]]:
        """Give the non-empty spans in a whole document; they may cross lines."""
        return self.find(text)

    def lines(self, buffer: Any, ranges: Offsets) -> Offsets:
        """Give offsets of candidate hits in the ranges, ascending."""
        view = memoryview(buffer)
        found: list[int] = []
        for lo, hi in np.asarray(ranges).tolist():
            found.extend(lo + start for start, _ in self.find(bytes(view[lo:hi])))
        return np.array(found, dtype=np.int64)

    def spans(self, buffer: Any, line_starts: Offsets, line_ends: Offsets) -> tuple[Offsets, Offsets, Offsets]:
        """Give (row, start, end) of every match in the given lines; offsets are relative to the line."""
        view = memoryview(buffer)
        found = [
            (row, start, end)
            for row, (lo, hi) in enumerate(zip(line_starts.tolist(), line_ends.tolist(), strict=True))
            for start, end in self.find(bytes(view[lo:hi]))
        ]
        table = np.array(found, dtype=np.int64).reshape(-1, 3)
        return table[:, 0], table[:, 1], table[:, 2]

    def count(self, buffer: Any, ranges: Offsets) -> int:
        """Count the matches in the ranges."""
        view = memoryview(buffer)
        return sum(len(self.find(bytes(view[lo:hi]))) for lo, hi in np.asarray(ranges).tolist())

    def match_many(self, joined: Any, starts: Offsets, ends: Offsets) -> NDArray[np.bool_]:
        """Tell for each text ``joined[start:end]`` whether the pattern is found in it (empty matches count)."""
        view = memoryview(joined)
        return np.array(
            [
                self._regexp.search(bytes(view[lo:hi])) is not None
                for lo, hi in zip(starts.tolist(), ends.tolist(), strict=True)
            ],
            dtype=np.bool_,
        )


@functools.lru_cache(maxsize=256)
def compile_pattern(text: str, *, kind: PatternKind, case_sensitive: bool, whole_text: bool = False) -> CompiledPattern:
    """Compile `text`; raises PatternError for what RE2 refuses."""
    return CompiledPattern(text, kind, case_sensitive=case_sensitive, whole_text=whole_text)
