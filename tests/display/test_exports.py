"""Files for programs read back as what was written, whatever text someone committed; files for people run nothing."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import sourcelight as sl
from display.batches_for_tests import record_batch
from equal_frames import assert_frame_equal
from sourcelight.core.batches.schema import MATCHES, Column
from sourcelight.display.frames.encoders import FORMATS, FORMULA_SIGNS
from sourcelight.display.frames.export import MatchWriter, write_frame
from sourcelight.display.frames.tables import matches_table, to_pandas
from sourcelight.testing import RepositoryBuilder

HOSTILE = (
    "", " ", "=1+1", "+1", "-1", "@a", "\tx", "\rx", "\nx", "\r\n", '"', '""', 'a "b", c', "'", "'=1", ",", ";", "\0",
    "a\0b", "NA", "null", "None", "nan", "N/A", "true", "1", "01", "1.0", "1e5", "2024-01-01", "\ufeffx", "\u2028",
    "\u202e", "\x1b[2J", "\ufffd", "é", "𐍈", "\uff1dx", "\\N", "#", " lead", "trail ",
)  # fmt: skip
SHOWN = [column for column in MATCHES if column.is_visible]
TEXT = st.one_of(st.sampled_from(HOSTILE), st.text(st.characters(exclude_categories=["Cs"]), max_size=20))
NUMBERS = st.integers(-(2**31), 2**31 - 1)
VALUES = {
    "dict8": TEXT,
    "dict32": TEXT,
    "string": TEXT,
    "int32": NUMBERS,
    "int64": st.integers(-(2**63), 2**63 - 1),
    "bool": st.booleans(),
    "list": st.lists(NUMBERS, max_size=3),
    "timestamp": st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)),  # noqa: DTZ001
}


def values_of(column: Column) -> st.SearchStrategy[Any]:
    return VALUES[column.type] if column.name == "type" else st.none() | VALUES[column.type]


ROWS = st.lists(st.fixed_dictionaries({column.name: values_of(column) for column in SHOWN}), max_size=4)


def batches_of(rows: Sequence[dict[str, Any]]) -> list[Any]:
    return [record_batch({c.name: [row[c.name] for row in part] for c in SHOWN}) for part in (rows[:2], rows[2:])]


@pytest.mark.parametrize("kind", FORMATS)
@given(rows=ROWS)
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_matches_read_back_equal(kind: str, rows: list[dict[str, Any]], tmp_path: Path) -> None:
    batches = batches_of(rows)
    writer = MatchWriter(tmp_path / f"out.{kind}")
    for batch in batches:
        writer.write(batch)
    result = sl.read_matches(writer.finish())
    expected = to_pandas(matches_table(batches))
    assert [str(dtype) for dtype in result.dtypes] == [str(dtype) for dtype in expected.dtypes]
    assert_frame_equal(result, expected)
    for name in ("line", "revision", "path", "message", "start"):  # a missing text is not an empty one
        assert result[name].isna().tolist() == expected[name].isna().tolist()


@given(rows=ROWS)
@settings(max_examples=40, deadline=None)
def test_another_reader_of_csv_finds_the_same_text(rows: list[dict[str, Any]]) -> None:
    out = io.BytesIO()
    writer = MatchWriter(out, "csv")
    for batch in batches_of(rows):
        writer.write(batch)
    writer.finish()
    csv.field_size_limit(sys.maxsize)
    text = io.StringIO(out.getvalue().decode(), newline="")
    texts = [column.name for column in SHOWN if column.type in {"dict8", "dict32", "string"}]
    results = [{name: row[name] for name in texts} for row in csv.DictReader(text)]
    assert results == [{name: row[name] or "" for name in texts} for row in rows]


@given(text=TEXT)
@settings(max_examples=100, deadline=None)
def test_no_cell_for_a_spreadsheet_is_a_formula_and_others_stay(text: str) -> None:
    out = io.BytesIO()
    writer = MatchWriter(out, "csv", spreadsheet=True)
    writer.write(record_batch({"type": ["content"], "path": [text], "line": [text]}))
    writer.finish()
    row = next(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    for name in ("path", "line"):
        assert not row[name].startswith(FORMULA_SIGNS)
        assert row[name] == (f"'{text}" if text.startswith(FORMULA_SIGNS) else text)


@pytest.mark.parametrize("kind", ["jsonl", "parquet"])
def test_the_form_for_spreadsheets_is_for_csv(kind: str, tmp_path: Path) -> None:
    for target in (tmp_path / f"out.{kind}", io.BytesIO()):
        with pytest.raises(ValueError, match="spreadsheet=True applies to csv"):
            MatchWriter(target, kind, spreadsheet=True)
    assert list(tmp_path.iterdir()) == []


def test_a_repository_of_hostile_bytes_is_exported_as_its_frame(tmp_path: Path) -> None:
    """Tab-indented code was given an apostrophe in 65 of 225 lines."""
    lines = ["\tneedle = 1", "=needle()", "+needle", "-needle", "@needle", "needle\r", '"needle"', "x,needle"]
    content = b"\n".join([*(line.encode() for line in lines), b"needle \xff\xfe\xed\xa0\x80 end", b""])
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": content, "=needle.txt": "needle\n", "\tneedle": "needle\n"})
    with sl.open(tmp_path / "src", progress=False) as code:
        result = code.search("needle", progress=False)
        many = code.search_many({"=a": "needle", "": "nothing"}, progress=False)
        expected = result.matches
        assert {"\tneedle = 1", "=needle()"} <= set(expected["line"].dropna())
        assert any("\ufffd" in line for line in expected["line"].dropna())
        for kind in FORMATS:
            getattr(result, f"to_{kind}")(tmp_path / f"a.{kind}")
            code.export("needle", tmp_path / f"b.{kind}", progress=False)
            getattr(many, f"to_{kind}")(tmp_path / f"c.{kind}")
            for name, frame in (("a", expected), ("b", expected), ("c", many.matches)):
                actual = sl.read_matches(tmp_path / f"{name}.{kind}")
                assert_frame_equal(actual, frame)
        code.export("needle", tmp_path / "people.csv", spreadsheet=True, progress=False)
        result.to_csv(tmp_path / "people2.csv", spreadsheet=True)
    for path in (tmp_path / "people.csv", tmp_path / "people2.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                assert not any(value.startswith(FORMULA_SIGNS) for value in row.values())


@pytest.mark.parametrize(
    "query", ["needle", "type:symbol .", "type:diff needle", "type:commit .", "type:path .", "zzz"]
)
def test_every_kind_of_result_reads_back_with_its_categories(query: str, tmp_path: Path) -> None:
    """The index holds kinds, files and commits that no row has, in an order of its own."""
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    for number in range(4):
        repo.commit({f"{chr(100 - number)}.py": f"class Needle:\n    needle = {number}\n"}, message=f"step {number}")
    with sl.open(tmp_path / "src", progress=False) as code:
        result = code.search(f"{query} patternType:regexp count:3", progress=False)
        for kind in FORMATS:
            getattr(result, f"to_{kind}")(tmp_path / f"a.{kind}")
            assert_frame_equal(sl.read_matches(tmp_path / f"a.{kind}"), result.matches)
    for name in result.matches.select_dtypes("category"):
        values = result.matches[name]
        assert list(values.cat.categories) == list(values.dropna().unique())


def test_a_file_of_something_else_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n")
    (tmp_path / "x.jsonl").write_text('{"a": 1}\n')
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "x.parquet")
    for kind in FORMATS:
        with pytest.raises(ValueError, match=rf"x\.{kind} is not a file of matches: it has the columns 'a'"):
            sl.read_matches(tmp_path / f"x.{kind}")


def test_any_frame_is_written_with_all_of_its_digits(tmp_path: Path) -> None:
    """A fraction has more than the ten digits that pandas writes."""
    frame = pd.DataFrame({"share": [1 / 3, 2 / 3], "name": ["=a", None], "n": [1, 2]})
    write_frame(frame, tmp_path / "x.jsonl", "jsonl")
    rows = [json.loads(line) for line in (tmp_path / "x.jsonl").read_text().splitlines()]
    assert rows == [{"share": 1 / 3, "name": "=a", "n": 1}, {"share": 2 / 3, "n": 2}]
    write_frame(frame, tmp_path / "x.csv", "csv")
    with (tmp_path / "x.csv").open(newline="") as file:
        assert [(float(row["share"]), row["name"]) for row in csv.DictReader(file)] == [(1 / 3, "=a"), (2 / 3, "")]
    write_frame(frame, tmp_path / "y.csv", "csv", spreadsheet=True)
    assert pd.read_csv(tmp_path / "y.csv")["name"][0] == "'=a"
    with pytest.raises(pa.ArrowInvalid):
        write_frame(pd.DataFrame({"x": [1, "a"]}), tmp_path / "z.csv", "csv")
    assert not (tmp_path / "z.csv").exists()


def test_a_link_into_a_missing_directory_is_refused_by_the_name_of_the_directory(tmp_path: Path) -> None:
    link = tmp_path / "matches.csv"
    link.symlink_to(tmp_path / "gone" / "matches.csv")
    with pytest.raises(FileNotFoundError, match="this directory does not exist") as caught:
        MatchWriter(link)
    assert caught.value.filename == str(tmp_path / "gone")
