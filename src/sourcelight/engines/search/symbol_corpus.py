"""The definitions of a corpus as one table, with rows and documents numbered through, and its rows as columns."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array, arrow_array, arrow_strings
from sourcelight.core.caching import Memo
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.model import DocumentNumbers, FileNumbers, LineNumbers, Target
from sourcelight.engines.search.scan.columns import BatchSource, FileRows, file_columns, path_span_columns
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.text import arrow_binary, code_points, text_column
from sourcelight.engines.symbols import KINDS, SymbolTable
from sourcelight.engines.symbols.table import names_with

MAX_LINE_BYTES = 4096
"""Bytes above which a definition has no line: a bundled file has thousands of definitions in one line."""

_DECLARATION = 1
"""Flag of a declaration without a body."""

_MAX_CACHED_PATTERNS = 64
"""Patterns whose rows are cached."""

_MAX_CACHED_ROWS = 20_000
"""Rows beyond which those of a pattern are not cached."""


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
        self._tables: list[SymbolTable] = []
        counts = np.zeros(corpus.documents, dtype=np.int64)
        for shard_index, table in enumerate(tables):
            # Documents without a table keep 0, so their range of rows is empty.
            if table is not None and len(table):
                self._tables.append(table)
                first_document = int(corpus.doc_base[shard_index])
                document_counts = np.diff(table.doc_first.astype(np.int64))
                counts[first_document : first_document + table.documents] = document_counts

        self.doc_first = np.zeros(corpus.documents + 1, dtype=np.int64)
        np.cumsum(counts, out=self.doc_first[1:])
        self.row_base = _sums([len(table) for table in self._tables])
        self._name_base = _sums([len(table.name_start) - 1 for table in self._tables])
        sizes = _sums([len(table.names) for table in self._tables])

        # One text for all names: a pattern runs once, instead of once per shard, which cost 21 ms without a match.
        self._names = b"".join([table.names for table in self._tables])
        bases = sizes.tolist()
        starts = [table.name_start[:-1] + base for table, base in zip(self._tables, bases, strict=False)]
        self._name_start = np.concatenate([*starts, sizes[-1:]])

        no_codes = np.zeros(0, dtype=np.uint8)
        self._kind = np.concatenate([no_codes, *[table.kind for table in self._tables]])
        flags = np.concatenate([no_codes, *[table.flags for table in self._tables]])
        self._defining = flags & _DECLARATION == 0

    def has_tables(self, tables: Sequence[SymbolTable | None]) -> bool:
        """Return whether it was made from these tables."""
        return len(tables) == len(self.tables) and all(map(operator.is_, tables, self.tables))

    def rows(self) -> Int64Array:
        """Return all rows that are definitions, not declarations."""
        return np.flatnonzero(self._defining)

    def rows_named(self, pattern: CompiledPattern) -> Int64Array:
        """Return the definitions, ascending, whose names match the pattern; cached, so do not write to the array."""
        return self._row_cache.remember(
            pattern, lambda: self._find_rows(pattern), keep=lambda rows: len(rows) <= _MAX_CACHED_ROWS
        )

    def _find_rows(self, pattern: CompiledPattern) -> Int64Array:
        names = names_with(pattern, self._names, self._name_start)
        row_lists = [np.zeros(0, dtype=np.int64)]
        for table_index, start, end in _runs(names, self._name_base):
            table_names = names[start:end] - self._name_base[table_index]
            table_rows = self._tables[table_index].rows_of_names(table_names)
            row_lists.append(table_rows + self.row_base[table_index])

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
    bounds = values.searchsorted(bases).tolist()
    for index, (start, end) in enumerate(pairwise(bounds)):
        if start < end:
            yield index, start, end


def _sums(sizes: Sequence[int]) -> AnyArray:
    sums = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(np.array(sizes, dtype=np.int64), out=sums[1:])
    return sums


@dataclass(frozen=True, slots=True)
class SymbolRows:
    """Definitions, sorted by file, with the file, document and table row of each."""

    file: FileNumbers
    document: DocumentNumbers
    row: Int64Array

    def __len__(self) -> int:
        return len(self.file)

    def slice(self, start: int, end: int) -> SymbolRows:
        """Return some of the rows."""
        return SymbolRows(
            file=FileNumbers(self.file[start:end]),
            document=DocumentNumbers(self.document[start:end]),
            row=self.row[start:end],
        )


def symbol_batch(rows: SymbolRows, corpus: Corpus, symbols: SymbolCorpus, source: BatchSource) -> Any:
    """Make a record batch of definitions."""
    import pyarrow as pa

    size = len(rows)
    # Look-ups in tables and lines must ascend, so rows are handled in table order and put back into file order.
    order = np.argsort(rows.row, kind="stable")
    inverse = np.argsort(order, kind="stable")
    definitions = _read_tables(symbols, rows.row[order])
    doc_start = corpus.doc_start[rows.document[order]]
    name_offset = doc_start + definitions.offset

    # Several definitions may be on one line; its text is read once.
    lines, of_row = np.unique(corpus.lines_of(name_offset), return_inverse=True)
    line_starts, line_ends = corpus.line_bounds(LineNumbers(lines))
    texts = text_column(arrow_binary(line_ends - line_starts, corpus.data(line_starts, line_ends)))
    byte_start = name_offset - line_starts[of_row]
    byte_end = byte_start + definitions.name_bytes
    start = code_points(texts, of_row, byte_start)[inverse]
    end = code_points(texts, of_row, byte_end)[inverse]
    line_offset = line_starts[of_row] - doc_start
    is_visible = (line_ends - line_starts <= MAX_LINE_BYTES)[of_row][inverse]
    line = texts.strings.take(arrow_array(of_row[inverse].astype(np.int64), is_visible))
    distinct_files, first = np.unique(rows.file, return_index=True)
    files = FileNumbers(distinct_files)
    columns: dict[str, Any] = {
        "line_number": arrow_array(definitions.line[inverse].astype(np.int32)),
        "line": line,
        "start": _single_lists(start, is_visible),
        "end": _single_lists(end, is_visible),
        "byte_start": _single_lists(byte_start[inverse], is_visible),
        "byte_end": _single_lists(byte_end[inverse], is_visible),
        "line_offset": arrow_array(line_offset[inverse]),
        "match_count": arrow_array(np.ones(size, dtype=np.int32)),
        "symbol": _texts(definitions.names).take(arrow_array(inverse)),
        "symbol_kind": pa.DictionaryArray.from_arrays(
            arrow_array(definitions.kind[inverse].astype(np.int32)), arrow_strings(KINDS)
        ),
        "container": _texts(definitions.containers).take(arrow_array(inverse)),
    }
    of_files = FileRows(source, files, np.diff(np.append(first, size)))
    batch = pa.RecordBatch.from_pydict(
        file_columns(of_files, ("symbol",), None) | columns | path_span_columns(of_files)
    )
    members = np.repeat(corpus.member_of(files), of_files.row_counts)
    return batch.append_column("url", _urls(batch, source, members=members, start=start, end=end))


@dataclass(frozen=True, slots=True)
class _Definitions:
    """Columns of definitions, in the order of their tables; `offset` is the offset of the name in its document."""

    offset: Int64Array
    line: Int64Array
    kind: Int64Array
    name_bytes: Int64Array
    names: list[bytes]
    containers: list[bytes]


def _read_tables(symbols: SymbolCorpus, rows: Int64Array) -> _Definitions:
    """Read definitions from their tables; `rows` ascend."""
    offset, line, kind, name_bytes = (np.zeros(len(rows), dtype=np.int64) for _ in range(4))
    names: list[bytes] = []
    containers: list[bytes] = []
    for table, batch_rows, table_rows in symbols.parts(rows):
        name = table.name[table_rows].astype(np.int64)
        offset[batch_rows] = table.offset[table_rows]
        line[batch_rows] = table.line[table_rows]
        kind[batch_rows] = table.kind[table_rows]
        # Each name ends with a newline in the table, which is not part of it.
        name_bytes[batch_rows] = table.name_start[name + 1] - table.name_start[name] - 1
        names += table.texts(name)
        containers += table.texts(table.container[table_rows])

    return _Definitions(offset, line, kind, name_bytes, names, containers)


def _urls(batch: Any, source: BatchSource, *, members: Int64Array, start: Int64Array, end: Int64Array) -> Any:
    """Return the address of each definition; `start` and `end` are the columns of its name, from 0."""
    import pyarrow as pa
    import pyarrow.compute as pc

    prefixes = arrow_strings([_prefix(target) for target in source.targets]).take(arrow_array(members))
    number_text = batch.column("line_number").cast(pa.string())
    return pc.binary_join_element_wise(
        prefixes, batch.column("path").cast(pa.string()), "?L", number_text, ":",
        arrow_array(start + 1).cast(pa.string()), "-", number_text, ":", arrow_array(end + 1).cast(pa.string()), "",
    )  # fmt: skip


def _prefix(target: Target) -> str:
    revision = f"@{target.revision}" if target.revision else ""
    return f"/{target.repository.name}{revision}/-/blob/"


def _texts(texts: Sequence[bytes]) -> Any:
    sizes = np.fromiter(map(len, texts), np.int64, len(texts))
    return text_column(arrow_binary(sizes, b"".join(texts))).strings


def _single_lists(values: Int64Array, valid: BoolArray) -> Any:
    """Make lists of one number each, null where not `valid`."""
    import pyarrow as pa

    offsets = np.concatenate(([0], np.cumsum(valid))).astype(np.int32)
    values_array = arrow_array(values[valid].astype(np.int32))
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        pa.list_(pa.int32()), len(values), [validity, pa.py_buffer(offsets)], children=[values_array]
    )
