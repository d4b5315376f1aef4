"""A service whose engine opens later: what it answers before, what waits, and how it ends."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from server.loopback_tls import TLS
from server.mcp.calling import connected
from server.running_service import TOKEN
from sourcelight.backends.embedded import open_engine
from sourcelight.core.errors import NoRepositories, SourcelightError
from sourcelight.repos.state import State
from sourcelight.server.http.app import open_app
from sourcelight.server.http.front import Application, create_front
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.run import HttpServer
from sourcelight.server.http.settings import Settings
from sourcelight.server.identity import OwnerToken
from sourcelight.server.mcp.addresses import PREFIX
from sourcelight.server.mcp.opening import EngineOpening, ToolSources
from sourcelight.testing.repositories import RepositoryBuilder

BOUND_S = 30.0
SEARCH = "/.api/search/stream?q=lighthouse"
HEADERS = {"accept": "application/json, text/event-stream", "authorization": f"token {TOKEN}"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "some", "version": "1"}},
}
LIST = {"jsonrpc": "2.0", "id": 2, "method": "tools/list"}


@dataclass
class Slow:
    """A running service whose engine opens when a test says so."""

    url: str
    app: Application
    server: HttpServer
    thread: threading.Thread
    client: httpx2.Client
    go_on: threading.Event = field(default_factory=threading.Event)

    def get(self, path: str, **headers: str) -> httpx2.Response:
        return self.client.get(path, headers=headers)

    def search(self) -> httpx2.Response:
        return self.get(SEARCH, authorization=f"token {TOKEN}")


@contextlib.contextmanager
def starting(folder: Path, failure: Exception | None = None) -> Iterator[Slow]:
    """Run a service over the repositories below `folder`; with `failure`, its engine can't be opened."""
    go_on = threading.Event()
    settings = Settings()

    def open_sources(closers: ExitStack) -> ToolSources:
        assert go_on.wait(BOUND_S)
        if failure is not None:
            raise failure
        engine = open_engine([folder], index=folder.parent / "index")
        closers.callback(engine.close)
        open_app(app, engine, settings, state)
        return ToolSources(engine)

    with (
        State() as state,
        bind("127.0.0.1", 0) as listener,
        contextlib.closing(EngineOpening(open_sources, is_shared=True)) as opening,
    ):
        app = create_front(opening, settings, state=state, is_on_this_machine=True, owner_token=OwnerToken.of(TOKEN))
        server = HttpServer(app, opening=opening)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        url = address_of(listener)
        try:
            with httpx2.Client(base_url=url, timeout=BOUND_S, trust_env=False, verify=TLS) as client:
                yield Slow(url, app, server, thread, client, go_on)
        finally:
            go_on.set()
            server.should_exit = True
            thread.join(BOUND_S)
            assert not thread.is_alive()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("front") / "served"
    RepositoryBuilder(folder / "one").commit({"lamp.py": "light = 'lighthouse'\n"}, "start")
    return folder


def test_first_requests_have_answers_while_the_engine_opens(folder: Path) -> None:
    with starting(folder) as service:
        assert service.get("/healthz").text == "ok\n"
        ready = service.get("/readyz")
        assert (ready.status_code, ready.text) == (503, "starting\n")
        assert service.get("/.api/src-cli/version").status_code == 200
        document = service.get("/.well-known/oauth-authorization-server").json()
        assert document["token_endpoint"].startswith(service.url)
        resource = service.get(f"/.well-known/oauth-protected-resource{PREFIX}").json()
        assert resource["resource"] == f"{service.url}{PREFIX}"
        first = service.client.post(PREFIX, json=INITIALIZE, headers=HEADERS)
        assert first.json()["result"]["serverInfo"]["name"] == "sourcelight"
        tools = service.client.post(PREFIX, json=LIST, headers=HEADERS).json()["result"]["tools"]
        assert "keyword_search" in {tool["name"] for tool in tools}
        assert not service.app.is_open


@pytest.mark.parametrize("token", ["", "token wrong"])
def test_nobody_gets_in_earlier_than_after_the_start(folder: Path, token: str) -> None:
    headers = {"authorization": token} if token else {}
    with starting(folder) as service:

        def answers() -> list[tuple[int, str, str]]:
            responses = [
                service.client.post(PREFIX, json=INITIALIZE, headers=HEADERS | {"authorization": token}),
                service.client.post(PREFIX, json=LIST, headers=HEADERS | {"authorization": token}),
                service.get(SEARCH, **headers),
                service.get("/healthz", host="evil.example"),
            ]
            return [(r.status_code, r.text, r.headers.get("www-authenticate", "")) for r in responses]

        early = answers()
        service.go_on.set()
        assert service.search().status_code == 200
        assert answers() == early
    assert [status for status, *_ in early[:3]] == [401, 401, 401]


def test_an_early_search_waits_and_has_the_whole_answer(folder: Path) -> None:
    with starting(folder) as service, ThreadPoolExecutor(2) as threads:
        search = threads.submit(service.search)
        page = threads.submit(service.get, "/search")
        assert service.get("/readyz").status_code == 503
        assert not search.done()
        assert not page.done()
        service.go_on.set()
        answer = search.result(BOUND_S)
        assert (answer.status_code, page.result(BOUND_S).status_code) == (200, 401)
        assert b"lighthouse" in answer.content
        assert answer.content.endswith(b"event: done\ndata: {}\n\n")
        assert service.get("/readyz").text == "ready\n"


def test_an_early_call_waits_and_tells_its_progress(folder: Path) -> None:
    seen: list[str] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        seen.append(message or "")
        service.go_on.set()

    async def main() -> Any:
        with anyio.fail_after(BOUND_S):
            async with connected(f"{service.url}{PREFIX}", TOKEN, "legacy") as client:
                return await client.call_tool("keyword_search", {"query": "lighthouse"}, progress_callback=note)

    with starting(folder) as service:
        result = anyio.run(main)
    assert "lamp.py" in result.content[0].text
    assert seen[0] == "opening repositories"


def test_a_request_waits_for_a_bounded_time(folder: Path) -> None:
    with starting(folder) as service:
        service.app.wait_s = 0.1
        answer = service.search()
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
        assert answer.text == "The service is starting; retry in a moment.\n"


def test_a_service_that_stops_while_it_opens_ends_what_waits(folder: Path) -> None:
    with starting(folder) as service, ThreadPoolExecutor(1) as threads:
        search = threads.submit(service.search)
        while not service.app.metrics.open:
            service.get("/healthz")
        service.server.should_exit = True
        assert search.result(BOUND_S).status_code == 503
        service.thread.join(BOUND_S)
        assert not service.thread.is_alive()
        assert not service.go_on.is_set()


def test_a_service_that_cannot_open_ends_and_tells_callers_no_path(folder: Path) -> None:
    failure = NoRepositories(["/secret/place"], {})

    async def main() -> Any:
        with anyio.fail_after(BOUND_S):
            async with connected(f"{service.url}{PREFIX}", TOKEN, "legacy") as client:
                return await client.call_tool("keyword_search", {"query": "x"}, progress_callback=note)

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del progress, total, message
        service.go_on.set()

    with starting(folder, failure) as service:
        result = anyio.run(main)
        service.thread.join(BOUND_S)
        assert not service.thread.is_alive()
    assert result.is_error
    assert result.content[0].text == "the service can't open its repositories; its log has the reason"


def test_requests_before_the_engine_are_counted(folder: Path) -> None:
    with starting(folder) as service:
        for _ in range(3):
            service.get("/.api/src-cli/version")
        service.go_on.set()
        assert service.search().status_code == 200
        metrics = service.get("/metrics", authorization=f"token {TOKEN}").text
    assert 'sourcelight_requests_total{method="GET",route="other",status="200"} 3.0' in metrics


def test_a_part_made_while_the_service_stops_is_stopped(folder: Path) -> None:
    class Part:
        stopped = False

        def stop(self) -> None:
            self.stopped = True

    with starting(folder) as service:
        service.app.stop()
        part = Part()
        service.app.add_part(part)
        assert part.stopped


def test_run_raises_why_the_engine_could_not_be_opened(folder: Path) -> None:
    from sourcelight.server.http.run import run

    def fail(_: ExitStack) -> ToolSources:
        raise NoRepositories(["there"], {})

    with State() as state, bind("127.0.0.1", 0) as listener:
        opening = EngineOpening(fail, is_shared=True)
        app = create_front(opening, Settings(), state=state, is_on_this_machine=True)
        with pytest.raises(SourcelightError, match="no repository found below there"):
            run(app, listener, opening)
    assert folder.is_dir()
