"""The chunks that are ranked: those of the files of a revision, found from the chunks of the tables beside its shards.

Numbers run over all chunks of all files of all targets, file by file. Where a revision holds all documents of a shard,
the numbers of a table are those of the space, moved by a constant; else they are looked up. Files whose document is
that of a file before come last in their piece, so that this stays so.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.engines.search.ranking.buffers import ScratchBuffers
from sourcelight.engines.search.ranking.paths import PathWords, path_words
from sourcelight.engines.search.ranking.term_files import OpenedTerms
from sourcelight.engines.search.ranking.term_table import TermTable

Mask = BoolArray
Numbers = Int64Array
Floats = Float64Array
Entries = tuple[AnyArray, UInt8Array, UInt8Array]
_NONE = np.zeros(0, dtype=np.int64)
_NONE_TWICE = _NONE, _NONE


@dataclass(frozen=True, slots=True)
class ChunkBlock:
    """The chunks of one shard of one target.

    Attributes
    ----------
    target
        Place of the target.
    table
        The table they stand in.
    files
        The files of the view that have chunks here, in order of documents; behind them, those whose document is that
        of one of them.
    documents
        The document of each of `files`.
    first
        Number of the first chunk of each of `files`, within this piece; one more at the end.
    source
        The chunk of the table of each chunk; None: the same number.
    length
        Terms in each chunk.
    file_length
        Terms in each of `files`.
    place
        The first number of each chunk of the table, -1 where it is not here; None: the same number.
    copied, copies
        The chunks of the table that are here again, ascending, and the number that each has then.
    twice
        Of each chunk of the table, whether it is among `copied`.
    """

    target: int
    table: TermTable
    files: Numbers
    documents: Numbers
    first: Numbers
    source: Numbers | None
    length: AnyArray
    total_length: int
    file_length: Floats
    place: NDArray[np.int32] | None
    copied: NDArray[np.uint32]
    copies: Numbers
    twice: Mask

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return int(self.first[-1])

    @property
    def file_of(self) -> Numbers:
        """Place in `files` of each chunk's file."""
        return np.arange(len(self.files)).repeat(np.diff(self.first))

    @property
    def is_table(self) -> bool:
        """Whether the chunks are those of the table, with the same numbers."""
        return self.place is None and not len(self.copied)

    def placed(self, entries: Entries) -> Entries:
        """Turn entries of the table into entries of this piece, ascending."""
        rows, often, defined = entries
        more = self._held_again(rows) if len(self.copied) else _NONE_TWICE
        if self.place is None:
            found = rows, often, defined
        else:
            number = self.place.take(rows)
            some = (number >= 0).nonzero()[0]
            found = number.take(some), often.take(some), defined.take(some)
        if not len(more[0]):
            return found
        numbers, at = more
        return (
            np.concatenate([found[0], numbers]),
            np.concatenate([found[1], often.take(at)]),
            np.concatenate([found[2], defined.take(at)]),
        )

    def _held_again(self, rows: AnyArray) -> tuple[Numbers, Numbers]:
        """Give the further numbers of some chunks of the table, ascending, and where each stands among them."""
        if len(self.copied) * 16 <= len(rows):
            at = rows.searchsorted(self.copied)
            some = (rows.take(at, mode="clip") == self.copied).nonzero()[0]
            numbers, at = self.copies.take(some), at.take(some)
        else:
            at = self.twice.take(rows).nonzero()[0]
            if not len(at):
                return _NONE_TWICE
            held = rows.take(at)
            low = self.copied.searchsorted(held, side="left")
            counts = self.copied.searchsorted(held, side="right") - low
            some = np.arange(int(counts.sum())) + (low - (counts.cumsum() - counts)).repeat(counts)
            numbers, at = self.copies.take(some), at.repeat(counts)
        order = numbers.argsort(kind="stable")
        return numbers.take(order), at.take(order)


def _piece(target: int, opened: OpenedTerms, shard: int, mask: Mask | None) -> ChunkBlock | None:
    table = opened.terms[shard]
    if table is None:
        return None
    placed = opened.snapshot.placement(shard)
    files, documents = placed.files.astype(np.int64), placed.documents.astype(np.int64)
    if mask is not None:
        files, documents = files[mask[files]], documents[mask[files]]
    bounds = table.doc_chunk.astype(np.int64)
    counts = bounds[documents + 1] - bounds[documents]
    some = counts > 0
    files, documents, counts = files[some], documents[some], counts[some]
    if not len(files):
        return None
    again = np.append(False, documents[1:] == documents[:-1])
    order = np.concatenate([(~again).nonzero()[0], again.nonzero()[0]])
    files, documents, counts = files[order], documents[order], counts[order]
    first = np.concatenate(([0], np.cumsum(counts)))
    single = int(first[len(order) - np.count_nonzero(again)])
    source = place = None
    if single < table.chunks or again.any():
        source = np.arange(int(first[-1])) + np.repeat(bounds[documents] - first[:-1], counts)
    if source is not None and single < table.chunks:
        place = np.full(table.chunks, -1, dtype=np.int32)
        place[source[:single]] = np.arange(single, dtype=np.int32)
    copied, copies, twice = _NONE.astype(np.uint32), _NONE, np.zeros(table.chunks if again.any() else 0, dtype=np.bool_)
    if source is not None:
        by_row = source[single:].argsort(kind="stable")
        copied, copies = source[single:][by_row].astype(np.uint32), single + by_row
        twice[copied] = True
    length = table.length if source is None else table.length[source]
    total = int(length.sum(dtype=np.int64))
    lengths = np.add.reduceat(length, first[:-1], dtype=np.float64)
    return ChunkBlock(
        target, table, files, documents, first, source, length, total, lengths, place, copied, copies, twice
    )


@dataclass(frozen=True)
class ChunkCollection:
    """All chunks that are ranked, in pieces.

    Attributes
    ----------
    chunk_base, file_base
        Where each piece begins among all chunks and files, and the end.
    counts, first
        How many chunks each file has, and the number of its first one.
    file_of
        The file of each chunk.
    kinds
        Of each file, a place in `paths.KINDS`.
    pieces_of
        The pieces of each target.
    over
        Chunks and files of all, where these are a part of them; `mean_length` is then that of all.
    """

    opened: Sequence[OpenedTerms]
    masks: Sequence[Mask | None]
    pieces: Sequence[ChunkBlock]
    chunk_base: Sequence[int]
    file_base: Sequence[int]
    words: Sequence[PathWords]
    mean_length: float
    counts: Numbers
    first: Numbers
    file_of: Numbers
    kinds: UInt8Array
    pieces_of: Sequence[Sequence[int]]
    over: tuple[int, int] | None = None
    _norms: dict[float, tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return self.chunk_base[-1]

    @property
    def files(self) -> int:
        """How many files with chunks."""
        return self.file_base[-1]

    @property
    def of_all(self) -> tuple[int, int]:
        """How many chunks and files there are, those of other parts included."""
        return self.over or (self.chunks, self.files)

    @property
    def length(self) -> int:
        """Terms in all chunks."""
        return sum(piece.total_length for piece in self.pieces)

    def part_of(self, chunks: int, files: int, length: int) -> ChunkCollection:
        """The same as a part of so many chunks and files with so many terms."""
        mean = max(length / chunks, 1.0) if chunks else 1.0
        return replace(self, mean_length=mean, over=(chunks, files), _norms={})

    def piece_of_chunk(self, chunk: int) -> int:
        """Give the piece in which a chunk is."""
        return bisect_right(self.chunk_base, chunk) - 1

    def piece_of_file(self, file: int) -> int:
        """Give the piece in which a file is."""
        return bisect_right(self.file_base, file) - 1

    def norms(self, b: float) -> tuple[Floats, Floats]:
        """Give by what the counts of each chunk and of each file are divided: 1 - b + b · length / mean."""
        found = self._norms.get(b)
        if found is None:
            chunks_of_all, files_of_all = self.of_all
            mean_file = self.mean_length * chunks_of_all / max(files_of_all, 1) or 1.0
            parts = [(1.0 - b) + (b / self.mean_length) * piece.length for piece in self.pieces]
            files = [1.0 - b + b * piece.file_length / mean_file for piece in self.pieces]
            found = _united(parts), _united(files)
            self._norms.clear()
            self._norms[b] = found
        return found

    def entries(self, term: str) -> tuple[Numbers, Floats, UInt8Array] | None:
        """Give the chunks whose text has a term, ascending, how often, and the weight of definitions (in halves)."""
        found = self.find(term)
        if not found.size:
            return None
        room = np.empty(found.size, dtype=np.int64), np.empty(found.size), np.empty(found.size, dtype=np.uint8)
        found.write(*room)
        return room

    def find(self, term: str) -> CollectionScores:
        """Find where the entries of a term are."""
        wanted = term.encode()
        parts: list[tuple[Entries, int]] = []
        for bounds, entries, piece, base in self._tables:
            low, high = bounds(wanted)
            if low < high:
                held = entries(low, high)
                parts.append((held if piece is None else piece.placed(held), base))
        return CollectionScores(parts, sum(len(held[0]) for held, _ in parts))

    @cached_property
    def rooms(self) -> ScratchBuffers:
        """Where to reckon."""
        return ScratchBuffers(self.chunks)

    @cached_property
    def _tables(self) -> Sequence[tuple[Any, Any, ChunkBlock | None, int]]:
        """What finds a term in each piece, what gives the entries, the piece where these are not its own, its base."""
        return [
            (piece.table.bounds, piece.table.entries, None if piece.is_table else piece, base)
            for piece, base in zip(self.pieces, self.chunk_base, strict=False)
        ]

    def in_paths(self, term: str) -> tuple[Numbers, Floats] | None:
        """Give the files, ascending, in whose path a term counts, and how much; None when there are none."""
        numbers, counts = [], []
        for words, number_of in zip(self.words, self._file_numbers, strict=True):
            held = words.terms.get(term)
            if held is not None:
                numbers.append(number_of.take(held[0]))
                counts.append(held[1])
        if not numbers:
            return None
        files, weights = _united(numbers), _united(counts)
        order = files.argsort()
        if len(order) and files[order[0]] < 0:
            order = order[np.count_nonzero(files < 0) :]
        return (files.take(order).astype(np.int64), weights.take(order).astype(np.float64)) if len(order) else None

    @cached_property
    def _file_numbers(self) -> Sequence[NDArray[np.int32]]:
        """The number of each file of each target's view, -1 for one that is not here."""
        found = [np.full(opened.snapshot.view.files, -1, dtype=np.int32) for opened in self.opened]
        for piece, base in zip(self.pieces, self.file_base, strict=False):
            found[piece.target][piece.files] = np.arange(base, base + len(piece.files), dtype=np.int32)
        return found


@dataclass(frozen=True, slots=True)
class CollectionScores:
    """Entries of a term, piece by piece, each with what its numbers are moved by; and how many there are."""

    parts: Sequence[tuple[Entries, int]]
    size: int

    def write(self, numbers: Numbers, times: AnyArray, defined: UInt8Array) -> None:
        """Write the chunks, how often each has the term, and the weight of definitions (in halves)."""
        at = 0
        for (here, often, weight), base in self.parts:
            to = at + len(here)
            np.add(here, base, out=numbers[at:to])
            times[at:to] = often
            defined[at:to] = weight
            at = to


def _united(parts: Sequence[AnyArray]) -> AnyArray:
    return parts[0] if len(parts) == 1 else np.concatenate(parts) if parts else np.zeros(0)


def make_space(opened: Sequence[OpenedTerms], masks: Sequence[Mask | None]) -> ChunkCollection:
    """Put together the chunks of targets; `masks` say which files of each count, None for all."""
    if not opened or any(mask is not None for mask in masks):
        return _space(opened, masks)
    asked = [(each.snapshot, *each.terms) for each in opened]
    # The last one asked for without filters stays as long as its first snapshot does.
    last: list[tuple[Any, ChunkCollection]] = opened[0].snapshot.remember("ranking space", list)
    for known, space in last[:1]:
        if len(known) == len(asked) and all(map(_same, known, asked)):
            return space
    made = _space(opened, masks)
    last[:] = [(asked, made)]
    return made


def _same(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _space(opened: Sequence[OpenedTerms], masks: Sequence[Mask | None]) -> ChunkCollection:
    pieces: list[ChunkBlock] = []
    for target, (each, mask) in enumerate(zip(opened, masks, strict=True)):
        for shard in range(len(each.snapshot.shards)):
            found = _kept(target, each, shard) if mask is None else _piece(target, each, shard, mask)
            if found is not None:
                pieces.append(found)
    chunk_base, file_base = [0], [0]
    for piece in pieces:
        chunk_base.append(chunk_base[-1] + piece.chunks)
        file_base.append(file_base[-1] + len(piece.files))
    total = sum(piece.total_length for piece in pieces)
    mean = total / chunk_base[-1] if chunk_base[-1] else 1.0
    words = [path_words(each.snapshot) for each in opened]
    counts = _united([np.diff(piece.first) for piece in pieces]).astype(np.int64)
    return ChunkCollection(
        opened,
        masks,
        pieces,
        chunk_base,
        file_base,
        words,
        max(mean, 1.0),
        counts,
        counts.cumsum() - counts,
        np.arange(len(counts)).repeat(counts),
        _united([words[piece.target].kind[piece.files] for piece in pieces]).astype(np.uint8),
        [[number for number, piece in enumerate(pieces) if piece.target == target] for target in range(len(opened))],
    )


def _kept(target: int, opened: OpenedTerms, shard: int) -> ChunkBlock | None:
    """Make a piece, or give the one made before for the same table."""
    table = opened.terms[shard]
    made: ChunkBlock | None = opened.snapshot.remember(
        ("ranking piece", shard, id(table), target), lambda: _piece(target, opened, shard, None)
    )
    return made
