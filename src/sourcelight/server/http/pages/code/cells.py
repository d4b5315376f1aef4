"""Cells of Jupyter notebooks on the pages of files and changes: each source above its outputs, as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from sourcelight.core.cells import CellText, UnreadableNotebook, is_jupyter
from sourcelight.core.cells.compare import ComparedLine, NotebookDiff
from sourcelight.core.cells.reading import CellLine, anchor_of, heading_of, lines_in_order, read_lines, tokens_of
from sourcelight.core.markup import escape
from sourcelight.core.markup.counts import count_of
from sourcelight.core.markup.highlighting import code_tokens, highlight_code
from sourcelight.server.http.pages.code.elements import line_html

LINES_VIEW = "lines"
"""The value of the parameter ``view`` that shows the lines of a notebook's file instead of its cells."""

_MAX_LINES = 5_000
"""Maximum lines on a page, as for other files."""

_CONTEXT_LINES = 1_000
"""Lines on a page before the first highlighted one."""

_MAX_CHARS = 2_000_000
"""Characters of the lines on a page, which are cut one by one: a cell with pages of base64 must not fill it."""

_MAX_CHANGED_LINES = 2_000
"""Maximum lines of a notebook's changes on a page, where several files share it."""

_MAX_CHANGED_CHARS = 500
"""Maximum characters of each of these lines."""

_SIDES = {"added": (" class=add", "+"), "removed": (" class=del", "-")}
"""Attribute of the row of a changed line, and its sign, by side."""


@dataclass(frozen=True, slots=True)
class RequestedCells:
    """The requested part of a notebook.

    Attributes
    ----------
    lines
        First and last line of the file to mark; None: none.
    cell
        Number of the cell to begin with; 0: the first one.
    """

    lines: tuple[int, int] | None = None
    cell: int = 0


@dataclass(frozen=True, slots=True)
class CellTable:
    """The cells on a page.

    Attributes
    ----------
    rows
        HTML of the rows of a table.
    summary
        What they are of all, as HTML.
    has_file_lines
        Whether each line of a cell is a line of the file, so that its number selects it.
    """

    rows: str
    summary: list[str]
    has_file_lines: bool


def cell_table(
    path: str, lines: Sequence[str], requested: RequestedCells, blame: Mapping[int, str], address: str
) -> CellTable | str:
    """Return the cells of a notebook, or why its lines are shown instead; empty: the address asks for lines.

    Parameters
    ----------
    path, lines
        The file.
    requested
        What to show and mark.
    blame
        HTML of the commits of lines, by the line of the file.
    address
        Address of the file, for links to other parts of it.
    """
    if not is_jupyter(path):
        return ""

    try:
        document = read_lines(path, lines)
    except UnreadableNotebook as error:
        return f"The cells can't be shown: {error}."

    cell_lines = lines_in_order(document)
    file_lines = {line.file_line for line in cell_lines}
    marked_lines = range(0)
    # If a notebook is one line, the line of the file doesn't locate the cell.
    is_one_line = len(file_lines) == 1 and len(cell_lines) > 1
    if requested.lines is not None and not is_one_line:
        first, last = requested.lines
        marked_lines = range(first, last + 1)
    if marked_lines and not any(line in marked_lines for line in file_lines):
        return "The highlighted lines are in no cell, so the lines of the file are shown."

    page_lines = _page(cell_lines, 0)
    if len(page_lines) < len(cell_lines):
        page_lines = _page(cell_lines, _start_of_page(cell_lines, marked_lines, requested.cell))

    summary = [f"{count_of(document.cells, 'cell')}, {count_of(len(cell_lines), 'line')}"]
    if marked_lines:
        marked_count = sum(line.file_line in marked_lines for line in page_lines)
        summary.append(f"{count_of(marked_count, 'line')} highlighted")
    if len(page_lines) < len(cell_lines):
        summary += _other_pages(page_lines, address)

    rows = _rows(page_lines, marked_lines, blame)
    return CellTable(rows, summary, has_file_lines=len(file_lines) == len(cell_lines))


def _start_of_page(lines: Sequence[CellLine], marked_lines: range, cell: int) -> int:
    """Return the index of the first line to show: some lines before the first marked one, or the start of a cell."""
    for index, line in enumerate(lines):
        if line.file_line in marked_lines:
            return max(0, index - _CONTEXT_LINES)

    for index, line in enumerate(lines):
        if line.text.cell >= cell:
            return index
    return 0


def _other_pages(page_lines: Sequence[CellLine], address: str) -> list[str]:
    """Return which cells a page has, and links to the first page and to the next one."""
    first_cell = page_lines[0].text.cell
    last_cell = page_lines[-1].text.cell
    link = f'<a href="{escape(address)}?cell='
    return [
        f"cells {first_cell:,} to {last_cell:,} shown",
        f'{link}1">from the first cell</a>',
        # The last cell again, since it may go on.
        f'{link}{last_cell}">from cell {last_cell:,}</a>',
    ]


def _page(lines: Sequence[CellLine], start: int) -> Sequence[CellLine]:
    """Return the lines of a page: whole lines, as many as are neither too many nor too long together."""
    size = 0
    end = min(len(lines), start + _MAX_LINES)
    for index in range(start, end):
        size += len(lines[index].plain_line)
        if size > _MAX_CHARS and index > start:
            return lines[start:index]
    return lines[start:end]


def _rows(lines: Sequence[CellLine], marked_lines: range, blame: Mapping[int, str]) -> str:
    """Return HTML of the lines; a row with the name of its cell is before the first line of each text."""
    rows: list[str] = []
    file_lines: set[int] = set()
    is_focused = False
    empty = "<td class=blame></td>" if blame else ""
    for text, group in groupby(lines, key=lambda line: line.text):
        anchor = anchor_of(text.cell, text.kind)
        heading = escape(heading_of(text))
        rows.append(
            f'<tr class="cell" id="{anchor}"><td></td>{empty}<th scope="rowgroup"><a href="#{anchor}">'
            f"{heading}</a></th></tr>\n"
        )
        tokens = tokens_of(text)
        for line in group:
            file_line = line.file_line
            # A source in one string is one line of the file: the first of its lines has the identifier.
            identity = f'id="L{file_line}"'
            if file_line in file_lines:
                identity = f'data-line="{file_line}"'
            file_lines.add(file_line)

            style = text.kind
            focus = ""
            if file_line in marked_lines:
                style = f"hit {text.kind}"
                # The browser scrolls to the first marked line.
                if not is_focused:
                    focus = " autofocus"
                is_focused = True

            line_anchor = anchor_of(text.cell, text.kind, line.number + 1)
            rows.append(
                f'<tr {identity} class="{style}"><td>'
                f'<a id="{line_anchor}" href="#{line_anchor}" title="Line {file_line} of the file"{focus}>'
                f"{line.number + 1}</a></td>{blame.get(file_line, empty)}"
                f"<td>{line_html(line.plain_line, tokens[line.number])}</td></tr>\n"
            )

    return "".join(rows)


def changed_cells(diff: NotebookDiff, label: str) -> str:
    """Return HTML of the cells that differ between two versions; `label` is HTML of the notebook's path."""
    rows: list[str] = []
    line_count = 0
    for text in diff.texts:
        if line_count >= _MAX_CHANGED_LINES:
            break
        lines = text.lines[: _MAX_CHANGED_LINES - line_count]
        line_count += len(lines)
        rows.append(f'<tr class="hunk"><td></td><td></td><td>{escape(text.heading)}</td></tr>')
        rows += [_changed_row(line, text.text) for line in lines]

    notes = "No cell changed"
    if diff.texts:
        notes = f"{count_of(diff.equal_cells, 'cell')} unchanged"

    total = sum(len(text.lines) for text in diff.texts)
    if line_count < total:
        notes += f"; the first {line_count:,} of {total:,} lines are shown"

    table = ""
    if rows:
        table = (
            f'<div class="scroll" role="region" tabindex="0" aria-label="Changed cells of {label}">'
            f'<table class="lines patch"><tbody>{"".join(rows)}</tbody></table></div>'
        )
    return f'{table}<p class="quiet">{notes}.</p>'


def _changed_row(line: ComparedLine, text: CellText) -> str:
    if line.side == "gap":
        return '<tr class="gap"><td></td><td></td><td></td></tr>'

    style, sign = _SIDES.get(line.side, ("", " "))
    plain_line = line.text[:_MAX_CHANGED_CHARS]
    language = text.language if text.kind == "code" else ""
    tokens = code_tokens(plain_line, language)
    note = ""
    if len(plain_line) < len(line.text):
        note = f'<span class="warn"> (truncated: {len(line.text):,} characters)</span>'

    numbers = f"<td>{line.old or ''}</td><td>{line.new or ''}</td>"
    return f"<tr{style}>{numbers}<td>{sign}{highlight_code(plain_line, tokens)}{note}</td></tr>"
