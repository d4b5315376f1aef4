"""Score files: sum lists of scores, each divided by its maximum, and weight the sum by the kind of file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from sourcelight.core.arrays import Float64Array, Int64Array
from sourcelight.engines.search.ranking.bm25 import WordScores, chunks_of, run_starts
from sourcelight.engines.search.ranking.chunk_block import ChunkBlock
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.list_weights import ListWeights
from sourcelight.engines.search.ranking.model import LOCAL_ONLY, StatsExchange
from sourcelight.engines.search.ranking.name_scores import definition_name_scores, name_scores
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.votes.comments import scores_of_comments
from sourcelight.engines.search.ranking.votes.commits import scores_of_changes, scores_of_commits
from sourcelight.engines.search.ranking.votes.tests import scores_of_tests
from sourcelight.engines.symbols import SymbolTable

CHUNK = 1.0
"""Weight of a chunk's own score, beside the score of its file. Both are divided by the best of all."""

MAX_DEFINING_FILES = 20
"""Maximum files that define a name of the question: a name with more definitions is too common to score them."""

BODILESS_SHARE = 0.25
"""Factor for a file that only declares a name, or defines it in one line: constants, fields, prototypes."""

NEAR_BEST = 0.5
"""Share of the best chunk's score, both with the factors of their kinds, from which a file's next two chunks and its
whole text are scored, too."""

_SCORE_FRACTIONS = 0.5, 0.25, 0.0
"""Shares of the best chunk's score from which files are scored, tried in this order until the best are certain."""

ROUNDING_FACTOR = 1.0 - 1e-9
"""Factor of a bound in comparisons, because sums are rounded."""


@dataclass(slots=True)
class FileLists:
    """Weighted lists of scores of the files of a collection, by name.

    Attributes
    ----------
    collection
        Collection of the files.
    factors
        Factor of each kind of file.
    top
        Best score of a chunk.
    files
        Ranked files, ascending: all, or the files that can have the best chunks.
    best
        Best score of a chunk, for each of `files`.
    listed_files
        Files with a score in a list other than the list of words.
    file_weight
        Weight of a file's score in the scores of its chunks.
    repeat
        Factor of each further chunk of a file.
    lists
        Lists by name, with a score for each file of the collection. The list of words scores only `files`.
    """

    collection: ChunkCollection
    factors: Float64Array
    top: float
    files: Int64Array
    best: Float64Array
    listed_files: Int64Array
    file_weight: float = 1.0
    repeat: float = 1.0
    lists: dict[str, Float64Array] = field(default_factory=dict)

    def kind(self, files: Int64Array) -> Float64Array:
        """Return the factor of some files."""
        return self.factors.take(self.collection.kinds.take(files))

    def add(self, name: str, scores: Float64Array) -> None:
        """Add a list, or replace the list of the same name."""
        self.lists[name] = scores
        self.listed_files = np.union1d(self.listed_files, scores.nonzero()[0])

    def spread(self, scores: Float64Array) -> Float64Array:
        """Return scores of `files` as a list: with a score for each file of the collection, 0 for the others."""
        scores_of_all: Float64Array = np.zeros(self.collection.files)
        scores_of_all[self.files] = scores
        return scores_of_all

    def total(self) -> Float64Array:
        """Return the score of each of `files`."""
        total = np.zeros(len(self.files))
        for scores in self.lists.values():
            total += scores.take(self.files)
        return total * self.kind(self.files)

    def tops(self, scores: Float64Array) -> Float64Array:
        """Return the score of the best chunk of each of `files`, from the files' `scores`; 0 without a chunk score."""
        chunk_scores = (CHUNK / (self.top or 1.0)) * self.best * self.kind(self.files)
        chunk_scores += self.file_weight * scores
        chunk_scores *= self.best > 0.0
        return chunk_scores


def file_lists(
    collection: ChunkCollection,
    words: WordScores,
    question: RankQuery,
    weights: ListWeights,
    limit: int | None = None,
    *,
    defined: Sequence[int] | None = None,
    exchange: StatsExchange = LOCAL_ONLY,
) -> FileLists:
    """Make the lists of scores from words, definitions and paths.

    Parameters
    ----------
    collection, words, question, weights
        Collection of files, scores of its chunks, the question, and the weights of lists.
    limit
        Number of the best chunks whose files are needed; None for all files.
    defined
        For each name of the question the number of files in all parts that define it; None without other parts.
    exchange
        Exchange of the maxima of all parts; with other parts, `limit` must be None.
    """
    by_length = weights.of_length(question.length)
    (top,) = exchange.maxima([float(words.chunks.max(initial=0.0))])
    further_lists = _further_lists(collection, words, question, weights, top, defined, exchange)
    factors = weights.of_kinds(question)
    other_files = np.logical_or.reduce([scores > 0.0 for scores in further_lists.values()]).nonzero()[0]
    near_best = _NearBest(words)

    # Score only the files with the best chunks first, and more of them while another file might still have one of the
    # `limit` best chunks.
    for fraction in _SCORE_FRACTIONS if limit is not None else (0.0,):
        files, best = _with_chunks(words, fraction * top, other_files)
        lists = FileLists(
            collection=collection,
            factors=factors,
            top=top,
            files=files,
            best=best,
            listed_files=other_files,
            file_weight=by_length.file,
            repeat=by_length.repeat,
        )
        scores, best_value = _by_words(near_best, lists, weights, exchange)
        (greatest,) = exchange.maxima([float(scores.max(initial=0.0))])
        lists.lists = {"words": lists.spread(scores / (greatest or 1.0)), **further_lists}
        if by_length.best_alone:
            lists.lists["best"] = lists.spread(best * (by_length.best_alone / (top or 1.0)))

        if by_length.imported:
            imported = by_length.imported * collection.imported.take(files) * (best > 0.0)
            lists.lists["imports"] = lists.spread(imported)

        max_other = fraction * float(factors.max())
        if limit is None or not fraction * top:
            break

        # The maximum score of a file that was left out: its best chunk is below `fraction * top`, it is in none of the
        # further lists, and the share of imports is at most 1. The check of `best_value` makes sure that
        # `_by_words` would have read only its best chunk.
        by_others = fraction * (weights.best / greatest + by_length.best_alone) + by_length.imported
        if NEAR_BEST * best_value >= max_other * top and _has_best_chunks(
            lists, limit, max_other, by_others * float(factors.max())
        ):
            break

    return lists


def _further_lists(
    collection: ChunkCollection,
    words: WordScores,
    question: RankQuery,
    weights: ListWeights,
    top: float,
    defined: Sequence[int] | None,
    exchange: StatsExchange,
) -> dict[str, Float64Array]:
    """Return the lists that may raise a file independent of its words: by names, paths, tests, commits and comments."""
    names = ("definitions", "mentioned", "names", "tests", "subjects", "changes", "comments")
    lists: dict[str, Float64Array] = {name: np.zeros(collection.files) for name in names}
    by_length = weights.of_length(question.length)

    for name_index, name in enumerate(question.all_names):
        defining = defining_files(collection, name)
        weight = weights.exact if name_index < len(question.names) else weights.possible
        count = len(defining) if defined is None else defined[name_index]
        if count <= MAX_DEFINING_FILES:
            for file, fraction in sorted(defining.items()):
                # A name that many files define is weak evidence for each of them.
                lists["definitions"][file] += weight * fraction / count

    for file in _mentioned_files(collection, question):
        lists["mentioned"][file] = weights.mentioned

    if by_length.names:
        lists["names"] += by_length.names * name_scores(collection, words, question)

    if by_length.definition_names:
        found_names = definition_name_scores(collection, words, question, top, exchange)
        lists["names"] += by_length.definition_names * found_names

    if by_length.tested:
        lists["tests"] += by_length.tested * scores_of_tests(collection, words, top)

    quoted = 0.0
    if by_length.comments:
        in_comments = scores_of_comments(collection, words, question, top, exchange)
        lists["comments"] += by_length.comments * in_comments
        (quoted,) = exchange.maxima([float(in_comments.max(initial=0.0))])

    # A comment that has the question word for word answers it, and commits could only distract from it.
    commit_share = (1.0 - quoted) ** 2
    if by_length.subjects:
        by_commits = scores_of_commits(collection, words, question, exchange)
        lists["subjects"] += commit_share * by_length.subjects * by_commits

    if by_length.changes:
        by_changes = scores_of_changes(collection, words, question, exchange)
        lists["changes"] += commit_share * by_length.changes * by_changes

    return lists


def _with_chunks(words: WordScores, min_score: float, other_files: Int64Array) -> tuple[Int64Array, Float64Array]:
    """Return the files with a chunk of at least `min_score`, and `other_files`, each with its best score."""
    collection = words.collection
    if min_score <= 0.0:
        best_of_files: Float64Array = words.chunks
        if collection.chunks:
            best_of_files = np.maximum.reduceat(words.chunks, collection.first_chunks)
        return np.arange(collection.files), best_of_files

    # Chunks are numbered file by file, so the files ascend, and each is one run.
    file = collection.file_of.take((words.chunks >= min_score).nonzero()[0])
    files = file.take(run_starts(file))
    if len(other_files):
        files = np.union1d(files, other_files)

    sizes = collection.chunk_counts.take(files)
    best = np.maximum.reduceat(words.chunks.take(chunks_of(collection, files)), sizes.cumsum() - sizes)
    return files, best


@dataclass(slots=True)
class _NearBest:
    """More scores of the files whose best chunk is nearly the best of all; most attempts look at the same ones."""

    words: WordScores
    _files: Int64Array | None = None
    _lists: tuple[Float64Array, ...] = ()

    def lists(self, files: Int64Array) -> tuple[Float64Array, ...]:
        """Return the second and third best chunk score of some files, and the score of all their chunks together."""
        if self._files is None or not np.array_equal(files, self._files):
            self._files, self._lists = files, (*self.words.next_best(files), self.words.file_scores(files))
        return self._lists


def _by_words(
    near: _NearBest, further_lists: FileLists, weights: ListWeights, exchange: StatsExchange
) -> tuple[Float64Array, float]:
    """Return the scores of files by words, and the best score of a chunk times the factor of its file's kind."""
    files, best = further_lists.files, further_lists.best
    scores = best * (weights.best / (further_lists.top or 1.0))
    values = further_lists.kind(files) * best
    (best_value,) = exchange.maxima([float(values.max(initial=0.0))])
    near_best = ((values >= NEAR_BEST * best_value) & (best > 0.0)).nonzero()[0]
    lists = near.lists(files.take(near_best))
    greatest = exchange.maxima([float(list_scores.max(initial=0.0)) for list_scores in lists])
    factors = weights.second, weights.third, weights.full_name
    for weight, list_scores, of_all in zip(factors, lists, greatest, strict=True):
        scores[near_best] += list_scores * (weight / (of_all or 1.0))

    return scores, best_value


def _has_best_chunks(lists: FileLists, limit: int, max_chunk: float, max_file: float) -> bool:
    """Return whether the `limit` best chunks are all in the files that were scored.

    No other file has a better chunk than `max_chunk`, as a share of the best of all, or a better score than `max_file`,
    both with the factor of its kind.
    """
    total = lists.total()
    top = float(total.max())
    tops = lists.tops(total / top)
    if not 0 < limit <= len(tops):
        return False
    max_score = CHUNK * max_chunk + lists.file_weight * max_file / top
    return float(np.partition(tops, len(tops) - limit)[-limit]) * ROUNDING_FACTOR > max_score


def defining_files(collection: ChunkCollection, name: str) -> dict[int, float]:
    """Return the files that define a name, each with 1 if a definition has a body of lines, else `BODILESS_SHARE`.

    Beyond `MAX_DEFINING_FILES`, some files may be missing.
    """
    encoded = name.encode()
    shares_by_file: dict[int, float] = {}
    for number, block, symbols in with_symbols(collection):
        rows = symbols.rows_of(encoded)
        if len(rows):
            documents = symbols.documents_of(rows)
            with_body = documents[symbols.end_line[rows] > symbols.line[rows]]
            share = np.zeros(block.table.documents)

            # In this order: a document may both declare a name and define it.
            share[documents] = BODILESS_SHARE
            share[with_body] = 1.0
            shares = share.take(block.documents)
            positions = shares.nonzero()[0]
            files = positions + collection.file_base[number]
            shares_by_file.update(zip(files.tolist(), shares.take(positions).tolist(), strict=True))

            # A caller ignores so common a name, and needs only to see that there are too many.
            if len(shares_by_file) > MAX_DEFINING_FILES:
                break

    return shares_by_file


def with_symbols(collection: ChunkCollection) -> Iterator[tuple[int, ChunkBlock, SymbolTable]]:
    """Yield each block with its number and the definitions beside it."""
    for number, block in enumerate(collection.blocks):
        symbols = collection.symbols_of(number)
        if symbols is not None:
            yield number, block, symbols


def _mentioned_files(collection: ChunkCollection, question: RankQuery) -> Iterator[int]:
    """Yield the files whose path, or whose name without its extension, is in the question."""
    paths = [file.strip("/") for file in question.files]
    if not paths and not question.names:
        return

    for target, open_terms in enumerate(collection.open_terms):
        words = collection.words[target]
        view = open_terms.snapshot.view
        # Both look-ups compare hashes, so the name itself is compared again here.
        files: list[int] = []
        for path in paths:
            candidates = words.files_named(path.rpartition("/")[2])
            files += [file for file in candidates if f"/{view.path(file)}".endswith(f"/{path}")]
        for stem in question.names:
            candidates = words.with_stem(stem)
            files += [file for file in candidates if view.path(file).rpartition("/")[2].startswith(f"{stem}.")]

        if files:
            for number in collection.blocks_of[target]:
                positions = np.isin(collection.blocks[number].files, files).nonzero()[0]
                yield from (collection.file_base[number] + positions).tolist()


def scores_by_target(collection: ChunkCollection, scores: Float64Array) -> Sequence[Float64Array]:
    """Return scores as one array for each target, with an entry for each file of its view."""
    scores_by_file = [np.zeros(open_terms.snapshot.view.files) for open_terms in collection.open_terms]
    for block, (start, end) in zip(collection.blocks, pairwise(collection.file_base), strict=True):
        scores_by_file[block.target][block.files] = scores[start:end]
    return scores_by_file


def scores_of_targets(collection: ChunkCollection, scores: Sequence[Float64Array]) -> Float64Array:
    """Return scores by target as one array for the files of a collection: the inverse of `scores_by_target`."""
    scores_by_block = [scores[block.target][block.files] for block in collection.blocks]
    return np.concatenate(scores_by_block) if scores_by_block else np.zeros(0)
