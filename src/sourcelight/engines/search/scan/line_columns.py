"""Columns of matched lines and paths: types of rows, numbers, texts and spans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, arrow_array
from sourcelight.engines.search.model import FileNumbers
from sourcelight.engines.search.scan.chunks import Chunks, chunk_columns
from sourcelight.engines.search.scan.columns import line_bytes, line_values
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.spans import MatchedLines
from sourcelight.engines.search.scan.text import arrow_binary, code_points, text_column

ROW_TYPES = ("content", "path")


class LineRows:
    """The rows of a batch; `row_count` is 0 if all of them are path matches."""

    def __init__(self, files: FileNumbers, row_counts: Int64Array, has_lines: BoolArray) -> None:
        self.files = files
        self.row_counts = row_counts
        self.has_lines = has_lines
        self.row_count = 0
        self.chunks: Chunks | None = None

    def fill(self, corpus: Corpus, lines: MatchedLines, documents: Int64Array) -> None:
        """Set the columns of lines, whose documents are given."""
        self.span_starts, self.span_ends, self.match_counts = lines.span_start, lines.span_end, lines.match_count
        self.row_count = len(lines)
        self.span_counts = np.diff(lines.first_span)
        self.line_numbers = lines.line - corpus.doc_line[documents] + 1
        self.line_offsets = lines.line_start - corpus.doc_start[documents]
        sizes = lines.line_end - lines.line_start
        self.texts = text_column(arrow_binary(sizes, line_bytes(corpus, lines.line_start, lines.line_end)))
        self.values = line_values(corpus, lines)


def line_columns(batch_rows: LineRows, valid: BoolArray | None) -> dict[str, Any]:
    """Make the columns of lines; they are null in rows that are not `valid` (None: all are)."""
    texts, counts = batch_rows.texts, batch_rows.span_counts

    def spread(values: AnyArray, dtype: Any, default: int = 0) -> AnyArray:
        if valid is None:
            return values.astype(dtype)
        column = np.full(len(valid), default, dtype=dtype)
        column[valid] = values
        return column

    # List columns have one offset more than rows; a row without a line gets an empty list.
    offsets = np.concatenate(([0], np.cumsum(spread(counts, np.int64)))).astype(np.int32)
    byte_start = _list_column(offsets, batch_rows.span_starts, valid)
    byte_end = _list_column(offsets, batch_rows.span_ends, valid)
    # Bytes are code points in ASCII, which most batches are: then both columns share their arrays.
    start, end = byte_start, byte_end
    if len(texts.non_ascii_rows):
        row = np.repeat(np.arange(len(counts)), counts)
        start = _list_column(offsets, code_points(texts, row, batch_rows.span_starts), valid)
        end = _list_column(offsets, code_points(texts, row, batch_rows.span_ends), valid)
    # Each row with a line takes the next value; a null index gives null.
    value_index = None if valid is None else arrow_array((np.cumsum(valid) - 1).astype(np.int32), valid)
    line = texts.strings if value_index is None else texts.strings.take(value_index)
    columns = {
        "line_number": arrow_array(spread(batch_rows.line_numbers, np.int32), valid),
        "line": line,
        "start": start,
        "end": end,
        "match_count": arrow_array(spread(batch_rows.match_counts, np.int32, 1)),
        "line_offset": arrow_array(spread(batch_rows.line_offsets, np.int64), valid),
        "byte_start": byte_start,
        "byte_end": byte_end,
    }
    for name, values in batch_rows.values.items():
        columns[name] = values if value_index is None else values.take(value_index)
    return columns | (chunk_columns(batch_rows.chunks, valid) if batch_rows.chunks is not None else {})


def row_types(row_type: NDArray[np.int8] | None) -> tuple[Sequence[str], NDArray[np.int8] | None]:
    """Return the row types in order of appearance, and the code of each row's type."""
    if row_type is None:
        return ROW_TYPES[:1], None
    return (ROW_TYPES[::-1], np.int8(1) - row_type) if row_type[0] else (ROW_TYPES, row_type)


def _list_column(offsets: NDArray[np.int32], values: Int64Array, valid: BoolArray | None) -> Any:
    import pyarrow as pa

    values_array = arrow_array(values.astype(np.int32))
    if valid is None:
        return pa.ListArray.from_arrays(arrow_array(offsets), values_array)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    list_type = pa.list_(pa.int32())
    return pa.Array.from_buffers(list_type, len(valid), [validity, pa.py_buffer(offsets)], children=[values_array])
