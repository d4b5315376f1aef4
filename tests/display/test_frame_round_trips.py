"""Every frame of the library, written and read by pandas, Arrow, polars and DuckDB: equal values, equal dtypes."""

from __future__ import annotations

import io
import math
import pickle
import random
from typing import Any

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from equal_frames import assert_same_table
from sourcelight.core.batches.schema import Column, arrow_type
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames import columns_of, pandas_dtype
from sourcelight.display.frames.schema import FRAMES, table_schema
from sourcelight.display.frames.tables import to_pandas

TABLES = sorted({*FRAMES, *COLUMNS})
ATTRS = {"query": 'a "b"\n', "matches": 3, "limit_hit": "yes"}
TEXTS = ("", "a", "é\u2028", "=1+1", "x" * 300, "\0", "None", "nan", '{"a": 1}', "2024-01-01")

VALUES: dict[str, tuple[Any, ...]] = {
    "bool": (True, False),
    "timestamp": (0, -1, 1_700_000_000_123_456, 253_402_300_799_999_999, -62_135_596_800_000_000),
    "float64": (0.0, -1.5, 1e300),
}


def value(column: Column, rng: random.Random) -> Any:
    if column.null and rng.random() < 0.3:
        return None
    kind = column.type
    if kind in {"list", "strings"}:
        return [rng.randrange(400) if kind == "list" else rng.choice(TEXTS) for _ in range(rng.randrange(4))]
    if kind.startswith("int"):
        bits = int(kind[3:])
        return rng.choice((0, -1, 2 ** (bits - 1) - 1, -(2 ** (bits - 1))))
    return rng.choice(VALUES.get(kind, TEXTS))


def table(name: str, rows: int) -> pa.Table:
    rng = random.Random(name)  # noqa: S311 - examples, no secrets
    columns = columns_of(name)
    arrays = [pa.array([value(c, rng) for _ in range(rows)], _plain_type(c)).cast(arrow_type(c.type)) for c in columns]
    return pa.Table.from_arrays(arrays, schema=table_schema(columns))


def _plain_type(column: Column) -> Any:
    kind = arrow_type(column.type)
    return kind.value_type if pa.types.is_dictionary(kind) else kind


@pytest.mark.parametrize("rows", [0, 1, 40])
@pytest.mark.parametrize("name", TABLES)
def test_pandas_reads_back_what_it_wrote(name: str, rows: int) -> None:
    frame = to_pandas(table(name, rows), columns_of(name), ATTRS)
    assert [str(dtype) for dtype in frame.dtypes] == [pandas_dtype(c) for c in columns_of(name)]
    for kind in ("parquet", "feather"):
        file = io.BytesIO()
        getattr(frame, f"to_{kind}")(file)
        file.seek(0)
        result = getattr(pd, f"read_{kind}")(file)
        assert_same_table(result, frame)
        assert result.attrs == ATTRS or kind == "feather"
    assert_same_table(pickle.loads(pickle.dumps(frame)), frame)  # noqa: S301 - made one line above
    assert_same_table(pa.Table.from_pandas(frame).to_pandas(), frame)


@pytest.mark.parametrize("rows", [0, 40])
@pytest.mark.parametrize("name", TABLES)
def test_polars_and_duckdb_read_the_values_of_a_frame(name: str, rows: int) -> None:
    source = table(name, rows)
    frame = to_pandas(source, columns_of(name), ATTRS)
    expected = [list(row.values()) for row in source.to_pylist()]
    by_polars = pl.from_pandas(frame)
    assert by_polars.columns == list(frame.columns)
    assert [list(row.values()) for row in by_polars.to_arrow().to_pylist()] == expected
    connection = duckdb.connect(":memory:")
    try:
        connection.execute("SET TimeZone = 'UTC'")
        by_duckdb = connection.from_df(frame).to_arrow_table()
    finally:
        connection.close()
    assert by_duckdb.column_names == list(frame.columns)
    assert [[_none(item) for item in row.values()] for row in by_duckdb.to_pylist()] == expected


def _none(value: Any) -> Any:
    """DuckDB tells NaN, which is null in pandas, from null."""
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("name", TABLES)
def test_arrow_and_polars_keep_the_types_of_a_table_without_rows(name: str) -> None:
    source = table(name, 0)
    assert pl.from_arrow(source).to_arrow().num_rows == 0
    file = io.BytesIO()
    pq.write_table(source, file)
    assert pq.read_table(file).schema.equals(source.schema)


def test_categories_survive_concat() -> None:
    names = ("a/one", "b/two", "c/three")
    tables = [
        pa.table({"type": ["content"] * 3, "repository": [name] * 3})
        .cast(pa.schema([("type", arrow_type("dict8")), ("repository", arrow_type("dict32"))]))
        .unify_dictionaries()
        for name in names
    ]
    columns = [column for column in columns_of("matches") if column.name in {"type", "repository"}]
    frames = [to_pandas(item, columns) for item in (*tables, tables[0].slice(0, 0))]
    for parts in (frames, frames[::-1], frames[:1] * 2, [frames[3], frames[3]]):
        everything = pd.concat(parts, ignore_index=True)
        assert [str(dtype) for dtype in everything.dtypes] == ["category", "category"]
        assert everything["repository"].tolist() == [name for part in parts for name in part["repository"]]
    assert list(pd.concat(frames)["repository"].cat.categories) == list(names)
    categorical_dtype = pd.CategoricalDtype(frames[0]["repository"].cat.categories)
    assert frames[0]["repository"].dtype == categorical_dtype
    assert type(pickle.loads(pickle.dumps(frames[0]))["repository"].dtype) is pd.CategoricalDtype  # noqa: S301
