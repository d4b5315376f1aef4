"""DataFrames of results: their columns, and conversions to pandas, Arrow, polars, SQL and files.

No client, service or widget is known here; HTML of a DataFrame is in `notebook.frame_views`. pandas and pyarrow load
on first use. Start reading in `schema`, which describes every column, and `tables`, which makes the DataFrames.
"""

from sourcelight.display.frames.schema import NAME, SEARCHES, columns_of, documentation, pandas_dtype, table_schema

__all__ = [
    "NAME",
    "SEARCHES",
    "columns_of",
    "documentation",
    "pandas_dtype",
    "table_schema",
]
