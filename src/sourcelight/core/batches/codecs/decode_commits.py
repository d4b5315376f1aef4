"""Columns of commits and changed lines, from the records of the wire.

A commit has several rows: one for each line of its message or its diff in which something matched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import NamedTuple, TypeAlias

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

_Span: TypeAlias = tuple[int, int]


class _CommitRow(NamedTuple):
    """A row of a commit: a line of its message or its diff, or none if the service sent no line that can be read.

    `side` is ``added``, ``removed`` or ``context`` in a diff, else None. Spans are in code points of `line`.
    """

    path: str | None = None
    line_number: int | None = None
    line: str | None = None
    spans: Sequence[_Span] = ()
    match_count: int = 1
    side: str | None = None


def commits_of(
    kind: str, rows_of: Callable[[WireRecord], list[_CommitRow]]
) -> Callable[[list[WireRecord]], tuple[Columns, AnyArray]]:
    """Return a function that makes columns of commits; `rows_of` reads their rows."""

    def build(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
        groups = [rows_of(record) for record in records]
        rows = list(chain.from_iterable(groups))
        take = repeats(np.array([len(group) for group in groups], np.int64))

        columns = FileColumns.of(records).repository_columns(kind, take)
        columns["commit"] = dictionary([record.oid or None for record in records], take)
        columns |= _row_columns(rows)
        columns |= copy_columns(records, COMMIT_KEYS, take)

        lines = LineColumns()
        lines.add(records)
        line_columns = lines.columns(take)
        if line_columns and any(record.language for record in records):
            columns["language"] = dictionary(_cell_languages(records, take, rows, line_columns["cell"].to_pylist()))

        return columns | line_columns, take

    return build


def _row_columns(rows: Sequence[_CommitRow]) -> Columns:
    start, end = span_lists([row.spans for row in rows])
    return {
        "path": dictionary([row.path for row in rows]),
        "line_number": int32([row.line_number for row in rows]),
        "line": strings([row.line for row in rows]),
        "start": start,
        "end": end,
        "match_count": int32([row.match_count for row in rows]),
        "side": dictionary([row.side for row in rows], index=pa.int8()),
    }


def _cell_languages(
    records: Sequence[WireRecord], take: AnyArray, rows: Sequence[_CommitRow], cells: Sequence[int | None]
) -> list[str | None]:
    """Return the language of each row in a cell of a notebook.

    A commit has a language if its rows are lines of files. Rows of a search of cells have none.
    """
    languages: list[str | None] = []
    for record_index, row, cell in zip(take.tolist(), rows, cells, strict=True):
        is_of_file = bool(records[record_index].language)
        if is_of_file and cell is not None and row.path:
            languages.append(language_of(row.path))
        else:
            languages.append(None)

    return languages


def message_rows(record: WireRecord) -> list[_CommitRow]:
    """Return the matched lines of a commit's message."""
    lines = diff_text.strip_fence(record.content or "")
    rows = []
    for position, spans in _spans_by_line(record).items():
        # Line 0 is the opening fence. A range beyond the end is a fault of the service, and costs only this row.
        if 0 < position < len(lines):
            line = lines[position]
            rows.append(_CommitRow(line_number=position, line=line, spans=spans, match_count=len(spans)))

    if rows:
        return rows
    subject = (record.message or "").partition("\n")[0]
    return [_CommitRow(line_number=1, line=subject)]


def diff_rows(record: WireRecord) -> list[_CommitRow]:
    """Return the matched lines of a commit's diff, or of the preview that some services send instead."""
    lines = diff_text.strip_fence(record.content or "")
    if record.ranges:
        rows = _highlighted_rows(record, lines)
    else:
        rows = _preview_rows(lines)

    # A commit without a readable line is still a result.
    return rows or [_CommitRow()]


def _highlighted_rows(record: WireRecord, lines: list[str]) -> list[_CommitRow]:
    """Return the lines of a diff with spans in them."""
    by_line = _spans_by_line(record)
    diff_lines = diff_text.read_diff(lines, by_line)
    rows = []
    for position, spans in by_line.items():
        line = diff_lines.get(position)
        if line is None:
            continue

        # The path matched.
        if isinstance(line, diff_text.FileHeader):
            rows.append(_CommitRow(line.path, match_count=len(spans)))
            continue

        row = _row_of_line(line, match_count=len(spans))
        rows.append(row._replace(spans=_without_sign(spans)))

    return rows


def _row_of_line(line: diff_text.DiffLine, *, match_count: int) -> _CommitRow:
    return _CommitRow(path=line.path, line_number=line.number, line=line.text, match_count=match_count, side=line.side)


def _without_sign(spans: Sequence[_Span]) -> list[_Span]:
    """Return spans of the text of a diff's line: those of the wire count the sign before it."""
    width = diff_text.SIGN_WIDTH
    return [(max(0, start - width), max(0, end - width)) for start, end in spans]


def _preview_rows(lines: list[str]) -> list[_CommitRow]:
    """Return the rows of a diff without highlights: the lines of its preview. Together they are one match."""
    diff_lines = diff_text.read_diff(lines, range(1, len(lines)))
    rows: list[_CommitRow] = []
    for position, text in enumerate(lines[1:], start=1):
        line = diff_lines.get(position)
        count = 0 if rows else 1
        if isinstance(line, diff_text.DiffLine) and text:
            rows.append(_row_of_line(line, match_count=count))

        # A form that can't be read: each line that isn't empty becomes a row without a path and a side.
        elif not diff_lines and text.strip():
            rows.append(_CommitRow(line=text, match_count=count))

    return rows


def _spans_by_line(record: WireRecord) -> dict[int, list[_Span]]:
    """Return the spans of each line of a commit's `content`, in line order."""
    spans: dict[int, list[_Span]] = {}
    # Ranges of commits count lines and characters of `content`, fence included, and one may span several lines.
    for line, character, length in record.ranges or ():
        spans.setdefault(line, []).append((character, character + length))
    return dict(sorted(spans.items()))
