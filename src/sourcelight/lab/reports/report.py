"""`Report`: its tables, figures and the rows behind its numbers, and the files that it writes.

A report is finished data: it asks no service, except for the rows behind a table that are looked up. Each output is
written by a module of its own when it is requested, and figures are drawn again for each. A number, a table and a
source may have the same name: filters name keys of a table, so with them the table is meant.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcelight.core.arguments import checks_methods
from sourcelight.core.former_names import refuses_former_names
from sourcelight.display.frames.export import text_or_path, write_frame
from sourcelight.display.notebook.frame_views.table import REPORT
from sourcelight.lab.reports.model import Figure, Frame, MatplotlibFigure, ReportContent, ReportTable

_FORMATS = ("csv", "parquet", "jsonl")
"""Formats of tables, each also the extension of its files."""


@refuses_former_names("Report")
@dataclass(frozen=True, slots=True, repr=False)
@checks_methods
class Report(ReportContent):
    """A finished report.

    In a notebook it shows itself. `tables` and `figures` have its parts by name, `drill_down` the rows behind a number.

    Attributes
    ----------
    title
        The subject of the report.
    parameters
        The input: repositories with their commits, dates, revisions; (name, text) pairs.
    metrics
        The summary.
    sections
        Tables and figures in reading order.
    sources
        Frames that the numbers were counted from, by name: ``commits`` with a row per commit, ``changes`` with a row a
        changed file of a commit.
    notices
        Facts for the reader: rules of counting, limits, missing objects, and values that this service lacks.
    limits
        Notices about missing parts of the report.
    lead
        A summary in a few sentences, for a reader who reads nothing else; its numbers come from `metrics` and
        `tables`.
    """

    @property
    def summary(self) -> Frame:
        """DataFrame of the numbers: columns name, value (object), counts and excludes (str)."""
        import pandas as pd

        rows = [(metric.name, metric.value, metric.counts, metric.excludes) for metric in self.metrics]
        return self._mark(pd.DataFrame(rows, columns=["name", "value", "counts", "excludes"]))

    @property
    def tables(self) -> dict[str, Frame]:
        """All tables by name, whole."""
        return {table.name: self._mark(table.frame) for table in self._tables()}

    def _mark(self, frame: Frame) -> Frame:
        """Return a table marked as one of this report, by which notebooks display it as tables of answers."""
        frame.attrs.setdefault(REPORT, self.title)
        return frame

    @property
    def figures(self) -> dict[str, MatplotlibFigure]:
        """All figures by name, drawn again: matplotlib figures that no global state knows."""
        return {figure.name: figure.draw() for figure in self._figures()}

    def figure(self, name: str) -> Figure:
        """Return a figure, which displays itself in a notebook.

        Parameters
        ----------
        name
            A key of `figures`.

        Returns
        -------
        Figure
            The figure.

        Raises
        ------
        KeyError
            When no figure has this name; the message lists the names.
        """
        figures = {figure.name: figure for figure in self._figures()}
        if name not in figures:
            raise KeyError(f"unknown figure {name!r}; available: {', '.join(figures) or 'none'}")
        return figures[name]

    def drill_down(self, name: str, **filters: Any) -> Frame:
        """Return the rows behind a number.

        Parameters
        ----------
        name
            A number of the summary, or, with `filters` or where no number has the name, a table.
        filters
            For a table: values of its key columns, such as ``author="Ada"``; without any, the rows behind all of it,
            where the report keeps them. A table whose rows are looked up needs enough of them to identify a row.

        Returns
        -------
        DataFrame
            One row per commit (of a table keyed by `path` alone, per changed file), with the columns of its source.

        Raises
        ------
        KeyError
            For an unknown name, key or value; the message lists known ones.
        """
        # A metric and a table can share a name ("commits"). Filters are keys of a table: with them, the table is meant.
        for metric in self.metrics:
            if metric.name == name and metric.source and not filters:
                return _rows(self.sources[metric.source], metric.filters, with_counts=True)

        for table in self._tables():
            if table.name == name and (table.source or table.behind):
                unknown = sorted(set(filters) - set(table.keys))
                if unknown:
                    raise KeyError(f"{name} is not keyed by {', '.join(unknown)}; its keys are {', '.join(table.keys)}")
                if table.source:
                    return _rows(self.sources[table.source], filters)
                return _looked_up(table, filters)

        names = [n.name for n in self.metrics if n.source]
        names += [table.name for table in self._tables() if table.source or table.behind]
        raise KeyError(f"no rows are stored for {name!r}; rows exist for {', '.join(names)}")

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as one HTML page without scripts, which works offline.

        Parameters
        ----------
        path
            File to write; None: return the page.

        Returns
        -------
        str
            The page, or `path` if it is given.
        """
        from sourcelight.lab.reports.html import page

        return text_or_path(page(self), path)

    def to_markdown(self, path: str | os.PathLike[str] | None = None) -> str:
        """Return the report as Markdown, with a description of each figure.

        Parameters
        ----------
        path
            File to write, with the figures as PNG in a directory next to it; None: return the text.

        Returns
        -------
        str
            The text, or `path` if it is given.
        """
        from sourcelight.lab.reports.markdown import document, save_figures

        links = None if path is None else save_figures(self, path)
        return text_or_path(document(self, links), path)

    def to_pdf(self, path: str | os.PathLike[str]) -> str:
        """Print the page to a PDF with a Chromium of this machine.

        Parameters
        ----------
        path
            File to write.

        Returns
        -------
        str
            The path.

        Raises
        ------
        MissingExtra
            When no Chromium is installed; the message lists the names that were searched for.
        """
        from sourcelight.lab.reports.pdf import print_page

        return print_page(self.to_html(), path)

    def save_tables(
        self,
        folder: str | os.PathLike[str],
        format: str = "csv",  # noqa: A002 - the name users type
        *,
        spreadsheet: bool = True,
    ) -> list[str]:
        """Write each table and source to a file of a directory.

        Parameters
        ----------
        folder
            The directory, which is created if it is missing.
        format
            ``csv``, ``parquet`` or ``jsonl``.
        spreadsheet
            Whether CSV cells that a spreadsheet would run as a formula start with an apostrophe. True, because people
            open these files; False: the unchanged text. Parquet and JSON Lines always have the unchanged text.

        Returns
        -------
        list of str
            The paths of the files.

        Raises
        ------
        ValueError
            When the format is unknown.
        """
        # The values are numbers, texts and None, which Parquet can't have in one column.
        frames = {"summary": self.summary.astype({"value": "str"}), **self.tables, **self.sources}
        return [save(frame, name, folder, format, spreadsheet=spreadsheet) for name, frame in frames.items()]

    def __repr__(self) -> str:
        parts = ", ".join(f"{metric.name} {_number(metric.value)}" for metric in self.metrics[:6])
        return f"<Report {self.title!r}: {parts}; tables {', '.join(self.tables)}>"

    def _repr_html_(self) -> str:
        from sourcelight.lab.reports.html import fragment

        return fragment(self)

    def _repr_markdown_(self) -> str:
        return self.to_markdown()

    def _tables(self) -> Iterator[ReportTable]:
        for section in self.sections:
            yield from section.tables

    def _figures(self) -> Iterator[Figure]:
        for section in self.sections:
            yield from section.figures


def _number(value: Any) -> str:
    if value is None:
        return "not known"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _looked_up(table: ReportTable, filters: Mapping[str, Any]) -> Frame:
    """Return the commits behind one row of a table, from the service."""
    # `behind` takes a position in the whole table, so the index must count its rows.
    frame = table.frame.reset_index(drop=True)
    for column, value in filters.items():
        frame = frame[frame[column].astype(object) == value]

    if len(frame) != 1 or table.behind is None:
        raise KeyError(
            f"{len(frame)} rows of {table.name} have these values; pass values of {', '.join(table.keys)} that only "
            f"one row has, such as {_example(table)}"
        )

    return table.behind(int(frame.index[0]))


def _example(table: ReportTable) -> str:
    if not len(table.frame):
        return "of a table with rows"
    first = table.frame.iloc[0]
    return ", ".join(f"{key}={first[key]!r}" for key in table.keys)


def _rows(frame: Frame, filters: Mapping[str, Any], *, with_counts: bool = False) -> Frame:
    """Return rows with these values; `with_counts`: rows of a number, of which there may be none."""
    for column, value in filters.items():
        values = list(value) if isinstance(value, (list, tuple, set, frozenset)) else [value]
        mask = frame[column].isin(values)
        # A value that no row has is most often misspelled. The filters of a metric may rightly select no row, and so
        # may a flag.
        if not mask.any() and len(frame) and not with_counts and not isinstance(value, bool):
            raise KeyError(f"no row has {value!r} in {column}")
        frame = frame[mask]

    return frame.reset_index(drop=True)


def save(
    frame: Any,
    name: str,
    folder: str | os.PathLike[str],
    format: str,  # noqa: A002 - the name users type
    *,
    spreadsheet: bool = True,
) -> str:
    """Write a frame to ``folder/name.format`` and give that path; `spreadsheet` as in `write_frame`.

    Raises
    ------
    ValueError
        For a format that is not known.
    """
    if format not in _FORMATS:
        raise ValueError(f"unknown format {format!r}; choose one of {', '.join(_FORMATS)}")
    path = Path(folder) / f"{name}.{format}"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_frame(frame, path, format, spreadsheet=spreadsheet)
    return str(path)
