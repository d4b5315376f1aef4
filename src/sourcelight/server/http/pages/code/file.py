"""The page of a file: its lines, their commits, the history of some of them, and its definitions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.reading import add_chunk_tokens, chunk_headings, chunks_of
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.markup.highlighting import Token, line_tokens
from sourcelight.core.query.languages import language_of
from sourcelight.server.http.pages.code.cells import LINES_VIEW, CellTable, RequestedCells, cell_table
from sourcelight.server.http.pages.code.elements import MAX_LISTED, commit_url, head, line_html
from sourcelight.server.http.pages.frame import page

MAX_LINES = 5_000
"""Lines of one page. A page of a longer file is a window, and links lead to the others."""

_CONTEXT_LINES = 1_000
"""Lines of a window before the requested one."""

_MAX_COLORED_CHARS = 400_000
"""Characters beyond which lines have no colors, because finding them would take a while."""

OUTLINE = "outline"
"""The part of a page with the definitions of its file."""

# The page's script fills this panel when a reader clicks a name.
_NAME_PANEL = (
    '<section class="names" aria-label="Definition and references" aria-live="polite" hidden>'
    '<h2><a href="#">Name</a> <button>Close</button></h2><div></div></section>'
)


@dataclass(frozen=True, slots=True)
class FilePageView:
    """The parts of the page of a file beside its lines.

    Parameters
    ----------
    requested
        First and last line to mark; None: none.
    outline
        Definitions of the file; None: not known.
    blame
        Commits of the lines; None: not requested.
    note
        Why something is missing; empty: nothing is.
    history
        Commits that changed the requested lines, or the file without them; None: not requested.
    use
        HTML of the page in Python.
    outline_url
        Address of the page that waits for the definitions; empty: they are known, or there are none.
    cell
        Cell of a notebook to begin with; 0: the first one.
    as_lines
        Whether to show the lines of a notebook's file instead of its cells.
    """

    requested: tuple[int, int] | None = None
    outline: ToolResult | None = None
    blame: ToolResult | None = None
    note: str = ""
    history: ToolResult | None = None
    use: str = ""
    outline_url: str = ""
    cell: int = 0
    as_lines: bool = False


def file_page(answer: ToolResult, view: FilePageView, *, prefix: str) -> Response:
    """Render a file; highlights the requested lines."""
    info = answer.attributes
    name = info["repository"]
    path = info["path"]
    address = file_url(prefix, name, info["commit"], path)
    lines = _page_lines(answer, view, prefix)
    notices = "".join(f"<p>{escape(notice)}</p>" for notice in answer.notices)
    if lines.note:
        notices += f'<p class="warn">{escape(lines.note)}</p>'

    aside = _history(view, name, path, prefix) + _line_commits(view, name, prefix) + _outline(view, address)
    if aside:
        aside = f"<aside>{aside}</aside>"

    # The page's script selects lines of the file by a click on their number.
    table = '<table class="lines" data-file>' if lines.has_file_lines else '<table class="lines">'
    body = (
        f"{head(info, prefix, path)}{notices}{_file_actions(info, view, prefix)}"
        f'<p class="quiet">{"; ".join(lines.summary)}</p>'
        '<div class="beside"><div class="scroll" role="region" aria-label="Lines of the file" tabindex="0">'
        f"{table}<tbody>{lines.rows}</tbody></table></div>"
        f"{aside}</div>{_NAME_PANEL}"
    )
    return page(f"{path} \u00b7 {name}", body, prefix=prefix, wide=True)


@dataclass(frozen=True, slots=True)
class _PageLines:
    """The lines of a page, or the cells of a notebook in their place.

    `rows` and `summary` are HTML; `note` says why something is missing. The numbers of lines select them if the lines
    are those of the file.
    """

    rows: str
    summary: list[str]
    note: str
    has_file_lines: bool


def _page_lines(answer: ToolResult, view: FilePageView, prefix: str) -> _PageLines:
    """Return the lines of a file, or the cells of a notebook if these can be shown."""
    info = answer.attributes
    path = info["path"]
    texts: Sequence[str] = answer.table.column("line").to_pylist()
    blame = _blame_cells(view.blame, info["repository"], prefix)
    address = file_url(prefix, info["repository"], info["commit"], path)
    lines = f"L{_line_range(view)}" if view.requested else ""
    cells: CellTable | str = ""
    if not view.as_lines:
        cells = cell_table(path, texts, RequestedCells(view.requested, view.cell), blame, address)

    if isinstance(cells, CellTable):
        query = f"{lines}&amp;view={LINES_VIEW}" if lines else f"view={LINES_VIEW}"
        link = f'<a href="{escape(address)}?{query}">Lines of the file</a>'
        return _PageLines(cells.rows, [*cells.summary, link], view.note, cells.has_file_lines)

    rows, summary = _line_rows(texts, view, path, blame, address)
    if is_jupyter(path):
        # If a line is in no cell, the link back to the cells doesn't request it again.
        query = f"?{lines}" if lines and view.as_lines else ""
        summary.append(f'<a href="{escape(address)}{query}">Cells</a>')
    return _PageLines(rows, summary, view.note or cells, has_file_lines=True)


def _line_range(view: FilePageView) -> str:
    """Return the requested lines as addresses have them: ``3-9``, ``3`` for one line, empty for none."""
    if view.requested is None:
        return ""
    first, last = view.requested
    if first == last:
        return f"{first}"
    return f"{first}-{last}"


def _line_rows(
    texts: Sequence[str], view: FilePageView, path: str, blame: Mapping[int, str], address: str
) -> tuple[str, list[str]]:
    """Return the lines of a file as rows of HTML, with a note about their share of the file."""
    total = len(texts)
    first, last = view.requested or (0, 0)
    start = 1
    end = total
    # A window around the requested line; links lead to the other windows.
    if total > MAX_LINES:
        start = min(max(1, first - _CONTEXT_LINES), max(1, total - MAX_LINES + 1))
        end = min(total, start + MAX_LINES - 1)

    visible = texts[start - 1 : end]
    colors = _line_colors(visible, path)
    chunks = chunks_of(path, texts)
    add_chunk_tokens(colors, start, chunks, language_of(path))
    headings = chunk_headings(chunks, start)
    no_blame = "<td class=blame></td>" if blame else ""
    rows = []
    for number, text, color in zip(range(start, end + 1), visible, colors, strict=True):
        if number in headings:
            heading = escape(headings[number])
            rows.append(f'<tr class="cell"><td></td>{no_blame}<th scope="rowgroup">{heading}</th></tr>\n')

        mark = " class=hit" if first <= number <= last else ""
        focus = " autofocus" if number == first else ""
        rows.append(
            f'<tr id="L{number}"{mark}><td><a href="#L{number}"{focus}>{number}</a></td>'
            f"{blame.get(number, no_blame)}<td>{line_html(text, color)}</td></tr>\n"
        )

    summary = [count_of(total, "line")]
    if first > total:
        summary.append(f"the file has no line {first:,}")
    elif first:
        marked_lines = f"lines {first:,} to {last:,}" if last > first else f"line {first:,}"
        summary.append(f"{marked_lines} highlighted")

    if (start, end) != (1, total):
        summary.append(f"lines {start:,} to {end:,} shown")
        starts = range(1, total + 1, MAX_LINES - 2 * _CONTEXT_LINES)
        summary += [f'<a href="{escape(address)}?L{number}">from line {number:,}</a>' for number in starts]

    return "".join(rows), summary


def _file_actions(info: Mapping[str, str], view: FilePageView, prefix: str) -> str:
    """Return links to other views of a file, a form for a name in it, and the way to it in Python."""
    name = info["repository"]
    commit = info["commit"]
    path = info["path"]
    address = file_url(prefix, name, commit, path, view.requested)
    base_address, _, _ = address.partition("?")
    view_field = ""
    if view.as_lines:
        view_field = f'<input type="hidden" name="view" value="{LINES_VIEW}">'
    symbol = f"{repository_url(prefix, name, commit)}/-/symbol/{quote(path, errors='replace')}"
    lines_form = (
        f'<form class="inline" action="{escape(base_address)}">'
        f'<input name="lines" aria-label="Lines" size="9" value="{_line_range(view)}" placeholder="lines 3-9" '
        'pattern="[0-9]+(-[0-9]+)?" maxlength="20"><button>Show</button>'
        '<button name="blame" value="1">Blame</button><button name="history" value="1" '
        'title="History of the lines, or of the whole file if no lines are given">History</button>'
        f"{view_field}</form>"
    )
    name_form = (
        f'<form class="inline" action="{escape(symbol)}">'
        '<input name="name" aria-label="Name in this file" size="22" placeholder="name, or click one" '
        'maxlength="200" required autocapitalize="none" spellcheck="false">'
        "<button>Definition and references</button></form>"
    )
    return (
        f'<nav class="actions" aria-label="Views of the file"><a data-permalink href="{escape(address)}">Permalink</a>'
        f"{lines_form}{name_form}{view.use}</nav>"
    )


def _line_colors(lines: Sequence[str], path: str) -> list[list[Token]]:
    """Return the colors of each line; none for many or long lines."""
    if sum(map(len, lines)) > _MAX_COLORED_CHARS:
        return [[] for _ in lines]
    return line_tokens(lines, language_of(path))


def _blame_cells(blame: ToolResult | None, name: str, prefix: str) -> dict[int, str]:
    """Return the cell of each line with its commit, by line number; empty below a line of the same commit."""
    if blame is None:
        return {}

    cells: dict[int, str] = {}
    previous_commit = None
    for row in blame.table.to_pylist():
        label = "" if row["commit"] == previous_commit else _blame_label(row, name, prefix)
        cells[row["line_number"]] = f'<td class="blame">{label}</td>'
        previous_commit = row["commit"]

    return cells


def _blame_label(row: Mapping[str, Any], name: str, prefix: str) -> str:
    """Return the day and the author of a line, linked to its commit."""
    day = "" if row["author_date"] is None else row["author_date"].date().isoformat()
    author = one_line(row["author"] or "", 30)
    subject = one_line(row["subject"] or "", 200)
    address = commit_url(prefix, name, row["commit"])
    return f'<a href="{escape(address)}" title="{escape(subject)}">{day} {escape(author)}</a>'


def _line_commits(view: FilePageView, name: str, prefix: str) -> str:
    """Return the last commits of the highlighted lines, or of all lines, newest first."""
    if view.blame is None:
        return ""

    rows = view.blame.table.to_pylist()
    title = "Commits of these lines"
    if view.requested is not None:
        first, last = view.requested
        rows = [row for row in rows if first <= row["line_number"] <= last]
        title = "Commits of the highlighted lines"

    counts = Counter(row["commit"] for row in rows)
    by_commit = {row["commit"]: row for row in rows}
    newest = sorted(by_commit.values(), key=lambda row: str(row["commit_date"]), reverse=True)
    items = ""
    for row in newest[:MAX_LISTED]:
        line_count = count_of(counts[row["commit"]], "line")
        items += _commit_item(row, name, prefix, [line_count])
    return f"<h2>{title}</h2><ul>{items}</ul>"


def _history(view: FilePageView, name: str, path: str, prefix: str) -> str:
    """Return the commits that changed the highlighted lines, or the whole file, at any time, newest first."""
    history = view.history
    if history is None:
        return ""

    # The two tables name their columns differently.
    if view.requested is None:
        title = "History of the file"
        added, removed = "additions", "deletions"
    else:
        title = "History of the highlighted lines"
        added, removed = "added", "removed"

    rows = history.table.to_pylist()
    items = []
    for row in rows:
        details = [f"{row['commit_date']:%Y-%m-%d}", f"+{row[added] or 0:,} \u2212{row[removed] or 0:,}"]
        if row["path"] != path:
            details.append(f"as {escape(row['path'])}")
        items.append(_commit_item(row, name, prefix, details))

    notices = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in history.notices)
    return f"<h2>{title}</h2>{notices}<p>{count_of(len(rows), 'commit')}</p><ul>{''.join(items)}</ul>"


def _commit_item(row: Mapping[str, Any], name: str, prefix: str, details: Sequence[str]) -> str:
    """Return an item of a list of commits: the subject as a link, the author, and `details`, which are HTML."""
    address = commit_url(prefix, name, row["commit"])
    subject = one_line(row["subject"] or "", 80)
    small = ", ".join([escape(row["author"] or ""), *details])
    return f'<li><a href="{escape(address)}">{escape(subject)}</a> <span class="quiet">{small}</span></li>'


def _outline(view: FilePageView, address: str) -> str:
    """Return the definitions of the file, or a link that loads them; empty if it has none."""
    start = f'<section data-part="{OUTLINE}"><h2>Definitions</h2>'
    if view.outline_url:
        link = f'<a href="{escape(view.outline_url)}" data-load>Show definitions</a>'
        return f'{start}<p class="quiet">{link}</p></section>'

    if view.outline is None:
        return ""

    items = ""
    for row in view.outline.table.to_pylist()[:MAX_LISTED]:
        items += (
            f'<li><a href="{escape(address)}?L{row["line_number"]}"><code>{escape(row["symbol"])}</code></a> '
            f'<span class="kind">{escape(row["kind"] or "")}</span></li>'
        )
    if not items:
        return ""
    return f"{start}<ul>{items}</ul></section>"
