"""Files of commits by path, and the files in which two commits differ, read from their directories alone."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from sourcelight.core.batches import CommitId
from sourcelight.core.caching import LruCache
from sourcelight.repos.objects.reader import StoreReader
from sourcelight.repos.objects.trees import FOLDER_MODES

_MAX_ENTRIES = 100_000
"""Entries of directories that stay in memory: neighbouring commits share most of theirs."""

_MAX_DEPTH = 200
"""Maximum nesting of directories; only a hostile repository has more."""

_Folder = Mapping[bytes, tuple[bytes, bytes]]


@dataclass(frozen=True, slots=True)
class FileDifference:
    """A file that differs between two commits; a blob is None if the commit has no regular file of the path."""

    path: bytes
    blob: bytes | None
    other_blob: bytes | None


@dataclass(slots=True)
class CommitFiles:
    """Look up files of many commits of one repository; links and submodules count as absent.

    Attributes
    ----------
    reader
        Reads the repository.
    limit
        Differing files and directories that all calls of `differences` together read.
    is_cut
        Whether a call stopped at a limit.
    """

    reader: StoreReader
    limit: int
    is_cut: bool = False
    _differing: int = 0
    _folders: LruCache[bytes, _Folder] = field(
        default_factory=lambda: LruCache(_MAX_ENTRIES, weigh=lambda folder: 1 + len(folder))
    )

    def blob(self, commit: CommitId, path: bytes) -> bytes | None:
        """Return the blob of a file, or None if the commit lacks the file or can't be read."""
        tree = self.reader.root(commit)
        *parents, name = path.split(b"/")
        for part in parents:
            tree = _folder_of(self._entries(tree).get(part))
        return _blob_of(self._entries(tree).get(name))

    def differences(self, commit: CommitId, other: CommitId) -> Iterator[FileDifference]:
        """Yield the files in which two commits differ; directories that both share are not read."""
        pending = [(b"", 0, self.reader.root(commit), self.reader.root(other))]
        while pending:
            prefix, depth, tree, other_tree = pending.pop()
            entries, other_entries = self._entries(tree), self._entries(other_tree)

            # Only a hostile repository nests directories this deep; each level would make the paths longer.
            if depth > _MAX_DEPTH:
                self.is_cut = True
                continue

            for name in sorted(entries.keys() | other_entries.keys()):
                entry, other_entry = entries.get(name), other_entries.get(name)
                if entry == other_entry:
                    continue
                if self._differing >= self.limit:
                    self.is_cut = True
                    return

                self._differing += 1
                # A file on one side may be a directory on the other: then both of these steps apply.
                folder, other_folder = _folder_of(entry), _folder_of(other_entry)
                if folder != other_folder:
                    pending.append((prefix + name + b"/", depth + 1, folder, other_folder))

                blob, other_blob = _blob_of(entry), _blob_of(other_entry)
                if blob != other_blob:
                    yield FileDifference(prefix + name, blob, other_blob)

    def _entries(self, tree: bytes | None) -> _Folder:
        """Return mode and object of each entry of a directory; nothing for None, and where it can't be read."""
        if tree is None:
            return {}
        return self._folders.get_or_make(
            tree, lambda: {name: (mode, object_id) for mode, name, object_id in self.reader.folder(tree) or ()}
        )


def _folder_of(entry: tuple[bytes, bytes] | None) -> bytes | None:
    return entry[1] if entry is not None and entry[0] in FOLDER_MODES else None


def _blob_of(entry: tuple[bytes, bytes] | None) -> bytes | None:
    return entry[1] if entry is not None and entry[0][:3] == b"100" else None
