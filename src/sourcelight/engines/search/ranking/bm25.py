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
    """Scores of chunks and of files; `idf` of each term that occurs, and the chunks that hold it."""

    chunks: Floats
    files: Floats
    idf: Mapping[str, float]
    holders: Mapping[str, list[tuple[int, Numbers]]]


def score(space: Space, terms: Mapping[str, float], weights: Weights, cancellation: Cancellation) -> WordScores:
    """Score all chunks and files for weighted terms; raises `Cancelled`."""
    chunks, files = np.zeros(space.chunks), np.zeros(space.files)
    mean_file = space.mean_length * space.chunks / max(space.files, 1) or 1.0
    scratch = [np.zeros(piece.chunks) for piece in space.pieces]
    idf: dict[str, float] = {}
    holders: dict[str, list[tuple[int, Numbers]]] = {}
    for term, weight in terms.items():
        cancellation.check()
        found = [
            _of_piece(space, piece, term, weights, room) for piece, room in zip(space.pieces, scratch, strict=True)
        ]
        held = sum(len(numbers) for numbers, _, _ in found)
        if not held:
            continue
        inverse = idf[term] = _idf(space.chunks, held)
        by_file = [_by_file(p, numbers, body) for p, (numbers, body, _) in zip(space.pieces, found, strict=True)]
        inverse_file = _idf(space.files, sum(len(numbers) for numbers, _ in by_file))
        holders[term] = [(number, numbers) for number, (numbers, _, _) in enumerate(found) if len(numbers)]
        for number, (numbers, _, times) in enumerate(found):
            if not len(numbers):
                continue
            base = space.chunk_base[number]
            chunks[base : base + space.pieces[number].chunks][numbers] += (
                weight * inverse * (weights.k1 + 1.0) * times / (weights.k1 + times)
            )
            places, counts = by_file[number]
            base = space.file_base[number]
            norm = 1.0 - weights.b + weights.b * space.pieces[number].file_length[places] / mean_file
            counts = counts / norm
            files[base : base + len(space.pieces[number].files)][places] += (
                weight * inverse_file * (weights.k1 + 1.0) * counts / (weights.k1 + counts)
            )
    return WordScores(chunks, files, idf, holders)


def _idf(total: int, held: int) -> float:
    return math.log(1.0 + (total - held + 0.5) / (held + 0.5))


def _of_piece(
    space: Space, piece: Piece, term: str, weights: Weights, scratch: Floats
) -> tuple[Numbers, Floats, Floats]:
    """Give the chunks of a piece that have a term, ascending, how often, and the frequency of all fields."""
    entries = piece.table.entries(term)
    numbers, body, times = _NONE, _NO_FLOATS, _NO_FLOATS
    if entries is not None:
        held, often, defined = entries
        numbers, place = piece.numbers(held)
        if place is not None:
            often, defined = often[place], defined[place]
        body = often.astype(np.float64)
        norm = (1.0 - weights.b) + (weights.b / space.mean_length) * piece.length[numbers]
        times = body / norm + (weights.definition / 2.0) * defined
    files, path = space.words[piece.target].files(term)
    if len(files):
        places = np.searchsorted(piece.by_file, files)
        places = np.minimum(places, len(piece.files) - 1)
        here = piece.by_file[places] == files
        places, path = piece.by_file_place[places[here]], path[here]
        counts = piece.first[places + 1] - piece.first[places]
        total = int(counts.sum())
        if total:
            chunk = np.arange(total) + np.repeat(piece.first[places] - (np.cumsum(counts) - counts), counts)
            scratch[chunk] = np.repeat(path, counts) * weights.path
            times = times + scratch[numbers]
            scratch[numbers] = 0.0
            rest = np.sort(chunk[scratch[chunk] > 0.0])
            extra = scratch[rest]
            scratch[rest] = 0.0
            if len(rest):
                numbers = np.concatenate([numbers, rest])
                order = np.argsort(numbers, kind="stable")
                numbers = numbers[order]
                times = np.concatenate([times, extra])[order]
                body = np.concatenate([body, np.zeros(len(rest))])[order]
    return numbers, body, times


def _by_file(piece: Piece, numbers: Numbers, body: Floats) -> tuple[Numbers, Floats]:
    """Sum how often a term is in each file; the places of files, ascending, and the sums."""
    if not len(numbers):
        return _NONE, _NO_FLOATS
    file = piece.file_of[numbers]
    first = np.flatnonzero(np.append(True, file[1:] != file[:-1]))
    sums = np.add.reduceat(body, first)
    some = sums > 0.0
    return file[first][some], sums[some]


_NONE = np.zeros(0, dtype=np.int64)
_NO_FLOATS = np.zeros(0)
