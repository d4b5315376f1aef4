"""Unions: merge the matches of a file that several alternatives of a query found.

`unite` is the entry. Rows of files that one alternative found pass as they came. Rows of shared files go through Python
objects, file by file, and only they pay for it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.batches.schema import batch_of_rows
from sourcelight.core.patterns.ranges import disjoint_spans

_CHUNK_COLUMNS = ("chunk", "chunk_start_line", "chunk_offset", "truncated")
"""Columns of chunks."""

_Row = dict[str, Any]

_Key = tuple[str | None, bool]
"""A path, and whether rows are definitions, which are kept apart from other matches of the file."""

_LineKey = tuple[int, int, int, str]
"""Number of a line in the file, and for a line of a cell also the cell, the line in it and the text."""


def unite(alternatives: Sequence[Iterable[Any]]) -> list[Any]:
    """Return batches in which each file occurs once, from the batches of several alternatives over one repository.

    A file that only one alternative found keeps its rows unchanged. For other files, lines are united and their spans
    merged: they are sorted, and the earlier one of two that overlap stays, or the longer one if both start together.
    Chunks that touch or overlap become one. A content match replaces a path match of the same file (query-language
    reference, hit identity).
    """
    batch_lists = [batches for batches in map(list, alternatives) if batches]
    if len(batch_lists) <= 1:
        return batch_lists[0] if batch_lists else []

    shared_keys = _shared_files(batch_lists)
    if not shared_keys:
        return list(chain.from_iterable(batch_lists))

    united: list[Any] = []
    rows_of_file: dict[_Key, list[list[_Row]]] = {}
    for batches in batch_lists:
        # Batches of one alternative may split a file, so its rows are gathered before they are merged.
        rows_by_key: dict[_Key, list[_Row]] = {}
        for batch in batches:
            is_shared = pa.array([key in shared_keys for key in _keys(batch)], type=pa.bool_())
            unshared_rows = batch.filter(pc.invert(is_shared))
            if unshared_rows.num_rows:
                united.append(unshared_rows)
            for row in batch.filter(is_shared).to_pylist():
                rows_by_key.setdefault((row.get("path"), row["type"] == "symbol"), []).append(row)

        for key, rows in rows_by_key.items():
            rows_of_file.setdefault(key, []).append(rows)

    for key in sorted(rows_of_file, key=lambda key: (key[0] or "", key[1])):
        united += _batches(_merge_file(rows_of_file[key]))

    return united


def _shared_files(batch_lists: Sequence[Sequence[Any]]) -> set[_Key]:
    """Return the files that more than one alternative found."""
    seen: set[_Key] = set()
    shared_keys: set[_Key] = set()
    for batches in batch_lists:
        keys = set(chain.from_iterable(map(_keys, batches)))
        shared_keys |= keys & seen
        seen |= keys
    return shared_keys


def _keys(batch: Any) -> list[_Key]:
    """Return the key of each row's file."""
    index = batch.schema.get_field_index("path")
    paths = batch.column(index).to_pylist() if index >= 0 else [None] * batch.num_rows
    kinds = batch.column(batch.schema.get_field_index("type")).to_pylist()
    return [(path, kind == "symbol") for path, kind in zip(paths, kinds, strict=True)]


def _batches(rows: list[_Row]) -> Iterator[Any]:
    """Yield batches of a file's rows by language: the wire has one per file, and cells have their kernel's."""
    by_language: dict[str | None, list[_Row]] = {}
    for row in rows:
        by_language.setdefault(row.get("language"), []).append(row)
    yield from map(batch_of_rows, by_language.values())


def _merge_file(alternatives: list[list[_Row]]) -> list[_Row]:
    """Return rows of one file from several alternatives."""
    if alternatives[0][0]["type"] == "symbol":
        return _merge_definitions(chain.from_iterable(alternatives))

    # All rows of a file repeat the spans of its name, so the first row is enough.
    first_rows = [rows[0] for rows in alternatives]
    names = _merge_spans(first_rows, "name_start", "name_end")
    content = [rows for rows in alternatives if rows[0]["type"] == "content"]
    if not content:
        return [{**first_rows[0], "name_start": names.starts, "name_end": names.ends}]

    rows = _merge_lines(list(chain.from_iterable(content)))
    for row in rows:
        row["name_start"], row["name_end"] = names.starts, names.ends
    return rows


def _merge_definitions(rows: Iterable[_Row]) -> list[_Row]:
    """Return each definition once, sorted by line, byte and name."""
    rows_by_key: dict[tuple[int, int, str], _Row] = {}
    for row in rows:
        byte = row["byte_start"][0] if row.get("byte_start") else 0
        rows_by_key[row["line_number"], byte, row["symbol"]] = row
    return [rows_by_key[key] for key in sorted(rows_by_key)]


def _merge_lines(rows: list[_Row]) -> list[_Row]:
    """Return one row a line, with the spans of all rows of the line."""
    # In a text notebook, a line of a cell is a line of the file, which an alternative without ``cell:`` may match, too.
    file_lines = {(row["line_number"], row["line"]) for row in rows if not row.get("cell")}
    by_line: dict[_LineKey, list[_Row]] = {}
    for row in rows:
        is_of_file = (row["line_number"], row["line"]) in file_lines
        key = _file_line_key(row) if is_of_file else _line_key(row)
        by_line.setdefault(key, []).append(row)

    merged = []
    chunks = _merge_chunks(rows)
    previous_goes_on = False
    for key in sorted(by_line):
        # Rows of a cell come first: the row keeps their columns.
        same_line = sorted(by_line[key], key=lambda row: not row.get("cell"))
        row = dict(same_line[0])
        if row.get("cell") is None:
            row |= chunks.get(key[0], {})

        spans = _merge_spans(same_line, "start", "end")
        row["start"], row["end"] = spans.starts, spans.ends
        if row.get("byte_start") is not None:
            byte_spans = _merge_spans(same_line, "byte_start", "byte_end")
            row["byte_start"], row["byte_end"] = byte_spans.starts, byte_spans.ends

        # A match over several lines is a span in each; it counts in the first line alone. It reaches past the end of
        # that line, by the newline, and starts the next one.
        continues = previous_goes_on and bool(spans.starts) and spans.starts[0] == 0
        row["match_count"] = len(spans.starts) - int(continues)
        previous_goes_on = bool(spans.ends) and spans.ends[-1] > len(row["line"])
        merged.append(row)

    return merged


def _line_key(row: _Row) -> _LineKey:
    # A notebook may have all cells on one line of the file, and a line of JSON isn't a line of a cell.
    if row.get("cell"):
        return (row["line_number"], row["cell"], row["cell_line"], row["line"])
    return _file_line_key(row)


def _file_line_key(row: _Row) -> _LineKey:
    # Cells count from 1, so 0 sorts a line of the file before the cells on it.
    return (row["line_number"], 0, 0, "")


@dataclass(slots=True)
class _ChunkGroup:
    """Chunks of a file that touch: the columns of the first, and all lines by number."""

    columns: _Row
    lines: dict[int, str]

    @property
    def last_line(self) -> int:
        return next(reversed(self.lines))


def _merge_chunks(rows: list[_Row]) -> dict[int, _Row]:
    """Return the chunk columns of each line of `rows`, from all chunks of a file; touching ones are merged."""
    chunks = {(row["chunk_start_line"], row["chunk"]): row for row in rows if row.get("chunk") is not None}
    groups: list[_ChunkGroup] = []
    for first_line, text in sorted(chunks):
        row = chunks[first_line, text]
        lines = dict(enumerate(text.split("\n"), first_line))
        # Chunks are sorted by their first line, so a chunk that touches any earlier chunk touches the last group.
        if groups and first_line <= groups[-1].last_line + 1:
            columns = groups[-1].columns
            columns["truncated"] = columns.get("truncated") or row.get("truncated")
            groups[-1].lines |= lines
        else:
            groups.append(_ChunkGroup(dict(row), lines))

    merged: dict[int, _Row] = {}
    for group in groups:
        columns = {name: group.columns[name] for name in _CHUNK_COLUMNS if name in group.columns}
        columns["chunk"] = "\n".join(group.lines.values())
        merged |= dict.fromkeys(group.lines, columns)

    return merged


@dataclass(frozen=True, slots=True)
class _Spans:
    """Starts and ends of spans, as two lists."""

    starts: list[int]
    ends: list[int]


def _merge_spans(rows: Iterable[_Row], start: str, end: str) -> _Spans:
    """Return the spans of two columns of all rows."""
    spans: set[tuple[int, int]] = set()
    for row in rows:
        spans.update(zip(row.get(start) or (), row.get(end) or (), strict=True))

    merged = disjoint_spans(spans)
    return _Spans([span_start for span_start, _ in merged], [span_end for _, span_end in merged])
