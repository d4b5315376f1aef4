"""Rows of answers: definitions, references and symbols with the columns of their tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.navigation.documentation import LineTable, documentation_of, signature_of
from sourcelight.engines.navigation.locations import (
    MAX_LINE_BYTES,
    SourceLocation,
    cells_at,
    file_line,
    line_of,
    location_of,
    places_in,
)
from sourcelight.engines.navigation.model import Document, ResolvedDefinition
from sourcelight.engines.navigation.named import enclosing_definitions, outline_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Reference
    from sourcelight.engines.navigation.workspace import Workspace

Row = dict[str, Any]


def table(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make an Arrow table of the columns `name` from rows; keys that a row lacks are null in it."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return table_of(name, len(rows), **{key: [row.get(key) for row in rows] for key in keys})


def file_columns(document: Document, revision: str = "") -> Row:
    """Return the columns that locate a file."""
    project = document.project
    return {
        "repository": project.name,
        "revision": revision,
        "commit": project.commit,
        "path": document.shown_path,
    }


def definition_rows(
    symbol: str, definitions: Iterable[ResolvedDefinition], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Return the rows of `definitions`, in the order given."""
    rows = []
    for rank, definition in enumerate(definitions, 1):
        document, text = definition.document, definition.document.text
        location, lines = location_of(document, definition.start, definition.end), LineTable(text)
        _note_truncated([location], workspace)
        definition_of_row = _definition_at(definition, workspace)
        own_line = line_of(text, definition.start)
        start_line, end_line = (
            (definition_of_row.begin_line, definition_of_row.end_line) if definition_of_row else (own_line, own_line)
        )
        rows.append(
            {
                "rank": rank,
                **file_columns(document, revisions.get(document.project.key, "")),
                "line_number": location.line_number,
                "line": location.line,
                "start": location.start,
                "end": location.end,
                **cell_columns(document, definition.start),
                "symbol": symbol,
                "kind": definition_of_row.kind
                if definition_of_row and definition.kind not in {"module", "parameter"}
                else definition.kind,
                "container": definition_of_row.container if definition_of_row else "",
                **description_columns(document.language, lines, definition_of_row),
                "start_line": file_line(document, start_line),
                "end_line": file_line(document, end_line),
                "code": "\n".join(lines.between(start_line, end_line)),
                "how": definition.rule,
                "precise": definition.rule == "scip",
                "score": definition.score,
                "reason": definition.reason,
            }
        )

    return rows


def _definition_at(definition: ResolvedDefinition, workspace: Workspace) -> Definition | None:
    if definition.kind == "module":
        return None
    return next((row for row in outline_of(definition.document, workspace) if row.offset == definition.start), None)


def description_columns(language: str, lines: LineTable, definition: Definition | None) -> Row:
    """Return signature and documentation of a definition; empty without any."""
    if definition is None:
        return {"signature": "", "documentation": ""}
    head = signature_of(lines.between(definition.line, definition.end_line), definition.kind)
    return {"signature": head, "documentation": documentation_of(language, lines, definition)}


def reference_rows(
    symbol: str, references: Sequence[Reference], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Return the rows of `references` for the uses in one file, in order of the text."""
    document = references[0].document
    text = document.text
    ordered = sorted(references, key=lambda reference: reference.occurrence.start)
    holders = enclosing_definitions(document, [reference.occurrence.start for reference in ordered], workspace)
    columns = file_columns(document, revisions.get(document.project.key, ""))
    rows = []
    locations = places_in(document, [(reference.occurrence.start, reference.occurrence.end) for reference in ordered])
    _note_truncated(locations, workspace)
    cells = cells_at(document, [reference.occurrence.start for reference in ordered])
    for reference, holder, location, (cell, cell_line) in zip(ordered, holders, locations, cells, strict=True):
        role: str = reference.occurrence.role
        if reference.is_definition:
            role = "definition"
        elif reference.occurrence.is_called:
            role = "call"

        rows.append(
            {
                **columns,
                "line_number": location.line_number,
                "line": location.line,
                "start": location.start,
                "end": location.end,
                "cell": cell,
                "cell_line": cell_line,
                "symbol": symbol,
                "role": role,
                "container": text[holder.start : holder.end].decode(errors="replace") if holder else "",
                "how": reference.rule,
                "precise": reference.rule == "scip",
                "score": reference.score,
                "reason": reference.reason,
            }
        )

    return rows


def _note_truncated(locations: Sequence[SourceLocation], workspace: Workspace) -> None:
    if any(location.is_truncated for location in locations):
        workspace.notice("long-lines", f"Lines above {MAX_LINE_BYTES:,} bytes are truncated around the name.")


def name_of(document: Document, start: int, end: int) -> str:
    """Return the text of a name."""
    return document.text[start:end].decode(errors="replace")


def symbol_rows(document: Document, rows: Sequence[Definition], revision: str) -> list[Row]:
    """Return the rows of `symbols` for definitions of one file."""
    columns = file_columns(document, revision)
    lines = LineTable(document.text)
    depths: list[int] = []
    symbols = []
    cells = cells_at(document, [definition.offset for definition in rows])
    for definition, (cell, cell_line) in zip(rows, cells, strict=True):
        depths.append(depths[definition.parent] + 1 if 0 <= definition.parent < len(depths) else 0)
        symbols.append(
            {
                **columns,
                "line_number": file_line(document, definition.line),
                "cell": cell,
                "cell_line": cell_line,
                "symbol": definition.name,
                "kind": definition.kind,
                "container": definition.container,
                "depth": depths[-1],
                **description_columns(document.language, lines, definition),
                "start_line": file_line(document, definition.begin_line),
                "end_line": file_line(document, definition.end_line),
            }
        )

    return symbols


def cell_columns(document: Document, offset: int) -> Row:
    """Return the columns ``cell`` and ``cell_line`` of a byte offset; null outside of cells."""
    cell, line = cells_at(document, [offset])[0]
    return {"cell": cell, "cell_line": line}
