"""Look up the positions of all definitions in given files, to rank matches that are definitions first.

Definitions are found in the background after a repository is opened. Ranking by those that are known would let
``count:5`` keep other matches a second later. So a search of which a limit leaves something out waits for those of the
files it ranks, and says so where it could not wait long enough.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SourcelightError
from sourcelight.engines.search.index.view import NO_SHARD, CommitView
from sourcelight.engines.search.model import SearchPart, Target
from sourcelight.engines.search.store import IndexStore

UNRANKED = "unranked"
"""Why a file is among `SearchPart.skipped`: it was ranked without its definitions."""

WaitForDefinitions = Callable[[Sequence[Target], Cancellation, float], Iterable[int]]
"""Waits for the definitions of some targets, the given seconds at most."""


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


@dataclass(slots=True)
class RankedDefinitions:
    """The definitions of a search's places.

    Parameters
    ----------
    store
        Where they are stored.
    targets
        What is searched, by place.
    wait
        Waits for definitions that are being found; None: there is nobody to find them.
    cancellation
        Ends waiting.
    wait_s
        Seconds that a search may wait for all of its places together.
    note
        Called with the places that were ranked without definitions though a limit cuts.
    """

    store: IndexStore
    targets: Mapping[tuple[str, str], Target]
    wait: WaitForDefinitions | None
    cancellation: Cancellation
    wait_s: float
    note: Callable[[SearchPart], None]
    _awaited: set[tuple[str, str]] = field(init=False, default_factory=set)
    _late: set[tuple[str, str]] = field(init=False, default_factory=set)
    _waited_s: float = field(init=False, default=0.0)

    def complete(self, places: Collection[tuple[str, str]]) -> None:
        """Wait for the definitions of `places`, of whose matches a limit keeps only the best."""
        fresh = [place for place in places if place not in self._awaited]
        self._awaited.update(fresh)
        missing = [place for place in fresh if not self.store.symbols_current(self.targets[place])]
        if not missing or self.wait is None:
            return
        started_s = time.monotonic()
        for _ in self.wait([self.targets[place] for place in missing], self.cancellation, self.wait_s - self._waited_s):
            pass
        self._waited_s = min(self._waited_s + time.monotonic() - started_s, self.wait_s)
        # Where waiting ended before its time there is nothing to wait for: the definitions can't be found.
        if self._waited_s >= self.wait_s or self.cancellation.stopped:
            self._late.update(missing)

    def positions(self, repository: str, revision: str, paths: Sequence[str]) -> DefinitionPositions | None:
        """Return the definitions in some files; None while some of the repository are not known."""
        place = repository, revision
        positions = definition_positions(self.store, self.targets[place], paths)
        if positions is None and place in self._late:
            self.note(SearchPart(skipped={repository: {UNRANKED: len(paths)}}))
        return positions


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
