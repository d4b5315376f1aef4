"""Lines, columns and cells of names.

The text of a notebook is the code of its cells; locations have lines and columns of the notebook file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from sourcelight.core.cells import is_script, read_cells
from sourcelight.engines.navigation.model import Document

if TYPE_CHECKING:
    pass


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
