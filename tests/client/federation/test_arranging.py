"""Rows that several services give stand once, and in an order that no speed decides."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

from display.batches_for_tests import lines, record_batch
from sourcelight.client.federation.row_merge import DuplicateFilter, order_parts
from sourcelight.client.federation.service import distinct, short_name
from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.columns import add_service

NAMES = ("a", "b", "c")


def file(repository: str, path: str, *numbers: int, commit: str | None = "c" * 40) -> Any:
    created = lines(repository, path, [(number, f"x {number}", [(0, 1)]) for number in numbers])
    column = pa.array([commit] * len(numbers), pa.string()).dictionary_encode().cast(arrow_type("dict32"))
    return created.set_column(created.schema.get_field_index("commit"), "commit", column)


def positions(batches: Sequence[Any]) -> list[tuple[str, str, str, int]]:
    columns = ["service", "repository", "path", "line_number"]
    return [tuple(row[name] for name in columns) for batch in batches for row in batch.select(columns).to_pylist()]


def names_of(rows: Sequence[Any], *, repository: str, kind: str = "repo") -> Any:
    return record_batch({"type": [kind] * len(rows), "repository": [repository] * len(rows), "match_count": [1]})


def test_a_row_at_the_same_commit_is_the_same_row() -> None:
    duplicate_filter = DuplicateFilter()
    assert list(duplicate_filter.find_new(0, file("r", "f", 1, 2, 3))) == [True] * 3
    assert list(duplicate_filter.find_new(1, file("r", "f", 2, 3, 4))) == [False, False, True]
    assert list(duplicate_filter.find_new(2, file("r", "f", 4, 5))) == [False, True]
    assert list(duplicate_filter.find_new(0, file("r", "f", 1))) == [True], (
        "what a service says twice is its own affair"
    )
    assert list(duplicate_filter.find_new(1, file("r", "g", 1))) == [True]
    assert duplicate_filter.conflicting_commits == {}


def test_a_row_at_another_commit_is_another_row_and_noted() -> None:
    duplicate_filter = DuplicateFilter()
    duplicate_filter.find_new(0, file("r", "f", 1, commit="1" * 40))
    assert duplicate_filter.find_new(1, file("r", "f", 1, commit="2" * 40)).all()
    assert duplicate_filter.conflicting_commits == {("r", ""): {0: "1" * 40, 1: "2" * 40}}


def test_a_row_without_a_commit_is_nobody_elses() -> None:
    duplicate_filter = DuplicateFilter()
    duplicate_filter.find_new(0, file("r", "f", 1, commit=None))
    assert duplicate_filter.find_new(1, file("r", "f", 1, commit=None)).all()
    assert duplicate_filter.find_new(2, file("r", "f", 1)).all()
    assert duplicate_filter.conflicting_commits == {}


def test_a_repository_found_by_name_is_the_same_everywhere() -> None:
    duplicate_filter = DuplicateFilter()
    assert duplicate_filter.find_new(0, names_of([0], repository="r")).all()
    assert not duplicate_filter.find_new(1, names_of([0], repository="r")).any()


def test_definitions_on_one_line_are_told_apart_by_their_names() -> None:
    def symbols(*names: str) -> Any:
        n = len(names)
        columns = {"type": ["symbol"] * n, "repository": ["r"] * n, "commit": ["c" * 40] * n, "path": ["f"] * n}
        return record_batch({**columns, "line_number": [7] * n, "symbol": list(names), "match_count": [1] * n})

    duplicate_filter = DuplicateFilter()
    duplicate_filter.find_new(0, symbols("x", "y"))
    assert list(duplicate_filter.find_new(1, symbols("y", "z"))) == [False, True]


def test_an_answer_without_a_limit_stands_by_repository_and_path() -> None:
    arguments = [
        [file("r1", "b", 1, 2), file("r3", "a", 1)],
        [file("r1", "a", 1), file("r2", "z", 1), file("r3", "a", 2)],
    ]
    result = order_parts(arguments, NAMES[:2], is_complete=True)
    assert positions(result.batches) == [
        ("b", "r1", "a", 1),
        ("a", "r1", "b", 1),
        ("a", "r1", "b", 2),
        ("b", "r2", "z", 1),
        ("a", "r3", "a", 1),
        ("b", "r3", "a", 2),
    ]
    assert (result.rows, result.matches, result.duplicates) == ([3, 3], [3, 3], [0, 0])


def test_repositories_come_before_files() -> None:
    arguments = [[names_of([0], repository="z"), file("z", "f", 1)], [names_of([0], repository="y"), file("a", "f", 1)]]
    assert [row[1:3] for row in positions(order_parts(arguments, NAMES[:2], is_complete=True).batches)] == [
        ("y", None),
        ("z", None),
        ("a", "f"),
        ("z", "f"),
    ]


def test_a_ranked_answer_takes_turns_file_by_file() -> None:
    arguments = [
        [file("r9", "best", 1, 2), file("r1", "worse", 1)],
        [file("r5", "first", 1), file("r0", "last", 3)],
        [],
    ]
    expected = [("a", "r9", "best", 1), ("a", "r9", "best", 2), ("b", "r5", "first", 1), ("a", "r1", "worse", 1),
                ("b", "r0", "last", 3)]  # fmt: skip
    assert positions(order_parts(arguments, NAMES, is_complete=False).batches) == expected
    unsorted = [[file("r9", "x", 1), file("r1", "x", 1)], [file("r5", "x", 1)]]
    assert [row[1] for row in positions(order_parts(unsorted, NAMES[:2], is_complete=True).batches)] == [
        "r9",
        "r5",
        "r1",
    ]


def test_a_limit_cuts_what_comes_last() -> None:
    arguments = [[file("r1", "f", 1, 2, 3)], [file("r2", "f", 1, 2, 3)]]
    result = order_parts(arguments, NAMES[:2], is_complete=False, limit=4)
    assert positions(result.batches) == [
        ("a", "r1", "f", 1),
        ("a", "r1", "f", 2),
        ("a", "r1", "f", 3),
        ("b", "r2", "f", 1),
    ]
    assert (result.matches, result.rows) == ([3, 1], [3, 1])


def test_nothing_is_nothing() -> None:
    assert order_parts([[], []], NAMES[:2], is_complete=True).batches == []


def test_of_equal_rows_that_of_the_first_service_stays() -> None:
    parts = [file("r", "f", 1, 2), file("r", "f", 1, 2)]
    result = order_parts([[part] for part in parts], NAMES[:2], is_complete=False)
    assert {row[0] for row in positions(result.batches)} == {"a"}
    assert result.duplicates == [0, 2]


FILES = st.tuples(st.sampled_from("rstu"), st.sampled_from("fgh"), st.sets(st.integers(1, 4), min_size=1))


@settings(max_examples=50, deadline=None)
@given(
    st.lists(st.lists(FILES, max_size=5, unique_by=lambda item: item[:2]), min_size=1, max_size=3),
    st.booleans(),
    st.one_of(st.none(), st.integers(0, 8)),
)
def test_every_row_stands_once(
    parts: list[list[tuple[str, str, set[int]]]],
    is_complete: bool,  # noqa: FBT001 - hypothesis gives it
    limit: int | None,
) -> None:
    """All rows of all services, as a set, and each of the first service that has it."""
    names = NAMES[: len(parts)]
    arguments = [[file(repository, path, *sorted(numbers)) for repository, path, numbers in part] for part in parts]
    result = order_parts(arguments, names, is_complete=is_complete, limit=limit)
    locations = positions(result.batches)
    owners: dict[tuple[str, str, int], str] = {}
    for name, part in zip(names, parts, strict=True):
        for repository, path, numbers in part:
            for number in numbers:
                owners.setdefault((repository, path, number), name)
    expected = {(name, *location) for location, name in owners.items()}
    assert len(locations) == len(set(locations)) == (len(expected) if limit is None else min(limit, len(expected)))
    assert set(locations) <= expected
    assert (sum(result.rows), sum(result.matches)) == (len(locations), len(locations))
    if is_complete and limit is None and all(part == sorted(part, key=lambda item: item[:2]) for part in parts):
        assert [row[1:3] for row in locations] == sorted(row[1:3] for row in locations)


def test_a_label_stands_in_every_row() -> None:
    assert add_service(file("r", "f", 1, 2), "x").column("service").to_pylist() == ["x", "x"]


def test_names_are_short_and_distinct() -> None:
    assert short_name("https://code.example.org:7080/sub/") == "code.example.org:7080/sub"
    assert short_name("cluster tcp://10.0.0.1:8786") == "cluster"
    for names in permutations(["x", "x", "x 2"]):
        assert len(set(distinct(names))) == 3
    assert distinct(["embedded", "embedded"]) == ["embedded", "embedded 2"]
