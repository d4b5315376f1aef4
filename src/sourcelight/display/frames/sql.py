"""SQL over tables of a result, with DuckDB.

The database is in memory and sees the given tables only: no file, network, extension or variable. A query made from
untrusted text can't read more than these tables. Errors of DuckDB become messages of `sql`, with a correction.
"""

from __future__ import annotations

import difflib
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import MissingExtra, ToolError
from sourcelight.core.extras import require_notebook
from sourcelight.display.frames.schema import columns_of, table_schema

Frame = Any
_SHUT: dict[str, Any] = {
    "enable_external_access": False,
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
    "allow_community_extensions": False,
    "python_enable_replacements": False,
    "temp_directory": "",
}
_SLICE_S = 0.1
"""Seconds of a wait, after which an interrupt of the cell is noticed."""

_UNWIND_S = 0.2
"""Seconds for an interrupted query to end."""

_TABLE = re.compile(r"Table with name (\S+) does not exist")
_COLUMN = re.compile(
    r"Referenced (?:column|table) \"([^\"]+)\" not found|does not have a column named \"([^\"]+)\"|"
    r"column \"([^\"]+)\" does not exist"
)
_FUNCTION = re.compile(r"(?:Scalar |Aggregate |Table )?Function with name (\S+) does not exist", re.IGNORECASE)
_GROUP = re.compile(r"column \"([^\"]+)\" must appear in the GROUP BY clause")
_SYNTAX = re.compile(r"syntax error at or near \"([^\"]*)\"|syntax error at end of input")
_REFUSAL = re.compile(r"disabled by configuration|Permission Error|locked", re.IGNORECASE)
_TYPES = re.compile(r"No function matches the given name and argument types '([^'(]+)\(([^']*)\)'")
_KIND = re.compile(r"^[A-Z][A-Za-z ]* Error: ")
"""The kind of an error at the start of its message: ``Binder Error: ``."""

_MAX_COLUMNS = 30
"""Columns of a table that a message lists."""

_MIN_SIMILARITY = 0.6
"""Share of equal letters, as `difflib` measures it, from which another name is suggested."""


@dataclass(frozen=True, slots=True)
class SqlTables:
    """The tables of a result: `matches` (Arrow), its `attrs`, and further DataFrames, made when they are asked for."""

    matches: Any
    attrs: Mapping[str, Any]
    frames: Callable[[], Mapping[str, Frame]]


@singledispatch
def sql_tables(value: object) -> SqlTables | None:
    """Return the tables of a result, or None for a table of another package. Classes of results register themselves."""
    del value
    return None


@checks_arguments
def sql(query: str, result: Any = None, /, **tables: Any) -> Frame:
    """Query tables in SQL; needs the package duckdb.

    Parameters
    ----------
    query
        One statement in DuckDB's SQL. It can read the tables alone: no file, no network, no variable.
    result
        A `SearchResult`, whose tables are ``matches``, ``repositories``, ``skipped``, ``alerts``, ``filters``,
        ``progress`` (and ``searches`` of `search_many`); or a DataFrame, which is ``matches``.
    tables
        Further tables by their names: a `SearchResult` (its matches), a DataFrame, an Arrow table or a polars one.

    Returns
    -------
    DataFrame
        What the statement gives: text is ``str``, integers with nulls are ``Int64``, lists of int32 or text as in other
        frames, other nested values objects. `attrs` are those of `result`, else of a table, first of one that is cut,
        and ``sql``.

    Raises
    ------
    MissingExtra
        When duckdb or pandas is not installed.
    ToolError
        What DuckDB has against the statement.

    Examples
    --------
    >>> import pandas as pd
    >>> owners = pd.DataFrame({"path": ["a.py"], "owner": ["ada"]})  # doctest: +SKIP
    >>> sql(
    ...     "select owner, count(*) from matches join owners using (path) group by all", r, owners=owners
    ... )  # doctest: +SKIP
    """
    try:
        import duckdb
    except ImportError as exc:
        raise MissingExtra("duckdb", "sql()") from exc

    require_notebook("pandas", "the DataFrame of sql()")
    arrow_tables = _tables_of(result) | {name: _arrow(name, table) for name, table in tables.items()}
    if not arrow_tables:
        raise ToolError("sql(): no tables given; pass a result, or tables as keyword arguments", tool="sql")

    connection = duckdb.connect(":memory:", config=dict(_SHUT))
    try:
        for name, table in arrow_tables.items():
            connection.register(name, table)
        # After this, no statement can switch file access or extensions on again. A query may come from an untrusted
        # notebook.
        connection.execute("SET lock_configuration = true")
    except BaseException as exc:
        connection.close()
        if isinstance(exc, duckdb.Error):
            raise ToolError(f"sql: {exc}", tool="sql") from exc
        raise

    try:
        arrow_result = _stoppable(connection, query)
        if arrow_result is None:
            raise ToolError("sql: the statement returns no rows; use SELECT", tool="sql")
    except duckdb.Error as exc:
        message = explain_error(
            str(exc), query, {name: list(table.schema.names) for name, table in arrow_tables.items()}
        )
        raise ToolError(f"sql: {message}", tool="sql", accepted=tuple(arrow_tables)) from exc

    frame = _frame(arrow_result)
    attrs = [_attrs(table) for table in (result, *tables.values())]

    # Without a result: if any table is cut, so is the result of the statement.
    source = attrs[0] if result is not None else min(attrs[1:], key=lambda frame_attrs: "cut" not in frame_attrs)
    frame.attrs = {**source, "sql": query[:2_000]}
    return frame


def _tables_of(result: Any) -> dict[str, Any]:
    if result is None:
        return {}
    parts = sql_tables(result)
    further = {} if parts is None else {name: _part(name, frame) for name, frame in parts.frames().items()}
    return {"matches": _arrow("result", result), **further}


def _attrs(table: Any) -> Mapping[str, Any]:
    """Return the attributes of a result or a DataFrame; tables of Arrow and polars have none."""
    parts = sql_tables(table)
    attrs: Mapping[str, Any] = getattr(table, "attrs", {}) if parts is None else parts.attrs
    return attrs


def _part(name: str, frame: Any) -> Any:
    """Return a frame of the result as Arrow's; its columns keep their types where it has no rows or lists alone."""
    import pyarrow as pa

    return pa.Table.from_pandas(frame, schema=table_schema(columns_of(name)), preserve_index=False, safe=False)


def _arrow(name: str, table: Any) -> Any:
    """Return a table as Arrow's."""
    import pyarrow as pa

    if isinstance(table, pa.Table):
        return table
    if (parts := sql_tables(table)) is not None:
        return parts.matches
    if hasattr(table, "to_arrow"):
        return table.to_arrow()
    if hasattr(table, "columns") and hasattr(table, "index"):
        return pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata(None)

    raise ToolError(f"sql: {name} is not a table, but {type(table).__name__}", tool="sql", argument=name)


def _stoppable(connection: Any, query: str) -> Any:
    """Return the Arrow table of a statement, computed in a separate thread, so that an interrupt works.

    The connection is closed at its end.
    """
    done = threading.Event()
    outcome: dict[str, Any] = {}

    def work() -> None:
        try:
            relation = connection.sql(query)
            outcome["table"] = None if relation is None else relation.to_arrow_table()
        except Exception as exc:  # noqa: BLE001 - raised again by the thread that waits
            outcome["fault"] = exc
        finally:
            connection.close()  # in this thread: another one can't close a busy connection
            done.set()

    threading.Thread(target=work, name="sourcelight-sql", daemon=True).start()
    try:
        while not done.wait(_SLICE_S):
            pass
    except BaseException:
        with suppress(Exception):  # the statement may have ended and closed the connection
            connection.interrupt()
        done.wait(_UNWIND_S)
        raise

    if "fault" in outcome:
        raise outcome["fault"]

    return outcome["table"]


def _frame(table: Any) -> Frame:
    import pandas as pd

    names: Mapping[str, int] = {}
    columns: dict[str, Any] = {}
    for name, values in zip(table.column_names, table.columns, strict=True):
        column_name = name
        while column_name in columns:  # SQL allows a name twice
            names = {**names, name: names.get(name, 1) + 1}
            column_name = f"{name}_{names[name]}"
        columns[column_name] = _column(values)

    return pd.DataFrame(columns, copy=False)


def _column(values: Any) -> Any:
    import pandas as pd
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type

    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.to_pandas().astype("str").array
    if pa.types.is_integer(kind) and values.null_count:
        return pd.array(values.to_pylist(), dtype="Int64")
    if pa.types.is_boolean(kind) and values.null_count:
        return pd.array(values.to_pylist(), dtype="boolean")
    if pa.types.is_nested(kind):
        return _nest(values)

    return values.to_pandas().array


def _nest(values: Any) -> Any:
    """Return lists of integers or text in the dtype of frames, and what pandas can't read from a file as objects."""
    import pandas as pd
    import pyarrow as pa

    inner = values.type.value_type if pa.types.is_list(values.type) or pa.types.is_large_list(values.type) else None
    if inner is not None and (inner == pa.int32() or pa.types.is_string(inner) or pa.types.is_large_string(inner)):
        from sourcelight.display.frames.list_dtype import ListArray

        return ListArray(values.cast(pa.list_(pa.string() if inner != pa.int32() else inner)))
    return pd.Series(values.to_pylist(), dtype=object).array


def explain_error(message: str, query: str, tables: Mapping[str, Sequence[str]]) -> str:
    """Return the fault of a statement, and how to write it.

    Parameters
    ----------
    message
        DuckDB's message.
    query
        The statement.
    tables
        Columns of each table that the statement can read.
    """
    # The first form that fits: the message about GROUP BY names a column, too.
    forms = (_table_error, _group_error, _column_error, _function_error, _syntax_error, _type_error, _access_error)
    for form in forms:
        text = form(message, query, tables)
        if text:
            return text

    first_line = message.strip().partition("\n")[0]
    return _KIND.sub("", first_line)


def _table_error(message: str, _query: str, tables: Mapping[str, Sequence[str]]) -> str:
    match = _TABLE.search(message)
    if match is None:
        return ""
    return f"unknown table {match[1]!r}{_suggest(match[1], list(tables))}; tables: {', '.join(tables)}"


def _group_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _GROUP.search(message)
    if match is None:
        return ""
    name = match[1]
    return f"column {name!r} is neither grouped nor aggregated; add it to GROUP BY, or write any_value({name})"


def _column_error(message: str, query: str, tables: Mapping[str, Sequence[str]]) -> str:
    match = _COLUMN.search(message)
    if match is None:
        return ""

    name = next(group for group in match.groups() if group)
    columns: dict[str, None] = {}  # in order, each once
    for table in _used_tables(query, tables):
        columns.update(dict.fromkeys(tables[table]))

    return f"unknown column {name!r}{_suggest(name, list(columns))}; {_list_columns(query, tables)}"


def _function_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _FUNCTION.search(message)
    return f"DuckDB has no function {match[1]!r}{_own_suggestion(message)}" if match else ""


def _syntax_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _SYNTAX.search(message)
    if match is None:
        return ""
    position = f"at {match[1]!r}" if match[1] else "at its end"
    return f"the statement can't be read {position}{_marked_line(message)}"


def _type_error(message: str, _query: str, _tables: Mapping[str, Sequence[str]]) -> str:
    match = _TYPES.search(message)
    if match is None:
        return ""
    types = match[2].replace("_LITERAL", "")
    return f"{match[1]!r} can't take {types}; convert with CAST(… AS …)"


def _access_error(message: str, _query: str, tables: Mapping[str, Sequence[str]]) -> str:
    if _REFUSAL.search(message) is None:
        return ""
    return f"the statement reads or changes something outside of its tables; it can read {', '.join(tables)} alone"


def _used_tables(query: str, tables: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the tables that a statement names; all where it names none."""
    tokens = set(re.findall(r"\w+", query.casefold()))
    return [name for name in tables if name.casefold() in tokens] or list(tables)


def _list_columns(query: str, tables: Mapping[str, Sequence[str]]) -> str:
    texts = []
    for name in _used_tables(query, tables):
        columns = list(tables[name])
        remainder = f" and {len(columns) - _MAX_COLUMNS} more" if len(columns) > _MAX_COLUMNS else ""
        texts.append(f"columns of {name}: {', '.join(columns[:_MAX_COLUMNS])}{remainder}")
    return "; ".join(texts)


def _suggest(name: str, names: Sequence[str]) -> str:
    """Return a question for the name that was probably meant, or nothing."""
    lowered = name.casefold()
    near = [candidate for candidate in names if candidate.casefold().startswith(lowered)]
    if not near:
        near = difflib.get_close_matches(lowered, names, n=1, cutoff=_MIN_SIMILARITY)
    return f"; did you mean {near[0]!r}?" if near else ""


def _own_suggestion(message: str) -> str:
    """Return DuckDB's suggestion in the same form, or nothing."""
    match = re.search(r"Did you mean \"([^\"]+)\"", message)
    return f"; did you mean {match[1]!r}?" if match else ""


def _marked_line(message: str) -> str:
    """Return the line of the statement with the mark below it, as DuckDB sets them."""
    match = re.search(r"^LINE \d+: (.*)\n( *)\^", message, re.MULTILINE)
    if match is None:
        return ""
    indent = max(len(match[2]) - (match.start(1) - match.start()), 0)
    return f"\n{match[1]}\n{' ' * indent}^"
