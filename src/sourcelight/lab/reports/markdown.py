"""Write a report as Markdown; all of its text is escaped."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sourcelight.core.markup import link, literal, literal_line, one_line
from sourcelight.lab.plots.figure import write_figure
from sourcelight.lab.reports import model
from sourcelight.lab.reports.text import MAX_CHARS, format_cell, heading, is_number, row_count_text, shown_rows

_ADDRESS_CHARS = ":/?#@!$&'*+,;=%-._~"
"""Characters that stay as they are in an address in angle brackets: none of them can end it, or a cell of a table."""

_MAX_TEXT_CHARS = MAX_CHARS * 4
"""Characters of a text; a cell is cut before it is written, others come from names that may be of any length."""


def document(report: model.ReportContent, figures: Mapping[str, str] | None) -> str:
    """Return the document; `figures` has links to pictures by figure name. None: the text describes the figures."""
    notes = model.Footnotes(report)
    lines = [f"# {_inline(report.title)}", ""]
    if report.lead:
        lines += [*(f"- {_block(sentence)}" for sentence in report.lead), ""]

    missing_text = model.incomplete_text(report, notes)
    if missing_text:
        lines += [f"**{_inline(missing_text)}**", ""]

    lines += [f"- {_block(name)}: {_inline(text)}" for name, text in report.parameters]
    if report.metrics:
        lines += ["", *_metric_lines(report.metrics, notes)]

    for section in report.sections:
        lines += ["", f"## {_inline(section.title)}"]
        if section.text:
            lines += ["", _block(section.text)]
        for listing in section.lists:
            lines += ["", *_list_lines(listing)]
        for figure in section.figures:
            lines += ["", _figure_line(figure, figures)]
        for table in section.tables:
            lines += ["", *_table_lines(table, notes)]

    if notes.texts:
        lines += ["", "## Notes", "", *(f"{number}. {_block(text)}" for number, text in enumerate(notes.texts, 1))]

    return "\n".join(lines) + "\n"


def _inline(text: str) -> str:
    """Return Markdown that shows a text verbatim within a line, as in a heading or a cell."""
    return literal(one_line(text, _MAX_TEXT_CHARS))


def _block(text: str) -> str:
    """Return Markdown that shows a text verbatim from the start of a line, as in a paragraph or an item of a list."""
    return literal_line(one_line(text, _MAX_TEXT_CHARS))


def _footnote_mark(notes: model.Footnotes, excludes: str) -> str:
    """Return the mark of the footnote that says what a number excludes; empty if it excludes nothing."""
    number = notes.number(model.excludes_note(excludes))
    return f" \\[{number}\\]" if number else ""


def _metric_lines(metrics: Sequence[model.Metric], notes: model.Footnotes) -> list[str]:
    lines = ["| number | value | counts |", "| --- | ---: | --- |"]
    for metric in metrics:
        value = "not known" if metric.value is None else format_cell(metric.value, metric.name)
        name = f"{_inline(metric.name)}{_footnote_mark(notes, metric.excludes)}"
        lines.append(f"| {name} | {_inline(value)} | {_inline(metric.counts)} |")
    return lines


def _list_lines(listing: model.Listing) -> list[str]:
    lines = [f"### {_inline(listing.title)} ({len(listing.items):,})", ""]
    lines += map(_list_line, listing.items[: listing.max_items])
    remaining = len(listing.items) - listing.max_items
    if remaining > 0:
        lines.append(f"- and {remaining:,} more")
    return lines


def _list_line(item: model.Item) -> str:
    text = f"- {_block(item.text)}"
    if item.detail:
        text += f" ({_with_link(_inline(item.detail), item.url)})"
    return text


def _with_link(text: str, url: str) -> str:
    """Return a link with this text if `url` is an address of the web, else the text."""
    if not url or not link("", url):
        return text
    return f"[{text}](<{quote(url, safe=_ADDRESS_CHARS)}>)"


def save_figures(report: model.ReportContent, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write the figures as PNG into a directory next to `path`, and return their relative addresses by name."""
    target = Path(path)
    directory = target.with_name(f"{target.stem}_figures")
    links = {}
    for section in report.sections:
        for figure in section.figures:
            directory.mkdir(parents=True, exist_ok=True)
            with (directory / f"{figure.name}.png").open("wb") as file:
                write_figure(figure.draw, file, "png")
            links[figure.name] = f"{quote(directory.name)}/{quote(figure.name)}.png"

    return links


def _figure_line(figure: model.Figure, links: Mapping[str, str] | None) -> str:
    if links is None:
        return f"*{_inline(figure.title)}*: {_inline(figure.description)}"
    return f"![{_inline(figure.description)}]({links[figure.name]})"


def _table_lines(table: model.ReportTable, notes: model.Footnotes) -> list[str]:
    mark = _footnote_mark(notes, table.excludes)
    if not len(table.frame):
        return [_block(f"{table.title}: no rows. {table.counts}") + mark]
    if not table.max_rows:
        # The rows are in the frames of the report alone.
        return [_block(f"Table {table.name}: {table.counts} {row_count_text(table)}") + mark]

    columns, rows = shown_rows(table)
    lines = [
        f"### {_inline(table.title)}{mark}",
        "",
        _block(f"{table.counts} {row_count_text(table)}".strip()),
        "",
        _table_line(_inline(heading(column)) for column in columns),
        _table_line(_rule(rows, column) for column in columns),
    ]
    return lines + [_table_line(_cell(table, row, column) for column in columns) for row in rows]


def _table_line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rule(rows: Sequence[Mapping[str, Any]], column: str) -> str:
    """Return the line below the heading of a column: numbers are aligned to the right."""
    return "---:" if any(is_number(row[column]) for row in rows) else "---"


def _cell(table: model.ReportTable, row: Mapping[str, Any], column: str) -> str:
    text = _inline(format_cell(row[column], column))
    if text and table.link is not None:
        return _with_link(text, table.link(column, row))
    return text
