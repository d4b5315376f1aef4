"""The service over real sockets, with a scripted engine where time and faults must be exact."""

import gzip
import json
import re
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from core.wire.strict_decoder import read_strictly
from server.running_service import BOUND_S, TOKEN, ScriptedEngine, Serve, Service
from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError, UnsupportedQuery
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, SuggestedFilter
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer
from sourcelight.server.http.pacing import Cadence
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.stream import StreamLimits

PATH = "/.api/search/stream"
Script = Callable[[SearchRequest, Viewer, Cancellation], Iterator[Event]]


def _quiet(_: SearchRequest, __: Viewer, ___: Cancellation) -> Iterator[Event]:
    yield Progress(done=False, match_count=0, duration_ms=1)
    yield Filters((SuggestedFilter("fork:yes", "Include forked repos", 1, exhaustive=True, kind="utility"),))
    yield Progress(done=True, match_count=0, duration_ms=2)
    yield Done()


def _endless(_: SearchRequest, __: Viewer, cancellation: Cancellation) -> Iterator[Event]:
    yield Progress(done=False, match_count=3, duration_ms=1)
    _wait_until_cancelled(cancellation)


def _wait_until_cancelled(cancellation: Cancellation) -> None:
    bound = Cancellation(BOUND_S)
    while not (cancellation.stopped or bound.expired):
        threading.Event().wait(0.01)
    cancellation.check()


def _raising(error: Exception, *events: Event) -> Script:
    def script(_: SearchRequest, __: Viewer, ___: Cancellation) -> Iterator[Event]:
        yield from events
        raise error

    return script


def _names(events: list[tuple[str, Any]]) -> list[str]:
    return [name for name, _ in events]


def test_a_search_has_the_headers_and_the_order_of_the_protocol(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    answer = service.search()
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    assert answer.headers["cache-control"] == "no-cache"
    assert answer.headers["connection"] == "keep-alive"
    assert answer.headers["x-accel-buffering"] == "no"
    assert answer.headers["transfer-encoding"] == "chunked"
    assert {word.strip() for word in answer.headers["vary"].split(",")} == {"Authorization", "Accept-Encoding"}
    assert "content-encoding" not in answer.headers
    assert "x-trace" not in answer.headers
    assert "server" not in answer.headers
    names = _names(read_strictly(answer.content))
    assert names[-2:] == ["progress", "done"]
    assert "filters" in names
    assert answer.content.endswith(b"event: done\ndata: {}\n\n")


def test_every_parameter_reaches_the_engine(serve: Serve) -> None:
    engine = ScriptedEngine(_quiet)
    service = serve(engine)
    service.client.get(
        f"{PATH}?q=a+b%3C&q=later&v=V3&t=regexp&display=7&cm=t&cl=4&max-line-len=90&sm=1&feat=x&feat=-y"
        "&zoekt-search-opts={&patternType=&unknown=1&token=ignored"
    )
    assert engine.requests == [
        SearchRequest(
            "a b<",
            pattern_type="regexp",
            version="V3",
            display=7,
            chunk_matches=True,
            context_lines=4,
            max_line_len=90,
            diff_previews=True,
        )
    ]
    assert engine.viewers == [Viewer.owner()]


@pytest.mark.parametrize(
    "query",
    ["", "q=", "q=x&display=many", "q=x&cm=yes", "q=x&cl=some", "q=x&cl=-1", "q=x&max-line-len=1.5", "q=x&t=regex",
     "q=x&v=V9", "q=x&sm=smart"],
)  # fmt: skip
def test_a_bad_parameter_is_told_in_the_stream(serve: Serve, query: str) -> None:
    engine = ScriptedEngine(_quiet)
    answer = serve(engine).client.get(f"{PATH}?{query}")
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "text/event-stream"
    events = read_strictly(answer.content)
    assert _names(events) == ["alert", "done"]
    assert events[0][1]["kind"] == "error"
    assert events[0][1]["description"]
    assert engine.requests == []


@pytest.mark.parametrize(("value", "lines"), [("true", 1), ("1", 1), ("false", 0), ("0", 0), ("f", 0), ("2", 2)])
def test_context_is_a_number_of_lines_or_a_boolean(serve: Serve, value: str, lines: int) -> None:
    engine = ScriptedEngine(_quiet)
    serve(engine).search(cm="true", cl=value)
    assert [request.context_lines for request in engine.requests] == [lines]


@pytest.mark.parametrize(
    ("error", "description"),
    [
        (QueryError('unknown language: "x"'), 'Unknown language: "x"'),
        (
            QueryError("expected operand at 4", stage="parse"),
            "I'm having trouble understanding that query. Putting parentheses around the search pattern may help.",
        ),
        (UnsupportedQuery("type:diff is not supported yet: leave it out", hint="leave it out"),
         "type:diff is not supported yet: leave it out"),
    ],
)  # fmt: skip
def test_a_query_at_fault_is_an_alert_and_done(serve: Serve, error: QueryError, description: str) -> None:
    events = read_strictly(serve(ScriptedEngine(_raising(error))).search().content)
    assert _names(events) == ["alert", "done"]
    assert events[0][1] == {
        "title": "Unable To Process Query", "description": description, "kind": "error", "proposedQueries": None,
    }  # fmt: skip


def test_a_crash_of_the_engine_shows_an_id_that_the_log_has(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    crash = RuntimeError("secret path /home/x")
    engine = ScriptedEngine(_raising(crash, Progress(done=False, match_count=2, duration_ms=1)))
    answer = serve(engine).search()
    events = read_strictly(answer.content)
    assert _names(events)[-3:] == ["progress", "alert", "done"]
    final, alert, _ = (value for _, value in events[-3:])
    assert (final["done"], final["matchCount"]) == (True, 2)
    assert alert["kind"] == "error"
    assert b"secret" not in answer.content
    fault_id = re.search(r"id ([0-9a-f]{12})", alert["description"])
    assert fault_id is not None
    assert fault_id[1] in caplog.text
    assert "secret path" in caplog.text


def test_a_generator_that_ends_without_done_is_ended_for_its_reader(serve: Serve) -> None:
    def script(*_: Any) -> Iterator[Event]:
        yield Progress(done=False, match_count=1, duration_ms=1)

    events = read_strictly(serve(ScriptedEngine(script)).search().content)
    assert _names(events)[-3:] == ["progress", "alert", "done"]


def test_nothing_after_done_is_sent(serve: Serve) -> None:
    def script(*_: Any) -> Iterator[Event]:
        yield Progress(done=True, match_count=1, duration_ms=1)
        yield Done()
        yield Alert("late")

    assert b"late" not in serve(ScriptedEngine(script)).search().content


def test_the_heart_beats_while_the_engine_is_silent(serve: Serve) -> None:
    released = threading.Event()

    def script(*_: Any) -> Iterator[Event]:
        released.wait(BOUND_S)
        yield Progress(done=True, match_count=0, duration_ms=1)
        yield Done()

    service = serve(ScriptedEngine(script), cadence=Cadence(heartbeat_s=0.05))
    beats = []
    with service.client.stream("GET", PATH, params={"q": "x"}) as answer:
        for line in answer.iter_lines():
            if line.startswith("data: ") and '"durationMs"' in line:
                beats.append(json.loads(line[6:]))
                if len(beats) == 3:
                    released.set()
    assert len(beats) >= 4  # more where it takes long until the engine is heard
    assert [beat["done"] for beat in beats] == [False] * (len(beats) - 1) + [True]
    assert beats[0]["durationMs"] < beats[2]["durationMs"]
    assert all(beat["skipped"] == [] for beat in beats)


def test_the_default_heart_beats_every_five_seconds() -> None:
    assert Cadence().heartbeat_s == 5.0
    assert 0.1 <= Cadence().tick_s <= 0.2


def test_gzip_is_flushed_with_each_event(serve: Serve) -> None:
    go_on = threading.Event()

    def script(*_: Any) -> Iterator[Event]:
        yield Filters((SuggestedFilter("lang:go", "Go", 1, exhaustive=False, kind="lang"),))
        assert go_on.wait(BOUND_S)
        yield Progress(done=True, match_count=0, duration_ms=1)
        yield Done()

    service = serve(ScriptedEngine(script))
    unpack = zlib.decompressobj(31)
    early = text = b""
    with service.client.stream("GET", PATH, params={"q": "x"}, headers={"Accept-Encoding": "gzip"}) as answer:
        assert answer.headers["content-encoding"] == "gzip"
        for portion in answer.iter_raw():
            text += unpack.decompress(portion)
            if text.endswith(b"\n\n") and not go_on.is_set():
                early = text
                go_on.set()
    assert early.startswith(b"event: filters\n")
    assert unpack.eof
    assert _names(read_strictly(text)) == ["filters", "progress", "done"]


@pytest.mark.parametrize(
    ("header", "zipped"),
    [("gzip", True), ("deflate, GZIP;q=0.5", True), ("*", True), ("gzip;q=0", False), ("gzip;q=0, *", False),
     ("identity", False), ("", False), ("gzip;q=x", False), ("x-gzip", False)],
)  # fmt: skip
def test_gzip_is_used_only_where_it_is_accepted(serve: Serve, header: str, *, zipped: bool) -> None:
    service = serve(ScriptedEngine(_quiet))
    with service.client.stream("GET", PATH, params={"q": "x"}, headers={"Accept-Encoding": header}) as answer:
        raw = b"".join(answer.iter_raw())
    assert ("content-encoding" in answer.headers) is zipped
    assert (gzip.decompress(raw) if zipped else raw).endswith(b"event: done\ndata: {}\n\n")


def test_a_client_that_goes_away_stops_the_search_and_frees_its_thread(serve: Serve) -> None:
    engine = ScriptedEngine(_endless)
    service = serve(engine)
    with service.client.stream("GET", PATH, params={"q": "x"}) as answer:
        portions = answer.iter_raw()  # held: dropped, it would hang up
        assert next(portions)
        assert not engine.released.is_set()
    assert engine.released.wait(3)  # 0.3 s on an idle machine
    _eventually(lambda: service.app.state.search.running == 0)
    # The thread ends after its search was counted as ended.
    _eventually(lambda: not [thread for thread in threading.enumerate() if thread.name == "sourcelight-search"])


def test_a_reader_that_takes_nothing_makes_the_engine_wait_and_is_dropped_in_the_end(
    serve: Serve, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", logger="sourcelight.access")
    produced = 0

    def script(_: SearchRequest, __: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        nonlocal produced
        filters = Filters((SuggestedFilter("f", "x" * 1_000_000, 1, exhaustive=False, kind="file"),))
        while not cancellation.stopped:
            produced += 1
            yield filters
            yield Alert("a" * 100_000)

    engine = ScriptedEngine(script)
    service = serve(engine, limits=StreamLimits(unread_s=0.5))
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), BOUND_S) as connection:
        request = f"GET {PATH}?q=x HTTP/1.1\r\nHost: {host}\r\nAuthorization: token {TOKEN}\r\n\r\n"
        connection.sendall(request.encode())
        assert engine.released.wait(BOUND_S)
    assert produced < 30_000
    _eventually(lambda: len(_lines(caplog)) == 1)
    assert _lines(caplog)[0]["outcome"] in {"stalled", "disconnected"}
    assert "Traceback" not in caplog.text


def test_a_stopping_service_gives_each_stream_its_done(serve: Serve) -> None:
    engine = ScriptedEngine(_endless)
    service = serve(engine)
    with service.client.stream("GET", PATH, params={"q": "x"}) as answer:
        text = b""
        for portion in answer.iter_raw():
            text += portion
            service.stop()
    events = read_strictly(text)
    assert _names(events)[-3:] == ["progress", "alert", "done"]
    assert "stopping" in events[-2][1]["description"]
    service.thread.join(BOUND_S)
    assert not service.thread.is_alive()


def test_a_stopping_service_does_not_wait_for_an_engine_that_hangs(serve: Serve) -> None:
    let_go = threading.Event()

    def script(*_: Any) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        let_go.wait(BOUND_S)

    service = serve(ScriptedEngine(script), limits=StreamLimits(stop_grace_s=0.1))
    try:
        with service.client.stream("GET", PATH, params={"q": "x"}) as answer:
            text = b""
            for portion in answer.iter_raw():
                text += portion
                service.stop()
        assert _names(read_strictly(text))[-1] == "done"
        service.thread.join(BOUND_S)
        assert not service.thread.is_alive()
    finally:
        let_go.set()


def test_one_search_too_many_is_told_to_come_back(serve: Serve) -> None:
    service = serve(ScriptedEngine(_endless), limits=StreamLimits(searches=1, queue_s=0.2))
    with service.client.stream("GET", PATH, params={"q": "x"}) as answer:
        portions = answer.iter_raw()  # held: dropped, it would hang up
        assert next(portions)
        refused = service.search()
        assert refused.status_code == 429
        assert refused.headers["retry-after"] == "1"
    _eventually(lambda: service.app.state.search.running == 0)


@pytest.mark.parametrize(
    ("public", "header", "status", "text"),
    [
        (False, None, 401, "Private mode requires authentication.\n"),
        (False, "Digest x", 401, "Private mode requires authentication.\n"),
        (False, "token wrong", 401, "Invalid access token.\n"),
        (False, "Bearer wrong", 401, "Invalid access token.\n"),
        (False, "token", 401, "Invalid Authorization header.\n"),
        (False, 'token-sudo user="a",token="b"', 403, None),
        (False, f"token {TOKEN}", 200, "owner"),
        (False, f"Bearer {TOKEN}", 200, "owner"),
        (True, None, 200, ""),
        (True, f"token {TOKEN}", 200, "owner"),
        (True, "token wrong", 401, "Invalid access token.\n"),
    ],
)
def test_credentials(serve: Serve, header: str | None, status: int, text: str | None, *, public: bool) -> None:
    engine = ScriptedEngine(_quiet)
    service = serve(engine, Settings(auth_public=public))
    del service.client.headers["Authorization"]
    answer = service.client.get(f"{PATH}?q=x", headers={"Authorization": header} if header else {})
    assert answer.status_code == status
    if status == 200:
        assert [viewer.name for viewer in engine.viewers] == [text]
        return
    assert engine.viewers == []
    assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert text is None or answer.text == text


def test_a_token_in_the_address_is_no_credential(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    del service.client.headers["Authorization"]
    assert service.client.get(f"{PATH}?q=x&token={TOKEN}").status_code == 401


@pytest.mark.parametrize(
    ("host", "status"),
    [("localhost", 200), ("LOCALHOST:9999", 200), ("127.0.0.1:1", 200), ("[::1]:80", 200), ("evil.example", 421),
     ("127.0.0.1.evil.example", 421), ("10.0.0.1", 421), ("localhost@evil", 400), ("", 400), ("localhost:x", 400),
     ("code.example.com", 200)],
)  # fmt: skip
def test_only_names_of_this_service_are_answered(serve: Serve, host: str, status: int) -> None:
    service = serve(ScriptedEngine(_quiet), Settings(external_url="https://code.example.com:8443/x"))
    assert service.client.get("/healthz", headers={"Host": host}).status_code == status


def test_a_service_on_all_addresses_answers_for_any_address_but_no_foreign_name(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet), bind_host="::")
    assert service.client.get("/healthz", headers={"Host": "10.1.2.3:80"}).status_code == 200
    assert service.client.get("/healthz", headers={"Host": "evil.example"}).status_code == 421


@pytest.mark.parametrize("method", ["POST", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_other_methods_are_refused(serve: Serve, method: str) -> None:
    answer = serve(ScriptedEngine(_quiet)).client.request(method, f"{PATH}?q=x")
    assert (answer.status_code, answer.content) == (405, b"")
    assert answer.headers["allow"] == "GET"


def test_unknown_paths_and_final_slashes(serve: Serve) -> None:
    client = serve(ScriptedEngine(_quiet)).client
    unknown = client.get("/.api/nothing")
    assert (unknown.status_code, unknown.text) == (404, "no route\n")
    assert client.get("/nothing").status_code == 404
    moved = client.get(f"{PATH}/?q=a%20b")
    assert moved.status_code == 307
    followed = client.get(f"{PATH}/?q=a%20b", follow_redirects=True)
    assert (followed.status_code, followed.url.path, followed.url.query) == (200, PATH, b"q=a%20b")


def test_version_health_and_home_need_no_credential(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    del service.client.headers["Authorization"]
    assert re.fullmatch(r"\d+\.\d+\.\d+", service.client.get("/.api/src-cli/version").json()["version"])
    assert service.client.get("/healthz").text == "ok\n"
    assert service.client.get("/readyz").text == "ready\n"
    assert "sl.connect" in service.client.get("/").text


def test_a_stopping_service_is_not_ready(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    service.app.state.search.stop()
    assert service.client.get("/readyz").status_code == 503
    assert service.search().status_code == 503


def test_oversized_requests_are_refused(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    assert service.search("x" * 60_000).status_code == 200
    assert _raw_status(service, f"GET {PATH}?q={'x' * 70_000} HTTP/1.1") == 414
    assert _raw_status(service, f"GET {PATH}?q={'%D0%AF' * 50_000} HTTP/1.1") == 414
    assert _raw_status(service, f"GET {PATH}?q={'x' * 700_000} HTTP/1.1") in {400, 414}
    assert _raw_status(service, f"GET {PATH}?q=x HTTP/1.1\r\nContent-Length: 2000000") == 413
    assert _raw_status(service, f"GET {PATH}?q=x HTTP/1.1\r\nHost: evil.example") == 400


def test_every_answer_has_the_security_headers(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    for path in ("/", "/nothing", f"{PATH}?q=x", "/healthz"):
        headers = service.client.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["content-security-policy"].startswith("default-src 'none'")


@pytest.mark.parametrize("source", ["parameter", "header"])
def test_a_trace_is_a_page_of_timings_for_whoever_asked_for_it(serve: Serve, source: str) -> None:
    service = serve(ScriptedEngine(_quiet))
    query = "<script>alert(1)</script> \u202e"
    if source == "parameter":
        answer = service.search(query, trace="true")
    else:
        answer = service.client.get(PATH, params={"q": query}, headers={"X-Sourcegraph-Should-Trace": "true"})
    urls = {value["trace"] for name, value in read_strictly(answer.content) if name == "progress"}
    assert urls == {answer.headers["x-trace-url"]}
    assert answer.headers["x-trace-url"] == f"{service.url}/-/debug/trace/{answer.headers['x-trace']}"
    _eventually(lambda: "outcome done" in service.client.get(answer.headers["x-trace-url"]).text)
    page = service.client.get(answer.headers["x-trace-url"])
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["cache-control"] == "no-store"
    assert "search ended" in page.text
    assert "<script>" not in page.text
    assert "&lt;script&gt;" in page.text
    assert "\u202e" not in page.text


def test_the_header_wins_over_the_parameter_of_a_trace(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    answer = service.client.get(
        PATH, params={"q": "x", "trace": "true"}, headers={"X-Sourcegraph-Should-Trace": "false"}
    )
    assert "x-trace" not in answer.headers


def test_a_trace_is_kept_from_others_as_if_there_were_none(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet), Settings(auth_public=True, external_url="https://code.example.com"))
    owners = service.search(trace="true").headers
    assert owners["x-trace-url"] == f"https://code.example.com/-/debug/trace/{owners['x-trace']}"
    path = f"/-/debug/trace/{owners['x-trace']}"
    assert service.client.get(path).status_code == 200
    token = service.client.headers.pop("Authorization")
    foreign, absent = service.client.get(path), service.client.get("/-/debug/trace/0000")
    assert (foreign.status_code, foreign.text) == (absent.status_code, absent.text) == (404, absent.text)
    mine = service.search(trace="true").headers["x-trace"]
    assert service.client.get(f"/-/debug/trace/{mine}").status_code == 200
    assert service.client.get(f"/-/debug/trace/{mine}", headers={"Authorization": token}).status_code == 200


def test_a_browser_is_asked_for_the_token_of_a_trace(serve: Serve) -> None:
    service = serve(ScriptedEngine(_quiet))
    path = f"/-/debug/trace/{service.search(trace='true').headers['x-trace']}"
    del service.client.headers["Authorization"]
    request = service.client.get(path)
    assert request.status_code == 401
    assert request.headers["www-authenticate"].startswith("Basic")
    assert service.client.get(path, auth=(TOKEN, "")).status_code == 200


def test_the_access_log_has_neither_queries_nor_tokens(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="sourcelight.access")
    service = serve(ScriptedEngine(_quiet))
    service.search("my secret words")
    service.client.get(f"{PATH}?q=my+secret+words&token={TOKEN}")
    _eventually(lambda: len(_lines(caplog)) == 2)
    first, second = _lines(caplog)
    assert "secret" not in caplog.text
    assert TOKEN not in caplog.text
    assert first["query_hash"] == second["query_hash"]
    assert (first["status"], first["viewer"], first["query_length"], first["outcome"]) == (200, "owner", 15, "done")
    assert (first["path"], first["method"], first["client"]) == (PATH, "GET", "127.0.0.1")
    assert first["bytes"] > 100


def test_a_log_line_can_not_be_forged_by_a_path(serve: Serve, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="sourcelight.access")
    serve(ScriptedEngine(_quiet)).client.get("/a%0A%1b[31m%22,%22x")
    _eventually(lambda: len(_lines(caplog)) == 1)
    (record,) = (record for record in caplog.records if record.name == "sourcelight.access")
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", record.getMessage())


def _raw_status(service: Service, head: str) -> int:
    host, port = service.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), BOUND_S) as connection:
        connection.sendall(f"{head}\r\nHost: {host}\r\n\r\n".encode())
        return int(connection.recv(100).split(b" ")[1])


def _lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    return [json.loads(record.getMessage()) for record in caplog.records if record.name == "sourcelight.access"]


def _eventually(claim: Callable[[], bool]) -> None:
    bound = Cancellation(BOUND_S)
    while not claim():
        assert not bound.expired
        threading.Event().wait(0.01)
