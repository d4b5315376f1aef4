"""A file as HTML and text, with highlighted lines; a Jupyter notebook by its cells, instead of its JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from sourcelight.core.cells import UnreadableNotebook, is_jupyter
from sourcelight.core.cells.reading import (
    CellLine,
    add_chunk_tokens,
    chunk_headings,
    chunks_of,
    heading_of,
    lines_in_order,
    read_lines,
    tokens_of,
)
from sourcelight.core.markup import NO_MATH, count_of, escape, highlight, one_line, visible
from sourcelight.core.markup.highlighting import Token, highlight_code, line_tokens
from sourcelight.core.query.languages import language_of
from sourcelight.display.notebook.views.links import Link, LinkResolver, anchor
from sourcelight.display.notebook.views.marked_text import STYLE, code_cell, cut_window

AROUND = 10
"""Lines around the requested ones."""

PAGE = 60
"""Lines without requested ones."""

_MAX_LINES = 400
"""Lines at most."""

_MAX_LINE_CHARS = 2_000
"""Characters of a line that is displayed."""

_MAX_READ_CHARS = 150_000
"""Characters before the displayed lines up to which all are read for highlighting: a text in quotes may begin far
above."""


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
    start, end = 0, PAGE
    if first:
        positions = [index for index, line in enumerate(all_lines) if line.file_line in highlighted]
        if not positions:
            return None
        start, end = max(positions[0] - AROUND, 0), min(positions[-1] + AROUND + 1, positions[0] + _MAX_LINES)

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


@dataclass(frozen=True, slots=True)
class FileContent:
    """The data of a view of a file.

    `lines` are all lines from the first; `first` and `last` bound those to highlight, 0 for none; `spans` are starts
    and ends, in code points, of what to mark in the line `first`: of a notebook, in the line of its cell.
    """

    repository: str
    commit: str
    path: str
    lines: Sequence[str]
    first: int = 0
    last: int = 0
    spans: tuple[Sequence[int], Sequence[int]] = ((), ())
    links: LinkResolver = field(default_factory=LinkResolver)


def notebook_page(content: FileContent) -> CellsPage | None:
    """Return the cells displayed of a Jupyter notebook, or None for another file, or if its JSON is more useful."""
    return cells_page(content.path, content.lines, content.first, max(content.last, content.first))


def file_text(content: FileContent) -> str:
    """Return the view as plain text; highlighted lines have a ``>`` in front."""
    page = notebook_page(content)
    if page is not None:
        return "\n".join([f"{_title(content)} ({page.label})", *notebook_text(page)])

    first, last = _bounds(content)
    width = len(str(last))
    highlighted = range(content.first, max(content.last, content.first) + 1) if content.first else range(0)
    headings = chunk_headings(chunks_of(content.path, content.lines), first)
    body = []
    for number in range(first, last + 1):
        body += [headings[number]] if number in headings else []
        marker = ">" if number in highlighted else " "
        body.append(f"{marker} {number:>{width}} {visible(content.lines[number - 1][:500])}")

    return "\n".join([f"{_title(content)} ({_lines_text(content)})", *body])


def _title(content: FileContent) -> str:
    lines = ""
    if content.first:
        lines = f":{content.first}" + (f"-{content.last}" if content.last > content.first else "")
    return one_line(f"{content.repository}/{content.path}{lines}", 300)


def _bounds(content: FileContent) -> tuple[int, int]:
    """Return the first and last line displayed."""
    total = len(content.lines)
    if not content.first:
        return 1, min(PAGE, total)
    first = max(1, content.first - AROUND)
    return first, min(total, max(content.last, content.first) + AROUND, first + _MAX_LINES - 1)


def _lines_text(content: FileContent) -> str:
    first, last = _bounds(content)
    total = len(content.lines)
    if not total:
        return "an empty file"
    if (first, last) == (1, total):
        return count_of(total, "line")
    return f"lines {first:,} to {last:,} of {total:,}"


def file_html(content: FileContent) -> str:
    """Return the view as HTML."""
    page = notebook_page(content)
    if page is not None:
        return _full_html(content, page.label, notebook_rows(page, content.spans))

    first, last = _bounds(content)
    rows = []
    tokens = _tokens(content, first, last)
    chunks = chunks_of(content.path, content.lines)
    add_chunk_tokens(tokens, first, chunks, language_of(content.path))
    headings = chunk_headings(chunks, first)
    for number in range(first, last + 1):
        rows += [heading_row(headings[number])] if number in headings else []
        is_visible = bool(content.first) and content.first <= number <= max(content.last, content.first)
        spans = content.spans if number == content.first else ((), ())
        line = content.lines[number - 1]
        if len(line) > _MAX_LINE_CHARS:
            line_html = highlight(*cut_window(line, *spans, longest=_MAX_LINE_CHARS))
        else:
            line_html = highlight_code(line, tokens[number - first], *spans)

        rows.append(
            f'<tr{" class=sl-here" if is_visible else ""}><td class="sl-no">{number}</td>{code_cell(line_html)}</tr>'
        )

    return _full_html(content, _lines_text(content), rows)


def _full_html(content: FileContent, lines_text: str, rows: Sequence[str]) -> str:
    links = content.links.file(content.repository, content.commit, content.path, content.first)
    label = escape(f"Lines of {_title(content)}")
    return (
        f'{STYLE}<div class="sl-view {NO_MATH}"><div class="sl-title"><b>{escape(_title(content))}</b>'
        f'<span class="sl-dim">{escape(lines_text)}{_commit_suffix(content.commit)}</span>{open_links(links)}</div>'
        f'<div class="sl-lines" role="region" tabindex="0" aria-label="{label}">'
        f"<table><tbody>{''.join(rows)}</tbody></table></div></div>"
    )


def _tokens(content: FileContent, first: int, last: int) -> list[list[Token]]:
    """Return tokens of the displayed lines; reads from the start of the file, where a string or comment may begin."""
    language = language_of(content.path)
    before = sum(len(content.lines[number]) for number in range(last))
    start = 0 if before <= _MAX_READ_CHARS else first - 1
    return line_tokens([content.lines[number] for number in range(start, last)], language)[first - 1 - start :]


def _commit_suffix(commit: str) -> str:
    return f" at {escape(one_line(commit[:10], 10))}" if commit else ""


def open_links(links: Sequence[Link]) -> str:
    """Return HTML of links to all of some places."""
    words = {"service": "Open at the service"}
    return " ".join(anchor(words.get(link.kind, f"Open in {link.words}"), [link]) for link in links)


class FileView:
    """A file with some lines highlighted; made by ``view_file``. It shows these with ten around; `lines` has all.

    Attributes
    ----------
    repository, commit, path
        Which file it is.
    first, last
        Bounds of the highlighted lines, from 1; 0 for none.
    lines
        DataFrame of all lines; columns as in ``columns_of("file_lines")``.
    links
        Where it can be opened, the best place first; each has `kind`, `words` and `href`.
    """

    def __init__(self, content: FileContent, lines: Any) -> None:
        self._content = content
        self.repository, self.commit, self.path = content.repository, content.commit, content.path
        self.first, self.last = content.first, content.last
        self.lines = lines

    def __len__(self) -> int:
        return len(self._content.lines)

    @property
    def links(self) -> tuple[Link, ...]:
        """Links that open it."""
        return tuple(self._content.links.file(self.repository, self.commit, self.path, self.first))

    def __repr__(self) -> str:
        return file_text(self._content)

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        return {"text/plain": file_text(self._content), "text/html": file_html(self._content)}
