"""The directories that a repository may read: its own git directory, and the directories that the operator named.

A git directory can use objects from elsewhere: by ``objects/info/alternates`` (gitrepository-layout), the ``commondir``
of a linked work tree, or symbolic links. If some repositories are private, their objects must not appear in others.

This module also reads the small files of git directories, which may be pipes, devices or links.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

MAX_SMALL_FILE_BYTES = 1 << 20
"""Bytes that are read of a small file of git, such as HEAD; a repository may have any file in its place."""

_MAX_ALTERNATES_DEPTH = 5  # as git itself
_MAX_ALTERNATES_BYTES = 1 << 16
_MAX_OBJECT_DIRECTORIES = 100
"""Directories of objects that a repository may have, with those that it borrows: each is looked through."""

_MAX_REF_DEPTH = 64
"""Directories within directories below ``refs`` that are searched for links."""

_MAX_OBJECTS_DEPTH = 2  # objects/info/commit-graphs/graph-….graph is the deepest that git reads
TRUSTED_PATHS = "repositories.trustedPaths"


def read_flags(*, follow: bool = True) -> int:
    """Return the flags by which content is opened for reading.

    Opening a pipe doesn't wait for a writer, and ``follow=False`` refuses a link. Windows has neither flag, but opens
    files as text where `O_BINARY` is missing: CR LF would be read as LF, and Ctrl-Z as the end.
    """
    names = ("O_NONBLOCK", "O_BINARY", "O_CLOEXEC", *(() if follow else ("O_NOFOLLOW",)))
    flags = os.O_RDONLY
    for name in names:
        flags |= getattr(os, name, 0)
    return flags


def read_small_file(path: str, max_bytes: int = MAX_SMALL_FILE_BYTES, *, follow: bool = True) -> bytes:
    """Read the first `max_bytes` of a regular file.

    Refuses a pipe or a device without waiting for it. With ``follow=False`` it refuses a link, too, so that no link
    can choose the text that readers see.

    Raises
    ------
    OSError
        If it can't be read, or is not a regular file.
    """
    descriptor = os.open(path, read_flags(follow=follow))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(f"{path} is not a regular file")
        return file.read(max_bytes)


@dataclass(frozen=True, slots=True)
class Boundary:
    """The directories that repositories may read from.

    Parameters
    ----------
    roots
        Real paths below which files may be read. None: everything, as for a user who searches local files.
    """

    roots: tuple[str, ...] | None = None

    def contains(self, real: str) -> bool:
        """Return whether the real path `real` lies inside."""
        if self.roots is None:
            return True
        return any(real == root or real.startswith(root.rstrip(os.sep) + os.sep) for root in self.roots)

    def find_problem(self, uses: Iterable[tuple[str, str]]) -> str:
        """Explain which path of a repository leads outside; empty if none does.

        Parameters
        ----------
        uses
            What the repository does with a path, such as "it reads objects from", and the real path.
        """
        for use, real in uses:
            if not self.contains(real):
                return f"{use} {real}, outside the served directories; list that path in {TRUSTED_PATHS} to allow it"

        return ""


def object_sources(git_common_dir: str, boundary: Boundary | None = None) -> tuple[str, ...]:
    """List real paths outside of the git directory `git_common_dir` from which git reads objects, refs or settings.

    Checks all names below objects and refs (a few microseconds a directory), because each may be a link, or a pipe
    that libgit2 would wait for.

    Parameters
    ----------
    git_common_dir
        The real path of a git directory.
    boundary
        Where names are checked: a source outside is listed, and not looked into. None: everywhere.

    Raises
    ------
    OSError
        If a list of alternates can't be read or is too long, or anything there is a pipe, a device or a socket.
    """
    sources: dict[str, None] = {}
    _collect_sources(git_common_dir, boundary or Boundary(), sources)

    # git follows links in all of these places, so each may lead into another repository.
    for name in ("HEAD", "refs", "packed-refs", "config", "info", "shallow"):
        path = os.path.join(git_common_dir, name)
        if os.path.islink(path):
            _add_source(git_common_dir, os.path.realpath(path), sources)

    for link in _find_links(os.path.join(git_common_dir, "refs"), max_depth=_MAX_REF_DEPTH):
        _add_source(git_common_dir, os.path.realpath(link), sources)

    return tuple(sources)


def object_directories(git_common_dir: str) -> tuple[str, ...]:
    """List the object directories that `git_common_dir` reads: its own, and borrowed ones, as real paths.

    Lists of alternates that can't be read end there.
    """
    directories: dict[str, None] = {}
    pending = [(os.path.realpath(os.path.join(git_common_dir, "objects")), 0)]
    while pending:
        directory, depth = pending.pop()
        if directory in directories:
            continue
        directories[directory] = None
        if depth <= _MAX_ALTERNATES_DEPTH:
            with contextlib.suppress(OSError):
                pending += [(borrowed, depth + 1) for borrowed in _alternates(directory)]

    return tuple(directories)


def _collect_sources(git_common_dir: str, inside: Boundary, sources: dict[str, None]) -> None:
    """Add the sources of the object directory and of its alternates, which are looked into if they are `inside`."""
    pending = [(os.path.realpath(os.path.join(git_common_dir, "objects")), 0)]
    seen: set[str] = set()
    while pending:
        directory, depth = pending.pop()
        # Alternates may form a circle.
        if directory in seen:
            continue

        seen.add(directory)
        _add_source(git_common_dir, directory, sources)

        # git itself follows alternates five levels deep (alternate_object_database.c: "ignoring alternate object
        # stores, nesting too deep"). The list of a hostile repository may name the root directory.
        is_root = directory == os.path.dirname(directory)
        if depth > _MAX_ALTERNATES_DEPTH or is_root or not inside.contains(directory):
            continue

        if len(seen) > _MAX_OBJECT_DIRECTORIES:
            raise OSError(f"it reads objects from more than {_MAX_OBJECT_DIRECTORIES} directories")

        for link in _find_links(directory, max_depth=_MAX_OBJECTS_DEPTH):
            _add_source(git_common_dir, os.path.realpath(link), sources)

        # The last one is taken first.
        pending += [(alternate, depth + 1) for alternate in reversed(_alternates(directory))]


def _add_source(git_common_dir: str, real: str, sources: dict[str, None]) -> None:
    if real != git_common_dir and not real.startswith(git_common_dir + os.sep):
        sources[real] = None


def _find_links(folder: str, max_depth: int) -> Iterator[str]:
    """Yield links in a directory, down to `max_depth` below it; raises `OSError` for a file that is not regular."""
    pending = [(folder, 0)]
    seen: set[str] = set()
    while pending:
        directory, depth = pending.pop()
        try:
            entries = os.scandir(directory)
        except OSError:
            continue

        with entries:
            for entry in entries:
                if entry.is_symlink():
                    yield entry.path
                    real = os.path.realpath(entry.path)
                    is_folder = real not in seen and _leads_to_folder(entry.path)
                    seen.add(real)
                else:
                    # A link was yielded above; its target is checked as a separate source.
                    is_folder = entry.is_dir(follow_symlinks=False)
                    if not is_folder and not entry.is_file(follow_symlinks=False):
                        # git opens such files without looking at their kind: a pipe would block the process forever.
                        _check_regular(entry.path, os.lstat(entry.path))

                if is_folder and depth < max_depth:
                    pending.append((entry.path, depth + 1))


def _leads_to_folder(link: str) -> bool:
    """Return whether a link leads to a directory; raises `OSError` for one to a pipe or a device."""
    try:
        info = os.stat(link)
    except OSError:
        return False  # it leads nowhere
    _check_regular(link, info)
    return stat.S_ISDIR(info.st_mode)


def _check_regular(path: str, info: os.stat_result) -> None:
    if not (stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) or stat.S_ISLNK(info.st_mode)):
        raise OSError(f"{path} is not a regular file")


def _alternates(objects: str) -> list[str]:
    """List the object directories of ``info/alternates``: a line each, relative to the objects, # for comments."""
    try:
        text = read_small_file(os.path.join(objects, "info", "alternates"), _MAX_ALTERNATES_BYTES + 1)
    except (FileNotFoundError, NotADirectoryError):
        return []

    # A file that is too long to check counts as leading to the root directory, outside of every boundary.
    lines = [b"/"] if len(text) > _MAX_ALTERNATES_BYTES else text.replace(b"\0", b"").split(b"\n")
    paths = []
    for line in lines:
        name = os.fsdecode(line.strip(b"\r"))
        if name.startswith('"'):  # quoted like a C string: refused, as git may unquote it differently
            name = "/"
        if name and not name.startswith("#"):
            paths.append(os.path.realpath(os.path.join(objects, name)))

    return paths
