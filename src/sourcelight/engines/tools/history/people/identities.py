"""`identities` and `identity_suggestions`: who writes under which names."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sourcelight.core.batches.agents import agent_of
from sourcelight.core.batches.persons import BOT_RULE, is_bot
from sourcelight.core.batches.results import ToolResult
from sourcelight.core.tools import analyses as tools
from sourcelight.core.tools.analyses import IdentitiesArguments, IdentitySuggestionsArguments
from sourcelight.engines.history.people import IdentityUsage, suggest_identities
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import Handler, PartialResult, Split
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory, gather_each, open_histories
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, PersonSet

IDENTITIES, SUGGESTIONS = "identities", "identity_suggestions"

_Key = tuple[str, str, str, str]


@dataclass(slots=True)
class _Use:
    """Use of an identity: number of commits, dates and repositories."""

    commits: int = 0
    committed: int = 0
    co_authored: int = 0
    first: int = 1 << 62
    last: int = -(1 << 62)
    repositories: dict[str, None] = field(default_factory=dict)

    def add(self, repository: str, count: int, first: int, last: int) -> int:
        """Add commits; return their number."""
        if count:
            self.first, self.last = min(self.first, first), max(self.last, last)
            self.repositories[repository] = None
        return count


@dataclass(frozen=True, slots=True)
class _Uses:
    """Identities of one repository by role, and its co-authors; each with commits, first and last second."""

    roles: list[tuple[str, _Key, int, int, int]]
    co_authors: list[tuple[tuple[str, str], int, int, int]]


def _gather_identities(arguments: IdentitiesArguments, context: ToolContext) -> PartialResult:
    def find(selection: OpenedHistory) -> _Uses:
        return _uses(selection, PersonNumbers(IDENTITIES, arguments.mailmap, join_addresses=False), context)

    return gather_each(open_histories(IDENTITIES, context, arguments.repos or (), commits_alone=True), context, find)


def _uses(snapshot: OpenedHistory, people: PersonNumbers, context: ToolContext) -> _Uses:
    identities, commits = snapshot.history.identities, snapshot.history.commits
    is_counted = snapshot.mask
    pairs = list(
        zip(identities.names, identities.emails, identities.mapped_names, identities.mapped_emails, strict=True)
    )
    keys = [(name, email, *people.accepted.map(*proper)) for name, email, *proper in pairs]
    roles = []
    for role in ("author", "committer"):
        owners = getattr(commits, role)[is_counted]
        times = commits.commit_time[is_counted]
        # Sorted once and cut at each identity: a mask for each would read all commits for every one of thousands.
        order = np.argsort(owners, kind="stable")
        cuts = np.searchsorted(owners[order], np.arange(len(keys) + 1))
        for number, key in enumerate(keys):
            selected = times[order[cuts[number] : cuts[number + 1]]]
            if len(selected):
                roles.append((role, key, len(selected), int(selected.min()), int(selected.max())))

    helped, persons = people.co_authors(snapshot, context.cancellation)
    mask = snapshot.mask[helped]
    helped, persons = helped[mask], persons[mask]
    names, emails = people.names, people.emails
    co_authors = []
    for person in np.unique(persons).tolist():
        selected = commits.commit_time[helped[persons == person]]
        co_authors.append(((names[person], emails[person]), len(selected), int(selected.min()), int(selected.max())))

    return _Uses(roles, co_authors)


def _combine_identities(arguments: IdentitiesArguments, context: ToolContext, part: PartialResult) -> ToolResult:  # noqa: ARG001 - as all
    uses: dict[_Key, _Use] = {}
    of_pair: dict[tuple[str, str], _Key] = {}

    # Trailers name a person without a raw identity. The first raw identity of that person takes the credit.
    def use_of(key: _Key) -> _Use:
        of_pair.setdefault(key[2:], key)
        return uses.setdefault(key, _Use())

    for name, uses_found in part.results.items():
        for role, key, *numbers in uses_found.roles:
            use = use_of(key)
            count = use.add(name, *numbers)
            use.commits += count if role == "author" else 0
            use.committed += count if role == "committer" else 0
        for pair, *numbers in uses_found.co_authors:
            use = use_of(of_pair.get(pair, (*pair, *pair)))
            use.co_authored += use.add(name, *numbers)

    rows = sorted(uses.items(), key=lambda item: (-item[1].commits, -item[1].committed, item[0]))
    table = tables.table(
        "identities",
        {
            "name": [key[0] for key, _ in rows],
            "email": [key[1] for key, _ in rows],
            "canonical_name": [key[2] for key, _ in rows],
            "canonical_email": [key[3] for key, _ in rows],
            "commits": [use.commits for _, use in rows],
            "commits_as_committer": [use.committed for _, use in rows],
            "co_authored": [use.co_authored for _, use in rows],
            "first_date": tables.times([use.first for _, use in rows]),
            "last_date": tables.times([use.last for _, use in rows]),
            "repositories": [list(use.repositories) for _, use in rows],
            "bot": [is_bot(key[2], key[3]) for key, _ in rows],
            "agent": [agent_of(key[0], key[1]) for key, _ in rows],
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
class _Usages:
    """Commits of one repository by person, with their first and last second."""

    persons: PersonSet
    rows: list[tuple[int, int, int, int]]


def _gather_suggestions(arguments: IdentitySuggestionsArguments, context: ToolContext) -> PartialResult:
    def find(selection: OpenedHistory) -> _Usages:
        people = PersonNumbers(SUGGESTIONS, arguments.mailmap, join_addresses=arguments.join_addresses)
        commits = selection.history.commits
        owners = people.of_identities(selection)[commits.author[selection.mask]]
        times = commits.commit_time[selection.mask]
        rows = []
        for person in np.unique(owners).tolist():
            selected = times[owners == person]
            rows.append((person, len(selected), int(selected.min()), int(selected.max())))

        return _Usages(people.person_set, rows)

    return gather_each(open_histories(SUGGESTIONS, context, arguments.repos or (), commits_alone=True), context, find)


def _combine_suggestions(
    arguments: IdentitySuggestionsArguments, context: ToolContext, part: PartialResult
) -> ToolResult:
    del context
    people = PersonNumbers(SUGGESTIONS, arguments.mailmap, join_addresses=arguments.join_addresses)
    counts: dict[int, tuple[int, int, int]] = {}
    for usages in part.results.values():
        numbers = people.take(usages.persons)
        for person, *row in sorted((int(numbers[person]), *row) for person, *row in usages.rows):
            # 1 << 62: later than any time that git stores, and no overflow in int64.
            count, first, last = counts.get(person, (0, 1 << 62, 0))
            counts[person] = count + row[0], min(first, row[1]), max(last, row[2])

    names, emails = people.names, people.emails
    suggestions = suggest_identities(
        [IdentityUsage(names[position], emails[position], *numbers) for position, numbers in counts.items()]
    )
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
