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


def progress_frame(events: Iterable[Progress]) -> DataFrame:
    """Return one row per progress event, in the order of arrival; each replaces the former."""
    return _frame(PROGRESS, [_progress_row(event) for event in events])


def _progress_row(event: Progress) -> dict[str, Any]:
    return {
        "done": event.done,
        "match_count": event.match_count,
        "repositories_count": event.repositories_count,
        "duration_ms": event.duration_ms,
        "skipped": len(event.skipped),
        "trace": event.trace or None,
    }


def filters_frame(filters: Iterable[SuggestedFilter]) -> DataFrame:
    """Return one row per suggested filter, in the order of the service."""
    return _frame(FILTERS, [_filter_row(item) for item in filters])


def _filter_row(item: SuggestedFilter) -> dict[str, Any]:
    return {
        "kind": item.kind,
        "value": item.value,
        "label": item.label,
        "count": item.count,
        "unit": item.unit,
        "exhaustive": item.exhaustive,
    }


def skipped_frame(skipped: Iterable[Skipped]) -> DataFrame:
    """Return one row per reason for which work was left out."""
    return _frame(SKIPPED, [_skipped_row(item) for item in skipped])


def _skipped_row(item: Skipped) -> dict[str, Any]:
    row: dict[str, Any] = {
        "reason": item.reason,
        "title": item.title,
        "message": item.message,
        "severity": item.severity,
        "suggested_title": None,
        "suggested_query": None,
    }
    if item.suggested is not None:
        row["suggested_title"] = item.suggested.title
        row["suggested_query"] = item.suggested.query_expression
    return row


def other_frame(other: Iterable[OtherMatch]) -> DataFrame:
    """Return one row per match that isn't a row of `matches`, in order of arrival."""
    return _frame(OTHER, [_other_row(match) for match in other])


def _other_row(match: OtherMatch) -> dict[str, Any]:
    return {
        "type": match.type,
        "repository": match.repository or None,
        "reason": match.reason,
        "payload": json.dumps(match.payload, default=str),
    }


def alerts_frame(alerts: Iterable[Alert]) -> DataFrame:
    """Return one row per alert, in the order of arrival."""
    return _frame(ALERTS, [_alert_row(alert) for alert in alerts])


def _alert_row(alert: Alert) -> dict[str, Any]:
    return {
        "kind": alert.kind,
        "title": alert.title,
        "description": alert.description,
        "proposed_queries": [proposal.query for proposal in alert.proposed_queries],
        "proposed_descriptions": [proposal.description for proposal in alert.proposed_queries],
    }


def services_frame(services: Iterable[ServiceStatus]) -> DataFrame:
    """Return one row per service that had a part in an answer."""
    return _frame(SERVICES, [_service_row(service) for service in services])


def _service_row(service: ServiceStatus) -> dict[str, Any]:
    return {
        "service": service.name,
        "endpoint": service.endpoint,
        "status": service.status,
        "matches": service.matches,
        "rows": service.rows,
        "duplicates": service.duplicates,
        "elapsed_s": service.elapsed_s,
        "error": "; ".join(service.reasons),
    }


def repositories_frame(infos: Iterable[RepositoryInfo], matches: Mapping[str, int]) -> DataFrame:
    """Return one row per repository, by name.

    Parameters
    ----------
    infos
        The repositories.
    matches
        Counts of an answer, by repository.
    """
    by_name = sorted(infos, key=lambda info: info.name)
    return _frame(REPOSITORIES, [_repository_row(info, matches.get(info.name, 0)) for info in by_name])


def _repository_row(info: RepositoryInfo, match_count: int) -> dict[str, Any]:
    return {
        "repository": info.name,
        "repository_id": info.id,
        "matches": match_count,
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


def answer_frame(
    answer: ToolResult, source: Mapping[str, Any] | None = None, *, status: Status | None = None
) -> DataFrame:
    """Return the DataFrame of a tool's answer.

    Its `attrs` have `source` (what identifies the client), the attributes of the answer, ``status`` and ``notices``.
    """
    if status is None:
        status = call_status(complete=answer.complete, rows=answer.table.num_rows, limit=None)

    attrs: dict[str, Any] = dict(source or {})
    attrs.update(answer.attributes)
    attrs["status"] = status
    attrs["notices"] = list(answer.notices)
    columns = _with_service(answer.table, COLUMNS[answer.columns])
    return to_pandas(answer.table, columns, attrs)


def partial_frame(rows: Sequence[pa.Table], attrs: Mapping[str, Any]) -> DataFrame | None:
    """Return the DataFrame of the rows that a call reported before it was stopped, or None without rows."""
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
    """Return `columns`, with the column that names the service first if the table has it."""
    if SERVICE.name in table.column_names:
        return (SERVICE, *columns)
    return columns


def counted_frame(table: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> DataFrame:
    """Return the DataFrame of a table in an answer of deep search; `attrs` have its title, query and total."""
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    columns = list(table.get("columns") or ())
    rows = [list(row) for row in table.get("rows") or ()]
    frame = pd.DataFrame(rows, columns=columns)
    frame.attrs.update(source or {})
    for name in ("title", "query", "total"):
        frame.attrs[name] = table.get(name)
    return frame


def _frame(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]]) -> DataFrame:
    return to_pandas(rows_table(columns, rows), columns)
