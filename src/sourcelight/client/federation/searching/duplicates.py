"""Rows that several services give: known by the file at its commit, and the line in it.

Two rows are the same when type, repository, revision, commit and path are the same text, and line, side and symbol
too. A row whose commit the service did not say is the same as no other service's. A repository found by its name is the
same wherever it is. What is kept for this is a few bytes a row.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from sourcelight.core.batches.rows import Rows, boundaries

FILE = ("type", "repository", "revision", "commit", "path")
_OF_COMMITS = frozenset({"content", "path", "symbol"})
_BY_LINE = frozenset({"content", "path", "repo"})
_FEW = 64
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
        if not len(rows):
            return keep
        runs = files_of(rows)
        lines, named = rows.numbers("line_number"), None
        for (start, stop), key in zip(runs, _keys(rows, [start for start, _ in runs]), strict=True):
            kind, repository, revision, commit, _ = key
            if kind in _OF_COMMITS:
                if commit:
                    self._commits.setdefault((repository or "", revision or ""), {})[service] = commit
                else:
                    key = (*key, str(service))  # noqa: PLW2901 - nobody else's
            if kind not in _BY_LINE and named is None:
                named = _named(rows, lines)
            codes = (lines if kind in _BY_LINE or named is None else named)[start:stop]
            given, own = self._given.setdefault(key, []), codes.tobytes()
            others = [held for owner, held in given if owner != service]
            given.append((service, own))
            if own in others:  # the same lines of the same file, as a rule
                keep[start:stop] = False
            elif others:
                keep[start:stop] = ~np.isin(codes, np.frombuffer(b"".join(others), np.int64))
        return keep

    @property
    def apart(self) -> dict[tuple[str, str], dict[int, str]]:
        """Repositories and revisions of which services have different commits, with each service's commit."""
        return {place: found for place, found in self._commits.items() if len(set(found.values())) > 1}


def files_of(rows: Rows) -> list[tuple[int, int]]:
    """The runs of rows of one file, from and to; none for no rows."""
    return boundaries(len(rows), [rows.codes(name) for name in FILE]) if len(rows) else []


def _keys(rows: Rows, starts: list[int]) -> list[_Key]:
    """What tells files from others, of the rows `starts`."""
    return list(zip(*(_texts(rows, name, starts) for name in FILE), strict=True))


def _texts(rows: Rows, name: str, at: list[int]) -> list[str | None]:
    """Texts of some rows, each distinct one read once: a dictionary may hold those of the whole answer."""
    if name not in rows:
        return [None] * len(at)
    column = rows.column(name)
    if not pa.types.is_dictionary(column.type):
        return rows.texts(name, at)
    codes = rows.codes(name)[at]
    if len(column.dictionary) <= _FEW + len(at):
        texts: list[str | None] = [*column.dictionary.to_pylist(), None]  # -1, for null, is the last
        return [texts[code] for code in codes.tolist()]
    distinct, place = np.unique(codes, return_inverse=True)
    known = distinct[distinct >= 0]
    values: list[str | None] = [None] * (len(distinct) - len(known))
    values += column.dictionary.take(pa.array(known)).to_pylist()
    return [values[one] for one in place.tolist()]


def _named(rows: Rows, lines: NDArray[np.int64]) -> NDArray[np.int64]:
    """A number for each row that is the same for the same line, side and symbol."""
    places = zip(lines.tolist(), rows.texts("side"), rows.texts("symbol"), strict=True)
    return np.array([hash(place) for place in places], np.int64)
