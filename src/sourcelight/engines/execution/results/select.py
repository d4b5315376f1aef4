"""``select:`` and unions: convert results, and merge the matches of a file from several alternatives.

It works on record batches as they arrive. To yield nothing twice, it remembers the repositories so far, the directories
of each, and the files if the query has several kinds of results. Batches of repositories alternate when ranked search
reads the likeliest files of all repositories first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import arrow_array, arrow_strings
from sourcelight.core.batches import arrow_type, matches_schema
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import FILE_KEYS
from sourcelight.core.patterns.ranges import disjoint_spans
from sourcelight.engines.search import Target

_WHERE = ("repository", "repository_id", "revision", "commit")
_KINDS = {"file": ("content", "path", "symbol"), "content": ("content",), "symbol": ("symbol",)}

FileKey = tuple[str, str]
"""A repository's name and the requested revision."""

_CHUNK_COLUMNS = ("chunk", "chunk_start_line", "chunk_offset", "truncated")


class Selector:
    """Converts batches of one alternative's results to the kind of its ``select:``.

    Parameters
    ----------
    path
        The parts of ``select:``; if empty, everything passes unchanged.
    yielded
        Repositories that were yielded before; ``select:repo`` must not repeat them.
    once
        Whether each file comes in one batch only, so that files need not be remembered.
    """

    def __init__(self, path: tuple[str, ...], yielded: Collection[FileKey] = (), *, once: bool = True) -> None:
        self.path = path
        self._yielded = set(yielded)
        self._once = once
        self._seen: dict[FileKey, set[str]] = {}

    @property
    def first_only(self) -> bool:
        """Whether the first result of a repository is enough."""
        return self.path == ("repo",)

    @property
    def needs_lines(self) -> bool:
        """Whether matched lines are needed."""
        return not self.path or self.path[0] == "content"

    def apply(self, batch: Any) -> Any | None:
        """Return the new values in `batch`, whose rows share repository and revision, or None for nothing."""
        if not self.path or not batch.num_rows:
            return batch if batch.num_rows else None

        head, remaining = self.path[0], self.path[1:]
        if head == "repo":
            return self._repository(batch)

        kinds = batch.column(batch.schema.get_field_index("type"))
        mask = pc.is_in(kinds.cast(pa.string()), value_set=pa.array(_KINDS.get(head, ()), pa.string()))
        batch = batch.filter(mask)
        if not batch.num_rows:
            return None
        if head == "content":
            return _without_names(batch)
        if head == "symbol":
            return _rows_of_kind(batch, remaining[0]) if remaining else batch

        return self._directories(batch) if remaining == ("directory",) else self._files(batch)

    def _repository(self, batch: Any) -> Any | None:
        location = _file_key(batch)
        if location in self._yielded:
            return None
        self._yielded.add(location)
        return _rows(batch, np.zeros(1, dtype=np.int64), "repo", None)

    def _files(self, batch: Any) -> Any | None:
        rows = MatchRows(batch)
        starts = np.array([start for start, _ in rows.files()], dtype=np.int64)
        if not self._once:
            seen = self._seen.setdefault(_file_key(batch), set())
            paths = rows.texts("path", starts.tolist())
            starts = starts[[path not in seen for path in paths]]
            seen.update(path or "" for path in paths)

        if len(starts):
            return _rows(batch, starts, "path", rows.column("path").take(arrow_array(starts)))
        return None

    def _directories(self, batch: Any) -> Any | None:
        # Directories repeat even if each file comes once, so they are remembered in any case.
        seen = self._seen.setdefault(_file_key(batch), set())
        rows = MatchRows(batch)
        starts = [start for start, _ in rows.files()]

        # The first row of each new directory, from which its columns are taken.
        new: dict[str, int] = {}
        for start, path in zip(starts, rows.texts("path", starts), strict=True):
            folder = (path or "").rpartition("/")[0]
            new.setdefault(f"{folder}/" if folder else "./", start)

        new = {folder: start for folder, start in new.items() if folder not in seen}
        seen.update(new)
        if not new:
            return None

        return _rows(batch, np.array(list(new.values()), dtype=np.int64), "directory", pa.array(list(new)))


def _file_key(batch: Any) -> FileKey:
    rows = MatchRows(batch)
    return rows.first("repository"), rows.first("revision")


def _rows(batch: Any, position: Any, kind: str, paths: Any | None) -> Any:
    """Return rows of `kind` for the rows `position` of `batch`; directories are paths without spans and language."""
    columns: dict[str, Any] = {}
    selected_rows = batch.take(arrow_array(position))
    names = [name for name in _WHERE if kind != "repo" or name != "commit"]
    names += [column.name for column, _ in FILE_KEYS] if kind == "path" else []
    columns["type"] = pa.array(["path" if kind == "directory" else kind] * len(position), type=arrow_type("dict8"))
    for name in names:
        index = selected_rows.schema.get_field_index(name)
        if index >= 0:
            columns[name] = selected_rows.column(index)

    if paths is not None:
        columns["path"] = paths if pa.types.is_dictionary(paths.type) else paths.cast(pa.string()).dictionary_encode()

    # A repository, a directory or a file is one match, however many lines it had.
    columns["match_count"] = arrow_array(np.ones(len(position), dtype=np.int32))
    spans = kind == "path" and selected_rows.schema.get_field_index("name_start") >= 0

    # Spans of a name belong to a path: in a row of another kind they would highlight the wrong text.
    for name in ("name_start", "name_end"):
        columns[name] = (
            selected_rows.column(selected_rows.schema.get_field_index(name)) if spans else _empty_lists(len(position))
        )

    return pa.record_batch(columns)


def _without_names(batch: Any) -> Any:
    for name in ("name_start", "name_end"):
        index = batch.schema.get_field_index(name)
        if index >= 0:
            batch = batch.set_column(index, batch.schema.field(index), _empty_lists(batch.num_rows))
    return batch


def _rows_of_kind(batch: Any, kind: str) -> Any | None:
    index = batch.schema.get_field_index("symbol_kind")
    if index < 0:
        return None
    rows_of_kind = batch.filter(
        pc.fill_null(pc.equal(batch.column(index).cast(pa.string()), kind.replace("-", "")), fill_value=False)
    )
    return rows_of_kind if rows_of_kind.num_rows else None


def _empty_lists(count: int) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, dtype=np.int32)), pa.array([], pa.int32()))


_Row = dict[str, Any]

_Key = tuple[str | None, bool]
"""A path, and whether rows are definitions, which are kept apart from other matches of the file."""

_LineKey = tuple[int, int, int, str]


def unite(alternatives: Sequence[Iterable[Any]]) -> list[Any]:
    """Return batches in which each file occurs once, from the batches of several alternatives over one repository.

    A file that only one alternative found keeps its rows unchanged. For other files, lines are united and their spans
    merged: they are sorted, and the earlier one of two that overlap stays, or the longer one if both start together.
    Chunks that touch or overlap become one. A content match replaces a path match of the same file (query-language
    reference, hit identity).
    """
    batch_lists = [list(batches) for batches in alternatives]
    batch_lists = [batches for batches in batch_lists if batches]
    if len(batch_lists) <= 1:
        return batch_lists[0] if batch_lists else []

    owners: dict[_Key, set[int]] = {}
    for number, batches in enumerate(batch_lists):
        for batch in batches:
            for path in _paths(batch):
                owners.setdefault(path, set()).add(number)

    # Merging goes row by row through Python objects, so only rows of shared files pay for it.
    shared_paths = {path for path, numbers in owners.items() if len(numbers) > 1}
    if not shared_paths:
        return [batch for batches in batch_lists for batch in batches]

    united: list[Any] = []
    rows: dict[_Key, list[list[_Row]]] = {}
    for batches in batch_lists:
        rows_by_file: dict[_Key, list[_Row]] = {}
        for batch in batches:
            is_unshared = pa.array([path not in shared_paths for path in _row_paths(batch)], type=pa.bool_())
            unshared_rows = batch.filter(is_unshared)
            if unshared_rows.num_rows:
                united.append(unshared_rows)
            # Batches of one alternative may split a file, so its rows are gathered before they are merged.
            for row in batch.filter(pa.compute.invert(is_unshared)).to_pylist():
                rows_by_file.setdefault((row.get("path"), row["type"] == "symbol"), []).append(row)

        for path, lines in rows_by_file.items():
            rows.setdefault(path, []).append(lines)

    for path in sorted(rows, key=lambda key: (key[0] or "", key[1])):
        united += _batches(_merge_file(rows[path]))

    return united


def _batches(rows: list[_Row]) -> Iterator[Any]:
    """Yield batches of a file's rows by language: the wire has one per file, and cells have their kernel's."""
    by_language: dict[str | None, list[_Row]] = {}
    for row in rows:
        by_language.setdefault(row.get("language"), []).append(row)
    yield from map(_batch, by_language.values())


def _paths(batch: Any) -> Iterable[_Key]:
    return set(_row_paths(batch))


def _row_paths(batch: Any) -> list[_Key]:
    index = batch.schema.get_field_index("path")
    paths = batch.column(index).to_pylist() if index >= 0 else [None] * batch.num_rows
    kinds = batch.column(batch.schema.get_field_index("type")).to_pylist()
    return [(path, kind == "symbol") for path, kind in zip(paths, kinds, strict=True)]


def _merge_file(alternatives: list[list[_Row]]) -> list[_Row]:
    """Return rows of one file from several alternatives."""
    if alternatives[0][0]["type"] == "symbol":
        rows_by_key = {(r["line_number"], r["byte_start"][0] if r.get("byte_start") else 0, r["symbol"]): r
                 for rows in alternatives for r in rows}  # fmt: skip
        return [rows_by_key[key] for key in sorted(rows_by_key)]

    # All rows of a file repeat the spans of its name, so the first row is enough.
    names = _merge_spans([(row, "name_start", "name_end") for rows in alternatives for row in rows[:1]])
    content = [rows for rows in alternatives if rows[0]["type"] == "content"]
    if not content:
        first = dict(alternatives[0][0])
        first["name_start"], first["name_end"] = names
        return [first]

    by_line: dict[_LineKey, list[_Row]] = {}
    # In a text notebook, a line of a cell is a line of the file, which an alternative without ``cell:`` may match, too.
    file_lines = {(row["line_number"], row["line"]) for rows in content for row in rows if not row.get("cell")}
    for rows in content:
        for row in rows:
            is_of_file = (row["line_number"], row["line"]) in file_lines
            key = (row["line_number"], 0, 0, "") if is_of_file else _line_key(row)
            by_line.setdefault(key, []).append(row)

    merged = []
    previous_goes_on = False
    chunks = _merge_chunks([row for rows in content for row in rows])
    for key in sorted(by_line):
        rows = sorted(by_line[key], key=lambda row: not row.get("cell"))
        row = rows[0] | (chunks.get(key[0], {}) if rows[0].get("cell") is None else {})
        row["start"], row["end"] = _merge_spans([(r, "start", "end") for r in rows])
        if row.get("byte_start") is not None:
            row["byte_start"], row["byte_end"] = _merge_spans([(r, "byte_start", "byte_end") for r in rows])

        # A match over several lines is a span in each; it counts in the first line alone. It reaches past the end of
        # that line, by the newline, and starts the next one.
        continues = previous_goes_on and bool(row["start"]) and row["start"][0] == 0
        row["match_count"] = len(row["start"]) - int(continues)
        previous_goes_on = bool(row["end"]) and row["end"][-1] > len(row["line"])
        row["name_start"], row["name_end"] = names
        merged.append(row)

    return merged


def _line_key(row: _Row) -> _LineKey:
    """Return the key of a line: its number, and for a line of a cell also the cell, the line in it and the text."""
    # A notebook may have all cells on one line of the file, and a line of JSON isn't a line of a cell.
    cell = row.get("cell")
    if cell:
        return (row["line_number"], cell, row["cell_line"], row["line"])
    return (row["line_number"], 0, 0, "")


def _merge_chunks(rows: list[_Row]) -> dict[int, _Row]:
    """Return the chunk columns of each line of `rows`, from all chunks of a file; touching ones are merged."""
    chunks = {(row["chunk_start_line"], row["chunk"]): row for row in rows if row.get("chunk") is not None}
    groups: list[tuple[_Row, dict[int, str]]] = []
    for first, text in sorted(chunks):
        of_chunk = dict(enumerate(text.split("\n"), first))
        # Chunks are sorted by their first line, so a chunk that touches any earlier chunk touches the last group.
        if groups and first <= next(reversed(groups[-1][1])) + 1:
            last_chunk, lines = groups[-1]
            lines |= of_chunk
            last_chunk["truncated"] = last_chunk.get("truncated") or chunks[first, text].get("truncated")
        else:
            groups.append((dict(chunks[first, text]), of_chunk))

    merged: dict[int, _Row] = {}
    for head, lines in groups:
        chunk = {name: head[name] for name in _CHUNK_COLUMNS if name in head} | {"chunk": "\n".join(lines.values())}
        merged |= dict.fromkeys(lines, chunk)

    return merged


def _merge_spans(sources: list[tuple[_Row, str, str]]) -> tuple[list[int], list[int]]:
    spans = {span for row, start, end in sources for span in zip(row.get(start) or [], row.get(end) or [], strict=True)}
    merged = disjoint_spans(spans)
    return [start for start, _ in merged], [end for _, end in merged]


def _batch(rows: list[_Row]) -> Any:
    # In the order of the schema: `from_pylist` fills columns by name, and readers expect one order.
    keys = {name for row in rows for name in row}
    schema = pa.schema([column for column in matches_schema() if column.name in keys])
    return pa.RecordBatch.from_pylist(rows, schema=schema)


def by_file(batch: Any) -> Sequence[Any]:
    """Cut a batch into the rows of each repository and revision."""
    schema = batch.schema
    if not batch.num_rows or (
        len(batch.column(schema.get_field_index("repository")).dictionary) == 1
        and len(batch.column(schema.get_field_index("revision")).dictionary) == 1
    ):
        return (batch,)

    rows = MatchRows(batch)
    bounds = boundaries(len(rows), [rows.codes("repository"), rows.codes("revision")])
    return [batch.slice(start, end - start) for start, end in bounds]


def repository_batch(name_matches: Sequence[tuple[Target, tuple[tuple[int, int], ...]]]) -> Any:
    """Return rows of type ``repo``, with the spans of the match in each name."""
    infos = [target.repository.info for target, _ in name_matches]
    spans = [spans for _, spans in name_matches]
    ids = [info.id for info in infos]
    list_starts = arrow_array(np.cumsum([0, *map(len, spans)]).astype(np.int32))

    def texts(values: list[str], kind: str) -> Any:
        return arrow_strings(values).dictionary_encode().cast(arrow_type(kind))

    def lists(side: int) -> Any:
        values = np.array([span[side] for of_name in spans for span in of_name], np.int32)
        return pa.ListArray.from_arrays(list_starts, arrow_array(values)).cast(arrow_type("list"))

    columns = {
        "type": texts(["repo"] * len(name_matches), "dict8"),
        "repository": texts([info.name for info in infos], "dict32"),
        "repository_id": arrow_array(
            np.array([number or 0 for number in ids], np.int64), np.array([number is not None for number in ids])
        ),
        "revision": texts([target.revision for target, _ in name_matches], "dict32"),
        "match_count": arrow_array(np.ones(len(name_matches), np.int32)),
        "name_start": lists(0),
        "name_end": lists(1),
    }
    return pa.record_batch(columns)
