"""Reading trees and blobs straight from the object store: no configuration is read, nothing is run or fetched.

One folder or file of a commit by its path, without listing the whole commit.

How much a repository's object store holds, without reading objects.
"""

from __future__ import annotations

import contextlib
import os
import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from sourcelight.core.errors import PathNotFound, RepositoryError, RevisionNotFound
from sourcelight.repos.boundary import object_directories
from sourcelight.repos.pack_limits import refuse_unfolding
from sourcelight.repos.repository import Repository, common_dir
from sourcelight.repos.tree_limits import FOLDER_MODES, check_tree

if TYPE_CHECKING:
    import pygit2

    from sourcelight.repos.worktrees import WorktreeState


MAX_CONTENT_BYTES = 64 << 20
"""Bytes of a content above which it is not read, unless a caller says otherwise."""

MAX_FOLDER_BYTES = 16 << 20
"""Bytes of a tree object, or of a commit, above which it is not read: a folder of about 400,000 files."""

_entries = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL).findall
_MODES = {b"100644": 0o100644, b"100755": 0o100755, b"100664": 0o100664}
_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers


@dataclass(frozen=True, slots=True)
class CommitTree:
    """The regular files of a commit, sorted bytewise by path.

    Parameters
    ----------
    paths
        Path of each file in the repository, any bytes.
    blob_ids
        20 bytes for each file, in the same order.
    modes
        ``0o100644`` or ``0o100755`` (old repositories: also ``0o100664``) for each file.
    symlinks, submodules
        How many entries of these kinds were left out.
    missing
        How many folders or files can't be read (partial clone, damage, permission), with all that is in them.
    """

    paths: list[bytes]
    blob_ids: bytes
    modes: list[int]
    symlinks: int = 0
    submodules: int = 0
    missing: int = 0

    def __len__(self) -> int:
        return len(self.paths)

    def blob_id(self, index: int) -> bytes:
        """The 20 bytes that name the content of file `index`."""
        return self.blob_ids[20 * index : 20 * index + 20]


class ObjectReader:
    """Reads one repository; make one per process and thread, and close it.

    Parameters
    ----------
    repository
        The repository; its object store is opened on first use.

    Examples
    --------
    >>> with ObjectReader(repository) as reader:  # doctest: +SKIP
    ...     tree = reader.tree(repository.facts.commit)
    ...     text = reader.read(tree.blob_id(0))
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._odb: pygit2.Odb | None = None
        self._disk: WorktreeState | None = None
        self._disk_failed = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the object store's files; the reader opens them again when it is used again."""
        self._odb = None
        self._disk = None
        self._disk_failed = False

    def tree(self, commit: str) -> CommitTree:
        """List the files of a commit (30,000 files: about 80 ms).

        Parameters
        ----------
        commit
            40 hex digits, as `resolve` gives them; those of a snapshot or of a work tree's state included.

        Raises
        ------
        RevisionNotFound
            If the repository has no such commit.
        RepositoryError
            If the tree names more files, or longer paths, than are read (`tree_limits`).
        """
        if self.repository.kind == "git":
            root = self._root(commit)
            if root is not None:
                return self._walk(root)
        return self._disk_state(commit).tree

    def folders(self, commit: str) -> list[bytes]:
        """List the folders of a commit that has them in the object store, each with a slash at its end but the top one.

        Raises
        ------
        RepositoryError
            If the commit can't be read, or names more files, or longer paths, than `tree` would list.
        """
        root = self._root(commit)
        if root is None:
            raise RepositoryError(f"commit {commit[:12]} of {self.repository.name} can't be read")
        entries = self._checked_folders(root)
        paths = []
        waiting = [(b"", root)]
        while waiting:
            path, name = waiting.pop()
            paths.append(path)
            inner = [entry for entry in entries[name] or () if entry[0] in FOLDER_MODES]
            waiting += [(path + entry[1] + b"/", entry[2]) for entry in inner]
        return paths

    def _checked_folders(self, root: bytes) -> dict[bytes, list[tuple[bytes, bytes, bytes]] | None]:
        """The distinct folders below one, by id; raises `RepositoryError` when they name too much."""
        folders: dict[bytes, list[tuple[bytes, bytes, bytes]] | None] = {}

        def read(tree_id: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
            if tree_id not in folders:
                folders[tree_id] = self.folder(tree_id)
            return folders[tree_id]

        check_tree(root, read, self.repository.name)
        return folders

    def root(self, commit: str) -> bytes | None:
        """The 20 bytes that name the top folder of a commit; None when the object store has no such commit."""
        return self._root(commit)

    def folder(self, tree_id: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
        """Mode (octal digits), name and id of each entry of a folder, in git's order; None when it can't be read."""
        data = self._read(tree_id, _TREE, MAX_FOLDER_BYTES)
        return None if data is None else _entries(data)

    def holds_tree(self, commit: str) -> bool:
        """Whether the commit and its top folder can be read."""
        root = self._root(commit)
        return root is not None and self._read(root, _TREE, MAX_FOLDER_BYTES) is not None

    def read(self, blob_id: bytes, limit: int = MAX_CONTENT_BYTES) -> bytes | None:
        """Read a file's content.

        None when the repository does not hold it (partial clone), or only damaged, or when it has more than `limit`
        bytes; `size` tells which.
        """
        header = self._header(blob_id)
        if header is not None:
            return self._read(blob_id, _BLOB, limit)
        disk = self._changed()
        if disk is None or (disk.size(blob_id) or 0) > limit:
            return None
        return disk.read(blob_id)

    def size(self, blob_id: bytes) -> int | None:
        """Size of a file's content in bytes, without reading it; None as for `read`."""
        header = self._header(blob_id)
        if header is not None:
            return header[1]
        disk = self._changed()
        return None if disk is None else disk.size(blob_id)

    def blobs(self, ids: Iterable[bytes]) -> Iterator[tuple[bytes, bytes | None]]:
        """Read many contents, in the order asked."""
        for blob_id in ids:
            yield blob_id, self.read(blob_id)

    def _objects(self) -> pygit2.Odb | None:
        if self._odb is None and self.repository.kind == "git":
            import pygit2

            folder = os.path.join(common_dir(self.repository.git_dir), "objects")
            try:
                odb = pygit2.Odb(folder)
                refuse_unfolding(odb, os.path.dirname(folder))
                self._odb = odb
            except pygit2.GitError as error:
                raise RepositoryError(f"can't open the object store of {self.repository.name}: {error}") from error
        return self._odb

    def _header(self, name: bytes) -> tuple[int, int] | None:
        """Kind and size of an object; None when it can't be read."""
        import pygit2

        odb = self._objects()
        if odb is None:
            return None
        try:
            kind, size = odb.read_header(pygit2.Oid(raw=name))
        except (KeyError, ValueError, pygit2.GitError):
            return None
        return int(kind), int(size)

    def _read(self, name: bytes, kind: int, limit: int) -> bytes | None:
        """Read an object of a kind and of at most `limit` bytes; its header is looked at first."""
        import pygit2

        header = self._header(name)
        odb = self._objects()
        if odb is None or header is None or header[0] != kind or header[1] > limit:
            return None
        try:
            return bytes(odb.read(pygit2.Oid(raw=name))[1])
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def _root(self, commit: str) -> bytes | None:
        """The tree a commit names; None when the object store has no such commit."""
        try:
            data = self._read(bytes.fromhex(commit), _COMMIT, MAX_FOLDER_BYTES)
        except ValueError:
            data = None
        if data is None or not data.startswith(b"tree "):
            return None
        return bytes.fromhex(data[5:45].decode("ascii"))

    def _walk(self, root: bytes) -> CommitTree:
        folders = self._checked_folders(root)
        rows: list[tuple[bytes, bytes, bytes]] = []
        waiting = [(b"", root)]
        symlinks = submodules = missing = 0
        while waiting:
            prefix, name = waiting.pop()
            entries = folders[name]
            if entries is None:
                missing += 1
                continue
            for mode, entry, object_id in entries:
                if mode in _MODES or mode[:3] == b"100":
                    rows.append((prefix + entry, object_id, mode))
                elif mode in FOLDER_MODES:
                    waiting.append((prefix + entry + b"/", object_id))
                elif mode == b"120000":
                    symlinks += 1
                else:
                    submodules += 1
        rows.sort()
        return CommitTree(
            [row[0] for row in rows],
            b"".join([row[1] for row in rows]),
            [_MODES.get(row[2]) or int(row[2], 8) for row in rows],
            symlinks,
            submodules,
            missing,
        )

    def _changed(self) -> WorktreeState | None:
        """What stands on disk under names that the object store lacks: snapshots, changed files of a work tree."""
        if self._disk is None and self.repository.worktree and not self._disk_failed:
            from sourcelight.repos.worktrees import current_state

            try:
                self._disk = current_state(self.repository)
            except RepositoryError:  # gone or damaged since: what the object store lacks is then simply missing
                self._disk_failed = True
        return self._disk

    def _disk_state(self, commit: str) -> WorktreeState:
        from sourcelight.repos.worktrees import state_at

        state = state_at(self.repository, commit) if self.repository.worktree else None
        if state is None:
            raise RevisionNotFound(self.repository.name, commit)
        self._disk = state
        return state


EntryKind = Literal["file", "directory", "symlink", "submodule"]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """What stands under a path: `path` in the repository as text (invalid UTF-8 as U+FFFD), and the object's id.

    A submodule's `object_id` is the commit it stands at; a folder of a work tree or snapshot has none.
    """

    path: str
    kind: EntryKind
    object_id: bytes = b""


def find_entry(reader: ObjectReader, commit: str, path: str, revision: str = "") -> TreeEntry:
    """Find what stands under `path`; the empty path is the top folder.

    Raises
    ------
    PathNotFound
        If there is nothing; names close to what was asked for are in its hint.
    RevisionNotFound
        If the repository has no such commit.
    """
    here = TreeEntry("", "directory", reader.root(commit) or b"")
    for part in path.split("/") if path else ():
        entries = list_folder(reader, commit, here, revision)
        wanted = f"{here.path}/{part}" if here.path else part
        found = next((entry for entry in entries if entry.path == wanted), None)
        if found is None or (found.kind != "directory" and found.path != path):
            raise PathNotFound(reader.repository.name, revision, path, _hint(here, wanted, found, entries))
        here = found
    return here


def list_folder(reader: ObjectReader, commit: str, folder: TreeEntry, revision: str = "") -> list[TreeEntry]:
    """List the entries of a folder that `find_entry` gave: folders and submodules first, each group by path.

    Raises
    ------
    PathNotFound
        If the folder is no folder, or this partial clone does not hold it.
    RevisionNotFound
        If the repository has no such commit.
    """
    prefix = f"{folder.path}/" if folder.path else ""
    if folder.kind != "directory":
        raise PathNotFound(reader.repository.name, revision, folder.path, f"it is a {folder.kind}, not a folder")
    if folder.object_id:
        rows = reader.folder(folder.object_id)
        if rows is None:
            raise PathNotFound(reader.repository.name, revision, folder.path, "this clone does not hold the folder")
        entries = [TreeEntry(prefix + name.decode("utf-8", "replace"), _kind(mode), oid) for mode, name, oid in rows]
    else:
        entries = list(_from_tree(reader, commit, prefix))
    return sorted(entries, key=lambda entry: (entry.kind not in {"directory", "submodule"}, entry.path))


def _kind(mode: bytes) -> EntryKind:
    if mode[:3] == b"100":
        return "file"
    if mode in {b"40000", b"040000"}:
        return "directory"
    return "symlink" if mode == b"120000" else "submodule"


def _from_tree(reader: ObjectReader, commit: str, prefix: str) -> Iterator[TreeEntry]:
    """Entries of a folder of a work tree's or snapshot's state, which knows regular files only."""
    tree = reader.tree(commit)
    folders: set[str] = set()
    for index, raw in enumerate(tree.paths):
        path = raw.decode("utf-8", "replace")
        if not path.startswith(prefix):
            continue
        first, more, _ = path[len(prefix) :].partition("/")
        if not more:
            yield TreeEntry(path, "file", tree.blob_id(index))
        elif first not in folders:
            folders.add(first)
            yield TreeEntry(prefix + first, "directory")


def _hint(folder: TreeEntry, wanted: str, found: TreeEntry | None, entries: list[TreeEntry]) -> str:
    if found is not None:
        return f"{found.path} is a {found.kind}, not a folder"
    import difflib

    near = difflib.get_close_matches(wanted, [entry.path for entry in entries], 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"the folder {folder.path} has no such entry" if folder.path else ""


_LAST_OF_TABLE = 8 + 255 * 4
_MIN_INDEX_BYTES = 24
"""Bytes of an object in the smallest index of a pack (format 1: an offset and a name)."""

_TWO_DIGITS = frozenset(f"{number:02x}" for number in range(256))


@dataclass(frozen=True, slots=True)
class StoreSize:
    """The size of an object store, with those it borrows from.

    Attributes
    ----------
    objects
        Number of objects; one that is stored twice counts twice.
    bytes
        Bytes of packs and loose objects on disk.
    """

    objects: int
    bytes: int


def packed_objects(repository: Repository) -> int:
    """Count the objects in packs, by the tables of contents of their indexes (format 2: gitformat-pack).

    Loose objects are not counted: they are few, and found by listing folders only.
    """
    return sum(count for _, count in _packs(os.path.join(common_dir(repository.git_dir), "objects")))


def store_size(git_dir: str) -> StoreSize:
    """Measure the object store of a repository, loose and borrowed objects included; 0 where it can't be read.

    Holes of sparse files do not count, so that no author claims more than the disk holds.
    """
    objects = size = 0
    for directory in object_directories(common_dir(git_dir)):
        for pack, count in _packs(directory):
            objects += count
            size += _dense_bytes(pack)
        for loose in _loose_directories(directory):
            with contextlib.suppress(OSError), os.scandir(loose) as entries:
                for entry in entries:
                    objects += 1
                    size += entry.stat(follow_symlinks=False).st_size
    return StoreSize(objects, size)


def _packs(objects: str) -> Iterator[tuple[str, int]]:
    """The packs of an object directory, and how many objects each has."""
    folder = Path(objects, "pack")
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(".idx"))
    except OSError:
        return
    for name in names:
        try:
            with Path(folder, name).open("rb") as file:
                file.seek(_LAST_OF_TABLE)
                count = struct.unpack(">I", file.read(4))[0]
            most = _dense_bytes(str(Path(folder, name))) // _MIN_INDEX_BYTES
            yield str(Path(folder, name[:-4] + ".pack")), min(count, most)
        except (OSError, struct.error):
            continue


def _dense_bytes(path: str) -> int:
    """Bytes of a file up to its first hole; 0 for one that can't be read."""
    try:
        with open(path, "rb") as file:
            if hasattr(os, "SEEK_HOLE"):
                return os.lseek(file.fileno(), 0, os.SEEK_HOLE)
            return os.fstat(file.fileno()).st_size
    except OSError:
        return 0


def _loose_directories(objects: str) -> Iterator[str]:
    with contextlib.suppress(OSError), os.scandir(objects) as entries:
        yield from [entry.path for entry in entries if entry.name in _TWO_DIGITS]
