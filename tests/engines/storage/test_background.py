"""Background updates: one thread, whoever asks; failures, retries and stops."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence

import pytest

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.storage.background import BackgroundUpdater

WAIT_S = 10.0


class Work:
    """Work that says what it was given, and waits for `go` before each step."""

    def __init__(self) -> None:
        self.steps: list[list[str]] = []
        self.done: set[str] = set()
        self.broken: set[str] = set()
        self.started = threading.Event()
        self.go = threading.Event()

    def __call__(self, items: Sequence[str], cancellation: Cancellation) -> Mapping[str, str]:
        self.steps.append(list(items))
        self.started.set()
        while not self.go.wait(0.01) and not cancellation.cancelled:
            pass
        if "raise" in items:
            raise ValueError("no such thing")
        if not cancellation.cancelled:
            self.done.update(item for item in items if item not in self.broken)
        return {item: "it is broken" for item in items if item in self.broken}

    def is_ready(self, item: str) -> bool:
        return item in self.done


@pytest.fixture
def work() -> Iterator[Work]:
    work = Work()
    yield work
    work.go.set()


def keys(*names: str) -> dict[str, str]:
    return {name: name for name in names}


def finish(updater: BackgroundUpdater[str, str], *names: str) -> None:
    for _ in updater.wait(keys(*names), Cancellation(), WAIT_S):
        pass


def test_one_key_at_a_time_in_order_of_the_requests(work: Work) -> None:
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready)
    work.go.set()
    assert updater.request(keys("a", "b")) == {"a", "b"}
    finish(updater, "a", "b", "c")
    assert work.steps == [["a"], ["b"], ["c"]]
    assert updater.request(keys("a", "b", "c")) == set()


def test_a_batch_takes_all_that_is_queued_meanwhile(work: Work) -> None:
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready, batch=True)
    updater.request(keys("a"))
    assert work.started.wait(WAIT_S)
    updater.request(keys("b"))
    updater.request(keys("c"))
    work.go.set()
    finish(updater, "a", "b", "c")
    assert work.steps == [["a"], ["b", "c"]]


def test_work_under_way_is_waited_for_and_not_begun_twice(work: Work) -> None:
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready, retry_s=60.0, batch=True)
    updater.request(keys("a"))
    assert work.started.wait(WAIT_S)
    pending = updater.wait(keys("a"), Cancellation(), WAIT_S)
    assert next(pending) == {"a"}
    work.go.set()
    assert list(pending) in ([], [frozenset({"a"})])
    assert work.steps == [["a"]]


def test_a_failure_has_its_reason_and_ends_no_other_work(work: Work) -> None:
    work.broken = {"b"}
    work.go.set()
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready)
    finish(updater, "raise", "b", "c")
    assert updater.failures(["raise", "b", "c", "never asked"]) == {
        "raise": "ValueError: no such thing",
        "b": "it is broken",
    }
    assert work.done == {"c"}


def test_what_failed_is_tried_with_every_request_or_after_a_while(work: Work) -> None:
    work.broken = {"a"}
    work.go.set()
    eager = BackgroundUpdater("test", work, is_ready=work.is_ready)
    for _ in range(2):
        finish(eager, "a")
    assert work.steps == [["a"], ["a"]]
    patient = BackgroundUpdater("test", work, is_ready=work.is_ready, retry_s=60.0)
    for _ in range(2):
        finish(patient, "a")
    assert work.steps == [["a"]] * 3


def test_what_was_built_and_deleted_is_built_again_at_once(work: Work) -> None:
    work.go.set()
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready, retry_s=60.0)
    finish(updater, "a")
    work.done.clear()
    finish(updater, "a")
    assert work.steps == [["a"], ["a"]]


def test_a_stop_drops_the_queue_ends_whoever_waits_and_allows_another_start(work: Work) -> None:
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready)
    updater.request(keys("a", "b"))
    assert work.started.wait(WAIT_S)
    updater.stop(WAIT_S)
    assert work.steps == [["a"]]
    assert list(updater.wait(keys(), Cancellation())) == []
    work.go.set()
    finish(updater, "b")
    assert work.done == {"b"}
    assert not [
        thread for thread in threading.enumerate() if thread.name == "sourcelight-test" and thread.daemon is False
    ]


def test_a_wait_ends_with_its_time_and_with_its_cancellation(work: Work) -> None:
    updater = BackgroundUpdater("test", work, is_ready=work.is_ready)
    assert list(updater.wait(keys("a"), Cancellation(), 0.25)) != []
    stopped = Cancellation()
    stopped.cancel()
    assert list(updater.wait(keys("a"), stopped)) == []
