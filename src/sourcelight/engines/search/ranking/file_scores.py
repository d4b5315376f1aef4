"""Scores of files: lists of scores, each divided by its best, added and weighed by what sort of file it is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.ranking.bm25 import Floats, WordScores, chunks_of, starts
from sourcelight.engines.search.ranking.exchange import ALONE
from sourcelight.engines.search.ranking.model import Exchange
from sourcelight.engines.search.ranking.paths import KINDS
from sourcelight.engines.search.ranking.question import Question
from sourcelight.engines.search.ranking.space import Numbers, Piece, Space
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

    def of_kinds(self, question: Question) -> Floats:
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


@dataclass(slots=True)
class FileLists:
    """Lists of scores of all files of a space, by name, weighed.

    Attributes
    ----------
    kind
        The factor of each file.
    lists
        A score for each file.
    settled
        The files, ascending, whose scores are whole: those that can hold one of the chunks asked for. Others may
        lack what their second and third chunk give. None: all.
    """

    kind: Floats
    lists: dict[str, Floats] = field(default_factory=dict)
    settled: Numbers | None = None

    def total(self) -> Floats:
        """Give the score of each file."""
        total = np.zeros(len(self.kind))
        for values in self.lists.values():
            total += values
        return total * self.kind


def file_lists(
    space: Space,
    words: WordScores,
    question: Question,
    weights: ListWeights,
    most: int | None = None,
    *,
    defined: Sequence[int] | None = None,
    exchange: Exchange = ALONE,
) -> FileLists:
    """Make the lists that words, definitions and paths give.

    Parameters
    ----------
    space, words, question, weights
        What they are made of.
    most
        Only so many chunks are wanted; None: all.
    defined
        For each name of the question the files of all parts that define it; None: there is no other part.
    exchange
        Gives the greatest scores of all parts.
    """
    found = FileLists(weights.of_kinds(question).take(space.kinds))
    exact, mentioned = np.zeros(space.files), np.zeros(space.files)
    for at, name in enumerate(question.names):
        defining = defining_files(space, name)
        count = len(defining) if defined is None else defined[at]
        if count <= MOST_DEFINING:
            for file, share in sorted(defining.items()):
                exact[file] += share / count
    for file in _mentioned(space, question):
        mentioned[file] = 1.0
    exact *= weights.exact
    mentioned *= weights.mentioned
    total = None
    if most is not None and space.files > _FIRST_TRIED:
        total, found.settled = _of_likely(words, weights, found.kind, exact + mentioned, most)
    if total is None:
        total = np.zeros(space.files)
        tops = _three_best(space, words)
        lists = (*tops, words.files)
        greatest = exchange.most([_greatest(values) for values in lists])
        factors = weights.best, weights.second, weights.third, weights.whole
        for weight, values, top in zip(factors, lists, greatest, strict=True):
            total += weight * _scaled(values, top)
    found.lists["words"] = _scaled(total, *exchange.most([_greatest(total)]))
    found.lists["definitions"] = exact
    found.lists["mentioned"] = mentioned
    return found


def _of_likely(
    words: WordScores, weights: ListWeights, kind: Floats, given: Floats, most: int
) -> tuple[Floats | None, Numbers | None]:
    """Give the scores by words, whole for the files that can hold one of the `most` best chunks, and these files.

    The second and third best chunk of a file are no better than its best one. From that follows the most a file can
    have; what it has at least is without them. None: all files are needed to know the best second and third chunks.
    """
    files = ((words.tops > 0.0) | (given > 0.0)).nonzero()[0]
    if len(files) <= _FIRST_TRIED:
        return None, None
    best, kind, given = words.tops.take(files), kind.take(files), given.take(files)
    first = best.argpartition(len(files) - _FIRST_TRIED)[-_FIRST_TRIED:]
    first.sort()
    second, third = _next_best(words, files.take(first))
    tops = float(best.max()), float(second.max()), float(third.max())
    if not 0.0 < float(best.take(first).min()) <= tops[2]:
        return None, None
    by_whole = weights.whole * _scaled(words.files.take(files))
    lower = (weights.best / tops[0]) * best
    upper = lower + (weights.second / tops[1]) * np.minimum(best, tops[1])
    upper += (weights.third / tops[2]) * np.minimum(best, tops[2])
    lower += by_whole
    upper += by_whole

    def settle(some: Numbers) -> None:
        """Find out what some files have."""
        second, third = _next_best(words, files.take(some))
        scores = weights.best * (best.take(some) / tops[0])
        scores += weights.second * (second / tops[1])
        scores += weights.third * (third / tops[2])
        scores += by_whole.take(some)
        lower[some] = upper[some] = scores

    settle(first)
    settle((upper >= _LESS * lower.max()).nonzero()[0])
    most_words = float(lower.max())
    least_all, most_all = kind * (lower / most_words + given), kind * (upper / most_words + given)
    leaders = (most_all >= _LESS * least_all.max()).nonzero()[0]
    settle(leaders)
    best_file = float((kind.take(leaders) * (lower.take(leaders) / most_words + given.take(leaders))).max()) or 1.0
    own, held = (CHUNK / tops[0]) * kind * best, best > 0.0
    least_all *= FILE / best_file
    least_all += own
    least_all *= held
    most_all *= FILE / best_file
    most_all += own
    beyond = len(files) - min(most, len(files))
    limit = float(np.partition(least_all, beyond)[beyond])
    settled = ((most_all >= _LESS * limit) & held).nonzero()[0]
    settle(settled)
    total = np.zeros(len(words.files))
    total[files] = lower
    return total, files.take(settled)


_FIRST_TRIED = 256
_LESS = 1.0 - 1e-9


def _next_best(words: WordScores, files: Numbers) -> tuple[Floats, Floats]:
    """Give the second and third best score of the chunks of some files, ascending; all have chunks."""
    space = words.space
    scores = words.chunks.take(chunks_of(space, files))
    sizes = space.counts.take(files)
    first = sizes.cumsum() - sizes
    found = []
    for _ in range(2):
        tops = np.maximum.reduceat(scores, first)
        top = (scores == tops.repeat(sizes)).nonzero()[0]
        owner = np.searchsorted(first, top, side="right")
        scores[top[starts(owner)]] = 0.0
        found.append(np.maximum.reduceat(scores, first))
    return found[0], found[1]


def _greatest(values: Floats) -> float:
    return float(values.max()) if len(values) else 0.0


def _scaled(values: Floats, most: float | None = None) -> Floats:
    most = _greatest(values) if most is None else most
    return values / most if most > 0.0 else values


def _three_best(space: Space, words: WordScores) -> list[Floats]:
    """Give the best, second and third best score of the chunks of each file."""
    found = [np.zeros(space.files) for _ in range(3)]
    scores, file = words.chunks.take(words.held), words.file
    if not len(scores):
        return found
    first = starts(file)
    sizes, files = np.diff(first, append=len(file)), file[first]
    for best in found:
        tops = np.maximum.reduceat(scores, first)
        best[files] = tops
        if best is not found[2]:
            # Of each file, the first chunk with the best score is taken out.
            top = (scores == tops.repeat(sizes)).nonzero()[0]
            scores[top[starts(file[top])]] = 0.0
    return found


def defining_files(space: Space, name: str) -> dict[int, float]:
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


def with_symbols(space: Space) -> Iterator[tuple[int, Piece, SymbolTable]]:
    """Give each piece with its number and the definitions beside it."""
    for number, piece in enumerate(space.pieces):
        opened = space.opened[piece.target]
        shard = next(at for at, table in enumerate(opened.terms) if table is piece.table)
        symbols = opened.symbols[shard]
        if symbols is not None:
            yield number, piece, symbols


def _mentioned(space: Space, question: Question) -> Iterator[int]:
    """Give the files whose path, or whose name without its extension, the question has."""
    endings = [file.strip("/").encode() for file in question.files]
    stems = [name.encode() for name in question.names]
    asked = [*(file.strip("/") for file in question.files), *question.names]
    if not asked:
        return
    for target, opened in enumerate(space.opened):
        view = opened.snapshot.view
        words = space.words[target]
        if not any(words.may_name(name.rpartition("/")[2]) for name in asked):
            continue
        text = bytes(view.path_text)
        starts = []
        for wanted in endings:
            starts += [*_found(text, b"/" + wanted + b"\n"), *_found(text, b"\n" + wanted + b"\n")]
        for wanted in stems:
            for at in (*_found(text, b"/" + wanted + b"."), *_found(text, b"\n" + wanted + b".")):
                if text.find(b"/", at + 1, text.find(b"\n", at + 1)) < 0:
                    starts.append(at)
        places = np.array(starts, dtype=np.int64) + 1
        files = np.unique(np.searchsorted(view.path_start.astype(np.int64), places, side="right") - 1)
        for number, piece in enumerate(space.pieces):
            if piece.target == target:
                yield from (space.file_base[number] + np.flatnonzero(np.isin(piece.files, files))).tolist()


def _found(text: bytes, wanted: bytes) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def by_target(space: Space, scores: Floats) -> Sequence[NDArray[np.float64]]:
    """Give scores as one array for each target, with an entry for each file of its view."""
    found = [np.zeros(opened.snapshot.view.files) for opened in space.opened]
    for number, piece in enumerate(space.pieces):
        found[piece.target][piece.files] = scores[space.file_base[number] : space.file_base[number + 1]]
    return found


def of_targets(space: Space, scores: Sequence[Floats]) -> Floats:
    """Turn around what `by_target` does."""
    parts = [scores[piece.target][piece.files] for piece in space.pieces]
    return np.concatenate(parts) if parts else np.zeros(0)
