"""Entries that the repository around a directory tracks: they are content, which never leads to a repository.

The authors of a repository decide where its links point and what its directories look like. An entry counts as
tracked when the last commit or the index has it; a repository that can't be read counts as tracking everything.
Other files inside of another repository are its files.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.repos.boundary import object_sources
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.repository import common_dir, git_dir_of_file

if TYPE_CHECKING:
    import pygit2

_LINK = 0o120000
"""Mode of a symbolic link."""

_MAX_INDEX_BYTES = 1 << 30
"""Bytes of an index above which it is not read: libgit2 loads it as a whole."""


@dataclass(slots=True)
class TrackedEntries:
    """The tracked entries of the work tree at `worktree` (a real path); `git_dir` is empty if unreadable."""

    worktree: str
    git_dir: str
    _handle: pygit2.Repository | None = None
    _root: pygit2.Tree | None = None
    _links: frozenset[str] | None = None
    _is_open: bool = False
    _is_readable: bool = True

    def has_link(self, path: str) -> bool:
        """Return whether the link at `path` (a real directory, and a name in it) is tracked."""
        name = self._relative(path)
        return name is not None and self._ask(self._tracks_link, name)

    def has_entry(self, path: str) -> bool:
        """Return whether `path`, or anything below it, is tracked."""
        name = self._relative(path)
        return name is not None and self._ask(self._tracks_entry, name)

    def _ask(self, question: Callable[[str], bool], name: str) -> bool:
        import pygit2

        if not self._open():
            return True
        try:
            return question(name)
        except (KeyError, ValueError, OSError, pygit2.GitError):
            return True

    def _tracks_link(self, name: str) -> bool:
        entry = self._committed_object(name)
        if entry is not None and int(entry.filemode) == _LINK:
            return True
        # The index counts too: a staged link comes from the same author, and git would commit it as it is.
        if self._links is None:
            self._links = frozenset(_fold(staged.path) for staged in self._index() if int(staged.mode) == _LINK)
        return _fold(name) in self._links

    def _tracks_entry(self, name: str) -> bool:
        if not name or self._committed_object(name) is not None:
            return True
        lowered = _fold(name)
        staged = (_fold(entry.path) for entry in self._index())
        return any(path == lowered or path.startswith(f"{lowered}/") for path in staged)

    def _relative(self, path: str) -> str | None:
        if path == self.worktree:
            return ""
        prefix = self.worktree.rstrip(os.sep) + os.sep
        if path.startswith(prefix):
            return path.removeprefix(prefix).replace(os.sep, "/")
        return None

    def _open(self) -> bool:
        if not self._is_open:
            self._is_open = True
            self._is_readable = self._read()
        return self._is_readable

    def _read(self) -> bool:
        import pygit2

        if not self.git_dir:
            return False

        try:
            if _size(os.path.join(self.git_dir, "index")) > _MAX_INDEX_BYTES:
                return False
            object_sources(common_dir(self.git_dir))  # raises for a pipe, which libgit2 would wait for
            self._handle = open_handle(self.git_dir)
            if not self._handle.head_is_unborn:
                self._root = self._handle.revparse_single("HEAD").peel(pygit2.Tree)
            self._index()
        except (UnusableRepository, KeyError, ValueError, OSError, pygit2.GitError):
            return False

        return True

    def _committed_object(self, name: str) -> pygit2.Object | None:
        return self._root[name] if self._root is not None and name in self._root else None

    def _index(self) -> pygit2.Index:
        assert self._handle is not None  # noqa: S101 - opened before
        index: pygit2.Index = self._handle.index
        return index


def enclosing_work_trees(real: str) -> tuple[TrackedEntries, ...]:
    """Return the work trees above the real path `real`, the outermost first."""
    trees = []
    above = os.path.dirname(real)
    while True:
        if os.path.lexists(os.path.join(above, ".git")):
            trees.append(TrackedEntries(above, git_dir_of(above)))
        if above == os.path.dirname(above):
            return tuple(reversed(trees))
        above = os.path.dirname(above)


def git_dir_of(worktree: str) -> str:
    """Return the real git directory that the ``.git`` of `worktree` is or names; empty if it is neither."""
    dot = os.path.join(worktree, ".git")
    git_dir = dot if os.path.isdir(dot) else git_dir_of_file(dot)
    if git_dir and os.path.isfile(os.path.join(git_dir, "HEAD")):
        return os.path.realpath(git_dir)
    return ""


def _fold(name: str) -> str:
    """Fold a name as case-insensitive file systems compare it; elsewhere this is only stricter."""
    return unicodedata.normalize("NFC", name).casefold()


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0


class NestedFiles:
    """The files of a work tree that are in the work tree of another repository, also of a damaged one.

    libgit2 lists such files as untracked if this repository tracks any file of their directory.

    Parameters
    ----------
    root
        The work tree.
    with_bare
        Whether files of bare repositories count, too.
    """

    def __init__(self, root: bytes, *, with_bare: bool) -> None:
        self._root = root
        self._with_bare = with_bare
        self._folders = {b"": False}

    def __contains__(self, path: bytes) -> bool:
        folder = path.rpartition(b"/")[0]
        missing = []
        while folder not in self._folders:
            missing.append(folder)
            folder = folder.rpartition(b"/")[0]

        is_nested = self._folders[folder]
        for folder in reversed(missing):
            is_nested = is_nested or self._is_repository(os.path.join(self._root, folder))
            self._folders[folder] = is_nested

        return is_nested

    def _is_repository(self, folder: bytes) -> bool:
        if os.path.lexists(os.path.join(folder, b".git")):
            return True
        names = (b"HEAD", b"objects", b"refs")
        return self._with_bare and all(os.path.lexists(os.path.join(folder, name)) for name in names)


def find_named(worktree: bytes, names: Collection[bytes]) -> Iterator[tuple[bytes, bool]]:
    """Find the files of these names in a work tree, untracked ones too, and whether another repository contains them.

    libgit2 reads the rules of other repositories, too.
    """
    pending = [(worktree, False)]
    while pending:
        folder, is_nested = pending.pop()
        try:
            with os.scandir(folder) as iterator:
                entries = list(iterator)
        except OSError:
            continue

        is_nested = is_nested or (folder != worktree and any(entry.name == b".git" for entry in entries))
        for entry in entries:
            if entry.name in names:
                yield entry.path, is_nested
            elif entry.name != b".git" and entry.is_dir(follow_symlinks=False):
                pending.append((entry.path, is_nested))
