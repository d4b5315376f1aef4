"""The columns that say where matches are: collected once for each match object, then repeated for its rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from sourcelight.core.batches.columns import Numbers, constant, dictionary, distinct, int32, span_lists
from sourcelight.core.batches.records import Extent, Record

Columns = dict[str, Any]

_Key = tuple[str, int | None, str, str | None, str | None]


class Files:
    """The repository and file of each of a growing number of records."""

    def __init__(self) -> None:
        # A stream holds few repositories and languages: each combination is looked up once.
        self._known: dict[_Key, int] = {}
        self._codes: list[int] = []
        self._paths: list[str] = []
        self._path_matches: list[Sequence[Extent] | None] = []

    @classmethod
    def of(cls, records: Sequence[Record]) -> Self:
        """The files of `records`."""
        files = cls()
        files.add(records)
        return files

    def add(self, records: Sequence[Record]) -> None:
        """Go on with `records`."""
        known, add = self._known, self._known.setdefault
        self._codes += [
            add((r.repository, r.repository_id, b[0] if (b := r.branches) else "", r.commit, r.language), len(known))
            for r in records
        ]
        self._paths += [r.path or "" for r in records]
        self._path_matches += [r.path_matches for r in records]

    def repository_columns(self, kind: str, take: Numbers) -> Columns:
        """The columns of the repository of each record, at the positions `take`."""
        rows = np.array(self._codes, np.int32)[take]
        names, ids, revisions, _, _ = zip(*self._known, strict=True)
        return {
            "type": constant(kind, len(rows)),
            "repository": distinct(names, rows),
            "repository_id": int32(np.array([number or 0 for number in ids], np.int32)[rows]),
            "revision": dictionary(revisions, rows),
        }

    def columns(self, kind: str, take: Numbers) -> Columns:
        """The columns of the file of each record, at the positions `take`."""
        rows = np.array(self._codes, np.int32)[take]
        _, _, _, commits, languages = zip(*self._known, strict=True)
        return self.repository_columns(kind, take) | {
            "commit": distinct([commit or None for commit in commits], rows),
            "path": distinct(self._paths, take),
            "language": dictionary([language or None for language in languages], rows),
        }

    def name_columns(self, take: Numbers) -> Columns:
        """The matches in the path of each record, at the positions `take`."""
        return name_columns(self._path_matches, take)


def name_columns(found: Sequence[Sequence[Extent] | None], take: Numbers) -> Columns:
    """Matches in names, one list of them for each record, at the positions `take`."""
    rows = [[(x.start.column, x.end.column) for x in spans] if spans else () for spans in found] if any(found) else ()
    start, end = span_lists(rows, take)
    return {"name_start": start, "name_end": end}
