"""Worker processes of one update: started on demand, given one job at a time, ended with the update.

Builds run in processes of their own because they read hostile repositories and need much memory: a worker may die or be
killed, and only its job fails. Workers get lines of JSON and answer with lines of JSON, never with pickles. A job that
killed a worker is not tried again by this process, and one that is silent for long is killed.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import queue
import subprocess
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from sourcelight.repos.git.command import limit_process

MAX_DATA_BYTES = 4 << 30
"""Memory that a worker may write to, where the system can limit it: what is read is bounded before, far below."""

MAX_SILENCE_S = 1800.0
"""Seconds of silence after which a worker is killed."""

_GRACE_S = 5.0
"""Seconds that a worker gets to end by itself before it is killed."""

_SLICE_S = 0.1
"""Seconds to wait for an event before the caller is asked whether to stop."""

_MAX_DEATHS = 10_000
"""Jobs that killed a worker and are remembered."""

_NICE = 10
"""By how much workers of background work are nicer than this process: searches get ten times as much of a core.

Not the nicest there is: on a machine that others keep busy, an index would then never be finished.
"""

DISABLED_FEATURES = "NPY_DISABLE_CPU_FEATURES"
"""Environment variable of numpy: instructions that it must not use."""

_MAX_SORT_NS = 10.0
"""Nanoseconds for each number of a sort above which numpy sorts slowly."""

_SORTED_ITEMS = 1 << 14
"""Numbers that are sorted to measure this: so few that it takes a millisecond."""


@dataclass(frozen=True, slots=True)
class WorkerJob:
    """A piece of work.

    Attributes
    ----------
    key
        By which the caller knows it.
    line
        The job that is sent to the worker.
    identity
        Name of the work, the same for each request of it: after its worker died, it is not tried again by workers of
        this process. Empty for work that may be tried again.
    """

    key: str
    line: bytes
    identity: str = ""


# Per process: a job that killed a worker by its content would kill the next one too. A restart tries again.
_deaths: dict[str, str] = {}


OnEvent: TypeAlias = Callable[[str, dict[str, Any]], None]


class _Thread(threading.local):
    """Options of a thread for the workers that it starts."""

    is_background = False


_thread = _Thread()


@contextlib.contextmanager
def in_background() -> Iterator[None]:
    """Start workers from this thread with a low priority meanwhile, where the system has one."""
    previous = _thread.is_background
    _thread.is_background = True
    try:
        yield
    finally:
        _thread.is_background = previous


def start_process(module: str) -> subprocess.Popen[bytes]:
    """Start a process that runs a module of the package, with pipes for its input and output."""
    process = subprocess.Popen(
        python_command(module),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env={**os.environ, **numpy_options(), "PYTHONPATH": import_path()},
    )
    if _thread.is_background and hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, process.pid, os.getpriority(os.PRIO_PROCESS, process.pid) + _NICE)

    return process


def python_command(module: str) -> list[str]:
    """Return the command that runs a module, and imports nothing from the current directory.

    People search directories that they don't trust: with ``-m`` alone, Python would first look there for each module,
    so that a repository with a ``json.py`` would run it.
    """
    return [sys.executable, "-P", "-m", module]


def import_path() -> str:
    """Return the value of ``PYTHONPATH`` with which a process imports the same package as this one.

    Without the current directory, which an interactive Python has in its path as an empty text, but with the directory
    of this package, which may have been imported from there.
    """
    root = str(Path(__file__).resolve().parents[len(__name__.split(".")) - 1])
    paths = [path for path in sys.path if path]
    return os.pathsep.join(paths if root in paths else [*paths, root])


@functools.cache
def numpy_options() -> dict[str, str]:
    """Return environment variables with which numpy sorts fast in a worker, mostly none.

    On the one processor of AMD that was measured, its sort takes 25 ns a number with AVX-512 and 4.5 with AVX2,
    probably because it writes compressed vectors, which are slow there. A build sorts two numbers a byte of text.
    """
    if DISABLED_FEATURES in os.environ:
        return {}

    import numpy as np

    features = np.show_config(mode="dicts").get("SIMD Extensions", {}).get("found", [])
    # The level X86_V4 is AVX-512, under its name in numpy 2.4.
    wide_features = [name for name in features if name == "X86_V4" or name.startswith("AVX512")]
    if wide_features and sort_ns() > _MAX_SORT_NS:
        return {DISABLED_FEATURES: " ".join(wide_features)}
    return {}


def sort_ns() -> float:
    """Return the nanoseconds that numpy takes for each number of a sort, a measurement of a millisecond."""
    import numpy as np

    # In no order, the same each time: multiples of 2³² divided by the golden ratio.
    numbers = np.arange(_SORTED_ITEMS, dtype=np.uint32) * np.uint32(0x9E3779B1)
    times_ns = []
    for _ in range(3):
        unsorted = numbers.copy()
        # CPU time, which other work on the machine doesn't change much.
        started_ns = time.thread_time_ns()
        unsorted.sort()
        times_ns.append(time.thread_time_ns() - started_ns)

    return min(times_ns) / _SORTED_ITEMS


class _Worker:
    """A worker process, and the thread that reads its events."""

    def __init__(
        self, module: str, done: str, number: int, events: queue.SimpleQueue[tuple[int, dict[str, Any] | None]]
    ) -> None:
        self.job: WorkerJob | None = None
        self.heard_s = time.monotonic()
        self._done = done
        self._killed_for = ""
        self._process = start_process(module)
        limit_process(self._process.pid, data_bytes=MAX_DATA_BYTES)

        def listen() -> None:
            output = self._process.stdout
            with contextlib.suppress(OSError, ValueError):
                # JSON lines and no pickles: a worker reads hostile repositories, and its messages are the way back.
                for line in output or ():
                    events.put((number, json.loads(line)))
            # The end of the output is the death of the worker, however it died: the system closes the pipe.
            events.put((number, None))

        self._listener = threading.Thread(target=listen, name=f"worker {number}", daemon=True)
        self._listener.start()

    def send(self, job: WorkerJob) -> None:
        self.job = job
        self.heard_s = time.monotonic()
        # The listener reports a worker that died.
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(job.line)
                self._process.stdin.flush()

    def check(self) -> None:
        """Kill it after too long a silence."""
        if self.job is not None and time.monotonic() - self.heard_s > MAX_SILENCE_S:
            self._killed_for = f"the process that {self._done} it sent nothing for {MAX_SILENCE_S:g} s and was killed"
            self.heard_s = time.monotonic()
            self._process.kill()

    def fate(self) -> str:
        code = self._process.wait(_GRACE_S)
        if self._killed_for:
            return self._killed_for
        if code < 0:
            return f"the process that {self._done} it was killed by signal {-code} (not enough memory?)"
        return f"the process that {self._done} it ended with status {code}"

    def end(self, *, kill: bool) -> None:
        if kill:
            self._process.kill()

        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_GRACE_S)

        self._listener.join(_GRACE_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


def run(
    module: str,
    jobs: Sequence[WorkerJob],
    workers: int,
    on_event: OnEvent,
    stopped: Callable[[], bool],
    *,
    done: str = "indexed",
) -> bool:
    """Run the jobs and forward the workers' reports; return False when `stopped` ended it, which kills the workers.

    Parameters
    ----------
    module
        What a worker runs: it reads a line of JSON for each job, and answers with lines of JSON, each with an
        ``event``; any but ``progress`` ends the job.
    jobs, workers
        The work, and how many processes may do it.
    on_event
        Gets the key and the event: those of the worker, and ``failed`` for a job whose process died. When it raises,
        the workers are killed.
    stopped
        Asked ten times a second; may raise.
    done
        Effect of a dead process on its job, for the reported reason.
    """
    events: queue.SimpleQueue[tuple[int, dict[str, Any] | None]] = queue.SimpleQueue()
    pending = deque(_skip_fatal_jobs(jobs, on_event))
    running_workers: dict[int, _Worker] = {}
    started = 0
    finished = False
    try:
        while pending or any(worker.job for worker in running_workers.values()):
            # Started one by one while there is work: few jobs start few processes.
            while pending and len(running_workers) < workers:
                running_workers[started] = _Worker(module, done, started, events)
                running_workers[started].send(pending.popleft())
                started += 1

            if stopped():
                return False

            for worker in running_workers.values():
                worker.check()

            try:
                number, event = events.get(timeout=_SLICE_S)
            except queue.Empty:
                continue

            worker = running_workers[number]
            worker.heard_s = time.monotonic()
            job = worker.job
            if event is None:
                del running_workers[number]
                event = {"event": "failed", "reason": worker.fate()}
                _remember_death(job, event["reason"])
                worker.end(kill=True)

            if job is None:
                continue

            on_event(job.key, event)
            if event["event"] != "progress":
                worker.job = None
                if number in running_workers and pending:
                    worker.send(pending.popleft())

        # A flag and no return value: in `finally`, an exception and an ordinary end look the same.
        finished = True
        return True
    finally:
        for worker in running_workers.values():
            worker.end(kill=not finished)


def _skip_fatal_jobs(jobs: Sequence[WorkerJob], on_event: OnEvent) -> Iterator[WorkerJob]:
    """Yield the jobs that have not killed a worker yet; the others fail again with the same reason."""
    for job in jobs:
        if job.identity in _deaths:
            reason = f"{_deaths[job.identity]}; the same is not tried again before a restart"
            on_event(job.key, {"event": "failed", "reason": reason})
        else:
            yield job


def _remember_death(job: WorkerJob | None, reason: str) -> None:
    if job is not None and job.identity:
        if len(_deaths) >= _MAX_DEATHS:
            _deaths.clear()
        _deaths[job.identity] = reason


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
