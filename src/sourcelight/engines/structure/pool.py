"""Processes that run ast-grep, shared by all searches: started on demand, killed when a text takes too long.

ast-grep is native code that holds the interpreter's lock, can't be stopped, and may end its process on a hostile text.
Here this costs one text, which is reported, and a new process for the next. Several processes may work for one search.
They put their answers into its queue, each with the process it is from, so that the search waits for whichever is done
first.
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

MAX_WORKERS = 8
"""Processes at most: each has a copy of the matcher and its grammars."""

_MAX_REQUEST_BYTES, _MAX_REQUEST_TEXTS = 1 << 20, 64
"""Size of one request to a process: small, so that all processes have work until a search ends."""

_MAX_IDLE_S = 30.0
"""Seconds after which an idle process is not used again, because it is about to end by itself."""

_POLL_S = 0.05
"""Seconds between two looks at whether a search was stopped."""

_MAX_FAILURES = 1_000
"""Files whose failure is remembered, so that they are not tried again."""

_NO_OFFSETS: Int64Array = np.zeros(0, dtype=np.int64)

_FailureKey: TypeAlias = tuple[str, str, int]
"""A pattern, and a text by its language and the hash of its content."""

MAX_DATA_BYTES = 2 << 30
"""Memory that a process may write to, where the system can limit it."""

_MAX_JOIN_S = 1.0
"""Seconds to wait for the thread of a process that was killed: its output ends at once."""

AnswerQueue: TypeAlias = "queue.SimpleQueue[tuple[StructureProcess, bytes | None]]"
"""Answers, each with its process; None for the end of a process."""


class StructureProcess:
    """A running process; see `worker` for its requests and answers.

    Attributes
    ----------
    last_answer_s, idle_since_s
        Times of the monotonic clock: of the last request or answer, and since when no search uses the process.
    """

    def __init__(self) -> None:
        self.last_answer_s = self.idle_since_s = time.monotonic()
        self._answers: AnswerQueue = queue.SimpleQueue()
        self._process = start_process(worker.MODULE)
        limit_process(self._process.pid, data_bytes=MAX_DATA_BYTES)
        self._listener = threading.Thread(target=self._listen, name="structure answers", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        output = self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            while output is not None and (data := worker.read_message(output)) is not None:
                self._answers.put((self, data))

        # The output ends when the process does, for whatever reason: a search must not wait for it any longer.
        self._answers.put((self, None))

    def send(self, request: worker.ReadRequest | worker.FindRequest, answers: AnswerQueue) -> None:
        """Send a request, whose answers go to a queue; a process that died reports it there."""
        self._answers = answers
        self.last_answer_s = time.monotonic()
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                worker.write_message(self._process.stdin, msgspec.msgpack.encode(request))

        if self._process.poll() is not None:
            answers.put((self, None))

    def end(self) -> None:
        """Kill the process; its search gets no further answer."""
        # The listener may still read an answer; nobody takes it from this queue.
        self._answers = queue.SimpleQueue()
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

        self._listener.join(_MAX_JOIN_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


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


class StructurePool:
    """Finds structures in texts; safe to share between threads.

    Parameters
    ----------
    workers
        Processes that may run at once.

    Attributes
    ----------
    failures
        Texts on which ast-grep failed or took too long, with the problem: no search tries them again.
    """

    def __init__(self, workers: int) -> None:
        self.failures: LruCache[_FailureKey, str] = LruCache(_MAX_FAILURES)
        self._workers = workers
        self._lock = threading.Lock()
        self._idle: list[StructureProcess] = []
        self._busy_count = 0

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
        readings_by_language: dict[str, PatternReading] = {}
        for language in languages:
            readings_by_language |= self.read(pattern, [language], stopped)
        return readings_by_language

    def _read(self, pattern: str, languages: Sequence[str], stopped: Stopped) -> bytes | None:
        """Return the answer of a process, or None if it died or took too long."""
        process = self.wait_for_process(stopped)
        answers: AnswerQueue = queue.SimpleQueue()
        data = None
        try:
            process.send(worker.ReadRequest(pattern, list(languages)), answers)
            while time.monotonic() - process.last_answer_s < MAX_TEXT_S:
                check_stopped(stopped)
                with contextlib.suppress(queue.Empty):
                    _, data = answers.get(timeout=_POLL_S)
                    return data

            return None
        finally:
            self.release(process, reusable=data is not None)

    def find(self, pattern: str, texts: Sequence[SourceText], stopped: Stopped = never) -> list[StructureSpans]:
        """Return the matches in each text; raises `ScanStopped` when `stopped` returns True."""
        return _PoolSearch(self, pattern, texts, stopped).run()

    def wait_for_process(self, stopped: Stopped) -> StructureProcess:
        """Return a process as soon as one is free; raises `ScanStopped` when `stopped` returns True."""
        process = self.take_process()
        while process is None:
            check_stopped(stopped)
            time.sleep(_POLL_S)
            process = self.take_process()

        return process

    def take_process(self) -> StructureProcess | None:
        """Return an idle process, or a new one, or None if all are busy."""
        with self._lock:
            if self._busy_count >= self._workers:
                return None

            self._busy_count += 1
            min_idle_since_s = time.monotonic() - _MAX_IDLE_S
            stale = [process for process in self._idle if process.idle_since_s < min_idle_since_s]
            self._idle = [process for process in self._idle if process.idle_since_s >= min_idle_since_s]
            idle_process = self._idle.pop() if self._idle else None

        for process in stale:
            process.end()

        if idle_process is not None:
            return idle_process

        try:
            return StructureProcess()
        except BaseException:
            with self._lock:
                self._busy_count -= 1
            raise

    def release(self, process: StructureProcess, *, reusable: bool) -> None:
        """Return a process to the pool, or end it if it is not `reusable`."""
        if not reusable:
            process.end()

        with self._lock:
            self._busy_count -= 1
            if reusable:
                process.idle_since_s = time.monotonic()
                self._idle.append(process)

    def close(self) -> None:
        """End the idle processes; the pool starts others when it is used again."""
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


class _PoolSearch:
    """One search of a pool: the texts that each process is busy with, those that wait, and the results so far.

    Texts are known by their index.
    """

    def __init__(self, pool: StructurePool, pattern: str, texts: Sequence[SourceText], stopped: Stopped) -> None:
        self._pool = pool
        self._pattern = pattern
        self._texts = texts
        self._stopped = stopped
        self._keys = [(pattern, text.language, xxhash.xxh3_64_intdigest(text.data)) for text in texts]
        self._results: dict[int, StructureSpans] = {}
        self._pending: deque[list[int]] = deque()
        self._running: dict[StructureProcess, deque[int]] = {}
        self._answers: AnswerQueue = queue.SimpleQueue()

    def run(self) -> list[StructureSpans]:
        """Return the matches in each text."""
        for index in range(len(self._texts)):
            problem = self._known_problem(index)
            if problem:
                self._results[index] = StructureSpans(_NO_OFFSETS, _NO_OFFSETS, problem)

        self._pending.extend(self._split_texts())
        try:
            while self._pending or self._running:
                check_stopped(self._stopped)
                self._start_requests()
                self._end_slow_processes()
                self._take_answer()
        finally:
            for process in self._running:
                self._pool.release(process, reusable=False)

        return [self._results[index] for index in range(len(self._texts))]

    def _known_problem(self, index: int) -> str | None:
        """Return the problem of a text that is too large, or that failed before with the pattern."""
        if len(self._texts[index].data) > MAX_TEXT_BYTES:
            return "too-large"
        return self._pool.failures.get(self._keys[index])

    def _split_texts(self) -> Iterator[list[int]]:
        """Yield the texts of each request: of one language, and of bounded size."""
        by_language: dict[str, list[int]] = {}
        for index, text in enumerate(self._texts):
            if index not in self._results:
                by_language.setdefault(text.language, []).append(index)

        for indexes in by_language.values():
            request: list[int] = []
            size = 0
            for index in indexes:
                text_size = len(self._texts[index].data)
                is_full = size + text_size > _MAX_REQUEST_BYTES or len(request) == _MAX_REQUEST_TEXTS
                if request and is_full:
                    yield request
                    request, size = [], 0

                request.append(index)
                size += text_size

            yield request

    def _start_requests(self) -> None:
        """Send requests to processes that are free; without any running, wait for the first."""
        while self._pending:
            process = self._pool.take_process() if self._running else self._pool.wait_for_process(self._stopped)
            if process is None:
                return

            indexes = self._pending.popleft()
            self._running[process] = deque(indexes)
            language = self._texts[indexes[0]].language
            data = [self._texts[index].data for index in indexes]
            process.send(worker.FindRequest(self._pattern, language, data), self._answers)

    def _end_slow_processes(self) -> None:
        now = time.monotonic()
        for process in list(self._running):
            if now - process.last_answer_s > MAX_TEXT_S:
                self._fail(process, "timed-out")

    def _take_answer(self) -> None:
        """Wait a moment for an answer, which is about the first text that its process is busy with."""
        try:
            process, data = self._answers.get(timeout=_POLL_S)
        except queue.Empty:
            return

        # A process that was ended may have answered before.
        if process not in self._running:
            return
        if data is None:
            self._fail(process, "failed")
            return

        process.last_answer_s = time.monotonic()
        indexes = self._running[process]
        self._results[indexes.popleft()] = _decode_spans(data)
        if not indexes:
            del self._running[process]
            self._pool.release(process, reusable=True)

    def _fail(self, process: StructureProcess, problem: str) -> None:
        """Abandon the text that a process is busy with; another process gets the other texts of its request."""
        failed, *remaining = self._running.pop(process)
        self._pool.release(process, reusable=False)
        self._pool.failures.put(self._keys[failed], problem)
        self._results[failed] = StructureSpans(_NO_OFFSETS, _NO_OFFSETS, problem)
        if remaining:
            self._pending.appendleft(remaining)


def _decode_spans(data: bytes) -> StructureSpans:
    answer = msgspec.msgpack.decode(data, type=worker.SpanAnswer)
    return StructureSpans(
        starts=np.frombuffer(answer.starts, dtype=np.int64),
        ends=np.frombuffer(answer.ends, dtype=np.int64),
        problem="failed" if answer.problem else "",
    )
