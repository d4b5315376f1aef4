"""Results of ranking, the protocol of further scorers, and the merge of rankings of parts of the files.

Parts are ranked in several processes. They exchange the numbers that depend on all files, so that their joined ranking
is the ranking of all files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol, TypeAlias

from sourcelight.core.arrays import Float64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.bm25 import idf_of
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.scan.opened_commit import OpenedCommit

Scores: TypeAlias = Float64Array
"""Scores of the files of a view, by their numbers there."""

CoveringChunk: TypeAlias = tuple[float, tuple[str, str, str, int], frozenset[str]]
"""A chunk that counts for the coverage of a question: its negated score before scaling, what orders equal ones
(repository, revision, path and number of the chunk), and its terms of the question. Sorted, the best comes first."""

COVERING_CHUNKS = 8
"""Number of the best chunks from which the coverage of a question is computed."""


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """Some lines of a file, and how well they answer.

    Attributes
    ----------
    target
        Repository and commit.
    path
        Path below the root of the repository.
    begin_line, end_line
        First and last line, 1-based.
    score
        Between 0 and 1; 1 for the best chunk of the answer.
    kind
        Kind of file: ``code``, ``test``, ``docs``, ``config``, ``vendored`` or ``changelog``.
    symbols
        Names of the definitions that begin in these lines, in order.
    file
        Index of the file in `Ranking.files`.
    """

    target: Target
    path: str
    begin_line: int
    end_line: int
    score: float
    kind: str
    symbols: tuple[str, ...]
    file: int


@dataclass(frozen=True, slots=True)
class RankedFile:
    """A file and its score, 1 for the best of the answer. `lists` has the share of each list in the score."""

    target: Target
    path: str
    score: float
    kind: str
    lists: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """An answer: chunks and files, best first; of equal ones by repository, path and line.

    Attributes
    ----------
    question
        The analyzed question.
    chunks, files
        Chunks and their files, best first, within the limits.
    matched_files, matched_chunks
        Numbers of files and chunks that share a word with the question, or have one that is related to it.
    searched_files
        Number of files that were scored.
    coverage
        Share of the question's weight in the eight best chunks, 0 to 1; below 0.25 there is no answer.
    unknown
        Words and identifiers of the question that no file has.
    idf
        Inverse frequency among chunks of each term that occurs.
    failed
        Reason by repository that could not be ranked (with ``@`` and the revision, if one was requested).
    searched_chunks
        Number of chunks that were scored.
    share
        Statistics for the join of a part of the files with others; None for a ranking of all files.
    """

    question: RankQuery
    chunks: tuple[RankedChunk, ...] = ()
    files: tuple[RankedFile, ...] = ()
    matched_files: int = 0
    matched_chunks: int = 0
    searched_files: int = 0
    coverage: float = 0.0
    unknown: tuple[str, ...] = ()
    failed: Mapping[str, str] = field(default_factory=dict)
    idf: Mapping[str, float] = field(default_factory=dict)
    searched_chunks: int = 0
    share: PartStats | None = None


@dataclass(frozen=True, slots=True)
class ScoreRequest:
    """The files to score: for each target its open snapshot and the scores so far, one for each file.

    `chunks` are the best by their words alone.
    """

    question: RankQuery
    targets: Sequence[Target]
    snapshots: Sequence[OpenedCommit]
    scores: Sequence[Scores]
    chunks: Sequence[RankedChunk]


class StatsExchange(Protocol):
    """Exchange of counts between rankings of parts of the files; each calls the same methods in the same order."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Return the sums over all parts."""
        ...

    def maxima(self, numbers: Sequence[float]) -> list[float]:
        """Return the maximum over all parts."""
        ...


@dataclass(frozen=True, slots=True)
class PartStats:
    """Counts over all files that the ranking of a part needs, besides its chunks.

    Attributes
    ----------
    file_scores
        Score of each of `Ranking.files`.
    chunk_scores
        Score of each of `Ranking.chunks` before scaling.
    best
        The best chunks and the terms of the question that they have.
    """

    file_scores: tuple[float, ...] = ()
    chunk_scores: tuple[float, ...] = ()
    best: tuple[CoveringChunk, ...] = ()


class Scorer(Protocol):
    """One more list of scores for files.

    Attributes
    ----------
    name
        Name of the list in `RankedFile.lists`.
    weight
        Weight of the list, beside 1 for words.
    """

    name: str
    weight: float

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return a score for each file of each target, the best being 1, or None without a score."""
        ...


@dataclass(frozen=True, slots=True)
class LocalStats:
    """The exchange of a ranking without other parts."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Return the numbers themselves."""
        return list(numbers)

    def maxima(self, numbers: Sequence[float]) -> list[float]:
        """Return the numbers themselves."""
        return list(numbers)


LOCAL_ONLY: StatsExchange = LocalStats()


def coverage(question: RankQuery, idf: Mapping[str, float], chunks: int, matched_terms: frozenset[str]) -> float:
    """Return the share of the question's weight in the best of `chunks` chunks; `matched_terms` are their terms."""
    absent = idf_of(chunks, 0)
    total = covered = 0.0
    required = question.terms.keys() - question.optional
    for term, weight in question.terms.items():
        # Joined words are guesses. They count only in a question of nothing else, and only if one exists.
        if term not in required and (required or term not in idf):
            continue
        mass = weight * idf.get(term, absent)
        total += mass
        if term in matched_terms:
            covered += mass

    return covered / total if total else 0.0


@dataclass(frozen=True, slots=True)
class RankLimits:
    """Maximum numbers of chunks, of their files, and of chunks per file; None for no limit."""

    chunks: int | None = None
    files: int | None = None
    per_file: int | None = None


@dataclass(slots=True)
class FileQuota:
    """Counts the selected chunks of each file, so that the limits of files and of chunks per file are kept."""

    limits: RankLimits
    _chunks_per_file: Counter[Hashable] = field(default_factory=Counter)

    def take(self, file: Hashable) -> bool:
        """Count a chunk of a file and return True; return False if a limit leaves the chunk out."""
        max_files, per_file = self.limits.files, self.limits.per_file
        counts = self._chunks_per_file
        is_file_too_many = max_files is not None and file not in counts and len(counts) >= max_files
        if is_file_too_many or (per_file is not None and counts[file] >= per_file):
            return False

        counts[file] += 1
        return True


class PartIndex(NamedTuple):
    """A chunk or a file of a part of the files: the index of the part, and its number in the ranking of that part."""

    part: int
    number: int


def join_rankings(question: RankQuery, parts: Sequence[Ranking], limits: RankLimits) -> tuple[Ranking, list[PartIndex]]:
    """Merge rankings of parts that exchanged their statistics.

    Parameters
    ----------
    question
        The analyzed question.
    parts
        Rankings of the parts, each with its `share`, and all with the same limits.
    limits
        The limits of each part.

    Returns
    -------
    Ranking, list of PartIndex
        The ranking of all files, and for each of its chunks where it came from.
    """
    selected = _best_chunks(parts, limits)
    files = _sort_files(parts, {PartIndex(part, parts[part].chunks[index].file) for part, index in selected})
    new_index = {file: index for index, file in enumerate(files)}
    chunks = []
    for part, index in selected:
        chunk = parts[part].chunks[index]
        # The joined list of files is a new list with its own indexes.
        chunks.append(replace(chunk, file=new_index[PartIndex(part, chunk.file)]))

    failed: dict[str, str] = {}
    for ranking in parts:
        failed |= ranking.failed

    # The parts exchanged their counts, so they all have the same inverse frequencies.
    idf = dict(parts[0].idf) if parts else {}
    searched = sum(ranking.searched_chunks for ranking in parts)
    joined_ranking = Ranking(
        question=question,
        chunks=tuple(chunks),
        files=tuple(parts[part].files[index] for part, index in files),
        matched_files=sum(ranking.matched_files for ranking in parts),
        matched_chunks=sum(ranking.matched_chunks for ranking in parts),
        searched_files=sum(ranking.searched_files for ranking in parts),
        coverage=coverage(question, idf, searched, _covered_terms(parts)) if searched else 0.0,
        unknown=unknown_words(question, idf),
        failed=failed,
        idf=idf,
        searched_chunks=searched,
    )
    return joined_ranking, selected


def unknown_words(question: RankQuery, idf: Mapping[str, float]) -> tuple[str, ...]:
    """Return the words and names of a question that no file has; `idf` has the terms that occur."""
    absent = [term for term in question.terms if term not in idf and term not in question.optional]
    return tuple(dict.fromkeys(question.source_texts[term] for term in absent))


def _sort_files(parts: Sequence[Ranking], files: Collection[PartIndex]) -> list[PartIndex]:
    """Return files by their scores; of equal ones by repository, revision and path."""

    def by_score(file: PartIndex) -> tuple[float, tuple[str, str, str]]:
        ranking = parts[file.part]
        return -_stats_of(ranking).file_scores[file.number], _sort_key(ranking.files[file.number])

    return sorted(files, key=by_score)


def _covered_terms(parts: Sequence[Ranking]) -> frozenset[str]:
    """Return the terms of the question in the best chunks of all parts."""
    best: list[CoveringChunk] = []
    for ranking in parts:
        best += _stats_of(ranking).best

    terms: set[str] = set()
    for _, _, terms_of_chunk in sorted(best)[:COVERING_CHUNKS]:
        terms |= terms_of_chunk
    return frozenset(terms)


def _best_chunks(parts: Sequence[Ranking], limits: RankLimits) -> list[PartIndex]:
    """Return the best chunks of all parts within `limits`."""
    # The best chunks of all files are among the best of their parts, so the limits of the parts lose none.
    entries: list[tuple[tuple[float, str, str, str], PartIndex]] = []
    for part, ranking in enumerate(parts):
        scores = _stats_of(ranking).chunk_scores
        for index, (chunk, score) in enumerate(zip(ranking.chunks, scores, strict=True)):
            entries.append(((-score, *_sort_key(chunk)), PartIndex(part, index)))

    # Chunks of one file with equal scores keep the order of their part.
    entries.sort()

    quota = FileQuota(limits)
    selected: list[PartIndex] = []
    for _, entry in entries:
        if len(selected) == limits.chunks:
            break
        if quota.take(PartIndex(entry.part, parts[entry.part].chunks[entry.number].file)):
            selected.append(entry)

    return selected


def _stats_of(ranking: Ranking) -> PartStats:
    return ranking.share or PartStats()


def _sort_key(item: RankedChunk | RankedFile) -> tuple[str, str, str]:
    return item.target.repository.name, item.target.revision, item.path
