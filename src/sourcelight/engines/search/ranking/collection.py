"""The ranked chunks: all files of the targets, mapped from the chunks of the tables of their shards.

A block is the chunks of one shard of one target. Files and chunks are numbered through all blocks, file by file:

    target  block  file of the view    file of the collection  chunks
    0       0      0 README.md         -                       none, the file is empty
    0       0      1 pump.py           0                       0, 1
    0       1      2 tank.py           1                       2
    1       2      0 rain.go           2                       3, 4, 5

The chunks of a block have numbers in the term table of the shard, too. Where a revision has all documents of a shard, a
chunk's number is its number in the table plus a constant; else it is looked up. To keep that fast path, files that
repeat a document come last in their block.
"""

from __future__ import annotations

import operator
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, UInt8Array
from sourcelight.engines.search.ranking.buffers import ScratchBuffers
from sourcelight.engines.search.ranking.chunk_block import ChunkBlock, Entries, chunk_definitions, make_block
from sourcelight.engines.search.ranking.import_scores import import_scores
from sourcelight.engines.search.ranking.paths import PathWords, path_words
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.symbols import SymbolTable


class TableChunk(NamedTuple):
    """A chunk as its term table numbers it: the number of the block, and the row of the block's table."""

    block: int
    row: int


class ViewFile(NamedTuple):
    """A file as a commit view numbers it: the index of the target, and the number of the file in the target's view."""

    target: int
    number: int


@dataclass(frozen=True)
class ChunkCollection:
    """All chunks that are ranked, in blocks.

    Attributes
    ----------
    chunk_base, file_base
        Number of the first chunk and of the first file of each block; one more at the end.
    counts, first
        Number of chunks of each file, and the number of its first one.
    file_of
        The file of each chunk.
    kinds
        Index of each file's kind in `paths.KINDS`.
    blocks_of
        Numbers of the blocks of each target.
    over
        Numbers of chunks and files in all parts, if this is one of several; `mean_length` is then the mean of all. In a
        cluster, each worker ranks the part of the chunks that it stores.
    """

    open_terms: Sequence[OpenedTerms]
    masks: Sequence[BoolArray | None]
    blocks: Sequence[ChunkBlock]
    chunk_base: Sequence[int]
    file_base: Sequence[int]
    words: Sequence[PathWords]
    mean_length: float
    counts: Int64Array
    first: Int64Array
    file_of: Int64Array
    kinds: UInt8Array
    blocks_of: Sequence[Sequence[int]]
    over: tuple[int, int] | None = None
    _norms: dict[float, tuple[Float64Array, Float64Array]] = field(default_factory=dict)

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return self.chunk_base[-1]

    @property
    def files(self) -> int:
        """Number of files with chunks."""
        return self.file_base[-1]

    @property
    def of_all(self) -> tuple[int, int]:
        """Number of chunks and files, including other parts."""
        return self.over or (self.chunks, self.files)

    @property
    def length(self) -> int:
        """Terms in all chunks."""
        return sum(block.total_length for block in self.blocks)

    def part_of(self, chunks: int, files: int, length: int) -> ChunkCollection:
        """Return the collection as a part of a whole with these numbers of chunks, files and terms."""
        mean = max(length / chunks, 1.0) if chunks else 1.0
        return replace(self, mean_length=mean, over=(chunks, files), _norms={})

    def symbols_of(self, number: int) -> SymbolTable | None:
        """Return the definitions beside the table of a block, or None while they are not known."""
        return self.open_terms[self.blocks[number].target].symbols[self.shard_of(number)]

    def shard_of(self, number: int) -> int:
        """Return the index of a block's shard among the shards of its target."""
        block = self.blocks[number]
        tables = self.open_terms[block.target].terms
        return next(index for index, table in enumerate(tables) if table is block.table)

    def definition_names(self, chunks: Int64Array) -> list[Sequence[bytes]]:
        """Return the names of the definitions that begin in each of some chunks, ascending."""
        names_by_chunk: list[Sequence[bytes]] = []
        # `chunks` ascend, so the chunks of one block are a slice.
        bounds = chunks.searchsorted(self.chunk_base).tolist()
        for number, (start, end) in enumerate(pairwise(bounds)):
            if start < end:
                names_by_chunk += self._definition_names_in(number, chunks[start:end] - self.chunk_base[number])
        return names_by_chunk

    def _definition_names_in(self, number: int, chunks: Int64Array) -> list[Sequence[bytes]]:
        """Return the names of the definitions that begin in chunks of a block, by their numbers in the block."""
        symbols = self.symbols_of(number)
        if symbols is None:
            return [()] * len(chunks)

        block = self.blocks[number]
        if block.source is not None:
            chunks = block.source.take(chunks)
        definitions = chunk_definitions(self.open_terms[block.target].snapshot, block.table, symbols)
        rows, counts = definitions.rows_in(chunks)
        names = symbols.texts(symbols.name.take(rows))
        ends = counts.cumsum().tolist()
        return [names[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]

    @cached_property
    def imported(self) -> Float64Array:
        """Imports of each file, 0 to 1: the logarithm of their number, divided by the maximum of its repository."""
        by_target = [import_scores(target_terms) for target_terms in self.open_terms]
        return _concatenate([by_target[block.target][block.files] for block in self.blocks])

    def table_chunk(self, chunk: int) -> TableChunk:
        """Return the block of a chunk, and its number in the term table of that block."""
        number = bisect_right(self.chunk_base, chunk) - 1
        row = chunk - self.chunk_base[number]
        source = self.blocks[number].source
        if source is not None:
            row = int(source[row])
        return TableChunk(number, row)

    def view_file(self, file: int) -> ViewFile:
        """Return the target of a file, and its number in the view of that target's commit."""
        number = bisect_right(self.file_base, file) - 1
        block = self.blocks[number]
        return ViewFile(block.target, int(block.files[file - self.file_base[number]]))

    def norms(self, b: float) -> tuple[Float64Array, Float64Array]:
        """Return the divisor of the counts of each chunk and each file: 1 - b + b · length / mean."""
        norms = self._norms.get(b)
        if norms is None:
            chunks_of_all, files_of_all = self.of_all
            terms_of_all = self.mean_length * chunks_of_all
            mean_file = terms_of_all / max(files_of_all, 1) or 1.0
            chunk_norms = [(1.0 - b) + (b / self.mean_length) * block.length for block in self.blocks]
            file_norms = [1.0 - b + b * block.file_length / mean_file for block in self.blocks]
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
        for bounds, entries, block, base in self._tables:
            start, end = bounds(encoded)
            if start < end:
                table_entries = entries(start, end)
                entries_by_block.append((table_entries if block is None else block.place_entries(table_entries), base))

        return CollectionScores(entries_by_block, sum(len(table_entries[0]) for table_entries, _ in entries_by_block))

    @cached_property
    def scratch(self) -> ScratchBuffers:
        """Scratch buffers for scores."""
        return ScratchBuffers(self.chunks)

    @cached_property
    def _tables(self) -> Sequence[tuple[Any, Any, ChunkBlock | None, int]]:
        """Per block: the term index, the entries, the block that has them if it isn't this one, and its base."""
        tables = []
        for block, base in zip(self.blocks, self.chunk_base, strict=False):
            numbering = None if block.is_table else block
            tables.append((block.table.bounds, block.table.entries, numbering, base))
        return tables

    def in_paths(self, term: str) -> tuple[Int64Array, Float64Array] | None:
        """Return the files with a term in their path, ascending, with its weight, or None without any."""
        starts, numbers, counts = [], [], []
        for start, words in zip(self.view_starts, self.words, strict=False):
            files_with_term = words.terms.get(term)
            if files_with_term is not None:
                starts.append(start)
                numbers.append(files_with_term[0])
                counts.append(files_with_term[1])

        if not numbers:
            return None

        bases = np.array(starts).repeat([len(files_of_target) for files_of_target in numbers])
        files, weights = self.view_numbers.take(_concatenate(numbers) + bases), _concatenate(counts)
        # -1: a file that this collection leaves out. Sorted, these come first.
        order = files.argsort()[np.count_nonzero(files < 0) :]
        if not len(order):
            return None
        return files.take(order).astype(np.int64), weights.take(order).astype(np.float64)

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


@dataclass(frozen=True, slots=True)
class CollectionScores:
    """Entries of a term by block, each with the offset of the block's numbers, and the number of all entries."""

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
    if len(arrays) == 1:
        return arrays[0]
    if arrays:
        return np.concatenate(arrays)

    return np.zeros(0)


def make_collection(open_terms: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    """Combine the chunks of targets; `masks` choose the files of each target, None for all."""
    if not open_terms or any(mask is not None for mask in masks):
        return _build_collection(open_terms, masks)

    sources = [(terms.snapshot, *terms.terms) for terms in open_terms]
    # The last collection without filters is kept as long as its first snapshot. It is compared by identity: shards that
    # get their term table later must make a new one. So must a repository that has another name by now: its snapshot is
    # the same, and results would have the former name.
    names = [(terms.target.repository.name, terms.target.revision) for terms in open_terms]
    cached: list[tuple[Any, Any, ChunkCollection]] = open_terms[0].snapshot.remember("ranking space", list)
    for cached_names, cached_sources, collection in cached[:1]:
        if names == cached_names and all(map(_are_identical, cached_sources, sources)):
            return collection

    collection = _build_collection(open_terms, masks)
    cached[:] = [(names, sources, collection)]
    return collection


def _are_identical(values: Sequence[Any], other: Sequence[Any]) -> bool:
    return len(values) == len(other) and all(map(operator.is_, values, other))


def _build_collection(open_terms: Sequence[OpenedTerms], masks: Sequence[BoolArray | None]) -> ChunkCollection:
    blocks: list[ChunkBlock] = []
    for target, (terms, mask) in enumerate(zip(open_terms, masks, strict=True)):
        for shard in range(len(terms.snapshot.shards)):
            if mask is None:
                shard_block = _cached_block(target, terms, shard)
            else:
                shard_block = make_block(target, terms, shard, mask)
            if shard_block is not None:
                blocks.append(shard_block)

    chunk_base = [0, *accumulate(block.chunks for block in blocks)]
    file_base = [0, *accumulate(len(block.files) for block in blocks)]
    blocks_of: list[list[int]] = [[] for _ in open_terms]
    for number, block in enumerate(blocks):
        blocks_of[block.target].append(number)

    total = sum(block.total_length for block in blocks)
    mean = total / max(chunk_base[-1], 1)
    words = [path_words(terms.snapshot) for terms in open_terms]
    counts = _concatenate([np.diff(block.first) for block in blocks]).astype(np.int64)
    return ChunkCollection(
        open_terms=open_terms,
        masks=masks,
        blocks=blocks,
        chunk_base=chunk_base,
        file_base=file_base,
        words=words,
        mean_length=max(mean, 1.0),
        counts=counts,
        first=counts.cumsum() - counts,
        file_of=np.arange(len(counts)).repeat(counts),
        kinds=_concatenate([words[block.target].kind[block.files] for block in blocks]).astype(np.uint8),
        blocks_of=blocks_of,
    )


def _cached_block(target: int, open_terms: OpenedTerms, shard: int) -> ChunkBlock | None:
    """Make a block, or return the cached one for the same table."""
    table = open_terms.terms[shard]
    # The block keeps its table alive, so no other table can get the same id meanwhile.
    block: ChunkBlock | None = open_terms.snapshot.remember(
        ("ranking block", shard, id(table), target), lambda: make_block(target, open_terms, shard, None)
    )
    return block
