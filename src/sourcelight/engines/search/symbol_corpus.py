"""The definitions of a fleet as one table: names of all shards in one text, rows and documents numbered through."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.caching import Memo
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.symbols import SymbolTable
from sourcelight.engines.symbols.table import names_with

Places = NDArray[np.int64]

_DECLARATION = 1

_MOST_LEARNED, _MOST_ROWS = 64, 20_000
"""Patterns whose rows are kept, and rows of each."""


class SymbolCorpus:
    """Tables of definitions, numbered through as the documents of their fleet are.

    Parameters
    ----------
    fleet
        Whose documents they describe.
    tables
        For each shard of the fleet its table, None where there is none.
    """

    def __init__(self, fleet: Corpus, tables: Sequence[SymbolTable | None]) -> None:
        self.tables = tuple(tables)
        self._learned = Memo(_MOST_LEARNED)
        held = [(number, table) for number, table in enumerate(tables) if table is not None and len(table)]
        self._held = [table for _, table in held]
        self.row_base = _sums([len(table) for table in self._held])
        self._name_base = _sums([len(table.name_start) - 1 for table in self._held])
        sizes = _sums([len(table.names) for table in self._held])
        self._names = b"".join([table.names for table in self._held])
        bases = sizes.tolist()
        starts = [table.name_start[:-1] + base for table, base in zip(self._held, bases, strict=False)]
        self._name_start = np.concatenate([*starts, sizes[-1:]])
        counts = np.zeros(fleet.documents, dtype=np.int64)
        for number, table in held:
            low = int(fleet.doc_base[number])
            counts[low : low + table.documents] = np.diff(table.doc_first.astype(np.int64))
        self.doc_first = np.zeros(fleet.documents + 1, dtype=np.int64)
        np.cumsum(counts, out=self.doc_first[1:])
        none = np.zeros(0, dtype=np.uint8)
        self._kind = np.concatenate([none, *(table.kind for table in self._held)])
        self._defining = np.concatenate([none, *(table.flags for table in self._held)]) & _DECLARATION == 0

    def is_of(self, tables: Sequence[SymbolTable | None]) -> bool:
        """Whether it was made of these tables."""
        return len(tables) == len(self.tables) and all(a is b for a, b in zip(tables, self.tables, strict=True))

    def rows(self) -> Places:
        """Give all rows that define something."""
        return np.flatnonzero(self._defining)

    def rows_named(self, pattern: CompiledPattern) -> Places:
        """Give the rows, ascending, that define something in whose name the pattern is found; not to be written to."""
        return self._learned.remember(
            pattern, lambda: self._rows_named(pattern), keep=lambda rows: len(rows) <= _MOST_ROWS
        )

    def _rows_named(self, pattern: CompiledPattern) -> Places:
        names = names_with(pattern, self._names, self._name_start)
        parts = [np.zeros(0, dtype=np.int64)]
        for number, low, high in _runs(names, self._name_base):
            parts.append(self._held[number].rows_of_names(names[low:high] - self._name_base[number]))
            parts[-1] += self.row_base[number]
        rows = np.concatenate(parts)
        defining: Places = rows[self._defining[rows]]
        return defining

    def of_kinds(self, rows: Places, kinds: NDArray[np.uint8]) -> Places:
        """Keep the rows of some kinds."""
        kept: Places = rows[np.isin(self._kind[rows], kinds)]
        return kept

    def documents_of(self, rows: Places) -> Places:
        """Give the document of each row."""
        found: Places = self.doc_first.searchsorted(rows, side="right") - 1
        return found

    def parts(self, rows: Places) -> Iterator[tuple[SymbolTable, slice, Places]]:
        """Cut ascending rows by table: the table, which of the rows, and their numbers in it."""
        for number, low, high in _runs(rows, self.row_base):
            yield self._held[number], slice(low, high), rows[low:high] - self.row_base[number]


def _runs(values: Places, bases: Places) -> Iterator[tuple[int, int, int]]:
    """Cut ascending values by the ranges that begin at `bases`."""
    bounds = values.searchsorted(bases).tolist()
    for number in range(len(bounds) - 1):
        if bounds[number] < bounds[number + 1]:
            yield number, bounds[number], bounds[number + 1]


def _sums(sizes: Sequence[int]) -> NDArray[Any]:
    found = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.array(sizes, dtype=np.int64), out=found[1:])
    return found
