"""Counting by people, periods, folders: numbers in, groups out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import CallError
from sourcelight.engines.history import History
from sourcelight.engines.history.identity import BOT_RULE, Mailmap, check_mailmap, co_authors, is_bot, parse_mailmap
from sourcelight.engines.history.search.tables import commits_with_co_authors
from sourcelight.engines.tools.history.opening import Opened

Numbers = NDArray[np.int64]
PERIODS = ("day", "week", "month", "quarter", "year")
_DAY_S = 86_400


def periods(seconds: Any, period: str) -> tuple[Numbers, Numbers]:
    """Start and end of the period of each instant, in seconds since 1970, UTC; a week begins on Monday."""
    times = np.asarray(seconds, np.int64)
    if period in {"day", "week"}:
        days = times // _DAY_S
        if period == "week":
            days = (days + 3) // 7 * 7 - 3  # 1970 began on a Thursday
        return days * _DAY_S, (days + (7 if period == "week" else 1)) * _DAY_S
    months = times.astype("datetime64[s]").astype("datetime64[M]").astype(np.int64)
    length = {"month": 1, "quarter": 3, "year": 12}[period]
    first = months // length * length
    return _seconds(first), _seconds(first + length)


def _seconds(months: Numbers) -> Numbers:
    return months.astype("datetime64[M]").astype("datetime64[s]").astype(np.int64)


def period_of(call: str, by: Sequence[str]) -> str | None:
    """The period that `by` names; raises `CallError` when it names two."""
    named = [name for name in by if name in PERIODS]
    if len(named) > 1:
        raise CallError(f"{call}: by names two periods, {' and '.join(named)}", call=call, argument="by")
    return named[0] if named else None


def group(keys: Sequence[Numbers]) -> tuple[Numbers, list[Numbers]]:
    """Number the distinct combinations of keys; gives the number of each row, and the keys of each number, sorted."""
    codes = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        values, places = np.unique(key, return_inverse=True)
        codes = codes * max(1, len(values)) + places
        _, codes = np.unique(codes, return_inverse=True)
    first = np.full(int(codes.max()) + 1 if len(codes) else 0, -1, np.int64)
    first[codes[::-1]] = np.arange(len(codes) - 1, -1, -1)
    return codes, [np.asarray(key)[first] for key in keys]


def total(codes: Numbers, weights: Any, groups: int) -> Numbers:
    """Sum of weights in each group."""
    return np.bincount(codes, np.asarray(weights, np.float64), groups).round().astype(np.int64)


def bounds(codes: Numbers, values: Any, groups: int) -> tuple[Numbers, Numbers]:
    """Least and greatest value of each group; there is one in each."""
    low = np.full(groups, np.iinfo(np.int64).max)
    high = np.full(groups, np.iinfo(np.int64).min)
    np.minimum.at(low, codes, values)
    np.maximum.at(high, codes, values)
    return low, high


def count_distinct(codes: Numbers, values: Numbers, groups: int) -> Numbers:
    """How many distinct values each group has; values are not negative."""
    if not len(codes):
        return np.zeros(groups, np.int64)
    width = int(values.max()) + 1
    pairs = np.sort(codes * width + values)
    first = np.concatenate(([True], pairs[1:] != pairs[:-1]))
    return np.bincount(pairs[first] // width, minlength=groups).astype(np.int64)


@dataclass(frozen=True, slots=True)
class Met:
    """Names and addresses in the order in which they were met, and the persons that they are, by number."""

    pairs: list[tuple[str, str]]
    persons: list[tuple[str, str]]


class People:
    """Persons of several repositories under one set of numbers, by the mailmaps and by lines that the reader accepted.

    Parameters
    ----------
    call
        Name of the call, for errors.
    lines
        Lines of a mailmap; they are looked up after the repository's own.
    """

    def __init__(self, call: str, lines: str | None = None) -> None:
        try:
            self._accepted = parse_mailmap(lines or "")
        except ValueError as error:
            raise CallError(f"{call}: mailmap: {error}", call=call, argument="mailmap") from error
        self._numbers: dict[tuple[str, str], int] = {}
        self._of: dict[int, Numbers] = {}
        self._bots = np.zeros(0, np.bool_)
        self.aliases: dict[str, list[str]] = {}
        self._met: list[tuple[str, str]] = []

    @property
    def accepted(self) -> Mailmap:
        """The lines that the reader accepted."""
        return self._accepted

    @property
    def names(self) -> list[str]:
        """Name of each person by number."""
        return [name for name, _ in self._numbers]

    @property
    def emails(self) -> list[str]:
        """Address of each person by number."""
        return [email for _, email in self._numbers]

    @property
    def bots(self) -> NDArray[np.bool_]:
        """Whether each person is a bot."""
        if len(self._bots) != max(1, len(self._numbers)):
            self._bots = np.array([is_bot(name, email) for name, email in self._numbers] or [False], np.bool_)
        return self._bots

    def number(self, name: str, email: str) -> int:
        """The number of someone whom the repository's mailmap calls so."""
        self._met.append((name, email))
        proper = self._accepted.map(name, email) if self._accepted else (name, email)
        if proper != (name, email):
            known = self.aliases.setdefault(f"{proper[0]} <{proper[1]}>", [f"{proper[0]} <{proper[1]}>"])
            if f"{name} <{email}>" not in known:
                known.append(f"{name} <{email}>")
        return self._numbers.setdefault(proper, len(self._numbers))

    @property
    def met(self) -> Met:
        """Who was met, for `take` of others."""
        return Met(list(self._met), list(self._numbers))

    def take(self, met: Met) -> Numbers:
        """Take over persons whom others numbered, with the same accepted lines; gives the number of each of theirs."""
        for pair in met.pairs:
            self.number(*pair)
        return np.array([self._numbers[pair] for pair in met.persons], np.int64)

    def of_identities(self, history: History) -> Numbers:
        """The person of each identity of a history."""
        found = self._of.get(id(history))
        if found is None:
            known = history.identities
            persons = [self.number(*pair) for pair in zip(known.person_names, known.person_emails, strict=True)]
            found = np.array(persons, np.int64)[known.person] if persons else np.zeros(0, np.int64)
            self._of[id(history)] = found
        return found

    def co_authors(self, opened: Opened, cancellation: Cancellation) -> tuple[Numbers, Numbers]:
        """Commits with Co-authored-by trailers and the person of each trailer, authors of the commit left out."""
        commits, places, found = opened.history.memory("co-authors", lambda: _co_authored(opened, cancellation))
        persons = self.of_identities(opened.history)
        if not found:
            return commits, places
        numbers = np.array([self.number(*person) for person in found], np.int64)[places]
        kept = numbers != persons[opened.history.commits.author[commits]]
        pairs = np.unique(np.stack((commits[kept], numbers[kept]), axis=1), axis=0)
        return pairs[:, 0], pairs[:, 1]

    def said(self, people: Any, commits: Any) -> list[str]:
        """A notice on bots among some people with commits."""
        bots = self.bots[people]
        if not bots.any():
            return []
        count, of = int(np.asarray(commits)[bots].sum()), len(np.unique(np.asarray(people)[bots]))
        commits_are = "commit is" if count == 1 else "commits are"
        return [f"{count:,} {commits_are} by {of:,} {'bot' if of == 1 else 'bots'} (rows with bot); {BOT_RULE}."]


def _co_authored(opened: Opened, cancellation: Cancellation) -> tuple[Numbers, Numbers, list[tuple[str, str]]]:
    """Commits with trailers, the place of each trailer's person, and the people as the mailmap has them."""
    history = opened.history
    commits: list[int] = []
    places: list[int] = []
    known: dict[tuple[str, str], int] = {}
    for commit in commits_with_co_authors(history):
        for person in co_authors(history.message(commit)):
            commits.append(commit)
            places.append(known.setdefault(person, len(known)))
    mapped = check_mailmap(opened.repository.git_dir, list(known), cancellation)
    return np.array(commits, np.int64), np.array(places, np.int64), mapped
