"""Answers of analyses as events of a stream, and back.

========  ======================================================  =====================================================
event     data                                                    when
========  ======================================================  =====================================================
progress  ``stage``, ``done``, ``total``, ``detail``              while the service works
rows      ``columns``: the values of each column by its name      once it knows them, in order, in portions
done      ``columns``: the name of the table; ``rows``: how many  last
          there were; ``attributes``, ``complete``, ``notices``
error     ``type``, ``message`` and ``facts`` of an error         last, instead of ``rows`` and ``done``
========  ======================================================  =====================================================

A column is a list of JSON values; times are microseconds since 1970. A column of repeated texts is an object: ``codes``
count from 0 into ``values``, which the first portion has, and a later one where they change. JSON instead of Arrow's
own format keeps the reader simple to bound: that has compressed buffers and offsets, which a hostile sender chooses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from sourcelight.core import errors
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.errors import ProtocolError, SourcelightError, ToolError
from sourcelight.core.notices import restore_rules, subjects_of
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.core.tools.tool import Tool
from sourcelight.core.wire.sse import RawEvent

MAX_ROWS = 1_000_000
"""Rows of an answer that a service sends."""

MAX_TABLE_BYTES = 256 << 20
"""Limit of one answer as a service sends it: rows, and their bytes as Arrow data."""

MAX_READ_ROWS = 4_000_000
"""Rows of an answer that a client reads: services of other versions may send more than `MAX_ROWS`."""

MAX_READ_BYTES = 1 << 30
"""Limit of one answer as a client reads it, from services of any version."""

_PORTION_BYTES, _PORTION_ROWS = 1 << 20, 20_000
"""Bytes and rows of a portion, so that a reader need not wait for the whole answer."""

_MAX_SHARED_BYTES = 8 << 20
"""Larger values of a column of codes are sent with each portion, as far as its rows need them."""

_MAX_MESSAGE_CHARS = 20_000
_MAX_NOTICES = 1_000
"""Characters of an error, and notices: those of a service of unknown origin."""

# Attributes that the client sets; a service must not.
_RESERVED = frozenset(
    {
        "endpoint", "backend_id", "status", "reasons", "limit_hit", "requested_at", "duration_ms", "version", "notices",
        "call",
    }
)  # fmt: skip

_FACTS: Mapping[str, tuple[str, ...]] = {
    "QueryError": ("query", "position", "hint", "stage"),
    "UnsupportedQuery": ("query", "position", "hint", "stage"),
    "PatternError": ("pattern", "reason"),
    "RepositoryNotFound": ("repository", "near"),
    "RevisionNotFound": ("repository", "revision", "near"),
    "PathNotFound": ("repository", "revision", "path"),
    "ToolError": ("tool", "argument", "accepted"),
    "UnsupportedTool": ("tool", "argument", "accepted"),
}
"""Errors whose text is for the caller, with their attributes; the text of others may name paths of the service."""


def limit_answer(answer: ToolResult, max_rows: int = MAX_ROWS, max_bytes: int = MAX_TABLE_BYTES) -> ToolResult:
    """Return the answer with at most so many rows and bytes; a truncated answer is incomplete, and has a notice."""
    rows = answer.table.num_rows
    size = answer.table.nbytes
    row_count = min(rows, max_rows)
    if size > max_bytes:
        row_count = min(row_count, max(1, rows * max_bytes // size))

    if row_count == rows:
        return answer

    notice = f"The service sent the first {row_count:,} of {rows:,} rows, the most that it sends; narrow the call."
    return replace(answer, table=answer.table.slice(0, row_count), complete=False, notices=(*answer.notices, notice))


def encode_progress(progress: ToolProgress) -> bytes:
    """Return the event of a progress."""
    values = {"stage": progress.stage, "done": progress.done, "total": progress.total, "detail": progress.detail}
    return _event("progress", values)


def encode_answer(answer: ToolResult) -> Iterator[bytes]:
    """Yield the events of an answer: portions of its rows, then the end."""
    table = answer.table.unify_dictionaries().combine_chunks()
    rows = table.num_rows
    step = min(_PORTION_ROWS, max(1, rows * _PORTION_BYTES // max(1, table.nbytes)))
    for start in range(0, rows, step):
        part = table.slice(start, step)
        columns = {name: _values(part.column(name), with_dictionary=not start) for name in table.column_names}
        yield _event("rows", {"columns": columns})

    end = {
        "columns": answer.columns,
        "rows": rows,
        "attributes": dict(answer.attributes),
        "complete": answer.complete,
        "notices": list(answer.notices),
        "rules": subjects_of(answer.notices),
    }
    yield _event("done", end)


def encode_error(error: BaseException) -> bytes | None:
    """Return the event of an error whose text is for the caller, or None for any other."""
    name = type(error).__name__
    if not isinstance(error, SourcelightError) or name not in _FACTS:
        return None
    attributes = {fact: getattr(error, fact, None) for fact in _FACTS[name]}
    return _event("error", {"type": name, "message": str(error), "facts": attributes})


def _values(column: Any, *, with_dictionary: bool) -> Any:
    import pyarrow as pa

    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) else array
    if pa.types.is_dictionary(array.type):
        if array.dictionary.nbytes > _MAX_SHARED_BYTES:
            array = array.cast(array.type.value_type).dictionary_encode()
            with_dictionary = True
        codes = {"codes": _to_values(array.indices)}
        if with_dictionary:
            return codes | {"values": array.dictionary.to_pylist()}
        return codes

    return _to_values(array.cast(pa.int64()) if pa.types.is_timestamp(array.type) else array)


def _to_values(array: Any) -> Any:
    import pyarrow as pa

    is_number = pa.types.is_integer(array.type) or pa.types.is_floating(array.type)
    # Without an object for each number; a null has no place in an array of numpy's numbers.
    return array.to_numpy() if is_number and not array.null_count else array.to_pylist()


def _event(name: str, data: Mapping[str, Any]) -> bytes:
    import orjson

    try:
        text = orjson.dumps(data, option=orjson.OPT_SERIALIZE_NUMPY)
    except TypeError:
        # Names of any bytes may have lone surrogates, which JSON can't hold.
        text = orjson.dumps(_encodable(data), option=orjson.OPT_SERIALIZE_NUMPY)
    return b"event: %s\ndata: %s\n\n" % (name.encode(), text)


def _encodable(value: Any) -> Any:
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, Mapping):
        return {_encodable(str(name)): _encodable(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_encodable(item) for item in value]
    return value


class AnswerReader:
    """Builds an answer from untrusted events.

    Parameters
    ----------
    tool
        What was called: the columns that its table must have.
    hide_secrets
        Returns a text without the credentials that a service may have quoted.
    """

    def __init__(self, tool: Tool[Any], hide_secrets: Callable[[str], str] = str) -> None:
        self._tool = tool
        self._hide_secrets = hide_secrets
        self._batches: list[Any] = []
        self._dictionaries: dict[str, Any] = {}
        self._rows = self._bytes = 0
        self.answer: ToolResult | None = None
        """The answer, once its last event is there."""

    def read(self, event: RawEvent) -> ToolProgress | None:
        """Read an event; returns progress, and None for any other.

        Raises
        ------
        ProtocolError
            For other events, for columns that the tool doesn't have, and for more than a client reads.
        SourcelightError
            The error that the service sent.
        """
        self._bytes += len(event.data)
        if self._bytes > MAX_READ_BYTES:
            raise ProtocolError(f"the answer has more than {MAX_READ_BYTES:,} bytes", event=event.name)
        if event.name not in {"progress", "rows", "done", "error"}:
            return None  # of a newer service

        data = _object(event)
        if event.name == "error":
            raise self._error(data)
        if event.name == "progress":
            stage, detail = self._line(data.get("stage")), self._line(data.get("detail"))
            return ToolProgress(
                stage=stage, done=_count(data.get("done")), total=_count(data.get("total")), detail=detail
            )

        if event.name == "rows":
            self._batches.append(self._batch(data.get("columns")))
            self._rows += self._batches[-1].num_rows
            if self._rows > MAX_READ_ROWS:
                raise ProtocolError(f"the answer has more than {MAX_READ_ROWS:,} rows", event="rows")
        else:
            self.answer = self._end(data)

        return None

    def _line(self, value: Any) -> str:
        return self._hide_secrets(value[:500]) if isinstance(value, str) else ""

    def _error(self, data: Mapping[str, Any]) -> SourcelightError:
        name, text = data.get("type"), data.get("message")
        message = self._hide_secrets(text[:_MAX_MESSAGE_CHARS]) if isinstance(text, str) else "no reason was sent"
        attributes = data.get("facts")
        if not isinstance(name, str) or name not in _FACTS or not isinstance(attributes, Mapping):
            return ToolError(f"{self._tool.name}: {message}", tool=self._tool.name)
        checked_attributes = {fact: self._fact(attributes.get(fact)) for fact in _FACTS[name]}
        return errors.restore_error(name, message, checked_attributes) or ToolError(message, tool=self._tool.name)

    def _fact(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self._line(item) for item in value[:_MAX_NOTICES]]
        if value is None or (isinstance(value, int) and not isinstance(value, bool)):
            return value
        return self._line(value)

    def _batch(self, columns: Any) -> Any:
        """Return the rows of an event as a record batch of the tool's columns."""
        import pyarrow as pa

        expected = COLUMNS[self._tool.columns]
        if not isinstance(columns, Mapping) or list(columns) != [column.name for column in expected]:
            raise ProtocolError(f"{self._tool.name} has columns that this version doesn't know", event="rows")

        arrays = []
        for column in expected:
            try:
                arrays.append(self._array(column.name, arrow_type(column.type), columns[column.name]))
            except (pa.ArrowException, TypeError, ValueError, OverflowError) as exc:
                raise ProtocolError(
                    f"the column {column.name} of {self._tool.name} can't be read", event="rows", excerpt=str(exc)[:120]
                ) from None

        if len({len(array) for array in arrays}) != 1:
            raise ProtocolError(f"the columns of {self._tool.name} have different lengths", event="rows")

        schema = pa.schema([pa.field(column.name, arrow_type(column.type)) for column in expected])
        return pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _array(self, name: str, kind: Any, values: Any) -> Any:
        import pyarrow as pa

        if not pa.types.is_dictionary(kind):
            if pa.types.is_timestamp(kind):
                return _to_array(values, pa.int64()).cast(kind)
            return _to_array(values, kind)
        if not isinstance(values, Mapping):
            raise TypeError("expected codes and values")

        if "values" in values:
            self._dictionaries[name] = _to_array(values["values"], kind.value_type)

        dictionary = self._dictionaries.get(name)
        if dictionary is None:
            raise ValueError("the first codes have no values")

        # Checks that each code is one of a value.
        return pa.DictionaryArray.from_arrays(_to_array(values.get("codes"), kind.index_type), dictionary, safe=True)

    def _end(self, data: Mapping[str, Any]) -> ToolResult:
        import pyarrow as pa

        attributes, notices, complete = data.get("attributes"), data.get("notices"), data.get("complete")
        is_end = isinstance(attributes, Mapping) and isinstance(notices, list) and isinstance(complete, bool)
        if not is_end or data.get("columns") != self._tool.columns or data.get("rows") != self._rows:
            raise ProtocolError(f"the end of {self._tool.name} contradicts the earlier events", event="done")

        assert isinstance(attributes, Mapping) and isinstance(notices, list)  # noqa: PT018, S101 - for the type checker
        expected = COLUMNS[self._tool.columns]
        schema = pa.schema([pa.field(column.name, arrow_type(column.type)) for column in expected])
        return ToolResult(
            columns=self._tool.columns,
            table=pa.Table.from_batches(self._batches, schema),
            attributes={name: value for name, value in attributes.items() if name not in _RESERVED},
            complete=bool(complete),
            notices=restore_rules([self._line(notice) for notice in notices], data.get("rules"))[:_MAX_NOTICES],
        )


def _object(event: RawEvent) -> Mapping[str, Any]:
    import orjson

    try:
        value = orjson.loads(event.data)
    except orjson.JSONDecodeError as exc:
        raise ProtocolError(
            f"an event {event.name} is not JSON: {exc}",
            event=event.name[:40],
            excerpt=event.data[:120].decode(errors="replace"),
        ) from None

    if not isinstance(value, dict):
        raise ProtocolError(f"an event {event.name} is not a JSON object", event=event.name[:40])

    return value


def _count(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53
    return int(value) if is_count else 0


def _to_array(values: Any, kind: Any) -> Any:
    """Return a list of JSON values as an Arrow array of exactly that type; raises for any other value."""
    import pyarrow as pa

    if not isinstance(values, list):
        raise TypeError("expected a list of values")

    if pa.types.is_integer(kind):
        numbers = pa.array(values)
        if not (pa.types.is_integer(numbers.type) or pa.types.is_null(numbers.type)):
            raise TypeError("expected whole numbers")  # Arrow would cut 1.5 to 1
        return numbers.cast(kind)

    return pa.array(values, kind)
