"""The chunks of one shard of one target, mapped from the chunks of the shard's table, and the definitions in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Float64Array, Int64Array, UInt8Array, runs
from sourcelight.engines.search.ranking.terms.term_files import OpenedTerms
from sourcelight.engines.search.ranking.terms.term_table import TermTable
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.symbols import SymbolTable

Entries = tuple[AnyArray, UInt8Array, UInt8Array]
_EMPTY = np.zeros(0, dtype=np.int64)
_EMPTY_PAIR = _EMPTY, _EMPTY


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
        Files of the view that have chunks here, by document. Files that repeat the document of another come last.
    documents
        The document of each of `files`.
    first
        Number of the first chunk of each of `files`, within this block; one more at the end.
    source
        Number of each chunk in the table; None if it is the same.
    length
        Terms in each chunk.
    file_length
        Terms in each of `files`.
    chunk_index
        First number of each chunk of the table, -1 if the block doesn't have it; None if it is the same.
    copied, copies
        Chunks of the table that the block has again, ascending, and their further numbers.
    twice
        Whether each chunk of the table is among `copied`.
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
    chunk_index: NDArray[np.int32] | None
    copied: NDArray[np.uint32]
    copies: Int64Array
    twice: BoolArray

    @property
    def chunks(self) -> int:
        """Number of chunks."""
        return int(self.first[-1])

    @property
    def file_of(self) -> Int64Array:
        """Place in `files` of each chunk's file."""
        return np.arange(len(self.files)).repeat(np.diff(self.first))

    @property
    def is_table(self) -> bool:
        """Whether the chunks are the table's chunks, with the same numbers."""
        return self.chunk_index is None and not len(self.copied)

    def lines_of(self, row: int) -> tuple[int, int]:
        """Return the first and the last line of a chunk of the table."""
        return int(self.table.begin_line[row]), int(self.table.end_line[row])

    def place_entries(self, entries: Entries) -> Entries:
        """Turn entries of the table into entries of this block, ascending."""
        rows, counts, defined = entries
        copies_of_rows = self._find_copies(rows) if len(self.copied) else _EMPTY_PAIR
        if self.chunk_index is None:
            placed_entries = rows, counts, defined
        else:
            chunk_numbers = self.chunk_index.take(rows)
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

    def _find_copies(self, rows: AnyArray) -> tuple[Int64Array, Int64Array]:
        """Return the numbers of copies of some chunks of the table, ascending, and for each the index of its chunk."""
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


def make_block(target: int, target_terms: OpenedTerms, shard: int, mask: BoolArray | None) -> ChunkBlock | None:
    """Make the block of a shard's files, chosen by `mask` (None for all); return None if it would have no chunk."""
    table = target_terms.terms[shard]
    if table is None:
        return None

    placement = target_terms.snapshot.placement(shard)
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
    source = positions = None
    if distinct_chunks < table.chunks or is_repeated.any():
        source = runs(chunk_starts[documents], counts)

    if source is not None and distinct_chunks < table.chunks:
        positions = np.full(table.chunks, -1, dtype=np.int32)
        positions[source[:distinct_chunks]] = np.arange(distinct_chunks, dtype=np.int32)

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
        target=target,
        table=table,
        files=files,
        documents=documents,
        first=first,
        source=source,
        length=length,
        total_length=total,
        file_length=lengths,
        chunk_index=positions,
        copied=copied,
        copies=copies,
        twice=twice,
    )


@dataclass(frozen=True, slots=True)
class ChunkDefinitions:
    """The definitions of a table, chunk by chunk.

    Attributes
    ----------
    first
        Start of each chunk's definitions in `rows`; one more at the end.
    rows
        Rows of the table of definitions; rows of a chunk in their order.
    """

    first: NDArray[np.uint32]
    rows: NDArray[np.uint32]

    def rows_in(self, chunks: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the rows of some chunks of the table, one chunk after another, and the number of rows of each."""
        first = self.first.take(chunks).astype(np.int64)
        counts = self.first.take(chunks + 1) - first
        positions = np.arange(int(counts.sum())) + (first - counts.cumsum() + counts).repeat(counts)
        return self.rows.take(positions).astype(np.int64), counts


def chunk_definitions(snapshot: OpenedCommit, table: TermTable, symbols: SymbolTable) -> ChunkDefinitions:
    """Assign the definitions of a shard to its chunks, once for a snapshot."""
    key = "chunk definitions", id(table), id(symbols)
    definitions: ChunkDefinitions = snapshot.remember(key, lambda: _assign(table, symbols))
    return definitions


def _assign(table: TermTable, symbols: SymbolTable) -> ChunkDefinitions:
    lines = symbols.line.astype(np.int64)
    bounds = symbols.doc_first.astype(np.int64)
    documents = np.arange(symbols.documents).repeat(bounds[1:] - bounds[:-1])
    if not table.chunks or not len(lines):
        return ChunkDefinitions(np.zeros(table.chunks + 1, dtype=np.uint32), np.zeros(0, dtype=np.uint32))

    chunk_documents, last_lines = table.chunk_doc.astype(np.int64), table.end_line.astype(np.int64)
    # Document and line as one number: chunks ascend by it, so one search finds the chunks of all definitions.
    size = max(int(lines.max()), int(last_lines.max())) + 1
    chunks = (chunk_documents * size + last_lines).searchsorted(documents * size + lines)
    in_table = np.minimum(chunks, table.chunks - 1)
    rows = (chunk_documents.take(in_table) == documents).nonzero()[0]
    chunks = in_table.take(rows)
    order = chunks.argsort(kind="stable")
    first = np.concatenate(([0], np.bincount(chunks, minlength=table.chunks).cumsum()))
    return ChunkDefinitions(first.astype(np.uint32), rows.take(order).astype(np.uint32))
