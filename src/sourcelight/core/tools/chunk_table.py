"""The table of chunks that tool searches return, built from matches without an object per row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import file_url
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.tools.catalog import COLUMNS

_FILE_KEY = ("repository", "revision", "commit", "path")


def chunk_schema() -> Any:
    """Return the Arrow schema of the table ``found_chunks``."""
    import pyarrow as pa

    return pa.schema([pa.field(column.name, arrow_type(column.type)) for column in COLUMNS["found_chunks"]])


def table_of_batches(batches: Iterable[Any]) -> Any:
    """Return batches of matches with chunk columns as the table ``found_chunks``, in their order."""
    import pyarrow as pa

    schema = chunk_schema()
    parts = [_columns(batch, schema) for batch in batches if batch.num_rows]
    if parts:
        return pa.Table.from_batches(parts, schema).unify_dictionaries()
    return schema.empty_table()


def chunk_heads(rows: MatchRows) -> Int64Array:
    """Return the first row of each chunk; a file that matches only by its path is one chunk."""
    codes = [rows.codes(name) for name in _FILE_KEY]
    codes.append(rows.numbers("chunk_start_line"))
    return np.array([start for start, _ in boundaries(len(rows), codes)], dtype=np.int64)


def _columns(batch: Any, schema: Any) -> Any:
    """Return the chunks of a batch as a batch of the table."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = MatchRows(batch)
    heads = chunk_heads(rows)
    take = pa.array(heads)
    columns: dict[str, pa.Array] = {}
    for name in _FILE_KEY:
        columns[name] = rows.column(name).take(take).cast(schema.field(name).type)

    line = rows.column("chunk_start_line").take(take).cast(pa.int32())
    chunk = rows.column("chunk").take(take).cast(pa.string())
    columns |= {
        "start_line": line,
        "end_line": pc.add(line, pc.count_substring(chunk, "\n")),
        "chunk": chunk,
        "match_count": pa.array(np.add.reduceat(rows.numbers("match_count"), heads), pa.int32()),
        "score": pa.nulls(len(heads), pa.float64()),
        "truncated": pa.array(np.zeros(len(heads), np.bool_)),
        "chunks_left_out": pa.array(np.zeros(len(heads), np.int32)),
        "url": pa.array(_urls(rows, heads.tolist()), pa.string()),
    }
    return pa.RecordBatch.from_arrays([columns[field.name] for field in schema], schema=schema)


def _urls(rows: MatchRows, heads: list[int]) -> list[str]:
    """Return the address of the file of each of some rows."""
    repositories, commits, paths = (rows.texts(name, heads) for name in ("repository", "commit", "path"))

    # Chunks of one file follow each other, and its address is written once.
    urls: dict[tuple[str | None, ...], str] = {}
    result = []
    for location in zip(repositories, commits, paths, strict=True):
        if location not in urls:
            repository, commit, path = location
            urls[location] = file_url("", repository or "", commit or "", path or "")
        result.append(urls[location])

    return result
