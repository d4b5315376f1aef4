"""`blame`: the origin of the current lines of a file."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.blame import (
    BLAME,
    BlameArguments,
)
from sourcelight.engines.history.blame import blame_file
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.row_texts import TEXTS
from sourcelight.repos import ObjectReader, find_entry, resolve

MAX_BLAME_BYTES = 16 << 20
MAX_BLAME_LINES = 500_000
"""Size of a file above which git is not asked who wrote it: git would hold many versions of it."""


def _blame(arguments: BlameArguments, context: ToolContext) -> ToolResult:
    """Return the commit that added each line of a file, by git blame."""
    repository = context.engine.catalog.get(arguments.repo.strip("/"), context.viewer)
    revision = arguments.revision or ""
    commit = resolve(repository, revision)
    path = clean_path(arguments.path)
    if repository.kind != "git":
        raise ToolError(f"blame: {repository.name} is a directory without git and has no history", tool="blame")
    with ObjectReader(repository) as reader:
        entry = find_entry(reader, commit, path, revision)
        if entry.kind in {"directory", "submodule"}:
            raise ToolError(f"blame: {path or '/'} is not a file but a {entry.kind}", tool="blame", argument="path")
        size = reader.size(entry.object_id)
        data = reader.read(entry.object_id, MAX_BLAME_BYTES)
        raw = _raw_path(reader, commit, entry.path)
    if size is not None and size > MAX_BLAME_BYTES:
        raise ToolError(_too_large(path, f"{size:,} bytes", f"{MAX_BLAME_BYTES:,}"), tool="blame", argument="path")
    if data is None:
        raise PathNotFound(
            repository.name, revision, path, "this clone lacks the content of the file, or can't read it"
        )
    count = data.count(b"\n")
    if count > MAX_BLAME_LINES:
        raise ToolError(_too_large(path, f"{count:,} lines", f"{MAX_BLAME_LINES:,}"), tool="blame", argument="path")
    # As git counts: a last line without a newline is a line, and a final newline doesn't start another.
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    observer = context.observer

    def tell(done: int, of: int) -> None:
        if observer is not None:
            observer(ToolProgress("blaming", done, of, path))

    blame = blame_file(repository, commit, raw, len(lines), progress=tell, cancellation=context.cancellation)
    commits = blame.commits
    codes = np.array(blame.commit, np.int64)
    people = [(line_commit.author, line_commit.author_email) for line_commit in commits]
    table = tables.table(
        "blame_lines",
        {
            "repository": repository.name,
            "revision": revision,
            "path": entry.path,
            "line_number": list(range(1, len(lines) + 1)),
            "line": [line.decode("utf-8", "replace") for line in lines],
            "commit": tables.dictionary_column([line_commit.oid for line_commit in commits], codes),
            "author": tables.dictionary_column([name for name, _ in people], codes),
            "author_email": tables.dictionary_column([email for _, email in people], codes),
            "author_date": tables.times([line_commit.author_time for line_commit in commits]).take(pa.array(codes)),
            "commit_date": tables.times([line_commit.commit_time for line_commit in commits]).take(pa.array(codes)),
            "subject": tables.dictionary_column([line_commit.summary for line_commit in commits], codes),
            "original_path": [line_commit.decode("utf-8", "replace") for line_commit in blame.path],
            "original_line_number": blame.line_number,
            "agent": tables.dictionary_column([line_commit.agents for line_commit in commits], codes),
            "boundary": pa.array(
                np.array([line_commit.boundary for line_commit in commits] or [False], np.bool_)[codes]
            ),
            "bot": pa.array(np.array([is_bot(*person) for person in people] or [False], np.bool_)[codes]),
        },
        len(lines),
    )
    attributes = {
        "repository": repository.name,
        "revision": revision,
        "commit": commit,
        "path": entry.path,
        "drill_down": {
            "call": "commit_details",
            "arguments": {"repo": repository.name},
            "columns": {"revision": "commit"},
        },
    }
    if arguments.start_line is not None or arguments.end_line is not None:
        table = _range_of(table, arguments, path)
    incomplete = bool(repository.incomplete) and any(line_commit.boundary for line_commit in commits)
    notices = (f"This is a {repository.incomplete} clone: boundary lines may be older.",) if incomplete else ()
    return ToolResult("blame_lines", table, attributes, not incomplete, notices)


def _range_of(table: Any, arguments: BlameArguments, path: str) -> Any:
    """Return the requested lines of a blame."""
    first, last = arguments.start_line or 1, arguments.end_line or table.num_rows
    if arguments.end_line is not None and last < first:
        raise ToolError(f"blame: endLine {last} is before startLine {first}", tool="blame", argument="endLine")
    if first > max(table.num_rows, 1):
        message = f"blame: startLine is {first}, but {path} has {count_of(table.num_rows, 'line')}"
        raise ToolError(message, tool="blame", argument="startLine")
    return table.slice(first - 1, last - first + 1)


def _too_large(path: str, problem: str, limit: str) -> str:
    return (
        f"blame: {path} is too large: it has {problem}, and the limit is {limit}; diff_search finds who changed a text"
    )


def _raw_path(reader: ObjectReader, commit: CommitId, path: str) -> bytes:
    """Return the bytes of a path; a name that is not UTF-8 is known by its text with U+FFFD."""
    raw = path.encode("utf-8", "surrogateescape")
    if "\ufffd" in path:
        raw = next(
            (
                candidate_path
                for candidate_path in reader.tree(commit).paths
                if candidate_path.decode("utf-8", "replace") == path
            ),
            raw,
        )
    return raw


HANDLERS: tuple[Handler[Any], ...] = (Handler(BLAME, _blame, TEXTS["blame"], TableItems("lines")),)
