"""Rows of answers from what was found."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.navigation.model import Document, Found
from sourcelight.engines.navigation.named import enclosing, outline_of
from sourcelight.engines.navigation.places import (
    LONGEST_LINE,
    Lines,
    Place,
    documentation_of,
    place_of,
    places_of,
    signature_of,
)
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.references import Reference
    from sourcelight.engines.navigation.workspace import Workspace

Row = dict[str, Any]


def table(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
    """Make an Arrow table of the columns `name` from rows; keys that a row lacks are null in it."""
    keys = dict.fromkeys(key for row in rows for key in row)
    return table_of(name, len(rows), **{key: [row.get(key) for row in rows] for key in keys})


def file_columns(document: Document, revision: str = "") -> Row:
    """Give the columns that say where a file is."""
    project = document.project
    return {
        "repository": project.name,
        "revision": revision,
        "commit": project.commit,
        "path": document.shown_path,
    }


def definition_rows(
    symbol: str, found: Iterable[Found], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Give the rows of `definitions`, in the order given."""
    rows = []
    for rank, one in enumerate(found, 1):
        document, text = one.document, one.document.text
        place, lines = place_of(text, one.start, one.end), Lines(text)
        _tell_cut([place], workspace)
        held = _definition_at(one, workspace)
        begin, last = (held.begin_line, held.end_line) if held else (place.line_number, place.line_number)
        rows.append(
            {
                "rank": rank,
                **file_columns(document, revisions.get(document.project.key, "")),
                "line_number": place.line_number,
                "line": place.line,
                "start": place.start,
                "end": place.end,
                "symbol": symbol,
                "kind": held.kind if held and one.kind not in {"module", "parameter"} else one.kind,
                "container": held.container if held else "",
                **described(document.language, lines, held),
                "begin_line": begin,
                "end_line": last,
                "code": "\n".join(lines.between(begin, last)),
                "how": one.how,
                "precise": one.how == "scip",
                "score": one.score,
                "reason": one.reason,
            }
        )
    return rows


def _definition_at(one: Found, workspace: Workspace) -> Definition | None:
    if one.kind == "module":
        return None
    return next((row for row in outline_of(one.document, workspace) if row.offset == one.start), None)


def described(language: str, lines: Lines, one: Definition | None) -> Row:
    """Give signature and documentation of a definition; empty where it has none."""
    if one is None:
        return {"signature": "", "documentation": ""}
    head = signature_of(lines.between(one.line, one.end_line), one.kind)
    return {"signature": head, "documentation": documentation_of(language, lines, one)}


def reference_rows(
    symbol: str, found: Sequence[Reference], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Give the rows of `references` for the uses in one file, in order of the text."""
    document = found[0].document
    text = document.text
    ordered = sorted(found, key=lambda one: one.occurrence.start)
    around = enclosing(document, [one.occurrence.start for one in ordered], workspace)
    where = file_columns(document, revisions.get(document.project.key, ""))
    rows = []
    places = places_of(text, [(one.occurrence.start, one.occurrence.end) for one in ordered])
    _tell_cut(places, workspace)
    for one, holder, place in zip(ordered, around, places, strict=True):
        role: str = one.occurrence.role
        if one.is_definition:
            role = "definition"
        elif one.occurrence.called:
            role = "call"
        rows.append(
            {
                **where,
                "line_number": place.line_number,
                "line": place.line,
                "start": place.start,
                "end": place.end,
                "symbol": symbol,
                "role": role,
                "container": text[holder.start : holder.end].decode(errors="replace") if holder else "",
                "how": one.how,
                "precise": one.how == "scip",
                "score": one.score,
                "reason": one.reason,
            }
        )
    return rows


def _tell_cut(places: Sequence[Place], workspace: Workspace) -> None:
    if any(place.cut for place in places):
        workspace.notice("long-lines", f"Lines above {LONGEST_LINE:,} bytes are cut to what is around the name.")


def name_of(document: Document, start: int, end: int) -> str:
    """Give the text of a name."""
    return document.text[start:end].decode(errors="replace")


def symbol_rows(document: Document, rows: Sequence[Definition], revision: str) -> list[Row]:
    """Give the rows of `symbols` for definitions of one file."""
    where = file_columns(document, revision)
    lines = Lines(document.text)
    depths: list[int] = []
    found = []
    for one in rows:
        depths.append(depths[one.parent] + 1 if 0 <= one.parent < len(depths) else 0)
        found.append(
            {
                **where,
                "line_number": one.line,
                "symbol": one.name,
                "kind": one.kind,
                "container": one.container,
                "depth": depths[-1],
                **described(document.language, lines, one),
                "begin_line": one.begin_line,
                "end_line": one.end_line,
            }
        )
    return found
