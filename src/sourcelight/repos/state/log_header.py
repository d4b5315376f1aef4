"""The header of the log of the state file, which differs after each commit of any process.

SQLite finds the newest transaction of a write-ahead log in the header of the log's index, a file that each process
maps. Each commit changes that header, and ``PRAGMA data_version`` compares it, between two locks of the file. Comparing
the same bytes here takes a twentieth of the time, for a check of each request.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import sys
import threading
from collections.abc import Hashable

_FORMAT = 3_007_000
"""The first number of the header. Formats of the index have been compatible since SQLite has a write-ahead log."""

_HEADER_BYTES = 96
"""Two copies of the header. A writer changes one after the other, so that no reader takes a part of a new one."""

_lock = threading.Lock()
_headers: dict[Hashable, LogHeader] = {}


class LogHeader:
    """The header of the log of one state file, for all its connections in this process: see `header_of`.

    Its file stays open while this process has a connection. POSIX drops all locks of a process on a file when it closes
    any descriptor of it, and SQLite locks this file.
    """

    def __init__(self, path: str, key: Hashable) -> None:
        self._path, self._key = f"{path}-shm", key
        self._users = 0
        self._descriptor = -1
        self._map: mmap.mmap | None = None
        self._is_known = False

    def read(self) -> bytes | None:
        """Return bytes that differ after each commit of any process; None if only SQLite can tell."""
        if self._descriptor < 0:
            self._open()
        return self._map[:] if self._is_known and self._map is not None else None

    def add_user(self) -> None:
        """Keep the file open for a database."""
        self._users += 1

    def release(self) -> None:
        """Close the file if no other database of this process needs it; the caller has closed its connections."""
        with _lock:
            self._users -= 1
            if self._users:
                return
            del _headers[self._key]
            self._is_known = False
            if self._map is not None:
                self._map.close()
            if self._descriptor >= 0:
                os.close(self._descriptor)

    def _open(self) -> None:
        with _lock:
            if self._descriptor >= 0 or not self._users:
                return
            # There is no such file without a log, as on file systems of a network.
            with contextlib.suppress(OSError, ValueError):
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
                self._map = mmap.mmap(self._descriptor, _HEADER_BYTES, access=mmap.ACCESS_READ)
                self._is_known = int.from_bytes(self._map[:4], sys.byteorder) == _FORMAT


def header_of(path: str) -> LogHeader | None:
    """Return the header of the log of a file for one more user, who releases it; None where only SQLite can tell.

    It must be requested before a connection is opened, and released after the last one was closed.
    """
    if os.name != "posix":
        return None
    with _lock:
        status = os.stat(path)
        # By the file and not its name: another one may have its name by now.
        key = status.st_dev, status.st_ino
        header = _headers.setdefault(key, LogHeader(path, key))
        header.add_user()
        return header
