"""Run the git command, only where libgit2 is worse, and so that git starts no other program.

Only `start_git` starts git. To read history, git runs in a private directory (`isolation`), ignores every configuration
file and may use no transport. Only `mirrors` may fetch, and only over the transport of the URL that it was given.

Processes that read untrusted contents also get limits of the operating system, in case the checks in Python miss one.
"""

from __future__ import annotations

import contextlib
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import IO, TypeAlias

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, GitFailed

OLDEST_GIT = (2, 31)  # reads configuration from GIT_CONFIG_COUNT, which keeps credentials off the command line
TAIL_LINES = 40
CHECK_S = 0.1
_END_S = 2.0
MAX_LINE_BYTES = 1 << 16
GitProcess: TypeAlias = subprocess.Popen[bytes]
"""A git that was started."""

PIPE, DEVNULL = subprocess.PIPE, subprocess.DEVNULL

NETWORK = ("https", "ssh", "git")
"""Transports for a remote on another host. A redirect can't leave them; user settings may rewrite between them."""

LOCAL = ("file",)
"""Transport for a directory of this machine."""

# These override every configuration: git runs no program of a repository, and reads no other source or repository.
_SAFE = ("-c", "core.fsmonitor=false", "-c", f"core.hooksPath={os.devnull}", "-c", "protocol.allow=never",
         "-c", "safe.bareRepository=explicit", "-c", "submodule.recurse=false", "-c", "fetch.recurseSubmodules=false",
         "-c", "transfer.bundleURI=false", "-c", "fetch.uriProtocols=", "-c", "maintenance.auto=false",
         "-c", "gc.auto=0")  # fmt: skip
_INHERITED = ("GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM",
              "GIT_CONFIG_NOSYSTEM", "GIT_EXEC_PATH", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH")  # fmt: skip
# git allocates and frees each content, and glibc gives large blocks back to the system and asks for them again, each
# page with a fault. Memory that git keeps saves 21 % of the CPU time of `diff-tree` on redis, and 10 % of `cat-file`
# on kafka. Other C libraries ignore the variable, and older versions the settings that they don't have.
_REUSED_MEMORY = ":".join(
    f"glibc.malloc.{name}={value}"
    for name, value in (("mmap_threshold", 8 << 20), ("trim_threshold", 64 << 20), ("top_pad", 4 << 20), ("hugetlb", 1))
)
_ALWAYS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_PROTOCOL_FROM_USER": "0",
    "GIT_PAGER": "cat",
}


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


def reading_environment(directory: str) -> dict[str, str]:
    """Return the environment for git in our own directory: no configuration of machine or user, no transport.

    Parameters
    ----------
    directory
        The git directory, of `isolation.isolated_directory`; it is the home too, for a git that looks there.
    """
    # GIT_EXEC_PATH locates git's own programs, which an installation outside of the default path needs.
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name == "GIT_EXEC_PATH"}
    return env | {
        **_ALWAYS,
        "GIT_ALLOW_PROTOCOL": "",
        "GIT_DIR": directory,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_SYSTEM": os.devnull,
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",  # as libgit2 reads: replacements don't apply
        "HOME": directory,  # git before 2.32 does not know GIT_CONFIG_GLOBAL
        "XDG_CONFIG_HOME": directory,
        "LC_ALL": "C.UTF-8",
        "GLIBC_TUNABLES": os.environ.get("GLIBC_TUNABLES", _REUSED_MEMORY),
    }


def fetching_environment(protocols: Sequence[str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a fetch: the user's settings apply, settings of a surrounding git don't.

    Parameters
    ----------
    protocols
        Transports that may be used, `NETWORK` or `LOCAL`.
    extra
        Variables to add.
    """
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_") or name in _INHERITED}
    return env | {**_ALWAYS, "GIT_ALLOW_PROTOCOL": ":".join(protocols), "LC_ALL": "C"} | dict(extra or {})


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
    argv = [require_git(), *_SAFE, *arguments]
    process = _start(argv, environment, directory, stdin, stdout, stderr)
    limit_process(process.pid, data_bytes=data_bytes, cpu_s=cpu_s)
    return process


def _start(
    argv: Sequence[str | bytes],
    environment: Mapping[str, str],
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


@cache
def _version(path: str) -> tuple[int, ...]:
    try:
        with tempfile.TemporaryDirectory(prefix="sourcelight-git-") as directory:
            environment = reading_environment(directory)
            argv = [path, "--version"]
            process = _start(argv, environment, directory, subprocess.DEVNULL, subprocess.PIPE, subprocess.DEVNULL)
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
            stdout=subprocess.DEVNULL if output is None else output,
            stderr=subprocess.PIPE,
        )
        _follow(process, arguments, secrets, line, cancellation)


def _follow(
    process: subprocess.Popen[bytes],
    arguments: Sequence[str],
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
        _ask_to_end(process)
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
            remaining = remaining[-MAX_LINE_BYTES:]  # a remote's own words pass through here, and need not end
            for text in complete:
                if text.strip():
                    lines.put(text.decode("utf-8", "replace").rstrip())
    except OSError:
        pass
    finally:
        if remaining.strip():
            lines.put(remaining.decode("utf-8", "replace").rstrip())
        lines.put(None)


def _ask_to_end(process: subprocess.Popen[bytes]) -> None:
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
