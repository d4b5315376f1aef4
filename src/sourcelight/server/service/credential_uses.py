"""The log of uses of credentials: one line each, appended to a file of the service's user alone."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time

from sourcelight.core.errors import IndexWriteFailed
from sourcelight.engines.storage.folder import held
from sourcelight.repos.private_files import open_private

log = logging.getLogger("sourcelight.service")
USES_FILE_NAME = "credential-uses.jsonl"
_LOG_PERIOD_S = 60.0
_LOCK_S = 1.0


class CredentialUses:
    """Appends lines to a file, which may be moved away meanwhile: a new one is begun then.

    A file that is full becomes ``….1``, the former ``….1`` becomes ``….2`` and so on; the oldest is deleted. Several
    processes may append to one file.

    Parameters
    ----------
    path
        The file; made with mode 0600. Empty: nothing is kept.
    max_bytes
        Bytes at which a file is full; a line is never cut.
    max_files
        Full files that are kept.

    Notes
    -----
    A line that can't be written is told in the service's log, once a minute, and keeps nobody from searching: else a
    full disk would.
    """

    def __init__(self, path: str = "", max_bytes: int = 16 << 20, max_files: int = 9) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._lock = threading.Lock()
        self._file = -1
        self._identity = (0, 0)
        self._failed = -_LOG_PERIOD_S

    def append(self, line: str) -> None:
        """Append one line."""
        if not self._path:
            return
        try:
            with self._lock:
                os.write(self._descriptor(), f"{line}\n".encode())
        except OSError as fault:
            now = time.monotonic()
            if now - self._failed >= _LOG_PERIOD_S:
                self._failed = now
                log.error("uses of credentials can't be written to %s: %s", USES_FILE_NAME, fault.strerror)  # noqa: TRY400 - in words

    def _descriptor(self) -> int:
        found = self._stat()
        if found is not None and found.st_size >= self._max_bytes:
            self._let_go()
            # A file that can't be locked or renamed goes on growing: lines count for more than its size.
            with contextlib.suppress(OSError, IndexWriteFailed):
                self._rotate()
            found = self._stat()
        identity = (0, 0) if found is None else (found.st_dev, found.st_ino)
        if self._file < 0 or identity != self._identity:
            self._let_go()
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            opened = os.fstat(self._file)
            self._identity = (opened.st_dev, opened.st_ino)
        return self._file

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self._path)  # noqa: PTH116 - for each request
        except FileNotFoundError:
            return None

    def _rotate(self) -> None:
        """Give all files the next number, unless another process did so in between."""
        deadline = time.monotonic() + _LOCK_S

        def stop() -> None:
            if time.monotonic() > deadline:
                raise TimeoutError

        with open_private(f"{self._path}.lock", "a+b") as file, held(file, stop):
            found = self._stat()
            if found is None or found.st_size < self._max_bytes:
                return
            for number in range(self._max_files, 0, -1):
                former = f"{self._path}.{number - 1}" if number > 1 else self._path
                with contextlib.suppress(FileNotFoundError):
                    os.replace(former, f"{self._path}.{number}")  # noqa: PTH105 - names of one folder

    def _let_go(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._let_go()
