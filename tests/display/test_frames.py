"""Frames keep their schema whatever the answer holds."""

from __future__ import annotations

import builtins
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from display.batches_for_tests import lines, paths, record_batch, repos
from equal_frames import assert_frame_equal
from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.batches.results import group_order, most_frequent, tie_key
from sourcelight.core.errors import MissingExtra
from sourcelight.core.wire.events import Alert, Progress, ProposedQuery, QuerySuggestion, Skipped, SuggestedFilter
from sourcelight.display.frames import columns_of, documentation, pandas_dtype
from sourcelight.display.frames.aggregates import MatchCounter, counts_frame
from sourcelight.display.frames.facts import (
    alerts_frame,
    filters_frame,
    progress_frame,
    repositories_frame,
    skipped_frame,
)
from sourcelight.display.frames.tables import explode, matches_table, to_pandas, to_polars

NAMES = ["matches", "progress", "filters", "skipped", "alerts", "repositories", "spans"]
MIXED = [
    lines("r1", "a.go", [(1, "foo foo", [(0, 3), (4, 7)]), (2, "é🐍 foo", [(3, 6)])]),
    paths("r2", ["foo.py", "x/foo.c"], (0, 3)),
    repos(["foo"], (0, 3)),
    lines("r2", "b", [(9, "foo", [(0, 4)]), (10, "bar", [(0, 1)])]),
]


def test_matches_have_one_schema_full_or_empty() -> None:
    full, empty = to_pandas(matches_table(MIXED)), to_pandas(matches_table([]))
    assert len(full) == 7
    assert len(empty) == 0
    for frame in (full, empty):
        assert list(frame.columns) == [c.name for c in columns_of("matches")]
        assert [str(t) for t in frame.dtypes] == [pandas_dtype(c) for c in columns_of("matches")]


def test_small_frames_have_one_schema_full_or_empty() -> None:
    builders: list[tuple[str, Any, list[Any]]] = [
        ("progress", progress_frame, [Progress(False, 1, 2, None, (Skipped("a", "b"),)), Progress(True, 3, 4, 5)]),
        ("filters", filters_frame, [SuggestedFilter("repo:x", "x", 3, True, "repo")]),
        ("skipped", skipped_frame, [Skipped("a", "b"), Skipped("c", "d", "e", "warn", QuerySuggestion("f", "g"))]),
        ("alerts", alerts_frame, [Alert("t"), Alert("u", "d", "info", (ProposedQuery("q", "w"),))]),
        (
            "repositories",
            lambda rows: repositories_frame(rows, {"b": 2}),
            [RepositoryInfo("b", topics=("x",)), RepositoryInfo("a", last_fetched="2024-01-02T03:04:05Z")],
        ),
    ]
    for name, build, events in builders:
        for rows in ([], events):
            frame = build(rows)
            assert len(frame) == len(rows)
            assert list(frame.columns) == [c.name for c in columns_of(name)]
            assert [str(t) for t in frame.dtypes] == [pandas_dtype(c) for c in columns_of(name)], name


def test_repositories_are_sorted_and_times_are_utc() -> None:
    times = ["2024-01-02T03:04:05+02:00", "2024-01-02", "0001-01-01T00:00:00Z", "soon", ""]
    frame = repositories_frame([RepositoryInfo(f"r{i}", last_fetched=t) for i, t in enumerate(times)], {"r1": 4})
    assert list(frame["last_fetched"].notna()) == [True, True, False, False, False]
    assert frame["last_fetched"][0] == pd.Timestamp("2024-01-02T01:04:05Z")
    assert list(frame["matches"]) == [0, 4, 0, 0, 0]


def test_dictionaries_are_unified_over_batches() -> None:
    frame = to_pandas(matches_table(MIXED))
    assert list(frame["repository"].cat.categories) == ["r1", "r2", "foo"]
    assert list(frame["repository"]) == ["r1", "r1", "r2", "r2", "foo", "r2", "r2"]


def test_a_foreign_dictionary_with_nulls_or_repeats_is_read_right() -> None:
    values = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, None], pa.int32()), pa.array(["x", "x", None]))
    batch = pa.record_batch({"repository": values})
    for batches in ([batch], [batch, *MIXED]):
        frame = to_pandas(matches_table(batches))
        assert list(frame["repository"][:2]) == ["x", "x"]
        assert list(frame["repository"][2:4].isna()) == [True, True]


def test_line_numbers_are_null_where_there_is_no_line() -> None:
    frame = to_pandas(matches_table(MIXED))
    assert list(frame["line_number"].isna()) == [False, False, True, True, True, False, False]
    assert frame["line"].isna().sum() == 3


def test_attrs_are_the_small_dict_given() -> None:
    frame = to_pandas(matches_table(MIXED), attrs={"status": "complete"})
    assert frame.query("line_number == 1").attrs == {"status": "complete"}


def test_polars_gets_the_same_rows() -> None:
    frame = to_polars(matches_table(MIXED))
    assert frame.height == 7
    assert frame["repository"].to_list()[0] == "r1"
    assert frame["start"].to_list()[0] == [0, 4]


def test_without_polars_the_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(name: str, *args: Any) -> Any:
        if name == "polars":
            raise ImportError(name)
        return real(name, *args)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(MissingExtra, match="pip install polars"):
        to_polars(matches_table([]))


def test_spans_are_one_row_per_match() -> None:
    spans = explode(matches_table(MIXED))
    assert spans.column_names == [c.name for c in columns_of("spans")]
    assert list(zip(*(spans[c].to_pylist() for c in ("row", "field", "start", "end", "match")), strict=True)) == [
        (0, "line", 0, 3, "foo"),
        (0, "line", 4, 7, "foo"),
        (1, "line", 3, 6, "foo"),
        (2, "path", 0, 3, "foo"),
        (3, "path", 0, 3, "x/f"),
        (4, "repository", 0, 3, "foo"),
        (5, "line", 0, 4, "foo"),
        (6, "line", 0, 1, "b"),
    ]
    assert spans["continues"].to_pylist() == [False] * 6 + [True, False]
    assert explode(matches_table([])).schema == spans.schema


def test_counts_by_columns_add_up_over_many_batches() -> None:
    counter = MatchCounter(["repository", "language"])
    for k in range(200):
        counter.add(lines("r1", f"{k}.go", [(1, "foo foo", [(0, 3), (4, 7)])]))
    counter.add(paths("r2", ["foo"], (0, 3)))
    counter.add(repos(["r3"], (0, 1)))
    frame = counts_frame(counter.table(), {"status": "complete"})
    assert frame.to_dict("list") == {
        "repository": ["r1", "r2", "r3"],
        "language": ["Go", None, None],
        "matches": [400, 1, 1],
        "files": [200, 1, 0],
    } or frame["matches"].tolist() == [400, 1, 1]
    assert frame["files"].tolist() == [200, 1, 0]


def test_a_file_that_comes_again_counts_once_in_each_group() -> None:
    """As the lines of one file do that several commits changed, however they are cut into batches."""
    rows = [("r1", "a.go", "added"), ("r1", "b.go", "added"), ("r1", "a.go", "removed"), ("r2", "a.go", "added")]
    columns = ("repository", "path", "side")
    tables = []
    for size in (1, 4):
        counters = MatchCounter([]), MatchCounter(["repository"]), MatchCounter(["side", "repository"])
        for index in range(0, len(rows), size):
            part = rows[index : index + size]
            values: dict[str, list[object]] = {name: [row[k] for row in part] for k, name in enumerate(columns)}
            batch = record_batch(values | {"type": ["diff"] * size, "revision": [""] * size, "match_count": [1] * size})
            for counter in counters:
                counter.add(batch)
        tables.append([counts_frame(counter.table(), {}).to_dict("list") for counter in counters])
    assert tables[0] == tables[1]
    assert tables[0][0] == {"matches": [4], "files": [3]}
    assert tables[0][1] == {"repository": ["r1", "r2"], "matches": [3, 1], "files": [2, 1]}
    assert tables[0][2]["files"] == [2, 1, 1]


def test_counts_of_nothing_are_zero_or_no_rows() -> None:
    assert MatchCounter([]).table().to_pylist() == [{"matches": 0, "files": 0}]
    assert MatchCounter(["language"]).table().num_rows == 0
    assert counts_frame(MatchCounter(["language"]).table(), {}).columns.tolist() == ["language", "matches", "files"]


@pytest.mark.parametrize("name", NAMES)
def test_every_column_is_documented(name: str) -> None:
    text = documentation(name)
    for column in columns_of(name):
        assert f"| `{column.name}` | `{pandas_dtype(column)}` | {column.meaning} |" in text


def test_a_batch_without_a_column_is_null_there() -> None:
    frame = to_pandas(matches_table([record_batch({"type": ["repo"], "repository": ["x"]})]))
    assert frame["match_count"].tolist() == [0]
    assert frame["commit"].isna().all()


def test_a_row_takes_less_than_300_bytes() -> None:
    many = [(i + 1, f'    return fmt.Errorf("reading %s: %w", name, err) // {i}', [(11, 21)]) for i in range(5_000)]
    frame = to_pandas(matches_table([lines(f"r{k}", f"{k}.go", many) for k in range(4)]))
    assert frame.memory_usage(deep=True).sum() / len(frame) < 300


ROWS = st.lists(
    st.tuples(st.integers(1, 99), st.text(max_size=12), st.lists(st.integers(0, 11), max_size=3)),
    min_size=1,
    max_size=6,
)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(["r1", "r2", "r3"]), st.sampled_from(["a.go", "b", "c/é"]), ROWS), max_size=6)
)
def test_frames_and_spans_equal_those_made_row_by_row(files: list[tuple[str, str, list[Any]]]) -> None:
    batches = [lines(r, p, [(n, t, [(a, a + 2) for a in sorted(s)]) for n, t, s in rows]) for r, p, rows in files]
    frame = to_pandas(matches_table(batches))
    flat = [(r, p, n, t, sorted(s)) for r, p, rows in files for n, t, s in rows]
    seen = zip(frame["repository"], frame["path"], frame["line_number"], frame["line"], frame["start"], strict=True)
    assert [(r, p, n, t, list(s)) for r, p, n, t, s in seen] == flat
    spans = explode(matches_table(batches))
    assert list(zip(*(spans[c].to_pylist() for c in ("row", "start", "match")), strict=True)) == [
        (row, a, t[a : a + 2]) for row, (_, _, _, t, s) in enumerate(flat) for a in s
    ]


def test_counts_have_one_dtype_with_rows_without_and_with_nulls() -> None:
    by = ["repository", "path", "line_number", "symbol_kind", "author_date"]
    empty, nonempty = MatchCounter(by), MatchCounter(by)
    nonempty.add(lines("r", "a.go", [(2, "x", [(0, 1)])]))
    mixed = MatchCounter(by)
    for batch in MIXED:
        mixed.add(batch)
    frames = [counts_frame(counter.table(), {}) for counter in (empty, nonempty, mixed)]
    assert [len(frame) > 0 for frame in frames] == [False, True, True]
    expected = ["str", "str", "Int32", "str", "datetime64[us, UTC]", "int64", "int64"]
    for frame in frames:
        assert [str(dtype) for dtype in frame.dtypes] == expected


def test_ties_are_broken_by_value_whatever_the_order_of_arrival() -> None:
    batches = [lines(name, f"{path}.go", [(1, "x", [(0, 1)])]) for name in "bca" for path in "zy"]
    frames = []
    for order in (batches, batches[::-1]):
        counter = MatchCounter(["repository", "path"])
        for batch in order:
            counter.add(batch)
        frames.append(counts_frame(counter.table(), {}))
    assert_frame_equal(*frames)
    assert list(frames[0]["repository"] + frames[0]["path"]) == [f"{r}{p}.go" for r in "abc" for p in "yz"]
    counts = dict.fromkeys("dbca", 1)
    assert most_frequent(counts, 2) == most_frequent(dict(reversed(counts.items())), 2) == [("a", 1), ("b", 1)]
    rows = [{"repository": r, "author": a} for r in ("b", "a") for a in (None, "y", "x")]
    table = pa.Table.from_pylist(rows)
    order = group_order([[1] * 6], {name: table.column(name) for name in table.column_names})
    assert table.take(order).to_pylist() == sorted(rows, key=tie_key)
