"""Definitions that match, as rows of the ``matches`` table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, arrow_array, arrow_strings
from sourcelight.engines.search.model import DocumentNumbers, FileNumbers, LineNumbers, Target
from sourcelight.engines.search.scan.columns import BatchSource, FileRows, file_columns, path_span_columns
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.text import arrow_binary, code_points, text_column
from sourcelight.engines.search.symbol_corpus import SymbolCorpus
from sourcelight.engines.symbols import KINDS

MAX_LINE_BYTES = 4096
"""Bytes above which a definition has no line: a bundled file has thousands of definitions in one line."""


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
        files, documents = FileNumbers(self.file[start:end]), DocumentNumbers(self.document[start:end])
        return SymbolRows(files, documents, self.row[start:end])


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
    is_visible = (line_ends - line_starts <= MAX_LINE_BYTES)[of_row]
    start, end = (code_points(texts, of_row, byte_offsets) for byte_offsets in (byte_start, byte_end))
    line_offset = line_starts[of_row] - doc_start
    line = texts.strings.take(arrow_array(of_row[inverse].astype(np.int64), is_visible[inverse]))
    is_missing = ~is_visible[inverse]
    start, end, byte_start, byte_end = (values[inverse] for values in (start, end, byte_start, byte_end))
    distinct_files, first = np.unique(rows.file, return_index=True)
    files = FileNumbers(distinct_files)
    columns: dict[str, Any] = {
        "line_number": arrow_array(definitions.line[inverse].astype(np.int32)),
        "line": line,
        "start": _single_lists(start, is_missing),
        "end": _single_lists(end, is_missing),
        "byte_start": _single_lists(byte_start, is_missing),
        "byte_end": _single_lists(byte_end, is_missing),
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
    return batch.append_column("url", _urls(batch, source, members, start, end))


@dataclass(frozen=True, slots=True)
class _Definitions:
    """Columns of definitions, in the order of their tables; `offset` is that of the name in its document."""

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


def _urls(batch: Any, source: BatchSource, members: Int64Array, start: Int64Array, end: Int64Array) -> Any:
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


def _single_lists(values: Int64Array, is_missing: BoolArray) -> Any:
    """Make lists of one number each, null if there is no line."""
    import pyarrow as pa

    offsets = np.concatenate(([0], np.cumsum(~is_missing))).astype(np.int32)
    values_array = arrow_array(values[~is_missing].astype(np.int32))
    validity = pa.py_buffer(np.packbits(~is_missing, bitorder="little"))
    return pa.Array.from_buffers(
        pa.list_(pa.int32()), len(values), [validity, pa.py_buffer(offsets)], children=[values_array]
    )
