"""Merge the tables of several services by the rules in the definitions of tools.

Tables of rows (commits, lines, repositories) are concatenated; a row that several services have appears once. Sums
(churn, contributors) would count a repository twice if two services have it. So the federation asks one service about
each repository, and adds the sums of equal groups (`sourcelight.core.tools.merge_groups`).

numpy and pyarrow load with the first merge, because processes that merge nothing read the definitions too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

from sourcelight.core.batches.results import columns_of, group_order
from sourcelight.core.batches.schema import SERVICE, Column

if TYPE_CHECKING:
    from sourcelight.core.arrays import Int64Array


Arguments: TypeAlias = Mapping[str, Any]
Columns: TypeAlias = Sequence[Column]
Parts: TypeAlias = Sequence[tuple[str, Any]]
"""Services by name, each with its table."""


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
    tables = []
    duplicates: dict[str, int] = {}
    for name, table in parts:
        keys = _row_keys(table, key, name)
        is_new = [row_key not in seen for row_key in keys]
        seen.update(keys)
        duplicates[name] = len(keys) - sum(is_new)
        new_rows = table
        if duplicates[name]:
            new_rows = table.filter(pa.array(is_new, pa.bool_()))
        tables.append(add_service(new_rows, name))

    return MergedTable(pa.concat_tables(tables).unify_dictionaries(), duplicates)


def _row_keys(table: Any, key: Sequence[str], service: str) -> list[tuple[Any, ...]]:
    """Return the values of the columns `key` of each row, with the name of the service if the commit is null."""
    columns = [table.column(column).to_pylist() for column in key]
    keys = list(zip(*columns, strict=True))
    if "commit" in key:
        # Services without commits may have different states of a file, so their rows are never duplicates.
        commit_index = key.index("commit")
        keys = [(*row_key, service) if row_key[commit_index] is None else row_key for row_key in keys]
    return keys


def commits(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge commits, the newest first over all repositories; at most `count`."""
    del columns
    import numpy as np

    union = join(parts, ("repository", "commit"))
    table = union.table
    # The last key of `lexsort` is the first to sort by. The row number keeps the order of each service among equals.
    order = np.lexsort((np.arange(len(table)), _ranks_of(table["repository"], arguments), -_times(table)))
    return _take(union, order, arguments.get("count"))


def _ranks_of(column: Any, arguments: Arguments) -> Int64Array:
    """Return a sort key for each row: the position of its repository in the arguments, else by name."""
    import numpy as np

    names = [name or "" for name in column.to_pylist()]
    # Repositories come in the order in which the caller named them, as from a single service.
    order = [str(repo).strip("/") for repo in arguments.get("repos") or ()]
    if not order:
        order = sorted(set(names))

    ranks: dict[str, int] = {}
    for name in order:
        ranks.setdefault(name, len(ranks))
    return np.array([ranks.get(name, len(ranks)) for name in names], np.int64)


def _times(table: Any) -> Int64Array:
    """Return the commit date of each row; the author date if the service sent none."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    committed = table.column("commit_date").cast(pa.int64())
    authored = table.column("author_date").cast(pa.int64())
    dates = pc.coalesce(committed, authored).fill_null(0)
    return np.asarray(dates.to_numpy(), np.int64)


def _take(union: MergedTable, order: Int64Array, limit: int | None) -> MergedTable:
    """Return the first `limit` rows of `union` in an order of its row numbers; None for all."""
    import pyarrow as pa

    rows = union.table.take(pa.array(order[:limit]))
    return MergedTable(rows, union.duplicates, is_cut=len(rows) < len(order))


def _take_best(union: MergedTable, order: Int64Array, limit: int | None) -> MergedTable:
    """Return the first `limit` rows, as `_take`, of a tool whose limit asks for the best: they are the whole answer."""
    return replace(_take(union, order, limit), is_cut=False)


def diff_lines(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge changed lines of the newest `count` commits by repository, the newest first in each."""
    del columns
    import numpy as np
    import pyarrow as pa

    union = join(parts, ("repository", "commit", "path", "old_path", "side", "line_number"))
    table = union.table
    count = arguments.get("count")
    is_cut = False
    if count is not None:
        pairs = list(zip(table["repository"].to_pylist(), table["commit"].to_pylist(), strict=True))
        order = np.lexsort((np.arange(len(pairs)), _ranks_of(table["repository"], arguments), -_times(table)))
        newest_first = list(dict.fromkeys(pairs[index] for index in order.tolist()))
        is_cut = len(newest_first) > count
        selected = set(newest_first[:count])
        table = table.filter(pa.array([pair in selected for pair in pairs], pa.bool_()))

    order = np.lexsort((np.arange(len(table)), _ranks_of(table["repository"], arguments)))
    return MergedTable(table.take(pa.array(order)), union.duplicates, is_cut)


def contributor_repositories(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge repositories, most commits first; for one at several services, the first service counts."""
    del columns
    import numpy as np

    union = join(parts, ("repository",))
    counts = np.asarray(union.table["commits"].to_numpy(), np.int64)
    order = group_order((-counts,), columns_of(union.table)).to_numpy()
    return _take(union, order, arguments.get("limit"))


def found_chunks(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Return the best file of each service, then the second of each, and so on: their scores can't be compared."""
    import numpy as np

    del columns
    # `join` may drop rows; the files of a service are ranked before that.
    file_ranks = {service: _file_ranks(table) for service, table in parts}
    service_indexes = {service: index for index, (service, _) in enumerate(parts)}

    union = join(parts, ("repository", "commit", "path", "start_line", "end_line"))
    services = union.table[SERVICE.name].to_pylist()
    files = _files_of(union.table)
    ranks = [file_ranks[service][file] for service, file in zip(services, files, strict=True)]
    indexes = [service_indexes[service] for service in services]

    # The last key is the first to sort by.
    order = np.lexsort((np.arange(len(files)), np.array(indexes, np.int64), np.array(ranks, np.int64)))
    return _take_best(union, order, arguments.get("limit"))


def _file_ranks(table: Any) -> dict[tuple[str, str], int]:
    """Return the files of a service with their ranks, counted from 0 in the order of its chunks."""
    ranks: dict[tuple[str, str], int] = {}
    for file in _files_of(table):
        ranks.setdefault(file, len(ranks))
    return ranks


def _files_of(table: Any) -> list[tuple[str, str]]:
    """Return repository and path of each row."""
    return list(zip(table["repository"].to_pylist(), table["path"].to_pylist(), strict=True))


def hotspots(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge files, the highest score first, each relative to the highest of all."""
    del columns
    import numpy as np
    import pyarrow as pa

    union = join(parts, ("repository", "path"))
    # Each service scaled its scores by its own hottest file, so they can't be compared: they are computed again from
    # the columns that they come from, by the formula of `engines.tools.history.changed_files`.
    lines = np.asarray(union.table["lines"].fill_null(0).to_numpy(), np.int64)
    weights = np.asarray(union.table["commits"].to_numpy(), np.int64) * np.log1p(lines)
    max_weight = float(weights.max(initial=0.0)) or 1.0

    column_index = union.table.schema.get_field_index("score")
    field = union.table.schema.field(column_index)
    table = union.table.set_column(column_index, field, pa.array(weights / max_weight))

    order = group_order((-weights,), columns_of(table)).to_numpy()
    return _take_best(replace(union, table=table), order, arguments.get("limit"))


def coupling(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Merge pairs, the strongest first."""
    del columns
    import numpy as np

    union = join(parts, ("repository", "path", "other_path"))
    table = union.table
    strength = np.asarray(table["shared_commits"].to_numpy(), np.float64) * np.asarray(table["degree"].to_numpy())
    order = group_order((-strength,), columns_of(table)).to_numpy()
    return _take_best(union, order, arguments.get("limit"))


def dependencies(parts: Parts, arguments: Arguments, columns: Columns) -> MergedTable:
    """Concatenate the rows of services, one after the other."""
    del arguments, columns
    return join(parts, ("source", "target", "module"))
