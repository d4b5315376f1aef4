"""The handler of `go_to_definition`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.navigation import GO_TO_DEFINITION, GoToDefinitionArguments
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

_INCOMPLETE = frozenset({"time", "voters", "ranked", "candidates", "symbols-pending", "missing"})
"""Keys of `Workspace.notices` that say that definitions may be missing."""

_COLUMNS = ("kind", "how", "score", "start", "end", "container", "signature", "documentation", "reason")
"""Columns that payloads have besides locations and code, so that a remote client can make the same rows."""


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
        complete=_INCOMPLETE.isdisjoint(workspace.notices),
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

    payload |= drop_empty({name: row[name] for name in _COLUMNS})
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
    Handler(GO_TO_DEFINITION, _go_to_definition, _render_definitions, TableItems("definitions", "code", "start_line")),
)
