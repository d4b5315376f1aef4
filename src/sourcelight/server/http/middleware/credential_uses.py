"""The log of credential uses: a file with rotation, to which several processes may append."""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time

from sourcelight.core.errors import IndexWriteFailed
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.private_files import open_private

log = logging.getLogger("sourcelight.service")
USES_FILE_NAME = "credential-uses.jsonl"
_LOG_PERIOD_S = 60.0
_LOCK_S = 1.0


class CredentialUses:
    """Appends lines to a file with rotation; starts a new file when it was moved away.

    A full file becomes ``….1``, the previous ``….1`` becomes ``….2`` and so on; the oldest is deleted. Several
    processes may append to one file.

    Parameters
    ----------
    path
        The file, with mode 0600. Empty: no file.
    max_bytes
        Size at which a file is full; a line is never split.
    max_files
        Number of full files to keep.

    Notes
    -----
    A failed write goes to the service's log, once a minute, and doesn't stop a search; a full disk would otherwise
    stop all.
    """

    def __init__(self, path: str = "", max_bytes: int = 16 << 20, max_files: int = 9) -> None:
        self._path = path
        self._max_bytes = max_bytes
        self._max_files = max_files
        self._lock = threading.Lock()
        self._file = -1
        self._identity = (0, 0)
        self._failed_at_s = -_LOG_PERIOD_S

    def append(self, line: str) -> None:
        """Append one line."""
        if not self._path:
            return

        try:
            with self._lock:
                # One `write` to a descriptor with O_APPEND: lines of several processes don't mix.
                os.write(self._descriptor(), f"{line}\n".encode())
        except OSError as exc:
            now_s = time.monotonic()
            # A full disk would otherwise fill the other log with one message per request.
            if now_s - self._failed_at_s >= _LOG_PERIOD_S:
                self._failed_at_s = now_s
                # TRY400: the reason is in the message.
                log.error(  # noqa: TRY400
                    "can't write credential uses to %s: %s; check the disk and its permissions",
                    USES_FILE_NAME,
                    exc.strerror,
                )

    def _descriptor(self) -> int:
        status = self._stat()
        if status is not None and status.st_size >= self._max_bytes:
            self._close_file()
            # A file that can't be locked or renamed keeps growing: lines matter more than its size.
            with contextlib.suppress(OSError, IndexWriteFailed):
                self._rotate()
            status = self._stat()

        identity = (0, 0) if status is None else (status.st_dev, status.st_ino)
        if self._file < 0 or identity != self._identity:
            self._close_file()
            flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT
            for name in ("O_CLOEXEC", "O_BINARY"):  # POSIX has one, Windows the other
                flags |= getattr(os, name, 0)
            self._file = os.open(self._path, flags, 0o600)
            file_status = os.fstat(self._file)
            self._identity = (file_status.st_dev, file_status.st_ino)

        return self._file

    def _stat(self) -> os.stat_result | None:
        try:
            return os.stat(self._path)  # noqa: PTH116 - for each request
        except FileNotFoundError:
            return None

    def _rotate(self) -> None:
        """Shift all files to the next number, unless another process has done so."""
        deadline = time.monotonic() + _LOCK_S

        def check_deadline() -> None:
            if time.monotonic() > deadline:
                raise TimeoutError

        with open_private(f"{self._path}.lock", "a+b") as file, lock_file(file, check_deadline):
            status = self._stat()
            # Checked again under the lock: another process may have rotated the file meanwhile.
            if status is None or status.st_size < self._max_bytes:
                return
            # From the oldest to the newest, so that no file is overwritten before it has moved.
            for number in range(self._max_files, 0, -1):
                source = f"{self._path}.{number - 1}" if number > 1 else self._path
                with contextlib.suppress(FileNotFoundError):
                    os.replace(source, f"{self._path}.{number}")  # noqa: PTH105 - names of one folder

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._close_file()
