"""Start and end the git command, only where libgit2 is worse, and so that git starts no other program.

Only `start_git` starts git. To read history, git runs in a private directory (`isolation`), ignores every configuration
file and may use no transport. Only `mirrors` may fetch, and only over the transport of the URL that it was given.

Processes that read untrusted contents also get limits of the operating system, in case the checks in Python miss one.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from typing import IO, TypeAlias

from sourcelight.core.errors import GitFailed
from sourcelight.repos.git.environment import SAFE_OPTIONS, reading_environment

OLDEST_GIT = (2, 31)  # reads configuration from GIT_CONFIG_COUNT, which keeps credentials off the command line

_END_S = 2.0
"""Seconds that git gets to delete its locks before it is killed."""

GitProcess: TypeAlias = subprocess.Popen[bytes]
"""A git that was started."""

PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL


def limit_process(process_id: int, *, data_bytes: int | None = None, cpu_s: int | None = None) -> None:
    """Limit memory and CPU time of a process that was just started; no-op on systems without such limits.

    Linux alone can limit a process from outside, without running code between fork and exec, which is not safe in a
    process with threads.

    Parameters
    ----------
    process_id
        The process; it may have ended.
    data_bytes
        Memory that it may write to. Mapped files that are only read do not count, such as git's packs.
    cpu_s
        Seconds of processor time.
    """
    if sys.platform == "linux":
        import resource

        limits = ((resource.RLIMIT_DATA, data_bytes), (resource.RLIMIT_CPU, cpu_s))
        for kind, limit in limits:
            if limit is not None:
                with contextlib.suppress(ProcessLookupError, PermissionError, ValueError, OSError):
                    # The hard limit is set too, so the process can't raise it again; it must not exceed the one that an
                    # operator set.
                    _, hard_limit = resource.prlimit(process_id, kind)
                    bound = limit if hard_limit == resource.RLIM_INFINITY else min(limit, hard_limit)
                    resource.prlimit(process_id, kind, (bound, bound))


def start_git(
    arguments: Sequence[str | bytes],
    environment: Mapping[str, str],
    directory: str,
    *,
    stdin: IO[bytes] | int = subprocess.DEVNULL,
    stdout: IO[bytes] | int = subprocess.DEVNULL,
    stderr: IO[bytes] | int = subprocess.DEVNULL,
    data_bytes: int | None = None,
    cpu_s: int | None = None,
) -> subprocess.Popen[bytes]:
    """Start git; the caller ends it with `end_process`.

    Parameters
    ----------
    arguments
        What follows ``git``; never built from text that could be taken as an option.
    environment
        All variables: the result of `reading_environment` or `fetching_environment`.
    directory
        Working directory of git: a private one, because git looks for a repository there and above.
    stdin, stdout, stderr
        As for `subprocess.Popen`.
    data_bytes, cpu_s
        Memory and processor time that git may take, where the system can limit them.

    Raises
    ------
    GitFailed
        If git is missing or too old.
    """
    # -c comes before the subcommand and so wins over every configuration file, including the repository's own.
    argv = [require_git(), *SAFE_OPTIONS, *arguments]
    process = _start(argv, environment, directory=directory, stdin=stdin, stdout=stdout, stderr=stderr)
    limit_process(process.pid, data_bytes=data_bytes, cpu_s=cpu_s)
    return process


def _start(
    argv: Sequence[str | bytes],
    environment: Mapping[str, str],
    *,
    directory: str,
    stdin: IO[bytes] | int,
    stdout: IO[bytes] | int,
    stderr: IO[bytes] | int,
) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=directory,
        # Stops git's search for a repository at this directory: one above it could have hooks and configuration.
        env={**environment, "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.abspath(directory))},
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        start_new_session=True,  # a separate group, which can be killed as a whole; Windows ignores it
    )


def require_git() -> str:
    """Return the path of the git command.

    Raises
    ------
    GitFailed
        If git is missing or older than `OLDEST_GIT`; the message names the version needed.
    """
    # Looked up for each call and not cached: a kernel lives for days, and git may be installed meanwhile.
    path = shutil.which("git")
    if path is None:
        raise GitFailed(["git"], 127, "the git command was not found on PATH; install git to clone repositories")

    version = _version(path)
    if version < OLDEST_GIT:
        installed, minimum = ".".join(map(str, version)), ".".join(map(str, OLDEST_GIT))
        raise GitFailed(
            ["git", "--version"],
            0,
            f"git {installed} is too old; version {minimum} or newer is required, so update git",
        )

    return path


# Cached by path: starting git for each call would cost more than most calls. An update in place is seen by the next
# process.
@cache
def _version(path: str) -> tuple[int, ...]:
    try:
        with tempfile.TemporaryDirectory(prefix="sourcelight-git-") as directory:
            environment = reading_environment(directory)
            argv = [path, "--version"]
            process = _start(
                argv,
                environment,
                directory=directory,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
            )
            try:
                answer, _ = process.communicate(timeout=20)
            finally:
                end_process(process)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise GitFailed(["git", "--version"], 126, str(error)) from error

    return parse_version(answer.decode(errors="replace"))


def git_version() -> tuple[int, ...]:
    """Return git's version, such as (2, 39, 5); raises as `require_git`."""
    return _version(require_git())


def parse_version(text: str) -> tuple[int, ...]:
    """Parse ``git version 2.39.5 (Apple Git-154)``; (0,) for other text."""
    match = re.search(r"(\d+)\.(\d+)(?:\.(\d+))?", text)
    return tuple(int(part) for part in match.groups("0")) if match else (0,)


def ask_to_end(process: subprocess.Popen[bytes]) -> None:
    """Let a git that writes delete its locks and temporary files; a lock left behind stops the next fetch."""
    if os.name != "nt" and process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            # The group, since git starts ssh, index-pack and helpers, which would continue without their parent.
            os.killpg(process.pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=_END_S)


def end_process(process: subprocess.Popen[bytes]) -> None:
    """Kill git and all processes that it started, if it is still running."""
    if process.poll() is not None:
        return

    if os.name == "nt":
        # Windows has no process groups; this ends a process with its children.
        # By its whole path: Windows would look for a bare name in the current folder first.
        taskkill = os.path.join(os.environ.get("SYSTEMROOT", r"C:\Windows"), "System32", "taskkill.exe")
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            arguments = [taskkill, "/F", "/T", "/PID", str(process.pid)]
            subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).wait(timeout=10)
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)

    process.wait(timeout=10)
