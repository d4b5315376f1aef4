"""Counts of matches by column, added up batch by batch so that no line has to be kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sourcelight.core.batches.schema import MATCHES, SERVICE, Column
from sourcelight.display.frames.schema import table_schema
from sourcelight.display.frames.tables import shown_table, to_pandas

_FILE = ("repository", "revision", "path")
_MERGE_AT = 64


class Counter:
    """Matches and files by the values of some columns; each file of a revision counts once in each group.

    Of the files it keeps a hash each: one can come again, in another commit's changes or with its definitions.

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
            if pa.types.is_dictionary(field.type):
                table = table.set_column(i, field.name, table.column(i).cast(pa.string()))
        table = table.set_column(len(keys), "matches", pc.cast(table["match_count"], pa.int64()))
        files = table.group_by(keys).aggregate([("matches", "sum")]).rename_columns([*keys, "matches"])
        part = files.select([*self.by, "matches"]).append_column("files", pa.array(self._new(files, keys), pa.int64()))
        self._parts.append(self._sum(part))
        if len(self._parts) >= _MERGE_AT:
            self._parts = [self._sum(pa.concat_tables(self._parts))]

    def _new(self, files: Any, keys: Sequence[str]) -> list[int]:
        """For each group of rows 1 if it is of a file that was not counted before, else 0."""
        found = []
        for path, *key in zip(files["path"].to_pylist(), *(files[name].to_pylist() for name in keys), strict=True):
            known = len(self._files)
            if path is not None:
                self._files.add(hash(tuple(key)))
            found.append(len(self._files) - known)
        return found

    def _sum(self, table: Any) -> Any:
        sums = table.group_by(list(self.by)).aggregate([("matches", "sum"), ("files", "sum")])
        return sums.select([*self.by, "matches_sum", "files_sum"]).rename_columns([*self.by, "matches", "files"])

    def table(self) -> Any:
        """Arrow table of the `by` columns, matches and files; empty when nothing was added and there are columns."""
        import pyarrow as pa

        if self._parts:
            return self._sum(pa.concat_tables(self._parts))
        empty = shown_table([], (SERVICE,))
        keys = {n: pa.array([], type=_plain(empty.schema.field(n).type)) for n in self.by}
        zero = [] if self.by else [0]
        return pa.table({**keys, "matches": pa.array(zero, pa.int64()), "files": pa.array(zero, pa.int64())})


def _plain(kind: Any) -> Any:
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def counts_frame(table: Any, attrs: dict[str, Any]) -> Any:
    """DataFrame of a table of counts, most matches first, ties by the other columns; dtypes do not depend on rows."""
    known = {column.name: column for column in (SERVICE, *MATCHES)}
    by = [name for name in table.column_names if name not in {"matches", "files"}]
    columns = [_text_column(known[name]) for name in by]
    columns += [Column("matches", "int64", "matches"), Column("files", "int64", "files")]
    order = [("matches", "descending"), *((name, "ascending") for name in by)]
    table = table.select([column.name for column in columns]).cast(table_schema(columns))
    return to_pandas(table.sort_by(order), columns, attrs)


def _text_column(column: Column) -> Column:
    """The column of a count: text is counted as it is, not by its place in a dictionary."""
    return replace(column, type="string") if column.type.startswith("dict") else column
