"""Running queries on an engine, and reading what comes back."""

from __future__ import annotations

from typing import Any

from sourcelight.core.batches import MatchBatch, conform
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Alert, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer


def run(engine: LocalEngine, query: str, *, viewer: Viewer | None = None, **options: Any) -> list[Any]:
    request = SearchRequest(query, **options)
    return list(engine.stream(request, viewer or Viewer.owner(), Cancellation()))


def rows(events: list[Any]) -> list[dict[str, Any]]:
    table = conform([e.batch for e in events if isinstance(e, MatchBatch)])
    return list(table.to_pylist())


def final(events: list[Any]) -> Progress:
    last = [e for e in events if isinstance(e, Progress)][-1]
    assert last.done
    return last


def alert(events: list[Any]) -> Alert | None:
    return next((e for e in events if isinstance(e, Alert)), None)
