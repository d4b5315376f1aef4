"""Read trees and blobs from the object store, without reading configuration, running programs or fetching.

Also find a path in a commit without listing the whole commit.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from sourcelight.core.batches import CommitId
from sourcelight.core.errors import PathNotFound, RepositoryError, RevisionNotFound
from sourcelight.repos.objects.packs import refuse_unfolding
from sourcelight.repos.objects.trees import FOLDER_MODES, CommitTree, check_tree
from sourcelight.repos.repository import Repository, common_dir

if TYPE_CHECKING:
    import pygit2


MAX_CONTENT_BYTES = 64 << 20
"""Default limit for the size of a content, in bytes; larger ones aren't read."""

MAX_FOLDER_BYTES = 16 << 20
"""Limit for the size of a tree object or a commit, in bytes: a directory of about 400,000 files."""

# One pass of the regex engine over a tree is several times faster than a loop over its bytes in Python.
_entries = re.compile(rb"([0-7]+) ([^\0]+)\0(.{20})", re.DOTALL).findall
_tree_line = re.compile(rb"tree ([0-9a-f]{40})\n").match
# 100664 was written by very old versions of git, which still counts as a plain file.
_MODES = {b"100644": 0o100644, b"100755": 0o100755, b"100664": 0o100664}
_COMMIT, _TREE, _BLOB = 1, 2, 3  # git's numbers


class StoreReader:
    """Reads the object store of one repository; make one per process and thread, and close it.

    Plain directories, and files that no commit has, are read by `worktrees.ObjectReader`.

    Parameters
    ----------
    repository
        The repository; its object store is opened on first use.

    Examples
    --------
    >>> with StoreReader(repository) as reader:  # doctest: +SKIP
    ...     tree = reader.tree(repository.info.commit)
    ...     text = reader.read(tree.blob_id(0))
    """

    def __init__(self, repository: Repository) -> None:
        self.repository = repository
        self._odb: pygit2.Odb | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the object store's files; the reader opens them again when it is used again."""
        self._odb = None

    def tree(self, commit: CommitId) -> CommitTree:
        """List the files of a commit (30,000 files: about 80 ms).

        Parameters
        ----------
        commit
            40 hex digits, as `resolve` gives them.

        Raises
        ------
        RevisionNotFound
            The repository doesn't have this commit.
        RepositoryError
            The tree exceeds the limits for files or paths (`check_tree`).
        """
        root = self._root(commit)
        if root is None:
            raise RevisionNotFound(self.repository.name, commit)
        return self._list_files(root)

    def folders(self, commit: CommitId) -> list[bytes]:
        """List the directories of a commit, each with a slash at its end except the top one.

        Raises
        ------
        RepositoryError
            The commit can't be read, or its tree exceeds the limits of `tree`.
        """
        root = self._root(commit)
        if root is None:
            raise RepositoryError(f"commit {commit[:12]} of {self.repository.name} can't be read")

        entries = self._read_folders(root)
        paths = []
        pending = [(b"", root)]
        while pending:
            path, name = pending.pop()
            paths.append(path)
            inner = [entry for entry in entries[name] or () if entry[0] in FOLDER_MODES]
            pending += [(path + entry[1] + b"/", entry[2]) for entry in inner]

        return paths

    def _read_folders(self, root: bytes) -> dict[bytes, list[tuple[bytes, bytes, bytes]] | None]:
        """Read the distinct directories below one, by id; raises `RepositoryError` if there are too many."""
        folders: dict[bytes, list[tuple[bytes, bytes, bytes]] | None] = {}

        def read(tree_id: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
            # A tree that occurs at several paths is read once: a hostile repository may repeat one millions of times.
            if tree_id not in folders:
                folders[tree_id] = self.folder(tree_id)
            return folders[tree_id]

        check_tree(root, read, self.repository.name)
        return folders

    def root(self, commit: CommitId) -> bytes | None:
        """Return the 20-byte id of a commit's top tree, or None if the object store lacks the commit."""
        return self._root(commit)

    def commit_data(self, commit: CommitId) -> bytes | None:
        """Return the bytes of a commit; None if the object store lacks it, or it is larger than `MAX_FOLDER_BYTES`."""
        try:
            return self._read(bytes.fromhex(commit), _COMMIT, MAX_FOLDER_BYTES)
        except ValueError:
            return None

    def folder(self, tree_id: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
        """Return mode (octal digits), name and id of a tree's entries, in git's order, or None if unreadable."""
        data = self._read(tree_id, _TREE, MAX_FOLDER_BYTES)
        return None if data is None else _entries(data)

    def holds_tree(self, commit: CommitId) -> bool:
        """Return whether the commit and its top tree can be read."""
        root = self._root(commit)
        return root is not None and self._read(root, _TREE, MAX_FOLDER_BYTES) is not None

    def read(self, blob_id: bytes, limit: int = MAX_CONTENT_BYTES) -> bytes | None:
        """Read a file's content.

        None if the repository lacks it (partial clone), if it is damaged, or if it has more than `limit` bytes; `size`
        distinguishes these.
        """
        return self._read(blob_id, _BLOB, limit)

    def size(self, blob_id: bytes) -> int | None:
        """Return the size of a file's content in bytes without reading it; None as for `read`."""
        header = self._header(blob_id)
        return None if header is None else header[1]

    def blobs(self, ids: Iterable[bytes], limit: int = MAX_CONTENT_BYTES) -> Iterator[tuple[bytes, bytes | None]]:
        """Read many contents, in the order given; None as for `read`."""
        for blob_id in ids:
            yield blob_id, self.read(blob_id, limit)

    def _objects(self) -> pygit2.Odb | None:
        if self._odb is None and self.repository.kind == "git":
            import pygit2

            # Only the object directory is opened, never the repository: libgit2 would read its configuration.
            folder = os.path.join(common_dir(self.repository.git_dir), "objects")
            try:
                odb = pygit2.Odb(folder)
                refuse_unfolding(odb, os.path.dirname(folder))
                self._odb = odb
            except pygit2.GitError as error:
                raise RepositoryError(f"can't open the object store of {self.repository.name}: {error}") from error

        return self._odb

    def _header(self, name: bytes) -> tuple[int, int] | None:
        """Return kind and size of an object, or None if it can't be read."""
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
        """Read an object of one kind and at most `limit` bytes; checks its header first."""
        import pygit2

        # The header gives kind and size before libgit2 inflates anything: a repository may hold gigabytes of zeros.
        header = self._header(name)
        odb = self._objects()
        if odb is None or header is None or header[0] != kind or header[1] > limit:
            return None

        try:
            return bytes(odb.read(pygit2.Oid(raw=name))[1])
        except (KeyError, ValueError, pygit2.GitError):
            return None

    def _root(self, commit: CommitId) -> bytes | None:
        """Return the tree of a commit, or None if the object store lacks the commit."""
        data = self.commit_data(commit)
        # Anybody can write a commit by hand, with anything in its first line.
        line = None if data is None else _tree_line(data)
        return None if line is None else bytes.fromhex(line[1].decode("ascii"))

    def _list_files(self, root: bytes) -> CommitTree:
        folders = self._read_folders(root)
        rows: list[tuple[bytes, bytes, bytes]] = []
        pending = [(b"", root)]
        symlinks = submodules = missing = 0
        while pending:
            prefix, name = pending.pop()
            entries = folders[name]
            if entries is None:
                missing += 1
                continue

            for mode, entry, object_id in entries:
                if mode in _MODES or mode[:3] == b"100":
                    rows.append((prefix + entry, object_id, mode))
                elif mode in FOLDER_MODES:
                    pending.append((prefix + entry + b"/", object_id))
                elif mode == b"120000":
                    symlinks += 1
                else:
                    submodules += 1

        # Directories come from a stack, and git sorts their names as if they ended with a slash, so paths must be
        # sorted here.
        rows.sort()
        return CommitTree(
            paths=[row[0] for row in rows],
            blob_ids=b"".join([row[1] for row in rows]),
            modes=[_MODES.get(row[2]) or int(row[2], 8) for row in rows],
            symlinks=symlinks,
            submodules=submodules,
            missing=missing,
        )


EntryKind = Literal["file", "directory", "symlink", "submodule"]


@dataclass(frozen=True, slots=True)
class TreeEntry:
    """An entry of a directory: `path` in the repository as text (invalid UTF-8 as U+FFFD), and the object's id.

    A submodule's `object_id` is its commit; a directory of a work tree or snapshot has none.
    """

    path: str
    kind: EntryKind
    object_id: bytes = b""


def find_entry(reader: StoreReader, commit: CommitId, path: str, revision: str = "") -> TreeEntry:
    """Find the entry at `path`; the empty path is the top directory.

    Raises
    ------
    PathNotFound
        The path doesn't exist; the hint has similar names.
    RevisionNotFound
        The repository doesn't have this commit.
    """
    directory = TreeEntry("", "directory", reader.root(commit) or b"")
    for part in path.split("/") if path else ():
        entries = list_folder(reader, commit, directory, revision)
        wanted_path = f"{directory.path}/{part}" if directory.path else part
        match = next((entry for entry in entries if entry.path == wanted_path), None)
        # A file in the middle of the path: git has no entries below a file.
        if match is None or (match.kind != "directory" and match.path != path):
            raise PathNotFound(reader.repository.name, revision, path, _hint(directory, wanted_path, match, entries))
        directory = match

    return directory


def list_folder(reader: StoreReader, commit: CommitId, folder: TreeEntry, revision: str = "") -> list[TreeEntry]:
    """List the entries of a directory from `find_entry`: directories and submodules first, each group by path.

    Raises
    ------
    PathNotFound
        It isn't a directory, or this partial clone lacks it.
    RevisionNotFound
        The repository doesn't have this commit.
    """
    prefix = f"{folder.path}/" if folder.path else ""
    if folder.kind != "directory":
        raise PathNotFound(reader.repository.name, revision, folder.path, f"it is a {folder.kind}, not a directory")

    if folder.object_id:
        rows = reader.folder(folder.object_id)
        if rows is None:
            raise PathNotFound(reader.repository.name, revision, folder.path, "this clone lacks the directory")
        entries = [TreeEntry(prefix + name.decode("utf-8", "replace"), _kind(mode), oid) for mode, name, oid in rows]
    else:
        # Work trees and snapshots have no tree objects, so the directory is derived from the list of files.
        entries = list(_entries_from_tree(reader, commit, prefix))

    return sorted(entries, key=lambda entry: (entry.kind not in {"directory", "submodule"}, entry.path))


def _kind(mode: bytes) -> EntryKind:
    if mode[:3] == b"100":
        return "file"
    if mode in {b"40000", b"040000"}:
        return "directory"
    return "symlink" if mode == b"120000" else "submodule"


def _entries_from_tree(reader: StoreReader, commit: CommitId, prefix: str) -> Iterator[TreeEntry]:
    """Yield the entries of a directory of a work tree's or snapshot's state, which lists regular files only."""
    tree = reader.tree(commit)
    folders: set[str] = set()
    for index, raw in enumerate(tree.paths):
        path = raw.decode("utf-8", "replace")
        if not path.startswith(prefix):
            continue
        first, deeper, _ = path[len(prefix) :].partition("/")
        if not deeper:
            yield TreeEntry(path, "file", tree.blob_id(index))
        elif first not in folders:
            folders.add(first)
            yield TreeEntry(prefix + first, "directory")


def _hint(folder: TreeEntry, wanted_path: str, match: TreeEntry | None, entries: list[TreeEntry]) -> str:
    if match is not None:
        return f"{match.path} is a {match.kind}, not a folder"
    import difflib

    # Compared in lower case: README.md is near Readme.md, though only one letter and the ending are the same.
    by_lower_path = {entry.path.lower(): entry.path for entry in entries}
    near = [by_lower_path[path] for path in difflib.get_close_matches(wanted_path.lower(), by_lower_path, 3)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"the folder {folder.path} has no such entry" if folder.path else ""
