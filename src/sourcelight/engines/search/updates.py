"""Bringing the text index up to date: small repositories here, the others in worker processes.

Bringing tables of definitions up to date, small ones here, the others in worker processes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, RepositoryError, SourcelightError
from sourcelight.engines.search.index.build import BuildOptions, FileTree
from sourcelight.engines.search.index.folder import PROTECTED, IndexFolder
from sourcelight.engines.search.index.shard import LOOSE_BYTES, LooseShard, Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import IndexProgress, IndexReport, Target
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.engines.search.side_tables import TableBuildOptions, build_table, pending
from sourcelight.engines.search.worker import MODULE, build_locked, order_line, table_line
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.symbols import SymbolTable, version
from sourcelight.repos import ObjectReader, resolve

_FEW = 16
"""Repositories up to which it pays to look in this process which of them are small."""

_LOOSE_FILES = 4000
_SMALL_FILES = 400
_SMALL_BYTES = 4 * 1024 * 1024


class TextIndexStore(Protocol):
    """What is needed of an `IndexStore`."""

    @property
    def max_file_size(self) -> int:
        """Bytes above which a file is matched by its name only."""
        ...

    def is_current(self, target: Target) -> bool:
        """Tell whether a target can be searched as it is."""
        ...

    def repository_folder(self, key: str) -> IndexFolder:
        """Give the folder of a repository's index."""
        ...

    def room(self) -> int | None:
        """Bytes that the indexes may still grow; None for no limit."""
        ...


@dataclass(slots=True)
class TextIndexUpdate:
    """One call of `IndexStore.update`.

    Parameters
    ----------
    store
        What is brought up to date.
    workers
        Most processes that build at a time.
    damaged
        Keys of repositories whose index is not trusted; those that are built anew are taken out.
    tell
        Called with how far the work is.
    cancellation
        Ends it early.
    """

    store: TextIndexStore
    workers: int
    damaged: set[str]
    tell: Callable[[IndexProgress], None] | None
    cancellation: Cancellation
    waiting: list[tuple[Target, str]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    built_keys: set[str] = field(default_factory=set)
    current: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    done: int = 0
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    cancelled: bool = False

    def consider(self, target: Target) -> None:
        """Note what a target needs."""
        name = target.repository.name
        try:
            if self.store.is_current(target):
                self.current.append(name)
                self.done += 1
            else:
                self.waiting.append((target, commit_of(target)))
        except (SourcelightError, OSError) as fault:
            self.failures[name] = reason_of(fault)
            self.done += 1

    def build(self) -> None:
        """Build all that waits: small ones here, the others in worker processes."""
        large = []
        for number, (target, commit) in enumerate(self.waiting):
            if self.cancellation.cancelled:
                self.cancelled = True
                return
            try:
                tree = self._small_tree(target, commit)
            except RepositoryError as fault:
                self._finish(number, None, reason_of(fault))
                continue
            if tree is None:
                large.append(number)
            else:
                self._build_here(number, target, commit, tree)
        if large and not self.cancelled:
            self._build_in_workers(large)

    def _small_tree(self, target: Target, commit: str) -> FileTree | None:
        """Give the files of a commit of which little is new; None for any other.

        Raises `RepositoryError` for a commit that names more than is read.
        """
        if len(self.waiting) > _FEW and target.revision in PROTECTED:
            return None
        try:
            manifest = self.store.repository_folder(target.repository.key).manifest()
            folder = self.store.repository_folder(target.repository.key).path
            lasting = [entry for entry in manifest.views if entry.protected] or manifest.views[-1:]
            known = {blob_id for entry in lasting for blob_id in CommitView(folder / entry.name).blob_ids()}
            stays_loose = bool(lasting) and target.revision not in PROTECTED
            most_files, most_bytes = (_LOOSE_FILES, LOOSE_BYTES) if stays_loose else (_SMALL_FILES, _SMALL_BYTES)
            with ObjectReader(target.repository) as reader:
                tree = reader.tree(commit)
                ids = {tree.blob_ids[at : at + 20] for at in range(0, len(tree.blob_ids), 20)} - known
                if len(ids) > most_files:
                    return None
                limit = self.store.max_file_size
                sizes = (reader.size(blob_id) or 0 for blob_id in ids)
                return tree if sum(size for size in sizes if size <= limit) <= most_bytes else None
        except RepositoryError:
            raise
        except (SourcelightError, OSError, ValueError):
            return None

    def _order(self, target: Target, commit: str) -> dict[str, Any]:
        return {
            "repository": target.repository.name,
            "commit": commit,
            "revision": target.revision,
            "max_file_size": self.store.max_file_size,
            "room": self.store.room(),
            "afresh": target.repository.key in self.damaged,
        }

    def _build_here(self, number: int, target: Target, commit: str, tree: FileTree) -> None:
        folder = self.store.repository_folder(target.repository.key)

        def stop() -> None:
            if self.cancellation.cancelled:
                raise Cancelled("the update was stopped")

        order = BuildOptions(
            **self._order(target, commit), stop=stop, tell=lambda files, size: self._progress(number, files, size)
        )
        try:
            built = build_locked(folder, target.repository, order, tree)
        except Cancelled:
            self.cancelled = True
        except Exception as fault:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            self._finish(number, None, reason_of(fault))
        else:
            self._finish(number, None if built is None else (built.read_files, built.read_bytes), "")

    def _build_in_workers(self, numbers: list[int]) -> None:
        jobs = list(map(self._job, numbers))

        def told(key: str, event: dict[str, Any]) -> None:
            number = int(key)
            if event["event"] == "progress":
                self._progress(number, event["files"], event["bytes"])
            elif event["event"] == "failed":
                self._finish(number, None, event["reason"])
            else:
                built = event["built"]
                self._finish(number, None if built is None else (built["read_files"], built["read_bytes"]), "")

        # Under a limit one after another, so that each knows what the others took.
        if self.store.room() is None:
            ended = worker_pool.run(MODULE, jobs, self.workers, told, lambda: self.cancellation.cancelled)
        else:
            ended = True
            for number in numbers:
                ended = worker_pool.run(MODULE, [self._job(number)], 1, told, lambda: self.cancellation.cancelled)
                if not ended:
                    break
        self.cancelled = self.cancelled or not ended

    def _job(self, number: int) -> worker_pool.WorkerJob:
        target, commit = self.waiting[number]
        folder = self.store.repository_folder(target.repository.key).path
        line = order_line(folder, target.repository, self._order(target, commit))
        return worker_pool.WorkerJob(str(number), line, f"text {folder} {commit} {self.store.max_file_size}")

    def _progress(self, number: int, files: int, size: int) -> None:
        self.counts[number] = (files, size)
        self._tell(self.waiting[number][0].repository.name)

    def _finish(self, number: int, counts: tuple[int, int] | None, reason: str) -> None:
        target = self.waiting[number][0]
        name = target.repository.name
        self.done += 1
        if reason:
            self.failures[name] = reason
        else:
            self.damaged.discard(target.repository.key)
            (self.current if counts is None else self.built).append(name)
            self.built_keys.add(target.repository.key)
        self.counts[number] = counts or self.counts.get(number, (0, 0))
        self._tell(name)

    def _tell(self, name: str) -> None:
        if self.tell is not None:
            total = len(self.waiting) + len(self.current) + len(self.failures)
            files = sum(count for count, _ in self.counts.values())
            size = sum(count for _, count in self.counts.values())
            self.tell(IndexProgress(self.done, max(total, self.done), files, size, name))

    def report(self) -> IndexReport:
        """Say what was done."""
        files = sum(count for count, _ in self.counts.values())
        size = sum(count for _, count in self.counts.values())
        return IndexReport(tuple(self.built), tuple(self.current), self.failures, files, size, self.cancelled)


def commit_of(target: Target) -> str:
    """The commit of a target, resolved where it is not given."""
    return target.commit or resolve(target.repository, target.revision)


_SMALL_TABLE_BYTES = 512 * 1024
"""Bytes of a shard up to which its table is built in this process: a worker takes longer to start."""


class SideTableStore(Protocol):
    """What is needed of an `IndexStore`."""

    def open_symbols(self, target: Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        """Open a target and the table of each of its shards."""
        ...

    def repository_folder(self, key: str) -> IndexFolder:
        """Give the folder of a repository's index."""
        ...

    def room(self) -> int | None:
        """Bytes that the indexes may still grow; None for no limit."""
        ...


class SideTableKind(Protocol):
    """A kind of table that stands beside shards, and how one is made."""

    @property
    def kind(self) -> str:
        """Name of the kind, as in `folder.SIDE_TABLES`."""
        ...

    def stale(self, target: Target) -> list[Shard]:
        """Give the shards of a target whose table is to be built; raises as `IndexStore.open` does."""
        ...

    def build(self, folder: IndexFolder, order: TableBuildOptions, loose: LooseShard | None) -> tuple[int, int] | None:
        """Build the table of one shard; see `symbol_files.build_table`."""
        ...


@dataclass(frozen=True, slots=True)
class DefinitionTables:
    """Tables of definitions."""

    store: SideTableStore
    kind: str = "symbols"

    def stale(self, target: Target) -> list[Shard]:
        """Give the shards of a target whose definitions are to be found."""
        snapshot, _, tables = self.store.open_symbols(target)
        return [snapshot.shards[number] for number in stale_shards(snapshot, tables)]

    def build(self, folder: IndexFolder, order: TableBuildOptions, loose: LooseShard | None) -> tuple[int, int] | None:
        """Find the definitions of one shard."""
        return build_table(folder, order, loose)


def stale_shards(snapshot: OpenedCommit, tables: Sequence[SymbolTable | None]) -> list[int]:
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
class SideTableUpdate:
    """One call that brings tables of one kind up to date."""

    store: SideTableStore
    work: SideTableKind
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
            _Job(folder, key, shard.name, loose is not None or shard.text_bytes <= _SMALL_TABLE_BYTES, name, loose)
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

        order = TableBuildOptions(
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

        def line(number: int) -> worker_pool.WorkerJob:
            job = self._jobs[number]
            settings = {"shard": job.shard, "room": self.store.room()}
            identity = f"{self.work.kind} {job.folder} {job.shard}"
            return worker_pool.WorkerJob(str(number), table_line(job.folder, settings, self.work.kind), identity)

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
