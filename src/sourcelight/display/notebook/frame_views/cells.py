"""Render the cells of a DataFrame as escaped HTML: short commits, cut paths, marked lines and links."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sourcelight.core.cells.json_lines import cell_text, has_json_line
from sourcelight.core.markup import escape, highlight, link, one_line
from sourcelight.display.notebook.views.links import Link, LinkResolver, anchor
from sourcelight.display.notebook.views.marked_text import cut_window

SHORT_COMMIT = 10
"""Digits of a commit that are shown: git's own short form has 7 to 10 in most repositories."""

# Characters of a cell; longer texts are cut, so that a table with several of them isn't wider than the notebook.
LINE_CHARS = 96
PATH_CHARS = 40
NAME_CHARS = 28
TEXT_CHARS = 80
"""Characters of a path, of the name of a repository, and of any other text in a cell."""

_TITLE_CHARS = 500
"""Characters of the text that the mouse shows."""

_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
"""A commit (SHA-1 or SHA-256)."""

_PATHS = frozenset({"path", "old_path", "other_path", "directory"})

_DAYS = frozenset({"first_date", "last_date", "oldest_date", "newest_date"})
"""Dates displayed as a day: they limit a period, next to many numbers."""

_MAX_PATH_CHARS = 10_000
"""Beyond what systems allow; longer text isn't read to show its end."""

_CODE_TEXTS = frozenset({"chunk", "code", "patch", "context"})
CODE_COLUMNS = frozenset({"line", "path", "chunk", "signature", "code", "text", "match", "patch", "symbol", "context"})

_SINGLE_COLUMNS = frozenset({"start", "caller"})
"""Columns of tables whose lines come from different places, and are shown without their indentation."""

_OF_LINKS = frozenset({"repository", "commit", "path", "line_number", "start_line", "type", "url", "service"})
"""Columns that `LinkResolver` reads."""


def short_commit(value: object) -> str | None:
    """Return the first ten digits of a commit, or None for every other value."""
    if isinstance(value, str) and _COMMIT.fullmatch(value):
        return value[:SHORT_COMMIT]
    return None


def is_null(value: Any) -> bool:
    """Return whether a cell is one of pandas' null values."""
    import pandas as pd

    return bool(pd.api.types.is_scalar(value)) and bool(pd.isna(value))


def tail(text: str, width: int) -> str:
    """Return the end of a long path on one line; an ellipsis marks the missing head."""
    line = one_line(text, _MAX_PATH_CHARS)
    if len(line) <= width:
        return line
    return f"\u2026{line[1 - width :]}"


def cell_html(name: str, row: Mapping[str, Any], resolver: LinkResolver) -> str:
    """Return HTML of the cell `name` of a row."""
    value = row[name]
    if is_null(value):
        return ""
    if name == "line":
        return _line(str(value), row)
    if isinstance(value, str):
        return _text(name, value, row, resolver)
    if name == "line_number" or (name == "start_line" and "line_number" not in row):
        return _with_link(str(value), str(value), resolver.of(_location(row)))
    if name in _DAYS and isinstance(value, datetime):
        return _with_title(f"{value:%Y-%m-%d}", _cell_text(value))

    text = _cell_text(value)
    return _with_title(one_line(text, TEXT_CHARS), text)


def _cell_text(value: Any) -> str:
    """Return numbers, times and lists as text."""
    if isinstance(value, datetime):
        if value.time() == datetime.min.time():
            return f"{value:%Y-%m-%d}"
        return f"{value:%Y-%m-%d\u00a0%H:%M}"
    if isinstance(value, float):
        return _number(value)

    # Arrays of numpy and scalars alike.
    items = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(items, list | tuple):
        return ", ".join(map(str, items))
    return str(items)


def _line(text: str, row: Mapping[str, Any]) -> str:
    """Return a line, a match without its indentation; a long one is cut to a window around its first match."""
    starts = _offsets(row.get("start"))
    ends = _offsets(row.get("end"))
    # Columns that a user changed: the line is shown without marks.
    if len(starts) != len(ends):
        starts = []
        ends = []

    if has_json_line(row):
        decoded = cell_text(text, starts, ends)
        if decoded is not None:
            text, starts, ends = decoded

    text = text.removesuffix("\r")
    # Matched lines are shown separately; lines of a file or of blame are adjacent and keep their indentation.
    if row.keys() & _SINGLE_COLUMNS:
        # A match may be a part of the indentation, and is then shown.
        indent = min([len(text) - len(text.lstrip()), *starts])
        text = text[indent:]
        starts = [start - indent for start in starts]
        ends = [end - indent for end in ends]

    return highlight(*cut_window(text, starts, ends, LINE_CHARS))


def _offsets(value: Any) -> list[int]:
    """Return the offsets of a cell, which has a list, one number or null."""
    if is_null(value):
        return []
    try:
        return [int(offset) for offset in value]
    except TypeError:
        return [int(value)]


def _text(name: str, value: str, row: Mapping[str, Any], resolver: LinkResolver) -> str:
    links: tuple[Link, ...] = ()
    commit = short_commit(value)
    if commit is not None:
        # The id of a blob or a tag looks like that of a commit, and has no page.
        if name != "object_id":
            links = resolver.commit(str(row.get("repository") or ""), value)
        return _with_link(commit, value, links[:1])

    if name in _PATHS or name.endswith("_path"):
        if name == "path" and not value.endswith("/"):
            links = resolver.of(_location(row))
        return _with_link(tail(value, PATH_CHARS), value, links)

    if name == "repository":
        address = resolver.repository(value)
        if address:
            links = (Link("host", "", address),)
        return _with_link(tail(value, NAME_CHARS), value, links)

    if name in _CODE_TEXTS:
        return _with_title(one_line(" ".join(value.split()), LINE_CHARS), value)
    if value.startswith(("https://", "http://")):
        return link(one_line(value, TEXT_CHARS), value)

    first_line, _, remaining = value.strip("\n").partition("\n")
    text = one_line(first_line, TEXT_CHARS)
    if remaining and not text.endswith("\u2026"):
        text += " \u2026"
    return _with_title(text, value)


def _location(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return the cells of a row that a link is made of, with null as None."""
    location: dict[str, Any] = {}
    for name in _OF_LINKS & row.keys():
        value = row[name]
        location[name] = None if is_null(value) else value
    return location


def _with_title(text: str, full_text: str) -> str:
    if text == full_text:
        return escape(text)
    return f'<span title="{escape(full_text[:_TITLE_CHARS])}">{escape(text)}</span>'


def _with_link(text: str, full_text: str, links: tuple[Link, ...]) -> str:
    if not links:
        return _with_title(text, full_text)
    hint = full_text
    if links[0].words:
        hint += f" \u2014 {links[0].words}"
    return anchor(text, links, one_line(hint, _TITLE_CHARS))


def _number(value: float) -> str:
    import pandas as pd

    formatter = pd.get_option("display.float_format")
    if formatter is not None:
        return str(formatter(value))
    return f"{value:.{pd.get_option('display.precision')}f}".rstrip("0").rstrip(".")
