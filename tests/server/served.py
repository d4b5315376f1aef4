"""`sourcelight serve` in a process of its own, for tests of what is between processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from backends.cluster.processes import CLI, wait_for_line


@contextmanager
def serving(
    *arguments: str, home: Path, token: str, pattern: str = r"(https?://\S+)"
) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Serve with `arguments` on a free port; gives the process, and its address (or `pattern`) once it prints it."""
    process = subprocess.Popen(
        [sys.executable, "-c", CLI, "serve", *arguments, "--port", "0"],
        env={**os.environ, "SOURCELIGHT_OWNER_TOKEN": token, "SOURCELIGHT_HOME": str(home)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield process, wait_for_line(process, pattern)
    finally:
        process.terminate()
        process.wait(15)
        assert process.stdout is not None
        process.stdout.close()
