"""`read_file`, `list_files` and `list_repos` of a service."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from typing import Any

from sourcelight.backends.remote.mcp.payloads import (
    NOTHING,
    bounds,
    is_cut,
    is_too_large,
    notes,
    notices,
    numbered_chunks,
    repositories,
    taken,
)
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.errors import ProtocolError, ToolError
from sourcelight.core.tools.catalog import table_of

_FIRST_PART, _LARGEST_PART = 1_000, 16_000
_PAGE = 1_000
_MOST_PAGES = 10_000


# read_file


class _FilePart:
    """Some lines of a file, as a service gave them."""

    def __init__(self, asked: ToolRequest, value: Mapping[str, Any] | str) -> None:
        typed = isinstance(value, str)
        facts: Mapping[str, Any] = {} if isinstance(value, str) else value
        text: str = value if isinstance(value, str) else str(value.get("content") or "")
        url = str(facts.get("url") or "")
        if typed and text.startswith("URL: "):
            url, _, text = text[5:].partition("\n")
        chunks = numbered_chunks(text)
        self.first = chunks[0].first if chunks else int(facts.get("startLine") or 1)
        self.lines = [line for chunk in chunks for line in chunk.lines]
        where = asked.blob(url)
        self.commit = str(facts.get("commit") or where.commit)
        self.path = str(facts.get("path") or where.path or asked.arguments["path"])
        self.total: int | None = facts.get("totalLines")
        self.cut = is_cut(facts)
        self.asked_to: int | None = None
        self.notices = notices(facts) if not typed else notes(text)
        if self.total is None and self.lines and self.lines[-1] == "":
            # Other services number what follows the last newline as a line of its own.
            self.lines.pop()

    @property
    def is_full(self) -> bool:
        """Whether it holds all lines that were asked for by their numbers, so that more may follow."""
        return self.asked_to is not None and self.last >= self.asked_to

    @property
    def last(self) -> int:
        """Number of its last line."""
        return self.first + len(self.lines) - 1


async def _read_file(asked: ToolRequest) -> ToolResult:
    given = asked.arguments
    first, last = given.get("startLine"), given.get("endLine")
    part = await _whole_or_first(asked)
    parts = [part]
    while part.lines and part.last < _wanted(part, last) and (part.cut or part.total is not None or part.is_full):
        try:
            part = await _next_part(asked, part.last + 1, last)
        except ToolError:
            if part.total is not None:
                raise
            break  # the service does not say how many lines there are: there is no next one
        if not part.lines:
            break
        parts.append(part)
    lines = [line for each in parts for line in each.lines]
    start = parts[0].first
    total = next((each.total for each in parts if each.total is not None), None)
    whole = first is None and last is None
    complete = not parts[-1].cut or parts[-1].last >= (total or last or parts[-1].last)
    if whole and total is None and not parts[-1].cut:
        total = start + len(lines) - 1 if lines else 0
    repo, revision = given["repo"], given.get("revision") or ""
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
    facts = {
        "repository": repo,
        "revision": revision,
        "commit": parts[0].commit,
        "path": parts[0].path,
        "start_line": start,
        "end_line": start + len(lines) - 1,
        "total_lines": total,
        "whole": whole,
    }
    said = () if complete and len(parts) > 1 else tuple(dict.fromkeys(n for each in parts for n in each.notices))
    return ToolResult("file_lines", table, facts, complete, said)


def _wanted(part: _FilePart, last: int | None) -> int:
    """The last line that is to be read, as far as it is known."""
    known = part.total if part.total is not None else last
    return min(known, last) if known is not None and last is not None else known if known is not None else 2**31


async def _whole_or_first(asked: ToolRequest) -> _FilePart:
    try:
        return _FilePart(asked, (await asked.ask(asked.arguments)).read(("content",)))
    except ToolError as exc:
        if not is_too_large(exc):
            raise
        return await _next_part(asked, asked.arguments.get("startLine") or 1, asked.arguments.get("endLine"), exc)


async def _next_part(asked: ToolRequest, first: int, last: int | None, fault: ToolError | None = None) -> _FilePart:
    """A part that the service gives, made smaller until it does."""
    size = _LARGEST_PART if fault is None else _FIRST_PART
    while True:
        end = first + size - 1 if last is None else min(first + size - 1, last)
        asked.tell("reading lines", first - 1, last or 0)
        try:
            answer = await asked.ask({**asked.arguments, "startLine": first, "endLine": end})
        except ToolError as exc:
            if not is_too_large(exc) or end <= first:
                raise
            size = max((end - first + 1) // 4, 1)
            continue
        part = _FilePart(asked, answer.read(("content",)))
        part.asked_to = end
        return part


# list_files


async def _list_files(asked: ToolRequest) -> ToolResult:
    given = asked.arguments
    value = (await asked.ask(given)).read(("files",))
    facts: Mapping[str, Any] = {} if isinstance(value, str) else value
    if isinstance(value, str):
        lines = [line for line in value.split("\n") if line.strip() and not line.startswith(("(", NOTHING, "No files"))]
        rows: list[Mapping[str, Any]] = [{"path": line, "isDirectory": line.endswith("/")} for line in lines]
        said, cut = notes(value), bool(notes(value))
    else:
        rows, said, cut = list(value.get("files") or ()), notices(value), is_cut(value)
    paths, folders = [], []
    for row in rows:
        folder = bool(row.get("isDirectory")) or str(row["path"]).endswith("/")
        paths.append(str(row["path"]).rstrip("/") + ("/" if folder else ""))
        folders.append(folder)
    kinds = [row.get("kind") for row in rows]
    commit = facts.get("commit")
    table = table_of(
        "files",
        len(rows),
        repository=given["repo"],
        revision=given.get("revision") or "",
        commit=commit,
        path=paths,
        is_directory=folders,
        kind=kinds,
    )
    attributes = {
        "repository": given["repo"],
        "revision": given.get("revision") or "",
        "commit": commit or "",
        "path": "/".join(part for part in given.get("path", "").split("/") if part not in {"", "."}),
        "total": facts.get("total", None if cut else len(rows)),
    }
    return ToolResult("files", table, attributes, not cut, said)


# list_repos


async def _list_repos(asked: ToolRequest) -> ToolResult:
    given = dict(asked.arguments)
    schema = await asked.schema()
    size = taken(schema, "limit")
    wanted: int | None = given.pop("limit", None)
    most = min(bounds(schema, size)[1] or _PAGE, wanted or _PAGE) if size else None
    pages = "after" in schema.get("properties", {})
    if size is not None and not pages:  # one page is all there is: ask for the largest
        most = min(wanted or 2**31 - 1, bounds(schema, size)[1] or 10_000)
    rows: list[Mapping[str, Any]] = []
    said: tuple[str, ...] = ()
    page: Mapping[str, Any] = {}
    begin: Mapping[str, Any] | None = None
    for _ in range(_MOST_PAGES):
        arguments = {**given, **({} if size is None or most is None else {size: most})}
        value = (await asked.ask(arguments)).read(("repos",))
        if isinstance(value, str):
            found: list[Mapping[str, Any]] = [
                {"name": name, "stars": stars, "description": text} for name, stars, text in repositories(value)
            ]
            page, said = {"hasNextPage": any("more" in note for note in notes(value))}, notes(value)
        else:
            found = list(value.get("repos") or ())
            page = {**(value.get("pageInfo") or {"hasNextPage": is_cut(value)}), "total": value.get("total")}
            said = notices(value)
        begin = page if begin is None else begin
        rows += found
        asked.tell("listing repositories", len(rows))
        cursor = page.get("endCursor")
        if wanted is not None or not page.get("hasNextPage") or not pages or not cursor or not found:
            break
        given["after"] = cursor
    more = bool(page.get("hasNextPage"))
    before = bool((begin or {}).get("hasPreviousPage"))
    if more and wanted is None:
        said = (*said, "The service gives no more than these.")
    return ToolResult(
        "repository_list",
        _repositories(asked, rows),
        _page_facts(asked, begin or {}, page, rows),
        not more and not before,
        said if more else (),
    )


def _page_facts(
    asked: ToolRequest, begin: Mapping[str, Any], end: Mapping[str, Any], rows: list[Mapping[str, Any]]
) -> dict[str, Any]:
    more, before = bool(end.get("hasNextPage")), bool(begin.get("hasPreviousPage"))
    return {
        "query": asked.arguments.get("query", ""),
        "total": end.get("total") or (None if more or before else len(rows)),
        "start_cursor": begin.get("startCursor"),
        "end_cursor": end.get("endCursor"),
        "has_previous_page": before,
        "has_next_page": more,
    }


def _repositories(asked: ToolRequest, rows: list[Mapping[str, Any]]) -> Any:
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
            asked.relative(row["url"]) if row.get("url") else repository_url("", name)
            for row, name in zip(rows, names, strict=True)
        ],
    )


async def all_names(asked: ToolRequest) -> list[str]:
    """Names of all repositories of the service."""
    answer = await _list_repos(replace(asked, name="list_repos", arguments={"query": ""}))
    names: list[str] = answer.table.column("repository").to_pylist()
    return names


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "read_file": _read_file,
    "list_files": _list_files,
    "list_repos": _list_repos,
}
