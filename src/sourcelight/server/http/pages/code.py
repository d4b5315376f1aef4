"""The pages of a directory, a commit, a comparison and a name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.markup import escape, highlight, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.markup.markdown import Token, highlight_code
from sourcelight.server.http.pages.conversations import page

MAX_LISTED, _MAX_LINE_SHOWN, _MAX_BARS = 100, 300, 8
_MAX_LINE_CHARS = 5_000
_MAX_PATCH_CHARS, _MAX_PATCHES_CHARS = 100_000, 600_000


def symbol_page(
    name: str, path: str, definitions: ToolResult | str, references: ToolResult | str, *, prefix: str, use: str = ""
) -> Response:
    """Render definitions and references of a name; a text is the reason why there are none."""
    parts = []
    for title, answer in (("Definitions", definitions), ("References", references)):
        if isinstance(answer, str):
            parts.append(f'<h2>{title}</h2><p class="warn">{escape(answer)}</p>')
            continue
        notes = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
        rows = "".join(_place(row, prefix) for row in answer.table.to_pylist()[:MAX_LISTED])
        count = f' <small class="quiet">{answer.table.num_rows:,}</small>'
        parts.append(f"<h2>{title}{count}</h2>{notes}<table class='files'><tbody>{rows}</tbody></table>")
    body = f"<h1><code>{escape(name)}</code></h1><p class='quiet'>as {escape(path)} uses it</p>{''.join(parts)}"
    return page(f"{name} \u00b7 {path}", body, prefix=prefix, wide=True, use=use)


def _place(row: Mapping[str, Any], prefix: str) -> str:
    number = row["line_number"] or 1
    address = file_url(prefix, row["repository"], row["commit"] or "", row["path"], (number, number))
    line = (row["line"] or "")[:_MAX_LINE_SHOWN]
    text = escape(line) if row["start"] is None else highlight(line, [row["start"]], [row["end"]])
    suffix = "" if row["precise"] else ' <span class="quiet">by name</span>'
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


def tree_url(prefix: str, repository: str, commit: str, path: str) -> str:
    """Return the address of a directory's page."""
    return f"{repository_url(prefix, repository, commit)}/-/tree/{quote(path, errors='replace')}"


def commit_url(prefix: str, repository: str, commit: str) -> str:
    """Return the address of a commit's page."""
    return f"{repository_url(prefix, repository)}/-/commit/{commit}"


@dataclass(frozen=True, slots=True)
class DirectoryView:
    """What the page of a directory shows beside its entries.

    Parameters
    ----------
    changes
        Last changes of the entries; None: they are not known in time.
    contributors, ownership
        People of a repository by year, and whose lines there are; None: not asked for, or not known in time.
    languages
        Files of a repository by language.
    note
        Why something is missing; empty: nothing is.
    """

    changes: ToolResult | None = None
    contributors: ToolResult | None = None
    languages: Counter[str] = field(default_factory=Counter)
    ownership: ToolResult | None = None
    note: str = ""


def directory_page(answer: ToolResult, path: str, view: DirectoryView, *, prefix: str, use: str = "") -> Response:
    """Render a directory with its entries; of a repository, with its people."""
    info = answer.attributes
    name, commit = info["repository"], info["commit"]
    changes = {} if view.changes is None else {row["path"].rstrip("/"): row for row in view.changes.table.to_pylist()}
    rows = []
    for row in answer.table.to_pylist():
        is_directory = row["kind"] == "directory"
        directory_url = tree_url(prefix, name, commit, row["path"]) if is_directory else None
        target = directory_url or file_url(prefix, name, commit, row["path"])
        name_html = escape(row["path"].rstrip("/").rpartition("/")[2] + ("/" if is_directory else ""))
        rows.append(
            f'<tr><td><a href="{escape(target)}">{name_html}</a></td>{_last_change(changes, row, name, prefix)}</tr>'
        )
    note = f'<p class="warn">{escape(view.note)}</p>' if view.note else ""
    aside = _people(view)
    if not path:
        compare = f"{repository_url(prefix, name)}/-/compare/"
        aside = (
            f'<h2>Compare</h2><form class="inline" action="{escape(compare)}"><input name="base" aria-label="From" '
            'size="10" placeholder="HEAD~10" required><input name="head" aria-label="To" size="10" placeholder="HEAD">'
            f"<button>Compare</button></form>{aside}"
        )
    body = (
        f'{head(info, prefix, path)}{note}<div class="beside"><div class="scroll" role="region" tabindex="0" '
        f'aria-label="Entries"><table class="entries"><tbody>{"".join(rows)}</tbody></table></div>'
        f"<aside>{aside}</aside></div>"
    )
    return page(f"{path or '/'} \u00b7 {name}", body, prefix=prefix, wide=True, use=use)


def _last_change(changes: Mapping[str, Any], entry: Mapping[str, Any], name: str, prefix: str) -> str:
    row = changes.get(entry["path"].rstrip("/"))
    if row is None or not row["commit"]:
        return "<td></td><td></td>"
    date = row["commit_date"].date().isoformat() if row["commit_date"] is not None else ""
    return (
        f'<td><a href="{escape(commit_url(prefix, name, row["commit"]))}">'
        f"{escape(one_line(row['subject'] or '', 90))}</a> {escape(row['author'] or '')}</td><td>{date}</td>"
    )


def _people(view: DirectoryView) -> str:
    authors: Counter[str] = Counter()
    years: Counter[str] = Counter()
    for row in [] if view.contributors is None else view.contributors.table.to_pylist():
        years[str(row["period"].year)] += row["commits"]
        if not row["bot"]:
            authors[row["author"]] += row["commits"]
    owners: Counter[str] = Counter()
    for row in [] if view.ownership is None else view.ownership.table.to_pylist():
        if not row["bot"]:
            owners[row["author"]] += row["lines"]
    return (
        _bars("Languages", view.languages.most_common(_MAX_BARS), "files")
        + _bars("Contributors", authors.most_common(_MAX_BARS), "commits")
        + _bars("Commits by year", sorted(years.items(), reverse=True)[:_MAX_BARS], "commits")
        + _bars("Owners of lines", owners.most_common(_MAX_BARS), "lines")
    )


def _bars(title: str, counts: Sequence[tuple[str, int]], unit: str) -> str:
    counts = [(label, count) for label, count in counts if count]
    if not counts:
        return ""
    largest = max(count for _, count in counts)
    items = "".join(
        f'<li><meter value="{count}" max="{largest}" aria-label="{escape(label)}, {unit}"></meter> {escape(label)} '
        f'<span class="quiet">{count:,}</span></li>'
        for label, count in counts
    )
    return f'<h2>{title}</h2><ul class="bars">{items}</ul>'


def compare_page(answer: ToolResult, *, prefix: str, use: str = "") -> Response:
    """Render what two revisions have different."""
    info = answer.attributes
    name = info["repository"]
    rows = answer.table.to_pylist()
    title = f"{info['base_revision']} to {info['head_revision']}"
    ends = " to ".join(
        f'<a href="{escape(commit_url(prefix, name, info[side]))}"><code>{escape(info[side][:12])}</code></a>'
        for side in ("base", "head")
    )
    notices = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
    files = _changed_files(rows, name, info["head"], prefix) if rows else "<p>Both are the same.</p>"
    body = (
        f'<h1><a href="{escape(tree_url(prefix, name, "", ""))}">{escape(name)}</a>: '
        f"{escape(one_line(title, 200))}</h1>"
        f'<p class="quiet">{ends}</p>{notices}{files}'
    )
    return page(f"{title} \u00b7 {name}", body, prefix=prefix, use=use)


def commit_page(answer: ToolResult, *, prefix: str, use: str = "") -> Response:
    """Render a commit: author, date, message and changes."""
    info = answer.attributes
    name, commit = info["repository"], info["commit"]
    subject, _, description = str(info["message"]).partition("\n")
    files = _changed_files(answer.table.to_pylist(), name, commit, prefix)
    parents = ", ".join(
        f'<a href="{escape(commit_url(prefix, name, parent))}"><code>{parent[:12]}</code></a>'
        for parent in info["parents"]
    )
    notices = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
    body = (
        f"<h1>{escape(one_line(subject, 300))}</h1>"
        f'<p class="quiet"><a href="{escape(tree_url(prefix, name, commit, ""))}">{escape(name)}</a> '
        f"<code>{escape(commit)}</code></p>"
        f"{f'<pre>{escape(description.strip())}</pre>' if description.strip() else ''}"
        f"<p>{escape(str(info['author']))}, {escape(str(info['author_date']))}"
        f"{f'; after {parents}' if parents else ''}</p>{notices}"
        f"{files}"
    )
    return page(f"{subject} \u00b7 {name}", body, prefix=prefix, use=use)


def _changed_files(changed: Sequence[Mapping[str, Any]], name: str, commit: str, prefix: str) -> str:
    """The table of changed files, and their patches as far as they are short."""
    rows, patches, remaining_chars, hidden_patches = [], [], _MAX_PATCHES_CHARS, 0
    for row in changed:
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
    note = f'<p class="warn">{count_of(hidden_patches, "long patch")} not shown.</p>' if hidden_patches else ""
    return (
        f'<h2>Files</h2><table class="files"><thead><tr><th scope="col">path</th><th scope="col">status</th>'
        f'<th scope="col">lines</th></tr></thead><tbody>{"".join(rows)}</tbody></table>{note}{"".join(patches)}'
    )


def _changed_line(line: str) -> str:
    if line.startswith(("+++ ", "--- ")):
        return f"<span>{escape(line)}</span>"
    kind = "add" if line.startswith("+") else "del" if line.startswith("-") else ""
    return f"<span{f' class={kind}' if kind else ''}>{escape(line)}</span>"
