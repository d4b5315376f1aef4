"""Files of real answers read back as the frames that they were written from, embedded and over HTTP."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest

import sourcelight as sl
from equal_frames import assert_same_table

QUERIES = ["retry", "type:symbol a", "type:commit a", "type:diff retry", "nothing_of_the_kind"]


@pytest.fixture(params=["embedded", "remote"])
def code(request: pytest.FixtureRequest) -> sl.Client:
    """Clients over both ways in which rows come."""
    client = request.getfixturevalue(request.param)
    assert isinstance(client, sl.Client)
    return client


@pytest.mark.parametrize("query", QUERIES)
def test_files_of_a_result_read_back_as_its_frame(code: sl.Client, query: str, tmp_path: Path) -> None:
    result = code.search(query)
    frame = result.matches
    assert len(frame) or query.startswith("nothing")
    result.to_parquet(tmp_path / "a.parquet")
    frame.to_parquet(tmp_path / "b.parquet")
    code.export(f"{query} count:all", tmp_path / "c.parquet")
    for name in ("a", "b"):
        actual = pd.read_parquet(tmp_path / f"{name}.parquet")
        assert_same_table(actual, frame)
        assert actual.attrs == frame.attrs
    streamed = pd.read_parquet(tmp_path / "c.parquet")
    assert [str(dtype) for dtype in streamed.dtypes] == [str(dtype) for dtype in frame.dtypes]
    assert len(streamed) == len(frame)
    assert streamed.attrs["status"] == "complete"
    table = pq.read_table(tmp_path / "a.parquet")
    assert table.schema.equals(result.arrow.schema)
    assert table.to_pylist() == result.arrow.to_pylist()
    assert result.to_polars().to_arrow().num_rows == len(frame)
    assert json.loads(pq.read_schema(tmp_path / "a.parquet").metadata[b"PANDAS_ATTRS"]) == frame.attrs


def test_every_table_of_a_result_and_of_sql_reads_back(code: sl.Client, tmp_path: Path) -> None:
    result = code.search("a")
    frames = {name: getattr(result, name) for name in ("progress", "filters", "skipped", "alerts", "repositories")}
    frames["spans"] = result.spans()
    frames["sql"] = sl.sql("select *, {'a': 1} as struct from matches", result)
    frames["sql alerts"] = sl.sql("select * from alerts", result)
    frames["many"] = code.search_many({"a": "a", "b": "nothing_of_the_kind"}).matches
    frames["commits"] = code.commit_search(repos=list(frames["repositories"]["repository"])[:1])
    for frame in frames.values():
        frame.to_parquet(tmp_path / "x.parquet")
        assert_same_table(pd.read_parquet(tmp_path / "x.parquet"), frame)
        frame.to_feather(tmp_path / "x.feather")
        assert_same_table(pd.read_feather(tmp_path / "x.feather"), frame)
