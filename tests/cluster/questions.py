"""Questions to a cluster, with what becomes of each repository."""

from __future__ import annotations

from typing import Any

from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.search import ClusterSearch
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer

QUERY = "e count:all fork:yes archived:yes"
Line = tuple[str, ...]


def lines(batch: Any) -> list[Line]:
    """What is found, by the columns that there are."""
    names = [name for name in ("repository", "path", "line_number") if name in batch.schema.names]
    return [tuple(map(str, row.values())) for row in batch.select(names).to_pylist()]


def searched(engine: ClusterEngine, query: str = QUERY) -> tuple[list[Line], ClusterSearch]:
    """The lines that are found, and the search, whose accounting holds."""
    request = SearchRequest(query)
    read = engine.read(request)
    assert not isinstance(read, float)
    search = engine.searches(engine, *read, request, Viewer.owner(), Cancellation(), 0.0)
    assert isinstance(search, ClusterSearch)
    found = []
    for event in search.events():
        if isinstance(event, MatchBatch):
            found += lines(event.batch)
    told = search.accounting
    parts = [set(told.done), set(told.skipped or {}), set(told.excluded)]
    assert set.union(*parts) == told.planned
    assert sum(map(len, parts)) == len(told.planned)
    return found, search
