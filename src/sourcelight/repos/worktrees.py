"""Files without a commit: plain directories read as snapshots, and work trees with their changes.

Content is named as git would name it (the hash of a blob), so that an engine keeps and shares it like any other. The
whole state has a hash over paths, modes and contents instead of a commit.
"""

from __future__ import annotations

import hashlib
import os
import stat
import threading
import time
from dataclasses import dataclass, field

from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RepositoryNotFound, RevisionNotFound
from sourcelight.repos.boundary import read_flags
from sourcelight.repos.discovery import CACHE_FOLDERS
from sourcelight.repos.handles import head_commit, open_handle
from sourcelight.repos.objects import MAX_CONTENT_BYTES, CommitTree, StoreReader
from sourcelight.repos.objects.trees import MAX_FILES
from sourcelight.repos.repository import Repository
from sourcelight.repos.worktree_changes import changed_paths

LARGE_BYTES = 16 << 20  # bytes; content above it is named by size and time instead of being read
MAX_STATES = 4  # per repository, so that a search under way keeps the state it began with
FRESH_NS = 100_000_000  # a file changed this recently may change again within one tick of its time stamp
_Stamp = tuple[int, int, int, int]


_lock = threading.Lock()
_states: dict[str, LruCache[str, WorktreeState]] = {}
_hashes: dict[str, dict[bytes, tuple[_Stamp, bytes]]] = {}


@dataclass(frozen=True, slots=True)
class WorktreeState:
    """The files of a directory at one moment: their `tree`, its name `commit`, and the paths of changed content."""

    commit: CommitId
    tree: CommitTree
    root: bytes
    paths_by_blob: dict[bytes, list[bytes]] = field(repr=False)
    large: frozenset[bytes] = frozenset()

    def read(self, blob_id: bytes) -> bytes | None:
        """Read content from disk; return None if the file has changed or is gone."""
        for path in self.paths_by_blob.get(blob_id, ()):
            try:
                text = _read(os.path.join(self.root, path))
            except OSError:
                continue
            if blob_id in self.large or blob_name(text) == blob_id:
                return text

        return None

    def size(self, blob_id: bytes) -> int | None:
        """Return the size of the content in bytes, or None if the file is gone."""
        for path in self.paths_by_blob.get(blob_id, ()):
            try:
                return os.lstat(os.path.join(self.root, path)).st_size
            except OSError:
                continue
        return None


def blob_name(text: bytes) -> bytes:
    """Return the 20-byte git id of a content."""
    return hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).digest()


def current_state(repository: Repository, cancellation: Cancellation | None = None) -> WorktreeState:
    """Read the current state of a snapshot's directory or of a work tree.

    Only files whose size or times changed since the last call in this process are read again.

    Raises
    ------
    Cancelled
        If `cancellation` asks to stop.
    RepositoryNotFound
        If the directory is gone.
    """
    root = os.fsencode(repository.worktree)
    if not os.path.isdir(root):
        raise RepositoryNotFound(repository.name)

    # Held while files are read: a concurrent caller then finds their hashes instead of computing them again.
    with _lock:
        known_hashes = _hashes.get(repository.key, {})
        hasher = _Hasher(root, known_hashes, cancellation)
        state = _snapshot(hasher) if repository.kind == "snapshot" else _worktree(repository, hasher)
        _hashes[repository.key] = hasher.seen
        states = _states.setdefault(repository.key, LruCache(MAX_STATES))
        # If an equal state is cached, keep it: running searches share its tree.
        return states.get_or_make(state.commit, lambda: state)


def find_state(repository: Repository, commit: CommitId) -> WorktreeState | None:
    """Return a recent or current state of this process by its name, or None for any other."""
    states = _states.get(repository.key)
    state = None if states is None else states.get(commit)
    if state is None:
        state = current_state(repository)
    return state if state.commit == commit else None


def worktree_tree(repository: Repository) -> CommitTree:
    """List the files of a work tree, modified and untracked ones included, deleted and ignored ones not.

    A bare repository has no work tree; the result is an empty tree.
    """
    if repository.worktree:
        return current_state(repository).tree
    return CommitTree([], b"", [])


class ObjectReader(StoreReader):
    """Reads one repository or plain directory; make one per process and thread, and close it.

    Besides the object store it reads files outside of commits: snapshots, and changed files of a work tree.

    Parameters
    ----------
    repository
        The repository; its object store is opened on first use.

    Examples
    --------
    >>> with ObjectReader(repository) as reader:  # doctest: +SKIP
    ...     tree = reader.tree(repository.info.commit)
    ...     text = reader.read(tree.blob_id(0))
    """

    def __init__(self, repository: Repository) -> None:
        super().__init__(repository)
        self._state: WorktreeState | None = None
        self._state_failed = False

    def close(self) -> None:
        """Close the object store's files; the reader opens them again when it is used again."""
        super().close()
        self._state = None
        self._state_failed = False

    def tree(self, commit: CommitId) -> CommitTree:
        """List the files of a commit, a snapshot or the state of a work tree, as `StoreReader.tree` does."""
        try:
            return super().tree(commit)
        except RevisionNotFound:
            state = find_state(self.repository, commit) if self.repository.worktree else None
            if state is None:
                raise

        self._state = state
        return state.tree

    def read(self, blob_id: bytes, limit: int = MAX_CONTENT_BYTES) -> bytes | None:
        """Read a file's content; see `StoreReader.read`."""
        content = super().read(blob_id, limit)
        if content is not None or super().size(blob_id) is not None:
            return content
        state = self._current()
        if state is None or (state.size(blob_id) or 0) > limit:
            return None
        return state.read(blob_id)

    def size(self, blob_id: bytes) -> int | None:
        """Return the size of a file's content in bytes without reading it; None as for `read`."""
        size = super().size(blob_id)
        if size is not None:
            return size
        state = self._current()
        return None if state is None else state.size(blob_id)

    def _current(self) -> WorktreeState | None:
        """Return the state on disk, or None if there is none, or if it is gone or damaged."""
        if self._state is None and self.repository.worktree and not self._state_failed:
            try:
                self._state = current_state(self.repository)
            except RepositoryError:
                self._state_failed = True
        return self._state


class _Hasher:
    """Hashes the content of files below `root`, and remembers the hashes."""

    def __init__(
        self, root: bytes, known_hashes: dict[bytes, tuple[_Stamp, bytes]], cancellation: Cancellation | None
    ) -> None:
        self.root = root
        self.cancellation = cancellation
        self.hashes = known_hashes
        self.seen: dict[bytes, tuple[_Stamp, bytes]] = {}
        self.rows: list[tuple[bytes, bytes, int]] = []
        self.paths_by_blob: dict[bytes, list[bytes]] = {}
        self.large: set[bytes] = set()
        self.missing = self.symlinks = 0

    def add(self, path: bytes) -> None:
        """Hash the file at `path` (relative to the root); links are counted, not followed."""
        if self.cancellation is not None:
            self.cancellation.check()

        try:
            info = os.lstat(os.path.join(self.root, path))
            # A link may lead anywhere, also into a private repository.
            if stat.S_ISLNK(info.st_mode):
                self.symlinks += 1
                return
            if not stat.S_ISREG(info.st_mode):
                return
            name = self._name(path, info)
        except OSError:
            self.missing += 1
            return

        self.rows.append((path, name, 0o100755 if info.st_mode & 0o100 else 0o100644))
        self.paths_by_blob.setdefault(name, []).append(path)
        if len(self.rows) > MAX_FILES:
            raise RepositoryError(f"{os.fsdecode(self.root)} has more than {MAX_FILES:,} files")

    def _name(self, path: bytes, info: os.stat_result) -> bytes:
        stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        if info.st_size > LARGE_BYTES:
            # A file above the search limit is matched by name only; hashing gigabytes for that would be wasted.
            text = b"large\0%d\0%d\0" % (info.st_size, info.st_mtime_ns) + path
            name = hashlib.sha1(text, usedforsecurity=False).digest()
            self.large.add(name)
            return name

        previous = self.hashes.get(path)
        name = previous[1] if previous and previous[0] == stamp else blob_name(_read(os.path.join(self.root, path)))

        # A file changed within the clock's resolution may change again with the same stamp; its hash isn't cached.
        if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > FRESH_NS:
            self.seen[path] = (stamp, name)

        return name

    def state(self, kind: bytes, tree: CommitTree) -> WorktreeState:
        """Return an id of the whole state: the same files give the same id on every machine."""
        digest = hashlib.sha1(kind + b"\0", usedforsecurity=False)
        for index, path in enumerate(tree.paths):
            digest.update(b"%o %s\0%s" % (tree.modes[index], path, tree.blob_id(index)))
        return WorktreeState(
            commit=CommitId(digest.hexdigest()),
            tree=tree,
            root=self.root,
            paths_by_blob=self.paths_by_blob,
            large=frozenset(self.large),
        )


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _read(path: bytes) -> bytes:
    """Read a regular file; refuses a link or pipe that has replaced it."""
    descriptor = os.open(path, read_flags(follow=False))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no longer a regular file")
        return file.read()


def _snapshot(hasher: _Hasher) -> WorktreeState:
    folders = [b""]
    while folders:
        prefix = folders.pop()
        try:
            with os.scandir(os.path.join(hasher.root, prefix) if prefix else hasher.root) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        hasher.add(path)
                    elif os.fsdecode(entry.name) not in CACHE_FOLDERS and entry.name != b".git":
                        folders.append(path + b"/")
        except OSError:
            hasher.missing += 1

    return hasher.state(b"snapshot", _sorted_tree(hasher.rows, hasher, hasher.symlinks, 0))


def _sorted_tree(rows: list[tuple[bytes, bytes, int]], hasher: _Hasher, symlinks: int, submodules: int) -> CommitTree:
    rows.sort()
    paths, names, modes = [row[0] for row in rows], b"".join([row[1] for row in rows]), [row[2] for row in rows]
    return CommitTree(paths, names, modes, symlinks, submodules, hasher.missing)


def _worktree(repository: Repository, hasher: _Hasher) -> WorktreeState:
    commit = _head(repository)
    for _ in range(3):  # a commit made while files are listed would mix two states
        changed, deleted, new = changed_paths(repository)
        previous, commit = commit, _head(repository)
        if previous == commit:
            break

    with StoreReader(repository) as reader:
        head = reader.tree(commit) if commit else CommitTree([], b"", [])

    differing = changed | deleted | new
    if commit and not differing:
        return WorktreeState(commit=commit, tree=head, root=hasher.root, paths_by_blob={})

    rows = [(path, head.blob_id(i), head.modes[i]) for i, path in enumerate(head.paths) if path not in differing]
    real = os.path.realpath(hasher.root)
    for path in sorted(changed | new):
        folder = os.path.realpath(os.path.dirname(os.path.join(real, path)))
        if folder == real or folder.startswith(real + os.sep.encode()):  # never out of the work tree
            hasher.add(path)

    tree = _sorted_tree(rows + hasher.rows, hasher, head.symlinks, head.submodules)
    return hasher.state(b"worktree", tree)


def _head(repository: Repository) -> CommitId:
    """Return the commit checked out; empty before the first one."""
    return head_commit(open_handle(repository.git_dir))
