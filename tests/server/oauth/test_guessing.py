"""Attacks by guessing: at the same time, in several processes, from many addresses of one network."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import httpx2
import pytest
from starlette.requests import Request

from server.loopback_tls import TLS
from server.oauth.flow import Flow
from server.running_service import Service
from sourcelight.repos.state import AttemptLimit, State
from sourcelight.server.oauth.forms import BoundedQueue, Overloaded, network_of

GUESSES = 60


def test_sixty_guesses_at_once_try_as_many_as_the_limit_says(service: Service, state: State) -> None:
    """They were counted after the work: all sixty were tried before the first one counted."""
    del state
    flow = Flow(service.url)
    with flow.browser:
        page = flow.browser.get("/.auth/sign-in")
        start = threading.Barrier(GUESSES)

        def guess(number: int) -> int:
            with httpx2.Client(
                base_url=service.url, timeout=30, trust_env=False, cookies=flow.browser.cookies, verify=TLS
            ) as client:
                guess_flow = Flow(service.url)
                guess_flow.browser.close()
                guess_flow.browser = client
                start.wait(30)
                return guess_flow.sign_in(page, "ann", f"wrong password {number}").status_code

        with ThreadPoolExecutor(GUESSES) as pool:
            statuses = list(pool.map(guess, range(GUESSES)))
        assert sorted(statuses) == [403] * 5 + [429] * (GUESSES - 5)
        assert flow.sign_in(page, "ann").status_code == 429


def test_a_right_password_is_not_counted(flow: Flow) -> None:
    page = flow.browser.get("/.auth/sign-in")
    for number in range(4):
        assert flow.sign_in(page, "ann", f"wrong password {number}").status_code == 403
    for _ in range(8):
        assert flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann").status_code == 303
        flow.browser.cookies.delete("sourcelight-session", path="/.auth")
    for number in range(5):
        page = flow.browser.get("/.auth/sign-in")
        assert flow.sign_in(page, "ann", f"wrong password {number}").status_code == 403, "the count began anew"


def test_who_is_kept_out_by_the_guesses_of_others_signs_in_with_a_token(flow: Flow, state: State) -> None:
    page = flow.browser.get("/.auth/sign-in")
    for number in range(6):
        last = flow.sign_in(page, "ann", f"wrong password {number}")
    assert last.status_code == 429
    _, secret = state.tokens.create("ann", ("user:all",))
    assert flow.sign_in(page, "ann", secret).status_code == 303


_PROCESS = """
import sys
from sourcelight.repos.state import AttemptLimit, State
with State(sys.argv[1]) as state:
    sys.stdin.readline()
    limits = [AttemptLimit("sign-in", "ann", 5, 300), AttemptLimit("sign-in by address", "x", 20, 300)]
    print(sum(state.attempts.admit(limits).is_granted for _ in range(15)))
"""


def test_several_processes_count_together(tmp_path: Path) -> None:
    """Each worker of a service counted for itself: four of them let four times as many guesses through."""
    path = tmp_path / "state.sqlite"
    State(str(path)).close()
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", _PROCESS, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        for _ in range(4)
    ]
    granted = 0
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.write("\n")
        worker.stdin.flush()
    for worker in workers:
        output, _ = worker.communicate(timeout=60)
        granted += int(output)
    assert granted == 5


def test_what_was_typed_as_a_name_is_not_kept(tmp_path: Path) -> None:
    """People type their password there."""
    path = tmp_path / "state.sqlite"
    with State(str(path)) as state:
        assert state.attempts.admit([AttemptLimit("sign-in", "my secret password", 5, 300)]).is_granted
    assert all(b"my secret password" not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_limit_admits_at_least_one_attempt() -> None:
    with pytest.raises(ValueError, match="sign-in: limit must be at least 1, got 0"):
        AttemptLimit("sign-in", "ann", 0, 300)


def test_attempts_end_with_their_window_and_are_withdrawn() -> None:
    now = 1000.0
    with State(clock=lambda: now) as state:
        limit = AttemptLimit("sign-in", "ann", 2, 300)
        first, second = state.attempts.admit([limit]), state.attempts.admit([limit])
        refused = state.attempts.admit([limit])
        assert (first.is_granted, second.is_granted, refused.is_granted) == (True, True, False)
        assert refused.wait_s == 300
        state.attempts.withdraw(first)
        assert state.attempts.admit([limit]).is_granted
        now += 301
        assert state.attempts.admit([limit]).is_granted
        assert state.database.first_row("SELECT count(*) FROM attempts") == (1,), "what is over is deleted"


@pytest.mark.parametrize(
    ("address", "network"),
    [
        ("192.0.2.7", "192.0.2.7"),
        ("::ffff:192.0.2.7", "192.0.2.7"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("::1", "::/64"),
        ("not an address", "not an address"),
    ],
)
def test_one_user_of_ipv6_has_one_address(address: str, network: str) -> None:
    assert network_of(Request({"type": "http", "client": (address, 1), "headers": []})) == network


def test_no_more_passwords_wait_to_be_checked_than_may() -> None:
    """Each takes 16 MiB: what waits is bounded, and told so at once."""
    release = threading.Event()
    events: list[str] = []

    async def work(queue: BoundedQueue) -> None:
        async def guess_once() -> None:
            try:
                await queue.run(lambda: release.wait(30))
                events.append("done")
            except Overloaded:
                events.append("refused")
                if events.count("refused") == 5:
                    release.set()

        async with anyio.create_task_group() as group:
            for _ in range(9):
                group.start_soon(guess_once)

    anyio.run(work, BoundedQueue(1, 3))
    assert sorted(events) == ["done"] * 4 + ["refused"] * 5
