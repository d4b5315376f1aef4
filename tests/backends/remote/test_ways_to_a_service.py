"""What stands between a client and a service: certificates of an authority, and proxies."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from backends.cluster.certificates import certified
from backends.remote.loopback_app import served
from sourcelight.backends.remote import Endpoint, RemoteBackend, resolve_endpoint
from sourcelight.core.batches import Event
from sourcelight.core.errors import ConfigurationError, ConnectFailed
from sourcelight.core.wire import SearchRequest, encode
from sourcelight.core.wire import events as e
from sourcelight.testing.scripted_service import ScriptedReply, ScriptedService

TOKEN = "sgp_do-not-show-me"
EMPTY = encode(e.Progress(done=True, match_count=0, duration_ms=2)) + encode(e.Done())


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "SSL_CERT_FILE", "SSL_CERT_DIR"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return certified(tmp_path_factory.mktemp("tls") / "own")


def search(endpoint: Endpoint | str) -> list[str]:
    """Names of the events of a search."""

    async def work() -> list[Event]:
        backend = RemoteBackend(endpoint, TOKEN, retries=0, connect_timeout_s=5)
        try:
            return [event async for event in backend.stream(SearchRequest("x"))]
        finally:
            await backend.aclose()

    with asyncio.Runner() as runner:
        return [type(event).__name__ for event in runner.run(work())]


def test_a_service_is_trusted_by_the_authorities_of_the_system_or_of_the_environment(
    files: dict[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    tokens: list[str | None] = []

    def answer(request: Request) -> Response:
        tokens.append(request.headers.get("authorization"))
        return Response(EMPTY, media_type="text/event-stream")

    with served(Starlette(routes=[Route("/.api/search/stream", answer)]), tls=files) as url:
        with pytest.raises(ConnectFailed, match="certificate verify failed"):
            search(url)
        monkeypatch.setenv("SSL_CERT_FILE", certified(tmp_path / "other")["ca"])
        with pytest.raises(ConnectFailed, match="certificate verify failed"):
            search(url)
        assert not tokens, "nothing is sent before the certificate is checked"
        monkeypatch.setenv("SSL_CERT_FILE", files["ca"])
        assert search(url) == ["Progress", "Done"]
        assert tokens == [f"token {TOKEN}"]
        with pytest.raises(ConnectFailed):
            search(url.replace("127.0.0.1", "localhost"))  # the certificate is for the address alone
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "missing.pem"))
    with pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        search(url)


def test_a_proxy_of_the_environment_is_asked_for_the_service(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedService(ScriptedReply([EMPTY])) as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        assert search("http://code.example.org") == ["Progress", "Done"]
        (request,) = proxy.received
        assert request.target.startswith("http://code.example.org/.api/search/stream?")
        assert request.headers["authorization"] == f"token {TOKEN}"


def test_a_proxy_of_the_settings_gets_its_password_and_shows_it_nowhere() -> None:
    with ScriptedService(ScriptedReply([EMPTY])) as proxy:
        address = proxy.url.replace("http://", "http://user:hunter2@")
        environ = {"SRC_ENDPOINT": "http://code.example.org", "SRC_PROXY": address}
        endpoint, _ = resolve_endpoint(environ=environ)
        assert search(endpoint) == ["Progress", "Done"]
        assert proxy.received[0].headers["proxy-authorization"] == "Basic dXNlcjpodW50ZXIy"
        assert "hunter2" not in repr(endpoint)
    with pytest.raises(ConnectFailed) as failed:
        search(endpoint)
    assert "hunter2" not in str(failed.value)


def test_a_service_behind_tls_is_reached_through_a_tunnel_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    with ScriptedService(ScriptedReply(status=407, headers={"Content-Type": "text/plain"})) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy.url)
        with pytest.raises(ConnectFailed):
            search("https://code.example.org")
        (request,) = proxy.received
        assert (request.method, request.target) == ("CONNECT", "code.example.org:443")
        assert "authorization" not in request.headers, "the token is for the service"
    assert TOKEN not in str(request)
