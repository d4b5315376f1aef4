"""The indexes of all repositories on this machine: kept in one folder, brought up to date, opened and searched."""

from __future__ import annotations

import os
import shutil
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sourcelight.core.batches.events import Cancellation
from sourcelight.core.errors import Cancelled, IndexDamaged, IndexFault, SourcelightError
from sourcelight.engines.search import pool, searcher
from sourcelight.engines.search.index.build import BuildOrder, Files
from sourcelight.engines.search.index.folder import RepositoryFolder
from sourcelight.engines.search.index.sections import FORMAT
from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.index.view import View
from sourcelight.engines.search.model import (
    DEFAULT_MAX_FILE_SIZE,
    GroupBy,
    IndexProgress,
    IndexReport,
    IndexStatus,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
)
from sourcelight.engines.search.scan.snapshot import Snapshot
from sourcelight.engines.search.worker import build_locked, is_built, order_line, reason_of
from sourcelight.repos import ObjectReader, resolve

_MOST_OPEN_FILES = 400
"""Mapped files kept open; what was used longest ago is let go of first."""

_SMALL_FILES = 400
_SMALL_BYTES = 4 * 1024 * 1024
_FEW = 16
"""Repositories up to which it pays to look in this process which of them are small."""

_READ_AGAIN = 5


class IndexStore:
    """Keeps and searches the indexes below `folder`; a `model.Searcher`. Safe to share between threads.

    Parameters
    ----------
    folder
        Where the indexes are; made when needed. It may be deleted at any time, and several processes may share it.
    max_file_size
        Bytes above which a file is matched by its name only.
    workers
        Processes that build; None: one for each core.
    max_bytes
        Bytes that all indexes together may take on disk; repositories beyond are reported as failures. None: no limit.
    """

    def __init__(
        self,
        folder: str,
        *,
        max_file_size: int = DEFAULT_MAX_FILE_SIZE,
        workers: int | None = None,
        max_bytes: int | None = None,
    ) -> None:
        self.folder = Path(folder)
        self.max_file_size = max_file_size
        self.max_bytes = max_bytes
        self._workers = max(1, min(workers or _cores(), _cores()))
        self._folders: dict[str, RepositoryFolder] = {}
        self._damaged: set[str] = set()
        self._open: OrderedDict[tuple[str, str], Snapshot] = OrderedDict()
        self._guard = threading.Lock()

    # Searching.

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        """Yield the answer in parts as it is found; a target without a usable index is named in `SearchPart.failed`."""
        return searcher.search(self.open, targets, query, options, cancellation)

    def count(
        self, targets: Sequence[Target], query: TextQuery, by: Sequence[GroupBy], cancellation: Cancellation
    ) -> Any:
        """Give a table of the columns `by` with ``matches`` and ``files`` (int64), without reading any line.

        Raises `IndexFault` for a target without a usable index and `Cancelled`.
        """
        return searcher.count(self.open, targets, query, by, cancellation)

    def open(self, target: Target) -> tuple[Snapshot, str]:
        """Open a target's index and give its commit too.

        Raises `IndexDamaged` for files that can't be trusted (the next update builds them anew) and `IndexFault` when
        the commit is not indexed.
        """
        commit = _commit(target)
        key = target.repository.key
        folder = self._folder(key)
        for attempt in range(_READ_AGAIN):
            try:
                entry = folder.manifest().view_of(commit)
                if entry is None:
                    raise IndexFault(str(folder.path), f"commit {commit[:12]} is not indexed yet")
                return self._snapshot(folder, key, entry.name), commit
            except FileNotFoundError as fault:
                # A builder may have replaced the manifest, and deleted what the former one named, in between.
                if attempt == _READ_AGAIN - 1:
                    self._damaged.add(key)
                    raise IndexDamaged(str(folder.path), "a file that the manifest names is missing") from fault
            except IndexDamaged:
                self._damaged.add(key)
                raise
        raise AssertionError

    def _snapshot(self, folder: RepositoryFolder, key: str, name: str) -> Snapshot:
        with self._guard:
            found = self._open.get((key, name))
            if found is not None:
                self._open.move_to_end((key, name))
                return found
            shards = {
                shard.name: shard for (other, _), held in self._open.items() if other == key for shard in held.shards
            }
        view = View(folder.path / name)
        snapshot = Snapshot(view, [shards.get(shard) or Shard(folder.path / shard) for shard in view.shards])
        with self._guard:
            self._open[key, name] = snapshot
            files = sum(1 + len(held.shards) for held in self._open.values())
            while files > _MOST_OPEN_FILES and len(self._open) > 1:
                _, oldest = self._open.popitem(last=False)
                files -= 1 + len(oldest.shards)
        return snapshot

    def _folder(self, key: str) -> RepositoryFolder:
        with self._guard:
            return self._folders.setdefault(key, RepositoryFolder(self.folder / key))

    # Bringing up to date.

    def is_current(self, target: Target) -> bool:
        """Tell whether a target can be searched as it is; cheap."""
        key = target.repository.key
        return key not in self._damaged and is_built(self._folder(key), _commit(target), self.max_file_size)

    def update(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Build what is missing for these targets.

        A repository that can't be indexed is a failure in the report and keeps its former index. When cancelled, what
        was finished by then stays, and the report says so.
        """
        run = _Update(self, progress, cancellation or Cancellation())
        for target in targets:
            run.consider(target)
        run.build()
        self._let_go_of(run.built_keys)
        return run.report()

    def _let_go_of(self, keys: Collection[str]) -> None:
        with self._guard:
            for place in [place for place in self._open if place[0] in keys]:
                current = {view.name for view in self._folders[place[0]].manifest().views}
                if place[1] not in current:
                    del self._open[place]

    # Looking after the disk.

    def status(self, *, verify: bool = False) -> list[IndexStatus]:
        """Describe every index in the folder, sorted by repository.

        With `verify` every byte is checked against its checksum; an index found damaged is built anew by the next
        update.
        """
        found = [self._status(path, verify=verify) for path in self._paths()]
        found = [status for status in found if status.commits or status.damaged]
        return sorted(found, key=lambda status: (status.repository, status.key))

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []

    def _status(self, path: Path, *, verify: bool) -> IndexStatus:
        folder = self._folder(path.name)
        disk = folder.disk_bytes()
        try:
            manifest = folder.manifest()
            for entry in manifest.views:
                view = View(path / entry.name)
                for file in (view.file, *(Shard(path / name).file for name in view.shards)):
                    if verify:
                        file.verify()
        except (IndexDamaged, FileNotFoundError) as fault:
            self._damaged.add(path.name)
            with self._guard:
                for place in [place for place in self._open if place[0] == path.name]:
                    del self._open[place]
            reason = fault.reason if isinstance(fault, IndexDamaged) else f"{fault.filename} is missing"
            return IndexStatus(path.name, "", (), 0, 0, disk, 0, reason)
        newest = manifest.views[-1] if manifest.views else None
        return IndexStatus(
            path.name,
            manifest.repository,
            tuple(view.commit for view in manifest.views),
            newest.files if newest else 0,
            newest.text_bytes if newest else 0,
            disk,
            FORMAT,
        )

    def disk_bytes(self) -> int:
        """Bytes that all indexes take on disk."""
        return sum(self._folder(path.name).disk_bytes() for path in self._paths())

    def prune(self, keep: Collection[str]) -> int:
        """Delete the indexes of all repositories but those whose keys are given; give the bytes freed."""
        freed = 0
        for path in self._paths():
            folder = self._folder(path.name)
            before = folder.disk_bytes()
            if path.name in keep:
                with folder.locked(lambda: None):
                    folder.discard_unneeded()
            else:
                with self._guard:
                    for place in [place for place in self._open if place[0] == path.name]:
                        del self._open[place]
                shutil.rmtree(path, ignore_errors=True)
            freed += before - folder.disk_bytes()
        return freed


@dataclass(slots=True)
class _Update:
    """One call of `IndexStore.update`."""

    store: IndexStore
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
                self.waiting.append((target, _commit(target)))
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
            tree = self._small_tree(target, commit)
            if tree is None:
                large.append(number)
            else:
                self._build_here(number, target, commit, tree)
        if large and not self.cancelled:
            self._build_in_workers(large)

    def _small_tree(self, target: Target, commit: str) -> Files | None:
        """Give the files of a commit of which little is new; None for any other."""
        if len(self.waiting) > _FEW:
            return None
        try:
            manifest = self.store._folder(target.repository.key).manifest()  # noqa: SLF001 - same module
            folder = self.store.folder / target.repository.key
            known = set(View(folder / manifest.views[-1].name).blob_ids()) if manifest.views else set()
            with ObjectReader(target.repository) as reader:
                tree = reader.tree(commit)
                ids = {tree.blob_ids[at : at + 20] for at in range(0, len(tree.blob_ids), 20)} - known
                if len(ids) > _SMALL_FILES:
                    return None
                limit = self.store.max_file_size
                sizes = (reader.size(blob_id) or 0 for blob_id in ids)
                return tree if sum(size for size in sizes if size <= limit) <= _SMALL_BYTES else None
        except (SourcelightError, OSError, ValueError):
            return None

    def _order(self, target: Target, commit: str) -> dict[str, Any]:
        limit = self.store.max_bytes
        return {
            "repository": target.repository.name,
            "commit": commit,
            "revision": target.revision,
            "max_file_size": self.store.max_file_size,
            "room": None if limit is None else limit - self.store.disk_bytes(),
            "afresh": target.repository.key in self.store._damaged,  # noqa: SLF001 - same module
        }

    def _build_here(self, number: int, target: Target, commit: str, tree: Files) -> None:
        folder = self.store._folder(target.repository.key)  # noqa: SLF001 - same module

        def stop() -> None:
            if self.cancellation.cancelled:
                raise Cancelled("the update was stopped")

        order = BuildOrder(
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
        jobs = []
        for number in numbers:
            target, commit = self.waiting[number]
            folder = self.store.folder / target.repository.key
            jobs.append(pool.Job(str(number), order_line(folder, target.repository, self._order(target, commit))))

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
        if self.store.max_bytes is None:
            ended = pool.run(jobs, self.store._workers, told, lambda: self.cancellation.cancelled)  # noqa: SLF001
        else:
            ended = True
            for number in numbers:
                target, commit = self.waiting[number]
                folder = self.store.folder / target.repository.key
                line = order_line(folder, target.repository, self._order(target, commit))
                ended = pool.run([pool.Job(str(number), line)], 1, told, lambda: self.cancellation.cancelled)
                if not ended:
                    break
        self.cancelled = self.cancelled or not ended

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
            self.store._damaged.discard(target.repository.key)  # noqa: SLF001 - same module
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


def _commit(target: Target) -> str:
    return target.commit or resolve(target.repository, target.revision)


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
