"""Questions to a cluster, with what becomes of each repository."""

from __future__ import annotations

from typing import Any

from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.search import ClusterSource
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.query_reader import QueryReader
from sourcelight.engines.execution.run import SearchExecution
from sourcelight.engines.execution.source import SearchTask
from sourcelight.repos import Viewer

QUERY = "e count:all fork:yes archived:yes"
Line = tuple[str, ...]


def lines(batch: Any) -> list[Line]:
    """What is found, by the columns that there are."""
    names = [name for name in ("repository", "path", "line_number") if name in batch.schema.names]
    return [tuple(map(str, row.values())) for row in batch.select(names).to_pylist()]


def searched(
    engine: ClusterEngine, query: str = QUERY, source_type: type[ClusterSource] = ClusterSource
) -> tuple[list[Line], ClusterSource]:
    """The lines that are found, and their source, whose accounting holds."""
    request, cluster = SearchRequest(query), engine.snapshot()
    read = QueryReader(engine.limits).parse(request, cluster.catalog.contexts)
    task = SearchTask(*read, request, Viewer.owner(), Cancellation())
    search = source_type(cluster, task)
    results = []
    for event in SearchExecution(search, task, engine.limits, lambda _: False).events():
        if isinstance(event, MatchBatch):
            results += lines(event.batch)
    result = search.accounting
    parts = [set(result.done), set(result.skipped), set(result.excluded), set(result.unfinished)]
    assert set.union(*parts) == result.planned
    assert sum(map(len, parts)) == len(result.planned)
    return results, search
