"""The most relevant passages of a ranking: three definitions or texts, with their own descriptions.

A ranking orders files by all of their text. Of the best files, definitions are ranked here one by one: by their names,
their documentation and their bodies, where a body counts less the longer it is. The longest function of a file has
every word of a question, and is seldom the one that is asked about. A file without a fitting definition, such as a
document, is shown by the lines of its best chunk that have most of the question.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from sourcelight.core.batches import CommitId
from sourcelight.engines.deepsearch.evidence.model import MAX_LINES, FileEvidence
from sourcelight.engines.deepsearch.evidence.question_terms import WINDOW, best_window, matched_words, terms_in
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.evidence.surroundings import first_sentence, is_lesser
from sourcelight.engines.deepsearch.evidence.units import comment_start, head_end
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, is_joined_form, terms_of
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.repos import RepositoryKey

PLACES = 3
"""Maximum passages that are shown."""

_MAX_PER_FILE = 2
"""Maximum passages of one file."""

_MAX_FILES, _MAX_FILE_LINES, _MAX_DEFINITIONS = 8, 20_000, 2_000
"""Best files that are read, and of each the first lines and definitions."""

_NAME_WEIGHT, _BODY_WEIGHT, _DOCUMENTATION_WEIGHT, _FILE_WEIGHT, _CHUNK_WEIGHT = 1.6, 1.0, 0.8, 0.8, 0.3
"""Weights of the parts of a score, each part between 0 and 1. They were set once and not tuned.

Of 48 questions about twelve repositories, the first passage was right for 34 and one of three for 41; the definition
with most words of the best chunks, as it was before, gave 27 and 31.
"""

_IMPRECISE_NAME = 0.6
"""Share of a name's score that remains for a name with ever more words that the question doesn't have."""

_CONTAINER_WEIGHT = 0.3
"""Weight of the name of a definition's class beside the definition's own name."""

_SATURATION, _LENGTH_SHARE, _USUAL_LINES, _MIN_LINES = 1.2, 0.75, 25, 4
"""BM25 over bodies: its saturation, the share of a count that length divides, and the lines of a usual and of the
shortest body. The root of the length is used, since long bodies say more of a subject as a rule."""

_WINDOW_SHARE = 0.8
"""Share of a body's score for lines without a definition."""

_STUB_FACTOR = 0.5
"""Factor for files that only declare types, and for methods of the language such as ``__init__``."""

_STUB_FILES = (".pyi", ".d.ts", ".d.mts", ".d.cts")
_KINDS = frozenset({"function", "method", "constructor", "class", "interface", "struct", "enum", "module"})
"""Kinds of definitions that are shown: those with a body."""

_FileKey: TypeAlias = tuple[RepositoryKey, CommitId, str]
"""A file of a ranking: its repository, commit and path."""


@dataclass(frozen=True, slots=True)
class RelevantPassage:
    """A definition with the first sentence of its documentation, and the words of the question in it.

    One line that is shown unchanged (`is_line`) has no name, and `description` says why it is shown. A sentence that
    is quoted from elsewhere has the `line` that it begins on, and the name of what it is in; `line` is 0 for others.
    It is code if `is_code`, and is from the documentation of its definition if `is_documentation`.
    """

    evidence: FileEvidence
    name: str
    description: str
    words: tuple[str, ...]
    is_line: bool = False
    line: int = 0
    is_code: bool = False
    is_documentation: bool = False


def rank_lines(files: Sequence[ScoredFile]) -> list[RankedLines]:
    """Return the definitions of some files that have a term of the question, else their best lines; best first."""
    candidates = [candidate for file in files for candidate in _candidates_of(file)]
    return sorted(candidates, key=lambda item: item.order)


def best_file_first(candidates: Sequence[RankedLines]) -> list[RankedLines]:
    """Return candidates with the best one of the best file before all others.

    A question for a place is answered by a file, and files are ranked by more than one definition: of 510 such
    questions, the first file was right for 346 (285 without this), and one of the first three for 413 (402).
    """
    first = next((candidate for candidate in candidates if candidate.file.rank == 0), None)
    if first is None:
        return list(candidates)
    return [first, *(candidate for candidate in candidates if candidate is not first)]


def find_relevant(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], candidates: Sequence[RankedLines]
) -> list[RelevantPassage]:
    """Return the best passages of some candidates, best first.

    Parameters
    ----------
    texts
        The files.
    ranking
        The ranking that the candidates are from.
    weights
        Weights of the question's terms.
    candidates
        The definitions and lines that may be shown, best first.
    """
    return [_describe(texts, candidate, ranking, weights) for candidate in _select(candidates)]


@dataclass(frozen=True, slots=True)
class ScoredFile:
    """A file of a ranking, and where it has the terms of the question.

    Attributes
    ----------
    target, path
        The file.
    rank, score
        Its place among the best files, from 0, and its score there.
    chunks
        Its chunks that may be shown, best first.
    lines
        Its lines.
    definitions
        Its definitions with a body.
    weights, total_weight
        Weights of the question's terms, and their sum.
    term_lines
        For each of these terms, the lines (from 1) that have it, once for each occurrence.
    """

    target: Target
    path: str
    rank: int
    score: float
    chunks: Sequence[RankedChunk]
    lines: Sequence[str]
    definitions: Sequence[Definition]
    weights: Mapping[str, float]
    total_weight: float
    term_lines: Mapping[str, Sequence[int]]

    @classmethod
    def of(
        cls, chunks: Sequence[RankedChunk], rank: int, score: float, lines: Sequence[str],
        definitions: Sequence[Definition], weights: Mapping[str, float],
    ) -> ScoredFile:  # fmt: skip
        """Look the terms of a question up in the file of some chunks."""
        return cls(
            target=chunks[0].target,
            path=chunks[0].path,
            rank=rank,
            score=score,
            chunks=chunks,
            lines=lines,
            definitions=definitions,
            weights=weights,
            total_weight=sum(weights.values()),
            term_lines=_find_terms(lines[:_MAX_FILE_LINES], weights),
        )

    def count_terms(self, begin_line: int, end_line: int) -> Mapping[str, int]:
        """Return how often some lines have each term that is on them."""
        return {
            term: count
            for term, numbers in self.term_lines.items()
            if (count := sum(begin_line <= number <= end_line for number in numbers))
        }

    def share_of(self, weight: float) -> float:
        """Return a weight as a share of the weight of the whole question."""
        return weight / self.total_weight


@dataclass(frozen=True, slots=True, eq=False)
class RankedLines:
    """Lines that may be shown, with their definition, if they have one, and the chunk that they are from."""

    file: ScoredFile
    begin_line: int
    end_line: int
    score: float
    chunk: RankedChunk
    definition: Definition | None = None

    @property
    def order(self) -> tuple[float, int, int]:
        """The key that puts the best first; of equal ones that of the better file, and the first one of a file."""
        return -self.score, self.file.rank, self.begin_line

    def is_like(self, other: RankedLines) -> bool:
        """Return whether two candidates of a file share lines or a name, so that one of them says enough."""
        has_same_name = (
            self.definition is not None
            and other.definition is not None
            and self.definition.name == other.definition.name
        )
        return has_same_name or (self.begin_line <= other.end_line and other.begin_line <= self.end_line)


def read_best_files(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], chunks: Sequence[RankedChunk]
) -> list[ScoredFile]:
    """Return the best files of a ranking that have one of some chunks, best first; none if no term has a weight."""
    if sum(weights.values()) <= 0.0:
        return []

    chunks_by_file: dict[_FileKey, list[RankedChunk]] = {}
    for chunk in chunks:
        chunks_by_file.setdefault((chunk.target.repository.key, chunk.target.commit, chunk.path), []).append(chunk)

    file_scores = {(file.target.repository.key, file.target.commit, file.path): file.score for file in ranking.files}
    best_files = [key for key in file_scores if key in chunks_by_file] or list(chunks_by_file)
    visible_files = [key for key in best_files if not is_hidden_file(key[2])][:_MAX_FILES]
    files = []
    for rank, key in enumerate(visible_files):
        file_chunks = chunks_by_file[key]
        target, path = file_chunks[0].target, file_chunks[0].path
        score = file_scores.get(key, 0.0)
        lines, definitions = texts.lines(target, path), _read_definitions(texts, target, path)
        files.append(ScoredFile.of(file_chunks, rank, score, lines, definitions, weights))
    return files


def _read_definitions(texts: FileTexts, target: Target, path: str) -> Sequence[Definition]:
    indexed = texts.engine.store.definitions_of(target, path)
    if indexed is None:
        return ()
    return [definition for definition in indexed.definitions() if definition.kind in _KINDS][:_MAX_DEFINITIONS]


def _candidates_of(file: ScoredFile) -> list[RankedLines]:
    """Return the definitions of a file that have a term of the question; without any, its best lines."""
    candidates = list(_definition_candidates(file))
    best_chunk = file.chunks[0]
    has_definition_there = any(
        definition.begin_line <= best_chunk.end_line and best_chunk.begin_line <= definition.end_line
        for definition in file.definitions
    )
    if not candidates or not has_definition_there:
        candidates.append(_window_candidate(file, best_chunk))
    return candidates


def _definition_candidates(file: ScoredFile) -> Iterator[RankedLines]:
    """Yield the definitions of a file that have a term of the question, with the comments above them."""
    for definition in file.definitions:
        if is_lesser(file.lines, definition):
            continue

        begin_line = comment_start(file.lines, definition.begin_line - 1) + 1
        counts = file.count_terms(begin_line, definition.end_line)
        if not counts:
            continue

        chunk = _best_chunk_at(file.chunks, definition.line)
        score = _score_definition(file, definition, counts)
        score += _CHUNK_WEIGHT * (0.0 if chunk is None else chunk.score)
        if definition.name.startswith("__") or file.path.endswith(_STUB_FILES):
            score *= _STUB_FACTOR

        total_score = _FILE_WEIGHT * file.score + score
        yield RankedLines(file, begin_line, definition.end_line, total_score, chunk or file.chunks[0], definition)


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
    score = _score_lines(file, begin_line, end_line) + _CHUNK_WEIGHT * chunk.score
    return RankedLines(file, begin_line, end_line, _FILE_WEIGHT * file.score + score, chunk)


def _score_definition(file: ScoredFile, definition: Definition, counts: Mapping[str, int]) -> float:
    """Score a definition by its name, its body, whose terms have `counts`, and its documentation."""
    summary_terms = terms_in(first_sentence(file.lines, definition)) & file.weights.keys()
    documentation_score = file.share_of(sum(file.weights[term] for term in summary_terms))
    return (
        _NAME_WEIGHT * _score_name(file, definition)
        + _BODY_WEIGHT * _score_body(file, definition, counts)
        + _DOCUMENTATION_WEIGHT * documentation_score
    )


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


def _score_body(file: ScoredFile, definition: Definition, counts: Mapping[str, int]) -> float:
    """Return BM25 of a definition's lines, as a share of the score of a body that has every term without end."""
    line_count = max(definition.end_line - definition.begin_line + 1, _MIN_LINES)
    norm = 1.0 - _LENGTH_SHARE + _LENGTH_SHARE * math.sqrt(line_count / _USUAL_LINES)
    return file.share_of(
        sum(file.weights[term] * count / (count + _SATURATION * norm) for term, count in counts.items())
    )


def _score_lines(file: ScoredFile, begin_line: int, end_line: int) -> float:
    """Score lines that are no definition, by the terms on them."""
    terms = file.count_terms(begin_line, end_line)
    return _BODY_WEIGHT * _WINDOW_SHARE * file.share_of(sum(file.weights[term] for term in terms))


def _find_terms(lines: Sequence[str], weights: Mapping[str, float]) -> Mapping[str, Sequence[int]]:
    """Return the lines (from 1) that have each term of a question; a line has a number for each token with the term."""
    term_lines: dict[str, list[int]] = {}
    # A file repeats its tokens many times.
    terms_by_token: dict[bytes, Collection[str]] = {}
    for number, line in enumerate(lines, 1):
        for token in TOKEN.findall(line.encode()):
            terms = terms_by_token.get(token)
            if terms is None:
                terms = terms_by_token[token] = set(terms_of(token.decode("utf-8", "replace"))) & weights.keys()
            for term in terms:
                term_lines.setdefault(term, []).append(number)

    return term_lines


def _select(candidates: Sequence[RankedLines]) -> list[RankedLines]:
    """Return the best candidates, few of each file and no two that are alike."""
    selected: list[RankedLines] = []
    for candidate in candidates:
        of_file = [other for other in selected if other.file is candidate.file]
        if len(of_file) < _MAX_PER_FILE and not any(candidate.is_like(other) for other in of_file):
            selected.append(candidate)
        if len(selected) == PLACES:
            break

    return selected


def _describe(
    texts: FileTexts, candidate: RankedLines, ranking: Ranking, weights: Mapping[str, float]
) -> RelevantPassage:
    """Return a passage as evidence: the head of a definition with its documentation, or its lines."""
    file, definition, score = candidate.file, candidate.definition, candidate.chunk.score
    if definition is None:
        evidence = texts.evidence(file.target, file.path, candidate.begin_line, candidate.end_line, "body", score)
        return RelevantPassage(evidence, "", "", matched_words(evidence.text, ranking, weights))

    summary = first_sentence(file.lines, definition)
    start, end = _cited_lines(file, definition) if summary else (definition.line, definition.line)
    evidence = texts.evidence(file.target, file.path, start, end, "definition", score, (definition.name,))
    text = "\n".join(file.lines[definition.begin_line - 1 : definition.end_line])
    words = matched_words(text, ranking, weights)
    return RelevantPassage(evidence, definition.name, summary, words, is_documentation=bool(summary))


def _cited_lines(file: ScoredFile, definition: Definition) -> tuple[int, int]:
    """Return the lines of a definition's head with its documentation: the comment above, or the docstring."""
    start = min(definition.line, comment_start(file.lines, definition.begin_line - 1) + 1)
    end = max(definition.line, min(head_end(file.lines, definition), len(file.lines)))
    if end - start >= MAX_LINES:
        start = definition.line
    return start, min(end, start + MAX_LINES - 1)
