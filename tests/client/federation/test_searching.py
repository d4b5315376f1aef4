"""Several services searched as one: what each gave, what became of it, and what happens when one does not answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from client.scripted import ScriptedBackend, Step, progress, run
from display.batches_for_tests import lines
from sourcelight.client.federation.factory import make_backend
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo, ServiceStatuses
from sourcelight.core.errors import ConnectFailed, QueryError, SearchFailed, StreamBroken, Unauthorized
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Filters, Skipped, SuggestedFilter
from sourcelight.core.wire.request import SearchRequest

BOUND_S = 20.0
SHORT_S = 0.2


def match_batch(repository: str, path: str = "f.go", rows: int = 2) -> MatchBatch:
    batch = lines(repository, path, [(number + 1, f"x {number}", [(0, 1)]) for number in range(rows)])
    return MatchBatch(batch, (RepositoryInfo(repository, 7, url=f"https://github.com/{repository}"),))


def last_steps(*skipped: Skipped, matches: int = 0) -> list[Step]:
    return [progress(*skipped, matches=matches), Done()]


class Late(ScriptedBackend):
    """Begins when another backend's stream is closed."""

    def __init__(self, script: Sequence[Step], after: ScriptedBackend) -> None:
        super().__init__(script)
        self._after = after

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        assert await asyncio.to_thread(self._after.closed.wait, BOUND_S)
        async for event in super().stream(request):
            yield event


def backend(script: Sequence[Step], *, local: bool = False, name: str = "https://one.example") -> ScriptedBackend:
    scripted_backend = ScriptedBackend(script)
    scripted_backend.local, scripted_backend.name = local, name
    return scripted_backend


def federation(idle_timeout_s: float = BOUND_S, /, **services: ScriptedBackend) -> sl.Client:
    return sl.federate({name: sl.Client(item) for name, item in services.items()}, idle_timeout_s=idle_timeout_s)


def statuses(result: sl.SearchResult) -> dict[str, str]:
    frame = result.services
    return dict(zip(frame["service"], frame["status"], strict=True))


def test_rows_of_all_services_stand_in_one_table() -> None:
    code = federation(
        a=backend([match_batch("r1"), *last_steps(matches=2)]),
        b=backend([match_batch("r2", rows=3), *last_steps(matches=3)]),
    )
    result = code.search("x count:all")
    assert list(result.matches.columns[:3]) == ["service", "type", "repository"]
    assert list(zip(result.matches["service"], result.matches["repository"], strict=True)) == [
        *[("a", "r1")] * 2,
        *[("b", "r2")] * 3,
    ]
    assert (result.status, result.match_count) == ("complete", 5)
    assert result.progress["match_count"].iloc[-1] == 5
    frame = result.services
    assert list(frame["rows"]) == [2, 3]
    assert list(frame["endpoint"]) == ["https://one.example"] * 2
    assert (frame["elapsed_s"] >= 0).all()
    assert sorted(result.repositories["repository"]) == ["r1", "r2"]


def test_of_rows_that_two_give_the_first_services_stay_however_late_it_is() -> None:
    fast = backend([match_batch("r1"), match_batch("r2"), *last_steps(matches=4)])
    code = federation(a=Late([match_batch("r1"), *last_steps(matches=2)], fast), b=fast)
    result = code.search("x count:all")
    assert list(result.matches["service"]) == ["a", "a", "b", "b"]
    assert list(result.services["duplicates"]) == [0, 2]
    assert (result.match_count, result.progress["match_count"].iloc[-1]) == (4, 4)
    assert code.count("x") == 4
    assert "2 duplicates of another service" in repr(result)


def test_one_service_that_fails_costs_its_own_rows_only() -> None:
    broken = backend([match_batch("r2"), StreamBroken("the line went dead")], name="https://two.example")
    result = federation(a=backend([match_batch("r1"), *last_steps(matches=2)]), b=broken).search("x")
    assert result.status == "limited"
    assert set(result.matches["repository"]) == {"r1", "r2"}, "what it had sent is kept"
    row = result.skipped.set_index("reason").loc["service-failed"]
    assert row["title"] == "b: the line went dead"
    assert statuses(result) == {"a": "complete", "b": "failed"}
    assert result.services["error"].iloc[1] == "the line went dead"
    assert result.matches.attrs["status"] == "limited"
    with pytest.warns(sl.IncompleteCountWarning, match="b: gone"):
        assert (
            federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([ConnectFailed("gone")])).count("x")
            == 2
        )


def test_a_service_that_says_that_it_failed_has_failed() -> None:
    messages: list[Step] = [Alert("it broke", "badly", "error"), ErrorEvent("it broke"), *last_steps()]
    result = federation(a=backend([match_batch("r1"), *last_steps()]), b=backend(messages)).search("x")
    assert (result.status, len(result)) == ("limited", 2)
    assert "b: it broke: badly" in set(result.skipped["title"])
    assert not len(result.alerts)


def test_when_all_fail_the_first_fault_is_raised_with_the_others() -> None:
    denied = Unauthorized("the service wants a token", status=401)
    code = federation(a=backend([denied]), b=backend([match_batch("r2"), ConnectFailed("no route")]))
    with pytest.raises(Unauthorized, match="wants a token") as caught:
        code.search("x")
    assert caught.value.__notes__ == ["b: no route"]
    assert code.last is not None
    assert statuses(code.last) == {"a": "failed", "b": "failed"}
    assert len(code.last) == 2
    with pytest.raises(QueryError, match="bad"):
        federation(a=backend([QueryError("bad")]), b=backend([QueryError("bad")])).search("x")
    with pytest.raises(SearchFailed):
        federation(a=backend([ErrorEvent("down"), *last_steps()])).search("x")


def test_a_silent_service_is_given_up() -> None:
    local = backend([match_batch("r1"), *last_steps()], local=True)
    remote = backend([match_batch("r2"), "wait"])
    result = federation(SHORT_S, a=local, b=remote).search("x")
    assert result.status == "limited"
    assert set(result.matches["repository"]) >= {"r1"}
    assert set(result.skipped["reason"]) == {"service-timeout"}
    assert result.skipped["title"].iloc[0] == "b: it sent nothing for 0.2 s"
    assert remote.closed.wait(BOUND_S)


def test_a_service_in_this_process_is_waited_for() -> None:
    fast = backend([match_batch("r2"), *last_steps()], local=True)
    slow = Late([match_batch("r1"), *last_steps()], fast)
    slow.local = True
    assert federation(1e-9, a=slow, b=fast).search("x").status == "complete"


def test_cancelling_stops_all_services_and_leaves_no_task() -> None:
    async def work() -> sl.AsyncClient:
        first, second = backend([match_batch("r1"), "wait"]), backend([match_batch("r2"), "wait"])
        code = await sl.afederate([sl.AsyncClient(item) for item in (first, second)])
        before = asyncio.all_tasks()
        search = asyncio.create_task(code.search("x", progress=False))
        for item in (first, second):
            assert await asyncio.to_thread(item.waiting.wait, BOUND_S)
        async with asyncio.timeout(BOUND_S):
            while code.last is None or len(code.last) < 4:  # noqa: ASYNC110 - a queue has no event
                await asyncio.sleep(0.001)
        search.cancel()
        with pytest.raises(asyncio.CancelledError):
            await search
        assert first.closed.is_set()
        assert second.closed.is_set()
        assert asyncio.all_tasks() == before
        return code

    code = run(work())
    assert code.last is not None
    assert (code.last.status, len(code.last)) == ("interrupted", 4)
    assert statuses(code.last) == {"one.example": "interrupted", "one.example 2": "interrupted"}


def test_leaving_a_stream_stops_all_services() -> None:
    first, second = backend([match_batch("r1"), "wait"]), backend([match_batch("r2"), "wait"])
    for event in federation(a=first, b=second).stream("x"):
        if isinstance(event, MatchBatch):
            assert event.batch.column("service").to_pylist()[0] in {"a", "b"}
            break
    assert first.closed.wait(BOUND_S)
    assert second.closed.wait(BOUND_S)


def test_a_stream_tells_how_far_each_service_is() -> None:
    code = federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([ConnectFailed("gone")]))
    events = list(code.stream("x"))
    last = [event for event in events if isinstance(event, ServiceStatuses)][-1]
    assert [(service.name, service.status, service.rows) for service in last.services] == [
        ("a", "complete", 2),
        ("b", "failed", 0),
    ]
    assert isinstance(events[-1], Done)


@pytest.mark.parametrize("query", ["x count:3", "x (count:3)"])
def test_a_limit_is_of_the_merged_answer(query: str) -> None:
    code = federation(
        a=backend([match_batch("r1"), *last_steps()]), b=backend([match_batch("r2", rows=9), *last_steps()])
    )
    result = code.search(query)
    assert (result.match_count, len(result), result.status) == (3, 3, "partial")
    assert result.reasons == ("first 3 matches, limited by count:",)
    assert list(result.matches["service"]) == ["a", "a", "b"]
    assert list(result.services["rows"]) == [2, 1]
    assert sum(e.batch.num_rows for e in code.stream(query) if isinstance(e, MatchBatch)) == 3


def test_display_cuts_rows_and_not_the_count() -> None:
    first, second = (backend([match_batch("r1", rows=4), *last_steps(matches=4)]) for _ in range(2))
    result = federation(a=first, b=second).search("x", limit=3)
    assert (len(result), result.progress["match_count"].iloc[-1]) == (3, 4)
    assert list(result.skipped["reason"]) == ["display"]
    assert first.requests[0].display == -1, "what services have in common can be told of all rows only"


def test_a_repository_at_two_commits_is_given_twice_and_said() -> None:
    import pyarrow as pa

    newer = match_batch("r1")
    column = pa.array(["d" * 40] * 2).dictionary_encode()
    batch = newer.batch.set_column(newer.batch.schema.get_field_index("commit"), "commit", column)
    code = federation(
        a=backend([match_batch("r1"), *last_steps()]), b=backend([MatchBatch(batch, newer.repositories), *last_steps()])
    )
    result = code.search("x")
    assert (len(result), result.status) == (4, "complete")
    assert result.alerts["title"].iloc[0] == "1 repository at different commits"
    assert "cccccccccc at a, dddddddddd at b" in result.alerts["description"].iloc[0]


def test_what_services_say_is_added_up_and_bears_their_names() -> None:
    fork = Skipped("repository-fork", "1 forked")
    nothing = Alert("No repositories found", "none", "warning")
    filters = Filters(
        (SuggestedFilter("lang:go", "Go", 2, True, "lang"), SuggestedFilter("type:file", "Code", 2, True, "type"))
    )
    first = backend([match_batch("r1"), filters, progress(fork, matches=2), Done()])
    second = backend([match_batch("r2"), filters, progress(fork), Alert("odd", "very", "info"), Done()])
    empty = backend([progress(), nothing, Done()])
    result = federation(a=first, b=second, c=empty).search("x")
    assert list(result.skipped["title"]) == ["1 forked repository (service a)", "1 forked repository (service b)"]
    assert "skipped 1 forked repository (service a)" in str(result)
    assert list(zip(result.filters["kind"], result.filters["count"], strict=True)) == [("type", 4), ("lang", 4)]
    assert result.filters["exhaustive"].all()
    assert list(result.alerts["title"]) == ["b: odd"], "that one has nothing is no news"
    assert result.status == "complete"
    empty_result = federation(a=empty, b=backend([progress(), nothing, Done()])).search("x")
    assert list(empty_result.alerts["title"]) == ["No repositories found"]


def test_the_display_has_the_status_of_each_service() -> None:
    code = federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([ConnectFailed("<b>no route</b>")]))
    bundle = code.search("x")._repr_mimebundle_()
    assert "service a: complete, 2 rows" in bundle["text/plain"]
    assert "service b: failed, 0 rows (<b>no route</b>)" in bundle["text/plain"]
    html = bundle["text/html"]
    listing = html[html.index('aria-label="Services"') :]
    assert ">complete</b> a, 2 rows" in listing
    assert ">failed</b> b, 0 rows (&lt;b&gt;no route&lt;/b&gt;)" in listing
    assert '<th scope="col">service</th>' in html
    assert (
        "Services"
        not in sl.Client(backend([match_batch("r1"), *last_steps()])).search("x")._repr_mimebundle_()["text/html"]
    )


def test_progress_says_how_many_services_have_ended() -> None:
    seen: list[Any] = []
    federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([ConnectFailed("gone")])).search(
        "x", progress=seen.append
    )
    assert dict(seen[-1].fields).keys() >= {"services"}
    assert ("services", "2 of 2") in seen[-1].fields


def test_other_ways_to_search_say_the_service_too(tmp_path: Path) -> None:
    def code() -> sl.Client:
        return federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([match_batch("r2"), *last_steps()]))

    many = code().search_many({"x": "x", "y": "y"})
    assert list(many.matches.columns[:2]) == ["name", "service"]
    assert list(many.services["rows"]) == [4, 4]
    assert list(code().search("x").matches["service"]) == ["a", "a", "b", "b"]
    for ending in ("jsonl", "csv", "parquet"):
        path = tmp_path / f"rows.{ending}"
        assert code().export("x", path).rows == 4
        many.to_jsonl(tmp_path / "many.jsonl")
        code().search("x").to_csv(tmp_path / "again.csv")
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert sorted(row["service"] for row in rows) == ["a", "a", "b", "b"]
    assert next(iter(rows[0])) == "service"
    assert (tmp_path / "rows.csv").read_text().startswith('"service"')
    counts = code().count_by("x", by=["service", "repository"])
    assert {tuple(row) for row in counts.to_numpy().tolist()} == {("a", "r1", 2, 1), ("b", "r2", 2, 1)}
    with pytest.raises(ValueError, match="can't count by service"):
        sl.Client(backend([*last_steps()])).count_by("x", by="service")


def test_an_explorer_takes_rows_of_all_services() -> None:
    code = federation(a=backend([match_batch("r1"), *last_steps()]), b=backend([match_batch("r2"), *last_steps()]))
    result = code.search("x").explore()
    assert "service a" in repr(result)


def test_everything_is_asked_of_each_service_on_its_own() -> None:
    cap = Skipped("shard-match-limit", "result limit hit")
    local, remote = (
        backend([match_batch("r1"), *last_steps()], local=True),
        backend([match_batch("r2"), *last_steps(cap)]),
    )
    result = federation(a=local, b=remote).search("x", exhaustive=True)
    assert set(result.matches["repository"]) == {"r1", "r2"}
    assert len(local.requests) == 1
    assert len(remote.requests) > 1, "a capped one is asked again in parts"
    assert all("count:all" in request.query for request in (*local.requests, *remote.requests))
    assert statuses(result)["a"] == "complete"
    with pytest.raises(QueryError, match="exhaustive"):
        federation(a=local, b=remote).search("x count:3", exhaustive=True)


def test_progress_sums_the_newest_parts_of_each_service() -> None:
    services = {name: backend([match_batch(f"r-{name}"), *last_steps()]) for name in "abc"}
    reports: list[Any] = []
    federation(**services).search("x", exhaustive=True, progress=reports.append)
    assert dict(reports[-1].fields)["parts"] == "3 of 3"
    assert reports[-1].done == 6


def test_progress_counts_the_parts_of_a_split_search_once() -> None:
    cap = Skipped("shard-match-limit", "result limit hit")
    capped, uncapped = backend([match_batch("r1"), *last_steps(cap)]), backend([match_batch("r2"), *last_steps()])
    reports: list[Any] = []
    federation(a=capped, b=uncapped).search("x", exhaustive=True, progress=reports.append)
    requests = len(capped.requests) + len(uncapped.requests)
    assert requests > 2
    assert dict(reports[-1].fields)["parts"] == f"{requests} of {requests}"


def test_one_service_has_a_status_too() -> None:
    frame = sl.Client(backend([match_batch("r1"), *last_steps()])).search("x").services
    assert frame.iloc[0][["endpoint", "status", "rows"]].to_list() == ["https://one.example", "complete", 2]


def test_rows_open_at_the_service_that_they_are_of() -> None:
    code = federation(
        a=backend([match_batch("r1"), *last_steps()]),
        b=backend([match_batch("r2"), *last_steps()], name="https://two.example"),
    )
    links = code.search("x count:all").links
    assert links.of({"service": "b", "repository": "r2", "path": "f.go"})[0].href.startswith("https://two.example/r2")
    assert links.of({"service": "a", "repository": "r1", "path": "f.go"})[0].href.startswith("https://one.example/r1")


def test_what_can_not_be_federated_is_refused() -> None:
    client = sl.Client(backend([]))
    for wrong, message in (
        ([], "needs a service"),
        ([client, client], "occurs twice"),
        ({"a,b": client}, "valid as a service name"),
        ({" ": client}, "valid as a service name"),
        ([sl.federate([client])], "can't contain another"),
    ):
        with pytest.raises(sl.ConfigurationError, match=message):
            sl.federate(wrong)
    wrong_services: tuple[Any, ...] = ("https://host", [client, 7], [sl.AsyncClient(backend([]))])
    for other in wrong_services:
        with pytest.raises((sl.InvalidArgument, sl.ConfigurationError), match=r"services must be|is not a service"):
            sl.federate(other)


def test_a_name_that_is_refused_connects_to_no_service() -> None:
    connected: list[str] = []

    def connect(address: str, **_: object) -> sl.Client:
        connected.append(address)
        return sl.Client(backend([]))

    services = {"good": "https://one.example", "a,b": "https://two.example"}
    with pytest.raises(sl.ConfigurationError, match="valid as a service name"):
        make_backend(services, sl.Client, connect, close=lambda _: None, idle_timeout_s=None)
    assert connected == []


def test_a_frame_knows_the_federation_that_it_is_of() -> None:
    code = federation(
        left=backend([match_batch("r1"), *last_steps()]), right=backend([match_batch("r2"), *last_steps()])
    )
    rows = code.search("x").matches
    assert rows.attrs["endpoint"] == "federation of left, right"
    code.close()
    with pytest.raises(sl.ClientNotFound, match=r"sourcelight\.federate\(…\)"):
        rows.code.context()


def test_closing_leaves_clients_open_that_were_passed_in() -> None:
    local_backend = backend([match_batch("r1"), *last_steps()])
    with sl.federate([sl.Client(local_backend), "https://unasked.example"]) as code:
        assert repr(code) == "Client(federation of one.example, unasked.example)"
        assert list(code.services) == ["one.example", "unasked.example"]
    assert not local_backend.down
