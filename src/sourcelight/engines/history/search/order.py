"""The order of results: newest commit first, and the changes of a commit in the order of the history."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, unique_sorted
from sourcelight.core.cancellation import Stopped
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search.filters import filter_changes, filter_commits
from sourcelight.engines.history.search.lines import changes_of
from sourcelight.engines.history.search.query import ChangedFileFilter, CommitFilter

_MAX_SORTED_FRACTION = 64
"""If at least one in this many commits matches, filtering the order of all is faster than sorting the matches."""

_ROW_BITS = 40
"""Bits of a sort key that hold a row, below those of its commit: 10**12 rows, and 8 million commits in the others."""


def newest_first(history: History, commits: CommitNumbers) -> CommitNumbers:
    """Sort commits by committer time, the latest first; within a second, children come before parents."""
    if len(commits) * _MAX_SORTED_FRACTION < len(history.commits):
        # The last key of lexsort is the main one. Parents have lower numbers, so within a second children come first.
        return CommitNumbers(commits[np.lexsort((-commits, -history.commits.commit_time[commits]))])

    mask = np.zeros(len(history.commits), np.bool_)
    mask[commits] = True
    return CommitNumbers(history.newest_first[mask[history.newest_first]])


def rank_commits(history: History, commits: CommitNumbers) -> Int64Array:
    """Return the position in `commits` of each commit of a history; 0 for a commit that isn't there."""
    rank = np.zeros(len(history.commits), np.int64)
    rank[commits] = np.arange(len(commits))
    return rank


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
    in_files = filter_changes(history, files, stopped)
    if in_files is not None:
        passing &= in_files
    if among is not None:
        passing &= among

    # By commit, the newest first. A stable sort: the changes of a commit stay in the order of the history.
    changes = np.flatnonzero(passing)
    commit_numbers = CommitNumbers(np.unique(history.changes.commit[changes]).astype(np.int64))
    rank = rank_commits(history, newest_first(history, commit_numbers))
    changes = changes[np.argsort(rank[history.changes.commit[changes]], kind="stable")]
    commit_of_change = history.changes.commit[changes]

    start = 0
    while start < len(changes):
        end = min(start + size, len(changes))
        while end < len(changes) and commit_of_change[end] == commit_of_change[end - 1]:
            end += 1

        yield changes[start:end].tolist()
        start = end


@dataclass(frozen=True, slots=True, eq=False)
class DiffRows:
    """Changes in the order of their commits, some of their rows in this order, and the change of each row."""

    changes: ChangeNumbers
    rows: RowNumbers
    row_changes: ChangeNumbers


def order_rows(history: History, commits: CommitNumbers, passing: BoolArray, rows: RowNumbers) -> DiffRows:
    """Order changes and rows as their commits are in `commits`.

    Parameters
    ----------
    passing
        Mask of the changes to keep. All of them are changes of `commits`.
    rows
        Rows in any order, also repeated ones. Rows of other changes are dropped.
    """
    # Commits outside of `commits` are never looked up, as `passing` excludes them.
    rank = rank_commits(history, commits)
    changes = np.flatnonzero(passing)
    by_commit = np.argsort(rank[history.changes.commit[changes]], kind="stable")
    change_of_row = changes_of(history, rows)
    is_kept = passing[change_of_row]

    # Rank and row share one integer, so a single sort orders by commit and then by row, and equal neighbors are
    # repeats.
    keys = rank[history.changes.commit[change_of_row[is_kept]]] << _ROW_BITS | rows[is_kept]
    keys.sort()
    ordered_rows = RowNumbers(unique_sorted(keys) & ((1 << _ROW_BITS) - 1))
    return DiffRows(
        changes=ChangeNumbers(changes[by_commit]), rows=ordered_rows, row_changes=changes_of(history, ordered_rows)
    )
