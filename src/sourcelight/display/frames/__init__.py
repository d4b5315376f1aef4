"""Tables of an answer: schemas written once, and batches turned into pandas, Arrow, polars and files.

Knows rows and columns, never clients, services or widgets. pandas and pyarrow are loaded on first use.
"""

from sourcelight.display.frames.schema import (
    ALERTS,
    FILTERS,
    NAME,
    PROGRESS,
    REPOSITORIES,
    SEARCHES,
    SERVICES,
    SKIPPED,
    SPANS,
    columns_of,
    documentation,
    pandas_dtype,
    table_schema,
)

__all__ = [
    "ALERTS",
    "FILTERS",
    "NAME",
    "PROGRESS",
    "REPOSITORIES",
    "SEARCHES",
    "SERVICES",
    "SKIPPED",
    "SPANS",
    "columns_of",
    "documentation",
    "pandas_dtype",
    "table_schema",
]
