"""SQL over tables of a result, with DuckDB.

The database is in memory and sees the given tables only: no file, network, extension or variable. A query made from
untrusted text can't read more than these tables.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import singledispatch
from typing import Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import MissingExtra, ToolError
from sourcelight.core.extras import require_notebook
from sourcelight.display.frames.schema import columns_of, table_schema
from sourcelight.display.frames.sql_errors import explain_error

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
