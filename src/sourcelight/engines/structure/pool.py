"""Processes that run ast-grep, shared by all searches: started on demand, killed when a text takes too long.

ast-grep is native code that holds the interpreter's lock, can't be stopped, and may end its process on a hostile text.
Here this costs one text, which is reported, and a new process for the next.
"""

from __future__ import annotations

import atexit
import contextlib
import queue
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

import msgspec
import numpy as np
import xxhash

from sourcelight.core.arrays import Int64Array
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Stopped, check_stopped, never
from sourcelight.engines.storage.worker_pool import start_process, usable_cores
from sourcelight.engines.structure import worker
from sourcelight.engines.structure.pattern import PatternReading
from sourcelight.repos.git.command import limit_process

MAX_TEXT_BYTES = 4 << 20
"""Bytes above which a text is not parsed: twice as many as an index reads of a file, unless its limit is raised."""

MAX_TEXT_S = 20.0
"""Seconds after which a process that is busy with one text is killed."""

MAX_DATA_BYTES = 2 << 30
"""Memory that a process may write to, where the system can limit it."""

MAX_WORKERS = 8
_ORDER_BYTES, _ORDER_TEXTS = 1 << 20, 64
_REST_S = 30.0
_SLICE_S = 0.05
_MAX_FAILURES = 1_000
_NO_OFFSETS: Int64Array = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text in which a pattern is searched for."""

    language: str
    data: bytes


@dataclass(frozen=True, slots=True)
class StructureSpans:
    """The matches in a text.

    Attributes
    ----------
    starts, ends
        In bytes; by start, and the longest first. A match may lie in another one.
    problem
        Why the text could not be searched: ``too-large``, ``timed-out`` or ``failed``; empty if it was.
    """

    starts: Int64Array
    ends: Int64Array
    problem: str = ""


_Event: TypeAlias = "tuple[_Process, bytes | None]"


class _Process:
    """A process, and the thread that reads its answers."""

    def __init__(self) -> None:
        self.events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        self.heard_s = self.rests_since_s = time.monotonic()
        self._process = start_process(worker.MODULE)
        limit_process(self._process.pid, data_bytes=MAX_DATA_BYTES)

        def listen() -> None:
            output = self._process.stdout
            with contextlib.suppress(OSError, ValueError):
                while output is not None and (data := worker.read_message(output)) is not None:
                    self.events.put((self, data))
            self.events.put((self, None))

        self._listener = threading.Thread(target=listen, name="structure answers", daemon=True)
        self._listener.start()

    def send(self, order: worker.ReadOrder | worker.FindOrder, events: queue.SimpleQueue[_Event]) -> None:
        """Send an order, whose answers go to `events`; a process that died reports it there."""
        self.events, self.heard_s = events, time.monotonic()
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                worker.write_message(self._process.stdin, msgspec.msgpack.encode(order))
        if self._process.poll() is not None:
            events.put((self, None))

    def end(self) -> None:
        """Kill it."""
        self.events = queue.SimpleQueue()
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

        self._listener.join(1.0)
        if self._process.stdout is not None:
            self._process.stdout.close()


class StructurePool:
    """Finds structures in texts; safe to share between threads.

    Parameters
    ----------
    workers
        Processes that may run at once.
    """

    def __init__(self, workers: int) -> None:
        self._workers = workers
        self._lock = threading.Lock()
        self._idle: list[_Process] = []
        self._busy_count = 0
        self._failures: LruCache[tuple[str, str, int], str] = LruCache(_MAX_FAILURES)

    def read(self, pattern: str, languages: Sequence[str], stopped: Stopped = never) -> dict[str, PatternReading]:
        """Return how each of `languages` reads a pattern; raises `ScanStopped` when `stopped` returns True."""
        data = self._read(pattern, languages, stopped)
        if data is not None:
            readings = msgspec.msgpack.decode(data, type=dict[str, worker.Reading])
            return {
                language: PatternReading(reading.problem, reading.has_errors, tuple(reading.texts))
                for language, reading in readings.items()
            }

        if len(languages) == 1:
            return {languages[0]: PatternReading("ast-grep fails on it")}

        # One of them ended the process: parse each alone to find it.
        return {
            name: reading for language in languages for name, reading in self.read(pattern, [language], stopped).items()
        }

    def _read(self, pattern: str, languages: Sequence[str], stopped: Stopped) -> bytes | None:
        process = self._wait(stopped)
        events: queue.SimpleQueue[_Event] = queue.SimpleQueue()
        is_done = False
        try:
            process.send(worker.ReadOrder(pattern, list(languages)), events)
            while time.monotonic() - process.heard_s < MAX_TEXT_S:
                check_stopped(stopped)
                with contextlib.suppress(queue.Empty):
                    _, data = events.get(timeout=_SLICE_S)
                    is_done = data is not None
                    return data
            return None
        finally:
            self._release(process, reusable=is_done)

    def find(self, pattern: str, texts: Sequence[SourceText], stopped: Stopped = never) -> list[StructureSpans]:
        """Return the matches in each text; raises `ScanStopped` when `stopped` returns True."""
        keys = [(pattern, text.language, xxhash.xxh3_64_intdigest(text.data)) for text in texts]
        results = self._known_problems(keys, texts)
        orders = deque(_orders([index for index in range(len(texts)) if index not in results], texts))
        running: dict[_Process, deque[int]] = {}
        events: queue.SimpleQueue[_Event] = queue.SimpleQueue()

        def fail(process: _Process, problem: str) -> None:
            """Abandon the text that a process is busy with; another one gets the rest of its order."""
            failed, *remaining = running.pop(process)
            self._release(process, reusable=False)
            self._failures.put(keys[failed], problem)
            results[failed] = StructureSpans(_NO_OFFSETS, _NO_OFFSETS, problem)
            if remaining:
                orders.appendleft(remaining)

        try:
            while orders or running:
                check_stopped(stopped)
                while orders:
                    process = self._take() if running else self._wait(stopped)
                    if process is None:
                        break
                    order = orders.popleft()
                    running[process] = deque(order)
                    language, data = texts[order[0]].language, [texts[index].data for index in order]
                    process.send(worker.FindOrder(pattern, language, data), events)

                for process in [item for item in running if time.monotonic() - item.heard_s > MAX_TEXT_S]:
                    fail(process, "timed-out")

                with contextlib.suppress(queue.Empty):
                    process, data_or_end = events.get(timeout=_SLICE_S)
                    if process not in running:
                        continue
                    if data_or_end is None:
                        fail(process, "failed")
                        continue

                    process.heard_s = time.monotonic()
                    results[running[process].popleft()] = _spans_of(data_or_end)
                    if not running[process]:
                        del running[process]
                        self._release(process, reusable=True)
        finally:
            for process in running:
                self._release(process, reusable=False)

        return [results[index] for index in range(len(texts))]

    def _known_problems(
        self, keys: Sequence[tuple[str, str, int]], texts: Sequence[SourceText]
    ) -> dict[int, StructureSpans]:
        """Return the texts, by index, that are too large, or that failed before with the pattern."""
        problems: dict[int, StructureSpans] = {}
        for index, (key, text) in enumerate(zip(keys, texts, strict=True)):
            problem = "too-large" if len(text.data) > MAX_TEXT_BYTES else self._failures.get(key)
            if problem:
                problems[index] = StructureSpans(_NO_OFFSETS, _NO_OFFSETS, problem)
        return problems

    def _wait(self, stopped: Stopped) -> _Process:
        while (process := self._take()) is None:
            check_stopped(stopped)
            time.sleep(_SLICE_S)
        return process

    def _take(self) -> _Process | None:
        """Return a process that rests, or a new one, or None if all are busy."""
        with self._lock:
            if self._busy_count >= self._workers:
                return None
            self._busy_count += 1
            # A process that has been idle for long is about to end by itself.
            since = time.monotonic() - _REST_S
            stale = [item for item in self._idle if item.rests_since_s < since]
            self._idle = [item for item in self._idle if item.rests_since_s >= since]
            process = self._idle.pop() if self._idle else None

        for item in stale:
            item.end()

        try:
            return process or _Process()
        except BaseException:
            with self._lock:
                self._busy_count -= 1
            raise

    def _release(self, process: _Process, *, reusable: bool) -> None:
        if not reusable:
            process.end()
        with self._lock:
            self._busy_count -= 1
            if reusable:
                process.rests_since_s = time.monotonic()
                self._idle.append(process)

    def close(self) -> None:
        """End the processes that rest; the pool starts others when it is used again."""
        with self._lock:
            idle, self._idle = self._idle, []
        for process in idle:
            process.end()


@cache
def shared_pool() -> StructurePool:
    """Return the pool of this process."""
    pool = StructurePool(min(usable_cores(), MAX_WORKERS))
    atexit.register(pool.close)
    return pool


def _orders(indexes: Sequence[int], texts: Sequence[SourceText]) -> Iterator[list[int]]:
    """Yield texts of one language that one process is given together: of bounded size, so that all have work."""
    by_language: dict[str, list[int]] = {}
    for index in indexes:
        by_language.setdefault(texts[index].language, []).append(index)

    for group in by_language.values():
        order: list[int] = []
        size = 0
        for index in group:
            if order and (size + len(texts[index].data) > _ORDER_BYTES or len(order) == _ORDER_TEXTS):
                yield order
                order, size = [], 0
            order.append(index)
            size += len(texts[index].data)
        yield order


def _spans_of(data: bytes) -> StructureSpans:
    finding = msgspec.msgpack.decode(data, type=worker.SpanAnswer)
    return StructureSpans(
        np.frombuffer(finding.starts, dtype=np.int64),
        np.frombuffer(finding.ends, dtype=np.int64),
        "failed" if finding.problem else "",
    )
