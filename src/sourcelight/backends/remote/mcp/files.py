"""`list_files` and `list_repos` of a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.backends.remote.mcp.arguments import accepted_name, limits_of
from sourcelight.backends.remote.mcp.payloads import is_cut, is_no_list, keep_text, notices, paths, repositories
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult, utc_time
from sourcelight.core.errors import ProtocolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import UNPARSED

_PAGE_ROWS = 1_000
_USUAL_PAGE = 50  # of list_repos without a limit, as services document it
_LISTED_PAGES = frozenset({100, 500, 1_000, 2_000, 5_000, 10_000})  # 1,000 is documented; others are round numbers
_COMPLETENESS_KEYS = frozenset({"pageInfo", "limitHit", "truncated", "hasMoreResults", "hasMore", "total"})

_MAX_PAGES = 10_000
"""Maximum pages of one list, because a broken service may return cursors forever."""


async def _list_files(request: ToolRequest) -> ToolResult:
    arguments = request.arguments
    listing = await _read_listing(request)
    if isinstance(listing, ToolResult):
        return listing

    rows, messages, is_truncated = listing.rows, listing.messages, listing.is_truncated
    # Services without a stated limit usually have a round one; then completeness isn't proven.
    info = listing.info
    if not is_truncated and len(rows) in _LISTED_PAGES and "total" not in info and "limitHit" not in info:
        is_truncated = True
        messages = (*messages, f"The service lists {len(rows):,} entries, which may be as many as it lists at once.")

    rows, messages, is_truncated = _with(rows, "path", messages, is_truncated)
    directories = [bool(row.get("isDirectory")) or str(row["path"]).endswith("/") for row in rows]
    commit = info.get("commit")
    table = table_of(
        "files",
        len(rows),
        repository=arguments["repo"],
        revision=arguments.get("revision") or "",
        commit=commit,
        path=[
            str(row["path"]).rstrip("/") + ("/" if is_directory else "")
            for row, is_directory in zip(rows, directories, strict=True)
        ],
        is_directory=directories,
        kind=[row.get("kind") or usual for row, usual in zip(rows, _usual_kinds(info, directories), strict=True)],
    )
    attributes = {
        "repository": arguments["repo"],
        "revision": arguments.get("revision") or "",
        "commit": commit or "",
        "path": "/".join(part for part in arguments.get("path", "").split("/") if part not in {"", "."}),
        "total": info.get("total", None if is_truncated else len(rows)),
        "end_cursor": listing.cursor if is_truncated else None,
    }
    return ToolResult(columns="files", table=table, attributes=attributes, complete=not is_truncated, notices=messages)


@dataclass(slots=True)
class _Listing:
    """Entries of a list, from all of its pages.

    Attributes
    ----------
    rows
        The entries.
    messages
        What the service says about the list.
    info
        The first page, with facts about the whole list.
    is_truncated
        Whether entries are missing.
    cursor
        Cursor of the last page that was requested; None for the first.
    """

    rows: list[Mapping[str, Any]] = field(default_factory=list)
    messages: tuple[str, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    is_truncated: bool = False
    cursor: str | None = None


async def _read_listing(request: ToolRequest) -> _Listing | ToolResult:
    """Read all pages of a list of files; an answer that is no list is kept as a text."""
    arguments = request.arguments
    properties = (await request.schema()).get("properties", {})
    page_arguments = dict(arguments)
    listing = _Listing(cursor=arguments.get("after"))
    for _ in range(_MAX_PAGES):
        value = (await request.ask(page_arguments)).read(("files",))
        if isinstance(value, str):
            paths_on_page, listing.messages = paths(value)
            if is_no_list(value) or (not paths_on_page and listing.messages):
                return keep_text(request.name, value, repository=arguments["repo"], path=arguments.get("path", ""))
            listing.rows += [{"path": line, "isDirectory": line.endswith("/")} for line in paths_on_page]
            listing.is_truncated = bool(listing.messages)
            break

        listing.info = listing.info or value
        entries = list(value.get("files") or ())
        listing.rows += entries
        page = value.get("pageInfo") or {}
        listing.messages = notices(value)
        listing.is_truncated = is_cut(value) or bool(page.get("hasNextPage"))
        cursor = page.get("endCursor")

        # An empty page with a cursor would be requested again and again.
        if not listing.is_truncated or not cursor or not entries or "after" not in properties:
            break

        page_arguments["after"] = listing.cursor = cursor
        if "revision" in properties and listing.info.get("commit"):
            page_arguments["revision"] = listing.info["commit"]  # the branch may move between two pages

    return listing


def _usual_kinds(info: Mapping[str, Any], directories: list[bool]) -> list[str | None]:
    """Return the kinds of entries that have none: a sourcelight service names the commit, and omits usual kinds."""
    return [("directory" if is_directory else "file") if info.get("commit") else None for is_directory in directories]


def _with(
    rows: list[Mapping[str, Any]],
    key: str,
    messages: tuple[str, ...],
    is_limited: bool,  # noqa: FBT001 - given back
) -> tuple[list[Mapping[str, Any]], tuple[str, ...], bool]:
    """Drop rows without a name; if there are any, the answer is limited and has a message."""
    complete = [row for row in rows if row.get(key)]
    if len(complete) == len(rows):
        return rows, messages, is_limited
    notice = f"The service sent {count_of(len(rows) - len(complete), 'entry')} without a {key}."
    return complete, (*messages, notice), True


async def all_names(request: ToolRequest) -> list[str]:
    """Return the names of all repositories of the service."""
    answer = await _list_repos(replace(request, name="list_repos", arguments={"query": ""}))
    if answer.columns == UNPARSED:
        raise ProtocolError("the service answered list_repos with text that this version can't read")
    names: list[str] = answer.table.column("repository").to_pylist()
    return names


async def _list_repos(request: ToolRequest) -> ToolResult:
    page_arguments = dict(request.arguments)
    schema = await request.schema()
    size = accepted_name(schema, "limit")
    limit: int | None = page_arguments.pop("limit", None)
    page_size = min(limits_of(schema, size)[1] or _PAGE_ROWS, limit or _PAGE_ROWS) if size else None
    pages = "after" in schema.get("properties", {})
    if size is not None and not pages:  # one page is all there is: ask for the largest
        page_size = min(limit or 2**31 - 1, limits_of(schema, size)[1] or 10_000)

    rows: list[Mapping[str, Any]] = []
    messages: tuple[str, ...] = ()
    page: Mapping[str, Any] = {}
    first_page: Mapping[str, Any] | None = None
    for _ in range(_MAX_PAGES):
        arguments = {**page_arguments, **({} if size is None or page_size is None else {size: page_size})}
        value = (await request.ask(arguments)).read(("repos",))
        repository_page = _read_repositories(value, page_size or _USUAL_PAGE)
        if repository_page is None:
            return keep_text(request.name, str(value), query=request.arguments.get("query", ""))

        entries, page, messages = repository_page
        first_page = page if first_page is None else first_page
        rows += entries
        request.report("listing repositories", len(rows))
        cursor = page.get("endCursor")
        if limit is not None or not page.get("hasNextPage") or not pages or not cursor or not entries:
            break

        page_arguments["after"] = cursor

    has_more = bool(page.get("hasNextPage"))
    before = bool((first_page or {}).get("hasPreviousPage"))
    if has_more and limit is None:
        messages = (*messages, "The service returns no more than these.")

    rows, messages, is_limited = _with(rows, "name", messages if has_more else (), has_more or before)
    return ToolResult(
        columns="repository_list",
        table=_repositories(rows),
        attributes=_page_facts(request, first_page or {}, page, rows),
        complete=not is_limited,
        notices=messages,
    )


def _read_repositories(
    value: str | Mapping[str, Any], page_size: int
) -> tuple[list[Mapping[str, Any]], Mapping[str, Any], tuple[str, ...]] | None:
    """Return the entries of a page, its facts, and its messages, or None for a text that is no list."""
    if isinstance(value, str):
        names, messages = repositories(value)
        if is_no_list(value) or (not names and messages):
            return None
        entries: list[Mapping[str, Any]] = [
            {"name": name, "stars": stars, "description": text} for name, stars, text in names
        ]
        # A sentence beside the list states missing entries; its wording differs between services.
        return entries, {"hasNextPage": bool(messages) or len(entries) == page_size}, messages

    entries = list(value.get("repos") or ())
    # A full page may be the first of several, unless the service has a field that would say so.
    is_full = len(entries) == page_size and not _COMPLETENESS_KEYS & set(value)
    page = {**(value.get("pageInfo") or {"hasNextPage": is_cut(value) or is_full}), "total": value.get("total")}
    return entries, page, notices(value)


def _repositories(rows: list[Mapping[str, Any]]) -> Any:
    names = [str(row["name"]) for row in rows]
    return table_of(
        "repository_list",
        len(rows),
        repository=names,
        repository_id=[_number(row.get("id")) for row in rows],
        stars=[int(row.get("stars") or 0) for row in rows],
        description=[row.get("description") or "" for row in rows],
        fork=[row.get("fork") for row in rows],
        archived=[row.get("archived") for row in rows],
        private=[row.get("private") for row in rows],
        topics=[[str(topic) for topic in row.get("topics") or ()] for row in rows],
        last_fetched=[utc_time(str(row.get("lastFetched") or "")) for row in rows],
        commit=[str(row["commit"]) if row.get("commit") else None for row in rows],
        url=[str(row["codeHostUrl"]) if row.get("codeHostUrl") else None for row in rows],
    )


def _number(value: Any) -> int | None:
    """Return the numeric id of a repository, or None for other services, whose ids are texts."""
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


def _page_facts(
    request: ToolRequest, first_page: Mapping[str, Any], end: Mapping[str, Any], rows: list[Mapping[str, Any]]
) -> dict[str, Any]:
    has_more, before = bool(end.get("hasNextPage")), bool(first_page.get("hasPreviousPage"))
    return {
        "query": request.arguments.get("query", ""),
        "total": end.get("total") or (None if has_more or before else len(rows)),
        "start_cursor": first_page.get("startCursor"),
        "end_cursor": end.get("endCursor"),
        "has_previous_page": before,
        "has_next_page": has_more,
    }


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "list_files": _list_files,
    "list_repos": _list_repos,
}
