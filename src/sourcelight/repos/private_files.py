"""Directories and files that only their owner may read: indexes, histories and caches hold private contents."""

from __future__ import annotations

import contextlib
import os
import stat
from typing import IO, cast

FOLDER_MODE, FILE_MODE = 0o700, 0o600
"""Modes of directories and files that only their owner may read."""

_OTHERS = 0o077
"""Bits of a mode that are for the group and for everyone."""

_repaired: set[str] = set()


def make_private_folder(path: str | os.PathLike[str]) -> None:
    """Make a directory and its missing parents for the owner alone; an existing one stays unchanged.

    Raises
    ------
    OSError
        When it can't be made.
    """
    folder = os.path.abspath(os.fspath(path))
    missing = []
    while not os.path.isdir(folder):
        missing.append(folder)
        above = os.path.dirname(folder)
        if above == folder:
            break
        folder = above

    for name in reversed(missing):
        with contextlib.suppress(FileExistsError):  # another process was first; if it is a file, the next step fails
            os.mkdir(name, FOLDER_MODE)


def open_private(path: str | os.PathLike[str], mode: str) -> IO[bytes]:
    """Open a file for writing bytes; a new file is accessible only to its owner from the start.

    Parameters
    ----------
    path
        The file.
    mode
        As of `open`, with a ``b``.

    Raises
    ------
    OSError
        When it can't be opened.
    """
    return cast("IO[bytes]", open(path, mode, opener=_opener))


def repair_private_folder(path: str | os.PathLike[str], marker: str) -> None:
    """Remove the rights of others that an earlier version or umask gave in a directory of indexes; once per process.

    This covers the directories below `path` with a file named `marker`, and `path` itself if it has no other entries:
    a directory of other files that was named by mistake stays unchanged.

    Parameters
    ----------
    path
        The directory; it need not be there.
    marker
        Name of the file that marks a subdirectory as an index.
    """
    folder = os.path.abspath(os.fspath(path))
    if os.name != "posix" or folder in _repaired:
        return

    _repaired.add(folder)
    try:
        info = os.lstat(folder)
        # Never a directory of another user, or one behind a link.
        if not stat.S_ISDIR(info.st_mode) or info.st_uid != os.geteuid() or not info.st_mode & _OTHERS:
            return
        names = [os.path.join(folder, name) for name in os.listdir(folder)]
    except OSError:
        return

    indexes = [name for name in names if os.path.isfile(os.path.join(name, marker)) and not os.path.islink(name)]
    for index in indexes:
        for directory, folders, files in os.walk(index):
            for name in (*folders, *files):
                _restrict(os.path.join(directory, name))
        _restrict(index)

    if len(indexes) == len(names):  # last, so that an interrupted repair starts again
        _restrict(folder)


def _opener(path: str, flags: int) -> int:
    return os.open(path, flags, FILE_MODE)


def _restrict(path: str) -> None:
    """Remove the rights of others from a directory or file of this user; links are not followed."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # owned by another user, or a file system without permissions
        info = os.lstat(path)
        if info.st_mode & _OTHERS and info.st_uid == os.geteuid() and not stat.S_ISLNK(info.st_mode):
            os.chmod(path, stat.S_IMODE(info.st_mode) & ~_OTHERS)
