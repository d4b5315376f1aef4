"""Matches of files as a table of chunks, the result of tool searches, built without an object per row."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import file_url
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.tools.catalog import COLUMNS

_PLACE = ("repository", "revision", "commit", "path")


def found_schema() -> Any:
    """Return Arrow schema of the table ``found_chunks``."""
    import pyarrow as pa

    return pa.schema([pa.field(c.name, arrow_type(c.type)) for c in COLUMNS["found_chunks"]])


def found_table(batches: Iterable[Any]) -> Any:
    """Table ``found_chunks`` of batches of matches with chunk columns, in their order."""
    import pyarrow as pa

    schema = found_schema()
    parts = [_columns(batch, schema) for batch in batches if batch.num_rows]
    return pa.Table.from_batches(parts, schema).unify_dictionaries() if parts else schema.empty_table()


def chunk_heads(rows: MatchRows) -> Int64Array:
    """Return the first row of each chunk; a file of which only the path matched is one."""
    names = [*_PLACE, "chunk_start_line"]
    codes = [rows.numbers(name) if name == "chunk_start_line" else rows.codes(name) for name in names]
    return np.array([start for start, _ in boundaries(len(rows), codes)], dtype=np.int64)


def _columns(batch: Any, schema: Any) -> Any:
    """Return the chunks of a batch as a batch of the table, without a Python object for each."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = MatchRows(batch)
    heads = chunk_heads(rows)
    take = pa.array(heads)
    columns: dict[str, Any] = {name: rows.column(name).take(take).cast(schema.field(name).type) for name in _PLACE}
    line = rows.column("chunk_start_line").take(take).cast(pa.int32())
    chunk = rows.column("chunk").take(take).cast(pa.string())
    extra_lines = pc.count_substring(chunk, "\n")
    locations = zip(*(rows.texts(name, heads.tolist()) for name in ("repository", "commit", "path")), strict=True)
    urls: dict[tuple[str | None, ...], str] = {}
    for location in locations:
        if location not in urls:
            urls[location] = file_url("", *(part or "" for part in location))  # type: ignore[arg-type]  # three of them
    locations = zip(*(rows.texts(name, heads.tolist()) for name in ("repository", "commit", "path")), strict=True)
    columns |= {
        "start_line": line,
        "end_line": pc.add(line, extra_lines),
        "chunk": chunk,
        "match_count": pa.array(np.add.reduceat(rows.numbers("match_count"), heads), pa.int32()),
        "score": pa.nulls(len(heads), pa.float64()),
        "truncated": pa.array(np.zeros(len(heads), np.bool_)),
        "chunks_left_out": pa.array(np.zeros(len(heads), np.int32)),
        "url": pa.array([urls[location] for location in locations], pa.string()),
    }
    return pa.RecordBatch.from_arrays([columns[f.name] for f in schema], schema=schema)
