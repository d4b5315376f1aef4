"""The data of a figure: a DataFrame, the column that counts, and the limits of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.extras import require_notebook
from sourcelight.core.tools.catalog import columns_by_origin, columns_named

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_COUNT_COLUMNS = (
    ("match_count", "matches"),
    ("matches", "matches"),
    ("commits", "commits"),
    ("lines", "lines"),
)
_UNITS = {"additions": "added lines", "deletions": "removed lines"}

_PICKAXE_UNITS = {"added": "added matching lines", "removed": "removed matching lines", "net": "net matching lines"}
"""Meaning of columns with unclear names; ``net`` is added minus removed lines."""

_PARTS = ("path", "other_path", "directory", "file_kind")
"""Columns by which a commit is in several rows: it counts in each."""


@dataclass(frozen=True, slots=True)
class PlotData:
    """A frame to draw: its rows, the amount of each with its unit, the query and the limits as sentences."""

    frame: DataFrame
    amounts: Series[Any]
    unit: str
    query: str
    limits: str

    @property
    def total(self) -> float:
        """Sum of the amounts."""
        return float(self.amounts.sum())


def plot_data(source: Any, value: str | None = None, origin: Any = None) -> PlotData:
    """Return the rows and amounts of a result or a frame, with the limits of both `source` and `origin`.

    Raises
    ------
    TypeError
        For anything but a result or a DataFrame.
    ValueError
        When there is no column `value`, or its sum means nothing: running totals, ratios, ranks, line numbers.
    """
    require_notebook("pandas", "a figure")
    import pandas as pd

    frame = _frame_of(source)
    frames = [frame] if origin is None else [frame, _frame_of(origin)]
    if value is not None:
        check_column(frame, value)
        _check_summable(frame, value)

    count_column = next(((name, unit) for name, unit in _COUNT_COLUMNS if name in frame.columns), None)
    if value is not None:
        units = _PICKAXE_UNITS if {"added", "removed", "net"} <= set(frame.columns) else _UNITS
        amounts, unit = pd.to_numeric(frame[value]).fillna(0), units.get(value, value.replace("_", " "))
    elif count_column is not None:
        amounts, unit = pd.to_numeric(frame[count_column[0]]).fillna(0), count_column[1]
    else:
        amounts = pd.Series(1, index=frame.index)
        names = set(frame.columns)
        if {"line", "line_number"} <= names:
            unit = "lines"
        elif {"commit", "subject"} <= names:
            unit = "commits"
        else:
            unit = "rows"

    query = next((frame.attrs["query"] for frame in frames if isinstance(frame.attrs.get("query"), str)), "")
    limits = sentences(_repeats_text(frame, unit), *dict.fromkeys(map(_limits_text, frames)))
    return PlotData(
        frame=frame, amounts=amounts.astype("float64"), unit=unit, query=f"Of {query}" if query else "", limits=limits
    )


def _frame_of(source: Any) -> DataFrame:
    import pandas as pd

    from sourcelight.client.search.result import SearchResult

    frame = source.matches if isinstance(source, SearchResult) else source
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"pass a result or a DataFrame for a figure, not {type(source).__name__}")
    return frame


def _limits_text(frame: DataFrame) -> str:
    status = frame.attrs.get("status", "complete")
    if status == "complete":
        return ""
    reason = frame.attrs.get("reasons") or "; ".join(frame.attrs.get("notices", ())) or "no reason given"
    limits = str(frame.attrs.get("cut") or "")
    return sentences(f"{limits[:1].upper()}{limits[1:]}", f"The answer is {status}: {reason}")


def _repeats_text(frame: DataFrame, unit: str) -> str:
    """Add the notice that rows of files or directories count commits several times."""
    column = next((name for name in _PARTS if name in frame.columns and frame[name].notna().any()), "")
    if unit != "commits" or "commits" not in frame.columns or not column:
        return ""
    return f"A commit counts once for each {column.replace('_', ' ')} that it changed"


def _check_summable(frame: DataFrame, name: str) -> None:
    """Raise `ValueError` for a column whose sum means nothing, as the table that the frame is of defines it.

    For a frame of unknown origin, such as a concatenation, only the name decides.
    """
    table = columns_by_origin(frame.attrs)
    columns = columns_named(name) if table is None else [column for column in table if column.name == name]
    wrong = [column for column in columns if column.is_number and not column.adds_up]
    if not wrong:
        return

    meanings = {column.meaning for column in wrong}
    meaning = f"it is: {meanings.pop()}" if len(meanings) == 1 else "it is a rank, a ratio or a running total"
    hint = next((f"; use value={column.instead!r}" for column in wrong if column.instead in frame.columns), "")
    raise ValueError(f"{name} can't be summed: {meaning}{hint}")


def check_column(frame: DataFrame, name: str) -> None:
    """Raise `ValueError` if a frame has no such column."""
    if name not in frame.columns:
        raise ValueError(f"no column {name!r}; columns: {', '.join(map(str, frame.columns))}")


def sentences(*parts: str) -> str:
    """Join the parts that are not empty, with a full stop each."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)
