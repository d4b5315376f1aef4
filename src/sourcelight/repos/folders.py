"""One folder or file of a commit by its path, without listing the whole commit."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.errors import PathNotFound
from sourcelight.repos.objects import ObjectReader

EntryKind = Literal["file", "directory", "symlink", "submodule"]


@dataclass(frozen=True, slots=True)
class Entry:
    """What stands under a path: `path` in the repository as text (invalid UTF-8 as U+FFFD), and the object's id.

    A submodule's `object_id` is the commit it stands at; a folder of a work tree or snapshot has none.
    """

    path: str
    kind: EntryKind
    object_id: bytes = b""


def find_entry(reader: ObjectReader, commit: str, path: str, revision: str = "") -> Entry:
    """Find what stands under `path`; the empty path is the top folder.

    Raises
    ------
    PathNotFound
        If there is nothing; names close to what was asked for are in its hint.
    RevisionNotFound
        If the repository has no such commit.
    """
    here = Entry("", "directory", reader.root(commit) or b"")
    for part in path.split("/") if path else ():
        entries = list_folder(reader, commit, here, revision)
        wanted = f"{here.path}/{part}" if here.path else part
        found = next((entry for entry in entries if entry.path == wanted), None)
        if found is None or (found.kind != "directory" and found.path != path):
            raise PathNotFound(reader.repository.name, revision, path, _hint(here, wanted, found, entries))
        here = found
    return here


def list_folder(reader: ObjectReader, commit: str, folder: Entry, revision: str = "") -> list[Entry]:
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
        entries = [Entry(prefix + name.decode("utf-8", "replace"), _kind(mode), oid) for mode, name, oid in rows]
    else:
        entries = list(_from_tree(reader, commit, prefix))
    return sorted(entries, key=lambda entry: (entry.kind not in {"directory", "submodule"}, entry.path))


def _kind(mode: bytes) -> EntryKind:
    if mode[:3] == b"100":
        return "file"
    if mode in {b"40000", b"040000"}:
        return "directory"
    return "symlink" if mode == b"120000" else "submodule"


def _from_tree(reader: ObjectReader, commit: str, prefix: str) -> Iterator[Entry]:
    """Entries of a folder of a work tree's or snapshot's state, which knows regular files only."""
    tree = reader.tree(commit)
    folders: set[str] = set()
    for index, raw in enumerate(tree.paths):
        path = raw.decode("utf-8", "replace")
        if not path.startswith(prefix):
            continue
        first, more, _ = path[len(prefix) :].partition("/")
        if not more:
            yield Entry(path, "file", tree.blob_id(index))
        elif first not in folders:
            folders.add(first)
            yield Entry(prefix + first, "directory")


def _hint(folder: Entry, wanted: str, found: Entry | None, entries: list[Entry]) -> str:
    if found is not None:
        return f"{found.path} is a {found.kind}, not a folder"
    import difflib

    near = difflib.get_close_matches(wanted, [entry.path for entry in entries], 3)
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"the folder {folder.path} has no such entry" if folder.path else ""
