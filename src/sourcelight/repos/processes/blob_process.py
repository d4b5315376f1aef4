"""Read many contents with ``git cat-file`` in a process of its own, so that several cores inflate at once.

libgit2 reads an object under Python's lock, so threads gain nothing. On kafka (6,431 contents, 70 MB), in CPU time:
libgit2 150 MB a second, two threads of it no faster, one ``cat-file`` 151, two 158 in half the time.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import IO

from sourcelight.core.errors import GitFailed
from sourcelight.repos.git_command import DEVNULL, PIPE, end_process, reading_environment, start_git
from sourcelight.repos.isolation import isolated_directory
from sourcelight.repos.objects.packs import MAX_UNFOLDED_BYTES
from sourcelight.repos.repository import Repository

_AT_ONCE = 1000
"""Names requested before their contents are read. At 41 bytes each they fit into a pipe's buffer of 64 KiB: with more,
git could wait for its output to be read while this process waits to write."""

_BUFFER_BYTES = 1 << 20
_MAX_HEADER_BYTES = 256
_SETTINGS = ("core.deltaBaseCacheLimit=32m",)

_DATA_BYTES = MAX_UNFOLDED_BYTES + (96 << 20)
"""Memory limit of the process. Content stored as a delta of a far larger object exceeds it and ends the process."""

_CPU_S = 600


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
            directory = self._stack.enter_context(isolated_directory(repository.git_dir, _SETTINGS))
            self._process = start_git(
                ["cat-file", "--batch"],
                reading_environment(directory),
                directory,
                stdin=PIPE,
                stdout=PIPE,
                stderr=DEVNULL,
                data_bytes=_DATA_BYTES,
                cpu_s=_CPU_S,
            )
        except BaseException:
            self._stack.close()
            raise
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError
        self._input: IO[bytes] = self._process.stdin
        # The process's own pipe is unbuffered. With a buffer, one system call reads many small contents.
        self._output: IO[bytes] = os.fdopen(os.dup(self._process.stdout.fileno()), "rb", _BUFFER_BYTES)
        _widen(self._output)

    def read(self, sizes: Mapping[bytes, int]) -> Iterator[tuple[bytes, bytes | None]]:
        """Yield contents in the order given; None for one that git can't read.

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
        for start in range(0, len(names), _AT_ONCE):
            batch = names[start : start + _AT_ONCE]
            self._ask(batch)
            for name in batch:
                yield name, self._next(name, sizes[name])

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

    def _next(self, name: bytes, size: int) -> bytes | None:
        try:
            header = self._output.readline(_MAX_HEADER_BYTES)
            if header != b"%s blob %d\n" % (name.hex().encode(), size):
                if header.endswith(b" missing\n"):
                    return None
                raise self._failure("its answer is not that of a content" if header else "it ended")
            content = self._output.read(size)
            # A newline follows each content (git-cat-file, "Batch output"): read by itself, so nothing is copied.
            end = self._output.read(1)
        except (OSError, ValueError) as error:
            raise self._failure("it ended") from error
        if len(content) != size or not end:
            raise self._failure("it ended")
        return content

    def _failure(self, reason: str) -> GitFailed:
        return GitFailed(["git", "cat-file", "--batch"], self._process.poll() or 0, reason)


def _widen(pipe: IO[bytes]) -> None:
    """Let a pipe take more before its writer waits, where the system can."""
    if sys.platform == "linux":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(pipe.fileno(), fcntl.F_SETPIPE_SZ, _BUFFER_BYTES)
