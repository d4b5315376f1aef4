"""The JSON of a few matched files, or of few but long lines, by way of Python's own objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches import render
from sourcelight.core.batches.events import RepositoryFacts
from sourcelight.core.batches.rows import Rows
from sourcelight.core.wire.encode import dump


class RowsJson:
    """Rows of type ``content`` and ``path`` as Python values: those of files once for each, those of lines for all."""

    def __init__(self, rows: Rows, facts: Mapping[str, RepositoryFacts]) -> None:
        self.files = rows.files()
        starts = np.array([start for start, _ in self.files], dtype=np.int64)
        self.kinds, self.paths, self.languages = (_texts(rows, name, starts) for name in ("type", "path", "language"))
        where = (_texts(rows, name, starts) for name in ("repository", "revision", "commit"))
        numbers = rows.numbers("repository_id")[starts].tolist()
        known: dict[tuple[str, str, str], dict[str, Any]] = {}
        self.places = []
        for key, number in zip(zip(*where, strict=True), numbers, strict=True):
            if key not in known:
                name, revision, commit = key
                known[key] = place(facts.get(name) or RepositoryFacts(name), number, revision, commit)
            self.places.append(known[key])
        self.names = names_of(rows, starts)
        self.lines = rows.line_texts()
        self.numbers = (rows.numbers("line_number") - 1).tolist()
        counts, first = rows.lists("start")
        _, last = rows.lists("end")
        self.bounds = np.concatenate(([0], np.cumsum(counts))).tolist()
        self.starts, self.ends = first.tolist(), last.tolist()

    def matches(self) -> list[dict[str, Any]]:
        """All of them, a match for each file."""
        return [self._file(number, start, stop) for number, (start, stop) in enumerate(self.files)]

    def _file(self, number: int, start: int, stop: int) -> dict[str, Any]:
        kind, path, names = self.kinds[number], self.paths[number], self.names[number] if self.names else ()
        own: dict[str, Any] = {"type": kind, "path": path}
        ranges = [name_range(path, low, high) for low, high in names]
        if ranges and kind == "content":
            own["pathMatches"] = ranges
        own |= self.places[number]
        if kind == "content":
            own["hunks"] = None
            own["lineMatches"] = [self._line(row) for row in range(start, stop)]
        if self.languages[number]:
            own["language"] = self.languages[number]
        if ranges and kind != "content":
            own["pathMatches"] = ranges
        return own

    def _line(self, row: int) -> dict[str, Any]:
        text, low, high = self.lines[row], self.bounds[row], self.bounds[row + 1]
        size = len(text)
        # What lies past the end of a line (its newline) is not sent.
        spans = [
            (start, min(end, size) - start)
            for start, end in zip(self.starts[low:high], self.ends[low:high], strict=True)
            if min(end, size) > start
        ]
        return {"line": text, "lineNumber": self.numbers[row], "offsetAndLengths": spans}


def _texts(rows: Rows, name: str, starts: NDArray[np.int64]) -> list[str]:
    texts, codes = render.coded(rows, name, starts)
    return [texts[code] for code in codes]


def place(known: RepositoryFacts, number: int, revision: str, commit: str) -> dict[str, Any]:
    """What a match says of where its file is."""
    value: dict[str, Any] = {"repositoryID": number or known.id, "repository": known.name}
    if known.stars:
        value["repoStars"] = known.stars
    if known.last_fetched:
        value["repoLastFetched"] = known.last_fetched
    value["branches"] = [revision]
    if commit:
        value["commit"] = commit
    return value


def names_of(rows: Rows, starts: NDArray[np.int64]) -> list[list[tuple[int, int]]]:
    """The spans in the path of each file; empty when there is none in any."""
    counts, first = rows.lists("name_start")
    if not len(first):
        return []
    low, high = first.tolist(), rows.lists("name_end")[1].tolist()
    ends, sizes = np.cumsum(counts)[starts].tolist(), counts[starts].tolist()
    bounds = [slice(end - size, end) for end, size in zip(ends, sizes, strict=True)]
    return [list(zip(low[bound], high[bound], strict=True)) for bound in bounds]


def name_range(path: str, low: int, high: int) -> dict[str, Any]:
    """A span in a path as the wire has it."""

    def at(column: int) -> dict[str, int]:
        return {"offset": len(path[:column].encode()), "line": 0, "column": column}

    return {"start": at(low), "end": at(high)}


def row_payloads(
    rows: Rows, groups: Sequence[tuple[int, int]], facts: Mapping[str, RepositoryFacts]
) -> Iterator[bytes]:
    """Yield the JSON array of each group of whole files, as lines or as paths."""
    for start, stop in groups:
        yield dump(RowsJson(rows.slice(start, stop), facts).matches())
