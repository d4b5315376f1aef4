"""The best files of a ranking, with the lines that have each term of a question."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from sourcelight.core.batches import CommitId
from sourcelight.engines.deepsearch.evidence.quotes import FileTexts
from sourcelight.engines.deepsearch.redaction import is_hidden_file
from sourcelight.engines.search import Target
from sourcelight.engines.search.ranking import RankedChunk, Ranking
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN, terms_of
from sourcelight.engines.symbols.definition_parser import Definition
from sourcelight.repos import RepositoryKey

TYPES = frozenset({"class", "interface", "struct", "enum", "module"})
"""Kinds of definitions that other definitions are in."""

_MAX_FILES, _MAX_FILE_LINES, _MAX_DEFINITIONS = 8, 20_000, 2_000
"""Best files that are read, and of each the first lines and definitions."""

_KINDS = frozenset({"function", "method", "constructor"}) | TYPES
"""Kinds of definitions that are shown: those with a body."""

_FileKey: TypeAlias = tuple[RepositoryKey, CommitId, str]
"""A file of a ranking: its repository, commit and path."""


class AnsweringSentence(NamedTuple):
    """A sentence or statement that may answer a question: its file, its first line, and how well it answers, 0 to 2."""

    target: Target
    path: str
    line: int
    score: float


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
    chunk_ranks
        The place of each chunk in the ranking of all files, from 0, by the chunk's first line.
    sentences
        Sentences in it that may answer the question.
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
    chunk_ranks: Mapping[int, int]
    sentences: Sequence[AnsweringSentence]
    lines: Sequence[str]
    definitions: Sequence[Definition]
    weights: Mapping[str, float]
    total_weight: float
    term_lines: Mapping[str, Sequence[int]]

    @classmethod
    def of(
        cls, chunks: Sequence[RankedChunk], chunk_ranks: Mapping[int, int], rank: int, score: float,
        sentences: Sequence[AnsweringSentence], lines: Sequence[str], definitions: Sequence[Definition],
        weights: Mapping[str, float],
    ) -> ScoredFile:  # fmt: skip
        """Look the terms of a question up in the file of some chunks."""
        return cls(
            target=chunks[0].target,
            path=chunks[0].path,
            rank=rank,
            score=score,
            chunks=chunks,
            chunk_ranks=chunk_ranks,
            sentences=sentences,
            lines=lines,
            definitions=definitions,
            weights=weights,
            total_weight=sum(weights.values()),
            term_lines=_find_terms(lines[:_MAX_FILE_LINES], weights),
        )

    def own_lines(self, definition: Definition, begin_line: int) -> Collection[int]:
        """Return the lines of a definition from `begin_line` on; of a type, those in no other definition inside it."""
        lines = range(begin_line, definition.end_line + 1)
        if definition.kind not in TYPES:
            return lines

        members = [
            range(other.begin_line, other.end_line + 1)
            for other in self.definitions
            if other is not definition and other.begin_line in lines and other.end_line in lines
        ]
        return set(lines).difference(*members)

    def count_terms(self, lines: Collection[int]) -> Mapping[str, int]:
        """Return how often some lines have each term that is on them."""
        return {
            term: count
            for term, numbers in self.term_lines.items()
            if (count := sum(number in lines for number in numbers))
        }

    def share_of(self, weight: float) -> float:
        """Return a weight as a share of the weight of the whole question."""
        return weight / self.total_weight

    def rank_score(self, begin_line: int, end_line: int) -> float:
        """Return 1 for lines in the best chunk of the ranking, 1/2 for the second one, and so on; 0 for no chunk."""
        ranks = [
            self.chunk_ranks[chunk.begin_line]
            for chunk in self.chunks
            if chunk.begin_line <= end_line and begin_line <= chunk.end_line
        ]
        return 1.0 / (1 + min(ranks)) if ranks else 0.0

    def sentence_score(self, lines: Collection[int]) -> float:
        """Return the score of the sentence in some lines that answers best; 0 without one."""
        return max((sentence.score for sentence in self.sentences if sentence.line in lines), default=0.0)


def read_best_files(
    texts: FileTexts, ranking: Ranking, weights: Mapping[str, float], chunks: Sequence[RankedChunk],
    sentences: Sequence[AnsweringSentence] = (),
) -> list[ScoredFile]:  # fmt: skip
    """Return the best files of a ranking that have one of some chunks, best first; none if no term has a weight.

    Definitions in them count more for the best of the `sentences` that they have.
    """
    if sum(weights.values()) <= 0.0:
        return []

    chunks_by_file: dict[_FileKey, list[RankedChunk]] = {}
    for chunk in chunks:
        chunks_by_file.setdefault(_file_key(chunk.target, chunk.path), []).append(chunk)

    chunk_ranks: dict[_FileKey, dict[int, int]] = {}
    for rank, chunk in enumerate(ranking.chunks):
        chunk_ranks.setdefault(_file_key(chunk.target, chunk.path), {})[chunk.begin_line] = rank

    file_scores = {_file_key(file.target, file.path): file.score for file in ranking.files}
    best_files = [key for key in file_scores if key in chunks_by_file] or list(chunks_by_file)
    visible_files = [key for key in best_files if not is_hidden_file(key[2])][:_MAX_FILES]
    files = []
    for rank, key in enumerate(visible_files):
        file_chunks = chunks_by_file[key]
        target, path = file_chunks[0].target, file_chunks[0].path
        score = file_scores.get(key, 0.0)
        lines, definitions = texts.lines(target, path), _read_definitions(texts, target, path)
        in_file = [sentence for sentence in sentences if _file_key(sentence.target, sentence.path) == key]
        file = ScoredFile.of(file_chunks, chunk_ranks[key], rank, score, in_file, lines, definitions, weights)
        files.append(file)
    return files


def _file_key(target: Target, path: str) -> _FileKey:
    return target.repository.key, target.commit, path


def _read_definitions(texts: FileTexts, target: Target, path: str) -> Sequence[Definition]:
    indexed = texts.indexed_definitions(target, path)
    if indexed is None:
        return ()
    return [definition for definition in indexed.definitions() if definition.kind in _KINDS][:_MAX_DEFINITIONS]


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
