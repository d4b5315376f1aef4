"""The page of a directory: its entries immediately, and parts that need history or all files later.

A page doesn't wait for its slow parts. Each slow part is a link to the same page with that part; the script follows
these links one after the other. A part that was computed once is cached for a while and then shown immediately.
"""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import quote

from starlette.responses import Response

from sourcelight.core.batches.results import ToolResult, file_url
from sourcelight.core.caching import LruCache
from sourcelight.core.errors import Cancelled, PatternError, QueryError, RepositoryError, ToolError
from sourcelight.core.markup import escape, one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines import tools
from sourcelight.engines.tools import ToolContext
from sourcelight.server.http.pages.code.changes import compare_form
from sourcelight.server.http.pages.code.elements import commit_url, head, tree_url
from sourcelight.server.http.pages.code.readme import readme_html, readme_path
from sourcelight.server.http.pages.frame import page

ENTRIES_ON_A_PAGE = 1_000
_MAX_BARS, _MAX_REFS, _MAX_REFS_SHOWN = 8, 500, 60
_MAX_CACHED, _KEPT_S = 256, 600.0
_MAX_CACHED_BYTES = 1 << 20
CHANGES, LANGUAGES, CONTRIBUTORS, OWNERS, REFS = "changes", "languages", "contributors", "owners", "refs"
README = "readme"
_TITLES = {
    REFS: "Branches and tags",
    LANGUAGES: "Languages",
    CONTRIBUTORS: "Contributors",
    OWNERS: "Owners of lines",
}
"""Parts next to the entries of a repository, in display order, with their titles."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a page: its rows and notices, or the reason why it has none.

    Parameters
    ----------
    rows
        Rows of the tool's answer.
    notices
        Notices of the answer, such as about omitted rows.
    problem
        Why the rows are missing; empty if they aren't.
    is_late
        Whether the rows only need more time.
    """

    rows: Sequence[Mapping[str, Any]] = ()
    notices: tuple[str, ...] = ()
    problem: str = ""
    is_late: bool = False


@dataclass(frozen=True)
class Directory:
    """A directory at a commit, with the parts of its page that are known.

    Parameters
    ----------
    answer
        Entries, by `list_files`.
    path
        Path in the repository; empty: the repository itself.
    revision
        As the address has it; empty: none.
    parts
        Known parts by name.
    start
        Number of the first entry on the page, from 0.
    """

    answer: ToolResult
    path: str
    revision: str = ""
    parts: Mapping[str, Part] = field(default_factory=dict)
    start: int = 0

    @property
    def name(self) -> str:
        """Name of the repository."""
        return str(self.answer.attributes["repository"])

    @property
    def commit(self) -> str:
        """The commit."""
        return str(self.answer.attributes["commit"])

    @cached_property
    def entries(self) -> list[Mapping[str, Any]]:
        """The entries on this page."""
        return list(self.answer.table.slice(self.start, ENTRIES_ON_A_PAGE).to_pylist())

    @property
    def part_names(self) -> list[str]:
        """Names of all parts of this page."""
        return [CHANGES, *([README] if self.readme else []), *([] if self.path else _TITLES)]

    @cached_property
    def readme(self) -> str:
        """Path of its README; empty: there is none on this page."""
        return readme_path(self.entries) or ""

    @property
    def readme_place(self) -> dict[str, str]:
        """Location of the README: its `repository`, `commit` and `path`."""
        return {"repository": self.name, "commit": self.commit, "path": self.readme}


class DirectoryParts:
    """Makes the parts of pages, and caches recent ones.

    A part is cached by the key of its repository and by commit. It is read only after `list_files` has checked that the
    reader may see the repository.

    Parameters
    ----------
    prefix
        Prefix of all addresses of the service.
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._parts_by_key: LruCache[tuple[Any, ...], tuple[float, Part]] = LruCache(_MAX_CACHED)

    def of(self, directory: Directory, requested: str, context: ToolContext, seconds: float) -> dict[str, Part]:
        """Return the parts that are stored, and the requested one."""
        repository_key = context.engine.catalog.get(directory.name, context.viewer).key
        parts = {}
        for name in directory.part_names:
            key = (repository_key, directory.commit, directory.path, directory.start, name)
            stored = self._parts_by_key.get(key)
            if stored is not None and time.monotonic() - stored[0] < _KEPT_S:
                parts[name] = stored[1]
            elif name == requested:
                parts[name] = self._make(key, directory, context, seconds)

        return parts

    def _make(self, key: tuple[Any, ...], directory: Directory, context: ToolContext, seconds: float) -> Part:
        name = key[-1]
        try:
            answer = _MAKERS[name](directory, context)
        except Cancelled:
            answer = None
        except (ToolError, RepositoryError, QueryError, PatternError) as exc:
            # Errors aren't cached: the next page may find the repository again, or more time.
            return Part(problem=str(exc).removeprefix(f"{name}: "))

        if context.cancellation.cancelled:
            return Part(problem=f"This takes longer than {seconds:g} s.", is_late=True)
        if answer is None:
            return Part(problem="This can't be counted.")

        rows = answer.table.to_pylist()
        if name == README:
            # Cached as HTML, because rendering takes 4 ms for a kilobyte.
            rows = [{"html": readme_html([row["line"] for row in rows], directory.readme_place, self._prefix)}]

        part = Part(rows, answer.notices)
        # Branches and tags move while the commit of the page stays.
        if name != REFS and answer.table.nbytes <= _MAX_CACHED_BYTES:
            self._parts_by_key.put(key, (time.monotonic(), part))

        return part


def _changes(directory: Directory, context: ToolContext) -> ToolResult:
    # Of this page only: a directory may have a hundred thousand entries.
    paths = [row["path"].rstrip("/") for row in directory.entries]
    arguments = {"repo": directory.name, "paths": paths, "revision": directory.commit}
    return tools.call("last_changes", arguments, context)


def _contributors(directory: Directory, context: ToolContext) -> ToolResult:
    arguments = {"repos": [directory.name], "by": ["year"], "revisions": [directory.commit]}
    return tools.call("contributors", arguments, context)


def _owners(directory: Directory, context: ToolContext) -> ToolResult:
    return tools.call("ownership", {"repo": directory.name, "revision": directory.commit}, context)


def _refs(directory: Directory, context: ToolContext) -> ToolResult:
    return tools.call("list_refs", {"repo": directory.name, "limit": _MAX_REFS}, context)


def _languages(directory: Directory, context: ToolContext) -> ToolResult | None:
    scope = f"repo:^{re.escape(directory.name)}${f'@{directory.commit}' if directory.revision else ''}"
    request = SearchRequest(f"{scope} file:. type:path fork:yes archived:yes count:all")
    table = context.engine.count(request, ["repository", "language"], context.viewer, context.cancellation)
    return None if table is None else ToolResult("counts", table)


def _readme(directory: Directory, context: ToolContext) -> ToolResult:
    arguments = {"repo": directory.name, "path": directory.readme, "revision": directory.commit}
    return tools.call("read_file", arguments, context)


_MAKERS: Mapping[str, Callable[[Directory, ToolContext], ToolResult | None]] = {
    CHANGES: _changes,
    README: _readme,
    LANGUAGES: _languages,
    CONTRIBUTORS: _contributors,
    OWNERS: _owners,
    REFS: _refs,
}


def directory_page(directory: Directory, *, prefix: str, use: str = "") -> Response:
    """Render a directory with its entries and the parts that are known."""
    info, path = directory.answer.attributes, directory.path
    notes = "".join(f'<p class="quiet">{escape(notice)}</p>' for notice in directory.answer.notices)
    aside = "".join(_section(directory, name, prefix) for name in _TITLES) if not path else ""
    if not path:
        aside = f"<h2>Compare</h2>{compare_form(directory.name, prefix)}{aside}"

    body = (
        f'{head(info, prefix, path)}{notes}<div class="beside"><div>{_entries(directory, prefix)}'
        f"{_readme_section(directory, prefix)}</div>"
        f"{f'<aside>{aside}</aside>' if aside else ''}</div>"
    )
    return page(f"{path or 'files'} \u00b7 {directory.name}", body, prefix=prefix, wide=True, use=use)


def _entries(directory: Directory, prefix: str) -> str:
    name, commit = directory.name, directory.commit
    part = directory.parts.get(CHANGES, Part())
    changes = {row["path"].rstrip("/"): row for row in part.rows}
    rows = []
    if directory.path:
        parent = tree_url(prefix, name, commit, directory.path.rpartition("/")[0])
        rows.append(
            f'<tr><td><a href="{escape(parent)}" aria-label="Up one directory">..</a></td><td></td><td></td></tr>'
        )

    for row in directory.entries:
        folder = row["kind"] == "directory"
        target = tree_url(prefix, name, commit, row["path"]) if folder else file_url(prefix, name, commit, row["path"])
        label = escape(row["path"].rstrip("/").rpartition("/")[2] + ("/" if folder else ""))
        link = f'<a href="{escape(target)}"{" class=folder" if folder else ""}>{label}</a>'
        if row["kind"] == "submodule":
            link = f'{label} <span class="quiet">submodule</span>'
        rows.append(f"<tr><td>{link}</td>{_last_change(changes.get(row['path'].rstrip('/')), name, prefix)}</tr>")

    table = (
        '<div class="scroll" role="region" tabindex="0" aria-label="Entries"><table class="entries"><thead><tr>'
        '<th scope="col">Name</th><th scope="col">Last change</th><th scope="col">Date</th></tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )
    foot = _foot(directory, CHANGES, "last changes", prefix)
    return f'<section data-part="{CHANGES}">{table}{foot}{_pages(directory, prefix)}</section>'


def _readme_section(directory: Directory, prefix: str) -> str:
    path = directory.readme
    if not path:
        return ""

    content = "".join(row["html"] for row in directory.parts.get(README, Part()).rows)
    address = file_url(prefix, directory.name, directory.commit, path)
    heading = f'<h2><a href="{escape(address)}">{escape(path.rpartition("/")[2])}</a></h2>'
    return (
        f'<section class="readme" data-part="{README}">{heading}{content}'
        f"{_foot(directory, README, 'its text', prefix)}</section>"
    )


def _pages(directory: Directory, prefix: str) -> str:
    """Return links to the other entries of a large directory."""
    total, start = directory.answer.table.num_rows, directory.start
    if total <= ENTRIES_ON_A_PAGE:
        return ""

    end = min(total, start + ENTRIES_ON_A_PAGE)
    address = escape(_address(directory, prefix))
    links = [
        f'<a href="{address}?from={number + 1}">from {number + 1:,}</a>'
        for number in range(0, total, ENTRIES_ON_A_PAGE)
        if number != start
    ]
    return f'<p class="quiet">Entries {start + 1:,} to {end:,} of {total:,} are shown; {", ".join(links)}.</p>'


def _address(directory: Directory, prefix: str) -> str:
    return tree_url(prefix, directory.name, quote(directory.revision, errors="replace"), directory.path)


def _last_change(row: Mapping[str, Any] | None, name: str, prefix: str) -> str:
    if row is None or not row["commit"]:
        return "<td></td><td></td>"
    date = row["commit_date"].date().isoformat() if row["commit_date"] is not None else ""
    return (
        f'<td><a href="{escape(commit_url(prefix, name, row["commit"]))}">'
        f"{escape(one_line(row['subject'] or '', 90))}</a> {escape(row['author'] or '')}</td><td>{date}</td>"
    )


def _foot(directory: Directory, name: str, noun: str, prefix: str) -> str:
    """Return the footer of a part: its notices, or the link to the page with it."""
    part = directory.parts.get(name)
    if part is not None and not part.problem:
        if not part.notices:
            return ""
        notices = "".join(f"<li>{escape(notice)}</li>" for notice in part.notices)
        return f'<details class="quiet"><summary>How this is counted</summary><ul>{notices}</ul></details>'

    start = f"from={directory.start + 1}&amp;" if directory.start else ""
    address = f"{escape(_address(directory, prefix))}?{start}part={name}"
    if part is None:
        return f'<p class="quiet"><a href="{address}" data-load>Show {noun}</a></p>'

    # The next try continues from the results that are cached so far.
    retry_link = f'<a href="{address}"{" data-load" if part.is_late else ""}>Try again</a>'
    return f'<p class="warn" role="status">{escape(part.problem)} {retry_link}</p>'


def _section(directory: Directory, name: str, prefix: str) -> str:
    part = directory.parts.get(name, Part())
    foot = _foot(directory, name, _TITLES[name].lower(), prefix)
    content = _CONTENTS[name](part.rows, directory, prefix) if part.rows else ""
    if not content and not foot:
        content = '<p class="quiet">None.</p>'
    return f'<section data-part="{name}"><h2>{_TITLES[name]}</h2>{content}{foot}</section>'


def _language_bars(rows: Sequence[Mapping[str, Any]], directory: Directory, prefix: str) -> str:
    del directory, prefix
    counts = Counter({row["language"]: row["files"] for row in rows if row["language"]})
    return _bars(counts.most_common(), "file")


def _contributor_bars(rows: Sequence[Mapping[str, Any]], directory: Directory, prefix: str) -> str:
    del directory, prefix
    authors: Counter[str] = Counter()
    years: Counter[str] = Counter()
    for row in rows:
        years[str(row["period"].year)] += row["commits"]
        if not row["bot"]:
            authors[row["author"]] += row["commits"]

    activity = _bars(sorted(years.items(), reverse=True), "commit")
    return f"{_bars(authors.most_common(), 'commit')}<h2>Commits by year</h2>{activity}"


def _owner_bars(rows: Sequence[Mapping[str, Any]], directory: Directory, prefix: str) -> str:
    del directory, prefix
    owners: Counter[str] = Counter()
    for row in rows:
        if not row["bot"]:
            owners[row["author"]] += row["lines"]
    return _bars(owners.most_common(), "line")


def _bars(counts: Sequence[tuple[str, int]], unit: str) -> str:
    counts = [(label, count) for label, count in counts if count]
    visible_counts = counts[:_MAX_BARS]
    largest = max((count for _, count in visible_counts), default=0)
    items = "".join(
        f'<li><meter value="{count}" max="{largest}" aria-hidden="true"></meter> <span>{escape(one_line(label, 60))}'
        f'</span> <span class="quiet">{count_of(count, unit)}</span></li>'
        for label, count in visible_counts
    )
    if len(counts) > len(visible_counts):
        remaining_line = f'<p class="quiet">and {len(counts) - len(visible_counts):,} more</p>'
    else:
        remaining_line = ""
    return f'<ul class="bars">{items}</ul>{remaining_line}'


def _ref_list(rows: Sequence[Mapping[str, Any]], directory: Directory, prefix: str) -> str:
    parts = []
    for kind, title in (("branch", "branches"), ("tag", "tags")):
        refs = [row for row in rows if row["kind"] == kind]
        items = "".join(
            f'<li><a href="{escape(_ref_url(directory, row, prefix))}">{escape(row["name"])}</a>'
            f"{' <span class=quiet>default</span>' if row['default'] else ''}</li>"
            for row in refs[:_MAX_REFS_SHOWN]
        )
        if len(refs) > _MAX_REFS_SHOWN:
            remaining_line = f'<li class="quiet">and {len(refs) - _MAX_REFS_SHOWN:,} more</li>'
        else:
            remaining_line = ""
        if items:
            parts.append(
                f'<details class="refs"><summary>{count_of(len(refs), kind)}</summary><ul aria-label="{title}">{items}'
                f"{remaining_line}</ul></details>"
            )

    options = "".join(f'<option value="{escape(row["name"])}">' for row in rows)
    return f'{"".join(parts)}<datalist id="refs">{options}</datalist>'


def _ref_url(directory: Directory, row: Mapping[str, Any], prefix: str) -> str:
    # The last @ of an address separates repository and revision, so a ref with an @ is given by its commit.
    revision = row["commit"] if "@" in row["name"] else quote(row["name"], errors="replace")
    return tree_url(prefix, directory.name, revision, "")


_CONTENTS: Mapping[str, Callable[[Sequence[Mapping[str, Any]], Directory, str], str]] = {
    REFS: _ref_list,
    LANGUAGES: _language_bars,
    CONTRIBUTORS: _contributor_bars,
    OWNERS: _owner_bars,
}
