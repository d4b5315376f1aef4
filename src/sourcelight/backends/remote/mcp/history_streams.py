"""Commits and changed lines from the search stream, for tools whose text has a form that can't be parsed.

The stream has fewer columns: no addresses of authors, and no parents. Everything else is complete, since ``count:all``
asks for all matches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from typing import Any

from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import SourcelightError, ToolError
from sourcelight.core.query.quoting import in_quotes, quote_value, slash_regexp
from sourcelight.core.query.regexps import file_pattern
from sourcelight.core.tools.catalog import COLUMNS, table_of
from sourcelight.core.wire.events import ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_INSTEAD = "{tool}: this version can't parse the text of the service; these rows are of its search."


async def from_stream(request: ToolRequest) -> ToolResult | str:
    """Answer `commit_search` or `diff_search` by a search; a reason when that can't be."""
    try:
        query = _query(request.name, request.arguments)
        return await _search(request, query)
    except SourcelightError as exc:
        return f"{request.name}: its search can't answer instead: {exc}"


def _texts(arguments: Mapping[str, Any], name: str) -> list[str]:
    value = arguments.get(name) or ()
    return [value] if isinstance(value, str) else [str(item) for item in value]


def _query(tool: str, arguments: Mapping[str, Any]) -> str:
    """Return the query that asks the same; raise `ToolError` for what no query can ask."""
    if arguments.get("changes") == "count" or len(_texts(arguments, "revisions")) > 1:
        raise ToolError(f"{tool}: no query has these arguments", tool=tool)
    repositories = "|".join(map(re.escape, _texts(arguments, "repos")))
    revisions = _texts(arguments, "revisions")
    at = f"@{revisions[0]}" if revisions else ""
    terms = [f"repo:{quote_value(f'^({repositories})${at}')}"] if repositories else []
    regexp = bool(arguments.get("useRegex"))

    def pattern(texts: list[str]) -> str:
        written = [slash_regexp(text) if regexp else in_quotes(text) for text in texts]
        return written[0] if len(written) == 1 else f"({' OR '.join(written)})"

    people = [*_texts(arguments, "authors"), *_texts(arguments, "author")]
    if people:
        terms.append(f"author:{quote_value('|'.join(person if regexp else re.escape(person) for person in people))}")
    if files := _texts(arguments, "files"):
        terms.append(f"file:{quote_value('|'.join(name if regexp else file_pattern(name) for name in files))}")
    terms += [f"{name}:{quote_value(str(arguments[name]))}" for name in ("after", "before") if arguments.get(name)]
    contents = _texts(arguments, "contentTerms") if tool == "commit_search" else [str(arguments["pattern"])]
    messages = _texts(arguments, "messageTerms")
    if contents and messages:
        raise ToolError(f"{tool}: no query has both message and content terms", tool=tool)
    terms.append("type:diff" if contents else "type:commit")
    if tool == "diff_search" and bool(arguments.get("added")) != bool(arguments.get("removed")):
        terms.append(f"select:commit.diff.{'added' if arguments.get('added') else 'removed'}")
    if contents or messages:
        terms.append(pattern(contents or messages))
    if regexp:
        terms.append("case:yes")
    limit = arguments.get("limit", arguments.get("count"))
    return " ".join([*terms, f"count:{limit or 'all'}"])


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
    name = "commits" if request.name == "commit_search" else "diff_lines"
    records = list(_commits(rows) if name == "commits" else _diff_lines(rows))
    columns = [column.name for column in COLUMNS[name]]
    table = table_of(name, len(records), **{column: [row.get(column) for row in records] for column in columns})
    attributes = {"repositories": _texts(request.arguments, "repos"), "total": len(records) if complete else None}
    return ToolResult(name, table, attributes, complete, tuple(dict.fromkeys(notices)))


def _commits(rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Yield one row for each commit."""
    seen: set[tuple[Any, Any]] = set()
    for row in rows:
        key = row.get("repository"), row.get("commit")
        if row["type"] in {"commit", "diff"} and key not in seen:
            seen.add(key)
            message = _message_of(row)
            yield {**row, "message": message, "subject": _subject_of(message), "co_authors": []}


def _diff_lines(rows: list[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    for row in rows:
        if row["type"] == "diff" and row.get("side") in {"added", "removed"}:
            yield {**row, "subject": _subject_of(_message_of(row)), "old_path": row.get("path")}


def _message_of(row: Mapping[str, Any]) -> str:
    return str(row.get("message") or "").strip()


def _subject_of(message: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(message.partition("\n\n")[0].split())
