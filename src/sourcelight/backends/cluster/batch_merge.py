"""Merge rows of several batches into one: a batch costs its reader about the same for three rows as for thousands."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import Int64Array, arrow_array
from sourcelight.core.batches.codecs.raw_matches import RawMatches
from sourcelight.engines.execution.results.raw_ranking import take_files
from sourcelight.engines.search.scan.paths import runs
from sourcelight.engines.search.scan.raw_batches import join_matches

LARGE_ROWS = 1024
"""Rows of one repository from which on they are a batch of their own: to copy them costs more than a batch does."""

Cut = tuple[Any, int, int]
"""A record batch or raw matches, and where its rows that are meant begin and end."""


def join_cuts(cuts: list[Cut]) -> Any:
    """Return one batch of all rows, in the order given; the batches have the same columns, or all are raw matches.

    Its dictionaries hold the values that its rows use, in the order in which the rows use them.
    """
    if isinstance(cuts[0][0], RawMatches):
        return _join_raw(cuts)
    if len(cuts) == 1:
        batch, start, end = cuts[0]
        return in_order(batch.slice(start, end - start))

    batches, starts, ends = _in_all(cuts)
    rows_of_all = pa.concat_batches(batches) if len(batches) > 1 else batches[0]
    rows = runs(starts, ends - starts)
    if not _is_range(rows, rows_of_all.num_rows):
        rows_of_all = rows_of_all.take(arrow_array(rows))

    return in_order(rows_of_all)


def _join_raw(cuts: list[Cut]) -> RawMatches:
    parts, starts, ends = _in_all(cuts)
    matches: RawMatches = parts[0] if len(parts) == 1 else join_matches(parts)

    # A file arrives as a whole, so a cut contains complete files.
    first_rows = np.cumsum(matches.lengths) - matches.lengths
    first, last = first_rows.searchsorted(starts), first_rows.searchsorted(ends)
    files = runs(first, last - first)
    if _is_range(files, len(matches.paths)):
        return matches

    # Joined, so that its record batch is made of the files taken, and not of all of them.
    return join_matches([take_files(matches, files)])


def _in_all(cuts: list[Cut]) -> tuple[list[Any], Int64Array, Int64Array]:
    """Return the distinct batches, and where the rows of each cut begin and end in all of them."""
    # By identity: comparing contents would read all rows.
    batches = {id(batch): batch for batch, _, _ in cuts}
    base = dict(zip(batches, accumulate([batch.num_rows for batch in batches.values()], initial=0), strict=False))
    starts = np.array([base[id(batch)] + start for batch, start, _ in cuts])
    return list(batches.values()), starts, starts + np.array([end - start for _, start, end in cuts])


def _is_range(indices: Int64Array, size: int) -> bool:
    """Return whether indices are ``0, 1, …`` up to a size."""
    return len(indices) == size and bool((indices == np.arange(size)).all())


def in_order(batch: Any) -> Any:
    """Return the batch with dictionaries of only the values that its rows use, in the order of their use."""
    columns = [_in_order(column) if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _in_order(codes: Any) -> Any:
    size = len(codes.dictionary)
    indices = codes.indices

    # `unique` keeps the order of first use, which doesn't depend on how workers grouped their rows.
    distinct = pc.unique(indices.drop_null() if indices.null_count else indices)
    order = distinct.to_numpy(zero_copy_only=False)
    if len(order) == size and (order == np.arange(size)).all():
        return codes

    new_code = np.zeros(max(size, 1), order.dtype)
    new_code[order] = np.arange(len(order), dtype=order.dtype)
    valid = indices.is_valid().to_numpy(zero_copy_only=False) if indices.null_count else None

    # Null has no code, and a cast of null to an index would fail; any valid code does, since `valid` masks it again.
    codes_before = indices if valid is None else indices.fill_null(0)
    new_codes = arrow_array(new_code[codes_before.to_numpy(zero_copy_only=False)], valid)
    return pa.DictionaryArray.from_arrays(new_codes, codes.dictionary.take(distinct))


class JoinedRows:
    """Rows that wait for others to share a batch with; give them in the order in which they come."""

    def __init__(self) -> None:
        self._cuts: list[tuple[int, Cut]] = []
        self.rows = 0
        self.size = 0

    def add(self, kind: int, batch: Any, start: int, end: int, size: int = 0) -> None:
        """Add rows ``start:stop`` of a batch; a new `kind` starts a new batch.

        `size` is about how many bytes they take.
        """
        self._cuts.append((kind, (batch, start, end)))
        self.rows += end - start
        self.size += size

    def batches(self) -> Iterator[Any]:
        """Yield all of it, which is forgotten."""
        cuts, self._cuts, self.rows, self.size = self._cuts, [], 0, 0
        together: list[Cut] = []
        last = -1
        if len({isinstance(cut_rows[0], RawMatches) for _, cut_rows in cuts}) > 1:
            # Raw matches of a few repositories between record batches of others would divide all of them.
            cuts = [(kind, _as_record_batch(cut_rows)) for kind, cut_rows in cuts]

        for kind, cut_rows in cuts:
            # Small cuts are joined, because each batch costs some microseconds in every later step. Large ones are
            # passed on, because joining copies them.
            large = cut_rows[2] - cut_rows[1] >= LARGE_ROWS
            if together and (large or kind != last or not _alike(cut_rows[0], together[-1][0])):
                yield join_cuts(together)
                together = []
            together.append(cut_rows)
            last = kind if not large else -1

        if together:
            yield join_cuts(together)


def _alike(batch: Any, previous: Any) -> bool:
    if isinstance(batch, RawMatches) or isinstance(previous, RawMatches):
        return isinstance(batch, RawMatches) and isinstance(previous, RawMatches)
    return batch is previous or bool(batch.schema.equals(previous.schema))


def _as_record_batch(cut_rows: Cut) -> Cut:
    """Return the same rows of a record batch."""
    batch, start, end = cut_rows
    return (batch.batch, start, end) if isinstance(batch, RawMatches) else cut_rows
