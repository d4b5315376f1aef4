"""Attacks by connections: many that send nothing, or never all of a request, or take nothing of an answer."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import resource
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import httpx2
import pytest

from backends.cluster.processes import CLI, wait_for_line
from server.loopback_tls import TLS
from server.running_service import BOUND_S, TOKEN, ScriptedEngine, running
from sourcelight.core.batches import Event
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.server.http.app import create_app
from sourcelight.server.http.connections import ConnectionLimits, ConnectionRegister
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.run import HttpServer
from sourcelight.server.http.settings import Settings
from sourcelight.testing import RepositoryBuilder

HALF_OPEN = 1_100
DESCRIPTORS = 1_024
MAX_LOG_BYTES = 100_000
STARTS = (
    b"",
    b"GET / HTTP/1.1\r\nHost: loc",
    b"POST /.auth/sign-in HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\nx",
)


@pytest.fixture
def descriptors() -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 4 * HALF_OPEN:
        pytest.skip("this machine allows too few open files for the attack")
    resource.setrlimit(resource.RLIMIT_NOFILE, (4 * HALF_OPEN, hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.fixture
def served(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A service with no more descriptors than most systems give it, and its log."""
    RepositoryBuilder(tmp_path / "src" / "one").commit({"a.txt": "wanderer\n"})
    log = tmp_path / "log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", CLI, "serve", str(tmp_path / "src"), "--port", "0"],
            env={**os.environ, "SOURCELIGHT_OWNER_TOKEN": TOKEN, "SOURCELIGHT_HOME": str(tmp_path / "home")},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (DESCRIPTORS, DESCRIPTORS)),  # noqa: PLW1509 - no threads hold locks here
        )
        try:
            yield wait_for_line(process, r"(https?://\S+)"), log
        finally:
            process.terminate()
            process.wait(20)
            assert process.stdout is not None
            process.stdout.close()


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.usefixtures("descriptors")
def test_eleven_hundred_half_open_connections_keep_nobody_out(served: tuple[str, Path]) -> None:
    """They took every descriptor: no health check was answered, and each accept left a traceback in the log."""
    url, log = served
    location = urlsplit(url)
    client = httpx2.Client(
        base_url=url, headers={"Authorization": f"token {TOKEN}"}, timeout=10, trust_env=False, verify=TLS
    )
    with contextlib.ExitStack() as stack, client:
        for number in range(HALF_OPEN):
            connection = socket.create_connection((str(location.hostname), int(location.port or 0)), timeout=10)
            stack.enter_context(connection)
            with contextlib.suppress(OSError):  # those that waited for longest are closed
                connection.sendall(STARTS[number % len(STARTS)])
            if number % 100 == 99:
                assert httpx2.get(f"{url}/healthz", timeout=10, trust_env=False, verify=TLS).status_code == 200
        began = time.monotonic()
        while time.monotonic() - began < 4:
            assert httpx2.get(f"{url}/healthz", timeout=10, trust_env=False, verify=TLS).status_code == 200
            result = client.get("/.api/search/stream", params={"q": "wanderer"})
            assert result.status_code == 200
            assert "a.txt" in result.text
    text = log.read_text()
    assert "Traceback" not in text
    # What was answered is logged as well, a line each: a fast machine answers more in four seconds.
    failed_lines = [line for line in text.splitlines() if '"status":200' not in line]
    assert sum(map(len, failed_lines)) < MAX_LOG_BYTES
    assert len(re.findall("too many connections", text)) <= 10


@contextlib.contextmanager
def bounded_service(script: object, limits: ConnectionLimits, settings: Settings | None = None) -> Iterator[HttpServer]:
    """A service in this process whose connections are bounded as `limits` says."""
    engine = ScriptedEngine(script)  # type: ignore[arg-type]  # what each test plays
    app = create_app(engine, settings or Settings(), owner_token=TOKEN)
    listener = bind("127.0.0.1", 0)
    server = HttpServer(app, connections=limits)
    server.url = address_of(listener)  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield server
    finally:
        server.should_exit = True
        thread.join(15)
        listener.close()
        assert not thread.is_alive()


def _quiet(*_: object) -> Iterator[Event]:
    yield Progress(done=True, match_count=0, duration_ms=1)
    yield Done()


def _connected(server: HttpServer, buffer_bytes: int = 0) -> socket.socket:
    location = urlsplit(server.url)  # type: ignore[attr-defined]
    connection = socket.socket()
    connection.settimeout(BOUND_S)
    if buffer_bytes:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer_bytes)
    connection.connect((str(location.hostname), int(location.port or 0)))
    return connection


def _closed_within(connection: socket.socket, bound_s: float) -> bool:
    connection.settimeout(bound_s)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


@pytest.mark.clock
@pytest.mark.parametrize("start", STARTS, ids=["nothing", "half a head", "half a body"])
def test_a_request_that_never_ends_is_cut_off(start: bytes) -> None:
    """A byte now and then does not help: the deadline is for the whole."""
    with bounded_service(_quiet, ConnectionLimits(head_s=0.5, body_s=0.5)) as server, _connected(server) as connection:
        connection.sendall(start)
        for _ in range(4):
            time.sleep(0.2)
            with contextlib.suppress(OSError):
                connection.sendall(b"x" if start else b"")
        assert _closed_within(connection, 0.5)


@pytest.mark.clock
def test_a_second_request_on_a_connection_has_its_deadline_too(caplog: pytest.LogCaptureFixture) -> None:
    """One byte ended the time limit of a connection kept alive."""
    with bounded_service(_quiet, ConnectionLimits(head_s=0.5)) as server, _connected(server) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in connection.recv(65536)
        connection.sendall(b"G")
        assert _closed_within(connection, 2.0)
    assert "Traceback" not in caplog.text


@pytest.mark.clock
def test_a_reader_who_takes_no_byte_is_cut_off_and_one_who_takes_some_is_not() -> None:
    """Answers of every kind, not of the stream alone."""

    def script(*_: object) -> Iterator[Event]:
        for _number in range(200):
            yield Alert("x" * 500_000)
        yield Done()

    ask = f"GET /.api/search/stream?q=x HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {TOKEN}\r\n\r\n"
    with bounded_service(script, ConnectionLimits(stall_s=0.6)) as server:
        unread, slow = _connected(server, 65_536), _connected(server, 65_536)
        for connection in (unread, slow):
            connection.sendall(ask.encode())
        data = b""
        began = time.monotonic()
        while time.monotonic() - began < 3.0:
            data += slow.recv(60_000)
            time.sleep(0.1)
        assert len(server.register) == 1, "the other one is closed"
        slow.settimeout(BOUND_S)
        assert slow.recv(1000), "who takes some goes on"
        unread.close()
        slow.close()


class _Connection:
    def __init__(self) -> None:
        self.dropped = False

    def drop(self) -> None:
        self.dropped = True


def test_those_that_wait_for_longest_go_first() -> None:
    register = ConnectionRegister(ConnectionLimits(connections=4, per_address=2, reserve=1), lambda a: a == "proxy")
    first, second, third = _Connection(), _Connection(), _Connection()
    for connection in (first, second, third):
        register.add(connection, "a")
    assert [first.dropped, second.dropped, third.dropped] == [True, False, False]
    behind = [_Connection() for _ in range(4)]
    for connection in behind:
        register.add(connection, "proxy")
    assert [second.dropped, third.dropped] == [True, True], "all in all there may be four"
    assert [connection.dropped for connection in behind] == [False] * 4
    for connection in behind:
        register.work(connection)
    check, beyond = _Connection(), _Connection()
    register.add(check, "b")
    assert register.is_full
    register.add(beyond, "c")
    assert [check.dropped, beyond.dropped] == [True, False], "one is kept for health checks"
    assert len(register) == 5


def test_only_health_is_told_where_all_connections_work() -> None:
    release = threading.Event()

    def script(*_: object) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        release.wait(BOUND_S)
        yield Done()

    with bounded_service(script, ConnectionLimits(connections=2, reserve=2)) as server:
        url = server.url  # type: ignore[attr-defined]
        headers = {"Authorization": f"token {TOKEN}"}
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                client = stack.enter_context(httpx2.Client(base_url=url, headers=headers, trust_env=False, verify=TLS))
                answer = stack.enter_context(client.stream("GET", "/.api/search/stream", params={"q": "x"}))
                assert answer.status_code == 200
            assert httpx2.get(f"{url}/healthz", trust_env=False, verify=TLS).status_code == 200
            assert httpx2.get(f"{url}/", trust_env=False, verify=TLS).status_code == 503
            release.set()


def test_a_proxy_speaks_for_its_readers_and_nobody_else_does() -> None:
    seen: list[str] = []
    for proxies, expected in ((("127.0.0.1/32",), "192.0.2.7"), ((), "127.0.0.1")):
        settings = Settings(trusted_proxies=proxies)
        with running(ScriptedEngine(_quiet), settings) as service:
            _note_clients(seen)
            service.client.get("/healthz", headers={"X-Forwarded-For": "198.51.100.1, 192.0.2.7"})
        assert seen.pop() == expected


def _note_clients(seen: list[str]) -> None:
    class Handler(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            seen.append(str(re.findall('"client":"([^"]*)"', record.getMessage())[0]))

    logger = logging.getLogger("sourcelight.access")
    logger.setLevel("INFO")
    logger.handlers = [Handler()]
