"""Comparison of the matches of two results: which lines, files or repositories were added, removed or kept."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sourcelight.display.frames.aggregates import value_type
from sourcelight.display.frames.schema import COMPARISON, table_schema
from sourcelight.display.frames.tables import to_pandas

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

_PLACE = ("repository", "path")

_LINE = ("name", "type", *_PLACE, "side", "symbol_kind", "line", "_commit")
"""Columns that make two rows the same line. The commit is one of them only for rows of commits and diffs."""

GRAINS: Mapping[str, tuple[str, ...]] = {
    "line": (*_LINE, "_nth"),
    "file": ("name", *_PLACE),
    "repository": ("name", "repository"),
}
"""Columns by which rows of both sides are paired, for each unit of comparison."""

_CHANGES = {"left_only": "removed", "right_only": "added", "both": "kept"}
"""The words of the table for the sides on which pandas found a pair."""

_ORDER = {"removed": 0, "kept": 1, "added": 2}

_SIDE_ATTRS = ("query", "endpoint", "status", "reasons", "cut", "requested_at")
"""Keys of `attrs` that the comparison has for both sides."""

_SOURCE_ATTRS = ("endpoint", "backend_id", "version")
"""Keys of `attrs` that it takes from the newer one."""


def compare_frames(before: DataFrame, after: DataFrame, by: str) -> DataFrame:
    """Return DataFrame of `COMPARISON`: the rows of both sides, paired; see `sourcelight.compare_results`.

    Parameters
    ----------
    before, after
        Matches of the older and the newer result.
    by
        A key of `GRAINS`.
    """
    keys = list(GRAINS[by])
    left, right = _group(before, keys, by), _group(after, keys, by)
    pairs = left.merge(right, on=keys, how="outer", suffixes=("_before", ""), indicator="change")
    pairs["change"] = pairs["change"].map(_CHANGES).astype("str")
    pairs["language"] = pairs["language"].where(pairs["language"].notna(), pairs["language_before"])

    # Pairs of a file by line: of the newer side, or of the older one if the line is gone.
    pairs["_at"] = pairs["line_number"].fillna(pairs["line_number_before"])
    pairs["_order"] = pairs["change"].map(_ORDER)
    sort_columns = [name for name in ("name", *_PLACE) if name in keys]
    pairs = pairs.sort_values([*sort_columns, "_at", "_order"], kind="stable", na_position="first")
    return to_pandas(_arrow_table(pairs), COMPARISON, _attrs(before, after, pairs))


def _arrow_table(pairs: DataFrame) -> pa.Table:
    """Return the columns of `COMPARISON`; null for those that a comparison by this unit doesn't have."""
    import pandas as pd
    import pyarrow as pa

    schema = table_schema(COMPARISON)
    columns = []
    for field in schema:
        values = pd.Series([None] * len(pairs), dtype="object")
        if field.name in pairs.columns:
            values = pairs[field.name].astype("object")

        array = pa.array(values, type=value_type(field.type), from_pandas=True)
        columns.append(array.cast(field.type))

    return pa.Table.from_arrays(columns, schema=schema)


def _attrs(before: DataFrame, after: DataFrame, pairs: DataFrame) -> dict[str, Any]:
    """Return the attributes of a comparison: those of both sides, its status, and the number of each change."""
    attrs: dict[str, Any] = {}
    for suffix, side in (("before", before), ("after", after)):
        attrs |= {f"{name}_{suffix}": side.attrs[name] for name in _SIDE_ATTRS if name in side.attrs}
    attrs |= {name: after.attrs[name] for name in _SOURCE_ATTRS if name in after.attrs}

    # What is missing in one side may seem to be added or removed.
    statuses = {side.attrs.get("status", "complete") for side in (before, after)}
    attrs["status"] = "complete" if statuses == {"complete"} else "limited"
    for name in ("cut", "reasons"):
        texts = [str(side.attrs[name]) for side in (before, after) if side.attrs.get(name)]
        if texts:
            attrs[name] = "; ".join(dict.fromkeys(texts))

    counts = pairs["change"].value_counts()
    for change in ("added", "removed", "kept"):
        attrs[change] = int(counts.get(change, 0))

    return attrs


def _group(frame: DataFrame, keys: list[str], by: str) -> DataFrame:
    """Return one row per line, file or repository of a side, with its attributes."""
    import pandas as pd

    rows = _rows(frame)
    if by == "line":
        rows["_commit"] = rows["commit"].where(rows["type"].isin(["commit", "diff"]), None)
        rows = rows.sort_values("line_number", kind="stable", na_position="first")
        # Several rows may have the same key; the counter pairs the first with the first, the second with the second.
        rows["_nth"] = rows.groupby(list(_LINE), dropna=False, sort=False, observed=True).cumcount()
        groups = rows
    else:
        aggregates = {name: (name, "first") for name in rows.columns if name not in keys}
        aggregates["match_count"] = ("match_count", "sum")
        groups = rows.groupby(keys, dropna=False, sort=False, observed=True).agg(**aggregates).reset_index()
        # A group of lines has no line number; the column stays, so that all forms have the same columns.
        groups["line_number"] = pd.array([None] * len(groups), dtype="Int64")

    retained = {*keys, "line_number", "match_count", "commit", "revision", "language"}
    return groups[[name for name in groups.columns if name in retained]]


def _rows(frame: DataFrame) -> DataFrame:
    """Return the rows of a side with plain columns: objects, and None for any null."""
    import pandas as pd

    rows = pd.DataFrame(index=range(len(frame)))
    for name in (*_LINE[:-1], "language", "line_number", "match_count", "commit", "revision"):
        rows[name] = frame[name].astype("object").reset_index(drop=True) if name in frame.columns else None

    rows = rows.astype("object").where(rows.notna(), None)
    rows["match_count"] = pd.to_numeric(rows["match_count"]).fillna(1).astype("int64")
    rows["line_number"] = pd.to_numeric(rows["line_number"]).astype("Int64")
    return rows
