"""How a value is written in a page or a document, for both of them.

The parts of a report: numbers, tables and figures, each with what it counts and what it leaves out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.markup import one_line
from sourcelight.lab.plots.figure import Figure, MatplotlibFigure

__all__ = [
    "Figure",
    "Frame",
    "Item",
    "LinkOf",
    "Listing",
    "MatplotlibFigure",
    "Metric",
    "ReportTable",
    "Section",
    "ThemedFigure",
]


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


def shown_rows(table: ReportTable) -> tuple[list[str], list[dict[str, Any]]]:
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


def how_many(table: ReportTable) -> str:
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


Frame = Any
LinkOf = Callable[[str, Mapping[str, Any]], str]
"""Address of a cell, from its column and its row; empty for none."""


@dataclass(frozen=True, slots=True, repr=False)
class ThemedFigure(Figure):
    """A figure that a notebook shows in the notebook's own colors, light or dark."""

    def _repr_html_(self) -> str:
        from sourcelight.lab.reports.html import figure_fragment

        return figure_fragment(self)


@refuses_former_names("Metric")
@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the summary.

    Attributes
    ----------
    name
        What is counted: ``"commits"``.
    value
        The number; None where the service can't give it, and then `excludes` says so.
    counts
        What was counted, in words.
    excludes
        What was not, and why; empty when nothing was.
    source
        Source frame whose rows are behind the number; empty when there is none.
    where
        Columns of the source and the value that they have in the rows behind the number.
    """

    name: str
    value: int | float | str | None
    counts: str
    excludes: str = ""
    source: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)


@refuses_former_names("ReportTable")
@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of a report.

    Attributes
    ----------
    name, title
        Name for programs, title for readers.
    frame
        The rows.
    counts, excludes
        What its numbers count, and what they don't.
    source
        Source frame whose rows are behind its numbers; empty when there is none.
    keys
        Columns that tell which rows of the source are behind a row of the table.
    shown
        Rows that a page shows; files and `frame` have all of them.
    behind
        Gives the commits behind a row, by its place from 0; None where `source` has them.
    hidden
        Columns that a page leaves out; files and `frame` have them.
    link
        Gives the address that a cell leads to, from its column and its row; None where there is none.
    """

    name: str
    title: str
    frame: Frame
    counts: str
    excludes: str = ""
    source: str = ""
    keys: tuple[str, ...] = ()
    shown: int = 20
    behind: Callable[[int], Frame] | None = None
    hidden: tuple[str, ...] = ()
    link: LinkOf | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """One entry of a list: its text, what stands small behind it, and where it leads (an address or nothing)."""

    text: str
    detail: str = ""
    url: str = ""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list under a title; a page shows the first `shown` items and says how many more there are."""

    title: str
    items: tuple[Item, ...]
    shown: int = 40


@dataclass(frozen=True, slots=True)
class Section:
    """A heading, a sentence or two, and what stands under it."""

    title: str
    text: str
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    lists: tuple[Listing, ...] = ()
