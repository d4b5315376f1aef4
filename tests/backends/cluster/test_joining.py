"""Rows of many workers as one answer: in the order of one machine, in few batches, and none lost without a word."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.backends.cluster.batch_merge import LARGE_ROWS, JoinedRows, RowSlice, join_slices
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.backends.cluster.worker.phases import COMMITS, FILES, SYMBOLS, Phases
from sourcelight.core.errors import ClusterError


def batch_of(values: Sequence[tuple[str, str | None, list[int]]], kind: str = "content") -> Any:
    return pa.record_batch(
        {
            "type": pa.array([kind] * len(values)).dictionary_encode(),
            "repository": pa.array([name for name, _, _ in values], pa.string()).dictionary_encode(),
            "language": pa.array([language for _, language, _ in values], pa.string()).dictionary_encode(),
            "start": pa.array([starts for _, _, starts in values], pa.list_(pa.int32())),
        }
    )


def batch_result(phase: int, *names: str) -> ResultBatch:
    """A row of each repository."""
    return ResultBatch(phase, names, tuple(range(1, len(names) + 1)), batch_of([(name, None, []) for name in names]))


def names_of(batches: Sequence[Any]) -> list[list[str]]:
    return [batch.column("repository").to_pylist() for batch in batches]


ROWS = st.lists(
    st.tuples(st.sampled_from("abcd"), st.sampled_from([None, "Go", "C"]), st.lists(st.integers(0, 9), max_size=3)),
    min_size=1,
    max_size=8,
)


@settings(deadline=None, max_examples=50)
@given(st.data())
def test_rows_are_joined_as_they_are_in_the_order_given(data: st.DataObject) -> None:
    slices = []
    batch: pa.RecordBatch
    batches = [batch_of(rows) for rows in data.draw(st.lists(ROWS, min_size=1, max_size=3))]
    for batch in data.draw(st.lists(st.sampled_from(batches), min_size=1, max_size=5)):
        start = data.draw(st.integers(0, batch.num_rows - 1))
        slices.append(RowSlice(batch, start, data.draw(st.integers(start + 1, batch.num_rows))))
    result: pa.RecordBatch = join_slices(slices)
    expected = []
    for row_slice in slices:
        batch = row_slice.batch
        expected += batch.slice(row_slice.start, row_slice.end - row_slice.start).to_pylist()
    assert result.to_pylist() == expected
    for name in ("type", "repository", "language"):
        column = result.column(name)
        assert column.dictionary.to_pylist() == list(dict.fromkeys(v for v in column.to_pylist() if v is not None))


def test_few_rows_share_a_batch_and_many_have_their_own() -> None:
    gathered = JoinedRows()
    small, large = batch_of([("a", "Go", [1])]), batch_of([("b", "C", [])] * LARGE_ROWS)
    for kind, batch in ((0, small), (1, small), (1, small), (1, large), (1, small)):
        gathered.add(kind, batch, 0, batch.num_rows)
    assert [batch.num_rows for batch in gathered.batches()] == [1, 2, LARGE_ROWS, 1]
    assert gathered.rows == 0


def test_repositories_of_two_workers_come_by_name_in_one_batch() -> None:
    slots = OrderedMerge(["a", "b", "c", "d"])
    first, second = slots.open(["a", "c"]), slots.open(["b", "d"])
    slots.add(second, batch_result(FILES, "b", "d"))
    slots.add(first, batch_result(FILES, "a", "c"))
    slots.complete(first)
    slots.complete(second)
    assert names_of(list(slots.batches(lambda: False))) == [["a", "b", "c", "d"]]
    assert not slots.left


def test_definitions_that_come_first_do_not_end_what_comes_after_them() -> None:
    slots = OrderedMerge(["a", "b"])
    copies = slots.open(["a", "b"])
    slots.add(copies, batch_result(SYMBOLS, "a", "b"))
    slots.add(copies, batch_result(FILES, "a", "b"))
    slots.complete(copies)
    assert names_of(list(slots.batches(lambda: False))) == [["a", "b"], ["a", "b"]]


@pytest.mark.parametrize("result", [batch_result(FILES, "a"), batch_result(COMMITS, "b")])
def test_rows_out_of_their_order_are_refused_and_not_lost(result: ResultBatch) -> None:
    slots = OrderedMerge(["a", "b"])
    copies = slots.open(["a", "b"])
    slots.add(copies, batch_result(FILES, "b"))
    with pytest.raises(ClusterError, match="order"):
        slots.add(copies, result)


def test_what_was_not_given_on_when_time_ended_is_known() -> None:
    slots = OrderedMerge(["a", "b", "c"])
    copies = slots.open(["a", "b", "c"])
    slots.add(copies, batch_result(FILES, "a", "b"))
    request = iter([False, True])
    assert names_of(list(slots.batches(lambda: next(request)))) == [["a", "b"]]
    slots.complete(copies)
    assert slots.left == {"b", "c"}


def test_rows_say_in_which_phase_of_which_repository_they_are() -> None:
    phases = Phases(frozenset({"b"}), with_commits=True, symbols_first=False)
    actual = [
        (result.phase, result.repositories, result.ends)
        for kind, names in (("repo", "ab"), ("commit", "bb"), ("repo", "c"), ("content", "aabc"))
        for result in phases.results(batch_of([(name, None, []) for name in names], kind))
    ]
    assert actual == [
        (COMMITS, ("a", "b"), (1, 2)),
        (COMMITS, ("b",), (2,)),
        (COMMITS, ("c",), (1,)),
        (FILES, ("a", "b", "c"), (2, 3, 4)),
    ]
