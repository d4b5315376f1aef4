"""A search that may not take long gives what it has on time, and says once that it is not all."""

from __future__ import annotations

import threading
import time
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor

import pytest

import sourcelight as sl
from core.wire.strict_decoder import read_strictly
from server.running_service import Service
from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.engine.background import on_time

LATE_S = 1.5  # 0.3 s on an idle machine
SLOW = "[^x]"
"""Takes seconds on lines of megabytes, where each character is a match."""


def warm(code: sl.Client) -> None:
    """Load what a first search loads."""
    code.search("needle count:1")
    code.search(f"{SLOW} file:code", pattern_type="regexp")


def said_once(result: sl.SearchResult) -> None:
    reasons = list(result.skipped["reason"]) + [
        "alert" for title in result.alerts["title"] if title == "Timed out while searching"
    ]
    assert len(reasons) == 1, reasons
    assert reasons[0] == ("shard-timeout" if result.match_count else "alert")
    assert result.status == "limited"


@pytest.mark.parametrize(
    ("query", "allowed_s"),
    [("needle timeout:1us", 0.001), (f"{SLOW} count:all timeout:300ms", 0.3)],
)
def test_a_passed_time_limit_ends_on_time_and_is_said_once(code: sl.Client, query: str, allowed_s: float) -> None:
    warm(code)
    begin = time.monotonic()
    result = code.search(query, pattern_type="regexp")
    assert time.monotonic() - begin < allowed_s + LATE_S
    said_once(result)


def test_what_was_found_before_the_limit_is_kept(embedded: sl.Client) -> None:
    warm(embedded)
    result = embedded.search(f"{SLOW} file:code|huge timeout:400ms count:all", pattern_type="regexp")
    assert "code.py" in set(result.matches["path"])
    if result.status == "limited":
        said_once(result)


def test_the_limit_may_be_an_argument_too(code: sl.Client) -> None:
    warm(code)
    said_once(code.search(f"{SLOW} count:all", pattern_type="regexp", timeout_s=0.3))


def test_the_service_tells_the_limit_and_its_remedy(service: Service) -> None:
    events = read_strictly(service.search("needle timeout:1us").content)
    assert [name for name, _ in events][-2:] == ["alert", "done"]
    (alert,) = (value for name, value in events if name == "alert")
    (proposed,) = alert["proposedQueries"]
    assert proposed["query"] == "timeout:2s needle"
    assert "error" not in dict(read_strictly(service.search(proposed["query"]).content))
    assert [value for name, value in events if name == "progress"][-1]["done"] is True


def test_a_step_that_is_late_is_left_behind_and_closes_when_it_ends() -> None:
    go_on, closed = threading.Event(), threading.Event()

    def parts() -> Generator[int, None, None]:
        try:
            yield 1
            go_on.wait(20)
            yield 2
        finally:
            closed.set()

    with ThreadPoolExecutor(1) as worker:
        begin = time.monotonic()
        assert list(on_time(parts(), Cancellation(0.05), worker)) == [1]
        assert time.monotonic() - begin < LATE_S
        go_on.set()
    assert closed.wait(20)


def test_a_step_that_is_in_time_gives_its_fault_and_closes() -> None:
    closed = threading.Event()

    def parts() -> Generator[int, None, None]:
        try:
            yield 1
            raise LookupError("in a step")
        finally:
            closed.set()

    with ThreadPoolExecutor(1) as worker:
        timed = on_time(parts(), Cancellation(20), worker)
        assert next(timed) == 1
        with pytest.raises(LookupError):
            next(timed)
        assert closed.is_set()
        closed.clear()
        timed = on_time(parts(), Cancellation(20), worker)
        assert next(timed) == 1
        timed.close()
        assert closed.is_set()


def test_no_thread_of_a_late_search_stays(code: sl.Client) -> None:
    code.search(f"{SLOW} count:all timeout:100ms", pattern_type="regexp")
    bound = time.monotonic() + 20
    while any(thread.name.startswith("sourcelight-timed") for thread in threading.enumerate()):
        assert time.monotonic() < bound
        threading.Event().wait(0.02)


def test_a_search_within_its_limit_is_complete(code: sl.Client) -> None:
    result = code.search("needle timeout:30s count:all")
    assert (result.status, len(result.skipped), len(result.alerts)) == ("complete", 0, 0)


def test_a_limit_that_is_no_time_is_refused(code: sl.Client) -> None:
    with pytest.raises(SourcelightError, match=r"(?i)invalid value for field 'timeout'"):
        code.search("needle timeout:soon")
