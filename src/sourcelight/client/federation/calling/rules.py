"""How the tables of each call are brought together; pure.

Tables of rows (commits, lines, repositories) are joined, and a row that several services give stays once. Tables of
sums (churn, contributors) can't be told apart afterwards: there each repository is asked of one service only, and the
sums of equal groups are added.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.client.federation.service import served
from sourcelight.core.batches import SERVICE
from sourcelight.core.batches.ordering import columns_of, group_order

Numbers = NDArray[np.int64]
Arguments = Mapping[str, Any]
Parts = Sequence[tuple[str, Any]]


@dataclass(frozen=True, slots=True)
class Joined:
    """A table with the column ``service`` in front, rows dropped by service, and whether a limit cut it."""

    table: Any
    duplicates: Mapping[str, int]
    cut: bool = False


def joined(parts: Parts, key: Sequence[str]) -> Joined:
    """Tables one below the other; of rows with the same `key` the first stays. A null commit equals no other."""
    seen: set[tuple[Any, ...]] = set()
    kept, duplicates = [], {}
    for name, table in parts:
        columns = [table.column(column).to_pylist() for column in key]
        keys = list(zip(*columns, strict=True))
        keys = [(*one, name) if "commit" in key and one[key.index("commit")] is None else one for one in keys]
        fresh = [one not in seen for one in keys]
        seen.update(keys)
        duplicates[name] = len(fresh) - sum(fresh)
        kept.append(served(table if all(fresh) else table.filter(pa.array(fresh, pa.bool_())), name))
    return Joined(pa.concat_tables(kept).unify_dictionaries(), duplicates)


def _places(column: Any, arguments: Arguments) -> Numbers:
    """A number for each row by which its repository comes: in the order in which they were named, else by name."""
    names = [name or "" for name in column.to_pylist()]
    order = list(dict.fromkeys(str(one).strip("/") for one in arguments.get("repos") or ())) or sorted(set(names))
    place = {name: at for at, name in enumerate(order)}
    return np.array([place.get(name, len(place)) for name in names], np.int64)


def _times(table: Any) -> Numbers:
    """When each commit was committed; written, where the service did not say."""
    committed, written = (table.column(name).cast(pa.int64()) for name in ("commit_date", "author_date"))
    return np.asarray(pa.compute.coalesce(committed, written).fill_null(0).to_numpy(), np.int64)


def _taken(table: Any, order: Numbers, limit: int | None) -> tuple[Any, bool]:
    cut = limit is not None and len(order) > limit
    return table.take(pa.array(order[:limit] if cut else order)), cut


def commits(parts: Parts, arguments: Arguments) -> Joined:
    """Newest first over all repositories; `count` of them."""
    made = joined(parts, ("repository", "commit"))
    table = made.table
    order = np.lexsort((np.arange(len(table)), _places(table["repository"], arguments), -_times(table)))
    return Joined(*_with(_taken(table, order, arguments.get("count")), made))


def diff_lines(parts: Parts, arguments: Arguments) -> Joined:
    """By repository, the newest first in each; of the newest `count` commits."""
    made = joined(parts, ("repository", "commit", "path", "old_path", "side", "line_number"))
    table, count, cut = made.table, arguments.get("count"), False
    if count is not None:
        pairs = list(zip(table["repository"].to_pylist(), table["commit"].to_pylist(), strict=True))
        order = np.lexsort((np.arange(len(pairs)), _places(table["repository"], arguments), -_times(table)))
        ranked = list(dict.fromkeys(pairs[at] for at in order.tolist()))
        cut, chosen = len(ranked) > count, set(ranked[:count])
        table = table.filter(pa.array([pair in chosen for pair in pairs], pa.bool_()))
    order = np.lexsort((np.arange(len(table)), _places(table["repository"], arguments)))
    return Joined(table.take(pa.array(order)), made.duplicates, cut)


def contributor_repositories(parts: Parts, arguments: Arguments) -> Joined:
    """Most commits first; of a repository at several services, as the first of them says."""
    made = joined(parts, ("repository",))
    counts = np.asarray(made.table["commits"].to_numpy(), np.int64)
    order = group_order((-counts,), columns_of(made.table)).to_numpy()
    return Joined(*_with(_taken(made.table, order, arguments.get("limit")), made))


def found_chunks(parts: Parts, arguments: Arguments) -> Joined:
    """The best file of each service, then the second of each, and so on: their scores can't be compared."""
    del arguments
    made = joined(parts, ("repository", "commit", "path", "line_number", "last_line_number"))
    ranks, order_of = {}, {name: at for at, (name, _) in enumerate(parts)}
    for name, table in parts:
        places: dict[tuple[str, str], int] = {}
        for place in zip(table["repository"].to_pylist(), table["path"].to_pylist(), strict=True):
            ranks[name, place] = places.setdefault(place, len(places))
    table = made.table
    owners = table[SERVICE.name].to_pylist()
    files = list(zip(table["repository"].to_pylist(), table["path"].to_pylist(), strict=True))
    rank = np.array([ranks[owner, file] for owner, file in zip(owners, files, strict=True)], np.int64)
    owner = np.array([order_of[name] for name in owners], np.int64)
    return Joined(table.take(pa.array(np.lexsort((np.arange(len(table)), owner, rank)))), made.duplicates)


def hotspots(parts: Parts, arguments: Arguments) -> Joined:
    """The hottest first, each weighed against the hottest of all."""
    made = joined(parts, ("repository", "path"))
    lines = np.asarray(made.table["lines"].fill_null(0).to_numpy(), np.int64)
    weights = np.asarray(made.table["commits"].to_numpy(), np.int64) * np.log1p(lines)
    most = float(weights.max()) if len(weights) and weights.max() > 0 else 1.0
    at = made.table.schema.get_field_index("score")
    table = made.table.set_column(at, made.table.schema.field(at), pa.array(weights / most))
    order = group_order((-weights,), columns_of(table)).to_numpy()
    return Joined(_taken(table, order, arguments.get("limit"))[0], made.duplicates)


def coupling(parts: Parts, arguments: Arguments) -> Joined:
    """The strongest pairs first."""
    made = joined(parts, ("repository", "path", "other_path"))
    table = made.table
    strength = np.asarray(table["commits_together"].to_numpy(), np.float64) * np.asarray(table["degree"].to_numpy())
    order = group_order((-strength,), columns_of(table)).to_numpy()
    return Joined(_taken(table, order, arguments.get("limit"))[0], made.duplicates)


def dependencies(parts: Parts, arguments: Arguments) -> Joined:
    """One service after the other."""
    del arguments
    return joined(parts, ("source", "target", "module"))


def _with(taken: tuple[Any, bool], made: Joined) -> tuple[Any, Mapping[str, int], bool]:
    return taken[0], made.duplicates, taken[1]


@dataclass(frozen=True, slots=True)
class Rule:
    """How the answers to one call are merged.

    Attributes
    ----------
    merge
        Brings the tables together.
    exclusive
        Whether each repository must be asked of one service only.
    worded
        Words the arguments for services of which several are asked.
    apart
        What services can't know of each other's repositories; empty: nothing is lost.
    """

    merge: Callable[[Parts, Arguments], Joined]
    exclusive: bool = False
    worded: Callable[[Arguments], Arguments] = dict
    apart: str = ""
