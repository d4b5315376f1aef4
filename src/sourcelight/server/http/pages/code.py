"""The pages of a file, a directory and a commit."""

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
from sourcelight.core.markup.markdown import Token, highlight_code, line_tokens
from sourcelight.core.query.languages import language_of
from sourcelight.server.http.pages.conversations import page

MAX_LINES = 5_000
_CONTEXT_LINES = 1_000
_MAX_COLORED_CHARS = 400_000
_MAX_LISTED, _MAX_LINE_SHOWN, _MAX_BARS = 100, 300, 8
_MAX_LINE_CHARS = 5_000
_MAX_PATCH_CHARS, _MAX_PATCHES_CHARS = 100_000, 600_000


@dataclass(frozen=True, slots=True)
class FilePageView:
    """What the page of a file shows beside its lines.

    Parameters
    ----------
    requested
        First and last line to mark; None: none.
    outline
        Definitions of the file; None: not known.
    blame
        Commits of the lines; None: not asked for.
    note
        Why something is missing; empty: nothing is.
    """

    requested: tuple[int, int] | None = None
    outline: ToolResult | None = None
    blame: ToolResult | None = None
    note: str = ""


def file_page(answer: ToolResult, view: FilePageView, *, prefix: str) -> Response:
    """Render a file; highlights the requested lines."""
    info = answer.attributes
    texts: Sequence[str] = answer.table.column("line").to_pylist()
    total = len(texts)
    first, last = view.requested or (0, 0)
    start, end = 1, total
    # A window around the requested line; links lead to the other windows.
    if total > MAX_LINES:
        start = min(max(1, first - _CONTEXT_LINES), max(1, total - MAX_LINES + 1))
        end = min(total, start + MAX_LINES - 1)
    shown = texts[start - 1 : end]
    colors = _line_colors(shown, info["path"])
    blame = _blame_cells(view.blame, info["repository"], prefix)
    rows = "".join(
        f'<tr id="L{number}"{" class=hit" if first <= number <= last else ""}><td>'
        f'<a href="#L{number}"{" autofocus" if number == first else ""}>{number}</a></td>'
        f"{blame.get(number, '<td class=blame></td>') if blame else ''}<td>{_line(text, color)}</td></tr>\n"
        for number, text, color in zip(range(start, end + 1), shown, colors, strict=True)
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
    notices += f'<p class="warn">{escape(view.note)}</p>' if view.note else ""
    aside = _outline(view.outline, address) + _line_commits(view, info["repository"], prefix)
    body = (
        f"{_head(info, prefix, info['path'])}{notices}{_file_actions(info, view, prefix)}"
        f'<p class="quiet">{"; ".join(summary)}</p><div class="beside"><div class="scroll" role="region" '
        f'aria-label="Lines of the file" tabindex="0"><table class="lines"><tbody>{rows}</tbody></table></div>'
        f"<aside>{aside}</aside></div>"
    )
    return page(f"{info['path']} \u00b7 {info['repository']}", body, prefix=prefix, wide=True)


def _file_actions(info: Any, view: FilePageView, prefix: str) -> str:
    """Links to other views of a file, a form for a name in it, and the way to it in Python."""
    name, commit, path = info["repository"], info["commit"], info["path"]
    address = file_url(prefix, name, commit, path, view.requested)
    plain = address.partition("?")[0]
    lines = f"L{view.requested[0]}-{view.requested[1]}" if view.requested else ""
    blame = f'<a href="{escape(plain)}?{lines}">Without blame</a>'
    if view.blame is None:
        blame = f'<a href="{escape(plain)}?{lines}{"&amp;" if lines else ""}blame=1">Blame</a>'
    symbol = f"{repository_url(prefix, name, commit)}/-/symbol/{quote(path, errors='replace')}"
    python = f"code.read_file({name!r}, {path!r}, revision={commit!r})"
    return (
        f'<nav class="actions" aria-label="Views of the file"><a href="{escape(address)}">Permalink</a> {blame}'
        f'<form class="inline" action="{escape(symbol)}"><input name="name" aria-label="Name in this file" size="18" '
        'placeholder="a name in it" maxlength="200" required autocapitalize="none" spellcheck="false">'
        "<button>Definition and references</button></form>"
        f'<details><summary>Use in Python</summary><pre id="python">{escape(python)}</pre>'
        '<button type="button" data-copy="python" hidden>Copy as Python</button></details></nav>'
    )


def _line_colors(lines: Sequence[str], path: str) -> list[list[Token]]:
    """Colours of each line; none for lines so long that looking for them would take a while."""
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
    """The commits that changed the highlighted lines last, or those of all lines, newest first."""
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
        for row in newest[:_MAX_LISTED]
    )
    title = "History of the highlighted lines" if view.requested else "Commits of these lines"
    return f"<h2>{title}</h2><ul>{items}</ul>"


def _outline(outline: ToolResult | None, address: str) -> str:
    rows = [] if outline is None else outline.table.to_pylist()[:_MAX_LISTED]
    items = "".join(
        f'<li><a href="{escape(address)}?L{row["line_number"]}"><code>{escape(row["symbol"])}</code></a> '
        f'<span class="kind">{escape(row["kind"] or "")}</span></li>'
        for row in rows
    )
    return f"<h2>Definitions</h2><ul>{items}</ul>" if items else ""


def symbol_page(
    name: str, path: str, definitions: ToolResult | str, references: ToolResult | str, *, prefix: str
) -> Response:
    """Render definitions and references of a name; a text is the reason why there are none."""
    parts = []
    for title, answer in (("Definitions", definitions), ("References", references)):
        if isinstance(answer, str):
            parts.append(f'<h2>{title}</h2><p class="warn">{escape(answer)}</p>')
            continue
        notes = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in answer.notices)
        rows = "".join(_place(row, prefix) for row in answer.table.to_pylist()[:_MAX_LISTED])
        count = f' <small class="quiet">{answer.table.num_rows:,}</small>'
        parts.append(f"<h2>{title}{count}</h2>{notes}<table class='files'><tbody>{rows}</tbody></table>")
    body = f"<h1><code>{escape(name)}</code></h1><p class='quiet'>as {escape(path)} uses it</p>{''.join(parts)}"
    return page(f"{name} \u00b7 {path}", body, prefix=prefix, wide=True)


def _place(row: Mapping[str, Any], prefix: str) -> str:
    number = row["line_number"] or 1
    address = file_url(prefix, row["repository"], row["commit"] or "", row["path"], (number, number))
    line = (row["line"] or "")[:_MAX_LINE_SHOWN]
    text = escape(line) if row["start"] is None else highlight(line, [row["start"]], [row["end"]])
    how = "" if row["precise"] else ' <span class="quiet">by name</span>'
    return (
        f'<tr><td><a href="{escape(address)}">{escape(row["path"])}:{number}</a> <span class="quiet">'
        f"{escape(row['repository'])}</span></td><td><code>{text}</code>{how}</td></tr>"
    )


def _line(text: str, tokens: Sequence[Token]) -> str:
    if len(text) <= _MAX_LINE_CHARS:
        return highlight_code(text, tokens)
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


def directory_page(answer: ToolResult, path: str, view: DirectoryView, *, prefix: str) -> Response:
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
        f'{_head(info, prefix, path)}{note}<div class="beside"><div class="scroll" role="region" tabindex="0" '
        f'aria-label="Entries"><table class="entries"><tbody>{"".join(rows)}</tbody></table></div>'
        f"<aside>{aside}</aside></div>"
    )
    return page(f"{path or '/'} \u00b7 {name}", body, prefix=prefix, wide=True)


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
    most = max(count for _, count in counts)
    items = "".join(
        f'<li><meter value="{count}" max="{most}" aria-label="{escape(label)}, {unit}"></meter> {escape(label)} '
        f'<span class="quiet">{count:,}</span></li>'
        for label, count in counts
    )
    return f'<h2>{title}</h2><ul class="bars">{items}</ul>'


def compare_page(answer: ToolResult, *, prefix: str) -> Response:
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
    return page(f"{title} \u00b7 {name}", body, prefix=prefix)


def commit_page(answer: ToolResult, *, prefix: str) -> Response:
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
    return page(f"{subject} \u00b7 {name}", body, prefix=prefix)


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
