"""Locations of names: line and columns in the file, and the cell in a notebook.

The navigation core reads the text of a document, and finds names at byte offsets of it. The text of a notebook is the
code of its cells, so its lines are not those of the file. Answers have the lines of the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcelight.core.cells import is_script, read_cells
from sourcelight.engines.navigation.model import Document

MAX_LINE_BYTES = 2000
"""Maximum bytes of a line in an answer."""


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


class CellPosition(NamedTuple):
    """The number of a cell, and a line in the cell, both from 1; None outside of cells."""

    cell: int | None
    line: int | None


def file_line(document: Document, line: int) -> int:
    """Convert a 1-based line of a document's text to a line of its file."""
    code = document.code
    return line if code is None else code.program.file_line(line)


def file_spans(document: Document, spans: Sequence[tuple[int, int]]) -> Sequence[tuple[int, int]]:
    """Convert spans of a document's text to byte spans of its file."""
    code = document.code
    if code is None or not spans:
        return spans

    starts = code.program.file_offsets([start for start, _ in spans]).tolist()
    ends = code.program.file_offsets([end for _, end in spans]).tolist()
    return list(zip(starts, ends, strict=True))


def cells_at(document: Document, offsets: Sequence[int]) -> list[CellPosition]:
    """Return the cells of byte offsets of a document's text."""
    code = document.code
    if code is not None:
        return [CellPosition(*code.program.cell_at(offset)) for offset in offsets]

    # A script may have cells too: its comments of the form ``# %%`` begin them.
    text = document.text if is_script(document.shown_path) else b""
    if b"%%" not in text:
        return [CellPosition(None, None)] * len(offsets)

    cells = read_cells(document.shown_path, text)
    positions = []
    for offset in offsets:
        fragment = cells.text_at(offset)
        if fragment is None:
            positions.append(CellPosition(None, None))
        else:
            cell, part = fragment
            positions.append(CellPosition(cell.cell, cell.line_at(part, offset) + 1))

    return positions


def line_of(text: bytes, offset: int) -> int:
    """Return the 1-based line of a byte offset."""
    return text.count(b"\n", 0, offset) + 1


def offset_of(text: bytes, line_number: int, column: int) -> int | None:
    """Return the byte offset of a 1-based line and a column in code points; None beyond the text."""
    line_start = 0
    for _ in range(line_number - 1):
        line_start = text.find(b"\n", line_start) + 1
        if not line_start:
            return None

    line_end = _end_of_line(text, line_start)
    line = text[line_start:line_end].decode(errors="replace")
    if column > len(line):
        return None
    return line_start + len(line[:column].encode())


def location_of(document: Document, start: int, end: int) -> SourceLocation:
    """Return the location in the file of a name in a document's text."""
    return locations_in(document, [(start, end)])[0]


def locations_in(document: Document, spans: Sequence[tuple[int, int]]) -> list[SourceLocation]:
    """Return the locations in the file of names in a document's text; `spans` ascend.

    A line longer than `MAX_LINE_BYTES` is truncated around the name: generated files have thousands of names in one
    line of megabytes. `start` and `end` then count in that part.
    """
    return list(_locate(document.content, file_spans(document, spans)))


def _locate(text: bytes, spans: Sequence[tuple[int, int]]) -> Iterator[SourceLocation]:
    number = 1
    counted_to = 0
    line_start, line_end = 0, -1
    for start, end in spans:
        # Newlines are counted from the previous name on, so a file with many names is still scanned only once.
        number += text.count(b"\n", counted_to, start)
        counted_to = start
        if start > line_end:
            line_start = text.rfind(b"\n", 0, start) + 1
            line_end = _end_of_line(text, end)

        visible_start, visible_end = _visible_part(text, line_start, line_end, (start, end))
        line = text[visible_start:visible_end].removesuffix(b"\r").decode(errors="replace")
        before = text[visible_start:start].decode(errors="replace")
        name = text[start:end].decode(errors="replace")
        yield SourceLocation(
            line_number=number,
            start=len(before),
            end=len(before) + len(name),
            line=line,
            is_truncated=visible_end - visible_start < line_end - line_start,
        )


def _end_of_line(text: bytes, offset: int) -> int:
    line_end = text.find(b"\n", offset)
    return len(text) if line_end < 0 else line_end


def _visible_part(text: bytes, line_start: int, line_end: int, name: tuple[int, int]) -> tuple[int, int]:
    """Return the start and end of a line, or of the part of a long line around a name."""
    if line_end - line_start <= MAX_LINE_BYTES:
        return line_start, line_end

    name_start, name_end = name
    start = max(line_start, name_start - MAX_LINE_BYTES // 2)
    end = min(line_end, name_end + MAX_LINE_BYTES // 2)

    # A cut inside a code point would show as U+FFFD, so the cut moves towards the name.
    while start < name_start and _continues_code_point(text[start]):
        start += 1
    while name_end < end < line_end and _continues_code_point(text[end]):
        end -= 1

    return start, end


def _continues_code_point(byte: int) -> bool:
    """Return whether a byte is 10xxxxxx: not the first one of a code point in UTF-8."""
    return byte & 0xC0 == 0x80
