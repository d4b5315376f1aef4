"""Counts of matches by column, added up batch by batch in constant memory, and comparisons of two results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.batches.schema import MATCHES, SERVICE, Column
from sourcelight.display.frames.schema import COMPARISON, table_schema
from sourcelight.display.frames.tables import pandas_metadata, shown_table, to_pandas

_FILE = ("repository", "revision", "path")
_MERGE_AT = 64

_PLACE = ("repository", "path")

# Columns that make two rows the same line. The commit is one of them only for rows of commits and diffs.
_LINE = ("name", "type", *_PLACE, "side", "symbol_kind", "line", "_commit")

GRAINS: dict[str, tuple[str, ...]] = {
    "line": (*_LINE, "_nth"),
    "file": ("name", *_PLACE),
    "repository": ("name", "repository"),
}

_FACTS = ("query", "endpoint", "status", "reasons", "cut", "requested_at")


class MatchCounter:
    """Matches and files by the values of some columns; each file of a revision counts once in each group.

    It keeps a hash of each file, because a file can come again: in the changes of another commit, or with definitions.

    Parameters
    ----------
    by
        Columns of matches that hold text or numbers; none: one row for everything.
    """

    def __init__(self, by: Sequence[str]) -> None:
        self.by = tuple(by)
        self._parts: list[Any] = []
        self._files: set[int] = set()

    def add(self, batch: Any) -> None:
        """Add the rows of a record batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = list(dict.fromkeys([*self.by, *_FILE]))
        served = SERVICE.name in keys
        table = shown_table([batch], (SERVICE,) if served else ()).select([*keys, "match_count"])
        for i, field in enumerate(table.schema):
            # Arrow can't group by chunks with different dictionaries.
            if pa.types.is_dictionary(field.type):
                table = table.set_column(i, field.name, table.column(i).cast(pa.string()))

        table = table.set_column(len(keys), "matches", pc.cast(table["match_count"], pa.int64()))
        files = table.group_by(keys).aggregate([("matches", "sum")]).rename_columns([*keys, "matches"])
        part = files.select([*self.by, "matches"]).append_column("files", pa.array(self._new(files, keys), pa.int64()))
        self._parts.append(self._sum(part))
        if len(self._parts) >= _MERGE_AT:
            self._parts = [self._sum(pa.concat_tables(self._parts))]

    def _new(self, files: Any, keys: Sequence[str]) -> list[int]:
        """Return 1 for each group of rows that is of a file that was not counted before, else 0."""
        new_counts = []
        for path, *key in zip(files["path"].to_pylist(), *(files[name].to_pylist() for name in keys), strict=True):
            file_count = len(self._files)
            if path is not None:
                self._files.add(hash(tuple(key)))
            new_counts.append(len(self._files) - file_count)
        return new_counts

    def _sum(self, table: Any) -> Any:
        sums = table.group_by(list(self.by)).aggregate([("matches", "sum"), ("files", "sum")])
        return sums.select([*self.by, "matches_sum", "files_sum"]).rename_columns([*self.by, "matches", "files"])

    def table(self) -> Any:
        """Return a table of the `by` columns, matches and files; empty if nothing was added and `by` has columns."""
        import pyarrow as pa

        if self._parts:
            return self._sum(pa.concat_tables(self._parts))
        empty = shown_table([], (SERVICE,))
        keys = {n: pa.array([], type=_value_type(empty.schema.field(n).type)) for n in self.by}
        zero = [] if self.by else [0]
        return pa.table({**keys, "matches": pa.array(zero, pa.int64()), "files": pa.array(zero, pa.int64())})


def _value_type(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def counts_table(table: Any) -> Any:
    """Return Arrow table of counts, most matches first, ties by the other columns; types do not depend on rows."""
    columns = _count_columns(table)
    order = [("matches", "descending"), *((column.name, "ascending") for column in columns[:-2])]
    metadata = pandas_metadata(columns)
    table = table.select([column.name for column in columns]).cast(table_schema(columns)).sort_by(order)
    return table.replace_schema_metadata(metadata)


def counts_frame(table: Any, attrs: dict[str, Any]) -> Any:
    """Return DataFrame of `counts_table`."""
    return to_pandas(counts_table(table), _count_columns(table), attrs)


def _count_columns(table: Any) -> list[Column]:
    by_name = {column.name: column for column in (SERVICE, *MATCHES)}
    by = [name for name in table.column_names if name not in {"matches", "files"}]
    columns = [_text_column(by_name[name]) for name in by]
    return [*columns, Column("matches", "int64", "matches"), Column("files", "int64", "files")]


def _text_column(column: Column) -> Column:
    """Return the column of a count: plain text instead of a dictionary."""
    return replace(column, type="string") if column.type.startswith("dict") else column


def compare_frames(before: Any, after: Any, by: str) -> Any:
    """Return DataFrame of `COMPARISON`: the rows of both sides, paired; see `sourcelight.compare_results`."""
    import pandas as pd
    import pyarrow as pa

    keys = list(GRAINS[by])
    left, right = (_group(side, keys, by) for side in (before, after))
    pairs = left.merge(right, on=keys, how="outer", suffixes=("_before", ""), indicator="change")
    pairs["change"] = pairs["change"].map({"left_only": "removed", "right_only": "added", "both": "kept"}).astype("str")
    pairs["language"] = pairs["language"].where(pairs["language"].notna(), pairs["language_before"])
    pairs["_at"] = pairs["line_number"].fillna(pairs["line_number_before"])
    pairs["_order"] = pairs["change"].map({"removed": 0, "kept": 1, "added": 2})
    order = [*(key for key in ("name", *_PLACE) if key in keys), "_at", "_order"]
    pairs = pairs.sort_values(order, kind="stable", na_position="first")
    schema = table_schema(COMPARISON)
    columns = []
    for field in schema:
        values = pairs[field.name] if field.name in pairs.columns else pd.Series([None] * len(pairs), dtype="object")
        columns.append(
            pa.array(values.astype("object"), type=_value_type(field.type), from_pandas=True).cast(field.type)
        )

    counts = pairs["change"].value_counts()
    attrs = {name: int(counts.get(name, 0)) for name in ("added", "removed", "kept")}
    side_attrs = {f"{name}_{when}": side.attrs[name] for when, side in (("before", before), ("after", after))
            for name in _FACTS if name in side.attrs}  # fmt: skip
    source_attrs = {name: after.attrs[name] for name in ("endpoint", "backend_id", "version") if name in after.attrs}
    statuses = {side.attrs.get("status", "complete") for side in (before, after)}
    status = {"status": "complete" if statuses == {"complete"} else "limited"}
    for name in ("cut", "reasons"):
        texts = dict.fromkeys(str(side.attrs[name]) for side in (before, after) if side.attrs.get(name))
        status |= {name: "; ".join(texts)} if texts else {}

    return to_pandas(
        pa.Table.from_arrays(columns, schema=schema), COMPARISON, {**side_attrs, **source_attrs, **status, **attrs}
    )


def _group(frame: Any, keys: list[str], by: str) -> Any:
    """Return one row per line, file or repository of a side, with its attributes."""
    import pandas as pd

    rows = pd.DataFrame(index=range(len(frame)))
    for name in (*_LINE[:-1], "language", "line_number", "match_count", "commit", "revision"):
        values = frame[name].astype("object").reset_index(drop=True) if name in frame.columns else None
        rows[name] = values if values is not None else None

    rows = rows.astype("object").where(rows.notna(), None)
    rows["match_count"] = pd.to_numeric(rows["match_count"]).fillna(1).astype("int64")
    rows["line_number"] = pd.to_numeric(rows["line_number"]).astype("Int64")

    if by == "line":
        rows["_commit"] = rows["commit"].where(rows["type"].isin(["commit", "diff"]), None)
        rows = rows.sort_values("line_number", kind="stable", na_position="first")
        # Several rows may have the same key; the counter pairs the first with the first, the second with the second.
        rows["_nth"] = rows.groupby(list(_LINE), dropna=False, sort=False, observed=True).cumcount()
        groups = rows
    else:
        firsts = {name: (name, "first") for name in rows.columns if name not in {*keys, "match_count"}}
        groups = rows.groupby(keys, dropna=False, sort=False, observed=True).agg(
            **firsts, match_count=("match_count", "sum")
        ).reset_index()  # fmt: skip
        # A group of lines has no line number; the column stays, so that all forms have the same columns.
        groups["line_number"] = pd.array([None] * len(groups), dtype="Int64")

    retained = {*keys, "line_number", "match_count", "commit", "revision", "language"}
    return groups[[name for name in groups.columns if name in retained]]
