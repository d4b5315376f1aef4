"""Show the cells of a Jupyter notebook in the view of its file, instead of its JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.core.cells import CellText, UnreadableNotebook, read_cells
from sourcelight.core.markup import count_of, escape, highlight, visible
from sourcelight.core.markup.highlighting import highlight_code, line_tokens
from sourcelight.core.query.fields import CODE
from sourcelight.display.notebook.views.marked_text import cut_window

_AROUND, _PAGE, _MAX_LINES = 10, 60, 400
_MAX_LINE_CHARS = 2_000
_MAX_TOKEN_CHARS = 150_000


@dataclass(frozen=True, slots=True)
class CellLine:
    """A line of a cell on show; `number` counts from 0."""

    text: CellText
    number: int
    is_highlighted: bool

    @property
    def line_text(self) -> str:
        """Its text."""
        return self.text.line(self.number).decode("utf-8", "replace").removesuffix("\r")


@dataclass(frozen=True, slots=True)
class CellsPage:
    """The lines on show, and which they are of all."""

    lines: Sequence[CellLine]
    label: str


def cells_page(path: str, lines: Sequence[str], first: int, last: int) -> CellsPage | None:
    """Return the cells with some lines of the file, and ten lines around; None for no notebook.

    None also where the lines are in no cell, such as those of its metadata. `first` is 0 for the beginning.
    """
    if not path.endswith(".ipynb"):
        return None
    try:
        document = read_cells(path, "\n".join(lines).encode("utf-8", "replace"))
    except UnreadableNotebook:
        return None
    # The source stands above its output, as in a notebook; in most files it is below.
    texts = sorted(document.texts, key=lambda text: (text.cell, text.kind == "output"))
    all_lines = [
        CellLine(text, number, 0 < first <= line <= last)
        for text in texts
        for number, line in enumerate(text.file_lines)
    ]
    start, end = 0, _PAGE
    if first:
        highlighted = [index for index, line in enumerate(all_lines) if line.is_highlighted]
        if not highlighted:
            return None
        start, end = max(highlighted[0] - _AROUND, 0), min(highlighted[-1] + _AROUND + 1, highlighted[0] + _MAX_LINES)
    page_lines = all_lines[start:end]
    label = f"{count_of(len(page_lines), 'line')} of {len(all_lines):,} in {count_of(document.cells, 'cell')}"
    return CellsPage(page_lines, label)


def _groups(page: CellsPage) -> Iterator[tuple[CellText, list[CellLine]]]:
    group: list[CellLine] = []
    for line in page.lines:
        if group and group[0].text is not line.text:
            yield group[0].text, group
            group = []
        group.append(line)
    if group:
        yield group[0].text, group


def _heading(text: CellText) -> str:
    language = f", {text.language}" if text.kind == CODE and text.language else ""
    return f"Cell {text.cell} ({text.kind}{language})"


def notebook_text(page: CellsPage) -> list[str]:
    """The lines as plain text, under a heading for each source and output."""
    result = []
    for text, lines in _groups(page):
        result.append(_heading(text))
        width = len(str(lines[-1].number + 1))
        result += [
            f"{'>' if line.is_highlighted else ' '} {line.number + 1:>{width}} {visible(line.line_text[:500])}"
            for line in lines
        ]
    return result


def notebook_rows(page: CellsPage, spans: tuple[Sequence[int], Sequence[int]]) -> list[str]:
    """The lines as rows of HTML; `spans` are marked in the first highlighted one."""
    rows = []
    pending = spans
    for text, lines in _groups(page):
        rows.append(f'<tr class="sl-hunk"><td class="sl-no"></td><td>{escape(_heading(text))}</td></tr>')
        is_code = text.kind == CODE and len(text.text) <= _MAX_TOKEN_CHARS
        source = text.text.decode("utf-8", "replace").split("\n") if is_code else []
        tokens = line_tokens(source, text.language)
        for line in lines:
            marks: tuple[Sequence[int], Sequence[int]] = ((), ())
            if line.is_highlighted:
                marks, pending = pending, ((), ())
            visible = line.line_text
            if is_code and len(visible) <= _MAX_LINE_CHARS:
                html = highlight_code(visible, tokens[line.number], *marks)
            else:
                html = highlight(*cut_window(visible, *marks, longest=_MAX_LINE_CHARS))
            class_attribute = ' class="sl-here"' if line.is_highlighted else ""
            rows.append(f'<tr{class_attribute}><td class="sl-no">{line.number + 1}</td><td>{html}</td></tr>')
    return rows
