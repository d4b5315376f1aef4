"""Which changed lines pass, newest commit first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.search.commits import changes_passing, commits_passing, newest_first
from sourcelight.engines.history.search.lines import (
    BOTH,
    Held,
    changes_counting,
    changes_holding,
    changes_of,
    lines_with,
    rows_of,
)
from sourcelight.engines.history.search.model import AllOf, DiffQuery, Not, Term, Tree
from sourcelight.engines.history.search.texts import distinct
from sourcelight.engines.history.snapshot import History, Ints, Mask
from sourcelight.engines.history.store.segment import LINE

_ROW_BITS = 40


@dataclass(frozen=True, eq=False)
class DiffHits:
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


def find_diffs(history: History, query: DiffQuery, stopped: Stopped = never) -> DiffHits:
    """Give the commits, changes and lines that pass.

    Raises KeyError for a revision that is not here, and `Halted` once `stopped` says so.
    """
    commits = commits_passing(history, query.commits, stopped)
    files = changes_passing(history, query.files, stopped)
    patterns = tuple(_shown(query.tree)) if query.tree is not None else ()
    found: list[Held] = []
    passing = commits[history.changes.commit]
    if query.changes == "count" and isinstance(query.tree, Term):
        found += lines_with(history, query.tree.pattern, stopped, counted=True)
        passing &= changes_counting(history, found)
    elif query.tree is not None:
        passing &= _tree(history, query.tree, query, found, stopped)
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

    return DiffHits(ordered, patterns, places)


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


def _tree(history: History, tree: Tree, query: DiffQuery, found: list[Held], stopped: Stopped) -> Mask:
    """Tell for each change whether the tree holds; lines that make terms hold outside NOT go to `found`."""
    if isinstance(tree, Term):
        lines = lines_with(history, tree.pattern, stopped)
        if tree.shown:
            found += lines
        return changes_holding(history, lines, query.sides)
    if isinstance(tree, Not):
        return ~_tree(history, tree.arg, query, [], stopped)
    masks = [_tree(history, arg, query, found, stopped) for arg in tree.args]
    every = isinstance(tree, AllOf)
    held: Mask = np.full(len(history.changes), every)
    for part in masks:
        held = held & part if every else held | part
    return held


def _shown(tree: Tree) -> list[CompiledPattern]:
    if isinstance(tree, Term):
        return [tree.pattern] if tree.shown else []
    if isinstance(tree, Not):
        return []
    return [pattern for arg in tree.args for pattern in _shown(arg)]
