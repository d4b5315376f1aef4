"""Running the git command: only for what libgit2 does worse, and so that it runs nothing but itself."""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import IO

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import Cancelled, GitFailed

OLDEST_GIT = (2, 31)  # reads configuration from GIT_CONFIG_COUNT, which keeps credentials off the command line
TAIL_LINES = 40
CHECK_S = 0.1
# Settings of a repository that would make git run a program, and transports that are programs.
_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.ext.allow=never",
         "-c", "submodule.recurse=false", "-c", "maintenance.auto=false", "-c", "gc.auto=0")  # fmt: skip


def git_environment(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """Environment for git: no variable of a surrounding git, no question to a terminal, no lazy fetch, English."""
    kept = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
            "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")  # fmt: skip
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in kept}
    env |= {
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_ALLOW_PROTOCOL": "https:ssh:git:file",
        "GIT_PROTOCOL_FROM_USER": "0",
        "LC_ALL": "C",
    }
    return env | dict(more or {})


def require_git() -> str:
    """Path of the git command.

    Raises
    ------
    GitFailed
        If there is none, or one older than `OLDEST_GIT`; says what is needed.
    """
    path = shutil.which("git")
    if path is None:
        raise GitFailed(["git"], 127, "the git command was not found on PATH; install git to clone repositories")
    version = _version(path)
    if version < OLDEST_GIT:
        found, needed = ".".join(map(str, version)), ".".join(map(str, OLDEST_GIT))
        raise GitFailed(["git", "--version"], 0, f"git {found} is too old; version {needed} or newer is needed")
    return path


@cache
def _version(path: str) -> tuple[int, ...]:
    try:
        done = subprocess.run([path, "--version"], capture_output=True, timeout=20, check=False, env=git_environment())
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(["git", "--version"], 126, str(error)) from error
    return parse_version(done.stdout.decode(errors="replace"))


def parse_version(text: str) -> tuple[int, ...]:
    """Numbers of ``git version 2.39.5 (Apple Git-154)``; (0,) when there are none."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups("0")) if match else (0,)


def run_git(
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    secrets: Sequence[str] = (),
    line: Callable[[str], None] | None = None,
    output: IO[bytes] | None = None,
    cancellation: Cancellation | None = None,
) -> None:
    """Run git to its end and pass on each line of its standard error.

    Parameters
    ----------
    arguments
        What follows ``git``; never built from text that could be taken as an option.
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
    argv = [require_git(), *_SAFE, *arguments]
    process: subprocess.Popen[bytes] = subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL if output is None else output,
        stderr=subprocess.PIPE,
        env=git_environment(environment),
        start_new_session=True,  # a group of its own, to be killed whole; Windows ignores it
    )
    lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
    reader = threading.Thread(target=_read_lines, args=(process.stderr, lines), daemon=True)
    reader.start()
    tail: deque[str] = deque(maxlen=TAIL_LINES)
    try:
        for text in _until_end(lines, cancellation):
            shown = redact(text, secrets)
            if not re.search(r"\d+% \(\d+/\d+\)", shown):
                tail.append(shown)
            if line is not None:
                line(shown)
        status = process.wait(timeout=60)
    finally:
        _end(process)
        reader.join(5)
        if process.stderr is not None and not reader.is_alive():
            process.stderr.close()
    if status:
        shown_argv = ["git", *(redact(word, secrets) for word in arguments)]
        raise GitFailed(shown_argv, status, "\n".join(tail))


def redact(text: str, secrets: Sequence[str]) -> str:
    """Text without credentials: given ones, and whatever stands before ``@`` in a URL."""
    for secret in secrets:
        text = text.replace(secret, "***")
    return re.sub(r"(?<=://)[^/\s@]+@", "", text)


def _until_end(lines: queue.SimpleQueue[str | None], cancellation: Cancellation | None) -> _Lines:
    return _Lines(lines, cancellation)


class _Lines:
    """Lines as they come; raises `Cancelled` between and while waiting."""

    def __init__(self, lines: queue.SimpleQueue[str | None], cancellation: Cancellation | None) -> None:
        self._lines = lines
        self._cancellation = cancellation

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        while True:
            if self._cancellation is not None and self._cancellation.stopped:
                raise Cancelled("git was stopped on request")
            try:
                text = self._lines.get(timeout=CHECK_S)
            except queue.Empty:
                continue
            if text is None:
                raise StopIteration
            return text


def _read_lines(stream: IO[bytes], lines: queue.SimpleQueue[str | None]) -> None:
    rest = b""
    try:
        while chunk := os.read(stream.fileno(), 65536):
            *whole, rest = re.split(rb"[\r\n]", rest + chunk)
            for text in whole:
                if text.strip():
                    lines.put(text.decode("utf-8", "replace").rstrip())
    except OSError:
        pass
    finally:
        if rest.strip():
            lines.put(rest.decode("utf-8", "replace").rstrip())
        lines.put(None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill git and everything it started, if it still runs."""
    if process.poll() is not None:
        return
    if os.name == "nt":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=10)
