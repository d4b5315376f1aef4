"""Counts of changes by person, period and group: for each repository, then joined over all of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.notices import repetition_notices
from sourcelight.engines.history import History
from sourcelight.engines.history.search.trailer_columns import commit_agents
from sourcelight.engines.tools.handler import PartialResult
from sourcelight.engines.tools.history import tables
from sourcelight.engines.tools.history.histories import OpenedHistory
from sourcelight.engines.tools.history.people.person_set import PersonNumbers, PersonSet
from sourcelight.engines.tools.history.tables import count_distinct, group, periods


def commit_mask(selection: OpenedHistory, after: int | None, before: int | None) -> BoolArray:
    """Return a mask of the commits that count."""
    mask = selection.mask
    times = selection.history.commits.commit_time
    if after is not None:
        mask = mask & (times > after)
    return mask if before is None else mask & (times < before)


def agent_commits(selection: OpenedHistory, codes: Int64Array, commits: Int64Array, groups: int) -> Int64Array:
    """Count the distinct commits of each group that name a coding assistant."""
    # Only commits that a trailer or an author name marks, so this is a lower bound.
    by_agents = commit_agents(selection.history).mask[commits]
    return count_distinct(codes[by_agents], commits[by_agents], groups)


@dataclass(frozen=True, slots=True)
class GroupSums:
    """Sums of one repository by person, period and group.

    Attributes
    ----------
    persons
        The persons that `keys` number.
    keys
        Person, start of the period (0 without one) and index in `group_names` (0 without groups) of each row.
    values
        Numbers by name, one for each row.
    group_names
        Names of the groups; empty without groups.
    unknown
        Changes whose lines are unknown.
    touched
        Distinct paths, those before a rename included.
    by_agents
        Distinct commits that name a coding assistant.
    commit_keys
        The keys that `keys_of_commits` gives for the commits that count.
    """

    persons: PersonSet
    keys: tuple[Int64Array, Int64Array, Int64Array]
    values: dict[str, Int64Array]
    group_names: list[str] = field(default_factory=list)
    unknown: int = 0
    touched: int = 0
    by_agents: int = 0
    commit_keys: Int64Array = field(default_factory=lambda: np.zeros(0, np.int64))


def keys_of_commits(history: History, commits: Int64Array) -> Int64Array:
    """Return the first eight bytes of the ids of `commits`, each once."""
    is_counted = np.zeros(len(history.commits), np.bool_)
    is_counted[commits] = True
    return np.ascontiguousarray(history.commits.oid[is_counted, :8]).view(np.int64).reshape(-1)


def repetitions_of(part: PartialResult, by: Sequence[str]) -> list[str]:
    """Return the notice on commits that rows count more than once; rows by repository don't."""
    keys = [result.commit_keys for result in part.results.values()]
    if "repository" in by or len(keys) < 2:
        return []

    all_keys = np.concatenate(keys)
    return repetition_notices(len(all_keys), len(np.unique(all_keys)))


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
    """The sums of several repositories, with one number for each person and each group of all of them.

    `person`, `start`, `group_index` and `repository` are the keys of each row, and `values` its numbers.
    """

    person: Int64Array
    start: Int64Array
    group_index: Int64Array
    repository: Int64Array
    values: dict[str, Int64Array]
    group_names: list[str]


def join_groups(part: PartialResult, people: PersonNumbers) -> JoinedGroups:
    """Concatenate the sums of all repositories."""
    index_by_name: dict[str, int] = {}
    keys: list[list[Int64Array]] = []
    values: dict[str, list[Int64Array]] = {}
    for repository, sums in enumerate(part.results.values()):
        # Numbers are those of one repository until here.
        joined_persons = people.take(sums.persons)
        joined_groups = np.array(
            [index_by_name.setdefault(name, len(index_by_name)) for name in sums.group_names] or [0], np.int64
        )
        person, start, group_index = sums.keys

        # A repository without rows has no persons to take from.
        persons = joined_persons[person] if len(person) else person
        keys.append([persons, start, joined_groups[group_index], np.full(len(person), repository)])
        for name, array in sums.values.items():
            values.setdefault(name, []).append(array)

    nothing = np.zeros(0, np.int64)
    columns = [np.concatenate(column) for column in zip(*keys, strict=True)] if keys else [nothing] * 4
    person, start, group_index, repository_index = columns
    joined_values = {name: np.concatenate(arrays) for name, arrays in values.items()}
    return JoinedGroups(
        person=person,
        start=start,
        group_index=group_index,
        repository=repository_index,
        values=joined_values,
        group_names=list(index_by_name),
    )


def regroup(
    rows: JoinedGroups, by: Sequence[str], period: str | None, *, with_groups: bool = False
) -> tuple[Int64Array, list[Int64Array]]:
    """Group rows by the requested columns; give the group of each row, and the keys of each group.

    The keys are the person (0 for all unless ``author`` is in `by`), then, if requested, the start of the period, the
    repository, and the index of the group.
    """
    keys = [rows.person if "author" in by else np.zeros(len(rows.person), np.int64)]
    keys += [rows.start] if period else []
    keys += [rows.repository] if "repository" in by else []
    keys += [rows.group_index] if with_groups else []
    return group(keys)


def key_columns(
    by: Sequence[str], period: str | None, groups: list[Int64Array], repositories: Sequence[str], people: PersonNumbers
) -> dict[str, Any]:
    """Return the columns of author, period and repository, as far as requested, from the keys that `regroup` gives."""
    table: dict[str, Any] = {}
    if "author" in by:
        table["author"] = tables.dictionary_column(people.names or [""], groups[0])
        table["author_email"] = tables.dictionary_column(people.emails or [""], groups[0])

    if period:
        starts, ends = periods(groups[1], period)
        table |= {"period": tables.times(starts), "period_end": tables.times(ends)}

    if "repository" in by:
        table["repository"] = tables.dictionary_column(list(repositories) or [""], groups[1 + bool(period)])

    return table


def result_attributes(
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
