"""Show the cells of a Jupyter notebook in the view of its file, instead of its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from sourcelight.core.cells import UnreadableNotebook, is_jupyter
from sourcelight.core.cells.reading import CellLine, heading_of, lines_in_order, read_lines, tokens_of
from sourcelight.core.markup import count_of, escape, highlight, visible
from sourcelight.core.markup.highlighting import highlight_code
from sourcelight.display.notebook.views.marked_text import code_cell, cut_window

_AROUND, _PAGE, _MAX_LINES = 10, 60, 400
"""Lines around the requested ones, lines without requested ones, and lines at most."""

_MAX_LINE_CHARS = 2_000
"""Characters of a line that is displayed."""


@dataclass(frozen=True, slots=True)
class CellsPage:
    """The lines displayed, the lines of the file to highlight among them, and which they are of all."""

    lines: Sequence[CellLine]
    highlighted: range
    label: str


def cells_page(path: str, lines: Sequence[str], first: int, last: int) -> CellsPage | None:
    """Return the cells with some lines of the file, and ten lines around, or None for no Jupyter notebook.

    None also where the lines are in no cell, such as those of its metadata. `first` is 0 for the beginning.
    """
    if not is_jupyter(path):
        return None

    try:
        document = read_lines(path, lines)
    except UnreadableNotebook:
        return None

    all_lines = lines_in_order(document)
    highlighted = range(first, last + 1) if first else range(0)
    start, end = 0, _PAGE
    if first:
        positions = [index for index, line in enumerate(all_lines) if line.file_line in highlighted]
        if not positions:
            return None
        start, end = max(positions[0] - _AROUND, 0), min(positions[-1] + _AROUND + 1, positions[0] + _MAX_LINES)

    page_lines = all_lines[start:end]
    label = f"{count_of(len(page_lines), 'line')} of {len(all_lines):,} in {count_of(document.cells, 'cell')}"
    return CellsPage(page_lines, highlighted, label)


def notebook_text(page: CellsPage) -> list[str]:
    """Return the lines as plain text, under a heading for each source and output."""
    result = []
    for text, lines in groupby(page.lines, key=lambda line: line.text):
        result.append(heading_of(text))
        group = list(lines)
        width = len(str(group[-1].number + 1))
        result += [
            f"{'>' if line.file_line in page.highlighted else ' '} {line.number + 1:>{width}} "
            f"{visible(line.plain_line[:500])}"
            for line in group
        ]

    return result


def notebook_rows(page: CellsPage, spans: tuple[Sequence[int], Sequence[int]]) -> list[str]:
    """Return the lines as rows of HTML; `spans` are marked in the first highlighted one."""
    rows = []
    pending = spans
    for text, lines in groupby(page.lines, key=lambda line: line.text):
        rows.append(heading_row(heading_of(text)))
        tokens = tokens_of(text)
        for line in lines:
            marks: tuple[Sequence[int], Sequence[int]] = ((), ())
            is_highlighted = line.file_line in page.highlighted
            if is_highlighted:
                marks, pending = pending, ((), ())

            # Marks count the characters of the line as it is.
            line_text = line.line if marks[0] else line.plain_line
            if len(line_text) <= _MAX_LINE_CHARS:
                html = highlight_code(line_text, tokens[line.number], *marks)
            else:
                html = highlight(*cut_window(line_text, *marks, longest=_MAX_LINE_CHARS))

            class_attribute = ' class="sl-here"' if is_highlighted else ""
            rows.append(f'<tr{class_attribute}><td class="sl-no">{line.number + 1}</td>{code_cell(html)}</tr>')

    return rows


def heading_row(heading: str) -> str:
    """Return the heading of a cell as a row of HTML."""
    return f'<tr class="sl-hunk"><td class="sl-no"></td><td>{escape(heading)}</td></tr>'
