"""Tables as answers over MCP: a text with one short line per row, and the rows as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

from sourcelight.core.batches.results import ToolResult, time_text
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Rendered, tail, total_beside, with_notices

Row: TypeAlias = Mapping[str, Any]
SHORT_OID = 10
_MAX_LINE = 300
_ATTRIBUTES = {"repository": "repo", "revision": "revision", "commit": "commit", "path": "path"}


def render_rows(
    line: Callable[[Row], str], heading: Callable[[Row], str] | None = None, *, keeps_lines: bool = False
) -> Callable[[ToolResult, ToolContext], Rendered]:
    """Return a function that renders the rows of a table.

    Parameters
    ----------
    line
        Formats a row.
    heading
        Formats what consecutive rows share, shown once above them.
    keeps_lines
        Whether to keep spaces at the start of lines, as in text of files.
    """

    def render(answer: ToolResult, context: ToolContext) -> Rendered:
        del context
        rows = answer.table.to_pylist()
        parts = []
        for heading_text, group in groupby(rows, key=heading or (lambda _: "")):
            lines = "".join(f"{_shorten(line(row), keeps_lines=keeps_lines)}\n" for row in group)
            parts.append(f"{_shorten(heading_text)}\n{lines}" if heading_text else lines)
        attributes = answer.attributes
        reported = {name: attributes[name] for name in _ATTRIBUTES if attributes.get(name)}
        # A column that is empty, or repeats an attribute of the answer, is left out.
        columns = [
            name
            for name in answer.table.schema.names
            if any(row[name] is not None and row[name] not in ("", [], reported.get(name, "")) for row in rows)
        ]
        total = total_beside(answer, "total", attributes.get("total"), len(rows))
        payload = {
            **{_ATTRIBUTES[name]: value for name, value in reported.items()},
            **total,
            "columns": columns,
            "rows": [[_value(row[name]) for name in columns] for row in rows],
            **tail(answer),
        }
        return payload, with_notices("".join(parts) or NOTHING, answer)

    return render


def _value(value: Any) -> Any:
    return time_text(value) if isinstance(value, datetime) else value


def _shorten(text: str, *, keeps_lines: bool = False) -> str:
    line = text.replace("\r", " ").replace("\n", " ") if keeps_lines else " ".join(text.split())
    return line if len(line) <= _MAX_LINE else f"{line[: _MAX_LINE - 1]}…"


def day(value: datetime | None) -> str:
    """Return a date in UTC."""
    return "" if value is None else value.strftime("%Y-%m-%d")


def location_text(row: Row, prefix: str = "") -> str:
    """Return the heading of a file, as texts of searches have it."""
    repository, path = row[f"{prefix}repository"], row[f"{prefix}path"]
    return f"# {repository} – {path}"  # noqa: RUF001 - the dash that readers of these texts look for


def join_parts(parts: Sequence[str]) -> str:
    """Return the non-empty parts, joined by spaces."""
    return " ".join(part for part in parts if part)
