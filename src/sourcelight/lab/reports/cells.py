"""How a value is written in a page or a document, for both of them."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup import one_line

if TYPE_CHECKING:
    from sourcelight.lab.reports.model import Table

LONGEST = 200
_COMMIT_DIGITS = 12
# Of these the day says enough; files and frames have the time.
_NAMES = frozenset({"author", "last_author", "status", "path", "directory", "organization"})
_USUAL_NAME = 24
_USUAL = {"exact": True}  # of columns of yes and no: the value that is no exception; no for all others
_BY_DAY = frozenset({"period", "first_date", "last_date", "oldest_date", "newest_date"})


def written(value: Any, column: str = "") -> str:
    """A value as one line of visible text: numbers with separators, times to the minute, nothing for null.

    A fraction is a percentage where the column is named a share, a commit its first digits, and the ends of a time
    are days.
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, (list, tuple, np.ndarray)):
        return one_line(", ".join(str(item) for item in value), LONGEST)
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        # Only exceptions are marked: a column of "no" says nothing.
        return "" if bool(value) == _USUAL.get(column, False) else "yes" if value else "no"
    if is_number(value):
        whole = isinstance(value, (int, np.integer))
        return f"{value:,}" if whole else f"{value:,.1%}" if "share" in column else f"{value:,.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d" if column in _BY_DAY else "%Y-%m-%d %H:%M")
    return one_line(str(value)[:_COMMIT_DIGITS] if column == "commit" else str(value), LONGEST)


def shown_rows(table: Table) -> tuple[list[str], list[dict[str, Any]]]:
    """Columns and first rows as a page shows them; the rows have all columns.

    No column without a value or an exception, and no repository if there is but one.
    """
    frame = table.frame.head(table.shown)
    columns = [str(column) for column in frame.columns if str(column) not in table.hidden]
    if len(frame):
        columns = [column for column in columns if _says_something(frame[column], column)]
    if "repository" in columns and len(columns) > 1 and len(table.frame["repository"].unique()) <= 1:
        columns.remove("repository")
    return columns, frame.to_dict("records")


def _says_something(values: Any, column: str) -> bool:
    import pandas as pd

    known = values.dropna()
    if not len(known):
        return False
    if pd.api.types.is_bool_dtype(known.dtype):
        return bool((known.astype("bool") != _USUAL.get(column, False)).any())
    return True


def how_many(table: Table) -> str:
    """What a page says where it shows but a part of a table's rows; empty where it shows all."""
    total = len(table.frame)
    if total <= table.shown:
        return "" if total else "There is no row."
    shown = f"The first {table.shown:,} of {total:,} rows" if table.shown else f"Its {total:,} rows are not shown here"
    return f"{shown}; the table itself and its file have all."


def stays_whole(value: Any, column: str = "") -> bool:
    """Whether a value is never broken across lines: numbers, times, yes and no, commits, names of usual length."""
    if column in _NAMES and isinstance(value, str) and len(value) <= _USUAL_NAME:
        return True
    return column == "commit" or is_number(value) or isinstance(value, (bool, datetime))


def is_number(value: Any) -> bool:
    """Whether a value is set right-aligned."""
    import numpy as np

    if isinstance(value, (bool, np.bool_)):
        return False
    return isinstance(value, (int, float, np.integer, np.floating)) and not np.isnan(value)


def heading(column: str) -> str:
    """A column's name for readers."""
    return column.replace("_", " ")
