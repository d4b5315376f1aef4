"""SQL over an answer: what it gives, and what it can't reach."""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend

pytest.importorskip("duckdb")


@pytest.fixture(scope="module")
def result() -> Any:
    return sl.Client(ScriptedBackend(COMPLETE)).search("foo")


def test_a_result_is_asked_in_sql(result: Any) -> None:
    frame = sl.sql("select path, sum(match_count) as matches from matches group by path order by path", result)
    assert frame.to_numpy().tolist() == [["f0.go", 10], ["f1.go", 10]]
    assert str(frame["path"].dtype) == "str"
    assert frame.attrs["query"] == "foo"
    assert frame.attrs["sql"].startswith("select path")
    assert sl.sql("select stars from repositories", result)["stars"].tolist() == [3]
    assert sl.sql("select count(*) as n from skipped", result)["n"].tolist() == [0]
    assert sl.sql('select count(*) as n from "matches"', result.matches)["n"].tolist() == [20]


def test_tables_of_every_kind_are_joined(result: Any) -> None:
    polars = pytest.importorskip("polars")
    owners = pd.DataFrame({"path": ["f0.go", None], "owner": ["ada", "bob"]})
    teams = pa.table({"owner": ["ada"], "team": ["one"]})
    floors = polars.DataFrame({"team": ["one"], "floor": [3]})
    query = (
        "select distinct team, floor, start from matches join owners using (path) join teams using (owner) "
        "join floors using (team) where line_number = 1"
    )
    frame = sl.sql(query, result, owners=owners, teams=teams, floors=floors)
    assert frame[["team", "floor"]].to_numpy().tolist() == [["one", 3]]
    assert list(frame["start"].iloc[0]) == [0]
    both = sl.sql("select count(*) as n from a join b using (path, line_number)", a=result, b=result)
    assert both["n"].tolist() == [20]


def test_nulls_and_names_are_kept(result: Any) -> None:
    del result
    table = pa.table({"n": pa.array([1, None]), "b": pa.array([True, None]), "t": pa.array(["x", None])})
    frame = sl.sql("select n, b, t, n from t", t=table)
    assert [str(kind) for kind in frame.dtypes] == ["Int64", "boolean", "str", "Int64"]
    assert len(set(frame.columns)) == 4
    assert frame.isna().sum().tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize(
    "query",
    [
        "select * from read_csv('{file}')",
        "select * from read_text('{file}')",
        "select * from read_parquet('{file}')",
        "select * from glob('{folder}/*')",
        "select * from '{file}'",
        "copy matches to '{folder}/out.csv'",
        "export database '{folder}/out'",
        "attach '{folder}/out.db'",
        "install httpfs",
        "load httpfs",
        "set enable_external_access = true",
        "reset lock_configuration",
        "set temp_directory = '{folder}'",
        "select * from secret",
        "select * from read_csv('https://host.example/x.csv')",
    ],
)
def test_a_statement_reaches_no_file_no_network_and_no_variable(result: Any, tmp_path: Path, query: str) -> None:
    secret = pd.DataFrame({"a": [1]})
    assert len(secret) == 1
    file = tmp_path / "secret.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(sl.ToolError, match="sql:"):
        sl.sql(query.format(file=file, folder=tmp_path), result)
    assert [item.name for item in tmp_path.iterdir()] == ["secret.csv"]


def test_a_statement_at_fault_is_named(result: Any) -> None:
    with pytest.raises(sl.ToolError, match=r"(?s)sql:.*nonsense") as error:
        sl.sql("select nonsense from matches", result)
    assert "matches" in error.value.accepted
    with pytest.raises(sl.ToolError, match="no tables given"):
        sl.sql("select 1")
    with pytest.raises(sl.ToolError, match="t is not a table, but int"):
        sl.sql("select 1", t=3)


def test_without_duckdb_the_package_is_named(result: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "duckdb", None)
    with pytest.raises(sl.MissingExtra, match="pip install duckdb"):
        sl.sql("select 1", result)


@pytest.mark.clock
def test_an_interrupt_stops_a_long_statement(result: Any) -> None:
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), __import__("signal").SIGINT))
    timer.start()
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sl.sql("select count(*) from range(100000000) a, range(100000000) b where a.range % 7 = b.range % 11", result)
    assert time.monotonic() - began < 5
    timer.join()


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("select * from matche", ["unknown table 'matche'", "did you mean 'matches'?", "tables: matches"]),
        ("select reposiory from matches", ["unknown column 'reposiory'", "did you mean 'repository'?", "line_number"]),
        ("select m.repo from matches m", ["unknown column 'repo'", "did you mean 'repository'?"]),
        ("select repository, count(*) from matches", ["neither grouped nor aggregated", "GROUP BY"]),
        ("select * fom matches", ["can't be read at 'matches'", "\nselect * fom matches\n             ^"]),
        ("select sum(path) from matches", ["'sum' can't take VARCHAR", "CAST"]),
        ("select * from '/etc/passwd.csv'", ["outside of its tables", "matches alone"]),
    ],
)
def test_an_error_says_what_there_is_instead(query: str, words: list[str]) -> None:
    frame = pd.DataFrame({"repository": ["a"], "path": ["x"], "line_number": [1]})
    with pytest.raises(sl.ToolError) as wrong:
        sl.sql(query, frame)
    message = str(wrong.value)
    assert message.startswith("sql: ")
    for word in words:
        assert word in message
    assert " Error: " not in message, "DuckDB's own words"
