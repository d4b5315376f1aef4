"""The data of a figure: a DataFrame, the column that counts, and the limits of the answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.extras import require_notebook
from sourcelight.core.tools.catalog import columns_by_origin, columns_named

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_COUNT_UNITS = {"match_count": "matches", "matches": "matches", "commits": "commits", "lines": "lines"}
"""Columns that count something, with their units; the first that a frame has is drawn unless the caller names one."""

_UNITS = {"additions": "added lines", "deletions": "removed lines"}
"""Units of other columns whose name is no unit."""

_PICKAXE_UNITS = {"added": "added matching lines", "removed": "removed matching lines", "net": "net matching lines"}
"""Meaning of columns with unclear names; ``net`` is added minus removed lines."""

_FILE_COLUMNS = ("path", "other_path", "directory", "file_kind")
"""Columns by which a commit is in several rows. It counts in each of them."""


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

    if value is not None:
        unit = _unit_of_value(frame, value)
    else:
        value = _count_column(frame)
        unit = _COUNT_UNITS[value] if value else _unit_of_rows(frame)

    if value is None:
        amounts = pd.Series(1, index=frame.index)
    else:
        amounts = pd.to_numeric(frame[value]).fillna(0)

    # The same limit of both frames is said once.
    limit_texts = dict.fromkeys(map(_limits_text, frames))
    return PlotData(
        frame=frame,
        amounts=amounts.astype("float64"),
        unit=unit,
        query=_query_text(frames),
        limits=sentences(_repeats_text(frame, unit), *limit_texts),
    )


def _count_column(frame: DataFrame) -> str | None:
    """Return the first column that counts something, or None if each row counts as one."""
    for name in _COUNT_UNITS:
        if name in frame.columns:
            return name
    return None


def _unit_of_value(frame: DataFrame, name: str) -> str:
    """Return the unit of a column that the caller chose."""
    units = _UNITS
    if {"added", "removed", "net"} <= set(frame.columns):
        units = _PICKAXE_UNITS
    return units.get(name, name.replace("_", " "))


def _unit_of_rows(frame: DataFrame) -> str:
    names = set(frame.columns)
    if {"line", "line_number"} <= names:
        return "lines"
    if {"commit", "subject"} <= names:
        return "commits"
    return "rows"


def _query_text(frames: Sequence[DataFrame]) -> str:
    """Return the first query of some frames as a sentence; empty without one."""
    for frame in frames:
        query = frame.attrs.get("query")
        if isinstance(query, str) and query:
            return f"Of {query}"
    return ""


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
    """Return the notice that rows of files or directories count commits several times; empty if they don't."""
    if unit != "commits" or "commits" not in frame.columns:
        return ""

    for name in _FILE_COLUMNS:
        if name in frame.columns and frame[name].notna().any():
            return f"A commit counts once for each {name.replace('_', ' ')} that it changed"
    return ""


def _check_summable(frame: DataFrame, name: str) -> None:
    """Raise `ValueError` for a column whose sum means nothing, as the table that the frame is of defines it.

    For a frame of unknown origin, such as a concatenation, only the name decides.
    """
    table = columns_by_origin(frame.attrs)
    columns = columns_named(name) if table is None else [column for column in table if column.name == name]
    refused_columns = [column for column in columns if column.is_number and not column.adds_up]
    if not refused_columns:
        return

    meaning = "it is a rank, a ratio or a running total"
    meanings = {column.meaning for column in refused_columns}
    if len(meanings) == 1:
        meaning = f"it is: {meanings.pop()}"

    hint = ""
    for column in refused_columns:
        if column.instead in frame.columns:
            hint = f"; use value={column.instead!r}"
            break

    raise ValueError(f"{name} can't be summed: {meaning}{hint}")


def check_column(frame: DataFrame, name: str) -> None:
    """Raise `ValueError` if a frame has no such column."""
    if name not in frame.columns:
        raise ValueError(f"no column {name!r}; columns: {', '.join(map(str, frame.columns))}")


def sentences(*parts: str) -> str:
    """Join the parts that are not empty, with a full stop each."""
    finished = []
    for part in parts:
        if part.endswith((".", "!", "?")):
            finished.append(part)
        elif part:
            finished.append(f"{part}.")
    return " ".join(finished)
