"""Everything is found behind a service that caps its answers, each file once, and what is missing has a name."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import COMPLETE, ScriptedBackend, Step, batch, progress, run
from server.running_service import TOKEN, ScriptedEngine, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.client.search.exhaustive import ExhaustiveSearch
from sourcelight.client.search.query_parts import ObservedValues, QueryPart
from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.query import parse
from sourcelight.core.wire.events import Done, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Limits, LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

CAP = 7
KEYS = ["type", "repository", "revision", "commit", "path", "line_number"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("capped")
    many: dict[str | bytes, str | bytes] = {
        f"src/{part}/{name}.{end}": "needle\n" * 3 for part in "abc" for name in "xy" for end in ("py", "go")
    }
    for number in range(3):
        files: dict[str | bytes, str | bytes] = {**many, "needle.txt": "needle é\n", "LICENSE": f"needle {number}\n"}
        if number == 2:
            files |= {"src/odd name (1)+.py": "needle\n", b"src/bad-\xff.py": "needle\n", "no/ending": "needle\n"}
        RepositoryBuilder(folder / f"r{number}", origin=f"https://example.org/needle/r{number}.git").commit(files, "x")
    RepositoryBuilder(folder / "big", origin="https://example.org/needle/big.git").commit(
        {"one.txt": "needle\n" * 20, "two.txt": "needle\n"}, "x"
    )
    return folder


@pytest.fixture(scope="module")
def engine(folder: Path) -> LocalEngine:
    return open_engine([folder], index=folder.parent / "capped-index", limits=Limits(matches=CAP))


@pytest.fixture
def capped(engine: LocalEngine) -> Iterator[tuple[Service, ScriptedEngine]]:
    """A service that stops at `CAP` matches whatever a query asks for."""

    def script(request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        query = request.query.replace("count:all ", "")
        return engine.stream(replace(request, query=query, default_matches=None), viewer, cancellation)

    scripted_engine = ScriptedEngine(script)
    with running(scripted_engine) as service:
        yield service, scripted_engine


@pytest.fixture(scope="module")
def uncapped(folder: Path) -> Iterator[sl.Client]:
    with sl.open(folder, index_dir=folder.parent / "capped-index") as client:
        yield client


def _rows(result: sl.SearchResult) -> list[tuple[Any, ...]]:
    frame = result.matches[[*KEYS, "match_count", "line"]].astype(object)
    return sorted(map(str, frame.itertuples(index=False, name=None)))  # type: ignore[arg-type]


QUERIES = [
    "needle -repo:big$",
    "needle repo:r1$",
    "-repo:big$ (needle file:src/a) or (needle lang:go file:src/b)",
    "src type:path",
    "needle repo:r[01]$@HEAD",
    "needle repo:r[01]$@HEAD:HEAD~0",
    "needle -repo:big$ type:file",
    "needle -repo:big$ select:file",
    "file:x -repo:big$",
]


@pytest.mark.parametrize("query", QUERIES)
def test_the_union_of_parts_is_the_whole_answer(
    capped: tuple[Service, ScriptedEngine], uncapped: sl.Client, query: str
) -> None:
    service, engine = capped
    with sl.connect(service.url, TOKEN) as client:
        assert client.search(query).status == "limited"
        result = client.search(query, exhaustive=True)
    expected = uncapped.search(query, exhaustive=True)
    assert _rows(result) == _rows(expected)
    assert (result.status, result.match_count) == ("complete", expected.match_count)
    assert len(engine.requests) > 2


def test_counts_and_files_are_exhaustive_too(
    capped: tuple[Service, ScriptedEngine], uncapped: sl.Client, tmp_path: Path
) -> None:
    query = "needle -repo:big$"
    with sl.connect(capped[0].url, TOKEN) as client:
        counts = client.count_by(query, by="repository", exhaustive=True)
        export = client.export(query, tmp_path / "all.jsonl", exhaustive=True)
    expected = uncapped.count_by(query, by="repository")
    assert counts.to_dict("records") == expected.to_dict("records")
    assert (export.status, export.matches) == ("complete", int(expected["matches"].sum()))


def test_a_file_that_is_larger_than_the_cap_is_named(capped: tuple[Service, ScriptedEngine]) -> None:
    with sl.connect(capped[0].url, TOKEN) as client:
        result = client.search("needle repo:big$", exhaustive=True)
    assert result.status == "limited"
    (missing,) = result.skipped[result.skipped["reason"] == "part-incomplete"]["title"]
    assert "one" in missing
    assert "result limit hit" in missing
    assert set(result.matches["path"].dropna()) == {"one.txt", "two.txt"}


def test_parts_are_counted_while_they_run(capped: tuple[Service, ScriptedEngine]) -> None:
    seen: list[Any] = []
    with sl.connect(capped[0].url, TOKEN) as client:
        client.search("needle -repo:big$", exhaustive=True, progress=seen.append)
    done, total = dict(seen[-1].fields)["parts"].split(" of ")
    assert done == total
    assert int(total) > 10


def test_a_query_that_limits_itself_is_refused() -> None:
    client = sl.Client(ScriptedBackend([progress(), Done()]))
    with pytest.raises(sl.QueryError, match="requests all matches"):
        client.search("needle count:5", exhaustive=True)
    with pytest.raises(sl.QueryError, match="requests all matches"):
        client.search("needle", limit=5, exhaustive=True)


def test_an_answer_that_is_not_capped_takes_one_request() -> None:
    backend = ScriptedBackend([batch(0), progress(), Done()])
    assert sl.Client(backend).search("foo", exhaustive=True).status == "complete"
    assert [request.query for request in backend.requests] == ["count:all foo"]


CAPPED: list[Step] = [batch(0), progress(Skipped("shard-match-limit", "result limit hit")), Done()]


def test_requests_are_bounded_and_the_parts_left_are_named() -> None:
    backend = ScriptedBackend(CAPPED)
    everything = ExhaustiveSearch(backend, max_requests=3)

    async def collect() -> list[Event]:
        return [event async for event in everything.stream(SearchRequest("foo"))]

    events = run(collect())
    assert len(backend.requests) == 3
    final = [event for event in events if isinstance(event, Progress)][-1]
    assert final.done
    assert "request-limit" in {item.reason for item in final.skipped}
    assert sum(event.batch.num_rows for event in events if isinstance(event, MatchBatch)) == 10


def test_a_service_that_caps_every_part_comes_to_an_end() -> None:
    backend = ScriptedBackend(CAPPED)
    result = sl.Client(backend).search("foo", exhaustive=True)
    assert result.status == "limited"
    assert len(result) == 10
    assert len(backend.requests) < 30


def test_a_part_whose_service_breaks_is_named() -> None:
    class Breaking(ScriptedBackend):
        async def stream(self, request: SearchRequest) -> Any:
            self.script = [sl.StreamBroken("cut")] if "repo:^r1$" in request.query else list(CAPPED)
            async for event in super().stream(request):
                yield event

    result = sl.Client(Breaking(CAPPED)).search("foo", exhaustive=True)
    assert result.status == "limited"
    assert any("repo:^r1$: cut" in title for title in result.skipped["title"])


def test_parts_cover_all_that_was_not_seen() -> None:
    query = parse("foo")
    parts = QueryPart().split(query, ObservedValues(("a.b/c", "d")))
    assert [part.label for part in parts] == [r"repo:^a\.b/c$", "repo:^d$", r"-repo:^(?:a\.b/c|d)$"]
    inside = parts[0].split(query, ObservedValues(languages=("C++", "no such language")))
    assert [part.label.split(" ", 1)[1] for part in inside] == ["type:repo", "lang:C++", "-lang:C++"]
    folders = inside[1].split(query, ObservedValues(paths=("src/x/a.cc", "src/x/b/c.cc", "src/x/b/d.cc")))
    assert [part.label.rsplit(" ", 1)[1] for part in folders] == [
        r"file:^src/x/a\.cc",
        "file:^src/x/b/",
        r"-file:^(?:src/x/a\.cc|src/x/b/)",
    ]
    assert folders[0].split(query, ObservedValues(paths=("src/x/a.cc",))) == ()
    assert folders[2].split(query, ObservedValues(paths=("src/x/a.cc",))) == ()


def test_a_service_that_finds_nothing_in_time_is_asked_for_its_repositories() -> None:
    class Slow(ScriptedBackend):
        async def stream(self, request: SearchRequest) -> Any:
            if "type:repo" in request.query:
                self.script = [batch(0), progress(), Done()]
            elif "repo:^r1$" in request.query and "-repo" not in request.query:
                self.script = list(COMPLETE)
            elif "-repo:^r1$" in request.query:
                self.script = [progress(), Done()]
            else:
                self.script = [progress(Skipped("shard-timeout", "1 timed out")), Done()]
            script = list(self.script)
            self.requests.append(request)
            for step in script:
                yield step

    backend = Slow(COMPLETE)
    result = sl.Client(backend).search("repo:r foo", exhaustive=True)
    assert (result.status, len(result)) == ("complete", 20)
    assert len(backend.requests) == 4
    listing = backend.requests[1].query
    assert "repo:r" in listing
    assert "foo" not in listing


def test_an_interrupt_keeps_rows_of_parts_that_are_not_whole() -> None:
    backend = ScriptedBackend([batch(0), "wait"])
    client = sl.AsyncClient(backend)

    async def interrupted() -> None:
        task = asyncio.create_task(client.search("foo", exhaustive=True))
        assert await asyncio.to_thread(backend.waiting.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(interrupted())
    last = client.last
    assert last is not None
    assert (last.status, len(last), last.match_count) == ("interrupted", 10, 10)
    assert backend.closed.is_set()
