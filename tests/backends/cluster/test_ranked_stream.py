"""Ranked search as a stream (``t=nls``) over a cluster: the rows and offsets of one machine."""

from __future__ import annotations

from typing import Any

import pytest

import sourcelight as sl
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer
from sourcelight.server.http.ranked_search import ranked_events

pytestmark = pytest.mark.timeout(240)

QUESTIONS = ["how are failed requests retried", "repo:hub where is the station defined", "lang:python read the tide"]


def rows(client: sl.Client, query: str, **options: Any) -> tuple[list[dict[str, Any]], list[Progress]]:
    request = SearchRequest(query, pattern_type="nls", **options)
    engine = client.backend.engine  # type: ignore[attr-defined]
    events = list(ranked_events(engine, request, Viewer.owner(), Cancellation()))
    results = [row for event in events if isinstance(event, MatchBatch) for row in event.batch.to_pylist()]
    return results, [event for event in events if isinstance(event, Progress)]


@pytest.mark.parametrize("query", QUESTIONS)
def test_chunks_have_the_offsets_of_their_files(calm: sl.Client, embedded: sl.Client, query: str) -> None:
    (ours, our_progress), (theirs, their_progress) = (
        rows(client, query, chunk_matches=True, context_lines=1) for client in (calm, embedded)
    )
    assert ours == theirs
    assert any(row["chunk_offset"] for row in ours)
    assert [(p.match_count, p.skipped) for p in our_progress] == [(p.match_count, p.skipped) for p in their_progress]


def test_lines_are_those_of_one_machine(calm: sl.Client, embedded: sl.Client) -> None:
    ours, theirs = (
        [{k: v for k, v in row.items() if k != "line_offset"} for row in rows(client, QUESTIONS[0])[0]]
        for client in (calm, embedded)
    )
    assert ours == theirs
    assert ours
