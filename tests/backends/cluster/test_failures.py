"""Workers and schedulers that die, freeze and come back: the answer is whole, or says what is missing."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until

QUERY = "e count:all fork:yes archived:yes"
pytestmark = pytest.mark.timeout(240)  # four processes start for each test
DEADLINE_S = 15.0
"""Five seconds are promised; a busy machine gets three times as many."""


@pytest.fixture
def cell(shards: str, tmp_path: Path) -> Iterator[Cell]:
    """A cluster of its own for each test: it is harmed."""
    cell = Cell(shards, tmp_path)
    try:
        yield cell
    finally:
        cell.close()


def rows(result: sl.SearchResult) -> list[tuple[object, ...]]:
    frame = result.matches
    return list(frame[["repository", "revision", "path", "line_number"]].astype(str).itertuples(index=False, name=None))


def accounted(client: sl.Client, result: sl.SearchResult) -> None:
    """Every repository is told whole, or is named as one that was not."""
    titles = set(result.skipped.loc[result.skipped["reason"] == "backend-missing", "title"])
    names = {repository.name for repository in client.backend.engine.catalog.repositories}  # type: ignore[attr-defined]
    missing = {name for name in names if f"{name} did not answer" in titles}
    assert len(titles) == len(missing)
    assert result.status == ("limited" if missing else "complete")


def test_a_search_survives_a_worker_that_was_killed_before_it(
    cell: Cell, clustered: sl.Client, embedded: sl.Client
) -> None:
    everything = rows(embedded.search(QUERY))
    assert rows(clustered.search(QUERY)) == everything
    cell.kill("w1")
    result = clustered.search(QUERY)
    accounted(clustered, result)
    assert result.status == "complete"
    assert rows(result) == everything


def test_a_search_survives_a_worker_that_is_killed_in_it(cell: Cell, clustered: sl.Client, embedded: sl.Client) -> None:
    everything = rows(embedded.search(QUERY))
    clustered.search("x")
    killer = threading.Timer(0.02, lambda: cell.kill("w2"))
    killer.start()
    results = [clustered.search(QUERY) for _ in range(3)]
    killer.join(10)
    for result in results:
        accounted(clustered, result)
        assert result.status == "complete"
        assert rows(result) == everything


def test_a_frozen_worker_is_left_behind_within_the_deadline(
    cell: Cell, clustered: sl.Client, embedded: sl.Client
) -> None:
    everything = rows(embedded.search(QUERY))
    clustered.search(QUERY)
    cell.kill("w3", signal.SIGSTOP)
    try:
        began = time.monotonic()
        result = clustered.search(QUERY)
        assert time.monotonic() - began < DEADLINE_S
        assert rows(result) == everything
        assert result.status == "complete"
    finally:
        cell.kill("w3", signal.SIGCONT)


def test_what_no_worker_has_is_named(cell: Cell, clustered: sl.Client) -> None:
    clustered.search("x")
    for name in ("w1", "w2"):
        cell.kill(name)
    began = time.monotonic()
    result = clustered.search(QUERY)
    assert time.monotonic() - began < DEADLINE_S
    accounted(clustered, result)
    for name in ("w3",):
        cell.kill(name)
    began = time.monotonic()
    result = clustered.search(QUERY)
    assert time.monotonic() - began < DEADLINE_S
    assert result.status == "limited"
    assert set(result.skipped["severity"]) >= {"error"}
    accounted(clustered, result)


def test_a_scheduler_that_dies_costs_the_cell_and_the_answer_says_so(cell: Cell, clustered: sl.Client) -> None:
    clustered.search("x")
    cell.scheduler.kill()
    cell.scheduler.wait(10)
    wait_until(lambda: all(worker.poll() is not None for worker in cell.workers.values()), "workers end", 30.0)
    began = time.monotonic()
    result = clustered.search(QUERY)
    assert time.monotonic() - began < DEADLINE_S
    assert result.status == "limited"
    accounted(clustered, result)


def test_a_second_cell_answers_when_the_scheduler_of_the_first_dies(
    cell: Cell, shards: str, embedded: sl.Client, tmp_path: Path
) -> None:
    everything = rows(embedded.search(QUERY))
    other = Cell(shards, tmp_path / "other", ("v1", "v2"))
    try:
        with sl.open_cluster([cell.address, other.address], shards) as client:
            wait_until(lambda: len(client.cluster.workers) == 5, "workers join")
            assert rows(client.search(QUERY)) == everything
            cell.scheduler.kill()
            for _ in range(2):
                result = client.search(QUERY)
                accounted(client, result)
                assert result.status == "complete"
                assert rows(result) == everything
    finally:
        other.close()


def test_a_worker_that_joins_takes_its_share(cell: Cell, clustered: sl.Client, embedded: sl.Client) -> None:
    everything = rows(embedded.search(QUERY))
    cell.start("w4")
    wait_until(lambda: len(clustered.cluster.workers) == 4, "the worker joins")
    assert rows(clustered.search(QUERY)) == everything
    replicas = {
        address for name in clustered.list_repos()["repository"] for address in clustered.cluster.replicas(name)
    }
    assert clustered.cluster.workers["w4"] in replicas
