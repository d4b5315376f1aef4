"""Open the histories that a search needs.

If a history isn't stored yet, a search reads only its commits, or the changes of a few, when that is enough.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, ScanStopped, run_with_deadline
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.indexes.background import HistoryRequest, HistoryUpdater
from sourcelight.engines.history import History, HistoryStore
from sourcelight.engines.history.model import CommitNumbers, UnbuiltHistory
from sourcelight.engines.history.search.filters import filter_commits
from sourcelight.engines.history.search.order import newest_first
from sourcelight.engines.history.search.query import CommitFilter

NEWEST_COMMITS = 200
"""Number of commits whose changes are read before a build; reading them takes half a second."""


@dataclass(slots=True)
class SearchedHistories:
    """The histories of one search.

    Attributes
    ----------
    failed
        Repositories whose history can't be read, and why.
    builds
        Whether a history may be built; False while a search only checks whether there is any match.
    """

    updater: HistoryUpdater
    cancellation: Cancellation
    failed: dict[str, str] = field(default_factory=dict)
    builds: bool = field(init=False, default=False)
    _parts: dict[str, tuple[UnbuiltHistory, CommitNumbers]] = field(init=False, default_factory=dict)

    @property
    def store(self) -> HistoryStore:
        """The store of histories."""
        return self.updater.store

    def wait(
        self, with_changes: Sequence[HistoryRequest], commits_alone: Sequence[HistoryRequest]
    ) -> Iterator[Skipped]:
        """Wait until histories are stored, and yield the progress.

        Of `commits_alone`, it waits only for stored histories that are outdated. `open` reads the others, so that rows
        of the first repository arrive before the last one is read.
        """
        self.builds = True
        to_build = [with_change for with_change in with_changes if with_change.repository.key not in self._parts]
        requests = [
            *to_build,
            *(request for request in commits_alone if not self.store.reads_unbuilt(request.repository)),
        ]
        if requests:
            yield from self.updater.wait(requests, self.cancellation)
            self.failed.update(self.updater.failures(requests))

    def take_part(self, request: HistoryRequest, filters: Sequence[CommitFilter]) -> None:
        """Let `open` read only the changes of commits that pass a filter, if a build would cost more."""

        def select(unbuilt: UnbuiltHistory) -> CommitNumbers:
            masks = [filter_commits(unbuilt.history, commits, lambda: self.cancellation.stopped) for commits in filters]
            return CommitNumbers(np.flatnonzero(np.logical_or.reduce(masks)))

        part = self._select(request, select)
        if part is not None:
            self._parts[request.repository.key] = part

    def open_newest(self, request: HistoryRequest, commit_filter: CommitFilter) -> tuple[History, list[str]] | None:
        """Open an unbuilt history with the changes of its newest commits that pass, and return their hashes too.

        None if the history is built, if `open` will read only these commits anyway, or if the time is up.
        """

        def select(unbuilt: UnbuiltHistory) -> CommitNumbers:
            history = unbuilt.history
            passing = filter_commits(history, commit_filter, lambda: self.cancellation.stopped)
            # Merges have no changes of their own: they would use up the limit without adding a row.
            newest = newest_first(history, CommitNumbers(np.flatnonzero(passing & ~history.commits.is_merge)))
            return CommitNumbers(newest[:NEWEST_COMMITS])

        part = None if request.repository.key in self._parts else self._select(request, select)
        if part is None:
            return None

        unbuilt, numbers = part
        try:
            history = unbuilt.with_changes(numbers, self.cancellation)
        except (Cancelled, SourcelightError, OSError):
            # The build will fail for the same reason and report it.
            return None

        return history, [history.oid(number) for number in numbers.tolist()]

    def _select(
        self, request: HistoryRequest, select: Callable[[UnbuiltHistory], CommitNumbers]
    ) -> tuple[UnbuiltHistory, CommitNumbers] | None:
        """Select commits of an unbuilt history; None if it is built, or if they are a large part of it."""
        try:
            unbuilt = self._unbuilt(request)
            if unbuilt is None:
                return None
            numbers = select(unbuilt)
        except ScanStopped:
            return None

        return (unbuilt, numbers) if unbuilt.is_small_part(numbers) else None

    def open(self, request: HistoryRequest, *, commits_alone: bool) -> History:
        """Open a history; with `commits_alone`, changes may be missing.

        Raises
        ------
        ScanStopped
            The time limit has passed.
        KeyError
            The history could not be read; `failed` has the reason.
        SearchIndexError
            The history is not stored, or damaged.
        """
        if request.repository.key in self._parts:
            unbuilt, numbers = self._parts[request.repository.key]
            try:
                return unbuilt.with_changes(numbers, self.cancellation)
            except Cancelled as error:
                raise ScanStopped from error

        if commits_alone:
            commits = self._unbuilt(request)
            if commits is not None:
                return commits.history

            if self.builds:
                # A build fails for the same reason and reports it, unless one has ended since `wait`.
                for _ in self.updater.wait([request], self.cancellation):
                    pass
                if self.cancellation.stopped:
                    raise ScanStopped
                self.failed.update(self.updater.failures([request]))
                if request.repository.name in self.failed:
                    raise KeyError(request.repository.name)

        return self.store.open(request.repository)

    def _unbuilt(self, request: HistoryRequest) -> UnbuiltHistory | None:
        """Read the commits of an unbuilt history; return None if it is built, or if not all of them can be read.

        Raises `ScanStopped` when the time limit has passed.
        """

        def read() -> UnbuiltHistory | None:
            return self.store.open_unbuilt(request.repository, request.commits, self.cancellation)

        try:
            unbuilt = run_with_deadline(read, self.cancellation)
        except (Cancelled, DeadlineExceeded) as error:
            raise ScanStopped from error
        except (SourcelightError, OSError):
            return None

        if unbuilt is None or any(unbuilt.history.position(commit) is None for commit in request.commits):
            return None

        return unbuilt
