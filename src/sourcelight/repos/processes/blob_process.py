"""Read many contents with ``git cat-file`` in a separate process, so that several cores inflate at once.

libgit2 reads an object under Python's lock, so threads gain nothing. On kafka (6,431 contents, 70 MB), in CPU time:
libgit2 150 MB a second, two threads of it no faster, one ``cat-file`` 151, two 158 in half the time.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from sourcelight.core.errors import GitFailed
from sourcelight.repos.git.command import PIPE, end_process
from sourcelight.repos.isolation import isolated_git
from sourcelight.repos.objects.packs import MAX_UNFOLDED_BYTES
from sourcelight.repos.repository import Repository

_MAX_PENDING = 750
"""Names in one request, of which two are under way. At 41 bytes a name, both fit into a pipe's buffer of 64 KiB: with
more, git could wait for its output to be read while this process waits to write."""

_BUFFER_BYTES = 1 << 20
"""Bytes of git's output that are read at a time."""

_MIN_PAUSE_S, _MAX_PAUSE_S = 0.001, 0.008
"""Pause before each read. git writes a content in three pieces, and a reader that waits wakes up for each: 7,500 reads
for the 18 MB of curl, 130 with a pause. That takes 20 ms of CPU instead of 70, and git 12 % less. On a busy machine,
git writes more slowly, so pauses get longer until a read has `_ENOUGH_BYTES`."""

_ENOUGH_BYTES = 1 << 16
_MISSING = b" missing\n"
_SETTINGS = ("core.deltaBaseCacheLimit=32m",)
"""Settings of git: its cache of objects counts for the memory that it may take."""

_DATA_BYTES = MAX_UNFOLDED_BYTES + (96 << 20)
"""Memory limit of the process. Content stored as a delta of a far larger object exceeds it and ends the process."""

_CPU_S = 600
"""Seconds of CPU after which git is ended."""


class BlobProcess:
    """A running ``git cat-file`` over one repository; for one thread, and closed by its owner.

    Parameters
    ----------
    repository
        A git repository.

    Raises
    ------
    GitFailed
        If git is missing or too old.
    RepositoryError
        If the repository can't be opened.
    """

    def __init__(self, repository: Repository) -> None:
        self.git_dir = repository.git_dir
        self._stack = contextlib.ExitStack()
        try:
            self._process = self._stack.enter_context(
                isolated_git(
                    repository.git_dir,
                    ["cat-file", "--batch"],
                    _SETTINGS,
                    data_bytes=_DATA_BYTES,
                    cpu_s=_CPU_S,
                    stdin=PIPE,
                )
            )
        except BaseException:
            self._stack.close()
            raise

        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError

        self._input: IO[bytes] = self._process.stdin
        # Not the buffered pipe of the process: its buffer is small, and another copy.
        self._output = io.FileIO(os.dup(self._process.stdout.fileno()))
        self._data = bytearray(_BUFFER_BYTES)
        self._pause_s = _MIN_PAUSE_S
        _widen(self._output)

    def read(self, sizes: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield contents as `views` does, each a copy."""
        for name, view in self.views(sizes):
            yield name, None if view is None else bytes(view)

    def views(self, sizes: Mapping[bytes, int]) -> Iterator[tuple[bytes, memoryview | None]]:
        """Yield contents in the given order, each valid until the next; None if git can't read one.

        Parameters
        ----------
        sizes
            Size of each content, from its header. An answer with another size raises `GitFailed`.

        Raises
        ------
        GitFailed
            If git ended, or answered with something else.
        """
        names = list(sizes)
        requests = answers = start = end = 0
        while answers < len(names):
            if requests < len(names) and requests - answers <= _MAX_PENDING:
                self._ask(names[requests : requests + _MAX_PENDING])
                requests = min(requests + _MAX_PENDING, len(names))

            end = self._receive(start, end)
            start = 0
            while answers < requests:
                name = names[answers]
                answer = self._answer(name, sizes[name], start, end)
                if answer is None:
                    break

                content, start = answer
                answers += 1
                if content is None:
                    yield name, None
                else:
                    with content:
                        yield name, content

    def kill(self) -> None:
        """End the process; a thread that waits for it gets `GitFailed`."""
        end_process(self._process)

    def close(self) -> None:
        """End the process and delete its directory."""
        self.kill()
        for pipe in (self._input, self._output, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
        self._stack.close()

    def _ask(self, names: Sequence[bytes]) -> None:
        try:
            self._input.write(b"".join([name.hex().encode() + b"\n" for name in names]))
            self._input.flush()
        except (OSError, ValueError) as error:
            raise self._failure("it ended") from error

    def _receive(self, start: int, end: int) -> int:
        """Wait for more output, after the bytes from `start` to `end`, which move to the front; return the new end."""
        size = end - start
        if start:
            self._data[:size] = self._data[start:end]

        if len(self._data) < size + _BUFFER_BYTES:
            self._data += bytes(size + _BUFFER_BYTES)

        time.sleep(self._pause_s)
        try:
            count = self._output.readinto(memoryview(self._data)[size : size + _BUFFER_BYTES])
        except (OSError, ValueError) as error:
            raise self._failure("it ended") from error

        if not count:
            raise self._failure("it ended")

        is_enough = count >= _ENOUGH_BYTES
        self._pause_s = max(self._pause_s / 2, _MIN_PAUSE_S) if is_enough else min(self._pause_s * 2, _MAX_PAUSE_S)
        return size + count

    def _answer(self, name: bytes, size: int, start: int, end: int) -> tuple[memoryview | None, int] | None:
        """Return a content and the end of its answer, which begins at `start`, or None if a part is still to come."""
        data, digits = self._data, name.hex().encode()
        header = b"%s blob %d\n" % (digits, size)
        first = start + len(header)

        # A newline follows each content (git-cat-file, "Batch output").
        answer_end = first + size + 1
        if data.startswith(header, start, end):
            if answer_end <= end:
                return (memoryview(data)[first : answer_end - 1], answer_end)
            return None

        missing = digits + _MISSING
        if data.startswith(missing, start, end):
            return None, start + len(missing)

        prefix = bytes(memoryview(data)[start : min(first, end)])
        if header.startswith(prefix) or missing.startswith(prefix):
            return None

        raise self._failure("its answer is not that of a content")

    def _failure(self, reason: str) -> GitFailed:
        return GitFailed(["git", "cat-file", "--batch"], self._process.poll() or 0, reason)


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe take more before its writer waits, where the system can."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _BUFFER_BYTES)
