"""Processes of background work give way to searches."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.search import worker
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.background import BackgroundUpdater

WAIT_S = 20.0
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads priorities of processes")


@contextmanager
def started_worker() -> Iterator[int]:
    """Start the process that builds indexes, and yield its id."""
    process = worker_pool.start_process(worker.MODULE)
    try:
        yield process.pid
    finally:
        process.kill()
        process.communicate(timeout=WAIT_S)


def niceness(pid: int = 0) -> int:
    return os.getpriority(os.PRIO_PROCESS, pid)


def test_workers_of_background_work_are_nicer_than_those_that_someone_waits_for() -> None:
    with started_worker() as pid:
        assert niceness(pid) == niceness()
    with worker_pool.in_background(), started_worker() as pid:
        assert niceness(pid) == min(19, niceness() + 10)
    with started_worker() as pid:
        assert niceness(pid) == niceness()


def test_an_updater_starts_its_workers_in_the_background() -> None:
    levels: list[int] = []
    is_done = threading.Event()

    def work(items: Sequence[str], cancellation: Cancellation) -> Mapping[str, str]:
        assert items == ["repository"]
        assert not cancellation.cancelled
        with started_worker() as pid:
            levels.append(niceness(pid))
        is_done.set()
        return {}

    updater = BackgroundUpdater[str, str]("priority", work)
    updater.request({"repository": "repository"})
    assert is_done.wait(WAIT_S)
    assert levels == [min(19, niceness() + 10)]
