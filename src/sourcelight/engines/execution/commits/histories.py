"""Open the histories that a search needs: stored ones, or commits in memory where nothing more is asked of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, ScanStopped, run_with_deadline
from sourcelight.core.errors import Cancelled, SourcelightError
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.background import HistoryRequest, HistoryUpdater
from sourcelight.engines.history import History, HistoryStore


@dataclass(slots=True)
class SearchedHistories:
    """The histories of one search.

    Attributes
    ----------
    failed
        Repositories whose history can't be read, and why.
    builds
        Whether a history may be built. A look at whether there is a match builds none.
    """

    updater: HistoryUpdater
    cancellation: Cancellation
    failed: dict[str, str] = field(default_factory=dict)
    builds: bool = field(init=False, default=False)

    @property
    def store(self) -> HistoryStore:
        """Where histories are stored."""
        return self.updater.store

    def wait(
        self, with_changes: Sequence[HistoryRequest], commits_alone: Sequence[HistoryRequest]
    ) -> Iterator[Skipped]:
        """Wait until histories are stored, yielding how far that is; those of commits alone only where one is stored.

        What has nothing stored is left to `open`, so that rows of the first repository come before the last is read.
        """
        self.builds = True
        needed = [*with_changes, *(r for r in commits_alone if not self.store.reads_unbuilt(r.repository))]
        if needed:
            yield from self.updater.wait(needed, self.cancellation)
            self.failed.update(self.updater.failures(needed))

    def open(self, request: HistoryRequest, *, commits_alone: bool) -> History:
        """Open a history; with `commits_alone` its commits may have no changes.

        Raises
        ------
        ScanStopped
            When the time is over.
        KeyError
            When it could not be read, and `failed` says why.
        SearchIndexError
            When it is not stored, or damaged.
        """
        if commits_alone:
            history = self._commits(request)
            if history is not None:
                return history
            if self.builds:
                # The build meets the same obstacle and reports it; or one has ended since `wait` looked.
                for _ in self.updater.wait([request], self.cancellation):
                    pass
                if self.cancellation.stopped:
                    raise ScanStopped
                self.failed.update(self.updater.failures([request]))
                if request.repository.name in self.failed:
                    raise KeyError(request.repository.name)
        return self.store.open(request.repository)

    def _commits(self, request: HistoryRequest) -> History | None:
        """Read the commits of a history that isn't built; None when it is, or when they can't all be read."""

        def read() -> History | None:
            unbuilt = self.store.open_unbuilt(request.repository, request.commits, self.cancellation)
            return None if unbuilt is None else unbuilt.history

        try:
            history = run_with_deadline(read, self.cancellation)
        except (Cancelled, DeadlineExceeded) as error:
            raise ScanStopped from error
        except (SourcelightError, OSError):
            return None
        if history is None or any(history.position(commit) is None for commit in request.commits):
            return None
        return history
