"""Display a line of a notebook's JSON as the line of the cell that it encodes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from sourcelight.core.cells.json_places import unescape

NOTEBOOK_LANGUAGE = "Jupyter Notebook"
"""The language of a row whose line is one of the file; rows of ``cell:`` have that of the kernel."""

_ITEM = re.compile(r'\s*"((?:[^"\\]|\\.)*+)"\s*,?\s*')
_VALUE = re.compile(r'\s*(?:"(?:[^"\\]|\\.)*+"\s*:\s*)?+\[?\s*"((?:[^"\\]|\\.)*+)"\s*[\],]*\s*')
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)", re.DOTALL)


class ShownLine(NamedTuple):
    """A line for readers, and the spans to mark in it, in code points."""

    text: str
    starts: list[int]
    ends: list[int]


def item_text(line: str) -> str | None:
    """Return the text of a line of JSON that is one string of a list; None for any other line."""
    match = _ITEM.fullmatch(line)
    return None if match is None else _decode(match[1]).removesuffix("\n")


def cell_text(line: str, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> ShownLine | None:
    """Return what a line of JSON holds of a cell: a string, also one with its key; None for any other line.

    Of a string with several lines it is the one with the first span.
    """
    match = _VALUE.fullmatch(line)
    if match is None:
        return None
    text, offset = match[1], match.start(1)
    spans = [
        (_decoded_offset(text, start - offset), _decoded_offset(text, end - offset))
        for start, end in zip(starts, ends, strict=False)
    ]
    decoded = _decode(text)
    first = min((start for start, _ in spans), default=0)
    line_start = decoded.rfind("\n", 0, first) + 1
    line_end = decoded.find("\n", first)
    visible = decoded[line_start : len(decoded) if line_end < 0 else line_end]
    inner = [
        (max(start - line_start, 0), min(end - line_start, len(visible)))
        for start, end in spans
        if line_start <= end and start <= line_start + len(visible)
    ]
    return ShownLine(visible, [start for start, _ in inner], [end for _, end in inner])


def row_line(row: Mapping[str, Any]) -> ShownLine:
    """Return the line of a row of matches as it is shown, with its spans: that of the cell, where it is in one."""
    starts, ends = list(row.get("start") or ()), list(row.get("end") or ())
    line = row["line"]
    visible = cell_text(line, starts, ends) if has_json_line(row) else None
    return visible or ShownLine(line, starts, ends)


def has_json_line(row: Mapping[Any, Any]) -> bool:
    """Return whether the line of a row is JSON that holds text of a cell."""
    return row.get("language") == NOTEBOOK_LANGUAGE and row.get("cell_kind") in {"code", "markdown", "raw", "output"}


def context_lines(lines: Iterable[tuple[int, str]]) -> list[tuple[int, str]]:
    """Return numbered lines of a notebook's JSON as those of its cells; without what only JSON needs."""
    return [(number, text) for number, line in lines if (text := item_text(line)) is not None]


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
