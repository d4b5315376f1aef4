"""A cluster of real processes for a benchmark: scheduler, workers, and endpoints that answer without searching."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from corpus import used_cpu_s

START_S = 120.0
_SCHEDULER = """
import asyncio
from distributed import Scheduler
async def main():
    async with Scheduler(host="tcp://127.0.0.1:0", dashboard=False, dashboard_address=None) as scheduler:
        print("at", scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(main())
"""
_CLI = "import sys; from sourcelight.cli import main; sys.exit(main())"
_ENDPOINTS = """
import asyncio, sys
from distributed import Worker
from sourcelight.backends.cluster.transport.exchange import serve_orders
from sourcelight.backends.cluster.worker.process import _QUIET

# As workers of ours have it: watching itself is most of what an idle worker of Dask does.
import dask
dask.config.set(_QUIET)

class Empty:
    def hello(self):
        return {"protocol": 0}
    def keep(self, order):
        pass
    async def messages(self, operation, order):
        yield {"kind": "end", "outcome": {"targets": len(order["names"])}}

async def main(scheduler, first, last):
    workers = []
    for number in range(first, last):
        name = f"endpoint-{number}"
        worker = await Worker(scheduler, name=name, nthreads=1, host="tcp://127.0.0.1:0", dashboard=False)
        serve_orders(worker, Empty())
        workers.append(worker)
    print("ready", flush=True)
    await workers[0].finished()

asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
"""


class Cell:
    """A scheduler on loopback, and workers or empty endpoints; `close` ends them all.

    Parameters
    ----------
    storage
        Of the shards.
    folder
        Below which each worker has its cache.
    pin
        Whether each worker may use one core only.
    """

    def __init__(self, storage: str, folder: Path, *, pin: bool = False) -> None:
        self.storage = storage
        self.folder = folder
        self.cores = sorted(os.sched_getaffinity(0)) if pin else []
        self.workers: dict[str, subprocess.Popen[str]] = {}
        self.endpoints: list[subprocess.Popen[str]] = []
        self.scheduler = _process(["-c", _SCHEDULER])
        self.address = _wait_for_line(self.scheduler, r"at (tcp://\S+)")

    def start(self, *names: str) -> None:
        """Start workers by the command that operators use; they join by and by."""
        for name in names:
            cache = os.fspath(self.folder / name)
            arguments = ["worker", "--scheduler", self.address, "--storage", self.storage, "--cache-dir", cache]
            # One that is started again under its name gets the same core.
            core = self.cores[sum(name.encode()) % len(self.cores)] if self.cores else None
            self.workers[name] = _process(["-c", _CLI, *arguments, "--name", name], core)

    def simulate(self, endpoints: int, processes: int) -> None:
        """Start Dask workers that answer every search at once with nothing found, many of them in each process."""
        cuts = [endpoints * index // processes for index in range(processes + 1)]
        for first, last in itertools.pairwise(cuts):
            self.endpoints.append(_process(["-c", _ENDPOINTS, self.address, str(first), str(last)]))
        for process in self.endpoints:
            _wait_for_line(process, r"(ready)")

    def kill(self, name: str) -> None:
        """Kill a worker: it has no time to say goodbye."""
        process = self.workers.pop(name)
        process.kill()
        process.wait(10)

    def cpu_s(self) -> tuple[float, float]:
        """CPU seconds so far: of the scheduler, and of all workers and endpoints."""
        processes = [*self.workers.values(), *self.endpoints]
        return used_cpu_s(self.scheduler.pid), sum(used_cpu_s(process.pid) for process in processes)

    def close(self) -> None:
        """End all processes."""
        every = [*self.workers.values(), *self.endpoints, self.scheduler]
        for process in every:
            process.kill()
        for process in every:
            process.wait(10)
            if process.stdout is not None:
                process.stdout.close()


@contextmanager
def cell(storage: str, *, pin: bool = False) -> Iterator[Cell]:
    """A cell whose caches are in a temporary folder."""
    with tempfile.TemporaryDirectory() as folder:
        cell = Cell(storage, Path(folder), pin=pin)
        try:
            yield cell
        finally:
            cell.close()


def wait_until(holds: Callable[[], Any], condition: str, within_s: float = START_S) -> float:
    """Wait for what other processes do; give the seconds that took."""
    began = time.monotonic()
    while not holds():
        if time.monotonic() - began > within_s:
            sys.exit(f"{condition}: not within {within_s:g} s")
        time.sleep(0.01)
    return time.monotonic() - began


def memory_mb(pid: int) -> tuple[float, float]:
    """Resident memory of a process, and the part of it that is its own and no mapped file (Linux only)."""
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    values = {line.partition(":")[0]: line.split()[1] for line in lines if line.startswith("Rss") or "VmRSS" in line}
    return int(values["VmRSS"]) / 1024, int(values["RssAnon"]) / 1024


def _wait_for_line(process: subprocess.Popen[str], pattern: str) -> str:
    """What a process prints, once it fits."""
    for line in process.stdout or ():
        if match := re.search(pattern, line):
            return match[1]
    sys.exit("a process of the cluster ended")


def _process(arguments: list[str], core: int | None = None) -> subprocess.Popen[str]:
    """Start Python; `core` is the only one that it may use."""
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env={**os.environ, "DASK_LOGGING__DISTRIBUTED": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    if core is not None:
        # Before it has a second thread, which would keep its own set of cores.
        os.sched_setaffinity(process.pid, {core})
    return process
