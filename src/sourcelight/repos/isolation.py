"""A temporary git directory over a repository's objects, so that git reads none of its configuration.

A repository's author chooses its configuration, hooks, attributes and remotes, and most of these can name a program. So
git runs in a directory with a configuration of this package, the border of a shallow clone, grafts, and the path of the
objects; refs are passed as ids. It has no remote, so that no version of git fetches a missing object.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING

from sourcelight.core.errors import RepositoryError
from sourcelight.repos.boundary import object_sources, read_flags
from sourcelight.repos.git.command import DEVNULL, PIPE, GitProcess, end_process, start_git
from sourcelight.repos.git.environment import reading_environment
from sourcelight.repos.handles import open_handle
from sourcelight.repos.names import is_ref_name
from sourcelight.repos.repository import common_dir

if TYPE_CHECKING:
    import pygit2

MAX_SHALLOW_BYTES = 16 << 20
"""Size of the file that lists the border of a shallow clone: 400,000 commits."""

MAX_REFS = 1_000_000
"""Refs of a repository that are read: all of their names are in memory at a time."""

_COMMIT_LINE = re.compile(rb"[0-9a-f]{40}(?: [0-9a-f]{40})*")
_NO_HEAD = b"ref: refs/heads/none\n"
_CONFIG = """[core]
\trepositoryformatversion = 0
\tbare = true
[protocol]
\tallow = never
"""


@contextlib.contextmanager
def isolated_directory(git_dir: str, settings: Sequence[str] = (), *, with_refs: bool = False) -> Iterator[str]:
    """Make a git directory that reads only the objects of `git_dir`; it is deleted at the end.

    Parameters
    ----------
    git_dir
        Git directory of the repository or of a linked work tree.
    settings
        Further configuration, each as ``section.key=value``.
    with_refs
        Whether the refs are there too, so that others can fetch from it.

    Yields
    ------
    str
        Path of the directory.

    Raises
    ------
    RepositoryError
        If the repository can't be opened (`UnusableRepository`), or exceeds the limits.
    """
    handle = open_handle(git_dir)
    git_common_dir = common_dir(git_dir)
    shallow = _commit_lines(os.path.join(git_common_dir, "shallow"))
    grafts = _commit_lines(os.path.join(git_common_dir, "info", "grafts"))

    # The directory has mode 0700: its config names paths of private repositories.
    with tempfile.TemporaryDirectory(prefix="sourcelight-git-") as directory:
        for name in ("objects/info", "refs"):
            os.makedirs(os.path.join(directory, name))

        objects = os.path.abspath(os.path.join(git_common_dir, "objects"))
        # Objects are borrowed and not copied. Nothing else of the repository is reachable from here: no config, hooks,
        # attributes or remotes.
        _write(directory, "objects/info/alternates", _quote_path(objects) + b"\n")
        _write(directory, "config", (_CONFIG + "".join(map(_format_setting, settings))).encode())
        _write(directory, "HEAD", _head(handle) if with_refs else _NO_HEAD)
        if shallow:
            _write(directory, "shallow", shallow)

        if grafts:
            os.makedirs(os.path.join(directory, "info"))
            _write(directory, "info/grafts", grafts)

        if with_refs:
            _check_objects(git_common_dir)
            _write(directory, "packed-refs", _packed_refs(handle))

        yield directory


@contextlib.contextmanager
def isolated_git(
    git_dir: str,
    arguments: Sequence[str | bytes],
    settings: Sequence[str] = (),
    *,
    data_bytes: int,
    cpu_s: int | None,
    stdin: IO[bytes] | int = DEVNULL,
    stderr: IO[bytes] | int = DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> Iterator[GitProcess]:
    """Run git in an isolated directory; at the end, it is killed if it still runs.

    Parameters
    ----------
    git_dir, settings
        As for `isolated_directory`.
    arguments
        What follows ``git``.
    data_bytes, cpu_s
        Memory and processor time that git may take, where the system can limit them.
    stdin, stderr
        As for `subprocess.Popen`; its standard output is a pipe.
    environment
        Further variables.

    Yields
    ------
    GitProcess
        The process. The caller reads its output, waits for it and checks its status.

    Raises
    ------
    RepositoryError
        If the repository can't be opened.
    GitFailed
        If git is missing or too old.
    """
    with isolated_directory(git_dir, settings) as directory:
        process = start_git(
            arguments,
            {**reading_environment(directory), **(environment or {})},
            directory,
            stdin=stdin,
            stdout=PIPE,
            stderr=stderr,
            data_bytes=data_bytes,
            cpu_s=cpu_s,
        )
        try:
            yield process
        finally:
            end_process(process)


def _check_objects(git_common_dir: str) -> None:
    """Refuse a pipe instead of an object: a clone would wait for it."""
    try:
        object_sources(git_common_dir)
    except OSError as error:
        raise RepositoryError(f"{git_common_dir} can't be read: {error}") from error


def _write(directory: str, name: str, content: bytes) -> None:
    with open(os.path.join(directory, name), "wb") as file:
        file.write(content)


def _format_setting(setting: str) -> str:
    name, _, value = setting.partition("=")
    section, _, key = name.rpartition(".")
    quoted = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'[{section}]\n\t{key} = "{quoted}"\n'


def _quote_path(path: str) -> bytes:
    """Write a path as a line of git's list of alternates, with C quotes if it has a newline or a leading mark."""
    raw = os.fsencode(path)
    if b"\n" not in raw and not raw.startswith((b'"', b"#")):
        return raw
    return b'"' + raw.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n") + b'"'


def _head(handle: pygit2.Repository) -> bytes:
    """Return the content of HEAD: its branch, or its commit if it names none."""
    import pygit2

    try:
        target = handle.lookup_reference("HEAD").target
    except (KeyError, ValueError, pygit2.GitError):
        return _NO_HEAD

    if isinstance(target, str):
        if is_ref_name(target):
            return b"ref: " + os.fsencode(target) + b"\n"
        return _NO_HEAD

    return str(target).encode() + b"\n"


def _packed_refs(handle: pygit2.Repository) -> bytes:
    import pygit2

    try:
        names = [os.fsdecode(name) for name in handle.raw_listall_references()]
    except pygit2.GitError as error:
        raise RepositoryError(f"the refs of {handle.path} can't be read: {error}") from error

    if len(names) > MAX_REFS:
        raise RepositoryError(
            f"{handle.path} has {len(names):,} refs; at most {MAX_REFS:,} are read; delete unneeded branches and tags"
        )

    lines = []
    for name in sorted(names):
        try:
            target = handle.lookup_reference(name).resolve().target
        except (KeyError, ValueError, pygit2.GitError):
            continue  # a symbolic ref that leads nowhere
        if is_ref_name(name):
            lines.append(f"{target} {name}\n")

    return os.fsencode("".join(lines))


def _commit_lines(path: str) -> bytes:
    """Read lines of commits from a shallow or grafts file; empty if there is none."""
    try:
        descriptor = os.open(path, read_flags())
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise RepositoryError(f"{path} can't be read: {error.strerror}") from error

    with os.fdopen(descriptor, "rb") as file:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_size > MAX_SHALLOW_BYTES:
            raise RepositoryError(
                f"{path} is not a regular file of at most {MAX_SHALLOW_BYTES:,} bytes; clone the repository again"
            )
        content = file.read(MAX_SHALLOW_BYTES)

    # Only lines of hashes pass, so the file can't carry anything else into the git process. They are sorted by commit,
    # since git keeps them in a sorted array: it moves half of it for each line out of order, 5 seconds of CPU for
    # 400,000. Of several lines for one commit, git takes the first, which stays the first here.
    lines = [line for line in content.splitlines() if _COMMIT_LINE.fullmatch(line)]
    lines.sort(key=lambda line: line[:40])
    return b"".join(line + b"\n" for line in lines)
