"""Chunks of the wire cut into rows: one for each line that holds a part of a match."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.batches.columns import dictionary, int32, lists, strings
from sourcelight.core.batches.records import Chunk, Extent, Record


@dataclass(slots=True)
class _Row:
    line_offset: int
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    matches: int = 0


@dataclass(slots=True)
class Rows:
    """Columns in the making; each list has one element per row, apart from `spans` (one per row's span)."""

    line_number: list[int] = field(default_factory=list)
    line: list[str] = field(default_factory=list)
    line_offset: list[int] = field(default_factory=list)
    match_count: list[int] = field(default_factory=list)
    span_count: list[int] = field(default_factory=list)
    spans: list[tuple[int, int, int, int]] = field(default_factory=list)
    chunk: list[str] = field(default_factory=list)
    chunk_line_number: list[int] = field(default_factory=list)
    chunk_offset: list[int] = field(default_factory=list)
    truncated: list[bool] = field(default_factory=list)

    def columns(self) -> dict[str, Any]:
        """The Arrow columns of these rows."""
        counts = np.array(self.span_count, np.int64)
        spans = np.array(self.spans, np.int32).reshape(-1, 4)
        start, end = lists(counts, spans[:, 0]), lists(counts, spans[:, 1])
        ascii_only = all(map(str.isascii, self.line))
        return {
            "line_number": int32(self.line_number),
            "line": strings(self.line),
            "start": start,
            "end": end,
            "match_count": int32(self.match_count),
            "chunk": dictionary(self.chunk),
            "chunk_line_number": int32(self.chunk_line_number),
            "truncated": pa.array(self.truncated, pa.bool_()),
            "line_offset": pa.array(self.line_offset, pa.int64()),
            "byte_start": start if ascii_only else lists(counts, spans[:, 2]),
            "byte_end": end if ascii_only else lists(counts, spans[:, 3]),
            "chunk_offset": pa.array(self.chunk_offset, pa.int64()),
        }


def rows_of(records: list[Record]) -> tuple[Rows, NDArray[np.int64]]:
    """The rows of all chunks of `records`, and how many rows each record has."""
    rows = Rows()
    counts = np.zeros(len(records), np.int64)
    for i, record in enumerate(records):
        before = len(rows.line)
        # Services send the best chunk first; rows of a file are in line order.
        for chunk in sorted(record.chunk_matches or (), key=lambda c: c.content_start.line):
            _add(rows, chunk)
        counts[i] = len(rows.line) - before
    return rows, counts


def _add(rows: Rows, chunk: Chunk) -> None:
    text = chunk.content or chunk.context or ""
    lines = text.split("\n")
    truncated = bool(chunk.content_truncated)
    found: dict[int, _Row] = {}
    first = chunk.content_start.line
    for extent in sorted(chunk.ranges, key=lambda r: (r.start.line, r.start.column)):
        _cut(found, extent, lines, first)
    for at in sorted(found):
        row = found[at]
        rows.line_number.append(first + at + 1)
        rows.line.append(lines[at])
        rows.line_offset.append(row.line_offset)
        rows.match_count.append(row.matches)
        rows.span_count.append(len(row.spans))
        rows.spans.extend(row.spans)
        rows.chunk.append(text)
        rows.chunk_line_number.append(first + 1)
        rows.chunk_offset.append(chunk.content_start.offset)
        rows.truncated.append(truncated)


def _bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _cut(found: dict[int, _Row], extent: Extent, lines: list[str], first: int) -> None:
    """Add the parts of one range to the rows of the lines it touches; lines that were not sent are left out."""
    start, end = extent.start, extent.end
    last = end.line - first
    if last > start.line - first and end.column == 0:
        last -= 1
    offset = start.offset
    for at in range(max(start.line - first, 0), min(last, len(lines) - 1) + 1):
        line = lines[at]
        is_first, is_last = at == start.line - first, at == end.line - first
        a = min(start.column, len(line)) if is_first else 0
        # The part of a match that goes on ends after the newline.
        b = min(end.column, len(line)) if is_last else len(line) + 1
        byte_a = _bytes(line[:a]) if is_first else 0
        row = found.get(at)
        if row is None:
            row = found[at] = _Row(offset - byte_a)
        # Offsets of the wire count what the file holds, even where the text shows a replacement for it.
        byte_a = offset - row.line_offset if is_first and a == start.column else byte_a
        byte_b = end.offset - row.line_offset if is_last and b == end.column else _bytes(line) + (not is_last)
        row.spans.append((a, b, byte_a, byte_b))
        row.matches += is_first
        offset = row.line_offset + _bytes(line) + 1
