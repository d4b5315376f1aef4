"""What a figure is drawn from: a result or a frame, what its numbers count, and what is known to be missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcelight.core.tools.catalog import NOT_SUMMABLE

if TYPE_CHECKING:
    from pandas import DataFrame, Series

_COUNTS = (
    ("match_count", "matches"),
    ("matches", "matches"),
    ("commits", "commits"),
    ("lines", "lines"),
)


@dataclass(frozen=True, slots=True)
class Source:
    """A frame to draw: its rows, the number in each, and in words what that counts and what is missing."""

    frame: DataFrame
    amounts: Series[Any]
    unit: str
    told: str
    limits: str

    @property
    def total(self) -> float:
        """Sum of the numbers."""
        return float(self.amounts.sum())


def source_of(source: Any, value: str | None = None) -> Source:
    """A result or a frame as something to draw.

    Raises
    ------
    TypeError
        For something else.
    ValueError
        When there is no column `value`, or its numbers can't be added up: running totals, ratios, ranks and places.
    """
    import pandas as pd

    frame = getattr(source, "matches", None) if hasattr(source, "status") and hasattr(source, "table") else source
    if not isinstance(frame, pd.DataFrame):
        raise TypeError(f"a figure is drawn from a result or a DataFrame, not from {type(source).__name__}")
    if value is not None and value not in frame.columns:
        raise ValueError(f"there is no column {value!r} to draw; there are {', '.join(map(str, frame.columns))}")
    found = next(((name, unit) for name, unit in _COUNTS if name in frame.columns), None)
    if value is not None and value in NOT_SUMMABLE:
        column = NOT_SUMMABLE[value]
        hint = f"; draw value={column.instead!r} in its place" if column.instead in frame.columns else ""
        raise ValueError(f"{value} can't be added up: it is the {column.meaning}{hint}")
    if value is not None:
        values, unit = pd.to_numeric(frame[value]).fillna(0), value.replace("_", " ")
    elif found is not None:
        values, unit = pd.to_numeric(frame[found[0]]).fillna(0), found[1]
    else:
        values = pd.Series(1, index=frame.index)
        unit = "commits" if {"commit", "subject"} <= set(frame.columns) else "rows"
    return Source(frame, values.astype("float64"), unit, _told(frame), _limits(frame))


def _told(frame: DataFrame) -> str:
    query = frame.attrs.get("query")
    return f"Of {query}" if isinstance(query, str) and query else ""


def _limits(frame: DataFrame) -> str:
    status = frame.attrs.get("status", "complete")
    if status == "complete":
        return ""
    cut = str(frame.attrs.get("cut") or "")
    if cut:
        return f"{cut[:1].upper()}{cut[1:]}. The answer is {status}: {frame.attrs.get('reasons') or 'no reason given'}."
    why = frame.attrs.get("reasons") or "; ".join(frame.attrs.get("notices", ())) or "no reason given"
    return f"The answer is {status}: {why}."


def column_of(frame: DataFrame, name: str) -> Series[Any]:
    """A column as texts, ``unknown`` for null; raises ValueError where there is none."""
    if name not in frame.columns:
        raise ValueError(f"there is no column {name!r}; there are {', '.join(map(str, frame.columns))}")
    return frame[name].astype("object").where(frame[name].notna(), "unknown").astype("str")


def sentences(*parts: str) -> str:
    """Parts that are not empty, with a full stop each."""
    return " ".join(part if part.endswith((".", "!", "?")) else f"{part}." for part in parts if part)


def number(value: float) -> str:
    """A number to be read."""
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:,.1f}"


def head_and_rest(totals: Series[Any], most: int) -> tuple[list[str], Sequence[str]]:
    """The names with the most, and the others."""
    order = totals.sort_values(ascending=False, kind="stable")
    names = [str(name) for name in order.index]
    return names[:most], names[most:]
