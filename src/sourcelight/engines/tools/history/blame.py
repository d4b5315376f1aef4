"""`blame`: the origin of the current lines of a file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches import CommitId
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.blame import BLAME, BlameArguments
from sourcelight.engines.history.blame import FileBlame, blame_file
from sourcelight.engines.tools.context import ToolContext, clean_path
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import ObjectReader, Repository, find_entry, resolve

MAX_BLAME_BYTES = 16 << 20
"""Bytes of a file whose lines are listed."""

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

    file = _read(repository, commit, path, revision)
    observer = context.observer

    def report(done: int, total: int) -> None:
        if observer is not None:
            observer(ToolProgress(stage="blaming", done=done, total=total, detail=path))

    blame = blame_file(
        repository, commit, file.raw_path, len(file.lines), progress=report, cancellation=context.cancellation
    )
    attributes = {
        "repository": repository.name,
        "revision": revision,
        "commit": commit,
        "path": file.path,
        "drill_down": {
            "call": "commit_details",
            "arguments": {"repo": repository.name},
            "columns": {"revision": "commit"},
        },
    }
    table = _lines_table(repository.name, revision, file, blame)
    if arguments.start_line is not None or arguments.end_line is not None:
        table = _range_of(table, arguments, path)

    is_incomplete = bool(repository.incomplete) and any(line_commit.boundary for line_commit in blame.commits)
    notices = (f"This is a {repository.incomplete} clone: boundary lines may be older.",) if is_incomplete else ()
    return ToolResult(
        columns="blame_lines", table=table, attributes=attributes, complete=not is_incomplete, notices=notices
    )


@dataclass(frozen=True, slots=True)
class _BlamedFile:
    """A file at a commit: its path as text and as git has it, and its lines."""

    path: str
    raw_path: bytes
    lines: list[bytes]


def _read(repository: Repository, commit: CommitId, path: str, revision: str) -> _BlamedFile:
    """Read a file whose size git can blame."""
    with ObjectReader(repository) as reader:
        entry = find_entry(reader, commit, path, revision)
        if entry.kind in {"directory", "submodule"}:
            raise ToolError(f"blame: {path or '/'} is not a file but a {entry.kind}", tool="blame", argument="path")
        size = reader.size(entry.object_id)
        data = reader.read(entry.object_id, MAX_BLAME_BYTES)
        raw_path = _raw_path(reader, commit, entry.path)

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

    return _BlamedFile(entry.path, raw_path, lines)


def _lines_table(repository: str, revision: str, file: _BlamedFile, blame: FileBlame) -> Any:
    """Return a row per line; columns of commits have one value per commit, looked up by line."""
    commits = blame.commits
    codes = np.array(blame.commit, np.int64)

    def texts(values: list[str]) -> Any:
        return tables.dictionary_column(values, codes)

    def flags(values: list[bool]) -> Any:
        return pa.array(np.array(values or [False], np.bool_)[codes])

    return tables.table(
        "blame_lines",
        {
            "repository": repository,
            "revision": revision,
            "path": file.path,
            "line_number": list(range(1, len(file.lines) + 1)),
            "line": [line.decode("utf-8", "replace") for line in file.lines],
            "commit": texts([commit.oid for commit in commits]),
            "author": texts([commit.author for commit in commits]),
            "author_email": texts([commit.author_email for commit in commits]),
            "author_date": tables.times([commit.author_time for commit in commits]).take(pa.array(codes)),
            "commit_date": tables.times([commit.commit_time for commit in commits]).take(pa.array(codes)),
            "subject": texts([commit.summary for commit in commits]),
            "original_path": [path.decode("utf-8", "replace") for path in blame.path],
            "original_line_number": blame.line_number,
            "agent": texts([commit.agents for commit in commits]),
            "boundary": flags([commit.boundary for commit in commits]),
            "bot": flags([is_bot(commit.author, commit.author_email) for commit in commits]),
        },
        len(file.lines),
    )


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
