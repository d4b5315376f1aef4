"""`commit_search` and `get_contributor_repos` of a service, and the table of all tools about history."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sourcelight.backends.remote.mcp.arguments import AcceptedArguments
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

_USUAL_REPOSITORIES = 20
"""Repositories that services list without a limit, as they document it."""

_MAX_REPOSITORIES = 100
"""The largest limit of `get_contributor_repos`, as services document it."""

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
    accepted = await request.accepted_arguments()
    arguments = _contributor_arguments(request, accepted)
    answer = (await request.ask(arguments)).read(("repos",))
    if isinstance(answer, str):
        contributions = HistoryText([]) if means_empty(answer) else parse_contributions(answer)
        if contributions is None:
            return await from_stream(request, answer)

        answer = {"repos": contributions.entries}
        if contributions.notes:
            answer |= {"limitHit": True, "notices": contributions.notes}

    entries = list(answer.get("repos") or ())
    if "limitHit" in answer:
        is_truncated = is_cut(answer)
    else:
        # Only the size of the list hints at the limit of a service that doesn't state one.
        limit = arguments.get(accepted.name_of("limit") or "limit", _USUAL_REPOSITORIES)
        is_truncated = len(entries) == limit

    messages = notices(answer)
    if is_truncated and not messages:
        messages = (NO_MORE,)

    shortened = [str(entry.get("name")) for entry in entries if entry.get("authorsLeftOut")]
    if shortened:
        messages = (*messages, f"The service lists only the first authors of {', '.join(shortened[:_MAX_NAMES])}.")
        is_truncated = True

    authors = list(request.arguments.get("authors") or ())
    if not authors and arguments.get("author"):
        authors = [arguments["author"]]
    attributes = {
        "authors": authors,
        "total": answer.get("totalCount", len(entries)),
        "drill_down": contributor_drill_down(authors, use_regex=bool(request.arguments.get("useRegex"))),
    }
    rows = [row_of(entry, "contributor_repositories") for entry in entries]
    return ToolResult(
        columns="contributor_repositories",
        table=table_of_rows("contributor_repositories", rows),
        attributes=attributes,
        complete=not is_truncated,
        notices=messages,
    )


def _contributor_arguments(request: ToolRequest, accepted: AcceptedArguments) -> dict[str, Any]:
    """Return the arguments for the service, with its largest limit unless the caller has set one."""
    arguments = dict(request.arguments)
    authors = list(arguments.get("authors") or ())
    if authors and "author" in accepted.required:
        # The specification has a single `author`. Services that also accept `authors` still require it.
        arguments["author"] = authors[0]
        if len(authors) == 1:
            del arguments["authors"]

    limit_name = accepted.name_of("limit")
    if "limit" not in arguments and limit_name is not None:
        arguments[limit_name] = accepted.maximums.get(limit_name) or _MAX_REPOSITORIES

    return arguments


ANSWERS: Mapping[str, Callable[[ToolRequest], Awaitable[ToolResult]]] = {
    "commit_search": _commit_search,
    "diff_search": diff_search,
    "compare_revisions": compare_revisions,
    "get_contributor_repos": _get_contributor_repos,
}
