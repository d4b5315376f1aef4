"""The histories of all repositories on this machine, in one folder: update, open and pruning."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, IndexDamaged, SearchIndexError, SourcelightError
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import HEAD_ONLY, HistoryProgress, HistoryReport
from sourcelight.engines.history.store.folder import HistoryFolder, open_history
from sourcelight.engines.history.store.unbuilt import CommitReader, read_unbuilt
from sourcelight.engines.history.store.update import HistoryUpdate, shallow_borders
from sourcelight.engines.storage import worker_pool
from sourcelight.engines.storage.folder import LOCK, MANIFEST, Stamp, reason_of
from sourcelight.repos import Repository, resolve
from sourcelight.repos.handles import mailmap_blob
from sourcelight.repos.private_files import repair_private_folder

_MAX_OPEN = 64
"""Open histories; a removed history stays mapped while somebody reads it."""

MAX_UNBUILT_BYTES = 64 << 20
"""Memory for commits of histories that aren't built: about 90,000 commits."""

# Attempts to open a history while other processes replace it.
_MAX_ATTEMPTS = 5


class LocalHistoryStore:
    """Keeps histories below `folder`; a `model.HistoryStore`. Safe to share between threads.

    Parameters
    ----------
    folder
        Where the histories are; made when needed. It may be deleted at any time, and several processes may share it.
    workers
        Processes that read patches; None: one for each core.
    max_unbuilt_bytes
        Memory for commits of histories that aren't built.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        workers: int | None = None,
        *,
        max_unbuilt_bytes: int = MAX_UNBUILT_BYTES,
    ) -> None:
        self.folder = Path(folder)
        repair_private_folder(self.folder, LOCK)
        self._workers = max(1, min(workers or worker_pool.usable_cores(), worker_pool.usable_cores()))
        self._open: LruCache[str, tuple[Stamp, History]] = LruCache(_MAX_OPEN)
        self._unbuilt: LruCache[tuple[str, ...], CommitReader] = LruCache(
            max_unbuilt_bytes,
            weigh=lambda unbuilt: unbuilt.memory_bytes,
            on_evict=lambda key, _: self._crowded_out.add(key[0]),
        )

        # Repositories whose commits had to make room: to read them again and again costs more than a build.
        self._crowded_out: set[str] = set()
        self._damaged: set[str] = set()

    def update(
        self,
        repositories: Sequence[Repository],
        *,
        refs: Sequence[str] = HEAD_ONLY,
        progress: Callable[[HistoryProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> HistoryReport:
        """Store the new commits of `refs` of each repository; see `model.HistoryStore.update`."""
        cancellation = cancellation or Cancellation()
        built: list[str] = []
        current: list[str] = []
        failures: dict[str, str] = {}
        incomplete: dict[str, int] = {}
        added = 0
        cancelled = False
        for done, repository in enumerate(repositories):
            name = repository.name

            def tell(commits: int, total: int, done: int = done, name: str = name) -> None:
                if progress is not None:
                    progress(HistoryProgress(done, len(repositories), commits, total, name))

            if repository.kind != "git":
                failures[name] = "it is a directory without git, and has no history"
                continue

            folder = self._folder(repository)
            update = HistoryUpdate(repository, folder, refs, self._workers, cancellation, tell)
            try:
                # The lock is held for one repository at a time, so other processes can work on the rest.
                with folder.lock(cancellation.check):
                    self._forget_damage(repository.key, folder)
                    (built if update.run() else current).append(name)
            except Cancelled:
                cancelled = True
                break
            # One broken repository must not stop the update of all others.
            except (SourcelightError, OSError, MemoryError) as error:
                failures[name] = reason_of(error)
                continue

            added += update.added
            if update.manifest.unread:
                incomplete[name] = update.manifest.unread

        return HistoryReport(tuple(built), tuple(current), failures, incomplete, added, cancelled)

    def forget(self, keys: Collection[str]) -> None:
        """Drop everything cached about these repositories, whose folders were deleted or replaced."""
        for key in keys:
            self._open.pop(key)
            self._damaged.discard(key)
            self._crowded_out.discard(key)

    def is_current(self, repository: Repository, revision: str = "") -> bool:
        """Return whether the history of `revision` (empty: the current HEAD) is complete; cheap."""
        try:
            oid = resolve(repository, revision)
            return self.open(repository).position(oid) is not None
        except (SourcelightError, OSError):
            return False

    def open(self, repository: Repository) -> History:
        """Open the stored history of a repository: a snapshot that later updates do not change.

        Raises
        ------
        SearchIndexError
            When it is not built yet, or is damaged (`IndexDamaged`; the next update builds it again).
        """
        folder = self._folder(repository)
        for attempt in range(_MAX_ATTEMPTS):
            # The stamp is read before the manifest. When the manifest is replaced in between, the stamp is too old, and
            # the next call opens the history again.
            stamp = folder.stamp()
            if stamp is None:
                raise SearchIndexError(str(folder.path), "its history is not built yet")

            cached = self._open.get(repository.key)
            if cached is not None and not cached[1].is_unchanged():
                cached = None  # a file was changed or deleted since: it is opened, and checked, again

            if cached is not None and cached[0] == stamp:
                return cached[1]

            try:
                manifest = folder.manifest()
                if manifest is None:
                    continue
                # Segments never change, so open ones keep their mappings and the columns they have computed.
                open_segments = cached[1].segments if cached is not None else ()
                history = open_history(folder.path, manifest, repository.incomplete, open_segments)
            except FileNotFoundError as error:
                # The manifest was replaced and its files deleted in between.
                if attempt + 1 == _MAX_ATTEMPTS:
                    raise self._damage(repository.key, str(error.filename), "the file is missing") from error
                continue
            except IndexDamaged:
                self._damaged.add(repository.key)
                raise

            self._open.put(repository.key, (stamp, history))
            self._unbuilt.discard_where(lambda key: key[0] == repository.key)
            return history

        raise SearchIndexError(str(folder.path), "its history is being replaced")

    def reads_unbuilt(self, repository: Repository) -> bool:
        """Return whether `open_unbuilt` reads commits, since nothing is kept and there is memory for them; cheap."""
        # A stored history takes new commits in within a second, so it is brought up to date instead.
        is_stored = self._folder(repository).stamp() is not None
        return repository.kind == "git" and not is_stored and repository.key not in self._crowded_out

    def open_unbuilt(
        self, repository: Repository, commits: Sequence[str], cancellation: Cancellation | None = None
    ) -> CommitReader | None:
        """Read the commits behind `commits` of a repository whose history isn't built; None unless `reads_unbuilt`.

        Raises as `read_unbuilt` does.
        """
        if not self.reads_unbuilt(repository):
            return None

        git_dir = repository.git_dir
        # With HEAD, as a build reads it: so commits of one second come in the same order before and after.
        tips = {resolve(repository, ""), *commits}

        # All that the commits and their people depend on: what was pulled since, or a new mailmap, is another key.
        key = (repository.key, git_dir, mailmap_blob(git_dir), shallow_borders(git_dir), *sorted(tips))
        unbuilt = self._unbuilt.get(key)
        if unbuilt is None:
            unbuilt = read_unbuilt(repository, key[4:], self._workers, cancellation or Cancellation())
            self._unbuilt.put(key, unbuilt)

        return unbuilt

    def disk_bytes(self, repository: Repository) -> int:
        """Return the bytes that a repository's history takes on disk."""
        return self._folder(repository).disk_bytes()

    def prune(self, keep: Collection[str]) -> int:
        """Delete the histories of all repositories except `keep`; return the bytes freed."""
        freed = 0
        with contextlib.suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                if path.is_dir() and path.name not in keep:
                    folder = HistoryFolder(path)
                    freed += folder.disk_bytes()
                    self._open.pop(path.name)
                    folder.remove()

        return freed

    def _folder(self, repository: Repository) -> HistoryFolder:
        return HistoryFolder(self.folder / repository.key)

    def _damage(self, key: str, path: str, reason: str) -> IndexDamaged:
        self._damaged.add(key)
        return IndexDamaged(path, reason)

    def _forget_damage(self, key: str, folder: HistoryFolder) -> None:
        """Delete a damaged manifest, so that the builder starts from nothing."""
        if key in self._damaged:
            self._damaged.discard(key)
            with contextlib.suppress(OSError):
                (folder.path / MANIFEST).unlink(missing_ok=True)
