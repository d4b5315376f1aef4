"""Which commits pass: reachability, people, times, messages and the files they changed.

Which changed lines pass, newest commit first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History, Ints, Mask
from sourcelight.engines.history.search import lines
from sourcelight.engines.history.search.lines import (
    BOTH,
    LineSelection,
    changes_counting,
    changes_holding,
    changes_of,
    changes_with,
    distinct,
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

_MANY = 64
"""When one in so many commits is wanted, taking them from the order of all is quicker than sorting them."""


def find_commits(
    history: History, query: CommitQuery, stopped: Stopped = never, *, layout: Layout | None = None
) -> Ints:
    """Give the numbers of the commits that pass, newest first; `layout` as for `changes_passing`.

    Raises KeyError for a revision that is not here, and `Halted` once `stopped` says so.
    """
    mask = commits_passing(history, query.commits, stopped)
    if query.tree is not None:
        mask = mask & _message_tree(history, query.tree, stopped)
    if query.files.paths or query.changed:
        changes = changes_passing(history, query.files, stopped, layout=layout)
        for one in query.changed:
            hit = np.zeros(len(history.changes), np.bool_)
            for pattern in one.patterns:
                hit |= changes_with(history, pattern, stopped)
            if changes is not None:
                hit &= changes
            mask = mask & (_of_commits(history, hit) != one.negated)
        if not query.changed and changes is not None:
            mask = mask & _of_commits(history, changes)
    return newest_first(history, np.flatnonzero(mask))


def newest_first(history: History, commits: Ints) -> Ints:
    """Sort commits by committer time, the latest first; of those of one second, children come before parents."""
    if len(commits) * _MANY < len(history.commits):
        return commits[np.lexsort((-commits, -history.commits.commit_time[commits]))]
    mask = np.zeros(len(history.commits), np.bool_)
    mask[commits] = True
    return history.newest_first[mask[history.newest_first]]


def commits_passing(history: History, which: CommitFilter, stopped: Stopped = never) -> Mask:
    """Tell for each commit whether it passes."""
    commits = history.commits
    mask: Mask = np.ones(len(commits), np.bool_)
    if which.revisions:
        reached = [history.reachable(oid) for oid in which.revisions]
        mask = reached[0] if len(reached) == 1 else np.logical_or.reduce(reached)
    for oid in which.without:
        mask = mask & ~history.reachable(oid)
    if which.merges is not None:
        mask = mask & (commits.is_merge == which.merges)
    if which.after is not None:
        mask = mask & (commits.commit_time > which.after)
    if which.before is not None:
        mask = mask & (commits.commit_time < which.before)
    for one in which.authors:
        mask = mask & people_passing(history, one, whole=which.whole_people, stopped=stopped)[commits.author]
    for one in which.committers:
        mask = mask & people_passing(history, one, whole=which.whole_people, stopped=stopped)[commits.committer]
    for one in which.messages:
        mask = mask & (_messages(history, one, stopped) != one.negated)
    return mask


def people_passing(history: History, one: AnyPattern, *, whole: bool = False, stopped: Stopped = never) -> Mask:
    """Tell for each identity whether it passes."""
    found: Mask = np.zeros(len(history.identities), np.bool_)
    for raw, starts in history.memory(f"people {whole}", lambda: _people(history, whole=whole)):
        found |= lines.any_of(one.patterns, raw, starts, stopped)
    passing: Mask = found != one.negated
    return passing


def _people(history: History, *, whole: bool) -> list[tuple[memoryview, Ints]]:
    people = history.identities
    columns: list[Sequence[str]] = [
        [f"{name} <{email}>" for name, email in zip(names, emails, strict=True)]
        for names, emails in ((people.names, people.emails), (people.mapped_names, people.mapped_emails))
    ]
    if not whole:
        columns += [people.names, people.emails, people.mapped_names, people.mapped_emails]
    return [lines.joined(item.encode() for item in column) for column in columns]


def changes_passing(
    history: History, files: ChangedFileFilter, stopped: Stopped = never, *, layout: Layout | None = None
) -> Mask | None:
    """Tell for each change whether its file passes; None when all do.

    With a `layout`, a file of a merged subtree passes under the path where the merge put it, too.
    """
    mask: Mask | None = None
    for one in files.paths:
        raw, starts = history.memory("paths", lambda: lines.joined(history.paths))
        held = lines.any_of(one.patterns, raw, starts, stopped)
        for at, path in history.memory("paths with newlines", lambda: lines.with_newlines(history.paths)).items():
            held[at] = any(bool(pattern.match_many(path, [0], [len(path)])[0]) for pattern in one.patterns)
        passed = held[history.changes.path] | held[history.changes.old_path]
        if layout is not None and layout.moved.any():
            passed |= _moved_passing(layout, one, stopped)
        passed = passed != one.negated
        mask = passed if mask is None else mask & passed
    return mask


def _moved_passing(layout: Layout, one: AnyPattern, stopped: Stopped) -> Mask:
    """Tell for each change whether the path where a merge put its file passes."""
    passed: Mask = np.zeros(len(layout.moved), np.bool_)
    moved = np.flatnonzero(layout.moved)
    for numbers in (layout.path[moved], layout.old_path[moved]):
        used, which = np.unique(numbers, return_inverse=True)
        raw, starts = lines.joined(layout.names[at] for at in used.tolist())
        passed[moved] |= lines.any_of(one.patterns, raw, starts, stopped)[which]
    return passed


def _of_commits(history: History, changes: Mask) -> Mask:
    mask: Mask = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[changes]] = True
    return mask


def _messages(history: History, one: AnyPattern, stopped: Stopped) -> Mask:
    found = []
    for segment in history.segments:
        starts = segment["message_starts"].view(np.int64)
        found.append(lines.any_of(one.patterns, segment.bytes_of("messages"), starts, stopped))
    return np.concatenate([np.zeros(0, np.bool_), *found])


def _message_tree(history: History, tree: Tree, stopped: Stopped) -> Mask:
    if isinstance(tree, PatternTerm):
        return _messages(history, AnyPattern((tree.pattern,)), stopped)
    if isinstance(tree, Not):
        return ~_message_tree(history, tree.arg, stopped)
    every = isinstance(tree, And)
    held: Mask = np.full(len(history.commits), every)
    for arg in tree.args:
        mask = _message_tree(history, arg, stopped)
        held = held & mask if every else held | mask
    return held


_ROW_BITS = 40


@dataclass(frozen=True, eq=False)
class DiffMatches:
    """What a search of changed lines found; its rows are put in order when they are first asked for.

    Attributes
    ----------
    commits
        Commits that qualify, newest first.
    patterns
        What to mark in the rows.
    places
        Makes `changes`, `rows` and `row_changes`.
    """

    commits: Ints
    patterns: tuple[CompiledPattern, ...]
    places: Callable[[], tuple[Ints, Ints, Ints]] = field(repr=False)

    @property
    def changes(self) -> Ints:
        """Changes that qualify, in the order of their commits."""
        return self._made[0]

    @property
    def rows(self) -> Ints:
        """Rows to show, in the order of their commits, changes and places."""
        return self._made[1]

    @property
    def row_changes(self) -> Ints:
        """The change of each row."""
        return self._made[2]

    @cached_property
    def _made(self) -> tuple[Ints, Ints, Ints]:
        return self.places()


def find_diffs(history: History, query: DiffQuery, stopped: Stopped = never) -> DiffMatches:
    """Give the commits, changes and lines that pass.

    Raises KeyError for a revision that is not here, and `Halted` once `stopped` says so.
    """
    commits = commits_passing(history, query.commits, stopped)
    files = changes_passing(history, query.files, stopped)
    patterns = tuple(_shown(query.tree)) if query.tree is not None else ()
    found: list[LineSelection] = []
    passing = commits[history.changes.commit]
    if query.changes == "count" and isinstance(query.tree, PatternTerm):
        found += lines_with(history, query.tree.pattern, stopped, counted=True)
        passing &= changes_counting(history, found)
    elif query.tree is not None:
        passing &= _diff_tree(history, query.tree, query, found, stopped)
    if files is not None:
        passing &= files
    mask = np.zeros(len(history.commits), np.bool_)
    mask[history.changes.commit[passing]] = True
    ordered = newest_first(history, np.flatnonzero(mask))

    def places() -> tuple[Ints, Ints, Ints]:
        changes = np.flatnonzero(passing)
        if not patterns:  # no line makes the tree hold, so that every line of such a change counts
            rows = _of_sides(history, _rows_of(history, changes if query.shown else changes[:0]), query)
        else:
            rows = rows_of(found, query.sides)
        return _in_order(history, ordered, passing, rows)

    return DiffMatches(ordered, patterns, places)


def _in_order(history: History, commits: Ints, passing: Mask, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Changes that pass, and their rows (of `rows`, each once) with the change of each, in the order of the commits."""
    rank = np.zeros(len(history.commits), np.int64)
    rank[commits] = np.arange(len(commits))
    changes = np.flatnonzero(passing)
    by_change = np.argsort(rank[history.changes.commit[changes]], kind="stable")
    of_rows = changes_of(history, rows)
    kept = passing[of_rows]
    rows, of_rows = rows[kept], of_rows[kept]
    keys = rank[history.changes.commit[of_rows]] << _ROW_BITS | rows
    keys.sort()
    rows = distinct(keys) & ((1 << _ROW_BITS) - 1)
    return changes[by_change], rows, changes_of(history, rows).astype(np.int64)


def _of_sides(history: History, rows: Ints, query: DiffQuery) -> Ints:
    if len(query.sides) == len(BOTH):
        return rows
    kept: Ints = rows[removed_rows(history, rows) == ("removed" in query.sides)]
    return kept


def removed_rows(history: History, rows: Ints) -> Mask:
    """Tell for each row whether its line was removed."""
    if len(history.segments) == 1:
        return history.segments[0]["rows"][rows] > LINE
    of_segment = np.searchsorted(history.bases.rows, rows, side="right") - 1
    mask = np.zeros(len(rows), np.bool_)
    for at, segment in enumerate(history.segments):
        own = of_segment == at
        mask[own] = segment["rows"][rows[own] - history.bases.rows[at]] > LINE
    return mask


def _rows_of(history: History, changes: Ints) -> Ints:
    low, high = history.changes.row_starts[changes], history.changes.row_starts[changes + 1]
    counts = high - low
    rows: Ints = np.arange(int(counts.sum())) + np.repeat(low - np.cumsum(counts) + counts, counts)
    return rows


def _diff_tree(history: History, tree: Tree, query: DiffQuery, found: list[LineSelection], stopped: Stopped) -> Mask:
    """Tell for each change whether the tree holds; lines that make terms hold outside NOT go to `found`."""
    if isinstance(tree, PatternTerm):
        lines = lines_with(history, tree.pattern, stopped)
        if tree.shown:
            found += lines
        return changes_holding(history, lines, query.sides)
    if isinstance(tree, Not):
        return ~_diff_tree(history, tree.arg, query, [], stopped)
    masks = [_diff_tree(history, arg, query, found, stopped) for arg in tree.args]
    every = isinstance(tree, And)
    held: Mask = np.full(len(history.changes), every)
    for part in masks:
        held = held & part if every else held | part
    return held


def _shown(tree: Tree) -> list[CompiledPattern]:
    if isinstance(tree, PatternTerm):
        return [tree.pattern] if tree.shown else []
    if isinstance(tree, Not):
        return []
    return [pattern for arg in tree.args for pattern in _shown(arg)]
