"""The pages of a file, a folder and a commit."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.markup import escape, one_line
from sourcelight.server.http.pages.conversations import page

_LINES = re.compile(r"L([1-9]\d{0,8})(?:-L?([1-9]\d{0,8}))?")
MOST_LINES = 5_000
_AROUND = 1_000
_MOST_CHARACTERS = 5_000
_MOST_PATCH, _MOST_PATCHES = 100_000, 600_000


def lines_asked(query: str) -> tuple[int, int] | None:
    """First and last line that an address asks for, as in ``?L3-9``."""
    found = next((match for part in query.split("&") if (match := _LINES.fullmatch(part.rstrip("=")))), None)
    if found is None:
        return None
    first, last = int(found[1]), int(found[2] or found[1])
    return min(first, last), max(first, last)


def file_page(answer: ToolResult, asked: tuple[int, int] | None, *, prefix: str) -> Response:
    """A file with its lines; those that were asked for stand out."""
    facts = answer.attributes
    texts: Sequence[str] = answer.table.column("line").to_pylist()
    total = len(texts)
    first, last = asked or (0, 0)
    begin, end = 1, total
    if total > MOST_LINES:
        begin = min(max(1, first - _AROUND), max(1, total - MOST_LINES + 1))
        end = min(total, begin + MOST_LINES - 1)
    rows = "".join(
        f'<tr id="L{number}"{" class=hit" if first <= number <= last else ""}><td>'
        f'<a href="#L{number}"{" autofocus" if number == first else ""}>{number}</a></td>'
        f"<td>{_line(texts[number - 1])}</td></tr>\n"
        for number in range(begin, end + 1)
    )
    here = file_url(prefix, facts["repository"], facts["commit"], facts["path"])
    said = [f"{total:,} {'line' if total == 1 else 'lines'}"]
    if first:
        some = f"lines {first:,} to {last:,}" if last > first else f"line {first:,}"
        said.append(f"{some} marked" if first <= total else f"there is no line {first:,}")
    if (begin, end) != (1, total):
        said.append(f"lines {begin:,} to {end:,} shown")
        said += [
            f'<a href="{escape(here)}?L{number}">from line {number:,}</a>'
            for number in range(1, total + 1, MOST_LINES - 2 * _AROUND)
        ]
    notices = "".join(f"<p>{escape(notice)}</p>" for notice in answer.notices)
    body = (
        f"{_head(facts, prefix, facts['path'])}{notices}"
        f'<p class="quiet">{"; ".join(said)}</p><div class="scroll" role="region" aria-label="Lines of the file" '
        f'tabindex="0"><table class="lines"><tbody>{rows}</tbody></table></div>'
    )
    return page(f"{facts['path']} \u00b7 {facts['repository']}", body, prefix=prefix, wide=True)


def _line(text: str) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return escape(text)
    return f'{escape(text[:_MOST_CHARACTERS])}<span class="warn"> (cut: {len(text):,} characters)</span>'


def _head(facts: Any, prefix: str, path: str) -> str:
    name, commit = facts["repository"], facts["commit"]
    steps = path.split("/") if path else []
    trail = [f'<a href="{escape(tree_url(prefix, name, commit, ""))}">{escape(name)}</a>']
    for number, step in enumerate(steps, 1):
        shown = escape(step)
        if number < len(steps):
            target = tree_url(prefix, name, commit, "/".join(steps[:number]))
            shown = f'<a href="{escape(target)}">{shown}</a>'
        trail.append(shown)
    link = commit_url(prefix, name, commit)
    at = f'<a href="{escape(link)}"><code>{commit[:12]}</code></a>' if len(commit) == 40 else escape(commit)
    return f'<h1>{" / ".join(trail)}</h1><p class="quiet">at commit {at}</p>'


def tree_url(prefix: str, repository: str, commit: str, path: str) -> str:
    """Address of a folder's page."""
    return f"{repository_url(prefix, repository, commit)}/-/tree/{quote(path, errors='replace')}"


def commit_url(prefix: str, repository: str, commit: str) -> str:
    """Address of a commit's page."""
    return f"{repository_url(prefix, repository)}/-/commit/{commit}"


def folder_page(answer: ToolResult, path: str, *, prefix: str) -> Response:
    """A folder with its entries."""
    facts = answer.attributes
    name, commit = facts["repository"], facts["commit"]
    items = []
    for row in answer.table.to_pylist():
        folder = row["kind"] == "directory"
        make = tree_url(prefix, name, commit, row["path"]) if folder else None
        target = make or file_url(prefix, name, commit, row["path"])
        shown = escape(row["path"].rstrip("/").rpartition("/")[2] + ("/" if folder else ""))
        items.append(f'<li><a href="{escape(target)}">{shown}</a></li>')
    body = f"{_head(facts, prefix, path)}<ul>{''.join(items)}</ul>"
    return page(f"{path or '/'} \u00b7 {name}", body, prefix=prefix)


def commit_page(answer: ToolResult, *, prefix: str) -> Response:
    """A commit: who, when, why, and what it changed."""
    facts = answer.attributes
    name, commit = facts["repository"], facts["commit"]
    subject, _, rest = str(facts["message"]).partition("\n")
    rows, patches, room, left_out = [], [], _MOST_PATCHES, 0
    for row in answer.table.to_pylist():
        target = file_url(prefix, name, commit, row["path"])
        shown = escape(row["path"])
        link = shown if row["status"] == "deleted" else f'<a href="{escape(target)}">{shown}</a>'
        counts = "binary" if row["binary"] else f"+{row['additions'] or 0:,} \u2212{row['deletions'] or 0:,}"
        rows.append(f"<tr><td>{link}</td><td>{escape(row['status'])}</td><td>{counts}</td></tr>")
        patch = row["patch"] or ""
        if not patch or len(patch) > min(_MOST_PATCH, room):
            left_out += row["patch"] is None or bool(patch)
            continue
        room -= len(patch)
        patches.append(f'<h3>{shown}</h3><pre class="diff">{"".join(map(_changed, patch.splitlines()))}</pre>')
    parents = ", ".join(
        f'<a href="{escape(commit_url(prefix, name, each))}"><code>{each[:12]}</code></a>' for each in facts["parents"]
    )
    note = f'<p class="warn">{left_out:,} long patches are not shown.</p>' if left_out else ""
    said = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
    body = (
        f"<h1>{escape(one_line(subject, 300))}</h1>"
        f'<p class="quiet"><a href="{escape(tree_url(prefix, name, commit, ""))}">{escape(name)}</a> '
        f"<code>{escape(commit)}</code></p>"
        f"{f'<pre>{escape(rest.strip())}</pre>' if rest.strip() else ''}"
        f"<p>{escape(str(facts['author']))}, {escape(str(facts['author_date']))}"
        f"{f'; after {parents}' if parents else ''}</p>{said}"
        f'<h2>Files</h2><table class="files"><thead><tr><th scope="col">path</th><th scope="col">status</th>'
        f'<th scope="col">lines</th></tr></thead><tbody>{"".join(rows)}</tbody></table>{note}{"".join(patches)}'
    )
    return page(f"{subject} \u00b7 {name}", body, prefix=prefix)


def _changed(line: str) -> str:
    kind = "add" if line.startswith("+") else "del" if line.startswith("-") else ""
    return f"<span{f' class={kind}' if kind else ''}>{escape(line)}</span>"
