"""Running git to read history: its output in chunks, stoppable, and deaf to whatever the machine configures."""

from __future__ import annotations

import contextlib
import os
import queue
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import IO

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import GitFailed
from sourcelight.repos.git import git_environment, require_git

_CHUNK = 1 << 18
_CHUNKS_AHEAD = 16
_CHECK_S = 0.05
_TAIL_BYTES = 4096

SETTINGS: tuple[str, ...] = (
    "safe.directory=*",  # reading is safe in a folder of someone else too: nothing that it configures is run
    "core.fsmonitor=false",
    f"core.hooksPath={os.devnull}",
    f"core.attributesFile={os.devnull}",
    "core.quotePath=false",
    "core.abbrev=40",
    "diff.renameLimit=1000",
    "diff.suppressBlankEmpty=false",
    "diff.algorithm=myers",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.interHunkContext=0",
    "log.showSignature=false",
    "blame.ignoreRevsFile=",
    "mailmap.file=",
    "mailmap.blob=HEAD:.mailmap",  # a git directory without core.bare=true ignores it unless told
    "gc.auto=0",
    "maintenance.auto=false",
)


def command_environment() -> dict[str, str]:
    """Environment of every git command of this room: no configuration but the repository's own."""
    return git_environment(
        {
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_ATTR_NOSYSTEM": "1",
            "GIT_NO_REPLACE_OBJECTS": "1",  # as libgit2 reads: an object is what its name says
            "LC_ALL": "C.UTF-8",
        }
    )


def git_chunks(
    git_dir: str,
    arguments: Sequence[str | bytes],
    *,
    stdin: bytes | Iterable[bytes] = b"",
    cancellation: Cancellation | None = None,
    environment: Mapping[str, str] | None = None,
) -> Iterator[bytes]:
    """Run git on a git directory and yield its standard output as it comes.

    Closing the iterator kills git.

    Parameters
    ----------
    git_dir
        The git directory.
    arguments
        What follows ``git --git-dir …``; never built from text that could be taken as an option.
    stdin
        What git reads, at once or piece by piece; pieces are taken in another thread.
    cancellation
        Looked at twenty times a second while git is silent, and for every chunk.
    environment
        Variables beside those of `command_environment`.

    Raises
    ------
    GitFailed
        If git is missing or too old, or, after its last output, if it ended with another status than 0.
    Cancelled
        After ``cancellation.cancel()``; git is then dead.
    """
    settings = [word for setting in SETTINGS for word in ("-c", setting)]
    argv: list[str | bytes] = [require_git(), "--git-dir", git_dir, "--literal-pathspecs", *settings, *arguments]
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            argv,
            cwd=git_dir,  # git would else take the current folder for a work tree, and read attributes there
            stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            env=command_environment() | dict(environment or {}),
            start_new_session=True,
        )
        chunks: queue.Queue[bytes] = queue.Queue(_CHUNKS_AHEAD)
        stopped = threading.Event()
        threads = [threading.Thread(target=_read, args=(process.stdout, chunks, stopped), daemon=True)]
        if stdin:
            pieces = (stdin,) if isinstance(stdin, bytes) else stdin
            threads.append(threading.Thread(target=_write, args=(process.stdin, pieces, stopped), daemon=True))
        for thread in threads:
            thread.start()
        try:
            while chunk := _next(chunks, cancellation):
                yield chunk
            status = process.wait(timeout=60)
        finally:
            stopped.set()
            if process.poll() is None:
                process.kill()
                process.wait(timeout=10)
            for thread in threads:
                thread.join(5)
        if status:
            raise GitFailed(["git", *map(_shown, arguments)], status, _tail(errors))


def git_bytes(
    git_dir: str,
    arguments: Sequence[str | bytes],
    *,
    stdin: bytes | Iterable[bytes] = b"",
    cancellation: Cancellation | None = None,
) -> bytes:
    """Run git to its end and give its standard output; raises as `git_chunks` does."""
    return b"".join(git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation))


def _next(chunks: queue.Queue[bytes], cancellation: Cancellation | None) -> bytes:
    while True:
        if cancellation is not None:
            cancellation.check()
        with contextlib.suppress(queue.Empty):
            return chunks.get(timeout=_CHECK_S)


def _read(stream: IO[bytes], chunks: queue.Queue[bytes], stopped: threading.Event) -> None:
    """Pass on what git says; the end is an empty chunk."""
    chunk = b" "
    with stream:
        while chunk:
            try:
                chunk = os.read(stream.fileno(), _CHUNK)
            except OSError:
                chunk = b""
            while not stopped.is_set():
                with contextlib.suppress(queue.Full):
                    chunks.put(chunk, timeout=_CHECK_S)
                    break
            if stopped.is_set():
                return


def _write(stream: IO[bytes], pieces: Iterable[bytes], stopped: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        for piece in pieces:
            if stopped.is_set():
                return
            stream.write(piece)


def _tail(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _TAIL_BYTES))
    return errors.read().decode("utf-8", "replace")


def _shown(word: str | bytes) -> str:
    return word if isinstance(word, str) else word.decode("utf-8", "replace")
