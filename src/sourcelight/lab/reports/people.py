"""People of reports: who is one person, joiners and leavers.

Names come from the answer of `Client.contributors` where a service has it, else from the commits themselves. All tables
of a report get them from `unify_names`, so that a person has one name as author and as committer.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import Pair, display_pair, pair_text, parse_pair, person_key
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import count_of
from sourcelight.lab.reports.model import DATE_SPAN, Frame, LinkOf, Metric, ReportTable, Section
from sourcelight.lab.reports.text import date_text, duration_text, people_commits

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports.progress import ReportProgress


JOINED = "Identities with one address (in any case; not none@none) are one person, after the mailmap."
APART = "Each name and address counts as a separate person, after the mailmap."
PEOPLE = "Authors of at least one of these commits, merges included."
CO_AUTHORS = "People whom a Co-authored-by trailer of these commits names and who wrote none of them."
BOTS = "Authors of at least one of these commits that are programs, by their name or address."

YEAR_DAYS = 365
"""Days of a year, for rates."""

_CLOCK_ERROR = timedelta(days=1)
"""Difference by which clocks of authors may be ahead of this one."""


def is_past(commits: Frame) -> Any:
    """Return, for each commit, whether its date is not in the future."""
    return commits["commit_date"] <= datetime.now(UTC) + _CLOCK_ERROR


def future_text(commits: Frame) -> str:
    """Return a sentence if commits have dates in the future; else an empty text."""
    future = commits.loc[~is_past(commits), "commit_date"]
    if not len(future):
        return ""
    newest = date_text(future.max())
    if len(future) == 1:
        return f"1 commit has a date in the future, {newest}; no comparison of periods counts it."
    return f"{len(future):,} commits have dates in the future, up to {newest}; no comparison of periods counts them."


def unify_names(commits: Frame, people: Frame | None, *, join_addresses: bool) -> Frame:
    """Return commits under the names that `people`, an answer of `Client.contributors`, has for their authors.

    Adds no rows; changes ``author``, ``author_email``, ``person``, ``bot``, ``committer`` and ``committer_email``.
    Without `people`, identities with one address get the name with the most of these commits. A committer gets the
    name of the author with the same identity or, with `join_addresses`, the same address.
    """
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    pairs = _pairs(frame)
    display_names: dict[Pair, Pair] = {}
    if people is not None:
        display_names = _display_names(people)
    elif join_addresses:
        display_names = _by_address(pairs)

    authors = [display_names.get(pair, pair) for pair in pairs]
    frame["author"] = [name for name, _ in authors]
    frame["author_email"] = [email for _, email in authors]
    frame["person"] = [pair_text(author) for author in authors]
    if people is not None:
        # A person who isn't in `people` keeps what the commits say.
        bots = dict(zip(_pairs(people), people["bot"].fillna(value=False).astype("bool").tolist(), strict=True))
        frame["bot"] = [bots.get(author, is_bot) for author, is_bot in zip(authors, frame["bot"], strict=True)]

    _unify_committers(frame, display_names, authors, join_addresses=join_addresses)
    return frame


def _display_names(people: Frame) -> dict[Pair, Pair]:
    """Return the name that an answer of `Client.contributors` has for each of a person's identities."""
    display_names: dict[Pair, Pair] = {}
    for name, aliases in people.attrs.get("aliases", {}).items():
        for alias in aliases:
            display_names[parse_pair(alias)] = parse_pair(name)
    return display_names


def _unify_committers(
    frame: Frame, display_names: Mapping[Pair, Pair], authors: Sequence[Pair], *, join_addresses: bool
) -> None:
    """Write the names of authors into the committers of a frame, so that a person has one name in all tables."""
    # Rows of files name only authors.
    if "committer" not in frame:
        return

    has_committer = frame["committer"].notna() & frame["committer_email"].notna()
    names = frame.loc[has_committer, "committer"].astype("str")
    emails = frame.loc[has_committer, "committer_email"].astype("str")
    committers = list(zip(names, emails, strict=True))
    by_key: dict[Pair, Pair] = {}
    if join_addresses:
        # The names of authors come last, so that they win.
        for known_names in (_by_address(committers), display_names, {author: author for author in authors}):
            for pair, display_name in known_names.items():
                by_key[person_key(*pair)] = display_name

    new_pairs = [display_names.get(pair) or by_key.get(person_key(*pair), pair) for pair in committers]
    _set_texts(frame, "committer", has_committer, [name for name, _ in new_pairs])
    _set_texts(frame, "committer_email", has_committer, [email for _, email in new_pairs])


def _set_texts(frame: Frame, column: str, is_row: Any, texts: list[str]) -> None:
    # As objects, because the names of authors may be no categories of the column.
    values = frame[column].astype("object")
    values[is_row] = texts
    frame[column] = values


def _by_address(pairs: list[Pair]) -> dict[Pair, Pair]:
    """Return the name to show of each identity: of those with one address, the one with the most commits."""
    spellings: dict[Pair, dict[Pair, int]] = {}
    for pair, count in Counter(pairs).items():
        spellings.setdefault(person_key(*pair), {})[pair] = count

    display_names: dict[Pair, Pair] = {}
    for group in spellings.values():
        display_names |= dict.fromkeys(group, display_pair(group))
    return display_names


def people_metrics(people: Frame | None, *, join_addresses: bool) -> list[Metric]:
    """Return the numbers of people, co-authors and bots in an answer of `Client.contributors`; each counts once."""
    joining = JOINED if join_addresses else APART
    filters = {"bot": False}
    if people is None:
        return [
            Metric(
                name="people",
                value=None,
                counts=f"{PEOPLE} {joining}",
                excludes="bots.",
                source="commits",
                filters=filters,
            )
        ]

    bot = people["bot"].fillna(value=False).astype("bool")
    wrote = people["commits"] > 0
    return [
        Metric("people", int((wrote & ~bot).sum()), f"{PEOPLE} {joining}", "bots, and co-authors without a commit.",
               "commits", filters),
        Metric("co-authors", int((~wrote & ~bot).sum()), CO_AUTHORS, "bots."),
        Metric("bots", int((wrote & bot).sum()), BOTS, "", "commits", {"bot": True}),
    ]  # fmt: skip


def doubtful(
    code: Client, stages: ReportProgress, people: Frame, repos: str | list[str] | None, mailmap: str | list[str] | None,
    *, join_addresses: bool,
) -> list[str]:  # fmt: skip
    """Describe how many people of a report may be one person with several addresses; the reader decides."""
    try:
        suggested = stages.ask(
            "identities", code.identity_suggestions, repos=repos, mailmap=mailmap, join_addresses=join_addresses
        )
    # A service without it: the report does not depend on it.
    except SourcelightError:
        return []

    wrote = people[people["commits"] > 0]
    active_keys = {_key_of(pair, join_addresses=join_addresses) for pair in _pairs(wrote)}
    groups: dict[int, set[Pair]] = {}
    for group, name, email in zip(suggested["group"], suggested["name"], suggested["email"], strict=True):
        key = _key_of((name, email), join_addresses=join_addresses)
        if key in active_keys:
            groups.setdefault(int(group), set()).add(key)

    duplicates = [group for group in groups.values() if len(group) > 1]
    if not duplicates:
        return []

    people_count = sum(map(len, duplicates))
    notice = (
        f"{people_count:,} people may be only {len(duplicates):,}: identity_suggestions() lists them, "
        "and mailmap= joins those whose mailmap_line you pass."
    )
    return [notice]


def _key_of(pair: Pair, *, join_addresses: bool) -> Pair:
    """Return what the identities of one person share, as the report counts people."""
    if join_addresses:
        return person_key(*pair)
    return pair


@dataclass(frozen=True, slots=True)
class Turnover:
    """Two times of the same length, one behind the other, and who wrote commits in them.

    Attributes
    ----------
    start, end
        The later time.
    joiners, leavers
        Rows of people: author, author_email, commits, first_date and last_date, of the later time and of the earlier.
    before
        Commits of the earlier time.
    commits
        Commits of the later time.
    namesakes
        How many joiners and leavers have the name of somebody who wrote in the other time from another address.
    """

    start: Any
    end: Any
    joiners: Frame
    leavers: Frame
    before: Frame
    commits: Frame
    namesakes: int = 0

    @property
    def days(self) -> float:
        """Length of each of the times."""
        return float((self.end - self.start).total_seconds() / 86_400)


def turnover(commits: Frame, before: Frame, earlier_people: AbstractSet[Pair], start: Any, end: Any) -> Turnover:
    """Compare the people of two times; `earlier_people` are keys of people with a commit before the later one."""
    people = _people(commits)
    earlier = _people(before)
    joiners = people[~people["key"].isin(earlier_people | set(earlier["key"]))]
    leavers = earlier[~earlier["key"].isin(set(people["key"]))]
    return Turnover(
        start=start,
        end=end,
        joiners=joiners.drop(columns="key").reset_index(drop=True),
        leavers=leavers.drop(columns="key").reset_index(drop=True),
        before=before,
        commits=commits,
        namesakes=_namesakes(joiners, earlier) + _namesakes(leavers, people),
    )


def _namesakes(people: Frame, other_people: Frame) -> int:
    """Return how many of `people` have the name of one of `other_people`, in any case."""
    names = _folded_names(people)
    return int(names.isin(set(_folded_names(other_people))).sum())


def _folded_names(people: Frame) -> Any:
    # Without commits, the names have no type of text.
    return people["author"].astype("str").str.casefold()


def keys_of(frame: Frame) -> set[Pair]:
    """Return the keys of the people of a frame with author and author_email."""
    return {person_key(*pair) for pair in _pairs(frame)}


def _pairs(frame: Frame) -> list[Pair]:
    return list(zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True))


def people_before_metric(before: Frame) -> Metric:
    """Return the number of commits by people among those of the time before."""
    return Metric(
        name="commits by people before",
        value=len(people_commits(before)),
        counts="Those of them whose author is not a bot.",
        excludes="bots.",
        source="before",
        filters={"bot": False},
    )


def _people(commits: Frame) -> Frame:
    """Return a row per person of commits that are by no bot, most commits first."""
    human = people_commits(commits)
    human = human.assign(key=[person_key(*pair) for pair in _pairs(human)])
    frame = human.groupby("key").agg(
        author=("author", "first"),
        author_email=("author_email", "first"),
        commits=("commit", "size"),
        **DATE_SPAN,
    )
    return frame.reset_index().sort_values(["commits", "author"], ascending=[False, True]).reset_index(drop=True)


def turnover_section(comparison: Turnover, link: LinkOf | None) -> Section:
    """Make a section of two tables: who joined, and who left."""
    time = duration_text(comparison.days)
    span = f"{date_text(comparison.start)} to {date_text(comparison.end)}"
    keys = ("author", "author_email")
    of_joined = f"Authors of a commit from {span} with none before; commits and dates are of this time."
    departed_note = f"Authors of a commit in the {time} before with none since; commits and dates are of that time."

    def table(name: str, frame: Frame, counts: str) -> ReportTable:
        return ReportTable(
            name=name, title=name.title(), frame=frame, counts=counts, excludes="bots.", source="", keys=keys,
            max_rows=15, link=link,
        )  # fmt: skip

    tables = (table("joined", comparison.joiners, of_joined), table("left", comparison.leavers, departed_note))
    joiners = count_of(len(comparison.joiners), "person")
    leavers = count_of(len(comparison.leavers), "person")
    text = f"From {span}, {joiners} joined, and {leavers} of the {time} before wrote no commit."
    if comparison.namesakes:
        verb = "has" if comparison.namesakes == 1 else "have"
        text += (
            f" {comparison.namesakes:,} of them {verb} the name of somebody who wrote in the other time from another "
            "address, and may not have joined or left."
        )

    return Section("Joiners and leavers", text, tables)
