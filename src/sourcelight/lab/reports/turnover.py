"""Who joined and who left: the people of a time against those of as long a time before."""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any

from sourcelight.core.batches.persons import Pair, person_key
from sourcelight.core.markup import count_of
from sourcelight.lab.reports.model import Frame, LinkOf, ReportTable, Section
from sourcelight.lab.reports.wording import day, length

YEAR_DAYS = 365


@dataclass(frozen=True, slots=True)
class Turnover:
    """Two times of the same length, one behind the other, and who wrote commits in them.

    Attributes
    ----------
    start, end
        The later time.
    joined, left
        Rows of people: author, author_email, commits, first_date and last_date, of the later time and of the earlier.
    before
        Commits of the earlier time.
    commits
        How many commits the later time has.
    """

    start: Any
    end: Any
    joined: Frame
    left: Frame
    before: Frame
    commits: int

    @property
    def days(self) -> float:
        """Length of each of the times."""
        return float((self.end - self.start).total_seconds() / 86_400)


def turnover(now: Frame, before: Frame, known: AbstractSet[Pair], start: Any, end: Any) -> Turnover:
    """Compare the people of two times; `known` are the keys of everybody with a commit before the later one."""
    here, then = _people(now), _people(before)
    joined = here[~here["key"].isin(known | set(then["key"]))]
    left = then[~then["key"].isin(set(here["key"]))]
    joined, left = (frame.drop(columns="key").reset_index(drop=True) for frame in (joined, left))
    return Turnover(start, end, joined, left, before, len(now))


def keys_of(frame: Frame) -> set[Pair]:
    """The keys of the people of a frame with author and author_email."""
    return {person_key(*pair) for pair in _pairs(frame)}


def _pairs(frame: Frame) -> list[Pair]:
    return list(zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True))


def _people(commits: Frame) -> Frame:
    """A row a person of commits that are by no bot, most commits first."""
    human = commits[~commits["bot"].fillna(value=False).astype("bool")]
    human = human.assign(key=[person_key(*pair) for pair in _pairs(human)])
    frame = human.groupby("key").agg(
        author=("author", "first"),
        author_email=("author_email", "first"),
        commits=("commit", "size"),
        first_date=("commit_date", "min"),
        last_date=("commit_date", "max"),
    )
    return frame.reset_index().sort_values(["commits", "author"], ascending=[False, True]).reset_index(drop=True)


def turnover_section(found: Turnover, link: LinkOf | None) -> Section:
    """Two tables: who joined, and who left."""
    time = length(found.days)
    span = f"{day(found.start)} to {day(found.end)}"
    keys = ("author", "author_email")
    of_joined = f"Authors of a commit from {span} with none before; commits and dates are of this time."
    of_left = f"Authors of a commit in the {time} before with none since; commits and dates are of that time."
    tables = (
        ReportTable("joined", "Joined", found.joined, of_joined, "bots.", "", keys, shown=15, link=link),
        ReportTable("left", "Left", found.left, of_left, "bots.", "", keys, shown=15, link=link),
    )
    joined, left = count_of(len(found.joined), "person"), count_of(len(found.left), "person")
    text = f"From {span}, {joined} joined, and {left} of the {time} before wrote no commit."
    return Section("Joiners and leavers", text, tuple(table for table in tables if len(table.frame)))
