"""Rows of the explorer are those that a plain look at each row finds, in the same order."""

from __future__ import annotations

import fnmatch
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from display.batches_for_tests import lines, paths, record_batch
from sourcelight.display.notebook.widgets import ExplorerRows, RowQuery
from sourcelight.display.notebook.widgets.explorer_rows import SORTS

NAMES = ("src/a.py", "src/b.go", "test/A.py", "c", "src/test/ü.go")
TEXTS = ("foo(bar)", "Foo", "", "x = [foo]", "ÜBER über", "a\tb")
files = st.tuples(
    st.sampled_from(["r1", "r2", "org/R1"]), st.sampled_from(NAMES), st.lists(st.sampled_from(TEXTS), max_size=4)
)
row_queries = st.builds(
    RowQuery,
    repository=st.sampled_from(["", "r1", "org/R1", "absent"]),
    language=st.sampled_from(["", None, "Go"]),
    path=st.sampled_from(["", "src", "-test", "*.py", "R1 go", "a.p?", "absent", "- src"]),
    text=st.sampled_from(["", "foo", "[", "über", "absent"]),
    sort=st.sampled_from(["", *SORTS]),
    descending=st.booleans(),
)


def _has(row: dict[str, Any], word: str) -> bool:
    for text in (row["repository"].lower(), (row["path"] or "").lower()):
        if fnmatch.fnmatchcase(text, f"*{word}") if set("*?") & set(word) else word in text:
            return True
    return False


def _naive(rows: list[dict[str, Any]], query: RowQuery) -> list[int]:
    def fits(row: dict[str, Any]) -> bool:
        words = query.path.lower().split()
        unwanted = [word[1:] for word in words if word.startswith("-") and len(word) > 1]
        required = [word for word in words if not word.startswith("-") or len(word) == 1]
        return (
            query.repository in {"", row["repository"]}
            and query.language in {"", row["language"]}
            and all(_has(row, word) for word in required)
            and not any(_has(row, word) for word in unwanted)
            and query.text.lower() in (row["line"] or "").lower()
        )

    results = [n for n, row in enumerate(rows) if fits(row)]
    if not query.sort:
        return results
    column = "line" if query.sort == "text" else query.sort
    then = [name for name in ("repository", "path", "line_number") if name != query.sort]
    if query.sort != "text":
        results.sort(key=lambda n: [rows[n][name] or ("" if name != "line_number" else 0) for name in then])
    results.sort(key=lambda n: rows[n][column] or (0 if column == "line_number" else ""), reverse=query.descending)
    return results


@settings(max_examples=150, deadline=None)
@given(st.lists(files, max_size=5), st.lists(st.integers(0, 5), max_size=3), row_queries)
def test_a_selection_is_what_a_look_at_each_row_finds(entries: Any, cuts: list[int], query: RowQuery) -> None:
    batches = [lines(repository, path, [(n + 1, text, []) for n, text in enumerate(texts)])
               for repository, path, texts in entries]  # fmt: skip
    rows = ExplorerRows()
    for count in sorted(cuts):
        rows.take_in(batches[:count])
    rows.take_in(batches)
    records = [row for batch in batches for row in batch.to_pylist()]
    assert len(rows) == len(records)
    selection = rows.select(query)
    expected = _naive(records, query)
    numbers = selection.numbers.tolist()
    assert sorted(numbers) == sorted(expected)
    if query.sort != "text" and not (query.descending and query.sort):
        assert numbers == expected
    elif query.sort == "text":
        texts = [records[n]["line"] for n in numbers]
        assert texts == sorted(texts, reverse=query.descending)
    got = rows.rows(selection.numbers)
    assert [(r["row"], r["line"], r["path"]) for r in got] == [
        (n, records[n]["line"], records[n]["path"]) for n in numbers
    ]
    assert sum(count for _, count in selection.repositories) >= len(numbers)
    if not query.repository:
        assert sum(count for _, count in selection.repositories) == len(numbers)


def test_rows_of_other_kinds_are_rows_too() -> None:
    commit = {"type": ["commit"], "repository": ["r1"], "commit": ["c" * 40], "message": ["Fix the foo\n\nIt broke."]}
    rows = ExplorerRows()
    rows.take_in([paths("r1", ["foo.py"], (0, 3)), record_batch(commit), record_batch({"repository": []})])
    assert rows.select(RowQuery(text="broke")).numbers.tolist() == [1]
    assert rows.select(RowQuery(path="foo.py")).numbers.tolist() == [0]
    assert rows.rows([1])[0]["message"].startswith("Fix")
    assert ExplorerRows().select(RowQuery(text="x", sort="path")).numbers.tolist() == []


def test_dictionaries_with_a_value_twice_are_read_right() -> None:
    twice = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2], pa.int32()), pa.array(["r1", "r1", "r2"]))
    other = pa.DictionaryArray.from_arrays(pa.array([0, None], pa.int32()), pa.array(["r2"]))
    batches = [pa.record_batch([column], names=["repository"]) for column in (twice, other)]
    rows = ExplorerRows()
    rows.take_in(batches)
    assert rows.select(RowQuery(repository="r1")).numbers.tolist() == [0, 1]
    assert rows.select(RowQuery(repository="r2")).numbers.tolist() == [2, 3]
    assert rows.select(RowQuery()).repositories == (("r1", 2), ("r2", 2), (None, 1))
