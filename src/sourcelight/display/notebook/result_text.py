"""The data of a view of a search result, and its plain text for a terminal, which has no times and no addresses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from sourcelight.core.batches import SERVICE, RepositoryInfo, ServiceStatus
from sourcelight.core.batches.schema import MATCHES
from sourcelight.core.cells.json_lines import row_line
from sourcelight.core.completeness import LIMITED_BY_COUNT, LIMITED_BY_DISPLAY, Status, reason_of, skipped_text
from sourcelight.core.markup import count_of, one_line
from sourcelight.core.markup.counts import join_lines
from sourcelight.core.wire.events import Alert, Skipped
from sourcelight.display.notebook.views.links import LinkResolver

PAGE = 10
"""Rows that a cell shows."""

_WIDTH = 120
"""Characters of a line of the view in plain text."""

_EMPTY: dict[str, Any] = dict.fromkeys(column.name for column in MATCHES if column.is_visible)
_STANDARD_COLUMNS = frozenset({*_EMPTY, SERVICE.name})

_MAX_HINTS = 3
"""Proposed queries of an alert that are shown."""

Row: TypeAlias = dict[str, Any]
"""A match with all columns that a frame shows."""


@dataclass(frozen=True, slots=True)
class ResultView:
    """The data of a view of an answer: its statements and its record batches, and where its rows can be opened.

    `page` is how many rows are shown; `services` is the status of each service, if there are several.
    """

    query: str
    status: Status
    reasons: tuple[str, ...]
    matches: int
    batches: tuple[Any, ...]
    skipped: tuple[Skipped, ...]
    alerts: tuple[Alert, ...]
    infos: tuple[RepositoryInfo, ...]
    links: LinkResolver = field(default_factory=LinkResolver)
    page: int = PAGE
    services: tuple[ServiceStatus, ...] = ()

    @property
    def rows(self) -> int:
        """Rows of matches."""
        return sum(batch.num_rows for batch in self.batches)


def first_rows(batches: Iterable[Any], limit: int) -> list[Row]:
    """Return the first rows, with all columns that a frame shows, made without touching the rest."""
    rows: list[Row] = []
    for batch in batches:
        if len(rows) >= limit:
            break
        for batch_row in batch.slice(0, limit - len(rows)).to_pylist():
            row = dict(_EMPTY)
            row.update({name: value for name, value in batch_row.items() if name in _STANDARD_COLUMNS})
            rows.append(row)

    return rows


def headline(view: ResultView) -> str:
    """Return one line: counts of matches, rows and repositories, and the status."""
    counts = f"{count_of(view.matches, 'match')} in {count_of(view.rows, 'row')}"
    names = {info.name for info in view.infos}
    if names:
        counts += f" of {count_of(len(names), 'repository')}"
    return f"{counts}: {view.status}"


def statements(view: ResultView) -> Iterator[tuple[str, str]]:
    """Yield (severity, text) of every reason, skipped item and alert, each once."""
    seen_texts: set[str] = set()
    for item in view.skipped:
        reason = reason_of(item)
        seen_texts.add(reason)
        text = skipped_text(item)
        if item.suggested is not None:
            text += f" (add {item.suggested.query_expression} to the query)"
        # An item that makes the answer incomplete is a warning, even if the service calls it info.
        is_info = item.severity == "info" and reason not in view.reasons
        yield "info" if is_info else "warning", text

    for alert in view.alerts:
        seen_texts.add(alert.text)
        seen_texts.add(f"alert: {alert.title}")
        text = join_lines(alert.text)
        for proposal in alert.proposed_queries[:_MAX_HINTS]:
            text += f" \u2014 try {proposal.query}"
        severity = alert.kind if alert.kind in {"error", "warning"} else "info"
        yield severity, text

    for reason in view.reasons:
        if reason in seen_texts or reason == view.status:
            continue
        if reason.endswith((LIMITED_BY_COUNT, LIMITED_BY_DISPLAY)):
            yield "info", reason
        elif view.status == "failed":
            yield "error", reason
        else:
            yield "warning", reason


def service_text(service: ServiceStatus) -> str:
    """Return the status of a service, its rows, and why they are not all."""
    text = f"{service.name}: {service.status}, {count_of(service.rows, 'row')}"
    if service.duplicates:
        text += f", {count_of(service.duplicates, 'duplicate')} of another service"
    if service.reasons:
        text += f" ({'; '.join(service.reasons)})"
    return text


def location_text(row: Row) -> str:
    """Return ``repository@revision/path:line`` of a row, as far as it has these."""
    text = row["repository"] or ""
    if row["revision"]:
        text += f"@{row['revision']}"

    if row["path"]:
        text += f"/{row['path']}"

    if not row["line_number"]:
        return text

    text += f":{row['line_number']}"
    if row.get("cell"):
        text += f" (cell {row['cell']}, line {row['cell_line']})"
    return text


def result_text(view: ResultView) -> str:
    """Return the whole text: headline, query, statements, first page of rows."""
    parts = [f"SearchResult: {headline(view)}", f"  query: {one_line(view.query, _WIDTH)}"]
    parts += [f"  service {one_line(service_text(service), _WIDTH)}" for service in view.services]
    parts += [f"  {severity}: {one_line(text, _WIDTH)}" for severity, text in statements(view)]
    rows = first_rows(view.batches, view.page)
    for row in rows:
        row_text = location_text(row)
        line = row_line(row).text if row["line"] is not None else row["message"]
        if line:
            row_text += f"  {line.strip()}"
        parts.append(f"  {one_line(row_text, _WIDTH)}")

    if len(rows) < view.rows:
        parts.append(f"  {len(rows)} of {view.rows:,} rows")

    return "\n".join(parts)
