"""Merge rows of several services: put them into one order, and drop rows that an earlier service returned.

Order: an answer to ``count:all`` is sorted by repository and path if the part of each service is. Otherwise files are
ordered by their rank at their own service, because scores of different services can't be compared: the first file of
each service, in the order of the services, then the second file of each, and so on.

Duplicates: two rows are the same if their type, repository, revision, commit, path, line, side and symbol are equal.
The row of the first service stays. Without a commit, rows of different services are never the same, except
repositories that matched by their name. The comparison stores a few bytes per row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import BoolArray, Int64Array
from sourcelight.core.batches import SERVICE, arrow_type, conform
from sourcelight.core.batches.rows import MatchRows, boundaries, first_matches, match_count

_FILE_COLUMNS = ("type", "repository", "revision", "commit", "path")
"""Columns whose values are the same in all rows of a file, and differ between files."""

_FileKey: TypeAlias = tuple[str | None, ...]
"""The values of `_FILE_COLUMNS`, and the number of the service if its files are unlike those of all others."""

_TYPES_WITH_COMMIT = frozenset({"content", "path", "symbol"})
"""Types of rows about a file at a commit. A service may leave the commit out."""

_TYPES_BY_LINE = frozenset({"content", "path", "repo"})
"""Types of rows that differ in their line within a file. Rows of other types may differ in side or symbol alone."""

_SECTION_OF_TYPE = {"repo": 0, "commit": 1, "diff": 1}
_FILE_SECTION = 2
"""Sections of an answer in their order: repositories, commits, then files, which are rows of all other types."""

_MAX_UNUSED_TEXTS = 64
"""Texts of a dictionary that no row needs, up to which all are decoded: 64 take 5 µs, to select some takes 70 µs."""

_MAX_BATCH_ROWS = 1 << 16
"""Maximum rows of a batch of the answer: readers get it one batch at a time."""


@dataclass(frozen=True, slots=True)
class OrderedRows:
    """The merged answer.

    Attributes
    ----------
    batches
        Record batches in order, with the column ``service``.
    matches, rows
        Numbers of matches and of rows in them, for each service.
    duplicates
        For each service, its rows that an earlier service returned, too.
    """

    batches: list[Any]
    matches: list[int]
    rows: list[int]
    duplicates: list[int]


@dataclass(frozen=True, slots=True)
class _DistinctRows:
    """The rows of all services without duplicates, one service after another.

    Attributes
    ----------
    batches
        Record batches.
    service
        For each row, the number of its service.
    file_rank
        For each row, the position of its file among the files of its service.
    duplicates
        As in `OrderedRows`.
    """

    batches: list[Any]
    service: Int64Array
    file_rank: Int64Array
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
    distinct = _drop_duplicates(parts, DuplicateFilter() if repeated else None)
    if not distinct.batches:
        return _no_rows(distinct.duplicates)

    table = conform(distinct.batches)
    order = _sort_order(table, distinct, is_complete=is_complete)
    table = _add_service_column(table, distinct.service, names)

    # Without an inversion the rows are already in order, and nothing is copied.
    if (np.diff(order) < 0).any():
        table = _unify_dictionaries(table).take(pa.array(order))

    return _apply_limit(table, limit, distinct.duplicates)


def _no_rows(duplicates: list[int]) -> OrderedRows:
    zeros = [0] * len(duplicates)
    return OrderedRows(batches=[], matches=zeros, rows=[*zeros], duplicates=duplicates)


def _drop_duplicates(parts: Sequence[Sequence[Any]], duplicate_filter: DuplicateFilter | None) -> _DistinctRows:
    """Return the rows of all services; None as the filter keeps all of them."""
    distinct: list[Any] = []
    services: list[Int64Array] = []
    file_ranks: list[Int64Array] = []
    duplicates = [0] * len(parts)
    for service, batches in enumerate(parts):
        file_count = 0
        for batch in batches:
            runs = np.array(_file_runs(MatchRows(batch)), np.int64).reshape(-1, 2)
            run_lengths = runs[:, 1] - runs[:, 0]
            # Files are counted over all batches of the service: the counts are compared with those of other services.
            ranks = np.repeat(np.arange(file_count, file_count + len(runs)), run_lengths)
            file_count += len(runs)

            new_rows = batch
            if duplicate_filter is not None:
                is_new = duplicate_filter.find_new(service, batch)
                if not is_new.all():
                    new_rows = batch.filter(pa.array(is_new))
                    ranks = ranks[is_new]

            duplicates[service] += batch.num_rows - new_rows.num_rows
            distinct.append(new_rows)
            file_ranks.append(ranks)
            services.append(np.full(new_rows.num_rows, service, np.int64))

    no_numbers = np.zeros(0, np.int64)
    return _DistinctRows(
        batches=distinct,
        service=np.concatenate([no_numbers, *services]),
        file_rank=np.concatenate([no_numbers, *file_ranks]),
        duplicates=duplicates,
    )


def _add_service_column(table: Any, service: Int64Array, names: Sequence[str]) -> Any:
    # At most 127 services: the dictionary column has int8 codes.
    codes = pa.array(service.astype(np.int8))
    column = pa.DictionaryArray.from_arrays(codes, pa.array(list(names), pa.string()))
    return table.append_column(pa.field(SERVICE.name, arrow_type(SERVICE.type)), column)


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


def _apply_limit(table: Any, limit: int | None, duplicates: list[int]) -> OrderedRows:
    """Cut the table after `limit` matches, and count what is left for each service."""
    ordered = _no_rows(duplicates)
    remaining = limit
    for batch in table.to_batches(max_chunksize=_MAX_BATCH_ROWS):
        limited = batch
        if remaining is not None:
            limited = first_matches(batch, remaining)
            remaining -= match_count(limited)
        if not limited.num_rows:
            continue

        ordered.batches.append(limited)
        services = limited.column(SERVICE.name).indices.to_numpy(zero_copy_only=False)
        match_counts = limited.column("match_count").fill_null(0).to_numpy(zero_copy_only=False)
        rows = np.bincount(services, minlength=len(duplicates))
        matches = np.bincount(services, match_counts, minlength=len(duplicates))
        for service in range(len(duplicates)):
            ordered.rows[service] += int(rows[service])
            ordered.matches[service] += int(matches[service])

    return ordered


def _sort_order(table: Any, distinct: _DistinctRows, *, is_complete: bool) -> Int64Array:
    """Return the positions of the rows in the order of the answer."""
    service = distinct.service
    row = np.arange(len(service))
    # Rows of one service stay in the service's own order.
    if len(np.unique(service)) < 2:
        return row

    if is_complete:
        section = _sections(table)
        repository, revision, path = (_text_ranks(table, name) for name in ("repository", "revision", "path"))
        # The first keys by which each service has sorted its own rows. Without any, the files of services alternate.
        for keys in ((section, repository, revision, path), (section, repository, revision)):
            if _is_sorted_by_each(service, keys):
                # `lexsort` takes its main key last.
                return np.lexsort((row, service, *reversed(keys)))

    return np.lexsort((row, service, distinct.file_rank))


def _sections(table: Any) -> Int64Array:
    """Return the section of each row, by its type."""
    types = _as_dictionary(table, "type")
    # A column of nulls has an empty dictionary; its rows read the first element nevertheless.
    sections = [_SECTION_OF_TYPE.get(name, _FILE_SECTION) for name in types.dictionary.to_pylist()] or [0]
    codes = types.indices.cast(pa.int64()).fill_null(0).to_numpy(zero_copy_only=False)
    row_sections: Int64Array = np.array(sections)[codes]
    return row_sections


def _text_ranks(table: Any, name: str) -> Int64Array:
    """Return a number for each row by which the text in a column sorts; null comes first."""
    column = _as_dictionary(table, name)
    size = len(column.dictionary)
    # The element behind those of the dictionary is for null and keeps the rank 0.
    ranks = np.zeros(size + 1, np.int64)
    by_text = pa.compute.array_sort_indices(column.dictionary)
    ranks[np.asarray(by_text.to_numpy(zero_copy_only=False), np.int64)] = np.arange(1, size + 1)
    codes = column.indices.cast(pa.int64()).fill_null(size).to_numpy(zero_copy_only=False)
    row_ranks: Int64Array = ranks[codes]
    return row_ranks


def _as_dictionary(table: Any, name: str) -> Any:
    return table.column(name).cast(pa.string()).combine_chunks().dictionary_encode()


def _is_sorted_by_each(service: Int64Array, keys: Sequence[Int64Array]) -> bool:
    """Return whether the rows of each service are sorted by these keys."""
    for number in np.unique(service):
        is_row = service == number
        if not _is_sorted([key[is_row] for key in keys]):
            return False
    return True


def _is_sorted(keys: Sequence[Int64Array]) -> bool:
    # True where a row equals the row before it in all keys so far; only there does the next key decide.
    equal = np.ones(max(len(keys[0]) - 1, 0), np.bool_)
    for key in keys:
        step = np.diff(key)
        if (equal & (step < 0)).any():
            return False
        equal &= step == 0
    return True


class DuplicateFilter:
    """Remembers rows of all services, and finds those that another service has returned already."""

    def __init__(self) -> None:
        # For each file the services that returned it, each with the numbers of its lines as bytes.
        self._seen_lines: dict[_FileKey, list[tuple[int, bytes]]] = {}
        self._commits: dict[tuple[str, str], dict[int, str]] = {}

    @property
    def conflicting_commits(self) -> dict[tuple[str, str], dict[int, str]]:
        """Repositories and revisions for which services have different commits, with each service's commit."""
        return {target: commits for target, commits in self._commits.items() if len(set(commits.values())) > 1}

    def find_new(self, service: int, batch: Any) -> BoolArray:
        """Return for each row of a batch whether no other service has returned it; remembers all of them."""
        rows = MatchRows(batch)
        is_new = np.ones(len(rows), np.bool_)
        if not len(rows):
            return is_new

        runs = _file_runs(rows)
        line_numbers = rows.numbers("line_number")
        line_hashes: Int64Array | None = None
        for (start, end), key in zip(runs, _file_keys(rows, [start for start, _ in runs]), strict=True):
            row_type = key[0]
            lines = line_numbers[start:end]
            if row_type not in _TYPES_BY_LINE:
                # Computed for the first row that needs it: most answers have none.
                if line_hashes is None:
                    line_hashes = _hash_lines(rows, line_numbers)
                lines = line_hashes[start:end]

            is_new[start:end] = self._find_new_lines(service, self._compared_key(service, key), lines)

        return is_new

    def _compared_key(self, service: int, key: _FileKey) -> _FileKey:
        """Return the key by which a file of a service is compared; remembers its commit."""
        row_type, repository, revision, commit, _ = key
        if row_type not in _TYPES_WITH_COMMIT:
            return key
        if commit:
            self._commits.setdefault((repository or "", revision or ""), {})[service] = commit
            return key
        # Differs from the key of any other service: without a commit, their files may differ.
        return (*key, str(service))

    def _find_new_lines(self, service: int, key: _FileKey, lines: Int64Array) -> BoolArray | bool:
        """Return which lines of a file no other service has returned, True for all; remembers them."""
        encoded = lines.tobytes()
        returned = self._seen_lines.setdefault(key, [])
        # Rows of the same service are never duplicates of each other: it may list a line twice on purpose.
        lines_of_others = [earlier_lines for owner, earlier_lines in returned if owner != service]
        returned.append((service, encoded))
        if not lines_of_others:
            return True
        # The usual case: the same lines of the same file.
        if encoded in lines_of_others:
            return False
        # Services may search with different limits, so only the new lines of a file are kept.
        return ~np.isin(lines, np.frombuffer(b"".join(lines_of_others), np.int64))


def _file_runs(rows: MatchRows) -> list[tuple[int, int]]:
    """Return the first row and the end of each run of rows of one file; none for no rows."""
    return boundaries(len(rows), [rows.codes(name) for name in _FILE_COLUMNS])


def _file_keys(rows: MatchRows, positions: list[int]) -> list[_FileKey]:
    """Return the values of `_FILE_COLUMNS` in some rows."""
    columns = [_texts_at(rows, name, positions) for name in _FILE_COLUMNS]
    return list(zip(*columns, strict=True))


def _texts_at(rows: MatchRows, name: str, positions: list[int]) -> list[str | None]:
    """Return texts of some rows, each distinct text decoded once: a dictionary may have the texts of all rows."""
    if name not in rows:
        return [None] * len(positions)

    column = rows.column(name)
    if not pa.types.is_dictionary(column.type):
        return rows.texts(name, positions)

    codes = rows.codes(name)[positions]
    if len(column.dictionary) <= len(positions) + _MAX_UNUSED_TEXTS:
        texts: list[str | None] = [*column.dictionary.to_pylist(), None]  # code -1 (null) reads the last element
        return [texts[code] for code in codes.tolist()]

    distinct, position = np.unique(codes, return_inverse=True)
    # `distinct` is sorted, so -1 (null) can only be its first element; None keeps that place among the values.
    valid_codes = distinct[distinct >= 0]
    values: list[str | None] = [None] * (len(distinct) - len(valid_codes))
    values += column.dictionary.take(pa.array(valid_codes)).to_pylist()
    return [values[index] for index in position.tolist()]


def _hash_lines(rows: MatchRows, line_numbers: Int64Array) -> Int64Array:
    """Return a number for each row that is the same for the same line, side and symbol.

    Different rows get the same number with a chance of one in 2**64, and the second is then dropped as a duplicate. In
    a file of a million rows, that happens once in 40 million merges. Python's seed for texts is random, so such symbols
    can't be prepared.
    """
    locations = zip(line_numbers.tolist(), rows.texts("side"), rows.texts("symbol"), strict=True)
    return np.array([hash(location) for location in locations], np.int64)
