"""`path_history`: the changes of one file or directory, followed back through renames.

The tree of the commit says whether the path is a file or a directory; for a removed path, the paths of all changes do.
`file_history` follows files and `follow` directories. This module makes their changes rows, newest first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.commit_messages import references_of
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.errors import PathNotFound
from sourcelight.core.notices import Rule
from sourcelight.core.tools.evolution import PATH_HISTORY, PathHistoryArguments
from sourcelight.engines.history.file_history import follow_file
from sourcelight.engines.history.follow import follow_directory
from sourcelight.engines.history.history import UNKNOWN
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search.trailer_columns import agent_column
from sourcelight.engines.history.subtrees import Layout
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.repos import ObjectReader, find_entry

_STATUSES = {"A": "added", "C": "copied", "D": "deleted", "M": "modified", "R": "renamed", "T": "type changed"}
"""Statuses by git's letters."""

_RULE = Rule("Merges change no file, and copies are not followed.", "merges")


def _path_history(arguments: PathHistoryArguments, context: ToolContext) -> ToolResult:
    revision = arguments.revision or ""
    path = clean_path(arguments.path)
    histories = open_history(PATH_HISTORY.name, context, arguments.repo, revision)
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "path": path, "total": 0}
    if not histories.selections:
        return histories.without_rows("path_history", attributes)

    (snapshot,) = histories.selections
    layout = snapshot.layout(context)
    kind, exists = _kind_of(snapshot, layout, path, revision)
    changes = _follow(snapshot, layout, path=path, kind=kind, context=context)
    total = len(changes)
    is_complete = histories.complete
    notices = [*histories.notices, _RULE]
    if arguments.limit is not None and total > arguments.limit:
        changes = ChangeNumbers(changes[: arguments.limit])
        notices.append(f"The newest {arguments.limit:,} of {total:,} changes are shown.")
        is_complete = False

    attributes |= {"commit": snapshot.commits[0], "kind": kind, "exists": exists, "total": total}
    return ToolResult(
        columns="path_history",
        table=_table(snapshot, layout, changes),
        attributes=attributes,
        complete=is_complete,
        notices=tuple(notices),
    )


def _kind_of(snapshot: OpenedHistory, layout: Layout, path: str, revision: str) -> tuple[str, bool]:
    """Return ``file`` or ``directory`` for a path, and whether the commit has it; a removed path has a history too."""
    with ObjectReader(snapshot.repository) as reader:
        try:
            entry = find_entry(reader, snapshot.commits[0], path, revision)
        except PathNotFound:
            names = set(layout.names)
            raw = path.encode("utf-8", "surrogateescape")
            if raw in names:
                return "file", False
            # A diff of git has no directories: a directory existed if any file below it did.
            if any(name.startswith(raw + b"/") for name in names):
                return "directory", False
            raise

    return "directory" if entry.kind == "directory" else "file", True


def _follow(snapshot: OpenedHistory, layout: Layout, *, path: str, kind: str, context: ToolContext) -> ChangeNumbers:
    history = snapshot.history
    tip = history.position(snapshot.commits[0])
    if tip is None:
        return ChangeNumbers(np.zeros(0, np.int64))

    raw = path.encode("utf-8", "surrogateescape")
    if kind == "file":
        return follow_file(history, layout, snapshot.mask, raw, context.cancellation)

    with ObjectReader(snapshot.repository) as reader:

        def has_directory(commit: int, directory: bytes) -> bool:
            name = directory.decode("utf-8", "replace").rstrip("/")
            try:
                return find_entry(reader, history.oid(commit), name).kind == "directory"
            except PathNotFound:
                return False

        return follow_directory(history, layout, tip, raw, context.cancellation, has_directory)


def _table(snapshot: OpenedHistory, layout: Layout, numbers: ChangeNumbers) -> Any:
    history = snapshot.history
    changes = history.changes
    letters, status_codes = np.unique(changes.status[numbers], return_inverse=True)
    statuses = [_STATUSES[chr(letter)] for letter in letters.tolist()]
    score = changes.score[numbers].astype(np.int32)
    additions = changes.additions[numbers].astype(np.int64)
    deletions = changes.deletions[numbers].astype(np.int64)
    values: dict[str, Any] = {
        **commit_columns(snapshot, changes.commit[numbers].astype(np.int64)),
        "status": tables.dictionary_column(statuses, status_codes),
        "path": _paths(layout, layout.path[numbers]),
        "old_path": _paths(layout, layout.old_path[numbers]),
        "score": pa.array(score, mask=score == 0),
        "additions": pa.array(additions, mask=additions == UNKNOWN),
        "deletions": pa.array(deletions, mask=deletions == UNKNOWN),
    }
    return tables.table("path_history", values, len(numbers))


def _paths(layout: Layout, numbers: Any) -> Any:
    distinct, codes = np.unique(numbers, return_inverse=True)
    return tables.dictionary_column([layout.text(number) for number in distinct.tolist()], codes)


def commit_columns(selection: OpenedHistory, commits: Any) -> dict[str, Any]:
    """Return columns of the commits of rows; the texts of a commit in many rows are read and sent once."""
    history = selection.history
    # `codes` maps each row to its commit in `distinct`, as in a dictionary column.
    distinct, codes = np.unique(commits, return_inverse=True)
    distinct_commits = CommitNumbers(distinct)
    columns = history.commits
    author = columns.author[commits]
    messages = change_tables.message_texts(history, distinct_commits).to_pylist()
    references = pa.array([references_of(message) for message in messages], pa.list_(pa.string()))
    name, email, bot = tables.people(history, author)
    prefix = f"{repository_url('', selection.name)}/-/commit/"
    return {
        "repository": selection.name,
        "commit": _spread(change_tables.hex_texts(columns.oid[distinct]), codes),
        "subject": _spread(change_tables.subject_texts(history, distinct_commits), codes),
        "author": name,
        "author_email": email,
        "author_date": change_tables.times(columns.author_time[commits]),
        "commit_date": change_tables.times(columns.commit_time[commits]),
        "message": tables.dictionary_column(messages, codes),
        "references": references.take(pa.array(codes)),
        "bot": pa.array(bot),
        "agent": agent_column(history, commits),
        "url": _spread(change_tables.prefixed_oids(prefix, columns.oid[distinct]), codes),
    }


def _spread(texts: Any, codes: Any) -> Any:
    return tables.dictionary_column(texts.to_pylist(), codes)


HANDLERS: tuple[Handler[Any], ...] = (Handler(PATH_HISTORY, _path_history),)
