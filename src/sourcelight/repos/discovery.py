"""Find every git directory below a directory.

Tracked files can't pose as a repository. Inside a work tree, only ``.git`` counts as a git directory, because git never
tracks that name. Any other directory that looks like one is part of the tracked files. So is a symbolic link that an
enclosing repository tracks, and the walk doesn't follow it. The walk follows other links to directories and visits each
directory once. It never enters a git directory. It leaves out caches of tools (`CACHE_FOLDERS`), which never contain
work and may have a hundred thousand directories, unless the given path is one.

A given directory without a repository below it is part of an enclosing repository, or a snapshot.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.markup.counts import join_names
from sourcelight.repos.boundary import TRUSTED_PATHS, Boundary
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.repository import SkippedRepository, canonical_path_of, common_dir, git_dir_of_file
from sourcelight.repos.tracked_entries import TrackedEntries, enclosing_work_trees, git_dir_of

CACHE_FOLDERS = frozenset(
    {
        "node_modules", "bower_components", "__pycache__", ".venv", ".tox", ".nox", ".eggs", ".mypy_cache",
        ".pytest_cache", ".ruff_cache", ".hypothesis", ".gradle", ".terraform", ".cargo", ".rustup", ".npm", ".cache",
        ".ipynb_checkpoints",
    }
)  # fmt: skip
SETTINGS_FILE = "repos.toml"
PARTIAL_PREFIX = ".sourcelight-partial-"  # a mirror that is still being fetched


@dataclass(frozen=True, slots=True)
class DiscoveredRepository:
    """A git directory: `git_dir` (its HEAD counts), `git_common_dir` (its objects and refs), and its work tree or "".

    Parameters
    ----------
    is_named
        Whether the caller named this path, so that it may read outside of the boundary.
    """

    git_dir: str
    git_common_dir: str
    worktree: str
    is_named: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class _Step:
    """A directory to visit: its path, its real path, and the work trees around it."""

    path: str
    real: str
    enclosing: tuple[TrackedEntries, ...]
    is_named: bool = False


@dataclass(slots=True)
class Discovery:
    """The result of a walk.

    Parameters
    ----------
    boundary
        The directories that links may lead to.
    repositories
        One entry per git directory, by the real path of its shared part; the main work tree is preferred.
    skipped
        Directories that can't be read, broken ``.git`` files, and linked work trees beside another one.
    folders
        Directories outside of work trees, with their time stamps: new repositories may appear in them.
    settings
        Files named ``repos.toml`` in directories below the given ones and outside of work trees. They are listed for
        a warning.
    lookalikes
        Directories in a work tree that look like git directories, and count as its files.
    outside
        Targets of links that lead out of `boundary`, by path.
    visited
        Number of directories that were read.
    has_repository
        Whether there was any repository, readable or not.
    """

    boundary: Boundary = field(default_factory=Boundary)
    repositories: dict[str, DiscoveredRepository] = field(default_factory=dict)
    skipped: list[SkippedRepository] = field(default_factory=list)
    folders: dict[str, int] = field(default_factory=dict)
    settings: list[str] = field(default_factory=list)
    lookalikes: list[str] = field(default_factory=list)
    outside: dict[str, str] = field(default_factory=dict)
    visited: int = 0
    has_repository: bool = False
    _seen: set[str] = field(default_factory=set)

    def walk(
        self,
        path: str,
        *,
        cancellation: Cancellation | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> None:
        """Visit `path` and all directories below it.

        Parameters
        ----------
        path
            An existing directory. If an enclosing repository tracks it, it is part of that work tree.
        cancellation
            Checked for every directory; raises `Cancelled`.
        progress
            Called with directories read and repositories found, after every 200 directories.
        """
        top = os.path.realpath(path)
        # Only work trees that track `path`: an ignored directory, such as a build folder, may hold its own
        # repositories.
        enclosing = tuple(tree for tree in enclosing_work_trees(top) if tree.has_entry(top))
        pending = [_Step(path, top, enclosing, is_named=True)]
        while pending:
            step = pending.pop()
            if cancellation is not None:
                cancellation.check()

            # By real path, which ends cycles of links and visits a directory once under its first path.
            if step.real in self._seen:
                continue

            self._seen.add(step.real)
            try:
                modified = os.stat(step.path).st_mtime_ns
                names, below, links = _read_folder(step.path)
            except OSError as error:
                self._skip(step.path, error, is_named=step.is_named, is_nested=bool(step.enclosing))
                continue

            self.visited += 1
            if progress is not None and self.visited % 200 == 0:
                progress(self.visited, len(self.repositories))

            inner = self._visit(step, names, modified)
            if inner is None:
                continue

            # Directories go on top of the stack: if a link here leads to one of them, it keeps its own path.
            for name in reversed(links):
                pending.extend(self._target(step, name, inner))

            pending.extend(
                _Step(os.path.join(step.path, name), os.path.join(step.real, name), inner) for name in reversed(below)
            )

    def _visit(self, step: _Step, names: set[str], modified: int) -> tuple[TrackedEntries, ...] | None:
        """Visit a directory; return the work trees around its entries; return None if it is not entered."""
        if ".git" in names and self._work_tree(step.path, is_named=step.is_named):
            return (*step.enclosing, TrackedEntries(step.real, git_dir_of(step.real)))

        if _is_git_dir(step.path, names):
            if os.path.basename(step.real) == ".git":
                # A link of another name may lead here: then the work tree is the parent of the real directory.
                is_dot = os.path.basename(step.path) == ".git"
                self._add(step.real, os.path.dirname(step.path if is_dot else step.real), is_named=step.is_named)
            elif step.is_named or not step.enclosing:
                self._add(step.path, "", is_named=step.is_named)
            else:
                self.lookalikes.append(step.path)
            return None

        if not step.enclosing:
            self.folders[step.path] = modified
            if SETTINGS_FILE in names and not step.is_named:
                self.settings.append(os.path.join(step.path, SETTINGS_FILE))

        return step.enclosing

    def _target(self, step: _Step, name: str, enclosing: tuple[TrackedEntries, ...]) -> Iterator[_Step]:
        """Return the directory that a link leads to, unless a repository around it tracks the link."""
        if any(tree.has_link(os.path.join(step.real, name)) for tree in enclosing):
            return

        path = os.path.join(step.path, name)
        real = os.path.realpath(path)
        if real in self._seen:
            return
        if not self.boundary.contains(real):
            self.outside[path] = real
            return

        yield _Step(path, real, enclosing_work_trees(real))

    def _work_tree(self, folder: str, *, is_named: bool = False) -> bool:
        """Add the ``.git`` directory or file of a work tree; return False if it is neither."""
        dot = os.path.join(folder, ".git")
        self.has_repository = True
        if os.path.isdir(dot):
            try:
                names = set(os.listdir(dot))
            except OSError as error:
                self.skipped.append(SkippedRepository(folder, "unreadable", f"{dot}: {error.strerror}"))
                return True

            if "HEAD" not in names:
                if names:
                    self.skipped.append(SkippedRepository(folder, "corrupt", f"{dot} has no HEAD"))
                return bool(names)

            self._add(dot, folder, is_named=is_named)
            return True

        try:
            # Without O_NONBLOCK, opening a named pipe would wait for a writer.
            os.close(os.open(dot, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)))
        except OSError as error:
            self.skipped.append(SkippedRepository(folder, "unreadable", f"{dot}: {error.strerror}"))
            return False

        target = git_dir_of_file(dot)
        if not target:
            return False

        if not os.path.isfile(os.path.join(target, "HEAD")):
            message = f"its .git file names {target}, which is not a git directory"
            self.skipped.append(SkippedRepository(folder, "corrupt", message))
        else:
            self._add(target, folder, is_named=is_named)

        return True

    def _add(self, git_dir: str, worktree: str, *, is_named: bool) -> None:
        self.has_repository = True
        git_dir = os.path.realpath(git_dir)
        git_common_dir = os.path.realpath(common_dir(git_dir))
        if not os.path.isdir(git_common_dir):
            message = f"{git_common_dir}: {os.strerror(errno.ENOENT)}"
            self.skipped.append(SkippedRepository(worktree or git_dir, "corrupt", message))
            return

        self._put(DiscoveredRepository(git_dir, git_common_dir, worktree, is_named))

    def _put(self, repository: DiscoveredRepository) -> None:
        previous = self.repositories.get(repository.git_common_dir, repository)
        # Linked work trees share one set of objects and refs, and so are one repository with one index.
        best, other = sorted((previous, repository), key=_preference)
        if other.git_dir not in (best.git_dir, best.git_common_dir):
            # Its HEAD may be another commit, which nobody would miss in an answer that doesn't say so.
            message = f"it is a linked work tree of {best.worktree or best.git_dir}; open it alone to search its HEAD"
            self.skipped.append(SkippedRepository(other.worktree, "linked", message))

        self.repositories[repository.git_common_dir] = replace(best, is_named=previous.is_named or repository.is_named)

    def add(self, repository: DiscoveredRepository) -> None:
        """Add a repository that another search has found."""
        self.has_repository = True
        self._put(repository)

    def merge(self, other: Discovery) -> None:
        """Add the repositories of another walk."""
        for repository in other.repositories.values():
            self.add(repository)

        self.skipped += other.skipped
        self.folders |= other.folders
        self.settings += other.settings
        self.lookalikes += other.lookalikes
        self.outside |= other.outside
        self.visited += other.visited

    def work_tree(self, folder: str) -> DiscoveredRepository | None:
        """Return the repository whose work tree is `folder`, or None if no readable one is there."""
        self._work_tree(folder, is_named=True)
        return next(iter(self.repositories.values()), None)

    def _skip(self, folder: str, error: OSError, *, is_named: bool, is_nested: bool) -> None:
        reason = error.strerror or str(error)
        # Inside a work tree, an unreadable directory belongs to a repository that is listed anyway.
        if is_named or (isinstance(error, PermissionError) and not is_nested):
            missing = isinstance(error, (FileNotFoundError, NotADirectoryError))
            if os.path.isfile(folder):
                reason = "this is a file; pass its directory, and filter by file: in the query"
            self.skipped.append(SkippedRepository(folder, "not found" if missing else "unreadable", reason))


def _preference(repository: DiscoveredRepository) -> tuple[bool, bool, bool, str]:
    """Order the places of one repository: main work tree, other work tree, bare, linked work tree."""
    is_main = os.path.realpath(repository.worktree) == os.path.dirname(repository.git_common_dir)
    return (repository.git_dir != repository.git_common_dir, not repository.worktree, not is_main, repository.git_dir)


def _read_folder(folder: str) -> tuple[set[str], list[str], list[str]]:
    """List the names in a directory, its directories, and its links to directories."""
    names: set[str] = set()
    below: list[str] = []
    links: list[str] = []
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            names.add(name)
            if name == ".git" or name in CACHE_FOLDERS or name.startswith(PARTIAL_PREFIX):
                continue

            try:
                if entry.is_dir(follow_symlinks=False):
                    below.append(name)
                elif entry.is_symlink() and entry.is_dir():
                    links.append(name)
            except OSError:  # a cycle of symbolic links
                continue

    below.sort()
    links.sort()
    return names, below, links


def _is_git_dir(folder: str, names: set[str]) -> bool:
    return (
        {"HEAD", "objects", "refs"} <= names
        and os.path.isfile(os.path.join(folder, "HEAD"))
        and os.path.isdir(os.path.join(folder, "objects"))
    ) or ("commondir" in names and "HEAD" in names and "gitdir" in names)


def enclosing_repository(path: str) -> DiscoveredRepository | None:
    """Return the repository around `path` if its last commit contains this directory; else None.

    A directory that the repository does not track, such as an environment with installed packages, is not part of it.
    """
    import pygit2

    real = os.path.realpath(path)
    above = os.path.dirname(real)
    while above != os.path.dirname(above):
        if os.path.lexists(os.path.join(above, ".git")):
            repository = Discovery().work_tree(above)
            if repository is None:
                return None
            relative = os.path.relpath(real, above).replace(os.sep, "/")
            try:
                entry = open_handle(repository.git_dir).revparse_single("HEAD").peel(pygit2.Tree)[relative]
            except (UnusableRepository, KeyError, ValueError, pygit2.GitError):
                return None
            return repository if isinstance(entry, pygit2.Tree) else None

        above = os.path.dirname(above)

    return None


def canonical_path_at(path: str) -> str:
    """Return the canonical path of the repository at `path`, also of a former one."""
    folder = os.path.abspath(os.path.expanduser(path))
    repository = Discovery().work_tree(folder) if os.path.lexists(os.path.join(folder, ".git")) else None
    return canonical_path_of(folder if repository is None else repository.git_common_dir)


def holds_files(path: str) -> bool:
    """Return whether there is any file below a directory, apart from tools' caches."""
    for _, folders, files in os.walk(path):
        if files:
            return True
        # `os.walk` reads this list again before it goes down.
        folders[:] = [folder for folder in folders if folder not in CACHE_FOLDERS]
    return False


def warn_of_settings(walk: Discovery, settings: Sequence[str]) -> list[str]:
    """Warn of settings files other than `settings`, which are the only files that are read."""
    applied_paths = set(map(os.path.realpath, settings))
    unread = [path for path in walk.settings if os.path.realpath(path) not in applied_paths]
    if not unread:
        return []
    verb = "is" if len(unread) == 1 else "are"
    names = " or ".join(dict.fromkeys(settings))
    return [f"{join_names(sorted(unread), 5)} {verb} not read: settings of repositories belong in {names}"]


def warn_of_directories(walk: Discovery) -> list[str]:
    """Warn of directories that the walk left out and that a reader may miss."""
    warnings = []
    # A directory that the operator also named is searched as a repository, so it needs no warning.
    lookalikes = [path for path in walk.lookalikes if os.path.realpath(path) not in walk.repositories]
    if lookalikes:
        count = len(lookalikes)
        if count == 1:
            subject = "1 directory looks like a git directory"
        else:
            subject = f"{count:,} directories look like git directories"
        verb = "counts" if count == 1 else "count"
        warnings.append(
            f"{subject} inside a work tree, and {verb} as its files: {join_names(sorted(lookalikes), 5)}; "
            "name the path itself to search it"
        )

    warnings += [
        f"{path} leads to {real}, outside the served directories, and is not followed; "
        f"list that path in {TRUSTED_PATHS} to allow it"
        for path, real in sorted(walk.outside.items())
    ]
    return warnings
