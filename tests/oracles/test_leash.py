"""The long run leaves nothing running and nothing on disk, however it ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

RUN = Path(__file__).resolve().parent / "run.py"
WITHIN_S = 60.0


@pytest.mark.timeout(240)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_no_process_outlives_a_run_that_is_killed(number: signal.Signals, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    arguments = ["--minutes", "9", "--jobs", "1", "--areas", "patterns", "--seed", "leash"]
    run = subprocess.Popen([sys.executable, str(RUN), *arguments], env=environment, stdout=subprocess.DEVNULL)
    try:
        started = descendants(run.pid, 2)  # one that asks, and one of Python's own
        run.send_signal(number)
        assert run.wait(WITHIN_S) == (-number if number == signal.SIGKILL else 128 + number)
        _, left = psutil.wait_procs(started, timeout=WITHIN_S)
    finally:
        run.kill()
        run.wait(10)
    assert not left
    # Who removes the folder begins once all others have ended.
    deadline = time.monotonic() + WITHIN_S
    while (folders := list(tmp_path.glob("sourcelight-fuzz-*"))) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not folders


@pytest.mark.timeout(120)
def test_no_process_of_a_cluster_outlives_one_that_is_killed() -> None:
    sleep = "time.sleep(99)"
    code = f"import time; from backends.cluster.processes import start; start('import time; {sleep}'); {sleep}"
    tests = RUN.parent.parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tests), str(tests.parent / "src")])}
    parent = subprocess.Popen([sys.executable, "-c", code], env=environment)
    try:
        started = descendants(parent.pid, 2)  # what forks, and what it has forked
    finally:
        parent.kill()
        parent.wait(10)
    _, left = psutil.wait_procs(started, timeout=WITHIN_S)
    assert not left


def descendants(parent: int, number: int) -> list[psutil.Process]:
    """All processes that one has started, once there are so many."""
    deadline = time.monotonic() + WITHIN_S
    while len(started := psutil.Process(parent).children(recursive=True)) < number:
        assert time.monotonic() < deadline, [process.cmdline() for process in started]
        time.sleep(0.1)
    return list(started)
