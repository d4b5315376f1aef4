"""Score files: sum lists of scores, each divided by its maximum, and weight the sum by the kind of file.

Each list scores files by one kind of evidence. Lists of names, paths, tests, commits and comments may raise any file,
and are made first. The list of words needs the chunks of a file. If only the best chunks are requested, it is made for
the files with the best chunk scores alone, and then for more and more files, until no file that was left out can have
one of the best chunks (`_has_best_chunks`). With other parts of the files, all of these maxima are those of all parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, chunks_of, run_starts
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.list_weights import LengthWeights, ListWeights
from sourcelight.engines.search.ranking.model import LOCAL_ONLY, StatsExchange
from sourcelight.engines.search.ranking.name_scores import definition_name_scores, name_scores
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.votes.comments import scores_of_comments
from sourcelight.engines.search.ranking.votes.commits import scores_of_changes, scores_of_commits
from sourcelight.engines.search.ranking.votes.names import MAX_DEFINING_FILES, defining_files, mentioned_files
from sourcelight.engines.search.ranking.votes.tests import scores_of_tests

CHUNK = 1.0
"""Weight of a chunk's own score, beside the score of its file. Both are divided by the best of all."""

NEAR_BEST = 0.5
"""Share of the best chunk's score, both with the factors of their kinds, from which a file's next two chunks and its
whole text are scored, too."""

_SCORE_FRACTIONS = 0.5, 0.25, 0.0
"""Shares of the best chunk's score from which files are scored, tried in this order until the best are certain."""

ROUNDING_FACTOR = 1.0 - 1e-9
"""Factor of a bound in comparisons, because sums are rounded."""


@dataclass(slots=True)
class FileLists:
    """Weighted lists of scores of the files of a collection, by name.

    Attributes
    ----------
    collection
        Collection of the files.
    factors
        Factor of each kind of file.
    top
        Best score of a chunk.
    files
        Ranked files, ascending: all, or the files that can have the best chunks.
    best
        Best score of a chunk, for each of `files`.
    listed_files
        Files with a score in a list other than the list of words.
    file_weight
        Weight of a file's score in the scores of its chunks.
    repeat
        Factor of each further chunk of a file.
    lists
        Lists by name, with a score for each file of the collection. The list of words scores only `files`.
    """

    collection: ChunkCollection
    factors: Float64Array
    top: float
    files: Int64Array
    best: Float64Array
    listed_files: Int64Array
    file_weight: float = 1.0
    repeat: float = 1.0
    lists: dict[str, Float64Array] = field(default_factory=dict)

    def kind(self, files: Int64Array) -> Float64Array:
        """Return the factor of some files."""
        return self.factors.take(self.collection.kinds.take(files))

    def add(self, name: str, scores: Float64Array) -> None:
        """Add a list, or replace the list of the same name."""
        self.lists[name] = scores
        self.listed_files = np.union1d(self.listed_files, scores.nonzero()[0])

    def spread(self, scores: Float64Array) -> Float64Array:
        """Return scores of `files` as a list: with a score for each file of the collection, 0 for the others."""
        scores_of_all: Float64Array = np.zeros(self.collection.files)
        scores_of_all[self.files] = scores
        return scores_of_all

    def total(self) -> Float64Array:
        """Return the score of each of `files`."""
        total = np.zeros(len(self.files))
        for scores in self.lists.values():
            total += scores.take(self.files)
        return total * self.kind(self.files)

    def tops(self, scores: Float64Array) -> Float64Array:
        """Return the score of the best chunk of each of `files`, from the files' `scores`; 0 without a chunk score."""
        chunk_scores = (CHUNK / (self.top or 1.0)) * self.best * self.kind(self.files)
        chunk_scores += self.file_weight * scores
        chunk_scores *= self.best > 0.0
        return chunk_scores


def file_lists(
    collection: ChunkCollection,
    words: WordScores,
    question: RankQuery,
    weights: ListWeights,
    limit: int | None = None,
    *,
    defined: Sequence[int] | None = None,
    exchange: StatsExchange = LOCAL_ONLY,
) -> FileLists:
    """Make the lists of scores from words, definitions and paths.

    Parameters
    ----------
    collection, words, question, weights
        Collection of files, scores of its chunks, the question, and the weights of lists.
    limit
        Number of the best chunks whose files are needed; None for all files.
    defined
        For each name of the question the number of files in all parts that define it; None without other parts.
    exchange
        Exchange of the maxima of all parts; with other parts, `limit` must be None.
    """
    by_length = weights.of_length(question.length)
    (top,) = exchange.maxima([float(words.chunks.max(initial=0.0))])
    further_lists = _further_lists(collection, words, question, weights, top, defined, exchange)
    listed_files = np.logical_or.reduce([scores > 0.0 for scores in further_lists.values()]).nonzero()[0]
    factors = weights.of_kinds(question)
    near_best = _NearBest(words)

    for fraction in _SCORE_FRACTIONS if limit is not None else (0.0,):
        candidates = _files_with_chunks(words, fraction * top, listed_files)
        lists = FileLists(
            collection=collection,
            factors=factors,
            top=top,
            files=candidates.files,
            best=candidates.best_scores,
            listed_files=listed_files,
            file_weight=by_length.file,
            repeat=by_length.repeat,
        )
        by_words = _score_by_words(near_best, lists, weights, exchange)
        lists.lists = _all_lists(lists, by_words, further_lists, by_length)

        # The maximum scores of a file that was left out: its best chunk is below `fraction * top`, it is in none of the
        # further lists, and the share of imports is at most 1.
        max_factor = float(factors.max())
        max_chunk = fraction * max_factor
        if limit is None or not fraction * top:
            break
        max_lists = fraction * (weights.best / by_words.max_score + by_length.best_alone) + by_length.imported
        # `_score_by_words` would have read only the best chunk of such a file.
        would_read_one_chunk = NEAR_BEST * by_words.max_chunk >= max_chunk * top
        if would_read_one_chunk and _has_best_chunks(lists, limit, max_chunk, max_lists * max_factor):
            break

    return lists


def _all_lists(
    lists: FileLists, by_words: _WordList, further_lists: dict[str, Float64Array], by_length: LengthWeights
) -> dict[str, Float64Array]:
    """Return the list of words, the further lists, and those that only files with a word can be in."""
    all_lists = {"words": lists.spread(by_words.scores / (by_words.max_score or 1.0)), **further_lists}
    if by_length.best_alone:
        all_lists["best"] = lists.spread(lists.best * (by_length.best_alone / (lists.top or 1.0)))

    if by_length.imported:
        has_words = lists.best > 0.0
        all_lists["imports"] = lists.spread(
            by_length.imported * lists.collection.imported.take(lists.files) * has_words
        )

    return all_lists


def _further_lists(
    collection: ChunkCollection,
    words: WordScores,
    question: RankQuery,
    weights: ListWeights,
    top: float,
    defined: Sequence[int] | None,
    exchange: StatsExchange,
) -> dict[str, Float64Array]:
    """Return the lists that may raise a file independent of its words: by names, paths, tests, commits and comments."""
    names = ("definitions", "mentioned", "names", "tests", "subjects", "changes", "comments")
    lists: dict[str, Float64Array] = {name: np.zeros(collection.files) for name in names}
    by_length = weights.of_length(question.length)

    for index, name in enumerate(question.all_names):
        shares_by_file = defining_files(collection, name)
        count = len(shares_by_file) if defined is None else defined[index]
        weight = weights.exact if index < len(question.names) else weights.possible
        if count <= MAX_DEFINING_FILES:
            for file, share in sorted(shares_by_file.items()):
                # A name that many files define is weak evidence for each of them.
                lists["definitions"][file] += weight * share / count

    for file in mentioned_files(collection, question):
        lists["mentioned"][file] = weights.mentioned

    if by_length.names:
        lists["names"] += by_length.names * name_scores(collection, words, question)

    if by_length.definition_names:
        by_definitions = definition_name_scores(collection, words, question, top, exchange)
        lists["names"] += by_length.definition_names * by_definitions

    if by_length.tested:
        lists["tests"] += by_length.tested * scores_of_tests(collection, words, top)

    quoted = 0.0
    if by_length.comments:
        in_comments = scores_of_comments(collection, words, question, top, exchange)
        lists["comments"] += by_length.comments * in_comments
        (quoted,) = exchange.maxima([float(in_comments.max(initial=0.0))])

    # A comment that has the question word for word answers it, and commits could only distract from it.
    commit_share = (1.0 - quoted) ** 2
    if by_length.subjects:
        by_commits = scores_of_commits(collection, words, question, exchange)
        lists["subjects"] += commit_share * by_length.subjects * by_commits

    if by_length.changes:
        by_changes = scores_of_changes(collection, words, question, exchange)
        lists["changes"] += commit_share * by_length.changes * by_changes

    return lists


class _FilesWithChunks(NamedTuple):
    """Files, ascending, and the score of the best chunk of each."""

    files: Int64Array
    best_scores: Float64Array


def _files_with_chunks(words: WordScores, min_score: float, listed_files: Int64Array) -> _FilesWithChunks:
    """Return the files with a chunk of at least `min_score`, and `listed_files`."""
    collection = words.collection
    if min_score <= 0.0:
        best_scores: Float64Array = words.chunks
        if collection.chunks:
            best_scores = np.maximum.reduceat(words.chunks, collection.first_chunks)
        return _FilesWithChunks(np.arange(collection.files), best_scores)

    # Chunks are numbered file by file, so the files ascend, and each is one run.
    file_of_chunk = collection.file_of.take((words.chunks >= min_score).nonzero()[0])
    files = file_of_chunk.take(run_starts(file_of_chunk))
    if len(listed_files):
        files = np.union1d(files, listed_files)

    sizes = collection.chunk_counts.take(files)
    scores = words.chunks.take(chunks_of(collection, files))
    return _FilesWithChunks(files, np.maximum.reduceat(scores, sizes.cumsum() - sizes))


class _NearBestScores(NamedTuple):
    """For some files, the score of the second and the third best chunk, and of the whole text."""

    second: Float64Array
    third: Float64Array
    full_text: Float64Array


@dataclass(slots=True)
class _NearBest:
    """Further scores of the files whose best chunk is nearly the best of all; most attempts look at the same ones."""

    words: WordScores
    _files: Int64Array = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    _scores: _NearBestScores | None = None

    def scores(self, files: Int64Array) -> _NearBestScores:
        """Return the further scores of some files."""
        if self._scores is None or not np.array_equal(files, self._files):
            self._files = files
            self._scores = _NearBestScores(*self.words.next_best(files), self.words.file_scores(files))
        return self._scores


class _WordList(NamedTuple):
    """The scores of files by words.

    Attributes
    ----------
    scores
        Score of each of `FileLists.files`.
    max_score
        Best of them, in all parts.
    max_chunk
        Best score of a chunk times the factor of its file's kind, in all parts.
    """

    scores: Float64Array
    max_score: float
    max_chunk: float


def _score_by_words(near_best: _NearBest, lists: FileLists, weights: ListWeights, exchange: StatsExchange) -> _WordList:
    """Score files by their best chunk and, if that is near the best of all, by two more and by their whole text."""
    scores = lists.best * (weights.best / (lists.top or 1.0))
    chunk_values = lists.kind(lists.files) * lists.best
    (max_chunk,) = exchange.maxima([float(chunk_values.max(initial=0.0))])

    is_near_best = (chunk_values >= NEAR_BEST * max_chunk) & (lists.best > 0.0)
    indices = is_near_best.nonzero()[0]
    further_scores = near_best.scores(lists.files.take(indices))
    maxima = exchange.maxima([float(list_scores.max(initial=0.0)) for list_scores in further_scores])
    further_weights = weights.second, weights.third, weights.full_name
    for weight, list_scores, maximum in zip(further_weights, further_scores, maxima, strict=True):
        scores[indices] += list_scores * (weight / (maximum or 1.0))

    (max_score,) = exchange.maxima([float(scores.max(initial=0.0))])
    return _WordList(scores, max_score, max_chunk)


def _has_best_chunks(lists: FileLists, limit: int, max_chunk: float, max_file: float) -> bool:
    """Return whether the `limit` best chunks are all in the files that were scored.

    No other file has a better chunk than `max_chunk`, as a share of the best of all, or a better score than `max_file`,
    both with the factor of its kind.
    """
    total = lists.total()
    top = float(total.max())
    tops = lists.tops(total / top)
    if not 0 < limit <= len(tops):
        return False
    max_score = CHUNK * max_chunk + lists.file_weight * max_file / top
    return float(np.partition(tops, len(tops) - limit)[-limit]) * ROUNDING_FACTOR > max_score


def scores_by_target(collection: ChunkCollection, scores: Float64Array) -> Sequence[Float64Array]:
    """Return scores as one array for each target, with an entry for each file of its view."""
    scores_by_file = [np.zeros(open_terms.snapshot.view.files) for open_terms in collection.open_terms]
    for block, (start, end) in zip(collection.blocks, pairwise(collection.file_base), strict=True):
        scores_by_file[block.target][block.files] = scores[start:end]
    return scores_by_file


def scores_of_targets(collection: ChunkCollection, scores: Sequence[Float64Array]) -> Float64Array:
    """Return scores by target as one array for the files of a collection: the inverse of `scores_by_target`."""
    scores_by_block = [scores[block.target][block.files] for block in collection.blocks]
    return np.concatenate(scores_by_block) if scores_by_block else np.zeros(0)
