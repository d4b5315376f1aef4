"""The two searches of a history: for commits, and for changed lines.

A search works on masks: arrays with one truth value for each commit or each change (one file in one commit). Each
condition of a query becomes a mask, the masks are combined, and only the numbers that remain are sorted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.arrays import BoolArray
from sourcelight.core.boolean import fold, leaves
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import lines
from sourcelight.engines.history.search.filters import filter_changes, filter_commits, match_messages
from sourcelight.engines.history.search.lines import LineSelection
from sourcelight.engines.history.search.order import DiffRows, newest_first, order_rows
from sourcelight.engines.history.search.query import (
    CommitQuery,
    DiffQuery,
    PatternTerm,
    Tree,
    visible_patterns,
    visible_terms,
)
from sourcelight.engines.history.subtrees import Layout


def find_commits(
    history: History, query: CommitQuery, stopped: Stopped = never, *, layout: Layout | None = None
) -> CommitNumbers:
    """Return the numbers of the matching commits, newest first.

    Parameters
    ----------
    layout
        Where the files of merged subtrees are today. With it, a filter of paths finds them there, too.

    Raises
    ------
    KeyError
        For a revision that the history doesn't have.
    ScanStopped
        Once `stopped` returns True.
    """
    # The cheap filters first: reachability, people and time are single passes over arrays of commits.
    mask = filter_commits(history, query.commits, stopped)
    if query.tree is not None:
        mask = mask & _match_message_tree(history, query.tree, stopped)

    if query.files.paths or query.changed:
        mask = mask & _match_changes(history, query, stopped, layout)

    return newest_first(history, CommitNumbers(np.flatnonzero(mask)))


def _match_message_tree(history: History, tree: Tree, stopped: Stopped) -> BoolArray:
    """Return a mask of the commits for whose message the tree holds."""
    return _fold_masks(tree, len(history.commits), lambda term: match_messages(history, (term.pattern,), stopped))


def _match_changes(history: History, query: CommitQuery, stopped: Stopped, layout: Layout | None) -> BoolArray:
    """Return a mask of the commits that change one of the files, and in these files what the query asks for."""
    in_files = filter_changes(history, query.files, stopped, layout=layout)
    if not query.changed and in_files is not None:
        return _commits_with(history, in_files)

    passing: BoolArray = np.ones(len(history.commits), np.bool_)
    for any_pattern in query.changed:
        has_match = np.zeros(len(history.changes), np.bool_)
        for pattern in any_pattern.patterns:
            has_match |= lines.changes_with(history, pattern, stopped)

        if in_files is not None:
            has_match &= in_files

        # A condition of several patterns is met by any of them, in one mask over changes.
        # Two conditions may be met by two files of a commit, so they are combined as masks of commits.
        passing &= _commits_with(history, has_match) != any_pattern.negated

    return passing


def _commits_with(history: History, changes: BoolArray) -> BoolArray:
    """Return a mask of the commits with at least one of the changes."""
    mask: BoolArray = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[changes]] = True
    return mask


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
        Returns the changes that qualify and the rows to show. A search for commits alone never calls it.
    spans
        Spans to mark in each row, in bytes; None: the matches of `patterns`.
    """

    commits: CommitNumbers
    patterns: tuple[CompiledPattern, ...]
    find_rows: Callable[[], DiffRows] = field(repr=False)
    spans: Mapping[int, Sequence[tuple[int, int]]] | None = field(default=None, repr=False)

    @property
    def changes(self) -> ChangeNumbers:
        """Changes that qualify, in the order of their commits."""
        return self._ordered.changes

    @property
    def rows(self) -> RowNumbers:
        """Rows to show, in the order of their commits, changes and places."""
        return self._ordered.rows

    @property
    def row_changes(self) -> ChangeNumbers:
        """The change of each row."""
        return self._ordered.row_changes

    @cached_property
    def _ordered(self) -> DiffRows:
        return self.find_rows()


def find_diffs(history: History, query: DiffQuery, stopped: Stopped = never) -> DiffMatches:
    """Return the matching commits, changes and lines.

    Raises
    ------
    KeyError
        For a revision that the history doesn't have.
    ScanStopped
        Once `stopped` returns True.
    """
    # Filters of commits become masks of changes: each change asks for its commit.
    passing = filter_commits(history, query.commits, stopped)[history.changes.commit]
    in_files = filter_changes(history, query.files, stopped)
    selections: list[LineSelection] = []
    if query.tree is not None:
        matched = _match_lines(history, query.tree, query, stopped)
        passing &= matched.changes
        selections = matched.selections

    if in_files is not None:
        passing &= in_files

    patterns = visible_patterns(query.tree)
    commits = newest_first(history, CommitNumbers(np.flatnonzero(_commits_with(history, passing))))

    # Rows are found on first use, because ordering millions of them takes longer than all masks together, and a search
    # that counts commits never asks for them.
    def find_rows() -> DiffRows:
        if patterns:
            rows = lines.rows_of(selections, query.sides)
        elif query.with_rows:
            # No line made the condition hold, as for ``NOT foo``: all lines of a matching change are shown.
            changes = ChangeNumbers(np.flatnonzero(passing))
            rows = _rows_on_sides(history, lines.rows_of_changes(history, changes), query)
        else:
            rows = RowNumbers(np.zeros(0, np.int64))

        return order_rows(history, commits, passing, rows)

    return DiffMatches(commits, patterns, find_rows)


@dataclass(frozen=True, slots=True)
class _LineMatches:
    """A mask of the changes for which a tree holds, and the lines that its visible terms match."""

    changes: BoolArray
    selections: list[LineSelection]


def _match_lines(history: History, tree: Tree, query: DiffQuery, stopped: Stopped) -> _LineMatches:
    if query.changes == "count" and isinstance(tree, PatternTerm):
        selections = lines.lines_with(history, tree.pattern, stopped, with_counts=True)
        return _LineMatches(lines.changes_counting(history, selections), selections)

    # A term may occur twice, as in ``foo AND (foo OR bar)``. Its lines are found once.
    lines_of_term = {term: lines.lines_with(history, term.pattern, stopped) for term in dict.fromkeys(leaves(tree))}
    changes = _fold_masks(
        tree, len(history.changes), lambda term: lines.changes_holding(history, lines_of_term[term], query.sides)
    )
    visible: list[LineSelection] = []
    for term in dict.fromkeys(visible_terms(tree)):
        visible += lines_of_term[term]

    return _LineMatches(changes, visible)


def _rows_on_sides(history: History, rows: RowNumbers, query: DiffQuery) -> RowNumbers:
    if len(query.sides) == len(lines.BOTH):
        return rows

    is_removed = lines.removed_rows(history, rows)
    return RowNumbers(rows[is_removed == ("removed" in query.sides)])


def _fold_masks(tree: Tree, size: int, mask_of: Callable[[PatternTerm], BoolArray]) -> BoolArray:
    """Return the mask of a tree from the masks of its terms, which have `size` values each."""

    def all_of(masks: Iterable[BoolArray]) -> BoolArray:
        # In place: a history may have millions of changes.
        result: BoolArray = np.ones(size, np.bool_)
        for mask in masks:
            result &= mask
        return result

    def any_of(masks: Iterable[BoolArray]) -> BoolArray:
        result: BoolArray = np.zeros(size, np.bool_)
        for mask in masks:
            result |= mask
        return result

    return fold(tree, mask_of, all_of=all_of, any_of=any_of, negate=np.logical_not)
