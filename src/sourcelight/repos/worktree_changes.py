"""Compare a work tree with its last commit.

libgit2's status treats ignored files (assume-unchanged, skip-worktree) as unchanged, so that their content on disk is
compared here. pygit2 gives no flags of index entries; source of the layout: git's gitformat-index manual, versions 2 to
4.
"""

from __future__ import annotations

import contextlib
import os
import stat
import struct
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.core.errors import RepositoryError, RepositoryNotFound
from sourcelight.repos.boundary import Boundary
from sourcelight.repos.handles import UnusableRepository, head_commit, is_own_setting, open_handle, own_boundary
from sourcelight.repos.objects import StoreReader
from sourcelight.repos.repository import Repository, common_dir
from sourcelight.repos.tracked_entries import NestedFiles, find_named
from sourcelight.repos.worktree_files import content_name

if TYPE_CHECKING:
    import pygit2


STATUS_SHARE = 20  # a status is kept for this many times as long as it took

MAX_RULES_BYTES = 1 << 20
"""Bytes of a ``.gitattributes`` or ``.gitignore`` above which a work tree is not compared."""

_RULES = (b".gitattributes", b".gitignore")
_RULES_SETTINGS = ("core.attributesfile", "core.excludesfile")
_MAX_FOLDER_LISTS = 1000
"""Lists of directories that are cached."""

_folders: LruCache[str, tuple[str, list[bytes]]] = LruCache(_MAX_FOLDER_LISTS)

_SUBMODULE = 0o160000
"""Mode of a submodule."""

_statuses: dict[str, tuple[float, str, WorktreeStatus]] = {}

_HEAD = struct.Struct(">4sII")
_FIXED = 62  # bytes of an entry before its name
_MODE, _OID, _FLAGS = 24, 40, 60
"""Offsets in an entry of the index (gitformat-index)."""

_ASSUME_VALID, _EXTENDED, _NAME_LENGTH = 0x8000, 0x4000, 0x0FFF
"""Bits of its flags: whether it is assumed to be unchanged, whether more flags follow, and the length of its name."""

_SKIP_WORKTREE = 0x4000
"""Bit of the further flags: whether the work tree lacks the file, as in a sparse checkout."""

_MAX_INDEXES = 256
"""Repositories whose hidden entries are cached."""


@dataclass(frozen=True, slots=True)
class WorktreeStatus:
    """Differences of a work tree from its last commit, as numbers of files.

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
        """Whether the work tree equals the last commit."""
        return not (self.modified or self.untracked or self.deleted)


def worktree_status(repository: Repository, *, refresh: bool = False) -> WorktreeStatus:
    """Count the differences from the last commit; zero for bare repositories and snapshots.

    Looking takes about 10 us a file (30,000 files: 0.3 s), so that an answer is kept for 20 times as long as it took:
    asking before every query costs at most 5 % of the time.

    Parameters
    ----------
    repository
        The repository.
    refresh
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

    cached = _statuses.get(repository.key)
    started_s = time.monotonic()
    if cached is not None and not refresh and started_s < cached[0] and cached[1] == repository.info.commit:
        return cached[2]

    changed, deleted, new, sparse = _compare(repository)
    status = WorktreeStatus(len(changed), len(new), len(deleted - sparse))
    now_s = time.monotonic()
    _statuses[repository.key] = (now_s + STATUS_SHARE * (now_s - started_s), repository.info.commit, status)
    return status


def changed_paths(repository: Repository) -> tuple[set[bytes], set[bytes], set[bytes]]:
    """List changed, deleted and new paths against the last commit; libgit2 runs no filter or monitor for it.

    Compares files on disk, including those marked assume-unchanged or skip-worktree, which git itself doesn't compare.
    A file that a sparse checkout leaves out counts as deleted.
    """
    changed, deleted, new, _ = _compare(repository)
    return changed, deleted, new


def _compare(repository: Repository) -> tuple[set[bytes], set[bytes], set[bytes], set[bytes]]:
    """Return `changed_paths`, and the deleted files that a sparse checkout leaves out."""
    import pygit2

    try:
        handle = open_handle(repository.git_dir)
        if os.path.realpath(handle.workdir or "") != os.path.realpath(repository.worktree):
            return set(), set(), set(), set()  # its configuration names another directory, which must not be read
        commit = head_commit(handle)
        _check_rules(repository, handle, commit)
        status = handle.status(untracked_files="all", ignored=False)
        tree = handle[commit].peel(pygit2.Tree) if commit else None
    except UnusableRepository as error:
        raise RepositoryNotFound(repository.name) from error
    except (pygit2.GitError, KeyError, ValueError, OSError) as error:
        raise RepositoryError(f"can't read the work tree of {repository.name}: {error}") from error

    root = os.fsencode(repository.worktree)
    is_served = own_boundary(repository).roots is not None
    nested = NestedFiles(root, with_bare=is_served)
    changed, deleted, new = _classify(status, nested)
    sparse: set[bytes] = set()
    paths = changed | deleted | new
    for entry in hidden_entries(repository.git_dir):
        if entry.path in paths or entry.mode == _SUBMODULE:
            if entry.sparse and entry.path in deleted:
                sparse.add(entry.path)
            continue

        # The status leaves these out, even if the staged content differs from the last commit.
        committed = _committed_blob(tree, entry.path)
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

    if is_served:
        # The other repository may be private, and its checkout decides what is on disk there.
        changed = {path for path in changed if path not in nested}
        new = {path for path in new if path not in nested}

    return changed, deleted, new, sparse


def _committed_blob(tree: pygit2.Tree | None, path: bytes) -> bytes | None:
    """Return the 20-byte blob id of a path in a tree, or None if the path isn't a file there."""
    try:
        return None if tree is None else tree[os.fsdecode(path)].id.raw
    except KeyError:
        return None


def _differs(root: bytes, entry: HiddenEntry) -> bool | None:
    """Return whether a file on disk differs from the index, or None if it doesn't exist."""
    path = os.path.join(root, entry.path)
    folder = os.path.realpath(os.path.dirname(path))
    real = os.path.realpath(root)
    if folder != real and not folder.startswith(real + os.sep.encode()):
        return None  # a directory of its path is a link out of the work tree

    try:
        info = os.lstat(path)
        if stat.S_ISDIR(info.st_mode):
            return None
        if not (stat.S_ISREG(info.st_mode) and stat.S_ISREG(entry.mode)):
            return not (stat.S_ISLNK(info.st_mode) and stat.S_ISLNK(entry.mode))
        return content_name(path, info) != entry.oid
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError:
        return True


def _check_rules(repository: Repository, handle: pygit2.Repository, commit: CommitId) -> None:
    """Raise `RepositoryError` for files that libgit2 would read without a limit, wait for, or give away.

    That is a HEAD that names endless files, and rules about files (attributes, ignored ones) of more than
    `MAX_RULES_BYTES`, on disk or in the index, or in a file that the configuration names: it takes a hundred times
    their size. Of a repository that is served, it is also rules from elsewhere: whether a new file counts as ignored
    tells whether its name is a line of them.
    """
    boundary = own_boundary(repository)
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

    for rules_path, is_nested in find_named(os.fsencode(repository.worktree), _RULES):
        try:
            text = os.path.relpath(os.fsdecode(rules_path), repository.worktree)
            _check_place(repository, text, os.fsdecode(rules_path), boundary)
            _check_size(repository, text, _size_on_disk(rules_path))
        except RepositoryError as error:
            if not is_nested:
                raise
            # Readers of this repository may not know the other one, which may be private.
            raise RepositoryError(
                f"a repository inside the work tree of {repository.name} has rules that can't be read"
            ) from error

    info = os.path.join(common_dir(repository.git_dir), "info")
    for rules in ("exclude", "attributes"):
        _check_place(repository, f"info/{rules}", os.path.join(info, rules), boundary)

    for key in _RULES_SETTINGS:
        if key in handle.config:
            setting = os.path.expanduser(str(handle.config[key] or "")).replace("\0", "")
            if setting == os.devnull:  # how one's own file of rules is switched off
                continue
            path = os.path.join(os.fsencode(repository.worktree), os.fsencode(setting))
            if is_own_setting(handle, key):
                _check_place(repository, f"{key} {setting}", os.fsdecode(path), boundary)
            _check_size(repository, f"{key} {setting}", _size_on_disk(path))
            if not os.path.isabs(setting):
                _check_size(repository, f"{key} {setting}", _size_on_disk(os.fsencode(setting)))


def _check_place(repository: Repository, rules: str, path: str, boundary: Boundary) -> None:
    if boundary.roots is not None and not boundary.contains(os.path.realpath(path)):
        raise RepositoryError(
            f"{rules} of {repository.name} is outside of the repository; its work tree isn't compared"
        )


def _check_size(repository: Repository, path: str, size: int) -> None:
    if size == sys.maxsize:
        raise RepositoryError(f"{path} of {repository.name} is not a regular file")
    if size > MAX_RULES_BYTES:
        raise RepositoryError(f"{path} of {repository.name} has {size:,} bytes; at most {MAX_RULES_BYTES:,} are read")


def _folders_of(repository: Repository, commit: CommitId) -> list[bytes]:
    if not commit:
        return [b""]

    cached = _folders.get(repository.key)
    if cached is None or cached[0] != commit:
        with StoreReader(repository) as reader:
            cached = commit, reader.folders(commit)
        _folders.put(repository.key, cached)

    return cached[1]


def _size_on_disk(path: bytes) -> int:
    """Return the size of a file; `sys.maxsize` for a pipe or a device."""
    try:
        info = os.stat(path)
    except OSError:
        return 0
    if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode):
        return info.st_size
    return sys.maxsize


def _classify(status: dict[str, int], nested: NestedFiles) -> tuple[set[bytes], set[bytes], set[bytes]]:
    import pygit2

    flag = pygit2.enums.FileStatus
    changed: set[bytes] = set()
    deleted: set[bytes] = set()
    new: set[bytes] = set()
    for path, bits in status.items():
        name = os.fsencode(path)
        if path.endswith("/"):  # a repository inside this one: listed on its own
            continue

        # Staged and then deleted on disk: for a reader of the work tree the file doesn't exist.
        if bits & flag.INDEX_NEW:
            if not bits & flag.WT_DELETED:
                new.add(name)
        elif bits & flag.WT_NEW:
            # Removed from the index but still on disk: against HEAD that is a change, not a new file.
            if bits & flag.INDEX_DELETED:
                changed.add(name)
            elif name not in nested:
                new.add(name)
        elif bits & (flag.WT_DELETED | flag.INDEX_DELETED):
            deleted.add(name)
        else:
            changed.add(name)

    return changed, deleted, new


_IndexStamp = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class HiddenEntry:
    """A file that git does not compare with the disk.

    `oid` are the 20 bytes of its content in the index, `mode` is git's. `sparse`: it may be missing on disk
    (skip-worktree, as in a sparse checkout).
    """

    path: bytes
    oid: bytes
    mode: int
    sparse: bool


_hidden_entries: LruCache[str, tuple[_IndexStamp, tuple[HiddenEntry, ...]]] = LruCache(_MAX_INDEXES)


def hidden_entries(git_dir: str) -> tuple[HiddenEntry, ...]:
    """List hidden entries by path; none if the index is absent or libgit2 refuses its form too.

    An index of 30,000 files takes 40 to 80 ms to read on a busy machine, once for each of its states.
    """
    path = os.path.join(git_dir, "index")
    try:
        info = os.stat(path)
        stamp = (info.st_mtime_ns, info.st_size, info.st_ino)
        cached = _hidden_entries.get(path)
        if cached is not None and cached[0] == stamp:
            return cached[1]
        with open(path, "rb") as file:
            raw = file.read(info.st_size)
        entries = tuple(_parse_hidden(raw))
    except (OSError, IndexError, ValueError, struct.error):
        return ()

    _hidden_entries.put(path, (stamp, entries))
    return entries


def _renew_caches() -> None:
    global _folders, _hidden_entries
    _folders, _hidden_entries = LruCache(_MAX_FOLDER_LISTS), LruCache(_MAX_INDEXES)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew_caches)


def _parse_hidden(raw: bytes) -> list[HiddenEntry]:
    magic, version, count = _HEAD.unpack_from(raw)
    if magic != b"DIRC" or version not in {2, 3, 4}:
        return []

    entries = []
    offset, name = _HEAD.size, b""

    # The count comes from the file, so it is bounded by what the file can hold.
    for _ in range(min(count, len(raw) // _FIXED)):
        flags = raw[offset + _FLAGS] << 8 | raw[offset + _FLAGS + 1]
        extended_flags = raw[offset + _FIXED] << 8 | raw[offset + _FIXED + 1] if flags & _EXTENDED else 0
        start = offset + _FIXED + (2 if flags & _EXTENDED else 0)

        # gitformat-index: before version 4 entries are padded to multiples of eight bytes; version 4 stores what a name
        # shares with the one before.
        if version < 4:
            size = flags & _NAME_LENGTH
            end = start + size if size < _NAME_LENGTH else raw.index(b"\0", start + size)
            after = offset + (end - offset + 8) // 8 * 8
        else:
            dropped, start = _varint(raw, start)
            end = raw.index(b"\0", start)
            name = name[: len(name) - dropped] + raw[start:end]
            after = end + 1

        if flags & _ASSUME_VALID or extended_flags & _SKIP_WORKTREE:
            mode = int.from_bytes(raw[offset + _MODE : offset + _MODE + 4], "big")
            path = name if version == 4 else raw[start:end]
            entries.append(
                HiddenEntry(
                    path, raw[offset + _OID : offset + _FLAGS], mode, sparse=bool(extended_flags & _SKIP_WORKTREE)
                )
            )

        offset = after

    return entries


def _varint(raw: bytes, offset: int) -> tuple[int, int]:
    """Read a number in git's offset encoding; return it and its end."""
    byte = raw[offset]
    value = byte & 127
    while byte & 128:
        offset += 1
        byte = raw[offset]
        value = ((value + 1) << 7) | (byte & 127)
    return value, offset + 1
