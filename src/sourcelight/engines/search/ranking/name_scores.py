"""Scores of files by names: of the files themselves, and of the definitions in them."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, idf_of
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import parts_of, stem

if TYPE_CHECKING:
    from sourcelight.engines.symbols import SymbolTable


def _masses(collection: ChunkCollection, words: WordScores, question: RankQuery) -> Mapping[str, float]:
    """Return the weight of each plain term of a question times its inverse frequency."""
    absent = idf_of(collection.of_all[0], 0)
    return {term: weight * words.idf.get(term, absent) for term, weight in question.terms.items() if term[0] != "="}


def name_scores(collection: ChunkCollection, words: WordScores, question: RankQuery) -> Float64Array:
    """Score files by their names: share of a name's stems in the question, times the share of its weight they cover."""
    scores: Float64Array = np.zeros(collection.files)
    mass = _masses(collection, words, question)
    total = sum(mass.values())
    if not total:
        return scores
    for target, number_of in enumerate(collection.file_numbers):
        paths = collection.words[target]
        covered, matched = np.zeros(len(number_of)), np.zeros(len(number_of))
        seen: set[str] = set()
        for term, value in mass.items():
            like = paths.names_like(term)
            files = [paths.name_terms[name] for name in like]
            for name, bearing in zip(like, files, strict=True):
                if name not in seen:
                    seen.add(name)
                    matched[bearing] += 1.0
            if files:
                covered[np.unique(np.concatenate(files)) if len(files) > 1 else files[0]] += value
        candidates = ((matched > 0.0) & (number_of >= 0)).nonzero()[0]
        share = matched[candidates] / paths.name_sizes[candidates]
        values = share * (covered[candidates] / total)
        is_high = values >= MIN_NAME_SCORE
        scores[number_of[candidates[is_high]]] = values[is_high]
    return scores


MIN_NAME_SCORE = 0.35
"""Score of a name below which it says nothing; keeps the files that have to be looked at few."""


def definition_name_scores(
    collection: ChunkCollection, words: WordScores, question: RankQuery, top: float, exchange: StatsExchange
) -> Float64Array:
    """Score files by the names of their definitions as `name_scores` does by their own: in any order and form of words.

    `top` is the best score of a chunk of all. Where many definitions may bear the words, their names say nothing.
    """
    scores: Float64Array = np.zeros(collection.files)
    masses = _masses(collection, words, question)
    total = sum(masses.values())
    chunks = _chunks_of_definitions(words, masses, MIN_DEFINITION_SCORE * total)
    chunks = chunks[words.chunks.take(chunks) >= _NEAR_TOP * top]
    (count,) = exchange.add([len(chunks)])
    if count > MAX_NAMING_CHUNKS:
        return scores
    for chunk in chunks.tolist():
        value = max((_share(name, masses) for name in _names_in(collection, chunk)), default=0.0) / total
        if value >= MIN_DEFINITION_SCORE:
            file = collection.file_of[chunk]
            scores[file] = max(scores[file], value)
    return scores


def _chunks_of_definitions(words: WordScores, masses: Mapping[str, float], min_score: float) -> Int64Array:
    """Return the chunks with heads of definitions whose names have terms of so much weight, ascending."""
    postings = [
        (words.postings[term].definition_chunks, mass) for term, mass in masses.items() if term in words.postings
    ]
    if not postings:
        return np.zeros(0, dtype=np.int64)
    numbers = np.concatenate([definition_numbers for definition_numbers, _ in postings])
    weights = np.repeat([mass for _, mass in postings], [len(definition_numbers) for definition_numbers, _ in postings])
    chunks, position = np.unique(numbers, return_inverse=True)
    return chunks[np.bincount(position, weights=weights, minlength=len(chunks)) >= min_score]


def _share(name: bytes, masses: Mapping[str, float]) -> float:
    """Return the share of a name's words that are in a question, times the weight of these."""
    stems = _stems(name)
    covered = {term: masses[term] for term in stems if term in masses}
    return sum(term in masses for term in stems) / len(stems) * sum(covered.values()) if covered else 0.0


@functools.lru_cache(maxsize=1 << 14)
def _stems(name: bytes) -> tuple[str, ...]:
    # Half of the time of a short question went into this, and a repository has the same names for each of them.
    return tuple(stem(part) for part in parts_of(name.decode("utf-8", "replace")) if len(part) > 1)


def _names_in(collection: ChunkCollection, chunk: int) -> list[bytes]:
    """Return the names of the definitions that begin in a chunk."""
    number = collection.block_of_chunk(chunk)
    block = collection.blocks[number]
    symbols = collection.symbols_of(number)
    if symbols is None:
        return []
    within = chunk - collection.chunk_base[number]
    row = within if block.source is None else int(block.source[within])
    rows = definitions_in(symbols, int(block.table.chunk_doc[row]), *block.lines_of(row))
    return symbols.texts(symbols.name[rows])


def definitions_in(symbols: SymbolTable, document: int, start_line: int, end: int) -> Int64Array:
    """Return the rows of the definitions of a document that begin in some lines, the last one included."""
    start, end_row = (int(index) for index in symbols.doc_first[document : document + 2])
    lines = symbols.line[start:end_row]
    rows: Int64Array = start + ((lines >= start_line) & (lines <= end)).nonzero()[0]
    return rows


MIN_DEFINITION_SCORE = 0.7
"""Score of a definition's name below which it says nothing: nearly all of its words, and of the question's."""

MAX_NAMING_CHUNKS = 200
_NEAR_TOP = 0.4
"""Share of the best chunk's score from which definitions are looked at: their names count threefold in it."""
