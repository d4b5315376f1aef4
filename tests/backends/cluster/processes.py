"""Schedulers and workers as processes of their own, which tests may kill and freeze."""

from __future__ import annotations

import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

from fork_server import ForkedProcess, Process, fork_server

START_S = 60.0
_SCHEDULER = """
import asyncio, json, sys
from distributed import Scheduler
from sourcelight.backends.cluster.transport.connections import security_of
async def main():
    tls = json.loads(sys.argv[1])
    more = {"security": security_of(tls)} if tls else {}
    host = "tls://127.0.0.1:0" if tls else "tcp://127.0.0.1:0"
    async with Scheduler(host=host, dashboard=False, dashboard_address=None, **more) as scheduler:
        print("at", scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""
CLI = "import sys; from sourcelight.cli import main; sys.exit(main())"
_ENDS_WITH_ITS_PARENT = """
import os, sys, threading
def watch():
    sys.stdin.buffer.read()
    os._exit(1)
threading.Thread(target=watch, daemon=True).start()
"""


class Cell:
    """A scheduler and its workers on loopback; behind TLS each is started by its command, else forked."""

    def __init__(
        self,
        storage: str,
        folder: Path,
        names: tuple[str, ...] = ("w1", "w2", "w3"),
        *,
        tls: Mapping[str, str] | None = None,
    ) -> None:
        self.tls = tls or {}
        self.storage = storage
        self.folder = folder
        self.workers: dict[str, Process] = {}
        self.scheduler = self._process(_SCHEDULER, json.dumps(self.tls))
        self.address = wait_for_line(self.scheduler, r"at (t\w\w://\S+)")
        for name in names:
            self.start(name)

    def start(self, name: str) -> None:
        """Start a worker; one of the same name finds the cache of the former."""
        previous = self.workers.pop(name, None)
        if previous is not None:
            close_pipes(previous)
        cache = self.folder / name.replace("/", "-")
        arguments = ["worker", "--scheduler", self.address, "--storage", self.storage, "--cache-dir", str(cache)]
        if self.tls:
            arguments += ["--tls", str(Path(self.tls["ca"]).parent)]
        self.workers[name] = self._process(CLI, *arguments, "--name", name)

    def _process(self, code: str, *arguments: str) -> Process:
        return (spawn if self.tls else start)(code, *arguments)

    def kill(self, name: str, number: int = signal.SIGKILL) -> None:
        """Send a signal to a worker; one that is killed is waited for."""
        self.workers[name].send_signal(number)
        if number == signal.SIGKILL:
            self.workers[name].wait(10)

    def close(self) -> None:
        """End all processes."""
        for process in [*self.workers.values(), self.scheduler]:
            process.kill()
        for process in [*self.workers.values(), self.scheduler]:
            process.wait(10)
            close_pipes(process)


def close_pipes(process: Process) -> None:
    """Close the pipes of a process of `start`, which ends it if it did not end."""
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            pipe.close()


def wait_until(holds: Callable[[], bool], condition: str, within_s: float = START_S) -> None:
    """Wait for something that other processes do."""
    deadline = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < deadline, f"{condition}: not within {within_s:g} s"
        time.sleep(0.02)


def wait_for_line(process: Process, pattern: str) -> str:
    """What a process prints, once it fits."""
    lines: queue.Queue[str] = queue.Queue()
    assert process.stdout is not None
    threading.Thread(target=_read, args=(process.stdout, lines), daemon=True).start()
    text = ""
    while not (match := re.search(pattern, text)):
        line = lines.get(timeout=START_S)
        assert line, f"it ended: {text}"
        text += line
    return match[1]


def _read(pipe: IO[str], lines: queue.Queue[str]) -> None:
    try:
        for line in pipe:
            lines.put(line)
    except ValueError:
        return  # closed at the end of the test
    lines.put("")


def start(code: str, *arguments: str, variables: Mapping[str, str] | None = None) -> ForkedProcess:
    """Fork a process that runs Python code with arguments; it ends with this one, however this one ends."""
    environment = {**os.environ, **(variables or {})}
    return ForkedProcess(fork_server(), _ENDS_WITH_ITS_PARENT + code, arguments, environment)


def spawn(code: str, *arguments: str) -> subprocess.Popen[str]:
    """As `start`, in a process that imports what it needs itself."""
    return subprocess.Popen(
        [sys.executable, "-c", _ENDS_WITH_ITS_PARENT + code, *arguments],
        env={**os.environ, "DASK_LOGGING__DISTRIBUTED": "error"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
