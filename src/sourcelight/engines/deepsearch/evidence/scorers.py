"""Further scores for ranking files: votes of commits, of names in the best chunks, of named repositories."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
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
    from sourcelight.engines.search.scan.opened_commit import OpenedCommit
    from sourcelight.engines.symbols import SymbolTable

MAX_DEFINING = 3
"""Maximum files of a name that still locates its definition."""

VOTING = 6
"""Best chunks whose names vote. More of them, or votes that are not evened out, made the first file worse."""

_MIN_NAME_CHARS = 4
_TRACEBACK = re.compile(
    r"Traceback \(most recent call last\)|^\s+at \S+\(.*:\d+\)|\bpanic: |goroutine \d+", re.MULTILINE
)
_TRACEBACK_WEIGHT = 0.15
_MAX_ROWS = 50


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
        scores_by_commit = []
        best = 0.0
        for target, snapshot in zip(request.targets, request.snapshots, strict=True):
            cancellation.check()
            scores = np.zeros(snapshot.view.files)
            ranker = self.ranker(target)
            if ranker is not None:
                for path, vote in ranker.votes(request.question.terms, cancellation.check):
                    position = snapshot.view.file_number(path)
                    if position is not None:
                        scores[position] += vote

            best = max(best, float(scores.max()) if len(scores) else 0.0)
            scores_by_commit.append(scores)

        if best <= 0.0:
            return None

        factor = _TRACEBACK_WEIGHT / self.weight if _TRACEBACK.search(request.question.text) else 1.0
        return [scores * (factor / best) for scores in scores_by_commit]


@dataclass(slots=True)
class GraphScorer:
    """Names used in the best chunks vote for the few files that define them."""

    engine: LocalEngine
    name: str = "graph"
    weight: float = 0.1

    def scores(self, request: ScoreRequest, cancellation: Cancellation) -> Sequence[Scores] | None:
        """Return each file's share of the votes."""
        snapshots = [self.engine.store.open_symbols(target) for target in request.targets]
        target_numbers = {(t.repository.key, t.commit): number for number, t in enumerate(request.targets)}
        by_document: dict[tuple[int, bytes], Int64Array] = {}
        scores = [np.zeros(snapshot.view.files) for snapshot in request.snapshots]
        for chunk in request.chunks[:VOTING]:
            cancellation.check()
            number = target_numbers[chunk.target.repository.key, chunk.target.commit]
            text = snapshots[number][0].text_of(chunk.path) or b""
            lines = text.split(b"\n")[chunk.begin_line - 1 : chunk.end_line]
            for name in dict.fromkeys(TOKEN.findall(b"\n".join(lines))):
                if len(name) < _MIN_NAME_CHARS:
                    continue

                key = number, name
                files = (
                    by_document[key]
                    if key in by_document
                    else by_document.setdefault(key, _defining(snapshots[number], name))
                )
                if 0 < len(files) <= MAX_DEFINING:
                    scores[number][files] += chunk.score**2 / len(files)

        best = max((float(part_scores.max()) for part_scores in scores if len(part_scores)), default=0.0)
        return [np.sqrt(part_scores / best) for part_scores in scores] if best > 0.0 else None


def _defining(opened_symbols: tuple[OpenedCommit, str, list[SymbolTable | None]], name: bytes) -> Int64Array:
    snapshot, _, tables = opened_symbols
    units: list[int] = []
    for shard, table in enumerate(tables):
        if table is None:
            continue
        rows = table.rows_of(name)
        if 0 < len(rows) <= _MAX_ROWS:
            placed = snapshot.placement(shard)
            documents = np.unique(table.documents_of(rows))
            for document in documents.tolist():
                units += placed.files[placed.first_file[document] : placed.first_file[document + 1]].tolist()

    return np.array(units, dtype=np.int64)


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
        is_named = [_short(target) in question_words for target in request.targets]
        if not any(is_named) or all(is_named):
            return None

        return [
            np.where(scores > 0.0, 1.0 if is_match else 0.0, 0.0)
            for is_match, scores in zip(is_named, request.scores, strict=True)
        ]


def _short(target: Target) -> str:
    return target.repository.name.rpartition("/")[2].partition(" ")[0].casefold()
