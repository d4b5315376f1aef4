"""Encode matches as JSON lines, CSV and Parquet in portions; no spreadsheet runs a cell as a formula."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from sourcelight.core.batches.schema import Column
from sourcelight.display.frames.tables import VISIBLE, list_values, pandas_metadata, shown_table

FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""A spreadsheet runs a text that begins with one of these as a formula, in some cases after stripping blanks.

With East Asian input, full-width characters count as well (OWASP, CSV injection).
"""

FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")
_FORMULA = "^([" + "".join(FORMULA_SIGNS).replace("-", r"\-") + "])"
_NO_FRACTION = r"\.0+(Z?)$"
Format = Literal["jsonl", "csv", "parquet"]
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_GROUP_ROWS = 100_000
_GROUP_BYTES = 32 << 20
"""Rows and bytes of a row group of Parquet: readers skip groups, and a writer has one in memory."""


def escape_formula(text: str) -> str:
    """Return text for a spreadsheet cell: an apostrophe precedes anything that would run as a formula."""
    return f"'{text}" if text.startswith(FORMULA_SIGNS) else text


def write_csv(table: Any, file: IO[bytes], *, header: bool = True, spreadsheet: bool = False) -> None:
    """Write an Arrow table as CSV in UTF-8.

    Parameters
    ----------
    table
        Any Arrow table.
    file
        Open binary file.
    header
        Whether the first row names the columns.
    spreadsheet
        Whether text that a spreadsheet would run as a formula gets an apostrophe in front. The file is then for
        people: it no longer reads back as the table.
    """
    import pyarrow as pa
    from pyarrow import csv

    names = [escape_formula(name) if spreadsheet else name for name in table.column_names]
    columns = [_cells(column, spreadsheet=spreadsheet) for column in table.columns]
    csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(include_header=header, quoting_style="needed"))


def write_json_lines(table: Any, file: IO[bytes]) -> None:
    """Write an Arrow table as one JSON object per row; nulls are left out, times are RFC 3339 in UTC."""
    import orjson

    # Columns that are null throughout are left out of every object.
    names = [name for name in table.column_names if table.column(name).null_count < len(table)]
    columns = [column_values(table.column(name)) for name in names]
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
    if not names:
        file.write(b"{}\n" * len(table))
        return

    for row in zip(*columns, strict=True):
        values = {name: value for name, value in zip(names, row, strict=True) if value is not None}
        file.write(orjson.dumps(values, option=option))


def column_values(column: Any) -> list[Any]:
    """Return a column's Python values; of lists and dictionaries without an Arrow scalar per row."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_list(column.type):
        return list_values(column)
    values: list[Any] = column.to_pylist()
    return values


def _cells(column: Any, *, spreadsheet: bool) -> Any:
    """Return a column as values for CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind):
        write = json.dumps if pa.types.is_string(kind.value_type) else _numbers
        texts = [None if value is None else write(value) for value in column_values(column)]
        return pa.chunked_array([pa.array(texts, pa.string())])

    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
        # In microseconds, because Arrow's strftime prints all digits of the unit, and few readers parse nanoseconds.
        column = column.cast(pa.timestamp("us", tz="UTC" if kind.tz else None), safe=False)
        return pc.replace_substring_regex(
            pc.strftime(column, format=f"%Y-%m-%dT%H:%M:%S{zone}"), pattern=_NO_FRACTION, replacement=r"\1"
        )

    if pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)

    is_text = pa.types.is_string(column.type) or pa.types.is_large_string(column.type)
    if spreadsheet and is_text:
        return pc.replace_substring_regex(column, pattern=_FORMULA, replacement=r"'\1")

    return column


def _numbers(values: list[Any]) -> str:
    return " ".join(map(str, values))


def format_of(path: str, format: str | None) -> Format:  # noqa: A002 - the name users type
    """Return the requested format, else that of the file's extension.

    Raises
    ------
    ValueError
        The format or extension is unknown; the message lists the known ones.
    """
    name = format or _ENDINGS.get(Path(path).suffix.lower(), "")
    for accepted in FORMATS:
        if name == accepted:
            return accepted
    raise ValueError(f"unknown format {name or path!r}; choose one of {', '.join(FORMATS)}")


class Encoder(Protocol):
    """Writes record batches to an open file."""

    def write(self, batch: Any) -> None:
        """Write the rows of a batch with any subset of the match columns."""

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write the end of the file."""


class JsonLines:
    """One JSON object per row; a key that is missing in a row is null. Times are RFC 3339 in UTC."""

    def __init__(self, file: IO[bytes], *, first: Sequence[Column] = (), spreadsheet: bool = False) -> None:
        refuse_spreadsheet(spreadsheet, "jsonl")
        self._file = file
        self._first = first

    def write(self, batch: Any) -> None:
        """Write the rows of a batch."""
        write_json_lines(shown_table([batch], self._first), self._file)

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write nothing: the form has no end."""


class Csv:
    """Comma-separated values as of `write_csv`, one header row."""

    def __init__(self, file: IO[bytes], *, first: Sequence[Column] = (), spreadsheet: bool = False) -> None:
        self._file = file
        self._first = first
        self._spreadsheet = spreadsheet
        self._header = True

    def write(self, batch: Any) -> None:
        """Write the rows of a batch."""
        table = shown_table([batch], self._first)
        write_csv(table, self._file, header=self._header, spreadsheet=self._spreadsheet)
        self._header = False

    def finish(self, metadata: Mapping[str, str]) -> None:  # noqa: ARG002 - the format has no place for it
        """Write the header of an empty file."""
        if self._header:
            import pyarrow as pa

            self.write(pa.record_batch([], schema=pa.schema([])))


class Parquet:
    """Parquet with the schema of a frame of matches; rows are grouped by 100,000 or by 32 MB of memory.

    pandas reads it with the dtypes of the frame, and with its `attrs`.
    """

    def __init__(self, file: IO[bytes], *, first: Sequence[Column] = (), spreadsheet: bool = False) -> None:
        import pyarrow.parquet as pq

        refuse_spreadsheet(spreadsheet, "parquet")
        self._first = first
        columns = (*first, *VISIBLE)
        self._schema = shown_table([], first).schema.with_metadata(pandas_metadata(columns))
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", store_schema=False)
        self._waiting: list[Any] = []
        self._rows = 0
        self._bytes = 0

    def write(self, batch: Any) -> None:
        """Collect batches until a row group is full, then write it."""
        # Batches may have a few rows each, and a row group per batch would make the file slow to read.
        self._waiting.append(batch)
        self._rows += batch.num_rows
        self._bytes += batch.nbytes
        if self._rows >= _GROUP_ROWS or self._bytes >= _GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            table = shown_table(self._waiting, self._first)
            self._writer.write_table(table.replace_schema_metadata(self._schema.metadata))
        self._waiting, self._rows, self._bytes = [], 0, 0

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Write the last row group, the metadata and the footer."""
        self._flush()
        # Readers take Arrow's types and pandas' attrs from this entry alone; its writer would make it before `metadata`
        # is known. It is a schema message of Arrow's IPC format in base64 (parquet-format, ARROW:schema).
        all_metadata = {
            **(self._schema.metadata or {}),
            **{name.encode(): text.encode() for name, text in metadata.items()},
        }
        message = self._schema.with_metadata(all_metadata).serialize().to_pybytes()
        self._writer.add_key_value_metadata({**metadata, "ARROW:schema": base64.b64encode(message).decode()})
        self._writer.close()


def refuse_spreadsheet(spreadsheet: bool, format: Format) -> None:  # noqa: A002, FBT001 - interface of the base class
    """Raise `ValueError` if `spreadsheet` is set for a format other than CSV."""
    if spreadsheet:
        raise ValueError(f"spreadsheet=True applies to csv only, got {format}")
