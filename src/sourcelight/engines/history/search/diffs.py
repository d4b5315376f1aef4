"""Which changed lines pass, newest commit first."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sourcelight.core.patterns import CompiledPattern
from sourcelight.core.patterns.halting import Stopped, never
from sourcelight.engines.history.search.commits import changes_passing, commits_passing, newest_first
from sourcelight.engines.history.search.lines import BOTH, changes_of, counts_changed, rows_with
from sourcelight.engines.history.search.model import AllOf, DiffQuery, Not, Term, Tree
from sourcelight.engines.history.snapshot import History, Ints, Mask
from sourcelight.engines.history.store.segment import LINE


@dataclass(frozen=True, slots=True, eq=False)
class DiffHits:
    """What a search of changed lines found.

    Attributes
    ----------
    commits
        Commits that qualify, newest first.
    changes
        Changes that qualify, in the order of their commits.
    rows
        Rows to show, in the order of their commits, changes and places; `row_changes` is the change of each.
    patterns
        What to mark in the rows.
    """

    commits: Ints
    changes: Ints
    rows: Ints
    row_changes: Ints
    patterns: tuple[CompiledPattern, ...]


def find_diffs(history: History, query: DiffQuery, stopped: Stopped = never) -> DiffHits:
    """Give the commits, changes and lines that pass.

    Raises KeyError for a revision that is not here, and `Halted` once `stopped` says so.
    """
    commits = commits_passing(history, query.commits, stopped)
    files = changes_passing(history, query.files, stopped)
    patterns = tuple(_shown(query.tree)) if query.tree is not None else ()
    rows: Ints | None = None
    hit: Mask | None = None
    if query.changes == "count" and isinstance(query.tree, Term):
        hit, rows = counts_changed(history, query.tree.pattern, stopped)
        rows = _of_sides(history, rows, query)
    elif query.tree is not None:
        found: list[Ints] = []
        hit = _tree(history, query.tree, query, found, stopped)
        rows = np.unique(np.concatenate([np.zeros(0, np.int64), *found])) if len(found) != 1 else found[0]
    passing = commits[history.changes.commit]
    if hit is not None:
        passing = passing & hit
    if files is not None:
        passing = passing & files
    if rows is None:
        changes = np.flatnonzero(passing)
        rows = _of_sides(history, _rows_of(history, changes if query.shown else changes[:0]), query)
    of_rows = changes_of(history, rows)
    kept = passing[of_rows]
    rows, of_rows = rows[kept], of_rows[kept]
    changes = np.flatnonzero(passing)
    own = history.changes.commit[changes].astype(np.int64)
    ordered = newest_first(history, own[np.concatenate(([True], own[1:] != own[:-1]))] if len(own) else own)
    rank = np.zeros(len(history.commits), np.int32)
    rank[ordered] = np.arange(len(ordered), dtype=np.int32)
    by_change = np.argsort(rank[own], kind="stable")
    by_row = np.argsort(rank[history.changes.commit[of_rows]], kind="stable")
    return DiffHits(ordered, changes[by_change], rows[by_row], of_rows[by_row], patterns)


def _of_sides(history: History, rows: Ints, query: DiffQuery) -> Ints:
    if len(query.sides) == len(BOTH):
        return rows
    kept: Ints = rows[removed_rows(history, rows) == ("removed" in query.sides)]
    return kept


def removed_rows(history: History, rows: Ints) -> Mask:
    """Tell for each row whether its line was removed."""
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


def _tree(history: History, tree: Tree, query: DiffQuery, found: list[Ints], stopped: Stopped) -> Mask:
    """Tell for each change whether the tree holds; rows that make terms hold outside NOT go to `found`."""
    if isinstance(tree, Term):
        rows = rows_with(history, tree.pattern, query.sides, stopped)
        mask: Mask = np.zeros(len(history.changes), np.bool_)
        mask[changes_of(history, rows)] = True
        if tree.shown:
            found.append(rows)
        return mask
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
