"""Persons: join identities, choose the displayed name of each, and tell bots from people.

Numbers are given in the order of reading, so they mean nothing outside of one `PersonNumbers`; parts of a cluster send
identities with their commits instead (`PersonSet`). A person's displayed name is known once all commits are counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches.agents import LOWER_BOUND
from sourcelight.core.batches.commit_messages import co_authors
from sourcelight.core.batches.persons import BOT_RULE, Pair, display_pair, is_bot, pair_text, person_key
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


class CoAuthors(NamedTuple):
    """Commits with trailers, by number, and the person of each trailer."""

    commits: Int64Array
    persons: Int64Array


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
        self._bots: BoolArray | None = None

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
        if self._bots is None:
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
                text = pair_text(pair)
                texts = [text, *map(pair_text, sorted(members))]
                names[text] = list(dict.fromkeys(texts))

        return names

    def _number_of(self, pair: Pair) -> int:
        return self._numbers[self._key_of(self._accepted_pair(pair))]

    def _accepted_pair(self, pair: Pair) -> Pair:
        """Return an identity after the lines that the reader accepted."""
        if not self._accepted:
            return pair
        return self._accepted.map(*pair)

    def _key_of(self, pair: Pair) -> Pair:
        """Return the key that all identities of a person share."""
        if not self.join_addresses:
            return pair
        return person_key(*pair)

    def number(self, name: str, email: str, commits: int = 0) -> int:
        """Return the number of the person with this name in the repository's mailmap and some commits under it."""
        number = self._pairs.setdefault((name, email), len(self._pairs))
        if number == len(self._commits):
            self._commits.append(0)

        self._commits[number] += commits
        proper = self._accepted_pair((name, email))
        person = self._numbers.setdefault(self._key_of(proper), len(self._numbers))
        if person == len(self._members):
            self._members.append({})

        members = self._members[person]
        members[proper] = members.get(proper, 0) + commits

        # With more commits, another name of a person can be the most frequent one.
        self._display_pairs = None
        self._bots = None
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
            commit_counts = np.bincount(authors, minlength=len(identities.person_names)).tolist()
            rows = zip(identities.person_names, identities.person_emails, commit_counts, strict=True)
            persons = []
            for name, email, commit_count in rows:
                # An index may hold other branches: people only in those don't decide a person's name.
                persons.append(self.number(name, email, commit_count) if commit_count else -1)

            numbers = np.zeros(0, np.int64)
            if persons:
                numbers = np.array(persons, np.int64)[identities.person]

            self._of[id(history)] = numbers

        return numbers

    def co_authors(self, selection: OpenedHistory, cancellation: Cancellation) -> CoAuthors:
        """Return commits with Co-authored-by trailers and the person of each trailer, without authors of the commit."""
        history = selection.history
        trailers = history.remember("co-authors", lambda: _read_co_authors(selection, cancellation))
        persons_of_identities = self.of_identities(selection)
        is_counted = selection.mask[trailers.commits]
        commits = trailers.commits[is_counted]
        if not len(commits):
            return CoAuthors(commits, commits)

        # Persons of counted commits alone get a number: others would be rows of the answer.
        distinct, index_of_trailer = np.unique(trailers.pair_indexes[is_counted], return_inverse=True)
        numbers = [self.number(*trailers.pairs[index]) for index in distinct.tolist()]
        persons = np.array(numbers, np.int64)[index_of_trailer]
        is_other_person = persons != persons_of_identities[history.commits.author[commits]]

        # Several trailers of a commit can name one person.
        rows = np.unique(np.stack((commits[is_other_person], persons[is_other_person]), axis=1), axis=0)
        return CoAuthors(rows[:, 0], rows[:, 1])

    def bot_notices(self, people: Any, commits: Any) -> list[Rule]:
        """Return a notice on bots among some people with commits."""
        people = np.asarray(people)
        commits = np.asarray(commits)
        # Trailers name further ones.
        is_bot_with_commits = self.bots[people] & (commits > 0)
        if not is_bot_with_commits.any():
            return []

        count = int(commits[is_bot_with_commits].sum())
        bot_count = len(np.unique(people[is_bot_with_commits]))
        commits_are = "commit is" if count == 1 else "commits are"
        text = f"{count:,} {commits_are} by {count_of(bot_count, 'bot')} (rows with bot); {BOT_RULE}."
        return [Rule(text, "bots")]

    def join_notices(self, people: Iterable[int]) -> list[Rule]:
        """Return the notice about joined identities: how many people have several names under one address."""
        if not self.join_addresses:
            text = "Each name and address counts as a separate person, after the mailmap: join_addresses is False."
            return [Rule(text, "people")]

        many_names = sum(self._has_many_names(person) for person in set(people))
        if not many_names:
            return []

        persons = "1 person writes" if many_names == 1 else f"{many_names:,} people write"
        counts = "counts" if many_names == 1 else "count"
        notice = (
            f"{persons} under several names with one address and {counts} once, under the name with the most commits; "
            "join_addresses=False keeps the names separate."
        )
        return [Rule(notice, "people")]

    def _has_many_names(self, person: int) -> bool:
        """Return whether a person has commits under more than one name and address."""
        commit_counts = self._members[person].values()
        return sum(count > 0 for count in commit_counts) > 1


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


@dataclass(frozen=True, slots=True)
class _Trailers:
    """Trailers of a history that name co-authors.

    Attributes
    ----------
    commits
        The commit of each.
    pair_indexes
        The index of its person in `pairs`.
    pairs
        The persons as the mailmap has them.
    """

    commits: Int64Array
    pair_indexes: Int64Array
    pairs: Sequence[Pair]


def _read_co_authors(snapshot: OpenedHistory, cancellation: Cancellation) -> _Trailers:
    history = snapshot.history
    commits: list[int] = []
    pair_indexes: list[int] = []
    index_of: dict[Pair, int] = {}
    for commit in commits_with_co_authors(history):
        for person in co_authors(history.message(commit)):
            commits.append(commit)
            pair_indexes.append(index_of.setdefault(person, len(index_of)))

    pairs = check_mailmap(snapshot.repository.git_dir, list(index_of), cancellation)
    return _Trailers(np.array(commits, np.int64), np.array(pair_indexes, np.int64), pairs)
