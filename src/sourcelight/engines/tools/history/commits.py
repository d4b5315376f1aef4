"""Handlers of `commit_search` and `get_contributor_repos`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.batches.results import ToolResult, repository_url
from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.errors import ToolError
from sourcelight.core.tools.commits import (
    COMMIT_SEARCH,
    GET_CONTRIBUTOR_REPOS,
    CommitSearchArguments,
    GetContributorReposArguments,
    contributor_drill_down,
)
from sourcelight.engines.history.model import CommitNumbers
from sourcelight.engines.history.search import tables as change_tables
from sourcelight.engines.history.search.find import filter_people, find_commits
from sourcelight.engines.history.search.query import CommitFilter, CommitQuery
from sourcelight.engines.history.search.trailer_columns import (
    agent_column,
    agent_trace_texts,
    co_author_texts,
    commit_agents,
    reviewer_texts,
)
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import (
    NOTHING,
    Handler,
    PartialResult,
    Rendered,
    Split,
    tail,
    total_beside,
    with_notices,
)
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.filters import any_of, dates_of, files_of
from sourcelight.engines.tools.history.histories import (
    OpenedHistories,
    OpenedHistory,
    omit_unread,
    open_histories,
    revisions_of,
)
from sourcelight.engines.tools.pages.items import TableItems

NAMES_AGENTS = {"namesAgents": True}
"""Payload key: a commit without ``agent`` names no coding assistant. Other services don't check for one."""

DEFAULT_COUNT = 50
_BODY_CHARACTERS = 2000

DEFAULT_LIMIT = 20
_MAX_SHOWN = 100


@dataclass(frozen=True, slots=True)
class _CommitMatches:
    """Commits of one repository: rows of the newest, the total number, and the commits whose history was searched."""

    rows: Any
    total: int
    commits: list[str]


def _gather_commits(arguments: CommitSearchArguments, context: ToolContext) -> PartialResult:
    regexp = bool(arguments.use_regex)
    after, before, echoed = dates_of(COMMIT_SEARCH.name, arguments.after, arguments.before)
    commit_filter = CommitFilter(
        authors=any_of(COMMIT_SEARCH.name, "authors", arguments.authors, regexp=regexp, one_line=True),
        messages=any_of(COMMIT_SEARCH.name, "messageTerms", arguments.message_terms, regexp=regexp),
        after=after,
        before=before,
    )
    query = CommitQuery(
        commit_filter,
        files=files_of(COMMIT_SEARCH.name, arguments.files, regexp=regexp),
        changed=any_of(COMMIT_SEARCH.name, "contentTerms", arguments.content_terms, regexp=regexp, one_line=True),
    )
    limit = limit_of(arguments.limit, context, DEFAULT_COUNT)
    commits_alone = not query.files.paths and not query.changed
    histories, matches = _find(arguments, query, context, commits_alone=commits_alone)
    if commits_alone and context.without_changes:
        return histories.to_partial_result(newest_commits(matches, limit, changes=False), echoed)

    if any(
        selection.unbuilt and not selection.unbuilt.is_cheap(len(numbers[:limit])) for selection, numbers in matches
    ):
        # Rows have counts of changed lines: for many commits, a build costs less than reading them apart.
        commits_alone = False
        histories, matches = _find(arguments, query, context, commits_alone=False)

    if commits_alone:
        matches = [
            (selection.with_changes(CommitNumbers(numbers[:limit]), context), numbers) for selection, numbers in matches
        ]
        for selection, numbers in matches:
            mask = np.zeros(len(selection.history.commits), np.bool_)
            mask[numbers[:limit]] = True
            omit_unread(histories.partial, selection, mask)

    # Each worker of a cluster returns its own newest; the newest of all are among them.
    return histories.to_partial_result(newest_commits(matches, limit), echoed)


def _find(
    arguments: CommitSearchArguments, query: CommitQuery, context: ToolContext, *, commits_alone: bool
) -> tuple[OpenedHistories, list[tuple[OpenedHistory, CommitNumbers]]]:
    """Return the histories, and the matching commits of each, newest first."""
    revisions, without = revisions_of(arguments.revisions)
    histories = open_histories(
        COMMIT_SEARCH.name, context, arguments.repos, revisions, without, commits_alone=commits_alone
    )
    matches: list[tuple[OpenedHistory, CommitNumbers]] = []
    for selection in histories.selections:
        try:
            layout = selection.layout(context) if query.files.paths else None
            numbers = find_commits(selection.history, query, lambda: context.cancellation.cancelled, layout=layout)
        except ScanStopped:
            context.cancellation.check()
            raise
        matches.append((selection, CommitNumbers(numbers[selection.mask[numbers]])))

    return histories, matches


def newest_commits(
    matches: Sequence[tuple[OpenedHistory, CommitNumbers]], limit: int | None, *, changes: bool = True
) -> dict[str, _CommitMatches]:
    """Return the newest commits of all repositories, at most `limit`; the numbers in `matches` are newest first.

    Without `changes`, files and lines of the commits were not read, and their columns are null.
    """
    stamps = [selection.history.commits.commit_time[numbers[:limit]] for selection, numbers in matches]
    counts = newest(stamps, limit)
    return {
        selection.name: _CommitMatches(
            commit_rows(selection, CommitNumbers(numbers[:count]), changes=changes),
            len(numbers),
            list(selection.commits),
        )
        for (selection, numbers), count in zip(matches, counts, strict=True)
    }


def _combine_commits(arguments: CommitSearchArguments, context: ToolContext, part: PartialResult) -> ToolResult:
    return commits_answer(part, limit_of(arguments.limit, context, DEFAULT_COUNT))


def commits_answer(part: PartialResult, limit: int | None) -> ToolResult:
    """Make the table ``commits`` from results of `newest_commits`, newest first over all repositories."""
    matches: list[_CommitMatches] = list(part.results.values())
    total = sum(match.total for match in matches)
    stamps = [match.rows.column("commit_date").cast(pa.int64()).to_numpy() for match in matches]
    counts = newest(stamps, limit)

    # Cut before joining: the rows of a thousand repositories would be joined only to drop nearly all.
    table = tables.join("commits", [_first(match.rows, n) for match, n in zip(matches, counts, strict=True)])
    if len(matches) > 1:
        order = np.argsort(-table.column("commit_date").cast(pa.int64()).to_numpy(), kind="stable")
        table = table.take(pa.array(order))

    notices, is_cut = part.notices, table.num_rows < total
    if is_cut:
        notices.append(
            f"Only the newest {table.num_rows:,} of {total:,} commits are shown; ask for more or narrow the search."
        )

    attributes = {
        "repositories": part.names,
        "total": total,
        "commits": {name: match.commits for name, match in part.results.items()},
        **part.dates,
    }
    return ToolResult("commits", table, attributes, part.complete and not is_cut, tuple(notices))


def _first(rows: Any, count: int) -> Any:
    return rows if count == rows.num_rows else tables.compact(rows.slice(0, count))


def limit_of(limit: int | None, context: ToolContext, default: int) -> int | None:
    """Return the limit of rows: the caller's, the default over MCP, else None, all."""
    return default if limit is None and context.served else limit


def newest(stamps: Sequence[Any], limit: int | None) -> list[int]:
    """Return how many commits of each repository are among the `limit` newest of all; `stamps` are newest first."""
    counts = [len(times) for times in stamps]
    if limit is None or sum(counts) <= limit:
        return counts

    owners = np.repeat(np.arange(len(stamps)), counts)
    # Stable, so that equal times give the same commits in each run and in a cluster.
    newest_owners = owners[np.argsort(-np.concatenate(stamps), kind="stable")[:limit]]
    kept_counts: list[int] = np.bincount(newest_owners, minlength=len(stamps)).tolist()
    return kept_counts


def commit_rows(selection: OpenedHistory, numbers: CommitNumbers, *, changes: bool = True) -> Any:
    """Return rows of the table ``commits`` for commits of one repository; `changes` as of `newest_commits`."""
    history = selection.history
    batch = change_tables.commit_batch(history, numbers)
    values = dict(zip(batch.schema.names, batch.columns, strict=True))
    if not changes:
        # A column that is not given is null: zeros would be a claim.
        for name in ("files", "additions", "deletions"):
            del values[name]

    values["co_authors"] = co_author_texts(history, numbers)
    values["bot"] = pa.array(tables.bots(history, history.commits.author[numbers]))
    values["agent"] = agent_column(history, numbers)
    values["agent_traces"] = agent_trace_texts(history, numbers)
    values["reviewers"] = reviewer_texts(history, numbers)
    prefix = f"{repository_url('', selection.name)}/-/commit/"

    # Relative: only the process that renders the answer knows the address of the service.
    values["url"] = change_tables.prefixed_oids(prefix, history.commits.oid[numbers])
    return tables.table("commits", values, len(numbers))


def _render_commits(answer: ToolResult, context: ToolContext) -> Rendered:
    """Return commits as objects, and as headings with their messages."""
    rows = answer.table.to_pylist()
    objects, text = [], []
    for row in rows:
        subject, body = row["subject"], _body(row["message"])
        objects.append(
            {
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
                **({"body": body} if body else {}),
                **_exact(row, subject, body),
                "parents": row["parents"],
                "filesChanged": row["files"],
                "additions": row["additions"],
                "deletions": row["deletions"],
                **({"agent": row["agent"]} if row["agent"] else {}),
                **({"agentTraces": row["agent_traces"]} if row["agent_traces"] else {}),
                "url": context.link(row["url"]),
            }
        )
        text.append(heading(row) + (f"\n{_shorten(body)}\n" if body else ""))

    total = total_beside(answer, "totalCount", answer.attributes["total"], len(objects))
    payload = {"commits": objects, **total, **NAMES_AGENTS, **echo(answer), **tail(answer)}
    return payload, with_notices("\n".join(text) or NOTHING, answer)


def _exact(row: dict[str, Any], subject: str, body: str) -> dict[str, Any]:
    """Return the message if it can't be rebuilt from subject and body."""
    if row["message"] == (f"{subject}\n\n{body}" if body else subject):
        return {}
    return {"message": row["message"]}


def heading(row: dict[str, Any]) -> str:
    """Return the heading of a commit in text answers."""
    author = f"{row['author']} <{row['author_email']}>"
    first = f"## {row['repository']}@{row['commit'][:7]} {row['subject']}"
    return f"{first}\nAuthor: {author}\nDate: {stamp(row['author_date'])}\n"


def stamp(time: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC."""
    return None if time is None else time.strftime("%Y-%m-%dT%H:%M:%SZ")


def echo(answer: ToolResult) -> dict[str, str]:
    """Return the dates of the call as absolute times."""
    return {name: answer.attributes[name] for name in ("after", "before") if name in answer.attributes}


def _body(message: str) -> str:
    return message.split("\n\n", 1)[1].strip("\n") if "\n\n" in message else ""


def _shorten(body: str) -> str:
    return body if len(body) <= _BODY_CHARACTERS else body[:_BODY_CHARACTERS] + "…"


def _gather_repositories(arguments: GetContributorReposArguments, context: ToolContext) -> PartialResult:
    authors = _authors(arguments)
    (pattern,) = any_of(GET_CONTRIBUTOR_REPOS.name, "author", authors, regexp=bool(arguments.use_regex), one_line=True)
    names = [repository.name for repository in context.engine.catalog.visible(context.viewer)]

    # An empty list would mean all repositories to `open_histories`, and a served call may not ask for these.
    if not names:
        return PartialResult(())

    histories = open_histories(GET_CONTRIBUTOR_REPOS.name, context, names, commits_alone=True)
    contributions: dict[str, tuple[int, int, int, list[str], int]] = {}
    for selection in histories.selections:
        context.cancellation.check()
        commits = np.flatnonzero(
            filter_people(selection.history, pattern)[selection.history.commits.author] & selection.mask
        )
        if len(commits) and len(commits) >= (arguments.min_commits or 1):
            times = selection.history.commits.commit_time[commits]
            by_agents = int(commit_agents(selection.history).mask[commits].sum())
            contributions[selection.name] = (
                len(commits), int(times.min()), int(times.max()), _who(selection, commits), by_agents
            )  # fmt: skip

    return histories.to_partial_result(contributions)


def _authors(arguments: GetContributorReposArguments) -> list[str]:
    authors = [*(arguments.authors or ()), *([arguments.author] if arguments.author else [])]
    if not authors:
        raise ToolError(
            f"{GET_CONTRIBUTOR_REPOS.name} needs the argument 'author'",
            tool=GET_CONTRIBUTOR_REPOS.name,
            argument="author",
        )

    return authors


def _combine_repositories(
    arguments: GetContributorReposArguments, context: ToolContext, part: PartialResult
) -> ToolResult:
    authors = _authors(arguments)
    contributions = [(result[0], name, *result[1:]) for name, result in part.results.items()]
    contributions.sort(key=lambda item: (-item[0], item[1]))
    total = len(contributions)
    limit = limit_of(arguments.limit, context, DEFAULT_LIMIT)
    contributions = contributions if limit is None else contributions[:limit]
    notices = part.notices
    if len(contributions) < total:
        notices.append(f"Only {len(contributions):,} of {total:,} repositories are shown; ask for more.")

    table = tables.table(
        "contributor_repositories",
        {
            "repository": [name for _, name, *_ in contributions],
            "commits": [commits for commits, *_ in contributions],
            "first_date": tables.times([first for _, _, first, *_ in contributions]),
            "last_date": tables.times([last for _, _, _, last, *_ in contributions]),
            "authors": [people for *_, people, _ in contributions],
            "agent_commits": [by_agents for *_, by_agents in contributions],
        },
        len(contributions),
    )
    attributes = {
        "authors": authors,
        "total": total,
        "drill_down": contributor_drill_down(authors, use_regex=bool(arguments.use_regex)),
    }
    is_complete = len(contributions) == total and part.complete
    return ToolResult("contributor_repositories", table, attributes, is_complete, tuple(notices))


def _who(selection: OpenedHistory, selected: Any) -> list[str]:
    identities = selection.history.identities
    persons, counts = np.unique(identities.person[selection.history.commits.author[selected]], return_counts=True)
    # The numbers of persons depend on the order in which commits were read.
    people = [f"{identities.person_names[index]} <{identities.person_emails[index]}>" for index in persons.tolist()]
    return [person for _, person in sorted(zip((-counts).tolist(), people, strict=True))]


def _render_contributor_repos(answer: ToolResult, context: ToolContext) -> Rendered:  # noqa: ARG001
    """Return repositories as objects, and a line each."""
    repos, text = [], []
    for row in answer.table.to_pylist():
        first, last = stamp(row["first_date"]), stamp(row["last_date"])
        authors = row["authors"][:_MAX_SHOWN]
        repos.append(
            {
                "name": row["repository"],
                "commits": row["commits"],
                "firstCommit": first,
                "lastCommit": last,
                "authors": authors,
                "agentCommits": row["agent_commits"],
                **(
                    {"authorsLeftOut": len(row["authors"]) - len(authors)} if len(authors) < len(row["authors"]) else {}
                ),
            }
        )
        noun = "commit" if row["commits"] == 1 else "commits"
        text.append(f"{row['repository']} - {row['commits']} {noun} (first {first}, last {last})\n")

    total = total_beside(answer, "totalCount", answer.attributes["total"], len(repos))
    payload = {"repos": repos, **total, **tail(answer)}
    return payload, with_notices("".join(text) or NOTHING, answer)


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(COMMIT_SEARCH, Split(_gather_commits, _combine_commits), _render_commits, TableItems("commits")),
    Handler(
        GET_CONTRIBUTOR_REPOS,
        Split(_gather_repositories, _combine_repositories),
        _render_contributor_repos,
        TableItems("repositories"),
    ),
)
