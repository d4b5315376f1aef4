r"""Display lines of a notebook's JSON as the lines of cells that they encode.

A search matches the lines of the file, which are JSON: ``"import re\n",``. A reader wants the line of the cell, and
the matches in it. The functions for one line decode the string in it; `source_lines` reads a whole notebook, and so
also knows which cell a line belongs to.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sourcelight.core.cells.formats import UnreadableNotebook, is_jupyter, read_cells
from sourcelight.core.cells.json_places import unescape

NOTEBOOK_LANGUAGE = "Jupyter Notebook"
"""The language of a row with a line of the file; rows of ``cell:`` have the kernel's language."""

# Possessive: two runs of spaces side by side share them in as many ways as there are spaces.
_ITEM = re.compile(r'\s*+"((?:[^"\\]|\\.)*+)"\s*+(?:,\s*+)?')
_VALUE = re.compile(r'\s*+(?:"(?:[^"\\]|\\.)*+"\s*+:\s*+)?+(?:\[\s*+)?"((?:[^"\\]|\\.)*+)"\s*+(?:[\],]++\s*+)?')
"""A line of JSON with one string, which may have a key before it, or be an item of a list: ``"source": ["import re",``.
"""

_STRING = re.compile(r'"((?:[^"\\]|\\.)*+)"')
"""A string of JSON."""

_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)
"""An escape in a string, of which two together write a character beyond U+FFFF."""


class ShownLine(NamedTuple):
    """A line for readers, and the spans to mark in it, in code points."""

    text: str
    starts: list[int]
    ends: list[int]


def item_text(line: str) -> str | None:
    """Return the text of a line of JSON that is one string of a list, or None for any other line."""
    match = _ITEM.fullmatch(line)
    return None if match is None else _decode(match[1]).removesuffix("\n")


def cell_text(line: str, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> ShownLine | None:
    """Return the string of a cell in a line of JSON, with or without a key, or None for any other line.

    Of a line with several strings, such as a notebook that is one line, it is the string with the first span, and of a
    string with several lines the line with that span.
    """
    string = _string_of(line, starts)
    if string is None:
        return None

    text = _decode(string[1])
    spans = _decoded_spans(string, starts, ends)
    first = min((start for start, _ in spans), default=0)
    line_start = text.rfind("\n", 0, first) + 1
    line_end = text.find("\n", first)
    return _cut_line(text, line_start, len(text) if line_end < 0 else line_end, spans)


def _decoded_spans(string: re.Match[str], starts: Sequence[int], ends: Sequence[int]) -> list[tuple[int, int]]:
    """Return the spans of a line that lie in a string of JSON, as spans of its decoded text."""
    offset = string.start(1)
    return [
        (_decoded_offset(string[1], start - offset), _decoded_offset(string[1], end - offset))
        for start, end in zip(starts, ends, strict=False)
        if offset <= start and end <= string.end(1)
    ]


def _cut_line(text: str, line_start: int, line_end: int, spans: Sequence[tuple[int, int]]) -> ShownLine:
    """Return one line of a text, and the spans that touch it, from its start on."""
    line = text[line_start:line_end]
    touching = [(start, end) for start, end in spans if line_start <= end and start <= line_end]
    return ShownLine(
        text=line,
        starts=[max(start - line_start, 0) for start, _ in touching],
        ends=[min(end - line_start, len(line)) for _, end in touching],
    )


def _string_of(line: str, starts: Sequence[int]) -> re.Match[str] | None:
    """Return the only string of a line of JSON, or the one with the first of some places."""
    match = _VALUE.fullmatch(line)
    if match is not None or not starts:
        return match
    first = min(starts)
    strings = (string for string in _STRING.finditer(line) if string.end(1) >= first)
    match = next(strings, None)
    return match if match is not None and match.start(1) <= first else None


def row_line(row: Mapping[str, Any]) -> ShownLine:
    """Return the displayed line of a row of matches with its spans: the line of the cell if it is in a cell."""
    starts, ends = list(row.get("start") or ()), list(row.get("end") or ())
    line = row["line"]
    visible = cell_text(line, starts, ends) if has_json_line(row) else None
    return visible or ShownLine(line, starts, ends)


def with_cell_line(row: dict[str, Any]) -> dict[str, Any]:
    """Return a row of a table with the line of the cell, if it is in a Jupyter notebook.

    A line of JSON that holds nothing of a cell, such as an image, is empty.
    """
    line = row.get("line")
    if line is None or not is_jupyter(row.get("path") or row.get("caller_path") or ""):
        return row

    match = _string_of(line, row.get("start") or ()) if row.get("cell") else None
    lines = [""] if match is None else _decode(match[1]).split("\n")

    # A source in one string is one line of the file, and all lines of the cell.
    number = row["cell_line"] - 1 if len(lines) > 2 and row["cell_line"] <= len(lines) else 0
    return row | {"line": lines[number]}


def has_json_line(row: Mapping[Any, Any]) -> bool:
    """Return whether the line of a row is JSON that holds text of a cell."""
    return row.get("language") == NOTEBOOK_LANGUAGE and row.get("cell_kind") in {"code", "markdown", "raw", "output"}


def context_lines(lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Convert numbered lines of a notebook's JSON to lines of its cells, without JSON's syntax."""
    converted = []
    for number, line in lines:
        text = item_text(line)
        if text is not None:
            converted.append((number, text))
    return converted


class SourceLines(NamedTuple):
    """The lines of a notebook as lines of its cells.

    Attributes
    ----------
    lines
        As many as the file has. A line of JSON that holds a line of a source is that one, of a source in one string all
        of its lines, with newlines between; any other line is empty.
    cells
        By the line of the file, from 1: the number of the cell and the line in it, also from 1.
    languages
        By the number of the cell, the display name of its language; empty when the notebook names none.
    """

    lines: list[bytes]
    cells: dict[int, tuple[int, int]]
    languages: dict[int, str]


def source_lines(path: str, data: bytes) -> SourceLines | None:
    """Return the sources of a Jupyter notebook at their lines in the file, or None for any other file.

    A file that has only the name of a notebook gets empty lines.
    """
    if not is_jupyter(path):
        return None

    by_line: dict[int, list[bytes]] = {}
    cells: dict[int, tuple[int, int]] = {}
    try:
        texts = read_cells(path, data, with_outputs=False).sources
    except UnreadableNotebook:
        texts = ()

    for text in texts:
        for number, file_line in enumerate(text.file_lines):
            cells.setdefault(file_line, (text.cell, number + 1))
            by_line.setdefault(file_line, []).append(text.line(number))

    count = data.count(b"\n") + 1
    languages = {text.cell: "Markdown" if text.kind == "markdown" else text.language for text in texts}
    return SourceLines([b"\n".join(by_line.get(number, ())) for number in range(1, count + 1)], cells, languages)


def cell_location(sources: SourceLines, first: int, last: int) -> str:
    """Return which cells, and which lines of one, the lines `first` to `last` of the file hold; empty for none."""
    inside = [sources.cells[number] for number in range(first, last + 1) if number in sources.cells]
    if not inside:
        return ""

    (first_cell, first_line), (last_cell, _) = inside[0], inside[-1]
    if first_cell != last_cell:
        return f"cells {first_cell}-{last_cell}"

    # A source in one string is one line of the file.
    last_line = inside[-1][1] + sources.lines[last - 1].count(b"\n")
    if first_line == last_line:
        return f"cell {first_cell}, line {first_line}"
    return f"cell {first_cell}, lines {first_line}-{last_line}"


def cell_language(sources: SourceLines, first: int, last: int) -> str:
    """Return the language of the cells that have the lines `first` to `last` of the file; empty for several."""
    inside = {sources.cells[number][0] for number in range(first, last + 1) if number in sources.cells}
    languages = {sources.languages[cell] for cell in inside}
    return languages.pop() if len(languages) == 1 else ""


def _decode(text: str) -> str:
    return unescape(text.encode("utf-8", "replace")).decode("utf-8", "replace")


def _decoded_offset(text: str, offset: int) -> int:
    """Return the place in the decoded text of a place in a JSON string, which may be out of it."""
    inside = text[: max(offset, 0)]
    position = 0
    for escape in _ESCAPE.finditer(text):
        if escape.start() >= len(inside):
            break
        position += min(escape.end(), len(inside)) - escape.start() - 1
    return len(inside) - position
