"""Lines of code for the views of files and diffs: cut, with marks, and with the styles that the views share.

A line is a list of runs of plain text, some of them marked; the browser sets them as text, never as HTML. Colors are
those of the notebook's theme where it has one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup import visible, without_tags

STYLE = """<style>
.sl-view{color:var(--jp-ui-font-color1,inherit);font-size:13px;max-width:100%}
.sl-view a{color:var(--jp-content-link-color,#1565c0)}
.sl-view a:focus-visible,.sl-view summary:focus-visible,.sl-view [tabindex]:focus-visible{
outline:2px solid var(--jp-brand-color1,#1976d2);outline-offset:1px}
.sl-view .sl-title{display:flex;flex-wrap:wrap;gap:2px 14px;align-items:baseline;padding:4px 0 6px}
.sl-view .sl-title b{font-family:var(--jp-code-font-family,monospace);overflow-wrap:anywhere}
.sl-view .sl-dim,.sl-view .sl-no{color:var(--jp-ui-font-color2,inherit)}
.sl-view .sl-lines{overflow-x:auto;max-height:34em;overflow-y:auto;border:1px solid
var(--jp-border-color2,rgba(127,127,127,.3));border-radius:3px}
.sl-view table{table-layout:auto !important;border-collapse:collapse;border:none;margin:0;width:100%;
font-size:12px;line-height:1.5;font-family:var(--jp-code-font-family,monospace)}
.sl-view tr{background:none !important}
.sl-view td{padding:0 8px !important;text-align:left !important;white-space:pre-wrap !important;tab-size:4;
overflow-wrap:anywhere;
vertical-align:top;line-height:1.5 !important;border:none !important;max-width:none !important}
.sl-view td>pre{all:unset !important}
.sl-view td.sl-no + td:not(.sl-no){padding-left:14px !important}
.sl-view td.sl-no{text-align:right !important;white-space:pre !important;overflow-wrap:normal;
user-select:none;width:1%;font-variant-numeric:tabular-nums}
.sl-view td.sl-no a{color:inherit;text-decoration:none}
.sl-view td.sl-no a:hover{text-decoration:underline}
.sl-view tr.sl-here{background:rgba(255,170,0,.16) !important;box-shadow:inset 3px 0 #f59e0b}
.sl-view tr.sl-added{background:rgba(46,160,67,.16) !important}
.sl-view tr.sl-removed{background:rgba(248,81,73,.16) !important}
.sl-view tr.sl-hunk td{color:var(--jp-ui-font-color2,inherit);padding-top:4px !important;padding-bottom:4px !important;
background:var(--jp-layout-color2,rgba(127,127,127,.12))}
.sl-view mark{background:rgba(255,170,0,.4);color:inherit;font-weight:bold}
.sl-view .sl-c{font-style:italic;
color:color-mix(in srgb,var(--jp-mirror-editor-comment-color,light-dark(#3f7166,#8ab4a8)) 60%,currentColor)}
.sl-view .sl-s{color:var(--jp-mirror-editor-string-color,light-dark(#a32117,#ff9d8a))}
.sl-view .sl-n{color:var(--jp-mirror-editor-number-color,light-dark(#066,#7fd6d6))}
.sl-view .sl-k{color:var(--jp-mirror-editor-keyword-color,light-dark(#00724a,#7fd39b));font-weight:600}
.sl-view details{margin:0 0 8px}
.sl-view summary{cursor:pointer;padding:3px 2px;font-family:var(--jp-code-font-family,monospace);font-size:12px;
overflow-wrap:anywhere}
.sl-view .sl-plus{color:var(--jp-success-color0,#1b5e20);font-weight:600}
.sl-view .sl-minus{color:var(--jp-error-color0,#b71c1c);font-weight:600}
.sl-view .sl-message{max-height:14em;overflow:auto;white-space:pre-wrap;margin:4px 0 8px;padding:4px 10px;
border-left:4px solid var(--jp-border-color1,rgba(127,127,127,.5));
font-family:var(--jp-code-font-family,monospace);font-size:12px}
[data-jp-theme-light="false"] .sl-view .sl-plus{color:#7ee787}
[data-jp-theme-light="false"] .sl-view .sl-minus{color:#ffa198}
</style>"""


MAX_CHARS = 300
"""Characters of a line that is displayed; of a longer one, the part with its matches."""

_UNBROKEN_CHARS = 24
"""Characters of a text that is never broken."""

_TAG = re.compile(r"(<[^>]*>)")
"""A tag of HTML."""

_BREAK = re.compile(r"(?<=[/_@.+-])(?=\w)")
"""Behind separators of paths and names, where a line may break."""

TextRun = tuple[str, bool]


def with_breaks(html: str) -> str:
    """Let names, paths and addresses break where their parts end, so that a narrow column doesn't cut a word.

    A short text isn't broken: otherwise a column of long texts would squeeze it.
    """
    if len(without_tags(html)) <= _UNBROKEN_CHARS:
        return f'<span class="sl-short">{html}</span>' if html else ""
    return "".join(part if part[:1] == "<" else _BREAK.sub("<wbr>", part) for part in _TAG.split(html))


def code_cell(html: str) -> str:
    """Return a table cell with a line of code.

    Beautiful Soup, which nbconvert reads pages with, makes one space of a text of spaces between two tags, except in
    ``pre``. Without it, an exported notebook loses the indentation before a keyword or a match.
    """
    return f"<td><pre>{html}</pre></td>"


def cut_window(
    text: str, starts: Sequence[int], ends: Sequence[int], longest: int = MAX_CHARS
) -> tuple[str, list[int], list[int]]:
    """Return a window of a line longer than `longest` that shows its first match, and the spans within it.

    Parameters
    ----------
    text
        Untrusted text.
    starts, ends
        Spans in code points.
    """
    if len(text) <= longest:
        return text, list(starts), list(ends)

    window_start = max(0, min(starts, default=0) - 40)
    window = text[window_start : window_start + longest]
    head, tail = ("\u2026" if window_start else ""), ("\u2026" if window_start + longest < len(text) else "")
    shift = len(head) - window_start
    spans = [
        (max(start + shift, len(head)), min(end + shift, len(head) + len(window)))
        for start, end in zip(starts, ends, strict=True)
        if end > window_start and start < window_start + longest
    ]
    return head + window + tail, [start for start, _ in spans], [end for _, end in spans]


def text_runs(text: str, starts: Sequence[int] = (), ends: Sequence[int] = ()) -> list[TextRun]:
    """Return `text`, truncated if long, as (text, marked) pairs with hidden characters made visible.

    Spans may overlap and come in any order; parts outside of the text are ignored.
    """
    window, first, last = cut_window(text, starts, ends)
    result: list[TextRun] = []
    position = 0
    for start, end in sorted(zip(first, last, strict=True)):
        span_start, span_end = max(start, position), min(end, len(window))
        if span_start >= span_end:
            continue
        if span_start > position:
            result.append((visible(window[position:span_start]), False))
        result.append((visible(window[span_start:span_end]), True))
        position = span_end

    if position < len(window):
        result.append((visible(window[position:]), False))

    return result
