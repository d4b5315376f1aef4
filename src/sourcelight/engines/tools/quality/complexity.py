"""`complexity`: sizes and complexities of functions and files at a commit, with their changes and their age."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import CommitId
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import PathNotFound
from sourcelight.core.markup.counts import count_of, join_names
from sourcelight.core.notices import Rule
from sourcelight.core.query.file_kinds import is_test_or_example
from sourcelight.core.query.languages import language_of
from sourcelight.core.tools.quality import COMPLEXITY, ComplexityArguments
from sourcelight.engines.complexity import LANGUAGES, FileMeasures, measure_file
from sourcelight.engines.history.blame import line_ownership
from sourcelight.engines.symbols.definition_parser import MAX_FILE_BYTES
from sourcelight.engines.tools.context import ToolContext, clean_path, is_below
from sourcelight.engines.tools.handler import Handler
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.countable_changes import commits_of_files
from sourcelight.engines.tools.history.histories import OpenedHistory, open_history
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import TEXTS
from sourcelight.repos import ObjectReader, Repository

_REPORT_EVERY = 50
"""Files between two reports of progress: a file takes about a millisecond."""

_MAX_NAMED = 3
"""Files that a notice names."""

_Row: TypeAlias = dict[str, Any]
"""A row of a function or a file, by column."""

_COLUMNS = (
    *("path", "symbol", "kind", "line_number", "end_line", "lines", "code_lines", "comment_lines", "parameters"),
    *("functions", "cyclomatic", "cognitive", "nesting", "commits", "hotspot"),
)
"""Columns of the table that are values of rows; null where a row has none."""


def _complexity(arguments: ComplexityArguments, context: ToolContext) -> ToolResult:
    histories = open_history(COMPLEXITY.name, context, arguments.repo, arguments.revision)
    by = arguments.by or "function"
    below = clean_path(arguments.path or "")
    attributes: dict[str, Any] = {"repository": arguments.repo.strip("/"), "by": by, "path": below, "total": 0}
    if not histories.selections:
        return histories.without_rows("complexity", attributes)

    (snapshot,) = histories.selections
    commit = snapshot.commits[0]
    notices = histories.notices
    unread: list[str] = []
    rows: list[_Row] = []
    for path, measures in measure_files(snapshot.repository, commit, below, context, {}):
        if measures.incomplete:
            unread.append(path)
        if by == "function":
            rows += function_rows(path, measures)
        else:
            rows.append(file_row(path, measures))

    if by == "file":
        commits = commits_of_files(snapshot, context)
        for row in rows:
            row["commits"] = commits.get(row["path"], 0)
            # Complex code that never changes costs nothing: the product ranks files that are both.
            row["hotspot"] = row["cognitive"] * row["commits"]

    if arguments.dates:
        _add_dates(rows, snapshot, context)

    rows.sort(key=_most_complex_first)
    total = len(rows)
    if unread:
        notices.append(f"{count_of(len(unread), 'file')} can't be parsed: {join_names(unread, _MAX_NAMED)}.")

    if arguments.limit is not None and total > arguments.limit:
        rows = rows[: arguments.limit]
        notices.append(f"The {arguments.limit:,} most complex of {total:,} rows are shown.")

    notices.append(Rule(f"Files of {', '.join(LANGUAGES)} are measured.", "languages"))
    attributes |= {"commit": commit, "total": total, "drill_down": _drill_down(by, commit)}
    is_complete = histories.complete and not unread and len(rows) == total
    return ToolResult(
        columns="complexity",
        table=_table(snapshot, rows),
        attributes=attributes,
        complete=is_complete,
        notices=tuple(notices),
    )


def _most_complex_first(row: _Row) -> tuple[object, ...]:
    """Return the key that sorts rows; the path and the line order equal ones."""
    return -row.get("hotspot", 0), -row["cognitive"], -row["cyclomatic"], row["path"], row["line_number"]


def _drill_down(by: str, commit: str) -> dict[str, Any]:
    """Return the call that lists the commits of a row: those counted in `commits`, or a function's history."""
    if by == "file":
        columns = {"repos": "repository", "path": "path"}
        return {"call": "commits_behind", "arguments": {"of": "hotspots", "revisions": [commit]}, "columns": columns}
    columns = {"repo": "repository", "symbol": "symbol", "path": "path"}
    return {"call": "symbol_history", "arguments": {"revision": commit}, "columns": columns}


def measure_files(
    repository: Repository,
    commit: CommitId,
    below: str,
    context: ToolContext,
    cache: dict[tuple[bytes, str], FileMeasures],
) -> Iterator[tuple[str, FileMeasures]]:
    """Yield the files of a commit that are measured, in the order of their paths.

    `cache` has measures by blob and language; new ones are added to it. Raises `PathNotFound` if no file is at or below
    `below`.
    """
    with ObjectReader(repository) as reader:
        tree = reader.tree(commit)
        names = [path.decode("utf-8", "replace") for path in tree.paths]
        inside = [index for index, name in enumerate(names) if is_below(name, below)]
        if below and not inside:
            raise PathNotFound(repository.name, "", below)

        selected = [index for index in inside if language_of(names[index]) in LANGUAGES]
        for number, index in enumerate(selected):
            context.cancellation.check()
            if context.observer is not None and number % _REPORT_EVERY == 0:
                context.observer(ToolProgress("measuring", number, len(selected)))
            # By blob, so that a caller that measures many commits parses a content once, under any path.
            blob_id = tree.blob_id(index)
            language = language_of(names[index])
            if (blob_id, language) not in cache:
                cache[blob_id, language] = _measure(reader, blob_id, language)
            yield names[index], cache[blob_id, language]


def _measure(reader: ObjectReader, blob_id: bytes, language: str) -> FileMeasures:
    data = reader.read(blob_id, MAX_FILE_BYTES)
    if data is None:
        return FileMeasures(incomplete="too-large")
    return measure_file(language, data)


def function_rows(path: str, measures: FileMeasures) -> list[_Row]:
    """Return the rows of the functions of a file, by column."""
    return [
        {
            "path": path, "symbol": function.name, "kind": function.kind, "line_number": function.begin_line,
            "end_line": function.end_line, "lines": function.end_line - function.begin_line + 1,
            "code_lines": function.code_lines, "comment_lines": function.comment_lines,
            "parameters": function.parameters, "cyclomatic": function.cyclomatic,
            "cognitive": function.cognitive, "nesting": function.nesting,
        }
        for function in measures.functions
    ]  # fmt: skip


def file_row(path: str, measures: FileMeasures) -> _Row:
    """Return the row of a file, by column."""
    return {
        "path": path, "kind": "file", "line_number": 1, "end_line": measures.lines, "lines": measures.lines,
        "code_lines": measures.code_lines, "comment_lines": measures.comment_lines,
        "functions": len(measures.functions), "cyclomatic": measures.cyclomatic, "cognitive": measures.cognitive,
    }  # fmt: skip


def _add_dates(rows: list[_Row], snapshot: OpenedHistory, context: ToolContext) -> None:
    """Add the dates of the oldest and newest line to each row, from the commits that added its lines."""
    ownership = line_ownership(
        snapshot.history, snapshot.repository, snapshot.commits[0], cancellation=context.cancellation
    )
    files: Mapping[str, Any] = {raw.decode("utf-8", "replace"): file for raw, file in ownership.files.items()}
    times: Int64Array = snapshot.history.commits.commit_time
    for row in rows:
        file = files.get(row["path"])
        if file is None:
            continue
        # `file.lines` has the number of the commit for each line, from 0; rows count lines from 1.
        commits = file.lines[row["line_number"] - 1 : row["end_line"]]
        if len(commits):
            row["oldest_date"] = int(times[commits].min())
            row["newest_date"] = int(times[commits].max())


def _table(snapshot: OpenedHistory, rows: list[_Row]) -> Any:
    values: dict[str, Any] = {}
    for name in _COLUMNS:
        values[name] = [row.get(name) for row in rows]
    values |= {
        "repository": snapshot.name,
        "commit": snapshot.commits[0],
        "language": [language_of(row["path"]) for row in rows],
        "test": [is_test_or_example(row["path"]) for row in rows],
    }
    for name in ("oldest_date", "newest_date"):
        seconds = np.array([row.get(name, 0) for row in rows], np.int64)
        # A mask rather than None in a list: Arrow would infer the type from the first rows, which may be empty.
        missing = np.array([name not in row for row in rows], np.bool_)
        values[name] = pa.array(seconds * 1_000_000, mask=missing).cast(pa.timestamp("us", tz="UTC"))

    return tables.table("complexity", values, len(rows))


HANDLERS: tuple[Handler[Any], ...] = (Handler(COMPLEXITY, _complexity, TEXTS["complexity"], TableItems("rows")),)
