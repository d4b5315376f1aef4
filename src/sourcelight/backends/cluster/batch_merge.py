"""Merge rows of several batches into one: a batch costs its reader about the same for three rows as for thousands."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import Int64Array, arrow_array, runs
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.engines.execution.results.raw_ranking import take_files
from sourcelight.engines.search.scan.raw_batches import join_matches

LARGE_ROWS = 1024
"""Rows of one repository from which on they are a batch of their own: to copy them costs more than a batch does."""

Batch: TypeAlias = pa.RecordBatch | RawMatches
"""Rows as an engine gives them: columns of Arrow, or raw matches, which become columns on demand."""


# Not frozen, which doubles the time to make one: a search makes one for each repository in each phase.
@dataclass(slots=True)
class RowSlice:
    """The rows of a batch from `start` to `end`."""

    batch: Batch
    start: int
    end: int

    @property
    def rows(self) -> int:
        """Number of rows."""
        return self.end - self.start


def join_slices(slices: Sequence[RowSlice]) -> Batch:
    """Return one batch of all rows, in the order given; the batches have the same columns, or all are raw matches.

    Its dictionaries hold the values that its rows use, in the order in which the rows use them.
    """
    if isinstance(slices[0].batch, RawMatches):
        return _join_raw(slices)
    if len(slices) == 1:
        batch: pa.RecordBatch = slices[0].batch
        return in_order(batch.slice(slices[0].start, slices[0].rows))

    union = _Union.of(slices)
    rows_of_all: pa.RecordBatch = union.batches[0]
    if len(union.batches) > 1:
        rows_of_all = pa.concat_batches(union.batches)

    rows = runs(union.starts, union.ends - union.starts)
    if not _is_range(rows, rows_of_all.num_rows):
        rows_of_all = rows_of_all.take(arrow_array(rows))

    return in_order(rows_of_all)


def _join_raw(slices: Sequence[RowSlice]) -> RawMatches:
    union = _Union.of(slices)
    matches: RawMatches = union.batches[0] if len(union.batches) == 1 else join_matches(union.batches)

    # A file arrives as a whole, so a slice contains complete files.
    first_rows = np.cumsum(matches.lengths) - matches.lengths
    first, last = first_rows.searchsorted(union.starts), first_rows.searchsorted(union.ends)
    files = runs(first, last - first)
    if _is_range(files, len(matches.paths)):
        return matches

    # Joined, so that its record batch is made of the files taken, and not of all of them.
    return join_matches([take_files(matches, files)])


@dataclass(frozen=True, slots=True)
class _Union:
    """The distinct batches of slices, and where each slice starts and ends in the rows of all batches together."""

    batches: list[Batch]
    starts: Int64Array
    ends: Int64Array

    @classmethod
    def of(cls, slices: Sequence[RowSlice]) -> _Union:
        batches: list[Batch] = []
        starts = []

        # By identity: comparing contents would read all rows.
        first_rows: dict[int, int] = {}
        row_count = 0
        for row_slice in slices:
            if id(row_slice.batch) not in first_rows:
                first_rows[id(row_slice.batch)] = row_count
                row_count += row_slice.batch.num_rows
                batches.append(row_slice.batch)
            starts.append(first_rows[id(row_slice.batch)] + row_slice.start)

        start_rows = np.array(starts)
        return cls(batches, start_rows, start_rows + np.array([row_slice.rows for row_slice in slices]))


def _is_range(indices: Int64Array, size: int) -> bool:
    """Return whether indices are ``0, 1, …`` up to a size."""
    return len(indices) == size and bool((indices == np.arange(size)).all())


def in_order(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the batch with dictionaries of only the values that its rows use, in the order of their use."""
    columns = [_in_order(column) if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _in_order(codes: pa.DictionaryArray) -> pa.DictionaryArray:
    size = len(codes.dictionary)
    indices = codes.indices

    # `unique` keeps the order of first use, which doesn't depend on how workers grouped their rows.
    distinct = pc.unique(indices.drop_null() if indices.null_count else indices)
    order = distinct.to_numpy(zero_copy_only=False)
    if len(order) == size and (order == np.arange(size)).all():
        return codes

    new_code = np.zeros(max(size, 1), order.dtype)
    new_code[order] = np.arange(len(order), dtype=order.dtype)
    valid = None
    if indices.null_count:
        valid = indices.is_valid().to_numpy(zero_copy_only=False)
        # Null has no code, and a cast of null to an index would fail. Any code does: `valid` masks it again.
        indices = indices.fill_null(0)

    new_codes = arrow_array(new_code[indices.to_numpy(zero_copy_only=False)], valid)
    return pa.DictionaryArray.from_arrays(new_codes, codes.dictionary.take(distinct))


@dataclass(slots=True)
class _KindSlice:
    kind: int
    row_slice: RowSlice


class JoinedRows:
    """Rows that wait for others to share a batch with; give them in the order in which they come."""

    def __init__(self) -> None:
        self._slices: list[_KindSlice] = []
        self.rows = 0
        self.size = 0

    def add(self, kind: int, batch: Batch, start: int, end: int, size: int = 0) -> None:
        """Add the rows of a batch from `start` to `end`; a new `kind` starts a new batch.

        `size` is about how many bytes they take.
        """
        self._slices.append(_KindSlice(kind, RowSlice(batch, start, end)))
        self.rows += end - start
        self.size += size

    def batches(self) -> Iterator[Batch]:
        """Yield all of it, which is forgotten."""
        waiting, self._slices, self.rows, self.size = self._slices, [], 0, 0

        # Raw matches of a few repositories between record batches of others would divide all of them.
        raw = [isinstance(item.row_slice.batch, RawMatches) for item in waiting]
        if any(raw) and not all(raw):
            waiting = [_KindSlice(item.kind, _as_record_batch(item.row_slice)) for item in waiting]

        # Small slices are joined, because each batch costs some microseconds in every later step. Large ones are passed
        # on, because joining copies them.
        together: list[RowSlice] = []
        last_kind: int | None = None
        for item in waiting:
            is_large = item.row_slice.rows >= LARGE_ROWS
            starts_batch = is_large or item.kind != last_kind
            if together and (starts_batch or not _alike(item.row_slice.batch, together[-1].batch)):
                yield join_slices(together)
                together = []

            together.append(item.row_slice)
            # No row joins a large slice, also none of its kind.
            last_kind = None if is_large else item.kind

        if together:
            yield join_slices(together)


def _alike(batch: Batch, previous: Batch) -> bool:
    """Return whether two batches can be joined."""
    if isinstance(batch, RawMatches) or isinstance(previous, RawMatches):
        return isinstance(batch, RawMatches) and isinstance(previous, RawMatches)
    return batch is previous or bool(batch.schema.equals(previous.schema))


def _as_record_batch(row_slice: RowSlice) -> RowSlice:
    """Return the same rows of a record batch."""
    if isinstance(row_slice.batch, RawMatches):
        return RowSlice(row_slice.batch.batch, row_slice.start, row_slice.end)
    return row_slice
