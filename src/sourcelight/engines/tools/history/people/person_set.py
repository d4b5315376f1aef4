"""Persons: join identities, choose the displayed name of each, and tell bots from people."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.agents import LOWER_BOUND
from sourcelight.core.batches.commit_messages import co_authors
from sourcelight.core.batches.persons import BOT_RULE, Pair, display_pair, is_bot, person_key
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError
from sourcelight.core.markup import count_of
from sourcelight.core.notices import Rule
from sourcelight.engines.history.people import Mailmap, check_mailmap, parse_mailmap
from sourcelight.engines.history.search.trailer_columns import commits_with_co_authors
from sourcelight.engines.tools.history.histories import OpenedHistory


@dataclass(frozen=True, slots=True)
class PersonSet:
    """Identities of one part of a call, after the repository's mailmap.

    Attributes
    ----------
    pairs
        Name and address of each, and how many commits it wrote.
    persons
        For each person, by number, the place of one of its identities in `pairs`.
    """

    pairs: list[tuple[Pair, int]]
    persons: list[int]


class PersonNumbers:
    """Persons of several repositories under one set of numbers.

    The mailmap of each repository is applied first, then the lines that the reader accepted, and then identities with
    the same address are one person, unless the reader turned that off. A person bears the name and address with the
    most commits.

    Parameters
    ----------
    tool
        Name of the tool, for errors.
    mailmap
        Lines of a mailmap that the reader accepted.
    join_addresses
        Whether identities with the same address are one person; None: they are.
    """

    def __init__(self, tool: str, mailmap: str | None = None, *, join_addresses: bool | None = None) -> None:
        try:
            self._accepted = parse_mailmap(mailmap or "")
        except ValueError as error:
            raise ToolError(f"{tool}: mailmap: {error}", tool=tool, argument="mailmap") from error

        self.join_addresses: bool = join_addresses is not False
        self._numbers: dict[Pair, int] = {}
        self._members: list[dict[Pair, int]] = []
        self._pairs: dict[Pair, int] = {}
        self._commits: list[int] = []
        self._of: dict[int, Int64Array] = {}
        self._display_pairs: list[Pair] | None = None
        self._bots = np.zeros(0, np.bool_)

    @property
    def accepted(self) -> Mailmap:
        """The lines that the reader accepted."""
        return self._accepted

    @property
    def display_pairs(self) -> list[Pair]:
        """Name and address of each person by number."""
        if self._display_pairs is None:
            self._display_pairs = [display_pair(members) for members in self._members]
        return self._display_pairs

    @property
    def names(self) -> list[str]:
        """Name of each person by number."""
        return [name for name, _ in self.display_pairs]

    @property
    def emails(self) -> list[str]:
        """Address of each person by number."""
        return [email for _, email in self.display_pairs]

    @property
    def bots(self) -> BoolArray:
        """Whether each person is a bot, by the name and address that are shown."""
        if len(self._bots) != max(1, len(self.display_pairs)):
            self._bots = np.array([is_bot(*pair) for pair in self.display_pairs] or [False], np.bool_)
        return self._bots

    @property
    def aliases(self) -> dict[str, list[str]]:
        """For persons with several identities: the displayed name and address, and all of them, as texts."""
        names: dict[str, list[str]] = {}
        identities: list[list[Pair]] = [[] for _ in self._members]
        for pair in self._pairs:
            identities[self._number_of(pair)].append(pair)

        for pair, members in zip(self.display_pairs, identities, strict=True):
            if set(members) - {pair}:
                text = text_of(pair)
                names[text] = list(dict.fromkeys([text, *map(text_of, sorted(members))]))

        return names

    def _number_of(self, pair: Pair) -> int:
        proper = self._accepted.map(*pair) if self._accepted else pair
        return self._numbers[person_key(*proper) if self.join_addresses else proper]

    def number(self, name: str, email: str, commits: int = 0) -> int:
        """Return the number of the person with this name in the repository's mailmap and some commits under it."""
        number = self._pairs.setdefault((name, email), len(self._pairs))
        if number == len(self._commits):
            self._commits.append(0)

        self._commits[number] += commits
        proper = self._accepted.map(name, email) if self._accepted else (name, email)
        key = person_key(*proper) if self.join_addresses else proper
        person = self._numbers.setdefault(key, len(self._numbers))
        if person == len(self._members):
            self._members.append({})

        members = self._members[person]
        members[proper] = members.get(proper, 0) + commits

        # With more commits, another name of a person can be the most frequent one.
        self._display_pairs, self._bots = None, np.zeros(0, np.bool_)
        return person

    @property
    def person_set(self) -> PersonSet:
        """Persons in this table, to pass to `take` of others."""
        first: dict[int, int] = {}
        for number, pair in enumerate(self._pairs):
            first.setdefault(self._number_of(pair), number)
        pairs = list(zip(self._pairs, self._commits, strict=True))
        return PersonSet(pairs, [first[person] for person in range(len(self._members))])

    def take(self, person_set: PersonSet) -> Int64Array:
        """Add persons that another part numbered, with the same arguments; return the number of each."""
        numbers = [self.number(*pair, commits) for pair, commits in person_set.pairs]
        return np.array([numbers[position] for position in person_set.persons], np.int64)

    def of_identities(self, selection: OpenedHistory) -> Int64Array:
        """Return the person of each identity that wrote one of the commits that count, or -1 for others."""
        history = selection.history
        numbers = self._of.get(id(history))
        if numbers is None:
            identities = history.identities
            authors = identities.person[history.commits.author[selection.mask]]
            commits = np.bincount(authors, minlength=len(identities.person_names)).tolist()
            # An index may hold other branches: people only in those don't decide a person's name.
            rows = zip(identities.person_names, identities.person_emails, commits, strict=True)
            persons = [self.number(*row) if row[2] else -1 for row in rows]
            numbers = np.array(persons, np.int64)[identities.person] if persons else np.zeros(0, np.int64)
            self._of[id(history)] = numbers

        return numbers

    def co_authors(self, selection: OpenedHistory, cancellation: Cancellation) -> tuple[Int64Array, Int64Array]:
        """Return commits with Co-authored-by trailers and the person of each trailer, without authors of the commit."""
        commits, pair_numbers, numbers_found = selection.history.remember(
            "co-authors", lambda: _co_authored(selection, cancellation)
        )
        persons = self.of_identities(selection)
        is_counted = selection.mask[commits] if len(commits) else np.zeros(0, np.bool_)
        commits, pair_numbers = commits[is_counted], pair_numbers[is_counted]
        if not len(commits):
            return commits, pair_numbers

        distinct, which = np.unique(pair_numbers, return_inverse=True)
        numbers = np.array([self.number(*numbers_found[position]) for position in distinct.tolist()], np.int64)[which]
        mask = numbers != persons[selection.history.commits.author[commits]]

        # Several trailers of a commit can name one person.
        pairs = np.unique(np.stack((commits[mask], numbers[mask]), axis=1), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def bot_notices(self, people: Any, commits: Any) -> list[Rule]:
        """Return a notice on bots among some people with commits."""
        bots = self.bots[people] & (np.asarray(commits) > 0)  # trailers name further ones
        if not bots.any():
            return []
        count, bot_count = int(np.asarray(commits)[bots].sum()), len(np.unique(np.asarray(people)[bots]))
        commits_are = "commit is" if count == 1 else "commits are"
        text = f"{count:,} {commits_are} by {count_of(bot_count, 'bot')} (rows with bot); {BOT_RULE}."
        return [Rule(text, "bots")]

    def join_notices(self, people: Iterable[int]) -> list[Rule]:
        """Return the notice about joined identities: how many people have several names under one address."""
        if not self.join_addresses:
            text = "Each name and address counts as a separate person, after the mailmap: join_addresses is False."
            return [Rule(text, "people")]

        many_names = sum(sum(map(bool, self._members[person].values())) > 1 for person in set(people))
        if not many_names:
            return []

        persons = "1 person writes" if many_names == 1 else f"{many_names:,} people write"
        counts = "counts" if many_names == 1 else "count"
        notice = (
            f"{persons} under several names with one address and {counts} once, under the name with the most commits; "
            "join_addresses=False keeps the names separate."
        )
        return [Rule(notice, "people")]


def agent_notices(commits: int = 0, lines: int = 0) -> list[Rule]:
    """Return a notice on how many commits, or lines of today, name a coding assistant; none for none."""
    if commits:
        names = "names" if commits == 1 else "name"
        text = f"{count_of(commits, 'commit')} {names} a coding assistant (agent_commits): {LOWER_BOUND}."
        return [Rule(text, "agent commits")]

    if lines:
        text = f"{count_of(lines, 'line')} of commits that name a coding assistant (agent_lines): {LOWER_BOUND}."
        return [Rule(text, "agent lines")]

    return []


def text_of(pair: Pair) -> str:
    """Return a person as text: ``Name <address>``."""
    name, email = pair
    return f"{name} <{email}>"


def _co_authored(snapshot: OpenedHistory, cancellation: Cancellation) -> tuple[Int64Array, Int64Array, Sequence[Pair]]:
    """Return commits with trailers, the place of each trailer's person, and the people as the mailmap has them."""
    history = snapshot.history
    commits: list[int] = []
    positions: list[int] = []
    seen_people: dict[Pair, int] = {}
    for commit in commits_with_co_authors(history):
        for person in co_authors(history.message(commit)):
            commits.append(commit)
            positions.append(seen_people.setdefault(person, len(seen_people)))

    mapped = check_mailmap(snapshot.repository.git_dir, list(seen_people), cancellation)
    return np.array(commits, np.int64), np.array(positions, np.int64), mapped
