"""Evaluating a query file by file: candidates first, then patterns in the order of their cost, in growing batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.patterns.halting import Stopped, check
from sourcelight.engines.search.index.shard import UNIT_BYTES, Shard
from sourcelight.engines.search.index.view import NO_SHARD, Placement
from sourcelight.engines.search.scan.candidates import candidate_units
from sourcelight.engines.search.scan.hits import NO_HITS, Hits, find_hits, merge_hits
from sourcelight.engines.search.scan.plan import Plan
from sourcelight.engines.search.scan.snapshot import Mask, PathHits, Snapshot

_FIRST_UNITS, _LEAST_UNITS, _LARGEST_UNITS, _GROWTH = 64, 4, 1024, 4
_COMMON_BYTES = 2 * UNIT_BYTES
_AIM_S, _LONG_S = 0.05, 0.08

Places = NDArray[np.intp]


_NO_UNITS: Places = np.zeros(0, dtype=np.intp)

_ALL = np.iinfo(np.intp).max
"""Above the number of any file."""


@dataclass(slots=True)
class Pace:
    """How many units the next batch takes: few at first, so that the first rows come soon, then as many as it bears.

    A batch whose handling takes long makes the next one smaller: a search can be stopped only between batches.
    """

    units: int = _FIRST_UNITS

    def adapt(self, taken_s: float) -> None:
        """Set the size of the next batch from the CPU time that the last one took, its consumer's included."""
        if taken_s > _LONG_S:
            self.units = max(_LEAST_UNITS, int(self.units * _AIM_S / taken_s))
        elif taken_s < _AIM_S / 2:
            self.units = min(self.units * _GROWTH, _LARGEST_UNITS)


@dataclass(frozen=True, slots=True)
class Found:
    """A batch of matching files, in the order in which they are shown.

    `content_files` have spans in their content: those of `documents` (same length) in `hits`; `path_files` match by
    their path, or by what they lack. `shard` is None for files without content. Once this batch was taken, every file
    below number `settled` was searched.
    """

    shard: Shard | None
    hits: Hits
    content_files: Places
    documents: Places
    path_files: Places
    settled: int = 0


class RepositorySearch:
    """One query over one repository at one commit; it and its iterators raise `Halted` once `stopped` says so."""

    def __init__(self, snapshot: Snapshot, plan: Plan, stopped: Stopped) -> None:
        self.snapshot = snapshot
        self.plan = plan
        self._stopped = stopped
        self.filter = snapshot.filtered(plan.query.files, plan.query.languages)
        self.path_hits: list[PathHits | None] = [
            snapshot.path_hits(atom.pattern, stopped) if atom.path else None for atom in plan.atoms
        ]
        self.by_path = [hits is not None and hits.any for hits in self.path_hits]

    def found(self, pace: Pace, *, ordered: bool = False) -> Iterator[Found]:
        """Yield matching files: shard by shard, then those without content.

        If `ordered`, what stands between the files of other shards comes first (files without content, late shards),
        so that `Found.settled` rises steadily over the rest.
        """
        if self.filter is not None and not self.filter.any():
            return
        snapshot = self.snapshot
        candidates = [self._candidates(shard) for shard in snapshot.shards]
        numbers: Sequence[int] = range(len(snapshot.shards))
        if ordered:
            yield from self._nameless()
        if not any(units is not None for units in candidates):
            numbers = ()
        elif ordered:
            numbers, lowest = snapshot.remember("order", lambda: _order(snapshot))
        for place, number in enumerate(numbers):
            units = candidates[number]
            if units is None:
                continue
            below, later = None, 0
            if ordered:
                below = lowest[number]
                later = min((int(lowest[n][0]) for n in numbers[place + 1 :] if len(lowest[n])), default=_ALL)
            shard = _ShardSearch(self, snapshot.shards[number], snapshot.placement(number), units, self._stopped)
            for found in shard.found(pace, below, later):
                if len(found.content_files) or len(found.path_files):
                    yield found
            check(self._stopped)
        if not ordered:
            yield from self._nameless()

    def _candidates(self, shard: Shard) -> list[Places] | None:
        """Give the units of a shard that may hold a match of each atom; None where the tree can't hold in any file."""
        known: dict[int, Places] = {}

        def units(number: int) -> Places:
            if number not in known:
                check(self._stopped)
                atom = self.plan.atoms[number]
                found = candidate_units(shard, atom.pattern) if atom.content else _NO_UNITS
                known[number] = np.arange(shard.units) if found is None else found
            return known[number]

        if not self.plan.possible(lambda number: self.by_path[number] or len(units(number)) > 0):
            return None
        return [units(number) for number in range(len(self.plan.atoms))]

    def _nameless(self) -> Iterator[Found]:
        if not self.plan.possible(self.by_path.__getitem__):
            return
        files = self.snapshot.remember("nameless", lambda: np.flatnonzero(self.snapshot.view.shard == NO_SHARD))
        if self.filter is not None:
            files = files[self.filter[files]]
        if len(files):
            values = [self.in_path(number, files) for number in range(len(self.plan.atoms))]
            files = files[self.plan.true_files(values, len(files))]
        if len(files):
            none = np.zeros(0, dtype=np.intp)
            yield Found(None, NO_HITS, none, none, files)

    def in_path(self, atom: int, files: Places) -> Mask:
        """Tell which of the files an atom matches by path."""
        hits = self.path_hits[atom]
        return np.zeros(len(files), dtype=np.bool_) if hits is None else hits.held[files]


class _ShardSearch:
    def __init__(
        self, search: RepositorySearch, shard: Shard, placement: Placement, units: list[Places], stopped: Stopped
    ) -> None:
        self._units = units
        self._plan = search.plan
        self._shard = shard
        self._stopped = stopped
        self._files, self._documents = placement.files, placement.documents
        self._sorted = placement.one_to_one
        if search.filter is not None:
            passed = search.filter[self._files]
            self._files, self._documents = self._files[passed], self._documents[passed]
        none = np.zeros(len(self._files), dtype=np.bool_)
        self._in_path = [
            search.in_path(number, self._files) if any_path else none for number, any_path in enumerate(search.by_path)
        ]

    def found(self, pace: Pace, lowest: Places | None = None, later: int = 0) -> Iterator[Found]:
        if not len(self._files):
            return
        shard, plan = self._shard, self._plan
        units = self._units
        upper: list[Mask] = []
        for number, possible in enumerate(units):
            if not len(possible):
                upper.append(self._in_path[number])
                continue
            held = np.zeros(shard.documents, dtype=np.bool_)
            held[shard.unit_doc[possible]] = True
            upper.append(self._in_path[number] | held[self._documents])
        alive = plan.possible_files(self._in_path, upper, len(self._files))
        if not alive.any():
            return
        alive_documents = np.zeros(shard.documents, dtype=np.bool_)
        alive_documents[self._documents[alive]] = True
        units = [part[alive_documents[shard.unit_doc[part]]] for part in units]
        for first, last in self._batches(units, pace):
            check(self._stopped)
            batch = self._batch(units, first, last)
            if lowest is not None:
                rest = int(lowest[last]) if last < len(lowest) else _ALL
                batch = replace(batch, settled=min(rest, later))
            yield batch

    def _batches(self, units: list[Places], pace: Pace) -> Iterator[tuple[int, int]]:
        """Cut the documents into runs of about as many candidate units, of common size, as `pace` says."""
        together = units[0] if len(units) == 1 else _union(units, self._shard.units)
        starts = self._shard.unit_start.astype(np.int64)
        sizes = np.cumsum(starts[together + 1] - starts[together])
        at = first = 0
        while True:
            room = (int(sizes[at - 1]) if at else 0) + pace.units * _COMMON_BYTES
            most = max(at + 1, int(np.searchsorted(sizes, room, side="right")))
            if min(at + pace.units, most) >= len(together):
                break
            at = min(at + pace.units, most)
            last = int(self._shard.unit_doc[together[at - 1]]) + 1
            at = int(np.searchsorted(together, int(self._shard.doc_unit[last])))
            began = time.thread_time()
            yield first, last
            first = last
            pace.adapt(time.thread_time() - began)
        if first < self._shard.documents:
            began = time.thread_time()
            yield first, self._shard.documents
            if len(together) - at > pace.units // 2:
                pace.adapt(time.thread_time() - began)

    def _batch(self, units: list[Places], first: int, last: int) -> Found:
        """Evaluate the files of the documents first ≤ d < last."""
        shard, plan = self._shard, self._plan
        lo, hi = np.searchsorted(self._documents, (first, last)).tolist()
        files, documents = self._files[lo:hi], self._documents[lo:hi]
        bounds = shard.doc_unit[[first, last]].tolist()
        parts = [part[slice(*np.searchsorted(part, bounds).tolist())] for part in units]
        lower = [held[lo:hi] for held in self._in_path]
        upper = [
            low | _holds(shard.unit_doc[part], first, last)[documents - first] if len(part) else low
            for low, part in zip(lower, parts, strict=True)
        ]
        hits: dict[int, Hits] = {}
        for number in sorted(range(len(plan.atoms)), key=lambda number: len(parts[number])):
            part = parts[number]
            if not len(part):
                continue
            if not plan.single:
                alive = np.zeros(last - first, dtype=np.bool_)
                alive[documents[plan.possible_files(lower, upper, len(files))] - first] = True
                part = part[alive[shard.unit_doc[part] - first]]
            found = find_hits(shard, plan.atoms[number].pattern, part, self._stopped)
            held = _holds(shard.docs_of(found.start), first, last) if len(found) else None
            exact = lower[number] if held is None else lower[number] | held[documents - first]
            lower[number] = upper[number] = exact
            if number in plan.shown:
                hits[number] = found
        true = plan.true_files(lower, len(files))
        return self._show(merge_hits(list(hits.values())), files[true], documents[true])

    def _show(self, hits: Hits, files: Places, documents: Places) -> Found:
        none = np.zeros(0, dtype=np.intp)
        if not len(hits) or not len(files):
            return Found(self._shard, NO_HITS, none, none, files if self._sorted else np.sort(files))
        in_content = np.zeros(self._shard.documents, dtype=np.bool_)
        hit_documents = self._shard.docs_of(hits.start)
        in_content[hit_documents] = True
        held = in_content[documents]
        content_files, content_documents, path_files = files[held], documents[held], files[~held]
        true_documents = np.zeros(self._shard.documents, dtype=np.bool_)
        true_documents[content_documents] = True
        hits = hits.chosen(true_documents[hit_documents])
        if not self._sorted:
            order = np.argsort(content_files, kind="stable")
            content_files, content_documents = content_files[order], content_documents[order]
            path_files = np.sort(path_files)
        return Found(self._shard, hits, content_files, content_documents, path_files)


def _order(snapshot: Snapshot) -> tuple[list[int], list[Places]]:
    """The shards as `_late_first` puts them, and `_lowest_from` of each."""
    placements = [snapshot.placement(number) for number in range(len(snapshot.shards))]
    lowest = [_lowest_from(placement) for placement in placements]
    return _late_first(list(range(len(placements))), lowest, placements), lowest


def _lowest_from(placement: Placement) -> Places:
    """For each document, the lowest file of it and of all after it."""
    lowest = np.full(len(placement.first), _ALL, dtype=np.intp)
    if len(placement.files):
        from_here = np.minimum.accumulate(placement.files[::-1])[::-1]
        held = placement.first < len(placement.files)
        lowest[held] = from_here[placement.first[held]]
    return lowest


def _late_first(numbers: list[int], lowest: list[Places], placements: list[Placement]) -> list[int]:
    """Shards whose files stand between those of an earlier one, then the others in their order."""
    late, steady, last = [], [], -1
    for number in numbers:
        placement = placements[number]
        if not len(placement.files):
            continue
        owners = placement.first[:-1][np.diff(placement.first) > 0]
        if int(lowest[number][0]) > last:
            steady.append(number)
            last = int(placement.files[owners].max())
        else:
            late.append(number)
    return late + steady


def _holds(documents: NDArray[Any], first: int, last: int) -> Mask:
    held = np.zeros(last - first, dtype=np.bool_)
    held[documents - first] = True
    return held


def _union(parts: list[Places], size: int) -> Places:
    held = np.zeros(size, dtype=np.bool_)
    for part in parts:
        held[part] = True
    return np.flatnonzero(held)
