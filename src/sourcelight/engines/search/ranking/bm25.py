"""BM25F over the chunks of a space, in one pass over the entries of each term; BM25 over files, for some of them.

Term frequency is body / (1 - b + b · length / mean) + WD · definitions + WP · path, saturated once
(Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import BoolArray, Float64Array, UInt8Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.buffers import ScratchBuffer
from sourcelight.engines.search.ranking.collection import ChunkCollection, Numbers

Floats = Float64Array


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of BM25F."""

    k1: float = 1.2
    b: float = 0.5
    definition: float = 3.0
    path: float = 2.0


@dataclass(frozen=True, slots=True)
class TermPosting:
    """Where one term of a question is.

    Attributes
    ----------
    factor
        What the term counts, by its weight in the question and by how rare it is.
    numbers
        The chunks, ascending, whose text has it, or where a definition bears it.
    often
        How often each has it.
    files
        The files, ascending, in whose path it counts.
    """

    factor: float
    numbers: Numbers
    often: UInt8Array
    files: Numbers


@dataclass(frozen=True)
class WordScores:
    """Scores of chunks.

    Attributes
    ----------
    space
        What they are the chunks of.
    weights
        What they were reckoned with.
    chunks
        A score for each.
    idf
        Of each term that occurs.
    postings
        Where each term is that occurs.
    """

    space: ChunkCollection
    weights: Weights
    chunks: Floats
    idf: Mapping[str, float]
    postings: Mapping[str, TermPosting]

    @cached_property
    def matched(self) -> int:
        """How many chunks have a score."""
        return int(self._up_to[-1]) if len(self._up_to) else 0

    @cached_property
    def reached(self) -> BoolArray:
        """Of each file, whether one of its chunks has a score."""
        if not len(self._up_to):
            return np.zeros(0, dtype=np.bool_)
        last = self._up_to.take(self.space.first[1:] - 1)
        found: BoolArray = np.diff(last, prepend=0, append=self.matched) > 0
        return found

    @cached_property
    def _up_to(self) -> NDArray[np.int32]:
        """How many chunks up to each one have a score."""
        return np.cumsum(self.chunks > 0.0, dtype=np.int32)

    @cached_property
    def held(self) -> Numbers:
        """The chunks with a score, ascending."""
        return (self.chunks > 0.0).nonzero()[0]

    @cached_property
    def file(self) -> Numbers:
        """The file of each chunk with a score."""
        return self.space.file_of.take(self.held)

    def held_of(self, files: Numbers) -> tuple[Numbers, Numbers]:
        """Give the chunks with a score of some files, ascending as these are, and the file of each of them."""
        numbers = chunks_of(self.space, files)
        numbers = numbers[self.chunks.take(numbers) > 0.0]
        return numbers, self.space.file_of.take(numbers)

    def next_best(self, files: Numbers) -> tuple[Floats, Floats]:
        """Give the second and the third best score of the chunks of some files, ascending; each has one."""
        space = self.space
        scores = self.chunks.take(chunks_of(space, files))
        sizes = space.counts.take(files)
        first = sizes.cumsum() - sizes
        found = []
        for _ in range(2 if len(files) else 0):
            tops = np.maximum.reduceat(scores, first)
            # Of each file, the first chunk with the best score is taken out.
            top = (scores == tops.repeat(sizes)).nonzero()[0]
            owner = np.searchsorted(first, top, side="right")
            scores[top[starts(owner)]] = 0.0
            found.append(np.maximum.reduceat(scores, first))
        return (found[0], found[1]) if found else (scores, scores)

    def whole(self, files: Numbers) -> Floats:
        """Score some files, ascending, as if each were one text: BM25 with the counts of all their chunks."""
        space, k1 = self.space, self.weights.k1
        found: Floats = np.zeros(len(files))
        begin = space.first.take(files)
        end = begin + space.counts.take(files)
        norm = space.norms(self.weights.b)[1].take(files)
        for posting in self.postings.values():
            low = posting.numbers.searchsorted(begin)
            counts = posting.numbers.searchsorted(end) - low
            some = counts.nonzero()[0]
            if not len(some):
                continue
            low, counts = low.take(some), counts.take(some)
            first = counts.cumsum() - counts
            often = posting.often.take(np.arange(int(counts.sum())) + (low - first).repeat(counts))
            times = np.add.reduceat(often, first, dtype=np.float64) / norm.take(some)
            found[some] += posting.factor * times / (k1 + times)
        return found


def held_by(
    space: ChunkCollection, terms: Iterable[str], weights: Weights, cancellation: Cancellation
) -> dict[str, int]:
    """Count the chunks that have each term, in their text or path; raises `Cancelled`."""
    found = {}
    for term in terms:
        cancellation.check()
        entries = space.entries(term)
        paths = space.in_paths(term) if weights.path else None
        numbers = _NONE if entries is None else entries[0]
        found[term] = len(numbers)
        if paths is not None:
            below = chunks_of(space, paths[0])
            at = numbers.searchsorted(below)
            both = np.count_nonzero(numbers.take(at, mode="clip") == below) if len(numbers) else 0
            found[term] += len(below) - int(both)
    return found


def score(
    space: ChunkCollection,
    terms: Mapping[str, float],
    weights: Weights,
    cancellation: Cancellation,
    room: ScratchBuffer | None = None,
    *,
    known: Mapping[str, int] | None = None,
) -> WordScores:
    """Score all chunks for weighted terms; raises `Cancelled`.

    What is given stands in `room`, and holds until that is used again; None: in memory of its own. `known` says of a
    part of all chunks how many of all of them have each term.
    """
    cancellation.check()
    entries = {term: space.find(term) for term in terms}
    sizes = [found.size for found in entries.values()]
    room = room or ScratchBuffer(space.chunks)
    room.clear(sum(sizes), max(sizes, default=0))
    chunks, in_path, by_path = room.scores, room.marks, np.zeros(space.files)
    norm = space.norms(weights.b)[0]
    gain, k1, of_all = weights.k1 + 1.0, weights.k1, space.of_all[0]
    idf: dict[str, float] = {}
    postings: dict[str, TermPosting] = {}
    for term, weight in terms.items():
        cancellation.check()
        paths = space.in_paths(term) if weights.path else None
        found = entries[term]
        if not found.size and paths is None:
            continue
        numbers, often, defined = room.entries(found.size)
        found.write(numbers, often, defined)
        times, further = room.floats(found.size)
        files, in_path_of = _NO_PATHS if paths is None else paths
        norm.take(numbers, out=times, mode="clip")
        np.divide(often, times, out=times)
        some = (defined > 0).nonzero()[0]
        times[some] += (weights.definition / 2.0) * defined.take(some)
        held, named, given = len(numbers), _NONE, _NONE
        if len(files):
            # Looked up by chunk, since to find the file of each entry costs as much as all the rest.
            below = chunks_of(space, files)
            in_path[below] = True
            named = in_path.take(numbers).nonzero()[0]
            in_path[below] = False
            given = files.searchsorted(space.file_of.take(numbers.take(named)))
            times[named] += weights.path * in_path_of.take(given)
            held += len(below) - len(named)
        inverse = idf[term] = idf_of(of_all, held if known is None else known[term])
        factor = weight * inverse * gain
        postings[term] = TermPosting(factor, numbers, often, files)
        np.add(times, k1, out=further)
        gained = np.divide(times, further, out=times)
        if len(files):
            # What a path gives is added below for all chunks of a file at once; here, what the text adds to it.
            alone = weights.path * in_path_of
            alone /= k1 + alone
            by_path[files] += factor * alone
            gained[named] -= alone.take(given)
        gained *= factor
        np.add.at(chunks, numbers, gained)
    files = (by_path > 0.0).nonzero()[0]
    if len(files):
        chunks[chunks_of(space, files)] += by_path.take(files).repeat(space.counts.take(files))
    if known is not None:
        idf = {term: idf_of(of_all, held) for term, held in known.items() if held}
    return WordScores(space, weights, chunks, idf, postings)


def chunks_of(space: ChunkCollection, files: Numbers) -> Numbers:
    """Give the chunks of some files, file by file."""
    counts: Numbers = space.counts.take(files)
    begins = (space.first.take(files) - counts.cumsum() + counts).astype(np.int64)
    numbers: Numbers = np.arange(int(counts.sum()), dtype=np.int64) + begins.repeat(counts)
    return numbers


def idf_of(total: int, held: int) -> float:
    """Inverse frequency of what `held` of `total` have."""
    return math.log(1.0 + (total - held + 0.5) / (held + 0.5))


def starts(values: Numbers) -> Numbers:
    """Give where each run of equal values begins; there is at least one value."""
    changed = np.empty(len(values), dtype=np.bool_)
    changed[0] = True
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed.nonzero()[0]


_NONE = np.zeros(0, dtype=np.int64)
_NO_PATHS = _NONE, np.zeros(0)
