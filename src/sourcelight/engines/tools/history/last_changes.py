"""Handler of `last_changes`: the newest commit that changed each of some files and directories."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.commits import LAST_CHANGES, LastChangesArguments
from sourcelight.engines.history import History
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import open_histories

_Newest = dict[str, tuple[int, int]]
"""By path: the row of its newest change, -1 for none, and how many commits changed it."""


def _last_changes(arguments: LastChangesArguments, context: ToolContext) -> ToolResult:
    """Name for each file or directory the newest commit that changed it; others are left out."""
    revision = arguments.revision
    histories = open_histories("last_changes", context, [arguments.repo], [revision] if revision else ())
    paths = list(dict.fromkeys(clean_path(path) for path in arguments.paths))
    parts = []
    paths_seen: set[str] = set()
    for snapshot in histories.selections:
        history = snapshot.history
        changes = history.changes
        last = np.full(len(history.paths) + 1, -1, np.int64)
        change_rows = np.flatnonzero(snapshot.mask[changes.commit])
        times = history.commits.commit_time[changes.commit[change_rows]]
        change_rows = change_rows[np.argsort(times, kind="stable")]  # of one second, children come behind their parents
        last[changes.path[change_rows]] = change_rows
        counts = np.bincount(changes.path[change_rows], minlength=len(last))
        numbers = _numbers(history.paths.numbers, paths)
        newest: _Newest = {path: (int(last[number]), int(counts[number])) for path, number in numbers.items()}
        newest |= _newest_by_directory(history, change_rows, numbers, paths)
        rows = [(path, *newest[path]) for path in paths if newest.get(path, (-1,))[0] >= 0]
        paths_seen |= {path for path, *_ in rows}
        commits = changes.commit[[row for _, row, _ in rows]] if rows else np.zeros(0, np.int64)
        author, email, _ = tables.people(history, history.commits.author[commits])
        table = {
            "repository": snapshot.name,
            "path": [path for path, *_ in rows],
            "commit": tables.oids(history, commits),
            "author": author,
            "author_email": email,
            "author_date": tables.times(history.commits.author_time[commits]),
            "commit_date": tables.times(history.commits.commit_time[commits]),
            "subject": [history.subject(number) for number in commits.tolist()],
            "agent": agent_column(history, commits),
            "changed_commits": pa.array([count for *_, count in rows], pa.int64()),
        }
        parts.append(tables.table("last_changes", table, len(rows)))

    notices = list(histories.notices)
    if len(paths_seen) < len(paths):
        notices.append(f"No commit changed {len(paths) - len(paths_seen):,} of the paths.")

    drill = {"call": "commit_search", "arguments": {}, "columns": {"repos": "repository", "files": "path"}}
    attributes = {"drill_down": drill}
    return ToolResult(
        columns="last_changes",
        table=tables.join("last_changes", parts),
        attributes=attributes,
        complete=histories.complete,
        notices=tuple(notices),
    )


def _newest_by_directory(history: History, change_rows: Any, numbers: Mapping[str, int], paths: list[str]) -> _Newest:
    """Return for each directory the newest of `change_rows` in it, and how many commits changed it.

    A former file counts with its changes, as in ``git log -- PATH``.
    """
    below: dict[bytes, list[int]] = {path.encode("utf-8", "surrogateescape"): [] for path in paths if path}
    for raw, number in history.paths.numbers.items():
        end = raw.find(b"/")
        while end >= 0:
            if (files := below.get(raw[:end])) is not None:
                files.append(number)
            end = raw.find(b"/", end + 1)

    newest = {}
    for path in paths:
        files = below.get(path.encode("utf-8", "surrogateescape"), [])
        if files:
            own_number = [numbers[path]] if path in numbers else []
            rows = change_rows[np.isin(history.changes.path[change_rows], files + own_number)]
            newest[path] = int(rows[-1]) if len(rows) else -1, len(np.unique(history.changes.commit[rows]))

    return newest


def _numbers(numbers_by_path: Mapping[bytes, int], paths: list[str]) -> dict[str, int]:
    """Return numbers of paths given as text; names that are not UTF-8 are known by their text with U+FFFD."""
    numbers = {path: numbers_by_path.get(path.encode("utf-8", "surrogateescape")) for path in paths}
    if any(number is None and "\ufffd" in path for path, number in numbers.items()):
        numbers_by_text = {raw.decode("utf-8", "replace"): number for raw, number in numbers_by_path.items()}
        numbers = {path: numbers_by_text.get(path) if number is None else number for path, number in numbers.items()}
    return {path: number for path, number in numbers.items() if number is not None}


HANDLERS: tuple[Handler[Any], ...] = (Handler(LAST_CHANGES, _last_changes),)
