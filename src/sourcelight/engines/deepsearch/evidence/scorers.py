"""Further scores for ranking files: votes of commits, of names in the best chunks, of named repositories.

A scorer gets the files with their scores so far and the best chunks, and returns one more score for each file. Votes
are added up by file and divided by the best one, so that scores of all repositories can be compared.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking import ScoreRequest
from sourcelight.engines.search.ranking.model import Scores
from sourcelight.engines.search.ranking.terms.tokenizer import TOKEN

if TYPE_CHECKING:
    from sourcelight.engines.deepsearch.evidence.commit_ranker import CommitRanker
    from sourcelight.engines.execution import LocalEngine
    from sourcelight.engines.search import Target
    from sourcelight.engines.search.ranking import RankedChunk
    from sourcelight.engines.search.ranking.question import RankQuery
    from sourcelight.engines.search.scan.opened_commit import OpenedCommit
    from sourcelight.engines.symbols import SymbolTable

MAX_DEFINING = 3
"""Maximum files of a name that still locates its definition."""

VOTING = 6
"""Best chunks whose names vote. More of them, or votes that are not evened out, made the first file worse."""

_MIN_NAME_CHARS = 4
"""Characters of a name that votes: shorter ones, such as `key`, are in every file."""

_MAX_ROWS = 50
"""Definitions of a name in a shard beyond which none of them is looked up."""

_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^[ \t]+at \S{1,300}\(.{0,300}:\d+\)|\bpanic: |goroutine \d+", re.MULTILINE
)
"""Lines of a stack trace: `Traceback (most recent call last)`, `  at lift (gate.js:12)`, `goroutine 1`."""

_TRACEBACK_WEIGHT = 0.15
"""Weight of commits for a question with a stack trace, whose names locate the code better than any message."""


@dataclass(slots=True)
class HistoryScorer:
    """Commits whose messages match the question vote for the files they changed.

    The name is that of the list of subjects, whose place it takes: it reads whole messages, of the whole history.
    """

    ranker: Callable[[Target], CommitRanker | None]
    name: str = "subjects"
    weight: float = 0.35

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return each file's share of the votes."""
        votes_by_target = []
        for target, snapshot in zip(request.targets, request.snapshots, strict=True):
            cancellation.check()
            votes_by_target.append(self._votes_in(target, snapshot, request.question, cancellation))

        best = _best_of(votes_by_target)
        if best <= 0.0:
            return None

        factor = _TRACEBACK_WEIGHT / self.weight if _TRACEBACK.search(request.question.text) else 1.0
        return [votes * (factor / best) for votes in votes_by_target]

    def _votes_in(
        self, target: Target, snapshot: OpenedCommit, question: RankQuery, cancellation: Cancellation
    ) -> Scores:
        """Return the votes for each file of a target."""
        votes = np.zeros(snapshot.view.files)
        ranker = self.ranker(target)
        if ranker is not None:
            for path, vote in ranker.votes(question.terms, cancellation.check):
                file = snapshot.view.file_number(path)
                if file is not None:
                    votes[file] += vote
        return votes


@dataclass(slots=True)
class GraphScorer:
    """Names used in the best chunks vote for the few files that define them."""

    engine: LocalEngine
    name: str = "graph"
    weight: float = 0.1

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return each file's share of the votes."""
        symbols_by_target = [_TargetSymbols.of(self.engine, target) for target in request.targets]
        numbers = {(target.repository.key, target.commit): number for number, target in enumerate(request.targets)}
        votes_by_target = [np.zeros(snapshot.view.files) for snapshot in request.snapshots]
        for chunk in request.chunks[:VOTING]:
            cancellation.check()
            number = numbers[chunk.target.repository.key, chunk.target.commit]
            symbols = symbols_by_target[number]
            for name in symbols.names_in(chunk):
                files = symbols.defining_files(name)
                if 0 < len(files) <= MAX_DEFINING:
                    votes_by_target[number][files] += chunk.score**2 / len(files)

        best = _best_of(votes_by_target)
        return [np.sqrt(votes / best) for votes in votes_by_target] if best > 0.0 else None


@dataclass(frozen=True, slots=True)
class _TargetSymbols:
    """The definitions of a target by name; each name is looked up once."""

    snapshot: OpenedCommit
    tables: Sequence[SymbolTable | None]
    _files_by_name: dict[bytes, Int64Array] = field(default_factory=dict)

    @classmethod
    def of(cls, engine: LocalEngine, target: Target) -> _TargetSymbols:
        """Open the definition tables of a target."""
        snapshot, _, tables = engine.store.open_symbols(target)
        return cls(snapshot, tables)

    def names_in(self, chunk: RankedChunk) -> list[bytes]:
        """Return the names in a chunk, each once, without short ones."""
        text = self.snapshot.text_of(chunk.path) or b""
        lines = text.split(b"\n")[chunk.begin_line - 1 : chunk.end_line]
        names = dict.fromkeys(TOKEN.findall(b"\n".join(lines)))
        return [name for name in names if len(name) >= _MIN_NAME_CHARS]

    def defining_files(self, name: bytes) -> Int64Array:
        """Return the files of the view that define a name."""
        files = self._files_by_name.get(name)
        if files is None:
            files = self._files_by_name[name] = self._find_files(name)
        return files

    def _find_files(self, name: bytes) -> Int64Array:
        files: list[int] = []
        for shard, table in enumerate(self.tables):
            if table is None:
                continue
            rows = table.rows_of(name)
            if not 0 < len(rows) <= _MAX_ROWS:
                continue
            placement = self.snapshot.placement(shard)
            for document in np.unique(table.documents_of(rows)).tolist():
                files += placement.files[placement.first_file[document] : placement.first_file[document + 1]].tolist()

        return np.array(files, dtype=np.int64)


@dataclass(slots=True)
class RepositoryScorer:
    """Repositories named in the question come first, if there are several."""

    name: str = "repository"
    weight: float = 0.3

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return the same score for all files of a named repository."""
        cancellation.check()
        if len(request.targets) < 2:
            return None

        question_words = {word.strip(".,;:?!()`\"'").casefold() for word in request.question.text.split()}
        is_named = [_short_name(target) in question_words for target in request.targets]
        if not any(is_named) or all(is_named):
            return None

        return [
            np.where(scores > 0.0, 1.0 if is_match else 0.0, 0.0)
            for is_match, scores in zip(is_named, request.scores, strict=True)
        ]


def _best_of(votes_by_target: Sequence[Scores]) -> float:
    """Return the greatest number of votes for a file; 0 without files."""
    return max((float(votes.max()) for votes in votes_by_target if len(votes)), default=0.0)


def _short_name(target: Target) -> str:
    """Return the last part of a repository's name, as questions write it."""
    return target.repository.name.rpartition("/")[2].partition(" ")[0].casefold()
