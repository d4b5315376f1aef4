"""Signing in by OAuth against a strict authorization server on a loopback port."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import socket
import stat
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

import sourcelight as sl
from backends.remote.loopback_app import served
from backends.remote.scripted_authorization import Authorization, person
from server.loopback_tls import TLS
from sourcelight.backends.remote.sign_in import TokenCache
from sourcelight.backends.remote.sign_in.callback import listening
from sourcelight.backends.remote.sign_in.discovery import discover
from sourcelight.backends.remote.sign_in.tokens import Tokens
from sourcelight.core.errors import SignInFailed


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of its own for each test: tokens are kept there."""
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path))
    return tmp_path


@contextlib.contextmanager
def running(authorization: Authorization) -> Iterator[str]:
    listener = socket.create_server(("127.0.0.1", 0))
    with served(authorization.app(listener), listener) as url:
        yield url


def files(home: Path) -> list[Path]:
    return sorted((home / "sign-in").glob("*.json"))


def test_signing_in_once_is_enough_until_the_tokens_are_revoked(home: Path) -> None:
    server = Authorization()
    seen: list[int] = []
    with running(server) as url:
        with sl.connect(url, sign_in=True, open_browser=person(lambda r: seen.append(r.status_code))) as code:
            assert len(code.search("x").matches) == 0
            assert code.search("x").status == "complete"
        assert seen == [200]
        assert server.clients["client-0"]["scope"] == "mcp"

        def nobody(address: str) -> bool:
            raise AssertionError(address)

        with sl.connect(url, sign_in=True, open_browser=nobody) as code:
            code.search("x")
        (token_file,) = files(home)
        assert stat.S_IMODE(token_file.stat().st_mode) == 0o600
        assert stat.S_IMODE(token_file.parent.stat().st_mode) == 0o700
        sl.sign_out(url)
        assert (files(home), server.refresh) == ([], set())


def test_a_token_that_ends_is_renewed_and_each_refresh_token_used_once() -> None:
    server = Authorization(lasts_s=1)
    with running(server) as url, sl.connect(url, sign_in=True, open_browser=person()) as code:
        for _ in range(3):
            assert code.search("x").status == "complete"
    assert len(server.usage) >= 3
    assert len(set(server.usage)) == len(server.usage)


def test_a_refused_token_is_renewed_by_one_of_many_searches_at_once() -> None:
    server = Authorization()
    with running(server) as url, sl.connect(url, sign_in=True, open_browser=person()) as code:
        server.access.clear()
        results = code.search_many([f"q{k}" for k in range(6)], concurrency=6)
        assert results.status == "complete"
    assert server.usage == ["refresh-1-do-not-show"]


def test_what_another_process_renewed_is_taken_from_the_file(home: Path) -> None:
    server = Authorization()
    with (
        running(server) as url,
        sl.connect(url, sign_in=True, open_browser=person()) as first,
        sl.connect(url, sign_in=True) as second,
    ):
        server.access.clear()
        assert first.search("x").status == "complete"
        assert second.search("x").status == "complete"
    assert server.usage == ["refresh-1-do-not-show"]
    assert len(files(home)) == 1


def test_an_ended_sign_in_says_so_without_a_secret() -> None:
    server = Authorization()
    with running(server) as url:
        with sl.connect(url, sign_in=True, open_browser=person()) as code:
            server.access.clear()
            server.refresh.clear()
            with pytest.raises(SignInFailed, match="sign_in=True again") as caught:
                code.search("x")
            displayed = (
                "".join(traceback.format_exception(caught.value)) + repr(vars(caught.value)) + repr(code.backend)
            )
            assert "do-not-show" not in displayed
        with sl.connect(url, sign_in=True, open_browser=person()) as code:
            assert code.search("x").status == "complete"
    assert server.token_count == 2


def test_a_client_of_an_administrator_asks_for_everything_at_its_own_address(home: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port: int = free.getsockname()[1]
    redirect = f"http://localhost:{port}/oauth/callback"
    server = Authorization(registers=False, clients={"fixed": {"redirect_uris": [redirect]}})
    existing: dict[str, Any] = {"client_id": "fixed", "client_secret": "never-show", "redirect_uri": redirect}
    with running(server) as url:
        with sl.connect(url, sign_in=True, open_browser=person(), **existing) as code:
            assert code.search("x").status == "complete"
            assert "never-show" not in repr(vars(code.backend))
        assert [request["scope"] for request in server.queries] == ["user:all"]
        with socket.create_server(("127.0.0.1", port)):
            sl.sign_out(url, client_id="fixed")
            with pytest.raises(SignInFailed, match="is in use"):
                sl.connect(url, sign_in=True, open_browser=person(), **existing)
    assert files(home) == []


def test_without_a_browser_the_address_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    server = Authorization()
    event = threading.Event()
    address: list[str] = []

    def no_browser(url: str) -> bool:
        address.append(url)
        event.set()
        return False

    def later() -> None:
        assert event.wait(5)
        person()(address[0])

    thread = threading.Thread(target=later)
    with running(server) as url:
        thread.start()
        sl.connect(url, sign_in=True, open_browser=no_browser).close()
        thread.join(5)
    assert f"Open this address to sign in:\n{address[0]}" in capsys.readouterr().out


def test_it_works_inside_a_running_loop_and_awaited() -> None:
    server = Authorization()

    async def cell(url: str) -> None:
        code = sl.connect(url, sign_in=True, open_browser=person())  # blocking, inside the loop
        assert code.search("x").status == "complete"
        code.close()
        await sl.asign_out(url)
        async with await sl.aconnect(url, sign_in=True, open_browser=person()) as awaited:
            assert (await awaited.search("x")).status == "complete"

    with running(server) as url, asyncio.Runner() as runner:
        runner.run(cell(url))


FAULTS: dict[str, tuple[dict[str, Any], str]] = {
    "refused": ({"answers_with": {"code": "", "error": "access_denied"}}, "access_denied"),
    "of another server": ({"answers_with": {"iss": "https://evil.example"}}, "another authorization server"),
    "of a server that hides": ({"answers_with": {"iss": ""}}, "another authorization server"),
    "without registration": ({"registers": False}, "ask an administrator"),
    "without PKCE": ({"metadata": {"code_challenge_methods_supported": ["plain"]}}, "PKCE"),
    "of a false issuer": ({"metadata": {"issuer": "https://evil.example"}}, "identifies itself as"),
    "at an unsafe address": ({"metadata": {"token_endpoint": "http://evil.example/token"}}, "not safe"),
}


@pytest.mark.parametrize("name", FAULTS)
def test_what_nobody_should_trust_is_refused(name: str, home: Path) -> None:
    options, message = FAULTS[name]
    with running(Authorization(**options)) as url, pytest.raises(SignInFailed, match=message):
        sl.connect(url, sign_in=True, open_browser=person(), sign_in_timeout_s=5)
    assert files(home) == []


def test_nobody_signing_in_is_an_error_in_time() -> None:
    with running(Authorization()) as url, pytest.raises(SignInFailed, match=r"within 0\.05 s"):
        sl.connect(url, sign_in=True, open_browser=lambda _: True, sign_in_timeout_s=0.05)


def test_a_service_without_sign_in_says_what_to_do() -> None:
    async def none(url: str) -> None:
        del url

    with asyncio.Runner() as runner, pytest.raises(SignInFailed, match="use an access token"):
        runner.run(discover("https://host", "https://host/.api/mcp", none))


def test_tokens_for_something_else_are_not_asked_for() -> None:
    async def other(url: str) -> Any:
        del url
        return {"resource": "https://elsewhere/.api/mcp", "authorization_servers": ["https://elsewhere"]}

    with asyncio.Runner() as runner, pytest.raises(SignInFailed, match="not for this service"):
        runner.run(discover("https://host", "https://host/.api/mcp", other))


def test_only_the_right_state_is_taken_for_the_answer() -> None:
    async def knock() -> None:
        async with listening("http://127.0.0.1/oauth/callback", "right") as callback:
            async with httpx2.AsyncClient(trust_env=False, verify=TLS) as http:
                for query in ("code=a&state=wrong", "code=a"):
                    assert (await http.get(f"{callback.redirect_uri}?{query}")).status_code == 404
                assert (await http.get(f"{callback.redirect_uri}?code=b&state=right")).status_code == 200
            assert (await callback.answer(1))["code"] == "b"

    with asyncio.Runner() as runner:
        runner.run(knock())


def test_a_damaged_or_foreign_file_counts_as_none(home: Path) -> None:
    cache = TokenCache("https://host")
    assert cache.load() == (None, None)
    (home / "sign-in").mkdir()
    for text in ("", "[]", "{}", json.dumps({"url": "https://other", "client": {"client_id": "x"}}), '{"url": 3}'):
        cache.path.write_text(text)
        assert cache.load() == (None, None)
    assert "host" in repr(cache)


def test_the_lock_of_a_process_that_died_is_broken(home: Path) -> None:
    cache = TokenCache("https://host")
    (home / "sign-in").mkdir()
    lock = cache.path.with_suffix(".lock")
    lock.touch()
    os.utime(lock, (1, 1))

    async def take() -> None:
        async with asyncio.timeout(5), cache.lock():
            assert lock.exists()

    with asyncio.Runner() as runner:
        runner.run(take())
    assert not lock.exists()


def test_a_token_and_a_sign_in_exclude_each_other() -> None:
    with pytest.raises(sl.ConfigurationError, match="exclude each other"):
        sl.connect("http://127.0.0.1:1", "token", sign_in=True)


_METADATA: dict[str, Any] = {
    "issuer": "https://host",
    "authorization_endpoint": "https://host/a",
    "token_endpoint": "https://host/t",
    "code_challenge_methods_supported": ["S256"],
}


@pytest.mark.parametrize(
    ("resource", "changes"),
    [
        ({"authorization_servers": {"a": 1}}, {}),
        ({"authorization_servers": 5}, {}),
        ({"resource": "https://[x"}, {}),
        ({"authorization_servers": ["https://[x"]}, {}),
        ({}, {"code_challenge_methods_supported": 5}),
        ({}, {"token_endpoint": "https://[x"}),
        ({}, {"authorization_endpoint": "https://host/\x1b]52;c;ZXZpbA==\x07"}),
        ({}, {"authorization_endpoint": "https://host/a b"}),
        ({}, {"authorization_endpoint": "javascript:alert(1)"}),
    ],
)
def test_malformed_metadata_of_a_sign_in_is_refused(resource: dict[str, Any], changes: dict[str, Any]) -> None:
    async def get(url: str) -> dict[str, Any] | None:
        return resource if "protected-resource" in url else _METADATA | changes

    with asyncio.Runner() as runner, pytest.raises(SignInFailed) as raised:
        runner.run(discover("https://host", "https://host/.api/mcp", get))
    assert "\x1b" not in str(raised.value)


@pytest.mark.parametrize("lasts", [10**400, float("inf"), float("nan"), True, "3600"])
def test_a_token_of_odd_duration_has_no_known_end(lasts: Any) -> None:
    tokens = Tokens.read({"access_token": "a", "token_type": "bearer", "expires_in": lasts})
    assert tokens.ends_at is None
