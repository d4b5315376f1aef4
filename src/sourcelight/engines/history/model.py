"""The interface of a store of histories: progress, reports and the protocol."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NewType, Protocol

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.repos import Repository

if TYPE_CHECKING:
    from sourcelight.engines.history.history import History

# Commits, changes and rows of a history are numbered separately, from 0 (see `history`), all in int64 arrays. A row
# taken for a change would answer with the lines of another file, and nothing would fail. So each has a type of its
# own. A slice or a mask loses it, and the next signature asks for it again.
CommitNumbers = NewType("CommitNumbers", Int64Array)
"""Numbers of commits."""

ChangeNumbers = NewType("ChangeNumbers", Int64Array)
"""Numbers of changes: one file in one commit."""

RowNumbers = NewType("RowNumbers", Int64Array)
"""Numbers of rows: one added or removed line."""


@dataclass(frozen=True, slots=True)
class RowPlaces:
    """Some changed lines: of each its change, whether it was removed, and its number in the file."""

    changes: ChangeNumbers
    removed: BoolArray
    numbers: Int64Array

    def take(self, order: Int64Array) -> RowPlaces:
        """Return the lines at some positions, in their order."""
        return RowPlaces(ChangeNumbers(self.changes[order]), self.removed[order], self.numbers[order])

    def numbered_row(self, row: int) -> tuple[int, str, int]:
        """Return the change, the sign and the number of a line."""
        return int(self.changes[row]), "-" if self.removed[row] else "+", int(self.numbers[row])


NO_BLOB = bytes(20)
"""The object of a side of a change that has no file."""

RENAMED = ord("R")
"""The status of a change that renamed its file."""

HEAD_ONLY = ("HEAD",)
"""The default: the ancestors of the current commit."""

ALL_REFS = ("HEAD", "refs/heads/*", "refs/remotes/*", "refs/tags/*")
"""Every branch and tag."""


@dataclass(frozen=True, slots=True)
class HistoryProgress:
    """Progress of an update: repositories done, and commits read of the current one."""

    repositories_done: int
    repositories_total: int
    commits_done: int
    commits_total: int
    repository: str = ""


@dataclass(frozen=True, slots=True)
class HistoryReport:
    """The outcome of an update.

    Attributes
    ----------
    built, current
        Names of repositories with new commits, and of repositories without.
    failures
        Name of a repository whose history could not be brought up to date, and why; its former state stays.
    incomplete
        Name of a repository of which the changes of some commits could not be read, and how many commits.
    commits
        Commits that were added.
    cancelled
        Whether it was stopped before its end; finished parts stay.
    """

    built: tuple[str, ...] = ()
    current: tuple[str, ...] = ()
    failures: Mapping[str, str] = field(default_factory=dict)
    incomplete: Mapping[str, int] = field(default_factory=dict)
    commits: int = 0
    cancelled: bool = False


class UnbuiltHistory(Protocol):
    """The commits of a repository whose history isn't built, and a reader of their changes."""

    @property
    def history(self) -> History:
        """The commits; none of them has changes."""
        ...

    def is_cheap(self, commits: int) -> bool:
        """Return whether reading the changes of so many commits costs much less than a build."""
        ...

    def is_small_part(self, commits: CommitNumbers) -> bool:
        """Return whether reading the changes of these commits, after those read before, costs less than a build."""
        ...

    def with_changes(self, commits: CommitNumbers, cancellation: Cancellation) -> History:
        """Return the history with the changes of some commits; all others seem to have none.

        Raises
        ------
        Cancelled
            After ``cancellation.cancel()``.
        GitFailed, RepositoryError, SearchIndexError
            When git can't read the repository.
        """
        ...


class HistoryStore(Protocol):
    """Keeps histories; `LocalHistoryStore` does it on this machine, one independent shard a repository."""

    def update(
        self,
        repositories: Sequence[Repository],
        *,
        refs: Sequence[str] = HEAD_ONLY,
        progress: Callable[[HistoryProgress], None] | None = None,
        cancellation: Cancellation | None = None,
    ) -> HistoryReport:
        """Add new commits reachable from `refs` of each repository.

        Parameters
        ----------
        repositories
            Of which; a folder without git is a failure in the report.
        refs
            ``HEAD``, names of refs that may contain ``*``, and commits of 40 hex digits; refs that a repository lacks
            are skipped. Refs of earlier updates stay in, at their current commits.
        progress
            Called now and then, in the caller's thread.
        cancellation
            Ends the work early.
        """
        ...

    def is_current(self, repository: Repository, revision: str = "") -> bool:
        """Return whether the history of `revision` (empty: the current HEAD) is complete; cheap."""
        ...

    def open(self, repository: Repository) -> History:
        """Open the stored history of a repository: a snapshot that later updates do not change.

        Raises
        ------
        SearchIndexError
            When nothing was kept of it yet, or it can't be trusted (`IndexDamaged`; the next update builds it again).
        """
        ...

    def reads_unbuilt(self, repository: Repository) -> bool:
        """Return whether `open_unbuilt` reads commits, since nothing is kept and there is memory for them; cheap."""
        ...

    def open_unbuilt(
        self, repository: Repository, commits: Sequence[str], cancellation: Cancellation | None = None
    ) -> UnbuiltHistory | None:
        """Read the commits behind `commits` (40 hex digits) alone, if `reads_unbuilt` says so; else None.

        Raises
        ------
        Cancelled
            After ``cancellation.cancel()``.
        GitFailed, RepositoryError
            When git can't read the repository.
        """
        ...
