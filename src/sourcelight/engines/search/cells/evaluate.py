"""Match a query against cells: AND, OR and NOT hold for a cell, and spans are of its texts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.cells import CellText
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.engines.search.model import PreparedQuery

Spans = list[tuple[int, int]]

_PAUSE_BATCHES = 8
"""Number of batches that skip the test after a batch in which most files may match."""


@dataclass(frozen=True, slots=True)
class FileCells:
    """The texts of one file that a query looks at.

    Attributes
    ----------
    file
        Its number in the corpus.
    texts
        The texts.
    language
        The language of its kernel or its chunks; empty when it names none.
    """

    file: int
    texts: Sequence[CellText]
    language: str = ""


@dataclass(slots=True)
class CellMatches:
    """A file with matching cells: its texts with spans in them, none if a cell matches by a NOT alone."""

    file: int
    language: str
    texts: list[tuple[CellText, Spans]] = field(default_factory=list)

    @property
    def matches(self) -> int:
        """Number of matches; a file without a span counts as one."""
        return max(sum(len(spans) for _, spans in self.texts), 1)


def matching_cells(files: Sequence[FileCells], prepared: PreparedQuery, stopped: Stopped) -> Iterator[CellMatches]:
    """Yield the files with a cell for which the tree holds; raises `ScanStopped` when `stopped` returns True."""
    cell_of_text, cell_count = _number_cells(files)
    spans_by_term = _find_spans(files, prepared, stopped)

    # `matching_files` combines arrays of any things: here each entry is a cell.
    values: list[BoolArray] = []
    for spans_by_text in spans_by_term:
        has_term = np.zeros(cell_count, dtype=np.bool_)
        has_term[cell_of_text[list(spans_by_text)]] = True
        values.append(has_term)
    is_match = prepared.matching_files(values, cell_count)[cell_of_text].tolist()

    first = 0
    for file in files:
        end = first + len(file.texts)
        if any(is_match[first:end]):
            matches = CellMatches(file.file, file.language)
            for number, text in enumerate(file.texts, first):
                if is_match[number]:
                    spans = _visible_spans(number, prepared, spans_by_term)
                    if spans:
                        matches.texts.append((text, spans))
            yield matches
        first = end


def _number_cells(files: Sequence[FileCells]) -> tuple[Int64Array, int]:
    """Return the number of each text's cell, and how many cells there are.

    Cells are numbered through all files, in order of appearance: a cell has one text for its source and one for each
    output.
    """
    numbers: dict[tuple[int, int], int] = {}
    cell_of_text: list[int] = []
    for file in files:
        cells = [(file.file, text.cell) for text in file.texts]
        cell_of_text += [numbers.setdefault(cell, len(numbers)) for cell in cells]
    return np.array(cell_of_text, dtype=np.int64), len(numbers)


def _find_spans(files: Sequence[FileCells], prepared: PreparedQuery, stopped: Stopped) -> list[dict[int, Spans]]:
    """Return for each term the spans in each text that has any, by the number of the text in all files."""
    texts: list[bytes] = []
    for file in files:
        texts += [text.text for text in file.texts]

    joined_texts = _JoinedTexts(texts)
    spans_by_term: list[dict[int, Spans]] = []
    for term in prepared.terms:
        if not isinstance(term.pattern, CompiledPattern):
            raise TypeError("structures are no text: the plan refuses them")
        spans_by_term.append(joined_texts.spans(term.pattern, stopped))
    return spans_by_term


def _visible_spans(number: int, prepared: PreparedQuery, spans_by_term: Sequence[Mapping[int, Spans]]) -> Spans:
    """Return the spans to show in a text: those of the terms that are in no NOT."""
    spans: Spans = []
    for term in prepared.visible:
        spans += spans_by_term[term].get(number, ())
    return disjoint_spans(spans)


class PossibleMatch:
    """Decides from all lines of a file's cells whether the tree may hold for one of them."""

    def __init__(self, prepared: PreparedQuery) -> None:
        self._prepared = prepared
        self._patterns = [term.pattern for term in prepared.terms if isinstance(term.pattern, CompiledPattern)]
        self._lines_decide = (
            prepared.tree is not None
            and len(self._patterns) == len(prepared.terms)
            # A match of several lines may lie in two outputs.
            and not any(pattern.multi_line for pattern in self._patterns)
        )
        self._pause = 0

    def is_useful(self) -> bool:
        """Return whether to test the next files: not after files that mostly passed, and so were read twice."""
        if self._pause:
            self._pause -= 1
            return False
        return self._lines_decide

    def files(self, texts: Sequence[bytes], stopped: Stopped) -> list[bool]:
        """Return for the lines of each file whether a cell with some of them may match."""
        joined_texts = _JoinedTexts(texts)
        holds = [set(joined_texts.texts_with(pattern, stopped)) for pattern in self._patterns]
        result = [
            self._prepared.may_match(lambda term: number in holds[term])  # noqa: B023 - called at once
            for number in range(len(texts))
        ]
        if 2 * sum(result) > len(result):
            self._pause = _PAUSE_BATCHES

        return result


class _JoinedTexts:
    """The texts of many cells one after another, so that a pattern without a match costs one call."""

    def __init__(self, texts: Sequence[bytes]) -> None:
        self._texts = texts
        terminated = [_end_line(text) for text in texts]
        sizes = np.array([len(text) for text in terminated], dtype=np.int64)
        self._buffer = b"".join(terminated)
        self._starts = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))
        self._true_ends = self._starts[:-1] + np.array([len(text) for text in texts], dtype=np.int64)

    def texts_with(self, pattern: CompiledPattern, stopped: Stopped) -> list[int]:
        """Return the numbers of the texts with a matching line."""
        check_stopped(stopped)
        if not self._texts:
            return []

        # A newline was added to texts without one at their end: lines exclude it, and whole texts must, too.
        ends = self._true_ends if pattern.multi_line else self._starts[1:]
        offsets = pattern.lines(self._buffer, np.stack((self._starts[:-1], ends), axis=1), stopped)
        numbers: list[int] = np.unique(np.searchsorted(self._starts, offsets, side="right") - 1).tolist()
        return numbers

    def spans(self, pattern: CompiledPattern, stopped: Stopped) -> dict[int, Spans]:
        """Return the spans in each text that has any, by its number."""
        spans_by_text: dict[int, Spans] = {}
        for number in self.texts_with(pattern, stopped):
            check_stopped(stopped)
            spans = pattern.find_document(self._texts[number], stopped)
            if spans:
                spans_by_text[number] = spans
        return spans_by_text


def _end_line(text: bytes) -> bytes:
    return text if text.endswith(b"\n") else text + b"\n"
