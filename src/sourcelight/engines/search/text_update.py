"""Bringing the text index up to date: small repositories here, the others in worker processes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, RepositoryError, SourcelightError
from sourcelight.engines.search.index.build import BuildOrder, Files
from sourcelight.engines.search.index.folder import PROTECTED, RepositoryFolder
from sourcelight.engines.search.index.loose import LOOSE_BYTES
from sourcelight.engines.search.index.view import View
from sourcelight.engines.search.model import IndexProgress, IndexReport, Target
from sourcelight.engines.search.worker import MODULE, build_locked, order_line
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import reason_of
from sourcelight.repos import ObjectReader, resolve

_FEW = 16
"""Repositories up to which it pays to look in this process which of them are small."""

_LOOSE_FILES = 4000
_SMALL_FILES = 400
_SMALL_BYTES = 4 * 1024 * 1024


class Store(Protocol):
    """What is needed of an `IndexStore`."""

    @property
    def max_file_size(self) -> int:
        """Bytes above which a file is matched by its name only."""
        ...

    def is_current(self, target: Target) -> bool:
        """Tell whether a target can be searched as it is."""
        ...

    def repository_folder(self, key: str) -> RepositoryFolder:
        """Give the folder of a repository's index."""
        ...

    def room(self) -> int | None:
        """Bytes that the indexes may still grow; None for no limit."""
        ...


@dataclass(slots=True)
class Update:
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

    store: Store
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

    def _small_tree(self, target: Target, commit: str) -> Files | None:
        """Give the files of a commit of which little is new; None for any other.

        Raises `RepositoryError` for a commit that names more than is read.
        """
        if len(self.waiting) > _FEW and target.revision in PROTECTED:
            return None
        try:
            manifest = self.store.repository_folder(target.repository.key).manifest()
            folder = self.store.repository_folder(target.repository.key).path
            lasting = [entry for entry in manifest.views if entry.protected] or manifest.views[-1:]
            known = {blob_id for entry in lasting for blob_id in View(folder / entry.name).blob_ids()}
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

    def _build_here(self, number: int, target: Target, commit: str, tree: Files) -> None:
        folder = self.store.repository_folder(target.repository.key)

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

    def _job(self, number: int) -> worker_pool.Job:
        target, commit = self.waiting[number]
        folder = self.store.repository_folder(target.repository.key).path
        line = order_line(folder, target.repository, self._order(target, commit))
        return worker_pool.Job(str(number), line, f"text {folder} {commit} {self.store.max_file_size}")

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
