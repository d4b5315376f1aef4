"""Run git to read history: output in chunks, cancellable, and independent of the machine's git configuration.

git runs in a temporary directory without refs, with `SETTINGS` alone, and with limits of memory and processor time. One
thread reads its output and another one writes its input, so that a caller can stop it while it is silent. A
reader that stops ends the process.
"""

from __future__ import annotations

import contextlib
import os
import queue
import tempfile
import threading
from collections.abc import Generator, Iterable, Sequence
from typing import IO

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import GitFailed, RepositoryError
from sourcelight.repos.git.command import DEVNULL, PIPE, end_process
from sourcelight.repos.handles import mailmap_blob
from sourcelight.repos.isolation import isolated_git
from sourcelight.repos.objects import store_size

# 256 KiB a chunk, and at most 16 chunks ahead of the consumer: then git blocks on its full pipe.
_CHUNK_BYTES = 1 << 18
_CHUNKS_AHEAD = 16
"""Pieces of git's output that wait for a slow reader."""

_CHECK_S = 0.05
"""Seconds between two looks at the cancellation."""

_TAIL_BYTES = 4096
"""Bytes of git's messages that are read: the last ones say why it failed."""

MAX_BLOB_BYTES = 32 << 20
"""Bytes above which git takes a content for binary: a patch would take many times as much memory."""

PATCH_DATA_BYTES = 256 << 20
"""Memory of a git process that compares contents."""

MAX_DATA_BYTES = 2 << 30
"""Memory of any other git process, at most: a walk over a million commits keeps each of them."""

DATA_BYTES_PER_OBJECT = 1000
"""Memory beyond `PATCH_DATA_BYTES`, for each object that the repository stores."""

CPU_S = 600
"""Processor time of a git process."""

SETTINGS: tuple[str, ...] = (
    f"core.attributesFile={os.devnull}",
    "attr.tree=4b825dc642cb6eb9a060e54bf8d69288fbee4904",  # the empty tree: some gits read attributes of HEAD
    f"core.bigFileThreshold={MAX_BLOB_BYTES}",
    "core.deltaBaseCacheLimit=32m",
    "core.quotePath=false",
    "core.abbrev=40",
    "diff.renameLimit=1000",
    "diff.suppressBlankEmpty=false",
    "diff.algorithm=myers",
    "diff.noprefix=false",
    "diff.mnemonicPrefix=false",
    "diff.interHunkContext=0",
    "log.showSignature=false",
    "log.mailmap=false",
    "blame.ignoreRevsFile=",
    "mailmap.file=",
    "mailmap.blob=",  # git would take HEAD's mailmap; `mailmap_blob` says which one counts
    "gc.auto=0",
    "maintenance.auto=false",
)


def git_chunks(
    git_dir: str,
    arguments: Sequence[str | bytes],
    *,
    stdin: bytes | Iterable[bytes] = b"",
    cancellation: Cancellation | None = None,
    objects: str = "",
    data_bytes: int | None = None,
    cpu_s: int = CPU_S,
) -> Generator[bytes, None, None]:
    """Run git on the objects of a repository and yield its standard output as it comes.

    Closing the iterator kills git.

    Parameters
    ----------
    git_dir
        The git directory. git itself runs in a temporary one without refs (`sourcelight.repos.isolation`).
    arguments
        Arguments of ``git``; never built from text that could be taken as an option.
    stdin
        Standard input of git, at once or in pieces; another thread consumes the pieces.
    cancellation
        Checked twenty times a second while git is silent, and for every chunk.
    objects
        Object directory that borrows the repository's objects; empty: the repository's own.
    data_bytes, cpu_s
        Memory and processor time that git may take, where the system can limit them. Without `data_bytes`, memory
        grows with the objects that the repository stores.

    Raises
    ------
    GitFailed
        If git is missing or too old, if the repository can't be opened, or, after its last output, if git ended with
        another status than 0.
    Cancelled
        After ``cancellation.cancel()``; git is then dead.
    """
    with contextlib.ExitStack() as stack:
        stderr_file = stack.enter_context(tempfile.TemporaryFile())
        # --literal-pathspecs: a path such as `:(glob)*` must be taken literally.
        try:
            process = stack.enter_context(
                isolated_git(
                    git_dir,
                    ["--literal-pathspecs", *arguments],
                    SETTINGS,
                    data_bytes=_memory_for(git_dir) if data_bytes is None else data_bytes,
                    cpu_s=cpu_s,
                    stdin=PIPE if stdin else DEVNULL,
                    stderr=stderr_file,
                    environment={"GIT_OBJECT_DIRECTORY": objects} if objects else {},
                )
            )
        except GitFailed:
            raise
        except RepositoryError as error:
            raise GitFailed(["git", *map(_to_text, arguments)], 128, str(error)) from error

        # A thread reads the pipe, so that the consumer can check for cancellation while git is silent. Another one
        # writes the input: git may fill its output before it has read all of it.
        chunks: queue.Queue[bytes] = queue.Queue(_CHUNKS_AHEAD)
        stopped = threading.Event()
        threads = [threading.Thread(target=_read_output, args=(process.stdout, chunks, stopped), daemon=True)]
        if stdin:
            blocks = (stdin,) if isinstance(stdin, bytes) else stdin
            threads.append(threading.Thread(target=_write_input, args=(process.stdin, blocks, stopped), daemon=True))

        for thread in threads:
            thread.start()

        try:
            while chunk := _next_chunk(chunks, cancellation):
                yield chunk
            status = process.wait(timeout=60)
        finally:
            # First the flag, then the end of git: both threads then leave their queue or pipe, and join() doesn't wait
            # without a result.
            stopped.set()
            end_process(process)
            for thread in threads:
                thread.join(5)

        if status:
            raise GitFailed(["git", *map(_to_text, arguments)], status, _read_tail(stderr_file))


def mailmap_setting(git_dir: str) -> tuple[str, str]:
    """Return the options that make git apply the ``.mailmap`` of HEAD; they go before the name of the command."""
    return "-c", f"mailmap.blob={mailmap_blob(git_dir)}"


def git_bytes(
    git_dir: str,
    arguments: Sequence[str | bytes],
    *,
    stdin: bytes | Iterable[bytes] = b"",
    cancellation: Cancellation | None = None,
    data_bytes: int | None = None,
) -> bytes:
    """Run git to its end and return its standard output; raises as `git_chunks` does."""
    return b"".join(git_chunks(git_dir, arguments, stdin=stdin, cancellation=cancellation, data_bytes=data_bytes))


def _memory_for(git_dir: str) -> int:
    return min(PATCH_DATA_BYTES + DATA_BYTES_PER_OBJECT * store_size(git_dir).objects, MAX_DATA_BYTES)


def _next_chunk(chunks: queue.Queue[bytes], cancellation: Cancellation | None) -> bytes:
    while True:
        if cancellation is not None:
            cancellation.check()
        with contextlib.suppress(queue.Empty):
            return chunks.get(timeout=_CHECK_S)


def _read_output(stream: IO[bytes], chunks: queue.Queue[bytes], stopped: threading.Event) -> None:
    """Pass on the output of git; an empty chunk marks the end."""
    chunk = b" "
    with stream:
        while chunk:
            try:
                chunk = os.read(stream.fileno(), _CHUNK_BYTES)
            except OSError:
                chunk = b""

            while not stopped.is_set():
                with contextlib.suppress(queue.Full):
                    chunks.put(chunk, timeout=_CHECK_S)
                    break

            if stopped.is_set():
                return


def _write_input(stream: IO[bytes], blocks: Iterable[bytes], stopped: threading.Event) -> None:
    with contextlib.suppress(OSError, ValueError), stream:
        for block in blocks:
            if stopped.is_set():
                return
            stream.write(block)


def _read_tail(errors: IO[bytes]) -> str:
    size = errors.seek(0, os.SEEK_END)
    errors.seek(max(0, size - _TAIL_BYTES))
    return errors.read().decode("utf-8", "replace")


def _to_text(word: str | bytes) -> str:
    return word if isinstance(word, str) else word.decode("utf-8", "replace")
