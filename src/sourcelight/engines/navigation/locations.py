"""From byte offsets to what a reader sees: lines, columns, signatures and documentation.

Rows of answers from what was found.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.tools.catalog import table_of
from sourcelight.engines.navigation.model import Document, ResolvedDefinition
from sourcelight.engines.navigation.named import enclosing, outline_of
from sourcelight.engines.symbols import Definition

if TYPE_CHECKING:
    from sourcelight.engines.navigation.references import Reference
    from sourcelight.engines.navigation.workspace import Workspace


MOST_SHOWN = 50
"""Lines of a definition that are shown."""

LONGEST_LINE = 2000
"""Bytes of a line that are shown."""

_MOST_SIGNATURE = 40
_COMMENT = re.compile(rb"^\s*(///?|//!|#(?!!|include|define|if|e|pragma)|\*|/\*\*?|--)")
_MARKS = re.compile(r"^\s*(///?!?|/\*\*?|\*/?|#|--)\s?|\s*\*/\s*$")
_OPENERS = {"(": ")", "[": "]"}


@dataclass(frozen=True, slots=True)
class SourceLocation:
    """Where a name stands: its 1-based line, and code points into it: ``line[start:end]`` is the name.

    `cut` tells that `line` is only a part of the line.
    """

    line_number: int
    start: int
    end: int
    line: str
    cut: bool = False


def line_of(text: bytes, offset: int) -> int:
    """Give the 1-based line of a byte offset."""
    return text.count(b"\n", 0, offset) + 1


def place_of(text: bytes, start: int, end: int) -> SourceLocation:
    """Give the line and columns of a name."""
    return places_of(text, [(start, end)])[0]


def places_of(text: bytes, spans: Sequence[tuple[int, int]]) -> list[SourceLocation]:
    """Give the lines and columns of names, which ascend.

    Of a line longer than `LONGEST_LINE` only what stands around the name is given, since generated files have thousands
    of names in one line of megabytes; `start` and `end` are then places in that part.
    """
    found = []
    number, counted, low, high = 1, 0, 0, -1
    for start, end in spans:
        number, counted = number + text.count(b"\n", counted, start), start
        if start > high:
            low = text.rfind(b"\n", 0, start) + 1
            high = text.find(b"\n", end)
            high = len(text) if high < 0 else high
        first, last = low, high
        if last - first > LONGEST_LINE:
            first, last = max(low, start - LONGEST_LINE // 2), min(high, end + LONGEST_LINE // 2)
            while first < start and text[first] & 0xC0 == 0x80:
                first += 1
            while last > end and last < high and text[last] & 0xC0 == 0x80:
                last -= 1
        line = text[first:last].removesuffix(b"\r")
        before = text[first:start].decode(errors="replace")
        name = text[start:end].decode(errors="replace")
        cut = last - first < high - low
        found.append(SourceLocation(number, len(before), len(before) + len(name), line.decode(errors="replace"), cut))
    return found


def offset_of(text: bytes, line_number: int, column: int) -> int | None:
    """Give the byte offset of a 1-based line and a column in code points; None beyond the text."""
    low = 0
    for _ in range(line_number - 1):
        low = text.find(b"\n", low) + 1
        if not low:
            return None
    high = text.find(b"\n", low)
    line = text[low : len(text) if high < 0 else high].decode(errors="replace")
    return low + len(line[:column].encode()) if column <= len(line) else None


class LineTable:
    """The lines of a text, by their 1-based numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", text))]

    def between(self, first: int, last: int, most: int = MOST_SHOWN) -> list[str]:
        """Give lines `first` to `last`, at most `most`; what is longer than 2,000 bytes is cut there."""
        starts = self._starts
        stop = min(last, first + most - 1, len(starts) - (starts[-1] == len(self._text)))
        found = []
        for number in range(first, stop + 1):
            end = starts[number] - 1 if number < len(starts) else len(self._text)
            part = self._text[starts[number - 1] : min(end, starts[number - 1] + LONGEST_LINE)]
            found.append(part.decode(errors="replace").removesuffix("\r"))
        return found


def signature_of(lines: list[str], kind: str) -> str:
    """Give the head of a definition from its first lines, blanks folded: up to where its body begins.

    Decorators and attributes are left out. `lines` start with the line on which the name stands.
    """
    text = ""
    depth = 0
    for line in lines[:_MOST_SIGNATURE]:
        for at, sign in enumerate(line):
            if sign in _OPENERS:
                depth += 1
            elif sign in _OPENERS.values():
                depth -= 1
            elif depth <= 0 and (sign == "{" or (sign == ":" and _ends_head(line, at, kind))):
                return _folded(text + " " + line[:at])
        text += " " + line
        if depth <= 0 and not line.rstrip().endswith(("\\", ",")):
            break
    return _folded(text)


def _ends_head(line: str, at: int, kind: str) -> bool:
    """Tell whether a colon begins a body, as in Python."""
    return (
        kind in {"function", "method", "class", "constructor"} and not line[at + 1 :].split("#", maxsplit=1)[0].strip()
    )


def _folded(text: str) -> str:
    text = " ".join(text.split()).removesuffix("=").rstrip(" ;")
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")


def documentation_of(language: str, lines: LineTable, one: Definition) -> str:
    """Give the documentation of a definition: a docstring in Python, else the comment above it; cut at 50 lines."""
    if language == "Python":
        return _docstring("\n".join(lines.between(one.line, one.end_line)))
    above: list[str] = []
    number = one.begin_line - 1
    while number > 0 and len(above) < MOST_SHOWN:
        line = "".join(lines.between(number, number))
        if not _COMMENT.match(line.encode()):
            break
        above.append(_MARKS.sub("", line))
        number -= 1
    return "\n".join(reversed(above)).strip()


_DOCSTRING = re.compile(r':\s*(?:#[^\n]*)?\n\s*[rRuU]?("""|\'\'\'|"|\')(.*?)(?:\1|\Z)', re.DOTALL)


def _docstring(text: str) -> str:
    head = signature_end(text)
    found = _DOCSTRING.match(text, head) if head >= 0 else None
    if found is None:
        return ""
    lines = found[2].strip().splitlines()
    return "\n".join([lines[0].strip(), *(line.strip() for line in lines[1:])]) if lines else ""


def signature_end(text: str) -> int:
    """Give the place of the colon that ends the head of a Python definition, -1 for none."""
    depth = 0
    for at, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == ":" and depth <= 0:
            return at
    return -1


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
    symbol: str, found: Iterable[ResolvedDefinition], workspace: Workspace, revisions: Mapping[str, str]
) -> list[Row]:
    """Give the rows of `definitions`, in the order given."""
    rows = []
    for rank, one in enumerate(found, 1):
        document, text = one.document, one.document.text
        place, lines = place_of(text, one.start, one.end), LineTable(text)
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
                "start_line": begin,
                "end_line": last,
                "code": "\n".join(lines.between(begin, last)),
                "how": one.how,
                "precise": one.how == "scip",
                "score": one.score,
                "reason": one.reason,
            }
        )
    return rows


def _definition_at(one: ResolvedDefinition, workspace: Workspace) -> Definition | None:
    if one.kind == "module":
        return None
    return next((row for row in outline_of(one.document, workspace) if row.offset == one.start), None)


def described(language: str, lines: LineTable, one: Definition | None) -> Row:
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


def _tell_cut(places: Sequence[SourceLocation], workspace: Workspace) -> None:
    if any(place.cut for place in places):
        workspace.notice("long-lines", f"Lines above {LONGEST_LINE:,} bytes are cut to what is around the name.")


def name_of(document: Document, start: int, end: int) -> str:
    """Give the text of a name."""
    return document.text[start:end].decode(errors="replace")


def symbol_rows(document: Document, rows: Sequence[Definition], revision: str) -> list[Row]:
    """Give the rows of `symbols` for definitions of one file."""
    where = file_columns(document, revision)
    lines = LineTable(document.text)
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
                "start_line": one.begin_line,
                "end_line": one.end_line,
            }
        )
    return found
