"""Build Arrow columns of the match schema from Python lists.

`FileColumns` collects the columns of a match's repository and file once and repeats them for its rows. `CodePoints`
converts between bytes and code points of many texts in one buffer.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from itertools import chain
from operator import attrgetter
from typing import Any, Self

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array
from sourcelight.core.batches.records import WireRange, WireRecord, WireSymbol, attributes_of
from sourcelight.core.batches.schema import FILE_KEYS, SERVICE, Column, CopiedKeys, arrow_type

Array = Any

_INT8, _INT32, _STRING, _LIST = pa.int8(), pa.int32(), pa.string(), pa.list_(pa.int32())
"""Types of codes and values of the usual columns."""


def repeats(counts: AnyArray) -> AnyArray:
    """Return positions that repeat element i ``counts[i]`` times when taken."""
    return np.repeat(np.arange(len(counts), dtype=np.int32), counts)


def dictionary(values: Sequence[str | None], take: AnyArray | None = None, *, index: Any = None) -> Array:
    """Return a dictionary-encoded column of `values`, at the positions `take` if given; None is null."""
    # `zip`, `dict` and `map` loop in C. A code is the place of a value among the distinct ones, in order of appearance.
    code_of = dict(zip(dict.fromkeys(values), range(len(values)), strict=False))
    is_simple = index is None and None not in code_of
    if is_simple and take is not None and len(code_of) == 1:
        raw = np.zeros(len(take), np.int32)
    else:
        raw = np.fromiter(map(code_of.__getitem__, values), np.int32, len(values))
        if take is not None:
            raw = raw[take]

    if is_simple:
        return pa.DictionaryArray.from_arrays(numbers(raw), strings(list(code_of)), safe=False)

    # Until here null has a code like any value: remove it, and move the codes above it down by one.
    null = code_of.pop(None, len(code_of))
    codes = pa.array(raw - (raw > null), index or _INT32, mask=raw == null)
    return pa.DictionaryArray.from_arrays(codes, strings(list(code_of)), safe=False)


def distinct(values: Sequence[str | None], take: AnyArray, texts: Array | None = None) -> Array:
    """Return the same as `dictionary`, faster if all values differ; `texts` is the column of `values`, if it exists."""
    unique = set(values)
    if len(unique) < len(values) or None in unique:
        return dictionary(values, take)
    if texts is None:
        texts = strings(values)
    return pa.DictionaryArray.from_arrays(numbers(take), texts, safe=False)


def constant(value: str, rows: int) -> Array:
    """Return a dictionary-encoded column (8-bit codes) of one value."""
    codes = pa.Array.from_buffers(_INT8, rows, [None, pa.py_buffer(bytes(rows))])
    return pa.DictionaryArray.from_arrays(codes, _single(value), safe=False)


def add_service(rows: Any, name: str) -> Any:
    """Return a table or a batch with the column ``service`` in front."""
    return rows.add_column(0, SERVICE.name, constant(name, rows.num_rows))


@cache
def _single(value: str) -> Array:
    return strings([value])


def numbers(values: NDArray[np.int32]) -> Array:
    """Return a column of 32-bit numbers that shares the memory of `values`."""
    return pa.Array.from_buffers(_INT32, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def lists(counts: AnyArray, *values: AnyArray) -> tuple[Array, ...]:
    """Return columns of lists, one for each of `values`: `counts` of these in each row, in order.

    Raises
    ------
    OverflowError
        For a number of more than 32 bits.
    """
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    buffer = pa.py_buffer(offsets)
    return tuple(pa.Array.from_buffers(_LIST, len(counts), [None, buffer], children=[int32(value)]) for value in values)


def span_lists(rows: Sequence[Sequence[tuple[int, int]]], take: AnyArray | None = None) -> tuple[Array, Array]:
    """Return columns of starts and of ends, from (start, end) pairs for each row, at the positions `take`."""
    if not any(rows):
        (empty,) = lists(np.zeros(len(rows) if take is None else len(take), np.int32), np.zeros(0, np.int32))
        return empty, empty

    # Starts and ends in turn.
    counts = np.fromiter(map(len, rows), np.int32, len(rows))
    flat = np.array(list(chain.from_iterable(chain.from_iterable(rows))), np.int32)
    starts, ends = lists(counts, flat[0::2], flat[1::2])
    if take is None:
        return starts, ends
    return starts.take(pa.array(take)), ends.take(pa.array(take))


def refuse_negative(*positions: AnyArray) -> None:
    """Raise OverflowError for a negative number among lines, columns or lengths that a service sent."""
    for numbers in positions:
        if len(numbers) and numbers.min() < 0:
            raise OverflowError(f"{numbers.min()} is no position")


def int32(values: Any) -> Array:
    """Return a column of 32-bit numbers.

    Raises
    ------
    OverflowError, pyarrow.ArrowInvalid
        For a number of more than 32 bits.
    """
    if not isinstance(values, np.ndarray):
        return pa.array(values, _INT32)
    small = values.astype(np.int32, copy=False)
    if small is not values and (small != values).any():
        raise OverflowError("a number of more than 32 bits")
    return numbers(small)


def strings(values: Sequence[str | None]) -> Array:
    """Return a column of text."""
    return pa.array(values, _STRING)


Columns = dict[str, Any]

_Key = tuple[str, int | None, str, str | None, Any]

_attributes = attributes_of(WireRecord)

_file_values = attrgetter(*(_attributes[key] for _, key in FILE_KEYS))
"""Returns the values of `FILE_KEYS` of a record: of one key its value, of several a tuple."""


class FileColumns:
    """The repository and file of each of a growing number of records."""

    def __init__(self) -> None:
        # A stream has few repositories and languages, so each combination is kept once, and rows have its code.
        self._code_by_key: dict[_Key, int] = {}
        self._codes: list[int] = []
        self._paths: list[str] = []
        self._path_matches: list[Sequence[WireRange] | None] = []

    @classmethod
    def of(cls, records: Sequence[WireRecord]) -> Self:
        """Return the files of `records`."""
        files = cls()
        files.add(records)
        return files

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add the columns of `records`."""
        # Looked up once: a stream has a hundred thousand records and more.
        code_by_key, add_key, values_of = self._code_by_key, self._code_by_key.setdefault, _file_values
        for record in records:
            branch = record.branches[0] if record.branches else ""
            key = (record.repository, record.repository_id, branch, record.commit, values_of(record))
            self._codes.append(add_key(key, len(code_by_key)))

        self._paths += [record.path or "" for record in records]
        self._path_matches += [record.path_matches for record in records]

    def repository_columns(self, kind: str, take: AnyArray) -> Columns:
        """Return the columns of the repository of each record, at the positions `take`."""
        rows = np.array(self._codes, np.int32)[take]
        names, ids, revisions, _, _ = zip(*self._code_by_key, strict=True)
        return {
            "type": constant(kind, len(rows)),
            "repository": distinct(names, rows),
            "repository_id": pa.array(np.array([number or 0 for number in ids], np.int64)[rows]),
            "revision": dictionary(revisions, rows),
        }

    def columns(self, kind: str, take: AnyArray) -> Columns:
        """Return the columns of the file of each record, at the positions `take`."""
        rows = np.array(self._codes, np.int32)[take]
        _, _, _, commits, values = zip(*self._code_by_key, strict=True)
        columns = self.repository_columns(kind, take) | {
            "commit": distinct([commit or None for commit in commits], rows),
            "path": distinct(self._paths, take),
        }
        # One tuple for each key; of a single key, `attrgetter` gives its values themselves.
        values_by_key = (values,) if len(FILE_KEYS) == 1 else zip(*values, strict=True)
        for (column, _), key_values in zip(FILE_KEYS, values_by_key, strict=True):
            present = [None if value == "" else value for value in key_values]
            columns[column.name] = copy_column(column, present, rows)

        return columns

    def name_columns(self, take: AnyArray) -> Columns:
        """Return the matches in the path of each record, at the positions `take`."""
        return name_columns(self._path_matches, take)


def name_columns(groups: Sequence[Sequence[WireRange] | None], take: AnyArray) -> Columns:
    """Return matches in names, one list of them for each record, at the positions `take`."""
    # Few records have any.
    rows: list[list[tuple[int, int]]] = []
    if any(groups):
        rows = [[(span.start.column, span.end.column) for span in spans or ()] for spans in groups]

    start, end = span_lists(rows, take)
    return {"name_start": start, "name_end": end}


def text_of(column: Any) -> tuple[Int64Array, UInt8Array]:
    """Return the offsets of the texts of a column without nulls, and the UTF-8 bytes of all."""
    _, offsets, data = column.buffers()
    bounds = np.frombuffer(offsets, np.int32)[: len(column) + 1].astype(np.int64)
    if data is None:
        return bounds, np.zeros(0, np.uint8)
    return bounds, np.frombuffer(data, np.uint8)[: bounds[-1]]


def copy_columns(records: Sequence[WireRecord | WireSymbol], keys: CopiedKeys, take: AnyArray | None = None) -> Columns:
    """Return the columns that copy values of the wire, by key: one value per record, repeated by `take`."""
    attributes = attributes_of(type(records[0]))
    columns = {}
    for column, key in keys:
        values = list(map(attrgetter(attributes[key]), records))
        columns[column.name] = copy_column(column, values, take)
    return columns


def copy_column(column: Column, values: Sequence[Any], take: AnyArray | None = None) -> Any:
    """Return the column of values of the wire, repeated by `take`."""
    if column.type == "dict32":
        # A dictionary of optional values keeps nulls apart from empty texts; a required column has no null.
        if not column.optional:
            values = [value or "" for value in values]
        return dictionary(values, take)

    if column.type == "timestamp":
        values = list(map(_time, values))
    elif column.type == "string" and not column.optional:
        values = [value or "" for value in values]

    array = pa.array(values, arrow_type(column.type))
    return array if take is None else array.take(pa.array(take))


def _time(text: str | None) -> datetime | None:
    if not text:
        return None

    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None

    # RFC 3339 requires an offset; services without one mean UTC.
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


class CodePoints:
    """Conversion between offsets in UTF-8 in bytes and in code points, both from the start of the buffer.

    It costs little for text that is mostly ASCII: only the bytes that continue a code point are kept.
    """

    def __init__(self, text: UInt8Array) -> None:
        # Continuation bytes of UTF-8 are 0x80 to 0xBF: as signed bytes, all below -64.
        self._inner = np.flatnonzero(text.view(np.int8) < -64)
        # Code points that start before each continuation byte; it never falls, so `byte` can search it.
        self._reached = self._inner - np.arange(len(self._inner))

    @property
    def ascii(self) -> bool:
        """Whether bytes and code points are the same."""
        return not len(self._inner)

    def before(self, byte: Int64Array) -> Int64Array:
        """Return how many code points start before each offset of `byte`."""
        return byte if self.ascii else byte - np.searchsorted(self._inner, byte)

    def byte(self, point: Int64Array) -> Int64Array:
        """Return the byte at which each of the code points `point` starts; the inverse of `before`."""
        if self.ascii:
            return point
        return point + np.searchsorted(self._reached, point, side="right")
