"""Display DataFrames in notebooks: an answer as a table with links, every other frame as pandas does.

An *answer* is a frame that this package returned; its `attrs` say so. If it still has all columns of its documented
table, the display has those that its rows fill, places and text first. A frame whose columns the reader chose displays
exactly these, in their order. IPython shows hidden characters of all frames.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.schema import SERVICE
from sourcelight.core.markup import NO_MATH, escape, one_line, visible
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.display.frames.schema import FRAMES, NAME
from sourcelight.display.notebook import frame_views
from sourcelight.display.notebook.frame_views.cells import CODE_COLUMNS, cell_html, short_commit
from sourcelight.display.notebook.views.links import LinkResolver
from sourcelight.display.notebook.views.marked_text import with_breaks

if TYPE_CHECKING:
    from pandas import DataFrame, Series


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

_FIRST: Mapping[str, tuple[str, ...]] = {
    "matches": (
        "repository", "revision", "path", "line_number", "side", "line", "symbol", "symbol_kind", "container",
        "commit", "author", "author_date", "match_count", "language",
    ),
    "commits": ("repository", "commit", "author_date", "author", "subject", "files", "additions", "deletions"),
    "diff_lines": ("repository", "path", "line_number", "side", "line", "commit", "author", "author_date", "subject"),
    "blame_lines": ("path", "line_number", "line", "commit", "author", "author_date", "subject"),
    "definitions": ("rank", "repository", "path", "line_number", "line", "symbol", "kind", "container", "how", "score"),
    "references": ("repository", "path", "line_number", "line", "role", "container", "how", "score"),
    "symbols": ("repository", "path", "line_number", "symbol", "kind", "signature", "container", "depth"),
    "found_chunks": ("repository", "path", "start_line", "end_line", "chunk", "score", "match_count"),
    "calls": ("caller_path", "line_number", "line", "caller", "callee", "callee_path", "depth", "how", "score"),
    "file_lines": ("path", "line_number", "line"),
    "last_changes": ("repository", "path", "commit", "author", "commit_date", "subject", "changed_commits"),
    "file_diffs": ("repository", "path", "status", "additions", "deletions", "patch"),
    "conversation": ("repository", "path", "start_line", "end_line", "type", "role", "status"),
    "conversations": ("title", "status", "questions", "updated_at", "starred", "shared", "id"),
    "repositories": ("repository", "description", "matches", "commit", "last_fetched", "url"),
    "comparison": (
        "change", "name", "repository", "path", "line_number", "line_number_before", "line", "symbol_kind", "side",
        "match_count",
    ),
    "groups": ("repository", "path", "line_number", "side", "match", "author", "author_date"),
    "contributors": (
        "repository", "period", "author", "author_email", "commits", "merges", "co_authored", "additions", "deletions",
        "files", "first_date", "last_date", "bot",
    ),
    "identities": ("name", "email", "canonical_name", "canonical_email", "commits", "co_authored", "bot"),
    "imports": ("repository", "path", "line_number", "module", "member", "alias", "target_repository", "target_path"),
    "repository_map": ("path", "line_number", "text"),
    "path_history": (
        "repository", "commit", "commit_date", "author", "subject", "status", "path", "old_path", "additions",
        "deletions",
    ),
    "symbol_history": (
        "repository", "commit", "commit_date", "author", "subject", "status", "symbol", "path", "line_number",
        "additions", "deletions",
    ),
    "api_changes": (
        "repository", "status", "module", "symbol", "kind", "signature", "old_signature", "path", "line_number",
    ),
    "complexity": (
        "repository", "path", "symbol", "line_number", "cyclomatic", "cognitive", "nesting", "code_lines",
        "comment_lines", "parameters", "functions", "commits", "hotspot",
    ),
    "complexity_trend": (
        "repository", "revision", "commit_date", "path", "symbol", "files", "functions", "code_lines", "cyclomatic",
        "cognitive", "comment_ratio", "test_ratio",
    ),
    "spans": ("row", "repository", "path", "line_number", "match", "start", "end", "field"),
}  # fmt: skip
"""Columns on display of tables with too many for a page; a table that is not here displays all that its rows fill."""

_EMPTY_MATCHES = ("repository", "path", "line_number", "line")
_SHOWN_TABLES: Mapping[str, tuple[str, ...]] = {
    **{name: tuple(column.name for column in columns) for name, columns in {**FRAMES, **COLUMNS}.items()},
    "groups": (
        "row", "repository", "revision", "commit", "path", "language", "line_number", "author", "author_date", "side",
        "start", "end", "match",
    ),
}  # fmt: skip

_CROWDED: Mapping[str, frozenset[str]] = {"matches": frozenset({"commit", "match_count", "language"})}
"""Columns that a table hides when the reader adds others: a page is too narrow for all."""

_DETAILS = ("_author_email", "_author_date")
"""Endings of columns that `blame` and others add, and that the author and the date make redundant."""

_WORKING = frozenset({"person", "period", "weekday", "hour", "merge", "size", "organization"})
"""Columns by which reports count commits; the rows behind a number show those of the history."""

_LEADING = (SERVICE.name, NAME.name)
_HIDDEN = frozenset({"url", "repository_id", "start", "end", "name_start", "name_end"})

_COUNTED_ROWS = 100_000
"""Rows that are looked at to learn whether a column is filled; the rest of a larger frame costs too much time."""


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


@lru_cache(maxsize=256)
def table_of(names: tuple[str, ...]) -> str:
    """Return the name of the largest documented table whose columns are all in `names`; empty for none."""
    present = set(names)
    tables = [table for table, columns in _SHOWN_TABLES.items() if present.issuperset(columns)]
    # By name among equal ones, so that the choice doesn't depend on the order above.
    return max(tables, key=lambda table: (len(_SHOWN_TABLES[table]), table), default="")


def displayed_columns(frame: DataFrame, *, every: bool = False) -> list[str]:
    """Return names of the columns to display, in order.

    Parameters
    ----------
    frame
        DataFrame with text as column names.
    every
        Whether to display all columns, in the order of the frame.
    """
    names = [str(name) for name in frame.columns]
    table = table_of(tuple(names))
    if every or not table:
        return names

    documented = set(_SHOWN_TABLES[table])
    selected = _match_columns(frame) if table == "matches" else _table_columns(table)
    leading = [name for name in _LEADING if name in names and name not in selected and name not in documented]
    added = [name for name in names if name not in documented and name not in leading]
    if added:
        selected = [name for name in selected if name not in _CROWDED.get(table, ())]

    # Columns that the reader added, but for those that repeat others, or serve only to count.
    if table == "commits":
        added = [name for name in added if name not in _WORKING]
    elif table == "matches":
        added = [name for name in added if not name.endswith(_DETAILS)]

    if len(frame):
        selected = [name for name in selected if is_filled(frame[name])]

    return [*leading, *selected, *added] or names


def _table_columns(table: str) -> list[str]:
    if table in _FIRST:
        return list(_FIRST[table])
    return [name for name in _SHOWN_TABLES[table] if name not in _HIDDEN]


def _match_columns(frame: DataFrame) -> list[str]:
    """Return the columns of a frame of matches, which depend on the types of its rows."""
    if not len(frame):
        return list(_EMPTY_MATCHES)

    selected = list(_FIRST["matches"])
    types = set(frame["type"].dropna().unique())
    # The line number of a commit counts lines of its message.
    if types == {"commit"}:
        selected.remove("line_number")
    if len(types) > 1:
        selected.append("type")
    if not is_filled(frame["line"]):
        selected.append("message")

    selected.append("chunk")
    return selected


def is_filled(values: Series) -> bool:
    """Return whether the first 100,000 rows have a value that is neither null nor an empty text or list."""
    head = values.head(_COUNTED_ROWS).dropna()
    if not len(head):
        return False
    kind = str(head.dtype)
    if kind.startswith("("):  # lists
        return any(len(value) for value in head)
    if kind in {"category", "str", "object"}:
        return bool((head.astype("str") != "").any())
    return True


def shown_rows(total: int, limit: int | None, least: int | None) -> tuple[Sequence[int], Sequence[int]]:
    """Return the rows that a table displays at its head and tail, by pandas' options for the maximum and minimum."""
    if not limit or total <= limit:
        return range(total), ()

    rows = min(least, limit) if least else limit
    half = max(rows // 2, 1)
    return range(half), range(total - half, total)
