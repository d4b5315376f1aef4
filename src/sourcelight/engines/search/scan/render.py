"""The columns that say where rows are: repository, revision, commit, path, language, and the spans in paths."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.evaluate import RepositorySearch
from sourcelight.engines.search.scan.hits import without_overlaps
from sourcelight.engines.search.scan.text import code_points, column, strings_of, taken, texts_of

Places = NDArray[np.int64]

_FEW = 32
"""Texts up to which slices of Python are cheaper than a kernel."""


@dataclass(frozen=True, slots=True)
class Rendered:
    """Batches, and how many matches and files they hold."""

    batches: tuple[Any, ...] = ()
    matches: int = 0
    files: int = 0


NOTHING = Rendered()


class Source:
    """One query over one repository at one commit, as far as rows tell of it."""

    def __init__(self, search: RepositorySearch, target: Target, commit: str) -> None:
        self._search = search
        self.view = search.snapshot.view
        facts = target.repository.facts
        self.id = facts.id
        self.place = (facts.name, target.revision, commit)

    @cached_property
    def name_spans(self) -> tuple[Places, Places, Places] | None:
        """All spans in paths as (file, start, end) in code points, sorted, overlaps removed; None without any."""
        parts = [
            hits
            for number, hits in enumerate(self._search.path_hits)
            if hits is not None and number in self._search.plan.shown and len(hits.file)
        ]
        if not parts:
            return None
        file = np.concatenate([hits.file for hits in parts])
        start = np.concatenate([hits.start for hits in parts])
        end = np.concatenate([hits.end for hits in parts])
        if len(parts) > 1:
            base = self.view.path_start[file].astype(np.int64)
            order = np.lexsort((-end, start, file))
            kept = order[without_overlaps((base + start)[order], (base + end)[order])]
            file, start, end = file[kept], start[kept], end[kept]
        files, row = np.unique(file, return_inverse=True)
        texts = texts_of(_path_bytes([(self, files)]))
        return file, code_points(texts, row, start), code_points(texts, row, end)


@dataclass(frozen=True, slots=True)
class Place:
    """Files of one source, and how many rows each has."""

    source: Source
    files: Places
    lengths: Places


def where_columns(places: Sequence[Place], kinds: Sequence[str], kind: NDArray[np.int8] | None) -> dict[str, Any]:
    """Make the columns; `kind` says for each row which of `kinds` it is, None for the first."""
    import pyarrow as pa

    lengths = places[0].lengths if len(places) == 1 else np.concatenate([place.lengths for place in places])
    count = int(lengths.sum())
    codes = np.zeros(count, dtype=np.int8) if kind is None else kind
    columns: dict[str, Any] = {"type": pa.DictionaryArray.from_arrays(column(codes), strings_of(kinds))}
    sources = list(dict.fromkeys(place.source for place in places))
    if len(sources) == 1:
        source_codes = np.zeros(count, dtype=np.int32)
        numbers = np.full(count, sources[0].id, dtype=np.int32)
    else:
        rank = {source: number for number, source in enumerate(sources)}
        of_place = np.array([rank[place.source] for place in places], dtype=np.int32)
        source_codes = np.repeat(of_place, [int(place.lengths.sum()) for place in places])
        numbers = np.array([source.id for source in sources], dtype=np.int32)[source_codes]
    for at, name in enumerate(("repository", "revision", "commit")):
        # An index per distinct text, since readers take equal numbers, and those alone, for equal texts.
        texts = list(dict.fromkeys(source.place[at] for source in sources))
        if len(texts) == len(sources):
            own = source_codes
        else:
            own = np.array([texts.index(source.place[at]) for source in sources], dtype=np.int32)[source_codes]
        columns[name] = pa.DictionaryArray.from_arrays(column(own), strings_of(texts))
    columns["repository_id"] = column(numbers)
    paths = texts_of(_path_bytes([(place.source, place.files) for place in places])).strings
    of_file = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    of_path = of_file
    if len(sources) > 1:
        distinct = paths.dictionary_encode()  # a path may stand in several repositories, and readers want it once
        paths, of_path = distinct.dictionary, np.asarray(distinct.indices)[of_file]
    columns["path"] = pa.DictionaryArray.from_arrays(column(of_path), paths)
    columns["language"] = _languages(places, of_file)
    return columns


def name_columns(places: Sequence[Place]) -> dict[str, Any]:
    """Make the columns of spans in each file's path, repeated on each of its rows."""
    import pyarrow as pa

    count = sum(int(place.lengths.sum()) for place in places)
    if all(place.source.name_spans is None for place in places):
        offsets = np.zeros(count + 1, dtype=np.int32)
        starts = ends = np.zeros(0, dtype=np.int32)
    else:
        per_row: list[Places] = []
        low_parts, high_parts = [], []
        for place in places:
            spans = place.source.name_spans
            if spans is None:
                per_row.append(np.zeros(int(place.lengths.sum()), dtype=np.int64))
                continue
            file, start, end = spans
            low = file.searchsorted(place.files)
            held = file.searchsorted(place.files, side="right") - low
            low, held = np.repeat(low, place.lengths), np.repeat(held, place.lengths)
            order = runs(low, held)
            per_row.append(held)
            low_parts.append(start[order])
            high_parts.append(end[order])
        offsets = np.concatenate(([0], np.cumsum(np.concatenate(per_row)))).astype(np.int32)
        starts = np.concatenate(low_parts).astype(np.int32)
        ends = np.concatenate(high_parts).astype(np.int32)
    shared = column(offsets)
    return {
        "name_start": pa.ListArray.from_arrays(shared, column(starts)),
        "name_end": pa.ListArray.from_arrays(shared, column(ends)),
    }


def runs(low: Places, lengths: Places) -> Places:
    """The numbers ``low[i]`` up to ``low[i] + lengths[i]``, one run after another."""
    total = np.cumsum(lengths)
    numbers: Places = np.arange(int(total[-1]) if len(total) else 0) + np.repeat(low - (total - lengths), lengths)
    return numbers


def _languages(places: Sequence[Place], of_file: NDArray[np.int32]) -> Any:
    import pyarrow as pa

    names: dict[str, int] = {}
    parts = []
    for place in places:
        view = place.source.view
        found = view.language[place.files].tolist()
        table = view.languages
        parts += [names.setdefault(table[code][0], len(names)) for code in found]
    codes = np.array(parts, dtype=np.int32)[of_file]
    known = np.array([bool(name) for name in names])[codes] if "" in names else None
    return pa.DictionaryArray.from_arrays(column(codes, valid=known), strings_of(list(names)))


def _path_bytes(parts: Sequence[tuple[Source, Places]]) -> Any:
    """The paths of files as one Arrow binary array."""
    import pyarrow as pa

    data: list[Any] = []
    sizes: list[Places] = []
    for source, files in parts:
        starts, text = source.view.path_start, source.view.file.bytes_of("paths")
        low, high = starts[files].astype(np.int64), starts[files + 1].astype(np.int64) - 1
        sizes.append(high - low)
        if len(files) <= _FEW:
            data += [text[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        else:
            data.append(taken(pa.py_buffer(text), low, high).buffers()[2] or b"")
    bounds = np.zeros(sum(map(len, sizes)) + 1, dtype=np.int32)
    np.cumsum(np.concatenate(sizes), out=bounds[1:])
    return pa.Array.from_buffers(
        pa.binary(), len(bounds) - 1, [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(data))]
    )
