"""Score files by their own names, and by the names of their definitions."""

from __future__ import annotations

import functools
from collections.abc import Mapping

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, idf_of
from sourcelight.engines.search.ranking.chunk_definitions import definition_names
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.model import StatsExchange
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.terms.tokenizer import is_joined_form, parts_of, stem

MIN_NAME_SCORE = 0.35
"""Minimum score of a name; lower ones are dropped, which keeps the number of files to score small."""

_NO_CHUNKS = np.zeros(0, dtype=np.int64)

MIN_DEFINITION_SCORE = 0.7
"""Minimum score of a definition's name: it must share nearly all of its words, and of the question's weight."""

MAX_NAMING_CHUNKS = 200
"""Maximum chunks whose definitions are compared. With more of them, the question's words are common in names."""

_MIN_TOP_SHARE = 0.4
"""Share of the best chunk's score from which definitions are compared. Their names count threefold in the score."""


def name_scores(collection: ChunkCollection, words: WordScores, question: RankQuery) -> Float64Array:
    """Score files by name: the share of a name's stems in the question, times the share of its weight they cover."""
    scores: Float64Array = np.zeros(collection.files)
    weights = _term_weights(collection, words, question)
    total = sum(weights.values())
    if not total:
        return scores

    # Files are numbered through the views of all targets, so each step handles them together: with many repositories, a
    # step for each of them would take most of the time.
    term_files: list[Int64Array] = []
    by_term: dict[str, list[Int64Array]] = {term: [] for term in weights}
    for start, paths in zip(collection.view_starts, collection.words, strict=False):
        seen: set[str] = set()
        for term, files_of_term in by_term.items():
            for name_term in paths.names_like(term):
                files = paths.name_terms[name_term] + np.int64(start)
                files_of_term.append(files)
                # Two terms of the question may be like one term of a name, which counts once in the name's share.
                if name_term not in seen:
                    seen.add(name_term)
                    term_files.append(files)

    if not term_files:
        return scores

    counts = np.bincount(np.concatenate(term_files), minlength=collection.view_starts[-1])
    coverage: Float64Array = np.zeros(len(counts))
    for term, files_of_term in by_term.items():
        if files_of_term:
            # Once per file, however many terms of its name are like the term: an assignment by index adds only once.
            coverage[np.concatenate(files_of_term)] += weights[term]

    candidates = counts.nonzero()[0]
    numbers = collection.view_numbers.take(candidates)
    values = counts.take(candidates) / collection.name_sizes.take(candidates) * (coverage.take(candidates) / total)
    # A number of -1 marks files that the collection leaves out.
    best = ((values >= MIN_NAME_SCORE) & (numbers >= 0)).nonzero()[0]
    scores[numbers.take(best)] = values.take(best)
    return scores


def _term_weights(collection: ChunkCollection, words: WordScores, question: RankQuery) -> Mapping[str, float]:
    """Return the weight of each plain term of a question times its inverse frequency."""
    absent = idf_of(collection.total_size.chunks, 0)
    weights: dict[str, float] = {}
    for term, weight in question.terms.items():
        # The words of a joined form are terms of their own already.
        if not is_joined_form(term):
            weights[term] = weight * words.idf.get(term, absent)
    return weights


def definition_name_scores(
    collection: ChunkCollection, words: WordScores, question: RankQuery, top: float, exchange: StatsExchange
) -> Float64Array:
    """Score files by the names of their definitions as `name_scores` does by their own, in any order and form of words.

    `top` is the best score of a chunk in all parts. If many definitions may have the words in their names, no file gets
    a score: such names don't distinguish files.
    """
    scores: Float64Array = np.zeros(collection.files)
    weights = _term_weights(collection, words, question)
    total = sum(weights.values())
    chunks = _chunks_of_definitions(words, weights, MIN_DEFINITION_SCORE * total, _MIN_TOP_SHARE * top)

    # Parts compare the number of all parts, or names would count in some of them and not in others.
    (count,) = exchange.add([len(chunks)])
    if count > MAX_NAMING_CHUNKS:
        return scores

    # Names repeat over files, such as `main`, so each is scored once.
    shares: dict[bytes, float] = {}
    files = collection.file_of.take(chunks).tolist()
    for file, names in zip(files, definition_names(collection, chunks), strict=True):
        for name in names:
            value = shares.get(name)
            if value is None:
                value = shares[name] = _share(name, weights) / total
            if value >= MIN_DEFINITION_SCORE and value > scores[file]:
                scores[file] = value

    return scores


def _chunks_of_definitions(
    words: WordScores, weights: Mapping[str, float], min_weight: float, min_score: float
) -> Int64Array:
    """Return the chunks, ascending, with heads of definitions whose names have terms of so much weight.

    Chunks with a score below `min_score` are left out.
    """
    # An upper bound: a chunk's terms may belong to several names, which `_share` then separates.
    numbers, chunk_weights = [_NO_CHUNKS], [np.zeros(0)]
    for term, weight in weights.items():
        posting = words.postings.get(term)
        if posting is not None:
            chunks = posting.definition_chunks
            # Few chunks score so high, so they are chosen before their numbers are sorted.
            chunks = chunks[words.chunks.take(chunks) >= min_score]
            numbers.append(chunks)
            chunk_weights.append(np.full(len(chunks), weight))

    chunks, position = np.unique(np.concatenate(numbers), return_inverse=True)
    return chunks[np.bincount(position, weights=np.concatenate(chunk_weights), minlength=len(chunks)) >= min_weight]


def _share(name: bytes, weights: Mapping[str, float]) -> float:
    """Return the share of a name's words that are in a question, times the weight of these; 0 for too small a share."""
    stems = _stems(name)
    # So many words of the name may be missing in the question before the share of words alone is too small.
    unknown = len(stems) * (1.0 - MIN_DEFINITION_SCORE)
    covered: dict[str, float] = {}
    for term in stems:
        weight = weights.get(term)
        if weight is not None:
            covered[term] = weight
            continue
        unknown -= 1.0
        # Most of the hundreds of names end here, at their first or second word.
        if unknown < 0.0:
            return 0.0

    if covered:
        return sum(term in covered for term in stems) / len(stems) * sum(covered.values())
    return 0.0


@functools.lru_cache(maxsize=1 << 14)
def _stems(name: bytes) -> tuple[str, ...]:
    # Without the cache, a short question spent half of its time here. Names are the same for each question.
    return tuple(stem(part) for part in parts_of(name.decode("utf-8", "replace")) if len(part) > 1)
