"""The folder of one repository's index: its manifest, its lock, and deletion of files that no manifest names.

The manifest names every file of the index. It is replaced atomically, so a reader sees the old index or the new one,
even when the builder is killed. The next builder deletes files that are no longer named; a reader that finds one of
them gone reads the manifest again.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from sourcelight.core.errors import IndexDamaged
from sourcelight.engines.search.index.shard import is_loose
from sourcelight.engines.storage.folder import lock_file, manifest_bytes, read_manifest, write_failed
from sourcelight.engines.storage.sections import FORMAT
from sourcelight.repos.private_files import make_private_folder, open_private

MANIFEST = "manifest.json"
LOCK = "lock"
PROTECTED = frozenset({"", "WORKTREE"})
"""Revisions whose views are never deleted: HEAD and the work tree."""

SYMBOLS = "symbols.json"
SIDE_TABLES = ("symbols", "terms")
"""Kinds of tables that are stored beside shards; ``<kind>.json`` maps each shard to its table."""

_SIDE_NAME = re.compile(r"([a-z]+)-[0-9a-f]+")
_ORPHAN_S = 3600


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard of the index. A `delta` was added after the first build; a `late` one holds blobs of other revisions."""

    name: str
    documents: int
    text_bytes: int
    delta: bool = False
    late: bool = False


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
        """Return the view of a commit; None when it is not indexed."""
        return next((view for view in self.views if view.commit == commit), None)

    @property
    def names(self) -> set[str]:
        """Names of all shards and views."""
        return self.shard_names | {view.name for view in self.views}

    @property
    def shard_names(self) -> set[str]:
        """Names of all shards, loose ones included."""
        return {shard.name for shard in self.shards} | {view.loose for view in self.views if view.loose}


EMPTY = IndexManifest()


def _parse(path: Path) -> IndexManifest:
    raw: dict[str, Any] = read_manifest(path)
    try:
        if raw["format"] != FORMAT:
            raise IndexDamaged(str(path), f"format {raw['format']}, this version reads {FORMAT}")
        shards = tuple(ShardEntry(**entry) for entry in raw.pop("shards"))
        views = tuple(ViewEntry(**entry) for entry in raw.pop("views"))
        return replace(IndexManifest(**raw), shards=shards, views=views)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(str(path), f"the manifest can't be read ({error})") from error


@dataclass(slots=True)
class IndexFolder:
    """The folder of one repository's index."""

    path: Path
    _file: str = ""
    _stamp: tuple[int, int, int] | None = None
    _manifest: IndexManifest = EMPTY
    _side: dict[str, tuple[tuple[int, int, int], dict[str, str]]] = field(default_factory=dict)
    _side_files: dict[str, str] = field(default_factory=dict)
    _guard: threading.Lock = field(default_factory=threading.Lock)

    def manifest(self) -> IndexManifest:
        """Return the manifest, read again when the file has changed; empty when there is none.

        Raises `IndexDamaged` for a manifest that can't be read or has another format.
        """
        file = self._file = self._file or os.fspath(self.path / MANIFEST)
        try:
            info = os.stat(file)  # noqa: PTH116 - for every search and repository, in half the time
            # A new manifest is renamed over the old one and so has another inode; time and size tell where one is
            # reused.
            stamp = (info.st_ino, info.st_mtime_ns, info.st_size)
            with self._guard:
                if stamp == self._stamp:
                    return self._manifest
            manifest = _parse(Path(file))
        except (FileNotFoundError, NotADirectoryError):
            return EMPTY
        with self._guard:
            self._stamp, self._manifest = stamp, manifest
        return manifest

    def has_missing_files(self) -> bool:
        """Return whether a file that the manifest names is missing, so that the index must be rebuilt."""
        try:
            return not all((self.path / name).exists() for name in self.manifest().names if not is_loose(name))
        except IndexDamaged:
            return True

    @property
    def watched_file(self) -> tuple[str, tuple[int, int, int] | None]:
        """Path of the manifest, and its inode, mtime and size when it was last read."""
        with self._guard:
            return self._file, self._stamp

    def replace_manifest(self, manifest: IndexManifest) -> None:
        """Replace the manifest atomically; raises `IndexWriteFailed`."""
        self._replace(MANIFEST, manifest_bytes(asdict(manifest)))
        with self._guard:
            self._stamp = None

    def _replace(self, name: str, text: bytes) -> None:
        temporary = self.path / f"tmp-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            with open_private(temporary, "xb") as file:
                file.write(text)
                file.flush()
                # On disk before the rename: after a power cut, the name must not stand for an empty file.
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        except OSError as error:
            raise write_failed(self.path, error) from error
        finally:
            temporary.unlink(missing_ok=True)

    def side_tables(self, kind: str) -> dict[str, str]:
        """Return the table of each shard that has one of this kind; unreadable entries count as none.

        Shards that are no longer part of the index may be named: the next table takes over what theirs has.
        """
        name = f"{kind}.json"
        file = self._side_files.get(kind) or self._side_files.setdefault(kind, os.fspath(self.path / name))
        try:
            info = os.stat(file)  # noqa: PTH116 - for every search and repository, in half the time
            stamp = (info.st_ino, info.st_mtime_ns, info.st_size)
            with self._guard:
                if kind in self._side and stamp == self._side[kind][0]:
                    return dict(self._side[kind][1])
            raw = read_manifest(Path(file))
        except (OSError, IndexDamaged):
            return {}
        tables = {}
        for shard, name in raw.items() if isinstance(raw, dict) else ():
            match = _SIDE_NAME.fullmatch(name) if isinstance(name, str) else None
            if match is not None and match[1] == kind:
                tables[shard] = name
        with self._guard:
            self._side[kind] = stamp, tables
        return dict(tables)

    def replace_side_tables(self, kind: str, tables: Mapping[str, str]) -> None:
        """Replace the tables of one kind atomically; raises `IndexWriteFailed`."""
        self._replace(f"{kind}.json", manifest_bytes(dict(tables)))
        with self._guard:
            self._side.pop(kind, None)

    def symbol_tables(self) -> dict[str, str]:
        """Return the definition tables; see `side_tables`."""
        return self.side_tables("symbols")

    def replace_symbol_tables(self, tables: Mapping[str, str]) -> None:
        """Replace the definition tables; see `replace_side_tables`."""
        self.replace_side_tables("symbols", tables)

    def discard_unneeded(self) -> int:
        """Delete files that no manifest names, also temporary files of killed builders; return the bytes freed.

        The caller holds the lock. A file that can't be deleted (on Windows: one in use) stays until the next call.
        """
        try:
            needed = self.manifest().names
        except IndexDamaged:
            # A manifest that can't be read names nothing: the index is built anew.
            needed = set()
        for kind in SIDE_TABLES:
            needed.update(self.side_tables(kind).values())
        fixed_names = {MANIFEST, LOCK, *(f"{kind}.json" for kind in SIDE_TABLES)}
        freed = 0
        for file in self.path.iterdir():
            if file.name in needed or file.name in fixed_names:
                continue
            with contextlib.suppress(OSError):
                size = file.stat().st_size
                file.unlink()
                freed += size
        return freed

    def disk_bytes(self) -> int:
        """Return the size of the folder on disk."""
        total = 0
        with contextlib.suppress(OSError):
            for file in self.path.iterdir():
                with contextlib.suppress(OSError):
                    total += file.stat().st_size
        return total

    @contextlib.contextmanager
    def lock(self, stop: Callable[[], None]) -> Iterator[None]:
        """Hold the lock of the repository; `stop` is called while waiting and may raise.

        The operating system releases the lock when the process dies.
        """
        try:
            make_private_folder(self.path)
            file = open_private(self.path / LOCK, "a+b")
        except OSError as error:
            raise write_failed(self.path, error) from error
        with file, lock_file(file, stop):
            yield
