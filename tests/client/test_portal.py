"""Blocking calls share one loop, survive forks and interrupts, and clean up behind themselves."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from client.scripted import COMPLETE, ScriptedBackend, batch, run
from sourcelight.client import AsyncClient, Client
from sourcelight.client.portal import WakeEvent, call, current_board, iterate
from sourcelight.core.batches import MatchBatch
from sourcelight.display.notebook import ProgressSnapshot

SOON_S = 1.5
"""0.3 s are the promise; a busy machine may take its time to run a thread."""


def _interrupt_when(event: threading.Event, pressed: list[float] | None = None) -> threading.Thread:
    main = threading.get_ident()

    def press() -> None:
        assert event.wait(5)
        if pressed is not None:
            pressed.append(time.monotonic())
        signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


def _wait_for_ever(bell: WakeEvent, begun: threading.Event) -> None:
    begun.set()
    while True:
        bell.wait(0)


def test_an_interrupt_while_waiting_leaves_nothing_locked() -> None:
    main = threading.get_ident()
    for number in range(200):
        bell, begun = WakeEvent(), threading.Event()

        def press(begun: threading.Event, after_s: float) -> None:
            assert begun.wait(5)
            time.sleep(after_s)
            signal.pthread_kill(main, signal.SIGINT)

        thread = threading.Thread(target=press, args=(begun, number * 1e-6))
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            _wait_for_ever(bell, begun)
        thread.join(5)
        ringing = threading.Thread(target=bell.ring, daemon=True)
        ringing.start()
        ringing.join(5)
        assert not ringing.is_alive()


def test_all_calls_share_one_loop_apart_from_the_callers() -> None:
    backend = ScriptedBackend(COMPLETE)
    client = Client(backend)
    client.search("foo")
    client.search("foo")
    assert len(backend.threads) == 1
    assert threading.get_ident() not in backend.threads


def test_a_blocking_call_works_inside_a_running_loop() -> None:
    async def cell() -> int:
        return len(Client(ScriptedBackend(COMPLETE)).search("foo"))

    assert run(cell()) == 20


def test_four_threads_share_the_portal() -> None:
    client = Client(ScriptedBackend([batch(k) for k in range(50)] + COMPLETE))
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda _: client.search("foo"), range(8)))
    assert [len(r) for r in results] == [520] * 8


def test_a_call_from_the_loop_itself_is_refused() -> None:
    async def nested() -> None:
        call(asyncio.sleep, 0)

    with pytest.raises(RuntimeError, match="background loop itself"):
        call(nested)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")
def test_an_interrupt_returns_soon_and_keeps_rows() -> None:
    backend = ScriptedBackend([batch(0), batch(1), "wait"])
    client = Client(backend)
    displayed: list[ProgressSnapshot] = []
    pressed: list[float] = []
    thread = _interrupt_when(backend.waiting, pressed)
    with pytest.raises(KeyboardInterrupt) as caught:
        client.search("foo", progress=displayed.append)
    assert time.monotonic() - pressed[0] < SOON_S
    thread.join(5)
    result = client.last
    assert result is not None
    assert (result.status, len(result)) == ("interrupted", 20)
    assert backend.closed.wait(5)
    assert displayed[-1].phase == "interrupted"
    assert len(traceback.extract_tb(caught.value.__traceback__)) <= 5
    assert caught.value.__suppress_context__


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")
def test_an_interrupt_returns_soon_even_if_the_work_will_not_stop() -> None:
    release = threading.Event()
    begun = threading.Event()

    async def stubborn() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.shield(asyncio.to_thread(release.wait, 5))

    times: list[float] = []

    def note(*_: object) -> None:
        times.append(time.monotonic())
        raise KeyboardInterrupt

    previous = signal.signal(signal.SIGINT, note)
    try:
        thread = _interrupt_when(begun)
        with pytest.raises(KeyboardInterrupt):
            call(stubborn)
        assert time.monotonic() - times[0] < SOON_S
        thread.join(5)
    finally:
        release.set()
        signal.signal(signal.SIGINT, previous)


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")
def test_an_interrupted_export_is_kept_as_partial(tmp_path: Path) -> None:
    backend = ScriptedBackend([batch(0), "wait"])
    client = Client(backend)
    thread = _interrupt_when(backend.waiting)
    with pytest.raises(KeyboardInterrupt):
        client.export("foo", tmp_path / "x.jsonl")
    thread.join(5)
    deadline = time.monotonic() + 5
    while client.last is None and time.monotonic() < deadline:
        backend.closed.wait(0.05)
    assert client.last is not None
    assert client.last.status == "interrupted"
    assert len((tmp_path / "x.partial.jsonl").read_text().splitlines()) == 10


def test_a_break_closes_the_producer_before_the_loop_is_left() -> None:
    backend = ScriptedBackend([*(batch(k) for k in range(100)), "wait"])
    for event in Client(backend).stream("foo"):
        assert isinstance(event, MatchBatch)
        break
    assert backend.closed.wait(5)
    assert backend.sent <= 12, "the producer ran far ahead of its consumer"


def test_an_error_in_the_loop_closes_the_producer() -> None:
    backend = ScriptedBackend([*(batch(k) for k in range(100)), "wait"])

    def consume() -> None:
        events = Client(backend).stream("foo")
        try:
            for _ in events:
                raise LookupError
        finally:
            events.close()

    with pytest.raises(LookupError):
        consume()
    assert backend.closed.is_set()


def test_a_stream_gives_every_event_in_order() -> None:
    script = [*(batch(k) for k in range(50)), *COMPLETE]
    assert list(Client(ScriptedBackend(script)).stream("foo")) == script


@pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")
def test_an_interrupted_stream_closes_the_producer() -> None:
    backend = ScriptedBackend([batch(0), "wait"])
    thread = _interrupt_when(backend.waiting)
    with pytest.raises(KeyboardInterrupt):
        list(Client(backend).stream("foo", progress=lambda _: None))
    thread.join(5)
    assert backend.closed.wait(5)


def test_an_error_of_the_generator_reaches_the_loop() -> None:
    async def broken() -> AsyncGenerator[int, None]:
        yield 1
        await asyncio.sleep(0)
        raise LookupError("x")

    seen = []
    items = iterate(broken)
    seen.append(next(items))
    with pytest.raises(LookupError):
        next(items)
    assert seen == [1]


def test_only_the_calling_thread_draws() -> None:
    threads: set[int] = set()
    client = Client(ScriptedBackend(COMPLETE))
    client.search("foo", progress=lambda _: threads.add(threading.get_ident()))
    list(client.stream("foo", progress=lambda _: threads.add(threading.get_ident())))
    assert threads == {threading.get_ident()}


def test_a_fault_while_drawing_stops_the_search() -> None:
    backend = ScriptedBackend([batch(0), "wait"])

    def draw(_: ProgressSnapshot) -> None:
        raise LookupError("in the user's callable")

    with pytest.raises(LookupError):
        Client(backend).search("foo", progress=draw)
    assert not backend.requests or backend.closed.wait(5)


def test_nobody_waits_in_awaited_calls() -> None:
    assert current_board() is None


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_starts_its_own_loop() -> None:
    client = Client(ScriptedBackend(COMPLETE))
    client.search("foo")
    child = os.fork()
    if child == 0:
        signal.alarm(20)
        os._exit(0 if len(client.search("foo")) == 20 else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert len(client.search("foo")) == 20


def test_cancelling_an_awaited_search_keeps_rows() -> None:
    async def main() -> None:
        backend = ScriptedBackend([batch(0), "wait"])
        client = AsyncClient(backend)
        task = asyncio.ensure_future(client.search("foo"))
        await asyncio.to_thread(backend.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert backend.closed.is_set()
        assert client.last is not None
        assert (client.last.status, len(client.last)) == ("interrupted", 10)

    run(main())


def test_an_awaited_search_draws_on_its_own_loop() -> None:
    async def main() -> list[ProgressSnapshot]:
        displayed: list[ProgressSnapshot] = []
        await AsyncClient(ScriptedBackend(COMPLETE)).search("foo", progress=displayed.append)
        return displayed

    snapshots = run(main())
    assert [s.phase for s in (snapshots[0], snapshots[-1])] == ["running", "complete"]
    assert snapshots[-1].done == 20


def test_a_fault_while_drawing_reaches_the_awaiting_caller() -> None:
    async def main() -> None:
        def draw(snapshot: ProgressSnapshot) -> None:
            if snapshot.elapsed_s > 0.05:
                raise LookupError("in the user's callable")

        await AsyncClient(ScriptedBackend([batch(0), TimeoutError("x")])).search("foo", progress=draw)

    with pytest.raises((LookupError, TimeoutError)):
        run(main())
