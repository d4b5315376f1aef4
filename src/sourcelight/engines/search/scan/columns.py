"""The columns that say where rows are: repository, revision, commit, path, language, and the spans in paths.

Matching files as they are found, for a reader who wants no columns.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches import raw_matches
from sourcelight.core.batches.raw_matches import RawMatches
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.corpus import LONG, Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch, runs
from sourcelight.engines.search.scan.spans import MatchedLines, without_overlaps
from sourcelight.engines.search.scan.text import binary_of, code_points, column, strings_of, taken, texts_of

Places = NDArray[np.int64]

_FEW = 32
"""Texts up to which slices of Python are cheaper than a kernel."""


@dataclass(frozen=True, slots=True)
class CollectedBatches:
    """Batches, and how many matches and files they hold."""

    batches: tuple[Any, ...] = ()
    matches: int = 0
    files: int = 0


NOTHING = CollectedBatches()


@dataclass
class BatchSource:
    """One query over a fleet, as far as rows tell of it: `targets` and their `commits` are those of its members."""

    search: CorpusSearch
    targets: Sequence[Target]
    commits: Sequence[str]
    _spans: tuple[Places, Places, Places] | None = field(init=False, default=None)
    _spans_known: bool = field(init=False, default=False)

    @property
    def fleet(self) -> Corpus:
        """The fleet."""
        return self.search.fleet

    @functools.cached_property
    def places(self) -> list[raw_matches.RepositoryRevision]:
        """Where the files of each member are."""
        return [
            raw_matches.RepositoryRevision(
                target.repository.facts.name, target.repository.facts.id, target.revision, commit
            )
            for target, commit in zip(self.targets, self.commits, strict=True)
        ]

    @property
    def name_spans(self) -> tuple[Places, Places, Places] | None:
        """All spans in paths as (file, start, end) in bytes, sorted, overlaps removed; None without any."""
        if not self._spans_known:
            self._spans, self._spans_known = self._name_spans(), True
        return self._spans

    def _name_spans(self) -> tuple[Places, Places, Places] | None:
        shown = self.search.plan.shown
        parts = [
            hits
            for number, hits in enumerate(self.search.path_hits)
            if hits is not None and number in shown and len(hits.file)
        ]
        if not parts:
            return None
        file = np.concatenate([hits.file for hits in parts])
        start = np.concatenate([hits.start for hits in parts])
        end = np.concatenate([hits.end for hits in parts])
        if len(parts) > 1:
            base = self.fleet.paths.begin[file]
            order = np.lexsort((-end, start, file))
            kept = order[without_overlaps((base + start)[order], (base + end)[order])]
            file, start, end = file[kept], start[kept], end[kept]
        return file, start, end


@dataclass(frozen=True, slots=True)
class FilePlace:
    """Files of one source, and how many rows each has."""

    source: BatchSource
    files: Places
    lengths: Places


def where_columns(place: FilePlace, kinds: Sequence[str], kind: NDArray[np.int8] | None) -> dict[str, Any]:
    """Make the columns; `kind` says for each row which of `kinds` it is, None for the first."""
    import pyarrow as pa

    lengths, source, fleet = place.lengths, place.source, place.source.fleet
    count = int(lengths.sum())
    codes = np.zeros(count, dtype=np.int8) if kind is None else kind
    columns: dict[str, Any] = {"type": pa.DictionaryArray.from_arrays(column(codes), strings_of(kinds))}
    members = fleet.member_of(place.files)
    present, of_file = (members[:1], None) if (members == members[0]).all() else _distinct(members, len(fleet.members))
    of_row = np.zeros(count, np.int32) if of_file is None else np.repeat(of_file.astype(np.int32), lengths)
    chosen = [(source.targets[number], source.commits[number]) for number in present.tolist()]
    values = [(target.repository.facts.name, target.revision, commit) for target, commit in chosen]
    for at, name in enumerate(("repository", "revision", "commit")):
        # An index per distinct text, since readers take equal numbers, and those alone, for equal texts.
        numbers: dict[str, int] = {}
        own = [numbers.setdefault(value[at], len(numbers)) for value in values]
        rows = of_row if len(numbers) == len(own) else np.array(own, dtype=np.int32)[of_row]
        columns[name] = pa.DictionaryArray.from_arrays(column(rows), strings_of(list(numbers)))
    ids = np.array([target.repository.facts.id for target, _ in chosen], dtype=np.int32)
    columns["repository_id"] = column(ids[of_row])
    paths = texts_of(_path_bytes(fleet, place.files)).strings
    of_path = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    if of_file is not None:
        distinct = paths.dictionary_encode()  # a path may stand in several repositories, and readers want it once
        if len(distinct.dictionary) < len(paths):
            paths, of_path = distinct.dictionary, np.asarray(distinct.indices)[of_path]
    columns["path"] = pa.DictionaryArray.from_arrays(column(of_path), paths)
    columns["language"] = _languages(fleet, place.files, lengths)
    return columns


def name_columns(place: FilePlace) -> dict[str, Any]:
    """Make the columns of spans in each file's path, repeated on each of its rows, in code points."""
    import pyarrow as pa

    count = int(place.lengths.sum())
    spans = place.source.name_spans
    offsets = np.zeros(count + 1, dtype=np.int32)
    starts = ends = np.zeros(0, dtype=np.int64)
    if spans is not None:
        file, start, end = spans
        low = file.searchsorted(place.files)
        held = file.searchsorted(place.files, side="right") - low
        if held.any():
            if place.source.fleet.paths.beyond_ascii[place.files].any():
                start, end = in_code_points(place, spans)
            low, held = np.repeat(low, place.lengths), np.repeat(held, place.lengths)
            order = runs(low, held)
            np.cumsum(held, out=offsets[1:])
            starts, ends = start[order], end[order]
    shared = column(offsets)
    return {
        "name_start": pa.ListArray.from_arrays(shared, column(starts.astype(np.int32))),
        "name_end": pa.ListArray.from_arrays(shared, column(ends.astype(np.int32))),
    }


def in_code_points(place: FilePlace, spans: tuple[Places, Places, Places]) -> tuple[Places, Places]:
    """Turn spans in paths, in bytes, to code points: those in the paths of the files at hand."""
    file, start, end = spans
    files = np.unique(place.files)
    chosen = np.flatnonzero(np.isin(file, files))
    texts = texts_of(_path_bytes(place.source.fleet, files))
    row = files.searchsorted(file[chosen])
    start, end = start.copy(), end.copy()
    start[chosen], end[chosen] = (code_points(texts, row, at[chosen]) for at in (start, end))
    return start, end


def _distinct(codes: NDArray[Any], size: int) -> tuple[Places, NDArray[Any]]:
    """The codes that occur, in order of first appearance for sorted ones, and for each code its place among them."""
    seen = np.zeros(size, dtype=np.bool_)
    seen[codes] = True
    present = np.flatnonzero(seen)
    place = np.zeros(size, dtype=np.int64)
    place[present] = np.arange(len(present))
    return present, place[codes]


def _languages(fleet: Corpus, files: Places, lengths: Places) -> Any:
    import pyarrow as pa

    present, of_file = _distinct(fleet.language[files], len(fleet.languages))
    names: dict[str, int] = {}
    own = np.array([names.setdefault(fleet.languages[code][0], len(names)) for code in present.tolist()], np.int32)
    codes = np.repeat(own[of_file], lengths)
    known = np.array([bool(name) for name in names])[codes] if "" in names else None
    return pa.DictionaryArray.from_arrays(column(codes, valid=known), strings_of(list(names)))


def _path_bytes(fleet: Corpus, files: Places) -> Any:
    """The paths of files as one Arrow binary array."""
    import pyarrow as pa

    low, high, text = fleet.paths.begin[files], fleet.paths.end[files], fleet.raw_paths
    if len(files) > _FEW and bool((files[1:] > files[:-1]).all()):
        return taken(pa.py_buffer(text), low, high)
    view = memoryview(text)
    data = b"".join([view[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)])
    return binary_of(high - low, data)


def found_lines(
    place: FilePlace, in_content: NDArray[np.bool_], rows: MatchedLines, make: Callable[[], Any]
) -> RawMatches:
    """Put together what is known of some files, of which those `in_content` have the `rows`; `make` makes columns."""
    fleet, files = place.source.fleet, place.files
    members = fleet.member_of(files)
    paths = fleet.paths
    view = memoryview(fleet.raw_paths)
    bounds = zip(paths.begin[files].tolist(), paths.end[files].tolist(), strict=True)
    begin, stop = rows.begin, rows.stop
    documents = fleet.docs_of(begin)
    return RawMatches(
        places=place.source.places,
        languages=fleet.language_names,
        in_content=in_content,
        place=members,
        language=fleet.language[files],
        paths=[bytes(view[low:high]) for low, high in bounds],
        names=_names(place),
        lengths=place.lengths,
        numbers=rows.line - fleet.doc_line[documents] + 1,
        sizes=stop - begin,
        counts=np.diff(rows.first),
        matches=rows.count,
        starts=rows.start,
        ends=rows.end,
        data=bytes(data_of(fleet, begin, stop + 1)),
        make=make,
    )


def _names(place: FilePlace) -> dict[int, list[tuple[int, int]]]:
    """The spans in the path of each file that has any, in code points."""
    spans = place.source.name_spans
    if spans is None:
        return {}
    file, start, end = spans
    low = file.searchsorted(place.files)
    high = file.searchsorted(place.files, side="right")
    held = np.flatnonzero(high > low)
    if not len(held):
        return {}
    if place.source.fleet.paths.beyond_ascii[place.files].any():
        start, end = in_code_points(place, spans)
    return {
        at: list(zip(start[first:last].tolist(), end[first:last].tolist(), strict=True))
        for at, first, last in zip(held.tolist(), low[held].tolist(), high[held].tolist(), strict=True)
    }


def data_of(fleet: Corpus, begin: Places, stop: Places) -> Any:
    """The bytes of lines, one after another."""
    if bool((begin[1:] > begin[:-1]).all()):
        return fleet.data(begin, stop)
    if int((stop - begin).sum()) > LONG * len(begin):
        return b"".join(fleet.buffers.slices(np.stack((begin, stop), axis=1)))
    needed, back = np.unique(begin, return_inverse=True)
    ends = np.empty(len(needed), dtype=np.int64)
    ends[back] = stop
    return binary_of(ends - needed, fleet.data(needed, ends)).take(column(back.astype(np.int32))).buffers()[2] or b""
