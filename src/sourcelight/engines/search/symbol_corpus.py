"""The definitions of a corpus as one table: names of all shards in one text, rows and documents numbered through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array
from sourcelight.core.caching import Memo
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.symbols import SymbolTable
from sourcelight.engines.symbols.table import names_with

_DECLARATION = 1

_MAX_CACHED_PATTERNS, _MAX_CACHED_ROWS = 64, 20_000
"""Patterns whose rows are cached, and maximum rows of each."""


class SymbolCorpus:
    """Definition tables, numbered through like the documents of their corpus.

    Parameters
    ----------
    corpus
        The corpus that has the documents.
    tables
        Table of each shard of the corpus, None if there is none.
    """

    def __init__(self, corpus: Corpus, tables: Sequence[SymbolTable | None]) -> None:
        self.tables = tuple(tables)
        self._row_cache = Memo(_MAX_CACHED_PATTERNS)
        tables_by_shard = [
            (shard_index, table) for shard_index, table in enumerate(tables) if table is not None and len(table)
        ]
        self._tables = [table for _, table in tables_by_shard]
        self.row_base = _sums([len(table) for table in self._tables])
        self._name_base = _sums([len(table.name_start) - 1 for table in self._tables])
        sizes = _sums([len(table.names) for table in self._tables])
        # One text for all names: a pattern runs once, instead of once per shard, which cost 21 ms without a match.
        self._names = b"".join([table.names for table in self._tables])
        bases = sizes.tolist()
        starts = [table.name_start[:-1] + base for table, base in zip(self._tables, bases, strict=False)]
        self._name_start = np.concatenate([*starts, sizes[-1:]])
        counts = np.zeros(corpus.documents, dtype=np.int64)
        for shard_index, table in tables_by_shard:
            first_document = int(corpus.doc_base[shard_index])
            # Documents without a table keep 0, so their range of rows is empty.
            counts[first_document : first_document + table.documents] = np.diff(table.doc_first.astype(np.int64))
        self.doc_first = np.zeros(corpus.documents + 1, dtype=np.int64)
        np.cumsum(counts, out=self.doc_first[1:])
        no_codes = np.zeros(0, dtype=np.uint8)
        self._kind = np.concatenate([no_codes, *(table.kind for table in self._tables)])
        self._defining = np.concatenate([no_codes, *(table.flags for table in self._tables)]) & _DECLARATION == 0

    def has_tables(self, tables: Sequence[SymbolTable | None]) -> bool:
        """Return whether it was made from these tables."""
        return len(tables) == len(self.tables) and all(a is b for a, b in zip(tables, self.tables, strict=True))

    def rows(self) -> Int64Array:
        """Return all rows that are definitions, not declarations."""
        return np.flatnonzero(self._defining)

    def rows_named(self, pattern: CompiledPattern) -> Int64Array:
        """Return the definitions, ascending, whose names match the pattern; cached, so do not write to the array."""
        return self._row_cache.remember(
            pattern, lambda: self._rows_named(pattern), keep=lambda rows: len(rows) <= _MAX_CACHED_ROWS
        )

    def _rows_named(self, pattern: CompiledPattern) -> Int64Array:
        names = names_with(pattern, self._names, self._name_start)
        row_lists = [np.zeros(0, dtype=np.int64)]
        for table_index, start, end in _runs(names, self._name_base):
            row_lists.append(self._tables[table_index].rows_of_names(names[start:end] - self._name_base[table_index]))
            row_lists[-1] += self.row_base[table_index]
        rows = np.concatenate(row_lists)
        defining: Int64Array = rows[self._defining[rows]]
        return defining

    def of_kinds(self, rows: Int64Array, kinds: UInt8Array) -> Int64Array:
        """Return the rows of these kinds."""
        selected: Int64Array = rows[np.isin(self._kind[rows], kinds)]
        return selected

    def documents_of(self, rows: Int64Array) -> Int64Array:
        """Return the document of each row."""
        documents: Int64Array = self.doc_first.searchsorted(rows, side="right") - 1
        return documents

    def parts(self, rows: Int64Array) -> Iterator[tuple[SymbolTable, slice, Int64Array]]:
        """Yield each table, the slice of the ascending `rows` that it has, and their numbers in it."""
        for table_index, start, end in _runs(rows, self.row_base):
            yield self._tables[table_index], slice(start, end), rows[start:end] - self.row_base[table_index]


def _runs(values: Int64Array, bases: Int64Array) -> Iterator[tuple[int, int, int]]:
    """Yield the index, start and end of each run of ascending values between two `bases`."""
    run_bounds = values.searchsorted(bases).tolist()
    for index in range(len(run_bounds) - 1):
        if run_bounds[index] < run_bounds[index + 1]:
            yield index, run_bounds[index], run_bounds[index + 1]


def _sums(sizes: Sequence[int]) -> AnyArray:
    sums = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.array(sizes, dtype=np.int64), out=sums[1:])
    return sums
