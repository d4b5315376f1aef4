"""Answers of a service about history as tables: commits, diffs, comparisons, contributors' repositories.

Changed lines come from diffs as services give them: hunks, or patches of whole files. No I/O.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from sourcelight.backends.remote.mcp.arguments import accepted_name, limits_of
from sourcelight.backends.remote.mcp.history.hunks import LineFilter, hunks_of
from sourcelight.backends.remote.mcp.history.paging import DatedPages, Entry, UnparsedText, instant, read_pages
from sourcelight.backends.remote.mcp.history.streams import from_stream
from sourcelight.backends.remote.mcp.history.texts import HistoryText, parse_comparison, parse_contributions
from sourcelight.backends.remote.mcp.payloads import is_cut, keep_text, means_empty, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.commit_messages import CO_AUTHORS, REVIEWERS, people_of_trailers
from sourcelight.core.batches.patches import patch_facts
from sourcelight.core.batches.persons import is_bot
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import RepositoryError, RevisionNotFound, ToolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import COLUMNS, table_of
from sourcelight.core.tools.commits import WHOLE_PATCHES, contributor_drill_down

_MAX_PAGES = 10_000
_HEX = re.compile(r"[0-9a-f]{40}")
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"  # git's name for a tree without files
_MAX_FILES = 100  # of a page, as services document it
_USUAL_PAGES = frozenset({50, 100})  # of compare_revisions, without and with the largest `first`
_MAX_REPOSITORIES = 100
# Fields of payloads whose names are not the column's name in camelCase.
_COLUMNS = {
    "repo": "repository",
    "name": "repository",
    "oid": "commit",
    "authorName": "author",
    "committerName": "committer",
    "committerDate": "commit_date",
    "firstCommit": "first_date",
    "lastCommit": "last_date",
    "newPath": "path",
    "filesChanged": "files",
    "authorUtcOffset": "author_utc_offset_min",
    "commitUtcOffset": "commit_utc_offset_min",
    "ordinal": "position",
    "similarity": "score",
}
_HUMP = re.compile(r"(?<=[a-z0-9])([A-Z])")


async def _commit_search(request: ToolRequest) -> ToolResult:
    try:
        pages = await read_pages(request, "commits", _commit_date)
    except UnparsedText as exc:
        return await _instead(request, exc)

    rows = [_commit(request, entry) for entry in pages.entries]
    if pages.info.get("namesAgents"):
        for row in rows:
            row["agent"] = row["agent"] or ""
            row["agent_traces"] = row["agent_traces"] or []

    rows.sort(key=lambda row: -row["commit_date"].timestamp() if row["commit_date"] else 0.0)
    return ToolResult(
        "commits", _table("commits", rows), _scope_info(request, pages), pages.complete, tuple(pages.notices)
    )


async def _instead(request: ToolRequest, exc: UnparsedText) -> ToolResult:
    """Answer by the search stream, or with the text itself."""
    answer = await from_stream(request)
    if isinstance(answer, ToolResult):
        return answer
    return keep_text(request.name, exc.text, answer)


def _commit_date(entry: Entry) -> datetime | None:
    return instant(entry.get("committerDate") or entry.get("commitDate"))


def _table(columns: str, rows: list[dict[str, Any]]) -> Any:
    return table_of(
        columns, len(rows), **{column.name: [row[column.name] for row in rows] for column in COLUMNS[columns]}
    )


def _commit(request: ToolRequest, entry: Entry) -> dict[str, Any]:
    row = _row(entry, "commits")
    subject, body = str(entry.get("subject") or ""), str(entry.get("body") or "").strip("\n")
    row["message"] = row["message"] or (f"{subject}\n\n{body}" if body else subject)
    row["subject"] = subject
    for date, offset in (("author_date", "author_utc_offset_min"), ("commit_date", "commit_utc_offset_min")):
        moment = row[date]
        if row[offset] is None and moment is not None and moment.utcoffset() is not None:
            row[offset] = int(moment.utcoffset().total_seconds() // 60)

    if isinstance(row["files"], list):
        row["files"] = len(row["files"])

    row["url"] = request.relative(str(entry.get("url") or ""))
    for column, tokens in (("co_authors", CO_AUTHORS), ("reviewers", REVIEWERS)):
        people = people_of_trailers(row["message"], tokens)
        row[column] = row[column] or [f"{name} <{address}>" for name, address in people]

    if row["bot"] is None and row["author"] is not None:
        row["bot"] = is_bot(row["author"], row["author_email"] or "")

    return row


def _row(entry: Entry, columns: str) -> dict[str, Any]:
    """Return the values of an entry by column, dates as moments in UTC."""
    row: dict[str, Any] = {}
    for column in COLUMNS[columns]:
        row[column.name] = None

    for key, value in entry.items():
        name = _COLUMNS.get(key) or _HUMP.sub(lambda match: f"_{match[1].lower()}", key)
        if name in row and value is not None:
            row[name] = value

    for column in COLUMNS[columns]:
        if column.type == "timestamp" and isinstance(row[column.name], str):
            row[column.name] = instant(row[column.name])

    return row


async def _diff_search(request: ToolRequest) -> ToolResult:
    line_filter = LineFilter.of(request.arguments)
    try:
        pages = await read_pages(request, "results", _commit_date)
    except UnparsedText as exc:
        return await _instead(request, exc)

    if any("files" not in entry for entry in pages.entries):
        pages.complete = False
        pages.notices["The service lists commits without their changes."] = None

    rows: list[dict[str, Any]] = []
    for done, entry in enumerate(pages.entries):
        if _is_truncated(entry):
            request.report("reading whole diffs", done, len(pages.entries), str(entry.get("repo") or ""))
            files = await _full_diff(request, entry, pages)
            entry = {**entry, "files": files}  # noqa: PLW2901 - the same commit with all of its files

        lines = list(_lines(entry, line_filter))
        rows += lines
        if entry.get("isFromText") and not lines:
            pages.complete = False
            commit = f"{entry['repo']}@{str(entry['oid'])[:7]}"
            pages.notices[f"{commit} matches, but not in the part of its diff that the service shows."] = None

    if pages.info.get("namesAgents"):
        for row in rows:
            row["agent"] = row["agent"] or ""

    rows = _newest_first(rows, request)
    # Truncated diffs were read in full above, or have their own notice.
    pages.notices = {notice: None for notice in pages.notices if WHOLE_PATCHES not in notice}
    info = {"pattern": request.arguments["pattern"], **_scope_info(request, pages)}
    return ToolResult("diff_lines", _table("diff_lines", rows), info, pages.complete, tuple(pages.notices))


def _is_truncated(entry: Entry) -> bool:
    files = entry.get("files") or ()
    return bool(entry.get("filesLeftOut")) or any(
        file.get("hunksLeftOut") or any(hunk.get("truncated") for hunk in file.get("hunks") or ()) for file in files
    )


async def _full_diff(request: ToolRequest, entry: Entry, pages: DatedPages) -> list[Mapping[str, Any]]:
    """Return the files of a commit with all hunks; those of the search if the service has no more."""
    oid = str(entry["oid"])
    arguments = {"repo": entry["repo"], "head": oid}
    try:
        try:
            rows, value = await _compare(request, {**arguments, "base": f"{oid}~1"})
        except (RevisionNotFound, ToolError):  # a first commit has no parent to compare with
            rows, value = await _compare(request, {**arguments, "base": _EMPTY_TREE})
    except (ToolError, RepositoryError, UnparsedText) as exc:
        files = list(entry.get("files") or ())
        hunks = sum(int(file.get("hunksLeftOut") or 0) for file in files)
        truncated_hunks = sum(bool(hunk.get("truncated")) for file in files for hunk in file.get("hunks") or ())
        pages.complete = False
        pages.notices[
            f"{entry['repo']}@{oid[:7]} has more matching lines than the service returns. It leaves out "
            f"{count_of(int(entry.get('filesLeftOut') or 0), 'file')} and {count_of(hunks, 'hunk')}, and truncates "
            f"{count_of(truncated_hunks, 'hunk')} ({exc})."
        ] = None
        return files

    incomplete = [row for row in rows if row["truncated"] or (row["patch"] is None and not row["binary"])]
    if incomplete:
        changed = sum((row["additions"] or 0) + (row["deletions"] or 0) for row in incomplete)
        pages.complete = False
        pages.notices[
            f"{entry['repo']}@{oid[:7]}: the service truncates the patches of {len(incomplete):,} of "
            f"{count_of(len(rows), 'file')} with {count_of(changed, 'changed line')}; matching lines may be missing."
        ] = None

    if (value.get("pageInfo") or {}).get("hasNextPage"):
        pages.complete = False
        pages.notices[
            f"{entry['repo']}@{oid[:7]} has more than {count_of(len(rows), 'file')}; the others were not read."
        ] = None

    return [{"oldPath": row["old_path"], "newPath": row["path"], "hunks": hunks_of(row["patch"] or "")} for row in rows]


def _lines(entry: Entry, line_filter: LineFilter) -> Iterator[dict[str, Any]]:
    """Yield the matched lines of a commit's diff."""
    commit = _row(entry, "diff_lines")
    for file in entry.get("files") or ():
        path = str(file.get("newPath") or file.get("path") or file.get("oldPath"))
        old_path = str(file.get("oldPath") or path)
        if line_filter.wants(path, old_path):
            location = {**commit, "path": path, "old_path": old_path}
            for line in line_filter.rows(file.get("hunks") or ()):
                yield {**location, **line}


def _newest_first(rows: list[dict[str, Any]], request: ToolRequest) -> list[dict[str, Any]]:
    """Sort rows by the requested order of repositories; the service sorts all by date."""
    repos = request.arguments.get("repos") or ()
    order = {name: index for index, name in enumerate([repos] if isinstance(repos, str) else repos)}
    return sorted(rows, key=lambda row: order.get(str(row["repository"]), len(order)))


async def _compare_revisions(request: ToolRequest) -> ToolResult:
    try:
        rows, value = await _compare(request, dict(request.arguments))
    except UnparsedText as exc:
        return keep_text(request.name, exc.text, repository=request.arguments["repo"])

    page = value.get("pageInfo") or {}
    base, head, totals = (value.get(name) or {} for name in ("base", "head", "totals"))
    info = {
        "repository": request.arguments["repo"],
        "base": base.get("oid", ""),
        "head": head.get("oid", ""),
        "base_revision": request.arguments["base"],
        "head_revision": request.arguments["head"],
        "relation": value.get("relation", ""),
        "total_files": totals.get("files"),
        "end_cursor": page.get("endCursor"),
        "total_additions": totals.get("additions"),
        "total_deletions": totals.get("deletions"),
    }
    is_short = bool(request.arguments.get("stat"))
    lacks_patches = not is_short and any(row["patch"] is None and not row["binary"] for row in rows)
    if is_short:
        # A service without a short form sends patches, whose lines have been counted by now.
        rows = [{**row, "patch": None} for row in rows]

    complete = not page.get("hasNextPage") and not lacks_patches and not any(row["truncated"] for row in rows)
    # Notices are those of the last page, but files of any page may be truncated: count them here instead.
    messages = tuple(text for text in notices(value) if "are truncated to" not in text)
    truncated_count = sum(row["truncated"] for row in rows)
    if truncated_count:
        messages = (*messages, f"The service truncates the patches of {count_of(truncated_count, 'file')}.")

    if not totals and not page and "limitHit" in value and "after" not in request.arguments:
        info |= _totals(rows)

    missing = int(totals.get("files") or 0) - len(rows)
    if missing > 0 and complete and "first" not in request.arguments and "after" not in request.arguments:
        complete = False
        messages = (*messages, f"The service counts {count_of(missing, 'file')} more than it returns.")
    # Without a page, totals or a limit, only a usual page size hints that there are more files.
    elif complete and not page and not totals and len(rows) in _USUAL_PAGES and "limitHit" not in value:
        complete = False
        messages = (*messages, f"The service returns {len(rows):,} files, which may be as many as it returns at once.")

    if request.arguments.get("first") is None and not page.get("hasNextPage"):
        # All pages were read, so a notice about the next page would mislead.
        messages = tuple(text for text in messages if "endCursor" not in text)

    return ToolResult("file_diffs", _table("file_diffs", rows), info, complete, messages)


def _totals(rows: Sequence[Mapping[str, Any]]) -> dict[str, int | None]:
    """Return the totals of a complete comparison; those of lines are None if the patch of a file is unknown."""
    totals: dict[str, int | None] = {"total_files": len(rows)}
    for name in ("additions", "deletions"):
        counts = [row[name] for row in rows]
        totals[f"total_{name}"] = None if None in counts else sum(counts)
    return totals


async def _compare(request: ToolRequest, arguments: dict[str, Any]) -> tuple[list[dict[str, Any]], Mapping[str, Any]]:
    """Return file diffs, page after page unless the request has a limit, and the last page."""
    limit: int | None = arguments.get("first")
    schema = await request.schema("compare_revisions")
    size = accepted_name(schema, "first")
    if "stat" not in schema.get("properties", {}):
        arguments.pop("stat", None)

    if limit is None and size is not None:
        arguments[size] = limits_of(schema, size)[1] or _MAX_FILES

    rows: list[dict[str, Any]] = []
    value: Mapping[str, Any] = {}
    for _ in range(_MAX_PAGES):
        read = (await request.ask(arguments, "compare_revisions")).read(("fileDiffs",))
        value = _comparison(read, arguments) if isinstance(read, str) else read
        first = int(value.get("offset") or len(rows))
        entries = enumerate(value.get("fileDiffs") or (), first)
        rows += [_file_diff(arguments["repo"], value, entry, position) for position, entry in entries]
        page = value.get("pageInfo") or {}
        request.report("comparing", len(rows), int((value.get("totals") or {}).get("files") or 0), "files")
        if limit is not None or not page.get("hasNextPage") or not page.get("endCursor"):
            break

        arguments["after"] = page["endCursor"]

    return rows, value


def _comparison(text: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the text of a comparison as a typed payload; raise `UnparsedText` for an unknown form."""
    if means_empty(text):
        return {"fileDiffs": [], "pageInfo": {"hasNextPage": False}}

    comparison = parse_comparison(text)
    if comparison is None:
        raise UnparsedText(text)

    ids = {
        name: {"oid": oid}
        for name, oid in (("base", comparison.base), ("head", comparison.head))
        if _HEX.fullmatch(oid)
    }
    has_more = bool(comparison.cursor or comparison.notes)
    page = {"pageInfo": {"endCursor": comparison.cursor or None, "hasNextPage": has_more}} if has_more else {}
    is_page = len(comparison.entries) in _USUAL_PAGES or len(comparison.entries) == arguments.get("first")
    limit = {} if has_more or is_page else {"limitHit": False}
    return {
        "fileDiffs": comparison.entries,
        **ids,
        **page,
        **limit,
        **({"notices": comparison.notes} if comparison.notes else {}),
    }


def _file_diff(repo: str, value: Mapping[str, Any], entry: Entry, position: int) -> dict[str, Any]:
    row = _row(entry, "file_diffs")
    path, old = entry.get("newPath"), entry.get("oldPath")
    row |= {
        "repository": repo,
        "base": (value.get("base") or {}).get("oid", ""),
        "head": (value.get("head") or {}).get("oid", ""),
        "path": path or old,
        "old_path": old or path,
        "truncated": bool(entry.get("truncated")),
        "binary": bool(entry.get("binary")),
        "status": str(entry.get("status") or "modified"),
    }
    if row["patch"] is not None:
        patch_values = patch_facts(row["patch"], is_whole=not row["truncated"])
        row |= {
            name: patch_values[name]
            for name in patch_values
            if row[name] is None or (name == "binary" and not row[name])
        }

    row["position"] = position if row["position"] is None else row["position"]
    return row


async def _get_contributor_repos(request: ToolRequest) -> ToolResult:
    arguments = dict(request.arguments)
    schema = await request.schema()
    names = list(arguments.get("authors") or ())
    if names and "author" in schema.get("required", ()):
        # The specification has a single `author`. Services that also accept `authors` still require it.
        arguments["author"] = names[0]
        if len(names) == 1:
            del arguments["authors"]

    size = accepted_name(schema, "limit")
    if "limit" not in arguments and size is not None:
        arguments[size] = limits_of(schema, size)[1] or _MAX_REPOSITORIES

    value = (await request.ask(arguments)).read(("repos",))
    if isinstance(value, str):
        contributions = HistoryText([]) if means_empty(value) else parse_contributions(value)
        if contributions is None:
            return await _instead(request, UnparsedText(value))
        value = {
            "repos": contributions.entries,
            **({"limitHit": True, "notices": contributions.notes} if contributions.notes else {}),
        }

    entries = list(value.get("repos") or ())
    rows = [_row(entry, "contributor_repositories") for entry in entries]
    authors = names or ([arguments["author"]] if arguments.get("author") else [])
    info = {
        "authors": authors,
        "total": value.get("totalCount", len(rows)),
        "drill_down": contributor_drill_down(authors, use_regex=bool(request.arguments.get("useRegex"))),
    }
    is_truncated = is_cut(value) if "limitHit" in value else len(rows) == arguments.get(size or "limit", 20)
    messages = notices(value) or (("The service returns no more than these.",) if is_truncated else ())
    shortened = [str(entry.get("name")) for entry in entries if entry.get("authorsLeftOut")]
    if shortened:
        messages = (*messages, f"The service lists only the first authors of {', '.join(shortened[:5])}.")
        is_truncated = True

    return ToolResult(
        "contributor_repositories", _table("contributor_repositories", rows), info, not is_truncated, messages
    )


def _scope_info(request: ToolRequest, pages: DatedPages) -> dict[str, Any]:
    """Return the scope of the request as the service read it, and the number of commits."""
    repos = request.arguments.get("repos") or ()
    dates = {
        name: pages.info[name] for name in ("after", "before") if request.arguments.get(name) and name in pages.info
    }
    total = len(pages.entries) if pages.complete else pages.info.get("totalCount")
    return {"repositories": [repos] if isinstance(repos, str) else list(repos), "total": total, **dates}


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "commit_search": _commit_search,
    "diff_search": _diff_search,
    "compare_revisions": _compare_revisions,
    "get_contributor_repos": _get_contributor_repos,
}
