"""The pages of a commit and of a comparison: the changed files, and their patches if these are short."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url, repository_url
from sourcelight.core.cells.compare import NotebookDiff
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.server.http.pages.code.cells import LINES_VIEW, changed_cells
from sourcelight.server.http.pages.code.elements import commit_url, tree_url
from sourcelight.server.http.pages.frame import page

_MAX_PATCH_SIZE = 150_000
_MAX_PATCHES_SIZE = 1_000_000
"""Maximum characters of a patch, and of all patches on a page."""

_LINE_SIZE = 50
"""Characters of HTML that each line of a patch adds."""

_MAX_LINE_CHARS = 2_000
_MAX_FILES = 2_000

MAX_COMMITS = 250
_MAX_OPEN_COMMITS = 10
"""Commits of a comparison that are listed, and shown at once: longer lists are folded, so that files stay in view."""

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
"""``@@ -7,3 +7,4 @@ def retry():``: the first line before and after."""

COMMITS = "commits"
"""The part of a page with the commits of a comparison, which a script loads."""


def commit_page(answer: ToolResult, notebooks: Mapping[str, NotebookDiff], *, prefix: str, use: str = "") -> Response:
    """Render a commit with its author, date, message and changes.

    `notebooks` has the cells that differ, by path.
    """
    info = answer.attributes
    name = info["repository"]
    commit = info["commit"]
    subject, _, description = str(info["message"]).replace("\r\n", "\n").partition("\n")
    description = description.strip()
    message_html = ""
    if description:
        message_html = f"<pre>{escape(description)}</pre>"

    # The first parent is the older side, as `git show` has it.
    parents = info["parents"]
    sides = _Sides(parents[0] if parents else "", commit)
    lines_url = f"{commit_url(prefix, name, commit)}?view={LINES_VIEW}"
    files = _changed_files(answer.table.to_pylist(), name, sides, prefix, _Notebooks(notebooks, lines_url))
    body = (
        f"<h1>{escape(one_line(subject, 300) or '(no message)')}</h1>"
        f'<p><a href="{escape(tree_url(prefix, name, "", ""))}">{escape(name)}</a> '
        f"<span class=quiet>commit</span> <code>{escape(commit)}</code></p>"
        f"<p>{escape(str(info['author']))} <span class=quiet>on {_minute(str(info['author_date']))}, "
        f"{_parents_html(parents, name, prefix)}</span></p>{message_html}"
        f'<p><a href="{escape(tree_url(prefix, name, commit, ""))}">All files at this commit</a></p>'
        f"{_notices(answer)}{files}"
    )
    return page(f"{subject} \u00b7 {name}", body, prefix=prefix, use=use)


def _parents_html(parents: Sequence[str], name: str, prefix: str) -> str:
    if not parents:
        return "the first commit"
    label = "parents" if len(parents) > 1 else "parent"
    links = [_commit_link(name, parent, prefix) for parent in parents]
    return f"{label} {', '.join(links)}"


def compare_page(
    answer: ToolResult,
    commits: ToolResult | str | None,
    notebooks: Mapping[str, NotebookDiff],
    *,
    prefix: str,
    use: str = "",
) -> Response:
    """Render the differences of two revisions.

    `commits` are the commits between them, a text that says why they are missing, or None if they aren't read yet.
    `notebooks` has the cells that differ, by path.
    """
    info = answer.attributes
    name = info["repository"]
    base = str(info["base_revision"])
    head = str(info["head_revision"])
    rows = answer.table.to_pylist()
    ends = f"base={quote(base, safe='')}&head={quote(head, safe='')}"
    lines_url = f"{repository_url(prefix, name)}/-/compare/?{ends}&view={LINES_VIEW}"
    files = "<p>The files of both are the same.</p>"
    if rows:
        sides = _Sides(info["base"], info["head"])
        files = _changed_files(rows, name, sides, prefix, _Notebooks(notebooks, lines_url))

    body = (
        f'<h1><a href="{escape(tree_url(prefix, name, "", ""))}">{escape(name)}</a>: '
        f"{escape(one_line(f'{base} to {head}', 200))}</h1>"
        f'<p class="quiet">{_commit_link(name, info["base"], prefix)} to {_commit_link(name, info["head"], prefix)}</p>'
        f"{compare_form(name, prefix, base, head)}{_notices(answer)}"
        f"{_commits(commits, name, base, head, prefix)}{files}"
    )
    return page(f"{base} to {head} \u00b7 {name}", body, prefix=prefix, use=use)


def compare_form(name: str, prefix: str, base: str = "", head: str = "") -> str:
    """Return the form that compares two revisions, and the link that swaps them."""
    address = f"{repository_url(prefix, name)}/-/compare/"
    swap = ""
    if base:
        swap = f' <a href="{escape(address)}?base={quote(head, safe="")}&amp;head={quote(base, safe="")}">Swap</a>'

    return (
        f'<form class="inline" action="{escape(address)}"><input name="base" list="refs" aria-label="From" size="10" '
        f'placeholder="HEAD~10" value="{escape(base)}" required maxlength="200"><input name="head" list="refs" '
        f'aria-label="To" size="10" placeholder="HEAD" value="{escape(head)}" maxlength="200">'
        f"<button>Compare</button>{swap}</form>"
    )


def _commits(commits: ToolResult | str | None, name: str, base: str, head: str, prefix: str) -> str:
    """Return the section of the commits that only the newer side has."""
    start = f'<section data-part="{COMMITS}"><h2>Commits</h2>'
    if commits is None:
        query = f"base={quote(base, safe='')}&amp;head={quote(head, safe='')}&amp;part={COMMITS}"
        link = f'<a href="{escape(repository_url(prefix, name))}/-/compare/?{query}" data-load>Show commits</a>'
        return f'{start}<p class="quiet">{link}</p></section>'

    if isinstance(commits, str):
        return f'{start}<p class="warn">{escape(commits)}</p></section>'

    rows = commits.table.slice(0, MAX_COMMITS).to_pylist()
    items = []
    for row in rows:
        address = commit_url(prefix, name, row["commit"])
        subject = one_line(row["subject"] or "(no message)", 120)
        author = one_line(row["author"] or "", 60)
        items.append(
            f'<li><a href="{escape(address)}">{escape(subject)}</a> '
            f'<span class="quiet">{escape(author)}, {row["commit_date"]:%Y-%m-%d}</span></li>'
        )

    total = int(commits.attributes.get("total") or commits.table.num_rows)
    summary = count_of(total, "commit")
    if len(rows) < total:
        summary += f", the newest {len(rows):,} shown"

    list_html = ""
    if items:
        list_html = f'<ul class="commits">{"".join(items)}</ul>'
    if len(rows) > _MAX_OPEN_COMMITS:
        return f"{start}<details><summary>{summary}</summary>{list_html}</details></section>"
    return f"{start}<p>{summary}</p>{list_html}</section>"


def _commit_link(name: str, commit: str, prefix: str) -> str:
    return f'<a href="{escape(commit_url(prefix, name, commit))}"><code>{escape(commit[:12])}</code></a>'


def _minute(time: str) -> str:
    """Return an ISO time as readers write it: ``2026-03-02 09:05 UTC`` for ``2026-03-02T09:05:40Z``."""
    return f"{escape(time[:16].replace('T', ' '))} UTC"


def _notices(answer: ToolResult) -> str:
    return "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)


@dataclass(frozen=True, slots=True)
class _Sides:
    """The commits of both sides; the older one is empty before the first commit."""

    base: str
    head: str

    def url(self, prefix: str, name: str, row: Mapping[str, Any]) -> str:
        """Return the address of a changed file: on the newer side, or on the older one if it is gone."""
        is_deleted = row["status"] == "deleted"
        commit = self.base if is_deleted else self.head
        if not commit:
            return ""
        return file_url(prefix, name, commit, row["path"])


@dataclass(frozen=True, slots=True)
class _Notebooks:
    """The cells of notebooks that differ, by path, and the address of the page with lines instead."""

    diffs: Mapping[str, NotebookDiff]
    lines_url: str


def _changed_files(
    changed: Sequence[Mapping[str, Any]],
    name: str,
    sides: _Sides,
    prefix: str,
    notebooks: _Notebooks,
) -> str:
    """Return the table of changed files, and their patches within the limits of a page."""
    rows: list[str] = []
    patches: list[str] = []
    remaining_size = _MAX_PATCHES_SIZE
    hidden_patches = 0
    for number, row in enumerate(changed[:_MAX_FILES], 1):
        path = row["path"]
        patch = row["patch"] or ""
        cells_html = ""
        size = len(patch) + _LINE_SIZE * patch.count("\n")
        if path in notebooks.diffs:
            cells_html = changed_cells(notebooks.diffs[path], escape(path))
            size = len(cells_html)

        address = escape(sides.url(prefix, name, row))
        has_patch = bool(cells_html or patch)
        # A bound per patch and one per page: a commit of 24 MB must not become a page of 24 MB.
        if not has_patch or size > min(_MAX_PATCH_SIZE, remaining_size):
            rows.append(_file_row(row, address))
            if has_patch or row["patch"] is None:
                hidden_patches += 1
            continue

        remaining_size -= size
        rows.append(_file_row(row, f"#file-{number}"))
        if cells_html:
            lines_address = f"{escape(notebooks.lines_url)}#file-{number}"
            patches.append(_patch_heading(path, number, address, lines_address) + cells_html)
        else:
            patches.append(_patch_heading(path, number, address) + _patch(patch, escape(path)))

    added = sum(row["additions"] or 0 for row in changed)
    removed = sum(row["deletions"] or 0 for row in changed)
    summary = f"{count_of(len(changed), 'file')} changed, {_line_counts(added, removed)} lines"
    if len(changed) > _MAX_FILES:
        summary += f"; the first {_MAX_FILES:,} files are listed"

    note = ""
    if hidden_patches:
        note = f'<p class="warn">{count_of(hidden_patches, "long patch")} not shown.</p>'
    return (
        f'<h2>Files</h2><p>{summary}</p><table class="files"><thead><tr><th scope="col">Path</th>'
        f'<th scope="col">Change</th><th scope="col">Lines</th></tr></thead><tbody>{"".join(rows)}</tbody></table>'
        f"{note}{''.join(patches)}"
    )


def _file_row(row: Mapping[str, Any], target: str) -> str:
    """Return a row of the table of files; `target` is where its link goes, empty for no link."""
    name = escape(row["path"])
    if target:
        name = f'<a href="{target}">{name}</a>'
    if row.get("old_path") and row["old_path"] != row["path"]:
        name += f' <span class="quiet">was {escape(row["old_path"])}</span>'

    counts = "binary"
    if not row["binary"]:
        counts = _line_counts(row["additions"] or 0, row["deletions"] or 0)
    return f"<tr><td>{name}</td><td>{escape(row['status'])}</td><td>{counts}</td></tr>"


def _patch_heading(path: str, number: int, address: str, lines_address: str = "") -> str:
    """Return the heading of a patch: the path, and links to the file and to its lines, if there are addresses."""
    links = ""
    if address:
        links += f' <a class="quiet" href="{address}">View file</a>'
    if lines_address:
        links += f' <a class="quiet" href="{lines_address}">Lines of the file</a>'
    return f'<h3 id="file-{number}">{escape(path)}{links}</h3>'


def _line_counts(added: int, removed: int) -> str:
    return f'<span class="good">+{added:,}</span> <span class="bad">\u2212{removed:,}</span>'


def _patch(patch: str, path_html: str) -> str:
    """Return a patch with the line numbers of both sides, without its header, which the page shows above it."""
    rows: list[str] = []
    old_number = 0
    new_number = 0
    for line in patch.split("\n"):
        hunk = _HUNK.match(line)
        if hunk is not None:
            old_number = int(hunk[1])
            new_number = int(hunk[2])
            rows.append(_patch_row("hunk", "", "", escape(line[:_MAX_LINE_CHARS])))
            continue

        is_in_hunk = bool(rows)
        if not is_in_hunk or not line:
            continue

        text = escape(line[:_MAX_LINE_CHARS])
        if len(line) > _MAX_LINE_CHARS:
            text += f'<span class="warn"> (truncated: {len(line):,} characters)</span>'

        match line[0]:
            case "+":
                rows.append(_patch_row("add", "", new_number, text))
                new_number += 1
            case "-":
                rows.append(_patch_row("del", old_number, "", text))
                old_number += 1
            case " ":
                rows.append(_patch_row("", old_number, new_number, text))
                old_number += 1
                new_number += 1
            # A line with a backslash says that a file has no newline at its end; it has no number.
            case _:
                rows.append(_patch_row("", "", "", text))

    if not rows:
        return f'<pre class="diff">{escape(patch[:_MAX_LINE_CHARS])}</pre>'

    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="Changes of {path_html}">'
        f'<table class="lines patch"><tbody>{"".join(rows)}</tbody></table></div>'
    )


def _patch_row(kind: str, old_number: int | str, new_number: int | str, text: str) -> str:
    """Return a line of a patch; `text` is HTML."""
    tag = f"<tr class={kind}>" if kind else "<tr>"
    return f"{tag}<td>{old_number}</td><td>{new_number}</td><td>{text}</td></tr>"
