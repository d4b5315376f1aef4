"""Cut a record batch of matches after a number of matches, inside a row if need be, as the service counts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

_SPANS = (("start", "end"), ("byte_start", "byte_end"))


def match_count(batch: Any) -> int:
    """How many matches a batch holds: ranges of content rows, one for each other row; its rows, where none says."""
    index = batch.schema.get_field_index("match_count")
    return int(pc.sum(batch.column(index)).as_py() or 0) if index >= 0 else int(batch.num_rows)


def first_matches(batch: Any, most: int) -> Any:
    """The rows of `batch` that hold its first `most` matches.

    Of a row in which the limit falls only the first spans stay, with its text whole, so that the counts add up.
    A row that only continues a match of the row before it goes with that row.
    """
    counts = np.asarray(batch.column(batch.schema.get_field_index("match_count")).to_numpy(zero_copy_only=False))
    total = np.cumsum(counts)
    if not len(total) or total[-1] <= most:
        return batch
    if most <= 0:
        return batch.slice(0, 0)
    last = int(np.searchsorted(total, most, side="left"))
    keep_in_last = int(most - (total[last - 1] if last else 0))
    head = batch.slice(0, last + 1)
    if keep_in_last == counts[last]:
        return head
    return _cut_last_row(head, keep_in_last)


def _cut_last_row(batch: Any, keep: int) -> Any:
    last = batch.num_rows - 1
    spans = batch.column(batch.schema.get_field_index("start"))[last].as_py() or []
    continued = len(spans) - batch.column(batch.schema.get_field_index("match_count"))[last].as_py()
    kept = keep + max(continued, 0)
    columns = list(batch.columns)

    def replace(name: str, value: Any) -> None:
        index = batch.schema.get_field_index(name)
        if index >= 0:
            column = columns[index]
            columns[index] = pa.concat_arrays([column.slice(0, last), pa.array([value], type=column.type)])

    for pair in _SPANS:
        for name in pair:
            index = batch.schema.get_field_index(name)
            if index >= 0:
                value = batch.column(index)[last].as_py()
                replace(name, None if value is None else value[:kept])
    replace("match_count", keep)
    return pa.record_batch(columns, schema=batch.schema)
