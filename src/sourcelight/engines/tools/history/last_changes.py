"""Handler of `last_changes`: the newest commit that changed each of some files and directories."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.commits import LAST_CHANGES, LastChangesArguments
from sourcelight.engines.history import History
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, open_histories


@dataclass(frozen=True, slots=True)
class _LastChange:
    """The number of the newest change of a path, and how many commits changed it."""

    change: int
    commit_count: int


def _last_changes(arguments: LastChangesArguments, context: ToolContext) -> ToolResult:
    """Name for each file or directory the newest commit that changed it; others are left out."""
    revision = arguments.revision
    histories = open_histories("last_changes", context, [arguments.repo], [revision] if revision else ())
    paths = list(dict.fromkeys(clean_path(path) for path in arguments.paths))
    parts = []
    changed_paths: set[str] = set()
    for snapshot in histories.selections:
        last_changes = _find_last_changes(snapshot, paths)
        changed_paths.update(last_changes)
        parts.append(_table(snapshot, last_changes))

    notices = list(histories.notices)
    if len(changed_paths) < len(paths):
        notices.append(f"No commit changed {len(paths) - len(changed_paths):,} of the paths.")

    drill = {"call": "commit_search", "arguments": {}, "columns": {"repos": "repository", "files": "path"}}
    attributes = {"drill_down": drill}
    return ToolResult(
        columns="last_changes",
        table=tables.join("last_changes", parts),
        attributes=attributes,
        complete=histories.complete,
        notices=tuple(notices),
    )


def _find_last_changes(snapshot: OpenedHistory, paths: list[str]) -> dict[str, _LastChange]:
    """Return the newest change of each path that any commit changed, in the order of `paths`."""
    history = snapshot.history
    changes = history.changes
    change_rows = np.flatnonzero(snapshot.mask[changes.commit])
    times = history.commits.commit_time[changes.commit[change_rows]]
    change_rows = change_rows[np.argsort(times, kind="stable")]  # of one second, children come behind their parents

    # A rename counts for both of its paths, as a commit that takes a file away from a path changes it.
    is_rename = changes.old_path[change_rows] != changes.path[change_rows]
    path_numbers = np.concatenate([changes.path[change_rows], changes.old_path[change_rows[is_rename]]])
    positions = np.concatenate([np.arange(len(change_rows)), np.flatnonzero(is_rename)])
    last = np.full(len(history.paths) + 1, -1, np.int64)
    np.maximum.at(last, path_numbers, positions)
    counts = np.bincount(path_numbers, minlength=len(last))
    numbers = _numbers(history.paths.numbers, paths)
    directories = _directory_changes(history, change_rows, numbers, paths)
    result = {}
    for path in paths:
        last_change = directories.get(path)
        if last_change is None and path in numbers:
            number = numbers[path]
            if counts[number]:
                last_change = _LastChange(int(change_rows[last[number]]), int(counts[number]))
        if last_change is not None:
            result[path] = last_change
    return result


def _table(snapshot: OpenedHistory, last_changes: Mapping[str, _LastChange]) -> Any:
    history = snapshot.history
    rows = np.array([last_change.change for last_change in last_changes.values()], np.int64)
    commits = history.changes.commit[rows]
    author, email, _ = tables.people(history, history.commits.author[commits])
    columns = {
        "repository": snapshot.name,
        "path": list(last_changes),
        "commit": tables.oids(history, commits),
        "author": author,
        "author_email": email,
        "author_date": tables.times(history.commits.author_time[commits]),
        "commit_date": tables.times(history.commits.commit_time[commits]),
        "subject": [history.subject(number) for number in commits.tolist()],
        "agent": agent_column(history, commits),
        "changed_commits": pa.array([last_change.commit_count for last_change in last_changes.values()], pa.int64()),
    }
    return tables.table("last_changes", columns, len(rows))


def _directory_changes(
    history: History, change_rows: Int64Array, numbers: Mapping[str, int], paths: list[str]
) -> dict[str, _LastChange]:
    """Return for each directory the newest of `change_rows` in it, and how many commits changed it.

    A former file counts with its changes, as in ``git log -- PATH``.
    """
    below = _files_below(history, paths)
    paths_of_rows, old_paths_of_rows = history.changes.path[change_rows], history.changes.old_path[change_rows]
    last_changes = {}
    for path in paths:
        files = below.get(path.encode("utf-8", "surrogateescape"), [])
        if files:
            if path in numbers:
                files.append(numbers[path])
            rows = change_rows[np.isin(paths_of_rows, files) | np.isin(old_paths_of_rows, files)]
            if len(rows):
                commits = np.unique(history.changes.commit[rows])
                last_changes[path] = _LastChange(int(rows[-1]), len(commits))

    return last_changes


def _files_below(history: History, paths: list[str]) -> dict[bytes, list[int]]:
    """Return the numbers of the files below each path, in all directories in it."""
    below: dict[bytes, list[int]] = {path.encode("utf-8", "surrogateescape"): [] for path in paths if path}
    for raw, number in history.paths.numbers.items():
        end = raw.find(b"/")
        while end >= 0:
            if raw[:end] in below:
                below[raw[:end]].append(number)
            end = raw.find(b"/", end + 1)
    return below


def _numbers(numbers_by_path: Mapping[bytes, int], paths: list[str]) -> dict[str, int]:
    """Return numbers of paths given as text; names that are not UTF-8 are known by their text with U+FFFD."""
    numbers = {path: numbers_by_path.get(path.encode("utf-8", "surrogateescape")) for path in paths}
    if any(number is None and "\ufffd" in path for path, number in numbers.items()):
        numbers_by_text = {raw.decode("utf-8", "replace"): number for raw, number in numbers_by_path.items()}
        numbers = {path: numbers_by_text.get(path) if number is None else number for path, number in numbers.items()}
    return {path: number for path, number in numbers.items() if number is not None}


HANDLERS: tuple[Handler[Any], ...] = (Handler(LAST_CHANGES, _last_changes),)
