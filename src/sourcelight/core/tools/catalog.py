"""Arrow tables made from Python values.

Columns of the tables that tools and analyses answer with; one module a domain. Pure data.

`COLUMNS` has them by name: the `columns` of an `sourcelight.core.batches.results.ToolResult`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcelight.core.batches.schema import MATCHES, Column, arrow_type
from sourcelight.core.tools import analyses, conversations, files, navigation

__all__ = ["COLUMNS", "NOT_SUMMABLE"]


COLUMNS: Mapping[str, tuple[Column, ...]] = {
    **files.COLUMNS,
    **analyses.COLUMNS,
    **navigation.COLUMNS,
    **conversations.COLUMNS,
}

NOT_SUMMABLE: Mapping[str, Column] = {
    column.name: column for table in (MATCHES, *COLUMNS.values()) for column in table if not column.summable
}
"""Numbers whose sum over rows means nothing, by name; a name means the same in every table."""


def table_of(name: str, rows: int, **values: Any) -> Any:
    """An Arrow table of the columns `name`; a value that is no list stands in every row, one that is absent is null."""
    import pyarrow as pa

    fields, columns = [], []
    for column in COLUMNS[name]:
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
