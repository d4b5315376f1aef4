"""A report as a page without scripts or network access, and as the output of a notebook cell."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import NO_MATH, escape, link
from sourcelight.display.frames.encoders import escape_formula
from sourcelight.lab.plots.charts import svg_element
from sourcelight.lab.reports.model import (
    Figure,
    Footnotes,
    Item,
    Listing,
    Metric,
    ReportContent,
    ReportTable,
    Section,
    excludes_note,
    incomplete_text,
)
from sourcelight.lab.reports.style import fragment_style, page_style
from sourcelight.lab.reports.text import format_cell, heading, is_number, is_unbroken, row_count_text, shown_rows

# A declaration may be broken anywhere, or its table would be wider than the page.
_CODE = frozenset({"old_signature", "signature", "symbol"})
_LONG = frozenset({"path", "directory", "old_path", "subject", "last_subject", "title", "reason"})
# Columns whose text is shown below that of another: a separate column would be narrow, and its rows high.
_BELOW = {"subject": "reason"}
# Longer words may be broken; shorter ones fit the narrowest column of a printed page.
_SHORT = 18
# Behind separators of paths, addresses and names, where a reader expects the next part. Browsers break long words only
# at marked positions, and would otherwise widen the column.
_BREAKS = re.compile(r"(?<=[/@.+])(?=\w)|(?<=[^\W_]_)(?=[^\W_])")


def page(report: ReportContent) -> str:
    """Return the whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        # Names from a repository never run scripts or load addresses.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.title)}</title><style>{page_style(report.title)}</style></head>"
        f"<body><main>{_body(report)}</main></body></html>\n"
    )


def fragment(report: ReportContent) -> str:
    """Return the report as a cell's output."""
    return f"<style>{fragment_style()}</style>{_body(report, top=2)}"


def figure_fragment(figure: Figure) -> str:
    """Return one figure as a cell's output."""
    return f'<style>{fragment_style()}</style><div class="sl-report {NO_MATH}">{_figure(figure)}</div>'


@dataclass(frozen=True, slots=True, repr=False)
class ThemedFigure(Figure):
    """A figure that a notebook shows in the notebook's own colors, light or dark."""

    def _repr_html_(self) -> str:
        return figure_fragment(self)


def _body(report: ReportContent, top: int = 1) -> str:
    notes = Footnotes(report)
    parameters = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in report.parameters)
    sections = "".join(_section(section, top + 1, notes) for section in report.sections)
    lead = _within("ul", "sl-lead", "".join(f"<li>{escape(sentence)}</li>" for sentence in report.lead))
    metrics = _within("ul", "sl-numbers", "".join(_metric(metric, notes) for metric in report.metrics))
    limits = _within("p", "sl-limits", escape(incomplete_text(report, notes)))
    return (
        f'<article class="sl-report {NO_MATH}"><h{top} class="sl-title">{escape(report.title)}</h{top}>'
        f"{lead}{limits}<dl>{parameters}</dl>{metrics}{sections}{_notes(report, notes, top + 1)}</article>"
    )


def _within(tag: str, name: str, html: str) -> str:
    """Return an element around some HTML; nothing around nothing."""
    return f'<{tag} class="{name}">{html}</{tag}>' if html else ""


def _notes(report: ReportContent, notes: Footnotes, level: int) -> str:
    """Return the definitions of the metrics, and the footnotes."""
    metrics = [metric for metric in report.metrics if metric.counts]
    counts = "".join(f"<dt>{escape(metric.name)}</dt><dd>{escape(metric.counts)}</dd>" for metric in metrics)
    texts = "".join(f"<li>{escape(text)}</li>" for text in notes.texts)
    html = _within("dl", "sl-counts", counts) + _within("ol", "sl-texts", texts)
    if html:
        return f'<section class="sl-notes"><h{level} class="sl-part">Notes</h{level}>{html}</section>'
    return ""


def _metric(metric: Metric, notes: Footnotes) -> str:
    value = "not known" if metric.value is None else format_cell(metric.value, metric.name)
    return (
        f'<li title="{escape(metric.counts)}">{escape(metric.name)}{_mark(notes, excludes_note(metric.excludes))}'
        f"<b>{escape(value)}</b></li>"
    )


def _mark(notes: Footnotes, text: str) -> str:
    number = notes.number(text)
    return f'<sup title="{escape(text)}">{number}</sup>' if number else ""


def _section(section: Section, level: int, notes: Footnotes) -> str:
    figures = "".join(map(_figure, section.figures))
    lists = "".join(_list(listing, level + 1) for listing in section.lists)
    tables = "".join(_table(table, level + 1, notes) for table in section.tables)
    text = f'<p class="sl-text">{escape(section.text)}</p>' if section.text else ""
    heading_html = f'<h{level} class="sl-part">{escape(section.title)}</h{level}>'
    return f"<section>{heading_html}{text}{lists}{figures}{tables}</section>"


def _figure(figure: Figure) -> str:
    return f"<figure><figcaption>{escape(figure.title)}</figcaption>{svg_element(figure)}</figure>"


def _list(listing: Listing, level: int) -> str:
    items = "".join(map(_item, listing.items[: listing.max_items]))
    remaining = len(listing.items) - listing.max_items
    more_html = f'<p class="sl-about">and {remaining:,} more</p>' if remaining > 0 else ""
    heading_html = f'<h{level} class="sl-name">{escape(listing.title)} ({len(listing.items):,})</h{level}>'
    return f'{heading_html}<ul class="sl-list">{items}</ul>{more_html}'


def _item(item: Item) -> str:
    detail = f' <span class="sl-about">{_with_link(escape(item.detail), item.url)}</span>' if item.detail else ""
    return f"<li>{_broken(item.text)}{detail}</li>"


def _with_link(html: str, url: str) -> str:
    """Return HTML as a link to a web address; unchanged for any other address."""
    opening = link("", url)
    return opening.replace("></a>", f">{html}</a>") if opening else html


def _table(table: ReportTable, level: int, notes: Footnotes) -> str:
    if not table.max_rows and len(table.frame):
        about = f"Table {table.name}: {table.counts} {row_count_text(table)}"
        return f'<p class="sl-about">{escape(about)}{_mark(notes, excludes_note(table.excludes))}</p>'
    if not len(table.frame):
        about = f"{table.title}: no rows. {table.counts}"
        return f'<p class="sl-about">{escape(about)}{_mark(notes, excludes_note(table.excludes))}</p>'

    columns, rows = shown_rows(table)
    below = {upper: lower for upper, lower in _BELOW.items() if {upper, lower} <= set(columns)}
    columns = [column for column in columns if column not in below.values()]
    numeric = {column for column in columns if any(is_number(row[column]) for row in rows)}
    about = " ".join(part for part in (table.counts, row_count_text(table)) if part)
    above = (
        f'<h{level} class="sl-name">{escape(table.title)}{_mark(notes, excludes_note(table.excludes))}</h{level}>'
        f'<p class="sl-above sl-about">{escape(about)}</p>'
    )
    titles = {
        column: f"{heading(column)} and {heading(below[column])}" if column in below else heading(column)
        for column in columns
    }
    head = "".join(
        f'<th scope="col"{_alignment(column in numeric)}>{escape(titles[column])}</th>' for column in columns
    )
    body = "".join(
        "<tr>" + "".join(_cell(table, row, column, below.get(column, "")) for column in columns) + "</tr>"
        for row in rows
    )

    # A part that scrolls sideways must be reachable by keyboard, and has a name then.
    wide = f'<div class="sl-wide" tabindex="0" role="group" aria-label="{escape(table.title)}">'
    return f"{above}{wide}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(table: ReportTable, row: Mapping[str, Any], column: str, column_below: str) -> str:
    value = row[column]
    text = format_cell(value, column)
    if not is_number(value):  # a table of a page is pasted into spreadsheets, which run text that begins like a formula
        text = escape_formula(text)

    text = escape(text) if is_unbroken(value, column) else _broken(text)
    url = table.link(column, row) if table.link is not None and text else ""
    text_below = format_cell(row[column_below], column_below) if column_below else ""
    below = f'<div class="sl-about">{_broken(escape_formula(text_below))}</div>' if text_below else ""
    return f"<td{_class(value, column)}>{_with_link(text, url) if url else text}{below}</td>"


def _broken(text: str) -> str:
    """Return text that may be broken within long words: behind separators of paths and addresses."""
    if len(text) <= _SHORT:
        return escape(text)
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def _alignment(number: bool) -> str:  # noqa: FBT001 - one of two ways to set a cell
    return ' class="sl-n"' if number else ""


def _class(value: object, column: str) -> str:
    if is_number(value):
        return _alignment(number=True)
    if is_unbroken(value, column):
        return ' class="sl-w"'
    if column in _CODE:
        return ' class="sl-c"'
    return ' class="sl-p"' if column in _LONG and len(str(value)) > _SHORT else ""
