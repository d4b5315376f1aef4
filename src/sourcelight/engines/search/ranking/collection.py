"""The chunks that are ranked: those of all files of the targets, mapped from the chunks of the tables of their shards.

Chunks are numbered through all targets, file by file. Where a revision has all documents of a shard, a chunk's number
is its number in the table plus a constant; else it is looked up. To keep that fast path, files that repeat a document
come last in their block.
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

Entries = tuple[AnyArray, UInt8Array, UInt8Array]
_EMPTY = np.zeros(0, dtype=np.int64)
_EMPTY_PAIR = _EMPTY, _EMPTY


@dataclass(frozen=True, slots=True)
class ChunkBlock:
    """The chunks of one shard of one target.

    Attributes
    ----------
    target
        Place of the target.
    table
        The table that holds them.
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
    files: Int64Array
    documents: Int64Array
    first: Int64Array
    source: Int64Array | None
    length: AnyArray
    total_length: int
    file_length: Float64Array
    place: NDArray[np.int32] | None
    copied: NDArray[np.uint32]
    copies: Int64Array
    twice: BoolArray

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return int(self.first[-1])

    @property
    def file_of(self) -> Int64Array:
        """Place in `files` of each chunk's file."""
        return np.arange(len(self.files)).repeat(np.diff(self.first))

    @property
    def is_table(self) -> bool:
        """Whether the chunks are those of the table, with the same numbers."""
        return self.place is None and not len(self.copied)

    def place_entries(self, entries: Entries) -> Entries:
        """Turn entries of the table into entries of this piece, ascending."""
        rows, counts, defined = entries
        copies_of_rows = self._held_again(rows) if len(self.copied) else _EMPTY_PAIR
        if self.place is None:
            placed_entries = rows, counts, defined
        else:
            chunk_numbers = self.place.take(rows)
            # -1 marks chunks of the table whose file is not in this view or is masked out.
            present = (chunk_numbers >= 0).nonzero()[0]
            placed_entries = chunk_numbers.take(present), counts.take(present), defined.take(present)
        if not len(copies_of_rows[0]):
            return placed_entries
        numbers, positions = copies_of_rows
        return (
            np.concatenate([placed_entries[0], numbers]),
            np.concatenate([placed_entries[1], counts.take(positions)]),
            np.concatenate([placed_entries[2], defined.take(positions)]),
        )

    def _held_again(self, rows: AnyArray) -> tuple[Int64Array, Int64Array]:
        """Return the further numbers of some chunks of the table, ascending, and the index of each among them."""
        # Few copies: look each of them up in the rows. Many: mark the rows that have any first.
        if len(self.copied) * 16 <= len(rows):
            positions = rows.searchsorted(self.copied)
            matching = (rows.take(positions, mode="clip") == self.copied).nonzero()[0]
            numbers, positions = self.copies.take(matching), positions.take(matching)
        else:
            positions = self.twice.take(rows).nonzero()[0]
            if not len(positions):
                return _EMPTY_PAIR
            copied_rows = rows.take(positions)
            first_copies = self.copied.searchsorted(copied_rows, side="left")
            counts = self.copied.searchsorted(copied_rows, side="right") - first_copies
            matching = np.arange(int(counts.sum())) + (first_copies - (counts.cumsum() - counts)).repeat(counts)
            numbers, positions = self.copies.take(matching), positions.repeat(counts)
        order = numbers.argsort(kind="stable")
        return numbers.take(order), positions.take(order)


def _make_block(target: int, opened: OpenedTerms, shard: int, mask: BoolArray | None) -> ChunkBlock | None:
    table = opened.terms[shard]
    if table is None:
        return None
    placement = opened.snapshot.placement(shard)
    files, documents = placement.files.astype(np.int64), placement.documents.astype(np.int64)
    if mask is not None:
        files, documents = files[mask[files]], documents[mask[files]]
    chunk_starts = table.doc_chunk.astype(np.int64)
    counts = chunk_starts[documents + 1] - chunk_starts[documents]
    has_chunks = counts > 0
    files, documents, counts = files[has_chunks], documents[has_chunks], counts[has_chunks]
    if not len(files):
        return None
    # Files with the same content share a document. Its chunks are read once; the other files follow behind as copies.
    is_repeated = np.append(False, documents[1:] == documents[:-1])
    order = np.concatenate([(~is_repeated).nonzero()[0], is_repeated.nonzero()[0]])
    files, documents, counts = files[order], documents[order], counts[order]
    first = np.concatenate(([0], np.cumsum(counts)))
    distinct_chunks = int(first[len(order) - np.count_nonzero(is_repeated)])
    source = place = None
    if distinct_chunks < table.chunks or is_repeated.any():
        source = np.arange(int(first[-1])) + np.repeat(chunk_starts[documents] - first[:-1], counts)
    if source is not None and distinct_chunks < table.chunks:
        place = np.full(table.chunks, -1, dtype=np.int32)
        place[source[:distinct_chunks]] = np.arange(distinct_chunks, dtype=np.int32)
    copied, copies, twice = (
        _EMPTY.astype(np.uint32),
        _EMPTY,
        np.zeros(table.chunks if is_repeated.any() else 0, dtype=np.bool_),
    )
    if source is not None:
        by_row = source[distinct_chunks:].argsort(kind="stable")
        copied, copies = source[distinct_chunks:][by_row].astype(np.uint32), distinct_chunks + by_row
        twice[copied] = True
    length = table.length if source is None else table.length[source]
    total = int(length.sum(dtype=np.int64))
    # `reduceat` sums between neighboring starts; no file is empty here, as an empty range would give the next element.
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
    masks: Sequence[BoolArray | None]
    pieces: Sequence[ChunkBlock]
    chunk_base: Sequence[int]
    file_base: Sequence[int]
    words: Sequence[PathWords]
    mean_length: float
    counts: Int64Array
    first: Int64Array
    file_of: Int64Array
    kinds: UInt8Array
    pieces_of: Sequence[Sequence[int]]
    over: tuple[int, int] | None = None
    _norms: dict[float, tuple[Float64Array, Float64Array]] = field(default_factory=dict)

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
        """Return the piece in which a chunk is."""
        return bisect_right(self.chunk_base, chunk) - 1

    def piece_of_file(self, file: int) -> int:
        """Return the piece in which a file is."""
        return bisect_right(self.file_base, file) - 1

    def norms(self, b: float) -> tuple[Float64Array, Float64Array]:
        """Return the divisor of the counts of each chunk and each file: 1 - b + b · length / mean."""
        norms = self._norms.get(b)
        if norms is None:
            chunks_of_all, files_of_all = self.of_all
            mean_file = self.mean_length * chunks_of_all / max(files_of_all, 1) or 1.0
            chunk_norms = [(1.0 - b) + (b / self.mean_length) * piece.length for piece in self.pieces]
            file_norms = [1.0 - b + b * piece.file_length / mean_file for piece in self.pieces]
            norms = _concatenate(chunk_norms), _concatenate(file_norms)
            # One `b` at a time: searches use one setting, and each entry has a number per chunk.
            self._norms.clear()
            self._norms[b] = norms
        return norms

    def entries(self, term: str) -> tuple[Int64Array, Float64Array, UInt8Array] | None:
        """Return the chunks whose text has a term (ascending), the counts, and weights of definitions (in halves)."""
        entry = self.find(term)
        if not entry.size:
            return None
        arrays = np.empty(entry.size, dtype=np.int64), np.empty(entry.size), np.empty(entry.size, dtype=np.uint8)
        entry.write(*arrays)
        return arrays

    def find(self, term: str) -> CollectionScores:
        """Find where the entries of a term are."""
        encoded = term.encode()
        entries_by_block: list[tuple[Entries, int]] = []
        for bounds, entries, piece, base in self._tables:
            start, end = bounds(encoded)
            if start < end:
                table_entries = entries(start, end)
                entries_by_block.append((table_entries if piece is None else piece.place_entries(table_entries), base))
        return CollectionScores(entries_by_block, sum(len(table_entries[0]) for table_entries, _ in entries_by_block))

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

    def in_paths(self, term: str) -> tuple[Int64Array, Float64Array] | None:
        """Return the files, ascending, in whose path a term counts, and how much; None when there are none."""
        numbers, counts = [], []
        for words, number_of in zip(self.words, self.file_numbers, strict=True):
            files_with_term = words.terms.get(term)
            if files_with_term is not None:
                numbers.append(number_of.take(files_with_term[0]))
                counts.append(files_with_term[1])
        if not numbers:
            return None
        files, weights = _concatenate(numbers), _concatenate(counts)
        order = files.argsort()
        # -1: a file that this collection leaves out. Sorted, these come first.
        if len(order) and files[order[0]] < 0:
            order = order[np.count_nonzero(files < 0) :]
        return (files.take(order).astype(np.int64), weights.take(order).astype(np.float64)) if len(order) else None

    @cached_property
    def file_numbers(self) -> Sequence[NDArray[np.int32]]:
        """The number of each file of each target's view, -1 for one that is not here."""
        numbers = [np.full(opened.snapshot.view.files, -1, dtype=np.int32) for opened in self.opened]
        for piece, base in zip(self.pieces, self.file_base, strict=False):
            numbers[piece.target][piece.files] = np.arange(base, base + len(piece.files), dtype=np.int32)
        return numbers


@dataclass(frozen=True, slots=True)
class CollectionScores:
    """Entries of a term, piece by piece, each with what its numbers are moved by; and how many there are."""

    parts: Sequence[tuple[Entries, int]]
    size: int

    def write(self, numbers: Int64Array, times: AnyArray, defined: UInt8Array) -> None:
        """Write the chunks, how often each has the term, and the weight of definitions (in halves)."""
        start = 0
        for (chunks, counts, weight), base in self.parts:
            end = start + len(chunks)
            np.add(chunks, base, out=numbers[start:end])
            times[start:end] = counts
            defined[start:end] = weight
            start = end


def _concatenate(arrays: Sequence[AnyArray]) -> AnyArray:
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays) if arrays else np.zeros(0)


def make_collection(opened: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    """Combine the chunks of targets; `masks` say which files of each count, None for all."""
    if not opened or any(mask is not None for mask in masks):
        return _build_collection(opened, masks)
    sources = [(terms.snapshot, *terms.terms) for terms in opened]
    # The last one asked for without filters stays as long as its first snapshot does.
    cached: list[tuple[Any, ChunkCollection]] = opened[0].snapshot.remember("ranking space", list)
    for cached_sources, space in cached[:1]:
        if len(cached_sources) == len(sources) and all(map(_are_identical, cached_sources, sources)):
            return space
    collection = _build_collection(opened, masks)
    cached[:] = [(sources, collection)]
    return collection


def _are_identical(one: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(one) == len(other) and all(map(operator.is_, one, other))


def _build_collection(opened: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    blocks: list[ChunkBlock] = []
    for target, (terms, mask) in enumerate(zip(opened, masks, strict=True)):
        for shard in range(len(terms.snapshot.shards)):
            shard_block = (
                _cached_block(target, terms, shard) if mask is None else _make_block(target, terms, shard, mask)
            )
            if shard_block is not None:
                blocks.append(shard_block)
    chunk_base, file_base = [0], [0]
    for block in blocks:
        chunk_base.append(chunk_base[-1] + block.chunks)
        file_base.append(file_base[-1] + len(block.files))
    total = sum(block.total_length for block in blocks)
    mean = total / chunk_base[-1] if chunk_base[-1] else 1.0
    words = [path_words(terms.snapshot) for terms in opened]
    counts = _concatenate([np.diff(block.first) for block in blocks]).astype(np.int64)
    return ChunkCollection(
        opened,
        masks,
        blocks,
        chunk_base,
        file_base,
        words,
        max(mean, 1.0),
        counts,
        counts.cumsum() - counts,
        np.arange(len(counts)).repeat(counts),
        _concatenate([words[block.target].kind[block.files] for block in blocks]).astype(np.uint8),
        [[number for number, block in enumerate(blocks) if block.target == target] for target in range(len(opened))],
    )


def _cached_block(target: int, opened: OpenedTerms, shard: int) -> ChunkBlock | None:
    """Make a block, or return the cached one for the same table."""
    table = opened.terms[shard]
    block: ChunkBlock | None = opened.snapshot.remember(
        ("ranking piece", shard, id(table), target), lambda: _make_block(target, opened, shard, None)
    )
    return block
