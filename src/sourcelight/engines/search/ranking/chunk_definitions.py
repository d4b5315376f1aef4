"""Definitions by the chunk in which they begin, for many chunks at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.engines.search.ranking.terms.term_table import TermTable
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.engines.symbols import SymbolTable


@dataclass(frozen=True, slots=True)
class ChunkDefinitions:
    """The definitions of a table, chunk by chunk.

    Attributes
    ----------
    first
        Start of each chunk's definitions in `rows`; one more at the end.
    rows
        Rows of the table of definitions; those of one chunk in their order.
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
