"""A search that may not take long gives what it has on time, and says once that it is not all."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio
import pyarrow as pa
import pytest

import sourcelight as sl
from core.wire.strict_decoder import read_strictly
from server.running_service import ScriptedEngine, Service
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, run_with_deadline, steps_with_deadline
from sourcelight.core.errors import SourcelightError
from sourcelight.core.wire.events import Done, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.server.http.pacing import EncodedMatches
from sourcelight.server.http.producer import Producer, SearchThreads

LATE_S = 4.0  # 0.3 s on an idle machine
SLOW = "[^x]"
"""Each character of lines of megabytes is a match: no machine finds them all in the time below."""

SHORT_S = 0.02


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
    [("needle timeout:1us", 0.001), (f"{SLOW} count:all timeout:20ms", SHORT_S)],
)
def test_a_passed_time_limit_ends_on_time_and_is_said_once(code: sl.Client, query: str, allowed_s: float) -> None:
    warm(code)
    start = time.monotonic()
    result = code.search(query, pattern_type="regexp")
    assert time.monotonic() - start < allowed_s + LATE_S
    said_once(result)


def test_what_was_found_before_the_limit_is_kept(embedded: sl.Client) -> None:
    warm(embedded)
    # A busy machine may find nothing within the first of these limits.
    for limit_s in (0.1, 0.4, 1.6, 6.4, 25.6):
        result = embedded.search(f"{SLOW} file:code|huge count:all", pattern_type="regexp", timeout_s=limit_s)
        if len(result.matches):
            break
    assert "code.py" in set(result.matches["path"])
    if result.status == "limited":
        said_once(result)


def test_the_limit_may_be_an_argument_too(code: sl.Client) -> None:
    warm(code)
    said_once(code.search(f"{SLOW} count:all", pattern_type="regexp", timeout_s=SHORT_S))


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
        start = time.monotonic()
        assert list(steps_with_deadline(parts(), Cancellation(1.0), worker)) == [1]
        assert time.monotonic() - start < 1.0 + LATE_S
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
        timed = steps_with_deadline(parts(), Cancellation(20), worker)
        assert next(timed) == 1
        with pytest.raises(LookupError):
            next(timed)
        assert closed.is_set()
        closed.clear()
        timed = steps_with_deadline(parts(), Cancellation(20), worker)
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


WORDS = [f"{chr(97 + n % 26)}{chr(97 + n % 25)}{chr(97 + n % 23)}x{n}" for n in range(9_000)]
LONG = {
    "ten thousand terms": " or ".join(WORDS),
    "a regexp of thousands of ways": f"/({'|'.join(WORDS)})/",
    "thousands of alternatives": " ".join("(repo:o or file:e)" for _ in range(12)) + " needle",
}


@pytest.mark.parametrize("text", LONG.values(), ids=list(LONG))
@pytest.mark.parametrize("allowed_s", [0.001, 0.25])
def test_reading_and_compiling_a_long_query_is_held_to_the_limit_too(
    embedded: sl.Client, text: str, allowed_s: float
) -> None:
    warm(embedded)
    start = time.monotonic()
    result = embedded.search(f"timeout:{allowed_s * 1000:g}ms count:all {text}")
    assert time.monotonic() - start < allowed_s + 3 * LATE_S
    if allowed_s < 0.1 or result.status == "limited":
        said_once(result)


def test_a_long_query_within_its_limit_is_answered(embedded: sl.Client) -> None:
    result = embedded.search("timeout:60s count:all " + "(repo:o or file:e) " * 6 + "needle")
    assert (result.status, len(result.alerts)) == ("complete", 0)
    assert len(result.matches) > 1_000


def test_matches_that_take_too_long_to_write_are_said_to_be_missing(remote: sl.Client) -> None:
    remote.search("needle count:1")
    start = time.monotonic()
    result = remote.search("a count:all file:huge timeout:600ms")
    assert time.monotonic() - start < 0.6 + 4 * LATE_S
    if result.status == "limited":
        reasons = [*result.skipped["reason"], *result.alerts["title"]]
        assert reasons in (["shard-timeout"], ["Timed out while searching"])


def test_what_the_service_could_not_encode_is_told_to_the_engine() -> None:
    """A batch of megabytes whose encoding never looks at the clock, at the end of a search that was in time."""
    slow, reports = threading.Event(), []

    def script(_: SearchRequest, __: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        cancellation.limit(1.0)
        line = "x" * 5_000_000
        columns = {"type": ["content"], "repository": ["one"], "line": [line]}
        yield MatchBatch(pa.RecordBatch.from_pydict(columns))
        reports.append(set(cancellation.unsent_repositories))
        yield Done()

    def encode(_: MatchBatch, __: Mapping[str, RepositoryInfo]) -> Iterator[bytes]:
        yield b"[1]"
        slow.wait(20)
        yield b"[2]"

    async def search() -> list[Any]:
        producer = Producer(ScriptedEngine(script), SearchRequest("x"), Viewer.owner(), Cancellation(), encode)
        end_event = asyncio.Event()
        producer.start(SearchThreads(), end_event.set)
        await asyncio.wait_for(end_event.wait(), 20)
        return await producer.take(0)

    start = time.monotonic()
    items = anyio.run(search)
    assert time.monotonic() - start < 1.0 + LATE_S
    slow.set()
    assert reports == [{"one"}]
    assert items == [EncodedMatches(b"[1]"), Done()]


def test_unsent_matches_are_a_skipped_item_of_the_final_progress(engine: LocalEngine) -> None:
    cancellation = Cancellation()
    events = engine.stream(SearchRequest("needle"), Viewer.owner(), cancellation)
    first = next(event for event in events if isinstance(event, MatchBatch))
    cancellation.unsent_repositories.add(first.repositories[0].name)
    last = [event for event in events if isinstance(event, Progress)][-1]
    (item,) = (item for item in last.skipped if item.reason == "shard-timeout")
    assert "that the time limit left out" in item.message
    assert first.repositories[0].name in item.message


def test_work_that_looks_at_no_clock_is_left_behind() -> None:
    go_on = threading.Event()
    with pytest.raises(DeadlineExceeded):
        run_with_deadline(lambda: go_on.wait(20), Cancellation(0.05))
    go_on.set()
    with pytest.raises(DeadlineExceeded):
        run_with_deadline(lambda: 1, Cancellation(-1.0))
    assert run_with_deadline(lambda: 1, Cancellation()) == run_with_deadline(lambda: 1, Cancellation(20)) == 1
    with pytest.raises(ZeroDivisionError):
        run_with_deadline(lambda: 1 // 0, Cancellation(20))
