"""Measure indexes on disk, by kind and by repository, and their deletion.

Files are deleted under the lock of their repository, so that no builder writes meanwhile. A process that has them open
reads on, and builds what it misses with its next search; a kind that is deleted costs time, never an answer.
"""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sourcelight.core.batches.events import RepositoryOverview
from sourcelight.core.errors import SearchIndexError
from sourcelight.engines.execution.indexes.repositories import IndexedRepositories
from sourcelight.engines.history.store.folder import HistoryFolder
from sourcelight.engines.search import IndexStatus, IndexStore
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.storage.folder import MANIFEST
from sourcelight.repos import Repository, RepositoryKey, Viewer

KINDS = ("text", "definitions", "ranking", "history", "scip")
"""Text and its n-grams; definitions; terms of ranked search; commits and changes; index files of compilers."""

_SIDE_TABLES = {"definitions": ("symbols",), "ranking": ("terms", "subjects")}
"""Tables beside the shards, by the kind of index that they belong to."""

_SCIP = "scip"

DETAILED = 20
"""Maximum number of repositories whose size on disk and index state are checked, at 1 ms each."""


@dataclass(frozen=True, slots=True)
class DiskUsage:
    """Indexes of one repository: `status` of the text index, None without one, and bytes on disk of each of `KINDS`."""

    key: RepositoryKey
    status: IndexStatus | None
    kind_bytes: Mapping[str, int]

    @property
    def total_bytes(self) -> int:
        """Bytes of all kinds."""
        return sum(self.kind_bytes.values())

    @property
    def repository(self) -> str:
        """Name of the repository; empty when no readable index has it."""
        return self.status.repository if self.status is not None else ""


def history_folder(folder: Path) -> Path:
    """Return the directory of histories that belongs to the directory of an index."""
    return folder.with_name(f"{folder.name}-history")


def disk_usage(store: IndexStore, keys: Collection[RepositoryKey] | None = None) -> list[DiskUsage]:
    """Measure the indexes of a store and the histories beside it, by repository.

    Parameters
    ----------
    store
        The text index; its histories are in `history_folder`.
    keys
        Repositories to measure; None: all.
    """
    statuses = {status.key: status for status in store.status()}
    present = _keys_on_disk(store.folder)
    usages = [
        DiskUsage(key, statuses.get(key), kind_bytes(store.folder, key))
        for key in sorted(present if keys is None else present & set(keys))
    ]
    return sorted((usage for usage in usages if usage.total_bytes), key=lambda usage: (usage.repository, usage.key))


def _keys_on_disk(folder: Path) -> set[RepositoryKey]:
    # The directories of an index and of a history are named by the key of the repository.
    return {RepositoryKey(path.name) for parent in (folder, history_folder(folder)) for path in _folders(parent)}


def kind_bytes(folder: Path, key: RepositoryKey) -> dict[str, int]:
    """Return the bytes that each of `KINDS` takes for one repository."""
    sizes = dict.fromkeys(KINDS, 0)
    for path in _entries(folder / key):
        sizes[_kind_of(path.name)] += _size(path)
    sizes["history"] = sum(map(_size, _entries(history_folder(folder) / key)))
    return sizes


def prune(
    store: IndexStore,
    keep: Collection[RepositoryKey],
    kinds: Sequence[str] = KINDS,
    *,
    check_stopped: Callable[[], None] = lambda: None,
) -> dict[str, int]:
    """Delete some kinds of index of all repositories except the keys in `keep`.

    Parameters
    ----------
    store
        The text index. Of the repositories that are kept, revisions beyond the most recent ones go when all kinds do.
    keep
        Keys of repositories.
    kinds
        Which of `KINDS`.
    check_stopped
        Called while waiting for a builder's lock; may raise.

    Returns
    -------
    dict
        Bytes freed, by kind.
    """
    freed = dict.fromkeys(kinds, 0)
    present = _keys_on_disk(store.folder)
    for key in sorted(present - set(keep)):
        before = kind_bytes(store.folder, key)
        store.forget([key])
        _delete(store.folder, key, kinds, check_stopped)
        # Measured and not assumed: another process may hold files, and they then stay.
        after = kind_bytes(store.folder, key)
        for kind in kinds:
            freed[kind] += before[kind] - after[kind]

    if set(kinds) == set(KINDS):
        freed["text"] += store.prune(present)

    return freed


def _delete(folder: Path, key: RepositoryKey, kinds: Sequence[str], check_cancelled: Callable[[], None]) -> None:
    """Delete kinds of one repository; the lock file stays, since another process may wait for it."""
    text = TextIndexFolder(folder / key)
    if set(kinds) - {"history"} and text.path.is_dir():
        with text.lock(check_cancelled):
            # The file that names others goes first: a reader that comes now finds nothing, and never half of it.
            if "text" in kinds:
                (text.path / MANIFEST).unlink(missing_ok=True)
            for table in (table for kind in kinds for table in _SIDE_TABLES.get(kind, ())):
                (text.path / f"{table}.json").unlink(missing_ok=True)
            text.discard_unneeded()
            if "scip" in kinds:
                shutil.rmtree(text.path / _SCIP, ignore_errors=True)

    history = HistoryFolder(history_folder(folder) / key)
    if "history" in kinds and history.path.is_dir():
        with history.lock(check_cancelled):
            (history.path / MANIFEST).unlink(missing_ok=True)
            history.discard_unneeded()


def _kind_of(name: str) -> str:
    for kind, tables in _SIDE_TABLES.items():
        if any(name == f"{table}.json" or name.startswith(f"{table}-") for table in tables):
            return kind
    return "scip" if name == _SCIP else "text"


def _folders(folder: Path) -> list[Path]:
    return [path for path in _entries(folder) if path.is_dir()]


def _entries(folder: Path) -> Iterator[Path]:
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        yield from sorted(folder.iterdir())


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files below a directory; 0 if it was deleted meanwhile."""
    if path.is_dir() and not path.is_symlink():
        return sum(_size(Path(entry)) for entry in os.scandir(path))
    with contextlib.suppress(OSError):
        return path.stat(follow_symlinks=False).st_size
    return 0


def overview(repositories: IndexedRepositories, viewer: Viewer) -> tuple[RepositoryOverview, ...]:
    """Describe the repositories that a viewer may see, by name; the first `DETAILED` of them in detail."""
    return tuple(
        _overview(repositories, repository, detailed=number < DETAILED)
        for number, repository in enumerate(repositories.catalog.visible(viewer))
    )


def _overview(repositories: IndexedRepositories, repository: Repository, *, detailed: bool) -> RepositoryOverview:
    target = repositories.target_of(repository)
    files = text_bytes = disk_bytes = None
    with contextlib.suppress(SearchIndexError, OSError):
        view = repositories.store.repository_folder(repository.key).manifest().view_of(target.commit)
        if view is not None:
            files, text_bytes = view.files, view.text_bytes

    ready: dict[str, bool] = {}
    if detailed:
        disk_bytes = sum(kind_bytes(repositories.store.folder, repository.key).values())
        ready = {
            "text": text_bytes is not None and repositories.store.is_current(target),
            "definitions": repositories.store.symbols_current(target),
            "ranking": repositories.terms.is_current(target),
        }
        if repository.kind == "git":
            ready["history"] = repositories.history.is_current(repository)

    return RepositoryOverview(repository.name, target.commit, files, text_bytes, disk_bytes, ready)
