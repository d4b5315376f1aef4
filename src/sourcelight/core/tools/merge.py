"""Merge the tables of several services by the rules in the definitions of tools.

Tables of rows (commits, lines, repositories) are concatenated; a row that several services have appears once. Sums
(churn, contributors) would count a repository twice if two services have it. So the federation asks one service about
each repository, and adds the sums of equal groups.

numpy and pyarrow load with the first merge, because processes that merge nothing read the definitions too.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.core.batches.persons import Pair, display_pair, person_key
from sourcelight.core.batches.results import columns_of, group_order, tie_key
from sourcelight.core.batches.schema import SERVICE, Column, arrow_type

if TYPE_CHECKING:
    from sourcelight.core.arrays import Int64Array


Arguments: TypeAlias = Mapping[str, Any]
Columns: TypeAlias = Sequence[Column]
Parts: TypeAlias = Sequence[tuple[str, Any]]

_PERIODS = frozenset({"day", "week", "month", "quarter", "year"})
_PERSON = ("author", "author_email")

SEPARATE_SERVICES = (
    "each service searched only its own repositories, so connections between repositories of different services are "
    "missing"
)


@dataclass(frozen=True, slots=True)
class MergedTable:
    """A table with ``service`` as its first column, the duplicates per service, and whether a limit cut it."""

    table: Any
    duplicates: Mapping[str, int]
    is_cut: bool = False


def _as_they_are(attributes: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    del arguments
    return attributes


@dataclass(frozen=True, slots=True)
class Merge:
    """The rule by which a federation merges the tables of a tool.

    Attributes
    ----------
    merge
        Merges the tables of the services, given the arguments and the columns of the tool.
    exclusive
        Whether only one service may be asked about each repository.
    reword
        Returns the arguments for the services, if several are asked.
    restore
        Returns the attributes of a merged answer for the arguments of the caller.
    loss
        Sentence about results that are missing because a service doesn't know the repositories of others, or empty.
    total_is_rows
        Whether the attribute ``total`` counts rows of the table.
    """

    merge: Callable[[Parts, Arguments, Columns], MergedTable]
    exclusive: bool = False
    reword: Callable[[Arguments], Arguments] = dict
    restore: Callable[[dict[str, Any], Arguments], dict[str, Any]] = _as_they_are
    loss: str = ""
    total_is_rows: bool = True


def join(parts: Parts, key: Sequence[str]) -> MergedTable:
    """Concatenate tables; of rows with the same `key` the first stays. A null commit equals no other."""
    import pyarrow as pa

    from sourcelight.core.batches.columns import add_service

    seen: set[tuple[Any, ...]] = set()
    tables, duplicates = [], {}
    for name, table in parts:
        columns = [table.column(column).to_pylist() for column in key]
        keys = list(zip(*columns, strict=True))

        # Services without commits may have different states of a file, so their rows are never duplicates.
        keys = [
            (*row_key, name) if "commit" in key and row_key[key.index("commit")] is None else row_key
            for row_key in keys
        ]
        is_new = [row_key not in seen for row_key in keys]
        seen.update(keys)
        duplicates[name] = len(is_new) - sum(is_new)
        tables.append(add_service(table if all(is_new) else table.filter(pa.array(is_new, pa.bool_())), name))

    return MergedTable(pa.concat_tables(tables).unify_dictionaries(), duplicates)


def commits(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge commits, the newest first over all repositories; at most `count`."""
    del columns
    import numpy as np

    union = join(parts, ("repository", "commit"))
    table = union.table
    # The last key of `lexsort` is the first to sort by. The row number keeps the order of each service among equals.
    order = np.lexsort((np.arange(len(table)), _ranks_of(table["repository"], arguments), -_times(table)))
    return MergedTable(*_with(_take(table, order, arguments.get("count")), union))


def _ranks_of(column: Any, arguments: Arguments) -> Int64Array:
    """Return a sort key for each row: the position of its repository in the arguments, else by name."""
    import numpy as np

    names = [name or "" for name in column.to_pylist()]
    order = list(dict.fromkeys(str(repo).strip("/") for repo in arguments.get("repos") or ())) or sorted(set(names))
    # Repositories come in the order in which the caller named them, as from a single service.
    position = {name: index for index, name in enumerate(order)}
    return np.array([position.get(name, len(position)) for name in names], np.int64)


def _times(table: Any) -> Int64Array:
    """Return the commit date of each row; the author date if the service sent none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    committed, authored = (table.column(name).cast(pa.int64()) for name in ("commit_date", "author_date"))
    return np.asarray(pc.coalesce(committed, authored).fill_null(0).to_numpy(), np.int64)


def _take(table: Any, order: Int64Array, limit: int | None) -> tuple[Any, bool]:
    import pyarrow as pa

    is_truncated = limit is not None and len(order) > limit
    return table.take(pa.array(order[:limit] if is_truncated else order)), is_truncated


def diff_lines(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge changed lines of the newest `count` commits by repository, the newest first in each."""
    del columns
    import numpy as np
    import pyarrow as pa

    union = join(parts, ("repository", "commit", "path", "old_path", "side", "line_number"))
    table, count, is_truncated = union.table, arguments.get("count"), False
    if count is not None:
        pairs = list(zip(table["repository"].to_pylist(), table["commit"].to_pylist(), strict=True))
        order = np.lexsort((np.arange(len(pairs)), _ranks_of(table["repository"], arguments), -_times(table)))
        ranked = list(dict.fromkeys(pairs[index] for index in order.tolist()))
        is_truncated, selected = len(ranked) > count, set(ranked[:count])
        table = table.filter(pa.array([pair in selected for pair in pairs], pa.bool_()))

    order = np.lexsort((np.arange(len(table)), _ranks_of(table["repository"], arguments)))
    return MergedTable(table.take(pa.array(order)), union.duplicates, is_truncated)


def contributor_repositories(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge repositories, most commits first; for one at several services, the first service counts."""
    del columns
    import numpy as np

    union = join(parts, ("repository",))
    counts = np.asarray(union.table["commits"].to_numpy(), np.int64)
    order = group_order((-counts,), columns_of(union.table)).to_numpy()
    return MergedTable(*_with(_take(union.table, order, arguments.get("limit")), union))


def found_chunks(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Return the best file of each service, then the second of each, and so on: their scores can't be compared."""
    import numpy as np
    import pyarrow as pa

    del columns
    union = join(parts, ("repository", "commit", "path", "start_line", "end_line"))
    ranks, order_of = {}, {name: index for index, (name, _) in enumerate(parts)}
    for name, table in parts:
        positions: dict[tuple[str, str], int] = {}
        for location in zip(table["repository"].to_pylist(), table["path"].to_pylist(), strict=True):
            ranks[name, location] = positions.setdefault(location, len(positions))

    table = union.table
    # `join` may have dropped rows, but ranks count the files of each service before that.
    owners = table[SERVICE.name].to_pylist()
    files = list(zip(table["repository"].to_pylist(), table["path"].to_pylist(), strict=True))
    rank = np.array([ranks[owner, file] for owner, file in zip(owners, files, strict=True)], np.int64)
    owner = np.array([order_of[name] for name in owners], np.int64)
    order = np.lexsort((np.arange(len(table)), owner, rank))[: arguments.get("limit")]
    return MergedTable(table.take(pa.array(order)), union.duplicates)


def hotspots(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge files, the highest score first, each relative to the highest of all."""
    del columns
    import numpy as np
    import pyarrow as pa

    union = join(parts, ("repository", "path"))
    # Each service scaled its scores by its own hottest file, so they can't be compared: they are computed again from
    # the columns that they come from, by the formula of `engines.tools.history.hotspots`.
    lines = np.asarray(union.table["lines"].fill_null(0).to_numpy(), np.int64)
    weights = np.asarray(union.table["commits"].to_numpy(), np.int64) * np.log1p(lines)
    max_weight = float(weights.max()) if len(weights) and weights.max() > 0 else 1.0
    column_index = union.table.schema.get_field_index("score")
    table = union.table.set_column(column_index, union.table.schema.field(column_index), pa.array(weights / max_weight))
    order = group_order((-weights,), columns_of(table)).to_numpy()
    return MergedTable(_take(table, order, arguments.get("limit"))[0], union.duplicates)


def coupling(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge pairs, the strongest first."""
    del columns
    import numpy as np

    union = join(parts, ("repository", "path", "other_path"))
    table = union.table
    strength = np.asarray(table["shared_commits"].to_numpy(), np.float64) * np.asarray(table["degree"].to_numpy())
    order = group_order((-strength,), columns_of(table)).to_numpy()
    return MergedTable(_take(table, order, arguments.get("limit"))[0], union.duplicates)


def dependencies(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Concatenate the rows of services, one after the other."""
    del arguments, columns
    return join(parts, ("source", "target", "module"))


def _with(rows: tuple[Any, bool], union: MergedTable) -> tuple[Any, Mapping[str, int], bool]:
    return rows[0], union.duplicates, rows[1]


_Row = dict[str, Any]
_Folds = Mapping[str, Callable[[Any, Any], Any]]


def contributors(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Return people by period, bots last, most commits first."""
    parts = _unify_names(parts, arguments)
    counts = ("commits", "merges", "co_authored", "additions", "deletions", "files", "agent_commits")
    folds: _Folds = {**dict.fromkeys(counts, operator.add), "first_date": min, "last_date": max, "bot": operator.or_}
    rows = _group(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), bool(row["bot"]), -row["commits"], tie_key(row)))
    return _table(columns, rows)


def _unify_names(parts: Parts, arguments: Arguments) -> Parts:
    """Rename people with one address to the name with the most commits in all services."""
    import pyarrow as pa

    if arguments.get("joinAddresses", True) is False:
        return parts

    commits: dict[Pair, dict[Pair, int]] = {}
    for _, table in parts:
        for name, email, count in zip(*(table[column].to_pylist() for column in (*_PERSON, "commits")), strict=True):
            if email is not None:
                spellings = commits.setdefault(person_key(name, email), {})
                spellings[name, email] = spellings.get((name, email), 0) + count

    names = {pair: display_pair(spellings) for spellings in commits.values() for pair in spellings}
    # Usually there is nothing to rename, and copying dictionary columns of large tables is expensive.
    if all(pair == other for pair, other in names.items()):
        return parts

    renamed_parts = []
    for service, table in parts:
        pairs = zip(*(table[column].to_pylist() for column in _PERSON), strict=True)
        people = [names.get(pair, pair) for pair in pairs]
        for index, column in enumerate(_PERSON):
            column_index = table.schema.get_field_index(column)
            values = pa.array([person[index] for person in people], pa.string()).dictionary_encode()
            field = table.schema.field(column_index)
            table = table.set_column(column_index, field, values.cast(field.type))  # noqa: PLW2901 - one by one
        renamed_parts.append((service, table))

    return renamed_parts


def _group(parts: Parts, keys: Sequence[str], folds: _Folds) -> list[_Row]:
    """Merge rows with equal keys, in the order of the first of each; the names of their services are joined."""
    groups: dict[tuple[Any, ...], _Row] = {}
    for name, table in parts:
        for row in table.to_pylist():
            key = tuple(row[column] for column in keys)
            group = groups.get(key)
            if group is None:
                groups[key] = {**row, SERVICE.name: [name]}
                continue

            if name not in group[SERVICE.name]:
                group[SERVICE.name].append(name)

            for column, fold in folds.items():
                # Null means that a service doesn't know a number, which must not turn that of the other into null.
                values = [value for value in (group[column], row[column]) if value is not None]
                group[column] = fold(*values) if len(values) == 2 else next(iter(values), None)

    return list(groups.values())


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
    return {**arguments, "by": by if {"author", "repository"} & set(by) else [*by, "author"]}


def without_author(attributes: dict[str, Any], arguments: Arguments) -> dict[str, Any]:
    """Remove what `by_author` added: authors were requested only to count them."""
    if "author" in (arguments.get("by") or ()):
        return attributes

    attributes = {**attributes, "by": [name for name in attributes["by"] if name != "author"]}
    drill = attributes.get("drill_down")
    if drill:
        columns = {name: value for name, value in drill["columns"].items() if name != "authors"}
        attributes["drill_down"] = {**drill, "columns": columns}

    return attributes


def churn(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge groups by period, most changed lines first."""
    by = list(arguments.get("by") or ["directory"])
    parts = _unify_names(parts, arguments)
    counts = ("additions", "deletions", "changes", "commits", "agent_commits")
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

    rows = _group(parts, keys, dict.fromkeys(counts, operator.add))
    for row in rows:
        if not {"author", "repository"} & set(by):
            row["authors"] = len(people[tuple(row[key] for key in keys)])
            row["author"] = row["author_email"] = None

    rows.sort(key=lambda row: (_start(row), -(row["additions"] + row["deletions"]), tie_key(row)))
    return _table(columns, rows)


def pickaxe(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge groups in chronological order, with a running total if groups differ only by time."""
    by = list(arguments.get("by") or ["month"])
    parts = _unify_names(parts, arguments)
    folds: _Folds = {
        **dict.fromkeys(("added", "removed", "net", "commits", "agent_commits"), operator.add),
        "first_date": min,
        "last_date": max,
    }
    rows = _group(parts, ("repository", "period", "period_end", *_PERSON), folds)
    rows.sort(key=lambda row: (_start(row), -(row["added"] + row["removed"]), tie_key(row)))

    # The totals of each service count only its own lines, so the running total is computed again.
    total = 0
    for row in rows:
        total += row["net"]
        row["total"] = total if len(by) == 1 and set(by) <= _PERIODS else None

    return _table(columns, rows)


def identities(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge identities, most commits first."""
    del arguments
    counts = dict.fromkeys(("commits", "commits_as_committer", "co_authored"), operator.add)
    folds: _Folds = {
        **counts,
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
        # Each service numbers its groups from its own start; renumbered, two services never share a group.
        before = 1 + max((row["group"] for row in rows), default=-1)
        suggestions = table.to_pylist()
        lowest_group = min((row["group"] for row in suggestions), default=0)
        base = before - lowest_group if rows else 0
        rows += [{**row, "group": row["group"] + base, SERVICE.name: [name]} for row in suggestions]

    return _table(columns, rows)
