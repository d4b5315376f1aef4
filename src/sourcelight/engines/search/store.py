"""The indexes of all repositories on this machine, in one directory: update, open, search, status and pruning.

Searches over many small repositories must cost little, so `IndexStore` remembers for a moment which manifests it has
checked, and which targets it has opened from them.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Collection, Generator, Iterator, Sequence
from pathlib import Path
from typing import Any

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.cells import CellDocument
from sourcelight.core.errors import IndexDamaged, SearchIndexError, SourcelightError
from sourcelight.engines.search import open_index, searcher, symbol_search, updates
from sourcelight.engines.search.cells.reader import CellReader
from sourcelight.engines.search.cells.search import CellSearch
from sourcelight.engines.search.definition_tables import DEFINITIONS
from sourcelight.engines.search.index.folder import TextIndexFolder
from sourcelight.engines.search.index.shard import Shard, is_loose
from sourcelight.engines.search.index.view import CommitView
from sourcelight.engines.search.model import (
    DEFAULT_MAX_FILE_SIZE,
    GroupBy,
    IndexStatus,
    SearchOptions,
    SearchPart,
    Target,
    TextQuery,
)
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import OnNotes
from sourcelight.engines.search.side_tables import OpenTables
from sourcelight.engines.search.updates import commit_of, stale_shards
from sourcelight.engines.search.worker import is_built
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import LOCK
from sourcelight.engines.storage.index_update import IndexReport
from sourcelight.engines.storage.sections import FORMAT
from sourcelight.engines.symbols import FileDefinitions, SymbolTable
from sourcelight.repos import RepositoryKey
from sourcelight.repos.private_files import repair_private_folder

_MAX_ATTEMPTS = 5
"""Attempts to open an index while other processes replace it."""

_OPEN_INTERVAL_S = 0.02
"""Seconds for which a checked manifest is not checked again: a search checks all of them before it opens any."""

_MAX_CACHED_GROUPS = 32
"""Tuples of targets whose opened groups are cached: one for each scope that queries repeat."""


class IndexStore:
    """Updates and searches the indexes below `folder`; a `model.Searcher`. Safe to share between threads.

    Parameters
    ----------
    folder
        Directory of the indexes; created when needed. It may be deleted at any time, and several processes may share
        it.
    max_file_size
        Bytes above which a file is matched by its name only.
    workers
        Processes that build; None: one per core.
    max_bytes
        Bytes that all indexes may take on disk; a build beyond them is reported as a failure. None: no limit.
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
        repair_private_folder(self.folder, LOCK)
        self.max_file_size = max_file_size
        self.max_bytes = max_bytes
        self.workers = max(1, min(workers or worker_pool.usable_cores(), worker_pool.usable_cores()))
        # The dicts below are read without the lock: a lookup of a dict is atomic, entries are immutable or thread-safe,
        # and a stale one costs another check. `_guard` is held only where two dicts must change together.
        self._guard = threading.Lock()
        self._folders: dict[RepositoryKey, TextIndexFolder] = {}
        # Indexes with missing or damaged files, which the next update builds again.
        self._damaged: set[RepositoryKey] = set()
        # When a manifest was last checked, and the commit and the name of the view that were opened from it.
        self._checked_s: dict[RepositoryKey, float] = {}
        self._ready_views: dict[RepositoryKey, tuple[str, str]] = {}
        # When a view was last marked as used, by its name.
        self._last_marked_s: dict[str, float] = {}
        # The targets whose manifests were checked together, and opened groups by the id of a tuple of targets.
        self._checked = open_index.CheckedManifests()
        self._groups: dict[int, open_index.CheckedTargets] = {}
        self._open = open_index.OpenCommits(self._groups.clear)
        self._symbols = OpenTables(DEFINITIONS)
        self._corpora = open_index.CorpusCache()
        self._cells = CellSearch(self.open_targets, self._corpora, CellReader())

    # Searching.

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Generator[SearchPart, None, None]:
        """Yield the result in parts; a target without a usable index is named in `SearchPart.failed`."""

        def run(targets: Sequence[Target]) -> Iterator[SearchPart]:
            if query.cells:
                return self._cells.search(targets, query, options, cancellation)
            return searcher.search(self.open, targets, query, options, cancellation, self._corpora, self.open_targets)

        return open_index.retry_without_damaged(run, targets, self._note_damage)

    def has_match(self, targets: Sequence[Target], query: TextQuery, cancellation: Cancellation) -> bool | None:
        """Return whether a query has a match, or None if it needs `search`."""
        if query.cells:
            return None
        try:
            return searcher.has_match(self.open_targets, targets, query, cancellation, self._corpora)
        except IndexDamaged:
            return None

    def count(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        note: OnNotes = None,
    ) -> Any:
        """Return a table with the columns `by`, ``matches`` and ``files`` (int64); reads no lines.

        `note` gets parts that name the files matched by name only, with the reason. Raises `SearchIndexError` for a
        target without a usable index and `Cancelled`.
        """
        with self._noting_damage():
            if query.cells:
                return self._cells.count(targets, query, by, cancellation, note)
            return searcher.count(self.open, targets, query, by, cancellation, self._corpora, note)

    def read(self, target: Target, path: str) -> bytes | None:
        """Return the content of a file, or None when there is none or it is matched by name only. Raises as `open`."""
        with self._noting_damage():
            return self.open(target)[0].text_of(path)

    def cells_of(self, target: Target, path: str) -> CellDocument | None:
        """Return the cells of a file, or None without readable cells. Raises as `open`."""
        with self._noting_damage():
            snapshot = self.open(target)[0]
            file = snapshot.view.file_number(path.encode())
            return None if file is None else self.cells_at(target, snapshot, file)

    def cells_at(self, target: Target, snapshot: OpenedCommit, file: int) -> CellDocument | None:
        """Return the cells of a file of an opened commit, or None without readable cells."""
        cells = self._cells.reader.read(target, snapshot, file)
        return None if isinstance(cells, str) else cells

    def open(self, target: Target) -> tuple[OpenedCommit, CommitId]:
        """Open the index of a target, and return it with the commit.

        Raises `IndexDamaged` for damaged files (the next update rebuilds them) and `SearchIndexError` when the commit
        is not indexed.
        """
        commit = commit_of(target)
        key = target.repository.key
        folder = self.repository_folder(key)
        snapshot = self._just_checked(folder, key, commit)
        if snapshot is not None:
            return snapshot, commit
        # A reader takes no lock. Between reading the manifest and opening its files an update may delete them; then the
        # new manifest is read.
        for attempt in range(_MAX_ATTEMPTS):
            try:
                entry = folder.manifest().view_of(commit)
                if entry is None:
                    return self._open_without_files(folder, key, commit), commit
                self._mark_used(folder.path, entry.name)
                self._ready_views[key] = commit, entry.name
                return self._open.open(folder, target.repository, entry.name), commit
            except FileNotFoundError as error:
                # Another process may have replaced the manifest meanwhile, and deleted the files of the old one.
                if attempt == _MAX_ATTEMPTS - 1:
                    self._damaged.add(key)
                    raise IndexDamaged(str(folder.path), "a file that the manifest names is missing") from error
            except IndexDamaged:
                self._damaged.add(key)
                raise

        # Not reached: the last attempt returns or raises. It is here for the type checker.
        raise AssertionError

    def _open_without_files(self, folder: TextIndexFolder, key: RepositoryKey, commit: CommitId) -> OpenedCommit:
        """Return the open index of a commit whose files have just been deleted; raises `SearchIndexError` for none.

        Its files stay mapped, so this search can finish. The next check rebuilds them.
        """
        self._forget_groups()
        ready_commit, name = self._ready_views.get(key, ("", ""))
        snapshot = self._open.get(key, name) if ready_commit == commit else None
        if snapshot is None:
            raise SearchIndexError(str(folder.path), f"commit {commit[:12]} is not indexed yet")
        return snapshot

    def open_targets(self, targets: Sequence[Target], cancellation: Cancellation) -> Iterator[open_index.OpenedTargets]:
        """Open targets in groups that are searched together; ends early when cancelled.

        The groups of a tuple that was opened before are reused when all manifests have just been checked: a search over
        many small repositories would spend most of its time on opening them.
        """
        checked = self._checked
        cached = self._groups.get(id(targets))
        if cached is not None and cached.holds_for(targets, checked):
            yield from cached.groups
            return

        opened_s = time.monotonic()
        groups = []
        for group in open_index.open_targets(self.open, targets, cancellation):
            groups.append(group)
            yield group

        is_complete = sum(len(group.targets) for group in groups) == len(targets)
        # A group is cached only if all targets were opened from manifests of one check; a cancelled search opened
        # fewer.
        if is_complete and isinstance(targets, tuple) and checked is self._checked and checked.covers(targets):
            with self._guard:
                # Cleared and not evicted one by one: keys are ids of tuples, and old tuples may be gone by now.
                if len(self._groups) >= _MAX_CACHED_GROUPS:
                    self._groups.clear()
                self._groups[id(targets)] = open_index.CheckedTargets(targets, groups, checked, opened_s)

    def open_corpus(self, targets: Sequence[Target]) -> tuple[open_index.OpenedTargets, Corpus] | None:
        """Return targets and their corpus where they are open and have just been checked, in one group; else None."""
        cached = self._groups.get(id(targets))
        if cached is None or not cached.holds_for(targets, self._checked) or len(cached.groups) != 1:
            return None
        return cached.groups[0], cached.corpus or cached.open_corpus(self._corpora)

    def was_current(self, targets: tuple[Target, ...], *, checks_files: bool = False) -> bool:
        """Return whether `all_current` was true of these targets a moment ago, or is by a check of their files."""
        checked = self._checked
        if self._damaged or checked.targets is not targets:
            return False
        if checked.is_fresh:
            return True
        now = time.monotonic()
        if not checks_files or not checked.has_same_files():
            return False
        if not all(snapshot.is_unchanged() for snapshot in self._open.of_repositories(checked.keys)):
            return False
        checked.checked_s = now
        return True

    def _just_checked(self, folder: TextIndexFolder, key: RepositoryKey, commit: CommitId) -> OpenedCommit | None:
        """Return an open index whose manifest has just been checked, as a search does before it opens its targets."""
        ready_commit, name = self._ready_views.get(key, ("", ""))
        if ready_commit != commit or time.monotonic() - self._checked_s.get(key, -_OPEN_INTERVAL_S) >= _OPEN_INTERVAL_S:
            return None

        snapshot = self._open.get(key, name)
        if snapshot is not None:
            self._mark_used(folder.path, name)
        return snapshot

    def _mark_used(self, folder: Path, name: str) -> None:
        now = time.monotonic()
        if now - self._last_marked_s.get(name, -open_index.MARK_INTERVAL_S) >= open_index.MARK_INTERVAL_S:
            self._last_marked_s[name] = now
            open_index.mark_used(folder / name)

    def repository_folder(self, key: RepositoryKey) -> TextIndexFolder:
        """Return the directory of a repository's index."""
        folder = self._folders.get(key)
        if folder is None:
            with self._guard:
                folder = self._folders.setdefault(key, TextIndexFolder(self.folder / key))
        return folder

    # Damage.

    @contextlib.contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except IndexDamaged as error:
            self._note_damage(error)
            raise

    def _note_damage(self, error: IndexDamaged) -> RepositoryKey:
        """Close a damaged index and mark it for a rebuild; returns the key of its repository."""
        # The directory of an index is named by the key of its repository.
        key = RepositoryKey(Path(error.path).parent.name)
        self._damaged.add(key)
        self._drop(key)
        return key

    def _drop(self, key: RepositoryKey) -> None:
        # Cached groups name open files of this index, which are about to be closed.
        self._forget_groups()
        self._corpora.clear()
        with self._guard:
            self._ready_views.pop(key, None)
            self._checked_s.pop(key, None)
            folder = self._folders.get(key)
            if folder is not None:
                self._symbols.forget(folder)
        self._open.close(key)

    def _check_files(self, key: RepositoryKey) -> None:
        """Close an index whose files another process has changed, so that they are checked again."""
        if not all(snapshot.is_unchanged() for snapshot in self._open.of_repositories((key,))):
            self._drop(key)
            if self.repository_folder(key).has_missing_files():
                self._damaged.add(key)

    # Updates.

    def is_current(self, target: Target) -> bool:
        """Return whether the index of a target is up to date; a few system calls at most."""
        key = target.repository.key
        if key in self._damaged:
            return False
        now = time.monotonic()
        if now - self._checked_s.get(key, -open_index.RECHECK_INTERVAL_S) >= open_index.RECHECK_INTERVAL_S:
            self._check_files(key)
        is_current = is_built(self.repository_folder(key), commit_of(target), self.max_file_size, target.revision)
        if is_current:
            self._checked_s[key] = now
        else:
            self._ready_views.pop(key, None)
        return is_current

    def all_current(self, targets: tuple[Target, ...]) -> bool:
        """Return whether the indexes of all targets are up to date; for the same tuple again, one `stat` per index.

        Within a quarter of a second the last result is reused, even if another process changes the files: open files
        stay readable, and hold the same commits.
        """
        checked = self._checked
        if checked.targets is targets and not self._damaged:
            now = time.monotonic()
            if checked.is_fresh:
                return True
            try:
                if checked.has_same_files():
                    for key in checked.keys:
                        self._check_files(key)
                    if checked is not self._checked:  # a file was changed: its index is opened, and checked, again
                        return all(map(self.is_current, targets))
                    checked.checked_s = now
                    return True
            except OSError:
                pass

        self._forget_groups()
        if not all(map(self.is_current, targets)):
            return False

        self._checked = open_index.CheckedManifests.of(targets, self.repository_folder) or self._checked
        return True

    def _forget_groups(self) -> None:
        with self._guard:
            self._checked = open_index.CheckedManifests()
            self._groups.clear()

    def update(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Build the missing indexes of targets.

        A repository that can't be indexed is a failure in the report and keeps its old index. When cancelled, finished
        indexes stay, and the report is `cancelled`.
        """
        # The update takes the lock between processes for each repository; nothing of this object is locked meanwhile,
        # so searches continue on the old index.
        report, changed_keys = updates.update_text(
            self, targets, self._damaged, progress, cancellation or Cancellation()
        )
        self._forget_replaced(changed_keys)
        return report

    def _forget_replaced(self, keys: Collection[RepositoryKey]) -> None:
        if keys:
            self._forget_groups()
            self._corpora.clear()
            for key in keys:
                self._ready_views.pop(key, None)
                if self._open.of_repositories((key,)):
                    # Views that the new manifest still names stay open: their files never change.
                    self._open.close(key, {view.name for view in self.repository_folder(key).manifest().views})

    def forget(self, keys: Collection[RepositoryKey]) -> None:
        """Forget everything about these repositories: their folders have been removed or replaced."""
        self._forget_groups()
        self._corpora.clear()
        with self._guard:
            for key in keys:
                folder = self._folders.pop(key, None)
                if folder is not None:
                    self._symbols.forget(folder)
                self._ready_views.pop(key, None)
                self._checked_s.pop(key, None)
                self._damaged.discard(key)
                self._open.close(key)

    # Definitions.

    def update_symbols(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Parse the missing definitions of targets whose text is indexed.

        Parsing takes a second per 10 MB, so it runs after text can be searched. Files and bytes of the report are those
        that were parsed. Finished tables stay when the update is cancelled or killed.
        """
        kind = updates.DefinitionTables(self)
        return updates.update_tables(self, kind, targets, progress, cancellation or Cancellation())

    def symbols_current(self, target: Target) -> bool:
        """Return whether all definitions of a target can be searched; False also when its text is not indexed."""
        try:
            snapshot, _, tables = self.open_symbols(target)
        except (SourcelightError, OSError):
            return False
        stale = snapshot.remember(("stale", tuple(tables)), lambda: stale_shards(snapshot, tables))
        return not stale

    def search_symbols(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        options: SearchOptions,
        cancellation: Cancellation,
        *,
        kinds: Collection[str] = (),
    ) -> Iterator[SearchPart]:
        """Yield definitions whose names match, in batches of ``symbol`` rows; sorted by path in each repository.

        Parameters
        ----------
        query
            The tree is over names: it must hold for the names of all definitions in a file, and the rows are the
            definitions that match a term outside NOT. `FileTerm.content` and `FileTerm.path` are ignored. A tree of
            None returns all definitions of the files that pass the filters.
        options
            Only `max_matches` counts.
        kinds
            Kinds to show, also in the spelling of ``select:symbol.`` (``enum-member``); empty: all.

        Notes
        -----
        Rows have the columns of definitions; ``line`` is null beyond `symbol_corpus.MAX_LINE_BYTES`. Reasons in
        `SearchPart.skipped` are ``symbols-pending`` (no definitions so far), ``symbols-incomplete`` and ``missing``.
        """

        def run(targets: Sequence[Target]) -> Iterator[SearchPart]:
            return symbol_search.search(self.open_symbols, targets, query, kinds, options, cancellation, self._corpora)

        return open_index.retry_without_damaged(run, targets, self._note_damage)

    def count_symbols(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        *,
        kinds: Collection[str] = (),
        note: OnNotes = None,
    ) -> Any:
        """Return a table with the columns `by`, ``matches`` (definitions) and ``files`` (int64); as `search_symbols`.

        `note` and the errors are as for `count`.
        """
        with self._noting_damage():
            return symbol_search.count(self.open_symbols, targets, query, kinds, by, cancellation, self._corpora, note)

    def corpus(self, snapshots: Sequence[OpenedCommit]) -> Corpus:
        """Return the corpus of opened commits."""
        return self._corpora.get(snapshots)

    def definitions_of(self, target: Target, path: str | bytes) -> FileDefinitions | None:
        """Return the definitions in one file, or None when the file does not exist or is not parsed yet.

        Raises as `open` does.
        """
        snapshot, _, tables = self.open_symbols(target)
        file_number = snapshot.view.file_number(path.encode() if isinstance(path, str) else path)
        if file_number is None or snapshot.view.reason[file_number]:
            return None

        table = tables[int(snapshot.view.shard[file_number])]
        return None if table is None else table.definitions(int(snapshot.view.document[file_number]))

    def open_symbols(self, target: Target) -> tuple[OpenedCommit, CommitId, list[SymbolTable | None]]:
        """Open the index of a target; returns it, the commit, and the definition table of each shard or None.

        Raises as `open` does.
        """
        snapshot, commit = self.open(target)
        return snapshot, commit, self._symbols.tables(self.repository_folder(target.repository.key), snapshot.shards)

    # Disk.

    def status(self, *, verify: bool = False) -> list[IndexStatus]:
        """Return the status of every index in the folder, sorted by repository.

        With `verify`, all bytes are checked against their checksums; the next update rebuilds a damaged index.
        """
        statuses = [self._status(path, verify=verify) for path in self._paths()]
        statuses = [status for status in statuses if status.commits or status.damaged]
        return sorted(statuses, key=lambda status: (status.repository, status.key))

    def _paths(self) -> list[Path]:
        try:
            return sorted(path for path in self.folder.iterdir() if path.is_dir())
        except FileNotFoundError:
            return []

    def _status(self, path: Path, *, verify: bool) -> IndexStatus:
        key = RepositoryKey(path.name)
        try:
            manifest = self.repository_folder(key).manifest()
            for entry in manifest.views:
                view = CommitView(path / entry.name)
                shard_files = [Shard(path / name).file for name in view.shards if not is_loose(name)]
                if verify:
                    for file in (view.file, *shard_files):
                        file.verify()
        except (IndexDamaged, FileNotFoundError) as error:
            self._damaged.add(key)
            self._drop(key)
            reason = error.reason if isinstance(error, IndexDamaged) else f"{error.filename} is missing"
            return IndexStatus(key, damaged=reason)
        newest = manifest.views[-1] if manifest.views else None
        return IndexStatus(
            key=key,
            repository=manifest.repository,
            commits=tuple(view.commit for view in manifest.views),
            files=newest.files if newest else 0,
            text_bytes=newest.text_bytes if newest else 0,
            format=FORMAT,
        )

    def budget_bytes(self) -> int | None:
        """Return the bytes that all indexes may still grow; None: no limit."""
        return None if self.max_bytes is None else self.max_bytes - self.disk_bytes()

    def disk_bytes(self) -> int:
        """Return the size of all indexes on disk."""
        return sum(self.repository_folder(RepositoryKey(path.name)).disk_bytes() for path in self._paths())

    def prune(self, keep: Collection[RepositoryKey]) -> int:
        """Delete the indexes of all repositories except the keys in `keep`; returns the bytes freed.

        Repositories that stay lose the least recently used views beyond `build.MAX_VIEWS`.
        """
        freed = 0
        for path in self._paths():
            key = RepositoryKey(path.name)
            folder = self.repository_folder(key)
            before = folder.disk_bytes()
            if key in keep:
                # Another process may be building; deleting its files under it would lose the build.
                with folder.lock(lambda: None):
                    open_index.delete_old_views(folder)
                    folder.discard_unneeded()
            else:
                self._corpora.clear()
                self._open.close(key)
                folder.remove()
            freed += before - folder.disk_bytes()
        return freed
