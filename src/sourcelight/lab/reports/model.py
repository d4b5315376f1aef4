"""The parts of a report: numbers, tables and figures, each with what it counts and what it leaves out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcelight.lab.plots.figure import Figure, MatplotlibFigure

__all__ = [
    "Figure",
    "Frame",
    "Item",
    "LinkOf",
    "Listing",
    "MatplotlibFigure",
    "Number",
    "Section",
    "Table",
    "ThemedFigure",
]

Frame = Any
LinkOf = Callable[[str, Mapping[str, Any]], str]
"""Address of a cell, from its column and its row; empty for none."""


@dataclass(frozen=True, slots=True, repr=False)
class ThemedFigure(Figure):
    """A figure that a notebook shows in the notebook's own colors, light or dark."""

    def _repr_html_(self) -> str:
        from sourcelight.lab.reports.html import figure_fragment

        return figure_fragment(self)


@dataclass(frozen=True, slots=True)
class Number:
    """One number of the summary.

    Attributes
    ----------
    name
        What is counted: ``"commits"``.
    value
        The number; None where the service can't give it, and then `left_out` says so.
    counted
        What was counted, in words.
    left_out
        What was not, and why; empty when nothing was.
    source
        Source frame whose rows are behind the number; empty when there is none.
    where
        Columns of the source and the value that they have in the rows behind the number.
    """

    name: str
    value: int | float | str | None
    counted: str
    left_out: str = ""
    source: str = ""
    where: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A table of a report.

    Attributes
    ----------
    name, title
        Name for programs, title for readers.
    frame
        The rows.
    counted, left_out
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
    counted: str
    left_out: str = ""
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
    tables: tuple[Table, ...] = ()
    figures: tuple[Figure, ...] = ()
    lists: tuple[Listing, ...] = ()
