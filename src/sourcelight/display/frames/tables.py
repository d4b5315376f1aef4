"""Arrow tables to pandas and polars."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sourcelight.core.batches.schema import MATCHES, SERVICE, Column, arrow_type, conform
from sourcelight.core.errors import MissingExtra
from sourcelight.display.frames.schema import table_schema

Table = Any
Frame = Any
_FEW = 8  # so few categories are likely to come again: the name of a repository, a side, a status
_MATCHES = tuple(c for c in MATCHES if c.shown)
_FIRST: list[Callable[[], None]] = []


def with_first_frame(action: Callable[[], None]) -> None:
    """Do something when the first frame is made, which loads pandas; at once where it is loaded."""
    if "pandas" in sys.modules:
        action()
    else:
        _FIRST.append(action)


def shown_table(batches: Sequence[Any], first: Sequence[Column] = ()) -> Table:
    """One Arrow table of all shown match columns, with further columns of the batches, `first`, in front of them."""
    import pyarrow as pa

    table = conform(list(batches), shown_only=True)
    for column in reversed(first):
        kind = arrow_type(column.type)
        name = column.name
        given = [b.column(name) if name in b.schema.names else pa.nulls(b.num_rows, kind) for b in batches]
        table = table.add_column(0, name, pa.chunked_array(given, kind))
    return table


def matches_table(batches: Sequence[Any], *, served: bool = False) -> Table:
    """`shown_table` with dictionaries unified so that equal values have equal codes; `served`: with `SERVICE`."""
    import pyarrow as pa

    table = shown_table(batches, (SERVICE,) if served else ())

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

    while _FIRST:
        _FIRST.pop()()
    # Code is full of dollar signs, and a front end would typeset what stands between two of them: wrong on screen, and
    # a way for a repository to smuggle in links. pandas offers one switch, for the process.
    pd.set_option("display.html.use_mathjax", False)
    # Arrays, not series: pandas would compare the index of each column with that of each other.
    frame = pd.DataFrame({c.name: _array(table.column(c.name), c) for c in columns}, copy=False)
    if attrs:
        frame.attrs.update(attrs)
    return frame


def _array(values: Any, column: Column) -> Any:
    import numpy as np
    import pandas as pd

    kind = column.type
    if kind in {"dict8", "dict32"}:
        return _categorical(values)
    if kind in {"list", "strings"}:
        return pd.arrays.ArrowExtensionArray(values)
    if kind == "string":
        return _texts(values)
    if kind == "timestamp":
        return pd.array(values.to_numpy(), dtype="datetime64[us, UTC]")
    missing = values.null_count
    if column.null and kind in {"int32", "int64", "bool"}:
        mask = values.is_null().to_numpy() if missing else np.zeros(len(values), np.bool_)
        made = pd.arrays.BooleanArray if kind == "bool" else pd.arrays.IntegerArray
        return made(_copied(values), mask)
    return _copied(values)


def _copied(values: Any) -> Any:
    """Numbers that may be written to, as Arrow's own may not; 0 or False for null."""
    import numpy as np
    import pyarrow as pa

    return np.array(values.fill_null(False if pa.types.is_boolean(values.type) else 0))


def _texts(values: Any) -> Any:
    """Texts as pandas' ``str``, kept by Arrow."""
    import numpy as np
    import pandas as pd

    dtype: Any = pd.StringDtype("pyarrow", na_value=np.nan)
    return dtype.__from_arrow__(values)


def _categorical(values: Any) -> Any:
    import numpy as np
    import pandas as pd

    one = values.combine_chunks()
    try:
        dtype = _categories(one.dictionary)
    except ValueError:  # categories must be distinct and not null; a foreign dictionary may break that
        one = one.cast(one.type.value_type).dictionary_encode()
        dtype = _categories(one.dictionary)
    codes = one.indices.fill_null(-1) if one.null_count else one.indices
    # `validate` would read all codes once more; Arrow holds them within the dictionary.
    return pd.Categorical.from_codes(np.array(codes), dtype=dtype, validate=False)


def _categories(dictionary: Any) -> Any:
    """Dtype of categories; raises ValueError where they are not distinct, or null."""
    import pandas as pd

    if len(dictionary) <= _FEW:
        return _few_categories(tuple(dictionary.to_pylist()))
    index = pd.Index(_texts(dictionary))
    # pandas makes a Python object of each category to see whether all differ; Arrow tells in a third of the time.
    checked = getattr(pd.CategoricalDtype, "_from_fastpath", None)
    if checked is None or dictionary.null_count or len(dictionary.unique()) < len(dictionary):
        return pd.CategoricalDtype(index)
    return checked(index)


@lru_cache(maxsize=1024)
def _few_categories(values: tuple[str, ...]) -> Any:
    import pandas as pd
    import pyarrow as pa

    return pd.CategoricalDtype(pd.Index(_texts(pa.array(values, pa.string()))))


def to_polars(table: Table) -> Any:
    """Polars DataFrame; raises `MissingExtra` where polars is not installed."""
    try:
        import polars as pl
    except ImportError as exc:
        raise MissingExtra("polars", "to_polars()") from exc
    return pl.from_arrow(table)
