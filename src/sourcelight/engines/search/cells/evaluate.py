"""Match a query against cells: AND, OR and NOT hold for a cell, and spans are of its texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.spans import disjoint_spans
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.cells import CellText
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.model import PreparedQuery

Spans = list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class FileCells:
    """The texts of one file that a query looks at; `file` is its number in the corpus."""

    file: int
    texts: Sequence[CellText]


@dataclass(slots=True)
class CellMatches:
    """A file with matching cells: its texts with spans in them, none where a cell matches by a NOT alone."""

    file: int
    texts: list[tuple[CellText, Spans]] = field(default_factory=list)

    @property
    def matches(self) -> int:
        """How many matches there are; a file without a span is one."""
        return sum(len(spans) for _, spans in self.texts) or 1


def matching_cells(files: Sequence[FileCells], prepared: PreparedQuery, stopped: Stopped) -> Iterator[CellMatches]:
    """Yield the files with a cell for which the tree holds; raises `ScanStopped` when `stopped` returns True."""
    texts = [text for file in files for text in file.texts]
    cell_of_text = _number_keys([(file.file, text.cell) for file in files for text in file.texts])
    cells = int(cell_of_text[-1]) + 1 if len(cell_of_text) else 0
    joined = _JoinedTexts(texts)
    patterns = [term.pattern for term in prepared.terms]
    spans_of_term = [joined.spans(one, stopped) for one in patterns if isinstance(one, CompiledPattern)]
    if len(spans_of_term) < len(patterns):
        raise TypeError("structures are no text: the plan refuses them")
    values: list[BoolArray] = []
    for spans_by_text in spans_of_term:
        holds = np.zeros(cells, dtype=np.bool_)
        holds[cell_of_text[list(spans_by_text)]] = True
        values.append(holds)
    matches = prepared.matching_files(values, cells)
    number = 0
    for file in files:
        of_file: CellMatches | None = None
        for text in file.texts:
            if matches[cell_of_text[number]]:
                of_file = of_file or CellMatches(file.file)
                spans = disjoint_spans(
                    span for term in prepared.visible for span in spans_of_term[term].get(number, ())
                )
                if spans:
                    of_file.texts.append((text, spans))
            number += 1
        if of_file is not None:
            yield of_file


def possible_match(prepared: PreparedQuery) -> Callable[[bytes], bool] | None:
    """Return a test whether the tree may hold for a cell with some of the lines of a text; None: it always may."""
    patterns = [term.pattern for term in prepared.terms if isinstance(term.pattern, CompiledPattern)]
    if prepared.tree is None or len(patterns) < len(prepared.terms) or any(pattern.multi_line for pattern in patterns):
        return None  # a match of several lines may lie in two outputs

    def may_hold(text: bytes) -> bool:
        whole = np.array([[0, len(text)]], dtype=np.int64)
        return prepared.may_match(lambda term: len(patterns[term].lines(text, whole)) > 0)

    return may_hold


def _number_keys(keys: Sequence[tuple[int, int]]) -> Int64Array:
    """Return the number of each key among the distinct ones, in order of appearance."""
    numbers: dict[tuple[int, int], int] = {}
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)


class _JoinedTexts:
    """The texts of many cells one after another, so that a pattern without a match costs one call."""

    def __init__(self, texts: Sequence[CellText]) -> None:
        self._texts = texts
        parts = [text.text if text.text.endswith(b"\n") else text.text + b"\n" for text in texts]
        sizes = np.array([len(part) for part in parts], dtype=np.int64)
        self._buffer = b"".join(parts)
        self._starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        self._true_ends = self._starts[:-1] + np.array([len(text.text) for text in texts], dtype=np.int64)

    def spans(self, pattern: CompiledPattern, stopped: Stopped) -> dict[int, Spans]:
        """Return the spans in each text that has any, by its number."""
        check_stopped(stopped)
        if not self._texts:
            return {}
        # A newline was added where a text has none at its end: lines never see it, and whole texts must not.
        ends = self._true_ends if pattern.multi_line else self._starts[1:]
        offsets = pattern.lines(self._buffer, np.stack((self._starts[:-1], ends), axis=1), stopped)
        candidates = np.unique(np.searchsorted(self._starts, offsets, side="right") - 1)
        spans_by_text: dict[int, Spans] = {}
        for number in candidates.tolist():
            check_stopped(stopped)
            spans = pattern.find_document(self._texts[number].text, stopped)
            if spans:
                spans_by_text[number] = spans
        return spans_by_text
