"""Alternations of words, such as ``(foo|bar)``, as compiled patterns that are made without a parser.

RE2 decides only where a word that can overlap itself, such as `papa`, is near another one.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.boolean import Or
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern
from sourcelight.core.patterns.formula import RequiredText, RequiredTree, lower_ascii
from sourcelight.core.patterns.ranges import BufferList, as_ranges, never_overlaps
from sourcelight.core.patterns.texts import are_separate


class AlternativeTexts(CompiledPattern):
    """The regular expression ``(foo|bar)`` of ASCII texts, made without a parser; `alternative_texts` makes it."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self.text = f"({b'|'.join(texts).decode()})"
        self.kind = "regexp"
        self.case_sensitive = True
        self.whole_text = False
        self.multi_line = False
        self.matches_empty = False
        self.exact = False
        self.needs_fold_check = False
        self.literal = None
        self.required = Or(tuple(RequiredText(lower_ascii(text)) for text in texts))
        self._lowered = self.lowered = b""

        # In one order, whatever the query has: each text is looked for in turn, and their places are merged.
        self._texts = tuple(sorted(texts))

    @functools.cached_property
    def required_as_written(self) -> RequiredTree:
        """The texts."""
        return Or(tuple(map(RequiredText, self._texts)))

    @functools.cached_property
    def alternatives(self) -> tuple[CompiledPattern, ...]:
        """The texts as patterns of their own, whose matches are those of this one unless `hides_matches` says so."""
        return tuple(compile_pattern(text.decode(), kind="literal", case_sensitive=True) for text in self._texts)

    @functools.cached_property
    def overlaps_itself(self) -> bool:
        """Whether one of the texts can overlap itself."""
        return not all(map(never_overlaps, self._texts))

    @functools.cached_property
    def _exact_texts(self) -> tuple[bytes, ...]:
        return self._texts

    def lines(self, buffer: Any, ranges: Any, stopped: Stopped = never) -> Int64Array:
        """Return a place in each line with one of the texts, as `CompiledPattern.lines`."""
        pairs = self.text_spans(BufferList.of(buffer), as_ranges(ranges), stopped)
        if pairs is None:
            return super().lines(buffer, ranges, stopped)

        starts, _ = pairs
        return starts

    def spans(
        self, buffer: Any, line_starts: Any, line_ends: Any, stopped: Stopped = never
    ) -> tuple[Int64Array, Int64Array, Int64Array]:
        """Return the exact matches in the given lines, which ascend, as `CompiledPattern.spans`."""
        starts_of_lines = np.asarray(line_starts, dtype=np.int64)
        lines = np.stack((starts_of_lines, np.asarray(line_ends)), axis=1)
        pairs = self.text_spans(BufferList.of(buffer), lines, stopped)
        # Occurrences overlap, and one of the texts can overlap itself.
        if pairs is None:
            return super().spans(buffer, line_starts, line_ends, stopped)

        # One by one: few of these lines have a match, as they are paths as a rule.
        starts: list[int] = []
        ends: list[int] = []
        for start, end in zip(pairs[0].tolist(), pairs[1].tolist(), strict=True):
            # A position inside another match doesn't count.
            if not ends or start >= ends[-1]:
                starts.append(start)
                ends.append(end)

        match_starts = np.array(starts, dtype=np.int64)
        match_ends = np.array(ends, dtype=np.int64)
        rows = starts_of_lines.searchsorted(match_starts, side="right") - 1
        return rows, match_starts - starts_of_lines[rows], match_ends - starts_of_lines[rows]


@functools.lru_cache(maxsize=256)
def alternative_texts(words: tuple[str, ...]) -> AlternativeTexts | None:
    """Return the pattern ``(foo|bar)``, of words in ASCII and with their case, or None if it needs a parser.

    The last 256 are kept, since what a corpus caches belongs to the pattern object.
    """
    texts = [word.encode() for word in words]
    if not are_separate(texts):
        return None
    return AlternativeTexts(texts)
