"""The order of chunks and files by their scores, and the share of a question that the best chunks cover."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, run_starts
from sourcelight.engines.search.ranking.chunk_definitions import definition_names
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.file_scores import CHUNK, ROUNDING_FACTOR, FileLists
from sourcelight.engines.search.ranking.model import (
    LOCAL_ONLY,
    CoveringChunk,
    RankedChunk,
    RankedFile,
    RankLimits,
    StatsExchange,
    coverage,
)
from sourcelight.engines.search.ranking.paths import reported_kind
from sourcelight.engines.search.ranking.question import RankQuery


class BestChunks(NamedTuple):
    """The best chunks of a ranking.

    `chunks` has their numbers and scores, relative to the best chunk of all parts. `files` has their files by the
    files' own scores, and `unscaled_scores` the scores of `chunks` as they were reckoned.
    """

    chunks: list[tuple[int, float]]
    files: list[int]
    unscaled_scores: tuple[float, ...]


class RankOrder:
    """The order of files and chunks by their scores."""

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
        total = lists.total()

        # Scores are relative to the best of all parts, or files of different workers could not be compared. 1.0 stands
        # for a question without a match, to divide by.
        (greatest,) = exchange.maxima([float(total.max(initial=0.0))])
        self._max_total = greatest or 1.0
        self.scores: Float64Array = total / self._max_total
        self._sorted: list[tuple[int, float]] | None = None

        if limit is None:
            self._chunk_numbers, self._files = words.chunk_numbers, words.file
        else:
            tops = lists.tops(self.scores)
            # `ROUNDING_FACTOR` keeps files that rounding puts a hair below the one at the limit.
            min_top = _score_at(tops, limit) if 0 < limit < len(tops) else 0.0
            candidates = (tops >= ROUNDING_FACTOR * min_top).nonzero()[0]
            self._chunk_numbers, self._files = words.postings_in(lists.files.take(candidates))

        # `take` copies, so the in-place operations below don't change the shared scores.
        self._scores = words.chunks.take(self._chunk_numbers)
        self._scores *= CHUNK / (lists.top or 1.0)
        self._scores *= lists.kind(self._files)
        self._scores += (lists.file_weight * self.scores).take(self._file_indices(self._files))
        self._damp_repeats(lists.repeat)

    def _damp_repeats(self, factor: float) -> None:
        """Multiply the score of each further chunk of a file by a further `factor`."""
        if factor >= 1.0 or not len(self._files):
            return

        # By file, then by falling score: the last key of `lexsort` is the first criterion.
        order = np.lexsort((-self._scores, self._files))
        starts = run_starts(self._files)
        sizes = np.diff(starts, append=len(order))
        position = np.arange(len(order)) - starts.repeat(sizes)
        self._scores[order] *= factor**position

    def _file_indices(self, files: Int64Array) -> Int64Array:
        """Return the indexes of files in the lists."""
        # If all files are ranked, a file's number is its index; else ranked files ascend.
        ranked_files = self.lists.files
        if len(ranked_files) == self.collection.files:
            return files
        return ranked_files.searchsorted(files)

    def scores_of(self, files: Sequence[int]) -> list[float]:
        """Return the scores of ranked files."""
        scores: list[float] = self.scores.take(self._file_indices(np.array(files, dtype=np.int64))).tolist()
        return scores

    @property
    def matched_files(self) -> int:
        """Number of files with a score."""
        # Files that share a word with the question, and files that only other lists raise, each once.
        listed_files = self.lists.listed_files
        return int(np.count_nonzero(self.words.reached)) + int(np.count_nonzero(~self.words.reached.take(listed_files)))

    def _file_of(self, chunk: int) -> int:
        return int(self.collection.file_of[chunk])

    def _name(self, file: int) -> tuple[str, str, str]:
        """Return the key that orders files of equal score: repository, revision and path."""
        target, view_file = self.collection.view_file(file)
        open_terms = self.collection.open_terms[target]
        path = open_terms.snapshot.view.path(view_file)
        return open_terms.target.repository.name, open_terms.target.revision, path

    def best(self, limits: RankLimits) -> BestChunks:
        """Return the best chunks within `limits`, and their files."""
        chunk_count = len(self._chunk_numbers)
        wanted_count = chunk_count if limits.chunks is None else min(limits.chunks, chunk_count)
        if limits.files is not None or limits.per_file is not None:
            selected = self._choose(self._settle(self._chunks_of_best_files(limits)), limits, wanted_count)
        else:
            selected = self._sort(wanted_count)[:wanted_count]

        (best_score,) = self._exchange.maxima([float(self._scores.max(initial=0.0))])
        best_score = best_score or 1.0
        files = list(dict.fromkeys(int(self.collection.file_of[chunk]) for chunk, _ in selected))
        scores = dict(zip(files, self.scores_of(files), strict=True))

        # A name takes longer to look up than all else here, and equal scores are rare.
        is_tied = len(set(scores.values())) < len(files)
        ordered = sorted(files, key=lambda file: (-scores[file], self._name(file) if is_tied else ()))
        return BestChunks(
            [(chunk, value / best_score) for chunk, value in selected],
            ordered,
            tuple(value for _, value in selected),
        )

    def covering(self, chunk: int, value: float) -> CoveringChunk:
        """Return a chunk with its score before scaling as one that counts for the coverage of the question."""
        file = self._file_of(chunk)
        return -value, (*self._name(file), chunk), terms_in(self.collection, self.words, [(chunk, value)])

    def first(self, count: int) -> list[tuple[int, float]]:
        """Return the best chunks of all files, with their scores before scaling."""
        # `best` has sorted as many chunks already, unless it had to look at limits of files.
        if self._sorted is None or len(self._sorted) < min(count, len(self._chunk_numbers)):
            return self._sort(count)[:count]
        return self._sorted[:count]

    def best_files(self, limit: int) -> list[int]:
        """Return the best files by their own scores; of equal ones by repository and path."""
        scored = (self.scores > 0.0).nonzero()[0]
        scores = self.scores.take(scored)
        if limit < len(scored):
            is_best = scores >= _score_at(scores, limit)
            scored, scores = scored[is_best], scores[is_best]
        pairs = zip(self.lists.files.take(scored).tolist(), scores.tolist(), strict=True)
        return [file for file, _ in sorted(pairs, key=lambda pair: (-pair[1], self._name(pair[0])))[:limit]]

    def _sort(self, count: int) -> list[tuple[int, float]]:
        """Return the `count` best chunks, and all that score like the last one, in order."""
        scores = self._scores
        positions: Int64Array = np.arange(len(scores))
        if count < len(scores):
            positions = (scores >= _score_at(scores, count)).nonzero()[0]
        self._sorted = self._settle(positions)
        return self._sorted

    def _chunks_of_best_files(self, limits: RankLimits) -> Int64Array:
        """Return the indexes of chunks within `limits`, including all that score like the last one."""
        # Ties are broken by name afterwards, so a limit must not cut between equal scores here. `_choose` applies the
        # limits again.
        scores, file = self._scores, self._files
        positions: Int64Array = np.arange(len(scores))
        if limits.files is not None and len(positions):
            # Chunks of a file are adjacent.
            starts = run_starts(file)
            tops = np.maximum.reduceat(scores, starts)
            if limits.files < len(tops):
                is_best = tops >= _score_at(tops, limits.files)
                positions = is_best.repeat(np.diff(starts, append=len(file))).nonzero()[0]

        if limits.per_file is not None and len(positions):
            positions = positions[np.lexsort((-scores[positions], file[positions]))]
            starts = run_starts(file[positions])
            sizes = np.diff(starts, append=len(positions))
            # The score of the last chunk that a file may keep; files with fewer chunks keep all.
            min_scores = scores[positions[starts + np.clip(limits.per_file, 1, sizes) - 1]]
            positions = positions[scores[positions] >= min_scores.repeat(sizes)]

        return positions

    def _settle(self, positions: Int64Array) -> list[tuple[int, float]]:
        """Return chunks best first, chunks of equal score by repository, path and line."""
        # Stable, so equal scores stay in chunk order until their names are compared.
        positions = positions[np.argsort(-self._scores[positions], kind="stable")]
        values = self._scores[positions]
        pairs = list(zip(self._chunk_numbers[positions].tolist(), values.tolist(), strict=True))
        ties = (values[1:] == values[:-1]).nonzero()[0]

        # Names are looked up for ties only: a path has to be decoded for each. `ties` has the first of each equal pair;
        # consecutive pairs form one run of equal scores, which ends one after its last pair begins.
        for run in np.split(ties, (np.diff(ties) > 1).nonzero()[0] + 1) if len(ties) else ():
            start, end = int(run[0]), int(run[-1]) + 2
            pairs[start:end] = sorted(pairs[start:end], key=lambda pair: (self._name(self._file_of(pair[0])), pair[0]))

        return pairs

    def _choose(self, pairs: list[tuple[int, float]], limits: RankLimits, limit: int) -> list[tuple[int, float]]:
        """Return the first `limit` chunks of as many files, and as many of each file, as `limits` allow."""
        selected: list[tuple[int, float]] = []
        chunks_per_file: dict[int, int] = {}
        for chunk, value in pairs:
            if len(selected) >= limit:
                break
            file = self._file_of(chunk)
            if limits.files is not None and file not in chunks_per_file and len(chunks_per_file) >= limits.files:
                continue
            if limits.per_file is not None and chunks_per_file.get(file, 0) >= limits.per_file:
                continue
            chunks_per_file[file] = chunks_per_file.get(file, 0) + 1
            selected.append((chunk, value))

        return selected

    def files(self, files: Sequence[int]) -> list[RankedFile]:
        """Return the ranked files, with the share of each list in their scores."""
        described = []
        for file, score in zip(files, self.scores_of(files), strict=True):
            target, view_file = self.collection.view_file(file)
            open_terms = self.collection.open_terms[target]
            factor = float(self.lists.factors[self.collection.kinds[file]]) / self._max_total
            shares = {name: float(scores[file]) * factor for name, scores in self.lists.lists.items()}
            described.append(
                RankedFile(
                    target=replace(open_terms.target, commit=open_terms.commit),
                    path=open_terms.snapshot.view.path(view_file),
                    score=score,
                    kind=reported_kind(int(self.collection.kinds[file])),
                    lists=shares,
                )
            )

        return described

    def chunks(
        self, selected: Sequence[tuple[int, float]], files: Sequence[int], described: Sequence[RankedFile]
    ) -> list[RankedChunk]:
        """Return the ranked chunks of `files`, which are `described` already."""
        position_of = {file: position for position, file in enumerate(files)}
        # Ascending, so that the names of each block are read in one call.
        ascending = np.array(sorted(chunk for chunk, _ in selected), dtype=np.int64)
        names_by_chunk = dict(zip(ascending.tolist(), definition_names(self.collection, ascending), strict=True))
        described_chunks = []
        for chunk, value in selected:
            number, row = self.collection.table_chunk(chunk)
            start, end = self.collection.blocks[number].lines_of(row)
            position = position_of[self._file_of(chunk)]
            described_file = described[position]
            symbols = tuple(name.decode(errors="replace") for name in names_by_chunk[chunk])
            described_chunks.append(
                RankedChunk(
                    target=described_file.target,
                    path=described_file.path,
                    begin_line=start,
                    end_line=end,
                    score=value,
                    kind=described_file.kind,
                    symbols=symbols,
                    file=position,
                )
            )

        return described_chunks


def coverage_of(
    question: RankQuery, collection: ChunkCollection, words: WordScores, best: Sequence[tuple[int, float]]
) -> float:
    """Return the share of the question's weight that the best chunks have."""
    return coverage(question, words.idf, collection.chunks, terms_in(collection, words, best))


def terms_in(collection: ChunkCollection, words: WordScores, best: Sequence[tuple[int, float]]) -> frozenset[str]:
    """Return the terms that some chunks have in their text or path."""
    tops = np.array(sorted(chunk for chunk, _ in best), dtype=np.int64)
    files = collection.file_of[tops]
    return frozenset(
        term
        for term, postings in words.postings.items()
        if _contains_any(tops, postings.chunks) or _contains_any(files, postings.files)
    )


def _score_at(scores: Float64Array, limit: int) -> float:
    """Return the score of rank `limit`, which is at most the number of scores, or infinity for rank 0."""
    # `partition` finds it without sorting.
    if limit:
        return float(np.partition(scores, len(scores) - limit)[len(scores) - limit])
    return np.inf


def _contains_any(targets: Int64Array, numbers: Int64Array) -> bool:
    """Return whether `numbers`, which ascend, contain one of a few targets."""
    if not len(numbers):
        return False
    # A target above all numbers would get the position behind the last one.
    positions = np.minimum(numbers.searchsorted(targets), len(numbers) - 1)
    return bool((numbers[positions] == targets).any())
