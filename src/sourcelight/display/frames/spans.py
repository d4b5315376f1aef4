"""One row per match, from tables with one row per matched line."""

from __future__ import annotations

from typing import Any

from sourcelight.display.frames.schema import SPANS, table_schema

_CARRIED = ("repository", "revision", "path", "language", "line_number")


def explode(table: Any) -> Any:
    """Arrow table of `SPANS`: each span of each row of `table`, in order.

    Spans in a path or a repository name are given for rows that have no line; rows of lines repeat them. The text of
    the line is not repeated (one line can be megabytes and hold thousands of matches): `row` leads back to it.
    """
    import pyarrow as pa

    table = table.combine_chunks()
    parts = [
        _part(table, "line", "line", "start", "end"),
        _part(table, "name", "path", "name_start", "name_end"),
        _part(table, "name", "repository", "name_start", "name_end"),
    ]
    return pa.concat_tables(parts, promote_options="none").sort_by([("row", "ascending"), ("start", "ascending")])


def _part(table: Any, kind: str, where: str, start: str, end: str) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    if kind == "line":
        keep = pc.is_valid(table["line"])
    elif where == "path":
        keep = pc.and_(pc.is_null(table["line"]), pc.is_valid(table["path"]))
    else:
        keep = pc.and_(pc.is_null(table["line"]), pc.is_null(table["path"]))
    rows = pc.indices_nonzero(pc.and_(keep, pc.fill_null(pc.greater(pc.list_value_length(table[start]), 0), False)))
    chosen = table.select([*_CARRIED, start, end]).take(rows)
    parents = pc.list_parent_indices(chosen[start].combine_chunks())
    starts = _flat(chosen[start])
    ends = _flat(chosen[end])
    carried = chosen.select(list(_CARRIED)).take(parents)
    texts = _texts(table[where], rows)
    pairs = list(zip(parents.to_pylist(), starts.to_pylist(), ends.to_pylist(), strict=True))
    columns = {
        "row": pc.cast(rows, pa.int64()).take(parents),
        **{name: carried[name] for name in _CARRIED},
        "where": pa.repeat(pa.scalar(where), len(parents)),
        "start": starts,
        "end": ends,
        "match": pa.array([texts[p][a:b] for p, a, b in pairs], type=pa.string()),
        "continues": pa.array([b > len(texts[p]) for p, _, b in pairs], type=pa.bool_()),
    }
    schema = table_schema(SPANS)
    return pa.table([columns[f.name] for f in schema], schema=schema)


def _flat(column: Any) -> Any:
    import pyarrow.compute as pc

    return pc.list_flatten(column.combine_chunks())


def _texts(column: Any, rows: Any) -> list[str]:
    taken = column.take(rows)
    texts: list[str] = taken.to_pylist()
    return texts
