"""A history that isn't built yet: its commits in memory, and the changes of commits that a question needs.

Reading the commits alone takes a few percent of the time of a whole build, because nearly all of that goes into
comparing contents. Nothing here is written to the folder of the history, so a build is neither helped nor disturbed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.segment import Segment
from sourcelight.engines.history.store.allowance import AllowanceUse, allowance_of
from sourcelight.engines.history.store.change_reader import ChangeReader, segment_arrays, segment_counts
from sourcelight.engines.history.store.commit_log import NewCommits, read_commits
from sourcelight.engines.history.store.identities import make_identities, map_identities, merge_identities
from sourcelight.engines.storage.sections import MemorySections, SectionFile
from sourcelight.repos import Repository
from sourcelight.repos.handles import mailmap_blob

FREE_COMMITS = 1000
"""Commits whose changes are always read without a build."""

MAX_FRACTION = 4
"""Beyond `FREE_COMMITS`, the changes of one in so many commits are read without a build: a build costs more."""

MAX_PART = 5000
"""Maximum commits whose changes are in memory for one question."""


@dataclass(eq=False)
class CommitReader:
    """The commits of a repository, and a reader of their changes.

    Attributes
    ----------
    repository
        Which repository.
    history
        The commits; none of them has changes.
    """

    repository: Repository
    history: History
    _new_commits: NewCommits
    _workers: int
    _account: AllowanceUse = field(init=False)
    _read: int = field(init=False, default=0)
    _last: tuple[bytes, History] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        # One allowance for all that is read before the build, so that no question gets more than the history may have.
        self._account = AllowanceUse(allowance_of(self.repository.git_dir))

    @property
    def memory_bytes(self) -> int:
        """Bytes of the commits in memory."""
        # The lists of names and parents take about 100 bytes a commit beside the arrays.
        return sum(array.nbytes for array in self._new_commits.arrays.values()) + 100 * len(self._new_commits.oids)

    def is_cheap(self, commits: int) -> bool:
        """Return whether reading the changes of so many commits costs much less than a build."""
        return commits <= max(FREE_COMMITS, len(self.history.commits) // MAX_FRACTION)

    def is_small_part(self, commits: CommitNumbers) -> bool:
        """Return whether reading the changes of these commits, after those read before, costs less than a build."""
        if self._last is not None and self._last[0] == commits.tobytes():
            return True
        return self._read + len(commits) <= min(MAX_PART, len(self.history.commits) // MAX_FRACTION)

    def with_changes(self, commits: CommitNumbers, cancellation: Cancellation) -> History:
        """Return the history with the changes of some commits; all others seem to have none.

        Parameters
        ----------
        commits
            Numbers of commits; merges have no changes.
        cancellation
            Ends the reading.

        Raises
        ------
        Cancelled
            After ``cancellation.cancel()``.
        GitFailed, RepositoryError, SearchIndexError
            When git can't read the repository.
        """
        # The next question is often about the same commits.
        key = commits.tobytes()
        if self._last is not None and self._last[0] == key:
            return self._last[1]

        # Merges have no changes in a built history either, as in `git log -p`.
        merges = self._new_commits.merges
        # Ascending, because the changes of a segment come in the order of its commits.
        numbers = [number for number in np.sort(commits).tolist() if number not in merges]
        if not numbers:
            return self.history

        # Outside the directory of the history, where a builder deletes unknown files, also while this reads.
        with tempfile.TemporaryDirectory(prefix="sourcelight-") as scratch:
            reader = ChangeReader(
                self.repository.git_dir, self._new_commits, Path(scratch), self._workers, cancellation
            )
            # Files of parts are mapped when they are read, so that they outlive the folder.
            parts, unread = reader.read(numbers, self._account)
            self._read += len(numbers)
            history = self.history.with_segments((_segment(self._new_commits, parts, unread),))
            self._last = key, history
            return history


def read_unbuilt(repository: Repository, tips: Sequence[str], workers: int, cancellation: Cancellation) -> CommitReader:
    """Read the commits behind `tips` (40 hex digits each).

    Raises
    ------
    Cancelled
        After ``cancellation.cancel()``.
    GitFailed, RepositoryError
        When git can't read the repository.
    """
    git_dir = repository.git_dir
    new_commits = read_commits(git_dir, tips, (), _position, 0, cancellation)

    # Empty arrays of changes, so that readers of a segment need no second form.
    segment = _segment(new_commits, (), ())
    mailmap = mailmap_blob(git_dir)

    # As for a built history, so that people are the same persons before and after the build.
    people, numbers = merge_identities([segment])
    history = History(
        repository=repository.name,
        tips={tip: tip for tip in tips},
        segments=(segment,),
        identities=make_identities(people, map_identities(git_dir, mailmap, people, cancellation)),
        identity_numbers=numbers,
        mailmap=mailmap,
        shallow=repository.incomplete,
    )
    return CommitReader(repository, history, new_commits, workers)


def _position(_oid: str) -> None:
    """Return no position: no commit was read before."""


def _segment(new_commits: NewCommits, parts: Sequence[SectionFile], unread: Sequence[int]) -> Segment:
    arrays = segment_arrays(new_commits, parts, unread)
    return Segment(MemorySections("history in memory", segment_counts(arrays), arrays))
