"""Unite the results of a query's alternatives: one hit per file, its matches merged."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow as pa

from sourcelight.core.batches import matches_schema

_Row = dict[str, Any]
_Key = tuple[str | None, bool]
"""A path, and whether definitions in it are meant: those stand apart from other matches of the file."""
_CHUNK_COLUMNS = ("chunk", "chunk_line_number", "chunk_offset", "truncated")


def unite(alternatives: Sequence[Iterable[Any]]) -> list[Any]:
    """Batches in which each file occurs once, from the batches of several alternatives over one repository.

    A file that only one alternative found keeps its rows untouched. For a file found by several, lines are united and
    their spans merged: sorted, and of overlapping ones the earlier stays (of the same start the longest). Chunks
    that touch or overlap become one. A path hit gives way to a content hit of the same file (query-language reference,
    hit identity).
    """
    found = [list(batches) for batches in alternatives]
    found = [batches for batches in found if batches]
    if len(found) <= 1:
        return found[0] if found else []
    owners: dict[_Key, set[int]] = {}
    for number, batches in enumerate(found):
        for batch in batches:
            for path in _paths(batch):
                owners.setdefault(path, set()).add(number)
    shared = {path for path, numbers in owners.items() if len(numbers) > 1}
    if not shared:
        return [batch for batches in found for batch in batches]
    united: list[Any] = []
    rows: dict[_Key, list[list[_Row]]] = {}
    for batches in found:
        of_this: dict[_Key, list[_Row]] = {}
        for batch in batches:
            alone = pa.array([path not in shared for path in _row_paths(batch)], type=pa.bool_())
            own = batch.filter(alone)
            if own.num_rows:
                united.append(own)
            for row in batch.filter(pa.compute.invert(alone)).to_pylist():
                of_this.setdefault((row.get("path"), row["type"] == "symbol"), []).append(row)
        for path, lines in of_this.items():
            rows.setdefault(path, []).append(lines)
    united.extend(_batch(_merge_file(rows[path])) for path in sorted(rows, key=lambda key: (key[0] or "", key[1])))
    return united


def _paths(batch: Any) -> Iterable[_Key]:
    return set(_row_paths(batch))


def _row_paths(batch: Any) -> list[_Key]:
    index = batch.schema.get_field_index("path")
    paths = batch.column(index).to_pylist() if index >= 0 else [None] * batch.num_rows
    kinds = batch.column(batch.schema.get_field_index("type")).to_pylist()
    return [(path, kind == "symbol") for path, kind in zip(paths, kinds, strict=True)]


def _merge_file(alternatives: list[list[_Row]]) -> list[_Row]:
    """Rows of one file from several alternatives."""
    if alternatives[0][0]["type"] == "symbol":
        found = {(r["line_number"], r["byte_start"][0] if r.get("byte_start") else 0, r["symbol"]): r
                 for rows in alternatives for r in rows}  # fmt: skip
        return [found[key] for key in sorted(found)]
    names = _merge_spans([(row, "name_start", "name_end") for rows in alternatives for row in rows[:1]])
    content = [rows for rows in alternatives if rows[0]["type"] == "content"]
    if not content:
        first = dict(alternatives[0][0])
        first["name_start"], first["name_end"] = names
        return [first]
    by_line: dict[int, list[_Row]] = {}
    for rows in content:
        for row in rows:
            by_line.setdefault(row["line_number"], []).append(row)
    merged = []
    previous_goes_on = False
    chunks = _merge_chunks([row for rows in content for row in rows])
    for number in sorted(by_line):
        rows = by_line[number]
        row = rows[0] | chunks.get(number, {})
        row["start"], row["end"] = _merge_spans([(r, "start", "end") for r in rows])
        if row.get("byte_start") is not None:
            row["byte_start"], row["byte_end"] = _merge_spans([(r, "byte_start", "byte_end") for r in rows])
        continues = previous_goes_on and bool(row["start"]) and row["start"][0] == 0
        row["match_count"] = len(row["start"]) - int(continues)
        previous_goes_on = bool(row["end"]) and row["end"][-1] > len(row["line"])
        row["name_start"], row["name_end"] = names
        merged.append(row)
    return merged


def _merge_chunks(rows: list[_Row]) -> dict[int, _Row]:
    """The chunk columns of each line of `rows`: of all of a file's chunks, those that touch or overlap made one."""
    chunks = {(row["chunk_line_number"], row["chunk"]): row for row in rows if row.get("chunk") is not None}
    groups: list[tuple[_Row, dict[int, str]]] = []
    for first, text in sorted(chunks):
        of_chunk = dict(enumerate(text.split("\n"), first))
        if groups and first <= next(reversed(groups[-1][1])) + 1:
            whole, lines = groups[-1]
            lines |= of_chunk
            whole["truncated"] = whole.get("truncated") or chunks[first, text].get("truncated")
        else:
            groups.append((dict(chunks[first, text]), of_chunk))
    merged: dict[int, _Row] = {}
    for head, lines in groups:
        made = {name: head[name] for name in _CHUNK_COLUMNS if name in head} | {"chunk": "\n".join(lines.values())}
        merged |= dict.fromkeys(lines, made)
    return merged


def _merge_spans(sources: list[tuple[_Row, str, str]]) -> tuple[list[int], list[int]]:
    spans = {span for row, start, end in sources for span in zip(row.get(start) or [], row.get(end) or [], strict=True)}
    starts: list[int] = []
    ends: list[int] = []
    for low, high in sorted(spans, key=lambda span: (span[0], -span[1])):
        if not ends or low >= ends[-1]:
            starts.append(low)
            ends.append(high)
    return starts, ends


def _batch(rows: list[_Row]) -> Any:
    keys = list(rows[0])
    schema = pa.schema([matches_schema().field(name) for name in keys])
    return pa.RecordBatch.from_pylist(rows, schema=schema)
