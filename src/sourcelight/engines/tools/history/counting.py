"""What the analyses that count share: which commits count, columns of groups, and how a row leads to its commits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.tools.history import columns
from sourcelight.engines.tools.history.grouping import Numbers, group, periods
from sourcelight.engines.tools.history.opening import Opened
from sourcelight.engines.tools.history.people import Met, People
from sourcelight.engines.tools.model import Arguments
from sourcelight.engines.tools.parting import Part


def chosen(opened: Opened, after: int | None, before: int | None) -> NDArray[np.bool_]:
    """Which commits count."""
    mask = opened.mask
    times = opened.history.commits.commit_time
    if after is not None:
        mask = mask & (times > after)
    return mask if before is None else mask & (times < before)


@dataclass(frozen=True, slots=True)
class Sums:
    """What one repository has, summed for each person, period and place; `met` says who the persons are.

    `keys` are the person, the start of the period (0 without one) and the number of the place (0 without one) of each
    row; `values` have a number for each row by name. `places` are the names of places. `unknown` changes have no known
    lines; `touched` are the distinct paths, those before a rename included.
    """

    met: Met
    keys: tuple[Numbers, Numbers, Numbers]
    values: dict[str, Numbers]
    places: list[str] = field(default_factory=list)
    unknown: int = 0
    touched: int = 0


def keyed(person: Numbers, time: Numbers, period: str | None, place: Numbers | None = None) -> tuple[Numbers, Any]:
    """Group rows by person, period and place; gives the group of each row, and the keys of each group."""
    nothing = np.zeros(len(person), np.int64)
    starts = periods(time, period)[0] if period else nothing
    codes, found = group([person, starts, nothing if place is None else place])
    return codes, tuple(found)


@dataclass(frozen=True, slots=True)
class Together:
    """The sums of several repositories, with one number for each person and each place of all of them."""

    person: Numbers
    start: Numbers
    place: Numbers
    repository: Numbers
    values: dict[str, Numbers]
    places: list[str]


def together(part: Part, people: People) -> Together:
    """Put the sums of all repositories one behind the other."""
    places: dict[str, int] = {}
    found: list[list[Numbers]] = []
    values: dict[str, list[Numbers]] = {}
    for number, sums in enumerate(part.found.values()):
        of_person = people.take(sums.met)
        of_place = np.array([places.setdefault(name, len(places)) for name in sums.places] or [0], np.int64)
        person, start, place = sums.keys
        owner = np.full(len(person), number)
        found.append([of_person[person] if len(person) else person, start, of_place[place], owner])
        for name, each in sums.values.items():
            values.setdefault(name, []).append(each)
    nothing = np.zeros(0, np.int64)
    columns_of = [np.concatenate(column) for column in zip(*found, strict=True)] if found else [nothing] * 4
    person, start, place, owner = columns_of
    return Together(
        person, start, place, owner, {name: np.concatenate(each) for name, each in values.items()}, list(places)
    )


def key_columns(
    by: Sequence[str], period: str | None, found: list[Numbers], repositories: Sequence[str], people: People
) -> dict[str, Any]:
    """Columns of what is grouped by; keys stand as person, period, repository."""
    table: dict[str, Any] = {
        "author": columns.coded(people.names or [""], found[0]),
        "author_email": columns.coded(people.emails or [""], found[0]),
    }
    if period:
        starts, ends = periods(found[1], period)
        table |= {"period": columns.times(starts), "period_end": columns.times(ends)}
    if "repository" in by:
        table["repository"] = columns.coded(list(repositories) or [""], found[1 + bool(period)])
    return table


def facts_of(
    arguments: Arguments,
    part: Part,
    people: People,
    by: Sequence[str],
    period: str | None,
    drill: dict[str, str],
) -> dict[str, Any]:
    """What was asked, and how a row leads to its commits."""
    fixed: dict[str, Any] = {"repos": part.names, **part.echoed}
    if arguments.get("revisions"):
        fixed["revisions"] = list(arguments["revisions"])
    drill |= {"repos": "repository"} if "repository" in by else {}
    drill |= {"after": "period", "before": "period_end"} if period else {}
    facts: dict[str, Any] = {"repositories": part.names, "by": list(by), **part.echoed}
    aliases = people.aliases
    if aliases:
        facts["aliases"] = aliases
    return {**facts, "drill_down": {"call": "commit_search", "arguments": fixed, "columns": drill}}
