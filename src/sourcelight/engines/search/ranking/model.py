"""Results of ranking, the protocol of a further list of scores, and the join of rankings of parts of the files.

Parts are ranked in several processes. They exchange the numbers that depend on all files, so that their joined ranking
is the ranking of all files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

from sourcelight.core.arrays import Float64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.bm25 import idf_of
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.scan.corpus import OpenedCommit

Scores: TypeAlias = Float64Array


@dataclass(frozen=True, slots=True)
class RankedChunk:
    """Some lines of a file, and how well they answer.

    Attributes
    ----------
    target
        The repository and the commit.
    path
        Repository-relative.
    begin_line, end_line
        1-based, both inside.
    score
        Between 0 and 1; 1 for the best chunk of the answer.
    kind
        What sort of file it is: ``code``, ``test``, ``docs``, ``config``, ``vendored`` or ``changelog``.
    symbols
        Names of the definitions that begin in these lines, in order.
    file
        Place of the file in `Ranking.files`.
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
    """A file and how well it answers; 1 is the best of the answer. `lists` has the share of each list in that."""

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
        The question as it was understood.
    chunks, files
        Best first, as many as asked for.
    matched_files, matched_chunks
        How many share a word with the question.
    searched_files
        Files whose words were looked at.
    coverage
        Share of the question's weight that the eight best chunks contain, 0 to 1: below 0.25 there is no answer.
    unknown
        Words and identifiers of the question that no file has.
    idf
        How rare each term is that occurs: its inverse frequency among chunks.
    failed
        Repositories (with ``@`` and the revision, if one was requested) that could not be ranked, and why.
    searched_chunks
        Chunks whose words were looked at.
    share
        Of a part of the files: what is needed to put it together with others. None: of all of them.
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
    """The files that are ranked: for each target its open snapshot and the scores so far, one for each file.

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
        The score of each of `Ranking.files`.
    chunk_scores
        The score of each of `Ranking.chunks` before it is scaled.
    best
        The best chunks: the score, negated and not scaled, the place, and the terms of the question that each holds.
    """

    file_scores: tuple[float, ...] = ()
    chunk_scores: tuple[float, ...] = ()
    best: tuple[tuple[float, tuple[str, str, str, int], frozenset[str]], ...] = ()


class Scorer(Protocol):
    """One more list of scores for files.

    Attributes
    ----------
    name
        What the list is called in `RankedFile.lists`.
    weight
        By how much it counts, beside 1 for words.
    """

    name: str
    weight: float

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return a score for each file of each target, the best being 1; None without a score."""
        ...


COVERING_CHUNKS = 8
"""Best chunks that say how much of a question they contain."""


@dataclass(frozen=True, slots=True)
class LocalStats:
    """There are no other parts."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Return the numbers themselves."""
        return list(numbers)

    def maxima(self, numbers: Sequence[float]) -> list[float]:
        """Return the numbers themselves."""
        return list(numbers)


LOCAL_ONLY: StatsExchange = LocalStats()


def coverage(question: RankQuery, idf: Mapping[str, float], chunks: int, held_terms: frozenset[str]) -> float:
    """Share of the question's weight that the best of so many chunks hold; `held_terms` are the terms in these."""
    absent = idf_of(chunks, 0)
    total = covered = 0.0
    required = question.terms.keys() - question.optional
    for term, weight in question.terms.items():
        if term not in required and (required or term not in idf):
            continue
        mass = weight * idf.get(term, absent)
        total += mass
        if term in held_terms:
            covered += mass
    return covered / total if total else 0.0


@dataclass(frozen=True, slots=True)
class RankLimits:
    """Most chunks to give, of how many files, and of each; None: no limit."""

    chunks: int | None = None
    files: int | None = None
    per_file: int | None = None


def join_rankings(
    question: RankQuery, parts: Sequence[Ranking], limits: RankLimits
) -> tuple[Ranking, list[tuple[int, int]]]:
    """Merge rankings of parts that exchanged their statistics.

    Parameters
    ----------
    question
        What was asked.
    parts
        Each with its `share`, and within the same limits.
    limits
        Those of each part.

    Returns
    -------
    Ranking, list of (int, int)
        The ranking of all, and for each of its chunks the part that it came from and its place there.
    """
    entries = [
        ((-score, *_sort_key(chunk)), part, position)
        for part, ranking in enumerate(parts)
        for position, (chunk, score) in enumerate(zip(ranking.chunks, _stats_of(ranking).chunk_scores, strict=True))
    ]
    entries.sort()  # of one file, chunks of equal scores are in their order already
    selected: list[tuple[int, int]] = []
    chunks_per_file: dict[tuple[int, int], int] = {}
    for _, part, position in entries:
        file = part, parts[part].chunks[position].file
        if len(selected) == limits.chunks:
            break
        if limits.files is not None and file not in chunks_per_file and len(chunks_per_file) >= limits.files:
            continue
        if limits.per_file is not None and chunks_per_file.get(file, 0) >= limits.per_file:
            continue
        chunks_per_file[file] = chunks_per_file.get(file, 0) + 1
        selected.append((part, position))

    def by_score(file: tuple[int, int]) -> tuple[float, tuple[str, str, str]]:
        ranking = parts[file[0]]
        return -_stats_of(ranking).file_scores[file[1]], _sort_key(ranking.files[file[1]])

    ordered = sorted(chunks_per_file, key=by_score)
    positions = {file: index for index, file in enumerate(ordered)}
    chunks = []
    for part, position in selected:
        chunk = parts[part].chunks[position]
        chunks.append(replace(chunk, file=positions[part, chunk.file]))
    idf = dict(parts[0].idf) if parts else {}
    best = sorted(entry for ranking in parts for entry in _stats_of(ranking).best)
    held_terms = frozenset(term for *_, terms in best[:COVERING_CHUNKS] for term in terms)
    searched = sum(ranking.searched_chunks for ranking in parts)
    unknown = [question.source_texts[t] for t in question.terms if t not in idf and t not in question.optional]
    joined_ranking = Ranking(
        question,
        tuple(chunks),
        tuple(parts[part].files[file] for part, file in ordered),
        sum(ranking.matched_files for ranking in parts),
        sum(ranking.matched_chunks for ranking in parts),
        sum(ranking.searched_files for ranking in parts),
        coverage(question, idf, searched, held_terms) if searched else 0.0,
        tuple(dict.fromkeys(unknown)),
        {name: reason for ranking in parts for name, reason in ranking.failed.items()},
        idf,
        searched,
    )
    return joined_ranking, selected


def _stats_of(ranking: Ranking) -> PartStats:
    return ranking.share or PartStats()


def _sort_key(item: RankedChunk | RankedFile) -> tuple[str, str, str]:
    return item.target.repository.name, item.target.revision, item.path
