"""Read a batch of matches by column, with missing columns and nulls evened out, and cut it after some matches."""

from __future__ import annotations

from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array, arrow_array, to_filled, to_numpy

_SPANS = ("start", "end", "byte_start", "byte_end")
"""Columns with a list for each row."""

_ASCII_END = 0x80
"""The first byte beyond ASCII."""

_PROBE = 1 << 16
"""Bytes that are checked for ASCII at a time."""

_CUT_COLUMNS = (("start", "end"), ("byte_start", "byte_end"))
"""Pairs of these columns with starts and ends."""

_MIN_CODED_ROWS = 16
"""Rows of a dictionary column below which Arrow's own conversion takes less time."""


def boundaries(rows: int, codes: list[Int64Array]) -> list[tuple[int, int]]:
    """Return the runs (start, stop) of rows in which none of `codes` changes; no rows have none."""
    if not rows:
        return []

    # True where a run starts: at the first row, and where a code differs from the previous row's code.
    changed = np.zeros(rows, bool)
    changed[0] = True
    for code in codes:
        changed[1:] |= code[1:] != code[:-1]

    starts = np.flatnonzero(changed)
    return list(zip(starts.tolist(), [*starts[1:].tolist(), rows], strict=True))


class MatchRows:
    """Rows of a batch."""

    def __init__(self, batch: Any) -> None:
        self.batch = batch

    def __len__(self) -> int:
        return int(self.batch.num_rows)

    def __contains__(self, name: str) -> bool:
        return bool(self.batch.schema.get_field_index(name) >= 0)

    def slice(self, start: int, end: int) -> MatchRows:
        """Return rows from `start` to `end`."""
        if (start, end) == (0, len(self)):
            return self
        return MatchRows(self.batch.slice(start, end - start))

    def column(self, name: str) -> Any:
        """Return a column; null in every row if the batch has it not."""
        if name in self:
            return self.batch.column(name)
        return pa.nulls(len(self), pa.string())

    def codes(self, name: str) -> Int64Array:
        """Return a number for each row that is the same only for the same text, or -1 for null."""
        if name not in self:
            return np.full(len(self), -1, np.int64)
        column = self.batch.column(name)
        if not pa.types.is_dictionary(column.type):
            column = column.dictionary_encode()
        return to_filled(column.indices, -1).astype(np.int64)

    def numbers(self, name: str) -> Int64Array:
        """Return a column of whole numbers; 0 for null."""
        if name not in self:
            return np.zeros(len(self), np.int64)
        column = self.batch.column(name)
        integers = column if pa.types.is_integer(column.type) else column.cast(pa.int64())
        return to_filled(integers, 0).astype(np.int64)

    def lists(self, name: str) -> tuple[Int64Array, Int64Array]:
        """Return the number of elements in the list of each row (0 for null), and all elements."""
        if name not in self:
            return np.zeros(len(self), np.int64), np.zeros(0, np.int64)

        column = self.batch.column(name)
        if not column.null_count and pa.types.is_list(column.type) and pa.types.is_int32(column.type.value_type):
            offsets = _offsets(column)
            # A slice keeps the `values` of the whole array, so cut them at the first and the last offset.
            values = to_numpy(column.values)[int(offsets[0]) : int(offsets[-1])]
            return np.diff(offsets).astype(np.int64), values.astype(np.int64)

        counts = to_filled(pc.list_value_length(column), 0).astype(np.int64)
        return counts, to_numpy(column.flatten()).astype(np.int64)

    def texts(self, name: str, row_indices: list[int] | None = None) -> list[str | None]:
        """Return a column (or its rows `row_indices`) as Python strings."""
        column = self.column(name)
        if row_indices is not None:
            column = column.take(arrow_array(np.asarray(row_indices, np.int64)))
        if len(column) < _MIN_CODED_ROWS or not pa.types.is_dictionary(column.type):
            values: list[str | None] = column.to_pylist()
            return values

        # Arrow makes each text of a dictionary anew for each row, in 2.4 µs; here each is made once.
        codes = to_filled(column.indices, -1).tolist()
        distinct = [code for code in dict.fromkeys(codes) if code >= 0]
        values = column.dictionary.take(arrow_array(np.array(distinct, np.int64))).to_pylist()
        texts = {-1: None, **dict(zip(distinct, values, strict=True))}
        return [texts[code] for code in codes]

    def take_texts(self, name: str, row_indices: Int64Array) -> Any:
        """Return the texts of a column at some rows, as strings of Arrow."""
        column = self.column(name)
        if pa.types.is_dictionary(column.type):
            codes = self.codes(name)[row_indices]
            return column.dictionary.take(arrow_array(codes, codes >= 0 if (codes < 0).any() else None))
        return column.take(arrow_array(row_indices)).cast(pa.string())

    def take_codes(self, name: str, row_indices: Int64Array) -> tuple[dict[int, Any], list[int]]:
        """Return the distinct values of a column by number, and the number at each row; null is an empty text."""
        column = self.column(name)
        if not pa.types.is_dictionary(column.type):
            values = [
                "" if value is None else value
                for value in column.take(arrow_array(np.asarray(row_indices, np.int64))).to_pylist()
            ]
            numbers = {value: number for number, value in enumerate(dict.fromkeys(values))}
            return {number: value for value, number in numbers.items()}, [numbers[value] for value in values]

        # The codes of the dictionary serve as numbers, so each distinct text is decoded once instead of once per row.
        codes = self.codes(name)[row_indices].tolist()
        text_of = {code: (column.dictionary[code].as_py() or "") if code >= 0 else "" for code in set(codes)}
        return text_of, codes

    def value(self, name: str, row: int) -> Any:
        """Return one value; None for null, and for a column that the batch lacks."""
        return self.batch.column(name)[row].as_py() if name in self else None

    def text(self, name: str, row: int) -> str:
        """Return one text; empty for null."""
        return self.value(name, row) or ""

    def first(self, name: str) -> str:
        """Return the text of the first row; empty for null."""
        return self.text(name, 0)

    def line_lengths(self) -> Int64Array:
        """Return the length of each line in code points."""
        line = self.column("line")
        if not line.null_count and pa.types.is_string(line.type):
            # In ASCII text a byte is a code point, so the offsets give the lengths without decoding.
            offsets = _offsets(line)
            if _is_ascii(line, offsets):
                return np.diff(offsets).astype(np.int64)
        return to_filled(pc.utf8_length(line), 0).astype(np.int64)

    def line_texts(self) -> list[str]:
        """Return each line; empty for null."""
        line = self.column("line")
        if line.null_count or not pa.types.is_string(line.type):
            return [text or "" for text in line.to_pylist()]

        offsets, data = _offsets(line).tolist(), line.buffers()[2]
        if data is None:
            return [""] * len(line)

        # Decoded from the buffer: `to_pylist` makes an Arrow scalar for each line first.
        view = memoryview(data)
        return [str(view[start:end], "utf-8") for start, end in pairwise(offsets)]

    def text_bytes(self, *, chunks: bool) -> Int64Array:
        """Return the bytes of each row's line and, with `chunks`, of its chunk."""
        line = self.column("line")
        if not line.null_count and pa.types.is_string(line.type):
            size = np.diff(_offsets(line)).astype(np.int64)
        else:
            size = to_filled(pc.binary_length(line), 0).astype(np.int64)

        if chunks:
            chunk = self.batch.column("chunk")
            lengths = to_filled(pc.binary_length(chunk.dictionary), 0).astype(np.int64)
            codes = self.codes("chunk")
            # Rows of a chunk follow each other; its text counts at the first of them only.
            is_new = np.append(True, codes[1:] != codes[:-1]) & (codes >= 0)
            size[is_new] += lengths[codes[is_new]]

        return size

    def files(self) -> list[tuple[int, int]]:
        """Return the runs of rows of one file at one revision."""
        return self._files

    @cached_property
    def _files(self) -> list[tuple[int, int]]:
        names = ("repository", "revision", "commit", "path")
        return boundaries(len(self), [self.codes(name) for name in names])

    def shorten(self, size: int) -> MatchRows:
        """Return the rows with ``line`` and ``chunk`` cut to `size` bytes (whole characters) and ``truncated`` set."""
        batch = self.batch
        for name in ("line", "chunk", "message"):
            if name not in self:
                continue
            prefixes = [text and text.encode()[:size].decode(errors="ignore") for text in self.texts(name)]
            column = pa.array(prefixes, pa.string())
            if name != "line":
                column = column.dictionary_encode()
            batch = batch.set_column(batch.schema.get_field_index(name), name, column)

        if "truncated" in self:
            flags = pa.array([True] * len(self))
            batch = batch.set_column(batch.schema.get_field_index("truncated"), "truncated", flags)

        return MatchRows(batch)

    def spans(self) -> int:
        """Return the number of matches in the rows."""
        return int(self.lists("start")[0].sum()) if "start" in self else 0

    def halve(self) -> tuple[MatchRows, MatchRows]:
        """Return a single row twice: with the first and with the second half of its matches."""
        middle = self.spans() // 2
        first, second = self.batch, self.batch
        for name in (name for name in _SPANS if name in self):
            column = self._column(name)
            if column.null_count:
                continue
            values = column.flatten()
            index = self.batch.schema.get_field_index(name)
            first = first.set_column(index, name, _one_list(values.slice(0, middle), column.type))
            second = second.set_column(index, name, _one_list(values.slice(middle), column.type))

        return MatchRows(first), MatchRows(second)

    def _column(self, name: str) -> Any:
        return self.batch.column(self.batch.schema.get_field_index(name))


def _one_list(values: Any, kind: Any) -> Any:
    return pa.ListArray.from_arrays(arrow_array(np.array([0, len(values)], np.int32)), values).cast(kind)


def _offsets(column: Any) -> NDArray[np.int32]:
    """Start offsets of the texts or lists of a column, and the end of the last one."""
    data = column.buffers()[1]
    if data is None or not data.size:
        return np.zeros(1, np.int32)
    # A slice shares the buffer of the whole array: skip `offset` entries of 4 bytes each.
    return np.frombuffer(data, np.int32, len(column) + 1, column.offset * 4)


def _is_ascii(column: Any, offsets: NDArray[np.int32]) -> bool:
    data = column.buffers()[2]
    start, end = int(offsets[0]), int(offsets[-1])
    if data is None or start == end:
        return True
    raw = np.frombuffer(data, np.uint8, end - start, start)
    # In portions, so that an early byte beyond ASCII ends the check.
    return not any(int(raw[offset : offset + _PROBE].max()) >= _ASCII_END for offset in range(0, len(raw), _PROBE))


def match_count(batch: Any) -> int:
    """Return the number of matches of a batch: ranges of content rows, and one for each other row."""
    index = batch.schema.get_field_index("match_count")
    if index >= 0:
        return int(pc.sum(batch.column(index)).as_py() or 0)
    return int(batch.num_rows)


def first_matches(batch: Any, limit: int) -> Any:
    """Return the rows of `batch` that hold its first `limit` matches.

    If the limit falls within a row, the row keeps its whole text but only its first spans, so that the counts add up.
    Rows that continue the last match stay with it.
    """
    rows = MatchRows(batch)
    counts = rows.numbers("match_count")
    total = np.cumsum(counts)
    if not len(total) or total[-1] <= limit:
        return batch
    if limit <= 0:
        return batch.slice(0, 0)

    # The first row at which the running total reaches the limit.
    last = int(np.searchsorted(total, limit, side="left"))
    keep_in_last = int(limit - (total[last - 1] if last else 0))
    if keep_in_last < counts[last]:
        return _cut_last_row(batch.slice(0, last + 1), keep_in_last)

    # A row with more spans than matches begins inside the last match of the row before it. One without matches of its
    # own lies in it as a whole; the first one with some has its end.
    is_continued = rows.lists("start")[0][last + 1 :] > counts[last + 1 :]
    is_inside = is_continued & (counts[last + 1 :] == 0)
    inside = int(np.argmin(is_inside)) if not is_inside.all() else len(is_inside)
    if inside < len(is_continued) and is_continued[inside]:
        return _cut_last_row(batch.slice(0, last + inside + 2), 0)

    return batch.slice(0, last + inside + 1)


def _cut_last_row(batch: Any, keep: int) -> Any:
    last = batch.num_rows - 1
    spans = batch.column(batch.schema.get_field_index("start"))[last].as_py() or []

    # Spans of a match that began in an earlier row come first. They don't count, but have to stay.
    continued = len(spans) - batch.column(batch.schema.get_field_index("match_count"))[last].as_py()
    span_count = keep + max(continued, 0)
    columns = list(batch.columns)

    # Made of numbers: Arrow's conversion of a Python list loads pandas, in a third of a second.
    def replace(name: str, cell: Any) -> None:
        index = batch.schema.get_field_index(name)
        columns[index] = pa.concat_arrays([columns[index].slice(0, last), cell.cast(columns[index].type)])

    for name in [name for pair in _CUT_COLUMNS for name in pair if name in batch.schema.names]:
        cell = batch.column(batch.schema.get_field_index(name)).slice(last, 1)
        if not cell.null_count:
            values = cell.flatten().slice(0, span_count)
            bounds = arrow_array(np.array([0, len(values)], dtype=np.int32))
            replace(name, pa.ListArray.from_arrays(bounds, values))

    replace("match_count", arrow_array(np.array([keep], dtype=np.int64)))
    return pa.record_batch(columns, schema=batch.schema)
