"""The sample fleet as shards, and a cluster of three workers over it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import sourcelight as sl
from cluster.processes import Cell, wait_until
from cluster.questions import QUERY, Line, lines
from sourcelight.backends.cluster.building.generations import build_generation
from sourcelight.backends.cluster.storage import Storage
from sourcelight.core.batches import Cancellation, MatchBatch
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Catalog, Viewer


@pytest.fixture(scope="session")
def shards(fleet: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Storage with a generation of the sample fleet; tests must not change it."""
    storage = tmp_path_factory.mktemp("shards")
    report = build_generation(Catalog.open(fleet), Storage(str(storage)))
    assert not report.failures
    return str(storage)


@pytest.fixture(scope="session")
def cell(shards: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cell]:
    """A scheduler with three workers; tests that harm theirs have one of their own."""
    cell = Cell(shards, tmp_path_factory.mktemp("caches"))
    try:
        yield cell
    finally:
        cell.close()


@pytest.fixture
def clustered(cell: Cell, shards: str) -> Iterator[sl.Client]:
    """Client over the cluster, once all its workers are there."""
    with sl.open(cluster=cell.address, storage=shards) as client:
        wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
        yield client


@pytest.fixture(scope="session")
def calm(cell: Cell, shards: str) -> Iterator[sl.Client]:
    """Client over the cluster that no test harms, for many tests."""
    with sl.open(cluster=cell.address, storage=shards) as client:
        wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
        yield client


@pytest.fixture(scope="session")
def embedded(fleet: Path) -> Iterator[sl.Client]:
    """The same over engines of this process."""
    with sl.open(fleet) as client:
        yield client


@pytest.fixture(scope="session")
def whole(embedded: sl.Client) -> list[Line]:
    """The lines that one machine finds."""
    found = []
    for event in embedded.backend.engine.stream(SearchRequest(QUERY), Viewer.owner(), Cancellation()):  # type: ignore[attr-defined]
        if isinstance(event, MatchBatch):
            found += lines(event.batch)
    return found
