"""Counts of changes by person, period and group: for each repository, then joined over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, PersonSet
from sourcelight.engines.tools.history.tables import (
    count_distinct,
    group,
    periods,
)


def commit_mask(selection: OpenedHistory, after: int | None, before: int | None) -> BoolArray:
    """Return a mask of the commits that count."""
    mask = selection.mask
    times = selection.history.commits.commit_time
    if after is not None:
        mask = mask & (times > after)
    return mask if before is None else mask & (times < before)


def agent_commits(selection: OpenedHistory, codes: Int64Array, commits: Int64Array, groups: int) -> Int64Array:
    """Count the distinct commits of each group that name a coding assistant."""
    by_agents = commit_agents(selection.history).mask[commits]
    return count_distinct(codes[by_agents], commits[by_agents], groups)


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sums of one repository by person, period and group; `persons` has the persons.

    `keys` are the person, the start of the period (0 without one) and the index of the group (0 without one) of each
    row; `values` have a number for each row by name. `unknown` counts changes without known lines, `touched` the
    distinct paths, those before a rename included, `by_agents` the distinct commits that name a coding assistant.
    """

    persons: PersonSet
    keys: tuple[Int64Array, Int64Array, Int64Array]
    values: dict[str, Int64Array]
    group_names: list[str] = field(default_factory=list)
    unknown: int = 0
    touched: int = 0
    by_agents: int = 0


def group_rows(
    person: Int64Array, time: Int64Array, period: str | None, group_index: Int64Array | None = None
) -> tuple[Int64Array, Any]:
    """Group rows by person, period and place; gives the group of each row, and the keys of each group."""
    nothing = np.zeros(len(person), np.int64)
    starts = periods(time, period)[0] if period else nothing
    codes, groups = group([person, starts, nothing if group_index is None else group_index])
    return codes, tuple(groups)


@dataclass(frozen=True, slots=True)
class JoinedGroups:
    """The sums of several repositories, with one number for each person and each place of all of them."""

    person: Int64Array
    start: Int64Array
    group_index: Int64Array
    repository: Int64Array
    values: dict[str, Int64Array]
    group_names: list[str]


def join_groups(part: PartialResult, people: PersonNumbers) -> JoinedGroups:
    """Concatenate the sums of all repositories."""
    position_of: dict[str, int] = {}
    keys: list[list[Int64Array]] = []
    values: dict[str, list[Int64Array]] = {}
    for number, sums in enumerate(part.results.values()):
        of_person = people.take(sums.persons)
        index_of_group = np.array(
            [position_of.setdefault(name, len(position_of)) for name in sums.group_names] or [0], np.int64
        )
        person, start, group_index = sums.keys
        owner = np.full(len(person), number)
        keys.append([of_person[person] if len(person) else person, start, index_of_group[group_index], owner])
        for name, array in sums.values.items():
            values.setdefault(name, []).append(array)
    nothing = np.zeros(0, np.int64)
    columns_of = [np.concatenate(column) for column in zip(*keys, strict=True)] if keys else [nothing] * 4
    person, start, group_index, owner = columns_of
    return JoinedGroups(
        person,
        start,
        group_index,
        owner,
        {name: np.concatenate(array) for name, array in values.items()},
        list(position_of),
    )


def key_columns(
    by: Sequence[str], period: str | None, groups: list[Int64Array], repositories: Sequence[str], people: PersonNumbers
) -> dict[str, Any]:
    """Return the group columns; keys are in the order person, period, repository."""
    table: dict[str, Any] = {
        "author": tables.dictionary_column(people.names or [""], groups[0]),
        "author_email": tables.dictionary_column(people.emails or [""], groups[0]),
    }
    if period:
        starts, ends = periods(groups[1], period)
        table |= {"period": tables.times(starts), "period_end": tables.times(ends)}
    if "repository" in by:
        table["repository"] = tables.dictionary_column(list(repositories) or [""], groups[1 + bool(period)])
    return table


def facts_of(
    revisions: Sequence[str] | None,
    part: PartialResult,
    people: PersonNumbers,
    by: Sequence[str],
    period: str | None,
    drill: dict[str, str],
) -> dict[str, Any]:
    """Return the request, and how a row leads to its commits."""
    fixed: dict[str, Any] = {"repos": part.names, **part.dates}
    if revisions:
        fixed["revisions"] = list(revisions)
    drill |= {"repos": "repository"} if "repository" in by else {}
    drill |= {"after": "period", "before": "period_end"} if period else {}
    attributes: dict[str, Any] = {"repositories": part.names, "by": list(by), **part.dates}
    aliases = people.aliases
    if aliases:
        attributes["aliases"] = aliases
    return {**attributes, "drill_down": {"call": "commit_search", "arguments": fixed, "columns": drill}}
