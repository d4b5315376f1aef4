"""The folder of one repository's index: its manifest, its lock, and which of its files are still needed.

The manifest names every file that counts. It is replaced in one step, so a reader sees the former index or the new
one, whatever happens to the builder. Files that no manifest names any more are deleted by the next builder; a reader
that comes too late for one of them reads the manifest again.
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
from sourcelight.engines.storage.folder import held, manifest_bytes, read_manifest, write_failed
from sourcelight.engines.storage.sections import FORMAT
from sourcelight.repos.private_files import make_private_folder, open_private

MANIFEST = "manifest.json"
LOCK = "lock"
PROTECTED = frozenset({"", "WORKTREE"})
"""Revisions whose views are never dropped to make room."""

SYMBOLS = "symbols.json"
SIDE_TABLES = ("symbols", "terms")
"""Kinds of tables that stand beside shards; ``<kind>.json`` names the table of each shard."""

_SIDE_NAME = re.compile(r"([a-z]+)-[0-9a-f]+")
_ORPHAN_S = 3600


@dataclass(frozen=True, slots=True)
class ShardEntry:
    """A shard that counts: its file, how much it holds, and whether it was added after the first build.

    A `late` one holds what a revision beside the default ones has of its own.
    """

    name: str
    documents: int
    text_bytes: int
    delta: bool = False
    late: bool = False


@dataclass(frozen=True, slots=True)
class ViewEntry:
    """A view that counts. `revision` is as it was asked for, so that a moved ref replaces its former view.

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
        """Whether it shows a default revision, HEAD or the work tree, and so stays whatever else is searched."""
        return self.revision in PROTECTED


@dataclass(frozen=True, slots=True)
class IndexManifest:
    """The files that count, and the settings they were built with."""

    repository: str = ""
    max_file_size: int = 0
    shards: tuple[ShardEntry, ...] = ()
    views: tuple[ViewEntry, ...] = ()
    format: int = FORMAT

    def view_of(self, commit: str) -> ViewEntry | None:
        """Find the view of a commit."""
        return next((view for view in self.views if view.commit == commit), None)

    @property
    def names(self) -> set[str]:
        """Names of all files that count."""
        return self.shard_names | {view.name for view in self.views}

    @property
    def shard_names(self) -> set[str]:
        """Names of all shards that count, loose ones included."""
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
    except (ValueError, TypeError, KeyError, AttributeError) as fault:
        raise IndexDamaged(str(path), f"the manifest can't be read ({fault})") from fault


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
        """Read the manifest, or give the one read last if it is unchanged; empty when there is none.

        Raises `IndexDamaged` for one that can't be read or is of another format.
        """
        file = self._file = self._file or os.fspath(self.path / MANIFEST)
        try:
            info = os.stat(file)  # noqa: PTH116 - for every search and repository, in half the time
            stamp = (info.st_ino, info.st_mtime_ns, info.st_size)
            with self._guard:
                if stamp == self._stamp:
                    return self._manifest
            found = _parse(Path(file))
        except (FileNotFoundError, NotADirectoryError):
            return EMPTY
        with self._guard:
            self._stamp, self._manifest = stamp, found
        return found

    def lacks_files(self) -> bool:
        """Tell whether a file that the manifest names is not there: its index must be built anew."""
        try:
            return not all((self.path / name).exists() for name in self.manifest().names if not is_loose(name))
        except IndexDamaged:
            return True

    @property
    def watched(self) -> tuple[str, tuple[int, int, int] | None]:
        """The manifest's file, and its identity, time and size when it was read last."""
        with self._guard:
            return self._file, self._stamp

    def replace_manifest(self, manifest: IndexManifest) -> None:
        """Make `manifest` the one that counts, in one step; raises `IndexWriteFailed`."""
        self._replace(MANIFEST, manifest_bytes(asdict(manifest)))
        with self._guard:
            self._stamp = None

    def _replace(self, name: str, text: bytes) -> None:
        temporary = self.path / f"tmp-{os.getpid()}-{os.urandom(6).hex()}"
        try:
            with open_private(temporary, "xb") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(self.path / name)
        except OSError as fault:
            raise write_failed(self.path, fault) from fault
        finally:
            temporary.unlink(missing_ok=True)

    def side_tables(self, kind: str) -> dict[str, str]:
        """Give the table of that kind of each shard that has one; what can't be read counts as none.

        It may name shards that count no longer: what their tables know is taken over when the next one is built.
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
        found = {}
        for shard, name in raw.items() if isinstance(raw, dict) else ():
            parts = _SIDE_NAME.fullmatch(name) if isinstance(name, str) else None
            if parts is not None and parts[1] == kind:
                found[shard] = name
        with self._guard:
            self._side[kind] = stamp, found
        return dict(found)

    def replace_side_tables(self, kind: str, tables: Mapping[str, str]) -> None:
        """Make these the tables of that kind that count, in one step; raises `IndexWriteFailed`."""
        self._replace(f"{kind}.json", manifest_bytes(dict(tables)))
        with self._guard:
            self._side.pop(kind, None)

    def symbol_tables(self) -> dict[str, str]:
        """Give the tables of definitions; see `side_tables`."""
        return self.side_tables("symbols")

    def replace_symbol_tables(self, tables: Mapping[str, str]) -> None:
        """Make these the tables of definitions that count; see `replace_side_tables`."""
        self.replace_side_tables("symbols", tables)

    def discard_unneeded(self) -> int:
        """Delete what no manifest names, temporary files of dead builders included; give the bytes freed.

        Call it with the lock held. A file that can't be deleted (Windows: in use) is left for the next time.
        """
        try:
            needed = self.manifest().names
        except IndexDamaged:
            needed = set()
        for kind in SIDE_TABLES:
            needed.update(self.side_tables(kind).values())
        kept = {MANIFEST, LOCK, *(f"{kind}.json" for kind in SIDE_TABLES)}
        freed = 0
        for file in self.path.iterdir():
            if file.name in needed or file.name in kept:
                continue
            with contextlib.suppress(OSError):
                size = file.stat().st_size
                file.unlink()
                freed += size
        return freed

    def disk_bytes(self) -> int:
        """Bytes that the folder takes."""
        total = 0
        with contextlib.suppress(OSError):
            for file in self.path.iterdir():
                with contextlib.suppress(OSError):
                    total += file.stat().st_size
        return total

    @contextlib.contextmanager
    def locked(self, stop: Callable[[], None]) -> Iterator[None]:
        """Hold the repository's lock, which dies with its process; `stop` is called while waiting and may raise."""
        try:
            make_private_folder(self.path)
            file = open_private(self.path / LOCK, "a+b")
        except OSError as fault:
            raise write_failed(self.path, fault) from fault
        with file, held(file, stop):
            yield
