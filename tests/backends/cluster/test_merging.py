"""The order in which rows of workers are merged, and what a batch costs."""

from __future__ import annotations

import cProfile
import pstats

import pyarrow as pa
import pytest

from sourcelight.backends.cluster.coordinator.slots import OrderedMerge
from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.backends.cluster.worker.phases import COMMITS, FILES
from sourcelight.core.errors import ClusterError


def rows_of(phase: int, *names: str) -> ResultBatch:
    """One row of each repository."""
    column = pa.array(names).dictionary_encode()
    return ResultBatch(
        phase, names, tuple(range(1, len(names) + 1)), pa.RecordBatch.from_pydict({"repository": column})
    )


def calls_of_batches(repositories: int) -> int:
    """Return the Python calls of adding one batch for each of ten repositories, among so many of one worker."""
    names = [f"r{number:04}" for number in range(repositories)]
    merge = OrderedMerge(names)
    copies = merge.open(names)
    batches = [rows_of(FILES, name) for name in names[:10]]
    profile = cProfile.Profile()
    profile.enable()
    for batch in batches:
        merge.add(copies, batch)
    profile.disable()
    return int(pstats.Stats(profile).total_calls)  # type: ignore[attr-defined]


def test_a_batch_costs_the_same_for_a_worker_with_many_repositories() -> None:
    assert calls_of_batches(1000) <= calls_of_batches(10) + 10


def test_rows_are_read_by_phase_and_name_whatever_the_order_of_workers() -> None:
    merge = OrderedMerge(["a", "b", "c"], (COMMITS, FILES))
    first, second = merge.open(["a", "c"]), merge.open(["b"])
    merge.add(second, rows_of(FILES, "b"))
    merge.add(first, rows_of(COMMITS, "c"))
    merge.add(first, rows_of(FILES, "a"))
    merge.add(first, rows_of(FILES, "c"))
    for copies in (first, second):
        merge.complete(copies)
    rows = [name for batch in merge.batches(lambda: False) for name in batch.column(0).to_pylist()]
    assert rows == ["c", "a", "b", "c"]


def test_rows_of_a_finished_repository_are_refused() -> None:
    merge = OrderedMerge(["a", "b"])
    copies = merge.open(["a", "b"])
    merge.add(copies, rows_of(FILES, "b"))
    with pytest.raises(ClusterError, match="out of order"):
        merge.add(copies, rows_of(FILES, "a"))
    with pytest.raises(ClusterError, match="out of order"):
        merge.add(copies, rows_of(COMMITS, "b"))
