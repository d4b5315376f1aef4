"""The parts of a report: metrics, tables, figures and lists, with footnotes about what they exclude."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.former_names import refuses_former_names
from sourcelight.lab.plots.figure import Figure, MatplotlibFigure

__all__ = [
    "DATE_SPAN",
    "LINE_SUMS",
    "Figure",
    "Footnotes",
    "Frame",
    "Item",
    "LinkOf",
    "Listing",
    "MatplotlibFigure",
    "Metric",
    "ReportContent",
    "ReportTable",
    "Section",
    "excludes_note",
    "incomplete_text",
]

Frame = Any

LinkOf = Callable[[str, Mapping[str, Any]], str]
"""Address of a cell, from its column and its row; empty for none."""

LINE_SUMS: Mapping[str, tuple[str, str]] = {"additions": ("additions", "sum"), "deletions": ("deletions", "sum")}
"""Columns with the lines of a group."""

DATE_SPAN: Mapping[str, tuple[str, str]] = {"first_date": ("commit_date", "min"), "last_date": ("commit_date", "max")}
"""Columns with the first and the last commit of a group."""


@refuses_former_names("Metric")
@dataclass(frozen=True, slots=True)
class Metric:
    """One number of the summary.

    Attributes
    ----------
    name
        The unit: ``"commits"``.
    value
        The number; None if the service can't provide it, with the reason in `excludes`.
    counts
        A description of what the number counts.
    excludes
        What the number excludes, and why; empty if nothing.
    source
        Source frame whose rows are behind the number; empty when there is none.
    filters
        Columns of the source and the value that they have in the rows behind the number.
    """

    name: str
    value: int | float | str | None
    counts: str
    excludes: str = ""
    source: str = ""
    filters: Mapping[str, Any] = field(default_factory=dict)


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
        Columns that select the rows of the source behind a row of the table.
    max_rows
        Rows that a page shows; files and `frame` have all of them.
    behind
        Gives the commits behind a row, by its place from 0; None where `source` has them.
    hidden
        Columns that a page leaves out; files and `frame` have them.
    link
        Gives the address that a cell leads to, from its column and its row; None if there is none.
    """

    name: str
    title: str
    frame: Frame
    counts: str
    excludes: str = ""
    source: str = ""
    keys: tuple[str, ...] = ()
    max_rows: int = 20
    behind: Callable[[int], Frame] | None = None
    hidden: tuple[str, ...] = ()
    link: LinkOf | None = None


@dataclass(frozen=True, slots=True)
class Item:
    """An entry of a list.

    Attributes
    ----------
    text
        Text of the entry.
    detail
        Secondary text after it.
    url
        Address of its link; empty: no link.
    """

    text: str
    detail: str = ""
    url: str = ""


@refuses_former_names("Listing")
@dataclass(frozen=True, slots=True)
class Listing:
    """A list with a title.

    Attributes
    ----------
    title
        Title.
    items
        All entries.
    max_items
        Number of entries on a page, which counts the others.
    """

    title: str
    items: tuple[Item, ...]
    max_items: int = 40


@dataclass(frozen=True, slots=True)
class Section:
    """A heading with a text, tables, figures and lists.

    Attributes
    ----------
    title, text
        Heading, and one or two sentences below it.
    tables, figures, lists
        Contents in this order.
    """

    title: str
    text: str
    tables: tuple[ReportTable, ...] = ()
    figures: tuple[Figure, ...] = ()
    lists: tuple[Listing, ...] = ()


@dataclass(frozen=True, slots=True, repr=False)
class ReportContent:
    """The content of a report for a page or a document; `Report` describes the fields."""

    title: str
    parameters: tuple[tuple[str, str], ...]
    metrics: tuple[Metric, ...]
    sections: tuple[Section, ...]
    sources: Mapping[str, Frame] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    limits: tuple[str, ...] = ()
    lead: tuple[str, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether every number is present and no limit was reached."""
        return not self.limits and all(metric.value is not None for metric in self.metrics)


class Footnotes:
    """The footnotes of a report.

    Notices of numbers and tables come first, in reading order, then the notices of the whole report.
    """

    def __init__(self, report: ReportContent) -> None:
        self._numbers: dict[str, int] = {}
        for number in report.metrics:
            self._add(excludes_note(number.excludes))

        for section in report.sections:
            for table in section.tables:
                self._add(excludes_note(table.excludes))

        for notice in report.notices:
            self._add(notice)

        self.limits = sorted({self._numbers[_sentence(limit)] for limit in report.limits if self._add(limit)})

    def _add(self, text: str) -> int:
        note = _sentence(text)
        return self._numbers.setdefault(note, len(self._numbers) + 1) if note else 0

    def number(self, text: str) -> int:
        """Return the number of a footnote; 0 for an empty text."""
        return self._numbers.get(_sentence(text), 0)

    @property
    def texts(self) -> list[str]:
        """All footnotes; the first has number 1."""
        return list(self._numbers)


def excludes_note(text: str) -> str:
    """Return the footnote of a number or a table that leaves something out; empty for nothing."""
    return f"Excludes: {text}" if text else ""


def _sentence(text: str) -> str:
    stripped = text.strip()
    if not stripped or stripped.endswith((".", "!", "?", ":")):
        return stripped
    return f"{stripped}."


def incomplete_text(report: ReportContent, notes: Footnotes) -> str:
    """Return a line for the top of an incomplete report, with a link to the details; empty for a complete one."""
    if report.complete:
        return ""

    unknown = [number.name for number in report.metrics if number.value is None]
    parts = [f"not known here: {', '.join(unknown)}"] if unknown else []
    if notes.limits:
        which = ", ".join(str(number) for number in notes.limits)
        parts.append(f"see {'note' if len(notes.limits) == 1 else 'notes'} {which}")

    return f"This report is incomplete: {'; '.join(parts)}."
