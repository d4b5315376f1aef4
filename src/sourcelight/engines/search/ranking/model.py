"""What ranking gives, and what a further list of scores has to be."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.ranking.question import Question
from sourcelight.engines.search.scan.snapshot import Snapshot

Scores: TypeAlias = NDArray[np.float64]


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
        Repositories (with ``@`` and the revision, if one was asked for) that could not be ranked, and why.
    searched_chunks
        Chunks whose words were looked at.
    share
        Of a part of the files: what is needed to put it together with others. None: of all of them.
    """

    question: Question
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
    share: Share | None = None


@dataclass(frozen=True, slots=True)
class FileSpace:
    """The files that are ranked: for each target its open snapshot and the scores so far, one for each file.

    `chunks` are the best by their words alone.
    """

    question: Question
    targets: Sequence[Target]
    snapshots: Sequence[Snapshot]
    scores: Sequence[Scores]
    chunks: Sequence[RankedChunk]


class Exchange(Protocol):
    """How rankings of parts of the files get the numbers of all: each of them calls the same methods in turn."""

    def add(self, numbers: Sequence[int]) -> list[int]:
        """Give the sums of what all have."""
        ...

    def most(self, numbers: Sequence[float]) -> list[float]:
        """Give the greatest of what all have."""
        ...


@dataclass(frozen=True, slots=True)
class Share:
    """What a ranking of a part of the files needs to be one of all, beside its chunks.

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

    def scores(self, space: FileSpace, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Give a score for each file of each target, the best being 1; None when there is nothing to say."""
        ...
