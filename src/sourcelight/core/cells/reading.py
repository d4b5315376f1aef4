"""The displayed text of a file's cells: lines in order, each source above its output, under a heading.

A Jupyter notebook is read by its cells. A text notebook is read by the lines of its file, with a heading where a cell
begins.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from sourcelight.core.cells.formats import UnreadableNotebook, is_jupyter, may_have_cells, opens_cell, read_cells
from sourcelight.core.cells.model import CellDocument, CellText
from sourcelight.core.markup.highlighting import Token, line_tokens
from sourcelight.core.query.fields import CODE, OUTPUT

_MAX_TOKEN_CHARS = 150_000
"""Size above which a source has no colours."""

_COLOURS = re.compile(r"\x1b\[[0-9;]*m")
r"""Terminal colors such as ``\x1b[0;31m``, which are frequent in tracebacks."""


@dataclass(frozen=True, slots=True)
class CellLine:
    """A line of a cell: `number` counts from 0 in its text, `file_line` from 1 in the file."""

    text: CellText
    number: int
    file_line: int

    @property
    def line(self) -> str:
        """The line as it is in the cell."""
        return self.text.line(self.number).decode("utf-8", "replace").removesuffix("\r")

    @property
    def plain_line(self) -> str:
        """The line without the colours of a terminal."""
        if self.text.kind == OUTPUT:
            return _COLOURS.sub("", self.line)
        return self.line


class Chunk(NamedTuple):
    """A cell of a text notebook: its first and last line, and the line below its heading, all from 1."""

    heading_line: int
    first: int
    last: int
    text: CellText


def read_lines(path: str, lines: Sequence[str]) -> CellDocument:
    """Return the cells of a file that is given by its lines.

    Raises
    ------
    UnreadableNotebook
        For a notebook that is broken, too large or none at all.
    """
    return read_cells(path, "\n".join(lines).encode("utf-8", "replace"))


def lines_in_order(document: CellDocument) -> list[CellLine]:
    """Return all lines of a notebook; a source comes before its output, which in most files it follows."""
    lines: list[CellLine] = []
    for text in sorted(document.texts, key=lambda text: (text.cell, text.kind == OUTPUT)):
        lines += [CellLine(text, number, file_line) for number, file_line in enumerate(text.file_lines)]
    return lines


def heading_of(text: CellText) -> str:
    """Return the heading of a source or an output, such as ``Cell 3 (code, Python)``."""
    language = f", {text.language}" if text.kind == CODE and text.language else ""
    return f"Cell {text.cell} ({text.kind}{language})"


def tokens_of(text: CellText) -> list[list[Token]]:
    """Return the tokens of each line of code; other lines have none."""
    if text.kind != CODE or len(text.text) > _MAX_TOKEN_CHARS:
        return [[] for _ in text.line_starts]
    return line_tokens(text.text.decode("utf-8", "replace").split("\n"), text.language)


def anchor_of(cell: int, kind: str, line: int = 0) -> str:
    """Return the identifier of a source, an output or, with `line` from 1, of a line of it on a page of its file.

    Examples
    --------
    >>> anchor_of(3, "output", 2)
    'cell-3-output-L2'
    """
    anchor = f"cell-{cell}"
    if kind == OUTPUT:
        anchor += "-output"
    if line:
        anchor += f"-L{line}"
    return anchor


def chunks_of(path: str, lines: Sequence[str]) -> list[Chunk]:
    """Return the cells of a text notebook; none for any other file."""
    if is_jupyter(path) or not may_have_cells(path):
        return []

    try:
        texts = read_lines(path, lines).texts
    except UnreadableNotebook:
        return []

    chunks: list[Chunk] = []
    for text in texts:
        first = text.file_lines[0]
        last = text.file_lines[-1]
        previous_last = chunks[-1].last if chunks else 0
        heading_line = _opening_line(path, lines, previous_last, first)
        chunks.append(Chunk(heading_line, first, last, text))

    return chunks


def _opening_line(path: str, lines: Sequence[str], previous_last: int, first: int) -> int:
    """Return the line that opens the cell whose text begins at the line `first`, which may have no such line.

    Lines of fences, markers and the options below them belong to no cell: they are displayed below the heading of the
    cell that they open.
    """
    for number in range(first - 1, previous_last, -1):
        if opens_cell(path, lines[number - 1]):
            return number
    return first


def add_chunk_tokens(tokens: list[list[Token]], first: int, chunks: Sequence[Chunk], language: str) -> None:
    """Set the tokens of lines in a chunk whose language differs from the file's; `tokens` begin at line `first`."""
    last = first + len(tokens) - 1
    for chunk in chunks:
        # The lines of the chunk that `tokens` have.
        start = max(first, chunk.first)
        end = min(last, chunk.last)
        if chunk.text.language != language and start <= end:
            chunk_tokens = tokens_of(chunk.text)
            tokens[start - first : end - first + 1] = chunk_tokens[start - chunk.first : end - chunk.first + 1]


def chunk_headings(chunks: Sequence[Chunk], first: int) -> dict[int, str]:
    """Return headings by the line below them; the heading of a cell that starts before `first` is at `first`."""
    headings = {}
    for chunk in chunks:
        if chunk.last >= first:
            headings[max(first, chunk.heading_line)] = heading_of(chunk.text)
    return headings
