"""People of reports: who is one person, joiners and leavers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.persons import Pair, display_pair, person_key
from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import count_of
from sourcelight.lab.reports.model import Frame, LinkOf, Metric, ReportTable, Section
from sourcelight.lab.reports.text import date_text, duration_text

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports.progress import ReportProgress


JOINED = "Identities with one address (in any case) are one person, after the mailmap."
APART = "Each name and address counts as a separate person, after the mailmap."
PEOPLE = "Authors of at least one of these commits, merges included."
CO_AUTHORS = "People whom a Co-authored-by trailer of these commits names and who wrote none of them."
BOTS = "Authors of at least one of these commits that are programs, by their name or address."

YEAR_DAYS = 365


def unify_names(commits: Frame, people: Frame | None, *, join_addresses: bool) -> Frame:
    """Return commits under the names that `people`, an answer of `Client.contributors`, has for their authors.

    Adds no rows; changes ``author``, ``author_email``, ``person``, ``bot``, ``committer`` and ``committer_email``.
    Without `people`, identities with one address get the name with the most of these commits. A committer gets the
    name of the author with the same identity or, with `join_addresses`, the same address.
    """
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    pairs = list(zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True))
    display_names: dict[Pair, Pair] = {}
    if people is not None:
        for name, aliases in people.attrs.get("aliases", {}).items():
            display_names |= {_pair(alias): _pair(name) for alias in aliases}
    elif join_addresses:
        display_names = _by_address(pairs)

    named_pairs = [display_names.get(pair, pair) for pair in pairs]
    frame["author"] = [name for name, _ in named_pairs]
    frame["author_email"] = [email for _, email in named_pairs]
    frame["person"] = [f"{name} <{email}>" for name, email in named_pairs]
    if people is not None:
        columns = (people["author"].astype("str"), people["author_email"].astype("str"), people["bot"])
        bots = {(name, email): bot is True or bot == True for name, email, bot in zip(*columns, strict=True)}  # noqa: E712 - pandas' own types
        frame["bot"] = [bots.get(pair, is_bot) for pair, is_bot in zip(named_pairs, frame["bot"], strict=True)]

    _unify_committers(frame, display_names, named_pairs, join_addresses=join_addresses)
    return frame


def _unify_committers(
    frame: Frame, display_names: Mapping[Pair, Pair], authors: Sequence[Pair], *, join_addresses: bool
) -> None:
    """Write the names of authors into the committers of a frame, so that a person has one name in all tables."""
    # Rows of files name only authors.
    if "committer" not in frame:
        return

    has_committer = frame["committer"].notna() & frame["committer_email"].notna()
    columns = (frame.loc[has_committer, column].astype("str") for column in ("committer", "committer_email"))
    committers = list(zip(*columns, strict=True))
    by_key: dict[Pair, Pair] = {}
    if join_addresses:
        by_key = {person_key(*pair): name for pair, name in _by_address(committers).items()}
        by_key |= {person_key(*pair): name for pair, name in display_names.items()}
        by_key |= {person_key(*name): name for name in authors}

    new_pairs = [display_names.get(pair) or by_key.get(person_key(*pair), pair) for pair in committers]
    for column, values in (
        ("committer", [name for name, _ in new_pairs]),
        ("committer_email", [address for _, address in new_pairs]),
    ):
        # As objects, because the names of authors may be no categories of the column.
        column_values = frame[column].astype("object")
        column_values[has_committer] = values
        frame[column] = column_values


def _pair(text: str) -> Pair:
    name, _, email = text.rpartition(" <")
    return name, email.removesuffix(">")


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
    except SourcelightError:  # a service without it: the report does not depend on it
        return []

    wrote = people[people["commits"] > 0]
    key = person_key if join_addresses else (lambda name, email: (name, email))
    active_keys = {
        key(*pair) for pair in zip(wrote["author"].astype("str"), wrote["author_email"].astype("str"), strict=True)
    }
    groups: dict[int, set[Pair]] = {}
    for group, name, email in zip(suggested["group"], suggested["name"], suggested["email"], strict=True):
        if key(name, email) in active_keys:
            groups.setdefault(int(group), set()).add(key(name, email))

    duplicates = [group for group in groups.values() if len(group) > 1]
    if not duplicates:
        return []

    notice = (
        f"{sum(map(len, duplicates)):,} people may be only {len(duplicates):,}: identity_suggestions() lists them, "
        "and mailmap= joins those whose mailmap_line you pass."
    )
    return [notice]


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
        How many commits the later time has.
    namesakes
        How many joiners and leavers have the name of somebody who wrote in the other time from another address.
    """

    start: Any
    end: Any
    joiners: Frame
    leavers: Frame
    before: Frame
    commits: int
    namesakes: int = 0

    @property
    def days(self) -> float:
        """Length of each of the times."""
        return float((self.end - self.start).total_seconds() / 86_400)


def turnover(commits: Frame, before: Frame, earlier_people: AbstractSet[Pair], start: Any, end: Any) -> Turnover:
    """Compare the people of two times; `earlier_people` are keys of people with a commit before the later one."""
    people, earlier = _people(commits), _people(before)
    joiners = people[~people["key"].isin(earlier_people | set(earlier["key"]))]
    leavers = earlier[~earlier["key"].isin(set(people["key"]))]
    joiners, leavers = (frame.drop(columns="key").reset_index(drop=True) for frame in (joiners, leavers))
    namesakes = sum(
        # Without commits, the names have no type of text.
        int(_folded_names(frame).isin(set(_folded_names(other_frame))).sum())
        for frame, other_frame in ((joiners, earlier), (leavers, people))
    )
    return Turnover(start, end, joiners, leavers, before, len(commits), namesakes)


def _folded_names(people: Frame) -> Any:
    return people["author"].astype("str").str.casefold()


def keys_of(frame: Frame) -> set[Pair]:
    """Return the keys of the people of a frame with author and author_email."""
    return {person_key(*pair) for pair in _pairs(frame)}


def _pairs(frame: Frame) -> list[Pair]:
    return list(zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True))


def _people(commits: Frame) -> Frame:
    """Return a row per person of commits that are by no bot, most commits first."""
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


def turnover_section(comparison: Turnover, link: LinkOf | None) -> Section:
    """Make a section of two tables: who joined, and who left."""
    time = duration_text(comparison.days)
    span = f"{date_text(comparison.start)} to {date_text(comparison.end)}"
    keys = ("author", "author_email")
    of_joined = f"Authors of a commit from {span} with none before; commits and dates are of this time."
    departed_note = f"Authors of a commit in the {time} before with none since; commits and dates are of that time."
    tables = (
        ReportTable(
            name="joined",
            title="Joined",
            frame=comparison.joiners,
            counts=of_joined,
            excludes="bots.",
            source="",
            keys=keys,
            max_rows=15,
            link=link,
        ),
        ReportTable(
            name="left",
            title="Left",
            frame=comparison.leavers,
            counts=departed_note,
            excludes="bots.",
            source="",
            keys=keys,
            max_rows=15,
            link=link,
        ),
    )
    joiners, leavers = count_of(len(comparison.joiners), "person"), count_of(len(comparison.leavers), "person")
    text = f"From {span}, {joiners} joined, and {leavers} of the {time} before wrote no commit."
    if comparison.namesakes:
        text += (
            f" {comparison.namesakes:,} of them {'has' if comparison.namesakes == 1 else 'have'} the name of somebody "
            "who wrote in the other time from another address, and may not have joined or left."
        )

    return Section("Joiners and leavers", text, tables)
