"""Patterns in paths: all paths of a repository, or of many, in one text."""

from __future__ import annotations

import functools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.boolean import fold
from sourcelight.core.cancellation import Stopped
from sourcelight.core.patterns import FOLD_HAZARDS, RequiredText, RequiredTree
from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern
from sourcelight.core.patterns.ranges import find_texts

Mask = NDArray[np.bool_]
Places = NDArray[np.int64]

_LONG_ENOUGH = 3
"""Bytes of a text from which on few paths hold it."""

_NONE: Places = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class PathSpans:
    """Where a pattern stands in paths: files that match, and spans in bytes, sorted by file, then start."""

    held: Mask
    file: Places
    start: Places
    end: Places
    any: bool


class PathTable:
    """Paths, each after a newline, in one text; a newline within one is shown there as another control character.

    Such a path is matched by itself, as it is.

    Parameters
    ----------
    text
        The paths, a newline before the first and after each.
    starts
        Where each begins, and last where the text ends.
    raw
        The same with newlines within paths as they are; None where no path has one.
    """

    def __init__(self, text: Any, starts: Places, raw: Any = None) -> None:
        self.text = memoryview(text)
        self.starts = starts
        self.begin, self.end = starts[:-1], starts[1:] - 1
        self._broken = {} if raw is None else self._with_newlines(memoryview(raw))

    def _with_newlines(self, raw: memoryview) -> dict[int, bytes]:
        """Numbers and bytes of the paths that hold a newline."""
        places = np.flatnonzero(np.frombuffer(self.text, np.uint8) != np.frombuffer(raw, np.uint8))
        rows = unique_sorted(self.begin.searchsorted(places, side="right") - 1)
        return {row: bytes(raw[int(self.begin[row]) : int(self.end[row])]) for row in rows.tolist()}

    def __len__(self) -> int:
        return len(self.begin)

    @functools.cached_property
    def _folded(self) -> bytes | None:
        """All paths in lower case; None where a letter in them may be spelled beyond ASCII."""
        text = bytes(self.text)
        return None if any(hazard in text for hazard in FOLD_HAZARDS) else text.lower()

    @functools.cached_property
    def beyond_ascii(self) -> Mask:
        """Which paths have a byte beyond ASCII."""
        held = np.zeros(len(self), dtype=np.bool_)
        places = np.flatnonzero(np.frombuffer(self.text, np.uint8) >= 0x80)
        held[self.begin.searchsorted(places, side="right") - 1] = True
        return held

    def match(self, pattern: CompiledPattern) -> Mask:
        """Tell in which paths a pattern of whole texts is found; empty matches count."""
        held = self._match(pattern)
        for row, path in self._broken.items():
            held[row] = bool(_of_whole_texts(pattern).match_many(path, [0], [len(path)])[0])
        return held

    def _match(self, pattern: CompiledPattern) -> Mask:
        needed = _needed(pattern.required)
        folded = self._folded if len(needed) >= _LONG_ENOUGH else None
        if folded is None:
            return np.asarray(pattern.match_many(self.text, self.begin, self.end), dtype=np.bool_)
        # Looking for a text takes a tenth of the time of an expression, and few paths hold it.
        places = find_texts(memoryview(folded), needed, np.array([[0, len(folded)]], dtype=np.int64))
        rows = unique_sorted(self.starts.searchsorted(places, side="right") - 1)
        held = np.zeros(len(self), dtype=np.bool_)
        held[rows] = pattern.match_many(self.text, self.begin[rows], self.end[rows])
        return held

    def find(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        """Find a pattern in all paths; raises `Halted` once `stopped` says so."""
        hits = self._find(pattern, stopped)
        return self._with_broken(hits, _of_whole_texts(pattern)) if self._broken else hits

    def _with_broken(self, hits: PathSpans, pattern: CompiledPattern) -> PathSpans:
        """Take the spans in paths that hold a newline from those paths as they are."""
        held = hits.held.copy()
        keep = ~np.isin(hits.file, list(self._broken))
        spans = [(row, *span) for row, path in self._broken.items() for span in pattern.find(path)]
        rows, starts, ends = np.array(spans, dtype=np.int64).reshape(-1, 3).T
        held[list(self._broken)] = False
        held[rows] = True
        file = np.concatenate((hits.file[keep], rows))
        order = np.argsort(file, kind="stable")
        start = np.concatenate((hits.start[keep], starts))[order]
        end = np.concatenate((hits.end[keep], ends))[order]
        return PathSpans(held, file[order], start, end, bool(len(file)))

    def _find(self, pattern: CompiledPattern, stopped: Stopped) -> PathSpans:
        held = np.zeros(len(self), dtype=np.bool_)
        if not len(self):
            return PathSpans(held, _NONE, _NONE, _NONE, any=False)
        starts, ends = self.begin, self.end
        if pattern.multi_line or pattern.whole_text:
            file, start, end = pattern.spans(self.text, starts, ends, stopped)
        else:
            whole = np.array([[1, len(self.text)]], dtype=np.int64)
            folded = self._folded if pattern.folded else None
            if folded is None:
                offsets = pattern.lines(self.text, whole, stopped)
            else:
                offsets = find_texts(memoryview(folded), pattern.folded, whole)
            if not len(offsets):
                return PathSpans(held, _NONE, _NONE, _NONE, any=False)
            file = self.starts.searchsorted(offsets, side="right") - 1
            if pattern.exact and pattern.literal is not None:
                start = offsets - starts[file]
                end = start + len(pattern.literal)
            elif folded is not None:
                start = offsets - starts[file]
                end = start + len(pattern.folded)
            else:
                rows = unique_sorted(file)
                row, start, end = pattern.spans(self.text, starts[rows], ends[rows], stopped)
                file = rows[row]
        held[file] = True
        return PathSpans(held, file, start, end, bool(len(file)))


def _of_whole_texts(pattern: CompiledPattern) -> CompiledPattern:
    """The same pattern with ``^`` and ``$`` at the ends of a path, not of its lines."""
    if pattern.whole_text:
        return pattern
    return compile_pattern(pattern.text, kind=pattern.kind, case_sensitive=pattern.case_sensitive, whole_text=True)


def _needed(tree: RequiredTree) -> bytes:
    """Return the longest text that every match holds; empty where there is none."""
    return fold(tree, _within_line, all_of=_longest, any_of=lambda _: b"")


def _within_line(leaf: RequiredText) -> bytes:
    return b"" if b"\n" in leaf.text else leaf.text


def _longest(texts: Iterable[bytes]) -> bytes:
    return max(texts, key=len, default=b"")


def unique_sorted(values: Places) -> Places:
    """Drop repetitions from sorted values."""
    if len(values) < 2:
        return values
    kept = np.empty(len(values), dtype=np.bool_)
    kept[0] = True
    np.not_equal(values[1:], values[:-1], out=kept[1:])
    return values if kept.all() else values[kept]
