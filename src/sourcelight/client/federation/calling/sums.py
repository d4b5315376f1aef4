"""Sums of several services added up by group; pure."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from sourcelight.client.federation.calling.rules import (
    Arguments,
    Joined,
    Parts,
    Rule,
    commits,
    contributor_repositories,
    coupling,
    dependencies,
    diff_lines,
    found_chunks,
    hotspots,
)
from sourcelight.core.batches import SERVICE
from sourcelight.core.batches.ordering import tie_key
from sourcelight.core.batches.persons import Pair, person_key, shown_pair
from sourcelight.core.tools.catalog import TABLES
from sourcelight.display.frames.tables import rows_table

_PERIODS = frozenset({"day", "week", "month", "quarter", "year"})
_PERSON = ("author", "author_email")
_Row = dict[str, Any]
_Folds = Mapping[str, Callable[[Any, Any], Any]]
_APART = "each service looked among its own repositories: what leads from one service to another is not found"


def _one_name_each(parts: Parts, arguments: Arguments) -> Parts:
    """Tables in which people with one address bear one name, the one with the most commits at all services."""
    if arguments.get("joinAddresses", True) is False:
        return parts
    commits: dict[Pair, dict[Pair, int]] = {}
    for _, table in parts:
        for name, email, count in zip(*(table[column].to_pylist() for column in (*_PERSON, "commits")), strict=True):
            if email is not None:
                spellings = commits.setdefault(person_key(name, email), {})
                spellings[name, email] = spellings.get((name, email), 0) + count
    shown = {pair: shown_pair(spellings) for spellings in commits.values() for pair in spellings}
    if all(pair == other for pair, other in shown.items()):
        return parts
    made = []
    for service, table in parts:
        pairs = zip(*(table[column].to_pylist() for column in _PERSON), strict=True)
        people = [shown.get(pair, pair) for pair in pairs]
        for at, column in enumerate(_PERSON):
            place = table.schema.get_field_index(column)
            values = pa.array([person[at] for person in people], pa.string()).dictionary_encode()
            table = table.set_column(place, table.schema.field(place), values.cast(table.schema.field(place).type))  # noqa: PLW2901 - a column after the other
        made.append((service, table))
    return made


def _grouped(parts: Parts, keys: Sequence[str], folds: _Folds) -> list[_Row]:
    """Rows with equal keys as one, in the order of their first; the names of their services joined."""
    found: dict[tuple[Any, ...], _Row] = {}
    for name, table in parts:
        for row in table.to_pylist():
            key = tuple(row[column] for column in keys)
            held = found.get(key)
            if held is None:
                found[key] = {**row, SERVICE.name: [name]}
                continue
            if name not in held[SERVICE.name]:
                held[SERVICE.name].append(name)
            for column, fold in folds.items():
                values = [value for value in (held[column], row[column]) if value is not None]
                held[column] = fold(*values) if len(values) == 2 else next(iter(values), None)
    return list(found.values())


def _table(columns: str, rows: Sequence[_Row]) -> Joined:
    told = [{**row, SERVICE.name: ", ".join(row[SERVICE.name])} for row in rows]
    return Joined(rows_table((SERVICE, *TABLES[columns]), told), {})


def _united(one: list[str], other: list[str]) -> list[str]:
    return sorted({*one, *other})


def _start(row: _Row) -> float:
    return row["period"].timestamp() if row["period"] is not None else 0.0


def contributors(parts: Parts, arguments: Arguments) -> Joined:
    """People by period, bots last, most commits first."""
    parts = _one_name_each(parts, arguments)
    counts = ("commits", "merges", "co_authored", "additions", "deletions", "files")
    folds: _Folds = {**dict.fromkeys(counts, operator.add), "first_date": min, "last_date": max, "bot": operator.or_}
    rows = _grouped(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), bool(row["bot"]), -row["commits"], tie_key(row)))
    return _table("contributors", rows)


def by_author(arguments: Arguments) -> Arguments:
    """Ask for churn by author too, where distinct authors have to be counted over services."""
    by = list(arguments.get("by") or ["directory"])
    return {**arguments, "by": by if {"author", "repository"} & set(by) else [*by, "author"]}


def churn(parts: Parts, arguments: Arguments) -> Joined:
    """Groups by period, most changed lines first."""
    by = list(arguments.get("by") or ["directory"])
    parts = _one_name_each(parts, arguments)
    told = ("additions", "deletions", "changes", "commits")
    people: dict[tuple[Any, ...], set[tuple[Any, Any]]] = {}
    keys = (
        "repository",
        "commit",
        "directory",
        "path",
        "file_kind",
        "period",
        "period_end",
        *(_PERSON if "author" in by else ()),
    )
    for _, table in parts:
        for row in table.to_pylist():
            people.setdefault(tuple(row[key] for key in keys), set()).add((row["author"], row["author_email"]))
    rows = _grouped(parts, keys, dict.fromkeys(told, operator.add))
    for row in rows:
        if not {"author", "repository"} & set(by):
            row["authors"] = len(people[tuple(row[key] for key in keys)])
            row["author"] = row["author_email"] = None
    rows.sort(key=lambda row: (_start(row), -(row["additions"] + row["deletions"]), tie_key(row)))
    return _table("churn", rows)


def pickaxe(parts: Parts, arguments: Arguments) -> Joined:
    """Groups in the order of time, with the running total where time alone tells them apart."""
    by = list(arguments.get("by") or ["month"])
    parts = _one_name_each(parts, arguments)
    folds: _Folds = {
        **dict.fromkeys(("added", "removed", "net", "commits"), operator.add),
        "first_date": min,
        "last_date": max,
    }
    rows = _grouped(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), -(row["added"] + row["removed"]), tie_key(row)))
    total = 0
    for row in rows:
        total += row["net"]
        row["total"] = total if len(by) == 1 and set(by) <= _PERIODS else None
    return _table("pickaxe", rows)


def identities(parts: Parts, arguments: Arguments) -> Joined:
    """Identities, most commits first."""
    del arguments
    counts = dict.fromkeys(("commits", "committed", "co_authored"), operator.add)
    folds: _Folds = {**counts, "first_date": min, "last_date": max, "repositories": _united, "bot": operator.or_}
    names = ("name", "email", "proper_name", "proper_email")
    rows = _grouped(parts, names, folds)
    rows.sort(key=lambda row: (-row["commits"], -row["committed"], *(row[name] for name in names)))
    return _table("identities", rows)


def identity_suggestions(parts: Parts, arguments: Arguments) -> Joined:
    """The sets of each service one after the other, numbered on."""
    del arguments
    rows: list[_Row] = []
    for name, table in parts:
        before = 1 + max((row["group"] for row in rows), default=-1)
        found = table.to_pylist()
        least = min((row["group"] for row in found), default=0)
        base = before - least if rows else 0
        rows += [{**row, "group": row["group"] + base, SERVICE.name: [name]} for row in found]
    return _table("identity_suggestions", rows)


RULES: Mapping[str, Rule] = {
    "commit_search": Rule(commits),
    "commits_behind": Rule(commits, exclusive=True),
    "diff_search": Rule(diff_lines),
    "get_contributor_repos": Rule(contributor_repositories),
    "keyword_search": Rule(found_chunks),
    "nls_search": Rule(found_chunks),
    "contributors": Rule(contributors, exclusive=True),
    "churn": Rule(churn, exclusive=True, worded=by_author),
    "pickaxe": Rule(pickaxe, exclusive=True),
    "hotspots": Rule(hotspots, exclusive=True),
    "coupling": Rule(coupling, exclusive=True),
    "identities": Rule(identities, exclusive=True),
    "identity_suggestions": Rule(identity_suggestions, exclusive=True, apart=_APART),
    "dependency_graph": Rule(dependencies, exclusive=True, apart=_APART),
}
"""What is asked of all services, by name; calls about one repository are asked of one."""
