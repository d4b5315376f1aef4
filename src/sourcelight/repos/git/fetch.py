"""Run a git that fetches to its end, and pass on each line of its standard error without credentials."""

from __future__ import annotations

import os
import queue
import re
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, GitFailed
from sourcelight.repos.git.command import DEVNULL, PIPE, GitProcess, ask_to_end, end_process, start_git
from sourcelight.repos.git.environment import fetching_environment

TAIL_LINES = 40
"""Last lines of standard error that an error quotes."""

CHECK_S = 0.1
"""Seconds between checks for a cancellation while git is silent."""

MAX_LINE_BYTES = 1 << 16
"""Maximum bytes of a line: a remote's own words pass through here, and need not end."""


def run_git(
    arguments: Sequence[str],
    protocols: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    line: Callable[[str], None] | None = None,
    output: IO[bytes] | None = None,
    cancellation: Cancellation | None = None,
) -> None:
    """Run a fetching git to its end, and pass on each line of its standard error.

    Parameters
    ----------
    arguments
        What follows ``git``; never built from text that could be taken as an option. Paths are absolute.
    protocols
        Transports that it may use, `NETWORK` or `LOCAL`.
    environment
        Variables to add.
    secrets
        Words that no line or error may show.
    line
        Called with each line (a progress line counts as one), in the thread of the caller.
    output
        File to take git's standard output; None drops it.
    cancellation
        Looked at ten times a second; git and all it started are then killed, and `Cancelled` is raised.

    Raises
    ------
    GitFailed
        If git is missing, too old, or ends with another status than 0.
    """
    with tempfile.TemporaryDirectory(prefix="sourcelight-git-") as directory:
        process = start_git(
            arguments,
            fetching_environment(protocols, environment),
            directory,
            stdout=DEVNULL if output is None else output,
            stderr=PIPE,
        )
        _follow(process, arguments, secrets=secrets, line=line, cancellation=cancellation)


def _follow(
    process: GitProcess,
    arguments: Sequence[str],
    *,
    secrets: Sequence[str],
    line: Callable[[str], None] | None,
    cancellation: Cancellation | None,
) -> None:
    # A thread reads, because a pipe can't be read with a timeout on Windows; the caller's thread looks at the
    # cancellation.
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read_lines, args=(process.stderr, lines), daemon=True)
    reader.start()
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    try:
        for text in _lines_until_end(lines, cancellation):
            redacted = redact(text, secrets)
            # Progress would push the reason of a failure out of the tail, which has 40 lines.
            if not re.search(r"\d+% \(\d+/\d+\)", redacted):
                tail.append(redacted)
            if line is not None:
                line(redacted)
        status = process.wait(timeout=60)
    finally:
        # In a `finally`: an interrupt, a cancellation and an error of the callback all end git and its child processes.
        ask_to_end(process)
        end_process(process)
        reader.join(5)
        if process.stderr is not None and not reader.is_alive():
            process.stderr.close()

    if status:
        shown_argv = ["git", *(redact(word, secrets) for word in arguments)]
        raise GitFailed(shown_argv, status, "\n".join(tail))


def redact(text: str, secrets: Sequence[str]) -> str:
    """Remove credentials from text: the given ones, and any text before ``@`` in a URL."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return re.sub(r"(?<=://)[^/\s@]+@", "", text)


def _lines_until_end(lines: queue.SimpleQueue[str | None], cancellation: Cancellation | None) -> Iterator[str]:
    """Yield lines as they arrive; raise `Cancelled` between lines and while waiting."""
    while True:
        if cancellation is not None and cancellation.stopped:
            raise Cancelled("git was stopped on request")

        try:
            # The timeout bounds how long a cancellation waits while git is silent, such as during a slow transfer.
            text = lines.get(timeout=CHECK_S)
        except queue.Empty:
            continue

        if text is None:
            return

        yield text


def _read_lines(stream: IO[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    remaining = b""
    try:
        while chunk := os.read(stream.fileno(), 65536):
            # git ends progress lines with CR and others with LF.
            *complete, remaining = re.split(rb"[\r\n]", remaining + chunk)
            remaining = remaining[-MAX_LINE_BYTES:]
            for text in complete:
                if text.strip():
                    lines.put(text.decode("utf-8", "replace").rstrip())
    except OSError:
        pass
    finally:
        if remaining.strip():
            lines.put(remaining.decode("utf-8", "replace").rstrip())
        lines.put(None)
