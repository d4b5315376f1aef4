"""Two tables of matches compared row by row."""

from __future__ import annotations

from typing import Any

from sourcelight.display.frames.schema import COMPARISON, table_schema
from sourcelight.display.frames.tables import to_pandas

_PLACE = ("repository", "path")
# What makes two rows of one file the same line; a commit is part of it only where rows are of commits.
_LINE = ("name", "type", *_PLACE, "side", "symbol_kind", "line", "_commit")
GRAINS: dict[str, tuple[str, ...]] = {
    "line": (*_LINE, "_nth"),
    "file": ("name", *_PLACE),
    "repository": ("name", "repository"),
}
_FACTS = ("query", "endpoint", "status", "asked_at")


def compare_frames(before: Any, after: Any, by: str) -> Any:
    """DataFrame of `COMPARISON`: the rows of both sides, paired; see `sourcelight.compare_results`."""
    import pandas as pd
    import pyarrow as pa

    keys = list(GRAINS[by])
    left, right = (_grouped(side, keys, by) for side in (before, after))
    joined = left.merge(right, on=keys, how="outer", suffixes=("_before", ""), indicator="change")
    joined["change"] = (
        joined["change"].map({"left_only": "removed", "right_only": "added", "both": "kept"}).astype("str")
    )
    joined["language"] = joined["language"].where(joined["language"].notna(), joined["language_before"])
    joined["_at"] = joined["line_number"].fillna(joined["line_number_before"])
    joined["_order"] = joined["change"].map({"removed": 0, "kept": 1, "added": 2})
    order = [*(key for key in ("name", *_PLACE) if key in keys), "_at", "_order"]
    joined = joined.sort_values(order, kind="stable", na_position="first")
    schema = table_schema(COMPARISON)
    columns = []
    for field in schema:
        values = joined[field.name] if field.name in joined.columns else pd.Series([None] * len(joined), dtype="object")
        columns.append(pa.array(values.astype("object"), type=_plain(field.type), from_pandas=True).cast(field.type))
    counts = joined["change"].value_counts()
    attrs = {name: int(counts.get(name, 0)) for name in ("added", "removed", "kept")}
    told = {f"{name}_{when}": side.attrs[name] for when, side in (("before", before), ("after", after))
            for name in _FACTS if name in side.attrs}  # fmt: skip
    own = {name: after.attrs[name] for name in ("endpoint", "client") if name in after.attrs}
    statuses = {side.attrs.get("status", "complete") for side in (before, after)}
    status = {"status": "complete" if statuses == {"complete"} else "limited"}
    return to_pandas(pa.Table.from_arrays(columns, schema=schema), COMPARISON, {**told, **own, **status, **attrs})


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _grouped(frame: Any, keys: list[str], by: str) -> Any:
    """One row per line, file or repository of a side, with what is told of it."""
    import pandas as pd

    part = pd.DataFrame(index=range(len(frame)))
    for name in (*_LINE[:-1], "language", "line_number", "match_count", "commit", "revision"):
        values = frame[name].astype("object").reset_index(drop=True) if name in frame.columns else None
        part[name] = values if values is not None else None
    part = part.astype("object").where(part.notna(), None)
    part["match_count"] = pd.to_numeric(part["match_count"]).fillna(1).astype("int64")
    part["line_number"] = pd.to_numeric(part["line_number"]).astype("Int64")
    if by == "line":
        part["_commit"] = part["commit"].where(part["type"].isin(["commit", "diff"]), None)
        part = part.sort_values("line_number", kind="stable", na_position="first")
        part["_nth"] = part.groupby(list(_LINE), dropna=False, sort=False, observed=True).cumcount()
        told = part
    else:
        firsts = {name: (name, "first") for name in part.columns if name not in {*keys, "match_count"}}
        told = part.groupby(keys, dropna=False, sort=False, observed=True).agg(
            **firsts, match_count=("match_count", "sum")
        ).reset_index()  # fmt: skip
        told["line_number"] = pd.array([None] * len(told), dtype="Int64")
    kept = {*keys, "line_number", "match_count", "commit", "revision", "language"}
    return told[[name for name in told.columns if name in kept]]
