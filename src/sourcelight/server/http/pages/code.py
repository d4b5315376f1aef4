"""The pages of a file, a directory and a commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.server.http.pages.conversations import page

_LINES = re.compile(r"L([1-9]\d{0,8})(?:-L?([1-9]\d{0,8}))?")
MAX_LINES = 5_000
_CONTEXT_LINES = 1_000
_MAX_LINE_CHARS = 5_000
_MAX_PATCH_CHARS, _MAX_PATCHES_CHARS = 100_000, 600_000


def requested_lines(query: str) -> tuple[int, int] | None:
    """Return the first and last line that an address asks for, as in ``?L3-9``."""
    match = next((match for part in query.split("&") if (match := _LINES.fullmatch(part.rstrip("=")))), None)
    if match is None:
        return None
    first, last = int(match[1]), int(match[2] or match[1])
    return min(first, last), max(first, last)


def file_page(answer: ToolResult, requested: tuple[int, int] | None, *, prefix: str) -> Response:
    """Render a file; highlights the requested lines."""
    info = answer.attributes
    texts: Sequence[str] = answer.table.column("line").to_pylist()
    total = len(texts)
    first, last = requested or (0, 0)
    start, end = 1, total
    # A window around the requested line; links lead to the other windows.
    if total > MAX_LINES:
        start = min(max(1, first - _CONTEXT_LINES), max(1, total - MAX_LINES + 1))
        end = min(total, start + MAX_LINES - 1)
    rows = "".join(
        f'<tr id="L{number}"{" class=hit" if first <= number <= last else ""}><td>'
        f'<a href="#L{number}"{" autofocus" if number == first else ""}>{number}</a></td>'
        f"<td>{_line(texts[number - 1])}</td></tr>\n"
        for number in range(start, end + 1)
    )
    address = file_url(prefix, info["repository"], info["commit"], info["path"])
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
    notices = "".join(f"<p>{escape(notice)}</p>" for notice in answer.notices)
    body = (
        f"{_head(info, prefix, info['path'])}{notices}"
        f'<p class="quiet">{"; ".join(summary)}</p><div class="scroll" role="region" aria-label="Lines of the file" '
        f'tabindex="0"><table class="lines"><tbody>{rows}</tbody></table></div>'
    )
    return page(f"{info['path']} \u00b7 {info['repository']}", body, prefix=prefix, wide=True)


def _line(text: str) -> str:
    if len(text) <= _MAX_LINE_CHARS:
        return escape(text)
    return f'{escape(text[:_MAX_LINE_CHARS])}<span class="warn"> (truncated: {len(text):,} characters)</span>'


def _head(info: Any, prefix: str, path: str) -> str:
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


def tree_url(prefix: str, repository: str, commit: str, path: str) -> str:
    """Return the address of a directory's page."""
    return f"{repository_url(prefix, repository, commit)}/-/tree/{quote(path, errors='replace')}"


def commit_url(prefix: str, repository: str, commit: str) -> str:
    """Return the address of a commit's page."""
    return f"{repository_url(prefix, repository)}/-/commit/{commit}"


def directory_page(answer: ToolResult, path: str, *, prefix: str) -> Response:
    """Render a directory with its entries."""
    info = answer.attributes
    name, commit = info["repository"], info["commit"]
    items = []
    for row in answer.table.to_pylist():
        is_directory = row["kind"] == "directory"
        directory_url = tree_url(prefix, name, commit, row["path"]) if is_directory else None
        target = directory_url or file_url(prefix, name, commit, row["path"])
        name_html = escape(row["path"].rstrip("/").rpartition("/")[2] + ("/" if is_directory else ""))
        items.append(f'<li><a href="{escape(target)}">{name_html}</a></li>')
    body = f"{_head(info, prefix, path)}<ul>{''.join(items)}</ul>"
    return page(f"{path or '/'} \u00b7 {name}", body, prefix=prefix)


def commit_page(answer: ToolResult, *, prefix: str) -> Response:
    """Render a commit: author, date, message and changes."""
    info = answer.attributes
    name, commit = info["repository"], info["commit"]
    subject, _, description = str(info["message"]).partition("\n")
    rows, patches, remaining_chars, hidden_patches = [], [], _MAX_PATCHES_CHARS, 0
    for row in answer.table.to_pylist():
        target = file_url(prefix, name, commit, row["path"])
        path_html = escape(row["path"])
        link = path_html if row["status"] == "deleted" else f'<a href="{escape(target)}">{path_html}</a>'
        counts = "binary" if row["binary"] else f"+{row['additions'] or 0:,} \u2212{row['deletions'] or 0:,}"
        rows.append(f"<tr><td>{link}</td><td>{escape(row['status'])}</td><td>{counts}</td></tr>")
        patch = row["patch"] or ""
        # A bound per patch and one per page: a commit of 24 MB must not become a page of 24 MB.
        if not patch or len(patch) > min(_MAX_PATCH_CHARS, remaining_chars):
            hidden_patches += row["patch"] is None or bool(patch)
            continue
        remaining_chars -= len(patch)
        patches.append(f'<h3>{path_html}</h3><pre class="diff">{"".join(map(_changed_line, patch.splitlines()))}</pre>')
    parents = ", ".join(
        f'<a href="{escape(commit_url(prefix, name, parent))}"><code>{parent[:12]}</code></a>'
        for parent in info["parents"]
    )
    note = f'<p class="warn">{count_of(hidden_patches, "long patch")} not shown.</p>' if hidden_patches else ""
    notices = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
    body = (
        f"<h1>{escape(one_line(subject, 300))}</h1>"
        f'<p class="quiet"><a href="{escape(tree_url(prefix, name, commit, ""))}">{escape(name)}</a> '
        f"<code>{escape(commit)}</code></p>"
        f"{f'<pre>{escape(description.strip())}</pre>' if description.strip() else ''}"
        f"<p>{escape(str(info['author']))}, {escape(str(info['author_date']))}"
        f"{f'; after {parents}' if parents else ''}</p>{notices}"
        f'<h2>Files</h2><table class="files"><thead><tr><th scope="col">path</th><th scope="col">status</th>'
        f'<th scope="col">lines</th></tr></thead><tbody>{"".join(rows)}</tbody></table>{note}{"".join(patches)}'
    )
    return page(f"{subject} \u00b7 {name}", body, prefix=prefix)


def _changed_line(line: str) -> str:
    kind = "add" if line.startswith("+") else "del" if line.startswith("-") else ""
    return f"<span{f' class={kind}' if kind else ''}>{escape(line)}</span>"
