"""The pages of a name and of a binary file, and shared parts of pages of code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.markup import escape, highlight
from sourcelight.core.markup.counts import size_text
from sourcelight.core.markup.highlighting import Token, highlight_code
from sourcelight.server.http.pages.frame import page

MAX_LISTED, _MAX_LINE_SHOWN = 100, 300
_MAX_LINE_CHARS = 5_000


def symbol_page(
    name: str,
    location: Mapping[str, str],
    definitions: ToolResult | str,
    references: ToolResult | str,
    *,
    prefix: str,
    use: str = "",
) -> Response:
    """Render definitions and references of a name, or return the reason why there are none."""
    parts = []
    for title, answer in (("Definitions", definitions), ("References", references)):
        if isinstance(answer, str):
            parts.append(f'<h2>{title}</h2><p class="warn">{escape(answer)}</p>')
            continue
        notes = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
        rows = "".join(_location_text(row, prefix) for row in answer.table.to_pylist()[:MAX_LISTED])
        count = f' <small class="quiet">{answer.table.num_rows:,}</small>'
        content = f'<table class="files"><tbody>{rows}</tbody></table>' if rows else '<p class="quiet">None.</p>'
        parts.append(f"<h2>{title}{count}</h2>{notes}{content}")

    path = location["path"]
    address = file_url(prefix, location["repo"], location.get("revision", ""), path)
    origin = f'as used in <a href="{escape(address)}">{escape(path)}</a> of {escape(location["repo"])}'
    body = f"<h1><code>{escape(name)}</code></h1><p class='quiet'>{origin}</p><div data-names>{''.join(parts)}</div>"
    return page(f"{name} \u00b7 {path}", body, prefix=prefix, wide=True, use=use)


def _location_text(row: Mapping[str, Any], prefix: str) -> str:
    number = row["line_number"] or 1
    address = file_url(prefix, row["repository"], row["commit"] or "", row["path"], (number, number))
    line = (row["line"] or "")[:_MAX_LINE_SHOWN]
    text = escape(line) if row["start"] is None else highlight(line, [row["start"]], [row["end"]])
    suffix = ' <span class="quiet">matched by name only</span>' if row["how"] == "name" else ""
    return (
        f'<tr><td><a href="{escape(address)}">{escape(row["path"])}:{number}</a> <span class="quiet">'
        f"{escape(row['repository'])}</span></td><td><code>{text}</code>{suffix}</td></tr>"
    )


def line_html(text: str, tokens: Sequence[Token]) -> str:
    """Return a line in colours, cut when it is very long."""
    if len(text) <= _MAX_LINE_CHARS:
        return highlight_code(text, tokens)
    return f'{escape(text[:_MAX_LINE_CHARS])}<span class="warn"> (truncated: {len(text):,} characters)</span>'


def head(info: Any, prefix: str, path: str) -> str:
    """Return the heading of a page of code: the way to it from its repository, and the commit."""
    name, commit = info["repository"], info["commit"]
    steps = path.split("/") if path else []
    trail = [f'<a href="{escape(tree_url(prefix, name, commit, ""))}">{escape(name)}</a>']
    for number, step in enumerate(steps, 1):
        step_html = escape(step)
        if number < len(steps):
            target = tree_url(prefix, name, commit, "/".join(steps[:number]))
            step_html = f'<a href="{escape(target)}">{step_html}</a>'
        trail.append(step_html)

    link = commit_url(prefix, name, commit)
    commit_html = f'<a href="{escape(link)}"><code>{commit[:12]}</code></a>' if len(commit) == 40 else escape(commit)
    return f'<h1>{" / ".join(trail)}</h1><p class="quiet">at commit {commit_html}</p>'


def binary_page(location: Mapping[str, Any], size_bytes: int, *, prefix: str) -> Response:
    """Render the page of a file without text."""
    text = f"This file is binary ({size_text(size_bytes)}): it has no lines to show."
    body = f"{head(location, prefix, location['path'])}<p>{text}</p>"
    return page(f"{location['path']} \u00b7 {location['repository']}", body, prefix=prefix, wide=True)


def tree_url(prefix: str, repository: str, commit: str, path: str) -> str:
    """Return the address of a directory's page."""
    return f"{repository_url(prefix, repository, commit)}/-/tree/{quote(path, errors='replace')}"


def commit_url(prefix: str, repository: str, commit: str) -> str:
    """Return the address of a commit's page."""
    return f"{repository_url(prefix, repository)}/-/commit/{commit}"
