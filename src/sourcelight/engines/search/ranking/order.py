"""The order of chunks and files by their scores, and the share of a question that the best chunks cover.

Scores are arrays over all candidate chunks, which numpy compares; Python sees only the chunks and files that can be
among the best. Equal scores are ordered by names, which are read for ties alone, as a path is decoded for each.
Wherever a limit cuts an array of scores, all that score like the last one stay, so that names decide between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, run_starts
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.file_scores import CHUNK, ROUNDING_FACTOR, FileLists
from sourcelight.engines.search.ranking.model import (
    LOCAL_ONLY,
    CoveringChunk,
    FileQuota,
    RankLimits,
    StatsExchange,
    coverage,
)
from sourcelight.engines.search.ranking.question import RankQuery

ScoredChunk: TypeAlias = tuple[int, float]
"""The number of a chunk in its collection, and its score."""


class BestChunks(NamedTuple):
    """The best chunks of a ranking.

    Attributes
    ----------
    chunks
        Best first, with scores relative to the best chunk of all parts.
    files
        Their files by the files' own scores, best first.
    unscaled_scores
        The scores of `chunks` before they were made relative.
    """

    chunks: list[ScoredChunk]
    files: list[int]
    unscaled_scores: tuple[float, ...]


class RankOrder:
    """The order of the files and chunks of a collection by their scores.

    The score of a chunk is that of its words, times the factor of its kind of file, plus a share of its file's score;
    further chunks of one file count less and less.

    Parameters
    ----------
    collection
        The files and chunks.
    words
        The scores of chunks by words.
    lists
        The scores of files by words, names, commits and so on.
    limit
        Number of the best files whose chunks are ordered; None for all files.
    exchange
        Exchange with the rankings of other parts of the files.

    Attributes
    ----------
    scores
        Score of each file of `lists`, relative to the best file of all parts.
    max_total
        Score of that file, by which the others were divided.
    """

    def __init__(
        self,
        collection: ChunkCollection,
        words: WordScores,
        lists: FileLists,
        limit: int | None = None,
        exchange: StatsExchange = LOCAL_ONLY,
    ) -> None:
        self.collection = collection
        self.words = words
        self.lists = lists
        self._exchange = exchange

        # Scores are relative to the best of all parts, or files of different workers could not be compared. 1.0 stands
        # for a question without a match, to divide by.
        totals = lists.total()
        (greatest,) = exchange.maxima([float(totals.max(initial=0.0))])
        self.max_total = greatest or 1.0
        self.scores: Float64Array = totals / self.max_total

        # The candidate chunks: their numbers, which ascend, their files and their scores.
        self._chunk_numbers, self._files = self._find_candidates(limit)
        self._scores = self._score_candidates()
        self._damp_repeats(lists.repeat)
        self._sorted: list[ScoredChunk] | None = None

    def _find_candidates(self, limit: int | None) -> tuple[Int64Array, Int64Array]:
        """Return the numbers and the files of the chunks that can be in one of the `limit` best files."""
        if limit is None:
            return self.words.chunk_numbers, self.words.file

        tops = self.lists.tops(self.scores)
        # `ROUNDING_FACTOR` keeps files that rounding puts a hair below the one at the limit.
        min_top = _score_at(tops, limit) if 0 < limit < len(tops) else 0.0
        candidates = (tops >= ROUNDING_FACTOR * min_top).nonzero()[0]
        return self.words.postings_in(self.lists.files.take(candidates))

    def _score_candidates(self) -> Float64Array:
        # `take` copies, so the in-place operations don't change the shared scores.
        scores: Float64Array = self.words.chunks.take(self._chunk_numbers)
        scores *= CHUNK / (self.lists.top or 1.0)
        scores *= self.lists.kind(self._files)
        scores += (self.lists.file_weight * self.scores).take(self._list_indexes(self._files))
        return scores

    def _damp_repeats(self, factor: float) -> None:
        """Multiply the score of each further chunk of a file by a further `factor`."""
        if factor >= 1.0 or not len(self._files):
            return

        # By file, then by falling score: the last key of `lexsort` is the first criterion.
        order = np.lexsort((-self._scores, self._files))
        starts = run_starts(self._files)
        sizes = np.diff(starts, append=len(order))
        rank_in_file = np.arange(len(order)) - starts.repeat(sizes)
        self._scores[order] *= factor**rank_in_file

    # Files.

    def scores_of(self, files: Sequence[int]) -> list[float]:
        """Return the scores of ranked files."""
        scores: list[float] = self.scores.take(self._list_indexes(np.array(files, dtype=np.int64))).tolist()
        return scores

    @property
    def matched_files(self) -> int:
        """Number of files with a score."""
        # Files that share a word with the question, and files that only other lists raise, each once.
        listed_files = self.lists.listed_files
        return int(np.count_nonzero(self.words.reached)) + int(np.count_nonzero(~self.words.reached.take(listed_files)))

    def best_files(self, limit: int) -> list[int]:
        """Return the best files by their own scores; of equal ones by repository and path."""
        scored = (self.scores > 0.0).nonzero()[0]
        scores = self.scores.take(scored)
        if limit < len(scored):
            is_best = scores >= _score_at(scores, limit)
            scored, scores = scored[is_best], scores[is_best]

        score_of = dict(zip(self.lists.files.take(scored).tolist(), scores.tolist(), strict=True))
        return sorted(score_of, key=lambda file: (-score_of[file], self._name(file)))[:limit]

    def _list_indexes(self, files: Int64Array) -> Int64Array:
        """Return the indexes of files in `scores`."""
        # If all files are ranked, a file's number is its index; else ranked files ascend.
        ranked_files = self.lists.files
        return files if len(ranked_files) == self.collection.files else ranked_files.searchsorted(files)

    def _file_of(self, chunk: int) -> int:
        return int(self.collection.file_of[chunk])

    def _name(self, file: int) -> tuple[str, str, str]:
        """Return the key that orders files of equal score: repository, revision and path."""
        target, view_file = self.collection.view_file(file)
        open_terms = self.collection.open_terms[target]
        path = open_terms.snapshot.view.path(view_file)
        return open_terms.target.repository.name, open_terms.target.revision, path

    # Chunks.

    def best(self, limits: RankLimits) -> BestChunks:
        """Return the best chunks within `limits`, and their files."""
        chunk_count = len(self._chunk_numbers)
        max_chunks = chunk_count if limits.chunks is None else min(limits.chunks, chunk_count)
        if limits.files is None and limits.per_file is None:
            self._sorted = self._sort_best(max_chunks)
            selected = self._sorted[:max_chunks]
        else:
            selected = self._within_limits(self._in_order(self._chunks_of_best_files(limits)), limits, max_chunks)

        (best_score,) = self._exchange.maxima([float(self._scores.max(initial=0.0))])
        best_score = best_score or 1.0
        return BestChunks(
            [(chunk, score / best_score) for chunk, score in selected],
            self._files_in_order(selected),
            tuple(score for _, score in selected),
        )

    def first(self, count: int) -> list[ScoredChunk]:
        """Return the best chunks of all files, with their scores before scaling."""
        # `best` has sorted as many chunks already, unless it had to look at limits of files.
        if self._sorted is None or len(self._sorted) < min(count, len(self._chunk_numbers)):
            self._sorted = self._sort_best(count)
        return self._sorted[:count]

    def covering(self, chunk: int, value: float) -> CoveringChunk:
        """Return a chunk with its score before scaling as one that counts for the coverage of the question."""
        file = self._file_of(chunk)
        return -value, (*self._name(file), chunk), terms_in(self.collection, self.words, [(chunk, value)])

    def _sort_best(self, count: int) -> list[ScoredChunk]:
        """Return the `count` best chunks, and all that score like the last one, in order."""
        indexes: Int64Array = np.arange(len(self._scores))
        if count < len(self._scores):
            indexes = (self._scores >= _score_at(self._scores, count)).nonzero()[0]
        return self._in_order(indexes)

    def _chunks_of_best_files(self, limits: RankLimits) -> Int64Array:
        """Return the indexes of chunks within `limits`, including all that score like the last one.

        Ties are broken by name afterwards, so that `_within_limits` has to apply the limits again.
        """
        indexes: Int64Array = np.arange(len(self._scores))
        if limits.files is not None and len(indexes):
            indexes = self._of_best_files(limits.files)
        if limits.per_file is not None and len(indexes):
            indexes = self._best_of_each_file(indexes, limits.per_file)
        return indexes

    def _of_best_files(self, max_files: int) -> Int64Array:
        """Return the indexes of the chunks of the files with the best chunks."""
        # Chunks of a file are adjacent.
        starts = run_starts(self._files)
        tops = np.maximum.reduceat(self._scores, starts)
        if max_files >= len(tops):
            return np.arange(len(self._scores))

        is_best = tops >= _score_at(tops, max_files)
        sizes = np.diff(starts, append=len(self._files))
        return is_best.repeat(sizes).nonzero()[0]

    def _best_of_each_file(self, indexes: Int64Array, per_file: int) -> Int64Array:
        """Return the indexes of the `per_file` best chunks of each file, by file and falling score."""
        indexes = indexes[np.lexsort((-self._scores[indexes], self._files[indexes]))]
        starts = run_starts(self._files[indexes])
        sizes = np.diff(starts, append=len(indexes))
        # The score of the last chunk that a file may have; files with fewer chunks keep all.
        min_scores = self._scores[indexes[starts + np.clip(per_file, 1, sizes) - 1]]
        is_best = self._scores[indexes] >= min_scores.repeat(sizes)
        best: Int64Array = indexes[is_best]
        return best

    def _in_order(self, indexes: Int64Array) -> list[ScoredChunk]:
        """Return chunks best first, chunks of equal score by repository, path and line."""
        # Stable, so equal scores stay in chunk order until their names are compared.
        indexes = indexes[np.argsort(-self._scores[indexes], kind="stable")]
        scores = self._scores[indexes]
        chunks = list(zip(self._chunk_numbers[indexes].tolist(), scores.tolist(), strict=True))

        # `ties` has the first of each equal pair; consecutive pairs form one run of equal scores, which ends one after
        # its last pair begins.
        ties = (scores[1:] == scores[:-1]).nonzero()[0]
        for run in np.split(ties, (np.diff(ties) > 1).nonzero()[0] + 1) if len(ties) else ():
            start, end = int(run[0]), int(run[-1]) + 2
            chunks[start:end] = sorted(
                chunks[start:end], key=lambda chunk: (self._name(self._file_of(chunk[0])), chunk[0])
            )

        return chunks

    def _within_limits(self, chunks: Sequence[ScoredChunk], limits: RankLimits, max_chunks: int) -> list[ScoredChunk]:
        """Return the first `max_chunks` chunks of as many files, and as many of each file, as `limits` allow."""
        quota = FileQuota(limits)
        selected: list[ScoredChunk] = []
        for chunk in chunks:
            if len(selected) >= max_chunks:
                break
            if quota.take(self._file_of(chunk[0])):
                selected.append(chunk)

        return selected

    def _files_in_order(self, chunks: Sequence[ScoredChunk]) -> list[int]:
        """Return the files of chunks, best first."""
        files = list(dict.fromkeys(self._file_of(chunk) for chunk, _ in chunks))
        score_of = dict(zip(files, self.scores_of(files), strict=True))
        # A name takes longer to look up than all else here, and equal scores are rare.
        is_tied = len(set(score_of.values())) < len(files)
        return sorted(files, key=lambda file: (-score_of[file], self._name(file) if is_tied else ()))


def coverage_of(
    question: RankQuery, collection: ChunkCollection, words: WordScores, best: Sequence[ScoredChunk]
) -> float:
    """Return the share of the question's weight that the best chunks have."""
    return coverage(question, words.idf, collection.chunks, terms_in(collection, words, best))


def terms_in(collection: ChunkCollection, words: WordScores, best: Sequence[ScoredChunk]) -> frozenset[str]:
    """Return the terms that some chunks have in their text or path."""
    chunks = np.array(sorted(chunk for chunk, _ in best), dtype=np.int64)
    files = collection.file_of[chunks]
    return frozenset(
        term
        for term, postings in words.postings.items()
        if _contains_any(chunks, postings.chunks) or _contains_any(files, postings.files)
    )


def _score_at(scores: Float64Array, limit: int) -> float:
    """Return the score of rank `limit`, which is at most the number of scores, or infinity for rank 0."""
    if limit == 0:
        return np.inf

    # `partition` finds it without sorting.
    position = len(scores) - limit
    return float(np.partition(scores, position)[position])


def _contains_any(targets: Int64Array, numbers: Int64Array) -> bool:
    """Return whether `numbers`, which ascend, contain one of a few targets."""
    if not len(numbers):
        return False
    # A target above all numbers would get the position behind the last one.
    positions = np.minimum(numbers.searchsorted(targets), len(numbers) - 1)
    return bool((numbers[positions] == targets).any())
