"""The processor time of processes."""

from __future__ import annotations

import resource
import subprocess


def run_and_measure(command: list[str]) -> float:
    """CPU seconds of a process that ends by itself."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
