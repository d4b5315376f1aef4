"""BM25F over the chunks of a collection, in one pass over the entries of each term, and BM25 over whole files.

Term frequency is body / (1 - b + b · length / mean) + WD · definitions + WP · path, saturated once
(Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.buffers import ScratchBuffer
from sourcelight.engines.search.ranking.collection import ChunkCollection, CollectionScores

_NONE = np.zeros(0, dtype=np.int64)
_NO_PATHS = _NONE, np.zeros(0)


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of BM25F."""

    k1: float = 1.2
    b: float = 0.5
    definition: float = 3.0
    path: float = 2.0


@dataclass(frozen=True, slots=True)
class TermPosting:
    """Postings of one term of a question.

    Attributes
    ----------
    factor
        Weight of the term in the question times its inverse frequency and k1 + 1.
    numbers
        Chunks, ascending, that have the term in their text or as the name of a definition.
    often
        Occurrences in each of these chunks.
    files
        Files, ascending, that have the term in their path.
    definition_chunks
        Chunks, ascending, with the head of a definition whose name has the term (it counts 2), and a few others.
    """

    factor: float
    numbers: Int64Array
    often: UInt8Array
    files: Int64Array
    definition_chunks: Int64Array


@dataclass(frozen=True)
class WordScores:
    """Scores of chunks.

    Attributes
    ----------
    collection
        Collection of the chunks.
    weights
        Weights of BM25F that were used.
    chunks
        Score of each chunk.
    idf
        Inverse frequency of each term that occurs.
    postings
        Posting of each term that occurs.
    """

    collection: ChunkCollection
    weights: Weights
    chunks: Float64Array
    idf: Mapping[str, float]
    postings: Mapping[str, TermPosting]

    @cached_property
    def matched(self) -> int:
        """Number of chunks with a score."""
        return int(self._up_to[-1]) if len(self._up_to) else 0

    @cached_property
    def reached(self) -> BoolArray:
        """Whether each file has a chunk with a score."""
        if not len(self._up_to):
            return np.zeros(0, dtype=np.bool_)
        # A prefix sum gives the count of each file by two look-ups, without a loop over files.
        scored_up_to = self._up_to.take(self.collection.first[1:] - 1)
        is_reached: BoolArray = np.diff(scored_up_to, prepend=0, append=self.matched) > 0
        return is_reached

    @cached_property
    def _up_to(self) -> NDArray[np.int32]:
        """Number of chunks with a score up to each chunk, itself included."""
        return np.cumsum(self.chunks > 0.0, dtype=np.int32)

    @cached_property
    def chunk_numbers(self) -> Int64Array:
        """The chunks with a score, ascending."""
        return (self.chunks > 0.0).nonzero()[0]

    @cached_property
    def file(self) -> Int64Array:
        """The file of each chunk with a score."""
        return self.collection.file_of.take(self.chunk_numbers)

    def postings_in(self, files: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the chunks with a score of some files, ascending like these, and the file of each."""
        chunks = chunks_of(self.collection, files)
        chunks = chunks[self.chunks.take(chunks) > 0.0]
        return chunks, self.collection.file_of.take(chunks)

    def next_best(self, files: Int64Array) -> tuple[Float64Array, Float64Array]:
        """Return the second and the third best chunk score of some files, ascending; each file has a chunk."""
        collection = self.collection
        scores = self.chunks.take(chunks_of(collection, files))
        sizes = collection.counts.take(files)
        first = sizes.cumsum() - sizes
        best_scores = []
        for _ in range(2 if len(files) else 0):
            best = np.maximum.reduceat(scores, first)
            # Of each file, the first chunk with the best score is taken out.
            best_chunk = (scores == best.repeat(sizes)).nonzero()[0]
            owner = np.searchsorted(first, best_chunk, side="right")
            scores[best_chunk[run_starts(owner)]] = 0.0
            best_scores.append(np.maximum.reduceat(scores, first))

        return (best_scores[0], best_scores[1]) if best_scores else (scores, scores)

    def file_scores(self, files: Int64Array) -> Float64Array:
        """Score some files, ascending, as if each were one text: BM25 with the counts of all their chunks."""
        collection, k1 = self.collection, self.weights.k1
        scores: Float64Array = np.zeros(len(files))
        starts = collection.first.take(files)
        end = starts + collection.counts.take(files)

        # Norms of whole files, not of chunks: their mean length is another one.
        norm = collection.norms(self.weights.b)[1].take(files)
        for posting in self.postings.values():
            # Entries of a term ascend by chunk, and chunks of a file are adjacent: its entries are one run.
            first_entries = posting.numbers.searchsorted(starts)
            counts = posting.numbers.searchsorted(end) - first_entries
            with_term = counts.nonzero()[0]
            if not len(with_term):
                continue

            first_entries, counts = first_entries.take(with_term), counts.take(with_term)
            first = counts.cumsum() - counts
            counts_in_chunks = posting.often.take(np.arange(int(counts.sum())) + (first_entries - first).repeat(counts))
            frequency = np.add.reduceat(counts_in_chunks, first, dtype=np.float64) / norm.take(with_term)
            scores[with_term] += posting.factor * frequency / (k1 + frequency)

        return scores


def count_chunks_with(
    collection: ChunkCollection, terms: Iterable[str], weights: Weights, cancellation: Cancellation
) -> dict[str, int]:
    """Count the chunks that have each term, in their text or path; raises `Cancelled`."""
    chunk_counts = {}
    for term in terms:
        cancellation.check()
        entries = collection.entries(term)
        paths = collection.in_paths(term) if weights.path else None
        numbers = _NONE if entries is None else entries[0]
        chunk_counts[term] = len(numbers)

        if paths is not None:
            path_chunks = chunks_of(collection, paths[0])
            positions = numbers.searchsorted(path_chunks)
            # A chunk with the term in text and path counts once: BM25's document frequency is the number of chunks.
            in_both = np.count_nonzero(numbers.take(positions, mode="clip") == path_chunks) if len(numbers) else 0
            chunk_counts[term] += len(path_chunks) - int(in_both)

    return chunk_counts


def score(
    collection: ChunkCollection,
    terms: Mapping[str, float],
    weights: Weights,
    cancellation: Cancellation,
    buffer: ScratchBuffer | None = None,
    *,
    related: Mapping[str, float] = MappingProxyType({}),
    global_counts: Mapping[str, int] | None = None,
) -> WordScores:
    """Score all chunks for weighted terms; raises `Cancelled`.

    The result uses the arrays of `buffer` and is valid until that is used again; None: arrays of its own. `related` has
    more terms with their weights, which add to the scores of chunks that have them in their text, and are in nothing
    else of the result. For a collection that is a part of a larger one, `global_counts` has the chunks of the whole
    that have each term.
    """
    cancellation.check()
    entries = {term: collection.find(term) for term in (*terms, *related)}
    sizes = [entry.size for entry in entries.values()]
    buffer = buffer or ScratchBuffer(collection.chunks)

    # Only entries that the last question used are cleared, so a rare term doesn't pay for the whole collection.
    buffer.clear(sum(sizes), max(sizes, default=0))
    scorer = _TermScorer(collection, weights, buffer, global_counts)
    for term, weight in terms.items():
        cancellation.check()
        scorer.add(term, weight, entries[term])

    for term, weight in related.items():
        cancellation.check()
        scorer.add(term, weight, entries[term], is_related=True)

    return scorer.scores(terms)


class _TermScorer:
    """Adds the score of one term after another to the scores of chunks."""

    def __init__(
        self,
        collection: ChunkCollection,
        weights: Weights,
        buffer: ScratchBuffer,
        global_counts: Mapping[str, int] | None,
    ) -> None:
        self._collection = collection
        self._weights = weights
        self._buffer = buffer
        self._global_counts = global_counts
        self._norm = collection.norms(weights.b)[0]
        self._by_path = np.zeros(collection.files)
        self._idf: dict[str, float] = {}
        self._postings: dict[str, TermPosting] = {}

    def add(self, term: str, weight: float, entry: CollectionScores, *, is_related: bool = False) -> None:
        """Add the score of a term to all chunks that have it in their text, and to all files with it in the path.

        A related term counts in texts alone: its look-ups in paths would cost more than they add.
        """
        collection, weights, k1 = self._collection, self._weights, self._weights.k1
        paths = collection.in_paths(term) if weights.path and not is_related else None
        if not entry.size and paths is None:
            return

        # Views into the buffer: valid until the next term, which overwrites them, except for what a `TermPosting`
        # refers to.
        numbers, often, defined = self._buffer.entries(entry.size)
        entry.write(numbers, often, defined)
        frequency, denominator = self._buffer.floats(entry.size)

        # numpy buffers `out` in the mode "raise"; every number is in range.
        self._norm.take(numbers, out=frequency, mode="clip")
        np.divide(often, frequency, out=frequency)
        defining = (defined > 0).nonzero()[0]

        # Tables store weights of definitions in halves.
        frequency[defining] += (weights.definition / 2.0) * defined.take(defining)
        files, in_path_of = _NO_PATHS if paths is None else paths
        chunk_count, in_path_entries, path_index = len(numbers), _NONE, _NONE
        if len(files):
            chunk_count, in_path_entries, path_index = self._entries_in_paths(numbers, files)
            frequency[in_path_entries] += weights.path * in_path_of.take(path_index)

        if self._global_counts is not None:
            chunk_count = self._global_counts[term]

        inverse_frequency = idf_of(collection.of_all[0], chunk_count)
        factor = weight * inverse_frequency * (k1 + 1.0)
        if not is_related:
            self._idf[term] = inverse_frequency
            mostly_defining = numbers.take(defining[defined.take(defining) > 1])
            self._postings[term] = TermPosting(factor, numbers, often, files, mostly_defining)
        np.add(frequency, k1, out=denominator)
        gains = np.divide(frequency, denominator, out=frequency)
        if len(files):
            # The score of a path is added in `scores` for all chunks of a file at once; here, the score of the text.
            path_score = weights.path * in_path_of
            path_score /= k1 + path_score
            self._by_path[files] += factor * path_score
            gains[in_path_entries] -= path_score.take(path_index)

        gains *= factor
        np.add.at(self._buffer.scores, numbers, gains)

    def _entries_in_paths(self, numbers: Int64Array, files: Int64Array) -> tuple[int, Int64Array, Int64Array]:
        """Return the number of chunks with a term in text or path, the entries with it in both, and their files."""
        collection, in_path = self._collection, self._buffer.marks
        # Looked up by chunk, since to find the file of each entry costs as much as all the rest.
        path_chunks = chunks_of(collection, files)
        in_path[path_chunks] = True
        entries = in_path.take(numbers).nonzero()[0]

        # All terms and questions share the marks; clearing only the set marks is cheap.
        in_path[path_chunks] = False
        path_index = files.searchsorted(collection.file_of.take(numbers.take(entries)))
        return len(numbers) + len(path_chunks) - len(entries), entries, path_index

    def scores(self, terms: Iterable[str]) -> WordScores:
        """Return the scores of all terms that were added, with what is known of some `terms` of them."""
        collection, chunks = self._collection, self._buffer.scores
        files = (self._by_path > 0.0).nonzero()[0]
        if len(files):
            chunks[chunks_of(collection, files)] += self._by_path.take(files).repeat(collection.counts.take(files))

        idf = self._idf
        if self._global_counts is not None:
            counts = {term: self._global_counts[term] for term in terms}
            idf = {term: idf_of(collection.of_all[0], count) for term, count in counts.items() if count}

        return WordScores(collection=collection, weights=self._weights, chunks=chunks, idf=idf, postings=self._postings)


def chunks_of(collection: ChunkCollection, files: Int64Array) -> Int64Array:
    """Return the chunks of some files, file by file."""
    counts: Int64Array = collection.counts.take(files)
    first_chunks = (collection.first.take(files) - counts.cumsum() + counts).astype(np.int64)
    chunks: Int64Array = np.arange(int(counts.sum()), dtype=np.int64) + first_chunks.repeat(counts)
    return chunks


def idf_of(total: int, count: int) -> float:
    """Return the inverse frequency of a term that `count` of `total` chunks have."""
    # With 1 + in the logarithm, as in Lucene: a term that most chunks have still counts a little, never below 0.
    return math.log(1.0 + (total - count + 0.5) / (count + 0.5))


def run_starts(values: Int64Array) -> Int64Array:
    """Return the start of each run of equal values; there is at least one value."""
    is_start = np.empty(len(values), dtype=np.bool_)
    is_start[0] = True
    np.not_equal(values[1:], values[:-1], out=is_start[1:])
    return is_start.nonzero()[0]
