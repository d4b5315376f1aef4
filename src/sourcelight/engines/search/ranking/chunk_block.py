"""The chunks of one shard of one target, under numbers that begin at 0 in each block.

A term table numbers all chunks of its shard. A target may lack some documents of the shard, and may have others in
several files, so a block gives each chunk of each of its files a number: first the files that have a document for the
first time, in the order of the table, then the files that repeat a document. With a table of three documents:

    document of the table      0        1     2
    its rows                   0, 1     2     3, 4
    file of the block          a.py     -     c.py     copy_of_a.py
    its chunks                 0, 1           2, 3     4, 5

This order makes the usual case fast. Where a target has each document once, chunks have the numbers of their rows, and
entries of the table can be used without a change.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, runs
from sourcelight.engines.search.index.view import DocumentPlacement
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.ranking.terms.term_table import TermEntries, TermTable

_MANY_COPIES = 16
"""Rows for each copied row up to which it is faster to mark the rows with copies than to look each copy up."""


@dataclass(frozen=True, slots=True)
class RowCopies:
    """The rows of a table that a block has more than once.

    Attributes
    ----------
    rows
        Such a row for each further chunk, ascending.
    chunks
        The number of that further chunk.
    is_copied
        Whether each row of the table is among `rows`; empty without any.
    """

    rows: NDArray[np.uint32]
    chunks: Int64Array
    is_copied: BoolArray

    def of(self, rows: AnyArray) -> _Copies:
        """Return the further chunks of some rows, which ascend."""
        if len(self.rows) * _MANY_COPIES <= len(rows):
            copies = self._look_up(rows)
        else:
            copies = self._filter(rows)
        order = copies.chunks.argsort(kind="stable")
        return _Copies(copies.chunks.take(order), copies.positions.take(order))

    def _look_up(self, rows: AnyArray) -> _Copies:
        """Look each copied row up among `rows`."""
        positions = rows.searchsorted(self.rows)
        matching = (rows.take(positions, mode="clip") == self.rows).nonzero()[0]
        return _Copies(self.chunks.take(matching), positions.take(matching))

    def _filter(self, rows: AnyArray) -> _Copies:
        """Look those of `rows` up that have copies."""
        positions = self.is_copied.take(rows).nonzero()[0]
        copied_rows = rows.take(positions)
        starts = self.rows.searchsorted(copied_rows, side="left")
        counts = self.rows.searchsorted(copied_rows, side="right") - starts
        return _Copies(self.chunks.take(runs(starts, counts)), positions.repeat(counts))


class _Copies(NamedTuple):
    """Further chunks of rows, ascending, and for each the index of its row in the array that was asked about."""

    chunks: Int64Array
    positions: Int64Array


@dataclass(frozen=True, slots=True)
class ChunkBlock:
    """The chunks of one shard of one target.

    Attributes
    ----------
    target
        Index of the target.
    table
        Term table of the shard.
    files
        Files of the view that have chunks here, in the order of their chunks.
    documents
        The document of each of `files`.
    first_chunks
        Number of the first chunk of each of `files`; one more at the end.
    rows
        Row of each chunk in the table; None if it is the chunk's number.
    lengths, file_lengths
        Terms in each chunk and in each of `files`.
    total_length
        Terms in all chunks.
    chunk_of_row
        Number of the first chunk of each row of the table, -1 for a row that the block doesn't have; None if it is the
        row's number.
    copies
        The rows that the block has more than once.
    """

    target: int
    table: TermTable
    files: Int64Array
    documents: Int64Array
    first_chunks: Int64Array
    rows: Int64Array | None
    lengths: AnyArray
    file_lengths: Float64Array
    total_length: int
    chunk_of_row: NDArray[np.int32] | None
    copies: RowCopies

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.first_chunks[-1])

    @property
    def file_of(self) -> Int64Array:
        """Index in `files` of each chunk's file."""
        return np.arange(len(self.files)).repeat(np.diff(self.first_chunks))

    @property
    def is_table(self) -> bool:
        """Whether the chunks are those of the table, with the same numbers."""
        return self.chunk_of_row is None and not len(self.copies.rows)

    def row_of(self, chunk: int) -> int:
        """Return the row of a chunk in the table."""
        return chunk if self.rows is None else int(self.rows[chunk])

    def rows_of(self, chunks: Int64Array) -> Int64Array:
        """Return the rows of some chunks in the table."""
        return chunks if self.rows is None else self.rows.take(chunks)

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the first and the last line of a row of the table."""
        return int(self.table.begin_line[row]), int(self.table.end_line[row])

    def renumber(self, entries: TermEntries) -> TermEntries:
        """Return entries of the table with the chunks of this block, ascending, instead of rows."""
        first_entries = self._first_entries(entries)
        if not len(self.copies.rows):
            return first_entries

        # All copies have higher numbers than all first chunks.
        copies = self.copies.of(entries.chunks)
        if not len(copies.chunks):
            return first_entries
        return TermEntries(
            np.concatenate([first_entries.chunks, copies.chunks]),
            np.concatenate([first_entries.counts, entries.counts.take(copies.positions)]),
            np.concatenate([first_entries.half_weights, entries.half_weights.take(copies.positions)]),
        )

    def _first_entries(self, entries: TermEntries) -> TermEntries:
        """Return entries with the first chunk of each row, without rows that the block doesn't have."""
        if self.chunk_of_row is None:
            return entries

        chunks = self.chunk_of_row.take(entries.chunks)
        present = (chunks >= 0).nonzero()[0]
        return TermEntries(chunks.take(present), entries.counts.take(present), entries.half_weights.take(present))


def make_block(target: int, target_terms: OpenedTerms, shard: int, mask: BoolArray | None) -> ChunkBlock | None:
    """Make the block of a shard's files, chosen by `mask` (None for all); return None if it would have no chunk."""
    table = target_terms.terms[shard]
    if table is None:
        return None

    block_files = _files_with_chunks(table, target_terms.snapshot.placement(shard), mask)
    files = block_files.files
    if not len(files):
        return None

    first_chunks = np.concatenate(([0], np.cumsum(block_files.chunk_counts)))
    distinct_chunks = int(first_chunks[block_files.distinct])
    has_copies = block_files.distinct < len(files)
    has_all_rows = distinct_chunks == table.chunks

    rows: Int64Array | None = None
    chunk_of_row: NDArray[np.int32] | None = None
    lengths: AnyArray = table.length
    copies = _NO_COPIES
    if has_copies or not has_all_rows:
        rows = runs(table.doc_chunk[block_files.documents].astype(np.int64), block_files.chunk_counts)
        lengths = table.length[rows]
        if not has_all_rows:
            chunk_of_row = _invert(rows[:distinct_chunks], table.chunks)
        if has_copies:
            copies = _find_copies(rows, distinct_chunks, table.chunks)

    return ChunkBlock(
        target=target,
        table=table,
        files=files,
        documents=block_files.documents,
        first_chunks=first_chunks,
        rows=rows,
        lengths=lengths,
        # `reduceat` sums between neighboring starts. No file is empty here: it would get the length of the next one.
        file_lengths=np.add.reduceat(lengths, first_chunks[:-1], dtype=np.float64),
        total_length=int(lengths.sum(dtype=np.int64)),
        chunk_of_row=chunk_of_row,
        copies=copies,
    )


class _BlockFiles(NamedTuple):
    """The files of a block, their documents and numbers of chunks; the first `distinct` repeat no document."""

    files: Int64Array
    documents: Int64Array
    chunk_counts: Int64Array
    distinct: int


def _files_with_chunks(table: TermTable, placement: DocumentPlacement, mask: BoolArray | None) -> _BlockFiles:
    """Return the files of a shard that have a chunk and that `mask` chooses."""
    files, documents = placement.files.astype(np.int64), placement.documents.astype(np.int64)
    if mask is not None:
        is_chosen = mask[files]
        files, documents = files[is_chosen], documents[is_chosen]

    chunk_starts = table.doc_chunk.astype(np.int64)
    chunk_counts = chunk_starts[documents + 1] - chunk_starts[documents]
    has_chunks = chunk_counts > 0
    files, documents, chunk_counts = files[has_chunks], documents[has_chunks], chunk_counts[has_chunks]

    # A placement is sorted by document, so files with the same content are neighbors.
    is_repeated = np.zeros(len(documents), dtype=np.bool_)
    is_repeated[1:] = documents[1:] == documents[:-1]
    distinct = (~is_repeated).nonzero()[0]
    order = np.concatenate([distinct, is_repeated.nonzero()[0]])
    return _BlockFiles(files[order], documents[order], chunk_counts[order], len(distinct))


def _invert(rows: Int64Array, row_count: int) -> NDArray[np.int32]:
    """Return the index in `rows` of each number below `row_count`, -1 for a missing one."""
    indices = np.full(row_count, -1, dtype=np.int32)
    indices[rows] = np.arange(len(rows), dtype=np.int32)
    return indices


def _find_copies(rows: Int64Array, distinct_chunks: int, row_count: int) -> RowCopies:
    """Return the copies of a block, from the row of each of its chunks; those from `distinct_chunks` on are copies."""
    by_row = rows[distinct_chunks:].argsort(kind="stable")
    copied_rows = rows[distinct_chunks:][by_row].astype(np.uint32)
    is_copied = np.zeros(row_count, dtype=np.bool_)
    is_copied[copied_rows] = True
    return RowCopies(copied_rows, distinct_chunks + by_row, is_copied)


_NO_COPIES = RowCopies(np.zeros(0, np.uint32), np.zeros(0, np.int64), np.zeros(0, np.bool_))
