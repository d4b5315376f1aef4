"""Connections to a service are used again, and none is lost, however a search ends."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

import pytest

import sourcelight as sl
from server.running_service import TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.testing import RepositoryBuilder


@dataclass
class Remote:
    """A client of a service that has no other."""

    service: Service
    code: sl.Client

    def connections(self) -> set[object]:
        """The open connections at the service, at most one: those that a client has closed are gone in a moment."""
        deadline = time.monotonic() + 5
        while len(self.service.server.server_state.connections) > 1 and time.monotonic() < deadline:
            threading.Event().wait(0.01)
        return set(self.service.server.server_state.connections)


@pytest.fixture(scope="module")
def remote(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Remote]:
    folder = tmp_path_factory.mktemp("connections")
    RepositoryBuilder(folder / "src" / "one").commit({"a.txt": "needle x\n" * 30_000})
    engine = open_engine([folder / "src"], index=folder / "index")
    with running(engine) as service, sl.connect(service.url, TOKEN, retries=0) as client:
        yield Remote(service, client)


@pytest.mark.parametrize(
    "query", ["needle count:all", "absent", "/(/", "needle count:all timeout:1ms", "needle timeout:0s", "type:repo one"]
)
def test_searches_one_after_another_share_a_connection(remote: Remote, query: str) -> None:
    for _ in range(12):
        with suppress(sl.SourcelightError):
            remote.code.search(query, progress=False)
    connections = remote.connections()
    assert len(connections) == 1
    remote.code.search("absent", progress=False)
    assert remote.connections() == connections, "the connection was idle"


def test_a_loop_that_ends_early_gives_its_connection_back(remote: Remote) -> None:
    for _ in range(12):
        for _event in remote.code.stream("needle count:all", progress=False):
            break
    assert len(remote.connections()) <= 1
    assert len(remote.code.search("needle count:all", progress=False)) == 30_000
