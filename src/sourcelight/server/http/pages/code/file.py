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
_CONTEXT_LINES = 1_000
_MAX_COLORED_CHARS = 400_000

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
    texts: Sequence[str] = answer.table.column("line").to_pylist()
    blame = _blame_cells(view.blame, info["repository"], prefix)
    address = file_url(prefix, info["repository"], info["commit"], info["path"])
    note, switch = view.note, ""
    requested = RequestedCells(view.requested, view.cell)
    cells = "" if view.as_lines else cell_table(info["path"], texts, requested, blame, address)
    lines = f"L{'-'.join(f'{line}' for line in dict.fromkeys(view.requested))}" if view.requested else ""
    if isinstance(cells, CellTable):
        rows, summary = cells.rows, cells.summary
        query = "&amp;".join(filter(None, (lines, f"view={LINES_VIEW}")))
        switch = f'<a href="{escape(address)}?{query}">Lines of the file</a>'
    else:
        rows, summary = _line_rows(texts, view, info["path"], blame, address)
        note = note or cells
        if is_jupyter(info["path"]):
            # If a line is in no cell, the link back to the cells doesn't request it again.
            switch = f'<a href="{escape(address)}{f"?{lines}" if lines and view.as_lines else ""}">Cells</a>'

    summary += [switch] if switch else []
    notices = "".join(f"<p>{escape(notice)}</p>" for notice in answer.notices)
    notices += f'<p class="warn">{escape(note)}</p>' if note else ""
    aside = _history(view, info["repository"], info["path"], prefix)
    aside += _line_commits(view, info["repository"], prefix) + _outline(view, address)
    data_file = " data-file" if not isinstance(cells, CellTable) or cells.has_file_lines else ""
    body = (
        f"{head(info, prefix, info['path'])}{notices}{_file_actions(info, view, prefix)}"
        f'<p class="quiet">{"; ".join(summary)}</p><div class="beside"><div class="scroll" role="region" '
        f'aria-label="Lines of the file" tabindex="0"><table class="lines"{data_file}><tbody>{rows}</tbody>'
        "</table></div>"
        f"{f'<aside>{aside}</aside>' if aside else ''}</div>{_NAME_PANEL}"
    )
    return page(f"{info['path']} \u00b7 {info['repository']}", body, prefix=prefix, wide=True)


def _line_rows(
    texts: Sequence[str], view: FilePageView, path: str, blame: Mapping[int, str], address: str
) -> tuple[str, list[str]]:
    """Return the lines of a file as rows of HTML, with a note about their share of the file."""
    total = len(texts)
    first, last = view.requested or (0, 0)
    start, end = 1, total

    # A window around the requested line; links lead to the other windows.
    if total > MAX_LINES:
        start = min(max(1, first - _CONTEXT_LINES), max(1, total - MAX_LINES + 1))
        end = min(total, start + MAX_LINES - 1)

    visible = texts[start - 1 : end]
    colors = _line_colors(visible, path)
    chunks = chunks_of(path, texts)
    add_chunk_tokens(colors, start, chunks, language_of(path))
    headings = chunk_headings(chunks, start)
    rows = []
    for number, text, color in zip(range(start, end + 1), visible, colors, strict=True):
        if number in headings:
            empty = "<td class=blame></td>" if blame else ""
            rows.append(f'<tr class="cell"><td></td>{empty}<th scope="rowgroup">{escape(headings[number])}</th></tr>\n')
        rows.append(
            f'<tr id="L{number}"{" class=hit" if first <= number <= last else ""}><td>'
            f'<a href="#L{number}"{" autofocus" if number == first else ""}>{number}</a></td>'
            f"{blame.get(number, '<td class=blame></td>') if blame else ''}<td>{line_html(text, color)}</td></tr>\n"
        )

    summary = [count_of(total, "line")]
    if first:
        marked_lines = f"lines {first:,} to {last:,}" if last > first else f"line {first:,}"
        summary.append(f"{marked_lines} highlighted" if first <= total else f"the file has no line {first:,}")

    if (start, end) != (1, total):
        summary.append(f"lines {start:,} to {end:,} shown")
        summary += [
            f'<a href="{escape(address)}?L{number}">from line {number:,}</a>'
            for number in range(1, total + 1, MAX_LINES - 2 * _CONTEXT_LINES)
        ]

    return "".join(rows), summary


def _file_actions(info: Any, view: FilePageView, prefix: str) -> str:
    """Return links to other views of a file, a form for a name in it, and the way to it in Python."""
    name, commit, path = info["repository"], info["commit"], info["path"]
    address = file_url(prefix, name, commit, path, view.requested)
    base_address = address.partition("?")[0]
    lines = "-".join(map(str, dict.fromkeys(view.requested))) if view.requested else ""
    shown_view = f'<input type="hidden" name="view" value="{LINES_VIEW}">' if view.as_lines else ""
    symbol = f"{repository_url(prefix, name, commit)}/-/symbol/{quote(path, errors='replace')}"
    return (
        f'<nav class="actions" aria-label="Views of the file"><a data-permalink href="{escape(address)}">Permalink</a>'
        f'<form class="inline" action="{escape(base_address)}"><input name="lines" aria-label="Lines" size="9" '
        f'value="{lines}" placeholder="lines 3-9" '
        'pattern="[0-9]+(-[0-9]+)?" maxlength="20"><button>Show</button>'
        '<button name="blame" value="1">Blame</button><button name="history" value="1" '
        'title="History of the lines, or of the whole file if no lines are given">History</button>'
        f'{shown_view}</form><form class="inline" action="{escape(symbol)}"><input name="name" '
        'aria-label="Name in this file" '
        'size="22" placeholder="name, or click one" maxlength="200" required autocapitalize="none" '
        'spellcheck="false">'
        f"<button>Definition and references</button></form>{view.use}</nav>"
    )


def _line_colors(lines: Sequence[str], path: str) -> list[list[Token]]:
    """Return the colors of each line; none for lines so long that looking for them would take a while."""
    if sum(map(len, lines)) > _MAX_COLORED_CHARS:
        return [[] for _ in lines]
    return line_tokens(lines, language_of(path))


def _blame_cells(blame: ToolResult | None, name: str, prefix: str) -> dict[int, str]:
    cells: dict[int, str] = {}
    before = None
    for row in [] if blame is None else blame.table.to_pylist():
        label = ""
        if row["commit"] != before:
            before = row["commit"]
            date = row["author_date"].date().isoformat() if row["author_date"] is not None else ""
            subject, address = one_line(row["subject"] or "", 200), commit_url(prefix, name, before)
            label = (
                f'<a href="{escape(address)}" title="{escape(subject)}">'
                f"{date} {escape(one_line(row['author'] or '', 30))}</a>"
            )

        cells[row["line_number"]] = f'<td class="blame">{label}</td>'

    return cells


def _line_commits(view: FilePageView, name: str, prefix: str) -> str:
    """Return the last commits of the highlighted lines, or of all lines, newest first."""
    if view.blame is None:
        return ""

    first, last = view.requested or (1, 1 << 31)
    rows = [row for row in view.blame.table.to_pylist() if first <= row["line_number"] <= last]
    counts = Counter(row["commit"] for row in rows)
    by_commit = {row["commit"]: row for row in rows}
    newest = sorted(by_commit.values(), key=lambda row: str(row["commit_date"]), reverse=True)
    items = "".join(
        f'<li><a href="{escape(commit_url(prefix, name, row["commit"]))}">'
        f"{escape(one_line(row['subject'] or '', 80))}</a>"
        f' <span class="quiet">{escape(row["author"] or "")}, {count_of(counts[row["commit"]], "line")}</span></li>'
        for row in newest[:MAX_LISTED]
    )
    title = "Commits of the highlighted lines" if view.requested else "Commits of these lines"
    return f"<h2>{title}</h2><ul>{items}</ul>"


def _history(view: FilePageView, name: str, path: str, prefix: str) -> str:
    """Return the commits that changed the highlighted lines, or the whole file, at any time, newest first."""
    history = view.history
    if history is None:
        return ""

    rows = history.table.to_pylist()
    title, added, removed = "History of the file", "additions", "deletions"
    if view.requested is not None:
        title, added, removed = "History of the highlighted lines", "added", "removed"

    items = "".join(
        f'<li><a href="{escape(commit_url(prefix, name, row["commit"]))}">{escape(one_line(row["subject"] or "", 80))}'
        f'</a> <span class="quiet">{escape(row["author"] or "")}, {row["commit_date"]:%Y-%m-%d}, +{row[added] or 0:,} '
        f"\u2212{row[removed] or 0:,}{'' if row['path'] == path else ', as ' + escape(row['path'])}</span></li>"
        for row in rows
    )
    notices = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in history.notices)
    return f"<h2>{title}</h2>{notices}<p>{count_of(len(rows), 'commit')}</p><ul>{items}</ul>"


def _outline(view: FilePageView, address: str) -> str:
    start = f'<section data-part="{OUTLINE}"><h2>Definitions</h2>'
    if view.outline_url:
        link = f'<a href="{escape(view.outline_url)}" data-load>Show definitions</a>'
        return f'{start}<p class="quiet">{link}</p></section>'

    rows = [] if view.outline is None else view.outline.table.to_pylist()[:MAX_LISTED]
    items = "".join(
        f'<li><a href="{escape(address)}?L{row["line_number"]}"><code>{escape(row["symbol"])}</code></a> '
        f'<span class="kind">{escape(row["kind"] or "")}</span></li>'
        for row in rows
    )
    return f"{start}<ul>{items}</ul></section>" if items else ""
