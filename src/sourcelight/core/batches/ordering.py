"""Order groups with equal counts, the same wherever a table is computed or merged."""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from typing import Any

TIES = ("repository", "directory", "path", "other_path", "author", "author_email")
"""Columns that tell groups apart, in the order in which they break ties; text by code points, null last."""


def group_order(keys: Sequence[Any], columns: Mapping[str, Any]) -> Any:
    """Return the indices that sort groups by `keys`, ascending, then by the columns of `TIES` among `columns`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    arrays = {f"key {number}": pa.array(key) for number, key in enumerate(keys)}
    for name in TIES:
        if name in columns:
            arrays[name] = columns[name].cast(pa.string())
    order = [(name, "ascending") for name in arrays]
    return pc.sort_indices(pa.table(arrays), sort_keys=order)


def columns_of(table: Any) -> dict[str, Any]:
    """Return the columns of an Arrow table that break ties, by name."""
    return {name: table.column(name) for name in TIES if name in table.column_names}


def tie_key(row: Mapping[str, Any]) -> tuple[tuple[bool, str], ...]:
    """Return what breaks a tie between rows, in the order of `group_order`."""
    return tuple((row.get(name) is None, row.get(name) or "") for name in TIES)


def most_frequent(counts: Mapping[Any, int], limit: int) -> list[tuple[Any, int]]:
    """Return the `limit` keys with the highest counts and those, ties by key; an order of arrival plays no part."""
    return heapq.nsmallest(limit, counts.items(), key=lambda item: (-item[1], str(item[0])))
