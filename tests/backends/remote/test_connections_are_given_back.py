"""Connections to a service are used again, and none is lost, however a search ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

import sourcelight as sl
from server.running_service import TOKEN, running
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder


@pytest.fixture(scope="module")
def code(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sl.Client]:
    folder = tmp_path_factory.mktemp("connections")
    RepositoryBuilder(folder / "src" / "one").commit({"a.txt": "needle x\n" * 30_000})
    engine = open_engine([folder / "src"], index=folder / "index")
    with running(engine) as service, sl.connect(service.url, TOKEN, retries=0) as client:
        yield client


def states(code: sl.Client) -> list[str]:
    backend: Any = code.backend
    pool = backend._connection._client._transport._pool
    return [("idle" if connection.is_idle() else "busy") for connection in pool.connections]


@pytest.mark.parametrize(
    "query", ["needle count:all", "absent", "/(/", "needle count:all timeout:1ms", "needle timeout:0s", "type:repo one"]
)
def test_searches_one_after_another_share_a_connection(code: sl.Client, query: str) -> None:
    for _ in range(12):
        with suppress(sl.SourcelightError):
            code.search(query, progress=False)
    assert states(code) == ["idle"]


def test_a_loop_that_ends_early_gives_its_connection_back(code: sl.Client) -> None:
    for _ in range(12):
        for _event in code.stream("needle count:all", progress=False):
            break
    assert "busy" not in states(code)
    assert len(code.search("needle count:all", progress=False)) == 30_000
