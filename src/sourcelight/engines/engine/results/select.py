"""``select:``: results turned into the repositories, files, directories, lines or symbols that they stand in.

Works on record batches as they come. What it must remember, so that nothing comes twice, is the repositories given so
far, the directories of each and (where several kinds of results are asked for) the files: batches of repositories come
in turns wherever the likeliest files of all are searched first.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.batches import arrow_type
from sourcelight.core.batches.rows import Rows

_WHERE = ("repository", "repository_id", "revision", "commit")
_KINDS = {"file": ("content", "path", "symbol"), "content": ("content",), "symbol": ("symbol",)}

Place = tuple[str, str]
"""A repository's name and the revision that was asked for."""


class Selector:
    """Turns batches of one alternative's results into what its ``select:`` asks for.

    Parameters
    ----------
    path
        The parts of ``select:``; empty: everything passes as it is.
    given
        Repositories that were given before, as ``select:repo`` must not repeat them.
    once
        Whether each file comes in one batch only, so that files need not be remembered.
    """

    def __init__(self, path: tuple[str, ...], given: Collection[Place] = (), *, once: bool = True) -> None:
        self.path = path
        self._given = set(given)
        self._once = once
        self._seen: dict[Place, set[str]] = {}

    @property
    def first_only(self) -> bool:
        """Whether one result of a repository says all there is to say of it."""
        return self.path == ("repo",)

    @property
    def needs_lines(self) -> bool:
        """Whether matched lines are of use."""
        return not self.path or self.path[0] == "content"

    def apply(self, batch: Any) -> Any | None:
        """Give what is new in `batch`, all of whose rows are of one repository and revision; None for nothing."""
        if not self.path or not batch.num_rows:
            return batch if batch.num_rows else None
        head, rest = self.path[0], self.path[1:]
        if head == "repo":
            return self._repository(batch)
        kinds = batch.column(batch.schema.get_field_index("type"))
        wanted = pc.is_in(kinds.cast(pa.string()), value_set=pa.array(_KINDS.get(head, ()), pa.string()))
        batch = batch.filter(wanted)
        if not batch.num_rows:
            return None
        if head == "content":
            return _without_names(batch)
        if head == "symbol":
            return _of_kind(batch, rest[0]) if rest else batch
        return self._directories(batch) if rest == ("directory",) else self._files(batch)

    def _repository(self, batch: Any) -> Any | None:
        place = _place(batch)
        if place in self._given:
            return None
        self._given.add(place)
        return _rows(batch, np.zeros(1, dtype=np.int64), "repo", None)

    def _files(self, batch: Any) -> Any | None:
        rows = Rows(batch)
        starts = np.array([start for start, _ in rows.files()], dtype=np.int64)
        if not self._once:
            seen = self._seen.setdefault(_place(batch), set())
            paths = rows.texts("path", starts.tolist())
            starts = starts[[path not in seen for path in paths]]
            seen.update(path or "" for path in paths)
        return _rows(batch, starts, "path", rows.column("path").take(pa.array(starts))) if len(starts) else None

    def _directories(self, batch: Any) -> Any | None:
        seen = self._seen.setdefault(_place(batch), set())
        rows = Rows(batch)
        starts = [start for start, _ in rows.files()]
        fresh: dict[str, int] = {}
        for start, path in zip(starts, rows.texts("path", starts), strict=True):
            folder = (path or "").rpartition("/")[0]
            fresh.setdefault(f"{folder}/" if folder else "./", start)
        fresh = {folder: start for folder, start in fresh.items() if folder not in seen}
        seen.update(fresh)
        if not fresh:
            return None
        return _rows(batch, np.array(list(fresh.values()), dtype=np.int64), "directory", pa.array(list(fresh)))


def _place(batch: Any) -> Place:
    rows = Rows(batch)
    return rows.first("repository"), rows.first("revision")


def _rows(batch: Any, at: Any, kind: str, paths: Any | None) -> Any:
    """Rows of `kind` for the rows `at` of `batch`; directories are paths without spans and language."""
    columns: dict[str, Any] = {}
    taken = batch.take(pa.array(at))
    names = [name for name in _WHERE if kind != "repo" or name != "commit"]
    names += ["language"] if kind == "path" else []
    columns["type"] = pa.array(["path" if kind == "directory" else kind] * len(at), type=arrow_type("dict8"))
    for name in names:
        index = taken.schema.get_field_index(name)
        if index >= 0:
            columns[name] = taken.column(index)
    if paths is not None:
        columns["path"] = paths if pa.types.is_dictionary(paths.type) else paths.cast(pa.string()).dictionary_encode()
    columns["match_count"] = pa.array(np.ones(len(at), dtype=np.int32))
    spans = kind == "path" and taken.schema.get_field_index("name_start") >= 0
    for name in ("name_start", "name_end"):
        columns[name] = taken.column(taken.schema.get_field_index(name)) if spans else _empty_lists(len(at))
    return pa.record_batch(columns)


def _without_names(batch: Any) -> Any:
    for name in ("name_start", "name_end"):
        index = batch.schema.get_field_index(name)
        if index >= 0:
            batch = batch.set_column(index, batch.schema.field(index), _empty_lists(batch.num_rows))
    return batch


def _of_kind(batch: Any, kind: str) -> Any | None:
    index = batch.schema.get_field_index("symbol_kind")
    if index < 0:
        return None
    kept = batch.filter(
        pc.fill_null(pc.equal(batch.column(index).cast(pa.string()), kind.replace("-", "")), fill_value=False)
    )
    return kept if kept.num_rows else None


def _empty_lists(count: int) -> Any:
    return pa.ListArray.from_arrays(pa.array(np.zeros(count + 1, dtype=np.int32)), pa.array([], pa.int32()))
