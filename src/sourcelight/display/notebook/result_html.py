"""An answer as HTML for a notebook: status, first page of rows with highlights, or chunks under their files.

Every piece of text is escaped before it gets here its tags. The table reads well without its style, which a reopened,
untrusted notebook does not have.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from sourcelight.core.markup import escape, highlight, link, one_line
from sourcelight.display.notebook.result_text import PAGE, ResultFacts, first_rows, headline, place, statements

_STYLE = """<style>
.sl-result{color:var(--jp-ui-font-color1,inherit);font-size:13px}
.sl-result .sl-head{border-left:4px solid var(--sl-colour);padding:2px 8px;margin-bottom:4px}
.sl-result ul{margin:2px 0}
.sl-result .sl-warning{color:var(--jp-warn-color0,#b35c00)}
.sl-result .sl-error{color:var(--jp-error-color1,#d32f2f)}
.sl-result table{border-collapse:collapse}
.sl-result th,.sl-result td{text-align:left !important;vertical-align:top;padding:2px 8px;white-space:nowrap}
.sl-result td.sl-code,.sl-result pre{font-family:var(--jp-code-font-family,monospace);white-space:pre;tab-size:4}
.sl-result td.sl-code{max-width:90ch;overflow:hidden;text-overflow:ellipsis}
.sl-result mark{background:rgba(255,170,0,.4);color:inherit;font-weight:bold}
.sl-result pre{margin:0 0 8px;padding:4px;overflow-x:auto;background:var(--jp-layout-color2,rgba(127,127,127,.12))}
.sl-result .sl-number{color:var(--jp-ui-font-color2,inherit);user-select:none}
</style>"""
_COLOURS = {
    "complete": "var(--jp-success-color1,#388e3c)",
    "limited": "var(--jp-warn-color1,#f57c00)",
    "interrupted": "var(--jp-warn-color1,#f57c00)",
    "failed": "var(--jp-error-color1,#d32f2f)",
}
_SPAN_COLUMNS = frozenset({"start", "end", "name_start", "name_end", "match_count", "repository_id", "commit", "type"})
_CHUNK_COLUMNS = frozenset({"chunk", "chunk_line_number", "truncated"})
_CODE = frozenset({"path", "line", "symbol", "message"})
_LONGEST = 300
_LONGEST_LINES = 200


def result_html(shown: ResultFacts) -> str:
    """The whole view."""
    rows = first_rows(shown.batches, PAGE).to_pylist()
    chunked = any(row["chunk"] is not None for row in rows)
    urls = {f.name: f.url for f in shown.facts}
    body = _chunks(rows) if chunked else _table(rows, urls)
    more = f"<div>{len(rows):,} of {shown.rows:,} rows</div>" if len(rows) < shown.rows else ""
    return f'{_STYLE}<div class="sl-result tex2jax_ignore">{_banner(shown)}{body}{more}</div>'


def _banner(shown: ResultFacts) -> str:
    items = "".join(
        f'<li class="sl-{severity}"><b>{severity}</b> {escape(one_line(text, 500))}</li>'
        for severity, text in statements(shown)
    )
    notes = f'<ul aria-label="Skipped work and alerts">{items}</ul>' if items else ""
    return (
        f'<div class="sl-head" role="status" style="--sl-colour:{_COLOURS[shown.status]}"><b>{headline(shown)}</b><br>'
        f"<code>{escape(one_line(shown.query, 300))}</code>{notes}</div>"
    )


def _cut(text: str, starts: list[int], ends: list[int]) -> tuple[str, list[int], list[int]]:
    """A window of a long line that shows its first match."""
    if len(text) <= _LONGEST:
        return text, starts, ends
    low = max(0, min(starts, default=0) - 40)
    window = text[low : low + _LONGEST]
    head, tail = ("\u2026" if low else ""), ("\u2026" if low + _LONGEST < len(text) else "")
    shift = len(head) - low
    inside = [
        (max(a + shift, len(head)), min(b + shift, len(head) + len(window)))
        for a, b in zip(starts, ends, strict=True)
        if b > low and a < low + _LONGEST
    ]
    return head + window + tail, [a for a, _ in inside], [b for _, b in inside]


def _marked(row: dict[str, Any], column: str) -> str:
    prefix = "" if column == "line" else "name_"
    starts, ends = row[f"{prefix}start"] or [], row[f"{prefix}end"] or []
    return highlight(*_cut(row[column], starts, ends))


def _cell(row: dict[str, Any], column: str, urls: dict[str, str]) -> str:
    value = row[column]
    if value is None:
        return ""
    if column in {"line", "path"} or (column == "repository" and row["type"] == "repo"):
        return _marked(row, column)
    if column == "repository":
        return link(value, urls.get(value, ""))
    return escape(one_line(str(value), _LONGEST))


def _table(rows: list[dict[str, Any]], urls: dict[str, str]) -> str:
    if not rows:
        return "<div>no matches</div>"
    columns = [
        c for c in rows[0] if c not in _SPAN_COLUMNS | _CHUNK_COLUMNS and any(row[c] not in {None, ""} for row in rows)
    ]
    head = "".join(f'<th scope="col">{escape(c)}</th>' for c in columns)
    body = "".join(
        "<tr>"
        + "".join(f"<td{' class=sl-code' if c in _CODE else ''}>{_cell(row, c, urls)}</td>" for c in columns)
        + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def _chunks(rows: list[dict[str, Any]]) -> str:
    """Matches in their surroundings: files, and in them chunks with line numbers."""
    pieces = []
    for name, group in groupby(rows, key=lambda r: place(r | {"line_number": None})):
        pieces.append(f"<div><b>{escape(name)}</b></div>")
        for _, chunk in groupby(group, key=lambda r: r["chunk_line_number"]):
            pieces.append(f"<pre>{''.join(_lines(list(chunk)))}</pre>")
    return "".join(pieces)


def _lines(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Numbered lines of one chunk; rows without a chunk give their own line."""
    hits = {row["line_number"]: row for row in rows if row["line"] is not None}
    if rows[0]["chunk"] is None or rows[0]["chunk_line_number"] is None:
        numbered = [(n, row["line"]) for n, row in hits.items()]
    else:
        numbered = list(enumerate(rows[0]["chunk"].split("\n"), rows[0]["chunk_line_number"]))[:_LONGEST_LINES]
    width = len(str(numbered[-1][0])) if numbered else 1
    for number, text in numbered:
        hit = hits.get(number)
        shown = highlight(*_cut(text, *((hit["start"] or [], hit["end"] or []) if hit else ([], []))))
        yield f'<span class="sl-number">{number:>{width}}{":" if hit else "-"}</span> {shown}\n'
    if rows[0]["truncated"]:
        yield '<span class="sl-number">(long lines were cut)</span>\n'
