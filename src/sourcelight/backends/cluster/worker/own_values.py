"""Rows of one repository without the values of others that their dictionaries hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

_SPARSE = 16


def own_values(batch: Any) -> Any:
    """The batch with only the values that its rows use: so they meet those of other workers in the order of rows."""
    if len(batch.column(batch.schema.get_field_index("repository")).dictionary) < 2:
        return batch
    columns = [_used(column) if pa.types.is_dictionary(column.type) else column for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, schema=batch.schema)


def _used(column: Any) -> Any:
    codes = column.indices.fill_null(0).to_numpy(zero_copy_only=False)
    nulls = column.indices.is_null().to_numpy(zero_copy_only=False) if column.null_count else None
    known = codes if nulls is None else codes[~nulls]
    size = len(column.dictionary)
    if size > _SPARSE * len(codes):
        used = np.unique(known)
        places = np.searchsorted(used, codes)
    else:
        marked = np.zeros(size, np.bool_)
        marked[known] = True
        used = marked.nonzero()[0]
        places = (np.cumsum(marked) - 1)[codes]
    if len(used) == size:
        return column
    kind = column.type.index_type
    indices = pa.array(places.astype(kind.to_pandas_dtype()), kind, mask=nulls)
    return pa.DictionaryArray.from_arrays(indices, column.dictionary.take(pa.array(used)))
