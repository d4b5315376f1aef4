"""A report as one page that needs no network and runs nothing, and as a part of a notebook."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from sourcelight.core.markup import escape, link
from sourcelight.display.frames.export import harmless
from sourcelight.lab.plots.charts import svg_element
from sourcelight.lab.reports.model import (
    Figure,
    Item,
    Listing,
    Metric,
    ReportTable,
    Section,
    heading,
    how_many,
    is_number,
    shown_rows,
    stays_whole,
    written,
)
from sourcelight.lab.reports.notes import Footnotes, incomplete, left_out
from sourcelight.lab.reports.style import fragment_style, page_style

if TYPE_CHECKING:
    from sourcelight.lab.reports.report import Report

_LONG = frozenset({"path", "directory", "old_path", "subject", "last_subject", "title"})
_SHORT = 18
_BREAKS = re.compile(r"(?<=[/@.+])(?=\w)|(?<=[^\W_]_)(?=[^\W_])")


def page(report: Report) -> str:
    """The whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        # No script and no address is reached, whatever a name in a repository says.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.title)}</title><style>{page_style(report.title)}</style></head>"
        f"<body><main>{_body(report)}</main></body></html>\n"
    )


def fragment(report: Report) -> str:
    """The report as a cell's output."""
    return f"<style>{fragment_style()}</style>{_body(report, top=2)}"


def figure_fragment(figure: Figure) -> str:
    """One figure as a cell's output."""
    return f'<style>{fragment_style()}</style><div class="sl-report tex2jax_ignore">{_figure(figure)}</div>'


def _body(report: Report, top: int = 1) -> str:
    notes = Footnotes(report)
    asked = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in report.parameters)
    sections = "".join(_section(section, top + 1, notes) for section in report.sections)
    lead = _within("ul", "sl-lead", "".join(f"<li>{escape(sentence)}</li>" for sentence in report.lead))
    numbers = _within("ul", "sl-numbers", "".join(_metric(metric, notes) for metric in report.metrics))
    lacks = _within("p", "sl-limits", escape(incomplete(report, notes)))
    return (
        f'<article class="sl-report tex2jax_ignore"><h{top} class="sl-title">{escape(report.title)}</h{top}>'
        f"{lead}{lacks}<dl>{asked}</dl>{numbers}{sections}{_notes(report, notes, top + 1)}</article>"
    )


def _within(tag: str, name: str, html: str) -> str:
    """An element around some HTML; nothing around nothing."""
    return f'<{tag} class="{name}">{html}</{tag}>' if html else ""


def _notes(report: Report, notes: Footnotes, level: int) -> str:
    """What numbers count, and the footnotes."""
    metrics = [metric for metric in report.metrics if metric.counts]
    counts = "".join(f"<dt>{escape(metric.name)}</dt><dd>{escape(metric.counts)}</dd>" for metric in metrics)
    texts = "".join(f"<li>{escape(text)}</li>" for text in notes.texts)
    html = _within("dl", "sl-counts", counts) + _within("ol", "sl-texts", texts)
    return f'<section class="sl-notes"><h{level} class="sl-part">Notes</h{level}>{html}</section>' if html else ""


def _mark(notes: Footnotes, text: str) -> str:
    number = notes.number(text)
    return f'<sup title="{escape(text)}">{number}</sup>' if number else ""


def _metric(metric: Metric, notes: Footnotes) -> str:
    value = "not known" if metric.value is None else written(metric.value, metric.name)
    return (
        f'<li title="{escape(metric.counts)}">{escape(metric.name)}{_mark(notes, left_out(metric.excludes))}'
        f"<b>{escape(value)}</b></li>"
    )


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
    items = "".join(map(_item, listing.items[: listing.shown]))
    more = len(listing.items) - listing.shown
    rest = f'<p class="sl-about">and {more:,} more</p>' if more > 0 else ""
    heading_html = f'<h{level} class="sl-name">{escape(listing.title)} ({len(listing.items):,})</h{level}>'
    return f'{heading_html}<ul class="sl-list">{items}</ul>{rest}'


def _item(item: Item) -> str:
    detail = f' <span class="sl-about">{_linked(escape(item.detail), item.url)}</span>' if item.detail else ""
    return f"<li>{_broken(item.text)}{detail}</li>"


def _linked(html: str, url: str) -> str:
    """HTML as a link to an address of the web; as it is for any other address."""
    opening = link("", url)
    return opening.replace("></a>", f">{html}</a>") if opening else html


def _table(table: ReportTable, level: int, notes: Footnotes) -> str:
    if not table.shown and len(table.frame):
        about = f"Table {table.name}: {table.counts} {how_many(table)}"
        return f'<p class="sl-about">{escape(about)}{_mark(notes, left_out(table.excludes))}</p>'
    columns, rows = shown_rows(table)
    numeric = {c for c in columns if any(is_number(row[c]) for row in rows)}
    about = " ".join(part for part in (table.counts, how_many(table)) if part)
    above = (
        f'<h{level} class="sl-name">{escape(table.title)}{_mark(notes, left_out(table.excludes))}</h{level}>'
        f'<p class="sl-above sl-about">{escape(about)}</p>'
    )
    if not rows:
        return above
    head = "".join(f'<th scope="col"{_aligned(c in numeric)}>{escape(heading(c))}</th>' for c in columns)
    body = "".join("<tr>" + "".join(_cell(table, row, c) for c in columns) + "</tr>" for row in rows)
    # A part that scrolls sideways has to be reached by keyboard, and has a name then.
    wide = f'<div class="sl-wide" tabindex="0" role="group" aria-label="{escape(table.title)}">'
    return f"{above}{wide}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(table: ReportTable, row: Mapping[str, Any], column: str) -> str:
    value = row[column]
    text = written(value, column)
    if not is_number(value):  # a table of a page is pasted into spreadsheets, which run text that begins like a formula
        text = harmless(text)
    text = escape(text) if stays_whole(value, column) else _broken(text)
    url = table.link(column, row) if table.link is not None and text else ""
    return f"<td{_class(value, column)}>{_linked(text, url) if url else text}</td>"


def _broken(text: str) -> str:
    """Text that may be broken within long words where a reader would: behind the signs of paths and addresses."""
    if len(text) <= _SHORT:
        return escape(text)
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def _aligned(number: bool) -> str:  # noqa: FBT001 - one of two ways to set a cell
    return ' class="sl-n"' if number else ""


def _class(value: object, column: str) -> str:
    if is_number(value):
        return _aligned(number=True)
    if stays_whole(value, column):
        return ' class="sl-w"'
    return ' class="sl-p"' if column in _LONG and len(str(value)) > _SHORT else ""
