"""How work trees differ from their last commit.

Files that no commit holds: plain folders read as snapshots, and work trees as they stand.

Content is named as git would name it (the hash of a blob), so that an engine keeps and shares it like any other. The
state as a whole is named by a hash over paths, modes and contents, in the place of a commit.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, RepositoryNotFound
from sourcelight.repos.discovery import CACHE_FOLDERS
from sourcelight.repos.handles import UnusableRepository, open_handle
from sourcelight.repos.index_flags import HiddenEntry, hidden_entries
from sourcelight.repos.objects import CommitTree, ObjectReader
from sourcelight.repos.repository import Repository
from sourcelight.repos.tree_limits import MAX_FILES

if TYPE_CHECKING:
    import pygit2


STATUS_SHARE = 20  # a status is kept for this many times as long as it took

MAX_RULES_BYTES = 1 << 20
"""Bytes of a ``.gitattributes`` or ``.gitignore`` above which a work tree is not compared."""

_RULES = (b".gitattributes", b".gitignore")
_RULES_SETTINGS = ("core.attributesfile", "core.excludesfile")
_MOST_FOLDERS = 1000
_folders: dict[str, tuple[str, list[bytes]]] = {}

_SUBMODULE = 0o160000
_FRESH_NS = 100_000_000  # a file changed this recently may change again within one tick of its time stamp
_MOST_CONTENTS = 100_000
_PIECE = 1 << 20

_contents: dict[bytes, tuple[tuple[int, int, int, int], bytes]] = {}
_statuses: dict[str, tuple[float, str, WorktreeStatus]] = {}


@dataclass(frozen=True, slots=True)
class WorktreeStatus:
    """How a work tree differs from its last commit, in files.

    Parameters
    ----------
    modified
        Tracked files whose content or kind differs.
    untracked
        Files that the last commit lacks (staged ones included), apart from ignored ones.
    deleted
        Files of the last commit that are gone; those that a sparse checkout leaves out are not counted.
    """

    modified: int = 0
    untracked: int = 0
    deleted: int = 0

    @property
    def clean(self) -> bool:
        """Whether the work tree holds exactly the last commit."""
        return not (self.modified or self.untracked or self.deleted)


def worktree_status(repository: Repository, *, fresh: bool = False) -> WorktreeStatus:
    """Count how the work tree differs from the last commit; all zero for bare repositories and snapshots.

    Looking takes about 10 us a file (30,000 files: 0.3 s), so that an answer is kept for 20 times as long as it took:
    asking before every query costs at most 5 % of the time.

    Parameters
    ----------
    repository
        The repository.
    fresh
        Look now in any case.

    Raises
    ------
    RepositoryNotFound
        If the repository is gone.
    RepositoryError
        If its work tree can't be read.
    """
    if repository.kind == "snapshot" or not repository.worktree:
        return WorktreeStatus()
    kept = _statuses.get(repository.key)
    began = time.monotonic()
    if kept is not None and not fresh and began < kept[0] and kept[1] == repository.facts.commit:
        return kept[2]
    changed, deleted, new, sparse = _compared(repository)
    status = WorktreeStatus(len(changed), len(new), len(deleted - sparse))
    now = time.monotonic()
    _statuses[repository.key] = (now + STATUS_SHARE * (now - began), repository.facts.commit, status)
    return status


def changes(repository: Repository) -> tuple[set[bytes], set[bytes], set[bytes]]:
    """Paths that are changed, deleted and new against the last commit; libgit2 runs no filter or monitor for it.

    Files count as they stand on disk, also those that git was told not to look at: assume-unchanged ones, and those of
    skip-worktree, which are deleted where a sparse checkout leaves them out.
    """
    changed, deleted, new, _ = _compared(repository)
    return changed, deleted, new


def _compared(repository: Repository) -> tuple[set[bytes], set[bytes], set[bytes], set[bytes]]:
    """What `changes` gives, and which of the deleted files a sparse checkout leaves out."""
    import pygit2

    try:
        handle = open_handle(repository.git_dir)
        if os.path.realpath(handle.workdir or "") != os.path.realpath(repository.worktree):
            return set(), set(), set(), set()  # its configuration names another folder: not ours to read
        _check_rules(repository, handle)
        status = handle.status(untracked_files="all", ignored=False)
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error
    except (pygit2.GitError, KeyError, OSError) as error:
        raise RepositoryError(f"can't read the work tree of {repository.name}: {error}") from error
    changed, deleted, new = _sort_out(status)
    sparse: set[bytes] = set()
    known = changed | deleted | new
    root = os.fsencode(repository.worktree)
    tree = None if handle.head_is_unborn else handle.head.peel(pygit2.Tree)
    for entry in hidden_entries(repository.git_dir):
        if entry.path in known or entry.mode == _SUBMODULE:
            if entry.sparse and entry.path in deleted:
                sparse.add(entry.path)
            continue
        # The status is silent about these, also where what is staged is not what the last commit holds.
        committed = _committed(tree, entry.path)
        differs = _differs(root, entry)
        if differs is None:
            if committed is not None:
                deleted.add(entry.path)
                if entry.sparse:
                    sparse.add(entry.path)
        elif committed is None:
            new.add(entry.path)
        elif differs or committed != entry.oid:
            changed.add(entry.path)
    return changed, deleted, new, sparse


def _committed(tree: pygit2.Tree | None, path: bytes) -> bytes | None:
    """The 20 bytes by which git names what a tree holds at a path; None when it holds nothing there."""
    try:
        return None if tree is None else tree[os.fsdecode(path)].id.raw
    except KeyError:
        return None


def _differs(root: bytes, entry: HiddenEntry) -> bool | None:
    """Whether a file on disk is another one than in the index; None when there is none."""
    path = os.path.join(root, entry.path)
    folder = os.path.realpath(os.path.dirname(path))
    real = os.path.realpath(root)
    if folder != real and not folder.startswith(real + os.sep.encode()):
        return None  # a folder of its path is a link out of the work tree
    try:
        info = os.lstat(path)
        if stat.S_ISDIR(info.st_mode):
            return None
        if not (stat.S_ISREG(info.st_mode) and stat.S_ISREG(entry.mode)):
            return not (stat.S_ISLNK(info.st_mode) and stat.S_ISLNK(entry.mode))
        return _known_content_name(path, info) != entry.oid
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return True


def _known_content_name(path: bytes, info: os.stat_result) -> bytes:
    """The 20 bytes by which git names a file's content, read once for each of its states."""
    stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
    former = _contents.get(path)
    if former is not None and former[0] == stamp:
        return former[1]
    name = _content_name(path, info.st_size)
    while len(_contents) >= _MOST_CONTENTS:
        _contents.pop(next(iter(_contents)), None)
    if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > _FRESH_NS:
        _contents[path] = stamp, name
    return name


def _content_name(path: bytes, size: int) -> bytes:
    """The same, read now and in pieces."""
    name = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, "rb") as file:
        while piece := file.read(_PIECE):
            name.update(piece)
    return name.digest()


def _check_rules(repository: Repository, handle: pygit2.Repository) -> None:
    """Raise `RepositoryError` for what libgit2 would read without a bound, or wait for.

    That is a HEAD that names endless files, and rules about files (attributes, ignored ones) of more than
    `MAX_RULES_BYTES`, on disk or in the index, or in a file that the configuration names: it takes a hundred times
    their size.
    """
    commit = "" if handle.head_is_unborn else str(handle.head.target)
    index = handle.index
    for folder in _folders_of(repository, commit):
        for name in _RULES:
            path = folder + name
            size = _size_on_disk(os.path.join(os.fsencode(repository.worktree), path))
            text = os.fsdecode(path)
            if text in index:
                with contextlib.suppress(KeyError, ValueError):
                    size = max(size, int(handle.odb.read_header(index[text].id)[1]))
            _check_size(repository, text, size)
    for path in _rules_on_disk(os.fsencode(repository.worktree)):
        _check_size(repository, os.fsdecode(path), _size_on_disk(path))
    for key in _RULES_SETTINGS:
        if key in handle.config:
            place = os.path.expanduser(str(handle.config[key] or "")).replace("\0", "")
            if place == os.devnull:  # how one's own file of rules is switched off
                continue
            path = os.path.join(os.fsencode(repository.worktree), os.fsencode(place))
            _check_size(repository, f"{key} {place}", _size_on_disk(path))
            if not os.path.isabs(place):
                _check_size(repository, f"{key} {place}", _size_on_disk(os.fsencode(place)))


def _check_size(repository: Repository, path: str, size: int) -> None:
    if size == sys.maxsize:
        raise RepositoryError(f"{path} of {repository.name} is no regular file")
    if size > MAX_RULES_BYTES:
        raise RepositoryError(f"{path} of {repository.name} has {size:,} bytes; at most {MAX_RULES_BYTES:,} are read")


def _rules_on_disk(worktree: bytes) -> Iterator[bytes]:
    """Files of rules in a work tree, also in folders that are not tracked; other repositories' are left out."""
    pending = [worktree]
    while pending:
        try:
            entries = os.scandir(pending.pop())
        except OSError:
            continue
        with entries:
            for entry in entries:
                if entry.name in _RULES:
                    yield entry.path
                elif entry.name != b".git" and entry.is_dir(follow_symlinks=False):
                    pending.append(entry.path)


def _folders_of(repository: Repository, commit: str) -> list[bytes]:
    if not commit:
        return [b""]
    known = _folders.get(repository.key)
    if known is None or known[0] != commit:
        with ObjectReader(repository) as reader:
            known = commit, reader.folders(commit)
        if len(_folders) >= _MOST_FOLDERS:
            _folders.clear()
        _folders[repository.key] = known
    return known[1]


def _size_on_disk(path: bytes) -> int:
    """Size of a file; beyond every limit for what is none, such as a pipe."""
    try:
        info = os.stat(path)
    except OSError:
        return 0
    return info.st_size if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) else sys.maxsize


def _sort_out(status: dict[str, int]) -> tuple[set[bytes], set[bytes], set[bytes]]:
    import pygit2

    flag = pygit2.enums.FileStatus
    changed: set[bytes] = set()
    deleted: set[bytes] = set()
    new: set[bytes] = set()
    for path, bits in status.items():
        name = os.fsencode(path)
        if path.endswith("/"):  # a repository inside this one: listed on its own
            continue
        if bits & flag.INDEX_NEW:
            if not bits & flag.WT_DELETED:
                new.add(name)
        elif bits & flag.WT_NEW:
            (changed if bits & flag.INDEX_DELETED else new).add(name)
        elif bits & (flag.WT_DELETED | flag.INDEX_DELETED):
            deleted.add(name)
        else:
            changed.add(name)
    return changed, deleted, new


LARGE = 16 << 20  # bytes; content above it is named by size and time instead of being read
KEPT_STATES = 4  # per repository, so that a search under way keeps the state it began with
FRESH_NS = 100_000_000  # a file changed this recently may change again within one tick of its time stamp
_Stamp = tuple[int, int, int, int]


_lock = threading.Lock()
_states: dict[str, OrderedDict[str, WorktreeState]] = {}
_hashes: dict[str, dict[bytes, tuple[_Stamp, bytes]]] = {}


@dataclass(frozen=True, slots=True)
class WorktreeState:
    """The files of a folder at one moment: their `tree`, its name `commit`, and where changed content stands."""

    commit: str
    tree: CommitTree
    root: bytes
    places: dict[bytes, list[bytes]] = field(repr=False)
    large: frozenset[bytes] = frozenset()

    def read(self, blob_id: bytes) -> bytes | None:
        """Read content from disk; None when the file has changed or gone since."""
        for place in self.places.get(blob_id, ()):
            try:
                text = _read(os.path.join(self.root, place))
            except OSError:
                continue
            if blob_id in self.large or blob_name(text) == blob_id:
                return text
        return None

    def size(self, blob_id: bytes) -> int | None:
        """Size of the content in bytes; None when the file is gone."""
        for place in self.places.get(blob_id, ()):
            try:
                return os.lstat(os.path.join(self.root, place)).st_size
            except OSError:
                continue
        return None


def blob_name(text: bytes) -> bytes:
    """The 20 bytes by which git names this content."""
    return hashlib.sha1(b"blob %d\0" % len(text) + text, usedforsecurity=False).digest()


def current_state(repository: Repository, cancellation: Cancellation | None = None) -> WorktreeState:
    """Read the state of a snapshot's folder or of a work tree as it is now.

    Only files whose size or times changed since the last call in this process are read again.

    Raises
    ------
    Cancelled
        If `cancellation` asks to stop.
    RepositoryNotFound
        If the folder is gone.
    """
    root = os.fsencode(repository.worktree)
    if not os.path.isdir(root):
        raise RepositoryNotFound(repository.name)
    with _lock:
        known = _hashes.get(repository.key, {})
        hasher = _Hasher(root, known, cancellation)
        state = _snapshot(hasher) if repository.kind == "snapshot" else _worktree(repository, hasher)
        _hashes[repository.key] = hasher.seen
        kept = _states.setdefault(repository.key, OrderedDict())
        state = kept.setdefault(state.commit, state)
        kept.move_to_end(state.commit)
        while len(kept) > KEPT_STATES:
            kept.popitem(last=False)
    return state


def state_at(repository: Repository, commit: str) -> WorktreeState | None:
    """A state that was current a short while ago in this process, or is now; None for any other."""
    kept = _states.get(repository.key)
    state = None if kept is None else kept.get(commit)
    if state is None:
        state = current_state(repository)
    return state if state.commit == commit else None


def worktree_tree(repository: Repository) -> CommitTree:
    """List the files of a work tree as they stand: modified and untracked ones included, deleted and ignored ones not.

    A bare repository has none and gives an empty tree.
    """
    return current_state(repository).tree if repository.worktree else CommitTree([], b"", [])


class _Hasher:
    """Names the content of files below `root`, and remembers what it read."""

    def __init__(
        self, root: bytes, known: dict[bytes, tuple[_Stamp, bytes]], cancellation: Cancellation | None
    ) -> None:
        self.root = root
        self.cancellation = cancellation
        self.known = known
        self.seen: dict[bytes, tuple[_Stamp, bytes]] = {}
        self.rows: list[tuple[bytes, bytes, int]] = []
        self.places: dict[bytes, list[bytes]] = {}
        self.large: set[bytes] = set()
        self.missing = self.symlinks = 0

    def add(self, path: bytes) -> None:
        """Take up the file at `path` (relative to the root); links are counted, not followed."""
        if self.cancellation is not None:
            self.cancellation.check()
        try:
            info = os.lstat(os.path.join(self.root, path))
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
        self.places.setdefault(name, []).append(path)
        if len(self.rows) > MAX_FILES:
            raise RepositoryError(f"{os.fsdecode(self.root)} holds more than {MAX_FILES:,} files")

    def _name(self, path: bytes, info: os.stat_result) -> bytes:
        stamp = (info.st_size, info.st_mtime_ns, info.st_ctime_ns, info.st_ino)
        if info.st_size > LARGE:
            text = b"large\0%d\0%d\0" % (info.st_size, info.st_mtime_ns) + path
            name = hashlib.sha1(text, usedforsecurity=False).digest()
            self.large.add(name)
            return name
        former = self.known.get(path)
        name = former[1] if former and former[0] == stamp else blob_name(_read(os.path.join(self.root, path)))
        if time.time_ns() - max(info.st_mtime_ns, info.st_ctime_ns) > FRESH_NS:
            self.seen[path] = (stamp, name)
        return name

    def state(self, kind: bytes, tree: CommitTree) -> WorktreeState:
        """Name the whole: the same files give the same name, on every machine."""
        whole = hashlib.sha1(kind + b"\0", usedforsecurity=False)
        for index, path in enumerate(tree.paths):
            whole.update(b"%o %s\0%s" % (tree.modes[index], path, tree.blob_id(index)))
        return WorktreeState(whole.hexdigest(), tree, self.root, self.places, frozenset(self.large))


def _renew_lock() -> None:
    global _lock  # noqa: PLW0603 - a forked worker must not inherit a lock that another thread held
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_lock)


def _read(path: bytes) -> bytes:
    """Read a regular file; a link or pipe that took its place since is refused."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags)
    with os.fdopen(descriptor, "rb") as file:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("no longer a regular file")
        return file.read()


def _sorted_tree(rows: list[tuple[bytes, bytes, int]], hasher: _Hasher, symlinks: int, submodules: int) -> CommitTree:
    rows.sort()
    paths, names, modes = [r[0] for r in rows], b"".join([r[1] for r in rows]), [r[2] for r in rows]
    return CommitTree(paths, names, modes, symlinks, submodules, hasher.missing)


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


def _worktree(repository: Repository, hasher: _Hasher) -> WorktreeState:
    commit = _head(repository)
    for _ in range(3):  # a commit made between two looks would mix two states
        changed, deleted, new = changes(repository)
        former, commit = commit, _head(repository)
        if former == commit:
            break
    with ObjectReader(repository) as reader:
        head = reader.tree(commit) if commit else CommitTree([], b"", [])
    gone = changed | deleted | new
    if commit and not gone:
        return WorktreeState(commit, head, hasher.root, {})
    rows = [(path, head.blob_id(i), head.modes[i]) for i, path in enumerate(head.paths) if path not in gone]
    real = os.path.realpath(hasher.root)
    for path in sorted(changed | new):
        folder = os.path.realpath(os.path.dirname(os.path.join(real, path)))
        if folder == real or folder.startswith(real + os.sep.encode()):  # never out of the work tree
            hasher.add(path)
    tree = _sorted_tree(rows + hasher.rows, hasher, head.symlinks, head.submodules)
    return hasher.state(b"worktree", tree)


def _head(repository: Repository) -> str:
    """The commit checked out; empty before the first one."""
    handle = open_handle(repository.git_dir)
    return "" if handle.head_is_unborn else str(handle.head.target)
