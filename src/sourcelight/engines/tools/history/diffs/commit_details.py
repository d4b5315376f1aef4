"""The handler of `commit_details`: a commit, and the files that it changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sourcelight.core.batches.commit_messages import trailers_of
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import RevisionNotFound
from sourcelight.core.notices import Rule
from sourcelight.core.tools.commits import COMMIT_DETAILS, CommitDetailsArguments
from sourcelight.engines.history import History
from sourcelight.engines.history.compare import Comparison, FileDiff, compare
from sourcelight.engines.history.compare.changes import FileChange
from sourcelight.engines.history.compare.comparison import EMPTY
from sourcelight.engines.history.history import UNKNOWN
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history.diffs.file_diffs import MAX_PAGE_BYTES, diff_table, patch_bytes, with_progress
from sourcelight.engines.tools.history.histories import open_histories
from sourcelight.engines.tools.history.newest_commits import commit_rows
from sourcelight.engines.tools.rows import stamp
from sourcelight.repos import ObjectReader

_MAX_SOURCE_BYTES = 1 << 20
"""Bytes of both contents of a file above which a page leaves out its patch."""


def _commit_details(arguments: CommitDetailsArguments, context: ToolContext) -> ToolResult:
    """Return the files that a commit changed against its first parent; attributes describe the commit."""
    histories = open_histories("commit_details", context, [arguments.repo], [arguments.revision])
    if not histories.selections:
        raise RevisionNotFound(arguments.repo, arguments.revision)

    snapshot = histories.selections[0]
    history = snapshot.history
    commit = snapshot.commits[0]
    number = history.position(commit)
    assert number is not None  # noqa: S101 - opened histories hold their commits
    row = commit_rows(snapshot, CommitNumbers(np.array([number]))).to_pylist()[0]
    parents = row["parents"]
    base = parents[0] if parents else EMPTY
    comparison = compare(snapshot.repository, base, commit, context.cancellation, history=history)
    page_diffs = comparison.all_diffs(context.cancellation)
    if context.served:
        page_diffs = _page_diffs(comparison, history, number, context)

    diffs = with_progress(page_diffs, len(comparison.changes), context)
    notices = list(histories.notices)
    left_out = comparison.left_out
    if context.served:
        left_out = sum(diff.patch is None for diff in diffs)

    if left_out:
        notices.append(
            f"{left_out:,} patches are left out: they are long, or their contents are missing from this clone."
        )

    if len(parents) > 1:
        notices.append(Rule("This is a merge: its files are compared with its first parent.", "merges"))

    return ToolResult(
        columns="file_diffs",
        table=diff_table(comparison, diffs, [False] * len(diffs)),
        attributes=_commit_attributes(row, arguments.revision),
        complete=histories.complete and all(diff.patch is not None for diff in diffs),
        notices=tuple(notices),
    )


def _commit_attributes(row: Mapping[str, Any], revision: str) -> dict[str, Any]:
    """Return the attributes that describe a commit: a row of the table ``commits``, and the trailers of its message."""
    attributes = {}
    for name, value in row.items():
        attributes[name] = stamp(value) if name.endswith("_date") else value

    trailers = trailers_of(row["message"])
    attributes["trailers"] = [{"token": trailer.token, "value": trailer.value} for trailer in trailers]
    attributes["revision"] = revision
    return attributes


def _page_diffs(comparison: Comparison, history: History, number: int, context: ToolContext) -> Iterator[FileDiff]:
    """Yield diffs of all files, with a patch if the page has room for it; other files have counts of the history."""
    change_of_path = _changes_by_path(history, number)
    remaining_bytes = MAX_PAGE_BYTES
    with ObjectReader(comparison.repository) as reader:
        for change in comparison.changes:
            # The patch of a file with the same content is a header alone.
            is_unchanged = change.object_id == change.old_object_id
            if is_unchanged or (remaining_bytes > 0 and _source_bytes(change, reader) <= _MAX_SOURCE_BYTES):
                diff = next(comparison.diffs([change], context.cancellation))
                remaining_bytes -= patch_bytes(diff)
                yield diff
            else:
                yield _diff_without_patch(change, history, change_of_path.get(change.path))


def _changes_by_path(history: History, number: int) -> dict[bytes, int]:
    """Return the numbers of a commit's changes by path."""
    numbers = np.flatnonzero(history.changes.commit == number).tolist()
    return {history.paths[history.changes.path[change]]: change for change in numbers}


def _source_bytes(change: FileChange, reader: ObjectReader) -> int:
    """Return the bytes of both contents of a file."""
    size = 0
    for object_id in (change.object_id, change.old_object_id):
        # Zeros are the id of a side that has no file. Sizes come from object headers: no content is read for a file
        # whose patch will be left out.
        if object_id.strip("0"):
            size += reader.size(bytes.fromhex(object_id)) or 0
    return size


def _diff_without_patch(change: FileChange, history: History, number: int | None) -> FileDiff:
    """Return a file with the counts that a history has of a change; None: the history has none."""
    if number is None:
        return FileDiff(change=change, additions=None, deletions=None, binary=False, patch=None)

    changes = history.changes
    additions, deletions = None, None
    if changes.additions[number] != UNKNOWN:
        additions = int(changes.additions[number])
        deletions = int(changes.deletions[number])

    return FileDiff(
        change=change, additions=additions, deletions=deletions, binary=bool(changes.binary[number]), patch=None
    )


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMMIT_DETAILS, _commit_details),)
