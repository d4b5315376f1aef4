"""How a value is written in a page or a document, for both of them."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from sourcelight.core.markup import one_line

LONGEST = 200


def written(value: Any, column: str = "") -> str:
    """A value as one line of visible text: numbers with separators, times to the minute, nothing for null.

    A fraction is a percentage where the column is named a share.
    """
    import numpy as np
    import pandas as pd

    if isinstance(value, (list, tuple, np.ndarray)):
        return one_line(", ".join(str(item) for item in value), LONGEST)
    if value is None or value is pd.NA or value is pd.NaT or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, (bool, np.bool_)):
        return "yes" if value else "no"
    if is_number(value):
        whole = isinstance(value, (int, np.integer))
        return f"{value:,}" if whole else f"{value:,.1%}" if "share" in column else f"{value:,.2f}"
    if isinstance(value, datetime):
        return value.strftime("%Y-%m-%d %H:%M")
    return one_line(str(value), LONGEST)


def is_number(value: Any) -> bool:
    """Whether a value is set right-aligned."""
    import numpy as np

    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.bool_))


def heading(column: str) -> str:
    """A column's name for readers."""
    return column.replace("_", " ")
