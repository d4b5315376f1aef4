"""What a query means, as HTML for a notebook. Every piece of text is escaped before it gets its tags here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import escape, one_line

_HEADS = ("searches", "filters", "patterns: every match holds", "index leaves")
_LONGEST = 300


def explanation_html(data: Mapping[str, Any], note: str = "") -> str:
    """The whole view of the plain data of an explanation; `note` says what is not known."""
    pieces = [
        f"<div><code>{_text(data['query'])}</code> read as <b>{_text(data['pattern_type'])}</b></div>",
        f'<pre tabindex="0" style="text-align:left">{escape(str(data["tree_text"]))}</pre>',
    ]
    if parts := data.get("alternatives"):
        heads = "".join(f'<th scope="col" style="text-align:left">{head}</th>' for head in _HEADS)
        body = "".join(f"<tr>{''.join(_cell(lines) for lines in _lines(part))}</tr>" for part in parts)
        pieces.append(f"<table><thead><tr>{heads}</tr></thead><tbody>{body}</tbody></table>")
    if warnings := data.get("warnings"):
        items = "".join(f"<li><b>warning</b> {_with_code(_advice(item))}</li>" for item in warnings)
        pieces.append(f'<ul aria-label="Warnings">{items}</ul>')
    if note:
        pieces.append(f"<div>{_text(note)}</div>")
    return f'<div class="sl-explanation tex2jax_ignore">{"".join(pieces)}</div>'


def _lines(part: Mapping[str, Any]) -> tuple[list[str], ...]:
    """Lines of the cells of one alternative."""
    names = ", ".join(part["names"])
    more = part["repositories"] - len(part["names"])
    searched = [
        f"{part['repositories']:,} repositor{'y' if part['repositories'] == 1 else 'ies'}",
        f"{names} and {more:,} more" if more > 0 else names,
        f"{part['passing']:,} of {part['files']:,} files",
        f"results: {', '.join(part['types'])}",
    ]
    filters = [
        f"{item['text']}: {item['meaning']}" + ("" if item["files"] is None else f" ({item['files']:,} files)")
        for item in part["filters"]
    ]
    patterns = [
        f"{item['kind']} {item['text']}: {item['required'] or 'nothing that the index knows'}"
        for item in part["patterns"]
    ]
    index = [
        f"{item['candidate_units']:,} of {item['units']:,} pieces, {item['candidate_bytes']:,} bytes"
        for item in part["patterns"]
    ]
    return searched, filters, patterns, index


def _cell(lines: Sequence[str]) -> str:
    shown = "<br>".join(_text(line) for line in lines if line)
    return f'<td style="text-align:left;vertical-align:top">{shown}</td>'


def _advice(item: Mapping[str, Any]) -> str:
    return "; ".join(text for text in (item.get("message", ""), item.get("fix", "")) if text)


def _with_code(text: str) -> str:
    """Text in which words between back quotes are code."""
    parts = one_line(text, _LONGEST).split("`")
    if len(parts) % 2 == 0:  # a back quote without its partner
        return _text(text)
    return "".join(f"<code>{escape(part)}</code>" if number % 2 else escape(part) for number, part in enumerate(parts))


def _text(value: object) -> str:
    return escape(one_line(str(value), _LONGEST))
