"""Handler of `commit_search`: commits by author, message, date, file and changed lines, newest first."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import indent
from typing import Any

from sourcelight.core.arrays import Int64Array, mask_of
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.markup import visible
from sourcelight.core.tools.commits import COMMIT_SEARCH, CommitSearchArguments
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search.find import find_commits
from sourcelight.engines.history.search.query import CommitFilter, CommitQuery
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import (
    NOTHING,
    Handler,
    PartialResult,
    Rendered,
    Split,
    echo,
    tail,
    total_beside,
    with_notices,
)
from sourcelight.engines.tools.history.filters import any_of, dates_of, files_of
from sourcelight.engines.tools.history.histories import (
    OpenedHistories,
    OpenedHistory,
    omit_unread,
    open_histories,
    revisions_of,
)
from sourcelight.engines.tools.history.newest_commits import NAMES_AGENTS, commits_answer, limit_of, newest_commits
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import author_heading, stamp

DEFAULT_COUNT = 50
"""Commits of a served answer without a limit of its caller; the definition of the tool tells it."""

_BODY_CHARACTERS = 2000
"""Characters of a message's body in a text answer: a few pages. The objects have all of it."""


@dataclass(frozen=True, slots=True)
class _CommitResult:
    """The opened histories, and the numbers of the matching commits of each, newest first."""

    histories: OpenedHistories
    matches: list[tuple[OpenedHistory, CommitNumbers]]


def _gather_commits(arguments: CommitSearchArguments, context: ToolContext) -> PartialResult:
    after, before, dates = dates_of(COMMIT_SEARCH.name, arguments.after, arguments.before)
    query = _make_query(arguments, after, before)
    limit = limit_of(arguments.limit, context, DEFAULT_COUNT)

    # Authors, messages and dates are known without the changes of commits, which take long to read.
    if query.files.paths or query.changed:
        result = _find(arguments, query, context, commits_alone=False)
        return result.histories.to_partial_result(newest_commits(result.matches, limit), dates)

    result = _find(arguments, query, context, commits_alone=True)
    if context.without_changes:
        return result.histories.to_partial_result(newest_commits(result.matches, limit, changes=False), dates)

    if any(_needs_build(selection, numbers[:limit]) for selection, numbers in result.matches):
        result = _find(arguments, query, context, commits_alone=False)
    else:
        result = _read_changes(result, limit, context)

    return result.histories.to_partial_result(newest_commits(result.matches, limit), dates)


def _make_query(arguments: CommitSearchArguments, after: int | None, before: int | None) -> CommitQuery:
    name, regexp = COMMIT_SEARCH.name, bool(arguments.use_regex)
    return CommitQuery(
        CommitFilter(
            authors=any_of(name, "authors", arguments.authors, regexp=regexp, one_line=True),
            messages=any_of(name, "messageTerms", arguments.message_terms, regexp=regexp),
            after=after,
            before=before,
        ),
        files=files_of(name, arguments.files, regexp=regexp),
        changed=any_of(name, "contentTerms", arguments.content_terms, regexp=regexp, one_line=True),
    )


def _find(
    arguments: CommitSearchArguments, query: CommitQuery, context: ToolContext, *, commits_alone: bool
) -> _CommitResult:
    revisions, without = revisions_of(arguments.revisions)
    histories = open_histories(
        tool=COMMIT_SEARCH.name,
        context=context,
        repos=arguments.repos,
        revisions=revisions,
        without=without,
        commits_alone=commits_alone,
    )
    matches = [(selection, _find_in(selection, query, context)) for selection in histories.selections]
    return _CommitResult(histories, matches)


def _find_in(selection: OpenedHistory, query: CommitQuery, context: ToolContext) -> CommitNumbers:
    with context.watch_scan() as stopped:
        layout = selection.layout(context) if query.files.paths else None
        numbers = find_commits(selection.history, query, stopped, layout=layout)

    return CommitNumbers(numbers[selection.mask[numbers]])


def _needs_build(selection: OpenedHistory, shown_commits: Int64Array) -> bool:
    """Return whether the history must be built for the rows of these commits."""
    # Rows have counts of changed lines: for many commits, a build costs less than reading them apart.
    return selection.unbuilt is not None and not selection.unbuilt.is_cheap(len(shown_commits))


def _read_changes(result: _CommitResult, limit: int | None, context: ToolContext) -> _CommitResult:
    """Return the same commits in histories with the changes of the newest."""
    matches = []
    for selection, numbers in result.matches:
        shown_commits = CommitNumbers(numbers[:limit])
        with_changes = selection.with_changes(shown_commits, context)
        matches.append((with_changes, numbers))

        omit_unread(result.histories.partial, with_changes, mask_of(shown_commits, len(with_changes.history.commits)))

    return _CommitResult(result.histories, matches)


def _combine_commits(arguments: CommitSearchArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    return commits_answer(part, limit_of(arguments.limit, context, DEFAULT_COUNT))


def _render_commits(answer: ToolResult, context: ToolContext) -> Rendered:
    """Return commits as objects, and as headings with their messages."""
    rows = answer.table.to_pylist()
    objects = [_commit_object(row, context) for row in rows]
    text = "\n".join(_commit_text(row) for row in rows)

    total = total_beside(answer, "totalCount", answer.attributes["total"], len(objects))
    payload = {"commits": objects, **total, **NAMES_AGENTS, **echo(answer), **tail(answer)}
    return payload, with_notices(text or NOTHING, answer)


def _commit_object(row: dict[str, Any], context: ToolContext) -> dict[str, Any]:
    subject, body = row["subject"], _body(row["message"])
    commit = {
        "repo": row["repository"],
        "oid": row["commit"],
        "authorName": row["author"],
        "authorEmail": row["author_email"],
        "authorDate": stamp(row["author_date"]),
        "authorUtcOffset": row["author_utc_offset_min"],
        "committerName": row["committer"],
        "committerEmail": row["committer_email"],
        "committerDate": stamp(row["commit_date"]),
        "commitUtcOffset": row["commit_utc_offset_min"],
        "subject": subject,
    }
    if body:
        commit["body"] = body

    # Clients rebuild the message from subject and body, so it is sent only where they would get another one.
    if row["message"] != (f"{subject}\n\n{body}" if body else subject):
        commit["message"] = row["message"]

    commit["parents"] = row["parents"]
    commit["filesChanged"] = row["files"]
    commit["additions"] = row["additions"]
    commit["deletions"] = row["deletions"]
    if row["agent"]:
        commit["agent"] = row["agent"]

    if row["agent_traces"]:
        commit["agentTraces"] = row["agent_traces"]

    commit["url"] = context.link(row["url"])
    return commit


def _commit_text(row: dict[str, Any]) -> str:
    heading = author_heading(row, stamp(row["author_date"]))
    body = _body(row["message"])
    # Indented, as git does: a line of a message could look like the heading of another commit.
    return f"{heading}\n{indent(visible(_shorten(body)), '    ')}\n" if body else heading


def _body(message: str) -> str:
    _, _, body = message.partition("\n\n")
    return body.strip("\n")


def _shorten(body: str) -> str:
    return body if len(body) <= _BODY_CHARACTERS else body[:_BODY_CHARACTERS] + "…"


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(COMMIT_SEARCH, Split(_gather_commits, _combine_commits), _render_commits, TableItems("commits")),
)
