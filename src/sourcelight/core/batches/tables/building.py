"""Arrow tables made from Python values."""

from __future__ import annotations

from typing import Any

from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.batches.tables import TABLES


def table_of(name: str, rows: int, **values: Any) -> Any:
    """An Arrow table of the columns `name`; a value that is no list stands in every row, one that is absent is null."""
    import pyarrow as pa

    fields, columns = [], []
    for column in TABLES[name]:
        kind = arrow_type(column.type)
        value = values.get(column.name)
        if isinstance(value, list):
            made = (
                pa.array(value, pa.string()).dictionary_encode().cast(kind) if _coded(kind) else pa.array(value, kind)
            )
        elif value is None:
            made = pa.nulls(rows, kind)
        elif _coded(kind):
            codes = pa.array([0], kind.index_type).take(pa.array([0] * rows, pa.int32()))
            made = pa.DictionaryArray.from_arrays(codes, pa.array([value], pa.string()))
        else:
            made = pa.array([value] * rows, kind)
        fields.append(pa.field(column.name, kind))
        columns.append(made)
    return pa.Table.from_arrays(columns, schema=pa.schema(fields))


def _coded(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(kind))
