"""Update the text index and the tables beside its shards: small jobs in this process, the others in workers.

Both updates are the same loop: `add` targets, then `build`. They differ in their jobs: a target for the text index, a
shard for side tables, which repositories may share.
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
from sourcelight.engines.search.index.shard import MAX_LOOSE_BYTES, LooseShard, Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import IndexProgress, IndexReport, Target
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.engines.search.side_tables import TableBuildOptions, build_table, pending_count
from sourcelight.engines.search.worker import MODULE, build_locked, request_line, table_line
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import reason_of
from sourcelight.engines.symbols import SymbolTable, version
from sourcelight.repos import ObjectReader, resolve

_MAX_INSPECTED = 16
"""Repositories up to which reading their trees here, to find the small ones, costs less than starting workers."""

# Below these sizes a build in this process takes less time than starting a worker.
_MAX_LOOSE_FILES = 4000
_MAX_LOCAL_FILES = 400
_MAX_LOCAL_BYTES = 4 * 1024 * 1024


class TextIndexStore(Protocol):
    """What `TextIndexUpdate` needs of an `IndexStore`."""

    @property
    def max_file_size(self) -> int:
        """Bytes above which a file is matched by its name only."""
        ...

    def is_current(self, target: Target) -> bool:
        """Return whether the index of a target is up to date."""
        ...

    def repository_folder(self, key: str) -> IndexFolder:
        """Return the folder of a repository's index."""
        ...

    def budget_bytes(self) -> int | None:
        """Return the bytes that all indexes may still grow; None: no limit."""
        ...


@dataclass(slots=True)
class TextIndexUpdate:
    """One call of `IndexStore.update`.

    Parameters
    ----------
    store
        The store to update.
    workers
        Maximum number of worker processes.
    damaged
        Keys of repositories with a damaged index; the update removes those that it has rebuilt.
    on_progress
        Called after each step.
    cancellation
        Stops the update.
    """

    store: TextIndexStore
    workers: int
    damaged: set[str]
    on_progress: Callable[[IndexProgress], None] | None
    cancellation: Cancellation
    pending: list[tuple[Target, str]] = field(default_factory=list)
    built: list[str] = field(default_factory=list)
    built_keys: set[str] = field(default_factory=set)
    current: list[str] = field(default_factory=list)
    failures: dict[str, str] = field(default_factory=dict)
    finished: int = 0
    counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    cancelled: bool = False

    def add(self, target: Target) -> None:
        """Add a target, unless its index is current."""
        name = target.repository.name
        try:
            if self.store.is_current(target):
                self.current.append(name)
                self.finished += 1
            else:
                self.pending.append((target, commit_of(target)))
        except (SourcelightError, OSError) as error:
            self.failures[name] = reason_of(error)
            self.finished += 1

    def build(self) -> None:
        """Build all pending indexes: small ones in this process, the others in workers."""
        large = []
        for job_index, (target, commit) in enumerate(self.pending):
            if self.cancellation.cancelled:
                self.cancelled = True
                return
            try:
                tree = self._small_tree(target, commit)
            except RepositoryError as error:
                self._finish(job_index, None, reason_of(error))
                continue
            if tree is None:
                large.append(job_index)
            else:
                self._build_local(job_index, target, commit, tree)
        if large and not self.cancelled:
            self._build_in_workers(large)

    def _small_tree(self, target: Target, commit: str) -> FileTree | None:
        """Return the files of a commit that has little new content; None for any other commit.

        Raises `RepositoryError` for a commit whose tree exceeds the limits.
        """
        if len(self.pending) > _MAX_INSPECTED and target.revision in PROTECTED:
            return None
        try:
            manifest = self.store.repository_folder(target.repository.key).manifest()
            folder = self.store.repository_folder(target.repository.key).path
            views = [entry for entry in manifest.views if entry.protected] or manifest.views[-1:]
            indexed = {blob_id for entry in views for blob_id in CommitView(folder / entry.name).blob_ids()}
            stays_loose = bool(views) and target.revision not in PROTECTED
            max_files, max_bytes = (
                (_MAX_LOOSE_FILES, MAX_LOOSE_BYTES) if stays_loose else (_MAX_LOCAL_FILES, _MAX_LOCAL_BYTES)
            )
            with ObjectReader(target.repository) as reader:
                tree = reader.tree(commit)
                new_blobs = {
                    tree.blob_ids[offset : offset + 20] for offset in range(0, len(tree.blob_ids), 20)
                } - indexed
                if len(new_blobs) > max_files:
                    return None
                limit = self.store.max_file_size
                sizes = (reader.size(blob_id) or 0 for blob_id in new_blobs)
                return tree if sum(size for size in sizes if size <= limit) <= max_bytes else None
        except RepositoryError:
            raise
        except (SourcelightError, OSError, ValueError):
            return None

    def _settings(self, target: Target, commit: str) -> dict[str, Any]:
        return {
            "repository": target.repository.name,
            "commit": commit,
            "revision": target.revision,
            "max_file_size": self.store.max_file_size,
            "budget_bytes": self.store.budget_bytes(),
            "rebuild": target.repository.key in self.damaged,
        }

    def _build_local(self, number: int, target: Target, commit: str, tree: FileTree) -> None:
        folder = self.store.repository_folder(target.repository.key)

        def check_cancelled() -> None:
            if self.cancellation.cancelled:
                raise Cancelled("the update was stopped")

        options = BuildOptions(
            **self._settings(target, commit),
            check_cancelled=check_cancelled,
            on_progress=lambda files, size: self._progress(number, files, size),
        )
        try:
            result = build_locked(folder, target.repository, options, tree)
        except Cancelled:
            self.cancelled = True
        except Exception as error:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            self._finish(number, None, reason_of(error))
        else:
            self._finish(number, None if result is None else (result.read_files, result.read_bytes), "")

    def _build_in_workers(self, numbers: list[int]) -> None:
        jobs = list(map(self._job, numbers))

        def on_event(key: str, event: dict[str, Any]) -> None:
            number = int(key)
            if event["event"] == "progress":
                self._progress(number, event["files"], event["bytes"])
            elif event["event"] == "failed":
                self._finish(number, None, event["reason"])
            else:
                built = event["built"]
                self._finish(number, None if built is None else (built["read_files"], built["read_bytes"]), "")

        # With a limit, one build after another: each must know how much the previous ones used.
        if self.store.budget_bytes() is None:
            is_complete = worker_pool.run(MODULE, jobs, self.workers, on_event, lambda: self.cancellation.cancelled)
        else:
            is_complete = True
            for number in numbers:
                is_complete = worker_pool.run(
                    MODULE, [self._job(number)], 1, on_event, lambda: self.cancellation.cancelled
                )
                if not is_complete:
                    break
        self.cancelled = self.cancelled or not is_complete

    def _job(self, number: int) -> worker_pool.WorkerJob:
        target, commit = self.pending[number]
        folder = self.store.repository_folder(target.repository.key).path
        line = request_line(folder, target.repository, self._settings(target, commit))
        return worker_pool.WorkerJob(str(number), line, f"text {folder} {commit} {self.store.max_file_size}")

    def _progress(self, number: int, files: int, size: int) -> None:
        self.counts[number] = (files, size)
        self._report(self.pending[number][0].repository.name)

    def _finish(self, number: int, counts: tuple[int, int] | None, reason: str) -> None:
        target = self.pending[number][0]
        name = target.repository.name
        self.finished += 1
        if reason:
            self.failures[name] = reason
        else:
            self.damaged.discard(target.repository.key)
            (self.current if counts is None else self.built).append(name)
            self.built_keys.add(target.repository.key)
        self.counts[number] = counts or self.counts.get(number, (0, 0))
        self._report(name)

    def _report(self, name: str) -> None:
        if self.on_progress is not None:
            total = len(self.pending) + len(self.current) + len(self.failures)
            files = sum(count for count, _ in self.counts.values())
            size = sum(count for _, count in self.counts.values())
            self.on_progress(IndexProgress(self.finished, max(total, self.finished), files, size, name))

    def report(self) -> IndexReport:
        """Return what the update did."""
        files = sum(count for count, _ in self.counts.values())
        size = sum(count for _, count in self.counts.values())
        return IndexReport(tuple(self.built), tuple(self.current), self.failures, files, size, self.cancelled)


def commit_of(target: Target) -> str:
    """Return the commit of a target, resolving its revision when it has none."""
    return target.commit or resolve(target.repository, target.revision)


_MAX_LOCAL_TABLE_BYTES = 512 * 1024
"""Bytes of a shard up to which its table is built in this process; starting a worker takes longer."""


class SideTableStore(Protocol):
    """What `SideTableUpdate` needs of an `IndexStore`."""

    def open_symbols(self, target: Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        """Open a target, and the definition table of each of its shards."""
        ...

    def repository_folder(self, key: str) -> IndexFolder:
        """Return the folder of a repository's index."""
        ...

    def budget_bytes(self) -> int | None:
        """Return the bytes that all indexes may still grow; None: no limit."""
        ...


class SideTableKind(Protocol):
    """A kind of table that is stored beside shards, and how one is built."""

    @property
    def kind(self) -> str:
        """Name of the kind, as in `folder.SIDE_TABLES`."""
        ...

    def stale(self, target: Target) -> list[Shard]:
        """Return the shards of a target whose table must be built; raises as `IndexStore.open` does."""
        ...

    def build(
        self, folder: IndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> tuple[int, int] | None:
        """Build the table of one shard; see `side_tables.build_table`."""
        ...


@dataclass(frozen=True, slots=True)
class DefinitionTables:
    """Definition tables as a `SideTableKind`."""

    store: SideTableStore
    kind: str = "symbols"

    def stale(self, target: Target) -> list[Shard]:
        """Return the shards of a target whose definitions must be parsed."""
        snapshot, _, tables = self.store.open_symbols(target)
        return [snapshot.shards[number] for number in stale_shards(snapshot, tables)]

    def build(
        self, folder: IndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> tuple[int, int] | None:
        """Parse the definitions of one shard."""
        return build_table(folder, options, loose)


def stale_shards(snapshot: OpenedCommit, tables: Sequence[SymbolTable | None]) -> list[int]:
    """Return the shards whose table is missing, was made by other rules, or lacks a file that can be parsed now."""
    return [
        number
        for number, table in enumerate(tables)
        if table is None or table.rules != version() or pending_count(snapshot.view, number, table)
    ]


@dataclass(slots=True)
class _TableJob:
    """A shard whose table must be built, and the repository that waits for it."""

    folder: Path
    key: str
    shard: str
    small: bool
    repository: str
    loose: LooseShard | None = None


@dataclass(slots=True)
class SideTableUpdate:
    """One update of the tables of one kind."""

    store: SideTableStore
    kind: SideTableKind
    workers: int
    on_progress: Callable[[IndexProgress], None] | None
    cancellation: Cancellation
    _jobs: list[_TableJob] = field(default_factory=list)
    _remaining: dict[str, int] = field(default_factory=dict)
    _built: list[str] = field(default_factory=list)
    _current: list[str] = field(default_factory=list)
    _failures: dict[str, str] = field(default_factory=dict)
    _counts: dict[int, tuple[int, int]] = field(default_factory=dict)
    _cancelled: bool = False

    def add(self, target: Target) -> None:
        """Add the shards of a target whose table must be built."""
        name, key = target.repository.name, target.repository.key
        try:
            stale = self.kind.stale(target)
        except (SourcelightError, OSError) as error:
            self._failures[name] = reason_of(error)
            return
        existing = {(job.key, job.shard) for job in self._jobs}
        folder = self.store.repository_folder(key).path
        jobs = [
            _TableJob(
                folder, key, shard.name, loose is not None or shard.text_bytes <= _MAX_LOCAL_TABLE_BYTES, name, loose
            )
            for shard, loose in ((shard, shard if isinstance(shard, LooseShard) else None) for shard in stale)
            if (key, shard.name) not in existing
        ]
        self._jobs += jobs
        if jobs:
            self._remaining[name] = self._remaining.get(name, 0) + len(jobs)
        elif name not in self._remaining:
            self._current.append(name)

    def build(self) -> IndexReport:
        """Build all missing tables, and return what the update did."""
        large = []
        for number, job in enumerate(self._jobs):
            if self.cancellation.cancelled:
                self._cancelled = True
                break
            if job.small:
                self._build_local(number, job)
            else:
                large.append(number)
        if large and not self._cancelled:
            self._build_in_workers(large)
        files = sum(count for count, _ in self._counts.values())
        size = sum(count for _, count in self._counts.values())
        return IndexReport(tuple(self._built), tuple(self._current), self._failures, files, size, self._cancelled)

    def _build_local(self, job_index: int, job: _TableJob) -> None:
        def check_cancelled() -> None:
            if self.cancellation.cancelled:
                raise Cancelled("the update was stopped")

        options = TableBuildOptions(
            job.shard,
            check_cancelled,
            lambda files, size: self._progress(job_index, files, size),
            budget_bytes=self.store.budget_bytes(),
        )
        try:
            parsed = self.kind.build(self.store.repository_folder(job.key), options, job.loose)
        except Cancelled:
            self._cancelled = True
        except Exception as error:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            self._finish(job_index, None, reason_of(error))
        else:
            self._finish(job_index, parsed, "")

    def _build_in_workers(self, numbers: list[int]) -> None:
        def on_event(key: str, event: dict[str, Any]) -> None:
            number = int(key)
            if event["event"] == "progress":
                self._progress(number, event["files"], event["bytes"])
            elif event["event"] == "failed":
                self._finish(number, None, event["reason"])
            else:
                self._finish(number, event["read"] and tuple(event["read"]), "")

        def line(number: int) -> worker_pool.WorkerJob:
            job = self._jobs[number]
            settings = {"shard": job.shard, "budget_bytes": self.store.budget_bytes()}
            identity = f"{self.kind.kind} {job.folder} {job.shard}"
            return worker_pool.WorkerJob(str(number), table_line(job.folder, settings, self.kind.kind), identity)

        # With a limit, one build after another: each must know how much the previous ones used.
        is_limited = self.store.budget_bytes() is not None
        for group in [[number] for number in numbers] if is_limited else [numbers]:
            if not worker_pool.run(
                MODULE, list(map(line, group)), self.workers, on_event, lambda: self.cancellation.cancelled
            ):
                self._cancelled = True
                return

    def _progress(self, job_index: int, files: int, size: int) -> None:
        self._counts[job_index] = (files, size)
        self._report(self._jobs[job_index].repository)

    def _finish(self, job_index: int, parsed: tuple[int, int] | None, reason: str) -> None:
        name = self._jobs[job_index].repository
        self._remaining[name] -= 1
        if reason:
            self._failures[name] = reason
        if not self._remaining[name] and name not in self._failures:
            self._built.append(name)
        self._counts[job_index] = parsed or self._counts.get(job_index, (0, 0))
        self._report(name)

    def _report(self, name: str) -> None:
        if self.on_progress is not None:
            unfinished = sum(1 for remaining in self._remaining.values() if remaining)
            total = len({*self._remaining, *self._current, *self._failures})
            files = sum(count for count, _ in self._counts.values())
            size = sum(count for _, count in self._counts.values())
            self.on_progress(IndexProgress(total - unfinished, total, files, size, name))
