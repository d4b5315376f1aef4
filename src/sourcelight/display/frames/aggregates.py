"""Counts of matches by column, added up batch by batch, so that they take the memory of the groups alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.schema import MATCHES, SERVICE, Column
from sourcelight.display.frames.schema import table_schema
from sourcelight.display.frames.tables import pandas_metadata, shown_table, to_pandas

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

_FILE = ("repository", "revision", "path")
"""Columns that make two rows the same file."""

_MERGE_AT = 64
"""Parts of counts that are added up at once. Adding up each costs more, and many parts take memory."""


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
        self._parts: list[pa.Table] = []
        self._files: set[int] = set()

    def add(self, batch: pa.RecordBatch) -> None:
        """Add the rows of a record batch."""
        import pyarrow as pa
        import pyarrow.compute as pc

        keys = list(dict.fromkeys([*self.by, *_FILE]))
        first_columns = (SERVICE,) if SERVICE.name in keys else ()
        table = shown_table([batch], first_columns).select([*keys, "match_count"])
        for i, field in enumerate(table.schema):
            # Arrow can't group by chunks with different dictionaries.
            if pa.types.is_dictionary(field.type):
                table = table.set_column(i, field.name, table.column(i).cast(pa.string()))

        table = table.set_column(len(keys), "matches", pc.cast(table["match_count"], pa.int64()))
        files = table.group_by(keys).aggregate([("matches", "sum")]).rename_columns([*keys, "matches"])
        new_files = pa.array(self._new(files, keys), pa.int64())
        self._parts.append(self._sum(files.select([*self.by, "matches"]).append_column("files", new_files)))
        if len(self._parts) >= _MERGE_AT:
            self._parts = [self._sum(pa.concat_tables(self._parts))]

    def _new(self, files: pa.Table, keys: Sequence[str]) -> list[int]:
        """Return 1 for each group of rows that is of a file that was not counted before, else 0."""
        paths = files["path"].to_pylist()
        key_values = zip(*(files[name].to_pylist() for name in keys), strict=True)
        new_counts = []
        for path, key in zip(paths, key_values, strict=True):
            file_count = len(self._files)
            # Rows of repositories have no path and count no file.
            if path is not None:
                self._files.add(hash(key))
            new_counts.append(len(self._files) - file_count)

        return new_counts

    def _sum(self, table: pa.Table) -> pa.Table:
        sums = table.group_by(list(self.by)).aggregate([("matches", "sum"), ("files", "sum")])
        return sums.select([*self.by, "matches_sum", "files_sum"]).rename_columns([*self.by, "matches", "files"])

    def table(self) -> pa.Table:
        """Return a table of the `by` columns, matches and files; empty if nothing was added and `by` has columns."""
        import pyarrow as pa

        if self._parts:
            return self._sum(pa.concat_tables(self._parts))

        schema = shown_table([], (SERVICE,)).schema
        columns = {}
        for name in self.by:
            columns[name] = pa.array([], type=value_type(schema.field(name).type))

        # Without columns to group by, there is always one row.
        zero = pa.array([] if self.by else [0], pa.int64())
        return pa.table({**columns, "matches": zero, "files": zero})


def value_type(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values of a column: of a dictionary, that of its texts."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def counts_table(table: pa.Table) -> pa.Table:
    """Return Arrow table of counts, most matches first, ties by the other columns; types do not depend on rows."""
    columns = _count_columns(table)
    order = [("matches", "descending"), *((column.name, "ascending") for column in columns[:-2])]
    metadata = pandas_metadata(columns)
    table = table.select([column.name for column in columns]).cast(table_schema(columns)).sort_by(order)
    return table.replace_schema_metadata(metadata)


def counts_frame(table: pa.Table, attrs: dict[str, Any]) -> DataFrame:
    """Return DataFrame of `counts_table`."""
    return to_pandas(counts_table(table), _count_columns(table), attrs)


def _count_columns(table: pa.Table) -> list[Column]:
    by_name = {column.name: column for column in (SERVICE, *MATCHES)}
    by = [name for name in table.column_names if name not in {"matches", "files"}]
    columns = [_text_column(by_name[name]) for name in by]
    return [*columns, Column("matches", "int64", "matches"), Column("files", "int64", "files")]


def _text_column(column: Column) -> Column:
    """Return the column of a count: plain text instead of a dictionary."""
    return replace(column, type="string") if column.type.startswith("dict") else column
