"""Tables beside the shards of an index: one file for each shard and kind, with the same document numbers.

``<kind>.json`` in a repository's folder maps each shard to its table. It is replaced atomically, under the folder's
lock, when a table is complete on disk; until then readers have the old table, or none. Building runs without the lock,
so it never delays an update of the text. Tables are keyed by blob id: the table of a rewritten shard takes over what
older tables have.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from sourcelight.core.caching import LruCache
from sourcelight.core.errors import IndexDamaged, IndexWriteFailed
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.storage.sections import Kind, SectionFile, write_sections

_MAX_OPEN_TABLES = 400
"""Tables that are open: each is a mapped file."""

_PROGRESS_BYTES = 1024 * 1024
"""Bytes between two reports of progress."""


@dataclass(slots=True)
class TableBuildOptions:
    """The shard whose table to build, limits and callbacks.

    `check_cancelled` is called between files and raises to end the build; `on_progress` gets the files and bytes read
    so far. `budget_bytes` is the maximum size of the table, None: no limit.
    """

    shard: str
    check_cancelled: Callable[[], None]
    on_progress: Callable[[int, int], None]
    budget_bytes: int | None = None


class OpenedTable(Protocol):
    """Interface that all kinds of tables share."""

    documents: int
    rules: str

    @property
    def by_key(self) -> dict[bytes, int]:
        """Document numbers by blob id."""
        ...


class TableContent(Protocol):
    """A builder whose table is complete."""

    def metadata(self) -> Mapping[str, Any]:
        """Return metadata of the file; ``rules`` and ``documents`` are part of it."""
        ...

    def sections(self) -> Mapping[str, Any]:
        """Return the arrays of the file."""
        ...


T = TypeVar("T", bound=OpenedTable)


@dataclass(frozen=True, slots=True)
class SideTable(Generic[T]):
    """A kind of table.

    Parameters
    ----------
    kind
        Its name, on disk too.
    rules
        Names the rules that make such tables now: a table of other rules is built again.
    read
        Makes a table of its file; may raise `IndexDamaged`, ValueError and KeyError.
    """

    kind: Kind
    rules: Callable[[], str]
    read: Callable[[SectionFile], T]

    def open(self, folder: TextIndexFolder, name: str) -> T | None:
        """Open a table and check all of its bytes; return None if it is missing, damaged or of another format."""
        try:
            file = SectionFile(folder.path / name, self.kind)
            # All bytes at once: tables are small, and a damaged one is found before a search depends on it.
            file.verify()
            return self.read(file)
        except (IndexDamaged, OSError, ValueError, KeyError):
            return None

    def previous(self, folder: TextIndexFolder) -> list[T]:
        """Open the existing tables that were made by the current rules; damaged ones are left out."""
        names = dict.fromkeys(folder.side_tables(self.kind).values())
        open_tables = (self.open(folder, name) for name in names)
        return [table for table in open_tables if table is not None and table.rules == self.rules()]

    def store(self, folder: TextIndexFolder, options: TableBuildOptions, content: TableContent) -> bool:
        """Write a table and name it in the folder; False when the index has dropped the shard meanwhile.

        Raises `IndexWriteFailed`, or what `options.check_cancelled` raises; the previous tables then stay in place.
        """
        with folder.lock(options.check_cancelled):
            current = folder.manifest()
            if options.shard not in current.names:
                return False

            name = write_sections(folder.path, self.kind, content.metadata(), content.sections())
            path = folder.path / name
            if options.budget_bytes is not None and path.stat().st_size > options.budget_bytes:
                path.unlink(missing_ok=True)
                raise IndexWriteFailed(str(folder.path), "the index has reached its size limit (max_bytes)")

            tables = {**folder.side_tables(self.kind), options.shard: name}
            # Tables of dropped shards stay until every shard has its own: until then, a build can take over from them.
            if current.shard_names <= set(tables):
                tables = {shard: table for shard, table in tables.items() if shard in current.shard_names}

            folder.replace_side_tables(self.kind, tables)
            folder.discard_unneeded()

        return True


@contextmanager
def paused_collector() -> Iterator[None]:
    """Turn the garbage collector off: parsing makes many objects and no cycles, and it took a third of the time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


class TableProgress:
    """Counts the files and bytes that a build reads, and reports them about once per megabyte."""

    def __init__(self, options: TableBuildOptions) -> None:
        self._options = options
        self._reported_bytes = 0
        self.files = 0
        self.bytes = 0

    def add(self, size: int, *, files: int = 1) -> None:
        """Count the bytes that were read, and report them when a report is due."""
        self.files += files
        self.bytes += size
        if self.bytes - self._reported_bytes >= _PROGRESS_BYTES:
            self._reported_bytes = self.bytes
            self._options.on_progress(self.files, self.bytes)


def table_with(previous: Iterable[T], key: bytes) -> T | None:
    """Return the first of some tables that has a blob."""
    return next((table for table in previous if key in table.by_key), None)


class OpenTables(Generic[T]):
    """The open tables of one kind. Safe to share between threads."""

    def __init__(self, side_table: SideTable[T]) -> None:
        self._side_table = side_table
        self._open: LruCache[tuple[str, str], T | None] = LruCache(_MAX_OPEN_TABLES)

    def tables(self, folder: TextIndexFolder, shards: Iterable[Shard]) -> list[T | None]:
        """Open the table of each shard; return None without a usable one."""
        names = folder.side_tables(self._side_table.kind)
        return [self._table(folder, names[shard.name], shard) if shard.name in names else None for shard in shards]

    def forget(self, folder: TextIndexFolder) -> None:
        """Close the tables of a folder."""
        path = str(folder.path)
        self._open.discard_where(lambda key: key[0] == path)

    def _table(self, folder: TextIndexFolder, name: str, shard: Shard) -> T | None:
        table = self._open.get_or_make(
            (str(folder.path), name),
            lambda: self._side_table.open(folder, name),
            keep=lambda table: table is not None,
        )
        return table if table is not None and table.documents == shard.documents else None
