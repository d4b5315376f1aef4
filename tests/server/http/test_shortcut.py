"""The shortcut gives the bytes that the application gives, and leaves every refusal to it."""

from __future__ import annotations

import base64
import json
import logging
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

import pytest
from prometheus_client.parser import text_string_to_metric_families

from server.running_service import BOUND_S, TOKEN, ScriptedEngine, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.server.http.middleware.guards import MAX_ADDRESS_BYTES
from sourcelight.server.http.requests import ACCESS_LOGGER
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.shortcut import HeadBytes
from sourcelight.server.http.stream import StreamLimits
from sourcelight.testing import RepositoryBuilder

if TYPE_CHECKING:
    from sourcelight.server.http.shortcut import RequestHead

OWNER = {"Authorization": f"token {TOKEN}"}
VARYING = re.compile(rb"^(date|x-request-id): [^\r]*\r\n", re.MULTILINE)


@dataclass
class Recorder:
    """A shortcut that records which requests it has answered."""

    shortcut: Any
    answers: list[bool] = field(default_factory=list)

    @property
    def path(self) -> bytes:
        path: bytes = self.shortcut.path
        return path

    def head_of(self, scope: Any) -> Any:
        head = self.shortcut.head_of(scope)
        if head is None:
            self.answers.append(False)
        return head

    def bytes_of(self, data: bytes, address: bytes, head: Any) -> Any:
        return self.shortcut.bytes_of(data, address, head)

    def answer(self, head: Any, query: bytes, marks: Any) -> Any:
        answer = self.shortcut.answer(head, query, marks)
        self.answers.append(answer is not None)
        return answer

    def note(self, head: Any, answer: Any) -> None:
        self.shortcut.note(head, answer)


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalEngine]:
    folder = tmp_path_factory.mktemp("shortcut")
    files = {"a.py": "needle = 1\n", "b.go": "// Needle <b> caf\u00e9\n", "tests/test_a.py": "assert needle\n"}
    RepositoryBuilder(folder / "web", origin="https://example.org/acme/web.git").commit(files, "begin")
    secret = RepositoryBuilder(folder / "key", origin="https://example.org/acme/key.git")
    secret.commit({"key.py": "needle = 'private'\n"}, "begin")
    (folder / "repos.toml").write_text('[repositories."example.org/acme/key"]\nprivate = true\n', "utf-8")
    engine = open_engine([folder], index=folder / "index", workers=1)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    with State() as state:
        state.accounts.create("ann")
        yield state


@pytest.fixture(scope="module")
def quick(engine: LocalEngine, state: State) -> Iterator[Service]:
    with running(engine, state=state, change_shortcut=Recorder) as service:
        yield service


@pytest.fixture(scope="module")
def reference(engine: LocalEngine, state: State) -> Iterator[Service]:
    """The same service without the shortcut."""
    with running(engine, state=state, change_shortcut=lambda _: None) as service:
        yield service


def address(query: str) -> str:
    return f"/.api/search/stream?q={quote(query)}&v=V3&t=standard&display=-1"


def request(
    target: str, headers: dict[str, str], line: str = "GET {} HTTP/1.1", host: str = "Host: localhost"
) -> bytes:
    head = [line.format(target), host, *(f"{name}: {value}" for name, value in headers.items())]
    return "\r\n".join([line for line in head if line]).encode() + b"\r\n\r\n"


def connect(service: Service) -> socket.socket:
    address = urlsplit(service.url)
    return socket.create_connection((str(address.hostname), int(address.port or 0)), BOUND_S)


def read_answer(connection: socket.socket, *, is_head: bool = False) -> bytes:
    """Read one response, or what comes before the connection ends."""
    data = b""
    while portion := connection.recv(1 << 16):
        data += portion
        head, end, body = data.partition(b"\r\n\r\n")
        if not end:
            continue
        length = re.search(rb"\r\ncontent-length: (\d+)", head)
        if is_head or (length and len(body) >= int(length[1])):
            break
        if b"transfer-encoding: chunked" in head and body.endswith(b"\r\n0\r\n\r\n"):
            break
    return data


def exchange(service: Service, data: bytes) -> bytes:
    with connect(service) as connection:
        connection.sendall(data)
        return read_answer(connection, is_head=data.startswith(b"HEAD"))


def without_varying(data: bytes) -> bytes:
    """Return some responses without what differs between two answers to the same requests."""
    return b"".join(map(_response_without_varying, re.split(rb"(?=HTTP/1\.1 \d)", VARYING.sub(b"", data))))


def _response_without_varying(data: bytes) -> bytes:
    # The time of a search is in its progress; the chunks of the long way depend on time, too.
    head, _, body = data.partition(b"\r\n\r\n")
    # The shortcut knows the length of its answer.
    is_stream, is_chunked = b"content-type: text/event-stream" in head, b"transfer-encoding: chunked" in head
    if is_stream:
        head = re.sub(rb"\r\n(?:transfer-encoding: chunked|content-length: \d+)", b"", head)
    if b"content-encoding: gzip" in head:
        return head
    if is_chunked:
        body = re.sub(rb"(?:\A|\r\n)[0-9a-f]+\r\n", b"", body).removesuffix(b"\r\n")
    if is_stream:
        body = in_one_tick(body)
    return head + re.sub(rb'"durationMs":\d+', b"", body)


def in_one_tick(body: bytes) -> bytes:
    """Return the events of a stream as a search that ends at once sends them: a slow one sends filters repeatedly."""
    events = body.split(b"\n\n")
    filters = [event for event in events if event.startswith(b"event: filters\n")]
    rest = [event for event in events if event not in filters and b'"done":false' not in event]
    return b"\n\n".join([*filters[-1:], *rest])


def exchange_shortly(service: Service, data: bytes) -> bytes:
    """Ask until the shortcut has answered: four times a second a search looks for new repositories first."""
    for _ in range(50):
        answer = exchange(service, data)
        if service.app.state.shortcut.answers[-1]:
            return answer
    raise AssertionError("the shortcut answers nothing")


def basic(token: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'{token}:'.encode()).decode()}"}


NEEDLE = address("needle count:all")
SHORT = {
    "a word": (NEEDLE, OWNER),
    "a case": (address("Needle case:yes count:all"), OWNER),
    "an alternation": (address("/(needle|assert)/ case:yes count:all"), OWNER),
    "a filter": (address("needle lang:python count:all"), OWNER),
    "a NOT": (address("type:file needle AND NOT assert count:all"), OWNER),
    "nothing": (address("zzqqxx count:all"), OWNER),
    "a bearer": (NEEDLE, {"Authorization": f"Bearer {TOKEN}"}),
    "a browser's prompt": (NEEDLE, basic(TOKEN)),
    "an identifier": (NEEDLE, OWNER | {"X-Request-ID": "mine-1"}),
    "our client": (NEEDLE, OWNER | {"User-Agent": "sourcelight/0.2"}),
    "another client": (NEEDLE, OWNER | {"User-Agent": "src-cli/7"}),
    "gzip": (NEEDLE, OWNER | {"Accept-Encoding": "gzip, br"}),
    "no gzip": (NEEDLE, OWNER | {"Accept-Encoding": "gzip;q=0"}),
}


@pytest.mark.parametrize("name", SHORT)
def test_an_answer_is_that_of_the_application(quick: Service, reference: Service, name: str) -> None:
    data = request(*SHORT[name])
    # The first search of a shape takes the long way, which may report progress.
    exchange(reference, data)
    answer = exchange_shortly(quick, data)
    assert without_varying(answer) == without_varying(exchange(reference, data))
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert re.search(rb"\r\nx-request-id: [0-9a-f]{16}\r\n", answer)


def test_a_packed_answer_unpacks_to_the_same(quick: Service, reference: Service) -> None:
    headers = {"Authorization": f"token {TOKEN}", "Accept-Encoding": "gzip"}
    texts = set()
    exchange(reference, request(NEEDLE, OWNER))
    exchange_shortly(quick, request(NEEDLE, OWNER))
    for service in (reference, quick):
        answer = service.client.get(NEEDLE, headers=headers)
        assert answer.headers["content-encoding"] == "gzip"
        texts.add(re.sub(r'"durationMs":\d+', "", answer.text))
    assert len(texts) == 1
    assert "private" in texts.pop()


LEFT = {
    "HEAD": request(NEEDLE, OWNER, "HEAD {} HTTP/1.1"),
    "POST": request(NEEDLE, OWNER | {"Content-Length": "0"}, "POST {} HTTP/1.1"),
    "HTTP/1.0": request(NEEDLE, OWNER, "GET {} HTTP/1.0"),
    "close": request(NEEDLE, OWNER | {"Connection": "close"}),
    "an empty body": request(NEEDLE, OWNER | {"Content-Length": "0"}),
    "a body": request(NEEDLE, OWNER | {"Content-Length": "2"}) + b"{}",
    "a large body": request(NEEDLE, OWNER | {"Content-Length": "99999999"}),
    "a body in chunks": request(NEEDLE, OWNER | {"Transfer-Encoding": "chunked"}) + b"2\r\n{}\r\n0\r\n\r\n",
    "an expectation": request(NEEDLE, OWNER | {"Expect": "100-continue"}),
    "an upgrade": request(NEEDLE, OWNER | {"Connection": "upgrade", "Upgrade": "websocket"}),
    "a long address": request(NEEDLE + "&x=" + "y" * MAX_ADDRESS_BYTES, OWNER),
    "no credential": request(NEEDLE, {}),
    "a wrong token": request(NEEDLE, {"Authorization": "token wrong-wrong-wrong-wrong"}),
    "a malformed header": request(NEEDLE, {"Authorization": "token a b"}),
    "sudo": request(NEEDLE, {"Authorization": f'token-sudo user="ann",token="{TOKEN}"'}),
    "two credentials": request(NEEDLE, {"authorization": "token wrong-wrong-wrong-wrong"} | OWNER),
    "another host": request(NEEDLE, OWNER, host="Host: evil.example"),
    "no host": request(NEEDLE, OWNER, host=""),
    "two hosts": request(NEEDLE, OWNER | {"host": "localhost"}),
    "a bad query": request(address("needle ) (( count:all"), OWNER),
    "a trace": request(NEEDLE, OWNER | {"X-Sourcegraph-Should-Trace": "0"}),
    "no query": request("/.api/search/stream", OWNER),
    "another path": request(NEEDLE.replace("stream", "streams"), OWNER),
    "an escaped path": request(NEEDLE.replace("stream", "strea%6d"), OWNER),
    "a whole address": request(f"http://localhost{NEEDLE}", OWNER),
    "a fragment": request(f"{NEEDLE}#x", OWNER),
    "no request": b"GET \0 HTTP/1.1\r\n\r\n",
}  # fmt: skip


@pytest.mark.parametrize("name", LEFT)
def test_what_is_unusual_is_left_to_the_application(quick: Service, reference: Service, name: str) -> None:
    exchange_shortly(quick, request(NEEDLE, OWNER))
    before = quick.app.state.shortcut.answers.count(True)
    expected = exchange(reference, LEFT[name])
    answer = exchange(quick, LEFT[name])
    if name in {"close", "an empty body", "a whole address", "an escaped path", "a fragment"}:
        assert b" 200 " in answer[:16]
    assert without_varying(answer) == without_varying(expected)
    assert quick.app.state.shortcut.answers.count(True) == before


def test_a_reader_sees_what_the_account_may_see(quick: Service, reference: Service, state: State) -> None:
    token, secret = state.tokens.create("ann", ("user:all",))
    data = request(NEEDLE, {"Authorization": f"token {secret}"})
    with connect(quick) as connection:
        for _ in range(3):
            connection.sendall(data)
            answer = read_answer(connection)
            assert without_varying(answer) == without_varying(exchange(reference, data))
            assert b"private" not in answer
            assert b"needle = 1" in answer
        exchange_shortly(quick, data)
        state.grants.add("example.org/acme/key", account="ann")
        for _ in range(2):
            connection.sendall(data)
            assert b"private" in read_answer(connection)
        state.tokens.revoke(token.id)
        connection.sendall(data)
        assert read_answer(connection).startswith(b"HTTP/1.1 401 ")


def test_a_token_for_agents_is_refused(quick: Service, reference: Service, state: State) -> None:
    _, secret = state.tokens.create("ann", ("mcp",))
    data = request(NEEDLE, {"Authorization": f"token {secret}"})
    answer = exchange(quick, data)
    assert answer.startswith(b"HTTP/1.1 401 ")
    assert b"insufficient_scope" in answer
    assert without_varying(answer) == without_varying(exchange(reference, data))


def test_log_and_metrics_are_those_of_the_application(
    quick: Service, reference: Service, caplog: pytest.LogCaptureFixture
) -> None:
    data = request(NEEDLE, OWNER | {"X-Request-ID": "mine-2"})

    def logged() -> list[dict[str, Any]]:
        lines = [json.loads(record.getMessage()) for record in caplog.records if record.name == ACCESS_LOGGER]
        return [line for line in lines if line.get("caller_request_id") == "mine-2"]

    def counts(service: Service) -> list[float]:
        text = service.client.get("/metrics").text
        samples = [sample for family in text_string_to_metric_families(text) for sample in family.samples]
        requests = [sample for sample in samples if sample.name == "sourcelight_requests_total"]
        times = [sample for sample in samples if sample.name == "sourcelight_request_seconds_count"]
        labels = {"route": "stream", "method": "GET", "status": "200"}
        return [
            sum(sample.value for sample in requests if sample.labels == labels),
            sum(sample.value for sample in times if sample.labels["route"] == "stream"),
        ]

    def observe(service: Service) -> dict[str, Any]:
        before, lines = counts(service), len(logged())
        exchange_shortly(service, data) if service is quick else exchange(service, data)
        # The application writes a line when its answer has been sent.
        bound = time.monotonic() + BOUND_S
        while len(logged()) == lines and time.monotonic() < bound:
            time.sleep(0.01)
        lines = len(logged()) - lines
        assert [after - count for after, count in zip(counts(service), before, strict=True)] == [lines, lines]
        return logged()[-1]

    exchange(reference, data)
    with caplog.at_level(logging.INFO, ACCESS_LOGGER):
        expected, answer = observe(reference), observe(quick)
    varying = {"time": "", "request_id": "", "duration_ms": 0, "query_hash": "", "bytes": 0}
    assert answer | varying == expected | varying
    assert set(answer) == set(expected)
    assert answer["rows"] > 0


def test_requests_in_one_portion_are_answered_in_turn(quick: Service, reference: Service) -> None:
    """One of them by the shortcut: a peer that sends many must not hold the event loop."""
    words = ["needle", "assert", "Needle", "zzqqxx", "needle"]
    portion = b"".join(request(address(f"{word} count:all"), OWNER) for word in words[:-1])
    portion += request(address(f"{words[-1]} count:all"), OWNER | {"Connection": "close"})
    for _ in range(2):
        answers = []
        before = quick.app.state.shortcut.answers.count(True)
        for service in (reference, quick):
            with connect(service) as connection:
                connection.sendall(portion)
                data = b""
                while received := connection.recv(1 << 16):
                    data += received
            answers.append(without_varying(data))
            assert data.count(b"HTTP/1.1 200 OK") == len(words)
        assert answers[0] == answers[1]
    assert quick.app.state.shortcut.answers.count(True) - before <= 1


def ask_again(service: Service, first: bytes, data: bytes, *, answers: int = 1) -> bytes:
    """Send a request and then others on the same connection; return the answers to these."""
    with connect(service) as connection:
        connection.sendall(first)
        read_answer(connection)
        connection.sendall(data)
        received = read_answer(connection)
        while answers > 1 and received.count(b"event: done\ndata: {}\n\n") < answers:
            received += connection.recv(1 << 16)
        return received


AGAIN = {
    name: request(*SHORT[name]) for name in ("a word", "a case", "an alternation", "a filter", "a NOT", "nothing")
} | {
    "a plus": request("/.api/search/stream?q=needle+count:all&v=V3&t=standard&display=-1", OWNER),
    "no parameters": request("/.api/search/stream?q=needle%20count:all", OWNER),
    "bytes that aren't text": request("/.api/search/stream?q=needle%ff%20count:all", OWNER),
    "a percent sign": request("/.api/search/stream?q=needle%zz&v=V3", OWNER),
    "two queries": request(f"{NEEDLE}&q=assert", OWNER),
    "another header": request(NEEDLE, {"Authorization": f"Bearer {TOKEN}"}),
    "another order": request(NEEDLE, {"X-Other": "1"} | OWNER),
    "a fragment": request(f"{NEEDLE}#x", OWNER),
    "no credential": request(NEEDLE, {}),
    "a wrong token": request(NEEDLE, {"Authorization": f"token {TOKEN[:-1]}x"}),
    "a letter beyond ASCII": request(f"{NEEDLE}\u00e9", OWNER),
    "HEAD": request(NEEDLE, OWNER, "HEAD {} HTTP/1.1"),
    "HTTP/1.0": request(NEEDLE, OWNER, "GET {} HTTP/1.0"),
    "a space": request(f"{NEEDLE} HTTP/1.1\r\nX: ", OWNER),
    "another path": request(NEEDLE.replace("stream", "streams"), OWNER),
    "a bad query": request(address("needle ) (( count:all"), OWNER),
    "a long address": request(NEEDLE + "&x=" + "y" * MAX_ADDRESS_BYTES, OWNER),
    "an error of the parser": request(NEEDLE, OWNER).replace(b"Host", b"Ho st"),
}  # fmt: skip


@pytest.mark.parametrize("name", AGAIN)
def test_the_next_request_of_a_connection_is_answered_as_the_application_does(
    quick: Service, reference: Service, name: str
) -> None:
    data = AGAIN[name]
    exchange(reference, data)
    exchange(quick, data)
    for first in (request(NEEDLE, OWNER), request(address("assert count:all"), OWNER)):
        exchange_shortly(quick, first)
        if name == "HEAD":
            answers = [exchange(service, data) for service in (quick, reference)]
        else:
            answers = [ask_again(service, first, data) for service in (quick, reference)]
        assert without_varying(answers[0]) == without_varying(answers[1])


def test_two_requests_in_one_portion_after_another_are_both_answered(quick: Service, reference: Service) -> None:
    first, second = request(NEEDLE, OWNER), request(address("assert count:all"), OWNER)
    exchange_shortly(quick, first)
    exchange_shortly(quick, second)
    for portion in (first + second, second + first, second * 2):
        answers = [ask_again(service, first, portion, answers=2) for service in (quick, reference)]
        assert answers[0].count(b"HTTP/1.1 200 OK") == 2
        assert without_varying(answers[0]) == without_varying(answers[1])


def test_only_the_bytes_of_one_request_are_a_head() -> None:
    address, head = b"/s?q=a", cast("RequestHead", None)
    lines = b" HTTP/1.1\r\nHost: a\r\nX: 1\r\n\r\n"
    head_bytes = HeadBytes.of_request(b"GET " + address + lines, address, head)
    assert head_bytes is not None
    for query in (b"", b"q=a", b"q=%20&x=(~)"):
        assert head_bytes.query_of(b"GET /s?" + query + lines) == query
    for data in (
        b"",
        b"GET /s?",
        lines,
        b"GET /s?q=a" + lines[:-2],
        b"GET /s?q=a" + lines + b"\r\n",
        b"GET /s?q=a HTTP/1.1\r\n\r\nGET /s?q=b" + lines,
        b"GET /s?q=a b" + lines,
        b"GET /s?q=a#b" + lines,
        b"GET /s?q=\xc3\xa9" + lines,
        b"GET /s?q=\x00" + lines,
        b"GET /t?q=a" + lines,
        b"get /s?q=a" + lines,
        b"GET /s?q=a" + lines.replace(b"Host: a", b"Host: b"),
        b"GET /s?q=a" + lines.replace(b"HTTP/1.1", b"HTTP/1.0"),
    ):
        assert head_bytes.query_of(data) is None
    for data in (
        b"GET /s?q=b" + lines,
        b"GET /s?q=a" + lines * 2,
        b"GET /s?q=a" + lines[:-2],
        b"GET /s?q=a" + lines + b"GET /s?q=a" + lines,
        b"GET /s?q=a HTTP/1.1\nHost: a\n\nGET /s?q=a" + lines,
        b"POST /s?q=a" + lines,
        b"\r\nGET /s?q=a" + lines,
    ):
        assert HeadBytes.of_request(data, address, head) is None


def test_a_connection_closes_after_its_last_request(quick: Service) -> None:
    data = request(NEEDLE, OWNER)
    exchange_shortly(quick, data)
    earlier = quick.server.config.timeout_keep_alive
    quick.server.config.timeout_keep_alive = 1
    try:
        with connect(quick) as connection:
            begin_s = time.monotonic()
            while time.monotonic() - begin_s < 1.5:
                connection.sendall(data)
                assert read_answer(connection).startswith(b"HTTP/1.1 200 OK")
                time.sleep(0.05)
            last_s = time.monotonic()
            assert connection.recv(1) == b""
            assert 0.5 < time.monotonic() - last_s < BOUND_S
    finally:
        quick.server.config.timeout_keep_alive = earlier


def test_a_request_in_pieces_is_answered(quick: Service, reference: Service) -> None:
    data = request(NEEDLE, OWNER)
    exchange(quick, data)
    with connect(quick) as connection:
        for byte in range(0, len(data), 7):
            connection.sendall(data[byte : byte + 7])
            time.sleep(0.001)
        assert without_varying(read_answer(connection)) == without_varying(exchange(reference, data))


def test_a_client_that_leaves_harms_nobody(quick: Service) -> None:
    for _ in range(20):
        connection = connect(quick)
        connection.sendall(request(NEEDLE, OWNER))
        connection.close()
    assert exchange(quick, request(NEEDLE, OWNER)).startswith(b"HTTP/1.1 200 OK")


class AtOnce(ScriptedEngine):
    """Answers small searches in the thread of the event loop."""

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> list[Event] | None:  # type: ignore[override]
        del viewer
        if request.query == "broken":
            raise RuntimeError("some fault")
        return [Alert("small"), Done()] if request.query == "small" else None


def play(request: SearchRequest, _: Viewer, cancellation: Cancellation) -> Iterator[Event]:
    yield Progress(done=False, match_count=0, duration_ms=1)
    while request.query == "long" and not cancellation.stopped:
        time.sleep(0.01)
    yield Done()


def test_limits_of_an_account_apply(state: State) -> None:
    with running(
        AtOnce(play), state=state, limits=StreamLimits(streams_per_account=1), change_shortcut=Recorder
    ) as service:
        small = request(address("small"), OWNER)
        exchange(service, small)
        assert b"small" in exchange(service, small)
        assert service.app.state.shortcut.answers[-1]
        with connect(service) as connection:
            connection.sendall(request(address("long"), OWNER))
            assert connection.recv(1 << 16)
            assert exchange(service, small).startswith(b"HTTP/1.1 429 ")
        bound = time.monotonic() + BOUND_S
        while service.app.state.search.running and time.monotonic() < bound:
            time.sleep(0.01)
        service.app.state.search.stop()
        assert exchange(service, small).startswith(b"HTTP/1.1 503 ")


def test_a_fault_of_the_engine_is_answered_with_its_number(state: State, caplog: pytest.LogCaptureFixture) -> None:
    with running(AtOnce(play), Settings(), state=state, change_shortcut=Recorder) as service:
        broken = request(address("broken"), OWNER)
        exchange(service, broken)
        answer = exchange(service, broken)
        assert service.app.state.shortcut.answers[-1]
    number = re.search(rb"internal error, id ([0-9a-f]{12})", answer)
    assert number is not None
    assert b"some fault" not in answer
    assert number[1].decode() in caplog.text


def test_a_search_that_is_not_small_is_asked_for_once(state: State) -> None:
    queries = []

    class Counting(AtOnce):
        def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> list[Event] | None:  # type: ignore[override]
            queries.append(request.query)
            return super().answer_at_once(request, viewer)

    with running(Counting(play), state=state, change_shortcut=Recorder) as service:
        exchange(service, request(address("other"), OWNER))  # its host is new
        queries.clear()
        assert b"event: done" in exchange(service, request(address("other"), OWNER))
        assert queries == ["other"]
        # The same after a request that the shortcut answered.
        small = request(address("small"), OWNER)
        assert b"event: done" in ask_again(service, small, request(address("other"), OWNER))
    assert queries == ["other", "small", "other"]
