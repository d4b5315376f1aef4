"""Search threads are started at once, used again, and few are kept."""

from __future__ import annotations

import threading

from sourcelight.core.cancellation import Cancellation
from sourcelight.server.http.producer import SearchThreads

BOUND_S = 5.0


def _idle() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "sourcelight-idle"]


def _until_idle(existing: set[threading.Thread], count: int) -> list[threading.Thread]:
    bound = Cancellation(BOUND_S)
    while len(threads := [thread for thread in _idle() if thread not in existing]) != count:
        assert not bound.expired
        threading.Event().wait(0.01)
    return threads


def test_a_thread_is_used_again_and_named_for_what_it_does() -> None:
    threads, existing, seen = SearchThreads(), set(_idle()), []
    done, names = threading.Semaphore(0), []

    def work() -> None:
        names.append(threading.current_thread().name)
        seen.append(threading.current_thread())
        done.release()

    for _ in range(3):
        threads.run(work)
        assert done.acquire(timeout=BOUND_S)
        _until_idle(existing, 1)
    assert set(names) == {"sourcelight-search"}
    assert len(set(seen)) == 1
    threads.stop()
    seen[0].join(BOUND_S)
    assert not seen[0].is_alive()


def test_many_run_at_the_same_time_and_two_are_kept() -> None:
    threads, existing, seen = SearchThreads(), set(_idle()), []
    together = threading.Barrier(8, timeout=BOUND_S)

    def work() -> None:
        together.wait()
        seen.append(threading.current_thread())
        together.wait()

    for _ in range(8):
        threads.run(work)
    idle = _until_idle(existing, 2)
    for thread in set(seen) - set(idle):
        thread.join(BOUND_S)
    assert len(set(seen)) == 8
    threads.stop()
    for thread in idle:
        thread.join(BOUND_S)
    assert not any(thread.is_alive() for thread in seen)


def test_a_stopped_pool_still_runs_what_it_is_given_and_keeps_nothing() -> None:
    threads, existing, done = SearchThreads(), set(_idle()), threading.Event()
    threads.stop()
    threads.run(done.set)
    assert done.wait(BOUND_S)
    _until_idle(existing, 0)
