"""Merge the tables of tools that count: contributors, churn, pickaxe and identities.

Their rows are groups, such as a person in a month. Groups that several services have become one row: numbers are added,
of dates the first or the last stays. `sourcelight.core.tools.merge` has the rules for tables of single rows.
"""

from __future__ import annotations

import operator
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from sourcelight.core.batches.persons import Pair, display_pair, person_key
from sourcelight.core.batches.results import tie_key
from sourcelight.core.batches.schema import SERVICE, arrow_type
from sourcelight.core.tools.merge import Arguments, Columns, MergedTable, Parts

_Row: TypeAlias = dict[str, Any]
_Folds: TypeAlias = Mapping[str, Callable[[Any, Any], Any]]
"""Functions by column: each makes one value of those of two equal groups."""


_PERIODS = frozenset({"day", "week", "month", "quarter", "year"})
"""Periods by which rows are grouped."""

_PERSON = ("author", "author_email")
"""Columns that name a person."""


def contributors(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Return people by period, bots last, most commits first."""
    parts = _unify_names(parts, arguments)
    folds: _Folds = {
        "commits": operator.add,
        "merges": operator.add,
        "co_authored": operator.add,
        "additions": operator.add,
        "deletions": operator.add,
        "files": operator.add,
        "agent_commits": operator.add,
        "first_date": min,
        "last_date": max,
        "bot": operator.or_,
    }
    rows = _group(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), bool(row["bot"]), -row["commits"], tie_key(row)))
    return _table(columns, rows)


def _unify_names(parts: Parts, arguments: Arguments) -> Parts:
    """Rename people with one address to the name with the most commits in all services."""
    if arguments.get("joinAddresses", True) is False:
        return parts

    renames = _renames(parts)
    # Usually there is nothing to rename, and copying dictionary columns of large tables is expensive.
    if not renames:
        return parts

    return [(service, _rename_people(table, renames)) for service, table in parts]


def _renames(parts: Parts) -> dict[Pair, Pair]:
    """Return the names and addresses to replace, by the spelling of the same person with the most commits."""
    commits: defaultdict[Pair, Counter[Pair]] = defaultdict(Counter)
    for _, table in parts:
        pairs = _people_of(table)
        for (name, email), count in zip(pairs, table["commits"].to_pylist(), strict=True):
            if email is not None:
                commits[person_key(name, email)][name, email] += count

    renames: dict[Pair, Pair] = {}
    for spellings in commits.values():
        usual = display_pair(spellings)
        renames.update(dict.fromkeys(spellings, usual))
        renames.pop(usual, None)
    return renames


def _rename_people(table: Any, renames: Mapping[Pair, Pair]) -> Any:
    import pyarrow as pa

    people = [renames.get(pair, pair) for pair in _people_of(table)]
    for index, column in enumerate(_PERSON):
        column_index = table.schema.get_field_index(column)
        field = table.schema.field(column_index)
        values = pa.array([person[index] for person in people], pa.string()).dictionary_encode()
        table = table.set_column(column_index, field, values.cast(field.type))
    return table


def _people_of(table: Any) -> list[Pair]:
    """Return name and address of the person of each row."""
    return list(zip(table["author"].to_pylist(), table["author_email"].to_pylist(), strict=True))


def _group(parts: Parts, keys: Sequence[str], folds: _Folds) -> list[_Row]:
    """Merge rows with equal keys, in the order of the first of each; the names of their services are joined."""
    groups: dict[tuple[Any, ...], _Row] = {}
    for name, table in parts:
        for row in table.to_pylist():
            key = _values_of(row, keys)
            group = groups.get(key)
            if group is None:
                groups[key] = {**row, SERVICE.name: [name]}
                continue

            if name not in group[SERVICE.name]:
                group[SERVICE.name].append(name)

            for column, fold in folds.items():
                group[column] = _fold_values(fold, group[column], row[column])

    return list(groups.values())


def _fold_values(fold: Callable[[Any, Any], Any], value: Any, other: Any) -> Any:
    # Null means that a service doesn't know a number, which must not turn that of the other into null.
    if value is None:
        return other
    if other is None:
        return value
    return fold(value, other)


def _start(row: _Row) -> float:
    return row["period"].timestamp() if row["period"] is not None else 0.0


def _table(columns: Columns, rows: Sequence[_Row]) -> MergedTable:
    import pyarrow as pa

    schema = pa.schema([pa.field(column.name, arrow_type(column.type)) for column in (SERVICE, *columns)])
    records = [{**row, SERVICE.name: ", ".join(row[SERVICE.name])} for row in rows]
    return MergedTable(pa.Table.from_pylist(records, schema=schema), {})


def by_author(arguments: Arguments) -> Arguments:
    """Request churn by author too, if distinct authors must be counted over services."""
    # Numbers of authors don't add up: one person may work at two services. With names, they can be counted once.
    by = list(arguments.get("by") or ["directory"])
    if "author" not in by and "repository" not in by:
        by.append("author")
    return {**arguments, "by": by}


def without_author(attributes: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Remove what `by_author` added: authors were requested only to count them."""
    if "author" in (arguments.get("by") or ()):
        return attributes

    restored = dict(attributes)
    restored["by"] = [name for name in attributes["by"] if name != "author"]
    drill = attributes.get("drill_down")
    if drill:
        columns = dict(drill["columns"])
        columns.pop("authors", None)
        restored["drill_down"] = {**drill, "columns": columns}

    return restored


def churn(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge groups by period, most changed lines first."""
    by = list(arguments.get("by") or ["directory"])
    parts = _unify_names(parts, arguments)
    keys: tuple[str, ...] = ("repository", "commit", "directory", "path", "file_kind", "period", "period_end")
    if "author" in by:
        keys = (*keys, *_PERSON)

    counts = ("additions", "deletions", "changes", "commits", "agent_commits")
    rows = _group(parts, keys, dict.fromkeys(counts, operator.add))
    if "author" not in by and "repository" not in by:
        # Services were asked for groups by author, too; `by_author` says why.
        people = _people_by_group(parts, keys)
        for row in rows:
            row["authors"] = len(people[_values_of(row, keys)])
            row["author"] = None
            row["author_email"] = None

    rows.sort(key=lambda row: (_start(row), -(row["additions"] + row["deletions"]), tie_key(row)))
    return _table(columns, rows)


def _people_by_group(parts: Parts, keys: Sequence[str]) -> dict[tuple[Any, ...], set[Pair]]:
    people: defaultdict[tuple[Any, ...], set[Pair]] = defaultdict(set)
    for _, table in parts:
        for row in table.to_pylist():
            people[_values_of(row, keys)].add((row["author"], row["author_email"]))
    return people


def _values_of(row: _Row, keys: Sequence[str]) -> tuple[Any, ...]:
    return tuple(row[key] for key in keys)


def pickaxe(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge groups in chronological order, with a running total if groups differ only by time."""
    by = list(arguments.get("by") or ["month"])
    parts = _unify_names(parts, arguments)
    folds: _Folds = {
        "added": operator.add,
        "removed": operator.add,
        "net": operator.add,
        "commits": operator.add,
        "agent_commits": operator.add,
        "first_date": min,
        "last_date": max,
    }
    rows = _group(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), -(row["added"] + row["removed"]), tie_key(row)))

    # The totals of each service count only its own lines, so the running total is computed again.
    has_total = len(by) == 1 and by[0] in _PERIODS
    total = 0
    for row in rows:
        total += row["net"]
        row["total"] = total if has_total else None

    return _table(columns, rows)


def identities(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge identities, most commits first."""
    del arguments
    folds: _Folds = {
        "commits": operator.add,
        "commits_as_committer": operator.add,
        "co_authored": operator.add,
        "first_date": min,
        "last_date": max,
        "repositories": _union,
        "bot": operator.or_,
        "agent": max,
    }
    names = ("name", "email", "canonical_name", "canonical_email")
    rows = _group(parts, names, folds)
    rows.sort(key=lambda row: (-row["commits"], -row["commits_as_committer"], *(row[name] for name in names)))
    return _table(columns, rows)


def _union(first: list[str], other: list[str]) -> list[str]:
    return sorted({*first, *other})


def identity_suggestions(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Concatenate the sets of services, renumbered."""
    del arguments
    rows: list[_Row] = []
    for name, table in parts:
        suggestions = table.to_pylist()
        # Each service numbers its groups from its own start; renumbered, two services never share a group.
        shift = 0
        if rows and suggestions:
            next_group = 1 + max(row["group"] for row in rows)
            shift = next_group - min(row["group"] for row in suggestions)

        for row in suggestions:
            rows.append({**row, "group": row["group"] + shift, SERVICE.name: [name]})

    return _table(columns, rows)
