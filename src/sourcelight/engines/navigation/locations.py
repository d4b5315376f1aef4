"""Lines, columns, cells, signatures and documentation of definitions, and the rows of answers.

The text of a notebook is the code of its cells; rows have lines and columns of the notebook file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.cells import is_script, read_cells
from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.navigation.model import Document, ResolvedDefinition
from sourcelight.engines.navigation.named import enclosing_definitions, outline_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.model import Reference
    from sourcelight.engines.navigation.workspace import Workspace


MAX_DEFINITION_LINES = 50
"""Maximum lines of a definition in an answer."""

MAX_LINE_BYTES = 2000
"""Maximum bytes of a line in an answer."""

_MAX_SIGNATURE = 40
_COMMENT = re.compile(rb"^\s*(///?|//!|#(?!!|include|define|if|e|pragma)|\*|/\*\*?|--)")
_MARKS = re.compile(r"^\s*(///?!?|/\*\*?|\*/?|#|--)\s?|\s*\*/\s*$")
Row = dict[str, Any]

# Without braces: outside of parentheses and brackets, a brace begins the body.
_OPENERS = {"(": ")", "[": "]"}

_DOCSTRING = re.compile(r':\s*(?:#[^\n]*)?\n\s*[rRuU]?("""|\'\'\'|"|\')(.*?)(?:\1|\Z)', re.DOTALL)


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """The location of a name: its 1-based line, and code points into it: ``line[start:end]`` is the name.

    If `is_truncated`, `line` is only a part of the line.
    """

    line_number: int
    start: int
    end: int
    line: str
    is_truncated: bool = False


def file_line(document: Document, line: int) -> int:
    """Convert a 1-based line of a document's text to a line of its file."""
    code = document.code
    return line if code is None else code.program.file_line(line)


def file_spans(document: Document, spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Convert spans of a document's text to byte spans of its file."""
    code = document.code
    if code is None or not spans:
        return spans
    starts, ends = (code.program.file_offsets(offsets).tolist() for offsets in zip(*spans, strict=True))
    return list(zip(starts, ends, strict=True))


def cells_at(document: Document, offsets: Sequence[int]) -> list[tuple[int, int] | tuple[None, None]]:
    """Return the cell number and the line in the cell of byte offsets; (None, None) outside of cells."""
    code = document.code
    if code is not None:
        return [code.program.cell_at(offset) for offset in offsets]
    if not is_script(document.shown_path) or b"%%" not in (text := document.text):
        return [(None, None)] * len(offsets)

    cells = read_cells(document.shown_path, text)
    texts = (cells.text_at(offset) for offset in offsets)
    return [
        (None, None) if text is None else (text[0].cell, text[0].line_at(text[1], offset) + 1)
        for text, offset in zip(texts, offsets, strict=True)
    ]


def line_of(text: bytes, offset: int) -> int:
    """Return the 1-based line of a byte offset."""
    return text.count(b"\n", 0, offset) + 1


def location_of(document: Document, start: int, end: int) -> SourceLocation:
    """Return the location in the file of a name in a document's text."""
    return places_in(document, [(start, end)])[0]


def places_in(document: Document, spans: Sequence[tuple[int, int]]) -> list[SourceLocation]:
    """Return the lines and columns in the file of names in the text of a document, in ascending order."""
    return places_of(document.content, file_spans(document, spans))


def cell_columns(document: Document, offset: int) -> Row:
    """Return the columns ``cell`` and ``cell_line`` of a byte offset; null outside of cells."""
    cell, line = cells_at(document, [offset])[0]
    return {"cell": cell, "cell_line": line}


def places_of(text: bytes, spans: Sequence[tuple[int, int]]) -> list[SourceLocation]:
    """Return the lines and columns of names, in ascending order.

    A line longer than `MAX_LINE_BYTES` is truncated around the name: generated files have thousands of names in one
    line of megabytes. `start` and `end` then count in that part.
    """
    locations = []
    number, counted_to, line_start, line_end = 1, 0, 0, -1
    for start, end in spans:
        # Newlines are counted from the previous name on, so a file with many names is still scanned only once.
        number, counted_to = number + text.count(b"\n", counted_to, start), start
        if start > line_end:
            line_start = text.rfind(b"\n", 0, start) + 1
            line_end = text.find(b"\n", end)
            line_end = len(text) if line_end < 0 else line_end

        start_byte, end_byte = line_start, line_end
        if end_byte - start_byte > MAX_LINE_BYTES:
            start_byte, end_byte = (
                max(line_start, start - MAX_LINE_BYTES // 2),
                min(line_end, end + MAX_LINE_BYTES // 2),
            )
            # Bytes 10xxxxxx continue a UTF-8 code point. A cut inside one would show as U+FFFD, so the cut moves.
            while start_byte < start and text[start_byte] & 0xC0 == 0x80:
                start_byte += 1
            while end_byte > end and end_byte < line_end and text[end_byte] & 0xC0 == 0x80:
                end_byte -= 1

        line = text[start_byte:end_byte].removesuffix(b"\r")
        before = text[start_byte:start].decode(errors="replace")
        name = text[start:end].decode(errors="replace")
        is_cut = end_byte - start_byte < line_end - line_start
        locations.append(
            SourceLocation(
                line_number=number,
                start=len(before),
                end=len(before) + len(name),
                line=line.decode(errors="replace"),
                is_truncated=is_cut,
            )
        )

    return locations


def offset_of(text: bytes, line_number: int, column: int) -> int | None:
    """Return the byte offset of a 1-based line and a column in code points; None beyond the text."""
    line_start = 0
    for _ in range(line_number - 1):
        line_start = text.find(b"\n", line_start) + 1
        if not line_start:
            return None

    line_end = text.find(b"\n", line_start)
    line = text[line_start : len(text) if line_end < 0 else line_end].decode(errors="replace")
    return line_start + len(line[:column].encode()) if column <= len(line) else None


class LineTable:
    """The lines of a text, by their 1-based numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", text))]

    def between(self, first: int, last: int, limit: int = MAX_DEFINITION_LINES) -> list[str]:
        """Return lines `first` to `last`, at most `limit`, each truncated to 2,000 bytes."""
        starts = self._starts
        # `_starts` has an entry after the final newline, but no line begins there.
        last_number = min(last, first + limit - 1, len(starts) - (starts[-1] == len(self._text)))
        lines = []
        for number in range(first, last_number + 1):
            end = starts[number] - 1 if number < len(starts) else len(self._text)
            part = self._text[starts[number - 1] : min(end, starts[number - 1] + MAX_LINE_BYTES)]
            lines.append(part.decode(errors="replace").removesuffix("\r"))

        return lines


def signature_of(lines: list[str], kind: str) -> str:
    """Return the head of a definition from its first lines, blanks folded: up to where its body begins.

    Decorators and attributes are left out. `lines` start with the line of the name.
    """
    text = ""
    depth = 0
    for line in lines[:_MAX_SIGNATURE]:
        for index, sign in enumerate(line):
            if sign in _OPENERS:
                depth += 1
            elif sign in _OPENERS.values():
                depth -= 1
            elif depth <= 0 and (sign == "{" or (sign == ":" and _ends_head(line, index, kind))):
                return _fold_blanks(text + " " + line[:index])

        text += " " + line
        # A backslash or comma continues the head on the next line.
        if depth <= 0 and not line.rstrip().endswith(("\\", ",")):
            break

    return _fold_blanks(text)


def _ends_head(line: str, column: int, kind: str) -> bool:
    """Return whether a colon begins a body, as in Python."""
    return (
        kind in {"function", "method", "class", "constructor"}
        and not line[column + 1 :].split("#", maxsplit=1)[0].strip()
    )


def _fold_blanks(text: str) -> str:
    text = " ".join(text.split()).removesuffix("=").rstrip(" ;")
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")


def documentation_of(language: str, lines: LineTable, definition: Definition) -> str:
    """Return the documentation of a definition: a docstring in Python, else the comment above it; cut at 50 lines."""
    if language == "Python":
        return _docstring("\n".join(lines.between(definition.line, definition.end_line)))

    comment_lines: list[str] = []
    number = definition.begin_line - 1
    while number > 0 and len(comment_lines) < MAX_DEFINITION_LINES:
        line = "".join(lines.between(number, number))
        if not _COMMENT.match(line.encode()):
            break
        comment_lines.append(_MARKS.sub("", line))
        number -= 1

    return "\n".join(reversed(comment_lines)).strip()


def _docstring(text: str) -> str:
    head = signature_end(text)
    match = _DOCSTRING.match(text, head) if head >= 0 else None
    if match is None:
        return ""
    lines = match[2].strip().splitlines()
    if lines:
        return "\n".join([lines[0].strip(), *(line.strip() for line in lines[1:])])
    return ""


def signature_end(text: str) -> int:
    """Return the place of the colon that ends the head of a Python definition, -1 for none."""
    depth = 0
    for index, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == ":" and depth <= 0:
            return index

    return -1


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
