"""DataFrames of everything beside matches: progress, filters, skipped work, alerts, repositories, tool results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcelight.core.batches.events import OtherMatch, RepositoryInfo, ServiceStatus
from sourcelight.core.batches.results import ToolResult, utc_time
from sourcelight.core.batches.schema import SERVICE, Column
from sourcelight.core.completeness import Status, call_status
from sourcelight.core.extras import require_notebook
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.core.wire.events import Alert, Progress, Skipped, SuggestedFilter
from sourcelight.display.frames.schema import ALERTS, FILTERS, OTHER, PROGRESS, REPOSITORIES, SERVICES, SKIPPED
from sourcelight.display.frames.tables import rows_table, to_pandas

if TYPE_CHECKING:
    import pyarrow as pa
    from pandas import DataFrame

_FILTER_FIELDS = ("kind", "value", "label", "count", "unit", "exhaustive")


def progress_frame(events: Iterable[Progress]) -> DataFrame:
    """Return one row per progress event, in the order of arrival; each replaces the former."""
    rows = [
        {
            "done": event.done,
            "match_count": event.match_count,
            "repositories_count": event.repositories_count,
            "duration_ms": event.duration_ms,
            "skipped": len(event.skipped),
            "trace": event.trace or None,
        }
        for event in events
    ]
    return _frame(PROGRESS, rows)


def filters_frame(filters: Iterable[SuggestedFilter]) -> DataFrame:
    """Return one row per suggested filter, in the order of the service."""
    rows = [{name: getattr(item, name) for name in _FILTER_FIELDS} for item in filters]
    return _frame(FILTERS, rows)


def skipped_frame(skipped: Iterable[Skipped]) -> DataFrame:
    """Return one row per reason for which work was left out."""
    rows = [
        {
            "reason": item.reason,
            "title": item.title,
            "message": item.message,
            "severity": item.severity,
            "suggested_title": item.suggested.title if item.suggested else None,
            "suggested_query": item.suggested.query_expression if item.suggested else None,
        }
        for item in skipped
    ]
    return _frame(SKIPPED, rows)


def other_frame(other: Iterable[OtherMatch]) -> DataFrame:
    """Return one row per match that isn't a row of `matches`, in order of arrival."""
    rows = [
        {
            "type": match.type,
            "repository": match.repository or None,
            "reason": match.reason,
            "payload": json.dumps(match.payload, default=str),
        }
        for match in other
    ]
    return _frame(OTHER, rows)


def alerts_frame(alerts: Iterable[Alert]) -> DataFrame:
    """Return one row per alert, in the order of arrival."""
    rows = [
        {
            "kind": alert.kind,
            "title": alert.title,
            "description": alert.description,
            "proposed_queries": [proposal.query for proposal in alert.proposed_queries],
            "proposed_descriptions": [proposal.description for proposal in alert.proposed_queries],
        }
        for alert in alerts
    ]
    return _frame(ALERTS, rows)


def services_frame(services: Iterable[ServiceStatus]) -> DataFrame:
    """Return one row per service that had a part in an answer."""
    rows = [
        {
            "service": service.name,
            "endpoint": service.endpoint,
            "status": service.status,
            "matches": service.matches,
            "rows": service.rows,
            "duplicates": service.duplicates,
            "elapsed_s": service.elapsed_s,
            "error": "; ".join(service.reasons),
        }
        for service in services
    ]
    return _frame(SERVICES, rows)


def repositories_frame(infos: Iterable[RepositoryInfo], matches: Mapping[str, int]) -> DataFrame:
    """Return one row per repository, by name.

    Parameters
    ----------
    infos
        The repositories.
    matches
        Counts of an answer, by repository.
    """
    rows = [
        {
            "repository": info.name,
            "repository_id": info.id,
            "matches": matches.get(info.name, 0),
            "stars": info.stars,
            "description": info.description,
            "fork": info.fork,
            "archived": info.archived,
            "private": info.private,
            "topics": list(info.topics),
            "last_fetched": utc_time(info.last_fetched),
            "commit": info.commit or None,
            "url": info.url or None,
        }
        for info in sorted(infos, key=lambda info: info.name)
    ]
    return _frame(REPOSITORIES, rows)


def _frame(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    return to_pandas(rows_table(columns, rows), columns)


def answer_frame(
    answer: ToolResult, source: Mapping[str, Any] | None = None, *, status: Status | None = None
) -> DataFrame:
    """Return DataFrame of an answer; its `attrs` have `source`, the attributes, ``status`` and ``notices``."""
    if status is None:
        status = call_status(complete=answer.complete, rows=answer.table.num_rows, limit=None)

    attrs = {**(source or {}), **answer.attributes, "status": status, "notices": list(answer.notices)}
    columns = _with_service(answer.table, COLUMNS[answer.columns])
    return to_pandas(answer.table, columns, attrs)


def partial_frame(rows: Sequence[pa.Table], attrs: Mapping[str, Any]) -> DataFrame | None:
    """Return DataFrame of the rows that a call reported before it was stopped, or None without rows."""
    import pyarrow as pa

    if not rows:
        return None

    columns = _columns_of(rows[0])
    if columns is None:
        return None

    table = pa.concat_tables(rows).unify_dictionaries()
    notices = ["the call was stopped: there may be more"]
    return to_pandas(table, columns, {**attrs, "status": "interrupted", "notices": notices})


def _columns_of(table: pa.Table) -> Sequence[Column] | None:
    """Return the columns of a table of a tool by their names, which identify it; None if no tool has them."""
    names = [name for name in table.column_names if name != SERVICE.name]
    for columns in COLUMNS.values():
        if [column.name for column in columns] == names:
            return _with_service(table, columns)
    return None


def _with_service(table: pa.Table, columns: Sequence[Column]) -> Sequence[Column]:
    """Return the columns of a table: of several services, each row says which one it is of."""
    if SERVICE.name in table.column_names:
        return (SERVICE, *columns)
    return columns


def counted_frame(table: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> DataFrame:
    """Return DataFrame of a table that belongs to an answer of deep search; `attrs` have its title, query and total."""
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    rows = [list(row) for row in table.get("rows") or ()]
    frame = pd.DataFrame(rows, columns=list(table.get("columns") or ()))
    frame.attrs.update(source or {})
    for name in ("title", "query", "total"):
        frame.attrs[name] = table.get(name)
    return frame
