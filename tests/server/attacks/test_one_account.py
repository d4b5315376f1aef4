"""Attacks by one account that has a right to be there: it asks for much, and reads nothing."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import urlsplit

import httpx2
import pytest

from server.loopback_tls import TLS
from server.running_service import BOUND_S, TOKEN, ScriptedEngine, Service, running
from sourcelight.core.batches import Event
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.deepsearch.conversations.workers import FairExecutor
from sourcelight.repos import Viewer
from sourcelight.repos.state import State
from sourcelight.server.http.stream import StreamLimits
from sourcelight.server.identity import FairQueue, Principal, QueueFull

PATH = "/.api/search/stream"


def _much(request: SearchRequest, viewer: Viewer, cancellation: Cancellation) -> Iterator[Event]:
    """More than any buffer holds, unless a short answer is asked for."""
    del viewer
    yield Progress(done=False, match_count=0, duration_ms=1)
    if request.query == "much":
        while not cancellation.stopped:
            yield Alert("x" * 100_000)
    yield Progress(done=True, match_count=0, duration_ms=1)
    yield Done()


@pytest.fixture
def state() -> Iterator[State]:
    with State() as state:
        state.accounts.create("mallory")
        state.accounts.create("ann")
        yield state


def token_of(state: State, account: str) -> str:
    return state.tokens.create(account, ("user:all",))[1]


def ask(service: Service, token: str, query: str) -> socket.socket:
    location = urlsplit(service.url)
    connection = socket.create_connection((str(location.hostname), int(location.port or 0)), timeout=BOUND_S)
    head = f"GET {PATH}?q={query} HTTP/1.1\r\nHost: localhost\r\nAuthorization: token {token}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def _all_of(connection: socket.socket) -> bytes:
    """Read a stream to its end."""
    text = b""
    while b"event: done" not in text[-200:]:
        portion = connection.recv(1 << 20)
        assert portion, "the stream has its end"
        text += portion
    return text


@pytest.mark.clock
def test_an_account_that_reads_nothing_keeps_nobody_out(state: State) -> None:
    """It held every search of the service for two minutes each."""
    engine = ScriptedEngine(_much)
    limits = StreamLimits(searches=4, searches_per_account=3, streams_per_account=12, unread_s=0.4, queue_s=3.0)
    with running(engine, state=state, limits=limits) as service, contextlib.ExitStack() as stack:
        mallory, ann = token_of(state, "mallory"), token_of(state, "ann")
        for _ in range(12):
            stack.enter_context(ask(service, mallory, "much"))
        for _ in range(5):
            began = time.monotonic()
            with httpx2.Client(base_url=service.url, trust_env=False, timeout=BOUND_S, verify=TLS) as client:
                answer = client.get(PATH, params={"q": "short"}, headers={"Authorization": f"token {ann}"})
            assert answer.status_code == 200
            assert "event: done" in answer.text
            assert time.monotonic() - began < 2.0
        refused = httpx2.get(
            service.url + PATH,
            params={"q": "x"},
            headers={"Authorization": f"token {mallory}"},
            trust_env=False,
            verify=TLS,
        )
        assert refused.status_code == 429
        bound = time.monotonic() + BOUND_S * 2
        while service.app.state.search.running and time.monotonic() < bound:
            time.sleep(0.05)
        assert service.app.state.search.running == 0, "the engine is free although all connections are open"


def test_what_was_found_before_the_engine_was_freed_can_be_read(state: State) -> None:
    engine = ScriptedEngine(_much)
    with running(engine, state=state, limits=StreamLimits(unread_s=0.3)) as service:
        with ask(service, token_of(state, "ann"), "much") as connection:
            assert engine.released.wait(BOUND_S)
            text = _all_of(connection)
        assert text.count(b"event: alert") > 40, "4 MiB were there to be taken"
        assert b"read nothing for 0.3 s" in text
        assert b'"kind":"error"' in text


class _AtOnce(ScriptedEngine):
    """Answers small searches in the thread of the event loop."""

    def answer_at_once(self, request: SearchRequest, viewer: Viewer) -> list[Event] | None:  # type: ignore[override]
        del viewer
        return [Alert("secret"), Done()] if request.query == "small" else None


def test_a_small_answer_ends_when_access_does_while_it_waits(state: State) -> None:
    """It was checked when the request came, and then waited for a place among the searches."""
    may_end = threading.Event()

    def script(request: SearchRequest, _: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        while request.query == "long" and not (may_end.is_set() or cancellation.stopped):
            time.sleep(0.01)
        yield Done()

    token, secret = state.tokens.create("ann", ("user:all",))
    other = token_of(state, "mallory")
    with running(_AtOnce(script), state=state, limits=StreamLimits(searches=1)) as service:
        with ask(service, secret, "small") as connection:
            assert b"secret" in _all_of(connection)
        with ask(service, other, "long") as first:
            first.recv(1 << 16)
            with ask(service, secret, "small") as second:
                time.sleep(0.1)
                state.tokens.revoke(token.id)
                may_end.set()
                text = _all_of(second)
    assert b"secret" not in text
    assert b"your access has ended" in text


@pytest.mark.parametrize("change", ["account", "token", "grant", "roles"])
def test_a_stream_ends_when_access_does(state: State, change: str) -> None:
    """The search went on to its end for an account that was gone."""
    changed = threading.Event()
    sent_after: list[int] = []

    def script(_: SearchRequest, __: Viewer, cancellation: Cancellation) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        assert changed.wait(BOUND_S)
        for number in range(200):
            if cancellation.stopped:
                return
            sent_after.append(number)
            yield Alert(f"secret {number}")
            time.sleep(0.02)
        yield Done()

    state.grants.add("example.org/private", account="ann")
    state.roles.assign("Site Administrator", "ann")
    if change == "grant":
        state.roles.unassign("Site Administrator", "ann")
    token, secret = state.tokens.create("ann", ("user:all",))
    headers = {"Authorization": f"token {secret}", "Accept-Encoding": "identity"}
    with (
        running(ScriptedEngine(script), state=state) as service,
        httpx2.Client(base_url=service.url, headers=headers, trust_env=False, timeout=BOUND_S, verify=TLS) as client,
        client.stream("GET", PATH, params={"q": "x"}) as answer,
    ):
        portions = answer.iter_raw()
        text = next(portions)
        if change == "account":
            state.accounts.delete("ann")
        elif change == "token":
            state.tokens.revoke(token.id)
        elif change == "grant":
            state.grants.remove("example.org/private", account="ann")
        else:
            state.roles.unassign("Site Administrator", "ann")
        # What was checked a moment before is not checked again.
        time.sleep(0.05)
        changed.set()
        for portion in portions:
            text += portion
    assert b"secret" not in text
    assert b"your access has ended or changed" in text
    assert text.rstrip().endswith(b"event: done\ndata: {}")
    assert len(sent_after) < 100


def test_a_stream_goes_on_when_others_change(state: State) -> None:
    going = threading.Event()

    def script(*_: object) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        assert going.wait(BOUND_S)
        yield Alert("found")
        yield Done()

    headers = {"Authorization": f"token {token_of(state, 'ann')}", "Accept-Encoding": "identity"}
    with (
        running(ScriptedEngine(script), state=state) as service,
        httpx2.Client(base_url=service.url, headers=headers, trust_env=False, timeout=BOUND_S, verify=TLS) as client,
        client.stream("GET", PATH, params={"q": "x"}) as answer,
    ):
        portions = answer.iter_raw()
        text = next(portions)
        state.accounts.delete("mallory")
        state.grants.add("example.org/private", account="ann")
        going.set()
        assert b"found" in text + b"".join(portions)


def test_slots_go_to_accounts_in_turn() -> None:
    """An account with a hundred searches waiting is before nobody who has one."""

    async def work() -> list[str]:
        queue, order = FairQueue(1, 1, 100), list[str]()
        await queue.acquire("first")

        async def ask_as(account: str) -> None:
            async with queue.slot(account, 5.0):
                order.append(account)

        tasks = [asyncio.create_task(ask_as("mallory")) for _ in range(100)]
        await asyncio.sleep(0)
        tasks += [asyncio.create_task(ask_as("ann")), asyncio.create_task(ask_as("bob"))]
        await asyncio.sleep(0)
        queue.release("first")
        await asyncio.gather(*tasks)
        assert queue.running == 0
        return order

    with asyncio.Runner() as runner:
        order = runner.run(work())
    assert set(order[:4]) == {"mallory", "ann", "bob"}
    assert len(order) == 102


def test_who_waits_too_long_or_leaves_takes_no_slot() -> None:
    async def work() -> None:
        queue = FairQueue(2, 1, 1)
        await queue.acquire("ann")
        with pytest.raises(QueueFull):
            await queue.acquire("ann", 0.01)
        waits = asyncio.create_task(queue.acquire("ann"))
        await asyncio.sleep(0)
        with pytest.raises(QueueFull):
            await queue.acquire("ann", 5.0)
        await queue.acquire("bob", 0)
        waits.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waits
        queue.release("ann")
        assert queue.running == 1
        await queue.acquire("ann", 0)

    with asyncio.Runner() as runner:
        runner.run(work())


def test_questions_of_one_account_wait_for_each_other_and_for_nobody_elses() -> None:
    release, order, guard = threading.Event(), list[str](), threading.Lock()

    def work(account: str) -> None:
        with guard:
            order.append(account)
        release.wait(BOUND_S)

    executor = FairExecutor(4, "test")
    for _ in range(10):
        executor.submit("mallory", lambda: work("mallory"))
    executor.submit("ann", lambda: work("ann"))
    bound = time.monotonic() + BOUND_S
    while "ann" not in order and time.monotonic() < bound:
        time.sleep(0.01)
    assert sorted(order) == ["ann", "mallory", "mallory"]
    release.set()
    while len(order) < 11 and time.monotonic() < bound:
        time.sleep(0.01)
    executor.shutdown()
    assert len(order) == 11


def test_the_owner_is_one_account_too() -> None:
    """The limit is by account, not by token: of the owner's, too."""
    limits = StreamLimits(streams_per_account=1)
    with running(ScriptedEngine(_much), limits=limits) as service, ask(service, TOKEN, "much") as connection:
        assert connection.recv(1000)
        assert service.search("x").status_code == 429


def test_many_searches_at_once_of_one_account_all_get_their_turn(state: State) -> None:
    limits = StreamLimits(searches=2, searches_per_account=1, queue_s=BOUND_S)
    with running(ScriptedEngine(_much), state=state, limits=limits) as service, ThreadPoolExecutor(12) as pool:
        headers = {"Authorization": f"token {token_of(state, 'ann')}", "Accept-Encoding": "identity"}

        def search(_: int) -> int:
            return httpx2.get(
                service.url + PATH, params={"q": "short"}, headers=headers, trust_env=False, timeout=BOUND_S, verify=TLS
            ).status_code

        assert set(pool.map(search, range(24))) == {200}


def test_access_to_a_place_that_is_taken_back_ends_streams() -> None:
    """Grants of a service with repositories of its own are to places: a stream went on when one was taken back."""
    then = Principal("ann", Viewer("ann", sees_private=False, canonical_paths=frozenset({"/srv/a", "/srv/b"})))
    now = Principal("ann", Viewer("ann", sees_private=False, canonical_paths=frozenset({"/srv/a"})))
    assert then.covers(now)
    assert not now.covers(then)
