"""Explanations of queries as HTML: how a query was read, and what each of its alternatives searches."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sourcelight.core.markup import NO_MATH, count_of, escape, one_line

_HEADS = ("searches", "filters", "patterns: every match contains", "the index leaves")
_MAX_CHARS = 300
"""Characters of a text in the view: a query, a meaning, a path."""


def explanation_html(data: Mapping[str, Any], note: str = "") -> str:
    """Return the view of an explanation.

    Parameters
    ----------
    data
        The explanation as JSON values.
    note
        What is not known; empty: nothing.
    """
    blocks = [
        f"<div><code>{_text(data['query'])}</code> read as <b>{_text(data['pattern_type'])}</b></div>",
        f'<pre tabindex="0" style="text-align:left">{escape(str(data["tree_text"]))}</pre>',
    ]
    if data.get("alternatives"):
        blocks.append(_alternatives_table(data["alternatives"]))
    if data.get("warnings"):
        items = "".join(f"<li><b>warning</b> {_with_code(_advice(item))}</li>" for item in data["warnings"])
        blocks.append(f'<ul aria-label="Warnings">{items}</ul>')
    if note:
        blocks.append(f"<div>{_text(note)}</div>")

    return f'<div class="sl-explanation {NO_MATH}">{"".join(blocks)}</div>'


def _alternatives_table(alternatives: Sequence[Mapping[str, Any]]) -> str:
    """Return a table with a row for each alternative."""
    heads = "".join(f'<th scope="col" style="text-align:left">{head}</th>' for head in _HEADS)
    rows = []
    for alternative in alternatives:
        columns = (_repositories(alternative), _filters(alternative), _patterns(alternative), _candidates(alternative))
        rows.append(f"<tr>{''.join(map(_cell, columns))}</tr>")

    return f"<table><thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table>"


def _repositories(alternative: Mapping[str, Any]) -> list[str]:
    """Return the lines about the repositories and files that an alternative searches."""
    names = ", ".join(alternative["names"])
    hidden = alternative["repositories"] - len(alternative["names"])
    if hidden > 0:
        names += f" and {hidden:,} more"

    return [
        count_of(alternative["repositories"], "repository"),
        names,
        f"{alternative['passing']:,} of {alternative['files']:,} files",
        f"results: {', '.join(alternative['types'])}",
    ]


def _filters(alternative: Mapping[str, Any]) -> list[str]:
    lines = []
    for item in alternative["filters"]:
        line = f"{item['text']}: {item['meaning']}"
        if item["files"] is not None:
            line += f" ({count_of(item['files'], 'file')})"
        lines.append(line)

    return lines


def _patterns(alternative: Mapping[str, Any]) -> list[str]:
    return [
        f"{item['kind']} {item['text']}: {item['required'] or 'no text required'}" for item in alternative["patterns"]
    ]


def _candidates(alternative: Mapping[str, Any]) -> list[str]:
    """Return how many blocks of the index may match each pattern."""
    return [
        f"{item['candidate_units']:,} of {item['units']:,} blocks, {item['candidate_bytes']:,} bytes"
        for item in alternative["patterns"]
    ]


def _cell(lines: Sequence[str]) -> str:
    html = "<br>".join(_text(line) for line in lines if line)
    return f'<td style="text-align:left;vertical-align:top">{html}</td>'


def _advice(item: Mapping[str, Any]) -> str:
    texts = [item.get("message", ""), item.get("fix", "")]
    return "; ".join(text for text in texts if text)


def _with_code(text: str) -> str:
    """Return text in which words between back quotes are code."""
    parts = one_line(text, _MAX_CHARS).split("`")
    # A back quote without its partner is a character like any other.
    if len(parts) % 2 == 0:
        return _text(text)

    html = ""
    for number, part in enumerate(parts):
        html += f"<code>{escape(part)}</code>" if number % 2 else escape(part)
    return html


def _text(value: object) -> str:
    return escape(one_line(str(value), _MAX_CHARS))
