"""The indexes of all repositories on this machine: kept in one folder, brought up to date, opened and searched."""

from __future__ import annotations

import contextlib
import os
import shutil
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import IndexDamaged, SearchIndexError, SourcelightError
from sourcelight.engines.search import searcher, symbol_search, updates
from sourcelight.engines.search.index.folder import LOCK, IndexFolder
from sourcelight.engines.search.index.shard import Shard, is_loose
from sourcelight.engines.search.index.view import CommitView
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
from sourcelight.engines.search.open_index import (
    LOOK_S,
    CheckedTargets,
    Looked,
    drop_old_views,
    loose_bytes,
    mark_used,
    read_loose,
    without_damaged,
)
from sourcelight.engines.search.scan.corpus import Corpus, OpenedCommit
from sourcelight.engines.search.searcher import Note
from sourcelight.engines.search.side_tables import SideTables
from sourcelight.engines.search.updates import commit_of, stale_shards
from sourcelight.engines.search.worker import is_built
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.sections import FORMAT
from sourcelight.engines.symbols import FileDefinitions, SymbolTable
from sourcelight.repos import Repository
from sourcelight.repos.private_files import repair_private_folder

_MOST_OPEN_FILES = 400
"""Mapped files kept open; what was used longest ago is let go of first."""

_MOST_LOOSE_BYTES = 512 * 1024 * 1024
"""Bytes of text that open revisions may hold in memory, since no file has them."""

_READ_AGAIN = 5

_MARK_S = 20.0
"""Seconds after which a view's file is looked at again for when it was used."""

_SEEN_S = 0.02
"""Seconds for which a look at a manifest holds: a search looks at all of them before it opens any."""

_MOST_GROUPS = 32


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
        repair_private_folder(self.folder, LOCK)
        self.max_file_size = max_file_size
        self.max_bytes = max_bytes
        self.workers = max(1, min(workers or worker_pool.usable_cores(), worker_pool.usable_cores()))
        self._folders: dict[str, IndexFolder] = {}
        self._damaged: set[str] = set()
        self._open: OrderedDict[tuple[str, str], OpenedCommit] = OrderedDict()
        self._symbols = SideTables()
        self._fleets = searcher.CorpusCache()
        self._marked: dict[str, float] = {}
        self._seen: dict[str, float] = {}
        self._ready: dict[str, tuple[str, str]] = {}
        self._looked = Looked()
        self._groups: dict[int, CheckedTargets] = {}
        self._guard = threading.Lock()

    # Searching.

    def search(
        self, targets: Sequence[Target], query: TextQuery, options: SearchOptions, cancellation: Cancellation
    ) -> Iterator[SearchPart]:
        """Yield the answer in parts as it is found; a target without a usable index is named in `SearchPart.failed`."""

        def run(targets: Sequence[Target]) -> Iterator[SearchPart]:
            return searcher.search(self.open, targets, query, options, cancellation, self._fleets, self.opened)

        return without_damaged(run, targets, self._note_damage)

    def count(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        note: Note = None,
    ) -> Any:
        """Give a table of the columns `by` with ``matches`` and ``files`` (int64), without reading any line.

        `note` is called with parts that say which files were matched by name only, and why.
        Raises `SearchIndexError` for a target without a usable index and `Cancelled`.
        """
        with self._noting_damage():
            return searcher.count(self.open, targets, query, by, cancellation, self._fleets, note)

    def read(self, target: Target, path: str) -> bytes | None:
        """Give the content of a file; None when there is none or it is matched by name only. Raises as `open`."""
        with self._noting_damage():
            return self.open(target)[0].text_of(path)

    def open(self, target: Target) -> tuple[OpenedCommit, str]:
        """Open a target's index and give its commit too.

        Raises `IndexDamaged` for files that can't be trusted (the next update builds them anew) and
        `SearchIndexError` when the commit is not indexed.
        """
        commit = commit_of(target)
        key = target.repository.key
        folder = self._folder(key)
        ready = self._just_seen(folder, key, commit)
        if ready is not None:
            return ready, commit
        for attempt in range(_READ_AGAIN):
            try:
                entry = folder.manifest().view_of(commit)
                if entry is None:
                    return self._still_open(folder, key, commit), commit
                self._mark_used(folder.path, entry.name)
                self._ready[key] = commit, entry.name
                return self._snapshot(folder, target.repository, entry.name), commit
            except FileNotFoundError as fault:
                # A builder may have replaced the manifest, and deleted what the former one named, in between.
                if attempt == _READ_AGAIN - 1:
                    self._damaged.add(key)
                    raise IndexDamaged(str(folder.path), "a file that the manifest names is missing") from fault
            except IndexDamaged:
                self._damaged.add(key)
                raise
        raise AssertionError

    def _still_open(self, folder: IndexFolder, key: str, commit: str) -> OpenedCommit:
        """Give the open snapshot of a commit whose files were deleted a moment ago; the next look builds them anew.

        Raises `SearchIndexError` when there is none.
        """
        self._forget_groups()
        known, name = self._ready.get(key, ("", ""))
        snapshot = self._open.get((key, name)) if known == commit else None
        if snapshot is None:
            raise SearchIndexError(str(folder.path), f"commit {commit[:12]} is not indexed yet")
        return snapshot

    def opened(self, targets: Sequence[Target], cancellation: Cancellation) -> Iterator[searcher.OpenedTargets]:
        """Open targets, as many at a time as are searched together; ends early when told to stop.

        Those of a tuple that was opened before are given as they are, where all manifests were looked at a moment ago.
        """
        looked, known = self._looked, self._groups.get(id(targets))
        now = time.monotonic()
        if (
            known is not None
            and known.targets is targets
            and known.looked is looked
            and now - looked.at < LOOK_S
            and now - known.marked < _MARK_S
        ):
            yield from known.groups
            return
        groups = []
        for group in searcher.opened(self.open, targets, cancellation):
            groups.append(group)
            yield group
        whole = sum(len(group.targets) for group in groups) == len(targets)
        if whole and isinstance(targets, tuple) and looked is self._looked and looked.holds(targets):
            with self._guard:
                if len(self._groups) >= _MOST_GROUPS:
                    self._groups.clear()
                self._groups[id(targets)] = CheckedTargets(targets, groups, looked, now)

    def _just_seen(self, folder: IndexFolder, key: str, commit: str) -> OpenedCommit | None:
        """An open snapshot whose manifest was looked at a moment ago: as a search does before it opens its targets."""
        known, name = self._ready.get(key, ("", ""))
        if known != commit or time.monotonic() - self._seen.get(key, -_SEEN_S) >= _SEEN_S:
            return None
        found = self._open.get((key, name))
        if found is not None:
            self._mark_used(folder.path, name)
        return found

    def _mark_used(self, folder: Path, name: str) -> None:
        now = time.monotonic()
        if now - self._marked.get(name, -_MARK_S) >= _MARK_S:
            self._marked[name] = now
            mark_used(folder / name)

    def _snapshot(self, folder: IndexFolder, repository: Repository, name: str) -> OpenedCommit:
        key = repository.key
        with self._guard:
            found = self._open.get((key, name))
            if found is not None:
                self._open.move_to_end((key, name))
                return found
            shards = {
                shard.name: shard for (other, _), held in self._open.items() if other == key for shard in held.shards
            }
        view = CommitView(folder.path / name)
        opened = [
            shards.get(shard) or (read_loose(repository, view) if is_loose(shard) else Shard(folder.path / shard))
            for shard in view.shards
        ]
        snapshot = OpenedCommit(view, opened)
        with self._guard:
            self._open[key, name] = snapshot
            files = sum(1 + len(held.shards) for held in self._open.values())
            loose = sum(loose_bytes(held) for held in self._open.values())
            while (files > _MOST_OPEN_FILES or loose > _MOST_LOOSE_BYTES) and len(self._open) > 1:
                self._groups.clear()
                _, oldest = self._open.popitem(last=False)
                files -= 1 + len(oldest.shards)
                loose -= loose_bytes(oldest)
        return snapshot

    def _folder(self, key: str) -> IndexFolder:
        found = self._folders.get(key)
        if found is None:
            with self._guard:
                found = self._folders.setdefault(key, IndexFolder(self.folder / key))
        return found

    # Damage.

    @contextlib.contextmanager
    def _noting_damage(self) -> Iterator[None]:
        try:
            yield
        except IndexDamaged as fault:
            self._note_damage(fault)
            raise

    def _note_damage(self, fault: IndexDamaged) -> str:
        """Let go of an index that can't be trusted, so that the next update builds it anew; give its key."""
        key = Path(fault.path).parent.name
        self._damaged.add(key)
        self._drop(key)
        return key

    def _drop(self, key: str) -> None:
        self._forget_groups()
        self._fleets.clear()
        with self._guard:
            self._ready.pop(key, None)
            self._seen.pop(key, None)
            folder = self._folders.get(key)
            if folder is not None:
                self._symbols.forget(folder)
            for place in [place for place in self._open if place[0] == key]:
                del self._open[place]

    def _check_files(self, key: str) -> None:
        """Let go of what is open of an index whose files were changed by somebody else: they are checked again."""
        with self._guard:
            snapshots = [snapshot for place, snapshot in self._open.items() if place[0] == key]
        if not all(snapshot.is_unchanged() for snapshot in snapshots):
            self._drop(key)
            if self._folder(key).lacks_files():
                self._damaged.add(key)

    # Bringing up to date.

    def is_current(self, target: Target) -> bool:
        """Tell whether a target can be searched as it is; cheap."""
        key = target.repository.key
        if key in self._damaged:
            return False
        now = time.monotonic()
        if now - self._seen.get(key, -LOOK_S) >= LOOK_S:
            self._check_files(key)
        current = is_built(self._folder(key), commit_of(target), self.max_file_size, target.revision)
        if current:
            self._seen[key] = now
        else:
            self._ready.pop(key, None)
        return current

    def all_current(self, targets: tuple[Target, ...]) -> bool:
        """Tell of many targets whether each can be searched as it is: of the same ones again with one `stat` each.

        A moment after such a look they can, whatever another process did to the files meanwhile: those that are open
        stay readable, and hold the same commits.
        """
        looked = self._looked
        if looked.of is targets and not self._damaged:
            now = time.monotonic()
            if now - looked.at < LOOK_S:
                return True
            try:
                for file, inode, modified, size in looked.files:
                    info = os.stat(file)  # noqa: PTH116 - for every search and repository
                    if info.st_mtime_ns != modified or info.st_ino != inode or info.st_size != size:
                        break
                else:
                    for key in looked.keys:
                        self._check_files(key)
                    if looked is not self._looked:  # a file was changed: its index is opened, and checked, again
                        return all(map(self.is_current, targets))
                    looked.at = now
                    return True
            except OSError:
                pass
        self._forget_groups()
        if not all(map(self.is_current, targets)):
            return False
        files = []
        for target in targets:
            file, stamp = self._folder(target.repository.key).watched
            if stamp is None:
                return True
            files.append((file, *stamp))
        self._looked = Looked(
            targets, files, frozenset((t.repository.key, t.commit) for t in targets), time.monotonic()
        )
        return True

    def _forget_groups(self) -> None:
        with self._guard:
            self._looked = Looked()
            self._groups.clear()

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
        run = updates.TextIndexUpdate(self, self.workers, self._damaged, progress, cancellation or Cancellation())
        for target in targets:
            run.consider(target)
        run.build()
        self._let_go_of(run.built_keys)
        return run.report()

    def _let_go_of(self, keys: Collection[str]) -> None:
        if keys:
            self._forget_groups()
            self._fleets.clear()
            for key in keys:
                self._ready.pop(key, None)
        with self._guard:
            for place in [place for place in self._open if place[0] in keys]:
                current = {view.name for view in self._folders[place[0]].manifest().views}
                if place[1] not in current:
                    del self._open[place]

    def forget(self, keys: Collection[str]) -> None:
        """Let go of all that is known of these, files too: their folders are gone, or are others by now."""
        self._forget_groups()
        self._fleets.clear()
        with self._guard:
            for key in keys:
                folder = self._folders.pop(key, None)
                if folder is not None:
                    self._symbols.forget(folder)
                self._ready.pop(key, None)
                self._seen.pop(key, None)
                self._damaged.discard(key)
            for place in [place for place in self._open if place[0] in keys]:
                del self._open[place]

    # Definitions.

    def update_symbols(
        self,
        targets: Sequence[Target],
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Find the definitions that are missing for these targets, whose text is indexed by now.

        Parsing takes a second for about 10 MB, so this belongs behind a text index that is searchable already. Files
        and bytes of the report are those parsed. What was finished stays when this is stopped or killed.
        """
        work = updates.DefinitionTables(self)
        run = updates.SideTableUpdate(self, work, self.workers, progress, cancellation or Cancellation())
        for target in targets:
            run.consider(target)
        return run.build()

    def symbols_current(self, target: Target) -> bool:
        """Tell whether all definitions of a target can be searched; False, too, when its text is not indexed."""
        try:
            snapshot, _, tables = self.open_symbols(target)
        except (SourcelightError, OSError):
            return False
        return not snapshot.remember(("stale", tuple(tables)), lambda: stale_shards(snapshot, tables))

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
            The tree is over names of definitions: it must hold for the names in a file as a whole, and the rows are
            the definitions that match an atom outside NOT. What an atom says of content and path is ignored. A tree
            of None gives all definitions of the files that pass the filters.
        options
            Only `max_matches` counts.
        kinds
            Kinds to show, also in the spelling of ``select:symbol.`` (``enum-member``); empty: all.

        Rows have ``symbol``, ``symbol_kind``, ``container``, ``url``, ``line_number``, ``line`` and the place of the
        name in it (null where the line is longer than `symbol_search.LONGEST_LINE` bytes). `skipped` counts the files
        whose definitions are not computed yet (``symbols-pending``), those that could not be parsed in full
        (``symbols-incomplete``) and those whose content is not there (``missing``).
        """

        def run(targets: Sequence[Target]) -> Iterator[SearchPart]:
            return symbol_search.search(self.open_symbols, targets, query, kinds, options, cancellation, self._fleets)

        return without_damaged(run, targets, self._note_damage)

    def count_symbols(
        self,
        targets: Sequence[Target],
        query: TextQuery,
        by: Sequence[GroupBy],
        cancellation: Cancellation,
        *,
        kinds: Collection[str] = (),
        note: Note = None,
    ) -> Any:
        """Give a table of the columns `by` with ``matches`` (definitions) and ``files``, int64; as `search_symbols`.

        `note` and what is raised are those of `count`.
        """
        with self._noting_damage():
            return symbol_search.count(self.open_symbols, targets, query, kinds, by, cancellation, self._fleets, note)

    def fleet(self, snapshots: Sequence[OpenedCommit]) -> Corpus:
        """Give opened targets as one, as they are searched."""
        return self._fleets.of(snapshots)

    def definitions_of(self, target: Target, path: str | bytes) -> FileDefinitions | None:
        """Give the definitions in one file; None when there is no such file or its definitions are not computed yet.

        Raises as `open` does.
        """
        snapshot, _, tables = self.open_symbols(target)
        place = snapshot.view.place_of(path.encode() if isinstance(path, str) else path)
        if place is None or snapshot.view.reason[place]:
            return None
        table = tables[int(snapshot.view.shard[place])]
        return None if table is None else table.definitions(int(snapshot.view.document[place]))

    def open_symbols(self, target: Target) -> tuple[OpenedCommit, str, list[SymbolTable | None]]:
        """Open a target's index, its commit, and the table of definitions of each shard, None where there is none.

        Raises as `open` does.
        """
        snapshot, commit = self.open(target)
        return snapshot, commit, self._symbols.tables(self._folder(target.repository.key), snapshot.shards)

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
                view = CommitView(path / entry.name)
                for file in (view.file, *(Shard(path / name).file for name in view.shards if not is_loose(name))):
                    if verify:
                        file.verify()
        except (IndexDamaged, FileNotFoundError) as fault:
            self._damaged.add(path.name)
            self._drop(path.name)
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

    def repository_folder(self, key: str) -> IndexFolder:
        """Give the folder of a repository's index."""
        return self._folder(key)

    def room(self) -> int | None:
        """Bytes that the indexes may still grow; None for no limit."""
        return None if self.max_bytes is None else self.max_bytes - self.disk_bytes()

    def disk_bytes(self) -> int:
        """Bytes that all indexes take on disk."""
        return sum(self._folder(path.name).disk_bytes() for path in self._paths())

    def prune(self, keep: Collection[str]) -> int:
        """Delete the indexes of all repositories but those whose keys are given; give the bytes freed.

        Of those kept, revisions beside the default ones go beyond `build.MOST_VIEWS`, what was used longest ago first.
        """
        freed = 0
        for path in self._paths():
            folder = self._folder(path.name)
            before = folder.disk_bytes()
            if path.name in keep:
                with folder.locked(lambda: None):
                    drop_old_views(folder)
                    folder.discard_unneeded()
            else:
                self._fleets.clear()
                with self._guard:
                    for place in [place for place in self._open if place[0] == path.name]:
                        del self._open[place]
                shutil.rmtree(path, ignore_errors=True)
            freed += before - folder.disk_bytes()
        return freed
