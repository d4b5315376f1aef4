"""Find commits (by reachability, people, time, message and files) and changed lines, newest commit first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search import lines
from sourcelight.engines.history.search.lines import (
    BOTH,
    LineSelection,
    changes_counting,
    changes_holding,
    changes_of,
    changes_with,
    drop_repeats,
    lines_with,
    rows_of,
)
from sourcelight.engines.history.search.query import (
    AnyPattern,
    ChangedFileFilter,
    CommitFilter,
    CommitQuery,
    DiffQuery,
    PatternTerm,
    Tree,
)
from sourcelight.engines.history.segment import LINE
from sourcelight.engines.history.subtrees import Layout

_MAX_SORTED_FRACTION = 64
"""If at least one in this many commits matches, filtering the order of all is faster than sorting the matches."""

# A sort key has the rank of a commit above and the row below: 40 bits hold 10**12 rows, and leave 23 for commits.
_ROW_BITS = 40


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


def newest_first(history: History, commits: CommitNumbers) -> CommitNumbers:
    """Sort commits by committer time, the latest first; within a second, children come before parents."""
    if len(commits) * _MAX_SORTED_FRACTION < len(history.commits):
        # The last key of lexsort is the main one. Parents have lower numbers, so within a second children come first.
        return CommitNumbers(commits[np.lexsort((-commits, -history.commits.commit_time[commits]))])
    mask = np.zeros(len(history.commits), np.bool_)
    mask[commits] = True
    return CommitNumbers(history.newest_first[mask[history.newest_first]])


def filter_commits(history: History, commit_filter: CommitFilter, stopped: Stopped = never) -> BoolArray:
    """Return a mask of the commits that pass."""
    commits = history.commits
    mask: BoolArray = np.ones(len(commits), np.bool_)
    if commit_filter.revisions:
        # The masks are cached by the history, so they are combined into new arrays and never written to.
        reachable = [history.reachable(oid) for oid in commit_filter.revisions]
        mask = reachable[0] if len(reachable) == 1 else np.logical_or.reduce(reachable)

    for oid in commit_filter.excluded:
        mask = mask & ~history.reachable(oid)

    if commit_filter.merges is not None:
        mask = mask & (commits.is_merge == commit_filter.merges)

    if commit_filter.after is not None:
        mask = mask & (commits.commit_time > commit_filter.after)

    if commit_filter.before is not None:
        mask = mask & (commits.commit_time < commit_filter.before)

    # Patterns are matched against distinct identities, and the mask is spread over commits by number.
    for any_pattern in commit_filter.authors:
        mask = (
            mask
            & filter_people(history, any_pattern, whole_person=commit_filter.whole_person, stopped=stopped)[
                commits.author
            ]
        )

    for any_pattern in commit_filter.committers:
        mask = (
            mask
            & filter_people(history, any_pattern, whole_person=commit_filter.whole_person, stopped=stopped)[
                commits.committer
            ]
        )

    for any_pattern in commit_filter.messages:
        mask = mask & (_message_mask(history, any_pattern, stopped) != any_pattern.negated)

    return mask


def filter_people(
    history: History, any_pattern: AnyPattern, *, whole_person: bool = False, stopped: Stopped = never
) -> BoolArray:
    """Return a mask of the identities that pass."""
    matched: BoolArray = np.zeros(len(history.identities), np.bool_)
    for raw, starts in history.remember(
        f"people {whole_person}", lambda: _people_texts(history, whole_person=whole_person)
    ):
        matched |= lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)
    passing: BoolArray = matched != any_pattern.negated
    return passing


def _people_texts(history: History, *, whole_person: bool) -> list[tuple[memoryview, Int64Array]]:
    people = history.identities
    columns: list[Sequence[str]] = [
        [f"{name} <{email}>" for name, email in zip(names, emails, strict=True)]
        for names, emails in ((people.names, people.emails), (people.mapped_names, people.mapped_emails))
    ]
    if not whole_person:
        columns += [people.names, people.emails, people.mapped_names, people.mapped_emails]

    return [lines.join_texts(item.encode() for item in column) for column in columns]


def filter_changes(
    history: History, files: ChangedFileFilter, stopped: Stopped = never, *, layout: Layout | None = None
) -> BoolArray | None:
    """Return a mask of the changes whose file passes, or None when all do.

    With a `layout`, a file of a merged subtree passes under the path where the merge put it, too.
    """
    mask: BoolArray | None = None
    for any_pattern in files.paths:
        raw, starts = history.remember("paths", lambda: lines.join_texts(history.paths))
        matched_paths = lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)
        for path_number, path in history.remember(
            "paths with newlines", lambda: lines.with_newlines(history.paths)
        ).items():
            matched_paths[path_number] = any(
                bool(pattern.match_many(path, [0], [len(path)])[0]) for pattern in any_pattern.patterns
            )

        # The old path counts too, so that a filter finds the commit that moved a file away.
        passing = matched_paths[history.changes.path] | matched_paths[history.changes.old_path]
        if layout is not None and layout.moved.any():
            passing |= _filter_moved(layout, any_pattern, stopped)

        passing = passing != any_pattern.negated
        mask = passing if mask is None else mask & passing

    return mask


def _filter_moved(layout: Layout, any_pattern: AnyPattern, stopped: Stopped) -> BoolArray:
    """Return a mask of the changes whose path after a subtree merge passes."""
    passing: BoolArray = np.zeros(len(layout.moved), np.bool_)
    moved = np.flatnonzero(layout.moved)
    for numbers in (layout.path[moved], layout.old_path[moved]):
        # Each path is matched once, however many changes it has.
        distinct, which = np.unique(numbers, return_inverse=True)
        raw, starts = lines.join_texts(layout.names[path_number] for path_number in distinct.tolist())
        passing[moved] |= lines.texts_matching_any(any_pattern.patterns, raw, starts, stopped)[which]

    return passing


def _commits_of(history: History, changes: BoolArray) -> BoolArray:
    mask: BoolArray = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[changes]] = True
    return mask


def _message_mask(history: History, any_pattern: AnyPattern, stopped: Stopped) -> BoolArray:
    masks = []
    for segment in history.segments:
        starts = segment["message_starts"].view(np.int64)
        masks.append(lines.texts_matching_any(any_pattern.patterns, segment.bytes_of("messages"), starts, stopped))
    return np.concatenate([np.zeros(0, np.bool_), *masks])


def _message_tree(history: History, tree: Tree, stopped: Stopped) -> BoolArray:
    if isinstance(tree, PatternTerm):
        return _message_mask(history, AnyPattern((tree.pattern,)), stopped)
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
                history, _rows_of_changes(history, changes if query.with_rows else ChangeNumbers(changes[:0])), query
            )
        else:
            rows = rows_of(selections, query.sides)

        return _order_rows(history, ordered, passing, rows)

    return DiffMatches(ordered, patterns, locations)


def _order_rows(
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


def _rows_on_sides(history: History, rows: RowNumbers, query: DiffQuery) -> RowNumbers:
    if len(query.sides) == len(BOTH):
        return rows
    return RowNumbers(rows[removed_rows(history, rows) == ("removed" in query.sides)])


def removed_rows(history: History, rows: RowNumbers) -> BoolArray:
    """Return a mask of the rows whose line was removed."""
    if len(history.segments) == 1:
        return history.segments[0]["rows"][rows] > LINE

    of_segment = np.searchsorted(history.bases.rows, rows, side="right") - 1
    mask = np.zeros(len(rows), np.bool_)
    for segment_index, segment in enumerate(history.segments):
        in_segment = of_segment == segment_index
        mask[in_segment] = segment["rows"][rows[in_segment] - history.bases.rows[segment_index]] > LINE

    return mask


def _rows_of_changes(history: History, changes: ChangeNumbers) -> RowNumbers:
    starts, ends = history.changes.row_starts[changes], history.changes.row_starts[changes + 1]
    counts = ends - starts
    return RowNumbers(np.arange(int(counts.sum())) + np.repeat(starts - np.cumsum(counts) + counts, counts))


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
