"""Evaluating a query file by file: candidates first, then patterns in the order of their cost, in growing batches."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, check
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.engines.search.index.shard import UNIT_BYTES
from sourcelight.engines.search.model import PreparedQuery
from sourcelight.engines.search.scan.candidates import candidate_units
from sourcelight.engines.search.scan.corpus import Corpus, FileSelection
from sourcelight.engines.search.scan.paths import Mask, PathSpans, unique_sorted
from sourcelight.engines.search.scan.spans import NO_HITS, Spans, concatenated, find_hits, merge_hits

_FIRST_UNITS, _LEAST_UNITS, _LARGEST_UNITS, _GROWTH = 64, 4, 8192, 4
_COMMON_BYTES = 2 * UNIT_BYTES
_AT_ONCE = 2
"""Batches' worth of units that make one, when they are the last."""
_AIM_S, _LONG_S = 0.05, 0.08
_PROBED = 16
_MOST_DOCUMENTS = 16_384
"""Documents of a batch where each may be a row by its path alone."""
_FEW_UNITS, _FEW_HITS = 4096, 20_000
"""Candidates of a pattern, and its spans, that are remembered: what runs again over the same commits reads no text."""

Places = NDArray[np.int64]

_NO_PLACES: Places = np.zeros(0, dtype=np.int64)


@dataclass(slots=True)
class BatchSizer:
    """How many units the next batch takes: few at first, so that the first rows come soon, then as many as it bears.

    A batch whose handling takes long makes the next one smaller: a search can be stopped only between batches. Where
    `whole` says that one batch should be enough, few come first all the same if it is not: then `large`.
    """

    units: int = _FIRST_UNITS
    whole: bool = False
    large: bool = False

    def begin(self, units: int) -> None:
        """Know how many units there are."""
        if self.whole and units > _AT_ONCE * self.units:
            self.units, self.large = _FIRST_UNITS, True
        self.whole = False

    def adapt(self, taken_s: float) -> None:
        """Set the size of the next batch from the CPU time that the last one took, its consumer's included."""
        if taken_s > _LONG_S:
            self.units = max(_LEAST_UNITS, int(self.units * _AIM_S / taken_s))
        elif taken_s < _AIM_S / 2:
            self.units = min(self.units * _GROWTH, _LARGEST_UNITS)


@dataclass(frozen=True, slots=True)
class FileMatches:
    """A batch of matching files, in the order in which they are shown.

    `content_files` have spans in their content: those of `documents` (same length) in `hits`; `path_files` match by
    their path, or by what they lack. Once this batch was taken, every file below number `settled` was searched.
    """

    hits: Spans
    content_files: Places
    documents: Places
    path_files: Places
    settled: int


@dataclass(frozen=True, slots=True)
class DocumentRange:
    """Documents ``first:last``, the next to be evaluated; those of `units` may hold a match, for each atom."""

    first: int
    last: int
    units: list[Places]


@dataclass(slots=True)
class _KnownSpans:
    """What earlier searches learned of a pattern in the files that pass some filters: nothing of it ever changes.

    The units that may hold a match, if they are few; once a search has read them all, where it is, if not too often.
    """

    units: Places | None = None
    hits: Spans | None = None

    def learn(self, fleet: Corpus, hits: Spans) -> None:
        """Keep all that there is."""
        self.units = unique_sorted(fleet.unit_start.searchsorted(hits.start, side="right") - 1)
        self.hits = hits

    def within(self, fleet: Corpus, batch: DocumentRange) -> Spans | None:
        """What stands in the documents of a batch; None where they must be read."""
        if self.hits is None or (not batch.first and batch.last == fleet.documents):
            return self.hits
        last = batch.last - 1
        bounds = fleet.doc_start[batch.first], fleet.doc_start[last] + fleet.doc_size[last]
        return self.hits.between(*self.hits.start.searchsorted(bounds).tolist())


@dataclass(slots=True)
class _Learning:
    """Brings together what the batches of one search give, as long as it is not too much and none is left out."""

    known: _KnownSpans
    parts: list[Spans] = field(default_factory=list)
    size: int = 0
    upto: int = 0

    def add(self, fleet: Corpus, batch: DocumentRange, hits: Spans) -> None:
        """Take what was found in the batch that comes next."""
        self.size += len(hits)
        if batch.first != self.upto or self.size > _FEW_HITS:
            self.upto = -1
            self.parts.clear()
            return
        self.parts.append(hits)
        self.upto = batch.last
        if batch.last == fleet.documents:
            self.known.learn(fleet, concatenated(self.parts))


class CorpusSearch:
    """One query over a fleet; it and its iterators raise `Halted` once `stopped` says so."""

    def __init__(self, fleet: Corpus, plan: PreparedQuery, stopped: Stopped) -> None:
        self.fleet = fleet
        self.plan = plan
        self.stopped = stopped
        fleet.check_sizes()
        self.selection = fleet.selection(plan.query.files, plan.query.languages)
        self.path_hits: list[PathSpans | None] = [
            fleet.path_hits(atom.pattern, stopped) if atom.path else None for atom in plan.atoms
        ]
        self.by_path = [hits is not None and hits.any for hits in self.path_hits]
        self._in_path: list[Mask] = []
        self._places: Places | None = None
        self._learning: _Learning | None = None
        self._highest: int | None = None

    def found(self, pace: BatchSizer) -> Iterator[FileMatches]:
        """Yield matching files: those without content, then the others in order of their documents."""
        nameless = self.nameless()
        if len(nameless):
            yield FileMatches(NO_HITS, _NO_PLACES, _NO_PLACES, nameless, 0)
        for batch in self.batches(pace):
            found = self.evaluated(batch)
            if len(found.content_files) or len(found.path_files):
                yield found

    def nameless(self) -> Places:
        """Give the files without content that match."""
        files = self.selection.nameless
        if not len(files) or not self.plan.possible(self.by_path.__getitem__):
            return _NO_PLACES
        values = [self.in_path(number, files) for number in range(len(self.plan.atoms))]
        return files[self.plan.true_files(values, len(files))]

    def in_path(self, atom: int, files: Places) -> Mask:
        """Tell which of the files an atom matches by path."""
        hits = self.path_hits[atom]
        return np.zeros(len(files), dtype=np.bool_) if hits is None or not hits.any else hits.held[files]

    def batches(self, pace: BatchSizer) -> Iterator[DocumentRange]:
        """Cut the documents that may match into runs of about as many candidate units as `pace` says."""
        if not len(self.selection.files):
            return
        units = self.units()
        if units is None:
            return
        fleet = self.fleet
        if not self._simple:
            none = np.zeros(len(self.selection.files), dtype=np.bool_)
            self._in_path = [
                self.in_path(number, self.selection.files) if any_path else none
                for number, any_path in enumerate(self.by_path)
            ]
            units = self._alive(units)
        elif not self.selection.whole:
            units = [part[self.selection.in_documents[fleet.unit_doc[part]]] for part in units]
        together, documents, sizes, whole = self._together(units)
        fleet.check_content(together)
        highest = self._highest
        wide = not self._simple or (self.by_path[0] and self._many_paths)
        at = first = 0
        pace.begin(len(together))
        while first < fleet.documents:
            check(self.stopped)
            room = (int(sizes[at - 1]) if at else 0) + pace.units * _COMMON_BYTES
            most = max(at + 1, int(sizes.searchsorted(room, side="right")))
            upto = min(at + pace.units, most)
            if (
                len(together) - at <= _AT_ONCE * pace.units
                and whole <= room + (_AT_ONCE - 1) * pace.units * _COMMON_BYTES
            ):
                upto = len(together)
            last = fleet.documents if upto >= len(together) else int(documents[upto - 1]) + 1
            if wide:
                last = min(last, first + _MOST_DOCUMENTS)
            stop = int(documents.searchsorted(last))
            began = time.thread_time()
            yield DocumentRange(first, last, [_between(fleet.unit_doc[part], part, first, last) for part in units])
            if last < fleet.documents or stop - at > pace.units // 2:
                pace.adapt(time.thread_time() - began)
            first, at = last, stop
            if self._highest != highest and self._highest is not None:
                highest = self._highest
                units = self._up_to(units, highest, first)
                together, documents, sizes, whole = self._together(units)
                at = 0
            if highest is not None and self.selection.settled(first) > highest:
                return

    def _together(self, units: list[Places]) -> tuple[Places, Places, Places, int]:
        """The units of all atoms, their documents, their bytes added up, and all of their bytes."""
        fleet = self.fleet
        together = units[0] if len(units) == 1 else _union(units, fleet.units)
        sizes = np.cumsum(fleet.unit_end[together] - fleet.unit_start[together])
        return together, fleet.unit_doc[together], sizes, int(sizes[-1]) if len(sizes) else 0

    def skip_above(self, file: int) -> None:
        """Read no further content of files with a higher number; what `batches` gives from now on keeps to it."""
        self._highest = file

    def _up_to(self, units: list[Places], highest: int, first: int) -> list[Places]:
        """The units from a document on that hold a file with no higher number."""
        if self._learning is not None and self._learning.known.hits is None:
            self._learning = None  # it would take what is left out for what does not match
        lowest, unit_doc = self.selection.lowest_of_documents, self.fleet.unit_doc
        return [part[(unit_doc[part] >= first) & (lowest[unit_doc[part]] <= highest)] for part in units]

    @property
    def _simple(self) -> bool:
        return self.plan.single

    @property
    def _many_paths(self) -> bool:
        hits = self.path_hits[0]
        return hits is not None and len(hits.file) > _MOST_DOCUMENTS

    def units(self) -> list[Places] | None:
        """Give the units that may hold a match of each atom; None where the tree can't hold by any content."""
        known: dict[int, Places] = {}

        def units(number: int) -> Places:
            if number not in known:
                check(self.stopped)
                known[number] = self.units_of(number)
            return known[number]

        if not self.plan.possible(lambda number: self.by_path[number] or len(units(number)) > 0):
            return None
        return [units(number) for number in range(len(self.plan.atoms))]

    def units_of(self, atom: int, chosen: FileSelection | None = None) -> Places:
        """Give the units of chosen files (None: of those that pass the filters) that may hold a match of one atom."""
        wanted = self.plan.atoms[atom]
        if not wanted.content:
            return _NO_PLACES
        if chosen is not None:
            return self._candidates(wanted.pattern, chosen)
        query = self.plan.query
        known = self.fleet.learned.remember((wanted.pattern, query.files, query.languages), _KnownSpans)
        if self.plan.single and not wanted.pattern.multi_line:  # what crosses lines stands in several units
            self._learning = _Learning(known)
        units = known.units
        if units is None:
            units = self._candidates(wanted.pattern, self.selection)
            known.units = units if len(units) <= _FEW_UNITS else None
        return units

    def _candidates(self, pattern: CompiledPattern, chosen: FileSelection) -> Places:
        found = candidate_units(self.fleet, pattern, chosen)
        return np.arange(self.fleet.units) if found is None else found

    def to_read(self, units: list[Places]) -> Places:
        """Give those of the units of all atoms that must be read."""
        if not units or not len(self.selection.files):
            return _NO_PLACES
        self._in_path = [self.in_path(number, self.selection.files) for number in range(len(self.plan.atoms))]
        return _union(self._alive(units), self.fleet.units)

    def _alive(self, units: list[Places]) -> list[Places]:
        """Leave out the units of documents for whose files the tree can't hold."""
        fleet, chosen = self.fleet, self.selection
        upper: list[Mask] = []
        for number, possible in enumerate(units):
            if not len(possible):
                upper.append(self._in_path[number])
                continue
            held = np.zeros(fleet.documents, dtype=np.bool_)
            held[fleet.unit_doc[possible]] = True
            upper.append(self._in_path[number] | held[chosen.documents])
        alive = np.zeros(fleet.documents, dtype=np.bool_)
        alive[chosen.documents[self.plan.possible_files(self._in_path, upper, len(chosen.files))]] = True
        return [part[alive[fleet.unit_doc[part]]] for part in units]

    def evaluated(self, batch: DocumentRange) -> FileMatches:
        """Evaluate the files of a batch."""
        return self._one_atom(batch) if self._simple else self._tree(batch)

    def _one_atom(self, batch: DocumentRange) -> FileMatches:
        chosen, settled = self.selection, self.selection.settled(batch.last)
        hits = self._hits(batch)
        if not len(hits) and not self.by_path[0]:
            return FileMatches(NO_HITS, _NO_PLACES, _NO_PLACES, _NO_PLACES, settled)
        held = unique_sorted(self.fleet.docs_of(hits.start))
        low = chosen.first[held]
        at = runs(low, chosen.first[held + 1] - low)
        files, documents = chosen.files[at], chosen.documents[at]
        path_files = _NO_PLACES
        if self.by_path[0]:
            # Files that match by path, in order of documents, without those that were found by their contents.
            places = self._path_places(batch)
            path_files = chosen.files[places[~np.isin(places, at, assume_unique=True)] if len(at) else places]
        if 0 not in self.plan.shown:
            return self._show(NO_HITS, np.concatenate((files, path_files)), _NO_PLACES, settled)
        if not chosen.in_order:
            order = np.argsort(files, kind="stable")
            files, documents, path_files = files[order], documents[order], np.sort(path_files)
        return FileMatches(hits, files, documents, path_files, settled)

    def _hits(self, batch: DocumentRange) -> Spans:
        """The spans of the only atom in a batch."""
        fleet, learning = self.fleet, self._learning
        hits = None if learning is None else learning.known.within(fleet, batch)
        if hits is None:
            hits = find_hits(fleet, self.plan.atoms[0].pattern, batch.units[0], self.stopped)
            if learning is not None:
                learning.add(fleet, batch, hits)
        return hits

    def counted(self, pace: BatchSizer) -> Iterator[tuple[Places, Places, Places]]:
        """Yield files with matches in their contents, how many each has, and files that match by path."""
        if self._counts_plain_text:
            nameless = self.nameless()
            if len(nameless):
                yield _NO_PLACES, _NO_PLACES, nameless
            for batch in self.batches(pace):
                yield self._count(batch)
            return
        for found in self.found(pace):
            start, end = self.fleet.doc_start[found.documents], self.fleet.doc_size[found.documents]
            low, high = found.hits.start.searchsorted(start), found.hits.start.searchsorted(start + end)
            yield found.content_files, high - low, found.path_files

    @property
    def _counts_plain_text(self) -> bool:
        if not self._simple or 0 not in self.plan.shown:
            return False
        pattern = self.plan.atoms[0].pattern
        return pattern.exact and not pattern.multi_line

    def _count(self, batch: DocumentRange) -> tuple[Places, Places, Places]:
        """Count a plain text in a batch: where it is common, counting takes a fraction of the time of finding."""
        chosen, units = self.selection, batch.units[0]
        held = counts = _NO_PLACES
        if len(units):
            in_documents = self._counts_of(batch)
            held = np.flatnonzero(in_documents) + batch.first
            counts = in_documents[held - batch.first]
        low = chosen.first[held]
        lengths = chosen.first[held + 1] - low
        at = runs(low, lengths)
        places = self._path_places(batch) if self.by_path[0] else _NO_PLACES
        path_files = chosen.files[places[~np.isin(places, at, assume_unique=True)]]
        return chosen.files[at], np.repeat(counts, lengths), path_files

    def _counts_of(self, batch: DocumentRange) -> Places:
        """Count the matches in each of the documents of a batch."""
        fleet, pattern, units = self.fleet, self.plan.atoms[0].pattern, batch.units[0]
        starts, ends, of_unit = fleet.unit_start[units], fleet.unit_end[units], fleet.unit_doc[units]
        apart = (starts[1:] != ends[:-1]) | (of_unit[1:] != of_unit[:-1])
        first, last = np.concatenate(([True], apart)), np.concatenate((apart, [True]))
        ranges, of_range = np.stack((starts[first], ends[last]), axis=1), of_unit[first] - batch.first
        probed = slice(0, len(ranges), len(ranges) // _PROBED + 1)
        if int(pattern.counts(fleet.buffers, ranges[probed]).sum()) > 2 * len(ranges[probed]):
            counts = np.bincount(of_range, pattern.counts(fleet.buffers, ranges), batch.last - batch.first)
            return counts.astype(np.int64)
        found = fleet.docs_of(pattern.lines(fleet.buffers, ranges, self.stopped))
        return np.bincount(found - batch.first, minlength=batch.last - batch.first)

    def _path_places(self, batch: DocumentRange) -> Places:
        """Where the files of a batch that match by path stand in the selection."""
        if self._places is None:
            hits = self.path_hits[0]
            self._places = _NO_PLACES if hits is None else self.selection.places_of(hits)
        bounds = self.selection.first[[batch.first, batch.last]]
        low, high = self._places.searchsorted(bounds).tolist()
        return self._places[low:high]

    def _tree(self, batch: DocumentRange) -> FileMatches:
        fleet, plan, chosen = self.fleet, self.plan, self.selection
        first, last = batch.first, batch.last
        lo, hi = int(chosen.first[first]), int(chosen.first[last])
        files, documents = chosen.files[lo:hi], chosen.documents[lo:hi]
        lower = [held[lo:hi] for held in self._in_path]
        upper = [
            low | _holds(fleet.unit_doc[part], first, last)[documents - first] if len(part) else low
            for low, part in zip(lower, batch.units, strict=True)
        ]
        hits: dict[int, Spans] = {}
        for number in sorted(range(len(plan.atoms)), key=lambda number: len(batch.units[number])):
            part = batch.units[number]
            if not len(part):
                continue
            alive = np.zeros(last - first, dtype=np.bool_)
            alive[documents[plan.possible_files(lower, upper, len(files))] - first] = True
            part = part[alive[fleet.unit_doc[part] - first]]
            found = find_hits(fleet, plan.atoms[number].pattern, part, self.stopped)
            held = _holds(fleet.docs_of(found.start), first, last) if len(found) else None
            exact = lower[number] if held is None else lower[number] | held[documents - first]
            lower[number] = upper[number] = exact
            if number in plan.shown:
                hits[number] = found
        true = plan.true_files(lower, len(files))
        settled = chosen.settled(last)
        return self._show(merge_hits(list(hits.values())), files[true], documents[true], settled)

    def _show(self, hits: Spans, files: Places, documents: Places, settled: int) -> FileMatches:
        if not len(hits) or not len(files):
            return FileMatches(NO_HITS, _NO_PLACES, _NO_PLACES, np.sort(files), settled)
        hit_documents = self.fleet.docs_of(hits.start)
        first, last = int(documents[0]), int(documents[-1]) + 1
        inside = (hit_documents >= first) & (hit_documents < last)
        if not inside.all():
            hits, hit_documents = hits.chosen(inside), hit_documents[inside]
        held = _holds(hit_documents, first, last)[documents - first]
        content_files, content_documents, path_files = files[held], documents[held], files[~held]
        hits = hits.chosen(_holds(content_documents, first, last)[hit_documents - first])
        if not self.selection.in_order:
            order = np.argsort(content_files, kind="stable")
            content_files, content_documents = content_files[order], content_documents[order]
            path_files = np.sort(path_files)
        return FileMatches(hits, content_files, content_documents, path_files, settled)


def runs(low: Places, lengths: Places) -> Places:
    """The numbers ``low[i]`` up to ``low[i] + lengths[i]``, one run after another."""
    if bool((lengths == 1).all()):
        return low
    total = np.cumsum(lengths)
    numbers: Places = np.arange(int(total[-1]) if len(total) else 0) + np.repeat(low - (total - lengths), lengths)
    return numbers


def _between(documents: Places, units: Places, first: int, last: int) -> Places:
    low, high = documents.searchsorted((first, last)).tolist()
    return units[low:high]


def _holds(documents: Places, first: int, last: int) -> Mask:
    held = np.zeros(last - first, dtype=np.bool_)
    held[documents - first] = True
    return held


def _union(parts: Sequence[Places], size: int) -> Places:
    held = np.zeros(size, dtype=np.bool_)
    for part in parts:
        held[part] = True
    return np.flatnonzero(held)
