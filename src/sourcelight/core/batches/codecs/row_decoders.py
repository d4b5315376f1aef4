"""Decoders for the rows of each kind of match: from records of the wire to columns.

`ROW_DECODERS` has one for each kind. A kind is the type of a match, except that matched lines (``lines``) and chunks
(``chunks``) are kinds of their own: services send one or the other, and their columns are made in different ways.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import chain
from typing import Protocol, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches import diff_text
from sourcelight.core.batches.codecs.decode_chunks import ChunkRows
from sourcelight.core.batches.codecs.decode_commits import commits_of, diff_rows, message_rows
from sourcelight.core.batches.codecs.decode_lines import LineRows
from sourcelight.core.batches.codecs.wire_columns import entry_columns
from sourcelight.core.batches.columns import (
    Columns,
    FileColumns,
    copy_columns,
    dictionary,
    int32,
    name_columns,
    repeats,
)
from sourcelight.core.batches.records import WireRecord, WireSymbol
from sourcelight.core.batches.schema import SYMBOL_KEYS, arrow_type

_SYMBOL_PLACE = re.compile(r"[?&#]L(\d+)")
"""The line in the address of a symbol: ``/repo/-/blob/path?L12:3-12:9``."""

_MAX_COLUMN = 1 << 31
"""The first column number that an int32 can't hold."""

_Spans: TypeAlias = Sequence[tuple[int, int]] | None
"""Spans in the line of a definition; None if the service doesn't send the line."""


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
