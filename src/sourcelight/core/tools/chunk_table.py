"""Chunks of files, built from batches of matches without an object per row: their table, and those of notebooks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches.results import file_url
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.cells import is_jupyter
from sourcelight.core.cells.json_lines import cell_text, context_lines
from sourcelight.core.tools.catalog import COLUMNS

_FILE_KEY = ("repository", "revision", "commit", "path")
_PATH = _FILE_KEY.index("path")

_ChunkKey: TypeAlias = tuple[Any, ...]
"""The values of `_FILE_KEY` and the number of the first line, which the rows of one chunk share."""


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


def with_cell_text(batch: Any) -> Any:
    r"""Return a batch in which chunks of notebooks have the text of cells; matches outside of cells have none.

    A search reads the JSON of a notebook, so that a line of a chunk is ``"import numpy as np\n",`` before.
    """
    import pyarrow as pa

    rows = MatchRows(batch)
    paths = rows.column("path").dictionary.to_pylist()
    if not any(is_jupyter(path or "") for path in paths):
        return batch

    first_lines = rows.column("chunk_start_line").to_pylist()
    chunks: list[_ChunkKey] = list(zip(*(rows.texts(name) for name in _FILE_KEY), first_lines, strict=True))
    lines_by_chunk = _matched_cell_lines(rows, chunks)
    texts = rows.texts("chunk")
    for row, chunk in enumerate(chunks):
        if chunk not in lines_by_chunk:
            continue

        text = texts[row]
        lines = lines_by_chunk[chunk]
        if text is None or not lines:
            texts[row] = None
            continue

        numbered_lines = enumerate(text.split("\n"), first_lines[row])
        cell_lines = dict(context_lines(numbered_lines)) | lines
        first_line, last_line = min(cell_lines), max(cell_lines)
        first_lines[row] = first_line
        texts[row] = "\n".join(cell_lines.get(number, "") for number in range(first_line, last_line + 1))

    schema = batch.schema
    for name, column in (("chunk", texts), ("chunk_start_line", first_lines)):
        index = schema.get_field_index(name)
        batch = batch.set_column(index, schema.field(index), pa.array(column, schema.field(index).type))

    return batch


def _matched_cell_lines(rows: MatchRows, chunks: Sequence[_ChunkKey]) -> dict[_ChunkKey, dict[int, str]]:
    """Return the text of matched lines of cells by number, for each chunk of a notebook.

    `chunks` has the chunk of each row. A chunk without a match in a cell has no lines.
    """
    is_in_cell = [False] * len(rows)
    if "cell" in rows:
        is_in_cell = rows.column("cell").is_valid().to_pylist()

    numbers = rows.column("line_number").to_pylist()
    texts = rows.column("line").to_pylist()
    starts = rows.column("start").to_pylist()
    ends = rows.column("end").to_pylist()
    lines_by_chunk: dict[_ChunkKey, dict[int, str]] = {}
    for row, chunk in enumerate(chunks):
        if not is_jupyter(chunk[_PATH] or ""):
            continue

        lines = lines_by_chunk.setdefault(chunk, {})
        if is_in_cell[row] and texts[row] is not None:
            cell_line = cell_text(texts[row], starts[row] or (), ends[row] or ())
            if cell_line is not None:
                lines[numbers[row]] = cell_line.text

    return lines_by_chunk
