"""Decoders for the rows of each kind of match: from records of the wire to columns.

`ROW_DECODERS` has one for each kind. A kind is the type of a match, except that matched lines (``lines``) and chunks
(``chunks``) are kinds of their own: services send one or the other, and their columns are made in different ways. A
commit has several rows: one for each line of its message or its diff in which something matched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches import diff_text
from sourcelight.core.batches.codecs.decode_chunks import ChunkRows
from sourcelight.core.batches.codecs.decode_lines import LineRows
from sourcelight.core.batches.codecs.wire_columns import LineColumns, entry_columns
from sourcelight.core.batches.columns import (
    Columns,
    FileColumns,
    copy_columns,
    dictionary,
    int32,
    name_columns,
    repeats,
    span_lists,
    strings,
)
from sourcelight.core.batches.records import WireRecord, WireSymbol
from sourcelight.core.batches.schema import COMMIT_KEYS, SYMBOL_KEYS, arrow_type
from sourcelight.core.query.languages import language_of

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")
"""The line in the address of a symbol: ``/repo/-/blob/path?L12:3-12:9``."""

_MAX_COLUMN = 1 << 31
"""The first column number that an int32 can't hold."""

_Spans: TypeAlias = Sequence[tuple[int, int]] | None
"""Spans in the line of a definition; None if the service doesn't send the line."""

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


class RowDecoder(Protocol):
    """Collects records of one kind, and makes columns of their rows."""

    @property
    def matches(self) -> int:
        """Matches in the records, in the unit in which services count."""
        ...

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add records; they aren't needed any more when `columns` has been called."""
        ...

    def columns(self) -> tuple[Columns, AnyArray] | None:
        """Return the columns of all rows, and the record of each row, ascending, or None if there are none."""
        ...


def kind_of(record: WireRecord) -> str:
    """Return the kind of a record: a key of `ROW_DECODERS`."""
    match record.type:
        case "content":
            return "chunks" if record.chunk_matches else "lines"
        # Older services send diffs as commits, and only their content says so.
        case "commit":
            return "diff" if diff_text.is_diff(record.content or "") else "commit"
        case other:
            return other


class _RareRows:
    """Rows of a kind that comes in small numbers: the records are collected until the end."""

    def __init__(self, build: Callable[[list[WireRecord]], tuple[Columns, AnyArray] | None]) -> None:
        self._build = build
        self._records: list[WireRecord] = []

    @property
    def matches(self) -> int:
        return sum(map(_matches_of, self._records))

    def add(self, records: Sequence[WireRecord]) -> None:
        self._records += records

    def columns(self) -> tuple[Columns, AnyArray] | None:
        return self._build(self._records)


def _matches_of(record: WireRecord) -> int:
    if record.type == "symbol":
        return len(record.symbols or ())
    if record.type in {"commit", "diff"}:
        return max(1, len(record.ranges or ()))
    return 1


def _paths(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
    ones = np.ones(len(records), np.int32)
    take = repeats(ones)
    files = FileColumns.of(records)
    columns = files.columns("path", take)
    columns["match_count"] = int32(ones)
    columns |= files.name_columns(take)
    return columns, take


def _repos(records: list[WireRecord]) -> tuple[Columns, AnyArray]:
    ones = np.ones(len(records), np.int32)
    take = repeats(ones)
    columns = FileColumns.of(records).repository_columns("repo", take)
    columns["match_count"] = int32(ones)
    columns |= name_columns([record.repository_matches for record in records], take)
    return columns, take


def _symbols(records: list[WireRecord]) -> tuple[Columns, AnyArray] | None:
    groups = [record.symbols or [] for record in records]
    symbols = list(chain.from_iterable(groups))
    if not symbols:
        return None

    take = repeats(np.array([len(group) for group in groups], np.int64))
    columns = FileColumns.of(records).columns("symbol", take)
    columns["line_number"] = int32([_symbol_line(symbol) for symbol in symbols])
    columns["match_count"] = int32(np.ones(len(symbols), np.int32))
    columns["symbol_kind"] = dictionary([symbol.kind.lower() for symbol in symbols])
    columns |= copy_columns(symbols, SYMBOL_KEYS)
    if any(symbol.text is not None for symbol in symbols):
        columns |= _symbol_lines(symbols)

    if any(symbol.cell is not None for symbol in symbols):
        columns |= entry_columns("cells", [symbol.cell for symbol in symbols])

    return columns, take


def _symbol_line(symbol: WireSymbol) -> int | None:
    if symbol.line is not None:
        if symbol.line < 0:
            raise OverflowError(f"{symbol.line} is no line")
        return symbol.line
    match = _SYMBOL_PLACE.search(symbol.url)
    if match is None:
        return None
    return int(match[1])


def _symbol_lines(symbols: Sequence[WireSymbol]) -> Columns:
    """Return the lines of definitions, and the places in them, of a service that sends them."""
    starts, ends = _span_columns([symbol.spans for symbol in symbols])
    name_starts, name_ends = _span_columns([symbol.name_spans for symbol in symbols])
    return {
        "line": pa.array([symbol.text for symbol in symbols], arrow_type("string")),
        "start": starts,
        "end": ends,
        "name_start": name_starts,
        "name_end": name_ends,
    }


def _span_columns(rows: Sequence[_Spans]) -> tuple[pa.Array, pa.Array]:
    """Return the columns of the starts and the ends; null for rows without spans."""
    starts: list[list[int] | None] = []
    ends: list[list[int] | None] = []
    for spans in rows:
        if spans is None:
            starts.append(None)
            ends.append(None)
            continue

        # Other values can't be columns of a line: a fault of the service, which costs only this span.
        valid = [(start, end) for start, end in spans if 0 <= start <= end < _MAX_COLUMN]
        starts.append([start for start, _ in valid])
        ends.append([end for _, end in valid])

    return pa.array(starts, arrow_type("list")), pa.array(ends, arrow_type("list"))


ROW_DECODERS: Mapping[str, Callable[[], RowDecoder]] = {
    "lines": LineRows,
    "chunks": ChunkRows,
    "path": partial(_RareRows, _paths),
    "symbol": partial(_RareRows, _symbols),
    "repo": partial(_RareRows, _repos),
    "commit": partial(_RareRows, commits_of("commit", message_rows)),
    "diff": partial(_RareRows, commits_of("diff", diff_rows)),
}
"""Makers of decoders by kind."""
