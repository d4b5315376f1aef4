"""Columns of matches that codecs copy unchanged: fields of a file or a line that need no code of their own.

`schema` says which: a column with a `file_key` is a key of each file, one with a `line_key` a list beside the lines or
chunks of a file, with an entry for each matched line in their order. Columns of one `line_key` share it: an entry has
the value of each, and is null if the first is null. A key is sent only where there is something to say, and readers
of the wire ignore keys that they don't know.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.core.batches.columns import Columns
from sourcelight.core.batches.records import WireRecord, attributes_of
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.batches.schema import COMMIT_KEYS, FILE_KEYS, LINE_KEYS, arrow_type
from sourcelight.core.wire.encode import dump
from sourcelight.core.wire.events import Json

CodedValues: TypeAlias = tuple[Sequence[Any], Int64Array]
"""Distinct values of a column, empty text and None for null, and for each file the number of its value."""

OPTIONAL_KEYS = frozenset([key for _, key in (*FILE_KEYS, *COMMIT_KEYS)] + [key for key, _ in LINE_KEYS])
"""Keys that a match may have besides the keys in `sourcelight.core.wire.events`."""


def file_endings(values: Mapping[str, tuple[Mapping[int, Any], Sequence[int]]], files: int) -> list[bytes]:
    """Return the end of the JSON object of each file, from the values of `FILE_KEYS` by number, and their numbers."""
    endings = [b"}"] * files
    # From the last key to the first, as each is inserted in front.
    for column, key in reversed(FILE_KEYS):
        if column.name in values:
            value_of, codes = values[column.name]
            fragments = {code: _fragment(key, value) for code, value in value_of.items()}
            endings = [fragments[code] + ending for code, ending in zip(codes, endings, strict=True)]

    return endings


@lru_cache(maxsize=1024)
def _fragment(key: str, value: Any) -> bytes:
    if value is None or value == "":
        return b""
    return b',"%b":%b' % (key.encode(), dump(value))


def file_values(rows: MatchRows, starts: Int64Array) -> dict[str, tuple[Mapping[int, Any], Sequence[int]]]:
    """Return the values of the columns of files in `rows`, by number, and the number at each of the rows `starts`."""
    return {column.name: rows.take_codes(column.name, starts) for column, _ in FILE_KEYS if column.name in rows}


def file_keys(rows: MatchRows, starts: Int64Array) -> list[dict[str, Json]]:
    """Return the wire's values for each of the files at `starts`, by key."""
    keys: list[dict[str, Json]] = [{} for _ in range(len(starts))]
    for column, key in FILE_KEYS:
        values, codes = rows.take_codes(column.name, starts)
        for of_file, code in zip(keys, codes, strict=True):
            if values[code] not in {"", None}:
                of_file[key] = values[code]
    return keys


def line_entries(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Json]]:
    """Return the columns of lines by their keys on the wire, an entry for each line; without keys that are all null."""
    entries: dict[str, list[Json]] = {}
    for key, columns in LINE_KEYS:
        first = values.get(columns[0].name)
        if first is None or all(value is None for value in first):
            continue
        if len(columns) == 1:
            entries[key] = list(first)
            continue
        lists = [values.get(column.name) or [None] * len(first) for column in columns]
        entries[key] = [None if entry[0] is None else entry for entry in zip(*lists, strict=True)]

    return entries


def entries_of_rows(rows: MatchRows) -> dict[str, list[Json]]:
    """Return `line_entries` of a batch."""
    names = [column.name for _, columns in LINE_KEYS for column in columns]
    with_values = [name for name in names if name in rows and rows.batch.column(name).null_count < len(rows)]
    if with_values:
        return line_entries({name: rows.batch.column(name).to_pylist() for name in with_values})
    return {}


def add_entries(endings: list[bytes], entries: Mapping[str, list[Json]], bounds: Sequence[tuple[int, int]]) -> None:
    """Put the entries of each file, whose lines are given, in front of the end of its JSON."""
    for key, of_lines in reversed(list(entries.items())):
        for number, (start, end) in enumerate(bounds):
            if any(entry is not None for entry in of_lines[start:end]):
                endings[number] = b',"%b":%b%b' % (key.encode(), dump(of_lines[start:end]), endings[number])


def entry_columns(key: str, entries: Sequence[Any]) -> Columns:
    """Return the columns of a `line_key`, given the entry of each row."""
    columns = dict(LINE_KEYS)[key]
    missing = (None,) * len(columns)
    groups = entries if len(columns) > 1 else [(entry,) for entry in entries]
    values = zip(*(entry or missing for entry in groups), strict=True)
    return {
        column.name: pa.array(of_column, arrow_type(column.type))
        for column, of_column in zip(columns, values, strict=True)
    }


class LineColumns:
    """Collects the entries of the lines of records, and gives the columns of their rows."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Sequence[Any] | None]] = {key: [] for key, _ in LINE_KEYS}
        self._keys: set[str] = set()

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        attributes = attributes_of(WireRecord)
        for key, entries in self._entries.items():
            of_records = [getattr(record, attributes[key]) for record in records]
            entries.extend(of_records)
            if any(of_records):
                self._keys.add(key)

    def columns(self, take: AnyArray, order: AnyArray | None = None) -> Columns:
        """Return the columns for rows whose records are `take`, ascending; none if no record has entries.

        `order`: the position of each row among the rows that the service sent, if these were sorted.
        """
        columns: Columns = {}
        for key in (key for key, _ in LINE_KEYS if key in self._keys):
            entries = self._row_values(self._entries[key], take)
            columns |= entry_columns(key, entries if order is None else [entries[row] for row in order.tolist()])
        return columns

    @staticmethod
    def _row_values(entries: Sequence[Sequence[Any] | None], take: AnyArray) -> list[Any]:
        rows: list[Any] = []
        for of_record, count in zip(entries, np.bincount(take, minlength=len(entries)).tolist(), strict=True):
            # A list of another length doesn't belong to the lines that were sent.
            rows += of_record if of_record is not None and len(of_record) == count else [None] * count
        return rows
