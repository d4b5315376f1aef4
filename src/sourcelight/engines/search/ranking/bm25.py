"""BM25F over the chunks of a collection, in one pass over the entries of each term, and BM25 over whole files.

A chunk has three fields: its text, the names that it defines, and the path of its file. With the fields of `Weights`,
the frequency of a term in a chunk is

    count / (1 - b + b · length / mean length) + definition · definitions + path · weight in the path

and its score is idf · (k1 + 1) · frequency / (k1 + frequency): frequencies are added before they are saturated
(Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, 2004).

The score of a path is the same for all chunks of a file, so it is added up by file and given to its chunks at the end.
Chunks with the term in both fields get the difference before.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.buffers import ScratchBuffer
from sourcelight.engines.search.ranking.collection import ChunkCollection, TermChunks

_NO_NUMBERS = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of BM25F.

    Attributes
    ----------
    k1
        Frequency with half of the maximum score.
    b
        Influence of length: 0 for none, 1 for counts divided by the relative length.
    definition, path
        Weights of the fields with names of definitions and with the path; the text has 1.
    """

    k1: float = 1.2
    b: float = 0.5
    definition: float = 3.0
    path: float = 2.0


class TermPosting(NamedTuple):
    """Postings of one term of a question.

    Attributes
    ----------
    factor
        Weight of the term in the question times its inverse frequency and k1 + 1.
    chunks
        Chunks, ascending, that have the term in their text or as the name of a definition.
    counts
        Occurrences in each of these chunks.
    files
        Files, ascending, that have the term in their path.
    definition_chunks
        Chunks, ascending, with the head of a definition whose name has the term (it counts 2), and a few others.
    """

    factor: float
    chunks: Int64Array
    counts: UInt8Array
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
        scored_up_to = self._up_to.take(self.collection.first_chunks[1:] - 1)
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
        sizes = collection.chunk_counts.take(files)
        starts = sizes.cumsum() - sizes
        best_scores = []
        for _ in range(2 if len(files) else 0):
            best = np.maximum.reduceat(scores, starts)
            # Of each file, the first chunk with the best score is taken out.
            best_chunk = (scores == best.repeat(sizes)).nonzero()[0]
            owner = np.searchsorted(starts, best_chunk, side="right")
            scores[best_chunk[run_starts(owner)]] = 0.0
            best_scores.append(np.maximum.reduceat(scores, starts))

        return (best_scores[0], best_scores[1]) if best_scores else (scores, scores)

    def file_scores(self, files: Int64Array) -> Float64Array:
        """Score some files, ascending, as if each were one text: BM25 with the counts of all their chunks."""
        collection, k1 = self.collection, self.weights.k1
        scores: Float64Array = np.zeros(len(files))
        first_chunks = collection.first_chunks.take(files)
        end_chunks = first_chunks + collection.chunk_counts.take(files)

        # Norms of whole files, not of chunks: their mean length is another one.
        norms = collection.norms(self.weights.b).files.take(files)
        for posting in self.postings.values():
            # Entries of a term ascend by chunk, and chunks of a file are adjacent: its entries are one run.
            first_entries = posting.chunks.searchsorted(first_chunks)
            entry_counts = posting.chunks.searchsorted(end_chunks) - first_entries
            with_term = entry_counts.nonzero()[0]
            if len(with_term):
                term_counts = _sum_runs(posting.counts, first_entries.take(with_term), entry_counts.take(with_term))
                frequency = term_counts / norms.take(with_term)
                scores[with_term] += posting.factor * frequency / (k1 + frequency)

        return scores


def count_chunks_with(
    collection: ChunkCollection, terms: Iterable[str], weights: Weights, cancellation: Cancellation
) -> dict[str, int]:
    """Count the chunks that have each term, in their text or path; raises `Cancelled`."""
    chunk_counts = {}
    for term in terms:
        cancellation.check()
        entries = collection.read_entries(term)
        chunks = _NO_NUMBERS if entries is None else entries.chunks
        chunk_counts[term] = len(chunks)

        paths = collection.files_with(term) if weights.path else None
        if paths is not None:
            files, _ = paths
            path_chunks = chunks_of(collection, files)
            positions = chunks.searchsorted(path_chunks)
            # A chunk with the term in text and path counts once: BM25's document frequency is the number of chunks.
            in_both = np.count_nonzero(chunks.take(positions, mode="clip") == path_chunks) if len(chunks) else 0
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


class _TextEntries(NamedTuple):
    """The chunks with a term in their text or definitions, and how often it occurs in each: views into the buffer.

    `defining` has the indices of all entries of chunks with a definition whose name has the term, and `half_weights`
    the weight of each, in halves, as tables store them.
    """

    chunks: Int64Array
    counts: UInt8Array
    defining: Int64Array
    half_weights: UInt8Array

    @property
    def chunks_with_definition(self) -> Int64Array:
        """Chunks whose weight is that of a definition, or of more than one mention of it."""
        return self.chunks.take(self.defining[self.half_weights > 1])


class _PathEntries(NamedTuple):
    """The files with a term in their path, and what each path adds to the frequency of the term in its chunks.

    `chunk_count` chunks have the term in text or path. Those with both are the entries `in_both` of the term, and
    `file_indices` tells the file of each.
    """

    files: Int64Array
    frequencies: Float64Array
    chunk_count: int
    in_both: Int64Array
    file_indices: Int64Array


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
        self._chunk_norms = collection.norms(weights.b).chunks
        self._chunks_of_all = collection.total_size.chunks
        self._file_scores = np.zeros(collection.files)
        self._idf: dict[str, float] = {}
        self._postings: dict[str, TermPosting] = {}

    def add(self, term: str, weight: float, entry: TermChunks, *, is_related: bool = False) -> None:
        """Add the score of a term to all chunks that have it in their text, and to all files with it in the path.

        A related term counts in texts alone: its look-ups in paths would cost more than they add.
        """
        file_weights = self._collection.files_with(term) if self._weights.path and not is_related else None
        if not entry.size and file_weights is None:
            return

        texts = self._read_texts(entry)
        paths = None if file_weights is None else self._read_paths(texts.chunks, *file_weights)
        chunk_count = len(texts.chunks) if paths is None else paths.chunk_count
        if self._global_counts is not None:
            chunk_count = self._global_counts[term]
        idf = idf_of(self._chunks_of_all, chunk_count)
        factor = weight * idf * (self._weights.k1 + 1.0)
        self._add_scores(factor, texts, paths)

        if not is_related:
            files = _NO_NUMBERS if paths is None else paths.files
            self._idf[term] = idf
            self._postings[term] = TermPosting(factor, texts.chunks, texts.counts, files, texts.chunks_with_definition)

    def _read_texts(self, entry: TermChunks) -> _TextEntries:
        """Read the entries of a term into the buffer, where they remain until it is cleared."""
        chunks, counts, definitions = self._buffer.entries(entry.size)
        entry.write(chunks, counts, definitions)
        defining = (definitions > 0).nonzero()[0]
        return _TextEntries(chunks, counts, defining, definitions.take(defining))

    def _read_paths(self, chunks: Int64Array, files: Int64Array, weights: Float64Array) -> _PathEntries:
        """Compare the files with a term in their path with the chunks that have it in their text."""
        collection, in_path = self._collection, self._buffer.marks
        # Looked up by chunk, since to find the file of each entry costs as much as all the rest.
        path_chunks = chunks_of(collection, files)
        in_path[path_chunks] = True
        in_both = in_path.take(chunks).nonzero()[0]

        # All terms and questions share the marks; clearing only the set marks is cheap.
        in_path[path_chunks] = False
        file_indices = files.searchsorted(collection.file_of.take(chunks.take(in_both)))
        chunk_count = len(chunks) + len(path_chunks) - len(in_both)
        return _PathEntries(files, self._weights.path * weights, chunk_count, in_both, file_indices)

    def _add_scores(self, factor: float, texts: _TextEntries, paths: _PathEntries | None) -> None:
        """Add the scores of a term to chunks, and those of its paths to files."""
        k1 = self._weights.k1
        # The next term overwrites both arrays.
        frequency, denominator = self._buffer.floats(len(texts.chunks))
        self._write_frequency(texts, frequency)
        if paths is not None:
            frequency[paths.in_both] += paths.frequencies.take(paths.file_indices)

        np.add(frequency, k1, out=denominator)
        scores = np.divide(frequency, denominator, out=frequency)
        if paths is not None:
            # `scores` adds the score of a path to all chunks of a file, so chunks with both get only the rest here.
            path_scores = paths.frequencies / (k1 + paths.frequencies)
            self._file_scores[paths.files] += factor * path_scores
            scores[paths.in_both] -= path_scores.take(paths.file_indices)

        scores *= factor
        np.add.at(self._buffer.scores, texts.chunks, scores)

    def _write_frequency(self, texts: _TextEntries, frequency: Float64Array) -> None:
        """Write the frequency of a term in the texts and definitions of chunks."""
        # numpy buffers `out` in the mode "raise"; every number is in range.
        self._chunk_norms.take(texts.chunks, out=frequency, mode="clip")
        np.divide(texts.counts, frequency, out=frequency)
        frequency[texts.defining] += (self._weights.definition / 2.0) * texts.half_weights

    def scores(self, terms: Iterable[str]) -> WordScores:
        """Return the scores of all terms that were added, with the inverse frequencies of `terms`."""
        collection, chunks = self._collection, self._buffer.scores
        files = (self._file_scores > 0.0).nonzero()[0]
        if len(files):
            path_scores = self._file_scores.take(files).repeat(collection.chunk_counts.take(files))
            chunks[chunks_of(collection, files)] += path_scores

        idf = self._idf
        if self._global_counts is not None:
            counts = {term: self._global_counts[term] for term in terms}
            idf = {term: idf_of(self._chunks_of_all, count) for term, count in counts.items() if count}

        return WordScores(collection=collection, weights=self._weights, chunks=chunks, idf=idf, postings=self._postings)


def chunks_of(collection: ChunkCollection, files: Int64Array) -> Int64Array:
    """Return the chunks of some files, file by file."""
    counts: Int64Array = collection.chunk_counts.take(files)
    first_chunks = (collection.first_chunks.take(files) - counts.cumsum() + counts).astype(np.int64)
    chunks: Int64Array = np.arange(int(counts.sum()), dtype=np.int64) + first_chunks.repeat(counts)
    return chunks


def _sum_runs(values: UInt8Array, starts: Int64Array, sizes: Int64Array) -> Float64Array:
    """Return the sum of each of some runs of values, by their starts and sizes; no run is empty."""
    # The runs one after another, without the values between them.
    new_starts = sizes.cumsum() - sizes
    indices = np.arange(int(sizes.sum())) + (starts - new_starts).repeat(sizes)
    sums: Float64Array = np.add.reduceat(values.take(indices), new_starts, dtype=np.float64)
    return sums


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
