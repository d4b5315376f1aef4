"""BM25F over the chunks of a space, and BM25 over its files, in one pass over the entries of each term.

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

from sourcelight.core.batches import Cancellation
from sourcelight.engines.search.ranking.space import Numbers, Space

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of BM25F."""

    k1: float = 1.2
    b: float = 0.5
    definition: float = 3.0
    path: float = 2.0


@dataclass(frozen=True)
class WordScores:
    """Scores of chunks and of files.

    Attributes
    ----------
    space
        What they are the chunks and files of.
    chunks, files
        A score for each.
    idf
        Of each term that occurs.
    holders
        The chunks, ascending, whose text has a term, and the files, ascending, in whose path it counts.
    """

    space: Space
    chunks: Floats
    files: Floats
    idf: Mapping[str, float]
    holders: Mapping[str, tuple[Numbers, Numbers]]

    @cached_property
    def matched(self) -> int:
        """How many chunks have a score."""
        return int(np.count_nonzero(self.chunks > 0.0))

    @cached_property
    def held(self) -> Numbers:
        """The chunks with a score, ascending."""
        return (self.chunks > 0.0).nonzero()[0]

    @cached_property
    def file(self) -> Numbers:
        """The file of each chunk with a score."""
        return self.space.file_of.take(self.held)

    @cached_property
    def tops(self) -> Floats:
        """The best score of the chunks of each file."""
        if self.matched * 5 > len(self.chunks) > 0:
            whole: Floats = np.maximum.reduceat(self.chunks, self.space.first)
            return whole
        found: Floats = np.zeros(len(self.files))
        if self.matched:
            first = starts(self.file)
            found[self.file.take(first)] = np.maximum.reduceat(self.chunks.take(self.held), first)
        return found

    def held_of(self, files: Numbers) -> tuple[Numbers, Numbers]:
        """Give the chunks with a score of some files, ascending as these are, and the file of each of them."""
        numbers = chunks_of(self.space, files)
        numbers = numbers[self.chunks.take(numbers) > 0.0]
        return numbers, self.space.file_of.take(numbers)


@dataclass(frozen=True, slots=True)
class Held:
    """How many chunks have a term, in their text or path, and how many files in their text."""

    chunks: int = 0
    files: int = 0


def held_by(space: Space, terms: Iterable[str], weights: Weights, cancellation: Cancellation) -> dict[str, Held]:
    """Count who has each term; raises `Cancelled`."""
    found = {}
    for term in terms:
        cancellation.check()
        entries = space.entries(term)
        path = space.path_weights(term) if weights.path else None
        numbers = _NONE if entries is None else entries[0]
        file = space.file_of.take(numbers)
        held = len(numbers)
        if path is not None:
            held += int(space.counts.take((path > 0.0).nonzero()[0]).sum()) - int(np.count_nonzero(path.take(file)))
        files = 0
        if entries is not None and len(numbers):
            files = int(np.count_nonzero(np.add.reduceat(entries[1], starts(file)) > 0.0))
        found[term] = Held(held, files)
    return found


def score(
    space: Space,
    terms: Mapping[str, float],
    weights: Weights,
    cancellation: Cancellation,
    known: Mapping[str, Held] | None = None,
) -> WordScores:
    """Score all chunks and files for weighted terms; raises `Cancelled`.

    `known` says of a part of all chunks who has each term among all of them.
    """
    chunks, files, by_path = np.zeros(space.chunks), np.zeros(space.files), np.zeros(space.files)
    norm, file_norm = space.norms(weights.b)
    gain, k1, of_all = weights.k1 + 1.0, weights.k1, space.of_all
    idf: dict[str, float] = {}
    holders: dict[str, tuple[Numbers, Numbers]] = {}
    room = _Room()
    for term, weight in terms.items():
        cancellation.check()
        entries = space.entries(term)
        path = space.path_weights(term) if weights.path else None
        if entries is None and path is None:
            continue
        numbers, often, defined = _NO_ENTRIES if entries is None else entries
        file, times, further = room.of(len(numbers))
        space.file_of.take(numbers, out=file, mode="clip")
        norm.take(numbers, out=times, mode="clip")
        np.divide(often, times, out=times)
        some = (defined > 0).nonzero()[0]
        times[some] += (weights.definition / 2.0) * defined[some]
        held, of_files = len(numbers), _NONE
        alone: Floats | None = None
        if path is not None:
            of_files = (path > 0.0).nonzero()[0]
            here = path.take(file, out=further, mode="clip")
            held += int(space.counts.take(of_files).sum()) - int(np.count_nonzero(here))
            here *= weights.path
            times += here
            given = weights.path * path.take(of_files)
            alone = given / (k1 + given)
            path[of_files] = alone
        if not held:
            continue
        holders[term] = numbers, of_files
        of_term = Held(held) if known is None else known[term]
        inverse = idf[term] = idf_of(of_all[0], of_term.chunks)
        np.add(times, k1, out=further)
        gained = np.divide(times, further, out=times)
        if path is not None and alone is not None:
            # What a path gives is added below for all chunks of a file at once; here, what the text adds to it.
            np.add.at(by_path, of_files, weight * inverse * gain * alone)
            gained -= path.take(file, out=further, mode="clip")
        gained *= weight * inverse * gain
        np.add.at(chunks, numbers, gained)
        if len(numbers):
            first = starts(file)
            sums, places = np.add.reduceat(often, first), file.take(first)
            inverse_file = idf_of(of_all[1], of_term.files if known else int(np.count_nonzero(sums > 0.0)))
            sums /= file_norm.take(places)
            np.add.at(files, places, weight * inverse_file * gain * sums / (k1 + sums))
    _add_to_files(chunks, by_path, space)
    elsewhere = {} if known is None else {t: idf_of(of_all[0], each.chunks) for t, each in known.items() if each.chunks}
    return WordScores(space, chunks, files, elsewhere or idf, holders)


class _Room:
    """Arrays that the terms use one after another: to get fresh memory for each costs more than to reckon in it."""

    def __init__(self) -> None:
        self._file: Numbers = np.zeros(0, dtype=np.int64)
        self._floats: tuple[Floats, Floats] = np.zeros(0), np.zeros(0)

    def of(self, size: int) -> tuple[Numbers, Floats, Floats]:
        """Give room for as many files, and twice for as many numbers."""
        if size > len(self._file):
            self._file, self._floats = np.empty(size, dtype=np.int64), (np.empty(size), np.empty(size))
        return self._file[:size], self._floats[0][:size], self._floats[1][:size]


def _add_to_files(chunks: Floats, by_path: Floats, space: Space) -> None:
    """Add to each chunk what its file has; only chunks of files that have something are touched."""
    files = (by_path > 0.0).nonzero()[0]
    if not len(files):
        return
    np.add.at(chunks, chunks_of(space, files), by_path.take(files).repeat(space.counts.take(files)))


def chunks_of(space: Space, files: Numbers) -> Numbers:
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
_NO_ENTRIES = _NONE, np.zeros(0), np.zeros(0, dtype=np.uint8)
