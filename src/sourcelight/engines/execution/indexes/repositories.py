"""The repositories of an engine on this machine: their indexes, and how those follow the commits.

Nothing here knows a query. `sourcelight.engines.execution.local` searches over it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.batches.results import CallObserver, ToolProgress
from sourcelight.core.caching import LruCache
from sourcelight.core.cancellation import Cancellation, run_in_thread
from sourcelight.core.errors import Cancelled, RepositoryError, SearchIndexError
from sourcelight.engines.execution.indexes import background
from sourcelight.engines.execution.indexes.first_indexing import FirstIndexing
from sourcelight.engines.execution.indexes.worktree_changes import WorktreeChanges
from sourcelight.engines.history import HistoryStore
from sourcelight.engines.search import IndexReport, IndexStore, Target
from sourcelight.engines.search.direct import DirectSearch
from sourcelight.engines.storage.folder import LOCK
from sourcelight.repos import Catalog, Repository, Viewer, resolve
from sourcelight.repos.objects import store_size
from sourcelight.repos.private_files import repair_private_folder

if TYPE_CHECKING:
    from sourcelight.engines.search.term_store import TermStore

WORKTREE = "WORKTREE"

FULL_CHECK_S = 0.25
"""Seconds after which new repositories and changed settings are noticed at the latest; new commits are at once."""

RETRY_S = 30.0
"""Seconds between attempts to index an unchanged repository that failed, for example because of a full disk."""

_WORKTREE_WAIT_S = 2.0
"""Seconds that a search of work trees waits while another call indexes: of an edit, that takes some milliseconds."""

_MAX_CHECKED_ON_LOOP = 64
"""Repositories whose full check, a dozen calls of `stat` each, takes an event loop about two milliseconds."""

_MOMENT_BYTES = 4 << 20
"""Bytes of git's packs that are indexed in a second or two: about twenty megabytes of text at most."""

_MAX_CACHED_TARGETS = 32
"""Selections of repositories that `targets_of` returns the same tuple for."""

_WATCH_S = 0.02
"""Seconds between looks at the time limit while terms are built."""

_TIMED_OUT = "the time limit passed while its words were read; ask again in a moment"


class IndexedRepositories:
    """The repositories of `catalog`, with the index of `store` and its other tables.

    Parameters
    ----------
    catalog
        Repositories, and who may see them.
    store
        The text index.
    worktree
        Whether work trees are searched as they are on disk (revision ``WORKTREE``) instead of their HEAD.
    history
        Stores histories, by default in a directory next to `store`. `histories` updates them.
    """

    def __init__(
        self, catalog: Catalog, store: IndexStore, *, worktree: bool = False, history: HistoryStore | None = None
    ) -> None:
        self.catalog = catalog
        self.store = store
        self.worktree = worktree
        self.report: IndexReport | None = None
        self.indexing = FirstIndexing()
        self.direct = DirectSearch(store)
        self.changes = WorktreeChanges()
        self.definitions = background.DefinitionUpdater(store)
        self._history = history
        if history is None:
            # The histories are opened later, but what an earlier version left open to others is closed now.
            repair_private_folder(self._history_folder, LOCK)
        self.histories = background.HistoryUpdater(lambda: self.history)
        self._terms: TermStore | None = None
        # Searches in several threads must share one store of each kind.
        self._first_use = threading.Lock()
        self.term_updates = background.TermUpdater(self.definitions, self.update_terms)

        # Only grows: a name that disappears is reported as removed for as long as the engine is open.
        self._known_names = {repository.info.name for repository in catalog.repositories}
        # One thread indexes at a time; if it is busy, a search continues with the current index.
        self._updating = threading.Lock()
        self._next_full_check_s = 0.0
        self._last_attempts: dict[str, tuple[str, float]] = {}
        # Why the last reading of a work tree failed, by the key of its repository.
        self._unread_worktrees: dict[str, str] = {}
        self._targets: tuple[tuple[Repository, ...], tuple[Target, ...]] = ((), ())
        self._targets_by_ids: LruCache[tuple[int, ...], tuple[tuple[Repository, ...], tuple[Target, ...]]] = LruCache(
            _MAX_CACHED_TARGETS
        )

    @property
    def history(self) -> HistoryStore:
        """The stored histories; opened with the first call that needs one."""
        with self._first_use:
            if self._history is None:
                from sourcelight.engines.history.store.store import LocalHistoryStore

                self._history = LocalHistoryStore(self._history_folder)
            return self._history

    @property
    def _history_folder(self) -> Path:
        folder = self.store.folder
        return folder.with_name(f"{folder.name}-history")

    @property
    def terms(self) -> TermStore:
        """The terms of ranking; opened with the first question."""
        with self._first_use:
            if self._terms is None:
                from sourcelight.engines.search.term_store import TermStore

                self._terms = TermStore(self.store)
            return self._terms

    def update(
        self,
        *,
        progress: Callable[[IndexProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> IndexReport:
        """Index missing files of the current commit of each repository; failures are data in the report."""
        with self._updating:
            targets = [self.target_of(repository) for repository in self.catalog.repositories]
            self.report = self.store.update(targets, progress=progress, cancellation=cancellation)
            self._note_attempts(targets)
            return self.report

    def start_indexing(self, on_end: Callable[[], None] = lambda: None, *, on_demand: bool = False) -> None:
        """Index missing files in a thread, then call `on_end`; with `on_demand`, only once a search waits for it.

        Meanwhile searches of text read what is not indexed yet from the repositories. Other searches wait for the
        index a while, and other calls don't.
        """

        def end() -> None:
            # The index answers from now on; the texts that direct search cached would only take memory.
            self.direct.clear()
            on_end()

        def index(note: Callable[[IndexProgress], None], cancellation: Cancellation) -> IndexReport:
            return self.update(progress=note, cancellation=cancellation)

        self.indexing.start(index, end, on_demand=on_demand)

    def index_takes_a_moment(self) -> bool:
        """Return whether indexing the rest takes only a second or two, so that a caller can wait for it."""
        size = 0
        for target in self._default_targets():
            if target.repository.kind == "git" and not self.store.is_current(target):
                size += store_size(target.repository.git_dir).bytes
                if size > _MOMENT_BYTES:
                    return False
        return True

    def is_indexed(self) -> bool:
        """Return whether all repositories are indexed."""
        return self.store.all_current(self._default_targets())

    def read_file(self, target: Target, path: str, cancellation: Cancellation | None = None) -> bytes | None:
        """Return the content of a file. A commit without an index, or with a damaged one, is indexed first.

        None if the commit has no file there, or the file is matched by name only. Raises as `IndexStore.open`.
        """
        try:
            return self.store.read(target, path)
        except SearchIndexError:
            self.store.update([target], cancellation=cancellation)
            return self.store.read(target, path)

    def pending(self, targets: Sequence[Target]) -> list[str]:
        """Name the repositories of `targets` that the first indexing has not reached; none after it."""
        if not self.indexing.is_running:
            return []
        return sorted({target.repository.name for target in targets if not self.store.is_current(target)})

    def refresh(self, cancellation: Cancellation | None = None) -> None:
        """Detect moved refs, and changed work trees if they are searched, and index new files.

        Costs some microseconds a repository when nothing moved. Other commits are seen at once, and new repositories
        within a quarter of a second. While another thread indexes, the caller continues with the index as it is; a
        caller that searches work trees waits a moment for it, as no index of before has what has just been edited.
        """
        wait_s = _WORKTREE_WAIT_S if self.worktree else 0.0
        if self.indexing.is_running or not self._updating.acquire(timeout=wait_s):
            return

        try:
            now = time.monotonic()
            is_brief = now < self._next_full_check_s
            self.catalog.refresh(brief=is_brief)

            # Measured from the start of the refresh, which itself may take long with thousands of repositories.
            self._next_full_check_s = self._next_full_check_s if is_brief else now + FULL_CHECK_S
            targets = self._default_targets()
            if self.store.all_current(targets):
                return

            stale = [target for target in targets if not self.store.is_current(target)]
            if any(self._is_due(target, now) for target in stale):
                self.report = self.store.update(stale, cancellation=cancellation)
                self._note_attempts(stale)
        finally:
            self._updating.release()

    def direct_while_indexing(self, cancellation: Cancellation) -> DirectSearch | None:
        """Return the search without an index while the first indexing runs; None after it, when `refresh` has run.

        It may have ended since the search began, with an earlier state of a work tree.
        """
        if self.indexing.is_running:
            return self.direct
        self.refresh(cancellation)
        return None

    @property
    def are_few(self) -> bool:
        """Whether the thread of an event loop may look at all repositories."""
        return len(self.catalog.repositories) <= _MAX_CHECKED_ON_LOOP

    def is_unchanged(self) -> bool:
        """Return whether `refresh` would find nothing new; False also if it can't tell at once.

        Safe on the thread of an event loop: it calls `stat`, reads no file and waits for no lock. A full check of many
        repositories is left to `refresh`.
        """
        now = time.monotonic()
        is_brief = now < self._next_full_check_s
        is_fast = self.are_few
        if (
            self.indexing.is_running
            or not (is_brief or is_fast)
            # Last in the list, since what follows has to release it.
            or not self._updating.acquire(blocking=False)
        ):
            return False

        try:
            if not self.catalog.is_unchanged(brief=is_brief):
                return False
            if not self.store.was_current(self._default_targets(), checks_files=is_fast):
                return False
            if not is_brief:
                self._next_full_check_s = now + FULL_CHECK_S
            return True
        finally:
            self._updating.release()

    def update_terms(
        self, targets: Sequence[Target], cancellation: Cancellation, observer: CallObserver | None = None
    ) -> dict[str, str]:
        """Index the text, definitions and terms of `targets`; return failures with their reasons.

        When the time limit passes, work continues in the background, and unfinished targets are failures.

        Raises `Cancelled`; finished work is kept.
        """
        stale = [target for target in targets if not self.terms.is_current(target)]
        if not stale:
            return {}
        if cancellation.remaining_s is None:
            return self._build_terms(stale, cancellation, observer)

        failed: dict[str, str] = {}
        # The build looks at requests to stop alone, so a thread watches the time for it.
        try:
            for _ in run_in_thread(
                lambda signal: failed.update(self._build_terms(stale, signal, observer)), cancellation, _WATCH_S
            ):
                pass
        except Cancelled:
            cancellation.check()

        if cancellation.expired:
            unfinished = [target for target in stale if not self.terms.is_current(target)]
            self.term_updates.start(unfinished)
            failed |= {label_of(target): _TIMED_OUT for target in unfinished}

        cancellation.check()
        return failed

    def _build_terms(
        self, stale: Sequence[Target], cancellation: Cancellation, observer: CallObserver | None
    ) -> dict[str, str]:
        def report_as(stage: str) -> Callable[[IndexProgress], None]:
            def report(state: IndexProgress) -> None:
                if observer is not None:
                    observer(
                        ToolProgress(
                            stage=stage,
                            done=state.repositories_done,
                            total=state.repositories_total,
                            detail=state.repository,
                        )
                    )

            return report

        failed: dict[str, str] = {}
        # Terms are read from text shards and definitions, so those are built first.
        missing = [target for target in stale if not self.store.is_current(target)]
        if missing:
            text = self.store.update(missing, progress=report_as("reading text"), cancellation=cancellation)
            failed.update(text.failures)

        cancellation.check()
        terms = self.terms.update(stale, progress=report_as("reading words"), cancellation=cancellation)
        cancellation.check()
        return failed | dict(terms.failures)

    def targets_of(self, repositories: Sequence[Repository]) -> tuple[Target, ...]:
        """Return the targets of all repositories at their default revisions; the same object for the same repositories.

        The store opens a tuple of targets once, and finds it again by identity.
        """
        if self.worktree:
            return tuple(map(self.target_of, repositories))
        # By ids: the cached value holds the repositories, so no other object can get their ids.
        key = tuple(map(id, repositories))
        return self._targets_by_ids.get_or_make(
            key, lambda: (tuple(repositories), tuple(map(self.target_of, repositories)))
        )[1]

    def target_of(self, repository: Repository) -> Target:
        """Return the target of `repository`: HEAD, or its work tree where this engine reads those."""
        if self.worktree and repository.kind == "git" and repository.worktree:
            try:
                target = Target(repository, WORKTREE, resolve(repository, WORKTREE))
            except RepositoryError as error:
                self._unread_worktrees[repository.key] = str(error)
            else:
                self._unread_worktrees.pop(repository.key, None)
                return target
        return Target(repository, "", repository.info.commit)

    def unread_worktrees(self, repositories: Iterable[Repository], viewer: Viewer) -> dict[str, str]:
        """Return why HEAD was searched instead of the work tree, by the names of repositories."""
        reasons = {repository.name: self._unread_worktrees.get(repository.key) for repository in repositories}
        # An error may name files.
        return {
            name: reason if viewer.sees_private else "its files can't be read"
            for name, reason in reasons.items()
            if reason is not None
        }

    @property
    def default_histories(self) -> list[background.HistoryRequest]:
        """Targets whose history must be read so that the commits of every repository can be searched."""
        repositories = (repository for repository in self.catalog.repositories if repository.kind == "git")
        return [background.HistoryRequest(repository, (repository.info.commit,)) for repository in repositories]

    @property
    def removed_repositories(self) -> list[str]:
        """Repositories removed since opening."""
        return sorted(self._known_names - {repository.info.name for repository in self.catalog.repositories})

    def close(self) -> None:
        """Stop background work; finished work stays."""
        self.indexing.stop()
        self.term_updates.stop()
        self.definitions.stop()
        self.histories.stop()

    def _note_attempts(self, targets: Sequence[Target]) -> None:
        now = time.monotonic()
        # Replaced as a whole: a repository outside the latest attempt was current then, or has been removed.
        self._last_attempts = {target.repository.key: (target.commit, now) for target in targets}

    def _is_due(self, target: Target, now: float) -> bool:
        """Return whether to index a target: after a failure, only once it has changed or some time has passed."""
        if self.report is None or target.repository.info.name not in self.report.failures:
            return True
        commit, attempted_s = self._last_attempts.get(target.repository.key, ("", 0.0))
        return commit != target.commit or now - attempted_s >= RETRY_S

    def _default_targets(self) -> tuple[Target, ...]:
        """Return the targets of all repositories; the same object while the repositories are the same."""
        repositories, targets = self._targets
        # By identity: the catalog makes a new tuple when its repositories change.
        if repositories is not self.catalog.repositories or self.worktree:
            repositories = self.catalog.repositories
            self._known_names.update(repository.info.name for repository in repositories)
            targets = self.targets_of(repositories)
            self._targets = repositories, targets

        return targets


def label_of(target: Target) -> str:
    """Return the name of a repository, with the requested revision."""
    if target.revision:
        return f"{target.repository.name}@{target.revision}"
    return target.repository.name
