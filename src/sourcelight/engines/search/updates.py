"""Update the text index and the tables beside its shards.

Both are an `IndexUpdate`; they differ in their jobs: a target for the text index, a shard for side tables, which
repositories may share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.engines.search.definition_tables import DEFINITIONS, build_table, pending_count
from sourcelight.engines.search.index.build import BuildOptions, FileTree
from sourcelight.engines.search.index.folder import PROTECTED, TextIndexFolder
from sourcelight.engines.search.index.shard import MAX_LOOSE_BYTES, LooseShard, Shard
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.side_tables import TableBuildOptions
from sourcelight.engines.search.worker import MODULE, build_locked, request_line, table_line
from sourcelight.engines.storage import index_update
from sourcelight.engines.storage.worker_pool import WorkerJob
from sourcelight.engines.symbols import SymbolTable, version
from sourcelight.repos import ObjectReader, RepositoryKey, resolve
from sourcelight.repos.objects.trees import FOLDER_MODES

OnProgress = Callable[[IndexProgress], None] | None

_MAX_INSPECTED = 16
"""Repositories up to which reading their trees here, to find the small ones, costs less than starting workers."""

_MAX_LOCAL_FILES = 400
"""New files up to which a build in this process takes less time than starting a worker."""

_MAX_LOCAL_BYTES = 4 * 1024 * 1024
"""Bytes of new files up to which this holds."""

_MAX_LOOSE_FILES = 4000
"""The same for files that stay loose documents: they are not indexed, but only read."""

_MAX_LOCAL_TABLE_BYTES = 512 * 1024
"""Bytes of a shard up to which its table is built in this process."""

_BLOB_ID_BYTES = 20
"""Bytes of an object id of git (SHA-1)."""


class UpdatedStore(Protocol):
    """The part of an `IndexStore` that updates use."""

    workers: int
    max_file_size: int

    def is_current(self, target: Target) -> bool:
        """Return whether the text index of a target is up to date."""
        ...

    def open_symbols(self, target: Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        """Open a target, and the definition table of each of its shards."""
        ...

    def repository_folder(self, key: RepositoryKey) -> TextIndexFolder:
        """Return the folder of a repository's index."""
        ...

    def budget_bytes(self) -> int | None:
        """Return the bytes that all indexes may still grow; None: no limit."""
        ...


def update_text(
    store: UpdatedStore,
    targets: Sequence[Target],
    damaged: set[RepositoryKey],
    on_progress: OnProgress,
    cancellation: Cancellation,
) -> tuple[index_update.IndexReport, set[RepositoryKey]]:
    """Build the missing text indexes of targets; return the report, and the keys of indexes that may have changed.

    Parameters
    ----------
    store
        The store to update.
    targets
        What to index.
    damaged
        Keys of repositories with a damaged index; rebuilt ones are removed.
    on_progress
        Called after each step.
    cancellation
        Stops the update.
    """
    changed_keys: set[RepositoryKey] = set()

    def on_success(job: _TextJob) -> None:
        key = job.target.repository.key
        damaged.discard(key)
        changed_keys.add(key)

    # With a limit, one build after another: each must know how much the previous ones used.
    update: index_update.IndexUpdate[_TextJob] = index_update.IndexUpdate(
        MODULE,
        store.workers,
        on_progress,
        cancellation,
        is_serial=store.budget_bytes() is not None,
        on_success=on_success,
    )
    pending: list[tuple[Target, CommitId]] = []
    for target in targets:
        try:
            if store.is_current(target):
                update.add(target.repository.name, ())
            else:
                pending.append((target, commit_of(target)))
        except (SourcelightError, OSError) as error:
            update.fail(target.repository.name, error)

    are_few = len(pending) <= _MAX_INSPECTED
    for target, commit in pending:
        may_inspect = are_few or target.revision not in PROTECTED
        rebuild = target.repository.key in damaged
        update.add(target.repository.name, [_TextJob(store, target, commit, may_inspect, rebuild)])

    return update.run(), changed_keys


@dataclass(frozen=True, slots=True, eq=False)
class _TextJob:
    """The text index of one target."""

    store: UpdatedStore
    target: Target
    commit: CommitId
    may_inspect: bool
    rebuild: bool

    def local_build(self) -> index_update.LocalBuild | None:
        if not self.may_inspect:
            return None
        tree = self._small_tree()
        if tree is None:
            return None

        def build(callbacks: index_update.BuildCallbacks) -> dict[str, Any]:
            options = BuildOptions(
                **self._settings(), check_cancelled=callbacks.check_cancelled, on_progress=callbacks.on_progress
            )
            folder = self.store.repository_folder(self.target.repository.key)
            return {"read": build_locked(folder, self.target.repository, options, tree)}

        return build

    def worker_job(self, key: str) -> WorkerJob:
        folder = self.store.repository_folder(self.target.repository.key).path
        line = request_line(folder, self.target.repository, self._settings())
        return WorkerJob(key, line, f"text {folder} {self.commit} {self.store.max_file_size}")

    def _settings(self) -> dict[str, Any]:
        return {
            "repository": self.target.repository.name,
            "commit": self.commit,
            "revision": self.target.revision,
            "max_file_size": self.store.max_file_size,
            "budget_bytes": self.store.budget_bytes(),
            "rebuild": self.rebuild,
        }

    def _small_tree(self) -> FileTree | None:
        """Return the files of a commit that has little new content, or None for any other commit.

        Raises `RepositoryError` for a commit whose tree exceeds the limits.
        """
        target = self.target
        try:
            indexed = self._indexed_blobs()
            max_files, max_bytes = _MAX_LOCAL_FILES, _MAX_LOCAL_BYTES
            if indexed is not None and target.revision not in PROTECTED:
                max_files, max_bytes = _MAX_LOOSE_FILES, MAX_LOOSE_BYTES

            with ObjectReader(target.repository) as reader:
                # Without an index, checking a few directories is enough; with one, all files must be compared with it.
                if indexed is None and has_more_blobs(reader, self.commit, max_files):
                    return None

                tree = reader.tree(self.commit)
                new_blobs = _blob_ids(tree) - (indexed or set())
                if len(new_blobs) > max_files or self._size_of(new_blobs, reader) > max_bytes:
                    return None
                return tree
        except RepositoryError:
            raise
        except (SourcelightError, OSError, ValueError):
            return None

    def _indexed_blobs(self) -> set[bytes] | None:
        """Return the blobs of the views that stay, else of the newest view; None without a view."""
        folder = self.store.repository_folder(self.target.repository.key)
        manifest = folder.manifest()
        views = [entry for entry in manifest.views if entry.protected] or manifest.views[-1:]
        if not views:
            return None

        blob_ids: set[bytes] = set()
        for entry in views:
            blob_ids.update(CommitView(folder.path / entry.name).blob_ids())
        return blob_ids

    def _size_of(self, blob_ids: Iterable[bytes], reader: ObjectReader) -> int:
        """Return the bytes of some blobs, without those above the size limit of the index."""
        sizes = [reader.size(blob_id) or 0 for blob_id in blob_ids]
        return sum(size for size in sizes if size <= self.store.max_file_size)


def _blob_ids(tree: FileTree) -> set[bytes]:
    offsets = range(0, len(tree.blob_ids), _BLOB_ID_BYTES)
    return {tree.blob_ids[offset : offset + _BLOB_ID_BYTES] for offset in offsets}


def has_more_blobs(reader: ObjectReader, commit: CommitId, limit: int) -> bool:
    """Return whether a commit is seen to have more than `limit` contents in as many directories; a fast first look."""
    root = reader.root(commit)
    if root is None:
        return False

    pending = [root]
    folders: set[bytes] = set(pending)
    blobs: set[bytes] = set()
    while pending and len(blobs) <= limit and len(folders) <= limit:
        entries = reader.folder(pending.pop()) or ()
        blobs.update(object_id for mode, _, object_id in entries if mode[:3] == b"100")
        inner = {object_id for mode, _, object_id in entries if mode in FOLDER_MODES} - folders
        folders |= inner
        pending += inner

    return len(blobs) > limit


def commit_of(target: Target) -> CommitId:
    """Return the commit of a target; resolve its revision if it has none."""
    return target.commit or resolve(target.repository, target.revision)


class SideTableKind(Protocol):
    """A kind of side table: which shards lack it, and how one is built."""

    @property
    def kind(self) -> str:
        """Name of the kind, as in `folder.SIDE_TABLES`."""
        ...

    def stale(self, target: Target) -> list[Shard]:
        """Return the shards of a target whose table must be built; raises as `IndexStore.open` does."""
        ...

    def build(
        self, folder: TextIndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> index_update.Counts | None:
        """Build the table of one shard; None when the index has dropped the shard meanwhile."""
        ...


@dataclass(frozen=True, slots=True)
class DefinitionTables:
    """Definition tables as a `SideTableKind`."""

    store: UpdatedStore
    kind: str = DEFINITIONS.kind

    def stale(self, target: Target) -> list[Shard]:
        """Return the shards of a target whose definitions must be parsed."""
        snapshot, _, tables = self.store.open_symbols(target)
        return [snapshot.shards[number] for number in stale_shards(snapshot, tables)]

    def build(
        self, folder: TextIndexFolder, options: TableBuildOptions, loose: LooseShard | None
    ) -> index_update.Counts | None:
        """Parse the definitions of one shard."""
        return build_table(folder, options, loose)


def stale_shards(snapshot: OpenedCommit, tables: Sequence[SymbolTable | None]) -> list[int]:
    """Return the shards whose table is missing, was made by other rules, or lacks a file that can be parsed now."""
    return [
        number
        for number, table in enumerate(tables)
        if table is None or table.rules != version() or pending_count(snapshot.view, number, table)
    ]


def update_tables(
    store: UpdatedStore,
    kind: SideTableKind,
    targets: Sequence[Target],
    on_progress: OnProgress,
    cancellation: Cancellation,
) -> index_update.IndexReport:
    """Build the missing tables of one kind for targets, and return what was done."""
    update: index_update.IndexUpdate[_TableJob] = index_update.IndexUpdate(
        MODULE, store.workers, on_progress, cancellation, is_serial=store.budget_bytes() is not None
    )
    existing: set[tuple[str, str]] = set()
    for target in targets:
        name, key = target.repository.name, target.repository.key
        try:
            stale = [shard for shard in kind.stale(target) if (key, shard.name) not in existing]
        except (SourcelightError, OSError) as error:
            update.fail(name, error)
            continue
        existing |= {(key, shard.name) for shard in stale}
        update.add(name, [_TableJob(store, kind, key, shard) for shard in stale])

    return update.run()


@dataclass(frozen=True, slots=True, eq=False)
class _TableJob:
    """The table of one shard."""

    store: UpdatedStore
    kind: SideTableKind
    key: RepositoryKey
    shard: Shard

    def local_build(self) -> index_update.LocalBuild | None:
        # No worker has a loose shard: it is in memory only.
        loose = self.shard if isinstance(self.shard, LooseShard) else None
        if loose is None and self.shard.text_bytes > _MAX_LOCAL_TABLE_BYTES:
            return None

        def build(callbacks: index_update.BuildCallbacks) -> dict[str, Any]:
            options = TableBuildOptions(
                self.shard.name,
                callbacks.check_cancelled,
                callbacks.on_progress,
                budget_bytes=self.store.budget_bytes(),
            )
            return {"read": self.kind.build(self.store.repository_folder(self.key), options, loose)}

        return build

    def worker_job(self, key: str) -> WorkerJob:
        folder = self.store.repository_folder(self.key).path
        settings = {"shard": self.shard.name, "budget_bytes": self.store.budget_bytes()}
        identity = f"{self.kind.kind} {folder} {self.shard.name}"
        return WorkerJob(key, table_line(folder, settings, self.kind.kind), identity)
