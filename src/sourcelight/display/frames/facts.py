"""DataFrames of everything beside matches: progress, filters, skipped work, alerts, repositories, tool results."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sourcelight.core.batches.events import OtherMatch, RepositoryInfo, ServiceStatus
from sourcelight.core.batches.results import ToolResult, utc_time
from sourcelight.core.batches.schema import SERVICE
from sourcelight.core.completeness import Status, call_status
from sourcelight.core.extras import require_notebook
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.core.wire.events import Alert, Progress, Skipped, SuggestedFilter
from sourcelight.display.frames.schema import ALERTS, FILTERS, OTHER, PROGRESS, REPOSITORIES, SERVICES, SKIPPED
from sourcelight.display.frames.tables import rows_table, to_pandas

Frame = Any


def progress_frame(events: Iterable[Progress]) -> Frame:
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
    return to_pandas(rows_table(PROGRESS, rows), PROGRESS)


def filters_frame(filters: Iterable[SuggestedFilter]) -> Frame:
    """Return one row per suggested filter, in the order of the service."""
    rows = [
        {name: getattr(item, name) for name in ("kind", "value", "label", "count", "unit", "exhaustive")}
        for item in filters
    ]
    return to_pandas(rows_table(FILTERS, rows), FILTERS)


def skipped_frame(skipped: Iterable[Skipped]) -> Frame:
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
    return to_pandas(rows_table(SKIPPED, rows), SKIPPED)


def other_frame(other: Iterable[OtherMatch]) -> Frame:
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
    return to_pandas(rows_table(OTHER, rows), OTHER)


def alerts_frame(alerts: Iterable[Alert]) -> Frame:
    """Return one row per alert, in the order of arrival."""
    rows = [
        {
            "kind": alert.kind,
            "title": alert.title,
            "description": alert.description,
            "proposed_queries": [proposed_query.query for proposed_query in alert.proposed_queries],
            "proposed_descriptions": [proposed_query.description for proposed_query in alert.proposed_queries],
        }
        for alert in alerts
    ]
    return to_pandas(rows_table(ALERTS, rows), ALERTS)


def services_frame(services: Iterable[ServiceStatus]) -> Frame:
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
    return to_pandas(rows_table(SERVICES, rows), SERVICES)


def repositories_frame(
    infos: Iterable[RepositoryInfo],
    matches: Mapping[str, int],
) -> Frame:
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
            "repository": f.name,
            "repository_id": f.id,
            "matches": matches.get(f.name, 0),
            "stars": f.stars,
            "description": f.description,
            "fork": f.fork,
            "archived": f.archived,
            "private": f.private,
            "topics": list(f.topics),
            "last_fetched": utc_time(f.last_fetched),
            "commit": f.commit or None,
            "url": f.url or None,
        }
        for f in sorted(infos, key=lambda f: f.name)
    ]
    return to_pandas(rows_table(REPOSITORIES, rows), REPOSITORIES)


def answer_frame(answer: ToolResult, source: Mapping[str, Any] | None = None, *, status: Status | None = None) -> Any:
    """Return DataFrame of an answer; its `attrs` have `source`, the attributes, ``status`` and ``notices``."""
    attrs = {
        **(source or {}),
        **answer.attributes,
        "status": status or call_status(complete=answer.complete, rows=answer.table.num_rows, limit=None),
        "notices": list(answer.notices),
    }
    # Of several services, each row says which one it is of.
    served = (SERVICE,) if SERVICE.name in answer.table.column_names else ()
    return to_pandas(answer.table, (*served, *COLUMNS[answer.columns]), attrs)


def partial_frame(rows: Sequence[Any], attrs: Mapping[str, Any]) -> Any:
    """Return DataFrame of the rows that a call reported before it was stopped, or None without rows."""
    import pyarrow as pa

    if not rows:
        return None

    served = (SERVICE,) if SERVICE.name in rows[0].column_names else ()
    names = [name for name in rows[0].column_names if name != SERVICE.name]

    # The rows of a stopped call have lost their table's name; its columns identify it.
    columns = next(
        (candidate for candidate in COLUMNS.values() if [column.name for column in candidate] == names), None
    )
    frame_attrs = {**attrs, "status": "interrupted", "notices": ["the call was stopped: there may be more"]}
    if columns is None:
        return None

    return to_pandas(pa.concat_tables(rows).unify_dictionaries(), (*served, *columns), frame_attrs)


def counted_frame(table: Mapping[str, Any], source: Mapping[str, Any] | None = None) -> Any:
    """Return DataFrame of a table that belongs to an answer of deep search; `attrs` have its title, query and total."""
    require_notebook("pandas", "a DataFrame")
    import pandas as pd

    frame = pd.DataFrame([list(row) for row in table.get("rows") or ()], columns=list(table.get("columns") or ()))
    frame.attrs.update(source or {})
    frame.attrs.update({name: table.get(name) for name in ("title", "query", "total")})
    return frame
