"""A limit counts matches, and cuts inside a row where it falls there."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pyarrow as pa
import pytest

from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count


def lines(*spans: list[tuple[int, int]], counts: list[int] | None = None) -> Any:
    """A content batch with one row per list of spans."""
    columns = {
        "type": pa.array(["content"] * len(spans), type=arrow_type("dict8")),
        "path": pa.array(["a.py"] * len(spans), type=arrow_type("dict32")),
        "line": pa.array(["x" * 40] * len(spans)),
        "start": pa.array([[a for a, _ in row] for row in spans], type=arrow_type("list")),
        "end": pa.array([[b for _, b in row] for row in spans], type=arrow_type("list")),
        "match_count": pa.array(counts or [len(row) for row in spans], type=pa.int32()),
    }
    return pa.record_batch(columns)


def test_a_limit_above_the_matches_changes_nothing() -> None:
    batch = lines([(0, 1)], [(0, 1), (2, 3)])
    assert first_matches(batch, 3) is batch
    assert first_matches(batch, 10) is batch


@pytest.mark.parametrize("limit", [0, 1, 2, 3, 4, 5])
def test_exactly_the_first_matches_stay(limit: int) -> None:
    batch = lines([(0, 1)], [(0, 1), (2, 3), (4, 5)], [(7, 9)])
    prefix = first_matches(batch, limit)
    assert match_count(prefix) == limit
    flat = [s for row in prefix.column("start").to_pylist() for s in row]
    assert flat == [0, 0, 2, 4, 7][:limit]


def test_a_row_is_cut_inside_and_keeps_its_whole_text() -> None:
    prefix = first_matches(lines([(0, 1), (2, 3), (4, 5)]), 2)
    assert prefix.column("start").to_pylist() == [[0, 2]]
    assert prefix.column("end").to_pylist() == [[1, 3]]
    assert prefix.column("line").to_pylist() == ["x" * 40]


def test_a_continued_match_does_not_count_twice() -> None:
    batch = lines([(5, 41)], [(0, 3), (5, 6), (8, 9)], counts=[1, 2])
    prefix = first_matches(batch, 2)
    assert prefix.column("start").to_pylist() == [[5], [0, 5]]
    assert match_count(prefix) == 2


def test_rows_that_continue_the_last_match_stay_with_it() -> None:
    batch = lines([(5, 41)], [(0, 41)], [(0, 3)], [(8, 9)], counts=[1, 0, 0, 1])
    prefix = first_matches(batch, 1)
    assert prefix.column("start").to_pylist() == [[5], [0], [0]]
    assert match_count(prefix) == 1


def test_a_row_after_the_last_match_keeps_only_the_end_of_it() -> None:
    batch = lines([(5, 41)], [(0, 3), (5, 6), (8, 9)], [(0, 1)], counts=[1, 2, 1])
    prefix = first_matches(batch, 1)
    assert prefix.column("start").to_pylist() == [[5], [0]]
    assert prefix.column("end").to_pylist() == [[41], [3]]
    assert prefix.column("match_count").to_pylist() == [1, 0]


def test_a_batch_without_rows_has_no_runs_and_no_bytes() -> None:
    rows = MatchRows(lines([(0, 1)]).slice(0, 0))
    assert boundaries(0, [rows.codes("path")]) == []
    assert rows.files() == []
    assert rows.text_bytes(chunks=False).tolist() == []


def test_an_empty_batch_with_chunks_has_no_bytes() -> None:
    batch = pa.record_batch(
        {"line": pa.array(["x"]), "chunk": pa.array(["x\ny"], type=arrow_type("dict32"))},
    )
    assert MatchRows(batch).text_bytes(chunks=True).tolist() == [4]
    assert MatchRows(batch.slice(0, 0)).text_bytes(chunks=True).tolist() == []


@pytest.mark.parametrize("rows", [0, 3, 15, 16, 200])
@pytest.mark.parametrize("index_type", [pa.int8(), pa.int32()])
def test_texts_of_a_dictionary_are_those_of_its_rows(rows: int, index_type: pa.DataType) -> None:
    codes = pa.array([None if number % 5 == 4 else number * 7 % 3 for number in range(rows)], index_type)
    # A dictionary may have texts without a row, a text twice, and null.
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["b", None, "é", "b", "unused"]))
    batch = pa.record_batch({"path": column})
    indices = list(range(rows - 1, -1, -2))
    assert MatchRows(batch).texts("path") == column.to_pylist()
    assert MatchRows(batch).texts("path", indices) == [column[index].as_py() for index in indices]
    assert MatchRows(batch.slice(1)).texts("path") == column.to_pylist()[1:]


def test_a_cut_loads_no_pandas() -> None:
    """The first search that a limit cuts would wait for it: a third of a second."""
    script = """
import sys
import numpy as np
import pyarrow as pa
from sourcelight.core.arrays import arrow_array
from sourcelight.core.batches.rows import first_matches, match_count

spans = pa.ListArray.from_arrays(arrow_array(np.array([0, 3], np.int32)), arrow_array(np.arange(3, dtype=np.int32)))
columns = {"start": spans, "end": spans, "match_count": arrow_array(np.array([3], np.int32))}
batch = pa.RecordBatch.from_arrays(list(columns.values()), names=list(columns))
assert match_count(first_matches(batch, 2)) == 2
assert "pandas" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
