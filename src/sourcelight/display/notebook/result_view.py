"""A result as HTML for a notebook cell, or for a page.

Every piece of text is escaped before it gets its tags. The table reads well without its style, which a reopened,
untrusted notebook does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

from sourcelight.core.batches import SERVICE
from sourcelight.core.cells.json_lines import ShownLine, context_lines, has_json_line, row_line
from sourcelight.core.markup import NO_MATH, count_of, escape, highlight, link, one_line
from sourcelight.display.notebook import result_text
from sourcelight.display.notebook.html_pages import html_page
from sourcelight.display.notebook.views.links import Link, LinkResolver, anchor
from sourcelight.display.notebook.views.marked_text import MAX_CHARS, cut_window, with_breaks

_COMMIT_DIGITS = 10
"""Digits of a commit in a cell."""

_STYLE = """<style>
.sl-result{color:var(--jp-ui-font-color1,inherit);font-size:13px}
.sl-result .sl-head{border-left:4px solid var(--sl-color);padding:2px 10px;margin-bottom:6px}
.sl-result .sl-head code{color:var(--jp-ui-font-color1,inherit);background:none;padding:0}
.sl-result ul{margin:2px 0}
.sl-result .sl-services{list-style:none;padding-left:0}
.sl-result .sl-service{border-bottom:2px solid var(--sl-color)}
.sl-result .sl-warning{color:var(--jp-warn-color0,#b35c00)}
.sl-result .sl-error{color:var(--jp-error-color1,#d32f2f)}
.sl-result .sl-scroll{overflow-x:auto;max-width:100%}
.sl-result .sl-short{white-space:pre}
.sl-result .sl-scroll:focus-visible,.sl-result a:focus-visible{outline:2px solid var(--jp-brand-color1,#1976d2);
outline-offset:1px}
.sl-result table{border-collapse:collapse;margin:0;font-size:12px;border:none}
.sl-result th,.sl-result td{text-align:left !important;vertical-align:top;padding:3px 12px 3px 0;white-space:nowrap}
.sl-result td.sl-text,.sl-result td.sl-name{white-space:normal;overflow-wrap:break-word}
.sl-result th{font-weight:600;color:var(--jp-ui-font-color2,inherit);
border-bottom:1px solid var(--jp-border-color1,rgba(127,127,127,.5))}
.sl-result tbody tr{background:none !important;border-bottom:1px solid var(--jp-border-color2,rgba(127,127,127,.25))}
.sl-result tbody tr:hover{background:var(--jp-layout-color2,rgba(127,127,127,.12)) !important}
.sl-result td.sl-code,.sl-result pre{font-family:var(--jp-code-font-family,monospace);white-space:pre;tab-size:4}
.sl-result td>pre{all:unset !important}
.sl-result td.sl-code{white-space:pre-wrap;overflow-wrap:anywhere;min-width:12em}
.sl-result td.sl-name{overflow-wrap:break-word;min-width:0}
.sl-result td.sl-count,.sl-result th.sl-count{text-align:right !important;font-variant-numeric:tabular-nums}
.sl-result a{color:var(--jp-content-link-color,#1565c0)}
.sl-result mark{background:rgba(255,170,0,.4);color:inherit;font-weight:bold}
.sl-result pre{margin:0 0 8px;padding:4px;overflow-x:auto;background:var(--jp-layout-color2,rgba(127,127,127,.12))}
.sl-result .sl-gap{color:var(--jp-ui-font-color2,inherit);font-size:11px;padding:0 4px 8px}
.sl-result .sl-number{color:var(--jp-ui-font-color2,inherit);user-select:none}
.sl-result .sl-more{color:var(--jp-ui-font-color2,inherit);margin-top:6px}
</style>"""

_COLORS = {
    "complete": "var(--jp-success-color1,#388e3c)",
    "partial": "var(--jp-ui-font-color2,#616161)",
    "limited": "var(--jp-warn-color1,#f57c00)",
    "interrupted": "var(--jp-warn-color1,#f57c00)",
    "failed": "var(--jp-error-color1,#d32f2f)",
}

_SPAN_COLUMNS = frozenset({"start", "end", "name_start", "name_end", "match_count", "repository_id", "type", "url"})
"""Columns that a reader sees otherwise: as marks and as links."""

_CHUNK_COLUMNS = frozenset({"chunk", "chunk_start_line", "truncated"})

_OF_LINES = ("line_number", "cell", "cell_kind", "cell_line")
"""Columns of a line in a file, which messages of commits don't have."""

_OF_HISTORY = ("repository", "commit", "author", "author_date", "path", *_OF_LINES, "side", "line")
"""Columns of commits and changed lines, in this order."""

_CLASSES = {
    "line_number": " class=sl-count",
    **dict.fromkeys(("repository", "author", "container", SERVICE.name), " class=sl-text"),
    **dict.fromkeys(("line", "symbol", "message"), " class=sl-code"),
    "path": ' class="sl-code sl-name"',
}
"""Attribute of the cells of a column; others have none."""

_MAX_CHUNK_LINES = 200
"""Lines of a chunk that are shown, so that one match doesn't fill a page."""


def result_html(view: result_text.ResultView) -> str:
    """Return the whole view, for a cell."""
    hint = ": <code>.explore()</code> shows all of them, <code>.matches</code> is their table"
    return f'{_STYLE}<div class="sl-result {NO_MATH}">{_contents(view, hint)}</div>'


def result_page(view: result_text.ResultView, origin: str) -> str:
    """Return a self-contained page to send to others; `origin` is the query and its time."""
    note = f'<div class="sl-more">{escape(one_line(origin, 300))}</div>'
    body = f'{_STYLE}<main class="sl-result">{_contents(view, " are on this page")}{note}</main>'
    return html_page(f"{result_text.headline(view)} \u2013 {view.query}", body, width="100rem")


def _contents(view: result_text.ResultView, hint: str) -> str:
    """Draw banner, rows, and how many there are of all, with `hint` behind."""
    rows = result_text.first_rows(view.batches, view.page)
    has_chunks = any(row["chunk"] is not None for row in rows)
    html = _banner(view)
    html += _chunks(rows, view.links) if has_chunks else _table(rows, view.links)
    if len(rows) < view.rows:
        html += f'<div class="sl-more">{len(rows):,} of {view.rows:,} rows{hint}</div>'
    return html


def _banner(view: result_text.ResultView) -> str:
    items = ""
    for severity, text in result_text.statements(view):
        items += f'<li class="sl-{severity}"><b>{severity}</b> {escape(one_line(text, 500))}</li>'

    notes = ""
    if items:
        notes = f'<ul aria-label="Skipped work and alerts">{items}</ul>'
    return (
        f'<div class="sl-head" role="status" style="--sl-color:{_COLORS[view.status]}">'
        f"<b>{result_text.headline(view)}</b><br>"
        f"<code>{escape(one_line(view.query, 300))}</code>{_services(view)}{notes}</div>"
    )


def _services(view: result_text.ResultView) -> str:
    """Return the status of each service, if there are several."""
    if not view.services:
        return ""

    items = []
    for service in view.services:
        color = _COLORS.get(service.status, "inherit")
        # The status has its own element, in the color of the status.
        text = result_text.service_text(service).replace(f": {service.status}", "", 1)
        items.append(
            f'<li style="--sl-color:{color}"><b class="sl-service">{escape(service.status)}</b> '
            f"{escape(one_line(text, 500))}</li>"
        )

    return f'<ul class="sl-services" aria-label="Services">{"".join(items)}</ul>'


def _table(rows: list[result_text.Row], links: LinkResolver) -> str:
    if not rows:
        return "<div>no matches</div>"

    # Columns without any value are left out.
    columns = [column for column in _columns(rows) if any(row[column] not in {None, ""} for row in rows)]
    head = ""
    for column in columns:
        style = _CLASSES["line_number"] if column == "line_number" else ""
        head += f'<th scope="col"{style}>{escape(column)}</th>'

    body = []
    for row in rows:
        row_links = links.of(row)
        cells = [f"<td{_CLASSES.get(name, '')}>{_cell(row, name, links, row_links)}</td>" for name in columns]
        body.append(f"<tr>{''.join(cells)}</tr>")

    table = f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
    return f'<div class="sl-scroll" role="region" tabindex="0" aria-label="First matches">{table}</div>'


def _columns(rows: list[result_text.Row]) -> list[str]:
    """Return columns displayed: of history those that a log has, with the text last."""
    kinds = {row["type"] for row in rows}
    first = [SERVICE.name] if SERVICE.name in rows[0] else []
    if kinds == {"commit"}:
        return [*first, *(column for column in _OF_HISTORY if column not in _OF_LINES)]
    if kinds <= {"commit", "diff"}:
        return [*first, *_OF_HISTORY]

    hidden = {*_SPAN_COLUMNS, *_CHUNK_COLUMNS, SERVICE.name, "language"}
    if not kinds & {"commit", "diff"}:
        hidden.add("commit")
    if len(kinds) == 1:
        hidden.add("type")

    # The line comes before its language, so that readers see it without scrolling.
    columns = [name for name in rows[0] if name not in hidden]
    columns.insert(columns.index("line") + 1, "language")
    return [*first, *columns]


def _cell(row: result_text.Row, column: str, links: LinkResolver, row_links: tuple[Link, ...]) -> str:
    value = row[column]
    if value is None:
        return ""
    if column == "line" or (column == "repository" and row["type"] == "repo"):
        return _mark(row, column)
    if column == "repository":
        return with_breaks(link(value, links.repository(value)))
    if column in {"author_date", "commit_date"}:
        return f"{value:%Y-%m-%d\u00a0%H:%M}"
    if column not in {"path", "line_number", "commit"}:
        return escape(one_line(str(value), MAX_CHARS))

    text = str(value)
    if column == "commit":
        text = text[:_COMMIT_DIGITS]

    html = escape(text)
    if column == "path":
        html = with_breaks(_mark(row, column))
    return _with_link(html, row_links, f"Open {text}")


def _with_link(html: str, row_links: tuple[Link, ...], words: str) -> str:
    """Return HTML made elsewhere as a link to the best of some places."""
    if not row_links:
        return html
    # `anchor` escapes its text. This text is HTML already, so it comes in afterwards.
    blank = anchor("", row_links, one_line(f"{words}: {row_links[0].words}", MAX_CHARS))
    if not blank:
        return html
    return blank.replace("></a>", f">{html}</a>")


def _mark(row: result_text.Row, column: str) -> str:
    if column == "line":
        text = row_line(row)
        # In `pre`, because nbconvert would drop the indentation before a mark elsewhere.
        window = cut_window(text.text.removesuffix("\r"), text.starts, text.ends)
        return f"<pre>{highlight(*window)}</pre>"

    name = row[column].removesuffix("\r")
    return highlight(*cut_window(name, row["name_start"] or [], row["name_end"] or []))


def _chunks(rows: list[result_text.Row], links: LinkResolver) -> str:
    """Return matches in their surroundings: files, and in them chunks with line numbers."""
    blocks = []
    for name, group in groupby(rows, key=lambda row: result_text.location_text(row | {"line_number": None})):
        file_rows = list(group)
        blocks.append(f"<div><b>{anchor(name, links.of(file_rows[0]))}</b></div>")
        end = 0
        for first, chunk in groupby(file_rows, key=lambda row: row["chunk_start_line"]):
            lines = list(chunk)
            start = first or lines[0]["line_number"] or 0
            if end and start > end:
                blocks.append(_gap(start - end))
            blocks.append(f'<pre tabindex="0">{"".join(_lines(lines))}</pre>')
            end = _end(lines, start)

    return "".join(blocks)


def _end(rows: list[result_text.Row], start: int) -> int:
    """Return the line behind the last one of a chunk."""
    if rows[0]["chunk"] is None or not rows[0]["chunk_start_line"]:
        return max(row["line_number"] or 0 for row in rows) + 1
    return start + int(rows[0]["chunk"].count("\n")) + 1


def _gap(count: int) -> str:
    return f'<div class="sl-gap">\u22ef {count_of(count, "line")} left out \u22ef</div>'


def _lines(rows: list[result_text.Row]) -> Iterator[str]:
    """Yield numbered lines of one chunk; rows without a chunk give their own line.

    A colon is behind the numbers of matched lines, a hyphen behind those around them, as grep has them.
    """
    matched_rows = {row["line_number"]: row for row in rows if row["line"] is not None}
    numbered = _numbered_lines(rows, matched_rows)
    width = len(str(numbered[-1][0])) if numbered else 1
    for number, text in numbered:
        row = matched_rows.get(number)
        if row is None:
            sign = "-"
            line = ShownLine(text, [], [])
        else:
            sign = ":"
            line = ShownLine(text, row["start"] or [], row["end"] or [])
            # A truncated line may end within its JSON string, which can't be parsed then.
            if has_json_line(row) and not rows[0]["truncated"]:
                line = row_line(row)

        code_html = highlight(*cut_window(*line))
        yield f'<span class="sl-number">{number:>{width}}{sign}</span> {code_html}\n'

    if rows[0]["truncated"]:
        yield '<span class="sl-number">(long lines are truncated)</span>\n'


def _numbered_lines(rows: list[result_text.Row], matched_rows: dict[int, result_text.Row]) -> list[tuple[int, str]]:
    """Return the lines of a chunk with their numbers; of a notebook without the JSON around its cells."""
    first = rows[0]
    if first["chunk"] is None or first["chunk_start_line"] is None:
        return [(number, row_line(row).text) for number, row in matched_rows.items()]

    numbered = list(enumerate(first["chunk"].split("\n"), first["chunk_start_line"]))[:_MAX_CHUNK_LINES]
    if not any(map(has_json_line, rows)):
        return numbered

    texts = dict(context_lines(numbered))
    lines: list[tuple[int, str]] = []
    for number, line in numbered:
        if number in texts:
            lines.append((number, texts[number]))
        elif number in matched_rows:
            lines.append((number, line))
    return lines
