"""Bringing tables of definitions up to date, small ones here, the others in worker processes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.engines.search.index.folder import RepositoryFolder
from sourcelight.engines.search.index.loose import LooseShard
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.model import IndexProgress, IndexReport, Target
from sourcelight.engines.search.scan.snapshot import Snapshot
from sourcelight.engines.search.symbol_files import TableOrder, build_table, pending
from sourcelight.engines.search.worker import MODULE, table_line
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.symbols import SymbolTable, version

_SMALL_BYTES = 512 * 1024
"""Bytes of a shard up to which its table is built in this process: a worker takes longer to start."""


class Store(Protocol):
    """What is needed of an `IndexStore`."""

    def open_symbols(self, target: Target) -> tuple[Snapshot, str, list[SymbolTable | None]]:
        """Open a target and the table of each of its shards."""
        ...

    def repository_folder(self, key: str) -> RepositoryFolder:
        """Give the folder of a repository's index."""
        ...

    def room(self) -> int | None:
        """Bytes that the indexes may still grow; None for no limit."""
        ...


class TableWork(Protocol):
    """A kind of table that stands beside shards, and how one is made."""

    @property
    def kind(self) -> str:
        """Name of the kind, as in `folder.SIDE_TABLES`."""
        ...

    def stale(self, target: Target) -> list[Shard]:
        """Give the shards of a target whose table is to be built; raises as `IndexStore.open` does."""
        ...

    def build(self, folder: RepositoryFolder, order: TableOrder, loose: LooseShard | None) -> tuple[int, int] | None:
        """Build the table of one shard; see `symbol_files.build_table`."""
        ...


@dataclass(frozen=True, slots=True)
class DefinitionsWork:
    """Tables of definitions."""

    store: Store
    kind: str = "symbols"

    def stale(self, target: Target) -> list[Shard]:
        """Give the shards of a target whose definitions are to be found."""
        snapshot, _, tables = self.store.open_symbols(target)
        return [snapshot.shards[number] for number in stale_shards(snapshot, tables)]

    def build(self, folder: RepositoryFolder, order: TableOrder, loose: LooseShard | None) -> tuple[int, int] | None:
        """Find the definitions of one shard."""
        return build_table(folder, order, loose)


def stale_shards(snapshot: Snapshot, tables: Sequence[SymbolTable | None]) -> list[int]:
    """Give the shards whose table is missing, was made by other rules, or lacks a file that can be read now."""
    return [
        number
        for number, table in enumerate(tables)
        if table is None or table.rules != version() or pending(snapshot.view, number, table)
    ]


@dataclass(slots=True)
class _Job:
    """A shard whose table is to be built, and the repositories' names that wait for it."""

    folder: Path
    key: str
    shard: str
    small: bool
    repository: str
    loose: LooseShard | None = None


@dataclass(slots=True)
class Update:
    """One call that brings tables of one kind up to date."""

    store: Store
    work: TableWork
    workers: int
    tell: Callable[[IndexProgress], None] | None
    cancellation: Cancellation
    _jobs: list[_Job] = field(default_factory=list)
    _left: dict[str, int] = field(default_factory=dict)
    _built: list[str] = field(default_factory=list)
    _current: list[str] = field(default_factory=list)
    _failures: dict[str, str] = field(default_factory=dict)
    _counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    _cancelled: bool = False

    def consider(self, target: Target) -> None:
        """Note what a target needs."""
        name, key = target.repository.name, target.repository.key
        try:
            stale = self.work.stale(target)
        except (SourcelightError, OSError) as fault:
            self._failures[name] = reason_of(fault)
            return
        known = {(job.key, job.shard) for job in self._jobs}
        folder = self.store.repository_folder(key).path
        jobs = [
            _Job(folder, key, shard.name, loose is not None or shard.text_bytes <= _SMALL_BYTES, name, loose)
            for shard, loose in ((shard, shard if isinstance(shard, LooseShard) else None) for shard in stale)
            if (key, shard.name) not in known
        ]
        self._jobs += jobs
        if jobs:
            self._left[name] = self._left.get(name, 0) + len(jobs)
        elif name not in self._left:
            self._current.append(name)

    def build(self) -> IndexReport:
        """Build all that waits and say what was done."""
        large = []
        for number, job in enumerate(self._jobs):
            if self.cancellation.cancelled:
                self._cancelled = True
                break
            if job.small:
                self._build_here(number, job)
            else:
                large.append(number)
        if large and not self._cancelled:
            self._build_in_workers(large)
        files = sum(count for count, _ in self._counts.values())
        size = sum(count for _, count in self._counts.values())
        return IndexReport(tuple(self._built), tuple(self._current), self._failures, files, size, self._cancelled)

    def _build_here(self, number: int, job: _Job) -> None:
        def stop() -> None:
            if self.cancellation.cancelled:
                raise Cancelled("the update was stopped")

        order = TableOrder(
            job.shard, stop, lambda files, size: self._progress(number, files, size), room=self.store.room()
        )
        try:
            read = self.work.build(self.store.repository_folder(job.key), order, job.loose)
        except Cancelled:
            self._cancelled = True
        except Exception as fault:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            self._finish(number, None, reason_of(fault))
        else:
            self._finish(number, read, "")

    def _build_in_workers(self, numbers: list[int]) -> None:
        def told(key: str, event: dict[str, Any]) -> None:
            number = int(key)
            if event["event"] == "progress":
                self._progress(number, event["files"], event["bytes"])
            elif event["event"] == "failed":
                self._finish(number, None, event["reason"])
            else:
                self._finish(number, event["read"] and tuple(event["read"]), "")

        def line(number: int) -> worker_pool.Job:
            job = self._jobs[number]
            settings = {"shard": job.shard, "room": self.store.room()}
            identity = f"{self.work.kind} {job.folder} {job.shard}"
            return worker_pool.Job(str(number), table_line(job.folder, settings, self.work.kind), identity)

        # Under a limit one after another, so that each knows what the others took.
        limited = self.store.room() is not None
        for together in [[number] for number in numbers] if limited else [numbers]:
            if not worker_pool.run(
                MODULE, list(map(line, together)), self.workers, told, lambda: self.cancellation.cancelled
            ):
                self._cancelled = True
                return

    def _progress(self, number: int, files: int, size: int) -> None:
        self._counts[number] = (files, size)
        self._tell(self._jobs[number].repository)

    def _finish(self, number: int, read: tuple[int, int] | None, reason: str) -> None:
        name = self._jobs[number].repository
        self._left[name] -= 1
        if reason:
            self._failures[name] = reason
        if not self._left[name] and name not in self._failures:
            self._built.append(name)
        self._counts[number] = read or self._counts.get(number, (0, 0))
        self._tell(name)

    def _tell(self, name: str) -> None:
        if self.tell is not None:
            waiting = sum(1 for left in self._left.values() if left)
            total = len({*self._left, *self._current, *self._failures})
            files = sum(count for count, _ in self._counts.values())
            size = sum(count for _, count in self._counts.values())
            self.tell(IndexProgress(total - waiting, total, files, size, name))
