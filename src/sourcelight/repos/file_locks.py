"""A lock between processes: one writes an index, a log or a directory of mirrors at a time."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from typing import IO

from sourcelight.core.errors import IndexWriteFailed

_POLL_S = 0.05
"""Seconds between two attempts to get a lock that another process has."""


@contextlib.contextmanager
def lock_file(file: IO[bytes], check_stopped: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of an open file; `check_stopped` is called while waiting and may raise.

    The operating system releases the lock when the process dies, so lock files need no cleaning up.
    """
    # Polled: a blocking lock can't be interrupted by `stop`, and on Windows gives up by itself after ten tries.
    while not _try_lock(file):
        check_stopped()
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
        # `msvcrt` locks bytes from the current position; all processes have to lock the same one.
        file.seek(0)
        try:
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(file: IO[bytes]) -> None:
        file.seek(0)
        msvcrt.locking(file.fileno(), msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            # `flock` and not `lockf`: POSIX record locks belong to the process, so closing any other descriptor of the
            # file, in any thread, would drop them.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as exc:
            raise IndexWriteFailed(str(file.name), f"the directory can't be locked ({exc.strerror})") from exc

        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)
