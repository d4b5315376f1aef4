"""Ranking files and chunks for a question."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search.ranking.bm25 import Floats, Weights, WordScores, held_by, score, starts
from sourcelight.engines.search.ranking.buffers import ScratchBuffer
from sourcelight.engines.search.ranking.collection import ChunkBlock, ChunkCollection, Mask, Numbers, make_space
from sourcelight.engines.search.ranking.file_scores import (
    CHUNK,
    FILE,
    LESS,
    FileLists,
    ListWeights,
    by_target,
    defining_files,
    file_lists,
    of_targets,
)
from sourcelight.engines.search.ranking.model import (
    ALONE,
    COVERING,
    FileSpace,
    PartStats,
    RankedChunk,
    RankedFile,
    Ranking,
    Scorer,
    StatsExchange,
    coverage,
)
from sourcelight.engines.search.ranking.paths import KINDS
from sourcelight.engines.search.ranking.question import RankQuery
from sourcelight.engines.search.ranking.term_files import OpenedTerms

_VOTING = 12


@dataclass(frozen=True, slots=True)
class RankLimits:
    """Most chunks to give, of how many files, and of each; None: no limit."""

    chunks: int | None = None
    files: int | None = None
    per_file: int | None = None


@dataclass(frozen=True, slots=True)
class Ranker:
    """Ranks with these weights and further lists; with an exchange, a part of the files and without such lists."""

    weights: Weights = field(default_factory=Weights)
    lists: ListWeights = field(default_factory=ListWeights)
    scorers: Sequence[Scorer] = ()
    exchange: StatsExchange = ALONE

    def rank(
        self,
        question: RankQuery,
        opened: Sequence[OpenedTerms],
        masks: Sequence[Mask | None],
        limits: RankLimits,
        cancellation: Cancellation,
    ) -> Ranking:
        """Rank; `masks` say which files of each target count, None for all. Raises `Cancelled`."""
        space = make_space(opened, masks)
        if self.exchange is not ALONE:
            return self._rank_part(space, question, limits, cancellation)
        if not space.chunks:
            return Ranking(question, unknown=_unknown(question, {}))
        with space.rooms.one() as room:
            return self._ranked(space, question, limits, cancellation, room)

    def _ranked(
        self,
        space: ChunkCollection,
        question: RankQuery,
        limits: RankLimits,
        cancellation: Cancellation,
        room: ScratchBuffer,
    ) -> Ranking:
        wanted = [most for most in (limits.chunks, limits.files) if most is not None]
        order = self._order(space, question, cancellation, room, max(min(wanted), COVERING) if wanted else None)
        words = order.words
        numbers, files = order.best(limits)
        described = order.files(files)
        return Ranking(
            question,
            tuple(order.chunks(numbers, files, described)),
            tuple(described),
            order.matched_files,
            words.matched,
            space.files,
            _coverage(question, space, words, order.first(COVERING)),
            _unknown(question, words.idf),
            idf=words.idf,
            searched_chunks=space.chunks,
        )

    def _rank_part(
        self, space: ChunkCollection, question: RankQuery, limits: RankLimits, cancellation: Cancellation
    ) -> Ranking:
        """Rank a part of the files as all of them would be: every number that is of all of them is exchanged.

        All parts exchange the same numbers in the same order, those without a chunk too.
        """
        held = held_by(space, question.terms, self.weights, cancellation)
        counts = [space.chunks, space.files, space.length]
        counts += [len(defining_files(space, name)) for name in question.names]
        counts += held.values()
        chunks, files, length, *rest = self.exchange.add(counts)
        defined, of_terms = rest[: len(question.names)], rest[len(question.names) :]
        part = space.part_of(chunks, files, length)
        known = dict(zip(held, of_terms, strict=True))
        words = score(part, question.terms, self.weights, cancellation, known=known)
        lists = file_lists(part, words, question, self.lists, defined=defined, exchange=self.exchange)
        order = _Order(part, words, lists, exchange=self.exchange)
        numbers, best_files = order.best(limits)
        described = order.files(best_files)
        first = order.first(COVERING)
        share = PartStats(
            tuple(order.score_of(file) for file in best_files),
            order.unscaled(),
            tuple(order.covering(chunk, value) for chunk, value in first),
        )
        return Ranking(
            question,
            tuple(order.chunks(numbers, best_files, described)),
            tuple(described),
            order.matched_files,
            words.matched,
            part.files,
            unknown=_unknown(question, words.idf),
            idf=words.idf,
            searched_chunks=part.chunks,
            share=share,
        )

    def rank_files(
        self,
        question: RankQuery,
        opened: Sequence[OpenedTerms],
        masks: Sequence[Mask | None],
        most: int,
        cancellation: Cancellation,
    ) -> list[RankedFile]:
        """Rank files by their own scores, best first; those of score 0 are left out. Raises `Cancelled`."""
        space = make_space(opened, masks)
        if not space.chunks:
            return []
        with space.rooms.one() as room:
            order = self._order(space, question, cancellation, room)
            return order.files(order.best_files(most))

    def _order(
        self,
        space: ChunkCollection,
        question: RankQuery,
        cancellation: Cancellation,
        room: ScratchBuffer,
        most: int | None = None,
    ) -> _Order:
        """Score; of only the `most` best chunks, where so many are wanted and no scorer has to see all files."""
        words = score(space, question.terms, self.weights, cancellation, room)
        if self.scorers:
            most = None
        lists = file_lists(space, words, question, self.lists, most)
        for scorer in self.scorers:
            cancellation.check()
            self._add(scorer, _Order(space, words, lists), question, cancellation)
        return _Order(space, words, lists, most)

    def _add(self, scorer: Scorer, order: _Order, question: RankQuery, cancellation: Cancellation) -> None:
        space = order.space
        numbers, files = order.best(RankLimits(_VOTING))
        found = scorer.scores(
            FileSpace(
                question,
                [each.target for each in space.opened],
                [each.snapshot for each in space.opened],
                by_target(space, order.scores),
                order.chunks(numbers, files, order.files(files)),
            ),
            cancellation,
        )
        if found is not None:
            order.lists.add(scorer.name, scorer.weight * of_targets(space, found))


class _Order:
    """Files and chunks by their scores."""

    def __init__(
        self,
        space: ChunkCollection,
        words: WordScores,
        lists: FileLists,
        most: int | None = None,
        exchange: StatsExchange = ALONE,
    ) -> None:
        self.space, self.words, self.lists, self._exchange = space, words, lists, exchange
        total = lists.total()
        (greatest,) = exchange.most([float(total.max(initial=0.0))])
        self._most = greatest or 1.0
        self.scores: Floats = total / self._most
        self._seen: list[tuple[int, float]] | None = None
        self._unscaled: tuple[float, ...] = ()
        if most is None:
            self._held, self._files = words.held, words.file
        else:
            tops = lists.tops(self.scores)
            least = float(np.partition(tops, len(tops) - most)[-most]) if 0 < most < len(tops) else 0.0
            some = (tops >= LESS * least).nonzero()[0]
            self._held, self._files = words.held_of(lists.files.take(some))
        self._scores = words.chunks.take(self._held)
        self._scores *= CHUNK / (lists.top or 1.0)
        self._scores *= lists.kind(self._files)
        self._scores += (FILE * self.scores).take(self._places(self._files))

    def _places(self, files: Numbers) -> Numbers:
        """Give where files stand among those of the lists."""
        known = self.lists.files
        return files if len(known) == self.space.files else known.searchsorted(files)

    def score_of(self, file: int) -> float:
        """Give the score of a file that the lists have."""
        return float(self.scores[self._places(np.array([file]))[0]])

    @property
    def matched_files(self) -> int:
        """How many files have a score."""
        others = self.lists.named
        return int(np.count_nonzero(self.words.reached)) + int(np.count_nonzero(~self.words.reached.take(others)))

    def _place(self, chunk: int) -> tuple[int, int, int]:
        """Give the piece of a chunk, its number there, and the number of its file."""
        number = self.space.piece_of_chunk(chunk)
        within = chunk - self.space.chunk_base[number]
        return number, within, int(self.space.file_of[chunk])

    def _name(self, file: int) -> tuple[str, str, str]:
        """Give what equal files are ordered by."""
        piece, at = self._file(file)
        target = self.space.opened[piece.target].target
        return target.repository.name, target.revision, self._path(piece, at)

    def _file(self, file: int) -> tuple[ChunkBlock, int]:
        number = self.space.piece_of_file(file)
        return self.space.pieces[number], file - self.space.file_base[number]

    def _path(self, piece: ChunkBlock, at: int) -> str:
        return self.space.opened[piece.target].snapshot.view.path(int(piece.files[at]))

    def best(self, limits: RankLimits) -> tuple[list[tuple[int, float]], list[int]]:
        """Give the best chunks with their scores, and their files in the order of the files' own scores."""
        count = len(self._held)
        wanted = count if limits.chunks is None else min(limits.chunks, count)
        if limits.files is not None or limits.per_file is not None:
            chosen = self._chosen(self._settled(self._of_best_files(limits)), limits, wanted)
        else:
            chosen = self._sorted(wanted)[:wanted]
        (most,) = self._exchange.most([float(self._scores.max(initial=0.0))])
        most = most or 1.0
        files = dict.fromkeys(self._place(chunk)[2] for chunk, _ in chosen)
        ordered = sorted(files, key=lambda file: (-self.score_of(file), self._name(file)))
        self._unscaled = tuple(value for _, value in chosen)
        return [(chunk, value / most) for chunk, value in chosen], ordered

    def unscaled(self) -> tuple[float, ...]:
        """Give the scores of the chunks that `best` gave, before they were scaled."""
        return self._unscaled

    def covering(self, chunk: int, value: float) -> tuple[float, tuple[str, str, str, int], frozenset[str]]:
        """Give a chunk's negated score, its place, and the terms of the question that it holds."""
        file = self._place(chunk)[2]
        return -value, (*self._name(file), chunk), held_terms(self.space, self.words, [(chunk, value)])

    def first(self, count: int) -> list[tuple[int, float]]:
        """Give the best chunks whatever their files are, with their scores before these are scaled."""
        if self._seen is None or len(self._seen) < min(count, len(self._held)):
            return self._sorted(count)[:count]
        return self._seen[:count]

    def best_files(self, most: int) -> list[int]:
        """Give the best files by their own scores; of equal ones by repository and path."""
        some = (self.scores > 0.0).nonzero()[0]
        scores = self.scores.take(some)
        if most < len(some):
            held = scores >= np.partition(scores, len(some) - most)[len(some) - most]
            some, scores = some[held], scores[held]
        pairs = zip(self.lists.files.take(some).tolist(), scores.tolist(), strict=True)
        return [file for file, _ in sorted(pairs, key=lambda pair: (-pair[1], self._name(pair[0])))[:most]]

    def _sorted(self, count: int) -> list[tuple[int, float]]:
        """Give the `count` best chunks and those as good as the last, in order."""
        scores = self._scores
        held: Numbers = np.arange(len(scores))
        if count < len(scores):
            least = np.partition(scores, len(scores) - count)[len(scores) - count] if count else np.inf
            held = (scores >= least).nonzero()[0]
        self._seen = self._settled(held)
        return self._seen

    def _of_best_files(self, limits: RankLimits) -> Numbers:
        """Give the places of the chunks that `limits` may let through, those as good as the last one included."""
        scores, file = self._scores, self._files
        held: Numbers = np.arange(len(scores))
        if limits.files is not None and len(held):
            first = starts(file)
            tops = np.maximum.reduceat(scores, first)
            if limits.files < len(tops):
                least = (
                    np.partition(tops, len(tops) - limits.files)[len(tops) - limits.files] if limits.files else np.inf
                )
                held = (tops >= least).repeat(np.diff(first, append=len(file))).nonzero()[0]
        if limits.per_file is not None and len(held):
            held = held[np.lexsort((-scores[held], file[held]))]
            first = starts(file[held])
            sizes = np.diff(first, append=len(held))
            last = scores[held[first + np.clip(limits.per_file, 1, sizes) - 1]]
            held = held[scores[held] >= last.repeat(sizes)]
        return held

    def _settled(self, held: Numbers) -> list[tuple[int, float]]:
        """Give the chunks at some places best first, equal ones in the order of repository, path and line."""
        held = held[np.argsort(-self._scores[held], kind="stable")]
        values = self._scores[held]
        pairs = list(zip(self._held[held].tolist(), values.tolist(), strict=True))
        same = (values[1:] == values[:-1]).nonzero()[0]
        for run in np.split(same, (np.diff(same) > 1).nonzero()[0] + 1) if len(same) else ():
            low, high = int(run[0]), int(run[-1]) + 2
            pairs[low:high] = sorted(pairs[low:high], key=lambda pair: (self._name(self._place(pair[0])[2]), pair[0]))
        return pairs

    def _chosen(self, pairs: list[tuple[int, float]], limits: RankLimits, wanted: int) -> list[tuple[int, float]]:
        found: list[tuple[int, float]] = []
        taken: dict[int, int] = {}
        for chunk, value in pairs:
            if len(found) >= wanted:
                break
            file = self._place(chunk)[2]
            if limits.files is not None and file not in taken and len(taken) >= limits.files:
                continue
            if limits.per_file is not None and taken.get(file, 0) >= limits.per_file:
                continue
            taken[file] = taken.get(file, 0) + 1
            found.append((chunk, value))
        return found

    def files(self, files: Sequence[int]) -> list[RankedFile]:
        """Describe files."""
        found = []
        for file in files:
            piece, at = self._file(file)
            kind = KINDS[int(self.space.words[piece.target].kind[piece.files[at]])]
            factor = float(self.lists.factors[self.space.kinds[file]]) / self._most
            shares = {name: float(values[file]) * factor for name, values in self.lists.lists.items()}
            target = self.space.opened[piece.target].target
            target = replace(target, commit=self.space.opened[piece.target].commit)
            found.append(RankedFile(target, self._path(piece, at), self.score_of(file), kind, shares))
        return found

    def chunks(
        self, chosen: Sequence[tuple[int, float]], files: Sequence[int], described: Sequence[RankedFile]
    ) -> list[RankedChunk]:
        """Describe chunks, whose files are described already."""
        places = {file: place for place, file in enumerate(files)}
        found = []
        for chunk, value in chosen:
            number, within, file = self._place(chunk)
            piece, about = self.space.pieces[number], described[places[file]]
            row = within if piece.source is None else int(piece.source[within])
            begin, end = int(piece.table.begin_line[row]), int(piece.table.end_line[row])
            symbols = self._symbols(piece, row, begin, end)
            found.append(RankedChunk(about.target, about.path, begin, end, value, about.kind, symbols, places[file]))
        return found

    def _symbols(self, piece: ChunkBlock, row: int, begin: int, end: int) -> tuple[str, ...]:
        opened = self.space.opened[piece.target]
        shard = next(at for at, table in enumerate(opened.terms) if table is piece.table)
        symbols = opened.symbols[shard]
        if symbols is None:
            return ()
        document = int(piece.table.chunk_doc[row])
        low, high = (int(at) for at in symbols.doc_first[document : document + 2])
        lines = symbols.line[low:high]
        held = low + np.flatnonzero((lines >= begin) & (lines <= end))
        return tuple(text.decode(errors="replace") for text in symbols.texts(symbols.name[held]))


def _coverage(
    question: RankQuery, space: ChunkCollection, words: WordScores, best: Sequence[tuple[int, float]]
) -> float:
    """Share of the question's weight that the best chunks hold."""
    return coverage(question, words.idf, space.chunks, held_terms(space, words, best))


def held_terms(space: ChunkCollection, words: WordScores, best: Sequence[tuple[int, float]]) -> frozenset[str]:
    """Give the terms that some chunks hold, in their text or path."""
    tops = np.array(sorted(chunk for chunk, _ in best), dtype=np.int64)
    files = space.file_of[tops]
    holding = words.postings.items()
    return frozenset(term for term, at in holding if _any_of(tops, at.numbers) or _any_of(files, at.files))


def _any_of(wanted: Numbers, numbers: Numbers) -> bool:
    """Tell whether one of a few is among ascending numbers."""
    if not len(numbers):
        return False
    places = np.minimum(numbers.searchsorted(wanted), len(numbers) - 1)
    return bool((numbers[places] == wanted).any())


def _unknown(question: RankQuery, known: Mapping[str, float]) -> tuple[str, ...]:
    """What the question names and no file has."""
    missing = [question.shown[t] for t in question.terms if t not in known and t not in question.optional]
    return tuple(dict.fromkeys(missing))
