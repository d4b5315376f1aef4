"""`list_files` and `list_repos` of a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from sourcelight.backends.remote.mcp.payloads import NO_MORE, is_cut, keep_text, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.backends.remote.mcp.text_forms import is_no_list, parse_paths, parse_repositories
from sourcelight.core.batches.results import ToolResult, utc_time
from sourcelight.core.errors import ProtocolError
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.catalog import table_of
from sourcelight.core.tools.files import UNPARSED

_PAGE_ROWS = 1_000
"""Repositories of a page, for services that say no maximum."""

_ONLY_PAGE_ROWS = 10_000
"""Repositories to ask for where a service has no pages and says no maximum."""

_MAX_LIMIT = 2**31 - 1
"""The largest limit that any service accepts."""

_USUAL_PAGE = 50
"""Repositories that services list without a limit, as they document it."""

_LISTED_PAGES = frozenset({100, 500, 1_000, 2_000, 5_000, 10_000})
"""Numbers of files at which a service may have cut its list: 1,000 is documented, the others are round."""

_COMPLETENESS_KEYS = frozenset({"pageInfo", "limitHit", "truncated", "hasMoreResults", "hasMore", "total"})
"""Keys of an answer by which a service says whether its list is complete."""

_MAX_PAGES = 10_000
"""Maximum pages of one list, because a broken service may return cursors forever."""


async def _list_files(request: ToolRequest) -> ToolResult:
    arguments = request.arguments
    listing = await _read_listing(request)
    if isinstance(listing, ToolResult):
        return listing

    # Services without a stated limit usually have a round one; then completeness isn't proven.
    count = len(listing.entries)
    states_size = "total" in listing.info or "limitHit" in listing.info
    if not listing.is_truncated and not states_size and count in _LISTED_PAGES:
        listing.add_doubt(f"The service lists {count:,} entries, which may be as many as it lists at once.")

    entries = [entry for entry in listing.entries if entry.get("path")]
    if len(entries) < count:
        listing.add_doubt(_nameless_notice(count - len(entries), "path"))

    requested_path = arguments.get("path", "").split("/")
    attributes = {
        "repository": arguments["repo"],
        "revision": arguments.get("revision") or "",
        "commit": listing.info.get("commit") or "",
        "path": "/".join(part for part in requested_path if part not in {"", "."}),
        "total": listing.info.get("total", None if listing.is_truncated else len(entries)),
        "end_cursor": listing.cursor if listing.is_truncated else None,
    }
    return ToolResult(
        columns="files",
        table=_files_table(entries, attributes["repository"], attributes["revision"], listing.info.get("commit")),
        attributes=attributes,
        complete=not listing.is_truncated,
        notices=listing.messages,
    )


def _files_table(entries: Sequence[Mapping[str, Any]], repository: str, revision: str, commit: str | None) -> Any:
    paths, directories, kinds = [], [], []
    for entry in entries:
        path = str(entry["path"])
        is_directory = bool(entry.get("isDirectory")) or path.endswith("/")
        directories.append(is_directory)
        paths.append(f"{path.rstrip('/')}/" if is_directory else path.rstrip("/"))
        # A sourcelight service names the commit, and omits usual kinds; other services have no kinds.
        usual_kind = "directory" if is_directory else "file"
        kinds.append(entry.get("kind") or (usual_kind if commit else None))

    return table_of(
        "files",
        len(entries),
        repository=repository,
        revision=revision,
        commit=commit,
        path=paths,
        is_directory=directories,
        kind=kinds,
    )


def _nameless_notice(count: int, key: str) -> str:
    return f"The service sent {count_of(count, 'entry')} without a {key}."


@dataclass(slots=True)
class _Listing:
    """A list of files, from all of its pages.

    Attributes
    ----------
    entries
        Files and directories as the service describes them.
    messages
        What the service says about the list.
    info
        The first page, with facts about the whole list.
    is_truncated
        Whether entries are missing.
    cursor
        Cursor of the last page that was requested; None for the first.
    """

    entries: list[Mapping[str, Any]] = field(default_factory=list)
    messages: tuple[str, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    is_truncated: bool = False
    cursor: str | None = None

    def add_doubt(self, message: str) -> None:
        """Add a reason why entries may be missing."""
        self.is_truncated = True
        self.messages = (*self.messages, message)


async def _read_listing(request: ToolRequest) -> _Listing | ToolResult:
    """Read all pages of a list of files; an answer that is no list is kept as a text."""
    arguments = dict(request.arguments)
    accepted = await request.accepted_arguments()
    listing = _Listing(cursor=arguments.get("after"))
    cursors = {listing.cursor}
    for _ in range(_MAX_PAGES):
        answer = (await request.ask(arguments)).read(("files",))
        if isinstance(answer, str):
            paths, listing.messages = parse_paths(answer)
            if is_no_list(answer) or (not paths and listing.messages):
                path = arguments.get("path", "")
                return keep_text(request.name, answer, repository=arguments["repo"], path=path)

            listing.entries += [{"path": path, "isDirectory": path.endswith("/")} for path in paths]
            listing.is_truncated = bool(listing.messages)
            break

        listing.info = listing.info or answer
        entries = list(answer.get("files") or ())
        listing.entries += entries
        listing.messages = notices(answer)
        page_info = answer.get("pageInfo") or {}
        listing.is_truncated = is_cut(answer) or bool(page_info.get("hasNextPage"))
        cursor = page_info.get("endCursor")

        # An empty page with a cursor, or a cursor that comes back, would be requested again and again.
        has_next = listing.is_truncated and bool(cursor) and bool(entries) and cursor not in cursors
        if not has_next or "after" not in accepted:
            break

        cursors.add(cursor)
        arguments["after"] = listing.cursor = cursor
        if "revision" in accepted and listing.info.get("commit"):
            arguments["revision"] = listing.info["commit"]  # the branch may move between two pages

    return listing


async def all_names(request: ToolRequest) -> list[str]:
    """Return the names of all repositories of the service."""
    answer = await _list_repos(replace(request, name="list_repos", arguments={"query": ""}))
    if answer.columns == UNPARSED:
        raise ProtocolError("the service answered list_repos with text that this version can't read")
    names: list[str] = answer.table.column("repository").to_pylist()
    return names


async def _list_repos(request: ToolRequest) -> ToolResult:
    pages = await _read_repository_pages(request)
    if isinstance(pages, ToolResult):
        return pages

    first, last = pages[0], pages[-1]
    messages = last.messages if last.has_next else ()
    if last.has_next and request.arguments.get("limit") is None:
        messages = (*messages, NO_MORE)

    all_entries = list(chain.from_iterable(page.entries for page in pages))
    entries = [entry for entry in all_entries if entry.get("name")]
    if len(entries) < len(all_entries):
        messages = (*messages, _nameless_notice(len(all_entries) - len(entries), "name"))

    is_limited = last.has_next or first.has_previous
    attributes = {
        "query": request.arguments.get("query", ""),
        "total": last.info.get("total") or (None if is_limited else len(entries)),
        "start_cursor": first.info.get("startCursor"),
        "end_cursor": last.cursor,
        "has_previous_page": first.has_previous,
        "has_next_page": last.has_next,
    }
    return ToolResult(
        columns="repository_list",
        table=_repositories_table(entries),
        attributes=attributes,
        complete=not is_limited and len(entries) == len(all_entries),
        notices=messages,
    )


@dataclass(frozen=True, slots=True)
class _RepositoryPage:
    """Repositories of one answer; `info` has the cursors and the total of the whole list."""

    entries: Sequence[Mapping[str, Any]]
    info: Mapping[str, Any]
    messages: tuple[str, ...]

    @property
    def has_next(self) -> bool:
        return bool(self.info.get("hasNextPage"))

    @property
    def has_previous(self) -> bool:
        return bool(self.info.get("hasPreviousPage"))

    @property
    def cursor(self) -> str | None:
        """Cursor of the next page."""
        cursor: str | None = self.info.get("endCursor")
        return cursor


async def _read_repository_pages(request: ToolRequest) -> list[_RepositoryPage] | ToolResult:
    """Read all pages of a list of repositories, or the one that a limit asks for; keep an unknown form as a text."""
    arguments = dict(request.arguments)
    limit: int | None = arguments.pop("limit", None)
    accepted = await request.accepted_arguments()
    has_cursor = "after" in accepted
    size_name = accepted.name_of("limit")
    page_size = None
    if size_name is not None:
        page_size = _page_size(accepted.maximums.get(size_name), limit, has_cursor=has_cursor)
        arguments[size_name] = page_size

    pages: list[_RepositoryPage] = []
    cursors = {arguments.get("after")}
    count = 0
    while len(pages) < _MAX_PAGES:
        value = (await request.ask(arguments)).read(("repos",))
        page = _read_repository_page(value, page_size or _USUAL_PAGE)
        if page is None:
            return keep_text(request.name, str(value), query=request.arguments.get("query", ""))

        pages.append(page)
        count += len(page.entries)
        request.report("listing repositories", count)
        # An empty page with a cursor, or a cursor that comes back, would be requested again and again.
        can_read_on = has_cursor and page.has_next and page.cursor and page.entries and page.cursor not in cursors
        if limit is not None or not can_read_on:
            break

        cursors.add(page.cursor)
        arguments["after"] = page.cursor

    return pages


def _page_size(maximum: int | None, limit: int | None, *, has_cursor: bool) -> int:
    """Return how many repositories to ask for at once; `maximum` is that of the service, if it says one."""
    if has_cursor:
        return min(maximum or _PAGE_ROWS, limit or _PAGE_ROWS)
    # One page is all there is, so ask for the largest.
    return min(maximum or _ONLY_PAGE_ROWS, limit or _MAX_LIMIT)


def _read_repository_page(value: str | Mapping[str, Any], page_size: int) -> _RepositoryPage | None:
    """Return the repositories of an answer; None for a text that is no list."""
    if isinstance(value, str):
        return _parse_repository_page(value, page_size)

    entries = list(value.get("repos") or ())
    info = value.get("pageInfo")
    if not info:
        # A full page may be the first of several, unless the service has a field that would say so.
        is_full = len(entries) == page_size and not _COMPLETENESS_KEYS & set(value)
        info = {"hasNextPage": is_cut(value) or is_full}
    return _RepositoryPage(entries, {**info, "total": value.get("total")}, notices(value))


def _parse_repository_page(text: str, page_size: int) -> _RepositoryPage | None:
    repositories, messages = parse_repositories(text)
    if is_no_list(text) or (not repositories and messages):
        return None

    entries = [
        {"name": repository.name, "stars": repository.stars, "description": repository.description}
        for repository in repositories
    ]
    # A sentence beside the list states missing entries; its wording differs between services.
    return _RepositoryPage(entries, {"hasNextPage": bool(messages) or len(entries) == page_size}, messages)


def _repositories_table(entries: Sequence[Mapping[str, Any]]) -> Any:
    return table_of(
        "repository_list",
        len(entries),
        repository=[str(entry["name"]) for entry in entries],
        repository_id=[_number(entry.get("id")) for entry in entries],
        stars=[int(entry.get("stars") or 0) for entry in entries],
        description=[entry.get("description") or "" for entry in entries],
        fork=[entry.get("fork") for entry in entries],
        archived=[entry.get("archived") for entry in entries],
        private=[entry.get("private") for entry in entries],
        topics=[list(map(str, entry.get("topics") or ())) for entry in entries],
        last_fetched=[utc_time(str(entry.get("lastFetched") or "")) for entry in entries],
        commit=[_text_or_none(entry.get("commit")) for entry in entries],
        url=[_text_or_none(entry.get("codeHostUrl")) for entry in entries],
    )


def _text_or_none(value: Any) -> str | None:
    return str(value) if value else None


def _number(value: Any) -> int | None:
    """Return the numeric id of a repository, or None for other services, whose ids are texts."""
    return value if isinstance(value, int) and -(2**63) <= value < 2**63 else None


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "list_files": _list_files,
    "list_repos": _list_repos,
}
