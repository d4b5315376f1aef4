"""Columns of matched lines and paths: types of rows, numbers, texts and spans."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, arrow_array
from sourcelight.engines.search.scan.chunks import Chunks, chunk_columns
from sourcelight.engines.search.scan.columns import line_bytes, line_values
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.spans import MatchedLines
from sourcelight.engines.search.scan.text import TextColumn, arrow_binary, code_points, text_column

ROW_TYPES = ("content", "path")


@dataclass(slots=True)
class LineValues:
    """Matched lines of files, ordered by file.

    Parameters
    ----------
    texts
        The lines.
    numbers
        1-based number of each.
    offsets
        Byte of its file at which each begins.
    span_counts
        Number of spans in each.
    span_starts, span_ends
        The spans, in bytes into their line.
    match_counts
        Number of spans that begin in each.
    values
        Other columns, by name.
    chunks
        The chunks of a search with chunks.
    """

    # Columns that spread over rows without a line come last, in `line_columns`: most batches have none of those.
    texts: TextColumn
    numbers: Int64Array
    offsets: Int64Array
    span_counts: Int64Array
    span_starts: Int64Array
    span_ends: Int64Array
    match_counts: Int64Array
    values: Mapping[str, Any] = field(default_factory=dict)
    chunks: Chunks | None = None

    @classmethod
    def of(cls, corpus: Corpus, lines: MatchedLines, documents: Int64Array) -> Self:
        """Return lines of documents of a corpus."""
        sizes = lines.line_end - lines.line_start
        texts = arrow_binary(sizes, line_bytes(corpus, lines.line_start, lines.line_end))
        return cls(
            texts=text_column(texts),
            numbers=lines.line - corpus.doc_line[documents] + 1,
            offsets=lines.line_start - corpus.doc_start[documents],
            span_counts=np.diff(lines.first_span),
            span_starts=lines.span_start,
            span_ends=lines.span_end,
            match_counts=lines.match_count,
            values=line_values(corpus, lines),
        )


def line_columns(lines: LineValues, valid: BoolArray | None) -> dict[str, Any]:
    """Make the columns of lines; they are null in rows that are not `valid` (None: all are)."""
    texts = lines.texts
    counts = lines.span_counts

    def spread(values: AnyArray, dtype: Any, default: int = 0) -> AnyArray:
        if valid is None:
            return values.astype(dtype)
        column = np.full(len(valid), default, dtype=dtype)
        column[valid] = values
        return column

    # List columns have one offset more than rows; a row without a line gets an empty list.
    offsets = np.concatenate(([0], np.cumsum(spread(counts, np.int64)))).astype(np.int32)
    byte_start = _list_column(offsets, lines.span_starts, valid)
    byte_end = _list_column(offsets, lines.span_ends, valid)

    # Bytes are code points in ASCII, which most batches are: then both columns share their arrays.
    start, end = byte_start, byte_end
    if len(texts.non_ascii_rows):
        row = np.repeat(np.arange(len(counts)), counts)
        start = _list_column(offsets, code_points(texts, row, lines.span_starts), valid)
        end = _list_column(offsets, code_points(texts, row, lines.span_ends), valid)

    value_index: Any = None
    if valid is not None:
        # Each row with a line takes the next value; a null index gives null.
        value_index = arrow_array((np.cumsum(valid) - 1).astype(np.int32), valid)

    def spread_values(values: Any) -> Any:
        return values if value_index is None else values.take(value_index)

    columns = {
        "line_number": arrow_array(spread(lines.numbers, np.int32), valid),
        "line": spread_values(texts.strings),
        "start": start,
        "end": end,
        "match_count": arrow_array(spread(lines.match_counts, np.int32, 1)),
        "line_offset": arrow_array(spread(lines.offsets, np.int64), valid),
        "byte_start": byte_start,
        "byte_end": byte_end,
    }
    for name, values in lines.values.items():
        columns[name] = spread_values(values)
    if lines.chunks is not None:
        columns |= chunk_columns(lines.chunks, valid)
    return columns


def row_types(row_type: NDArray[np.int8] | None) -> tuple[Sequence[str], NDArray[np.int8] | None]:
    """Return the row types in order of appearance, and the code of each row's type."""
    if row_type is None:
        return ROW_TYPES[:1], None
    if row_type[0]:
        return (ROW_TYPES[::-1], np.int8(1) - row_type)
    return (ROW_TYPES, row_type)


def _list_column(offsets: NDArray[np.int32], values: Int64Array, valid: BoolArray | None) -> Any:
    import pyarrow as pa

    values_array = arrow_array(values.astype(np.int32))
    if valid is None:
        return pa.ListArray.from_arrays(arrow_array(offsets), values_array)
    validity = pa.py_buffer(np.packbits(valid, bitorder="little"))
    list_type = pa.list_(pa.int32())
    return pa.Array.from_buffers(list_type, len(valid), [validity, pa.py_buffer(offsets)], children=[values_array])
