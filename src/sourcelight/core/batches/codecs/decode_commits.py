"""Columns of commits and changed lines, from the records of the wire."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches import diff_text
from sourcelight.core.batches.codecs.wire_columns import LineColumns
from sourcelight.core.batches.columns import (
    Columns,
    FileColumns,
    copy_columns,
    dictionary,
    int32,
    repeats,
    span_lists,
    strings,
)
from sourcelight.core.batches.records import WireRecord
from sourcelight.core.batches.schema import COMMIT_KEYS
from sourcelight.core.query.languages import language_of

_CommitRow = tuple[str | None, int | None, str | None, list[tuple[int, int]], int, str | None]


def message_rows(record: WireRecord) -> list[_CommitRow]:
    """Return the matched lines of a commit's message."""
    text = diff_text.strip_fence(record.content or "")
    rows: list[_CommitRow] = [
        (None, position, text[position], spans, len(spans), None)
        for position, spans in _spans_by_line(record).items()
        # Line 0 is the opening fence. A range beyond the end is a fault of the service, and costs only this row.
        if 0 < position < len(text)
    ]
    return rows or [(None, 1, (record.message or "").partition("\n")[0], [], 1, None)]


def _spans_by_line(record: WireRecord) -> dict[int, list[tuple[int, int]]]:
    spans: dict[int, list[tuple[int, int]]] = {}
    # Ranges of commits count lines and characters of `content`, fence included, and one may span several lines.
    for line, character, length in record.ranges or ():
        spans.setdefault(line, []).append((character, character + length))
    return dict(sorted(spans.items()))


def diff_rows(record: WireRecord) -> list[_CommitRow]:
    """Return the matched lines of a commit's diff, or of the preview that some services send instead."""
    if not record.ranges:
        preview = _preview_rows(diff_text.strip_fence(record.content or ""))
        return preview or [(None, None, None, [], 1, None)]

    diff_lines = diff_text.read_diff(diff_text.strip_fence(record.content or ""), by_line := _spans_by_line(record))
    rows: list[_CommitRow] = []
    for position, spans in by_line.items():
        line = diff_lines.get(position)
        if line is None:
            continue
        if line.side:
            # Spans of the wire count the sign or header before the text.
            shifted = [(max(0, start - line.shift), max(0, end - line.shift)) for start, end in spans]
            rows.append((line.path, line.number, line.text, shifted, len(spans), line.side))
        else:
            rows.append((line.path, None, None, [], len(spans), None))

    # A commit without a readable line is still a result.
    return rows or [(None, None, None, [], 1, None)]


def _preview_rows(lines: list[str]) -> list[_CommitRow]:
    """Return rows of a diff without highlights: the lines of its preview. Together they are one match."""
    diff_lines = diff_text.read_diff(lines, range(1, len(lines)))
    rows: list[_CommitRow] = []
    for position, text in enumerate(lines[1:], start=1):
        line = diff_lines.get(position)
        if line is not None and line.side and text:
            rows.append((line.path, line.number, line.text, [], 0, line.side))
        elif line is None and not diff_lines and text.strip():
            rows.append((None, None, text, [], 0, None))  # a form that can't be read: its lines, side unknown

    return [(*row[:4], int(not index), row[5]) for index, row in enumerate(rows)]


def commits_of(
    kind: str, rows_of: Callable[[WireRecord], list[_CommitRow]]
) -> Callable[[list[WireRecord]], tuple[Columns, AnyArray]]:
    """Return a function that makes columns of commits; `rows_of` reads their rows."""

    def build(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
        groups = [rows_of(record) for record in records]
        rows = list(chain.from_iterable(groups))
        take = repeats(np.array([len(group) for group in groups], np.int64))
        start, end = span_lists([row[3] for row in rows])
        columns = FileColumns.of(records).repository_columns(kind, take) | {
            "commit": dictionary([record.oid or None for record in records], take),
            "path": dictionary([row[0] for row in rows]),
            "line_number": int32([row[1] for row in rows]),
            "line": strings([row[2] for row in rows]),
            "start": start,
            "end": end,
            "match_count": int32([row[4] for row in rows]),
            "side": dictionary([row[5] for row in rows], index=pa.int8()),
            **copy_columns(records, COMMIT_KEYS, take),
        }
        lines = LineColumns()
        lines.add(records)
        of_lines = lines.columns(take)
        if of_lines and any(record.language for record in records):
            # Said of lines of files in cells; those of a search of cells have no language.
            is_of_file = [bool(records[number].language) for number in take.tolist()]
            columns["language"] = dictionary(
                [
                    language_of(row[0]) if cell is not None and of_file and row[0] else None
                    for row, cell, of_file in zip(rows, of_lines["cell"].to_pylist(), is_of_file, strict=True)
                ]
            )

        return columns | of_lines, take

    return build
