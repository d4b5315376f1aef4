"""Tables as answers over MCP: the rows as data, and a text with one short line per row.

Values that consecutive rows share are a heading above them:

    # mill
    0.91 gate.py 41 commits, 3 authors, 310 lines last 2024-05-02
    0.40 wheel.py 12 commits, 2 authors, 95 lines last 2024-03-11
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

from sourcelight.core.batches.results import ToolResult, time_text
from sourcelight.core.markup import one_line, visible
from sourcelight.core.markup.counts import count_of, join_names
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Rendered, file_heading, tail, total_beside, with_notices

Row: TypeAlias = Mapping[str, Any]
"""A row of the table of a tool, by column."""

Renderer: TypeAlias = Callable[[ToolResult, ToolContext], Rendered]
"""Makes the form of an answer for MCP."""

SHORT_OID = 10
"""Digits of a commit in a heading: enough to be the only one of most repositories."""

_MAX_LINE = 300
"""Maximum characters of a line of the text; the data has all of it."""

_MAX_NAMES = 3
"""Maximum names that a line lists."""

_ATTRIBUTES = {"repository": "repo", "revision": "revision", "commit": "commit", "path": "path"}
"""Attributes of an answer that are fields of its payload, by their names there."""


def render_rows(
    line: Callable[[Row], str], heading: Callable[[Row], str] | None = None, *, keeps_lines: bool = False
) -> Renderer:
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
        text = ""
        for heading_text, group in groupby(rows, key=heading or _no_heading):
            if heading_text:
                text += f"{_shorten(heading_text)}\n"
            text += "".join([f"{_shorten(line(row), keeps_lines=keeps_lines)}\n" for row in group])

        return _payload(answer, rows), with_notices(text or NOTHING, answer)

    return render


def _no_heading(row: Row) -> str:
    del row
    return ""


def _payload(answer: ToolResult, rows: Sequence[Row]) -> dict[str, Any]:
    """Return the data of an answer: attributes, and columns with rows."""
    attributes = answer.attributes
    payload: dict[str, Any] = {}
    for name, field in _ATTRIBUTES.items():
        if attributes.get(name):
            payload[field] = attributes[name]

    payload |= total_beside(answer, "total", attributes.get("total"), len(rows))
    columns = [name for name in answer.table.schema.names if _says_something(name, rows, attributes)]
    payload["columns"] = columns
    payload["rows"] = [[_value(row[name]) for name in columns] for row in rows]
    return payload | tail(answer)


def _says_something(name: str, rows: Sequence[Row], attributes: Mapping[str, Any]) -> bool:
    """Return whether a column isn't empty, and doesn't only repeat an attribute of the answer."""
    ignored: list[object] = ["", [], None]
    if name in _ATTRIBUTES:
        ignored.append(attributes.get(name))
    return any(row[name] not in ignored for row in rows)


def _value(value: Any) -> Any:
    return time_text(value) if isinstance(value, datetime) else value


def _shorten(text: str, *, keeps_lines: bool = False) -> str:
    if keeps_lines:
        line = visible(text.replace("\r", " ").replace("\n", " "))
    else:
        line = visible(" ".join(text.split()))
    if len(line) <= _MAX_LINE:
        return line
    return f"{line[: _MAX_LINE - 1]}…"


def day(value: datetime | None) -> str:
    """Return a date in UTC."""
    return "" if value is None else value.strftime("%Y-%m-%d")


def stamp(time: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC."""
    return None if time is None else time_text(time)


def location_text(row: Row, prefix: str = "") -> str:
    """Return the heading of a file, as texts of searches have it."""
    return file_heading(row[f"{prefix}repository"], row[f"{prefix}path"])


def join_parts(parts: Sequence[str]) -> str:
    """Return the non-empty parts, joined by spaces."""
    return " ".join(part for part in parts if part)


def commit_heading(row: Row) -> str:
    """Return the heading of a commit's rows: its id, date, author and subject."""
    return join_parts([row["commit"][:SHORT_OID], day(row["commit_date"]), f"{row['author']}:", row["subject"]])


def author_heading(row: Row, date: str | None) -> str:
    """Return the heading of a commit in three lines: its subject, author and date."""
    author = one_line(f"{row['author']} <{row['author_email']}>")
    first = one_line(f"## {row['repository']}@{row['commit'][:7]} {row['subject']}")
    return f"{first}\nAuthor: {author}\nDate: {date}\n"


def _outline_line(row: Row) -> str:
    lines = f"{row['start_line']}-{row['end_line']}"
    return f"{lines}: {'  ' * row['depth']}{join_parts([row['kind'] or '', row['signature'] or row['symbol']])}"


def _map_line(row: Row) -> str:
    text: str = row["text"]
    # A line that is left out between two others has no number.
    return text if row["line_number"] is None else f"{row['line_number']}: {text}"


def _calls_heading(row: Row) -> str:
    return location_text(row, "caller_")


def _caller_line(row: Row) -> str:
    location = f"{row['line_number']}: in {row['caller'] or 'the top of the file'}"
    # At depth 1 all call the requested function.
    if row["depth"] > 1:
        location += f", calls {row['callee']}"
    return join_parts([_depth(row), f"{location}:", str(row["line"]).strip(), _certainty(row)])


def _callee_line(row: Row) -> str:
    location = "not in these repositories"
    if row["callee_path"] is not None:
        location = f"{row['callee_path']}:{row['callee_line']}"
        if row["callee_repository"] != row["caller_repository"]:
            location = f"{row['callee_repository']} {location}"

    call = f"{row['line_number']}: {row['callee']}"
    if row["depth"] > 1:
        call += f" (by {row['caller']})"
    return join_parts([_depth(row), call, "→", location, _certainty(row)])


def _certainty(row: Row) -> str:
    return "(guess by name)" if row["how"] == "name" else ""


def _depth(row: Row) -> str:
    return f"[{row['depth']}]" if row["depth"] > 1 else ""


def _dependency_line(row: Row) -> str:
    external = "(external)" if row["external"] else ""
    name = f"as {row['module']}" if row["module"] != row["target"] else ""
    counts = f"{count_of(row['imports'], 'import')} in {count_of(row['files'], 'file')}"
    return join_parts(["→", row["target"], external, name, counts])


def _contributor_line(row: Row) -> str:
    grouped = join_parts([row["repository"] or "", day(row["period"])])
    commits = count_of(row["commits"], "commit")
    agents = f"at least {row['agent_commits']:,} with an agent" if row["agent_commits"] else ""
    lines = _count_lines(row) if row["additions"] is not None else ""
    author = f"{row['author']} <{row['author_email']}>"
    bot = "(bot)" if row["bot"] else ""
    dates = f"{day(row['first_date'])}..{day(row['last_date'])}"
    return join_parts([grouped, commits, agents, lines, author, bot, dates])


def _count_lines(row: Row) -> str:
    return f"+{row['additions']:,} -{row['deletions']:,}"


def _hotspot_line(row: Row) -> str:
    lines = "binary" if row["lines"] is None else count_of(row["lines"], "line")
    counts = f"{count_of(row['commits'], 'commit')}, {count_of(row['authors'], 'author')}, {lines}"
    return join_parts([f"{row['score']:.2f}", row["path"], counts, f"last {day(row['last_date'])}"])


def _symbol_change_line(row: Row) -> str:
    name = _change_text(row["old_symbol"], row["symbol"])
    path = _change_text(row["old_path"], row["path"])
    location = f"{path}:{row['line_number']}-{row['end_line']}"
    return join_parts([f"{row['status']}:", name, _count_lines(row), location])


def _change_text(old: str | None, new: str | None) -> str:
    """Return ``old → new``, or the only one of them."""
    if old and new and old != new:
        return f"{old} → {new}"
    return new or old or ""


def _api_line(row: Row) -> str:
    signature = _change_text(row["old_signature"], row["signature"])
    location = f"({row['path']}:{row['line_number']})"
    if not row["path"]:
        location = f"({row['old_path']}:{row['old_line_number']})"
    return join_parts([f"{row['status']}:", f"{row['module']}.{row['symbol']}", signature, location])


def _complexity_line(row: Row) -> str:
    counts = f"cognitive {row['cognitive']:,}, cyclomatic {row['cyclomatic']:,}, {count_of(row['lines'], 'line')}"
    if row["symbol"]:
        return f"{row['path']}:{row['line_number']}-{row['end_line']} {row['symbol']}: {counts}"

    counts += f", {count_of(row['functions'] or 0, 'function')}"
    if row["commits"] is not None:
        counts += f", {count_of(row['commits'], 'commit')}"
    return f"{row['path']}: {counts}"


def _related_test_line(row: Row) -> str:
    reach = []
    if row["imports"]:
        reach.append(count_of(row["imports"], "import"))
    if row["names"]:
        reach.append(f"uses {join_names(row['names'], _MAX_NAMES)}")

    text = "no import"
    if reach:
        text = f"{', '.join(reach)} (line {row['line_number']})"
    commits = count_of(row["commits"], "commit")
    return f"{row['path']}: {text}, changed with it in {row['shared_commits']:,} of {commits}"


def _repository(row: Row) -> str:
    return f"# {row['repository']}"


TEXTS: Mapping[str, Renderer] = {
    "blame": render_rows(lambda row: f"{row['line_number']}: {row['line']}", commit_heading, keeps_lines=True),
    "outline": render_rows(_outline_line, location_text, keeps_lines=True),
    "repo_map": render_rows(_map_line, _repository, keeps_lines=True),
    "callers": render_rows(_caller_line, _calls_heading),
    "callees": render_rows(_callee_line, _calls_heading),
    "dependency_graph": render_rows(_dependency_line, lambda row: f"# {row['source']}"),
    "contributors": render_rows(_contributor_line),
    "hotspots": render_rows(_hotspot_line, _repository),
    "symbol_history": render_rows(_symbol_change_line, commit_heading),
    "api_changes": render_rows(_api_line),
    "complexity": render_rows(_complexity_line, _repository),
    "related_tests": render_rows(_related_test_line, _repository),
}
"""Functions that render the tables of tools, by the name of the tool."""
