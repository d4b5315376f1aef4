"""Rows of answers: definitions, references and symbols, with the columns of their tables.

A row is a mapping from the columns of a table (see `core.tools.catalog`) to values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.engines.navigation.documentation import LineTable, documentation_of, signature_of
from sourcelight.engines.navigation.locations import (
    MAX_LINE_BYTES,
    SourceLocation,
    cells_at,
    file_line,
    line_of,
    location_of,
    locations_in,
)
from sourcelight.engines.navigation.model import Document, ResolvedDefinition
from sourcelight.engines.navigation.named import enclosing_definitions, outline_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Reference
    from sourcelight.engines.navigation.workspace import Workspace

Row: TypeAlias = dict[str, Any]


def definition_rows(
    symbol: str, definitions: Iterable[ResolvedDefinition], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Return the rows of `definitions`, in the order given.

    Parameters
    ----------
    symbol
        The name in the query.
    definitions
        Where it is defined, the most likely place first.
    revisions
        The revision in the query, by the key of the project; a project that isn't there has an empty one.
    """
    rows = []
    for rank, definition in enumerate(definitions, 1):
        revision = revisions.get(definition.document.project.key, "")
        row = _definition_row(definition, workspace)
        rows.append({"rank": rank, "symbol": symbol, **file_columns(definition.document, revision), **row})
    return rows


def _definition_row(definition: ResolvedDefinition, workspace: Workspace) -> Row:
    """Return the columns that describe a definition by itself."""
    document = definition.document
    location = location_of(document, definition.start, definition.end)
    _note_truncated([location], workspace)

    # A module or a parameter has no entry in the outline of its file: its row is the line with its name.
    start_line = end_line = line_of(document.text, definition.start)
    kind, container = definition.kind, ""
    entry = _outline_entry(definition, workspace)
    if entry is not None:
        start_line, end_line = entry.begin_line, entry.end_line
        container = entry.container
        if definition.kind not in {"module", "parameter"}:
            kind = entry.kind

    lines = LineTable(document.text)
    return {
        **_location_columns(location),
        **cell_columns(document, definition.start),
        "kind": kind,
        "container": container,
        **_description_columns(document.language, lines, entry),
        "start_line": file_line(document, start_line),
        "end_line": file_line(document, end_line),
        "code": "\n".join(lines.between(start_line, end_line)),
        "how": definition.rule,
        "precise": definition.rule == "scip",
        "score": definition.score,
        "reason": definition.reason,
    }


def _outline_entry(definition: ResolvedDefinition, workspace: Workspace) -> Definition | None:
    """Return the definition with the same name at the same place in the outline of its file."""
    if definition.kind == "module":
        return None

    for entry in outline_of(definition.document, workspace):
        if entry.offset == definition.start:
            return entry
    return None


def reference_rows(
    symbol: str, references: Sequence[Reference], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Return the rows of `references` for the uses in one file, in order of the text."""
    document = references[0].document
    ordered = sorted(references, key=lambda reference: reference.occurrence.start)
    offsets = [reference.occurrence.start for reference in ordered]
    locations = locations_in(
        document, [(reference.occurrence.start, reference.occurrence.end) for reference in ordered]
    )
    _note_truncated(locations, workspace)

    columns = file_columns(document, revisions.get(document.project.key, ""))
    containers = enclosing_definitions(document, offsets, workspace)
    cells = cells_at(document, offsets)
    rows = []
    for reference, container, location, cell in zip(ordered, containers, locations, cells, strict=True):
        rows.append(
            {
                **columns,
                **_location_columns(location),
                "cell": cell.cell,
                "cell_line": cell.line,
                "symbol": symbol,
                "role": _role_of(reference),
                "container": "" if container is None else name_of(document, container.start, container.end),
                "how": reference.rule,
                "precise": reference.rule == "scip",
                "score": reference.score,
                "reason": reference.reason,
            }
        )

    return rows


def _role_of(reference: Reference) -> str:
    if reference.is_definition:
        return "definition"
    if reference.occurrence.is_called:
        return "call"
    return reference.occurrence.role


def symbol_rows(document: Document, definitions: Sequence[Definition], revision: str) -> list[Row]:
    """Return the rows of `symbols` for definitions of one file, in the order of the outline."""
    columns = file_columns(document, revision)
    lines = LineTable(document.text)
    cells = cells_at(document, [definition.offset for definition in definitions])
    depths: list[int] = []
    rows = []
    for definition, cell in zip(definitions, cells, strict=True):
        # The outline has a parent before its members.
        depth = 0
        if 0 <= definition.parent < len(depths):
            depth = depths[definition.parent] + 1

        depths.append(depth)
        rows.append(
            {
                **columns,
                "line_number": file_line(document, definition.line),
                "cell": cell.cell,
                "cell_line": cell.line,
                "symbol": definition.name,
                "kind": definition.kind,
                "container": definition.container,
                "depth": depth,
                **_description_columns(document.language, lines, definition),
                "start_line": file_line(document, definition.begin_line),
                "end_line": file_line(document, definition.end_line),
            }
        )

    return rows


def file_columns(document: Document, revision: str = "") -> Row:
    """Return the columns that locate a file."""
    project = document.project
    return {
        "repository": project.name,
        "revision": revision,
        "commit": project.commit,
        "path": document.shown_path,
    }


def cell_columns(document: Document, offset: int) -> Row:
    """Return the columns ``cell`` and ``cell_line`` of a byte offset; null outside of cells."""
    cell = cells_at(document, [offset])[0]
    return {"cell": cell.cell, "cell_line": cell.line}


def name_of(document: Document, start: int, end: int) -> str:
    """Return the text of a name."""
    return document.text[start:end].decode(errors="replace")


def _location_columns(location: SourceLocation) -> Row:
    return {
        "line_number": location.line_number,
        "line": location.line,
        "start": location.start,
        "end": location.end,
    }


def _description_columns(language: str, lines: LineTable, definition: Definition | None) -> Row:
    """Return signature and documentation of a definition; empty without any."""
    if definition is None:
        return {"signature": "", "documentation": ""}

    signature = signature_of(lines.between(definition.line, definition.end_line), definition.kind)
    return {"signature": signature, "documentation": documentation_of(language, lines, definition)}


def _note_truncated(locations: Sequence[SourceLocation], workspace: Workspace) -> None:
    if any(location.is_truncated for location in locations):
        workspace.notice("long-lines", f"Lines above {MAX_LINE_BYTES:,} bytes are truncated around the name.")
