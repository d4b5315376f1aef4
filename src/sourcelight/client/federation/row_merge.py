"""Merge rows of several services: their order, and rows that more than one of them has.

An answer without a limit (``count:all``) is sorted by repository and path if the part of each service is. Otherwise
files are ordered by their rank at their own service, because scores of different services can't be compared: the
first file of each service, in the order of the services, then the second file of each, and so on. If several services
return the same row, the row of the first of them is kept.

Two rows are the same if their type, repository, revision, commit, path, line, side and symbol are equal. Without a
commit, rows of different services are never the same. A repository that matched by its name is the same at every
service. The comparison keeps a few bytes per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches import SERVICE, arrow_type, conform
from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count

FILE = ("type", "repository", "revision", "commit", "path")
"""Columns whose values are the same in all rows of a file, and differ between files."""

_OF_COMMITS = frozenset({"content", "path", "symbol"})
"""Types of rows that are files at a commit, which a service may not name."""

_BY_LINE = frozenset({"content", "path", "repo"})
"""Types of rows that the number of the line tells apart within a file. Others need the side or the symbol, too."""

_FEW = 64
"""Values of a dictionary beyond those of the rows up to which it is decoded as a whole."""

_Key = tuple[str | None, ...]
"""The values of `FILE`, and the service if only it can tell the file from those of others."""

_SECTIONS = {"repo": 0, "commit": 1, "diff": 1}
_FILES = 2
"""Sections of an answer in order: repositories, then commits, then files, by the type of the row."""

_MAX_BATCH_ROWS = 1 << 16


class DuplicateFilter:
    """A filter for rows that another service has returned already."""

    def __init__(self) -> None:
        self._seen_codes: dict[_Key, list[tuple[int, bytes]]] = {}
        self._commits: dict[tuple[str, str], dict[int, str]] = {}

    def fresh(self, service: int, batch: Any) -> BoolArray:
        """Return the rows of `batch`, from the service with this number, that are new; records them all."""
        rows = MatchRows(batch)
        keep = np.ones(len(rows), np.bool_)
        if not len(rows):
            return keep

        runs = files_of(rows)
        lines = rows.numbers("line_number")
        line_keys: Int64Array | None = None
        for (start, end), key in zip(runs, _keys(rows, [start for start, _ in runs]), strict=True):
            kind = key[0]
            codes = lines[start:end]
            if kind not in _BY_LINE:
                # Made with the first row that needs it: most answers have none.
                if line_keys is None:
                    line_keys = _line_keys(rows, lines)
                codes = line_keys[start:end]

            keep[start:end] = self._are_new(service, self._key_at(service, key), codes)

        return keep

    def _key_at(self, service: int, key: _Key) -> _Key:
        """Return the key by which a file of a service is compared; records its commit."""
        kind, repository, revision, commit, _ = key
        if kind not in _OF_COMMITS:
            return key
        if commit:
            self._commits.setdefault((repository or "", revision or ""), {})[service] = commit
            return key
        # Differs from the key of any other service: without a commit, their files may differ.
        return (*key, str(service))

    def _are_new(self, service: int, key: _Key, codes: Int64Array) -> BoolArray | bool:
        """Return which rows of a file no other service has returned; records them."""
        encoded = codes.tobytes()
        previous = self._seen_codes.setdefault(key, [])
        # Rows of the same service are never duplicates of each other: it may list a line twice on purpose.
        other_codes = [previous_codes for owner, previous_codes in previous if owner != service]
        previous.append((service, encoded))
        if not other_codes:
            return True
        # The usual case: the same lines of the same file.
        if encoded in other_codes:
            return False
        # Services may search with different limits, so only the new lines of a file are kept.
        return ~np.isin(codes, np.frombuffer(b"".join(other_codes), np.int64))

    @property
    def conflicting_commits(self) -> dict[tuple[str, str], dict[int, str]]:
        """Repositories and revisions for which services have different commits, with each service's commit."""
        return {target: commits for target, commits in self._commits.items() if len(set(commits.values())) > 1}


def files_of(rows: MatchRows) -> list[tuple[int, int]]:
    """Return the runs of rows of one file, from and to; none for no rows."""
    return boundaries(len(rows), [rows.codes(name) for name in FILE])


def _keys(rows: MatchRows, starts: list[int]) -> list[_Key]:
    """Return the keys that distinguish files, of the rows `starts`."""
    return list(zip(*(_column_texts(rows, name, starts) for name in FILE), strict=True))


def _column_texts(rows: MatchRows, name: str, positions: list[int]) -> list[str | None]:
    """Return texts of some rows, each distinct text decoded once: a dictionary may have the texts of all rows."""
    if name not in rows:
        return [None] * len(positions)

    column = rows.column(name)
    if not pa.types.is_dictionary(column.type):
        return rows.texts(name, positions)

    codes = rows.codes(name)[positions]
    if len(column.dictionary) <= _FEW + len(positions):
        texts: list[str | None] = [*column.dictionary.to_pylist(), None]  # code -1 (null) reads the last element
        return [texts[code] for code in codes.tolist()]

    distinct, position = np.unique(codes, return_inverse=True)
    # `distinct` is sorted, so -1 (null) can only be its first element; None keeps that place among the values.
    valid_codes = distinct[distinct >= 0]
    values: list[str | None] = [None] * (len(distinct) - len(valid_codes))
    values += column.dictionary.take(pa.array(valid_codes)).to_pylist()
    return [values[index] for index in position.tolist()]


def _line_keys(rows: MatchRows, lines: Int64Array) -> Int64Array:
    """Return a number for each row that is the same for the same line, side and symbol.

    Two others have the same number with a chance of one in 2**64, and the second would be left out as a duplicate. In a
    file of a million rows, that happens once in 40 million merges. Python's seed for texts is random, so such symbols
    can't be prepared.
    """
    locations = zip(lines.tolist(), rows.texts("side"), rows.texts("symbol"), strict=True)
    return np.array([hash(location) for location in locations], np.int64)


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """Record batches in order with the column ``service``, and counts for each service.

    Counts its matches, its rows, and its duplicates: rows that an earlier service returned, too.
    """

    batches: list[Any]
    matches: list[int]
    rows: list[int]
    duplicates: list[int]


def order_parts(
    parts: Sequence[Sequence[Any]],
    names: Sequence[str],
    *,
    is_complete: bool,
    limit: int | None = None,
    repeated: bool = True,
) -> OrderedRows:
    """Merge the parts of an answer in order.

    Parameters
    ----------
    parts
        All batches of each service, in the order of their arrival.
    names
        Names of the services, in their order.
    is_complete
        Whether the caller requested all matches.
    limit
        Maximum matches; None for all.
    repeated
        Whether several services may have returned the same row.
    """
    duplicates_filter = DuplicateFilter()
    distinct: list[Any] = []
    service_indexes: list[Int64Array] = []
    file_indexes: list[Int64Array] = []
    duplicates = [0] * len(names)
    for number, batches in enumerate(parts):
        file_count = 0
        for batch in batches:
            runs = np.array(files_of(MatchRows(batch)), np.int64).reshape(-1, 2)
            # Number files over all batches of the service: `_order` compares these numbers as ranks.
            files = np.repeat(np.arange(file_count, file_count + len(runs)), runs[:, 1] - runs[:, 0])
            file_count += len(runs)

            new_rows = batch
            if repeated:
                is_new = duplicates_filter.fresh(number, batch)
                if not is_new.all():
                    new_rows = batch.filter(pa.array(is_new))
                    files = files[is_new]
            duplicates[number] += batch.num_rows - new_rows.num_rows
            distinct.append(new_rows)
            file_indexes.append(files)
            service_indexes.append(np.full(new_rows.num_rows, number, np.int64))

    if not distinct:
        return OrderedRows(batches=[], matches=[0] * len(names), rows=[0] * len(names), duplicates=duplicates)

    service_index = np.concatenate(service_indexes)
    file_index = np.concatenate(file_indexes)
    table = conform(distinct)
    order = _order(table, service_index, file_index, is_complete=is_complete)

    # At most 127 services: the dictionary column has int8 codes.
    codes = pa.array(service_index.astype(np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(list(names), pa.string()))
    table = table.append_column(pa.field(SERVICE.name, arrow_type(SERVICE.type)), column)

    # Without an inversion the rows are already in order, and nothing is copied.
    if (np.diff(order) < 0).any():
        table = _unify_dictionaries(table).take(pa.array(order))

    return _limit(table, duplicates, limit)


def _unify_dictionaries(table: Any) -> Any:
    """Return the table with one dictionary for each of its columns."""
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        # The column of services has one already.
        if pa.types.is_dictionary(field.type) and field.name != SERVICE.name:
            texts = column.cast(field.type.value_type)
            columns.append(texts.dictionary_encode().combine_chunks().cast(field.type))
        else:
            columns.append(column)
    return pa.Table.from_arrays(columns, schema=table.schema)


def _order(table: Any, service: Int64Array, file: Int64Array, *, is_complete: bool) -> Int64Array:
    row = np.arange(len(service))
    # Rows of one service stay in the service's own order.
    if len(np.unique(service)) < 2:
        return row

    if is_complete:
        keys = [_sections_of(table)]
        keys += [_ranks(_texts(table, name)) for name in ("repository", "revision", "path")]
        # Rows are sorted by these keys only if each service sorted its own rows so. Otherwise each service keeps its
        # order, and their files alternate.
        for sort_keys in (keys, keys[:3]):
            if _is_sorted_at_each(service, sort_keys):
                # `lexsort` takes its main key last.
                return np.lexsort((row, service, *reversed(sort_keys)))

    return np.lexsort((row, service, file))


def _sections_of(table: Any) -> Int64Array:
    """Return the section of each row, by its type."""
    kinds = _texts(table, "type")
    # A column of nulls has no values, and the code 0 all the same.
    sections = [_SECTIONS.get(kind or "", _FILES) for kind in kinds.dictionary.to_pylist()] or [0]
    row_sections: Int64Array = np.array(sections)[_codes(kinds)]
    return row_sections


def _is_sorted_at_each(service: Int64Array, keys: Sequence[Int64Array]) -> bool:
    """Return whether the rows of each service are sorted by these keys."""
    for number in np.unique(service):
        is_row = service == number
        if not _is_sorted([key[is_row] for key in keys]):
            return False
    return True


def _texts(table: Any, name: str) -> Any:
    return table.column(name).cast(pa.string()).combine_chunks().dictionary_encode()


def _codes(column: Any) -> Int64Array:
    return np.asarray(column.indices.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _ranks(column: Any) -> Int64Array:
    """Return a number for each row by which its text sorts; null comes first."""
    size = len(column.dictionary)
    # The element behind the dictionary is for null and keeps the rank 0.
    ranks = np.zeros(size + 1, np.int64)
    by_text = pa.compute.array_sort_indices(column.dictionary)
    ranks[np.asarray(by_text.to_numpy(zero_copy_only=False), np.int64)] = np.arange(1, size + 1)
    position = column.indices.cast(pa.int64()).fill_null(size).to_numpy(zero_copy_only=False)
    row_ranks: Int64Array = ranks[position]
    return row_ranks


def _is_sorted(keys: Sequence[Int64Array]) -> bool:
    # True where a row equals the row before it in all keys so far; only there does the next key decide.
    equal = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in keys:
        step = np.diff(key)
        if (equal & (step < 0)).any():
            return False
        equal &= step == 0
    return True


def _limit(table: Any, duplicates: list[int], limit: int | None) -> OrderedRows:
    services = len(duplicates)
    ordered = OrderedRows(batches=[], matches=[0] * services, rows=[0] * services, duplicates=duplicates)
    remaining = limit
    for batch in table.to_batches(max_chunksize=_MAX_BATCH_ROWS):
        limited = batch
        if remaining is not None:
            limited = first_matches(batch, remaining)
            remaining -= match_count(limited)
        if not limited.num_rows:
            continue

        ordered.batches.append(limited)
        owners = limited.column(SERVICE.name).indices.to_numpy(zero_copy_only=False)
        counts = limited.column("match_count").fill_null(0).to_numpy(zero_copy_only=False)
        rows = np.bincount(owners, minlength=services)
        matches = np.bincount(owners, counts, minlength=services)
        for number in range(services):
            ordered.rows[number] += int(rows[number])
            ordered.matches[number] += int(matches[number])

    return ordered
