"""Tables as answers over MCP: the rows as data, and a text with one short line per row.

Values that rows share stand once above them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, TypeAlias

from sourcelight.core.batches.results import ToolResult, time_text
from sourcelight.core.markup.counts import count_of, list_names
from sourcelight.engines.tools.context import ToolContext
from sourcelight.engines.tools.handler import NOTHING, Rendered, tail, total_beside, with_notices

Row: TypeAlias = Mapping[str, Any]
SHORT_OID = 10
_MAX_LINE = 300
_MAX_NAMES = 3
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


def stamp(time: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC."""
    return None if time is None else time_text(time)


def location_text(row: Row, prefix: str = "") -> str:
    """Return the heading of a file, as texts of searches have it."""
    repository, path = row[f"{prefix}repository"], row[f"{prefix}path"]
    return f"# {repository} – {path}"  # noqa: RUF001 - the dash that readers of these texts look for


def join_parts(parts: Sequence[str]) -> str:
    """Return the non-empty parts, joined by spaces."""
    return " ".join(part for part in parts if part)


def commit_heading(row: Row) -> str:
    """Return the heading of a commit's rows: its id, date, author and subject."""
    return join_parts([row["commit"][:SHORT_OID], day(row["commit_date"]), f"{row['author']}:", row["subject"]])


def author_heading(row: Row, date: str | None) -> str:
    """Return the heading of a commit in three lines: its subject, author and date."""
    author = f"{row['author']} <{row['author_email']}>"
    first = f"## {row['repository']}@{row['commit'][:7]} {row['subject']}"
    return f"{first}\nAuthor: {author}\nDate: {date}\n"


def _outline_line(row: Row) -> str:
    lines = f"{row['start_line']}-{row['end_line']}"
    return f"{lines}: {'  ' * row['depth']}{join_parts([row['kind'] or '', row['signature'] or row['symbol']])}"


def _map_line(row: Row) -> str:
    return row["text"] if row["line_number"] is None else f"{row['line_number']}: {row['text']}"


def _calls_heading(row: Row) -> str:
    return location_text(row, "caller_")


def _caller_line(row: Row) -> str:
    by = row["caller"] or "the top of the file"
    # At depth 1 all call the requested function.
    called = f", calls {row['callee']}" if row["depth"] > 1 else ""
    return join_parts(
        [_depth(row), f"{row['line_number']}: in {by}{called}:", str(row["line"]).strip(), _certainty(row)]
    )


def _callee_line(row: Row) -> str:
    location = "" if row["callee_path"] is None else f"{row['callee_path']}:{row['callee_line']}"
    if location and row["callee_repository"] != row["caller_repository"]:
        location = f"{row['callee_repository']} {location}"
    by = f" (by {row['caller']})" if row["depth"] > 1 else ""
    location = location or "not in these repositories"
    return join_parts([_depth(row), f"{row['line_number']}: {row['callee']}{by}", "→", location, _certainty(row)])


def _certainty(row: Row) -> str:
    return "(guess by name)" if row["how"] == "name" else ""


def _depth(row: Row) -> str:
    return f"[{row['depth']}]" if row["depth"] > 1 else ""


def _dependency_line(row: Row) -> str:
    target = f"{row['target']} (external)" if row["external"] else row["target"]
    name = "" if row["module"] == row["target"] else f"as {row['module']}"
    return join_parts(["→", target, name, f"{count_of(row['imports'], 'import')} in {count_of(row['files'], 'file')}"])


def _contributor_line(row: Row) -> str:
    grouped = join_parts([row["repository"] or "", day(row["period"])])
    changed = "" if row["additions"] is None else f"+{row['additions']:,} -{row['deletions']:,}"
    dates = f"{day(row['first_date'])}..{day(row['last_date'])}"
    who = f"{row['author']} <{row['author_email']}>{' (bot)' if row['bot'] else ''}"
    agents = f"at least {row['agent_commits']:,} with an agent" if row["agent_commits"] else ""
    return join_parts([grouped, count_of(row["commits"], "commit"), agents, changed, who, dates])


def _hotspot_line(row: Row) -> str:
    lines = "binary" if row["lines"] is None else count_of(row["lines"], "line")
    counts = f"{count_of(row['commits'], 'commit')}, {count_of(row['authors'], 'author')}, {lines}"
    return join_parts([f"{row['score']:.2f}", row["path"], counts, f"last {day(row['last_date'])}"])


def _symbol_change_line(row: Row) -> str:
    name = row["symbol"] if row["old_symbol"] in {None, row["symbol"]} else f"{row['old_symbol']} → {row['symbol']}"
    path = row["path"] if row["old_path"] in {None, "", row["path"]} else f"{row['old_path']} → {row['path']}"
    counts = f"+{row['additions']:,} -{row['deletions']:,}"
    return join_parts([f"{row['status']}:", name, counts, f"{path}:{row['line_number']}-{row['end_line']}"])


def _api_line(row: Row) -> str:
    path, number = (row["path"], row["line_number"]) if row["path"] else (row["old_path"], row["old_line_number"])
    old, new = row["old_signature"], row["signature"]
    signature = f"{old} → {new}" if old and new and old != new else new or old or ""
    return join_parts([f"{row['status']}:", f"{row['module']}.{row['symbol']}", signature, f"({path}:{number})"])


def _complexity_line(row: Row) -> str:
    counts = f"cognitive {row['cognitive']:,}, cyclomatic {row['cyclomatic']:,}, {count_of(row['lines'], 'line')}"
    if row["symbol"]:
        return join_parts([f"{row['path']}:{row['line_number']}-{row['end_line']}", f"{row['symbol']}:", counts])
    changes = "" if row["commits"] is None else f", {count_of(row['commits'], 'commit')}"
    return f"{row['path']}: {counts}, {count_of(row['functions'] or 0, 'function')}{changes}"


def _related_test_line(row: Row) -> str:
    reach = [count_of(row["imports"], "import")] if row["imports"] else []
    reach += [f"uses {list_names(row['names'], _MAX_NAMES)}"] if len(row["names"]) else []
    text = f"{', '.join(reach)} (line {row['line_number']})" if reach else "no import"
    commits = count_of(row["commits"], "commit")
    return f"{row['path']}: {text}, changed with it in {row['shared_commits']:,} of {commits}"


def _repository(row: Row) -> str:
    return f"# {row['repository']}"


TEXTS: Mapping[str, Any] = {
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
"""By the name of the tool, what renders its table."""
