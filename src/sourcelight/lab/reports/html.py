"""A report as a page without scripts or network access, and as the output of a notebook cell.

Every text of a repository is escaped here, beside the markup, and the policy of the page forbids scripts and requests
as well. One style serves the page, its print and the notebook; colors come from the theme, light or dark. Tables fit a
printed page: paths and names may be broken at their separators, dates and short values may not, and on a screen what is
still too wide scrolls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.core.markup import NO_MATH, escape, link, one_line
from sourcelight.display.frames.encoders import escape_formula
from sourcelight.lab.plots.charts import svg_element
from sourcelight.lab.plots.themes import IN_DARK_NOTEBOOKS, theme_variables
from sourcelight.lab.reports import model
from sourcelight.lab.reports.text import format_cell, heading, is_number, is_unbroken, row_count_text, shown_rows

_SHARED_CSS = """
.sl-report{--edge:rgba(127,127,127,.35);--soft:rgba(127,127,127,.1);--link:#1565c0;line-height:1.45;max-width:76rem;
overflow-wrap:break-word;%s}
.sl-report .sl-title{font-size:1.6em;font-weight:700;margin:.2em 0}
.sl-report .sl-part{font-size:1.25em;font-weight:700;margin:1.8em 0 .3em}
.sl-report .sl-name{font-size:1em;font-weight:700;margin:1.4em 0 .2em}
.sl-report p{margin:.3em 0 .6em;max-width:56rem}
.sl-report a{color:var(--link)}
.sl-report sup{font-size:.7em;font-weight:400;opacity:.8;margin-left:.1em}
.sl-report .sl-lead{margin:.6em 0 1em;padding-left:1.2em;max-width:60rem;font-size:1.05em}
.sl-report .sl-lead li{margin:.25em 0}
.sl-report .sl-limits{border-left:4px solid #c77700;padding:.3rem .8rem;background:var(--soft)}
.sl-report dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.5em 0}
.sl-report dt{opacity:.75;float:none;width:auto;font-weight:400}.sl-report dd{margin:0;overflow-wrap:anywhere}
.sl-report .sl-numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(9.5rem,1fr));gap:.6rem;padding:0;
list-style:none;margin:1em 0}
.sl-report .sl-numbers li{border:1px solid var(--edge);border-radius:.5rem;padding:.4rem .8rem;margin:0}
.sl-report .sl-numbers b{display:block;font-size:1.5em;font-weight:600;font-variant-numeric:tabular-nums}
.sl-report .sl-about{font-size:.85em;opacity:.8}
.sl-report .sl-list{margin:.2em 0;padding-left:1.3em;max-width:60rem}
.sl-report .sl-list li{margin:.1em 0;overflow-wrap:break-word}
.sl-report .sl-notes dl,.sl-report .sl-notes ol{font-size:.85em}
.sl-report .sl-notes ol{padding-left:2.4em;max-width:60rem}
.sl-report .sl-wide{overflow-x:auto}
.sl-report table{border-collapse:collapse;font-size:.9em;margin:.3em 0}
.sl-report th,.sl-report td{text-align:left;vertical-align:top;padding:.2em .7em;border-bottom:1px solid var(--edge)}
.sl-report th{vertical-align:bottom}
.sl-report td.sl-n,.sl-report th.sl-n{text-align:right;font-variant-numeric:tabular-nums}
.sl-report td{overflow-wrap:break-word;min-width:5em}
.sl-report td.sl-n,.sl-report td.sl-w{white-space:nowrap;overflow-wrap:normal;min-width:0}
.sl-report td.sl-p{min-width:11em}
.sl-report td.sl-c{min-width:9em;overflow-wrap:anywhere}
.sl-report figure{margin:1em 0;padding:.6rem .8rem;border:1px solid var(--edge);border-radius:.5rem;
background:var(--sl-back);color:var(--sl-text)}
.sl-report figure svg{width:100%%;height:auto;display:block}
.sl-report figcaption{font-weight:600;margin-bottom:.3em}
"""

# Shadows at the edges of a table that is wider than its page: systems that hide scroll bars show nothing else of it. At
# an end, a cover of the page's color, which moves with the table, hides the shadow. Layers: two covers, two shadows.
_WIDE_CSS = """
.sl-report .sl-wide{--ground:var(--jp-layout-color0,var(--vscode-editor-background,Canvas));
background:linear-gradient(to right,var(--ground) 40%,transparent) left/3rem 100% no-repeat local,
linear-gradient(to left,var(--ground) 40%,transparent) right/3rem 100% no-repeat local,
linear-gradient(to right,rgba(127,127,127,.5),transparent) left/1rem 100% no-repeat scroll,
linear-gradient(to left,rgba(127,127,127,.5),transparent) right/1rem 100% no-repeat scroll}
@media print{.sl-report .sl-wide{background:none}}
"""

_DARK_LINKS_CSS = "--link:#8ab4f8;"
"""Links on a dark ground: the color of `_SHARED_CSS` would be too dark."""

_PAGE_CSS = """
:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem;max-width:78rem;font-family:system-ui,sans-serif;background:Canvas;color:CanvasText}
@media screen and (prefers-color-scheme:dark){.sl-report{%s}}
@media screen and (max-width:1150px){.sl-report th,.sl-report td{padding:.2em .4em}.sl-report td.sl-p{min-width:8em}}
@page{size:A4;margin:15mm 14mm 18mm;
@bottom-left{content:"%s";font:8pt system-ui,sans-serif;color:#555}
@bottom-right{content:"Page " counter(page) " of " counter(pages);font:8pt system-ui,sans-serif;color:#555}}
@media print{:root{color-scheme:light}body{padding:0;max-width:none;font-size:9.5pt}
.sl-report a{color:inherit;text-decoration:none}
.sl-report figure,.sl-report li,.sl-report tr,.sl-report .sl-numbers,.sl-report dl{break-inside:avoid}
.sl-report .sl-notes dl{break-inside:auto}
.sl-report .sl-wide{overflow:visible}.sl-report thead{display:table-header-group}
.sl-report p,.sl-report li{orphans:3;widows:3}
.sl-report .sl-numbers{grid-template-columns:repeat(5,1fr);gap:.4rem}.sl-report .sl-numbers li{padding:.2rem .5rem}
.sl-report table{font-size:.8em}.sl-report th,.sl-report td{padding:.2em .4em}
.sl-report td,.sl-report td.sl-p{min-width:4em;overflow-wrap:anywhere}
.sl-report .sl-title,.sl-report .sl-part,.sl-report .sl-name,.sl-report .sl-above,.sl-report .sl-text,
.sl-report figcaption,
.sl-report thead,.sl-report tbody tr:nth-child(-n+2):not(:last-child),.sl-report .sl-list li:nth-child(-n+2)
{break-after:avoid}}
"""

_DARK_SELECTORS = tuple(f"{selector} .sl-report" for selector in IN_DARK_NOTEBOOKS)

_CODE = frozenset({"old_signature", "signature", "symbol"})
"""Columns with declarations, which may be broken anywhere: their table would be wider than the page otherwise."""

_LONG = frozenset({"path", "directory", "old_path", "subject", "last_subject", "title", "reason"})
"""Columns with long texts, which get more width than others."""

_BELOW = {"subject": "reason"}
"""Columns with another one below their text: a separate column would be narrow, and its rows high."""

_MAX_UNBROKEN = 18
"""Characters of a word that fit the narrowest column of a printed page; a longer one may be broken."""

_BREAKS = re.compile(r"(?<=[/@.+])(?=\w)|(?<=[^\W_]_)(?=[^\W_])")
"""Behind separators of paths, addresses and names, where a reader expects the next part: ``src/|some_|name.|py``.

Browsers break long words only at marked positions, and would otherwise widen the column.
"""

_NUMBER_CLASS = ' class="sl-n"'
"""The attribute of a cell with a number: its text is aligned on the right."""


def page(report: model.ReportContent) -> str:
    """Return the whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        # Names from a repository never run scripts or load addresses.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.title)}</title><style>{_page_style(report.title)}</style></head>"
        f"<body><main>{_body(report)}</main></body></html>\n"
    )


def fragment(report: model.ReportContent) -> str:
    """Return the report as a cell's output."""
    return f"<style>{_fragment_style()}{_WIDE_CSS}</style>{_body(report, top=2)}"


def figure_fragment(figure: model.Figure) -> str:
    """Return one figure as a cell's output."""
    return f'<style>{_fragment_style()}</style><div class="sl-report {NO_MATH}">{_figure(figure)}</div>'


@dataclass(frozen=True, slots=True, repr=False)
class ThemedFigure(model.Figure):
    """A figure that a notebook shows in the notebook's own colors, light or dark."""

    def _repr_html_(self) -> str:
        return figure_fragment(self)


def _body(report: model.ReportContent, top: int = 1) -> str:
    """Return the report as an element, whose title is a heading of level `top`."""
    notes = model.Footnotes(report)
    lead = "".join(f"<li>{escape(sentence)}</li>" for sentence in report.lead)
    metrics = "".join(_metric(metric, notes) for metric in report.metrics)
    sections = "".join(_section(section, top + 1, notes) for section in report.sections)
    return (
        f'<article class="sl-report {NO_MATH}"><h{top} class="sl-title">{escape(report.title)}</h{top}>'
        f"{_within('ul', 'sl-lead', lead)}"
        f"{_within('p', 'sl-limits', escape(model.incomplete_text(report, notes)))}"
        f"<dl>{_definitions(report.parameters)}</dl>"
        f"{_within('ul', 'sl-numbers', metrics)}{sections}{_notes(report, notes, top + 1)}</article>"
    )


def _definitions(texts_by_name: Iterable[tuple[str, str]]) -> str:
    """Return the items of a list of names, each with a text."""
    return "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in texts_by_name)


def _within(tag: str, name: str, html: str) -> str:
    """Return an element around some HTML; nothing around nothing."""
    if not html:
        return ""
    return f'<{tag} class="{name}">{html}</{tag}>'


def _notes(report: model.ReportContent, notes: model.Footnotes, level: int) -> str:
    """Return the definitions of the metrics, and the footnotes."""
    counts = _definitions((metric.name, metric.counts) for metric in report.metrics if metric.counts)
    texts = "".join(f"<li>{escape(text)}</li>" for text in notes.texts)
    html = _within("dl", "sl-counts", counts) + _within("ol", "sl-texts", texts)
    if not html:
        return ""
    return f'<section class="sl-notes"><h{level} class="sl-part">Notes</h{level}>{html}</section>'


def _metric(metric: model.Metric, notes: model.Footnotes) -> str:
    value = "not known"
    if metric.value is not None:
        value = format_cell(metric.value, metric.name)
    return (
        f'<li title="{escape(metric.counts)}">{escape(metric.name)}{_footnote(notes, metric.excludes)}'
        f"<b>{escape(value)}</b></li>"
    )


def _footnote(notes: model.Footnotes, excludes: str) -> str:
    """Return the number of the footnote that says what is left out; empty if nothing is."""
    text = model.excludes_note(excludes)
    number = notes.number(text)
    if not number:
        return ""
    return f'<sup title="{escape(text)}">{number}</sup>'


def _section(section: model.Section, level: int, notes: model.Footnotes) -> str:
    text = _within("p", "sl-text", escape(section.text))
    lists = "".join(_list(listing, level + 1) for listing in section.lists)
    figures = "".join(map(_figure, section.figures))
    tables = "".join(_table(table, level + 1, notes) for table in section.tables)
    title = f'<h{level} class="sl-part">{escape(section.title)}</h{level}>'
    return f"<section>{title}{text}{lists}{figures}{tables}</section>"


def _figure(figure: model.Figure) -> str:
    return f"<figure><figcaption>{escape(figure.title)}</figcaption>{svg_element(figure)}</figure>"


def _list(listing: model.Listing, level: int) -> str:
    items = "".join(map(_item, listing.items[: listing.max_items]))
    title = f'<h{level} class="sl-name">{escape(listing.title)} ({len(listing.items):,})</h{level}>'
    html = f'{title}<ul class="sl-list">{items}</ul>'
    remaining = len(listing.items) - listing.max_items
    if remaining > 0:
        html += f'<p class="sl-about">and {remaining:,} more</p>'
    return html


def _item(item: model.Item) -> str:
    # Isolated: a title in Arabic or Hebrew would otherwise move the digits of the commit behind it.
    html = f"<bdi>{_with_breaks(item.text)}</bdi>"
    if item.detail:
        html += f' <bdi class="sl-about">{_with_link(escape(item.detail), item.url)}</bdi>'
    return f"<li>{html}</li>"


def _table(table: model.ReportTable, level: int, notes: model.Footnotes) -> str:
    footnote = _footnote(notes, table.excludes)
    if not len(table.frame):
        about = f"{table.title}: no rows. {table.counts}"
        return f'<p class="sl-about">{escape(about)}{footnote}</p>'
    if not table.max_rows:
        about = f"Table {table.name}: {table.counts} {row_count_text(table)}"
        return f'<p class="sl-about">{escape(about)}{footnote}</p>'

    about = " ".join(filter(None, (table.counts, row_count_text(table))))
    # A part that scrolls sideways must be reachable by keyboard, and has a name then.
    wide = f'<div class="sl-wide" tabindex="0" role="group" aria-label="{escape(table.title)}">'
    return (
        f'<h{level} class="sl-name">{escape(table.title)}{footnote}</h{level}>'
        f'<p class="sl-above sl-about">{escape(about)}</p>'
        f"{wide}<table>{_rows(table)}</table></div>"
    )


def _rows(table: model.ReportTable) -> str:
    columns, rows = shown_rows(table)
    layout = _TableLayout.of(columns, rows)
    head = "".join(map(layout.heading, layout.columns))
    body = ""
    for row in rows:
        cells = [_cell(table, row, column, layout.below.get(column, "")) for column in layout.columns]
        body += f"<tr>{''.join(cells)}</tr>"
    return f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody>"


@dataclass(frozen=True, slots=True)
class _TableLayout:
    """The columns of a table on a page, those with numbers, and the columns below others (see `_BELOW`)."""

    columns: list[str]
    numeric: set[str]
    below: dict[str, str]

    @classmethod
    def of(cls, columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> _TableLayout:
        below = {upper: lower for upper, lower in _BELOW.items() if upper in columns and lower in columns}
        upper_columns = [column for column in columns if column not in below.values()]
        numeric: set[str] = set()
        for column in upper_columns:
            # A column of numbers may have empty cells, so one number decides how its heading is aligned.
            if any(is_number(row[column]) for row in rows):
                numeric.add(column)
        return cls(upper_columns, numeric, below)

    def heading(self, column: str) -> str:
        title = heading(column)
        if column in self.below:
            title += f" and {heading(self.below[column])}"
        style = _NUMBER_CLASS if column in self.numeric else ""
        return f'<th scope="col"{style}>{escape(title)}</th>'


def _cell(table: model.ReportTable, row: Mapping[str, Any], column: str, column_below: str) -> str:
    value = row[column]
    text = format_cell(value, column)
    if not is_number(value):
        # People paste the table of a page into spreadsheets, which run text that begins like a formula.
        text = escape_formula(text)

    html = _with_breaks(text)
    if is_unbroken(value, column):
        # Dates and short values look broken with a line break in them.
        html = escape(text)
    if table.link is not None and html:
        html = _with_link(html, table.link(column, row))

    if column_below:
        text_below = escape_formula(format_cell(row[column_below], column_below))
        html += _within("div", "sl-about", _with_breaks(text_below))

    return f"<td{_class(value, column)}>{html}</td>"


def _with_link(html: str, url: str) -> str:
    """Return HTML as a link to a web address; unchanged for any other address."""
    # `link` knows which addresses are safe, and escapes its text. This text is HTML already, so it comes in
    # afterwards.
    opening = link("", url)
    if not opening:
        return html
    return opening.replace("></a>", f">{html}</a>")


def _with_breaks(text: str) -> str:
    """Return text that may be broken within long words: behind separators of paths and addresses."""
    if len(text) <= _MAX_UNBROKEN:
        return escape(text)
    return "<wbr>".join(map(escape, _BREAKS.split(text)))


def _class(value: object, column: str) -> str:
    """Return the attribute of a cell that sets its width and alignment; the names are those of `_SHARED_CSS`."""
    if is_number(value):
        return _NUMBER_CLASS
    if is_unbroken(value, column):
        return ' class="sl-w"'
    if column in _CODE:
        return ' class="sl-c"'
    if column in _LONG and len(str(value)) > _MAX_UNBROKEN:
        return ' class="sl-p"'
    return ""


def _page_style(title: str) -> str:
    """Return the style of a page; its printed pages have the title and their number at the foot."""
    shared_css = _SHARED_CSS % theme_variables("light")
    return (
        shared_css + _WIDE_CSS + _PAGE_CSS % (theme_variables("dark") + _DARK_LINKS_CSS, _css_text(one_line(title, 90)))
    )


def _fragment_style() -> str:
    """Return the style of a cell's output: dark if the notebook's theme is dark."""
    # JupyterLab has its own rules for tables and lists; a repeated class takes precedence over them.
    shared_css = (_SHARED_CSS % theme_variables("light")).replace(".sl-report ", ".sl-report.sl-report ")
    return f"{shared_css}{','.join(_DARK_SELECTORS)}{{{theme_variables('dark')}{_DARK_LINKS_CSS}}}"


def _css_text(text: str) -> str:
    r"""Return a text for a CSS string: all but ASCII letters and digits as ``\hex``, so that no character ends it."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"\\{ord(match[0]):x} ", text)
