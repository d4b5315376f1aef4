"""Where the definitions of given files stand, for whoever ranks matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.view import NO_SHARD, CommitView
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.store import IndexStore

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DefinitionPositions:
    """Names of definitions.

    The file of each is an index into the paths asked for, `start` and `end` are bytes in that file, and the kind is an
    index into `symbols.KINDS`.
    """

    file: Places
    start: Places
    end: Places
    kind: Places


def definition_places(store: IndexStore, target: Target, paths: Sequence[str]) -> DefinitionPositions | None:
    """Give the places of all definitions in the files `paths`; None when not all are known yet."""
    try:
        if not store.symbols_current(target):
            return None
        snapshot, _, tables = store.open_symbols(target)
    except (SourcelightError, OSError):
        return None
    view = snapshot.view
    asked, numbers = _numbers(view, paths)
    shards = view.shard[numbers]
    columns: tuple[list[Places], ...] = tuple([_none()] for _ in range(4))
    for shard in np.unique(shards[shards != NO_SHARD]).tolist():
        table = tables[shard]
        if table is None:
            continue
        chosen = np.flatnonzero(shards == shard)
        document = view.document[numbers[chosen]].astype(np.int64)
        first = table.doc_first[document].astype(np.int64)
        lengths = table.doc_first[document + 1].astype(np.int64) - first
        rows = np.arange(int(lengths.sum())) + np.repeat(first - (np.cumsum(lengths) - lengths), lengths)
        name = table.name[rows].astype(np.int64)
        start = table.offset[rows].astype(np.int64)
        end = start + table.name_start[name + 1] - table.name_start[name] - 1
        values = (np.repeat(asked[chosen], lengths), start, end, table.kind[rows].astype(np.int64))
        for column, value in zip(columns, values, strict=True):
            column.append(value)
    return DefinitionPositions(*(np.concatenate(column) for column in columns))


def _numbers(view: CommitView, paths: Sequence[str]) -> tuple[Places, Places]:
    """Give which of the paths are in the view, and their files."""
    text = bytes(view.path_text)
    asked, places = [], []
    at = 0
    for index, path in enumerate(paths):
        line = b"\n" + path.encode(errors="replace") + b"\n"
        # Paths mostly come in order, so that looking on from the last place reads all of them once.
        found = text.find(line, at)
        if found < 0:
            found = text.find(line, 0, at + len(line))
        if found >= 0:
            asked.append(index)
            places.append(found + 1)
            at = found
    starts = np.array(places, dtype=np.uint32)
    return np.array(asked, dtype=np.int64), np.searchsorted(view.path_start, starts).astype(np.int64)


def _none() -> Places:
    return np.zeros(0, dtype=np.int64)
