"""Commits and changed lines from the search stream, for tools whose text has a form that can't be parsed.

The stream has fewer columns: no addresses of authors, and no parents. Everything else is complete, since ``count:all``
asks for all matches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Any

from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import SourcelightError, ToolError
from sourcelight.core.query.regexps import file_pattern
from sourcelight.core.query.syntax.quoting import in_quotes, quote_value, slash_regexp
from sourcelight.core.tools.catalog import COLUMNS, table_of
from sourcelight.core.wire.events import ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_INSTEAD = "{tool}: this version can't parse the text of the service; these rows are of its search."


async def from_stream(request: ToolRequest) -> ToolResult | str:
    """Answer `commit_search`, `diff_search` or `get_contributor_repos` by a search; a reason when that can't be."""
    try:
        query = _query(request.name, request.arguments)
        return await _search(request, query)
    except SourcelightError as exc:
        return f"{request.name}: its search can't answer instead: {exc}"


def _query(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the query for the arguments of a tool; raise `ToolError` if no query can express them."""
    if arguments.get("changes") == "count" or len(_texts(arguments, "revisions")) > 1:
        raise ToolError(
            f"{tool}: without its tool, this service can't count changes or search several revisions at once", tool=tool
        )

    repositories = "|".join(map(re.escape, _texts(arguments, "repos")))
    revisions = _texts(arguments, "revisions")
    revision_filter = f"@{revisions[0]}" if revisions else ""
    terms = [f"repo:{quote_value(f'^({repositories})${revision_filter}')}"] if repositories else []
    if len(_texts(arguments, "repos")) != 1:
        # A search leaves these out unless it names one repository; the tools don't.
        terms += ["fork:yes", "archived:yes"]

    regexp = bool(arguments.get("useRegex"))

    def pattern(texts: list[str]) -> str:
        literals = [slash_regexp(text) if regexp else in_quotes(text) for text in texts]
        return literals[0] if len(literals) == 1 else f"({' OR '.join(literals)})"

    people = [*_texts(arguments, "authors"), *_texts(arguments, "author")]
    if people:
        terms.append(f"author:{quote_value('|'.join(person if regexp else re.escape(person) for person in people))}")

    if files := _texts(arguments, "files"):
        terms.append(f"file:{quote_value('|'.join(name if regexp else file_pattern(name) for name in files))}")

    terms += [f"{name}:{quote_value(str(arguments[name]))}" for name in ("after", "before") if arguments.get(name)]
    contents = _texts(arguments, "pattern" if tool == "diff_search" else "contentTerms")
    messages = _texts(arguments, "messageTerms")
    if contents and messages:
        raise ToolError(
            f"{tool}: pass message terms or content terms; one query of this service has only one kind", tool=tool
        )

    terms.append("type:diff" if contents else "type:commit")
    if tool == "diff_search" and bool(arguments.get("added")) != bool(arguments.get("removed")):
        terms.append(f"select:commit.diff.{'added' if arguments.get('added') else 'removed'}")

    if contents or messages:
        terms.append(pattern(contents or messages))

    if regexp:
        terms.append("case:yes")

    # Repositories are counted once all of their commits are there.
    limit = None if tool == "get_contributor_repos" else arguments.get("limit", arguments.get("count"))
    return " ".join([*terms, f"count:{limit or 'all'}"])


def _texts(arguments: Mapping[str, Any], name: str) -> list[str]:
    value = arguments.get(name) or ()
    return [value] if isinstance(value, str) else [str(item) for item in value]


async def _search(request: ToolRequest, query: str) -> ToolResult:
    rows: list[Mapping[str, Any]] = []
    notices = [_INSTEAD.format(tool=request.name)]
    complete = False
    async with aclosing(request.stream(SearchRequest(query, pattern_type="keyword"))) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                rows += event.batch.to_pylist()
                request.report("searching", len(rows), 0, "rows")
            elif isinstance(event, Progress) and event.done:
                limiting = [item for item in event.skipped if is_limiting(item)]
                notices += [item.title or item.reason for item in limiting]
                complete = not limiting
            elif isinstance(event, ErrorEvent):
                raise ToolError(event.message, tool=request.name)

    name, make = _TABLES[request.name]
    records = list(make(rows))
    if name == "contributor_repositories":
        min_commits, limit = int(request.arguments.get("minCommits") or 1), request.arguments.get("limit")
        records = [record for record in records if record["commits"] >= min_commits]
        complete = complete and (limit is None or len(records) <= limit)
        records = records[:limit]

    columns = [column.name for column in COLUMNS[name]]
    table = table_of(name, len(records), **{column: [row.get(column) for row in records] for column in columns})
    attributes = {"repositories": _texts(request.arguments, "repos"), "total": len(records) if complete else None}
    return ToolResult(
        columns=name, table=table, attributes=attributes, complete=complete, notices=tuple(dict.fromkeys(notices))
    )


def _diff_lines(rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["type"] == "diff" and row.get("side") in {"added", "removed"}:
            yield {**row, "subject": _subject_of(_message_of(row)), "old_path": row.get("path")}


def _contributions(rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one row for each repository, most commits first; authors are names alone."""
    by_repository: dict[str, list[dict[str, Any]]] = {}
    for commit in _commits(rows):
        by_repository.setdefault(str(commit["repository"]), []).append(commit)

    for repository, commits in sorted(by_repository.items(), key=lambda item: (-len(item[1]), item[0])):
        dates = sorted(date for commit in commits if (date := commit.get("commit_date") or commit.get("author_date")))
        authors = Counter(str(commit.get("author") or "") for commit in commits)
        yield {
            "repository": repository,
            "commits": len(commits),
            "first_date": dates[0] if dates else None,
            "last_date": dates[-1] if dates else None,
            "authors": [name for name, _ in authors.most_common() if name],
        }


def _commits(rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one row for each commit."""
    seen: set[tuple[Any, Any]] = set()
    for row in rows:
        key = row.get("repository"), row.get("commit")
        if row["type"] in {"commit", "diff"} and key not in seen:
            seen.add(key)
            message = _message_of(row)
            yield {**row, "message": message, "subject": _subject_of(message), "co_authors": []}


_TABLES = {
    "commit_search": ("commits", _commits),
    "diff_search": ("diff_lines", _diff_lines),
    "get_contributor_repos": ("contributor_repositories", _contributions),
}


def _message_of(row: Mapping[str, Any]) -> str:
    return str(row.get("message") or "").strip()


def _subject_of(message: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(message.partition("\n\n")[0].split())
