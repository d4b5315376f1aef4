"""Arrow columns of commits and changed lines, made from the numbers of a history without a Python object a row."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.batches import Column
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.tools.catalog import TABLES
from sourcelight.engines.history import History
from sourcelight.engines.history.history import UNKNOWN, Ints
from sourcelight.engines.history.people import is_bot
from sourcelight.engines.history.search import tables

Table = Any
Array = Any


def table(name: str, columns: dict[str, Any], rows: int | None = None) -> Table:
    """A table of `TABLES` from arrays, lists or one value for every row; a column that is not given is null."""
    count = rows if rows is not None else next(len(v) for v in columns.values() if not isinstance(v, str))
    made = [_column(column, columns.get(column.name), count) for column in TABLES[name]]
    return pa.Table.from_arrays(made, schema=_schema(name))


@cache
def _schema(name: str) -> Any:
    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in TABLES[name]])


def _column(column: Column, values: Any, rows: int) -> Array:
    kind = arrow_type(column.type)
    if values is None:
        return pa.nulls(rows, kind)
    if isinstance(values, (str, bool, int)):
        return constant(values, rows, kind)
    if not isinstance(values, (pa.Array, pa.ChunkedArray)):
        plain = kind.value_type if pa.types.is_dictionary(kind) else kind
        values = pa.array(values, plain)
    if pa.types.is_dictionary(kind) and not pa.types.is_dictionary(values.type):
        values = values.dictionary_encode()
    return values if values.type == kind else values.cast(kind)


def constant(value: Any, rows: int, kind: Any) -> Array:
    """One value for every row."""
    if pa.types.is_dictionary(kind):
        codes = pa.array(np.zeros(rows, np.int8), kind.index_type)
        return pa.DictionaryArray.from_arrays(codes, pa.array([value], kind.value_type))
    return pa.array([value] * rows, kind)


def joined(name: str, parts: Sequence[Table]) -> Table:
    """Tables of one kind, one behind the other, equal values with equal codes."""
    if not parts:
        return table(name, {}, 0)
    return pa.concat_tables(parts).unify_dictionaries().combine_chunks() if len(parts) > 1 else parts[0]


def compact(rows: Table) -> Table:
    """Some rows of a table, with the values that they use alone."""
    made = [
        column.cast(column.type.value_type).dictionary_encode().cast(column.type)
        if pa.types.is_dictionary(column.type)
        else column
        for column in rows.columns
    ]
    return pa.Table.from_arrays(made, schema=rows.schema)


def times(seconds: Any) -> Array:
    """Instants of seconds since 1970."""
    return pa.array(np.asarray(seconds, np.int64) * 1_000_000).cast(pa.timestamp("us", tz="UTC"))


def coded(values: Sequence[str], codes: Any) -> Array:
    """A dictionary column of ``values[code]``; equal values have one code, and values without a row are left out."""
    encoded = pa.array(list(values), pa.string()).dictionary_encode()
    numbers = tables.int32_of(encoded.indices)[np.asarray(codes, np.int64)]
    used, which = tables.renumbered(numbers, len(encoded.dictionary))
    return pa.DictionaryArray.from_arrays(pa.array(which.astype(np.int32)), encoded.dictionary.take(pa.array(used)))


def oids(history: History, commits: Any) -> list[str]:
    """40 hex digits of commits."""
    text = np.ascontiguousarray(history.commits.oid[commits]).tobytes().hex()
    return [text[at : at + 40] for at in range(0, len(text), 40)]


def people(history: History, identities: Any) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Mailmapped names and addresses of identities by number, and whether they are bots."""
    known = history.identities
    persons = known.person[identities]
    return coded(known.person_names, persons), coded(known.person_emails, persons), bots(history, identities)


def bots(history: History, identities: Any) -> NDArray[np.bool_]:
    """Tell for identities by number whether they are bots."""
    known = history.identities
    found = history.memory("bots", lambda: np.array([
        is_bot(name, email) for name, email in zip(known.person_names, known.person_emails, strict=True)
    ] or [False], np.bool_))  # fmt: skip
    of_each: NDArray[np.bool_] = found[known.person[identities]]
    return of_each


def sizes(history: History) -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
    """For each commit its files, additions and deletions, and whether some of these are not known."""

    def make() -> tuple[Ints, Ints, Ints, NDArray[np.bool_]]:
        changes, starts = history.changes, history.commits.change_starts
        summed = []
        unknown = changes.additions == UNKNOWN
        for column in (changes.additions, changes.deletions, unknown):
            running = np.concatenate(([0], np.cumsum(np.maximum(column.astype(np.int64), 0))))
            summed.append(running[starts[1:]] - running[starts[:-1]])
        return np.diff(starts), summed[0], summed[1], (summed[2] > 0) | history.commits.unread

    return history.memory("sizes", make)


def line_numbers(history: History, rows: Ints) -> tuple[Ints, NDArray[np.bool_]]:
    """1-based line of each row in its file (the old one, for a removed line), and whether it was removed."""
    blocks = history.blocks
    at = np.searchsorted(blocks.row, rows, side="right") - 1
    offset = rows - blocks.row[at]
    gone = offset < blocks.removed[at]
    return np.where(gone, blocks.old[at] + offset, blocks.new[at] + offset - blocks.removed[at]), gone
