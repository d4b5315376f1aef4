"""The order of results: newest commit first, and the changes of a commit in the order of the history."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search.filters import filter_changes, filter_commits
from sourcelight.engines.history.search.lines import changes_of, drop_repeats
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter

_MAX_SORTED_FRACTION = 64
"""If at least one in this many commits matches, filtering the order of all is faster than sorting the matches."""

# A sort key has the rank of a commit above and the row below: 40 bits hold 10**12 rows, and leave 23 for commits.
_ROW_BITS = 40


def newest_first(history: History, commits: CommitNumbers) -> CommitNumbers:
    """Sort commits by committer time, the latest first; within a second, children come before parents."""
    if len(commits) * _MAX_SORTED_FRACTION < len(history.commits):
        # The last key of lexsort is the main one. Parents have lower numbers, so within a second children come first.
        return CommitNumbers(commits[np.lexsort((-commits, -history.commits.commit_time[commits]))])
    mask = np.zeros(len(history.commits), np.bool_)
    mask[commits] = True
    return CommitNumbers(history.newest_first[mask[history.newest_first]])


def slices_newest_first(
    history: History,
    commits: CommitFilter,
    files: ChangedFileFilter,
    stopped: Stopped,
    *,
    size: int,
    among: BoolArray | None = None,
) -> Iterator[list[int]]:
    """Yield the changes that pass two filters, newest commits first, in slices of about `size`.

    A commit is in one slice. `among` is a mask of the changes that may be yielded.
    """
    passing = filter_commits(history, commits, stopped)[history.changes.commit]
    by_file = filter_changes(history, files, stopped)
    for mask in (by_file, among):
        if mask is not None:
            passing &= mask

    changes = np.flatnonzero(passing)
    # By commit, the newest first, and within one in the order of the history: rows must follow one another so.
    ordered = newest_first(history, CommitNumbers(np.unique(history.changes.commit[changes]).astype(np.int64)))
    rank = np.zeros(len(history.commits), np.int64)
    rank[ordered] = np.arange(len(ordered))
    changes = changes[np.argsort(rank[history.changes.commit[changes]], kind="stable")]
    commit_of_change = history.changes.commit[changes]
    start = 0
    while start < len(changes):
        end = min(start + size, len(changes))
        while end < len(changes) and commit_of_change[end] == commit_of_change[end - 1]:
            end += 1
        yield changes[start:end].tolist()
        start = end


def order_rows(
    history: History, commits: CommitNumbers, passing: BoolArray, rows: RowNumbers
) -> tuple[ChangeNumbers, RowNumbers, ChangeNumbers]:
    """Return passing changes, their distinct rows and the change of each row, in the order of `commits`."""
    rank = np.zeros(len(history.commits), np.int64)
    # Position of each commit in the requested order; commits outside it are never looked up, as `passing` excludes
    # them.
    rank[commits] = np.arange(len(commits))
    changes = np.flatnonzero(passing)
    by_change = np.argsort(rank[history.changes.commit[changes]], kind="stable")
    change_of_row = changes_of(history, rows)
    is_passing = passing[change_of_row]

    # Rank and row share one integer, so a single sort orders by commit and then by row, and equal neighbors are
    # repeats.
    keys = rank[history.changes.commit[change_of_row[is_passing]]] << _ROW_BITS | rows[is_passing]
    keys.sort()
    ordered_rows = RowNumbers(drop_repeats(keys) & ((1 << _ROW_BITS) - 1))
    return ChangeNumbers(changes[by_change]), ordered_rows, changes_of(history, ordered_rows)
