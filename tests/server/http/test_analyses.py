"""Analyses over HTTP: who may ask, what is sent, and how a call ends."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import orjson
import pytest

import sourcelight as sl
from server.loopback_tls import TLS
from server.running_service import BOUND_S, TOKEN, Service, running
from sourcelight.backends.embedded import open_engine
from sourcelight.client.portal import call
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.tools import answer_stream
from sourcelight.core.tools.blame import BLAME, BlameArguments
from sourcelight.core.tools.catalog import analysis_tools, table_of
from sourcelight.core.wire.sse import SseDecoder
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import Handler, ToolContext, register
from sourcelight.engines.tools.registry import handler_of
from sourcelight.repos import ServicePolicy
from sourcelight.repos.state import State
from sourcelight.server.http.settings import Settings
from sourcelight.testing import make_repo

OPEN, SECRET = "git.example.org/acme/web", "git.example.org/acme/payments"
SETTINGS = f'[repositories."{SECRET}"]\nprivate = true\n[repositories."{OPEN}"]\nprivate = false\n'
BLAME_PATH = "/.api/analyses/blame"


class World:
    """A public and a private repository, and an engine over both."""

    def __init__(self, folder: Path, state: State) -> None:
        for name, origin in (("web", OPEN), ("pay", SECRET)):
            make_repo(folder / name, {"a.txt": "one\ntwo\n"}, origin=f"https://{origin}.git")
        (folder / "repos.toml").write_text(SETTINGS)
        self.state = state
        self.account = self.ann = ""
        self.engine: LocalEngine = open_engine(
            [folder], index=folder / "index", policy=ServicePolicy(state.repositories, "", ())
        )


@pytest.fixture(scope="module")
def one_world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with State() as state:
        world = World(tmp_path_factory.mktemp("analyses"), state)
        yield world
        world.engine.close()


@pytest.fixture
def world(one_world: World) -> World:
    """The world with a new account, Ann's."""
    one_world.account = f"ann-{secrets.token_hex(4)}"
    one_world.state.accounts.create(one_world.account)
    one_world.ann = one_world.state.tokens.create(one_world.account)[1]
    return one_world


@pytest.fixture
def blame() -> Iterator[Callable[[Callable[[ToolContext], ToolResult]], None]]:
    """Lets a test say what a blame does."""
    before = handler_of(BLAME)

    def put(run: Callable[[ToolContext], ToolResult]) -> None:
        def answer(arguments: BlameArguments, context: ToolContext) -> ToolResult:
            del arguments
            return run(context)

        register(Handler(BLAME, answer))

    yield put
    register(before)


def rows(count: int) -> ToolResult:
    return ToolResult("blame_lines", table_of("blame_lines", count, line=["x" * 40] * count))


def post(service: Service, repo: str, token: str = TOKEN, name: str = "blame", **arguments: Any) -> httpx2.Response:
    headers = {"Authorization": f"token {token}"} if token else {}
    with httpx2.Client(base_url=service.url, headers=headers, timeout=BOUND_S, trust_env=False, verify=TLS) as client:
        return client.post(f"/.api/analyses/{name}", json={"repo": repo, "path": "a.txt"} | arguments)


def events(response: httpx2.Response) -> list[tuple[str, Any]]:
    """Events of a response, but for progress, which depends on the time that the work takes."""
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/event-stream"
    sent = [(event.name, orjson.loads(event.data)) for event in SseDecoder().feed(response.content)]
    return [event for event in sent if event[0] != "progress"]


def test_the_service_says_which_analyses_it_has(world: World) -> None:
    with running(world.engine, state=world.state) as service:
        description = httpx2.get(service.url + "/.api/sourcelight", trust_env=False, verify=TLS).json()
        assert description == {
            "service": "sourcelight",
            "analyses": list(analysis_tools()),
            "takesScope": ["deepsearch"],
        }
    with running(world.engine, Settings(analyses_enabled=False), state=world.state) as service:
        assert httpx2.get(service.url + "/.api/sourcelight", trust_env=False, verify=TLS).json()["analyses"] == []
        assert post(service, OPEN).status_code == 404


def test_a_private_repository_is_as_one_that_does_not_exist(world: World) -> None:
    with running(world.engine, state=world.state) as service:
        assert [name for name, _ in events(post(service, SECRET))] == ["rows", "done"]
        ((name, hidden),) = events(post(service, SECRET, world.ann))
        ((_, absent),) = events(post(service, "git.example.org/acme/nothing", world.ann))
        assert name == "error"
        assert hidden["type"] == absent["type"] == "RepositoryNotFound"
        assert set(hidden["facts"]["near"]) <= {OPEN}
        world.state.grants.add(
            SECRET,
            account=world.account,
            canonical_path=next(r.canonical_path for r in world.engine.catalog.repositories if r.name == SECRET),
        )
        assert [name for name, _ in events(post(service, SECRET, world.ann))] == ["rows", "done"]


def test_analyses_of_all_repositories_leave_out_what_is_private(world: World) -> None:
    def repositories(service: Service, token: str) -> set[str]:
        with sl.connect(service.url, token) as code:
            return set(code.churn(by="repository")["repository"])

    with running(world.engine, state=world.state) as service:
        assert repositories(service, world.ann) == {OPEN}
        assert repositories(service, TOKEN) == {OPEN, SECRET}


@pytest.mark.parametrize("token", ["", "slt_wrong"])
def test_a_call_needs_a_credential(world: World, token: str) -> None:
    with running(world.engine, state=world.state) as service:
        assert post(service, OPEN, token).status_code == 401


def test_a_cookie_is_no_credential_here(world: World) -> None:
    with running(world.engine, state=world.state) as service:
        cookie = {"Cookie": f"sourcelight_reader={world.ann}; session={world.ann}"}
        body = {"repo": OPEN, "path": "a.txt"}
        assert (
            httpx2.post(service.url + BLAME_PATH, json=body, headers=cookie, trust_env=False, verify=TLS).status_code
            == 401
        )


def test_anonymous_readers_of_a_public_service_see_what_is_public(world: World) -> None:
    with running(world.engine, Settings(auth_public=True), state=world.state) as service:
        assert [name for name, _ in events(post(service, OPEN, ""))] == ["rows", "done"]
        assert events(post(service, SECRET, ""))[0][1]["type"] == "RepositoryNotFound"


@pytest.mark.parametrize("name", ["keyword_search", "deepsearch_list", "read_file", "absent", "..%2fsourcelight"])
def test_other_tools_are_no_analyses(world: World, name: str) -> None:
    with running(world.engine, state=world.state) as service:
        assert post(service, OPEN, name=name).status_code == 404


def test_a_body_that_is_no_object_or_too_large_is_refused(world: World) -> None:
    with running(world.engine, state=world.state) as service:
        assert service.client.post(BLAME_PATH, content=b"[1]").status_code == 400
        assert service.client.post(BLAME_PATH, data={"repo": OPEN}).status_code == 400
        assert service.client.post(BLAME_PATH, content=b" " * (1 << 20) + b"{}").status_code == 413


def test_an_unforeseen_error_names_no_path_of_the_service(world: World, blame: Any) -> None:
    def fail(context: ToolContext) -> ToolResult:
        raise OSError(f"/srv/secret/{context.viewer.name}: broken")

    blame(fail)
    with running(world.engine, state=world.state) as service:
        ((name, error),) = events(post(service, OPEN))
        assert name == "error"
        assert error["type"] == "ToolError"
        assert "internal error, id" in error["message"]
        assert "/srv" not in str(error)


def test_more_rows_than_the_service_sends_are_cut_and_the_answer_is_limited(
    world: World, blame: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    blame(lambda _: rows(50_000))
    monkeypatch.setattr(answer_stream.limit_answer, "__defaults__", (30_000, 1 << 30))
    with running(world.engine, state=world.state) as service, sl.connect(service.url, TOKEN) as code:
        with pytest.warns(sl.IncompleteResultWarning, match="first 30,000 of 50,000 rows"):
            frame = code.blame(OPEN, "a.txt")
        assert len(frame) == 30_000
        assert frame.attrs["status"] == "limited"


def test_progress_arrives_while_the_service_works(world: World, blame: Any) -> None:
    seen = threading.Event()

    def work(context: ToolContext) -> ToolResult:
        assert context.observer is not None
        context.observer(ToolProgress("blaming", 3, 7, "a.txt"))
        assert seen.wait(BOUND_S)
        return rows(2)

    blame(work)
    events: list[ToolProgress] = []

    def observe(progress: ToolProgress) -> None:
        events.append(progress)
        seen.set()

    with running(world.engine, state=world.state) as service, sl.connect(service.url, TOKEN) as code:
        answer = call(code.backend.call, "blame", {"repo": OPEN, "path": "a.txt"}, observe)
    assert answer.table.num_rows == 2
    assert events == [ToolProgress("blaming", 3, 7, "a.txt")]


def until_stopped(context: ToolContext, began: threading.Event, stopped: threading.Event) -> ToolResult:
    began.set()
    deadline = time.monotonic() + BOUND_S
    while time.monotonic() < deadline:
        if context.cancellation.cancelled:
            stopped.set()
            context.cancellation.check()
        time.sleep(0.005)
    return rows(1)


def test_a_caller_who_hangs_up_stops_the_work(world: World, blame: Any) -> None:
    began, stopped = threading.Event(), threading.Event()
    blame(lambda context: until_stopped(context, began, stopped))
    with running(world.engine, state=world.state) as service:
        with service.client.stream("POST", BLAME_PATH, json={"repo": OPEN, "path": "a.txt"}):
            assert began.wait(BOUND_S)
        assert stopped.wait(BOUND_S)


def test_a_call_that_takes_too_long_is_stopped_and_says_so(world: World, blame: Any) -> None:
    began, stopped = threading.Event(), threading.Event()
    blame(lambda context: until_stopped(context, began, stopped))
    with running(world.engine, Settings(max_analysis_s=1), state=world.state) as service:
        with (
            sl.connect(service.url, TOKEN) as code,
            pytest.raises(sl.ToolError, match="stopped after 1 s, the limit of this service"),
        ):
            code.blame(OPEN, "a.txt")
        assert stopped.is_set()


def test_a_service_that_stops_ends_its_calls(world: World, blame: Any) -> None:
    began, stopped = threading.Event(), threading.Event()
    blame(lambda context: until_stopped(context, began, stopped))
    with running(world.engine, state=world.state) as service:
        with service.client.stream("POST", BLAME_PATH, json={"repo": OPEN, "path": "a.txt"}) as response:
            assert began.wait(BOUND_S)
            service.stop()
            assert b"the service stopped the call" in response.read()
        assert stopped.is_set()


def test_who_loses_access_during_a_call_gets_no_answer(world: World, blame: Any) -> None:
    def work(context: ToolContext) -> ToolResult:
        del context
        world.state.accounts.delete(world.account)
        return rows(1)

    blame(work)
    with running(world.engine, state=world.state) as service:
        ((name, error),) = events(post(service, OPEN, world.ann))
        assert name == "error"
        assert "your access has ended" in error["message"]


def test_who_loses_access_while_rows_are_sent_gets_no_more(world: World, blame: Any) -> None:
    blame(lambda _: rows(600_000))
    headers = {"Authorization": f"token {world.ann}", "Accept-Encoding": "identity"}
    with (
        running(world.engine, state=world.state) as service,
        httpx2.Client(base_url=service.url, headers=headers, timeout=BOUND_S, trust_env=False, verify=TLS) as client,
        client.stream("POST", BLAME_PATH, json={"repo": OPEN, "path": "a.txt"}) as response,
    ):
        # More than all buffers on the way hold, so that most portions are sent after the account is gone.
        portions = response.iter_raw(1 << 16)
        sent = next(portions)
        world.state.accounts.delete(world.account)
        sent += b"".join(portions)
    assert b"your access has ended" in sent[-500:]
    assert b"event: done" not in sent


def test_one_account_leaves_places_for_others(world: World, blame: Any) -> None:
    release = threading.Event()

    def work(context: ToolContext) -> ToolResult:
        if context.viewer.name == world.account:
            assert release.wait(BOUND_S)
        return rows(1)

    blame(work)
    with running(world.engine, state=world.state) as service:
        threads = [threading.Thread(target=post, args=(service, OPEN, world.ann)) for _ in range(20)]
        for thread in threads:
            thread.start()
        try:
            assert [name for name, _ in events(post(service, OPEN))] == ["rows", "done"]
        finally:
            release.set()
            for thread in threads:
                thread.join(BOUND_S)
