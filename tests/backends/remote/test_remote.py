"""The remote backend against a real server on a loopback port."""

from __future__ import annotations

import asyncio
import gzip
import json
import logging
import traceback
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest

from sourcelight.backends.remote import Endpoint, RemoteBackend, Secret, resolve_endpoint
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.errors import (
    ConfigurationError,
    ConnectFailed,
    Forbidden,
    NotFound,
    ProtocolError,
    QueryError,
    RateLimited,
    ServiceError,
    SourcelightError,
    StreamBroken,
    TimedOut,
    Unauthorized,
)
from sourcelight.core.wire import SearchRequest, encode
from sourcelight.core.wire import events as e
from sourcelight.testing.scripted_service import RESET, SILENCE, ScriptedReply, ScriptedService

T = TypeVar("T")
TOKEN = "sgp_do-not-show-me"
MATCHES = b'event: matches\ndata: [{"type":"path","path":"p","repository":"r","repositoryID":1}]\n\n'
PROGRESS = encode(e.Progress(done=True, match_count=1, duration_ms=2))
EMPTY = encode(e.Progress(done=True, match_count=0, duration_ms=2))
DONE = encode(e.Done())
QUICK: dict[str, Any] = {"backoff_s": 0.001, "idle_timeout_s": 0.5, "connect_timeout_s": 2}


def run(work: Coroutine[Any, Any, T]) -> T:
    with asyncio.Runner() as runner:
        return runner.run(work)


def search(
    url: str, *, query: str = "x", token: str | None = None, **options: Any
) -> tuple[list[Event], Exception | None]:
    """All events of a search, and the error at its end."""

    async def work() -> tuple[list[Event], Exception | None]:
        backend = RemoteBackend(url, token, **(QUICK | options))
        results: list[Event] = []
        try:
            async for event in backend.stream(SearchRequest(query)):
                results.append(event)  # what came before an error counts
        except SourcelightError as exc:
            return results, exc
        finally:
            await backend.aclose()
        return results, None

    return run(asyncio.wait_for(work(), 20))


def served(*answers: ScriptedReply, **options: Any) -> tuple[list[Event], Exception | None, ScriptedService]:
    with ScriptedService(*answers) as service:
        events, error = search(service.url, **options)
    return events, error, service


def names(events: list[Event]) -> list[str]:
    return [type(x).__name__ for x in events]


def test_events_arrive_as_batches_and_end_with_done() -> None:
    events, error, service = served(ScriptedReply([MATCHES, PROGRESS, DONE]), token=TOKEN)
    assert error is None
    assert names(events) == ["MatchBatch", "Progress", "Done"]
    first = events[0]
    assert isinstance(first, MatchBatch)
    assert first.repositories == (RepositoryInfo("r", 1),)
    (request,) = service.received
    assert (request.method, request.path) == ("GET", "/.api/search/stream")
    assert request.params == {"q": "x", "v": "V3", "t": "standard"}
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["authorization"] == f"token {TOKEN}"
    assert request.headers["accept-encoding"] == "gzip"


def test_an_oauth_token_travels_as_bearer_and_no_token_as_nothing() -> None:
    *_, service = served(ScriptedReply([DONE]), token=TOKEN, bearer=True)
    assert service.received[0].headers["authorization"] == f"Bearer {TOKEN}"
    *_, service = served(ScriptedReply([DONE]))
    assert "authorization" not in service.received[0].headers


def test_a_service_below_a_path_keeps_it() -> None:
    with ScriptedService(ScriptedReply([DONE])) as service:
        search(service.url + "/code/")
    assert service.received[0].path == "/code/.api/search/stream"


@pytest.mark.parametrize("size", [1, 7, 64])
def test_any_pace_and_crlf_are_read(size: int) -> None:
    stream = (b": hello\nid: 1\n" + MATCHES + PROGRESS + DONE).replace(b"\n", b"\r\n")
    events, error, _ = served(ScriptedReply([stream[i : i + size] for i in range(0, len(stream), size)]))
    assert error is None
    assert names(events) == ["MatchBatch", "Progress", "Done"]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_a_stream_whose_lines_end_with_cr_alone_keeps_its_rows(size: int) -> None:
    stream = (MATCHES + PROGRESS + DONE).replace(b"\n", b"\r")
    portions = [stream[i : i + size] for i in range(0, len(stream), size)]
    events, error, _ = served(ScriptedReply(portions))
    assert (names(events), error) == (["MatchBatch", "Progress", "Done"], None)


def test_gzip_is_read() -> None:
    answer = ScriptedReply([gzip.compress(MATCHES + PROGRESS + DONE)], headers={"Content-Encoding": "gzip"})
    events, error, _ = served(answer)
    assert (names(events), error) == (["MatchBatch", "Progress", "Done"], None)


def test_broken_gzip_breaks_the_stream() -> None:
    _, error, _ = served(ScriptedReply([b"no gzip at all"], headers={"Content-Encoding": "gzip"}))
    assert isinstance(error, StreamBroken)


@pytest.mark.parametrize(
    "end",
    [b"", b"event: mat", b"event: matches\ndata: [{", b"<html>garbage", b"event: matches\ndata: <html>\n\n" + DONE],
    ids=["no done", "inside a name", "inside data", "garbage", "unreadable data"],
)
def test_a_stream_that_breaks_keeps_what_arrived(end: bytes) -> None:
    events, error, _ = served(ScriptedReply([MATCHES + encode(e.Alert("a")) + end]))
    assert names(events) == ["MatchBatch", "Alert"]
    assert isinstance(error, StreamBroken)
    assert error.events_seen >= 2


def test_unreadable_matches_do_not_take_readable_ones_with_them() -> None:
    events, error, _ = served(ScriptedReply([MATCHES + b"event: matches\ndata: oops\n\n"]))
    assert names(events) == ["MatchBatch"]
    assert isinstance(error, StreamBroken)


def test_a_reset_and_a_short_body_break_the_stream() -> None:
    _, error, _ = served(ScriptedReply([MATCHES], headers={"Content-Length": "99999"}))
    assert isinstance(error, StreamBroken)
    _, error, _ = served(ScriptedReply([b"event: x\n", RESET]), retries=0)
    assert isinstance(error, StreamBroken | ConnectFailed)


def test_a_last_event_without_its_blank_line_counts() -> None:
    events, error, _ = served(ScriptedReply([MATCHES + PROGRESS + b"event: done\ndata: {}"]))
    assert (names(events)[-1], error) == ("Done", None)


def test_an_event_of_ten_mebibytes_is_read() -> None:
    line = {"line": "x" * (10 * 2**20), "lineNumber": 0, "offsetAndLengths": [[0, 1]]}
    match = {"type": "content", "path": "p", "repository": "r", "lineMatches": [line]}
    events, error, _ = served(
        ScriptedReply([b"event: matches\ndata: " + json.dumps([match]).encode() + b"\n\n" + PROGRESS + DONE])
    )
    assert (names(events), error) == (["MatchBatch", "Progress", "Done"], None)


def test_silence_times_out_after_what_arrived() -> None:
    events, error, _ = served(ScriptedReply([MATCHES, SILENCE]))
    assert names(events) == ["MatchBatch"]
    assert isinstance(error, TimedOut)
    assert "0.5 s" in str(error)


def test_leaving_the_stream_hangs_up() -> None:
    async def work(url: str) -> None:
        backend = RemoteBackend(url, **(QUICK | {"idle_timeout_s": 10}))
        stream = backend.stream(SearchRequest("x"))
        await anext(stream)
        await stream.aclose()
        await backend.aclose()

    with ScriptedService(ScriptedReply([MATCHES, SILENCE])) as service:
        run(work(service.url))
        assert service.hung_up.wait(5)


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, Unauthorized), (403, Forbidden), (404, NotFound), (500, ServiceError), (400, ServiceError)],
)
def test_refusals_are_told_apart_and_not_retried(status: int, kind: type[ServiceError]) -> None:
    body = f"Not with {TOKEN}.\n".encode()
    answer = ScriptedReply([body], status=status, headers={"Content-Type": "text/plain; charset=utf-8"})
    events, error, service = served(answer, token=TOKEN)
    assert events == []
    assert type(error) is kind
    assert isinstance(error, ServiceError)
    assert (error.status, error.text) == (status, "Not with ***.")
    assert len(service.received) == 1


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_a_busy_service_is_asked_again(status: int) -> None:
    busy = ScriptedReply([b"later"], status=status, headers={"Retry-After": "0"})
    events, error, service = served(busy, busy, ScriptedReply([EMPTY, DONE]))
    assert (names(events), error) == (["Progress", "Done"], None)
    assert len(service.received) == 3


def test_a_service_that_stays_busy_is_given_up() -> None:
    _, error, service = served(ScriptedReply([b"later"], status=503), retries=2)
    assert type(error) is ServiceError
    assert len(service.received) == 3


@pytest.mark.parametrize("wait", ["3600", "Fri, 31 Dec 2399 23:59:59 GMT", "9" * 400])
def test_a_wait_beyond_the_bound_is_reported_at_once(wait: str) -> None:
    _, error, service = served(ScriptedReply([b"slow down"], status=429, headers={"Retry-After": wait}))
    assert isinstance(error, RateLimited)
    assert error.retry_after_s is not None
    assert error.retry_after_s >= 3600
    assert "; try again in " in str(error)
    assert len(service.received) == 1


def test_a_connection_lost_before_the_first_byte_is_tried_again() -> None:
    events, error, service = served(ScriptedReply(status=0), ScriptedReply([EMPTY, DONE]))
    assert (names(events), error) == (["Progress", "Done"], None)
    assert len(service.received) == 2


def test_no_service_there_is_a_failed_connection() -> None:
    with ScriptedService() as service:
        url = service.url
    _, error = search(url, retries=1)
    assert isinstance(error, ConnectFailed)


def test_nothing_is_retried_after_the_first_byte() -> None:
    _, error, service = served(ScriptedReply([MATCHES]))
    assert isinstance(error, StreamBroken)
    assert len(service.received) == 1


def test_a_redirect_on_the_same_host_is_followed_with_the_token() -> None:
    moved = ScriptedReply(status=301, headers={"Location": "/new/.api/search/stream?q=x"})
    events, error, service = served(moved, ScriptedReply([EMPTY, DONE]), token=TOKEN)
    assert (names(events), error) == (["Progress", "Done"], None)
    assert [r.path for r in service.received] == ["/.api/search/stream", "/new/.api/search/stream"]
    assert service.received[1].headers["authorization"] == f"token {TOKEN}"


def test_a_redirect_to_another_host_is_not_followed() -> None:
    with ScriptedService(ScriptedReply([DONE])) as other:
        _, error, _ = served(ScriptedReply(status=302, headers={"Location": other.url + "/x"}), token=TOKEN)
        assert other.received == []
    assert type(error) is ServiceError
    assert "not followed" in str(error)


def test_redirects_in_circles_end() -> None:
    _, error, service = served(ScriptedReply(status=302, headers={"Location": "/again"}))
    assert type(error) is ServiceError
    assert len(service.received) == 6


def test_a_page_in_place_of_a_stream_is_told() -> None:
    _, error, _ = served(ScriptedReply([b"<html>sign in"], headers={"Content-Type": "text/html"}))
    assert isinstance(error, ProtocolError)
    assert "text/html" in str(error)


@pytest.mark.parametrize(
    "stream",
    [
        [e.ErrorEvent("no query found"), e.Done()],
        [e.Alert("Unable To Process Query", "no query found"), e.Done()],
        [e.Alert("Unable", "no query found", "error"), e.ErrorEvent("no query found"), e.Done()],
    ],
)
def test_a_query_that_the_service_refuses_is_a_query_error(stream: list[e.Event]) -> None:
    events, error, _ = served(ScriptedReply(list(map(encode, stream))))
    assert events == []
    assert isinstance(error, QueryError)
    assert (error.message, error.query) == ("no query found", "x")


def test_a_fault_of_the_service_is_none_of_the_query() -> None:
    for title in ("The search failed", "The search ended early", "The service is stopping"):
        stream = [encode(e.Alert(title, "id 1", "error")), encode(e.ErrorEvent("id 1")), DONE]
        events, error, _ = served(ScriptedReply(stream))
        assert (names(events), error) == (["Alert", "ErrorEvent", "Done"], None)


def test_a_fault_of_a_search_that_ran_is_an_event() -> None:
    stream = [MATCHES, PROGRESS, encode(e.Alert("a", kind="error")), encode(e.ErrorEvent("boom")), DONE]
    events, error, _ = served(ScriptedReply(stream))
    assert (names(events), error) == (["MatchBatch", "Progress", "Alert", "ErrorEvent", "Done"], None)


def test_an_alert_of_a_search_without_progress_is_kept() -> None:
    events, error, _ = served(ScriptedReply([encode(e.Alert("fyi", kind="info")), DONE]))
    assert (names(events), error) == (["Alert", "Progress", "Done"], None)
    assert isinstance(progress := events[1], e.Progress)
    assert [item.reason for item in progress.skipped] == ["no-final-progress"]
    events, error, _ = served(ScriptedReply([encode(e.Alert("fyi"))]))
    assert names(events) == ["Alert"]
    assert isinstance(error, StreamBroken)


def test_unknown_events_pass_and_what_follows_done_is_not_read() -> None:
    events, error, _ = served(ScriptedReply([b"event: novelty\ndata: 1\n\n", EMPTY, DONE, MATCHES]))
    assert (names(events), error) == (["UnknownEvent", "Progress", "Done"], None)


def test_repositories_are_listed_by_a_stream() -> None:
    async def work(url: str) -> tuple[RepositoryInfo, ...]:
        backend = RemoteBackend(url)
        try:
            return await backend.repositories()
        finally:
            await backend.aclose()

    matches = e.Matches((e.RepoMatch("b", 2, fork=True), e.RepoMatch("a", 1, archived=True)))
    with ScriptedService(ScriptedReply([encode(matches), PROGRESS, DONE])) as service:
        assert run(work(service.url)) == (RepositoryInfo("a", 1, archived=True), RepositoryInfo("b", 2, fork=True))
    assert service.received[0].params["q"] == "type:repo count:all fork:yes archived:yes"


@pytest.mark.parametrize(
    "answer",
    [
        ScriptedReply([TOKEN.encode()], status=401),
        ScriptedReply([MATCHES, SILENCE]),
        ScriptedReply([MATCHES, b"oops"]),
        ScriptedReply(status=0),
        ScriptedReply(status=302, headers={"Location": "http://elsewhere.invalid/"}),
    ],
)
def test_the_token_shows_nowhere(answer: ScriptedReply, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    _, error, service = served(answer, token=TOKEN, retries=0)
    assert error is not None
    displayed = traceback.TracebackException.from_exception(error, capture_locals=True)
    text = "".join(line for line in displayed.format() if "tests" not in line)
    assert TOKEN not in text
    assert TOKEN not in repr(error)
    assert TOKEN not in caplog.text
    assert all(TOKEN not in r.target for r in service.received)
    assert TOKEN not in repr(RemoteBackend(service.url, TOKEN)) + repr(vars(RemoteBackend(service.url, TOKEN)))


def test_addresses_with_credentials_are_refused_without_quoting_them() -> None:
    for url in ("https://user:hunter2@host", "https://hunter2@host/x"):
        with pytest.raises(ConfigurationError) as caught:
            RemoteBackend(url)
        assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "url", ["", "host", "ftp://host", "https://", "http://host:port", "https://host?x=1", "http://[x"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError):
        Endpoint.parse(url)


@pytest.mark.parametrize("token", ["two words", "line\nbreak", "é"])
def test_a_token_that_no_header_can_carry_is_refused_without_quoting_it(token: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        RemoteBackend("http://host", token)
    assert token not in str(caught.value)


def test_the_environment_gives_what_arguments_leave_out() -> None:
    environ = {
        "SRC_ENDPOINT": "https://host/sub/",
        "SRC_ACCESS_TOKEN": TOKEN,
        "SRC_PROXY": "http://user:hunter2@proxy:3128",
        "SRC_HEADERS": "X-One: 1\nX-Two:two",
        "SRC_HEADER_X_THREE": "3",
    }
    endpoint, token = resolve_endpoint(environ=environ)
    assert (endpoint.url, token) == ("https://host/sub", Secret(TOKEN))
    assert {name: value.reveal() for name, value in endpoint.headers} == {"x-one": "1", "x-two": "two", "x-three": "3"}
    assert "hunter2" not in repr(endpoint)
    assert TOKEN not in f"{token} {token!r}"
    assert resolve_endpoint(token="own", environ=environ)[1] == Secret("own")


def test_the_token_of_the_environment_is_not_sent_to_another_host() -> None:
    environ = {"SRC_ENDPOINT": "https://host", "SRC_ACCESS_TOKEN": TOKEN, "SRC_HEADERS": "X-Key: secret"}
    endpoint, token = resolve_endpoint("https://other", environ=environ)
    assert (token, endpoint.headers) == (None, ())
    assert resolve_endpoint("https://host/x", environ=environ)[1] == Secret(TOKEN)
    assert resolve_endpoint("https://other", environ={"SRC_ACCESS_TOKEN": TOKEN})[1] == Secret(TOKEN)


@pytest.mark.parametrize(
    ("configured", "url", "is_sent"),
    [
        ("https://host", "http://host", False),  # everyone on the way would read it
        ("http://host", "https://host", True),
        ("https://host", "https://host:443", True),
        ("https://host", "https://host:8443", False),
        ("https://host/code", "https://host/code/", True),
        ("https://host/code", "https://host/other", False),
        ("https://host/code", "https://host/codes", False),
    ],
)
def test_the_token_of_the_environment_is_sent_to_its_service_only(configured: str, url: str, *, is_sent: bool) -> None:
    environ = {"SRC_ENDPOINT": configured, "SRC_ACCESS_TOKEN": TOKEN, "SRC_HEADERS": "X-Key: secret"}
    endpoint, token = resolve_endpoint(url, environ=environ)
    assert (token is not None, bool(endpoint.headers)) == (is_sent, is_sent)


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"SRC_ENDPOINT": "nonsense"},
        {"SRC_ENDPOINT": "http://h", "SRC_PROXY": "socks5://hunter2@p"},
        {"SRC_ENDPOINT": "http://h", "SRC_HEADERS": "no colon hunter2"},
        {"SRC_ENDPOINT": "http://h", "SRC_HEADER_X": "hunter2\r\nX-Evil: 1"},
    ],
)
def test_unusable_settings_are_refused_without_their_secrets(environ: dict[str, str]) -> None:
    with pytest.raises(ConfigurationError) as caught:
        resolve_endpoint(environ=environ)
    assert "hunter2" not in str(caught.value)


def test_headers_of_the_environment_are_sent() -> None:
    with ScriptedService(ScriptedReply([DONE])) as service:
        endpoint, _ = resolve_endpoint(environ={"SRC_ENDPOINT": service.url, "SRC_HEADERS": "X-Key: k"})

        async def work() -> None:
            backend = RemoteBackend(endpoint)
            async for _ in backend.stream(SearchRequest("x")):
                pass
            await backend.aclose()

        run(work())
    assert service.received[0].headers["x-key"] == "k"
