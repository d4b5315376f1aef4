"""`read_file`, `list_files` and `list_repos` of a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from sourcelight.backends.remote.mcp.payloads import (
    NOTHING,
    accepted_name,
    is_cut,
    is_too_large,
    limits_of,
    notes,
    notices,
    numbered_chunks,
    repositories,
)
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.errors import ProtocolError, ToolError
from sourcelight.core.tools.catalog import table_of

_FIRST_PART_LINES, _MAX_PART_LINES = 1_000, 16_000
_PAGE_ROWS = 1_000
_MAX_PAGES = 10_000


# read_file


class _FilePart:
    """Some lines of a file from a service."""

    def __init__(self, request: ToolRequest, value: Mapping[str, Any] | str) -> None:
        is_text = isinstance(value, str)
        info: Mapping[str, Any] = {} if isinstance(value, str) else value
        text: str = value if isinstance(value, str) else str(value.get("content") or "")
        url = str(info.get("url") or "")
        if is_text and text.startswith("URL: "):
            url, _, text = text[5:].partition("\n")
        chunks = numbered_chunks(text)
        self.first = chunks[0].first if chunks else int(info.get("startLine") or 1)
        self.lines = [line for chunk in chunks for line in chunk.lines]
        blob = request.blob(url)
        self.commit = str(info.get("commit") or blob.commit)
        self.path = str(info.get("path") or blob.path or request.arguments["path"])
        self.total: int | None = info.get("totalLines")
        self.is_truncated = is_cut(info)
        self.requested_end: int | None = None
        self.notices = notices(info) if not is_text else notes(text)
        if self.total is None and self.lines and self.lines[-1] == "":
            # Other services number what follows the last newline as a line of its own.
            self.lines.pop()

    @property
    def is_full(self) -> bool:
        """Whether it has all requested lines, so that more may follow."""
        return self.requested_end is not None and self.last >= self.requested_end

    @property
    def last(self) -> int:
        """Number of its last line."""
        return self.first + len(self.lines) - 1


async def _read_file(request: ToolRequest) -> ToolResult:
    arguments = request.arguments
    first, last = arguments.get("startLine"), arguments.get("endLine")
    part = await _first_part(request)
    parts = [part]
    while (
        part.lines
        and part.last < _end_line(part, last)
        and (part.is_truncated or part.total is not None or part.is_full)
    ):
        try:
            part = await _next_part(request, part.last + 1, last)
        except ToolError:
            if part.total is not None:
                raise
            break  # without a line count, an error means that there is no next part
        if not part.lines:
            break
        parts.append(part)
    lines = [line for item in parts for line in item.lines]
    start = parts[0].first
    total = next((item.total for item in parts if item.total is not None), None)
    is_whole = first is None and last is None
    complete = not parts[-1].is_truncated or parts[-1].last >= (total or last or parts[-1].last)
    if is_whole and total is None and not parts[-1].is_truncated:
        total = start + len(lines) - 1 if lines else 0
    repo, revision = arguments["repo"], arguments.get("revision") or ""
    table = table_of(
        "file_lines",
        len(lines),
        repository=repo,
        revision=revision,
        commit=parts[0].commit or None,
        path=parts[0].path,
        line_number=list(range(start, start + len(lines))),
        line=lines,
    )
    info = {
        "repository": repo,
        "revision": revision,
        "commit": parts[0].commit,
        "path": parts[0].path,
        "start_line": start,
        "end_line": start + len(lines) - 1,
        "total_lines": total,
        "whole": is_whole,
    }
    messages = () if complete and len(parts) > 1 else tuple(dict.fromkeys(n for item in parts for n in item.notices))
    return ToolResult("file_lines", table, info, complete, messages)


def _end_line(part: _FilePart, last: int | None) -> int:
    """Return the last line to read, as far as it is known."""
    total = part.total if part.total is not None else last
    return min(total, last) if total is not None and last is not None else total if total is not None else 2**31


async def _first_part(request: ToolRequest) -> _FilePart:
    try:
        return _FilePart(request, (await request.ask(request.arguments)).read(("content",)))
    except ToolError as exc:
        if not is_too_large(exc):
            raise
        return await _next_part(request, request.arguments.get("startLine") or 1, request.arguments.get("endLine"), exc)


async def _next_part(request: ToolRequest, first: int, last: int | None, fault: ToolError | None = None) -> _FilePart:
    """Return the next part, in smaller steps until the service returns it."""
    size = _MAX_PART_LINES if fault is None else _FIRST_PART_LINES
    while True:
        end = first + size - 1 if last is None else min(first + size - 1, last)
        request.report("reading lines", first - 1, last or 0)
        try:
            answer = await request.ask({**request.arguments, "startLine": first, "endLine": end})
        except ToolError as exc:
            if not is_too_large(exc) or end <= first:
                raise
            size = max((end - first + 1) // 4, 1)
            continue
        part = _FilePart(request, answer.read(("content",)))
        part.requested_end = end
        return part


# list_files


async def _list_files(request: ToolRequest) -> ToolResult:
    arguments = request.arguments
    value = (await request.ask(arguments)).read(("files",))
    info: Mapping[str, Any] = {} if isinstance(value, str) else value
    if isinstance(value, str):
        lines = [line for line in value.split("\n") if line.strip() and not line.startswith(("(", NOTHING, "No files"))]
        rows: list[Mapping[str, Any]] = [{"path": line, "isDirectory": line.endswith("/")} for line in lines]
        messages, is_truncated = notes(value), bool(notes(value))
    else:
        rows, messages, is_truncated = list(value.get("files") or ()), notices(value), is_cut(value)
    paths, folders = [], []
    for row in rows:
        folder = bool(row.get("isDirectory")) or str(row["path"]).endswith("/")
        paths.append(str(row["path"]).rstrip("/") + ("/" if folder else ""))
        folders.append(folder)
    kinds = [row.get("kind") for row in rows]
    commit = info.get("commit")
    table = table_of(
        "files",
        len(rows),
        repository=arguments["repo"],
        revision=arguments.get("revision") or "",
        commit=commit,
        path=paths,
        is_directory=folders,
        kind=kinds,
    )
    attributes = {
        "repository": arguments["repo"],
        "revision": arguments.get("revision") or "",
        "commit": commit or "",
        "path": "/".join(part for part in arguments.get("path", "").split("/") if part not in {"", "."}),
        "total": info.get("total", None if is_truncated else len(rows)),
    }
    return ToolResult("files", table, attributes, not is_truncated, messages)


# list_repos


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
        if isinstance(value, str):
            entries: list[Mapping[str, Any]] = [
                {"name": name, "stars": stars, "description": text} for name, stars, text in repositories(value)
            ]
            page, messages = {"hasNextPage": any("more" in note for note in notes(value))}, notes(value)
        else:
            entries = list(value.get("repos") or ())
            page = {**(value.get("pageInfo") or {"hasNextPage": is_cut(value)}), "total": value.get("total")}
            messages = notices(value)
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
    return ToolResult(
        "repository_list",
        _repositories(request, rows),
        _page_facts(request, first_page or {}, page, rows),
        not has_more and not before,
        messages if has_more else (),
    )


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


def _repositories(request: ToolRequest, rows: list[Mapping[str, Any]]) -> Any:
    try:
        names = [str(row["name"]) for row in rows]
    except KeyError:
        raise ProtocolError("the service listed a repository without a name", excerpt=str(rows)[:120]) from None
    return table_of(
        "repository_list",
        len(rows),
        repository=names,
        description=[row.get("description") or "" for row in rows],
        stars=[int(row.get("stars") or 0) for row in rows],
        private=[row.get("private") for row in rows],
        fork=[row.get("fork") for row in rows],
        archived=[row.get("archived") for row in rows],
        url=[
            request.relative(row["url"]) if row.get("url") else repository_url("", name)
            for row, name in zip(rows, names, strict=True)
        ],
    )


async def all_names(request: ToolRequest) -> list[str]:
    """Return the names of all repositories of the service."""
    answer = await _list_repos(replace(request, name="list_repos", arguments={"query": ""}))
    names: list[str] = answer.table.column("repository").to_pylist()
    return names


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "read_file": _read_file,
    "list_files": _list_files,
    "list_repos": _list_repos,
}
