"""Processes that end with the one that started them, however that one ends: SIGKILL leaves nobody to tell them.

A pipe tells on every system: its reader sees the end of it once no writer is left, and the system closes the writer of
a process that dies.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from multiprocessing.connection import Connection
from pathlib import Path
from types import FrameType

import psutil


def follow(parent: Connection, base: Path) -> None:
    """End this process, and all that it started, once the writer of a pipe is gone.

    Parameters
    ----------
    parent
        Reader of a pipe whose writer only the parent has.
    base
        Folder of the run, which a parent that was killed does not remove.
    """

    def watch() -> None:
        with contextlib.suppress(EOFError, OSError):
            parent.recv_bytes()
        started = psutil.Process().children(recursive=True)
        for process in started:
            try:
                process.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(started, timeout=10)
        # Other threads write until this process has ended, so the folder is removed by one that waits for that: it
        # reads the end of its input then.
        code = "import shutil, sys; sys.stdin.read(); shutil.rmtree(sys.argv[1], ignore_errors=True)"
        subprocess.Popen([sys.executable, "-c", code, str(base)], stdin=subprocess.PIPE)
        os._exit(1)  # the other threads may be in steps that nothing interrupts

    threading.Thread(target=watch, daemon=True).start()


def end_at(number: int) -> None:
    """Let a signal end this process as an exception does, so that what is open is closed."""

    def end(number: int, frame: FrameType | None) -> None:
        del frame
        signal.signal(number, signal.SIG_IGN)
        raise SystemExit(128 + number)

    signal.signal(number, end)
