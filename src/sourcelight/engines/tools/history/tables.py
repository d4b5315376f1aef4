"""Arrow columns of commits and changed lines, and groups by people, periods and directories.

It works on the arrays of a history and makes no Python object per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array
from sourcelight.core.batches import Column
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.engines.history import History
from sourcelight.engines.history.history import UNKNOWN
from sourcelight.engines.history.model import RowNumbers
from sourcelight.engines.history.search import tables as change_tables

Table = Any
Array = Any

PERIODS = ("day", "week", "month", "quarter", "year")
_DAY_S = 86_400
"""Seconds of a day."""

_MONTHS = {"month": 1, "quarter": 3, "year": 12}


def table(name: str, columns: dict[str, Any], rows: int | None = None) -> Table:
    """Return a table of `COLUMNS` from arrays, lists or one value for every row; a column that is not given is null."""
    if rows is None:
        rows = next(len(column) for column in columns.values() if not isinstance(column, str))
    arrays = [_column(column, columns.get(column.name), rows) for column in COLUMNS[name]]
    return pa.Table.from_arrays(arrays, schema=_schema(name))


@cache
def _schema(name: str) -> Any:
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in COLUMNS[name]])


def _column(column: Column, values: Any, rows: int) -> Array:
    kind = arrow_type(column.type)
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, (str, bool, int)):
        return constant(values, rows, kind)

    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        value_type = kind.value_type if pa.types.is_dictionary(kind) else kind
        values = pa.array(values, value_type)

    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()

    return values if values.type == kind else values.cast(kind)


def constant(value: Any, rows: int, kind: Any) -> Array:
    """Return one value for every row."""
    if pa.types.is_dictionary(kind):
        codes = pa.array(np.zeros(rows, np.int8), kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, pa.array([value], kind.value_type))
    return pa.array([value] * rows, kind)


def join(name: str, parts: Sequence[Table]) -> Table:
    """Concatenate tables of one kind; equal values get equal codes."""
    if not parts:
        return table(name, {}, 0)
    if len(parts) > 1:
        return pa.concat_tables(parts).unify_dictionaries().combine_chunks()
    return parts[0]


def compact(rows: Table) -> Table:
    """Return some rows of a table, with the values that they use alone."""
    return pa.Table.from_arrays([_compact_column(column) for column in rows.columns], schema=rows.schema)


def _compact_column(column: Array) -> Array:
    if not pa.types.is_dictionary(column.type):
        return column
    # Encoded again, a dictionary has only the values that occur.
    return column.cast(column.type.value_type).dictionary_encode().cast(column.type)


def times(seconds: Any) -> Array:
    """Return seconds since 1970 as instants."""
    return pa.array(np.asarray(seconds, np.int64) * 1_000_000).cast(pa.timestamp("us", tz="UTC"))


def dictionary_column(values: Sequence[str], codes: Any) -> Array:
    """Return a dictionary column of ``values[code]``; equal values share a code, and unused values are dropped."""
    encoded = pa.array(list(values), pa.string()).dictionary_encode()
    numbers = change_tables.int32_of(encoded.indices)[np.asarray(codes, np.int64)]
    distinct, which = change_tables.renumber(numbers, len(encoded.dictionary))
    return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), encoded.dictionary.take(pa.array(distinct)))


def oids(history: History, commits: Any) -> list[str]:
    """Return the 40 hex digits of commits."""
    text = np.ascontiguousarray(history.commits.oid[commits]).tobytes().hex()
    return [text[index : index + 40] for index in range(0, len(text), 40)]


def people(history: History, identities: Any) -> tuple[Array, Array, BoolArray]:
    """Return mailmapped names and addresses of identities by number, and whether they are bots."""
    identity_table = history.identities
    persons = identity_table.person[identities]
    return (
        dictionary_column(identity_table.person_names, persons),
        dictionary_column(identity_table.person_emails, persons),
        bots(history, identities),
    )


def bots(history: History, identities: Any) -> BoolArray:
    """Return, for identities by number, whether they are bots."""
    is_bot_person = history.remember("bots", lambda: _bot_persons(history))
    of_each: BoolArray = is_bot_person[history.identities.person[identities]]
    return of_each


def _bot_persons(history: History) -> BoolArray:
    """Return, for persons by number, whether they are bots; one False for a history without persons."""
    persons = zip(history.identities.person_names, history.identities.person_emails, strict=True)
    return np.array([is_bot(name, email) for name, email in persons] or [False], np.bool_)


class CommitSizes(NamedTuple):
    """Files, additions and deletions of each commit, and whether some of these are not known."""

    files: Int64Array
    additions: Int64Array
    deletions: Int64Array
    is_unknown: BoolArray


def sizes(history: History) -> CommitSizes:
    """Return the sizes of all commits."""
    return history.remember("sizes", lambda: _commit_sizes(history))


def _commit_sizes(history: History) -> CommitSizes:
    changes = history.changes
    starts = history.commits.change_starts
    unknown_files = _sum_by_commit(changes.additions == UNKNOWN, starts)
    return CommitSizes(
        files=np.diff(starts),
        additions=_sum_by_commit(changes.additions, starts),
        deletions=_sum_by_commit(changes.deletions, starts),
        is_unknown=(unknown_files > 0) | history.commits.unread,
    )


def _sum_by_commit(values: AnyArray, change_starts: Int64Array) -> Int64Array:
    """Add up a value of changes for each commit; one that is not known, and below 0, counts as 0."""
    # Differences of running sums: `np.add.reduceat` gives a commit without changes the value of the next one.
    running = np.concatenate(([0], np.cumsum(np.maximum(values.astype(np.int64), 0))))
    sums: Int64Array = running[change_starts[1:]] - running[change_starts[:-1]]
    return sums


def line_numbers(history: History, rows: RowNumbers) -> tuple[Int64Array, BoolArray]:
    """Return the 1-based line of each row in its file (the old one if it was removed), and whether it was removed."""
    blocks = history.blocks
    # The block of a row is the last block that starts at or before it.
    index = np.searchsorted(blocks.row, rows, side="right") - 1
    offset = rows - blocks.row[index]
    is_removed = offset < blocks.removed[index]
    # Removed rows of a block come before the added ones.
    old_lines = blocks.old[index] + offset
    new_lines = blocks.new[index] + offset - blocks.removed[index]
    return np.where(is_removed, old_lines, new_lines), is_removed


def periods(seconds: Any, period: str) -> tuple[Int64Array, Int64Array]:
    """Start and end of the period of each instant, in seconds since 1970, UTC; a week begins on Monday."""
    times = np.asarray(seconds, np.int64)
    days = times // _DAY_S
    if period == "day":
        return days * _DAY_S, (days + 1) * _DAY_S

    if period == "week":
        # 1970 began on a Thursday, three days after a Monday.
        mondays = (days + 3) // 7 * 7 - 3
        return mondays * _DAY_S, (mondays + 7) * _DAY_S

    months = times.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    length = _MONTHS[period]
    first = months // length * length
    return _seconds(first), _seconds(first + length)


def _seconds(months: Int64Array) -> Int64Array:
    return months.astype("datetime64[M]").astype("datetime64[s]").astype(np.int64)


def period_of(tool: str, by: Sequence[str]) -> str | None:
    """Return the period that `by` names; raises `ToolError` when it names two."""
    periods = [name for name in by if name in PERIODS]
    if len(periods) > 1:
        raise ToolError(f"{tool}: by has two periods, {' and '.join(periods)}", tool=tool, argument="by")
    return periods[0] if periods else None


def group(keys: Sequence[Int64Array]) -> tuple[Int64Array, list[Int64Array]]:
    """Assign numbers to the combinations of keys; return the number of each row, and the sorted keys of each."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, positions = np.unique(key, return_inverse=True)
        # Renumbered after each key: so the product stays below the square of the rows, which fits int64.
        codes = codes * max(1, len(values)) + positions
        _, codes = np.unique(codes, return_inverse=True)

    group_count = int(codes.max()) + 1 if len(codes) else 0
    first = np.zeros(group_count, np.int64)
    # Of several writes to one index numpy keeps the last, which is the first row here.
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, [np.asarray(key)[first] for key in keys]


def total(codes: Int64Array, weights: Any, groups: int) -> Int64Array:
    """Add up the weights in each group."""
    # `bincount` sums in float64, which is exact below 2**53.
    return np.bincount(codes, np.asarray(weights, np.float64), groups).round().astype(np.int64)


def bounds(codes: Int64Array, values: Any, groups: int) -> tuple[Int64Array, Int64Array]:
    """Return the least and greatest value of each group; there is one in each."""
    lowest = np.full(groups, np.iinfo(np.int64).max)
    highest = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(lowest, codes, values)
    np.maximum.at(highest, codes, values)
    return lowest, highest


def count_distinct(codes: Int64Array, values: Int64Array, groups: int) -> Int64Array:
    """Return the number of distinct values of each group; values are not negative."""
    if not len(codes):
        return np.zeros(groups, np.int64)
    width = int(values.max()) + 1
    # Group and value in one int64: both are at most as many as there are rows or people.
    pairs = np.sort(codes * width + values)
    first = np.concatenate(([True], pairs[1:] != pairs[:-1]))
    return np.bincount(pairs[first] // width, minlength=groups).astype(np.int64)


def directories(paths: Sequence[str], depth: int) -> list[str]:
    """Return the directory of each path down to `depth` names: ``src/`` with all that is below it.

    Of a directory less deep than that, ``src/*`` is its own files without those of directories in it, and ``/*`` is the
    files at the top: ``/`` is the whole repository.
    """
    shown_directories = []
    for path in paths:
        names = path.split("/", depth)
        if len(names) > depth:
            shown_directories.append("/".join(names[:depth]) + "/")
        else:
            parent, _, _ = path.rpartition("/")
            shown_directories.append(f"{parent}/*")
    return shown_directories
