"""Clients over a cluster of three workers, and what one machine finds."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import sourcelight as sl
from backends.cluster.processes import Cell, wait_until
from backends.cluster.questions import QUERY, Line, lines
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer


@pytest.fixture
def clustered(cell: Cell, shards: str) -> Iterator[sl.Client]:
    """Client over the cluster, once all its workers are there."""
    with sl.open_cluster(cell.address, shards) as client:
        wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
        yield client


@pytest.fixture(scope="session")
def calm(cell: Cell, shards: str) -> Iterator[sl.Client]:
    """Client over the cluster that no test harms, for many tests."""
    with sl.open_cluster(cell.address, shards) as client:
        wait_until(lambda: len(client.cluster.workers) == len(cell.workers), "workers join")
        yield client


@pytest.fixture(scope="session")
def all_lines(embedded: sl.Client) -> list[Line]:
    """The lines that one machine finds."""
    results = []
    for event in embedded.backend.engine.stream(SearchRequest(QUERY), Viewer.owner(), Cancellation()):  # type: ignore[attr-defined]
        if isinstance(event, MatchBatch):
            results += lines(event.batch)
    return results
