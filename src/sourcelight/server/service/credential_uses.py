"""The log of uses of credentials: one line each, appended to a file of the service's user alone."""

from __future__ import annotations

import logging
import os
import threading
import time

log = logging.getLogger("sourcelight.service")
USES_FILE_NAME = "credential-uses.jsonl"
_LOG_PERIOD_S = 60.0


class CredentialUses:
    """Appends lines to a file, which may be moved away meanwhile: a new one is begun then.

    Parameters
    ----------
    path
        The file; made with mode 0600. Empty: nothing is kept.

    Notes
    -----
    A line that can't be written is told in the service's log, once a minute, and keeps nobody from searching: else a
    full disk would.
    """

    def __init__(self, path: str = "") -> None:
        self._path = path
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
        try:
            found = os.stat(self._path)  # noqa: PTH116 - for each request
            identity = (found.st_dev, found.st_ino)
        except FileNotFoundError:
            identity = (0, 0)
        if self._file < 0 or identity != self._identity:
            if self._file >= 0:
                os.close(self._file)
            self._file = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            opened = os.fstat(self._file)
            self._identity = (opened.st_dev, opened.st_ino)
        return self._file

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1
