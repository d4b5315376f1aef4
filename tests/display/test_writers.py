"""Files of matches are whole, safe and the same as frames."""

from __future__ import annotations

import csv
import io
import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from display.batches_for_tests import lines, paths, record_batch
from sourcelight.core.batches import matches_schema
from sourcelight.display.frames.encoders import FORMATS, format_of
from sourcelight.display.frames.export import MatchWriter, write_text
from sourcelight.display.frames.tables import matches_table

BATCHES = [lines("r1", "a.go", [(1, 'foo, "foo"', [(0, 3), (6, 9)])]), paths("r2", ["foo.py"], (0, 3))]


@pytest.mark.parametrize("kind", FORMATS)
def test_a_file_appears_only_when_whole(tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"out.{kind}"
    writer = MatchWriter(target)
    for batch in BATCHES:
        writer.write(batch)
    assert not target.exists()
    assert writer.finish({"sourcelight.status": "complete"}) == str(target)
    assert [p.name for p in tmp_path.iterdir()] == [target.name]
    assert writer.rows == 2
    assert writer.finish() == str(target)


@pytest.mark.parametrize("kind", FORMATS)
def test_what_an_interrupt_leaves_is_kept_under_a_stated_name(tmp_path: Path, kind: str) -> None:
    target = tmp_path / f"out.{kind}"
    target.write_text("old")
    writer = MatchWriter(target)
    writer.write(BATCHES[0])
    assert writer.keep_partial() == str(tmp_path / f"out.partial.{kind}")
    assert target.read_text() == "old"
    assert sorted(p.name for p in tmp_path.iterdir()) == [f"out.{kind}", f"out.partial.{kind}"]


def test_parquet_reads_back_as_the_same_table(tmp_path: Path) -> None:
    writer = MatchWriter(tmp_path / "x.parquet")
    for batch in BATCHES:
        writer.write(batch)
    path = writer.finish({"sourcelight.status": "limited"})
    table = pq.read_table(path)
    assert table.to_pylist() == matches_table(BATCHES).to_pylist()
    assert pq.read_metadata(path).metadata[b"sourcelight.status"] == b"limited"


def test_parquet_is_written_in_row_groups(tmp_path: Path) -> None:
    writer = MatchWriter(tmp_path / "x.parquet")
    batch = lines("r", "f", [(i, "foo", [(0, 3)]) for i in range(60_000)])
    for _ in range(4):
        writer.write(batch)
    assert pq.read_metadata(writer.finish()).num_row_groups == 2


def test_an_empty_answer_has_its_columns(tmp_path: Path) -> None:
    names = matches_schema(visible_only=True).names
    assert pq.read_table(MatchWriter(tmp_path / "x.parquet").finish()).column_names == names
    text = Path(MatchWriter(tmp_path / "x.csv").finish()).read_text()
    assert next(csv.reader([text])) == names
    assert Path(MatchWriter(tmp_path / "x.jsonl").finish()).read_bytes() == b""


def test_json_lines_leave_out_nulls_and_write_times_in_utc() -> None:
    out = io.BytesIO()
    writer = MatchWriter(out, "jsonl")
    when = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    writer.write(record_batch({"type": ["commit", "repo"], "commit_date": [when, None], "repository": ["r", "s"]}))
    assert writer.finish() == ""
    assert [json.loads(r) for r in out.getvalue().splitlines()] == [
        {"type": "commit", "repository": "r", "commit_date": "2024-01-02T03:04:05Z"},
        {"type": "repo", "repository": "s"},
    ]


@pytest.mark.parametrize("start", list("=+-@\t\r\n"))
def test_no_csv_cell_for_a_spreadsheet_is_a_formula(start: str) -> None:
    out = io.BytesIO()
    writer = MatchWriter(out, "csv", spreadsheet=True)
    writer.write(lines(f"{start}repo", f"{start}path", [(1, f'{start}cmd|"/c calc"!A1', [(0, 1)])]))
    writer.finish()
    row = next(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    assert row["repository"] == f"'{start}repo"
    assert row["path"] == f"'{start}path"
    assert row["line"] == f'\'{start}cmd|"/c calc"!A1'
    assert row["start"] == "0"


def test_csv_leaves_plain_text_and_times_alone() -> None:
    out = io.BytesIO()
    writer = MatchWriter(out, "csv")
    when = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
    for _ in range(2):
        writer.write(record_batch({"type": ["diff"], "line": ["a, b-c\nd"], "commit_date": [when], "start": [[1, 22]]}))
    writer.finish()
    rows = list(csv.DictReader(io.StringIO(out.getvalue().decode(), newline="")))
    assert len(rows) == 2
    assert (rows[1]["line"], rows[1]["commit_date"], rows[1]["start"]) == ("a, b-c\nd", "2024-01-02T03:04:05Z", "1 22")
    assert rows[1]["path"] == ""


def test_unknown_formats_are_refused_with_the_known_ones() -> None:
    assert format_of("x.PQ", None) == "parquet"
    for path, kind in (("x.xlsx", None), ("x.csv", "xml")):
        with pytest.raises(ValueError, match="jsonl, csv, parquet"):
            format_of(path, kind)


def test_discard_leaves_nothing(tmp_path: Path) -> None:
    writer = MatchWriter(tmp_path / "x.csv")
    writer.write(BATCHES[0])
    writer.discard()
    assert list(tmp_path.iterdir()) == []


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with ThreadPoolExecutor(1) as reader:
        for kind in ("csv", "jsonl"):
            received = reader.submit(pipe.read_bytes)
            writer = MatchWriter(pipe, kind)
            writer.write(BATCHES[0])
            assert writer.finish() == str(pipe)
            assert b"a.go" in received.result(timeout=30)
        received = reader.submit(pipe.read_bytes)
        write_text("a page", pipe)
        assert received.result(timeout=30) == b"a page"
    assert pipe.is_fifo()
    assert list(tmp_path.iterdir()) == [pipe]


def test_a_link_stays_and_its_file_is_replaced(tmp_path: Path) -> None:
    file, link = tmp_path / "data" / "real.csv", tmp_path / "out.csv"
    file.parent.mkdir()
    file.write_text("old")
    link.symlink_to(file)

    writer = MatchWriter(link)
    writer.write(BATCHES[0])
    assert writer.keep_partial() == str(file.with_name("out.partial.csv"))
    assert file.read_text() == "old"

    writer = MatchWriter(link)
    writer.write(BATCHES[0])
    assert writer.finish() == str(link)
    assert link.is_symlink()
    assert "a.go" in file.read_text()
    write_text("a page", link)
    assert (link.is_symlink(), file.read_text()) == (True, "a page")
