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
LINE_CHARS, PATH_CHARS, NAME_CHARS, TEXT_CHARS = 96, 40, 28, 80
_TITLE_CHARS = 500
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_PATHS = frozenset({"path", "old_path", "other_path", "directory"})

_DAYS = frozenset({"first_date", "last_date", "oldest_date", "newest_date"})
"""Dates displayed as a day: they limit a period, next to many numbers."""

_CODE_TEXTS = frozenset({"chunk", "code", "patch", "context"})
CODE_COLUMNS = frozenset({"line", "path", "chunk", "signature", "code", "text", "match", "patch", "symbol", "context"})
_SINGLE_COLUMNS = frozenset({"start", "caller"})
_OF_PLACES = frozenset({"repository", "commit", "path", "line_number", "start_line", "type", "url", "service"})


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
    line = one_line(text, 10_000)
    return line if len(line) <= width else f"\u2026{line[1 - width :]}"


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

    return _with_title(one_line(text := _cell_text(value), TEXT_CHARS), text)


def _cell_text(value: Any) -> str:
    """Return numbers, times and lists as text."""
    if isinstance(value, datetime):
        if value.time() == datetime.min.time():
            return f"{value:%Y-%m-%d}"
        return f"{value:%Y-%m-%d\u00a0%H:%M}"
    if isinstance(value, float):
        return _number(value)
    items = value.tolist() if hasattr(value, "tolist") else value
    return ", ".join(map(str, items)) if isinstance(items, list | tuple) else str(items)


def _line(text: str, row: Mapping[str, Any]) -> str:
    """Return a line, a match without its indentation; a long one is cut to a window around its first match."""
    start_offsets, end_offsets = _spans(row.get("start")), _spans(row.get("end"))
    if len(start_offsets) != len(end_offsets):
        start_offsets, end_offsets = [], []

    if has_json_line(row):
        text, start_offsets, end_offsets = cell_text(text, start_offsets, end_offsets) or (
            text,
            start_offsets,
            end_offsets,
        )

    text = text.removesuffix("\r")
    # Matched lines are shown separately; lines of a file or of blame are adjacent and keep their indentation.
    indent = min([len(text) - len(text.lstrip()), *start_offsets]) if row.keys() & _SINGLE_COLUMNS else 0
    start_offsets, end_offsets = (
        [start_offset - indent for start_offset in start_offsets],
        [end_offset - indent for end_offset in end_offsets],
    )
    return highlight(*cut_window(text[indent:], start_offsets, end_offsets, LINE_CHARS))


def _spans(value: Any) -> list[int]:
    if is_null(value):
        return []
    try:
        return [int(offset) for offset in value]
    except TypeError:
        return [int(value)]


def _text(name: str, value: str, row: Mapping[str, Any], resolver: LinkResolver) -> str:
    commit = short_commit(value)
    if commit is not None:
        links = resolver.commit(str(row.get("repository") or ""), value) if name != "object_id" else ()
        return _with_link(commit, value, links[:1])

    if name in _PATHS or name.endswith("_path"):
        text = tail(value, PATH_CHARS)
        return _with_link(
            text, value, resolver.of(_location(row)) if name == "path" and not value.endswith("/") else ()
        )

    if name == "repository":
        address = resolver.repository(value)
        links = (Link("host", "", address),) if address else ()
        return _with_link(tail(value, NAME_CHARS), value, links)

    if name in _CODE_TEXTS:
        return _with_title(one_line(" ".join(value.split()), LINE_CHARS), value)
    if value.startswith(("https://", "http://")):
        return link(one_line(value, TEXT_CHARS), value)

    head, _, remaining = value.strip("\n").partition("\n")
    text = one_line(head, TEXT_CHARS)
    return _with_title(f"{text} \u2026" if remaining and not text.endswith("\u2026") else text, value)


def _location(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row with null as None, as places read it."""
    return {name: None if is_null(value) else value for name, value in row.items() if name in _OF_PLACES}


def _with_title(text: str, full_text: str) -> str:
    if text == full_text:
        return escape(text)
    return f'<span title="{escape(full_text[:_TITLE_CHARS])}">{escape(text)}</span>'


def _with_link(text: str, full_text: str, links: tuple[Link, ...]) -> str:
    if not links:
        return _with_title(text, full_text)
    hint = one_line(full_text + (f" \u2014 {links[0].words}" if links[0].words else ""), _TITLE_CHARS)
    return anchor(text, links, hint)


def _number(value: float) -> str:
    import pandas as pd

    formatter = pd.get_option("display.float_format")
    if formatter is not None:
        return str(formatter(value))
    return f"{value:.{pd.get_option('display.precision')}f}".rstrip("0").rstrip(".")
