"""Read contents from the files of a work tree that are in memory, each proven by its hash to be what git stores.

A checkout has most contents of its commit as plain files, which no process has to inflate. A file counts if its size
and its blob id are right, whatever the index, attributes or configuration of the repository say: what they change, such
as line ends, changes the hash. Callers ask for contents of the object store, so no hostile work tree can show
what its store doesn't hold.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import time
from types import TracebackType
from typing import NamedTuple, Self

from sourcelight.core.caching import LruCache
from sourcelight.repos.boundary import read_flags
from sourcelight.repos.repository import Repository

MAX_FOLDERS = 64
"""Directories of a path that are entered, each with an open descriptor; git reads what is deeper."""

MAX_WAITS = 16
"""Files in a row whose contents are not in memory, after which no more are tried. To read many files from a disk takes
longer than to read their pack: kafka 3.0 s instead of 1.7, when neither was in memory."""

_FOLDER_FLAGS = getattr(os, "O_PATH", os.O_RDONLY) | getattr(os, "O_DIRECTORY", 0)
_FILE_FLAGS = read_flags(follow=False)

_FRESH_NS = 100_000_000
"""Age of a change up to which another one may come within the same tick of the time stamp."""

_MAX_CONTENTS = 100_000
"""Names of contents that are cached."""

_BLOCK_BYTES = 1 << 20
"""Bytes of a file that are read and hashed at a time."""


class _NamedContent(NamedTuple):
    """The blob id of a file, and the state in which the file had it: size, times of change, inode."""

    stamp: tuple[int, int, int, int]
    name: bytes


_contents: LruCache[bytes, _NamedContent] = LruCache(_MAX_CONTENTS)
"""The last files by path."""

# Elsewhere, as on Windows, a link could lead out of the work tree, or no system call tells what is in memory.
_IS_SUPPORTED = hasattr(os, "RWF_NOWAIT")


class WorktreeFiles:
    """Files of one work tree that are in memory; for one thread, and closed by its owner.

    Fast if paths come in their order. Empty without a work tree, and on other systems than Linux.

    Parameters
    ----------
    repository
        The repository.
    """

    def __init__(self, repository: Repository) -> None:
        self._root = repository.worktree if _IS_SUPPORTED and repository.kind == "git" else ""
        self._folder = b""
        self._names: list[bytes] = []
        self._descriptors: list[int] = []
        self._buffer = bytearray()
        self._waits = 0
        if self._root:
            try:
                # The operator named the work tree, which may be a link; below it none is followed.
                self._descriptors.append(os.open(self._root, _FOLDER_FLAGS | os.O_CLOEXEC))
            except OSError:
                self._root = ""

    def __bool__(self) -> bool:
        """Return whether there may be files."""
        return bool(self._root)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the directories."""
        self._root = ""
        self._leave(0)

    def read(self, path: bytes, blob_id: bytes, size: int) -> memoryview | None:
        """Return a content, valid until the next call, or None if the file at its path is not known to have it.

        Parameters
        ----------
        path
            Where the commit has it, any bytes.
        blob_id
            20 bytes.
        size
            Bytes of the content, as the object store says.
        """
        if not self._root:
            return None

        folder, _, name = path.rpartition(b"/")
        try:
            if folder != self._folder:
                self._enter(folder)
            descriptor = os.open(name, _FILE_FLAGS, dir_fd=self._descriptors[-1])
        except (OSError, ValueError):
            return None

        if len(self._buffer) < size:
            self._buffer = bytearray(max(size, 2 * len(self._buffer)))
        content = memoryview(self._buffer)[:size]
        try:
            # Of the descriptor: what a path leads to may have changed since. A pipe or device isn't read.
            info = os.fstat(descriptor)
            if info.st_size != size or not stat.S_ISREG(info.st_mode):
                return None
            count = os.preadv(descriptor, [content], 0, os.RWF_NOWAIT)
        # Not in memory: the system would have to wait for the disk.
        except BlockingIOError:
            count = -1
        except OSError:
            # Some file systems can't tell what is in memory, for example those on a network.
            self.close()
            return None
        finally:
            os.close(descriptor)

        if count != size:
            self._waits += 1
            if self._waits == MAX_WAITS:
                self.close()
            return None

        self._waits = 0
        # The copy is hashed, so a file that changes while it is read is refused, or has the right content.
        digest = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
        digest.update(content)
        return content if digest.digest() == blob_id else None

    def _enter(self, folder: bytes) -> None:
        """Open a directory of the work tree by name, following no link; raises `OSError` or `ValueError`."""
        names = folder.split(b"/") if folder else []
        if len(names) > MAX_FOLDERS or b".." in names:
            raise ValueError(folder)

        depth = 0
        for name, entered in zip(names, self._names, strict=False):
            if name != entered:
                break
            depth += 1

        self._leave(1 + depth)
        flags = _FOLDER_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            for name in names[depth:]:
                self._descriptors.append(os.open(name, flags, dir_fd=self._descriptors[-1]))
                self._names.append(name)
        finally:
            # After a failure, the last directory that was opened.
            self._folder = b"/".join(self._names)

    def _leave(self, count: int) -> None:
        """Close all directories but the first `count`, the work tree among them."""
        for descriptor in self._descriptors[count:]:
            with contextlib.suppress(OSError):
                os.close(descriptor)
        del self._descriptors[count:]
        del self._names[max(count - 1, 0) :]


def content_name(path: bytes, info: os.stat_result) -> bytes:
    """Return the 20-byte blob id of a file's content, read once for each of its states."""
    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    cached = _contents.get(path)
    if cached is not None and cached.stamp == stamp:
        return cached.name

    name = _read_content_name(path, info.st_size)
    if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _FRESH_NS:
        _contents.put(path, _NamedContent(stamp, name))

    return name


def _read_content_name(path: bytes, size: int) -> bytes:
    """Read a file in blocks and return its 20-byte blob id."""
    name = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    descriptor = os.open(path, read_flags(follow=False))
    with os.fdopen(descriptor, "rb") as file:
        while block := file.read(_BLOCK_BYTES):
            name.update(block)
    return name.digest()


def _renew_cache() -> None:
    global _contents  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _contents = LruCache(_MAX_CONTENTS)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_cache)
