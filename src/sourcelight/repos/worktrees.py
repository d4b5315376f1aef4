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
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

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

LARGE_BYTES = 16 << 20
"""Bytes of a file above which its content is not read, but named by its size and time."""

MAX_STATES = 4
"""States kept of a repository, so that a search under way keeps the state it began with."""

FRESH_NS = 100_000_000
"""Nanoseconds within which a changed file may change again without another time stamp."""

_MAX_LISTINGS = 3
"""Listings of a work tree, if commits are made meanwhile, before the last one counts."""

_EXECUTABLE, _REGULAR = 0o100755, 0o100644
"""The modes that git gives files."""


class _Stamp(NamedTuple):
    """Size, times and inode of a file, which tell that it hasn't changed since its content was read."""

    size: int
    modified_ns: int
    changed_ns: int
    inode: int


class _FileHash(NamedTuple):
    """The 20-byte blob id of a file's content, and the stamp that the file had then."""

    stamp: _Stamp
    blob_id: bytes


class _FileRow(NamedTuple):
    """A file as `CommitTree` lists it."""

    path: bytes
    blob_id: bytes
    mode: int


@dataclass(slots=True)
class _Cache:
    """Recent states of work trees, and the hashes of the last one, by the key of the repository."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    states: dict[str, LruCache[str, WorktreeState]] = field(default_factory=dict)
    hashes: dict[str, dict[bytes, _FileHash]] = field(default_factory=dict)


_cache = _Cache()


def _renew_lock() -> None:
    # A forked worker must not inherit a lock that another thread held.
    _cache.lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


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
    with _cache.lock:
        listing = _FileListing(root, _cache.hashes.get(repository.key, {}), cancellation)
        if repository.kind == "snapshot":
            state = _read_snapshot(listing)
        else:
            state = _read_worktree(repository, listing)

        _cache.hashes[repository.key] = listing.new_hashes
        states = _cache.states.setdefault(repository.key, LruCache(MAX_STATES))
        # If an equal state is cached, keep it: running searches share its tree.
        return states.get_or_make(state.commit, lambda: state)


def find_state(repository: Repository, commit: CommitId) -> WorktreeState | None:
    """Return a recent or current state of this process by its name, or None for any other."""
    states = _cache.states.get(repository.key)
    recent = states.get(commit) if states is not None else None
    if recent is not None:
        return recent

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
            if not self.repository.worktree:
                raise
            state = find_state(self.repository, commit)
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


class _FileListing:
    """Lists files below a directory with the blob ids of their contents.

    Parameters
    ----------
    root
        The directory.
    known_hashes
        Hashes of an earlier listing, by path: a file with the same stamp is not read again.
    cancellation
        Ends the listing, if it asks to.
    """

    def __init__(self, root: bytes, known_hashes: dict[bytes, _FileHash], cancellation: Cancellation | None) -> None:
        self.root = root
        self.rows: list[_FileRow] = []
        self.new_hashes: dict[bytes, _FileHash] = {}
        self.missing = 0
        self.symlinks = 0
        self._known_hashes = known_hashes
        self._cancellation = cancellation
        self._paths_by_blob: dict[bytes, list[bytes]] = {}
        self._large: set[bytes] = set()

    def add(self, path: bytes) -> None:
        """Add the file at `path` (relative to the root); links are counted, not followed."""
        if self._cancellation is not None:
            self._cancellation.check()

        try:
            info = os.lstat(os.path.join(self.root, path))
            # A link may lead anywhere, also into a private repository.
            if stat.S_ISLNK(info.st_mode):
                self.symlinks += 1
                return
            if not stat.S_ISREG(info.st_mode):
                return
            blob_id = self._blob_id(path, info)
        except OSError:
            self.missing += 1
            return

        mode = _EXECUTABLE if info.st_mode & stat.S_IXUSR else _REGULAR
        self.rows.append(_FileRow(path, blob_id, mode))
        self._paths_by_blob.setdefault(blob_id, []).append(path)
        if len(self.rows) > MAX_FILES:
            raise RepositoryError(f"{os.fsdecode(self.root)} has more than {MAX_FILES:,} files")

    def _blob_id(self, path: bytes, info: os.stat_result) -> bytes:
        if info.st_size > LARGE_BYTES:
            # A file above the search limit is matched by name only; hashing gigabytes for that would be wasted.
            text = b"large\0%d\0%d\0" % (info.st_size, info.st_mtime_ns) + path
            blob_id = hashlib.sha1(text, usedforsecurity=False).digest()
            self._large.add(blob_id)
            return blob_id

        stamp = _Stamp(info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        previous = self._known_hashes.get(path)
        if previous is not None and previous.stamp == stamp:
            blob_id = previous.blob_id
        else:
            blob_id = blob_name(_read(os.path.join(self.root, path)))

        # A file changed within the clock's resolution may change again with the same stamp; its hash isn't cached.
        if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > FRESH_NS:
            self.new_hashes[path] = _FileHash(stamp, blob_id)

        return blob_id

    def tree(self, unchanged: Iterable[_FileRow] = (), *, symlinks: int, submodules: int = 0) -> CommitTree:
        """Return the files, and those that are `unchanged` since a commit, as a tree with these counts."""
        rows = sorted([*unchanged, *self.rows])
        return CommitTree(
            [row.path for row in rows],
            b"".join([row.blob_id for row in rows]),
            [row.mode for row in rows],
            symlinks,
            submodules,
            self.missing,
        )

    def state(self, kind: bytes, tree: CommitTree) -> WorktreeState:
        """Return the state with these files. Its name is a hash: the same files have it on every machine."""
        digest = hashlib.sha1(kind + b"\0", usedforsecurity=False)
        for index, path in enumerate(tree.paths):
            digest.update(b"%o %s\0%s" % (tree.modes[index], path, tree.blob_id(index)))
        return WorktreeState(
            commit=CommitId(digest.hexdigest()),
            tree=tree,
            root=self.root,
            paths_by_blob=self._paths_by_blob,
            large=frozenset(self._large),
        )


def _read(path: bytes) -> bytes:
    """Read a regular file; refuses a link or pipe that has replaced it."""
    descriptor = os.open(path, read_flags(follow=False))
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no longer a regular file")
        return file.read()


def _read_snapshot(listing: _FileListing) -> WorktreeState:
    """List all files of a directory without git, apart from caches of tools."""
    folders = [b""]
    while folders:
        prefix = folders.pop()
        try:
            with os.scandir(os.path.join(listing.root, prefix) if prefix else listing.root) as entries:
                for entry in entries:
                    path = prefix + entry.name
                    if not entry.is_dir(follow_symlinks=False):
                        listing.add(path)
                    elif os.fsdecode(entry.name) not in CACHE_FOLDERS and entry.name != b".git":
                        folders.append(path + b"/")
        except OSError:
            listing.missing += 1

    return listing.state(b"snapshot", listing.tree(symlinks=listing.symlinks))


def _read_worktree(repository: Repository, listing: _FileListing) -> WorktreeState:
    """List the files of the last commit with the changes of its work tree; unchanged, it is the commit itself."""
    commit = _head(repository)
    for _ in range(_MAX_LISTINGS):
        changed, deleted, new = changed_paths(repository)
        previous = commit
        commit = _head(repository)
        # A commit made while files are listed would mix two states.
        if previous == commit:
            break

    with StoreReader(repository) as reader:
        head = reader.tree(commit) if commit else CommitTree([], b"", [])

    differing = changed | deleted | new
    if commit and not differing:
        return WorktreeState(commit=commit, tree=head, root=listing.root, paths_by_blob={})

    unchanged = [
        _FileRow(path, head.blob_id(index), head.modes[index])
        for index, path in enumerate(head.paths)
        if path not in differing
    ]
    real = os.path.realpath(listing.root)
    for path in sorted(changed | new):
        folder = os.path.realpath(os.path.dirname(os.path.join(real, path)))
        # A directory of the path may be a link out of the work tree.
        if folder == real or folder.startswith(real + os.sep.encode()):
            listing.add(path)

    tree = listing.tree(unchanged, symlinks=head.symlinks, submodules=head.submodules)
    return listing.state(b"worktree", tree)


def _head(repository: Repository) -> CommitId:
    """Return the commit checked out; empty before the first one."""
    return head_commit(open_handle(repository.git_dir))
