"""Files of matches: JSON Lines, CSV and Parquet, written in constant memory while results stream in.

A file gets its name when it is complete. Until then it is beside that name as a temporary file; after an interrupt or
an error, the rows so far are in ``NAME.partial.EXT``.

CSV is lossless for programs, or safe for spreadsheets on request. An empty text (``""``) differs from a missing one
(nothing between two commas). Lists of numbers are separated by blanks, lists of text are JSON, times are RFC 3339 in
UTC.
"""

from __future__ import annotations

import base64
import contextlib
import errno
import json
import os
import secrets
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, Literal, Protocol

from sourcelight.core.batches.schema import SERVICE, Column
from sourcelight.display.frames.schema import NAME
from sourcelight.display.frames.tables import SHOWN, list_values, pandas_metadata, shown_table

FORMULA_SIGNS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
"""With these at its start, a spreadsheet runs a text as a formula, or does so once it stripped blanks.

Those of double width are taken for the plain ones where East Asian input is set (OWASP, CSV injection).
"""


def write_text(text: str, path: str | os.PathLike[str]) -> None:
    """Write a text as UTF-8, atomically: the existing file stays until all of it is written."""
    with replacing(Path(path).expanduser()) as temporary:
        temporary.write_text(text, encoding="utf-8")


def text_or_path(text: str, path: str | os.PathLike[str] | None) -> str:
    """Return a text; with `path`, write it there and return the path: a cell must not end with the whole page."""
    if path is None:
        return text
    write_text(text, path)
    return os.fspath(path)


def check_directory(path: Path) -> None:
    """Refuse a path of which there is no folder: a fault of the temporary file would name that.

    Raises
    ------
    FileNotFoundError
        It names the folder.
    """
    if not path.parent.exists():
        raise FileNotFoundError(errno.ENOENT, "this directory does not exist", str(path.parent))


class replacing:  # noqa: N801 - read as a verb in a with
    """A path beside `path` to write to; it takes the place of `path` when the block ends well."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> Path:
        check_directory(self._path)
        handle, name = tempfile.mkstemp(prefix=f".{self._path.name}-", dir=self._path.parent)
        os.close(handle)
        self._temporary = Path(name)
        return self._temporary

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            mask = os.umask(0)
            os.umask(mask)
            self._temporary.chmod(0o666 & ~mask)
            self._temporary.replace(self._path)
        else:
            self._temporary.unlink(missing_ok=True)


_FORMULA = "^([" + "".join(FORMULA_SIGNS).replace("-", r"\-") + "])"
_NO_FRACTION = r"\.0+(Z?)$"


def escape_formula(text: str) -> str:
    """Text for a spreadsheet cell: an apostrophe precedes anything that would run as a formula."""
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
    names = [n for n in table.column_names if table.column(n).null_count < len(table)]
    columns = [column_values(table.column(n)) for n in names]
    option = orjson.OPT_APPEND_NEWLINE | orjson.OPT_UTC_Z
    if not names:
        file.write(b"{}\n" * len(table))
        return
    file.writelines(
        orjson.dumps({n: v for n, v in zip(names, row, strict=True) if v is not None}, option=option)
        for row in zip(*columns, strict=True)
    )


def write_frame(
    frame: Any,
    target: str | os.PathLike[str] | IO[bytes],
    format: str,  # noqa: A002 - the name users type
    *,
    spreadsheet: bool = False,
) -> None:
    """Write any frame of the library as ``csv``, ``jsonl`` or ``parquet``; a file appears when it is whole.

    Parameters
    ----------
    frame
        DataFrame, whose index is not written, or Arrow table.
    target
        Path, or an open binary file.
    format
        ``csv``, ``jsonl`` or ``parquet``.
    spreadsheet
        As in `write_csv`; without effect on the other formats, which no spreadsheet runs.
    """
    if isinstance(target, (str, os.PathLike)):
        with replacing(Path(target).expanduser()) as temporary, temporary.open("wb") as file:
            write_frame(frame, file, format, spreadsheet=spreadsheet)
        return
    import pyarrow as pa

    if format == "parquet":
        if isinstance(frame, pa.Table):
            from pyarrow import parquet

            parquet.write_table(frame, target)
        else:
            frame.to_parquet(target, index=False)
        return
    table = frame if isinstance(frame, pa.Table) else pa.Table.from_pandas(frame, preserve_index=False)
    if format == "csv":
        write_csv(table, target, spreadsheet=spreadsheet)
    else:
        write_json_lines(table, target)


def column_values(column: Any) -> list[Any]:
    """Python values of a column; lists and dictionaries in a way that makes no Arrow scalar per row."""
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if pa.types.is_list(column.type):
        return list_values(column)
    values: list[Any] = column.to_pylist()
    return values


def _cells(column: Any, *, spreadsheet: bool) -> Any:
    """A column as values for CSV."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind):
        write = json.dumps if pa.types.is_string(kind.value_type) else _numbers
        texts = [None if v is None else write(v) for v in column_values(column)]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
        # Arrow's strftime prints nanoseconds otherwise, which no reader expects.
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


Format = Literal["jsonl", "csv", "parquet"]
FORMATS: tuple[Format, ...] = ("jsonl", "csv", "parquet")
_ENDINGS = {".jsonl": "jsonl", ".ndjson": "jsonl", ".csv": "csv", ".parquet": "parquet", ".pq": "parquet"}
_GROUP_ROWS = 100_000
_GROUP_BYTES = 32 << 20


def format_of(path: str, format: str | None) -> Format:  # noqa: A002 - the name users type
    """The requested format, else that of the file's extension.

    Raises
    ------
    ValueError
        For a format or an ending that is not known; names those that are.
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
        _refuse(spreadsheet, "jsonl")
        self._file = file
        self._first = first

    def write(self, batch: Any) -> None:
        """Write the rows of a batch."""
        write_json_lines(shown_table([batch], self._first), self._file)

    def finish(self, metadata: Mapping[str, str]) -> None:
        """Nothing belongs at the end."""


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

        _refuse(spreadsheet, "parquet")
        self._first = first
        columns = (*first, *SHOWN)
        self._schema = shown_table([], first).schema.with_metadata(pandas_metadata(columns))
        self._writer = pq.ParquetWriter(file, self._schema, compression="zstd", store_schema=False)
        self._waiting: list[Any] = []
        self._rows = 0
        self._bytes = 0

    def write(self, batch: Any) -> None:
        """Collect batches until a row group is full, then write it."""
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


def _refuse(spreadsheet: bool, format: Format) -> None:  # noqa: A002, FBT001 - what the caller was given
    if spreadsheet:
        raise ValueError(f"spreadsheet=True is for csv, not for {format}: no spreadsheet runs a cell of that")


_ENCODERS: dict[Format, type[JsonLines | Csv | Parquet]] = {"jsonl": JsonLines, "csv": Csv, "parquet": Parquet}


class MatchWriter:
    """A file of matches that grows by batches.

    Parameters
    ----------
    target
        Path of the file, replaced when the writing is over; or an open binary file, written as it is and left open.
    format
        ``jsonl``, ``csv`` or ``parquet``; None: by the ending of the path.
    named
        Whether batches have the name of their search in a first column `name`.
    served
        Whether they have the service that each row is of in a column `service` in front of the rest.
    spreadsheet
        Whether cells of CSV that a spreadsheet would run get an apostrophe in front.

    Raises
    ------
    ValueError
        For an unknown format, and for `spreadsheet` with another format than CSV.
    """

    def __init__(
        self,
        target: str | os.PathLike[str] | IO[bytes],
        format: str | None = None,  # noqa: A002 - the name users type
        *,
        named: bool = False,
        served: bool = False,
        spreadsheet: bool = False,
    ) -> None:
        self.path = ""
        self.rows = 0
        self._temporary: Path | None = None
        if isinstance(target, (str, os.PathLike)):
            path = Path(target).expanduser()
            kind = format_of(str(path), format)
            _refuse(spreadsheet and kind != "csv", kind)
            check_directory(path)
            # In the same directory, because a rename between file systems isn't atomic. The random part keeps two
            # exports apart.
            self._temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
            self._file: IO[bytes] = self._temporary.open("wb")
            self.path = str(path)
        else:
            kind = format_of("", format)
            self._file = target
        first = (*((NAME,) if named else ()), *((SERVICE,) if served else ()))
        self._encoder: Encoder = _ENCODERS[kind](self._file, first=first, spreadsheet=spreadsheet)
        self._open = True

    def write(self, batch: Any) -> None:
        """Write the rows of a record batch with any subset of the match columns."""
        self._encoder.write(batch)
        self.rows += batch.num_rows

    def finish(self, metadata: Mapping[str, str] | None = None) -> str:
        """End the file and give it its name.

        Parameters
        ----------
        metadata
            Small facts about the answer; Parquet files carry them.

        Returns
        -------
        str
            Where the file is; empty for an open file that was passed in.
        """
        return self._end(self.path, metadata or {})

    def keep_partial(self, metadata: Mapping[str, str] | None = None) -> str:
        """End the file early and keep it as ``NAME.partial.EXT``; returns that path."""
        path = Path(self.path)
        return self._end(str(path.with_name(f"{path.stem}.partial{path.suffix}")) if self.path else "", metadata or {})

    def _end(self, path: str, metadata: Mapping[str, str]) -> str:
        if not self._open:
            return self.path
        self._open = False
        try:
            self._encoder.finish(metadata)
            self._file.flush()
            if self._temporary is not None:
                # Before the rename: after a crash, the name must not lead to an empty file.
                os.fsync(self._file.fileno())
        except BaseException:
            self.discard()
            raise
        if self._temporary is not None:
            self._file.close()
            self._temporary.replace(path)
        self.path = path
        return path

    def discard(self) -> None:
        """Delete the partial file."""
        self._open = False
        if self._temporary is not None:
            with contextlib.suppress(OSError):
                self._file.close()
            self._temporary.unlink(missing_ok=True)
