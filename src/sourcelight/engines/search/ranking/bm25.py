"""BM25F over the chunks of a space, and BM25 over its files, in one pass over the entries of each term.

Term frequency is body / (1 - b + b · length / mean) + WD · definitions + WP · path, saturated once
(Robertson, Zaragoza, Taylor: Simple BM25 extension to multiple weighted fields, 2004).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches import Cancellation
from sourcelight.engines.search.ranking.space import Numbers, Piece, Space

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Weights:
    """The numbers of BM25F."""

    k1: float = 1.2
    b: float = 0.5
    definition: float = 3.0
    path: float = 2.0


@dataclass(frozen=True, slots=True)
class WordScores:
    """Scores of chunks and of files; `idf` of each term that occurs, and the chunks that hold it.

    `held` are the chunks with a score, ascending, and `file` the file of each of them.
    """

    chunks: Floats
    files: Floats
    held: Numbers
    file: Numbers
    idf: Mapping[str, float]
    holders: Mapping[str, list[tuple[int, Numbers]]]


def score(space: Space, terms: Mapping[str, float], weights: Weights, cancellation: Cancellation) -> WordScores:
    """Score all chunks and files for weighted terms; raises `Cancelled`."""
    chunks, files = np.zeros(space.chunks), np.zeros(space.files)
    mean_file = space.mean_length * space.chunks / max(space.files, 1) or 1.0
    norms = [piece.norm(weights.b, space.mean_length, mean_file) for piece in space.pieces]
    # Views of the parts of a piece, and room that is all zero between uses.
    parts = [
        (chunks[low:high], files[first:end])
        for low, high, first, end in zip(
            space.chunk_base, space.chunk_base[1:], space.file_base, space.file_base[1:], strict=False
        )
    ]
    scratch = np.zeros(max((piece.chunks for piece in space.pieces), default=0))
    idf: dict[str, float] = {}
    holders: dict[str, list[tuple[int, Numbers]]] = {}
    for term, weight in terms.items():
        cancellation.check()
        found = []
        for number, piece in enumerate(space.pieces):
            held = _of_piece(space, piece, term, weights, norms[number][0], scratch)
            if held is not None:
                found.append((number, *held, *_by_file(piece, held[0], held[1])))
        if not found:
            continue
        inverse = idf[term] = _idf(space.chunks, sum(len(held[1]) for held in found))
        inverse_file = _idf(space.files, sum(len(held[4]) for held in found))
        holders[term] = [(number, numbers) for number, numbers, *_ in found]
        for number, numbers, _, times, places, counts in found:
            of_chunks, of_files = parts[number]
            of_chunks[numbers] += weight * inverse * (weights.k1 + 1.0) * times / (weights.k1 + times)
            often = counts / norms[number][1][places]
            of_files[places] += weight * inverse_file * (weights.k1 + 1.0) * often / (weights.k1 + often)
    held_chunks = chunks.nonzero()[0]
    bounds = held_chunks.searchsorted(space.chunk_base)
    of_pieces = [
        space.file_base[at] + piece.file_of[held_chunks[bounds[at] : bounds[at + 1]] - space.chunk_base[at]]
        for at, piece in enumerate(space.pieces)
    ]
    return WordScores(chunks, files, held_chunks, np.concatenate(of_pieces) if of_pieces else _NONE, idf, holders)


def _idf(total: int, held: int) -> float:
    return math.log(1.0 + (total - held + 0.5) / (held + 0.5))


def _of_piece(
    space: Space, piece: Piece, term: str, weights: Weights, norm: Floats, scratch: Floats
) -> tuple[Numbers, Floats, Floats] | None:
    """Give the chunks of a piece that have a term, ascending, how often, and the frequency of all fields."""
    entries = piece.table.entries(term)
    words = space.words[piece.target]
    in_path = words.has(term)
    if entries is None and not in_path:
        return None
    numbers, body, times = _NONE, _NO_FLOATS, _NO_FLOATS
    if entries is not None:
        held, often, defined = entries
        numbers, place = piece.numbers(held)
        if place is not None:
            often, defined = often[place], defined[place]
        body = often.astype(np.float64)
        times = body / norm[numbers] + (weights.definition / 2.0) * defined
    if in_path:
        chunk, path = _in_paths(piece, *words.files(term))
        if len(chunk):
            scratch[chunk] = path * weights.path
            times = times + scratch[numbers]
            scratch[numbers] = 0.0
            extra = scratch[chunk]
            scratch[chunk] = 0.0
            some = extra.nonzero()[0]
            if len(some):
                numbers = np.concatenate([numbers, chunk[some]])
                order = numbers.argsort(kind="stable")
                numbers = numbers[order]
                times = np.concatenate([times, extra[some]])[order]
                body = np.concatenate([body, np.zeros(len(some))])[order]
    return (numbers, body, times) if len(numbers) else None


def _in_paths(piece: Piece, files: Numbers, weights: Floats) -> tuple[Numbers, Floats]:
    """Give all chunks of files, ascending, and the weight of each one's file."""
    places = piece.place_of_file[files]
    here = (places >= 0).nonzero()[0]
    here = here[places[here].argsort()]
    places = places[here]
    first = piece.first[places]
    counts = piece.first[places + 1] - first
    ends = counts.cumsum()
    total = int(ends[-1]) if len(ends) else 0
    return np.arange(total) + (first - (ends - counts)).repeat(counts), weights[here].repeat(counts)


def _by_file(piece: Piece, numbers: Numbers, body: Floats) -> tuple[Numbers, Floats]:
    """Sum how often a term is in each file; the places of files, ascending, and the sums."""
    file = piece.file_of[numbers]
    first = starts(file)
    sums = np.add.reduceat(body, first)
    places = file[first]
    some = (sums > 0.0).nonzero()[0]
    return (places, sums) if len(some) == len(sums) else (places[some], sums[some])


def starts(values: Numbers) -> Numbers:
    """Give where each run of equal values begins; there is at least one value."""
    changed = np.empty(len(values), dtype=np.bool_)
    changed[0] = True
    np.not_equal(values[1:], values[:-1], out=changed[1:])
    return changed.nonzero()[0]


_NONE = np.zeros(0, dtype=np.int64)
_NO_FLOATS = np.zeros(0)
