"""Read files of matches back into DataFrames."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.batches.schema import MATCHES, SERVICE, Column, arrow_type
from sourcelight.display.frames.encoders import format_of
from sourcelight.display.frames.schema import NAME
from sourcelight.display.frames.tables import to_pandas

_COLUMNS: Mapping[str, Column] = {column.name: column for column in (NAME, SERVICE, *MATCHES)}
"""Columns that a file of matches may have, by name."""

_CSV_TYPES = frozenset({"int32", "int64", "bool"})
"""Types of columns that Arrow reads from CSV itself; others are read as texts, and converted here."""

_MIN_BLOCK_BYTES = 1024 * 1024
_MAX_BLOCK_BYTES = 2**31 - 1
"""Bytes of a block: Arrow takes an int32."""


@checks_arguments
def read_matches(path: str | os.PathLike[str], format: str | None = None) -> Any:  # noqa: A002 - the name users type
    """Return DataFrame of a file of matches, with the columns, dtypes and values of the frame that was written.

    A file that was written with ``spreadsheet=True`` is read with its apostrophes.

    Parameters
    ----------
    path
        File that `Client.export`, or `to_csv`, `to_jsonl` or `to_parquet` of a result, wrote.
    format
        ``jsonl``, ``csv`` or ``parquet``; None: by the ending of the path.

    Returns
    -------
    DataFrame
        Columns as of ``columns_of("matches")``, behind ``name`` and ``service`` where the file has them. `attrs` are
        those of the answer for Parquet, the only format with room for them, and empty for others.

    Raises
    ------
    ValueError
        For an unknown format, or a file with other columns than matches have.
    OSError
        When the file can't be read.
    """
    file = Path(path).expanduser()
    kind = format_of(str(file), format)
    if kind == "parquet":
        import pyarrow.parquet as pq

        table = pq.read_table(file)
        # pandas writes `attrs` under this key.
        attrs = json.loads((table.schema.metadata or {}).get(b"PANDAS_ATTRS", b"{}"))
        _check(table.column_names, file)
        return _frame(table, attrs)

    if kind == "csv":
        return _frame(_csv_table(file), {})
    return _frame(_json_table(file), {})


def _frame(table: Any, attrs: Mapping[str, Any]) -> Any:
    import pyarrow as pa

    columns = [_COLUMNS[name] for name in table.column_names]
    values = [_as(table.column(column.name), column) for column in columns]
    unified = pa.table(values, names=table.column_names).unify_dictionaries()
    return to_pandas(unified, columns, attrs)


def _as(values: Any, column: Column) -> Any:
    """Return a column in the type of its frame; text of the file where that has no such type."""
    import pyarrow as pa

    kind = arrow_type(column.type)
    if values.type == kind:
        return values
    if pa.types.is_dictionary(kind):
        if not pa.types.is_string(values.type):
            values = values.cast(pa.string())
        return values.dictionary_encode().cast(kind)

    if pa.types.is_list(kind) and pa.types.is_string(values.type):
        number_lists = [_numbers(text) for text in values.to_pylist()]
        return pa.chunked_array([pa.array(number_lists, kind)])

    return values.cast(kind)


def _numbers(text: str | None) -> list[int] | None:
    """Return the numbers of a cell of CSV: ``4 17`` for a column of lists."""
    if text is None:
        return None
    return list(map(int, text.split()))


def _check(names: Sequence[str], path: Path) -> None:
    unknown = [name for name in names if name not in _COLUMNS]
    if unknown:
        listed_names = ", ".join(repr(name) for name in unknown[:5])
        raise ValueError(f"{path} is not a file of matches: it has the columns {listed_names}")


def _csv_table(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import csv

    types = {}
    for name, column in _COLUMNS.items():
        types[name] = arrow_type(column.type) if column.type in _CSV_TYPES else pa.string()
    convert = csv.ConvertOptions(
        column_types=types,
        null_values=[""],
        true_values=["true"],
        false_values=["false"],
        strings_can_be_null=True,
        # An unquoted empty cell is null, a quoted one is an empty text: `write_csv` distinguishes them this way.
        quoted_strings_can_be_null=False,
    )
    parse = csv.ParseOptions(newlines_in_values=True)
    table = csv.read_csv(path, csv.ReadOptions(block_size=_block_bytes(path)), parse, convert)
    _check(table.column_names, path)
    return table


def _json_table(path: Path) -> Any:
    import pyarrow as pa
    from pyarrow import json as arrow_json

    visible_columns = [column for column in MATCHES if column.is_visible]
    schema = pa.schema([(column.name, _loose(column)) for column in visible_columns])

    # Arrow refuses an empty file, and a frame without rows has no JSON lines.
    if not path.stat().st_size:
        return schema.empty_table()

    parse = arrow_json.ParseOptions(explicit_schema=schema, unexpected_field_behavior="infer")
    table = arrow_json.read_json(path, arrow_json.ReadOptions(block_size=_block_bytes(path)), parse)
    _check(table.column_names, path)
    leading_names = [column.name for column in (NAME, SERVICE) if column.name in table.column_names]
    return table.select([*leading_names, *schema.names])


def _block_bytes(path: Path) -> int:
    """Return the size of a file as one block: no row may be longer than a block, and bundled files have huge lines."""
    size = max(path.stat().st_size, _MIN_BLOCK_BYTES)
    return min(size + 1, _MAX_BLOCK_BYTES)


def _loose(column: Column) -> Any:
    """Return the type that a column has in JSON."""
    import pyarrow as pa

    if column.type.startswith("dict") or column.type == "timestamp":
        return pa.string()
    return arrow_type(column.type)
