"""Styles of reports: of a page on a screen and on paper, and of the output of a notebook cell."""

from __future__ import annotations

import re

from sourcelight.core.markup import one_line
from sourcelight.lab.plots.themes import IN_DARK_NOTEBOOKS, theme_variables

_SHARED = """
.sl-report{--edge:rgba(127,127,127,.35);--soft:rgba(127,127,127,.1);--link:#1565c0;line-height:1.45;max-width:76rem;%s}
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

_DARK = "--link:#8ab4f8;"
"""Links on a dark ground: the color of `_SHARED` would be too dark."""

_PAGE = """
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

_IN_NOTEBOOKS = tuple(f"{selector} .sl-report" for selector in IN_DARK_NOTEBOOKS)


def page_style(title: str) -> str:
    """Return the style of a page; its printed pages have the title and their number at the foot."""
    shared_css = _SHARED % theme_variables("light")
    return shared_css + _PAGE % (theme_variables("dark") + _DARK, _css_text(one_line(title, 90)))


def fragment_style() -> str:
    """Return the style of a cell's output: dark if the notebook's theme is dark."""
    # JupyterLab has its own rules for tables and lists; a repeated class takes precedence over them.
    shared_css = (_SHARED % theme_variables("light")).replace(".sl-report ", ".sl-report.sl-report ")
    return f"{shared_css}{','.join(_IN_NOTEBOOKS)}{{{theme_variables('dark')}{_DARK}}}"


def _css_text(text: str) -> str:
    r"""Return a text for a CSS string: all but ASCII letters and digits as ``\hex``, so that no character ends it."""
    return re.sub(r"[^A-Za-z0-9]", lambda match: f"\\{ord(match[0]):x} ", text)
