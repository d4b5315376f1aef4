"""Definitions and lines of the best files, ranked one by one for a question.

A ranking orders files by all of their text. Here definitions are ranked by their names, their documentation and their
bodies, where a body counts less the longer it is. The longest function of a file has every word of a question, and is
seldom the one that is asked about. A file without a fitting definition, such as a document, is shown by the lines of
its best chunk that have most of the question.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcelight.core.query.file_kinds import is_type_stub
from sourcelight.core.query.languages import language_of
from sourcelight.engines.deepsearch.evidence.question_terms import WINDOW, best_window, terms_in
from sourcelight.engines.deepsearch.evidence.relevant.files import TYPES, ScoredFile
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, is_lesser, is_of_test
from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.source.paragraphs import comment_paragraphs
from sourcelight.engines.search.ranking import RankedChunk, RankedFile
from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form
from sourcelight.engines.symbols.definition_parser import Definition

_NAME_WEIGHT, _BODY_WEIGHT, _DOCUMENTATION_WEIGHT = 0.8, 1.0, 0.35

_FILE_WEIGHT, _RANK_WEIGHT, _SENTENCE_WEIGHT = 0.55, 0.2, 0.2
"""Weights of the parts of a score: that of a sentence is between 0 and 2, the others are between 0 and 1.

They were tuned on 224 questions in the asker's own words and rounded; 88 others confirm them. Other weights by a third
more or less answer as many.
"""

_TYPE_PENALTY = 0.2
"""Loss of a class or another type: it says less than the method that is asked about. The lines of its methods don't
count for it; if they do, 8 fewer of these questions are answered."""

_IMPRECISE_NAME = 0.6
"""Share of a name's score that remains for a name with ever more words that the question doesn't have."""

_CONTAINER_WEIGHT = 0.3
"""Weight of the name of a definition's class beside the definition's own name."""

_SATURATION, _LENGTH_SHARE, _USUAL_LINES, _MIN_LINES = 1.2, 0.75, 25, 4
"""BM25 over bodies: its saturation, the share of a count that length divides, and the lines of a usual and of the
shortest body. The root of the length is used, since long bodies say more of a subject as a rule."""

_WINDOW_SHARE = 0.3
"""Share of a body's score for lines without a definition. Where they came first, 2 of 20 answered."""

_MAX_DISTANCE = 200
"""Lines between a comment and the definition further down that it explains."""

_STUB_FACTOR = 0.5
"""Factor for files that only declare types, and for methods of the language such as ``__init__``."""


class _Overview(NamedTuple):
    """A comment that explains a definition further down, its lines and its first sentence.

    In C, constants and types often stand between the two: `/* … GATE_CYCLE_SLOW opens it. */` explains `gateCycle`.
    """

    definition: Definition
    lines: range
    summary: str


@dataclass(frozen=True, slots=True, eq=False)
class RankedLines:
    """Lines that may be shown, with their definition, if they have one, and the chunk that they are from.

    `overview` has the lines of a comment further up that explains the definition.
    """

    file: ScoredFile
    begin_line: int
    end_line: int
    score: float
    chunk: RankedChunk
    definition: Definition | None = None
    overview: range = range(0)

    @property
    def order(self) -> tuple[float, int, int]:
        """The key that puts the best first; of equal ones that of the better file, and the first one of a file."""
        return -self.score, self.file.rank, self.begin_line

    @property
    def is_of_test(self) -> bool:
        """Whether its definition is one of a test."""
        return self.definition is not None and is_of_test(self.definition)

    def is_like(self, other: RankedLines) -> bool:
        """Return whether two candidates of a file share lines or a name, so that one of them says enough."""
        has_same_name = (
            self.definition is not None
            and other.definition is not None
            and self.definition.name == other.definition.name
        )
        return has_same_name or (self.begin_line <= other.end_line and other.begin_line <= self.end_line)


def rank_lines(files: Sequence[ScoredFile], *, with_tests: bool = True) -> list[RankedLines]:
    """Return the definitions of some files that have a term of the question, else their best lines; best first.

    Tests within files of code are no answer unless a question asks `with_tests`: they come last.
    """
    candidates = [candidate for file in files for candidate in _candidates_of(file)]
    return sorted(candidates, key=lambda item: (not with_tests and item.is_of_test, item.order))


def best_file_first(candidates: Sequence[RankedLines], lead: RankedFile | None) -> list[RankedLines]:
    """Return candidates with the best one of the best file, or of the `lead` if there is one, before all others.

    A question for a place is answered by a file, and files are ranked by more than one definition: of 510 such
    questions, the first file was right for 346 (285 without this), and one of the first three for 413 (402).
    """
    key = None if lead is None else (lead.target, lead.path)
    first = next((item for item in candidates if (item.file.target, item.file.path) == key), None)
    first = first or next((candidate for candidate in candidates if candidate.file.rank == 0), None)
    if first is None:
        return list(candidates)
    return [first, *(candidate for candidate in candidates if candidate is not first)]


def _candidates_of(file: ScoredFile) -> list[RankedLines]:
    """Return the definitions of a file that have a term of the question; without any, its best lines."""
    best_chunk = file.chunks[0]
    has_definition_there = any(
        definition.begin_line <= best_chunk.end_line and best_chunk.begin_line <= definition.end_line
        for definition in file.definitions
    )
    overview = None if has_definition_there else _read_overview(file, best_chunk)
    candidates = [
        candidate
        for definition in file.definitions
        if not is_lesser(file.lines, definition)
        and (candidate := _definition_candidate(file, definition, overview)) is not None
    ]
    if not candidates or not (has_definition_there or overview):
        candidates.append(_window_candidate(file, best_chunk))
    return candidates


def _read_overview(file: ScoredFile, chunk: RankedChunk) -> _Overview | None:
    """Return the comment in a chunk if it names a definition further down that has no comment of its own."""
    lines = file.lines[chunk.begin_line - 1 : chunk.end_line]
    sentences = [
        sentence.text
        for paragraph in comment_paragraphs(lines, language_of(file.path))
        for sentence in paragraph.sentences
    ]
    names = [term for sentence in sentences for term in terms_in(sentence) if is_joined_form(term)]
    for definition in file.definitions:
        if not chunk.end_line < definition.begin_line <= chunk.end_line + _MAX_DISTANCE:
            continue
        joined_name = next((term for term in terms_in(definition.name) if is_joined_form(term)), "")
        is_named = joined_name != "" and any(name.startswith(joined_name) for name in names)
        if is_named and comment_start(file.lines, definition.begin_line - 1) + 1 == definition.begin_line:
            return _Overview(definition, range(chunk.begin_line, chunk.end_line + 1), sentences[0])
    return None


def _definition_candidate(
    file: ScoredFile, definition: Definition, overview: _Overview | None
) -> RankedLines | None:  # fmt: skip
    """Return a definition with the comment above it, and with its overview; None if they have no term of a question."""
    begin_line = comment_start(file.lines, definition.begin_line - 1) + 1
    lines = file.own_lines(definition, begin_line)
    rank_score = file.rank_score(begin_line, definition.end_line)
    summary = first_sentence(file.lines, definition)
    overview_lines = range(0)
    if overview is not None and overview.definition is definition:
        overview_lines, summary = overview.lines, overview.summary
        lines = {*overview_lines, *lines}
        rank_score = max(rank_score, file.rank_score(overview_lines.start, overview_lines.stop - 1))

    counts = file.count_terms(lines)
    if not counts:
        return None

    score = (
        _NAME_WEIGHT * _score_name(file, definition)
        + _BODY_WEIGHT * _score_body(file, counts, len(lines))
        + _DOCUMENTATION_WEIGHT * file.share_of(sum(file.weights.get(term, 0.0) for term in terms_in(summary)))
        + _score_neighborhood(file, rank_score, lines)
    )
    if definition.kind in TYPES:
        score -= _TYPE_PENALTY
    if definition.name.startswith("__") or is_type_stub(file.path):
        score *= _STUB_FACTOR

    score += _FILE_WEIGHT * file.score
    chunk = _best_chunk_at(file.chunks, definition.line) or file.chunks[0]
    return RankedLines(file, begin_line, definition.end_line, score, chunk, definition, overview_lines)


def _best_chunk_at(chunks: Sequence[RankedChunk], line: int) -> RankedChunk | None:
    """Return the best of some chunks that have a line; None without any."""
    return max(
        (chunk for chunk in chunks if chunk.begin_line <= line <= chunk.end_line),
        key=lambda chunk: chunk.score,
        default=None,
    )


def _window_candidate(file: ScoredFile, chunk: RankedChunk) -> RankedLines:
    """Return the lines of a chunk with most of the question."""
    first, last = best_window(file.lines[chunk.begin_line - 1 : chunk.end_line], file.weights, WINDOW)
    begin_line, end_line = chunk.begin_line + first, chunk.begin_line + last
    lines = range(begin_line, end_line + 1)
    score = _score_lines(file, lines) + _score_neighborhood(file, file.rank_score(begin_line, end_line), lines)
    return RankedLines(file, begin_line, end_line, _FILE_WEIGHT * file.score + score, chunk)


def _score_name(file: ScoredFile, definition: Definition) -> float:
    """Return the share of the question in a definition's name and, with less weight, in that of its class."""
    weights = file.weights
    name_terms = terms_in(definition.name)
    words = [term for term in name_terms if not is_joined_form(term)]
    share = file.share_of(sum(weights[term] for term in words if term in weights))
    precision = sum(term in weights for term in words) / max(len(words), 1)

    container_terms = terms_in(definition.container) & weights.keys()
    container_share = file.share_of(sum(weights[term] for term in container_terms - name_terms))
    return share * (_IMPRECISE_NAME + (1.0 - _IMPRECISE_NAME) * precision) + _CONTAINER_WEIGHT * container_share


def _score_body(file: ScoredFile, counts: Mapping[str, int], line_count: int) -> float:
    """Return BM25 of a definition's own lines, as a share of the score of a body that has every term without end."""
    norm = 1.0 - _LENGTH_SHARE + _LENGTH_SHARE * math.sqrt(max(line_count, _MIN_LINES) / _USUAL_LINES)
    return file.share_of(
        sum(file.weights[term] * count / (count + _SATURATION * norm) for term, count in counts.items())
    )


def _score_neighborhood(file: ScoredFile, rank_score: float, lines: Collection[int]) -> float:
    """Score what else the lines have: a chunk that is ranked first, and a sentence that may answer."""
    return _RANK_WEIGHT * rank_score + _SENTENCE_WEIGHT * file.sentence_score(lines)


def _score_lines(file: ScoredFile, lines: Collection[int]) -> float:
    """Score lines that are no definition, by the terms on them."""
    terms = file.count_terms(lines)
    return _BODY_WEIGHT * _WINDOW_SHARE * file.share_of(sum(file.weights[term] for term in terms))
