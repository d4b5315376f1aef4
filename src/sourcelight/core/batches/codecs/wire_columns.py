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

ValuesByNumber: TypeAlias = tuple[Mapping[int, Any], Sequence[int]]
"""Distinct values of a column by a number, and for each file the number of its value."""

OPTIONAL_KEYS = frozenset([key for _, key in (*FILE_KEYS, *COMMIT_KEYS)] + [key for key, _ in LINE_KEYS])
"""Keys that a match may have besides the keys in `sourcelight.core.wire.events`."""


def file_endings(values: Mapping[str, ValuesByNumber], files: int) -> list[bytes]:
    """Return the end of the JSON object of each file, from the values of `FILE_KEYS` by number, and their numbers."""
    endings = [b"}"] * files
    # From the last key to the first, as each is inserted in front.
    for column, key in reversed(FILE_KEYS):
        if column.name not in values:
            continue
        value_of, codes = values[column.name]
        fragments = {code: _fragment(key, value) for code, value in value_of.items()}
        endings = [fragments[code] + ending for code, ending in zip(codes, endings, strict=True)]

    return endings


@lru_cache(maxsize=1024)
def _fragment(key: str, value: Any) -> bytes:
    """Return ``,"key":value`` in JSON; empty for no value."""
    if value is None or value == "":
        return b""
    return b',"%b":%b' % (key.encode(), dump(value))


def file_values(rows: MatchRows, starts: Int64Array) -> dict[str, ValuesByNumber]:
    """Return the values of the columns of files in `rows`, by number, and the number at each of the rows `starts`."""
    return {column.name: rows.take_codes(column.name, starts) for column, _ in FILE_KEYS if column.name in rows}


def file_keys(rows: MatchRows, starts: Int64Array) -> list[dict[str, Json]]:
    """Return the wire's values for each of the files at `starts`, by key."""
    keys: list[dict[str, Json]] = [{} for _ in range(len(starts))]
    for column, key in FILE_KEYS:
        values, codes = rows.take_codes(column.name, starts)
        for file, code in zip(keys, codes, strict=True):
            if values[code] not in {"", None}:
                file[key] = values[code]
    return keys


def line_entries(values: Mapping[str, Sequence[Any]]) -> dict[str, list[Json]]:
    """Return the columns of lines by their keys on the wire, an entry for each line; without keys that are all null."""
    entries: dict[str, list[Json]] = {}
    for key, columns in LINE_KEYS:
        first = values.get(columns[0].name)
        if first is None or all(value is None for value in first):
            continue

        # A column of its own: the entry is its value.
        if len(columns) == 1:
            entries[key] = list(first)
            continue

        lists = [values.get(column.name) or [None] * len(first) for column in columns]
        entries[key] = [entry if entry[0] is not None else None for entry in zip(*lists, strict=True)]

    return entries


def entries_of_rows(rows: MatchRows) -> dict[str, list[Json]]:
    """Return `line_entries` of a batch."""
    values = {}
    for _, columns in LINE_KEYS:
        for column in columns:
            if column.name not in rows:
                continue
            array = rows.batch.column(column.name)
            if array.null_count < len(rows):
                values[column.name] = array.to_pylist()

    return line_entries(values)


def add_entries(endings: list[bytes], entries: Mapping[str, list[Json]], bounds: Sequence[tuple[int, int]]) -> None:
    """Put the entries of each file, whose lines are given, in front of the end of its JSON."""
    for key, line_entries_of_key in reversed(list(entries.items())):
        for file, (start, end) in enumerate(bounds):
            file_entries = line_entries_of_key[start:end]
            if any(entry is not None for entry in file_entries):
                endings[file] = b',"%b":%b%b' % (key.encode(), dump(file_entries), endings[file])


def entry_columns(key: str, entries: Sequence[Any]) -> Columns:
    """Return the columns of a `line_key`, given the entry of each row."""
    columns = dict(LINE_KEYS)[key]
    if len(columns) == 1:
        return {columns[0].name: pa.array(entries, arrow_type(columns[0].type))}

    missing = (None,) * len(columns)
    rows = [entry or missing for entry in entries]
    arrays = {}
    for index, column in enumerate(columns):
        arrays[column.name] = pa.array([row[index] for row in rows], arrow_type(column.type))

    return arrays


class LineColumns:
    """Collects the entries of the lines of records, and gives the columns of their rows."""

    def __init__(self) -> None:
        self._entries: dict[str, list[Sequence[Any] | None]] = {key: [] for key, _ in LINE_KEYS}
        self._keys: set[str] = set()

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        attributes = attributes_of(WireRecord)
        for key, entries in self._entries.items():
            record_entries = [getattr(record, attributes[key]) for record in records]
            entries.extend(record_entries)
            if any(record_entries):
                self._keys.add(key)

    def columns(self, take: AnyArray, order: AnyArray | None = None) -> Columns:
        """Return the columns of the rows; none if no record has entries.

        Parameters
        ----------
        take
            The record of each row, ascending.
        order
            If the rows were sorted, the position of each among the rows that the service sent.
        """
        columns: Columns = {}
        for key, record_entries in self._entries.items():
            if key not in self._keys:
                continue

            entries = self._row_entries(record_entries, take)
            if order is not None:
                entries = [entries[row] for row in order.tolist()]
            columns |= entry_columns(key, entries)

        return columns

    @staticmethod
    def _row_entries(record_entries: Sequence[Sequence[Any] | None], take: AnyArray) -> list[Any]:
        """Return the entry of each row, from the lists of the records."""
        row_counts = np.bincount(take, minlength=len(record_entries)).tolist()
        rows: list[Any] = []
        for entries, count in zip(record_entries, row_counts, strict=True):
            # A list of another length doesn't belong to the lines that were sent.
            if entries is not None and len(entries) == count:
                rows += entries
            else:
                rows += [None] * count

        return rows
