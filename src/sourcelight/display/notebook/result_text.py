"""An answer as plain text: what a terminal and a stored notebook show. Stable: no times, no addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.batches import SERVICE, RepositoryFacts, ServiceState
from sourcelight.core.batches.schema import MATCHES
from sourcelight.core.completeness import Status
from sourcelight.core.markup import one_line
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.display.notebook.views.places import Places

PAGE = 10
_WIDTH = 120
_EMPTY: dict[str, Any] = dict.fromkeys(column.name for column in MATCHES if column.shown)
_KNOWN = frozenset({*_EMPTY, SERVICE.name})


@dataclass(frozen=True, slots=True)
class ResultFacts:
    """What a view of an answer needs: its statements and its record batches, and where its rows can be opened.

    `page` is how many rows are shown; `services` is what became of each service, where there are several.
    """

    query: str
    status: Status
    reasons: tuple[str, ...]
    matches: int
    batches: tuple[Any, ...]
    skipped: tuple[Skipped, ...]
    alerts: tuple[Alert, ...]
    facts: tuple[RepositoryFacts, ...]
    places: Places = field(default_factory=Places)
    page: int = PAGE
    services: tuple[ServiceState, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of matches."""
        return sum(b.num_rows for b in self.batches)


def first_rows(batches: Iterable[Any], limit: int) -> list[dict[str, Any]]:
    """The first rows, with all columns that a frame shows, made without touching the rest."""
    rows: list[dict[str, Any]] = []
    for batch in batches:
        if len(rows) >= limit:
            break
        part = batch.slice(0, limit - len(rows)).to_pylist()
        rows += [{**_EMPTY, **{name: value for name, value in row.items() if name in _KNOWN}} for row in part]
    return rows


def headline(shown: ResultFacts) -> str:
    """One line: how much was found, and whether that is all."""
    many = f"{shown.matches:,} match{'' if shown.matches == 1 else 'es'}"
    rows = f"{shown.rows:,} row{'' if shown.rows == 1 else 's'}"
    names = len({f.name for f in shown.facts})
    where = f" of {names:,} repositor{'y' if names == 1 else 'ies'}" if names else ""
    return f"{many} in {rows}{where}: {shown.status}"


def statements(shown: ResultFacts) -> Iterator[tuple[str, str]]:
    """(severity, text) of every reason, skipped item and alert, each once."""
    said: set[str] = set()
    for item in shown.skipped:
        text = f"{item.reason}: {item.title}" if item.title else item.reason
        hint = f" (add {item.suggested.query_expression} to the query)" if item.suggested else ""
        said.add(text)
        yield ("info" if item.severity == "info" else "warning"), f"skipped {text}{hint}"
    for alert in shown.alerts:
        text = ": ".join(t for t in (alert.title, alert.description) if t)
        said |= {text, f"alert: {alert.title}"}
        hints = "".join(f" \u2014 try {p.query}" for p in alert.proposed_queries[:3])
        yield {"error": "error", "warning": "warning"}.get(alert.kind, "info"), f"{text}{hints}"
    for reason in shown.reasons:
        if reason not in said and reason != shown.status:
            yield {"failed": "error", "partial": "info"}.get(shown.status, "warning"), reason


def service_text(one: ServiceState) -> str:
    """What became of a service: its status, what the answer has of it, and why that is not all."""
    said = [one.status, f"{one.rows:,} row{'' if one.rows == 1 else 's'}"]
    if one.duplicates:
        said.append(f"{one.duplicates:,} that another service gave too")
    why = f" ({'; '.join(one.reasons)})" if one.reasons else ""
    return f"{one.name}: {', '.join(said)}{why}"


def place(row: dict[str, Any]) -> str:
    """``repository@revision/path:line`` of a row, as far as it has these."""
    text = row["repository"] or ""
    if row["revision"]:
        text += f"@{row['revision']}"
    if row["path"]:
        text += f"/{row['path']}"
    return f"{text}:{row['line_number']}" if row["line_number"] else text


def result_text(shown: ResultFacts) -> str:
    """The whole text: headline, query, statements, first page of rows."""
    parts = [f"SearchResult: {headline(shown)}", f"  query: {one_line(shown.query, _WIDTH)}"]
    parts += [f"  service {one_line(service_text(one), _WIDTH)}" for one in shown.services]
    parts += [f"  {severity}: {one_line(text, _WIDTH)}" for severity, text in statements(shown)]
    rows = first_rows(shown.batches, shown.page)
    for row in rows:
        text = row["line"] if row["line"] is not None else row["message"]
        tail = f"  {text.strip()}" if text else ""
        parts.append(f"  {one_line(place(row) + tail, _WIDTH)}")
    if len(rows) < shown.rows:
        parts.append(f"  {len(rows)} of {shown.rows:,} rows")
    return "\n".join(parts)
