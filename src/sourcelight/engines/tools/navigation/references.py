"""The handlers of `go_to_definition` and `find_references`.

References are reported while they are found, likeliest first, since a limit takes the first of them; the answer has
them by repository and path. Complete answers are cached with their notices.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.results import ToolProgress, ToolResult, file_url
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import cell_text, context_lines
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.files import ReadFileArguments
from sourcelight.core.tools.navigation import (
    FIND_REFERENCES,
    GO_TO_DEFINITION,
    FindReferencesArguments,
    GoToDefinitionArguments,
)
from sourcelight.engines.navigation import Project, Workspace
from sourcelight.engines.tools import files
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import (
    NOTHING,
    Handler,
    Rendered,
    drop_empty,
    file_heading,
    number_lines,
    tail,
    with_notices,
)
from sourcelight.engines.tools.navigation import calls
from sourcelight.engines.tools.pages.items import TableItems

if TYPE_CHECKING:
    from sourcelight.core.arrays import Int64Array
    from sourcelight.engines.navigation.model import SymbolQuery
    from sourcelight.engines.navigation.workspace import CachedReferences


SERVED_REFERENCES = 100
"""Number of references that a served call returns without a limit."""

_REPORT_EVERY_S = 0.1
"""Seconds between two reports of new rows: a listener redraws a table, which costs more than most files."""

_LINES_ABOVE = 4
"""Lines above a reference in an answer: more than below, because they often begin the statement."""
_LINES_BELOW = 2

_INCOMPLETE = frozenset({"symbols-pending", "missing", "time"})
"""Keys of `Workspace.notices` that say that references may be missing; `_search_references` knows of other reasons."""

_COLUMNS = ("how", "role", "container", "score", "reason")
"""Columns that payloads have besides locations and code, so that a remote client can make the same rows."""

_INCOMPLETE_DEFINITIONS = frozenset({"time", "voters", "ranked", "candidates", "symbols-pending", "missing"})
"""Keys of `Workspace.notices` that say that definitions may be missing."""

_DEFINITION_COLUMNS = ("kind", "how", "score", "start", "end", "container", "signature", "documentation", "reason")
"""Columns that payloads have besides locations and code, so that a remote client can make the same rows."""


def _find_references(arguments: FindReferencesArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.workspace import is_lasting, question_key

    workspace = calls.workspace_of(context)
    document = calls.document_of("find_references", arguments, workspace)
    calls.start_definitions(context, document)
    query = calls.symbol_query_of("find_references", arguments, document, arguments.column)
    limit = arguments.limit
    if not limit and context.served:
        limit = SERVED_REFERENCES

    key = question_key(query, arguments.revision or "", workspace)
    cached = workspace.navigator.answers.get(key)
    if cached is not None:
        references, is_complete = cached, True
        workspace.notices.update(cached.notices)
        if context.observer is not None:
            _ReferenceReporter(context, limit).end(cached.first(limit))
    else:
        result = _search_references(query, arguments, context=context, workspace=workspace, limit=limit)
        references, is_complete = result.references, result.is_complete
        workspace.note_missing_anywhere()
        # An answer that ran out of time or waits for definitions would stay incomplete in the cache.
        if is_complete and is_lasting(workspace):
            references = replace(references, notices=dict(workspace.notices))
            workspace.navigator.answers.put(key, references)

    table = references.first(limit)
    if limit is not None and table.num_rows >= limit:
        is_complete = is_complete and table.num_rows == references.table.num_rows
        if not is_complete:
            workspace.notice("limit", f"The first {limit:,} references are listed; there may be more.")

    attributes = calls.attributes_of(query, arguments)
    attributes["definitions"] = references.definitions
    attributes["left_out"] = references.left_out
    return ToolResult(
        columns="references",
        table=table,
        attributes=attributes,
        complete=is_complete and _INCOMPLETE.isdisjoint(workspace.notices),
        notices=calls.notices_of(workspace),
    )


@dataclass(frozen=True, slots=True)
class _ReferenceSearch:
    """References, up to a limit, and whether these are all."""

    references: CachedReferences
    is_complete: bool


def _search_references(
    query: SymbolQuery,
    arguments: FindReferencesArguments,
    *,
    context: ToolContext,
    workspace: Workspace,
    limit: int | None,
) -> _ReferenceSearch:
    """Find references, up to a limit, and report them as they are found."""
    from sourcelight.engines.navigation.references import References
    from sourcelight.engines.navigation.rows import reference_rows
    from sourcelight.engines.navigation.workspace import CachedReferences

    project = query.document.project
    revisions = {project.key: arguments.revision or ""}
    search = References(query, workspace)
    reporter = _ReferenceReporter(context, limit)
    rows: list[dict[str, Any]] = []
    is_at_limit = False
    for file_count, batch in enumerate(search.batches(), 1):
        remaining = None if limit is None else limit - len(rows)
        rows += reference_rows(query.name, batch[:remaining], workspace, revisions)
        reporter.report(file_count, rows)
        if limit is not None and len(rows) >= limit:
            is_at_limit = True
            break

    if context.observer is not None:
        reporter.end(table_of_rows("references", rows[reporter.reported : limit]))

    if search.left_out:
        workspace.notice(
            "left-out",
            f"{count_of(search.left_out, 'further place')} with the name {query.name} left out: "
            "their receivers before the dot are unknown.",
        )

    if not search.definitions:
        workspace.notice("not-found", f"Symbol not found: {query.name} is not defined in {query.document.shown_path}.")

    references = CachedReferences(
        table=table_of_rows("references", rows),
        order=_display_order(rows, project.name),
        definitions=len(search.definitions),
        left_out=search.left_out,
        notices={},
    )
    return _ReferenceSearch(references, not is_at_limit and search.complete)


def _display_order(rows: Sequence[Mapping[str, Any]], repository: str) -> Int64Array:
    """Return the numbers of rows by repository, with one of them first, and by path.

    The rows themselves stay as found, likeliest first, because a limit takes the first of them.
    """
    import numpy as np

    def key(index: int) -> tuple[bool, str, str]:
        row = rows[index]
        return row["repository"] != repository, row["repository"], row["path"]

    # `sorted` is stable, so rows of a file keep their order.
    return np.array(sorted(range(len(rows)), key=key), dtype=np.int64)


class _ReferenceReporter:
    """Reports rows as they arrive: rows of the first file immediately, then ten times a second."""

    def __init__(self, context: ToolContext, limit: int | None) -> None:
        self._observer = context.observer
        self._limit = limit
        self._last = 0.0
        self._files = 0
        self.reported = 0

    def report(self, files: int, rows: Sequence[Mapping[str, Any]]) -> None:
        """Report new rows if it is time to."""
        self._files = files
        if self._observer is not None and time.monotonic() - self._last > _REPORT_EVERY_S:
            self._report(table_of_rows("references", rows[self.reported : self._limit]), len(rows))
            self._last = time.monotonic()

    def end(self, unreported_rows: Any) -> None:
        """Report the rows that were not reported yet."""
        if self._observer is not None and unreported_rows.num_rows:
            self._report(unreported_rows, self.reported + unreported_rows.num_rows)

    def _report(self, rows: Any, count: int) -> None:
        assert self._observer is not None  # noqa: S101 - narrows for the type checker
        self.reported += rows.num_rows
        self._observer(
            ToolProgress(stage="finding references", done=self._files, total=0, detail=f"{count:,} found", rows=rows)
        )


def _render_references(answer: ToolResult, context: ToolContext) -> Rendered:
    rows = answer.table.to_pylist()
    workspace = calls.workspace_of(context) if context.engine.holds_files else None
    references: list[dict[str, Any]] = []
    texts: list[str] = []
    for (name, commit, path), file_rows in groupby(rows, key=itemgetter("repository", "commit", "path")):
        file_lines = _lines_of_file(context, workspace, name=name, commit=commit, path=path)
        chunks = [_reference_chunk(row, path, file_lines) for row in file_rows]
        url = context.link(file_url("", name, commit, path))
        references.append({"repo": name, "path": path, "rev": commit, "url": url, "chunks": chunks})
        contents = [chunk["content"] for chunk in chunks]
        texts.append(f"{file_heading(name, path)}\n" + "".join(contents))

    payload = {"references": references, **tail(answer)}
    return payload, with_notices("\n".join(texts) or NOTHING, answer)


def _reference_chunk(row: Mapping[str, Any], path: str, file_lines: Sequence[str]) -> dict[str, Any]:
    """Return a reference with some lines around it, or with its line alone if the file can't be read."""
    number = row["line_number"]
    first_line = number
    lines = [row["line"]]
    if file_lines:
        first_line = max(1, number - _LINES_ABOVE)
        context_of_line = file_lines[first_line - 1 : number + _LINES_BELOW]
        lines = _shorten(context_of_line, number - first_line, row["line"])

    is_json = is_jupyter(path) and row["cell"] is not None
    if is_json:
        first_line, lines = _cell_lines(row, first_line, lines)

    chunk: dict[str, Any] = {
        "startLine": first_line,
        "endLine": first_line + len(lines) - 1,
        "content": number_lines(first_line, lines),
        "ranges": [{"line": number, "start": row["start"], "end": row["end"]}],
    }
    if is_json:
        chunk["text"] = row["line"]

    chunk |= calls.cell_of(row)
    chunk |= drop_empty({name: row[name] for name in _COLUMNS})
    return chunk


def _cell_lines(row: Mapping[str, Any], first_line: int, lines: Sequence[str]) -> tuple[int, list[str]]:
    """Return lines of a notebook's JSON around a name as lines of its cell, and the number of the first one."""
    number = row["line_number"]
    by_number = dict(context_lines(enumerate(lines, first_line)))
    shown_line = cell_text(row["line"], [row["start"]], [row["end"]])
    by_number[number] = row["line"] if shown_line is None else shown_line.text

    # Only lines that join the place without a gap: lines of another cell, or of JSON alone, are left out.
    first_line = number
    while first_line - 1 in by_number:
        first_line -= 1

    last_line = number
    while last_line + 1 in by_number:
        last_line += 1

    return first_line, [by_number[line_number] for line_number in range(first_line, last_line + 1)]


def _shorten(lines: Sequence[str], own_index: int, own_line: str) -> list[str]:
    """Shorten the lines of generated files. The line of the place is cut around the place, as its row has it."""
    from sourcelight.engines.navigation.locations import MAX_LINE_BYTES

    shortened = []
    for index, line in enumerate(lines):
        is_cut_line = index == own_index and len(line) > len(own_line)
        shortened.append(own_line if is_cut_line else line[:MAX_LINE_BYTES])
    return shortened


def _lines_of_file(
    context: ToolContext, workspace: Workspace | None, *, name: str, commit: str, path: str
) -> Sequence[str]:
    """Return the lines of a file, read through the engine's tool without a workspace; none for a missing file."""
    if workspace is None:
        reading = replace(context, served=False, observer=None)
        arguments = ReadFileArguments(repo=name, path=path, revision=commit)
        answer = context.engine.run_tool(files.READ_FILE_HANDLER, arguments, reading)
        lines: list[str] = answer.table.column("line").to_pylist()
        return lines

    document = _project_at(workspace, name, commit).document(path.encode())
    if document is None:
        return ()

    return document.text.decode(errors="replace").split("\n")


def _project_at(workspace: Workspace, name: str, commit: str) -> Project:
    """Return a repository at a commit, by the name of a branch if it was opened so.

    An open project has parsed the file already, while one by its commit would parse it again.
    """
    for project in workspace.open_projects(name):
        if project.commit == commit:
            return project
    return workspace.project(name, commit)


def _go_to_definition(arguments: GoToDefinitionArguments, context: ToolContext) -> ToolResult:
    from sourcelight.engines.navigation.definitions import definitions_of
    from sourcelight.engines.navigation.rows import definition_rows

    workspace = calls.workspace_of(context)
    document = calls.document_of("go_to_definition", arguments, workspace)
    calls.start_definitions(context, document)
    query = calls.symbol_query_of("go_to_definition", arguments, document, arguments.column)
    definitions = definitions_of(query, workspace)
    revisions = {document.project.key: arguments.revision or ""}
    rows = definition_rows(query.name, definitions, workspace, revisions)
    if not rows or any(row["how"] == "name" for row in rows):
        workspace.note_missing_anywhere()  # a missing file may define the name

    return ToolResult(
        columns="definitions",
        table=table_of_rows("definitions", rows),
        attributes=calls.attributes_of(query, arguments),
        complete=_INCOMPLETE_DEFINITIONS.isdisjoint(workspace.notices),
        notices=calls.notices_of(workspace),
    )


def _render_definitions(answer: ToolResult, context: ToolContext) -> Rendered:
    definitions: list[dict[str, Any]] = []
    texts: list[str] = []
    for row in answer.table.to_pylist():
        definition = _definition_payload(row, context)
        content = definition["chunks"][0]["content"]
        definitions.append(definition)
        texts.append(f"{file_heading(row['repository'], row['path'])}\n{content}")

    text = "\n".join(texts) or NOTHING
    return {"definitions": definitions, **tail(answer)}, with_notices(text, answer)


def _definition_payload(row: Mapping[str, Any], context: ToolContext) -> dict[str, Any]:
    """Return a definition as an object. Its lines may be fewer than those of the definition, which can be long."""
    lines = row["code"].split("\n")
    first_line = row["start_line"]
    last_line = first_line + len(lines) - 1
    url = file_url("", row["repository"], row["commit"], row["path"], (first_line, last_line))
    payload = {
        "repo": row["repository"],
        "path": row["path"],
        "rev": row["commit"],
        "url": context.link(url),
        "line": row["line_number"],
    }
    if not _is_among(row["line"], row["line_number"], first_line, lines):
        payload["text"] = row["line"]

    payload |= drop_empty({name: row[name] for name in _DEFINITION_COLUMNS})
    payload |= calls.cell_of(row)
    if row["end_line"] != last_line:
        payload["endLine"] = row["end_line"]

    content = number_lines(first_line, lines)
    payload["chunks"] = [{"startLine": first_line, "endLine": last_line, "content": content}]
    return payload


def _is_among(line: str, number: int, first: int, lines: Sequence[str]) -> bool:
    """Return whether a line is at its place among lines numbered from `first`."""
    return 0 <= number - first < len(lines) and lines[number - first] == line


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(FIND_REFERENCES, _find_references, _render_references, TableItems("references")),
    Handler(GO_TO_DEFINITION, _go_to_definition, _render_definitions, TableItems("definitions", "code", "start_line")),
)
