"""Arrow tables as CSV and JSON Lines: lossless for programs, or with cells that no spreadsheet runs for people.

A CSV file tells an empty text (``""``) from a missing one (nothing between two commas). Lists of numbers have blanks
between them, lists of text are JSON, times are RFC 3339 in UTC with as many digits as they have.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

from sourcelight.display.frames.files import FORMULA_SIGNS, replacing
from sourcelight.display.frames.tables import list_values

_FORMULA = "^([" + "".join(FORMULA_SIGNS).replace("-", r"\-") + "])"
_NO_FRACTION = r"\.0+(Z?)$"


def harmless(text: str) -> str:
    """Text for a cell that people open: an apostrophe in front of what a spreadsheet would run as a formula."""
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

    names = [harmless(name) if spreadsheet else name for name in table.column_names]
    columns = [_cells(column, spreadsheet=spreadsheet) for column in table.columns]
    csv.write_csv(pa.table(columns, names=names), file, csv.WriteOptions(include_header=header, quoting_style="needed"))


def write_json_lines(table: Any, file: IO[bytes]) -> None:
    """Write an Arrow table as one JSON object per row; nulls are left out, times are RFC 3339 in UTC."""
    import orjson

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
        DataFrame; its index is not written.
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
    if format == "parquet":
        frame.to_parquet(target, index=False)
        return
    import pyarrow as pa

    table = pa.Table.from_pandas(frame, preserve_index=False)
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
    """A column as what CSV can hold."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = column.type
    if pa.types.is_list(kind):
        write = json.dumps if pa.types.is_string(kind.value_type) else _numbers
        texts = [None if v is None else write(v) for v in column_values(column)]
        return pa.chunked_array([pa.array(texts, pa.string())])
    if pa.types.is_timestamp(kind):
        zone = "Z" if kind.tz else ""
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
