"""One numbering for the chunks and files that are ranked together, and the look-up of terms among them.

Scores are arrays with one number for each chunk or file of all targets, but term tables and views know only numbers of
their own. A collection translates between these. It consists of blocks, the chunks of one shard of one target, and its
numbers go through all blocks, file by file:

    target  block  file of the view    file of the collection  chunks
    0       0      0 README.md         -                       none, the file is empty
    0       0      1 pump.py           0                       0, 1
    0       1      2 tank.py           1                       2
    1       2      0 rain.go           2                       3, 4, 5

A term is looked up in two places: in the term table of each block (`find`), and among the words of paths of each target
(`files_with`). Making a collection takes longer than a question, so the last one without filters is cached.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.engines.search.ranking.buffers import ScratchBuffers
from sourcelight.engines.search.ranking.chunk_block import ChunkBlock, make_block
from sourcelight.engines.search.ranking.import_scores import import_scores
from sourcelight.engines.search.ranking.paths import PathWords, path_words
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.ranking.terms.term_table import TermEntries
from sourcelight.engines.symbols import SymbolTable


class TableChunk(NamedTuple):
    """A chunk as its term table numbers it: the number of the block, and the row of the block's table."""

    block: int
    row: int


class ViewFile(NamedTuple):
    """A file as a commit view numbers it: the index of the target, and the number of the file in the target's view."""

    target: int
    number: int


class CollectionSize(NamedTuple):
    """Numbers of chunks and files."""

    chunks: int
    files: int


class LengthNorms(NamedTuple):
    """The divisor of counts of terms for each chunk and each file, by its length."""

    chunks: Float64Array
    files: Float64Array


class FilesWithTerm(NamedTuple):
    """The files with a term in their path, ascending, and its weight in the path of each."""

    files: Int64Array
    weights: Float64Array


@dataclass(frozen=True, slots=True)
class TermChunks:
    """The entries of a term in a collection, not copied yet, since each question has arrays of its own for them.

    `by_block` has the entries of each block with the term, numbered within the block, and the first chunk of the block;
    `size` is the number of all entries.
    """

    by_block: Sequence[tuple[TermEntries, int]]
    size: int

    def write(self, chunks: Int64Array, counts: AnyArray, half_weights: UInt8Array) -> None:
        """Write all entries into arrays of `size`, with the chunks of the collection: the columns of `TermEntries`."""
        start = 0
        for entries, first_chunk in self.by_block:
            end = start + len(entries.chunks)
            np.add(entries.chunks, first_chunk, out=chunks[start:end])
            counts[start:end] = entries.counts
            half_weights[start:end] = entries.half_weights
            start = end


@dataclass(frozen=True)
class ChunkCollection:
    """All chunks that are ranked, in blocks.

    Attributes
    ----------
    open_terms
        The targets with their tables.
    words
        Words of the paths of each target.
    blocks
        The blocks, target by target.
    chunk_base, file_base
        Number of the first chunk and of the first file of each block; one more at the end.
    blocks_of
        Numbers of the blocks of each target.
    chunk_counts, first_chunks
        Number of chunks of each file, and the number of its first one.
    file_of
        The file of each chunk.
    kinds
        Index of each file's kind in `paths.KINDS`.
    mean_length
        Mean number of terms of a chunk, in all parts.
    parts_size
        Size of all parts, if this is one of several: in a cluster, each worker ranks the chunks that it stores.
    """

    open_terms: Sequence[OpenedTerms]
    words: Sequence[PathWords]
    blocks: Sequence[ChunkBlock]
    chunk_base: Sequence[int]
    file_base: Sequence[int]
    blocks_of: Sequence[Sequence[int]]
    chunk_counts: Int64Array
    first_chunks: Int64Array
    file_of: Int64Array
    kinds: UInt8Array
    mean_length: float
    parts_size: CollectionSize | None = None
    _norms: dict[float, LengthNorms] = field(default_factory=dict)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.chunk_base[-1]

    @property
    def files(self) -> int:
        """Number of files with chunks."""
        return self.file_base[-1]

    @property
    def length(self) -> int:
        """Terms in all chunks."""
        return sum(block.total_length for block in self.blocks)

    @property
    def total_size(self) -> CollectionSize:
        """Number of chunks and files, including other parts."""
        return self.parts_size or CollectionSize(self.chunks, self.files)

    def part_of(self, total: CollectionSize, length: int) -> ChunkCollection:
        """Return the collection as one of several parts, which have a total size and so many terms together."""
        mean_length = max(length / total.chunks, 1.0) if total.chunks else 1.0
        return replace(self, mean_length=mean_length, parts_size=total, _norms={})

    @cached_property
    def scratch(self) -> ScratchBuffers:
        """Scratch buffers for scores."""
        return ScratchBuffers(self.chunks)

    def norms(self, b: float) -> LengthNorms:
        """Return the length norms of BM25: 1 - b + b · length / mean length."""
        norms = self._norms.get(b)
        if norms is None:
            norms = self._length_norms(b)
            # One `b` at a time: searches use one setting, and each entry has a number per chunk.
            self._norms.clear()
            self._norms[b] = norms

        return norms

    def _length_norms(self, b: float) -> LengthNorms:
        all_chunks, all_files = self.total_size
        all_terms = self.mean_length * all_chunks
        mean_file_length = all_terms / max(all_files, 1) or 1.0
        chunk_norms = [(1.0 - b) + (b / self.mean_length) * block.lengths for block in self.blocks]
        file_norms = [1.0 - b + b * block.file_lengths / mean_file_length for block in self.blocks]
        return LengthNorms(_concatenate(chunk_norms), _concatenate(file_norms))

    def find(self, term: str) -> TermChunks:
        """Find the chunks with a term in their text, ascending."""
        encoded = term.encode()
        by_block: list[tuple[TermEntries, int]] = []
        size = 0
        for bounds_of, entries_of, renumber, first_chunk in self._block_tables:
            start, end = bounds_of(encoded)
            if start < end:
                entries = entries_of(start, end)
                if renumber is not None:
                    entries = renumber(entries)
                by_block.append((entries, first_chunk))
                size += len(entries.chunks)

        return TermChunks(by_block, size)

    @cached_property
    def _block_tables(self) -> Sequence[_BlockTable]:
        return [_BlockTable.of(block, base) for block, base in zip(self.blocks, self.chunk_base, strict=False)]

    def read_entries(self, term: str) -> TermEntries | None:
        """Return the entries of a term in new arrays, with counts as floats; None if no chunk has it."""
        term_chunks = self.find(term)
        size = term_chunks.size
        if not size:
            return None
        entries = TermEntries(np.empty(size, dtype=np.int64), np.empty(size), np.empty(size, dtype=np.uint8))
        term_chunks.write(*entries)
        return entries

    def files_with(self, term: str) -> FilesWithTerm | None:
        """Return the files with a term in their path; None without any."""
        starts, numbers, weights = [], [], []
        for start, words in zip(self.view_starts, self.words, strict=False):
            files_with_term = words.terms.get(term)
            if files_with_term is not None:
                starts.append(start)
                numbers.append(files_with_term.files)
                weights.append(files_with_term.weights)

        if not numbers:
            return None

        bases = np.array(starts).repeat([len(files_of_target) for files_of_target in numbers])
        files = self.view_numbers.take(_concatenate(numbers) + bases)
        # -1: a file that this collection leaves out. Sorted, these come first.
        order = files.argsort()[np.count_nonzero(files < 0) :]
        if not len(order):
            return None
        return FilesWithTerm(files.take(order).astype(np.int64), _concatenate(weights).take(order).astype(np.float64))

    def table_chunk(self, chunk: int) -> TableChunk:
        """Return the block of a chunk, and its row in the term table of that block."""
        number = bisect_right(self.chunk_base, chunk) - 1
        return TableChunk(number, self.blocks[number].row_of(chunk - self.chunk_base[number]))

    def view_file(self, file: int) -> ViewFile:
        """Return the target of a file, and its number in the view of that target's commit."""
        number = bisect_right(self.file_base, file) - 1
        block = self.blocks[number]
        return ViewFile(block.target, int(block.files[file - self.file_base[number]]))

    def shard_of(self, number: int) -> int:
        """Return the index of a block's shard among the shards of its target."""
        block = self.blocks[number]
        tables = self.open_terms[block.target].terms
        return next(index for index, table in enumerate(tables) if table is block.table)

    def symbols_of(self, number: int) -> SymbolTable | None:
        """Return the definitions beside the table of a block, or None while they are not known."""
        return self.open_terms[self.blocks[number].target].symbols[self.shard_of(number)]

    @cached_property
    def imported(self) -> Float64Array:
        """Imports of each file, 0 to 1: the logarithm of their number, divided by the maximum of its repository."""
        by_target = [import_scores(target_terms) for target_terms in self.open_terms]
        return _concatenate([by_target[block.target][block.files] for block in self.blocks])

    @cached_property
    def view_starts(self) -> Sequence[int]:
        """Number of files in the views before each target's view; one more at the end."""
        return [0, *accumulate(target_terms.snapshot.view.files for target_terms in self.open_terms)]

    @cached_property
    def view_numbers(self) -> NDArray[np.int32]:
        """The number of each file of all views, one view after another, -1 for a missing file."""
        numbers = np.full(self.view_starts[-1], -1, dtype=np.int32)
        for block, base in zip(self.blocks, self.file_base, strict=False):
            files = self.view_starts[block.target] + block.files
            numbers[files] = np.arange(base, base + len(block.files), dtype=np.int32)
        return numbers

    @cached_property
    def file_numbers(self) -> Sequence[NDArray[np.int32]]:
        """The part of `view_numbers` of each target."""
        return [self.view_numbers[start:end] for start, end in pairwise(self.view_starts)]

    @cached_property
    def name_sizes(self) -> Int64Array:
        """Number of terms in the name of each file of all views."""
        return _concatenate([paths.name_sizes for paths in self.words]).astype(np.int64)


class _BlockTable(NamedTuple):
    """The look-ups of a block: bound methods, since a question of many words calls them a thousand times.

    `renumber` turns rows of the table into chunks of the block; None if they are the same.
    """

    bounds_of: Callable[[bytes], tuple[int, int]]
    entries_of: Callable[[int, int], TermEntries]
    renumber: Callable[[TermEntries], TermEntries] | None
    first_chunk: int

    @classmethod
    def of(cls, block: ChunkBlock, first_chunk: int) -> _BlockTable:
        renumber = None if block.is_table else block.renumber
        return cls(block.table.bounds, block.table.entries, renumber, first_chunk)


def make_collection(open_terms: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    """Combine the chunks of targets; `masks` choose the files of each target, None for all."""
    if not open_terms or any(mask is not None for mask in masks):
        return _build_collection(open_terms, masks)

    # The last collection without filters is kept as long as its first snapshot.
    names = [(terms.target.repository.name, terms.target.revision) for terms in open_terms]
    sources = [(terms.snapshot, *terms.terms) for terms in open_terms]
    cached: list[_CachedCollection] = open_terms[0].snapshot.remember("ranking collection", list)
    for item in cached[:1]:
        if item.is_of(names, sources):
            return item.collection

    collection = _build_collection(open_terms, masks)
    cached[:] = [_CachedCollection(names, sources, collection)]
    return collection


@dataclass(frozen=True, slots=True)
class _CachedCollection:
    """A collection, with the names and revisions of its targets, and the snapshot and the tables of each.

    A repository may have another name by now, with the same snapshot: results must not have the former name.
    """

    names: Sequence[tuple[str, str]]
    sources: Sequence[Sequence[Any]]
    collection: ChunkCollection

    def is_of(self, names: Sequence[tuple[str, str]], sources: Sequence[Sequence[Any]]) -> bool:
        """Return whether the collection is one of these targets, whose sources are compared by identity."""
        return names == self.names and all(map(_are_identical, self.sources, sources))


def _are_identical(values: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(values) == len(other) and all(map(operator.is_, values, other))


def _build_collection(open_terms: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    blocks = _make_blocks(open_terms, masks)
    blocks_of: list[list[int]] = [[] for _ in open_terms]
    for number, block in enumerate(blocks):
        blocks_of[block.target].append(number)

    words = [path_words(terms.snapshot) for terms in open_terms]
    chunk_base = [0, *accumulate(block.chunks for block in blocks)]
    mean_length = sum(block.total_length for block in blocks) / max(chunk_base[-1], 1)
    chunk_counts = _concatenate([np.diff(block.first_chunks) for block in blocks]).astype(np.int64)
    return ChunkCollection(
        open_terms=open_terms,
        words=words,
        blocks=blocks,
        chunk_base=chunk_base,
        file_base=[0, *accumulate(len(block.files) for block in blocks)],
        blocks_of=blocks_of,
        chunk_counts=chunk_counts,
        first_chunks=chunk_counts.cumsum() - chunk_counts,
        file_of=np.arange(len(chunk_counts)).repeat(chunk_counts),
        kinds=_concatenate([words[block.target].kind[block.files] for block in blocks]).astype(np.uint8),
        mean_length=max(mean_length, 1.0),
    )


def _make_blocks(open_terms: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> list[ChunkBlock]:
    """Return the block of each shard of each target that has chunks."""
    blocks: list[ChunkBlock] = []
    for target, (terms, mask) in enumerate(zip(open_terms, masks, strict=True)):
        for shard in range(len(terms.snapshot.shards)):
            if mask is None:
                block = _cached_block(target, terms, shard)
            else:
                block = make_block(target, terms, shard, mask)
            if block is not None:
                blocks.append(block)

    return blocks


def _cached_block(target: int, open_terms: OpenedTerms, shard: int) -> ChunkBlock | None:
    """Make a block, or return the cached one for the same table."""
    table = open_terms.terms[shard]
    # The block keeps its table alive, so no other table can get the same id meanwhile.
    block: ChunkBlock | None = open_terms.snapshot.remember(
        ("ranking block", shard, id(table), target), lambda: make_block(target, open_terms, shard, None)
    )
    return block


def _concatenate(arrays: Sequence[AnyArray]) -> AnyArray:
    if len(arrays) == 1:
        return arrays[0]
    if arrays:
        return np.concatenate(arrays)

    return np.zeros(0)
