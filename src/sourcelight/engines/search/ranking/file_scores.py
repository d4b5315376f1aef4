"""Scores of files: lists of scores, each divided by its best, added and weighed by what sort of file it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import Float64Array
from sourcelight.engines.search.ranking.bm25 import Floats, WordScores, chunks_of, starts
from sourcelight.engines.search.ranking.collection import ChunkBlock, ChunkCollection, Numbers
from sourcelight.engines.search.ranking.model import ALONE, StatsExchange
from sourcelight.engines.search.ranking.paths import KINDS
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.symbols import SymbolTable


@dataclass(frozen=True, slots=True)
class ListWeights:
    """By how much each list counts, and each sort of file."""

    best: float = 1.0
    second: float = 0.3
    third: float = 0.2
    whole: float = 0.5
    exact: float = 0.3
    mentioned: float = 0.5
    test: float = 0.6
    test_asked: float = 0.9
    docs: float = 0.5
    docs_asked: float = 1.0
    config: float = 0.4
    vendored: float = 0.3
    changelog: float = 0.15

    def of_kinds(self, question: RankQuery) -> Floats:
        """Give the factor of each of `paths.KINDS`."""
        test = self.test_asked if question.asks_tests else self.test
        docs = self.docs_asked if question.asks_docs else self.docs
        factors = {"code": 1.0, "test": test, "docs": docs, "config": self.config, "vendored": self.vendored}
        return np.array([factors.get(kind, self.changelog) for kind in KINDS])


CHUNK, FILE = 1.0, 0.6
"""What a chunk's own score and that of its file count for the chunk; both are divided by the best of all."""

MOST_DEFINING = 20
"""Files beyond which a name says nothing by being defined in them."""

BODILESS = 0.25
"""What a file counts that only declares a name, or defines it in one line: constants, fields, prototypes."""


NEAR = 0.5
"""Share of the best file's best chunk, each with its kind's factor, from which more of a file is looked at than its
best chunk: the next two, and the whole."""


@dataclass(slots=True)
class FileLists:
    """Lists of scores of the files of a space, by name, weighed.

    Attributes
    ----------
    space
        What they are the files of.
    factors
        The factor of each kind of files.
    top
        The best score of a chunk.
    files
        The files, ascending, that are ranked: all, or those that can hold the best chunks.
    best
        Of each of `files`, the best score of its chunks.
    named
        The files that have a score for something else than their words.
    lists
        A score for each file of the space; those for words only of `files`.
    """

    space: ChunkCollection
    factors: Floats
    top: float
    files: Numbers
    best: Floats
    named: Numbers
    lists: dict[str, Floats] = field(default_factory=dict)

    def kind(self, files: Numbers) -> Floats:
        """Give the factor of some files."""
        return self.factors.take(self.space.kinds.take(files))

    def add(self, name: str, scores: Floats) -> None:
        """Add a list."""
        self.lists[name] = scores
        self.named = np.union1d(self.named, scores.nonzero()[0])

    def total(self) -> Floats:
        """Give the score of each of `files`."""
        total = np.zeros(len(self.files))
        for values in self.lists.values():
            total += values.take(self.files)
        return total * self.kind(self.files)

    def tops(self, scores: Floats) -> Floats:
        """Give what the best chunk of each of `files` has beside others, from the `scores` of these; 0 without one."""
        found = (CHUNK / (self.top or 1.0)) * self.best * self.kind(self.files)
        found += FILE * scores
        found *= self.best > 0.0
        return found


def file_lists(
    space: ChunkCollection,
    words: WordScores,
    question: RankQuery,
    weights: ListWeights,
    most: int | None = None,
    *,
    defined: Sequence[int] | None = None,
    exchange: StatsExchange = ALONE,
) -> FileLists:
    """Make the lists that words, definitions and paths give.

    Parameters
    ----------
    space, words, question, weights
        What they are made of.
    most
        Only the files that hold that many of the best chunks are wanted; None: all.
    defined
        For each name of the question the files of all parts that define it; None: there is no other part.
    exchange
        Gives the greatest scores of all parts; then `most` must be None.
    """
    exact, mentioned = np.zeros(space.files), np.zeros(space.files)
    named: set[int] = set()
    for at, name in enumerate(question.names):
        defining = defining_files(space, name)
        count = len(defining) if defined is None else defined[at]
        if count <= MOST_DEFINING:
            named |= defining.keys()
            for file, share in sorted(defining.items()):
                exact[file] += weights.exact * share / count
    for file in _mentioned(space, question):
        named.add(file)
        mentioned[file] = weights.mentioned
    factors, further = weights.of_kinds(question), np.array(sorted(named), dtype=np.int64)
    (top,) = exchange.most([float(words.chunks.max(initial=0.0))])
    for share in _SHARES if most is not None else (0.0,):
        files, best = _with_chunks(words, share * top, further)
        found = FileLists(space, factors, top, files, best, further)
        scores, leader = _by_words(words, found, weights, exchange)
        (greatest,) = exchange.most([float(scores.max(initial=0.0))])
        by_words: Floats = np.zeros(space.files)
        by_words[files] = scores / (greatest or 1.0)
        found.lists = {"words": by_words, "definitions": exact, "mentioned": mentioned}
        beyond = share * float(factors.max())
        if most is None or not share * top:
            break
        if NEAR * leader >= beyond * top and _holds(found, most, beyond, weights.best / greatest):
            break
    return found


_SHARES = 0.5, 0.25, 0.0
"""Shares of the best score of a chunk down to which files are looked at, one after another, until that is enough."""

LESS = 1.0 - 1e-9
"""What a bound is taken times before it is compared, since sums are rounded."""


def _with_chunks(words: WordScores, least: float, further: Numbers) -> tuple[Numbers, Floats]:
    """Give the files with a chunk of a score of at least `least`, and some further ones, each with its best score."""
    space = words.space
    if least <= 0.0:
        whole: Floats = np.maximum.reduceat(words.chunks, space.first) if space.chunks else words.chunks
        return np.arange(space.files), whole
    file = space.file_of.take((words.chunks >= least).nonzero()[0])
    files = file.take(starts(file))
    if len(further):
        files = np.union1d(files, further)
    sizes = space.counts.take(files)
    best = np.maximum.reduceat(words.chunks.take(chunks_of(space, files)), sizes.cumsum() - sizes)
    return files, best


def _by_words(
    words: WordScores, found: FileLists, weights: ListWeights, exchange: StatsExchange
) -> tuple[Floats, float]:
    """Give what files have for their words, and the best chunk of a file times the factor of its kind."""
    files, best = found.files, found.best
    scores = best * (weights.best / (found.top or 1.0))
    values = found.kind(files) * best
    (leader,) = exchange.most([float(values.max(initial=0.0))])
    near = ((values >= NEAR * leader) & (best > 0.0)).nonzero()[0]
    some = files.take(near)
    lists = (*words.next_best(some), words.whole(some))
    greatest = exchange.most([float(each.max(initial=0.0)) for each in lists])
    factors = weights.second, weights.third, weights.whole
    for weight, each, of_all in zip(factors, lists, greatest, strict=True):
        scores[near] += each * (weight / (of_all or 1.0))
    return scores, leader


def _holds(found: FileLists, most: int, beyond: float, by_words: float) -> bool:
    """Tell whether the `most` best chunks are all in the files found.

    `beyond`: no other file's best chunk has as much, as a share of the best of all and with its kind's factor.
    `by_words`: what a file has for a best chunk as good as the best of all and no further ones.
    """
    total = found.total()
    top = float(total.max())
    tops = found.tops(total / top)
    if not 0 < most <= len(tops):
        return False
    return float(np.partition(tops, len(tops) - most)[-most]) * LESS > beyond * (CHUNK + FILE * by_words / top)


def defining_files(space: ChunkCollection, name: str) -> dict[int, float]:
    """Give files in which a definition bears a name: not all of more than `MOST_DEFINING`.

    1 for each where one has a body of lines, else `BODILESS`.
    """
    wanted = name.encode()
    found: dict[int, float] = {}
    for number, piece, symbols in with_symbols(space):
        rows = symbols.rows_of_name(wanted)
        if len(rows):
            documents = symbols.documents_of(rows)
            with_body = documents[symbols.end_line[rows] > symbols.line[rows]]
            share = np.zeros(piece.table.documents)
            share[documents] = BODILESS
            share[with_body] = 1.0
            shares = share.take(piece.documents)
            files = shares.nonzero()[0]
            found.update(zip((files + space.file_base[number]).tolist(), shares.take(files).tolist(), strict=True))
            if len(found) > MOST_DEFINING:
                break
    return found


def with_symbols(space: ChunkCollection) -> Iterator[tuple[int, ChunkBlock, SymbolTable]]:
    """Give each piece with its number and the definitions beside it."""
    for number, piece in enumerate(space.pieces):
        opened = space.opened[piece.target]
        shard = next(at for at, table in enumerate(opened.terms) if table is piece.table)
        symbols = opened.symbols[shard]
        if symbols is not None:
            yield number, piece, symbols


def _mentioned(space: ChunkCollection, question: RankQuery) -> Iterator[int]:
    """Give the files whose path, or whose name without its extension, the question has."""
    asked = [file.strip("/") for file in question.files]
    for target, opened in enumerate(space.opened if asked or question.names else ()):
        words, view = space.words[target], opened.snapshot.view
        files = [file for path in asked for file in words.named(path.rpartition("/")[2])
                 if f"/{view.path(file)}".endswith(f"/{path}")]  # fmt: skip
        files += [file for stem in question.names for file in words.with_stem(stem)
                  if view.path(file).rpartition("/")[2].startswith(f"{stem}.")]  # fmt: skip
        for number in space.pieces_of[target] if files else ():
            held = np.isin(space.pieces[number].files, files).nonzero()[0]
            yield from (space.file_base[number] + held).tolist()


def by_target(space: ChunkCollection, scores: Floats) -> Sequence[Float64Array]:
    """Give scores as one array for each target, with an entry for each file of its view."""
    found = [np.zeros(opened.snapshot.view.files) for opened in space.opened]
    for number, piece in enumerate(space.pieces):
        found[piece.target][piece.files] = scores[space.file_base[number] : space.file_base[number + 1]]
    return found


def of_targets(space: ChunkCollection, scores: Sequence[Floats]) -> Floats:
    """Turn around what `by_target` does."""
    parts = [scores[piece.target][piece.files] for piece in space.pieces]
    return np.concatenate(parts) if parts else np.zeros(0)
