"""`sourcelight serve` in a process of its own, for tests of what is between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.cluster.processes import CLI, close_pipes, start, wait_for_line
from fork_server import Process


@contextmanager
def serving(
    *arguments: str, home: Path, token: str, pattern: str = r"(https?://\S+)", is_forked: bool = False
) -> Iterator[tuple[Process, str]]:
    """Serve with `arguments` on a free port; gives the process, and its address (or `pattern`) once it prints it.

    Fork it where the tests of a process fork others anyway, and its start isn't what is tested: it takes seconds.
    """
    command = ["serve", *arguments, "--port", "0"]
    variables = {"SOURCELIGHT_OWNER_TOKEN": token, "SOURCELIGHT_HOME": str(home)}
    process: Process
    if is_forked:
        process = start(f"os.dup2(1, 2)\n{CLI}", *command, variables=variables)
    else:
        process = subprocess.Popen(
            [sys.executable, "-c", CLI, *command],
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    try:
        yield process, wait_for_line(process, pattern)
    finally:
        process.terminate()
        process.wait(15)
        close_pipes(process)
