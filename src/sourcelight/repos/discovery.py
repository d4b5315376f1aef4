"""Finding every git directory below a folder.

The walk never enters a git directory, follows links to folders only while they lead to folders not yet seen (by
device and inode), and leaves out folders that hold tools' caches: what is in `CACHE_FOLDERS` never holds work, and may
hold a hundred thousand folders. A cache folder that is itself the given path is walked.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field

from sourcelight.core.batches import Cancellation
from sourcelight.repos.repository import SkippedRepository, common_dir

CACHE_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform", ".cargo", ".rustup", ".npm", ".cache",
        ".ipynb_checkpoints",
    }
)  # fmt: skip
PARTIAL_PREFIX = ".sourcelight-partial-"  # a mirror that is still being fetched
_Identity = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Found:
    """A git directory: `git_dir` (its HEAD counts), `shared` (its objects and refs), and its work tree or ""."""

    git_dir: str
    shared: str
    worktree: str


@dataclass(slots=True)
class Discovery:
    """What a walk found.

    Parameters
    ----------
    found
        One entry per git directory, by the identity of its shared part; the main work tree is preferred.
    skipped
        Folders that can't be read and broken ``.git`` files.
    folders
        Folders that may get further repositories, with their time stamps: all that lie outside of work trees.
    visited
        How many folders were read.
    met
        Whether there was anything of git at all, readable or not.
    """

    found: dict[_Identity, Found] = field(default_factory=dict)
    skipped: list[SkippedRepository] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    visited: int = 0
    met: bool = False
    _seen: set[_Identity] = field(default_factory=set)

    def walk(
        self,
        path: str,
        *,
        cancellation: Cancellation | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Look through `path` and all below it.

        Parameters
        ----------
        path
            A folder that exists.
        cancellation
            Checked for every folder; raises `Cancelled`.
        progress
            Called with folders read and repositories found, after every 200 folders.
        """
        pending = [(path, False)]
        while pending:
            folder, inside = pending.pop()
            if cancellation is not None:
                cancellation.check()
            try:
                info = os.stat(folder)
                identity = (info.st_dev, info.st_ino)
                if identity in self._seen:
                    continue
                self._seen.add(identity)
                names, below = _read_folder(folder)
            except OSError as error:
                self._skip(folder, error, given=folder == path, inside=inside)
                continue
            self.visited += 1
            if progress is not None and self.visited % 200 == 0:
                progress(self.visited, len(self.found))
            if os.path.basename(folder) == ".git" and _is_git_dir(folder, names):  # given as such
                self._add(folder, os.path.dirname(folder))
            elif ".git" in names and self._work_tree(folder):
                inside = True
            elif _is_git_dir(folder, names):
                self._add(folder, "")
            elif not inside:
                self.folders[folder] = info.st_mtime_ns
            if _is_git_dir(folder, names):
                continue
            pending.extend((child, inside) for child in reversed(below))

    def _work_tree(self, folder: str) -> bool:
        """Take up the ``.git`` folder or file of a work tree; False when it is neither."""
        dot = os.path.join(folder, ".git")
        self.met = True
        if os.path.isdir(dot):
            try:
                names = set(os.listdir(dot))
            except OSError as error:
                self.skipped.append(SkippedRepository(folder, "unreadable", f"{dot}: {error.strerror}"))
                return True
            if "HEAD" not in names:
                if names:
                    self.skipped.append(SkippedRepository(folder, "corrupt", f"{dot} holds no HEAD"))
                return bool(names)
            self._add(dot, folder)
            return True
        try:
            with open(dot, "rb") as file:
                text = file.read(8192)
        except OSError as error:
            self.skipped.append(SkippedRepository(folder, "unreadable", f"{dot}: {error.strerror}"))
            return False
        if not text.startswith(b"gitdir:"):
            return False
        target = os.path.normpath(os.path.join(folder, os.fsdecode(text[7:].strip())))
        if not os.path.isfile(os.path.join(target, "HEAD")):
            message = f"its .git file names {target}, which is no git directory"
            self.skipped.append(SkippedRepository(folder, "corrupt", message))
        else:
            self._add(target, folder)
        return True

    def _add(self, git_dir: str, worktree: str) -> None:
        self.met = True
        git_dir = os.path.realpath(git_dir)
        shared = os.path.realpath(common_dir(git_dir))
        try:
            info = os.stat(shared)
        except OSError as error:
            self.skipped.append(SkippedRepository(worktree or git_dir, "corrupt", f"{shared}: {error.strerror}"))
            return
        found = Found(git_dir, shared, worktree)
        identity = (info.st_dev, info.st_ino)
        former = self.found.get(identity)
        if former is None or _preference(found) < _preference(former):
            self.found[identity] = found

    def add(self, found: Found) -> None:
        """Take up a repository that was found in another way."""
        self._add(found.git_dir, found.worktree)

    def merge(self, other: Discovery) -> None:
        """Take up what another walk found."""
        for found in other.found.values():
            self._add(found.git_dir, found.worktree)
        self.skipped += other.skipped
        self.folders |= other.folders
        self.visited += other.visited

    def work_tree(self, folder: str) -> Found | None:
        """The repository whose work tree is `folder`; None when there is none that can be read."""
        self._work_tree(folder)
        return next(iter(self.found.values()), None)

    def _skip(self, folder: str, error: OSError, *, given: bool, inside: bool) -> None:
        reason = error.strerror or str(error)
        if given or (isinstance(error, PermissionError) and not inside):
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            self.skipped.append(SkippedRepository(folder, "not found" if missing else "unreadable", reason))


def _preference(found: Found) -> tuple[bool, bool, str]:
    """Order of places for one repository: main work tree, linked work tree, bare."""
    return (found.git_dir != found.shared, not found.worktree, found.git_dir)


def _read_folder(folder: str) -> tuple[set[str], list[str]]:
    names: set[str] = set()
    below: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            names.add(name)
            if name == ".git" or name in CACHE_FOLDERS or name.startswith(PARTIAL_PREFIX):
                continue
            try:
                if entry.is_dir():
                    below.append(entry.path)
            except OSError:  # a link that leads round in a circle
                continue
    below.sort()
    return names, below


def _is_git_dir(folder: str, names: set[str]) -> bool:
    return (
        {"HEAD", "objects", "refs"} <= names
        and os.path.isfile(os.path.join(folder, "HEAD"))
        and os.path.isdir(os.path.join(folder, "objects"))
    ) or ("commondir" in names and "HEAD" in names and "gitdir" in names)
