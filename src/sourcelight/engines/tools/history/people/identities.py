"""`identities` and `identity_suggestions`: who writes under which names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from sourcelight.core.arrays import AnyArray, Int64Array
from sourcelight.core.batches.agents import agent_of
from sourcelight.core.batches.persons import BOT_RULE, Pair, is_bot
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools import analyses as tools
from sourcelight.core.tools.analyses import IdentitiesArguments, IdentitySuggestionsArguments
from sourcelight.engines.history.people import IdentityUsage, suggest_identities
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_each, open_histories
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, PersonSet

IDENTITIES = tools.IDENTITIES.name
SUGGESTIONS = tools.IDENTITY_SUGGESTIONS.name

_MAX_TIME = 1 << 62
"""Seconds later than any time that git stores, without an overflow in int64."""


class _Identity(NamedTuple):
    """A name and address as commits have them, and those that the mailmaps give instead."""

    name: str
    email: str
    canonical_name: str
    canonical_email: str

    @property
    def canonical(self) -> Pair:
        """The canonical name and address."""
        return self.canonical_name, self.canonical_email


class _Commits(NamedTuple):
    """Number of some commits, and the first and last of their times, in seconds since 1970."""

    number: int
    first: int
    last: int


def _commits_at(times: Int64Array) -> _Commits:
    """Return the numbers of commits with these times; there is at least one."""
    return _Commits(len(times), int(times.min()), int(times.max()))


@dataclass(slots=True)
class _Use:
    """Use of an identity in all repositories: numbers of commits, dates and repositories."""

    authored: int = 0
    committed: int = 0
    co_authored: int = 0
    first: int = _MAX_TIME
    last: int = -_MAX_TIME
    repositories: dict[str, None] = field(default_factory=dict)

    def add(self, repository: str, commits: _Commits) -> None:
        """Add a repository, and the dates of its commits."""
        self.first = min(self.first, commits.first)
        self.last = max(self.last, commits.last)
        self.repositories[repository] = None


@dataclass(frozen=True, slots=True)
class _RepositoryUses:
    """The identities of the authors and committers of one repository, and its co-authors after the mailmaps."""

    authors: dict[_Identity, _Commits]
    committers: dict[_Identity, _Commits]
    co_authors: dict[Pair, _Commits]


def _gather_identities(arguments: IdentitiesArguments, context: ToolContext) -> PartialResult:
    def find(selection: OpenedHistory) -> _RepositoryUses:
        people = PersonNumbers(IDENTITIES, arguments.mailmap, join_addresses=False)
        return _find_uses(selection, people, context)

    histories = open_histories(IDENTITIES, context, arguments.repos or (), commits_alone=True)
    return gather_each(histories, context, find)


def _find_uses(selection: OpenedHistory, people: PersonNumbers, context: ToolContext) -> _RepositoryUses:
    commits = selection.history.commits
    times = commits.commit_time[selection.mask]
    identities = _identities_of(selection, people)
    return _RepositoryUses(
        authors=_commits_by_identity(identities, commits.author[selection.mask], times),
        committers=_commits_by_identity(identities, commits.committer[selection.mask], times),
        co_authors=_commits_by_co_author(selection, people, context),
    )


def _identities_of(selection: OpenedHistory, people: PersonNumbers) -> list[_Identity]:
    """Return the identities of a history by their numbers."""
    history = selection.history.identities
    rows = zip(history.names, history.emails, history.mapped_names, history.mapped_emails, strict=True)
    identities = []
    for name, email, mapped_name, mapped_email in rows:
        # The repository's mailmap was applied; the lines that the reader accepted come on top of it.
        identities.append(_Identity(name, email, *people.accepted.map(mapped_name, mapped_email)))
    return identities


def _commits_by_identity(
    identities: Sequence[_Identity], owners: AnyArray, times: Int64Array
) -> dict[_Identity, _Commits]:
    """Return the commits of each identity that has some; `owners` are the identities of commits with `times`."""
    # Sorted once and cut at each identity: a mask for each would read all commits for every one of thousands.
    order = np.argsort(owners, kind="stable")
    bounds = np.searchsorted(owners[order], np.arange(len(identities) + 1)).tolist()
    commits: dict[_Identity, _Commits] = {}
    for identity, (start, end) in zip(identities, pairwise(bounds), strict=True):
        if start < end:
            commits[identity] = _commits_at(times[order[start:end]])
    return commits


def _commits_by_co_author(
    selection: OpenedHistory, people: PersonNumbers, context: ToolContext
) -> dict[Pair, _Commits]:
    """Return the commits that name each person in a trailer."""
    numbers, persons = people.co_authors(selection, context.cancellation)
    is_counted = selection.mask[numbers]
    times = selection.history.commits.commit_time[numbers[is_counted]]
    persons = persons[is_counted]

    pairs = people.display_pairs
    commits: dict[Pair, _Commits] = {}
    for person in np.unique(persons).tolist():
        commits[pairs[person]] = _commits_at(times[persons == person])
    return commits


def _sum_uses(uses_by_repository: Mapping[str, _RepositoryUses]) -> dict[_Identity, _Use]:
    """Return the use of each identity in all repositories."""
    uses: defaultdict[_Identity, _Use] = defaultdict(_Use)
    # Trailers name a person without a raw identity. The first raw identity of that person takes the credit.
    first_identities: dict[Pair, _Identity] = {}
    for repository, repository_uses in uses_by_repository.items():
        for identity, commits in repository_uses.authors.items():
            first_identities.setdefault(identity.canonical, identity)
            uses[identity].add(repository, commits)
            uses[identity].authored += commits.number

        for identity, commits in repository_uses.committers.items():
            first_identities.setdefault(identity.canonical, identity)
            uses[identity].add(repository, commits)
            uses[identity].committed += commits.number

        for pair, commits in repository_uses.co_authors.items():
            identity = first_identities.setdefault(pair, _Identity(*pair, *pair))
            uses[identity].add(repository, commits)
            uses[identity].co_authored += commits.number

    return uses


def _combine_identities(arguments: IdentitiesArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all
    uses = _sum_uses(part.results)
    rows = sorted(uses.items(), key=lambda item: (-item[1].authored, -item[1].committed, item[0]))
    table = tables.table(
        "identities",
        {
            "name": [identity.name for identity, _ in rows],
            "email": [identity.email for identity, _ in rows],
            "canonical_name": [identity.canonical_name for identity, _ in rows],
            "canonical_email": [identity.canonical_email for identity, _ in rows],
            "commits": [use.authored for _, use in rows],
            "commits_as_committer": [use.committed for _, use in rows],
            "co_authored": [use.co_authored for _, use in rows],
            "first_date": tables.times([use.first for _, use in rows]),
            "last_date": tables.times([use.last for _, use in rows]),
            "repositories": [list(use.repositories) for _, use in rows],
            "bot": [is_bot(*identity.canonical) for identity, _ in rows],
            "agent": [agent_of(identity.name, identity.email) for identity, _ in rows],
        },
        len(rows),
    )
    notices = [*part.notices, f"{BOT_RULE[0].upper()}{BOT_RULE[1:]}."]
    drill = {"call": "commit_search", "arguments": {"repos": part.names}, "columns": {"authors": "email"}}
    attributes = {"repositories": part.names, "drill_down": drill}
    return ToolResult(
        columns="identities", table=table, attributes=attributes, complete=part.complete, notices=tuple(notices)
    )


@dataclass(frozen=True, slots=True)
class _AuthorCommits:
    """The authors of one repository, and the commits of each by the number in `persons`."""

    persons: PersonSet
    commits: dict[int, _Commits]


def _gather_suggestions(arguments: IdentitySuggestionsArguments, context: ToolContext) -> PartialResult:
    def find(selection: OpenedHistory) -> _AuthorCommits:
        people = PersonNumbers(SUGGESTIONS, arguments.mailmap, join_addresses=arguments.join_addresses)
        commits = selection.history.commits
        persons = people.of_identities(selection)[commits.author[selection.mask]]
        times = commits.commit_time[selection.mask]
        by_person = {person: _commits_at(times[persons == person]) for person in np.unique(persons).tolist()}
        return _AuthorCommits(people.person_set, by_person)

    histories = open_histories(SUGGESTIONS, context, arguments.repos or (), commits_alone=True)
    return gather_each(histories, context, find)


def _combine_suggestions(
    arguments: IdentitySuggestionsArguments, context: ToolContext, part: PartialResult
) -> ToolResult:
    del context
    people = PersonNumbers(SUGGESTIONS, arguments.mailmap, join_addresses=arguments.join_addresses)
    commits_by_person: dict[int, _Commits] = {}
    for authors in part.results.values():
        numbers = people.take(authors.persons)
        for person, commits in sorted((int(numbers[person]), commits) for person, commits in authors.commits.items()):
            previous = commits_by_person.get(person, _Commits(0, _MAX_TIME, 0))
            commits_by_person[person] = _Commits(
                number=previous.number + commits.number,
                first=min(previous.first, commits.first),
                last=max(previous.last, commits.last),
            )

    usages = [IdentityUsage(*people.display_pairs[person], *commits) for person, commits in commits_by_person.items()]
    suggestions = suggest_identities(usages)
    table = tables.table(
        "identity_suggestions",
        {
            "group": [suggestion.group for suggestion in suggestions],
            "name": [suggestion.usage.name for suggestion in suggestions],
            "email": [suggestion.usage.email for suggestion in suggestions],
            "commits": [suggestion.usage.commits for suggestion in suggestions],
            "canonical_name": [suggestion.proper.name for suggestion in suggestions],
            "canonical_email": [suggestion.proper.email for suggestion in suggestions],
            "reason": [suggestion.reason for suggestion in suggestions],
            "mailmap_line": [suggestion.mailmap_line for suggestion in suggestions],
        },
        len(suggestions),
    )
    notices = (
        *part.notices,
        "These are guesses: pass the mailmap_line of rows that you accept as mailmap, nothing is merged by itself.",
    )
    drill = {"call": "commit_search", "arguments": {"repos": part.names}, "columns": {"authors": "email"}}
    return ToolResult(
        columns="identity_suggestions",
        table=table,
        attributes={"drill_down": drill},
        complete=part.complete,
        notices=notices,
    )


HANDLERS: tuple[Handler[Any], ...] = (
    Handler(tools.IDENTITIES, Split(_gather_identities, _combine_identities)),
    Handler(tools.IDENTITY_SUGGESTIONS, Split(_gather_suggestions, _combine_suggestions)),
)
