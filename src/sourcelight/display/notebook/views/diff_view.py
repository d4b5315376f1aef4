"""A commit or a comparison as HTML and text: its files and their changes.

HTML has the first `FILES` files with `LINES` lines of each, because notebooks store it; plain text has the files
without their lines. Notebook files show their changed cells instead of their JSON. All text of repositories is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.cells.compare import NotebookDiff
from sourcelight.core.markup import NO_MATH, count_of, escape, one_line, visible
from sourcelight.core.markup.highlighting import code_html
from sourcelight.core.query.fields import CODE
from sourcelight.core.query.languages import language_of
from sourcelight.display.notebook.views.file_view import open_links
from sourcelight.display.notebook.views.links import LinkResolver
from sourcelight.display.notebook.views.marked_text import STYLE, code_cell, cut_window

FILES = 20
"""Files that a view shows: a saved notebook keeps its HTML."""

LINES = 400
"""Lines of a file that a view shows."""

_ALL_OPEN = 5
"""Files up to which all are open; with more, a reader first needs the list."""

_MAX_LINE_CHARS = 1_000
"""Characters of a line that is displayed."""

_MAX_MESSAGE_CHARS = 5_000
"""Characters of the message of a commit."""

_MINUS = "\N{MINUS SIGN}"
_SIGNS = {"added": "+", "removed": _MINUS, "context": " "}

_HUNK = re.compile(r"@@ -(\d+)(?:,\d+)? \+(\d+)(?:,\d+)? @@")
"""``@@ -7,3 +7,4 @@ def retry():``: the first line before and after."""


@dataclass(frozen=True, slots=True)
class FileDiffRow:
    """A line of a patch: its `side` (``added``, ``removed``, ``context``, ``hunk`` or ``note``), numbers and text."""

    side: str
    old: int | None
    new: int | None
    text: str


def changes(patch: str) -> Iterator[FileDiffRow]:
    """Yield the lines of a patch in git's format, without its header."""
    old = 0
    new = 0
    in_hunk = False
    for line in patch.split("\n"):
        match = _HUNK.match(line)
        if match:
            in_hunk = True
            old = int(match[1])
            new = int(match[2])
            yield FileDiffRow("hunk", None, None, line)
        # Lines before the first hunk name the files and their modes; `---` there isn't a removed line.
        elif not in_hunk:
            continue
        elif line.startswith("+"):
            yield FileDiffRow("added", None, new, line[1:])
            new += 1
        elif line.startswith("-"):
            yield FileDiffRow("removed", old, None, line[1:])
            old += 1
        elif line.startswith(" "):
            yield FileDiffRow("context", old, new, line[1:])
            old += 1
            new += 1
        # "\ No newline at end of file"
        elif line.startswith("\\"):
            yield FileDiffRow("note", None, None, line[2:])


@dataclass(frozen=True, slots=True)
class DiffContent:
    """The data of a view of changes.

    `files` are rows of ``file_diffs``, and `base` and `head` are commits. For a view of one commit, `about` has its
    author, address, date and message; it is empty for a comparison. `notebooks` has the changed cells by path.
    """

    repository: str
    base: str
    head: str
    files: Sequence[Mapping[str, Any]]
    about: Mapping[str, str] = field(default_factory=dict)
    links: LinkResolver = field(default_factory=LinkResolver)
    notices: tuple[str, ...] = ()
    notebooks: Mapping[str, NotebookDiff] = field(default_factory=dict)


def diff_text(content: DiffContent) -> str:
    """Return the view as plain text: the files, without their lines."""
    added, removed = _line_counts(content)
    lines = [f"{_title(content)}: {_file_count(content)}, +{added:,} {_MINUS}{removed:,}"]
    if content.about:
        author = one_line(content.about["author"], 80)
        message = one_line(content.about["message"].strip(), 120)
        lines.append(f"  {author}: {message}")

    lines += [f"  {one_line(notice, 160)}" for notice in content.notices]
    for file in content.files[:FILES]:
        numbers = "binary"
        if not file["binary"]:
            numbers = f"+{file['additions'] or 0:,} {_MINUS}{file['deletions'] or 0:,}"
        lines.append(f"  {file['status']:<12} {_file_name(file)} ({numbers})")

    return "\n".join(lines)


def _file_name(file: Mapping[str, Any]) -> str:
    """Return the path of a file, with the former one before it if it was moved."""
    name = file["path"]
    old_path = file["old_path"]
    if old_path and old_path != name:
        name = f"{old_path} \u2192 {name}"
    return one_line(name, 300)


def _file_count(content: DiffContent) -> str:
    count = len(content.files)
    if count > FILES:
        return f"{FILES} of {count:,} files"
    return count_of(count, "file")


def _line_counts(content: DiffContent) -> tuple[int, int]:
    """Return how many lines were added and removed in all files."""
    added = sum(file["additions"] or 0 for file in content.files)
    removed = sum(file["deletions"] or 0 for file in content.files)
    return added, removed


def _title(content: DiffContent) -> str:
    if content.about:
        return one_line(f"{content.repository}@{content.head[:10]}", 200)
    return one_line(f"{content.repository}: {content.base[:10]}…{content.head[:10]}", 200)


def diff_html(content: DiffContent) -> str:
    """Return the view as HTML: each file opens and closes."""
    links = ""
    about = ""
    if content.about:
        links = open_links(content.links.commit(content.repository, content.head))
        about = _about(content.about)

    is_open = len(content.files) <= _ALL_OPEN
    blocks = [f'<div class="sl-title"><b>{escape(_title(content))}</b>{_sums(content)}{links}</div>{about}']
    blocks += [f'<div class="sl-dim">{escape(one_line(notice, 300))}</div>' for notice in content.notices]
    blocks += [_file(file, content, is_open=is_open) for file in content.files[:FILES]]
    remaining = len(content.files) - FILES
    if remaining > 0:
        count = count_of(remaining, "more file")
        blocks.append(f'<div class="sl-dim">and {count}: <code>.files</code> has all of them</div>')
    return f'{STYLE}<div class="sl-view {NO_MATH}">{"".join(blocks)}</div>'


def _about(about: Mapping[str, str]) -> str:
    """Return the author, the date and the message of a commit."""
    author = one_line(f"{about['author']} <{about['author_email']}>", 120)
    date = one_line(about["date"], 40)
    message = about["message"].replace("\r\n", "\n").strip()[:_MAX_MESSAGE_CHARS]
    return (
        f'<div><b>{escape(author)}</b> <span class="sl-dim">{escape(date)}</span></div>'
        '<div class="sl-message" role="region" tabindex="0" aria-label="Message of the commit">'
        f"{escape(message)}</div>"
    )


def _sums(content: DiffContent) -> str:
    added, removed = _line_counts(content)
    return (
        f'<span class="sl-dim">{_file_count(content)}</span><span class="sl-plus">+{added:,}</span>'
        f'<span class="sl-minus">{_MINUS}{removed:,}</span>'
    )


def _file(file: Mapping[str, Any], content: DiffContent, *, is_open: bool) -> str:
    numbers = "binary"
    if not file["binary"]:
        added = file["additions"] or 0
        removed = file["deletions"] or 0
        numbers = f'<span class="sl-plus">+{added:,}</span> <span class="sl-minus">{_MINUS}{removed:,}</span>'

    status = ""
    if file["status"] != "modified":
        status = f' <span class="sl-dim">{escape(str(file["status"]))}</span>'

    if file["path"] in content.notebooks:
        body = _cells(content.notebooks[file["path"]], file, content)
    elif file["patch"] is None:
        body = '<div class="sl-dim">its content is missing from the clone</div>'
    else:
        body = _patch(file, content)

    tag = "<details open>" if is_open else "<details>"
    name = escape(_file_name(file))
    return f"{tag}<summary>{name}{status} {numbers}</summary>{body}</details>"


def _cells(diff: NotebookDiff, file: Mapping[str, Any], content: DiffContent) -> str:
    """Return the cells of a notebook that differ, instead of the lines of its JSON."""
    rows: list[str] = []
    total = sum(len(text.lines) for text in diff.texts)
    for text in diff.texts:
        if len(rows) >= LINES:
            break
        rows.append(f'<tr class="sl-hunk"><td colspan="4">{escape(text.heading)}</td></tr>')
        language = text.text.language if text.text.kind == CODE else ""
        # Numbers are those of the cell's text: lines of the notebook's JSON mean nothing to a reader.
        rows += [_row(line.side, line.old, line.new, line.text, language) for line in text.lines[:LINES]]

    notes: list[str] = []
    if total > LINES:
        notes.append(f"{LINES} of {total:,} lines")
    if diff.texts:
        notes.append(f"{count_of(diff.equal_cells, 'cell')} unchanged")
    else:
        notes.append("no cell changed")
    # Each text has a row for its heading, too.
    return _table(rows[: LINES + len(diff.texts)], notes, file, content)


def _row(side: str, old: int | None, new: int | None, text: str, language: str) -> str:
    if side == "gap":
        return '<tr class="sl-dim"><td class="sl-no" colspan="3"></td><td>\u22ef</td></tr>'
    text, _, _ = cut_window(text, (), (), longest=_MAX_LINE_CHARS)
    tag = "<tr>" if side == "context" else f"<tr class=sl-{side}>"
    numbers = f"{_number_cell(old)}{_number_cell(new)}"
    return f'{tag}{numbers}<td class="sl-no">{_SIGNS[side]}</td>{code_cell(code_html(text, language))}</tr>'


def _number_cell(number: int | None) -> str:
    text = "" if number is None else number
    return f'<td class="sl-no">{text}</td>'


def _patch(file: Mapping[str, Any], content: DiffContent) -> str:
    rows = []
    changed_lines = list(changes(file["patch"]))
    language = language_of(file["path"])
    for change in changed_lines[:LINES]:
        if change.side in {"hunk", "note"}:
            text, _, _ = cut_window(change.text, (), (), longest=_MAX_LINE_CHARS)
            rows.append(f'<tr class="sl-hunk"><td colspan="4">{escape(text)}</td></tr>')
        else:
            rows.append(_row(change.side, change.old, change.new, change.text, language))

    if not rows:
        return '<div class="sl-dim">no lines changed</div>'

    notes = []
    if len(changed_lines) > LINES:
        notes.append(f"{LINES} of {len(changed_lines):,} lines")

    if file["truncated"]:
        notes.append("a limit of the service truncated the patch")

    return _table(rows, notes, file, content)


def _table(rows: Sequence[str], notes: Sequence[str], file: Mapping[str, Any], content: DiffContent) -> str:
    """Return rows in a scrollable region, with notes and links below."""
    links = open_links(content.links.file(content.repository, content.head, file["path"]))
    end = ""
    if notes or links:
        end = f'<div class="sl-dim">{", ".join(notes)} {links}</div>'

    label = escape(f"Changes of {_file_name(file)}")
    table = f"<table><tbody>{''.join(rows)}</tbody></table>"
    return f'<div class="sl-lines" role="region" tabindex="0" aria-label="{label}">{table}</div>{end}'


class DiffView:
    """The changes of a commit or a comparison; made by ``view_commit`` and ``view_diff``.

    It shows the first twenty files; `files` is the DataFrame of all, with their patches.

    Attributes
    ----------
    repository, base, head
        What was compared, commits of 40 hex digits.
    files
        DataFrame of the files; columns as in ``columns_of("file_diffs")``.
    """

    def __init__(self, content: DiffContent, files: Any) -> None:
        self._content = content
        self.repository = content.repository
        self.base = content.base
        self.head = content.head
        self.files = files

    def __len__(self) -> int:
        return len(self._content.files)

    def __repr__(self) -> str:
        return visible(diff_text(self._content))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:  # noqa: ARG002
        return {"text/plain": repr(self), "text/html": diff_html(self._content)}
