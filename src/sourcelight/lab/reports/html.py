"""A report as one page that needs no network and runs nothing, and as a part of a notebook."""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING

from sourcelight.core.markup import escape
from sourcelight.display.frames.exports import harmless
from sourcelight.lab.reports.cells import heading, how_many, is_number, shown_rows, stays_whole, written
from sourcelight.lab.reports.figures import saved
from sourcelight.lab.reports.model import Figure, Number, Section, Table

if TYPE_CHECKING:
    from sourcelight.lab.reports.report import Report

_LONG = frozenset({"path", "directory", "old_path", "subject", "last_subject"})
_SHORT = 18
_BREAKS = re.compile(r"(?<=[/@.+])(?=\w)|(?<=[^\W_]_)(?=[^\W_])")
_STYLE = """
.sl-report{--edge:rgba(127,127,127,.35);--soft:rgba(127,127,127,.1);line-height:1.45;max-width:72rem}
.sl-report h1{font-size:1.6em;margin:.2em 0}.sl-report h2{font-size:1.25em;margin:1.6em 0 .3em}
.sl-report h3{font-size:1em;margin:1.2em 0 .2em}
.sl-report p{margin:.3em 0 .6em;max-width:48rem}
.sl-report dl{display:grid;grid-template-columns:max-content 1fr;gap:.15em 1em;margin:.5em 0}
.sl-report dt{opacity:.75}.sl-report dd{margin:0;overflow-wrap:anywhere}
.sl-report .sl-numbers{display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.6rem;padding:0;
list-style:none}
.sl-report .sl-numbers li{border:1px solid var(--edge);border-radius:.5rem;padding:.5rem .8rem;margin:0}
.sl-report .sl-numbers b{display:block;font-size:1.5em;font-weight:600}
.sl-report .sl-about{font-size:.85em;opacity:.8}
.sl-report .sl-notices{border-left:4px solid #c77700;padding:.4rem .8rem;margin:.8rem 0;background:var(--soft)}
.sl-report .sl-notices ul{margin:.2em 0;padding-left:1.2em}
.sl-report .sl-wide{overflow-x:auto}
.sl-report table{border-collapse:collapse;font-size:.9em;margin:.3em 0}
.sl-report th,.sl-report td{text-align:left;vertical-align:top;padding:.2em .7em;border-bottom:1px solid var(--edge)}
.sl-report th{vertical-align:bottom}
.sl-report td.sl-n,.sl-report th.sl-n{text-align:right;font-variant-numeric:tabular-nums}
.sl-report td{overflow-wrap:break-word;min-width:5em}
.sl-report td.sl-n,.sl-report td.sl-w{white-space:nowrap;overflow-wrap:normal;min-width:0}
.sl-report td.sl-p{min-width:15em}
.sl-report figure{margin:1em 0;padding:.6rem .8rem;border:1px solid var(--edge);border-radius:.5rem;background:#fff;
color:#222;max-width:56rem}
.sl-report figure img{width:100%;height:auto;display:block}
.sl-report figcaption{font-weight:600;margin-bottom:.3em}
"""
_PAGE_STYLE = """
:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem;max-width:74rem;font-family:system-ui,sans-serif;background:Canvas;color:CanvasText}
@media screen and (prefers-color-scheme:dark){.sl-report figure{background:none;color:inherit}
.sl-report figure img{filter:invert(.93) hue-rotate(180deg)}}
@page{margin:14mm}
@media print{:root{color-scheme:light}body{padding:0;max-width:none;font-size:10pt}
.sl-report figure,.sl-report li,.sl-report tr{break-inside:avoid}.sl-report .sl-wide{overflow:visible}
.sl-report table{font-size:.8em}.sl-report th,.sl-report td{padding:.2em .4em}
.sl-report td,.sl-report td.sl-p{min-width:4em;overflow-wrap:anywhere}
.sl-report h2,.sl-report h3,.sl-report .sl-above{break-after:avoid}}
"""


def page(report: Report) -> str:
    """The whole page."""
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        # No script and no address is reached, whatever a name in a repository says.
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; img-src data:; '
        "style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\">"
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{escape(report.title)}</title><style>{_STYLE}{_PAGE_STYLE}</style></head>"
        f"<body><main>{_body(report)}</main></body></html>\n"
    )


def fragment(report: Report) -> str:
    """The report as a cell's output."""
    return f"<style>{_STYLE}</style>{_body(report, top=2)}"


def _body(report: Report, top: int = 1) -> str:
    asked = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in report.asked)
    numbers = "".join(map(_number, report.numbers))
    sections = "".join(_section(section, top + 1) for section in report.sections)
    return (
        f'<article class="sl-report tex2jax_ignore"><h{top}>{escape(report.title)}</h{top}><dl>{asked}</dl>'
        f'<ul class="sl-numbers">{numbers}</ul>{_notices(report.notices)}{sections}</article>'
    )


def _notices(notices: tuple[str, ...]) -> str:
    if not notices:
        return ""
    items = "".join(f"<li>{escape(notice)}</li>" for notice in notices)
    return f'<div class="sl-notices" role="note"><b>To know when reading</b><ul>{items}</ul></div>'


def _about(counted: str, left_out: str) -> str:
    text = f"{counted} Left out: {left_out}" if left_out else counted
    return f'<span class="sl-about">{escape(text)}</span>'


def _number(number: Number) -> str:
    value = "not known" if number.value is None else written(number.value, number.name)
    return f"<li>{escape(number.name)}<b>{escape(value)}</b>{_about(number.counted, number.left_out)}</li>"


def _section(section: Section, level: int) -> str:
    figures = "".join(map(_figure, section.figures))
    tables = "".join(_table(table, level + 1) for table in section.tables)
    text = f"<p>{escape(section.text)}</p>" if section.text else ""
    return f"<section><h{level}>{escape(section.title)}</h{level}>{text}{figures}{tables}</section>"


def _figure(figure: Figure) -> str:
    file = io.BytesIO()
    saved(figure.draw(), file, "svg")
    source = base64.b64encode(file.getvalue()).decode("ascii")
    return (
        f"<figure><figcaption>{escape(figure.title)}</figcaption>"
        f'<img src="data:image/svg+xml;base64,{source}" alt="{escape(figure.description)}"></figure>'
    )


def _table(table: Table, level: int) -> str:
    columns, rows = shown_rows(table.frame, table.shown)
    numeric = {c for c in columns if any(is_number(row[c]) for row in rows)}
    above = (
        f"<h{level}>{escape(table.title)}</h{level}>"
        f'<p class="sl-above">{_about(table.counted, table.left_out)} {_about(how_many(table), "")}</p>'
    )
    if not rows:
        return above
    head = "".join(f'<th scope="col"{_aligned(c in numeric)}>{escape(heading(c))}</th>' for c in columns)
    body = "".join(
        "<tr>" + "".join(f"<td{_class(row[c], c)}>{_broken(_cell(row[c], c))}</td>" for c in columns) + "</tr>"
        for row in rows
    )
    # A part that scrolls sideways has to be reached by keyboard, and has a name then.
    wide = f'<div class="sl-wide" tabindex="0" role="group" aria-label="{escape(table.title)}">'
    return f"{above}{wide}<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"


def _cell(value: object, column: str) -> str:
    """What a cell shows; a table of a page is pasted into spreadsheets, which run text that begins like a formula."""
    text = written(value, column)
    return text if is_number(value) else harmless(text)


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
