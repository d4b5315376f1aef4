"""The files of a commit, and how large its tree may be.

The size is checked before a path is made, since trees may name one directory many times.

A few kilobytes of nested trees can name more files than there are atoms, or paths of megabytes. So sizes are summed
over distinct directories: the cost grows with the stored trees, not with the number of paths.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import RepositoryError

MAX_FILES = 5_000_000
"""Files of a commit."""

MAX_PATH_BYTES = 4096
"""Bytes of a path; no file system that git knows takes more."""

MAX_REPEATS = 4
"""Maximum ratio of a tree's entries to stored entries, beyond `FREE_ENTRIES`."""

FREE_ENTRIES = 100_000
"""Entries of a tree that are always read."""

MAX_AVERAGE_PATH_BYTES = 256
"""Bytes of paths for each entry, beyond `FREE_PATH_BYTES`."""

FREE_PATH_BYTES = 32 << 20
"""Bytes of paths that are always read."""

FOLDER_MODES = frozenset({b"40000", b"040000"})
"""Modes of directories; some programs write a zero before them."""

_Entries = list[tuple[bytes, bytes, bytes]]


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
        How many directories or files can't be read (partial clone, damage, permission), with all that is in them.
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
        """Return the 20-byte id of the content of file `index`."""
        return self.blob_ids[20 * index : 20 * index + 20]


@dataclass(frozen=True, slots=True)
class _TreeSize:
    """The size of a tree with all below it: entries, bytes of their paths within it, and of the longest path."""

    entries: int
    path_bytes: int
    longest: int


def check_tree(root: bytes, read: Callable[[bytes], _Entries | None], repository: str) -> None:
    """Raise `RepositoryError` if a tree names more than the limits.

    Parameters
    ----------
    root
        Id of the top directory.
    read
        Gives mode, name and id of the entries of a directory, None for one that can't be read; called once for each.
    repository
        Name for the message.
    """
    sizes: dict[bytes, _TreeSize] = {}
    expanded: dict[bytes, _PendingFolder] = {}
    stored = 0
    pending = [root]

    # An explicit stack, children before parents: hostile trees can be nested deeper than Python recurses.
    while pending:
        tree_id = pending[-1]
        if tree_id in sizes:
            pending.pop()
            continue

        folder = expanded.pop(tree_id, None)
        if folder is None:
            entries = read(tree_id) or []
            stored += len(entries)

            # Checked while reading, so that too large a tree isn't read to its end.
            _check_count(stored, stored, 0, repository)
            names = [entry[1] for entry in entries]
            inner = [(entry[1], entry[2]) for entry in entries if entry[0] in FOLDER_MODES]
            folder = _PendingFolder(
                entries=len(names),
                name_bytes=sum(map(len, names)),
                longest=max(map(len, names), default=0),
                folders=inner,
            )
            unknown = {object_id for _, object_id in inner if object_id not in sizes and object_id not in expanded}
            if unknown:
                expanded[tree_id] = folder
                pending += unknown
                continue

        pending.pop()
        size = sizes[tree_id] = folder.size(sizes)
        if size.longest > MAX_PATH_BYTES:
            raise RepositoryError(
                f"{repository} has a path of {size.longest:,} bytes or more; at most {MAX_PATH_BYTES:,} are read"
            )

        _check_count(size.entries, size.entries, 0, repository)  # numbers stay small

    total = sizes[root]
    _check_count(total.entries, stored, total.path_bytes, repository)


@dataclass(frozen=True, slots=True)
class _PendingFolder:
    """A directory's own entries, and its subdirectories by name and id."""

    entries: int
    name_bytes: int
    longest: int
    folders: list[tuple[bytes, bytes]]

    def size(self, sizes: dict[bytes, _TreeSize]) -> _TreeSize:
        """Return its size, given the sizes of its subdirectories."""
        count, path_bytes, max_path_bytes = self.entries, self.name_bytes, self.longest
        for name, object_id in self.folders:
            inner = sizes.get(object_id)  # None for a tree that contains itself, which a hash rules out
            if inner is not None:
                count += inner.entries
                path_bytes += inner.path_bytes + inner.entries * (len(name) + 1)
                max_path_bytes = max(max_path_bytes, len(name) + 1 + inner.longest)

        return _TreeSize(count, path_bytes, max_path_bytes)


def _check_count(entries: int, stored: int, path_bytes: int, repository: str) -> None:
    if entries > MAX_FILES:
        raise RepositoryError(f"{repository} has more than {MAX_FILES:,} files and directories in one commit")

    # A few trees of some hundred bytes can name each other so often that they list millions of files.
    if entries > FREE_ENTRIES and entries > MAX_REPEATS * stored:
        raise RepositoryError(
            f"{repository} lists {entries:,} files and directories in one commit by repeating the same {stored:,}; at "
            f"most {MAX_REPEATS} repetitions are read"
        )

    if path_bytes > FREE_PATH_BYTES + MAX_AVERAGE_PATH_BYTES * stored:
        raise RepositoryError(f"{repository} has {path_bytes:,} bytes of paths in one commit, more than are read")
