"""The SDK's own client signs in, calls, and renews its tokens by itself."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import parse_qs, urlsplit

import anyio
import httpx2
import pytest
from mcp.client import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken
from pydantic import AnyUrl

from server.loopback_tls import TLS
from server.oauth.flow import CALLBACK, Clock, Flow


class Kept:
    """Tokens and client of one application."""

    def __init__(self) -> None:
        self.tokens: OAuthToken | None = None
        self.client: OAuthClientInformationFull | None = None
        self.renewed = 0

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens
        self.renewed += 1

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


class User:
    """Opens the address that the application shows, signs in and allows."""

    def __init__(self, flow: Flow) -> None:
        self._flow = flow
        self._answer: dict[str, str] = {}
        self.addresses: list[str] = []

    async def open(self, address: str) -> None:
        self.addresses.append(address)

        def decide() -> None:
            page = self._flow.follow(self._flow.browser.get(address))
            if "Sign in" in page.text:
                page = self._flow.follow(self._flow.sign_in(page, "ann"))
            self._answer = self._flow.answer(self._flow.decide(page))

        await anyio.to_thread.run_sync(decide)

    async def answer(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(
            code=self._answer["code"], state=self._answer["state"], iss=self._answer.get("iss")
        )


async def _list_tools(url: str, storage: Kept, user: User) -> list[str]:
    metadata = OAuthClientMetadata(
        redirect_uris=[AnyUrl(CALLBACK)], client_name="Notebook", token_endpoint_auth_method="none"
    )
    auth = OAuthClientProvider(url, metadata, storage, user.open, user.answer)
    async with (
        httpx2.AsyncClient(auth=auth, timeout=20, trust_env=False, verify=TLS) as http,
        Client(streamable_http_client(url, http_client=http), mode="legacy") as client,
    ):
        return [tool.name for tool in (await client.list_tools()).tools]


@pytest.mark.parametrize("path", ["/.api/mcp", "/.api/mcp/deepsearch"])
def test_the_client_of_the_sdk_registers_signs_in_and_renews(flow: Flow, clock: Clock, path: str) -> None:
    storage, user = Kept(), User(flow)
    url = f"{flow.url}{path}"
    tools = _run(url, storage, user)
    assert set(tools) >= {"deepsearch"}
    query = parse_qs(urlsplit(user.addresses[0]).query)
    assert query["resource"] == [url]
    assert query["scope"] == ["mcp"]
    assert query["code_challenge_method"] == ["S256"]
    first = storage.tokens
    assert _run(url, storage, user) == tools
    assert (storage.tokens, len(user.addresses)) == (first, 1)
    clock.ahead_s += 3601
    assert _run(url, storage, user) == tools
    assert storage.tokens != first


def _run(url: str, storage: Kept, user: User) -> list[str]:
    results: list[Any] = []

    def work() -> None:
        async def bounded() -> None:
            with anyio.fail_after(30):
                results.extend(await _list_tools(url, storage, user))

        anyio.run(bounded)

    # A thread of its own, so that no loop of a test runner is in the way.
    thread = threading.Thread(target=work)
    thread.start()
    thread.join(40)
    assert results
    return results
