"""Select and unite matches of changed lines."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.boolean import Or
from sourcelight.engines.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.lines import removed_rows
from sourcelight.engines.history.search.order import DiffRows, newest_first, rank_commits
from sourcelight.engines.history.search.query import Side, Tree


def select_rows(
    history: History, matches: DiffMatches, mask: BoolArray, changes: ChangeNumbers | None = None
) -> DiffMatches:
    """Select rows, and the commits with a change that stays.

    Parameters
    ----------
    mask
        One value for each of the rows of `matches`.
    changes
        Changes to keep; None: the changes of the rows to keep.
    """
    rows, row_changes = RowNumbers(matches.rows[mask]), ChangeNumbers(matches.row_changes[mask])
    kept_changes = ChangeNumbers(np.unique(row_changes)) if changes is None else changes
    commits = CommitNumbers(matches.commits[np.isin(matches.commits, history.changes.commit[kept_changes])])
    ordered = DiffRows(kept_changes, rows, row_changes)
    return DiffMatches(commits, matches.patterns, lambda: ordered, matches.spans)


def drop_commits(history: History, matches: DiffMatches, commits: CommitNumbers) -> DiffMatches:
    """Drop the changes and rows of some commits, such as commits whose rows were already yielded."""
    commit_of_change = history.changes.commit
    changes = ChangeNumbers(matches.changes[~np.isin(commit_of_change[matches.changes], commits)])
    return select_rows(history, matches, ~np.isin(commit_of_change[matches.row_changes], commits), changes)


def select_side(history: History, matches: DiffMatches, side: Side) -> DiffMatches:
    """Select the added or the removed rows, and the changes that have one."""
    return select_rows(history, matches, removed_rows(history, matches.rows) == (side == "removed"))


def unite_trees(trees: Sequence[Tree]) -> Tree | None:
    """Unite the patterns of several alternatives; None if there are none."""
    if not trees:
        return None
    if len(trees) == 1:
        return trees[0]

    return Or(tuple(trees))


def unite(history: History, merged_batches: Sequence[DiffMatches]) -> DiffMatches:
    """Unite the matches of several alternatives; a row that several match counts once."""
    if len(merged_batches) == 1:
        return merged_batches[0]

    all_commits = CommitNumbers(np.unique(np.concatenate([matches.commits for matches in merged_batches])))
    commits = newest_first(history, all_commits)
    patterns = tuple(dict.fromkeys(pattern for matches in merged_batches for pattern in matches.patterns))

    # Rows found by several alternatives count once; `first` picks the change of the row that stays.
    rows, first = np.unique(np.concatenate([matches.rows for matches in merged_batches]), return_index=True)
    changes = np.concatenate([matches.row_changes for matches in merged_batches])[first]
    rank = rank_commits(history, commits)
    order = np.argsort(rank[history.changes.commit[changes]], kind="stable")
    all_changes = ChangeNumbers(np.unique(np.concatenate([matches.changes for matches in merged_batches])))
    ordered = DiffRows(all_changes, RowNumbers(rows[order]), ChangeNumbers(changes[order]))
    return DiffMatches(
        commits=commits,
        patterns=patterns,
        find_rows=lambda: ordered,
        spans=_unite_spans(merged_batches),
    )


def _unite_spans(merged_batches: Sequence[DiffMatches]) -> dict[int, list[tuple[int, int]]] | None:
    """Return the spans of each row in all of some matches, each once, or None where patterns tell them."""
    if all(matches.spans is None for matches in merged_batches):
        return None

    united: dict[int, set[tuple[int, int]]] = {}
    for matches in merged_batches:
        for row, spans in (matches.spans or {}).items():
            united.setdefault(row, set()).update(spans)

    # By start, and the longest first, as in files.
    return {row: sorted(spans, key=lambda span: (span[0], -span[1])) for row, spans in united.items()}
