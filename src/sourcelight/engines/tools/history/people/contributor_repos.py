"""Handler of `get_contributor_repos`: the repositories that some authors have commits in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.errors import ToolError
from sourcelight.core.markup import one_line
from sourcelight.core.markup.counts import count_of
from sourcelight.core.tools.commits import GET_CONTRIBUTOR_REPOS, GetContributorReposArguments, contributor_drill_down
from sourcelight.engines.history.search.filters import filter_people
from sourcelight.engines.history.search.trailer_columns import commit_agents
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
from sourcelight.engines.tools.history.filters import any_of
from sourcelight.engines.tools.history.histories import OpenedHistory, open_histories
from sourcelight.engines.tools.history.newest_commits import limit_of
from sourcelight.engines.tools.pages.items import TableItems
from sourcelight.engines.tools.rows import stamp

DEFAULT_LIMIT = 20
"""Repositories of a served answer without a limit of its caller; the definition of the tool tells it."""

_MAX_SHOWN = 100
"""Authors of a repository in a served answer; the rest is counted. A short pattern matches thousands."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """The commits of some authors in one repository.

    Attributes
    ----------
    commits
        Number of commits.
    first_s, last_s
        Committer times of the oldest and the newest, in seconds since 1970.
    authors
        Names and addresses, by number of commits.
    agent_commits
        Number of commits that name a coding assistant.
    """

    commits: int
    first_s: int
    last_s: int
    authors: list[str]
    agent_commits: int


def _gather_repositories(arguments: GetContributorReposArguments, context: ToolContext) -> PartialResult:
    name, authors = GET_CONTRIBUTOR_REPOS.name, _authors(arguments)
    (pattern,) = any_of(name, "author", authors, regexp=bool(arguments.use_regex), one_line=True)

    # An empty list would mean all repositories to `open_histories`, and a served call may not ask for these.
    visible_names = [repository.name for repository in context.engine.catalog.visible(context.viewer)]
    if not visible_names:
        return PartialResult(())

    histories = open_histories(name, context, visible_names, commits_alone=True)
    min_commits = arguments.min_commits or 1
    contributions: dict[str, Contribution] = {}
    for selection in histories.selections:
        context.cancellation.check()
        by_authors = filter_people(selection.history, pattern)[selection.history.commits.author]
        commits = np.flatnonzero(by_authors & selection.mask)
        if len(commits) >= min_commits:
            contributions[selection.name] = _sum_up(selection, commits)

    return histories.to_partial_result(contributions)


def _authors(arguments: GetContributorReposArguments) -> list[str]:
    authors = list(arguments.authors or ())
    if arguments.author:
        authors.append(arguments.author)

    if not authors:
        raise ToolError(
            f"{GET_CONTRIBUTOR_REPOS.name} needs the argument 'author' or 'authors'",
            tool=GET_CONTRIBUTOR_REPOS.name,
            argument="author",
        )

    return authors


def _sum_up(selection: OpenedHistory, commits: Int64Array) -> Contribution:
    times = selection.history.commits.commit_time[commits]
    return Contribution(
        commits=len(commits),
        first_s=int(times.min()),
        last_s=int(times.max()),
        authors=_people(selection, commits),
        agent_commits=int(commit_agents(selection.history).mask[commits].sum()),
    )


def _people(selection: OpenedHistory, commits: Int64Array) -> list[str]:
    """Return names and addresses of the authors of commits, by number of commits and then by name."""
    identities = selection.history.identities
    persons, counts = np.unique(identities.person[selection.history.commits.author[commits]], return_counts=True)

    # By name as well: the numbers of persons depend on the order in which commits were read.
    people = [f"{identities.person_names[index]} <{identities.person_emails[index]}>" for index in persons.tolist()]
    return [person for _, person in sorted(zip((-counts).tolist(), people, strict=True))]


def _combine_repositories(
    arguments: GetContributorReposArguments, context: ToolContext, part: PartialResult
) -> ToolResult:
    contributions: dict[str, Contribution] = part.results
    ranked_names = sorted(contributions, key=lambda name: (-contributions[name].commits, name))
    shown_names = ranked_names[: limit_of(arguments.limit, context, DEFAULT_LIMIT)]

    notices = list(part.notices)
    is_cut = len(shown_names) < len(ranked_names)
    if is_cut:
        notices.append(f"Only {len(shown_names):,} of {len(ranked_names):,} repositories are shown; ask for more.")

    authors = _authors(arguments)
    attributes = {
        "authors": authors,
        "total": len(ranked_names),
        "drill_down": contributor_drill_down(authors, use_regex=bool(arguments.use_regex)),
    }
    return ToolResult(
        columns="contributor_repositories",
        table=_make_table({name: contributions[name] for name in shown_names}),
        attributes=attributes,
        complete=part.complete and not is_cut,
        notices=tuple(notices),
    )


def _make_table(contributions: dict[str, Contribution]) -> Any:
    rows = contributions.values()
    values = {
        "repository": list(contributions),
        "commits": [row.commits for row in rows],
        "first_date": tables.times([row.first_s for row in rows]),
        "last_date": tables.times([row.last_s for row in rows]),
        "authors": [row.authors for row in rows],
        "agent_commits": [row.agent_commits for row in rows],
    }
    return tables.table("contributor_repositories", values, len(rows))


def _render_contributor_repos(answer: ToolResult, context: ToolContext) -> Rendered:
    """Return repositories as objects, and a line each."""
    del context
    rows = answer.table.to_pylist()
    repos = [_repository_object(row) for row in rows]
    text = "".join(_repository_line(row) for row in rows)

    total = total_beside(answer, "totalCount", answer.attributes["total"], len(repos))
    payload = {"repos": repos, **total, **tail(answer)}
    return payload, with_notices(text or NOTHING, answer)


def _repository_object(row: dict[str, Any]) -> dict[str, Any]:
    shown_authors = row["authors"][:_MAX_SHOWN]
    repository = {
        "name": row["repository"],
        "commits": row["commits"],
        "firstCommit": stamp(row["first_date"]),
        "lastCommit": stamp(row["last_date"]),
        "authors": shown_authors,
        "agentCommits": row["agent_commits"],
    }
    if len(shown_authors) < len(row["authors"]):
        repository["authorsLeftOut"] = len(row["authors"]) - len(shown_authors)

    return repository


def _repository_line(row: dict[str, Any]) -> str:
    first, last = stamp(row["first_date"]), stamp(row["last_date"])
    return f"{one_line(row['repository'])} - {count_of(row['commits'], 'commit')} (first {first}, last {last})\n"


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(
        GET_CONTRIBUTOR_REPOS,
        Split(_gather_repositories, _combine_repositories),
        _render_contributor_repos,
        TableItems("repositories"),
    ),
)
