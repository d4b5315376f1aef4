"""How much of the work trees differs from what is searched: asked often, so remembered for a moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.core.errors import RepositoryError
from sourcelight.repos import Repository, worktree_status

FRESH_S = 2.0
QUICK_S = 0.05


@dataclass(slots=True)
class _Known:
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
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def count(self, repositories: Iterable[Repository]) -> dict[str, int]:
        """Changed files by repository name; repositories without any, or without a work tree, are left out."""
        found = {}
        for repository in repositories:
            if repository.kind == "git" and repository.worktree:
                files = self._of(repository)
                if files:
                    found[repository.facts.name] = files
        return found

    def _of(self, repository: Repository) -> int:
        with self._lock:
            known = self._known.setdefault(repository.key, _Known())
            if time.monotonic() - known.at < FRESH_S or known.busy:
                return known.files
            known.busy = True
        if known.cost_s <= QUICK_S:
            self._count(repository, known)
        else:
            threading.Thread(target=self._count, args=(repository, known), daemon=True).start()
        return known.files

    def _count(self, repository: Repository, known: _Known) -> None:
        started = time.monotonic()
        try:
            status = worktree_status(repository)
            known.files = status.modified + status.untracked + status.deleted
        except RepositoryError:  # one that can't be read must not end the search of others; it is named as such
            known.files = 0
        finally:
            known.cost_s = time.monotonic() - started
            known.at = time.monotonic()
            known.busy = False
