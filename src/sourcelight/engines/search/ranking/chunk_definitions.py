"""The definitions that begin in each chunk, by the definition tables beside the term tables.

A definition table has the document and the line of each definition, a term table those of each chunk. Both ascend, so
one search assigns all definitions of a shard to their chunks. That is done once for a snapshot; a question then looks
the names of its best chunks up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array, runs
from sourcelight.engines.search.ranking.collection import ChunkCollection
from sourcelight.engines.search.ranking.terms.term_table import TermTable
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.symbols import SymbolTable


def definition_names(collection: ChunkCollection, chunks: Int64Array) -> list[Sequence[bytes]]:
    """Return the names of the definitions that begin in each of some chunks, ascending."""
    names_by_chunk: list[Sequence[bytes]] = []
    # `chunks` ascend, so the chunks of one block are a slice.
    bounds = chunks.searchsorted(collection.chunk_base).tolist()
    for number, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            chunks_of_block = chunks[start:end] - collection.chunk_base[number]
            names_by_chunk += _names_in_block(collection, number, chunks_of_block)
    return names_by_chunk


def _names_in_block(collection: ChunkCollection, number: int, chunks: Int64Array) -> list[Sequence[bytes]]:
    """Return the names of the definitions that begin in chunks of a block, by their numbers in the block."""
    symbols = collection.symbols_of(number)
    if symbols is None:
        return [()] * len(chunks)

    block = collection.blocks[number]
    definitions = _definitions_by_row(collection.open_terms[block.target].snapshot, block.table, symbols)
    rows, counts = definitions.of_rows(block.rows_of(chunks))
    names = symbols.texts(symbols.name.take(rows))
    ends = counts.cumsum().tolist()
    return [names[end - count : end] for end, count in zip(ends, counts.tolist(), strict=True)]


@dataclass(frozen=True, slots=True)
class _DefinitionsByRow:
    """The definitions of a shard, by the row of their chunk in the term table.

    Attributes
    ----------
    starts
        Start of each row's definitions in `definitions`; one more at the end.
    definitions
        Rows of the definition table; those of a chunk in their order.
    """

    starts: NDArray[np.uint32]
    definitions: NDArray[np.uint32]

    def of_rows(self, rows: Int64Array) -> tuple[Int64Array, Int64Array]:
        """Return the definitions of some rows, one row after another, and how many each has."""
        starts = self.starts.take(rows).astype(np.int64)
        counts = self.starts.take(rows + 1) - starts
        return self.definitions.take(runs(starts, counts)).astype(np.int64), counts


def _definitions_by_row(snapshot: OpenedCommit, table: TermTable, symbols: SymbolTable) -> _DefinitionsByRow:
    """Assign the definitions of a shard to its chunks, once for a snapshot."""
    key = "chunk definitions", id(table), id(symbols)
    definitions: _DefinitionsByRow = snapshot.remember(key, lambda: _assign(table, symbols))
    return definitions


def _assign(table: TermTable, symbols: SymbolTable) -> _DefinitionsByRow:
    if not table.chunks or not len(symbols.line):
        return _DefinitionsByRow(np.zeros(table.chunks + 1, dtype=np.uint32), np.zeros(0, dtype=np.uint32))

    lines, last_lines = symbols.line.astype(np.int64), table.end_line.astype(np.int64)
    bounds = symbols.doc_first.astype(np.int64)
    documents = np.arange(symbols.documents).repeat(bounds[1:] - bounds[:-1])
    documents_of_rows = table.chunk_doc.astype(np.int64)

    # Document and line as one number: rows ascend by it, so one search finds the rows of all definitions.
    line_limit = max(int(lines.max()), int(last_lines.max())) + 1
    row_ends = documents_of_rows * line_limit + last_lines
    rows = row_ends.searchsorted(documents * line_limit + lines)

    # A definition behind the last row of its document finds a row of the next one, and is left out.
    rows = np.minimum(rows, table.chunks - 1)
    definitions = (documents_of_rows.take(rows) == documents).nonzero()[0]
    rows = rows.take(definitions)

    by_row = rows.argsort(kind="stable")
    starts = np.concatenate(([0], np.bincount(rows, minlength=table.chunks).cumsum()))
    return _DefinitionsByRow(starts.astype(np.uint32), definitions.take(by_row).astype(np.uint32))
