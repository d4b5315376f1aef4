"""Count changed files of work trees; every search asks for it, so the result is cached for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import RepositoryError
from sourcelight.engines.storage.background import BackgroundUpdater
from sourcelight.repos import Repository, worktree_status

FRESH_S = 2.0
"""Seconds for which a count is used again."""

QUICK_S = 0.05
"""Seconds up to which a search waits for a new count; the last count of that work tree tells how long it takes."""


@dataclass(slots=True)
class _ChangeCount:
    files: int = 0
    counted_s: float = -1e9
    cost_s: float = 0.0
    is_busy: bool = False


class WorktreeChanges:
    """Modified, untracked and deleted files per repository. Safe to share between threads.

    A count younger than `FRESH_S` is used as it is. An older one is counted again at once where that took less than
    `QUICK_S` the last time; otherwise in the background, and the last count is used until then, so that no search
    waits for a slow work tree. The first time always counts at once.
    """

    def __init__(self) -> None:
        self._counts: dict[str, _ChangeCount] = {}
        self._lock = threading.Lock()
        self._updater: BackgroundUpdater[str, Repository] = BackgroundUpdater("worktrees", self._recount)

    def count(self, repositories: Iterable[Repository]) -> dict[str, int]:
        """Return changed files by repository name; repositories without any, or without a work tree, are left out."""
        counts = {}
        for repository in repositories:
            if repository.kind == "git" and repository.worktree:
                files = self._files(repository)
                if files:
                    counts[repository.info.name] = files
        return counts

    def _files(self, repository: Repository) -> int:
        with self._lock:
            cached = self._counts.setdefault(repository.key, _ChangeCount())
            if time.monotonic() - cached.counted_s < FRESH_S or cached.is_busy:
                return cached.files
            # One count at a time: searches that come meanwhile use the last one.
            cached.is_busy = True

        if cached.cost_s <= QUICK_S:
            self._count(repository, cached)
        else:
            self._updater.request({repository.key: repository})

        return cached.files

    def _recount(self, repositories: Sequence[Repository], _cancellation: Cancellation) -> Mapping[str, str]:
        for repository in repositories:
            self._count(repository, self._counts[repository.key])
        return {}

    def _count(self, repository: Repository, cached: _ChangeCount) -> None:
        started = time.monotonic()
        try:
            status = worktree_status(repository)
            cached.files = status.modified + status.untracked + status.deleted
        except RepositoryError:  # an unreadable work tree must not end the search of others; the result names it
            cached.files = 0
        finally:
            cached.counted_s = time.monotonic()
            cached.cost_s = cached.counted_s - started
            cached.is_busy = False
