"""Votes of commits: their subjects describe the files that they changed.

There are two of these scores. By `scores_of_commits`, each of the commits that match a question best votes for its
files. By `scores_of_changes`, the subjects of all commits of a file are one text: the words of a question may be in
several of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.subject_table import SubjectTable
from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form
from sourcelight.engines.search.scan.opened_commit import OpenedCommit

MAX_VOTERS = 40
"""Commits of a repository that vote."""

_POWER = 3
"""A commit's vote is its share of the best score to this power, so that a few good ones decide."""

MIN_CHANGES = 0.4
"""Share of the best file's score below which the commits of a file don't count. It keeps the files to score few."""


class _Voters(NamedTuple):
    """The commits of a target that vote.

    Attributes
    ----------
    scores
        Score of each commit.
    sizes
        Number of files that each commit changed.
    files
        The files that they changed, one commit after another: numbers in the collection, -1 for a file that it lacks.
    """

    scores: Float64Array
    sizes: Int64Array
    files: NDArray[np.int32]


def scores_of_commits(
    collection: ChunkCollection, words: WordScores, question: RankQuery, exchange: StatsExchange
) -> Float64Array:
    """Score files by the commits that changed them, as a fraction of the best score; 0 for files without a word.

    A commit's vote is divided by the square root of the files that it changed. All parts of a ranking exchange the best
    commit and the best file, so that votes of different repositories can be compared.
    """
    terms = _subject_terms(question)
    voters: list[_Voters] = []
    for target, open_terms in enumerate(collection.open_terms):
        table = open_terms.subjects
        if table is not None:
            commit_scores = table.scores(terms)
            if commit_scores.any():
                voters.append(_choose_voters(collection, target, table, commit_scores))

    # Every part takes part in both exchanges, those without a table too: the others wait for it.
    best = max((float(target_voters.scores.max()) for target_voters in voters), default=0.0)
    (best_of_all,) = exchange.maxima([best])
    scores = _sum_votes(voters, best_of_all, collection.files)
    return _divide_by_best(_drop_unreached(scores, words), exchange)


def scores_of_changes(
    collection: ChunkCollection, words: WordScores, question: RankQuery, exchange: StatsExchange
) -> Float64Array:
    """Score files by the subjects of all commits that changed each, as a share of the best of all files.

    Files without a word of the question have the score 0, and so have those below `MIN_CHANGES`. All parts of a ranking
    exchange the best file, as for `scores_of_commits`.
    """
    scores: Float64Array = np.zeros(collection.files)
    terms = _subject_terms(question)
    for target, open_terms in enumerate(collection.open_terms):
        table = open_terms.subjects
        if table is None:
            continue

        path_scores = table.path_scores(terms)
        paths = path_scores.nonzero()[0]
        if len(paths):
            files = _collection_files(collection, target, table, paths)
            in_collection = (files >= 0).nonzero()[0]
            scores[files.take(in_collection)] = path_scores.take(paths.take(in_collection))

    scores = _divide_by_best(_drop_unreached(scores, words), exchange)
    scores[scores < MIN_CHANGES] = 0.0
    return scores


def _subject_terms(question: RankQuery) -> Mapping[str, float]:
    """Return the terms of a question without joined forms: subjects are compared word by word."""
    return {term: weight for term, weight in question.terms.items() if not is_joined_form(term)}


def _choose_voters(
    collection: ChunkCollection, target: int, table: SubjectTable, commit_scores: Float64Array
) -> _Voters:
    """Return the commits with the best scores, the newest of equal ones first."""
    scored = (commit_scores > 0.0).nonzero()[0]
    # Stable: a table has its newest commit first.
    order = np.argsort(-commit_scores.take(scored), kind="stable")
    commits = scored.take(order[:MAX_VOTERS])
    paths, sizes = table.changed_paths(commits)
    return _Voters(commit_scores.take(commits), sizes, _collection_files(collection, target, table, paths))


def _sum_votes(voters: Sequence[_Voters], best: float, file_count: int) -> Float64Array:
    """Return the sum of the votes for each file; `best` is the best score of a commit."""
    sums: Float64Array = np.zeros(file_count)
    if not voters:
        return sums

    # Votes of all repositories are counted at once: steps for each of them would take most of the time.
    commit_scores = np.concatenate([target_voters.scores for target_voters in voters])
    sizes = np.concatenate([target_voters.sizes for target_voters in voters])
    files = np.concatenate([target_voters.files for target_voters in voters])

    votes = (commit_scores / best) ** _POWER / np.sqrt(sizes)
    votes_by_file = votes.repeat(sizes)
    in_collection = (files >= 0).nonzero()[0]
    np.add.at(sums, files.take(in_collection), votes_by_file.take(in_collection))
    return sums


def _drop_unreached(scores: Float64Array, words: WordScores) -> Float64Array:
    """Return the scores with 0 for each file that shares no word with the question.

    Such a file would count as if it did, and has no chunk to show.
    """
    return scores * words.reached if len(scores) else scores


def _divide_by_best(scores: Float64Array, exchange: StatsExchange) -> Float64Array:
    """Return the scores as shares of the best one of all parts."""
    # Only now are the votes of all workers known, so the best file of all is 1 in each of them.
    (best,) = exchange.maxima([float(scores.max(initial=0.0))])
    return scores / best if best > 0.0 else scores


def _collection_files(
    collection: ChunkCollection, target: int, table: SubjectTable, paths: Int64Array
) -> NDArray[np.int32]:
    """Return the number in the collection of some paths of a target's table, -1 for paths that it doesn't have."""
    view_files = _view_files(collection.open_terms[target].snapshot, table).take(paths)
    in_view = view_files >= 0
    files = np.full(len(view_files), -1, dtype=np.int32)
    files[in_view] = collection.file_numbers[target].take(view_files[in_view])
    return files


def _view_files(snapshot: OpenedCommit, table: SubjectTable) -> Int64Array:
    """Return the number in the view of each path of a table, -1 for a missing path."""
    # The table is cached beside its numbers: while it lives, no other table can have its id.
    _, view_files = snapshot.remember(("files of subjects", id(table)), lambda: (table, _find_files(snapshot, table)))
    return view_files


def _find_files(snapshot: OpenedCommit, table: SubjectTable) -> Int64Array:
    numbers = {path: number for number, path in enumerate(snapshot.view.path_lines())}
    return np.array([numbers.get(path, -1) for path in table.paths], dtype=np.int64)
