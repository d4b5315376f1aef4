"""Find commits (by reachability, people, time, message and files) and changed lines, newest commit first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search.filters import filter_changes, filter_commits, match_messages
from sourcelight.engines.history.search.lines import (
    BOTH,
    LineSelection,
    changes_counting,
    changes_holding,
    changes_with,
    lines_with,
    removed_rows,
    rows_of,
    rows_of_changes,
)
from sourcelight.engines.history.search.order import newest_first, order_rows
from sourcelight.engines.history.search.query import (
    AnyPattern,
    CommitQuery,
    DiffQuery,
    PatternTerm,
    Tree,
)
from sourcelight.engines.history.subtrees import Layout


def find_commits(
    history: History, query: CommitQuery, stopped: Stopped = never, *, layout: Layout | None = None
) -> CommitNumbers:
    """Return the numbers of the matching commits, newest first; `layout` as for `filter_changes`.

    Raises KeyError for a revision that is not here, and `ScanStopped` once `stopped` says so.
    """
    # The cheap filters first: reachability, people and time are single passes over arrays of commits.
    mask = filter_commits(history, query.commits, stopped)
    if query.tree is not None:
        mask = mask & _message_tree(history, query.tree, stopped)

    if query.files.paths or query.changed:
        changes = filter_changes(history, query.files, stopped, layout=layout)
        for any_pattern in query.changed:
            # One mask over changes per group of patterns: alternatives are joined with OR here, groups with AND on
            # commits.
            has_match = np.zeros(len(history.changes), np.bool_)
            for pattern in any_pattern.patterns:
                has_match |= changes_with(history, pattern, stopped)
            if changes is not None:
                has_match &= changes
            mask = mask & (_commits_of(history, has_match) != any_pattern.negated)

        # With changed lines, `has_match &= changes` has applied the file filter already.
        if not query.changed and changes is not None:
            mask = mask & _commits_of(history, changes)

    return newest_first(history, CommitNumbers(np.flatnonzero(mask)))


def _commits_of(history: History, changes: BoolArray) -> BoolArray:
    mask: BoolArray = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[changes]] = True
    return mask


def _message_tree(history: History, tree: Tree, stopped: Stopped) -> BoolArray:
    if isinstance(tree, PatternTerm):
        return match_messages(history, AnyPattern((tree.pattern,)), stopped)
    if isinstance(tree, Not):
        return ~_message_tree(history, tree.arg, stopped)

    is_and = isinstance(tree, And)
    holds: BoolArray = np.full(len(history.commits), is_and)
    for arg in tree.args:
        mask = _message_tree(history, arg, stopped)
        holds = holds & mask if is_and else holds | mask

    return holds


@dataclass(frozen=True, eq=False)
class DiffMatches:
    """Matches of a search of changed lines; rows are ordered on first use.

    Attributes
    ----------
    commits
        Commits that qualify, newest first.
    patterns
        Patterns to mark in the rows.
    find_rows
        Makes `changes`, `rows` and `row_changes`.
    spans
        Spans to mark in each row, in bytes; None: the matches of `patterns`.
    """

    commits: CommitNumbers
    patterns: tuple[CompiledPattern, ...]
    find_rows: Callable[[], tuple[ChangeNumbers, RowNumbers, ChangeNumbers]] = field(repr=False)
    spans: Mapping[int, Sequence[tuple[int, int]]] | None = field(default=None, repr=False)

    @property
    def changes(self) -> ChangeNumbers:
        """Changes that qualify, in the order of their commits."""
        return self._found_rows[0]

    @property
    def rows(self) -> RowNumbers:
        """Rows to show, in the order of their commits, changes and places."""
        return self._found_rows[1]

    @property
    def row_changes(self) -> ChangeNumbers:
        """The change of each row."""
        return self._found_rows[2]

    @cached_property
    def _found_rows(self) -> tuple[ChangeNumbers, RowNumbers, ChangeNumbers]:
        return self.find_rows()


def find_diffs(history: History, query: DiffQuery, stopped: Stopped = never) -> DiffMatches:
    """Return the matching commits, changes and lines.

    Raises KeyError for a revision that is not here, and `ScanStopped` once `stopped` says so.
    """
    commits = filter_commits(history, query.commits, stopped)
    files = filter_changes(history, query.files, stopped)
    patterns = tuple(_visible_patterns(query.tree)) if query.tree is not None else ()
    selections: list[LineSelection] = []
    passing = commits[history.changes.commit]
    if query.changes == "count" and isinstance(query.tree, PatternTerm):
        selections += lines_with(history, query.tree.pattern, stopped, with_counts=True)
        passing &= changes_counting(history, selections)
    elif query.tree is not None:
        passing &= _diff_tree(history, query.tree, query, selections, stopped)

    if files is not None:
        passing &= files

    mask = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[passing]] = True
    ordered = newest_first(history, CommitNumbers(np.flatnonzero(mask)))

    # Ordering rows is deferred: a search for commits alone never needs them.
    def locations() -> tuple[ChangeNumbers, RowNumbers, ChangeNumbers]:
        changes = ChangeNumbers(np.flatnonzero(passing))
        if not patterns:  # no line makes the tree hold, so that every line of such a change counts
            rows = _rows_on_sides(
                history, rows_of_changes(history, changes if query.with_rows else ChangeNumbers(changes[:0])), query
            )
        else:
            rows = rows_of(selections, query.sides)

        return order_rows(history, ordered, passing, rows)

    return DiffMatches(ordered, patterns, locations)


def _rows_on_sides(history: History, rows: RowNumbers, query: DiffQuery) -> RowNumbers:
    if len(query.sides) == len(BOTH):
        return rows
    return RowNumbers(rows[removed_rows(history, rows) == ("removed" in query.sides)])


def _diff_tree(
    history: History, tree: Tree, query: DiffQuery, selections: list[LineSelection], stopped: Stopped
) -> BoolArray:
    """Return a mask of the changes for which the tree holds; add lines of terms outside NOT to `selections`."""
    if isinstance(tree, PatternTerm):
        lines = lines_with(history, tree.pattern, stopped)
        if tree.visible:
            selections += lines
        return changes_holding(history, lines, query.sides)

    if isinstance(tree, Not):
        # Lines that match inside NOT are not shown, so they go to a list of their own.
        return ~_diff_tree(history, tree.arg, query, [], stopped)

    masks = [_diff_tree(history, arg, query, selections, stopped) for arg in tree.args]
    is_and = isinstance(tree, And)

    # The neutral element of the operator: all True for AND, all False for OR.
    holds: BoolArray = np.full(len(history.changes), is_and)
    for mask in masks:
        holds = holds & mask if is_and else holds | mask

    return holds


def _visible_patterns(tree: Tree) -> list[CompiledPattern]:
    if isinstance(tree, PatternTerm):
        return [tree.pattern] if tree.visible else []
    if isinstance(tree, Not):
        return []
    return [pattern for arg in tree.args for pattern in _visible_patterns(arg)]
