"""``select:``: convert results to repositories, directories, files, symbols or lines.

It works on record batches as they arrive. To yield nothing twice, it remembers the repositories so far, the directories
of each, and the files if the query has several kinds of results. Batches of repositories alternate when ranked search
reads the likeliest files of all repositories first.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import chain
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import Int64Array, arrow_array, arrow_strings
from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.batches.schema import FILE_KEYS, LOCATION_COLUMNS
from sourcelight.engines.search import Target

_KINDS = {"file": ("content", "path", "symbol"), "content": ("content",), "symbol": ("symbol",)}
"""Types of rows that ``select:`` keeps."""

FileKey = tuple[str, str]
"""A repository's name and the requested revision."""

_NAME_SPANS = ("name_start", "name_end")
"""Columns with the spans of matches in a name or path."""


def file_key(target: Target) -> FileKey:
    """Return the key of a target."""
    return target.repository.info.name, target.revision


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


def _rows(batch: Any, row_indices: Int64Array, kind: str, paths: Any | None) -> Any:
    """Return rows of `kind` for some rows of `batch`; directories are paths without spans and language."""
    count = len(row_indices)
    rows = MatchRows(batch.take(arrow_array(row_indices)))
    row_type = "path" if kind == "directory" else kind
    columns: dict[str, Any] = {"type": pa.array([row_type] * count, type=arrow_type("dict8"))}
    for name in _columns_of_kind(kind):
        if name in rows:
            columns[name] = rows.column(name)

    if paths is not None:
        columns["path"] = paths if pa.types.is_dictionary(paths.type) else paths.cast(pa.string()).dictionary_encode()

    # A repository, a directory or a file is one match, however many lines it had.
    columns["match_count"] = arrow_array(np.ones(count, dtype=np.int32))

    # Spans of a name belong to a path: in a row of another kind they would highlight the wrong text.
    keeps_spans = kind == "path" and "name_start" in rows
    for name in _NAME_SPANS:
        columns[name] = rows.column(name) if keeps_spans else _empty_lists(count)

    return pa.record_batch(columns)


def _columns_of_kind(kind: str) -> list[str]:
    """Return the columns that rows of a kind have in common with the rows that they are made of."""
    if kind == "repo":
        # The row is of a name, which is the same at each commit.
        return [name for name in LOCATION_COLUMNS if name != "commit"]
    if kind == "path":
        return [*LOCATION_COLUMNS, *(column.name for column, _ in FILE_KEYS)]
    return list(LOCATION_COLUMNS)


def _without_names(batch: Any) -> Any:
    for name in _NAME_SPANS:
        index = batch.schema.get_field_index(name)
        if index >= 0:
            batch = batch.set_column(index, batch.schema.field(index), _empty_lists(batch.num_rows))
    return batch


def _rows_of_kind(batch: Any, kind: str) -> Any | None:
    index = batch.schema.get_field_index("symbol_kind")
    if index < 0:
        return None

    is_of_kind = pc.equal(batch.column(index).cast(pa.string()), kind.replace("-", ""))
    rows = batch.filter(pc.fill_null(is_of_kind, fill_value=False))
    return rows if rows.num_rows else None


def _empty_lists(count: int) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, dtype=np.int32)), pa.array([], pa.int32()))


def by_file(batch: Any) -> Sequence[Any]:
    """Cut a batch into the rows of each repository and revision."""
    rows = MatchRows(batch)
    dictionaries = (rows.column(name).dictionary for name in ("repository", "revision")) if len(rows) else ()
    if all(len(dictionary) == 1 for dictionary in dictionaries):
        return (batch,)

    bounds = boundaries(len(rows), [rows.codes("repository"), rows.codes("revision")])
    return [batch.slice(start, end - start) for start, end in bounds]


def repository_batch(name_matches: Sequence[tuple[Target, tuple[tuple[int, int], ...]]]) -> Any:
    """Return rows of type ``repo``, with the spans of the match in each name."""
    infos = [target.repository.info for target, _ in name_matches]
    spans_of_names = [spans for _, spans in name_matches]
    list_starts = arrow_array(np.cumsum([0, *map(len, spans_of_names)]).astype(np.int32))
    spans = list(chain.from_iterable(spans_of_names))

    def texts(values: list[str], kind: str) -> Any:
        return arrow_strings(values).dictionary_encode().cast(arrow_type(kind))

    def lists(values: list[int]) -> Any:
        return pa.ListArray.from_arrays(list_starts, arrow_array(np.array(values, np.int32))).cast(arrow_type("list"))

    ids = np.array([info.id or 0 for info in infos], np.int64)
    has_id = np.array([info.id is not None for info in infos])
    columns = {
        "type": texts(["repo"] * len(name_matches), "dict8"),
        "repository": texts([info.name for info in infos], "dict32"),
        "repository_id": arrow_array(ids, has_id),
        "revision": texts([target.revision for target, _ in name_matches], "dict32"),
        "match_count": arrow_array(np.ones(len(name_matches), np.int32)),
        "name_start": lists([start for start, _ in spans]),
        "name_end": lists([end for _, end in spans]),
    }
    return pa.record_batch(columns)
