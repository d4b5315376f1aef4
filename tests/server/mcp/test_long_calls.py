"""Calls that take long: they tell how far they are, and stop when nobody waits any more."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
import uvicorn
from mcp.client import Client
from starlette.types import ASGIApp, Receive, Scope, Send

from server.loopback_tls import TLS
from server.mcp.calling import FAMILIES, call_tool, connected, over
from server.mcp.conftest import Served
from server.mcp.test_endpoints import MESSAGE
from server.running_service import BOUND_S, TOKEN, Serve, running
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.errors import Cancelled
from sourcelight.core.tools import tool as definitions
from sourcelight.core.tools.catalog import TOOLS, table_of
from sourcelight.engines.execution import LocalEngine
from sourcelight.engines.tools import Handler, ToolContext, register
from sourcelight.repos import Viewer
from sourcelight.repos.state import MCP, SITE_ADMINISTRATOR, State
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.run import BoundedHttp
from sourcelight.server.mcp.calls import CallIdentity, ToolFailed, ToolRunner
from sourcelight.server.mcp.protocol import make_server, serve_request
from sourcelight.testing import make_repo
from sourcelight.testing.repositories import RepositoryBuilder

WAIT = definitions.Tool(
    "wait",
    definitions.Arguments,
    "file_lines",
    definitions.Scope.CATALOG,
    definitions.McpText("Wait", "Waits."),
)


@dataclass
class Waiting:
    """A tool that works until it is told to stop, or for as many steps as were asked for."""

    steps: int = 0
    begun: threading.Event = field(default_factory=threading.Event)
    stopped: threading.Event = field(default_factory=threading.Event)

    def run(self, _: Any, context: ToolContext) -> ToolResult:
        self.begun.set()
        if not self.steps:
            while not context.cancellation.stopped:
                time.sleep(0.01)
            self.stopped.set()
            context.cancellation.check()
            raise Cancelled("time is over")
        for stage in ("reading", "counting"):
            for step in range(self.steps):
                if context.observer is not None:
                    context.observer(ToolProgress(stage, step, self.steps, "things"))
                time.sleep(0.02)
        return ToolResult("file_lines", table_of("file_lines", 0))

    @property
    def tool(self) -> definitions.Tool[definitions.Arguments]:
        register(Handler(WAIT, self.run, lambda _, __: ({"done": True}, "done\n")))
        return WAIT


@contextmanager
def serving(engine: LocalEngine, waiting: Waiting, timeout_s: float | None = None) -> Iterator[str]:
    """The address of a service with the one tool."""
    server = make_server(
        {"wait": waiting.tool}, ToolRunner(engine, timeout_s=timeout_s), lambda _: CallIdentity(Viewer.owner())
    )

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await serve_request(server, scope, receive, send)

    with serving_app(app) as url:
        yield url


@contextmanager
def serving_app(app: ASGIApp) -> Iterator[str]:
    listener = bind("127.0.0.1", 0)
    server = uvicorn.Server(
        uvicorn.Config(app, http=BoundedHttp, lifespan="off", log_config=None, timeout_graceful_shutdown=3)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        yield address_of(listener)
    finally:
        server.should_exit = True
        thread.join(10)
        listener.close()


@pytest.mark.parametrize("family", FAMILIES)
def test_progress_only_grows(engine: LocalEngine, family: str) -> None:
    seen: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        seen.append((progress, total, message))

    async def work(client: Client) -> Any:
        return await client.call_tool("wait", {}, progress_callback=note)

    with serving(engine, Waiting(steps=10)) as url:
        assert over(url, TOKEN, work, family).structured_content == {"done": True}
    assert len(seen) > 5
    values = [progress for progress, _, _ in seen]
    assert values == sorted(set(values))
    assert all(total is None or total >= progress for progress, total, _ in seen)
    assert seen[-1][2] == "counting 9 of 10 things"


def test_real_work_tells_its_progress(tmp_path: Path, serve: Serve) -> None:
    builder = RepositoryBuilder(tmp_path / "one", origin="https://example.org/a/one.git")
    builder.commit({"a.py": "def lamp():\n    return 1\n"}, "start")
    service = serve(open_engine([tmp_path], index=tmp_path / "index"))
    stages: set[str] = set()

    async def note(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        stages.add(message or "")

    async def work(client: Client) -> Any:
        return await client.call_tool("nls_search", {"query": "lamps"}, progress_callback=note)

    assert not over(f"{service.url}/.api/mcp", TOKEN, work).is_error
    assert any(stage.startswith("reading words") for stage in stages)


def leave_by_closing(url: str, waiting: Waiting) -> None:
    """A reader that goes away while it waits."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
    with (
        httpx2.Client(timeout=10, trust_env=False, verify=TLS) as client,
        client.stream("POST", url, json=call, headers=MESSAGE) as answer,
    ):
        assert answer.status_code == 200
        assert waiting.begun.wait(5)


def leave_by_cancelling(url: str, waiting: Waiting) -> None:
    """The SDK's client, cancelled while it waits."""

    async def main() -> None:
        async with connected(url, TOKEN, "2026-07-28") as client, anyio.create_task_group() as tasks:
            tasks.start_soon(call_tool, client, "wait", {})
            assert await anyio.to_thread.run_sync(waiting.begun.wait, 5)
            tasks.cancel_scope.cancel()

    anyio.run(main)


@pytest.mark.parametrize("leave", [leave_by_closing, leave_by_cancelling])
def test_work_ends_when_its_reader_is_gone(engine: LocalEngine, leave: Callable[[str, Waiting], None]) -> None:
    waiting = Waiting()
    with serving(engine, waiting) as url:
        leave(url, waiting)
        assert waiting.stopped.wait(5)


@pytest.mark.parametrize("family", FAMILIES)
def test_time_is_limited(engine: LocalEngine, family: str) -> None:
    waiting = Waiting()
    with serving(engine, waiting, timeout_s=0.3) as url:
        answer = over(url, TOKEN, lambda client: call_tool(client, "wait", {}), family)
    assert answer.failed
    assert answer.text == "wait: the call was stopped before it had a result; retry"


def test_stopping_ends_calls(engine: LocalEngine) -> None:
    waiting = Waiting()
    calls = ToolRunner(engine)

    async def main() -> Any:
        async with Client(make_server({"wait": waiting.tool}, calls, lambda _: CallIdentity(Viewer.owner()))) as client:
            await client.list_tools()

            async def cancel_later() -> None:
                assert await anyio.to_thread.run_sync(waiting.begun.wait, 5)
                calls.stop()

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(cancel_later)
                return await call_tool(client, "wait", {})

    answer = anyio.run(main)
    assert answer.failed
    assert "stopped before" in answer.text


def test_a_stopping_service_takes_no_new_calls(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine)
    service.app.state.mcp.stop()
    headers = {**MESSAGE, "Authorization": f"token {TOKEN}"}
    answer = service.client.post("/.api/mcp", json={"jsonrpc": "2.0", "id": 1, "method": "ping"}, headers=headers)
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")


def test_many_calls_at_once(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine)

    async def main() -> list[bool]:
        failed: list[bool] = []

        async def call_once(number: int) -> None:
            failed.append((await call_tool(client, "keyword_search", {"query": f"lamp{number % 20:02}"})).failed)

        async with connected(f"{service.url}/.api/mcp", TOKEN) as client, anyio.create_task_group() as tasks:
            for number in range(60):
                tasks.start_soon(call_once, number)
        return failed

    assert anyio.run(main) == [False] * 60


def test_a_queue_has_an_end(engine: LocalEngine) -> None:
    waiting = Waiting()
    calls = ToolRunner(engine, at_once=1, waiting=2)
    events: list[str] = []

    async def call_once() -> None:
        with pytest.raises(ToolFailed) as error:
            await calls.answer(waiting.tool, {}, CallIdentity(Viewer.owner()))
        events.append(str(error.value))
        if "busy" in events[-1]:
            calls.stop()

    async def main() -> None:
        with anyio.fail_after(10):
            async with anyio.create_task_group() as tasks:
                for _ in range(4):
                    tasks.start_soon(call_once)

    anyio.run(main)
    assert events[0] == "wait: the service is busy with 2 waiting calls; retry in a few seconds"
    assert ["stopped before" in text for text in events[1:]] == [True] * 3


@pytest.mark.parametrize(
    ("method", "params", "kind"),
    [
        ("ping", {}, "application/json"),
        ("tools/list", {}, "application/json"),
        ("tools/call", {"name": "read_file", "arguments": {}}, "application/json"),
        ("tools/call", {"name": "sg_list_repos", "arguments": {"query": ""}}, "application/json"),
        ("tools/call", {"name": "read_file", "arguments": {}, "_meta": {"progressToken": 0}}, "text/event-stream"),
        ("tools/call", {"name": "keyword_search", "arguments": {"query": "lamp"}}, "text/event-stream"),
        ("tools/call", {"name": "list_repos", "arguments": {"query": "x" * 70_000}}, "text/event-stream"),
    ],
)
def test_only_what_may_take_long_comes_as_a_stream(
    served: Served, method: str, params: dict[str, Any], kind: str
) -> None:
    message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    headers = MESSAGE | {"Authorization": f"token {TOKEN}"}
    answer = served.service.client.post("/.api/mcp", json=message, headers=headers)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, kind)


def test_a_quick_call_ends_with_its_reader(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    waiting = Waiting()
    tool = replace(waiting.tool, immediate=True)
    monkeypatch.setitem(TOOLS, "wait", tool)
    server = make_server({"wait": tool}, ToolRunner(engine), lambda _: CallIdentity(Viewer.owner()))

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        await serve_request(server, scope, receive, send)

    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "wait", "arguments": {}}}
    with serving_app(app) as url:

        async def main() -> None:
            async with (
                httpx2.AsyncClient(timeout=10, trust_env=False, verify=TLS) as client,
                anyio.create_task_group() as tasks,
            ):
                tasks.start_soon(partial(client.post, url, json=call, headers=MESSAGE))
                assert await anyio.to_thread.run_sync(waiting.begun.wait, 5)
                tasks.cancel_scope.cancel()

        anyio.run(main)
        assert waiting.stopped.wait(5)


@pytest.fixture
def of_ann() -> Iterator[State]:
    with State() as state:
        state.accounts.create("ann")
        yield state


@pytest.mark.parametrize("change", ["account", "token", "roles"])
def test_a_call_that_runs_when_access_ends_gives_no_answer(
    of_ann: State, change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It answered once more, with what the account could see before."""
    begun, changed, state = threading.Event(), threading.Event(), of_ann
    make_repo(tmp_path / "src" / "app", {"a.py": "secret = 1\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    refresh = engine.refresh

    def wait(*arguments: Any) -> None:
        """What a call does first takes its time."""
        begun.set()
        assert changed.wait(BOUND_S)
        refresh(*arguments)

    state.roles.assign(SITE_ADMINISTRATOR, "ann")
    token, secret = state.tokens.create("ann", ("user:all",))
    call = {"name": "keyword_search", "arguments": {"query": "secret"}, "_meta": {"progressToken": 0}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with (
        running(engine, state=state) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=BOUND_S, verify=TLS) as client,
        ThreadPoolExecutor(1) as thread,
    ):
        headers = MESSAGE | {"Authorization": f"token {secret}"}
        assert "a.py" in client.post("/.api/mcp", json=message, headers=headers).text
        monkeypatch.setattr(engine, "refresh", wait)
        answer = thread.submit(client.post, "/.api/mcp", json=message, headers=headers)
        assert begun.wait(BOUND_S)
        if change == "account":
            state.accounts.delete("ann")
        elif change == "token":
            state.tokens.revoke(token.id)
        else:
            state.roles.unassign(SITE_ADMINISTRATOR, "ann")
        changed.set()
        text = answer.result(BOUND_S).text
    assert "your access ended or changed" in text
    assert "a.py" not in text


def test_a_call_keeps_its_answer_when_its_client_renews_the_token(
    of_ann: State, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The renewal ends the token that the call began with, and the call lost its answer."""
    begun, renewed, state = threading.Event(), threading.Event(), of_ann
    make_repo(tmp_path / "src" / "app", {"a.py": "secret = 1\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    refresh = engine.refresh

    def wait(*arguments: Any) -> None:
        begun.set()
        assert renewed.wait(BOUND_S)
        refresh(*arguments)

    state.roles.assign(SITE_ADMINISTRATOR, "ann")
    client, _ = state.clients.create("lamp", ["http://localhost/callback"])
    account = next(account for account in state.accounts.all() if account.name == "ann")
    with state.database.write() as connection:
        pair = state.authorizations.issue(connection, account.id, client.id, (MCP,))
    call = {"name": "keyword_search", "arguments": {"query": "secret"}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    with (
        running(engine, state=state) as service,
        httpx2.Client(base_url=service.url, trust_env=False, timeout=BOUND_S, verify=TLS) as http,
        ThreadPoolExecutor(1) as thread,
    ):
        headers = MESSAGE | {"Authorization": f"Bearer {pair.access}"}
        monkeypatch.setattr(engine, "refresh", wait)
        answer = thread.submit(http.post, "/.api/mcp", json=message, headers=headers)
        assert begun.wait(BOUND_S)
        assert state.authorizations.exchange_refresh_token(pair.refresh, (MCP,)) is not None
        renewed.set()
        assert "a.py" in answer.result(BOUND_S).text
        assert http.post("/.api/mcp", json=message, headers=headers).status_code == 401


def test_what_a_stopped_call_lacks_is_no_internal_error(engine: LocalEngine, caplog: pytest.LogCaptureFixture) -> None:
    """A client closed its pipe, the process ended its threads, and a call that still ran wrote a traceback."""
    begun, is_closed = threading.Event(), threading.Event()

    def use_what_is_closed(_: Any, context: ToolContext) -> ToolResult:
        del context
        begun.set()
        assert is_closed.wait(BOUND_S)
        raise RuntimeError("cannot schedule new futures after interpreter shutdown")

    register(Handler(WAIT, use_what_is_closed, lambda _, __: ({"done": True}, "done\n")))
    calls = ToolRunner(engine)

    async def main() -> str:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(stop)
            with pytest.raises(ToolFailed) as failure:
                await calls.answer(WAIT, {}, CallIdentity(Viewer.owner()))
        return str(failure.value)

    async def stop() -> None:
        assert await anyio.to_thread.run_sync(begun.wait, BOUND_S)
        calls.stop()
        is_closed.set()

    assert anyio.run(main) == "wait: the call was stopped before it had a result; retry"
    assert not caplog.records
