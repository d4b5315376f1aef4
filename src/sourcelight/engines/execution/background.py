"""Histories brought up to date in the background, and how a search waits for those that it needs.

Definitions found in the background for symbol searches, and how long a search waits for them.

How much of the work trees differs from what is searched: asked often, so remembered for a moment.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError, SourcelightError
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.protocol import amount, names
from sourcelight.engines.history import HEAD_ONLY, HistoryProgress, HistoryStore
from sourcelight.engines.search import IndexStore, Target
from sourcelight.repos import Repository, worktree_status

_STEP_S = 0.1


@dataclass(frozen=True, slots=True)
class HistoryRequest:
    """A repository and the commits whose history is needed (40 hex digits)."""

    repository: Repository
    commits: tuple[str, ...]

    @property
    def key(self) -> tuple[str, tuple[str, ...]]:
        """What tells this from other wishes."""
        return self.repository.key, self.commits


class HistoryUpdater:
    """Builds what is missing in one thread, whoever asks; stops with the process.

    Parameters
    ----------
    store
        Where histories are kept.
    """

    def __init__(self, store: HistoryStore) -> None:
        self.store = store
        self._waiting: dict[tuple[str, tuple[str, ...]], HistoryRequest] = {}
        self._failed: dict[tuple[str, tuple[str, ...]], str] = {}
        self._running = False
        self._latest: HistoryProgress | None = None
        self._cancellation = Cancellation()
        self._changed = threading.Condition()

    def start(self, wanted: Sequence[HistoryRequest]) -> list[HistoryRequest]:
        """Begin with what is missing; give what is not ready. What failed before is tried again."""
        stale = [request for request in wanted if not self.ready(request)]
        with self._changed:
            for request in stale:
                self._failed.pop(request.key, None)
                self._waiting[request.key] = request
            if self._waiting and not self._running:
                self._running = True
                threading.Thread(target=self._work, name="sourcelight-history", daemon=True).start()
        return stale

    def ready(self, wanted: HistoryRequest) -> bool:
        """Tell whether the history behind all its commits is there."""
        try:
            history = self.store.open(wanted.repository)
        except (SourcelightError, OSError):
            return False
        return all(history.position(oid) is not None for oid in wanted.commits)

    def wait(self, wanted: Sequence[HistoryRequest], cancellation: Cancellation) -> Iterator[Skipped]:
        """Wait for histories, saying how far that is from time to time; ends early when `cancellation` stops."""
        missing = self.start(wanted)
        while missing and not cancellation.stopped:
            yield self._item(missing)
            with self._changed:
                self._changed.wait(_STEP_S)
                missing = [request for request in missing if request.key in self._waiting]

    def failures(self, wanted: Sequence[HistoryRequest]) -> Mapping[str, str]:
        """Name the repositories whose history could not be had, and why."""
        return {request.repository.name: self._failed[request.key] for request in wanted if request.key in self._failed}

    def stop(self, wait_s: float = 2.0) -> None:
        """End the work at its next check, and wait so long for that; what is ready stays, and `start` begins again."""
        with self._changed:
            self._waiting.clear()
            self._cancellation.cancel()
            self._changed.wait_for(lambda: not self._running, wait_s)
            self._cancellation = Cancellation()

    def _item(self, missing: Sequence[HistoryRequest]) -> Skipped:
        latest = self._latest
        far = ""
        if latest is not None and latest.commits_total:
            far = f" ({latest.commits_done:,} of {latest.commits_total:,} commits of `{latest.repository}` read)"
        return Skipped(
            reason="history-indexing",
            title=f"{amount(len(missing))} reading history",
            message=f"The history of these repositories is read for the first time, or what is new in it{far}:\n"
            + names([request.repository.name for request in missing]),
        )

    def _note(self, progress: HistoryProgress) -> None:
        self._latest = progress

    def _work(self) -> None:
        while True:
            with self._changed:
                request, cancellation = next(iter(self._waiting.values()), None), self._cancellation
                if request is None:
                    self._running = False
                    self._changed.notify_all()
                    return
            reason = self._built(request, cancellation)
            with self._changed:
                if reason:
                    self._failed[request.key] = reason
                self._waiting.pop(request.key, None)
                self._changed.notify_all()

    def _built(self, request: HistoryRequest, cancellation: Cancellation) -> str:
        """Build one history; give why that failed."""
        refs = (*HEAD_ONLY, *request.commits)
        try:
            report = self.store.update([request.repository], refs=refs, progress=self._note, cancellation=cancellation)
        except Exception as exc:  # noqa: BLE001 - one repository must not end the others; the reason is reported
            return f"{type(exc).__name__}: {exc}"
        reason = report.failures.get(request.repository.name, "")
        if not reason and not report.cancelled and not self.ready(request):
            return "its history could not be read"
        return reason


WAIT_S = 2.0
"""Seconds that a search waits for definitions unless it asks for every match; it goes on with those that are there."""

RETRY_S = 10.0
"""Seconds after which definitions that could not be found are looked for again: their files may have been deleted."""

_Key = tuple[str, str]


class DefinitionUpdater:
    """Finds what is missing in one thread, whoever asks; stops with the process.

    Parameters
    ----------
    store
        The index whose definitions are kept.
    """

    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._waiting: dict[_Key, Target] = {}
        self._tried: dict[_Key, float] = {}
        self._running = False
        self._cancellation = Cancellation()
        self._changed = threading.Condition()

    def start(self, targets: Sequence[Target]) -> set[_Key]:
        """Begin with what is missing for `targets`; give the keys of those that are not ready."""
        stale = {(t.repository.key, t.commit): t for t in targets if not self._store.symbols_current(t)}
        with self._changed:
            now = time.monotonic()
            due = {key: target for key, target in stale.items() if now - self._tried.get(key, -RETRY_S) >= RETRY_S}
            self._waiting.update(due)
            self._tried.update(dict.fromkeys(due, now))
            if self._waiting and not self._running:
                self._running = True
                threading.Thread(target=self._work, name="sourcelight-definitions", daemon=True).start()
        return set(stale)

    def stop(self, wait_s: float = 2.0) -> None:
        """End the work at its next check, and wait so long for that; what is ready stays, and `start` begins again."""
        with self._changed:
            self._waiting.clear()
            self._tried.clear()
            self._cancellation.cancel()
            self._changed.wait_for(lambda: not self._running, wait_s)
            self._cancellation = Cancellation()

    def wait(self, targets: Sequence[Target], cancellation: Cancellation, wait_s: float | None) -> Iterator[int]:
        """Wait for the definitions of `targets`, giving how many are not ready from time to time.

        Ends when all are ready or given up, after `wait_s` seconds (None: no limit), or when `cancellation` stops.
        """
        missing = self.start(targets)
        deadline = None if wait_s is None else time.monotonic() + wait_s
        while missing and not cancellation.stopped and (deadline is None or time.monotonic() < deadline):
            with self._changed:
                if not self._running:
                    return
                self._changed.wait(_STEP_S)
            missing = {key for key in missing if not self._ready(key, targets)}
            if missing:
                yield len(missing)

    def _ready(self, key: _Key, targets: Sequence[Target]) -> bool:
        return all(self._store.symbols_current(t) for t in targets if (t.repository.key, t.commit) == key)

    def _work(self) -> None:
        while True:
            with self._changed:
                batch, cancellation = list(self._waiting.values()), self._cancellation
                self._waiting.clear()
                if not batch:
                    self._running = False
                    self._changed.notify_all()
                    return
            # One batch that fails must not end the others; a search says which files have no definitions.
            with suppress(Exception):
                self._store.update_symbols(batch, cancellation=cancellation)
            with self._changed:
                for target in batch:
                    if self._store.symbols_current(target):  # tables that are deleted later are built anew at once
                        self._tried.pop((target.repository.key, target.commit), None)


def under_way(repositories: int) -> Skipped:
    """Repositories whose definitions are being found while the search waits."""
    return Skipped(
        reason="symbols-pending",
        title=f"{amount(repositories)} without definitions yet",
        message=f"Definitions are being found in {repositories:,} repositories.",
    )


FRESH_S = 2.0
QUICK_S = 0.05


@dataclass(slots=True)
class _ChangeCount:
    files: int = 0
    at: float = -1e9
    cost_s: float = 0.0
    busy: bool = False


class WorktreeChanges:
    """Modified and untracked files per repository.

    A number younger than `FRESH_S` seconds is given as it is. An older one is counted anew at once where that took
    less than `QUICK_S` seconds the last time; else a thread counts and the last number is given until it is done, so
    that a search never waits for a slow work tree. The first time is always counted at once.
    """

    def __init__(self) -> None:
        self._known: dict[str, _ChangeCount] = {}
        self._lock = threading.Lock()

    def count(self, repositories: Iterable[Repository]) -> dict[str, int]:
        """Changed files by repository name; repositories without any, or without a work tree, are left out."""
        counts = {}
        for repository in repositories:
            if repository.kind == "git" and repository.worktree:
                files = self._of(repository)
                if files:
                    counts[repository.facts.name] = files
        return counts

    def _of(self, repository: Repository) -> int:
        with self._lock:
            cached = self._known.setdefault(repository.key, _ChangeCount())
            if time.monotonic() - cached.at < FRESH_S or cached.busy:
                return cached.files
            cached.busy = True
        if cached.cost_s <= QUICK_S:
            self._count(repository, cached)
        else:
            threading.Thread(target=self._count, args=(repository, cached), daemon=True).start()
        return cached.files

    def _count(self, repository: Repository, cached: _ChangeCount) -> None:
        started = time.monotonic()
        try:
            status = worktree_status(repository)
            cached.files = status.modified + status.untracked + status.deleted
        except RepositoryError:  # one that can't be read must not end the search of others; it is named as such
            cached.files = 0
        finally:
            cached.cost_s = time.monotonic() - started
            cached.at = time.monotonic()
            cached.busy = False
