"""People of reports: who counts as one, what each number of them counts, and which identities may still be one."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from sourcelight.core.batches.persons import Pair, person_key, shown_pair
from sourcelight.core.errors import SourcelightError
from sourcelight.lab.reports.model import Frame, Metric

if TYPE_CHECKING:
    from sourcelight.client import Client
    from sourcelight.lab.reports.progress import ReportProgress

JOINED = "Identities with one address (in any case) are one person, after the mailmap."
APART = "Each name and address is a person of its own, after the mailmap."
PEOPLE = "Authors of at least one of these commits, merges included."
CO_AUTHORS = "People whom a Co-authored-by trailer of these commits names and who wrote none of them."
BOTS = "Authors of at least one of these commits that are programs, by their name or address."


def one_name_each(commits: Frame, people: Frame | None, *, join_addresses: bool) -> Frame:
    """Commits under the names that `people`, an answer of `Client.contributors`, has for their authors.

    Adds no rows; changes ``author``, ``author_email``, ``person`` and ``bot``. Without `people`, identities with one
    address get the name with the most of these commits.
    """
    frame = commits.copy()
    frame.attrs = dict(commits.attrs)
    pairs = list(zip(frame["author"].astype("str"), frame["author_email"].astype("str"), strict=True))
    shown = _by_address(pairs) if join_addresses else {}
    if people is not None:
        shown = {
            _pair(alias): _pair(name) for name, group in people.attrs.get("aliases", {}).items() for alias in group
        }
    found = [shown.get(pair, pair) for pair in pairs]
    frame["author"] = [name for name, _ in found]
    frame["author_email"] = [email for _, email in found]
    frame["person"] = [f"{name} <{email}>" for name, email in found]
    if people is not None:
        columns = (people["author"].astype("str"), people["author_email"].astype("str"), people["bot"])
        bots = {(name, email): bot is True or bot == True for name, email, bot in zip(*columns, strict=True)}  # noqa: E712 - pandas' own types
        frame["bot"] = [bots.get(pair, own) for pair, own in zip(found, frame["bot"], strict=True)]
    return frame


def _pair(text: str) -> Pair:
    name, _, email = text.rpartition(" <")
    return name, email.removesuffix(">")


def _by_address(pairs: list[Pair]) -> dict[Pair, Pair]:
    spellings: dict[Pair, dict[Pair, int]] = {}
    for pair, count in Counter(pairs).items():
        spellings.setdefault(person_key(*pair), {})[pair] = count
    return {pair: shown_pair(group) for group in spellings.values() for pair in group}


def people_metrics(people: Frame | None, *, join_addresses: bool) -> list[Metric]:
    """How many people, co-authors and bots there are, of an answer of `Client.contributors`; each counts once."""
    joining = JOINED if join_addresses else APART
    where = {"bot": False}
    if people is None:
        return [Metric("people", None, f"{PEOPLE} {joining}", "bots.", "commits", where)]
    bot = people["bot"].fillna(value=False).astype("bool")
    wrote = people["commits"] > 0
    return [
        Metric("people", int((wrote & ~bot).sum()), f"{PEOPLE} {joining}", "bots, and co-authors without a commit.",
               "commits", where),
        Metric("co-authors", int((~wrote & ~bot).sum()), CO_AUTHORS, "bots."),
        Metric("bots", int((wrote & bot).sum()), BOTS, "", "commits", {"bot": True}),
    ]  # fmt: skip


def doubtful(
    code: Client, stages: ReportProgress, people: Frame, repos: str | list[str] | None, mailmap: str | list[str] | None,
    *, join_addresses: bool,
) -> list[str]:  # fmt: skip
    """Say how many of the people of a report may be one person under several addresses; joining is for the reader."""
    try:
        suggested = stages.ask(
            "identities", code.identity_suggestions, repos=repos, mailmap=mailmap, join_addresses=join_addresses
        )
    except SourcelightError:  # a service that can't tell: the report does not depend on it
        return []
    wrote = people[people["commits"] > 0]
    key = person_key if join_addresses else (lambda name, email: (name, email))
    here = {key(*pair) for pair in zip(wrote["author"].astype("str"), wrote["author_email"].astype("str"), strict=True)}
    groups: dict[int, set[Pair]] = {}
    for group, name, email in zip(suggested["group"], suggested["name"], suggested["email"], strict=True):
        if key(name, email) in here:
            groups.setdefault(int(group), set()).add(key(name, email))
    several = [group for group in groups.values() if len(group) > 1]
    if not several:
        return []
    notice = (
        f"{sum(map(len, several)):,} of the people may be {len(several):,}: identity_suggestions() lists them, and "
        "mailmap= joins those whose mailmap_line is passed."
    )
    return [notice]
