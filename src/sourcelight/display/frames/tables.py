"""Arrow tables to pandas and polars."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sourcelight.core.batches.schema import MATCHES, Column, conform
from sourcelight.core.errors import MissingExtra
from sourcelight.display.frames.schema import table_schema

Table = Any
Frame = Any
_MATCHES = tuple(c for c in MATCHES if c.shown)


def matches_table(batches: Sequence[Any]) -> Table:
    """One Arrow table of all shown match columns, dictionaries unified so that equal values have equal codes."""
    table = conform(list(batches), shown_only=True)
    import pyarrow as pa

    try:
        return table.unify_dictionaries()
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # A dictionary holds a value twice or a null: encode again, which is slower and always right.
        return _encode_again(table)


def _encode_again(table: Table) -> Table:
    import pyarrow as pa

    columns = [
        c.cast(f.type.value_type).dictionary_encode().unify_dictionaries().cast(f.type)
        if pa.types.is_dictionary(f.type)
        else c
        for f, c in zip(table.schema, table.columns, strict=True)
    ]
    return pa.Table.from_arrays(columns, schema=table.schema)


def rows_table(columns: Iterable[Column], rows: Sequence[Mapping[str, Any]]) -> Table:
    """Arrow table of small frames from dicts."""
    import pyarrow as pa

    return pa.Table.from_pylist(list(rows), schema=table_schema(columns))


def to_pandas(table: Table, columns: Sequence[Column] = _MATCHES, attrs: Mapping[str, Any] | None = None) -> Frame:
    """DataFrame of an Arrow table, one Arrow-backed column at a time and without copying text.

    Parameters
    ----------
    table
        Table with the schema of `columns`, in that order.
    columns
        What the columns are; dtypes follow `sourcelight.display.frames.schema.pandas_dtype`.
    attrs
        A small flat dict; pandas copies it with every operation.
    """
    import pandas as pd

    # Code is full of dollar signs, and a front end would typeset what stands between two of them: wrong on screen, and
    # a way for a repository to smuggle in links. pandas offers one switch, for the process.
    pd.set_option("display.html.use_mathjax", False)
    frame = pd.DataFrame({c.name: _series(table.column(c.name), c) for c in columns}, copy=False)
    if attrs:
        frame.attrs.update(attrs)
    return frame


def _series(values: Any, column: Column) -> Any:
    import pandas as pd
    import pyarrow as pa

    kind = column.type
    if kind in {"dict8", "dict32"}:
        return _categorical(values)
    if kind in {"list", "strings"}:
        return pd.Series(pd.arrays.ArrowExtensionArray(values))
    if kind == "string":
        return pd.Series(values.to_pandas(), dtype="str")
    if column.null and kind in {"int32", "int64", "bool"}:
        dtype: Any = {"int32": pd.Int32Dtype(), "int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}[kind]
        return pd.Series(dtype.__from_arrow__(values))
    if kind == "timestamp":
        return values.to_pandas()
    if values.null_count:
        values = values.fill_null(False if pa.types.is_boolean(values.type) else 0)
    return values.to_pandas()


def _categorical(values: Any) -> Any:
    try:
        return values.to_pandas()
    except ValueError:  # categories must be distinct and not null; a foreign dictionary may break that
        plain = values.cast(values.type.value_type)
        return plain.dictionary_encode().unify_dictionaries().to_pandas()


def to_polars(table: Table) -> Any:
    """Polars DataFrame; raises `MissingExtra` where polars is not installed."""
    try:
        import polars as pl
    except ImportError as exc:
        raise MissingExtra("polars", "to_polars()") from exc
    return pl.from_arrow(table)
