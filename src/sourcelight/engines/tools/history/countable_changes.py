"""Changes of the files that a commit has, under all of their names: what `hotspots` and `coupling` count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.core.tools.tool import Arguments
from sourcelight.engines.history.file_history import FileChanges, follow_files
from sourcelight.engines.history.search.filters import filter_changes
from sourcelight.engines.history.search.query import ChangedFileFilter
from sourcelight.engines.history.subtrees import Layout
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.engines.tools.history.file_kinds import are_of_kinds
from sourcelight.engines.tools.history.filters import Dates
from sourcelight.engines.tools.history.histories import OpenedHistory
from sourcelight.engines.tools.history.people.change_groups import commit_mask
from sourcelight.engines.tools.history.tables import count_distinct
from sourcelight.repos import CommitTree, ObjectReader

ALL_DATES: Dates = (None, None)

_NARROWING = ("files", "revisions", "fileKinds", "maxFiles")
"""Arguments that select commits: those behind a row are selected by the same."""


@dataclass(frozen=True, slots=True)
class CountableChanges:
    """Changes that count, and the index of each one's file in the current tree.

    A change may belong to two files: a renamed file, and a later file with its former path.
    """

    changes: Int64Array
    files: Int64Array
    tree: CommitTree

    def name_of(self, file: int) -> str:
        """Return the path of a file, as it is displayed."""
        return self.tree.paths[file].decode("utf-8", "replace")

    def of_path(self, path: str | None) -> Int64Array:
        """Return the changes of the files that are displayed with a path."""
        files = [file for file, name in enumerate(self.tree.paths) if name.decode("utf-8", "replace") == path]
        return self.changes[np.isin(self.files, files)]


def countable_changes(
    snapshot: OpenedHistory,
    file_filter: ChangedFileFilter,
    dates: Dates,
    file_kinds: Sequence[str] | None,
    context: ToolContext,
) -> CountableChanges:
    """Return the changes that pass the filters, of files that the current commit has under any name."""
    layout = snapshot.layout(context)
    tree, file_changes = _follow_current_files(snapshot, layout, context)
    files, changes = file_changes.file, file_changes.change
    mask = commit_mask(snapshot, *dates)[snapshot.history.changes.commit[changes]]
    passing = filter_changes(snapshot.history, file_filter, layout=layout)
    if passing is not None:
        mask = mask & passing[changes]

    files, changes = files[mask], changes[mask]
    kinds_mask = are_of_kinds(snapshot, tree.paths, files, file_kinds, context)
    return CountableChanges(changes[kinds_mask], files[kinds_mask], tree)


def commits_of_files(selection: OpenedHistory, context: ToolContext) -> dict[str, int]:
    """Return how many commits changed each file of the commit under any of its names, as `hotspots` counts them."""
    countable = _all_changes(selection, context)
    files, codes = np.unique(countable.files, return_inverse=True)
    commits = selection.history.changes.commit[countable.changes].astype(np.int64)
    counts = count_distinct(codes, commits, len(files))
    return dict(zip(map(countable.name_of, files.tolist()), counts.tolist(), strict=True))


def _all_changes(selection: OpenedHistory, context: ToolContext) -> CountableChanges:
    return countable_changes(selection, ChangedFileFilter(), ALL_DATES, file_kinds=None, context=context)


def commits_beside(
    selection: OpenedHistory, path: str, other_paths: Sequence[str], context: ToolContext
) -> dict[str, tuple[int, int]]:
    """Return, for each of `other_paths`, how many commits changed both it and `path`, and how many changed it."""
    countable = _all_changes(selection, context)
    changed_in = selection.history.changes.commit
    changes = countable.of_path(path)
    file_of_name = {name.decode("utf-8", "replace"): file for file, name in enumerate(countable.tree.paths)}
    counts = {}
    for other_path in other_paths:
        other_changes = countable.changes[countable.files == file_of_name.get(other_path, -1)]
        common = common_commits(changed_in, changes, other_changes)
        counts[other_path] = (len(common), len(np.unique(changed_in[other_changes])))

    return counts


def common_commits(changed_in: AnyArray, changes: Int64Array, other_changes: Int64Array) -> Int64Array:
    """Return commits that changed two files, each by a separate change."""
    common = np.intersect1d(changed_in[changes], changed_in[other_changes])
    # A file and a later one with its former path share their past, with one change per commit. It isn't coupling.
    distinct = np.union1d(changes, other_changes)
    commits, counts = np.unique(changed_in[distinct], return_counts=True)
    return np.intersect1d(common, commits[counts > 1]).astype(np.int64)


def _follow_current_files(
    snapshot: OpenedHistory, layout: Layout, context: ToolContext
) -> tuple[CommitTree, FileChanges]:
    """Return the files of the commit, and the changes of each under any of its names."""
    with ObjectReader(snapshot.repository) as reader:
        tree = reader.tree(snapshot.commits[0])

    def follow() -> FileChanges:
        return follow_files(snapshot.history, layout, snapshot.mask, tree.paths, context.cancellation)

    # Cached with the history, because readers request the commits of each row separately.
    return tree, snapshot.history.remember(f"file changes {snapshot.commits} {snapshot.without}", follow)


def drill_down(tool: str, arguments: Arguments, part: PartialResult, columns: dict[str, str]) -> dict[str, Any]:
    """Return the call that lists the commits behind a row; `columns` have its further arguments."""
    wire_arguments = arguments.to_wire()
    fixed_arguments = {name: wire_arguments[name] for name in _NARROWING if wire_arguments.get(name)}
    return {
        "call": "commits_behind",
        "arguments": {"of": tool, **fixed_arguments, **part.dates},
        "columns": {"repos": "repository", "path": "path", **columns},
    }
