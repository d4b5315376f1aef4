"""Display DataFrames in notebooks: an answer as a table with links, every other frame as pandas does.

An *answer* is a frame that this package returned; its `attrs` say so. IPython shows hidden characters of all frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any

from sourcelight.core.markup import NO_MATH, escape, one_line, visible
from sourcelight.display.notebook import frame_views
from sourcelight.display.notebook.frame_views.cells import CODE_COLUMNS, cell_html, short_commit
from sourcelight.display.notebook.frame_views.columns import displayed_columns, shown_rows
from sourcelight.display.notebook.views.links import LinkResolver
from sourcelight.display.notebook.views.marked_text import with_breaks

_STYLE = """<style>
.sl-frame{color:var(--jp-ui-font-color1,inherit);font-size:12px;max-width:100%}
.sl-frame .sl-scroll{overflow-x:auto;max-width:100%}
.sl-frame table{table-layout:auto !important;border-collapse:collapse;border:none;margin:0;font-size:12px}
.sl-frame th,.sl-frame td{text-align:left !important;vertical-align:top;padding:2px 12px 2px 0 !important;
white-space:nowrap !important;max-width:none !important}
.sl-frame thead th{white-space:normal !important}
.sl-frame td.sl-text{white-space:normal !important;overflow-wrap:anywhere;min-width:9em}
.sl-frame .sl-short{white-space:pre}
.sl-frame td.sl-name{white-space:normal !important;overflow-wrap:break-word}
.sl-frame thead th{font-weight:600;border-bottom:1px solid var(--jp-border-color1,rgba(127,127,127,.5))}
.sl-frame tbody tr{background:none !important;border-bottom:1px solid var(--jp-border-color2,rgba(127,127,127,.25))}
.sl-frame tbody tr:hover{background:var(--jp-layout-color2,rgba(127,127,127,.12)) !important}
.sl-frame tbody th{font-weight:400;color:var(--jp-ui-font-color2,inherit);font-variant-numeric:tabular-nums}
.sl-frame td.sl-code{font-family:var(--jp-code-font-family,monospace);white-space:pre-wrap !important;tab-size:4}
.sl-frame td.sl-line{overflow-wrap:anywhere;min-width:12em}
.sl-frame td.sl-number,.sl-frame th.sl-number{text-align:right !important;font-variant-numeric:tabular-nums}
.sl-frame a{color:var(--jp-content-link-color,#1565c0)}
.sl-frame mark{background:rgba(255,170,0,.4);color:inherit;font-weight:bold}
.sl-frame .sl-more{color:var(--jp-ui-font-color2,inherit);margin-top:4px}
</style>"""

_ANSWER_ATTRS = frozenset({"endpoint", "version"})
"""Keys in the `attrs` of every answer."""

REPORT = "report"
"""Key in the `attrs` of a report's tables: its title."""

_MAX_HEADING_CHARS = 60
"""Characters of a column's name, or of a row's label in the index: users may have set both."""

_MAX_SHORT_CHARS = 16
"""Characters up to which a text never breaks: dates and numbers with units, which are read at a glance."""

_NAME_COLUMNS = frozenset({"path", "symbol", "match"})
"""Columns with code that is a name rather than a line: it may break after a separator."""

_ELLIPSIS = "\u22ee"
"""In place of the rows that are left out, as in pandas."""


def is_answer(frame: Any) -> bool:
    """Return whether a frame is an answer, by its `attrs`, and has columns and an index that this room can display."""
    has_attrs = frame.attrs.keys() >= _ANSWER_ATTRS or REPORT in frame.attrs
    if not has_attrs or frame.columns.nlevels > 1 or frame.index.nlevels > 1:
        return False

    # A frame that a user has pivoted or joined keeps its `attrs`, but may have numbers or repeated names as columns.
    names = list(frame.columns)
    return bool(names) and all(isinstance(name, str) for name in names) and len(set(names)) == len(names)


def frame_html(frame: Any, links_of: Callable[[Mapping[Any, Any]], LinkResolver]) -> str:
    """Return HTML of a frame of an answer.

    Parameters
    ----------
    frame
        DataFrame for which `is_answer` is true.
    links_of
        Returns the resolver of links for the `attrs` of an answer.
    """
    import pandas as pd

    names = displayed_columns(frame, every=pd.get_option("display.max_columns") is None)
    head, tail = shown_rows(len(frame), pd.get_option("display.max_rows"), pd.get_option("display.min_rows"))
    positions = [*head, *tail]
    rows = _row_dicts(frame.iloc[positions])
    links = links_of(frame.attrs)
    classes = {name: _class_attribute(name, frame[name], [row[name] for row in rows]) for name in names}

    body = []
    for label, row in zip(frame.index[positions], rows, strict=True):
        cells = "".join(_cell(name, row, classes[name], links=links) for name in names)
        body.append(f'<tr><th scope="row">{escape(one_line(str(label), _MAX_HEADING_CHARS))}</th>{cells}</tr>')
    if tail:
        gap_cells = f"<td>{_ELLIPSIS}</td>" * len(names)
        body.insert(len(head), f"<tr><th>{_ELLIPSIS}</th>{gap_cells}</tr>")

    heads = "".join(f'<th scope="col"{classes[name]}>{_heading(name)}</th>' for name in names)
    return (
        f'{_STYLE}<div class="sl-frame {NO_MATH}"><div class="sl-scroll" role="region" tabindex="0" '
        f'aria-label="Rows"><table><thead><tr><td></td>{heads}</tr></thead><tbody>{"".join(body)}</tbody></table></div>'
        f'<div class="sl-more">{escape(_size_text(frame, names))}</div></div>'
    )


def frame_text(frame: Any) -> str:
    """Return plain text of a frame of an answer; commits are short."""
    import pandas as pd

    names = displayed_columns(frame, every=pd.get_option("display.max_columns") is None)
    visible_frame = frame[names]
    limit = pd.get_option("display.max_rows")
    text = visible_frame.to_string(
        max_rows=limit,
        min_rows=pd.get_option("display.min_rows"),
        line_width=pd.get_option("display.width"),
        max_colwidth=pd.get_option("display.max_colwidth"),
        formatters={name: _shorten for name in names if _has_commits(visible_frame[name])},
    )
    return visible(f"{text}\n\n[{_size_text(frame, names)}]")


def _size_text(frame: Any, displayed_names: list[str]) -> str:
    """Return the numbers of rows and columns, and how to display the others."""
    rows, columns = frame.shape
    size = f"{rows} {'row' if rows == 1 else 'rows'} \u00d7 {columns} columns"
    if len(displayed_names) == columns:
        return size
    return f'{size}, {len(displayed_names)} shown; pd.set_option("display.max_columns", None) shows all'


def _row_dicts(frame: Any) -> list[dict[str, Any]]:
    columns = [frame[name].tolist() for name in frame.columns]
    return [dict(zip(frame.columns, values, strict=True)) for values in zip(*columns, strict=True)]


def _cell(name: str, row: Mapping[str, Any], class_attribute: str, *, links: LinkResolver) -> str:
    html = cell_html(name, row, links)
    if "sl-name" in class_attribute:
        html = with_breaks(html)
    return f"<td{class_attribute}>{html}</td>"


def _heading(name: str) -> str:
    """Return the name of a column, which may break after an underscore: short numbers need less width."""
    return escape(one_line(name, _MAX_HEADING_CHARS)).replace("_", "_<wbr>")


def _class_attribute(name: str, values: Any, displayed_values: list[Any]) -> str:
    """Return the HTML attribute for the cells of a column: long texts may break, so that the table fits the page."""
    import pandas as pd

    if name in CODE_COLUMNS:
        if name in _NAME_COLUMNS:
            return ' class="sl-code sl-name"'
        return ' class="sl-code sl-line"'

    is_number = pd.api.types.is_numeric_dtype(values.dtype) and not pd.api.types.is_bool_dtype(values.dtype)
    if is_number:
        return ' class="sl-number"'

    texts = [str(value) for value in displayed_values if not isinstance(value, datetime)]
    is_short = all(len(text) <= _MAX_SHORT_CHARS for text in texts)
    if is_short or any(map(short_commit, displayed_values)):
        return ""
    if any(" " in text for text in texts):
        return ' class="sl-text"'
    return ' class="sl-name"'


def _has_commits(values: Any) -> bool:
    sample = values.head(1).dropna()
    return bool(len(sample)) and short_commit(sample.iloc[0]) is not None


def _shorten(value: Any) -> str:
    return short_commit(value) or str(value)


def show_hidden_characters() -> None:
    """Make IPython show hidden characters in DataFrames and Series, as HTML and text; does nothing without IPython.

    Frames of answers get the view of `frame_views.table`; a plain ``print`` shows every frame as pandas does.

    pandas escapes tags, but not escape sequences of terminals, nor marks that reverse the direction of text, which the
    author of a file may have written to mislead readers. pandas has no option for them, so they are replaced in its
    output; everything else stays.
    """
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    formatter = getattr(shell, "display_formatter", None)
    if formatter is None:
        return

    import pandas as pd

    # Registered with IPython only: pandas and its classes stay unchanged.
    formatter.formatters["text/html"].for_type(pd.DataFrame, _format_html)
    for kind in (pd.DataFrame, pd.Series):
        formatter.formatters["text/plain"].for_type(kind, _format_text)


def _format_html(frame: Any) -> str | None:
    import pandas as pd

    if _has_view(frame) and pd.get_option("display.notebook_repr_html"):
        try:
            return frame_html(frame, frame_views.links_of)
        except Exception:  # noqa: BLE001, S110 - a frame that was changed in an unforeseen way still has pandas' view
            pass

    text = frame._repr_html_()
    return None if text is None else visible(text)


def _format_text(frame: Any, printer: Any, cycle: bool) -> None:  # noqa: FBT001 - as IPython calls it
    del cycle
    try:
        text = frame_text(frame) if _has_view(frame) else repr(frame)
    except Exception:  # noqa: BLE001 - as above
        text = repr(frame)
    printer.text(visible(text))


def _has_view(frame: Any) -> bool:
    """Return whether a frame is an answer, and no other library has replaced the display of pandas' frames."""
    import pandas as pd

    displayed_by = getattr(pd.DataFrame, "_repr_html_", None)
    is_pandas = getattr(displayed_by, "__module__", "") == "pandas.core.frame"
    return is_pandas and isinstance(frame, pd.DataFrame) and is_answer(frame)
