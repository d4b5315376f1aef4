"""A session with a service is the same when it is replayed, without the service: searches, tools, deep search."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from contract.conftest import TOKEN
from equal_frames import assert_frame_equal
from sourcelight.client.portal import call
from sourcelight.core.batches import MatchBatch
from sourcelight.core.wire.request import SearchRequest

PYTIDE = "example.org/tidewatch/pytide"


def session(code: sl.Client) -> dict[str, Any]:
    """What a notebook would ask."""
    answer = code.deepsearch("Where is the retry policy defined?")
    result = code.search("retry")
    results = {
        "search": result.matches,
        "chunks": code.search("type:symbol new", context_lines=1).matches,
        "exhaustive": code.search("return count:all", exhaustive=False).matches,
        "count": code.count_by("TODO", by=["repository", "language"]),
        "many": code.search_many({"a": "func", "b": "import", "c": "class", "d": "return"}).matches,
        "repositories": code.list_repos(),
        "read_file": code.read_file(result.matches["repository"][0], result.matches["path"][0]),
        "commits": code.commit_search([PYTIDE]),
        "diffs": code.diff_search("retry", [PYTIDE]),
        "sources": answer.sources,
        "read again": code.deepsearch_read(answer.url).sources,
        "context": result.matches.code.context(1),
        "links": result.matches.code.link(),
    }
    with pytest.raises(sl.RepositoryNotFound) as error:
        code.read_file("example.org/no/where", "x")
    return {**results, "answer": answer.text, "fault": str(error.value), "explained": repr(result)}


def test_a_session_is_the_same_without_its_service(service: str, tmp_path: Path) -> None:
    file = tmp_path / "session.jsonl"
    with sl.record(file), sl.connect(service, TOKEN) as code:
        recorded = session(code)
    assert TOKEN not in file.read_text("utf-8")
    # What would listen there is not this service: a request that is sent would be refused.
    with sl.replay(file), sl.connect(service, "slo_another-token") as code:
        replayed = session(code)
    assert recorded.keys() == replayed.keys()
    for name, value in recorded.items():
        if isinstance(value, str):
            assert value == replayed[name]
        else:
            assert_frame_equal(value, replayed[name])


def test_what_is_asked_at_once_comes_in_the_recorded_order(service: str, tmp_path: Path) -> None:
    queries = ("lang:go e", "lang:python e", "e -lang:go", "lang:c e", "lang:java e")

    async def order(code: sl.Client) -> list[tuple[str, int]]:
        seen: list[tuple[str, int]] = []

        async def run_query(query: str) -> None:
            async for event in code.backend.stream(SearchRequest(query)):
                seen.extend([(query, event.batch.num_rows)] if isinstance(event, MatchBatch) else [])

        await asyncio.gather(*(run_query(query) for query in queries))
        return seen

    file = tmp_path / "session.jsonl"
    with sl.record(file), sl.connect(service, TOKEN) as code:
        recorded = call(order, code)
    for _ in range(3):
        with sl.replay(file), sl.connect(service) as code:
            assert call(order, code) == recorded
