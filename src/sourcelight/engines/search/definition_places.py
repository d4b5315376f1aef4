"""Where the definitions of given files stand, for whoever ranks matches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.view import NO_SHARD
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.store import IndexStore
from sourcelight.engines.symbols import KINDS, SymbolTable

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class DefinitionPlaces:
    """Names of definitions: the file of each (an index into the paths asked for), its bytes in the file, its kind."""

    file: Places
    start: Places
    end: Places
    kind: tuple[str, ...]


def definition_places(store: IndexStore, target: Target, paths: Sequence[str]) -> DefinitionPlaces | None:
    """Give the places of all definitions in the files `paths`, by file and place; None when not all are known yet."""
    try:
        if not store.symbols_current(target):
            return None
        snapshot, _, tables = store.open_symbols(target)
    except (SourcelightError, OSError):
        return None
    view = snapshot.view
    text = bytes(view.path_text)
    found: list[tuple[int, SymbolTable, int, int]] = []
    at = 0
    for index, path in enumerate(paths):
        line = b"\n" + path.encode(errors="replace") + b"\n"
        # Paths mostly come in order, so that looking on from the last place reads all of them once.
        at = max(text.find(line, at), 0) or text.find(line)
        if at < 0:
            at = 0
            continue
        number = int(np.searchsorted(view.path_start, at + 1))
        if view.shard[number] == NO_SHARD:
            continue
        table = tables[int(view.shard[number])]
        if table is None:
            continue
        document = int(view.document[number])
        first, last = int(table.doc_first[document]), int(table.doc_first[document + 1])
        if last > first:
            found.append((index, table, first, last))
    if not found:
        return DefinitionPlaces(_none(), _none(), _none(), ())
    files, starts, ends, kinds = [], [], [], []
    for index, table, first, last in found:
        name = table.name[first:last].astype(np.int64)
        start = table.offset[first:last].astype(np.int64)
        files.append(np.full(last - first, index, dtype=np.int64))
        starts.append(start)
        ends.append(start + table.name_start[name + 1] - table.name_start[name] - 1)
        kinds += [KINDS[code] for code in table.kind[first:last].tolist()]
    return DefinitionPlaces(np.concatenate(files), np.concatenate(starts), np.concatenate(ends), tuple(kinds))


def _none() -> Places:
    return np.zeros(0, dtype=np.int64)
