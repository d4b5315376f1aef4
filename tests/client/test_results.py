"""A search ends in exactly one status, and what arrived is never lost."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sourcelight as sl
from client.scripted import COMPLETE, FAILED, FORKS, LIMITED, ScriptedBackend, Step, batch, progress, run
from sourcelight.client import AsyncClient, Client
from sourcelight.client.progress import IncompleteCountWarning
from sourcelight.core.errors import QueryError, SearchFailed, StreamBroken
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Skipped
from sourcelight.display.frames import columns_of

Ask = Callable[[ScriptedBackend, str], sl.SearchResult]


def _blocking(backend: ScriptedBackend, query: str) -> sl.SearchResult:
    return Client(backend).search(query)


def _awaited(backend: ScriptedBackend, query: str) -> sl.SearchResult:
    return run(AsyncClient(backend).search(query))


@pytest.fixture(params=[_blocking, _awaited], ids=["blocking", "awaited"])
def ask(request: pytest.FixtureRequest) -> Ask:
    result: Ask = request.param
    return result


STATUSES: list[tuple[str, list[Step], str, str]] = [
    ("complete", COMPLETE, "complete", ""),
    ("empty", [progress(), Done()], "complete", ""),
    ("forks left out", [progress(FORKS), Done()], "complete", ""),
    ("archives left out", [progress(Skipped("excluded-archive", "1 archived")), Done()], "complete", ""),
    ("binaries by name", [progress(Skipped("file-binary", "2 binary")), Done()], "complete", ""),
    ("match limit", LIMITED, "limited", "shard-match-limit: result limit hit"),
    ("display", [progress(Skipped("display", "display limit hit")), Done()], "limited", "display: display limit hit"),
    ("timeout", [progress(Skipped("shard-timeout", "1 timed out")), Done()], "limited", "shard-timeout: 1 timed out"),
    ("missing", [progress(Skipped("repository-missing", "")), Done()], "limited", "repository-missing"),
    ("cloning", [progress(Skipped("repository-cloning", "1 cloning")), Done()], "limited", "repository-cloning"),
    ("backend", [progress(Skipped("backend-missing", "1 backend down")), Done()], "limited", "backend-missing"),
    ("unknown", [progress(Skipped("new-thing", "x")), Done()], "limited", "new-thing: x"),
    ("timeout alert", [Alert("Timed out while searching"), progress(), Done()], "limited", "alert: Timed out"),
    ("info alert", [Alert("Did you mean", "", "info"), progress(), Done()], "complete", ""),
]


@pytest.mark.parametrize(("script", "status", "reason"), [s[1:] for s in STATUSES], ids=[s[0] for s in STATUSES])
def test_status_says_whether_the_answer_is_whole(ask: Ask, script: list[Step], status: str, reason: str) -> None:
    result = ask(ScriptedBackend(script), "foo")
    assert result.status == status
    assert "; ".join(result.reasons).startswith(reason)
    assert bool(result.reasons) == (status != "complete")
    assert result.matches.attrs["status"] == status


FAULTS: list[tuple[str, list[Step], type[Exception], str]] = [
    ("alert of kind error", FAILED, SearchFailed, "it broke: badly"),
    ("error event", [batch(0), ErrorEvent("no luck"), Done()], SearchFailed, "no luck"),
    ("both say the same", [batch(0), Alert("no luck", "", "error"), ErrorEvent("no luck"), Done()], SearchFailed, "no"),
    ("broken stream", [batch(0), StreamBroken("cut", events_seen=1)], StreamBroken, "cut"),
    ("no last event", [batch(0), progress()], StreamBroken, "without its last event"),
]


@pytest.mark.parametrize(("script", "error", "text"), [f[1:] for f in FAULTS], ids=[f[0] for f in FAULTS])
def test_a_failed_search_raises_and_keeps_its_rows(
    ask: Ask, script: list[Step], error: type[Exception], text: str
) -> None:
    with pytest.raises(error, match=text) as caught:
        ask(ScriptedBackend(script), "foo")
    result = getattr(caught.value, "result")  # noqa: B009 - declared on the base of the tree
    assert result.status == "failed"
    assert len(result) == 10
    assert len(result.reasons) == 1


def test_a_foreign_fault_is_raised_as_it_is_with_rows_kept() -> None:
    client = Client(ScriptedBackend([batch(0), ZeroDivisionError("bug")]))
    with pytest.raises(ZeroDivisionError):
        client.search("foo")
    last = client.last
    assert last is not None
    assert (last.status, last.reasons, len(last)) == ("failed", ("ZeroDivisionError: bug",), 10)


def test_a_query_at_fault_is_raised(ask: Ask) -> None:
    with pytest.raises(QueryError, match="empty query"):
        ask(ScriptedBackend(COMPLETE), "")


def test_all_tables_of_a_result(ask: Ask) -> None:
    result = ask(ScriptedBackend([*COMPLETE[:-2], progress(FORKS), Alert("a", "b", "info"), Done()]), "foo")
    assert len(result) == len(result.matches) == result.arrow.num_rows == 20
    for name, rows in {"progress": 1, "filters": 1, "skipped": 1, "alerts": 1, "repositories": 1}.items():
        frame = getattr(result, name)
        assert len(frame) == rows, name
        assert list(frame.columns) == [c.name for c in columns_of(name)]
    assert result.repositories["matches"].tolist() == [20]
    assert len(result.spans()) == 20
    assert result.to_polars().height == 20
    with pytest.raises(TypeError, match="itertuples"):
        iter(result)


def test_repositories_without_facts_are_listed_too() -> None:
    result = Client(ScriptedBackend([batch(1, 2, "r9"), progress(), Done()])).search("foo")
    assert result.repositories["repository"].tolist() == ["r9"]


def test_results_write_files(tmp_path: Path) -> None:
    result = Client(ScriptedBackend(COMPLETE)).search("foo")
    result.to_parquet(tmp_path / "a.parquet")
    result.to_jsonl(tmp_path / "a.jsonl")
    result.to_csv(tmp_path / "a.csv")
    assert pq.read_table(tmp_path / "a.parquet").num_rows == 20
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 20
    assert len((tmp_path / "a.csv").read_text().splitlines()) == 21
    with pytest.raises(FileNotFoundError):
        result.to_csv(tmp_path / "absent" / "a.csv")


def test_every_parameter_reaches_the_request() -> None:
    backend = ScriptedBackend(COMPLETE)
    keywords: dict[str, Any] = {
        "pattern_type": "regexp",
        "limit": 5,
        "context_lines": 3,
        "max_line_bytes": 80,
        "timeout_s": 9.0,
    }
    client = Client(backend)
    client.search("foo", **keywords)
    list(client.stream("foo", **keywords))
    for request in backend.requests:
        assert (request.pattern_type, request.timeout_s) == ("regexp", 9.0)
        assert (request.display, request.max_line_len) == (5, 80)
        assert (request.chunk_matches, request.context_lines) == (True, 3)
        assert (request.query, request.version) == ("foo", "V3")


@pytest.mark.parametrize("keywords", [{"limit": -1}, {"context_lines": -1}, {"max_line_bytes": 0}])
def test_a_limit_below_its_range_is_named(keywords: dict[str, Any]) -> None:
    (name,) = keywords
    with pytest.raises(ValueError, match=f"{name} must be"):
        Client(ScriptedBackend(COMPLETE)).search("foo", **keywords)


def test_export_writes_without_keeping(tmp_path: Path) -> None:
    client = Client(ScriptedBackend(LIMITED))
    export = client.export("foo", tmp_path / "x.parquet")
    assert (export.rows, export.matches, export.status) == (10, 10, "limited")
    assert export.path == str(tmp_path / "x.parquet")
    assert client.last == export
    assert pq.read_metadata(export.path).metadata[b"sourcelight.status"] == b"limited"


def test_export_keeps_what_a_broken_search_had(tmp_path: Path) -> None:
    client = Client(ScriptedBackend(FAILED))
    with pytest.raises(SearchFailed):
        client.export("foo", tmp_path / "x.csv")
    assert client.last is not None
    assert client.last.path == str(tmp_path / "x.partial.csv")
    assert [p.name for p in tmp_path.iterdir()] == ["x.partial.csv"]


def test_export_leaves_nothing_of_a_search_that_never_began(tmp_path: Path) -> None:
    client = Client(ScriptedBackend(COMPLETE))
    with pytest.raises(QueryError):
        client.export("", tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_fails_the_search(tmp_path: Path) -> None:
    class Full:
        def write(self, _data: bytes) -> int:
            raise OSError(28, "No space left on device")

        def writelines(self, _data: Any) -> None:
            raise OSError(28, "No space left on device")

    backend = ScriptedBackend(COMPLETE)
    client = Client(backend)
    target: Any = Full()
    with pytest.raises(OSError, match="No space left"):
        client.export("foo", target, format="jsonl")
    assert backend.closed.wait(5)
    assert list(tmp_path.iterdir()) == []


def test_count_adds_up_the_stream_of_everything() -> None:
    backend = ScriptedBackend(COMPLETE)
    client = Client(backend)
    assert client.count("foo") == 20
    frame = client.count_by("foo", by=["repository", "path"])
    assert frame.to_dict("list") == {
        "repository": ["r1", "r1"],
        "path": ["f0.go", "f1.go"],
        "matches": [10, 10],
        "files": [1, 1],
    }
    assert client.count_by("foo", "language")["matches"].tolist() == [20]
    assert frame.attrs["status"] == "complete"
    assert {r.query for r in backend.requests} == {"count:all foo"}
    client.count("foo count:5")
    assert backend.requests[-1].query == "foo count:5"


def test_count_takes_the_counts_of_a_backend_that_has_them() -> None:
    counts = pa.table({"language": ["C", "Go"], "matches": [2, 5], "files": [1, 1]})
    client = Client(ScriptedBackend([], counts))
    assert client.count("foo") == 7
    assert client.count_by("foo", "language")["language"].tolist() == ["Go", "C"]


def test_an_incomplete_count_warns() -> None:
    with pytest.warns(IncompleteCountWarning, match="shard-match-limit") as caught:
        assert Client(ScriptedBackend(LIMITED)).count("foo") == 10
    assert caught[0].filename == __file__
    with pytest.warns(IncompleteCountWarning):
        assert run(AsyncClient(ScriptedBackend(LIMITED)).count("foo")) == 10


def test_count_names_the_columns_it_can_group_by() -> None:
    with pytest.raises(ValueError, match=r"nope; choose from .*repository"):
        Client(ScriptedBackend(COMPLETE)).count_by("foo", ["nope"])


def test_closing_and_names() -> None:
    backend = ScriptedBackend(COMPLETE)
    with Client(backend) as client:
        assert repr(client) == "Client(scripted)"
        assert client.backend is backend
        assert client.last is None
        with pytest.raises(AttributeError, match=r"use list_repos\(\)"):
            client.repositories  # type: ignore[attr-defined]  # noqa: B018 - its former name
    assert backend.down


def test_both_clients_have_the_same_methods() -> None:
    names = {"close": "aclose", "__enter__": "__aenter__", "__exit__": "__aexit__"}
    blocking = {n: getattr(Client, n) for n in dir(Client) if not n.startswith("_")}
    awaited = {n: getattr(AsyncClient, n) for n in dir(AsyncClient) if not n.startswith("_")}
    assert {names.get(n, n) for n in blocking} == set(awaited)
    for name, method in blocking.items():
        twin = awaited[names.get(name, name)]
        assert method.__doc__ == twin.__doc__, name
        assert method.__doc__
        if not isinstance(method, property):
            assert _parameters(method) == _parameters(twin), name
            assert not inspect.iscoroutinefunction(method), name
    assert Client.__init__.__doc__ == AsyncClient.__init__.__doc__


def test_searches_have_the_same_keywords() -> None:
    expected = _keywords(Client.search)
    assert list(expected) == [
        "pattern_type", "limit", "context_lines", "max_line_bytes", "timeout_s", "exhaustive", "progress"
    ]  # fmt: skip
    methods = (Client.stream, Client.explore, Client.export, Client.search_many)
    for method in methods:
        keywords = _keywords(method) | {"progress": None}  # `stream` draws nothing unless asked, an explorer always
        assert {name: keywords[name] for name in expected} == expected, method.__name__
    extra_keywords = {"format", "spreadsheet", "concurrency"}
    assert {name for method in methods for name in _keywords(method)} - set(expected) == extra_keywords


def _keywords(method: Any) -> dict[str, Any]:
    parameters = inspect.signature(method).parameters.values()
    return {p.name: p.default for p in parameters if p.kind is inspect.Parameter.KEYWORD_ONLY}


def _parameters(method: Any) -> list[tuple[str, Any, Any]]:
    return [(p.name, p.kind, p.default) for p in inspect.signature(method).parameters.values()]
