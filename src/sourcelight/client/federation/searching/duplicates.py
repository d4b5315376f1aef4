"""Rows that several services give: known by the file at its commit, and the line in it.

Two rows are the same when type, repository, revision, commit and path are the same text, and line, side and symbol
too. A row whose commit the service did not say is the same as no other service's. A repository found by its name is the
same wherever it is. What is kept for this is a few bytes a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.rows import Rows, boundaries

FILE = ("type", "repository", "revision", "commit", "path")
_OF_COMMITS = frozenset({"content", "path", "symbol"})
_BY_LINE = frozenset({"content", "path", "repo"})
_Key = tuple[str | None, ...]


class Duplicates:
    """What has been given so far, by which service."""

    def __init__(self) -> None:
        self._given: dict[_Key, list[tuple[int, bytes]]] = {}
        self._commits: dict[tuple[str, str], dict[int, str]] = {}

    def fresh(self, service: int, batch: Any) -> NDArray[np.bool_]:
        """Which rows of `batch`, of the service with this number, no other service has given; notes them all."""
        rows = Rows(batch)
        keep = np.ones(len(rows), np.bool_)
        for start, stop, key in files_of(rows):
            kind, repository, revision, commit, _ = key
            if kind in _OF_COMMITS:
                if commit:
                    self._commits.setdefault((repository or "", revision or ""), {})[service] = commit
                else:
                    key = (*key, str(service))  # noqa: PLW2901 - nobody else's
            codes = _codes(rows.slice(start, stop), kind or "")
            given = self._given.setdefault(key, [])
            others = [held for owner, held in given if owner != service]
            given.append((service, codes.tobytes()))
            if others:
                known = np.frombuffer(b"".join(others), np.int64)
                keep[start:stop] = ~np.isin(codes, known)
        return keep

    @property
    def apart(self) -> dict[tuple[str, str], dict[int, str]]:
        """Repositories and revisions of which services have different commits, with each service's commit."""
        return {place: found for place, found in self._commits.items() if len(set(found.values())) > 1}


def files_of(rows: Rows) -> list[tuple[int, int, _Key]]:
    """The runs of rows of one file, with what tells the file from others."""
    if not len(rows):
        return []
    runs = boundaries(len(rows), [rows.codes(name) for name in FILE])
    starts = [start for start, _ in runs]
    keys = zip(*(rows.texts(name, starts) for name in FILE), strict=True)
    return [(start, stop, key) for (start, stop), key in zip(runs, keys, strict=True)]


def _codes(rows: Rows, kind: str) -> NDArray[np.int64]:
    """A number for each row of one file."""
    lines = rows.numbers("line_number")
    if kind in _BY_LINE:
        return lines
    places = zip(lines.tolist(), rows.texts("side"), rows.texts("symbol"), strict=True)
    return np.array([hash(place) for place in places], np.int64)
