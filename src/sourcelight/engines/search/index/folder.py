"""The folder of one repository's text index: what its manifests hold, and which files they need.

A reader that misses a file reads the manifest again: a builder has replaced it and deleted the files of the old one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Self

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.index.shard import is_loose
from sourcelight.engines.storage.folder import MANIFEST, IndexFolder, ManifestFile
from sourcelight.engines.storage.sections import FORMAT

PROTECTED = frozenset({"", "WORKTREE"})
"""Revisions whose views are never deleted: HEAD and the work tree."""

SIDE_TABLES = ("symbols", "terms", "subjects")
"""Kinds of tables beside shards; ``<kind>.json`` maps each shard to its table, and for subjects each commit."""

_SIDE_NAME = re.compile(r"([a-z]+)-[0-9a-f]+")
"""The name of a table: its kind, and the hash of its content."""


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard of the index. A `delta` was added after the first build.

    Key ``late`` of the manifest says that it holds blobs of other revisions.
    """

    name: str
    documents: int
    text_bytes: int
    delta: bool = False
    for_other_revisions: bool = False

    @classmethod
    def from_json(cls, entry: Mapping[str, Any]) -> Self:
        """Read an entry of the manifest; raises `TypeError` or `AttributeError` for one that isn't valid."""
        values = {key: value for key, value in entry.items() if key != "late"}
        return cls(**values, for_other_revisions=entry.get("late", False))

    def to_json(self) -> dict[str, Any]:
        """Return the entry as the manifest has it."""
        entry = asdict(self)
        entry["late"] = entry.pop("for_other_revisions")
        return entry


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view of the index. `revision` is as requested: when a ref moves, its new view replaces the old one.

    `loose` names its documents that no shard on disk holds; empty when there are none.
    """

    name: str
    commit: str
    revision: str
    files: int
    text_bytes: int
    loose: str = ""

    @property
    def protected(self) -> bool:
        """Whether it is the view of HEAD or the work tree, which is never deleted for others."""
        return self.revision in PROTECTED


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The files of an index, and the settings they were built with."""

    repository: str = ""
    max_file_size: int = 0
    shards: tuple[ShardEntry, ...] = ()
    views: tuple[ViewEntry, ...] = ()
    format: int = FORMAT

    def view_of(self, commit: str) -> ViewEntry | None:
        """Return the view of a commit, or None when it is not indexed."""
        return next((view for view in self.views if view.commit == commit), None)

    def to_json(self) -> dict[str, Any]:
        """Return the content of the manifest's file."""
        return {**asdict(self), "shards": [shard.to_json() for shard in self.shards]}

    @property
    def names(self) -> set[str]:
        """Names of all shards and views."""
        return self.shard_names | {view.name for view in self.views}

    @property
    def shard_names(self) -> set[str]:
        """Names of all shards, loose ones included."""
        return {shard.name for shard in self.shards} | {view.loose for view in self.views if view.loose}


EMPTY = IndexManifest()


class TextIndexFolder(IndexFolder[IndexManifest]):
    """The folder of one repository's text index, with the tables beside its shards."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, _parse)
        self._tables = {kind: ManifestFile(path / f"{kind}.json", _parse_tables) for kind in SIDE_TABLES}

    def manifest(self) -> IndexManifest:
        """Return the manifest, read again when the file has changed; empty when there is none.

        Raises `IndexDamaged` for a manifest that can't be read or has another format.
        """
        return self.manifest_file.read() or EMPTY

    def has_missing_files(self) -> bool:
        """Return whether a file that the manifest names is missing, so that the index must be rebuilt."""
        try:
            return not all((self.path / name).exists() for name in self.manifest().names if not is_loose(name))
        except IndexDamaged:
            return True

    def replace_manifest(self, manifest: IndexManifest) -> None:
        """Replace the manifest atomically; raises `IndexWriteFailed`."""
        self.replace_file(MANIFEST, manifest.to_json())
        # Two replacements within one tick of the file system's clock leave the same time behind.
        self.manifest_file.forget()

    def side_tables(self, kind: str) -> Mapping[str, str]:
        """Return the table of each shard that has one of this kind; unreadable entries count as none.

        May name shards that left the index: the next table takes over from theirs.
        """
        try:
            return self._tables[kind].read() or {}
        except (OSError, IndexDamaged):
            return {}

    def replace_side_tables(self, kind: str, tables: Mapping[str, str]) -> None:
        """Replace the tables of one kind atomically; raises `IndexWriteFailed`."""
        self.replace_file(f"{kind}.json", dict(tables))
        self._tables[kind].forget()

    def discard_unneeded(self) -> int:
        """Delete files that no manifest names, also temporary files of killed builders; return the bytes freed.

        The caller holds the lock.
        """
        try:
            current_names = self.manifest().names
        except IndexDamaged:
            # A manifest that can't be read names nothing: the index is built again.
            current_names = set()

        for kind in SIDE_TABLES:
            current_names |= {f"{kind}.json", *self.side_tables(kind).values()}

        return self.delete_except(current_names)


def _parse(path: Path, content: Any) -> IndexManifest:
    try:
        if content["format"] != FORMAT:
            raise IndexDamaged(str(path), f"format {content['format']}, this version reads {FORMAT}")
        shards = tuple(ShardEntry.from_json(entry) for entry in content.pop("shards"))
        views = tuple(ViewEntry(**entry) for entry in content.pop("views"))
        return replace(IndexManifest(**content), shards=shards, views=views)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(str(path), f"the manifest can't be read ({error})") from error


def _parse_tables(path: Path, content: Any) -> dict[str, str]:
    """Return the table of each shard; skip names that can't belong to a table."""
    kind = path.stem
    tables = {}
    for shard, name in content.items() if isinstance(content, dict) else ():
        match = _SIDE_NAME.fullmatch(name) if isinstance(name, str) else None
        if match is not None and match[1] == kind:
            # The name becomes a path in this folder. A name of another form could lead out of it.
            tables[shard] = name

    return tables
