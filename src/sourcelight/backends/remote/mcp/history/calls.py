"""`commit_search` and `get_contributor_repos` of a service, and the table of all tools about history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from sourcelight.backends.remote.mcp.arguments import accepted_name, limits_of
from sourcelight.backends.remote.mcp.history.comparisons import compare_revisions
from sourcelight.backends.remote.mcp.history.diffs import diff_search
from sourcelight.backends.remote.mcp.history.entries import UnparsedText, commit_row, row_of
from sourcelight.backends.remote.mcp.history.paging import read_pages, scope_info
from sourcelight.backends.remote.mcp.history.streams import from_stream
from sourcelight.backends.remote.mcp.history.texts import HistoryText, parse_contributions
from sourcelight.backends.remote.mcp.payloads import NO_MORE, is_cut, notices
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.backends.remote.mcp.text_forms import means_empty
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.tools.commits import contributor_drill_down

_USUAL_REPOSITORIES, _MAX_REPOSITORIES = 20, 100
"""Repositories of `get_contributor_repos` without a limit, and at most, as services document them."""

_MAX_NAMES = 5
"""Repositories that a notice names; the table has all of them."""


async def _commit_search(request: ToolRequest) -> ToolResult:
    try:
        pages = await read_pages(request, "commits")
    except UnparsedText as exc:
        return await from_stream(request, exc.text)

    rows = [commit_row(request, entry) for entry in pages.entries]
    if pages.info.get("namesAgents"):
        for row in rows:
            row["agent"] = row["agent"] or ""
            row["agent_traces"] = row["agent_traces"] or []

    rows.sort(key=lambda row: -row["commit_date"].timestamp() if row["commit_date"] else 0.0)
    return ToolResult(
        columns="commits",
        table=table_of_rows("commits", rows),
        attributes=scope_info(request, pages),
        complete=pages.complete,
        notices=tuple(pages.notices),
    )


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
            return await from_stream(request, value)

        value = {"repos": contributions.entries}
        if contributions.notes:
            value |= {"limitHit": True, "notices": contributions.notes}

    entries = list(value.get("repos") or ())
    rows = [row_of(entry, "contributor_repositories") for entry in entries]
    authors = names or ([arguments["author"]] if arguments.get("author") else [])
    info = {
        "authors": authors,
        "total": value.get("totalCount", len(rows)),
        "drill_down": contributor_drill_down(authors, use_regex=bool(request.arguments.get("useRegex"))),
    }
    if "limitHit" in value:
        is_truncated = is_cut(value)
    else:
        is_truncated = len(rows) == arguments.get(size or "limit", _USUAL_REPOSITORIES)

    messages = notices(value)
    if is_truncated and not messages:
        messages = (NO_MORE,)

    shortened = [str(entry.get("name")) for entry in entries if entry.get("authorsLeftOut")]
    if shortened:
        messages = (*messages, f"The service lists only the first authors of {', '.join(shortened[:_MAX_NAMES])}.")
        is_truncated = True

    return ToolResult(
        columns="contributor_repositories",
        table=table_of_rows("contributor_repositories", rows),
        attributes=info,
        complete=not is_truncated,
        notices=messages,
    )


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "commit_search": _commit_search,
    "diff_search": diff_search,
    "compare_revisions": compare_revisions,
    "get_contributor_repos": _get_contributor_repos,
}
