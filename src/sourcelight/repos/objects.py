"""Reading trees and blobs straight from the object store: no configuration is read, nothing is run or fetched."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Self

from sourcelight.core.errors import RepositoryError, RevisionNotFound
from sourcelight.repos.repository import Repository, common_dir
from sourcelight.repos.tree_limits import FOLDER_MODES, check_tree
from sourcelight.repos.unfolding import refuse_unfolding

if TYPE_CHECKING:
    import pygit2

    from sourcelight.repos.disk import DiskState

MAX_CONTENT_BYTES = 64 << 20
"""Bytes of a content above which it is not read, unless a caller says otherwise."""

MAX_FOLDER_BYTES = 16 << 20
"""Bytes of a tree object, or of a commit, above which it is not read: a folder of about 400,000 files."""

_entries = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL).findall
_MODES = {b"100644": 0o100644, b"100755": 0o100755, b"100664": 0o100664}
_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers


@dataclass(frozen=True, slots=True)
class Tree:
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
        self._disk: DiskState | None = None
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

    def tree(self, commit: str) -> Tree:
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

    def _walk(self, root: bytes) -> Tree:
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
        return Tree(
            [row[0] for row in rows],
            b"".join([row[1] for row in rows]),
            [_MODES.get(row[2]) or int(row[2], 8) for row in rows],
            symlinks,
            submodules,
            missing,
        )

    def _changed(self) -> DiskState | None:
        """What stands on disk under names that the object store lacks: snapshots, changed files of a work tree."""
        if self._disk is None and self.repository.worktree and not self._disk_failed:
            from sourcelight.repos.disk import current_state

            try:
                self._disk = current_state(self.repository)
            except RepositoryError:  # gone or damaged since: what the object store lacks is then simply missing
                self._disk_failed = True
        return self._disk

    def _disk_state(self, commit: str) -> DiskState:
        from sourcelight.repos.disk import state_at

        state = state_at(self.repository, commit) if self.repository.worktree else None
        if state is None:
            raise RevisionNotFound(self.repository.name, commit)
        self._disk = state
        return state
