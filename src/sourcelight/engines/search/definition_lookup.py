"""Look up the positions of all definitions in given files, to rank matches that are definitions first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.view import NO_SHARD, CommitView
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.store import IndexStore


@dataclass(frozen=True, slots=True)
class DefinitionPositions:
    """Names of definitions.

    The file of each is an index into the paths asked for, `start` and `end` are bytes in that file, and the kind is an
    index into `symbols.KINDS`.
    """

    file: Int64Array
    start: Int64Array
    end: Int64Array
    kind: Int64Array


def definition_positions(store: IndexStore, target: Target, paths: Sequence[str]) -> DefinitionPositions | None:
    """Return the positions of all definitions in the files `paths`; None while some are not parsed yet."""
    try:
        if not store.symbols_current(target):
            return None
        snapshot, _, tables = store.open_symbols(target)
    except (SourcelightError, OSError):
        return None
    view = snapshot.view
    path_indexes, file_numbers = _find_files(view, paths)
    shards = view.shard[file_numbers]
    columns: tuple[list[Int64Array], ...] = tuple([_empty()] for _ in range(4))
    for shard in np.unique(shards[shards != NO_SHARD]).tolist():
        table = tables[shard]
        if table is None:
            continue
        selected = np.flatnonzero(shards == shard)
        document = view.document[file_numbers[selected]].astype(np.int64)
        first_rows = table.doc_first[document].astype(np.int64)
        lengths = table.doc_first[document + 1].astype(np.int64) - first_rows
        rows = np.arange(int(lengths.sum())) + np.repeat(first_rows - (np.cumsum(lengths) - lengths), lengths)
        name = table.name[rows].astype(np.int64)
        start = table.offset[rows].astype(np.int64)
        end = start + table.name_start[name + 1] - table.name_start[name] - 1
        values = (np.repeat(path_indexes[selected], lengths), start, end, table.kind[rows].astype(np.int64))
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return DefinitionPositions(*(np.concatenate(column) for column in columns))


def _find_files(view: CommitView, paths: Sequence[str]) -> tuple[Int64Array, Int64Array]:
    """Return which of the paths are in the view (as indexes), and their file numbers."""
    text = bytes(view.path_text)
    path_indexes, offsets = [], []
    position = 0
    for index, path in enumerate(paths):
        line = b"\n" + path.encode(errors="replace") + b"\n"
        # Paths mostly come in order: a search from the last offset reads the text of all paths once.
        offset = text.find(line, position)
        if offset < 0:
            offset = text.find(line, 0, position + len(line))
        if offset >= 0:
            path_indexes.append(index)
            offsets.append(offset + 1)
            position = offset
    starts = np.array(offsets, dtype=np.uint32)
    return np.array(path_indexes, dtype=np.int64), np.searchsorted(view.path_start, starts).astype(np.int64)


def _empty() -> Int64Array:
    return np.zeros(0, dtype=np.int64)
