"""Manifests (JSON with a checksum), locks between processes, and messages for build errors."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import xxhash

from sourcelight.core.errors import IndexDamaged, IndexWriteFailed, SearchIndexError, SourcelightError

_MAX_MANIFEST_BYTES = 256 * 1024 * 1024


def manifest_bytes(content: Any) -> bytes:
    """Encode a JSON value as a manifest."""
    return json.dumps({"checksum": _checksum(content), "content": content}, indent=1).encode()


def read_manifest(path: Path) -> Any:
    """Read what `manifest_bytes` wrote.

    Raises
    ------
    IndexDamaged
        When the file is altered, or was written by another version of this package.
    OSError
        When it can't be read; FileNotFoundError when there is none.
    """
    with path.open("rb") as file:
        if os.fstat(file.fileno()).st_size > _MAX_MANIFEST_BYTES:
            raise IndexDamaged(str(path), "it is too large to be a manifest")
        text = file.read()
    try:
        parsed = json.loads(text)
        content = parsed["content"]
        is_intact = parsed["checksum"] == _checksum(content)
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise IndexDamaged(str(path), f"it can't be read ({error})") from error
    if not is_intact:
        raise IndexDamaged(str(path), "it is altered")
    return content


def _checksum(content: Any) -> str:
    return xxhash.xxh3_64_hexdigest(json.dumps(content, sort_keys=True, separators=(",", ":")).encode())


_POLL_S = 0.05


@contextlib.contextmanager
def lock_file(file: IO[bytes], stop: Callable[[], None]) -> Iterator[None]:
    """Hold the lock of an open file; `stop` is called while waiting and may raise.

    The operating system releases the lock when the process dies, so no lock file ever has to be cleaned up.
    """
    while not _try_lock(file):
        stop()
        time.sleep(_POLL_S)
    try:
        yield
    finally:
        _unlock(file)


if sys.platform == "win32":
    import msvcrt

    def _try_lock(file: IO[bytes]) -> bool:
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
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        except OSError as fault:
            raise IndexWriteFailed(str(file.name), f"the folder can't be locked ({fault.strerror})") from fault
        return True

    def _unlock(file: IO[bytes]) -> None:
        fcntl.flock(file, fcntl.LOCK_UN)


_FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})


def reason_of(error: Exception) -> str:
    """Return why a build failed, without paths: remote callers read it."""
    if isinstance(error, SearchIndexError):
        return error.reason
    if isinstance(error, SourcelightError):
        return str(error)
    if isinstance(error, MemoryError):
        return "not enough memory"
    if isinstance(error, OSError) and error.strerror:
        is_full = error.errno in _FULL  # no place of this machine is named: callers read it
        return f"no room left on the disk ({error.strerror})" if is_full else error.strerror
    return f"{type(error).__name__}: {error}"


def write_failed(path: Path, error: OSError, subject: str = "index") -> IndexWriteFailed:
    """Convert a failed write to an `IndexWriteFailed` with a message."""
    if error.errno in _FULL:
        return IndexWriteFailed(str(path), f"no room left for the {subject} ({error.strerror}); the former one is kept")
    return IndexWriteFailed(str(path), f"cannot write the {subject}: {error.strerror or error}")
