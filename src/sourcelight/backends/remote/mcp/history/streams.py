"""Commits and changed lines from the search stream, for tools whose text has a form that can't be parsed.

The stream has fewer columns: no addresses of authors, and no parents. Everything else is complete, since ``count:all``
asks for all matches.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any

from sourcelight.backends.remote.mcp.arguments import texts_of
from sourcelight.backends.remote.mcp.payloads import keep_text
from sourcelight.backends.remote.mcp.request import ToolRequest
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.completeness import is_limiting
from sourcelight.core.errors import SourcelightError, ToolError
from sourcelight.core.query.regexps import file_pattern
from sourcelight.core.query.syntax.quoting import in_quotes, quote_value, slash_regexp
from sourcelight.core.tools.catalog import table_of_rows
from sourcelight.core.wire.events import ErrorEvent, Progress
from sourcelight.core.wire.request import SearchRequest

_INSTEAD = "{tool}: this version can't parse the text of the service; these rows are of its search."


async def from_stream(request: ToolRequest, text: str) -> ToolResult:
    """Answer `commit_search`, `diff_search` or `get_contributor_repos` by a search; if that can't be, keep the text.

    Parameters
    ----------
    request
        The request.
    text
        The answer of the tool, in a form that can't be parsed.
    """
    try:
        query = _Query(request.name, request.arguments).text()
        return await _search(request, query)
    except SourcelightError as exc:
        return keep_text(request.name, text, f"{request.name}: its search can't answer instead: {exc}")


class _Query:
    """The query that finds what a tool finds."""

    def __init__(self, tool: str, arguments: Mapping[str, Any]) -> None:
        self._tool = tool
        self._arguments = arguments
        self._uses_regex = bool(arguments.get("useRegex"))

    def text(self) -> str:
        """Return the query; raise `ToolError` if no query can express the arguments."""
        terms = [*self._scope_terms(), *self._filter_terms(), *self._content_terms()]
        if self._uses_regex:
            terms.append("case:yes")

        # Repositories are counted once all of their commits are there.
        limit = None
        if self._tool != "get_contributor_repos":
            limit = self._arguments.get("limit", self._arguments.get("count"))
        terms.append(f"count:{limit or 'all'}")
        return " ".join(terms)

    def _scope_terms(self) -> list[str]:
        revisions = texts_of(self._arguments, "revisions")
        if self._arguments.get("changes") == "count" or len(revisions) > 1:
            raise ToolError(
                f"{self._tool}: without its tool, this service can't count changes or search several revisions at once",
                tool=self._tool,
            )

        repositories = texts_of(self._arguments, "repos")
        terms = []
        if repositories:
            alternatives = "|".join(map(re.escape, repositories))
            revision = f"@{revisions[0]}" if revisions else ""
            terms.append(f"repo:{quote_value(f'^({alternatives})${revision}')}")

        if len(repositories) != 1:
            # A search leaves these out unless it names one repository; the tools don't.
            terms += ["fork:yes", "archived:yes"]
        return terms

    def _filter_terms(self) -> list[str]:
        terms = []
        people = [*texts_of(self._arguments, "authors"), *texts_of(self._arguments, "author")]
        if people:
            terms.append(f"author:{self._alternatives(people, re.escape)}")

        files = texts_of(self._arguments, "files")
        if files:
            terms.append(f"file:{self._alternatives(files, file_pattern)}")

        dates = {name: self._arguments.get(name) for name in ("after", "before")}
        terms += [f"{name}:{quote_value(str(date))}" for name, date in dates.items() if date]
        return terms

    def _alternatives(self, texts: list[str], to_regexp: Callable[[str], str]) -> str:
        """Return the value of a filter that any of the texts fits; `to_regexp` is for texts that are none."""
        regexps = texts if self._uses_regex else map(to_regexp, texts)
        return quote_value("|".join(regexps))

    def _content_terms(self) -> list[str]:
        contents = texts_of(self._arguments, "pattern" if self._tool == "diff_search" else "contentTerms")
        messages = texts_of(self._arguments, "messageTerms")
        if contents and messages:
            raise ToolError(
                f"{self._tool}: pass message terms or content terms; one query of this service has only one kind",
                tool=self._tool,
            )

        terms = ["type:diff" if contents else "type:commit"]
        added, removed = bool(self._arguments.get("added")), bool(self._arguments.get("removed"))
        if self._tool == "diff_search" and added != removed:
            terms.append("select:commit.diff.added" if added else "select:commit.diff.removed")

        literals = [slash_regexp(text) if self._uses_regex else in_quotes(text) for text in contents or messages]
        if len(literals) == 1:
            terms += literals
        elif literals:
            terms.append(f"({' OR '.join(literals)})")
        return terms


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

    name, rows_of = _TABLES[request.name]
    records = list(rows_of(rows))
    if name == "contributor_repositories":
        min_commits, limit = int(request.arguments.get("minCommits") or 1), request.arguments.get("limit")
        records = [record for record in records if record["commits"] >= min_commits]
        complete = complete and (limit is None or len(records) <= limit)
        records = records[:limit]

    attributes = {"repositories": texts_of(request.arguments, "repos"), "total": len(records) if complete else None}
    return ToolResult(
        columns=name,
        table=table_of_rows(name, records),
        attributes=attributes,
        complete=complete,
        notices=tuple(dict.fromkeys(notices)),
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
        commit_dates = (commit.get("commit_date") or commit.get("author_date") for commit in commits)
        dates = sorted(date for date in commit_dates if date)
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
"""The columns of each tool, and the function that makes its rows."""


def _message_of(row: Mapping[str, Any]) -> str:
    return str(row.get("message") or "").strip()


def _subject_of(message: str) -> str:
    """Return the first paragraph as one line."""
    return " ".join(message.partition("\n\n")[0].split())
