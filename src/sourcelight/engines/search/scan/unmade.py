"""Matching files as they are found, for a reader who wants no columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.raw_matches import FoundLines
from sourcelight.engines.search.scan.fleet import LONG, Fleet
from sourcelight.engines.search.scan.render import Place, in_code_points
from sourcelight.engines.search.scan.rows import Rows
from sourcelight.engines.search.scan.text import binary_of, column

Places = NDArray[np.int64]


def found_lines(place: Place, in_content: NDArray[np.bool_], rows: Rows, make: Callable[[], Any]) -> FoundLines:
    """Put together what is known of some files, of which those `in_content` have the `rows`; `make` makes columns."""
    fleet, files = place.source.fleet, place.files
    members = fleet.member_of(files)
    paths = fleet.paths
    view = memoryview(fleet.raw_paths)
    bounds = zip(paths.begin[files].tolist(), paths.end[files].tolist(), strict=True)
    begin, stop = rows.begin, rows.stop
    documents = fleet.docs_of(begin)
    return FoundLines(
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


def _names(place: Place) -> dict[int, list[tuple[int, int]]]:
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


def data_of(fleet: Fleet, begin: Places, stop: Places) -> Any:
    """The bytes of lines, one after another."""
    if bool((begin[1:] > begin[:-1]).all()):
        return fleet.data(begin, stop)
    if int((stop - begin).sum()) > LONG * len(begin):
        return b"".join(fleet.buffers.slices(np.stack((begin, stop), axis=1)))
    needed, back = np.unique(begin, return_inverse=True)
    ends = np.empty(len(needed), dtype=np.int64)
    ends[back] = stop
    return binary_of(ends - needed, fleet.data(needed, ends)).take(column(back.astype(np.int32))).buffers()[2] or b""
