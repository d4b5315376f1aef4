"""What stands before the protocol: switches, credentials, methods, origins, sizes."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import httpx2
import pytest
from mcp.client import Client

from server.mcp.calling import call, over
from server.mcp.conftest import Served
from server.running_service import TOKEN, Serve, Service
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos.state import State
from sourcelight.repos.state.credentials import digest_of
from sourcelight.server.http.settings import Settings
from sourcelight.server.mcp.addresses import ENDPOINTS

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
MESSAGE = {"Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2025-11-25"}
METADATA = "/.well-known/oauth-protected-resource"


def post(service: Service, path: str, token: str | None = TOKEN, **options: Any) -> httpx2.Response:
    headers: Mapping[str, str] = MESSAGE | options.pop("headers", {})
    credential = {"Authorization": f"token {token}"} if token is not None else {"Authorization": ""}
    return service.client.post(path, headers={**headers, **credential}, **({"json": PING} | options))


def names(service: Service, path: str) -> set[str]:
    async def work(client: Client) -> set[str]:
        return {tool.name for tool in (await client.list_tools()).tools}

    result: set[str] = over(f"{service.url}{path}", TOKEN, work)
    return result


@pytest.fixture(params=[*ENDPOINTS, "/.api/mcp/", "/.api/mcp/deepsearch/"])
def path(request: pytest.FixtureRequest) -> str:
    result: str = request.param
    return result


def test_each_endpoint_answers(served: Served, path: str) -> None:
    answer = post(served.service, path)
    assert answer.status_code == 200
    assert '"result":{}' in answer.text


@pytest.mark.parametrize(
    ("who", "status", "text", "error"),
    [
        (None, 401, "Private mode requires authentication.\n", ""),
        ("not-a-token", 401, "Invalid access token.\n", "invalid_token"),
        ("revoked", 401, "Invalid access token.\n", "invalid_token"),
        ("two words", 401, "Invalid Authorization header.\n", "invalid_request"),
    ],
)
def test_a_missing_or_wrong_credential_is_challenged(
    served: Served, path: str, who: str | None, status: int, text: str, error: str
) -> None:
    answer = post(served.service, path, served.tokens.get(who, who) if who else None)
    assert (answer.status_code, answer.text) == (status, text)
    challenge = answer.headers["www-authenticate"]
    metadata_url = f"{served.service.url}{METADATA}{path.rstrip('/')}"
    assert challenge.startswith(f'Bearer realm="sourcelight", resource_metadata="{metadata_url}", scope="mcp"')
    assert (f'error="{error}"' in challenge) == bool(error)
    # Methods are not told apart before the credential is right.
    assert served.service.client.get(path, headers={"Authorization": ""}).status_code == 401


@pytest.mark.parametrize("scheme", ["token", "Token", "Bearer", "bearer"])
def test_tokens_of_both_scopes_are_good(served: Served, scheme: str) -> None:
    for who in ("owner", "user", "mcp"):
        headers = {**MESSAGE, "Authorization": f"{scheme} {served.tokens[who]}"}
        assert served.service.client.post("/.api/mcp", headers=headers, json=PING).status_code == 200


def test_without_the_permission_it_is_forbidden(engine: LocalEngine, serve: Serve) -> None:
    with State() as state:
        for name in ("in", "out"):
            state.accounts.create(name)
        tokens = {name: state.tokens.create(name, ["mcp"])[1] for name in ("in", "out")}
        service = serve(engine, state=state)
        assert post(service, "/.api/mcp", tokens["out"]).status_code == 200
        state.roles.disallow("User", "MCP#ACCESS")
        state.roles.create("MCP users")
        state.roles.allow("MCP users", "MCP#ACCESS")
        state.roles.assign("MCP users", "in")
        for path in ENDPOINTS:
            refused = post(service, path, tokens["out"])
            assert (refused.status_code, refused.text.strip()) == (403, "forbidden")
            assert refused.headers["content-type"].startswith("text/plain")
            assert "www-authenticate" not in refused.headers
            assert post(service, path, tokens["in"]).status_code == 200


def test_a_scope_that_does_not_cover_mcp_is_named_in_the_challenge(engine: LocalEngine, serve: Serve) -> None:
    with State() as state:
        state.accounts.create("ann")
        # No token of this release has another scope; one of a later release may.
        assert state.tokens.store("ann", digest_of("slp_later"), ("batch-changes",))
        service = serve(engine, state=state)
        for path in ENDPOINTS:
            refused = post(service, path, "slp_later")
            assert refused.status_code == 403
            challenge = refused.headers["www-authenticate"]
            assert 'scope="mcp"' in challenge
            assert 'error="insufficient_scope"' in challenge
        stream = service.client.get(
            "/.api/search/stream", params={"q": "x"}, headers={"Authorization": "token slp_later"}
        )
        assert (stream.status_code, stream.text) == (401, "Invalid access token.\n")
        assert 'error="insufficient_scope"' in stream.headers["www-authenticate"]


def test_only_messages_by_post_are_taken(served: Served, path: str) -> None:
    for method in ("GET", "DELETE", "PUT", "OPTIONS", "HEAD"):
        answer = served.service.client.request(method, path)
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")


@pytest.mark.parametrize("below", ["x", "v2", "v1/x", "deepsearch/x", "%2e%2e/y"])
def test_other_paths_are_no_routes(served: Served, below: str) -> None:
    answer = post(served.service, f"/.api/mcp/{below}", None)
    assert (answer.status_code, answer.text.strip()) == (404, "no route")


def test_switched_off_there_is_no_route(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine, Settings(mcp_enabled=False))
    for path in (*ENDPOINTS, "/.api/mcp/", "/.api/mcp/x", "/.api/mcp/v1/x/y"):
        for token in (TOKEN, None):
            for answer in (post(service, path, token), service.client.get(path)):
                assert (answer.status_code, answer.text.strip()) == (404, "no route")
    assert service.client.get(f"{METADATA}/.api/mcp").status_code == 404
    assert post(service, "/.api/mcp", content=b"x" * (5 << 20)).status_code == 404


def test_deepsearch_leaves_two_endpoints_alone(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine, Settings(deepsearch_tool_disabled=True))
    for path in ("/.api/mcp", "/.api/mcp/v1"):
        assert "deepsearch" not in names(service, path)
        assert "deepsearch_read" in names(service, path)
    assert names(service, "/.api/mcp/deepsearch") == {"deepsearch", "deepsearch_read"}
    assert "deepsearch" in names(service, "/.api/mcp/all")


def test_disabled_tools_are_nowhere(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine, Settings(mcp_tools_disabled=("read_file", "deepsearch")))
    for path in ENDPOINTS:
        assert not names(service, path) & {"read_file", "deepsearch"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "sg_read_file", "arguments": {}}}
    assert "unknown tool 'sg_read_file'" in post(service, "/.api/mcp", json=call).text


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://localhost:6274", 200),
        ("https://127.0.0.1", 200),
        ("http://[::1]:99", 200),
        ("https://code.example.org", 200),
        ("https://code.example.org:443", 200),
        ("http://code.example.org", 403),
        ("https://code.example.org:8443", 403),
        ("https://code.example.org.evil.test", 403),
        ("https://evil.test", 403),
        ("http://localhost.evil.test", 403),
        ("null", 403),
        ("file://localhost", 403),
        ("http://[", 403),
        ("", 403),
    ],
)
def test_pages_of_other_origins_are_turned_away(engine: LocalEngine, serve: Serve, origin: str, status: int) -> None:
    service = serve(engine, Settings(external_url="https://code.example.org"))
    for host in ("code.example.org", "localhost"):
        assert post(service, "/.api/mcp", headers={"Origin": origin, "Host": host}).status_code == status
    assert post(service, "/.api/mcp", headers={"Host": "evil.test"}).status_code == 421


def test_pages_of_allowed_origins_may_ask_first_and_read_answers(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine, Settings(mcp_allowed_origins=("https://chat.example.com",)))
    page = {"Origin": "https://chat.example.com"}
    for path in ENDPOINTS:
        preflight = service.client.options(path, headers=page | {"Authorization": ""})
        assert preflight.status_code == 204
        assert preflight.headers["access-control-allow-origin"] == page["Origin"]
        assert "mcp-protocol-version" in preflight.headers["access-control-allow-headers"]
        document = service.client.options(f"{METADATA}{path}", headers=page)
        assert (document.status_code, document.headers["access-control-allow-origin"]) == (204, "*")
    answer = post(service, "/.api/mcp", headers=page)
    assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, page["Origin"])
    refused = post(service, "/.api/mcp", None, headers=page)
    assert (refused.status_code, refused.headers["access-control-expose-headers"]) == (
        401,
        "WWW-Authenticate, Mcp-Session-Id",
    )
    for origin in ("https://evil.test", "https://chat.example.com.evil.test", "null"):
        preflight = service.client.options("/.api/mcp", headers={"Origin": origin})
        assert preflight.status_code != 204
        assert "access-control-allow-origin" not in preflight.headers


def test_bodies_have_a_limit(served: Served) -> None:
    assert post(served.service, "/.api/mcp", content=b"x" * (5 << 20)).status_code == 413
    assert post(served.service, "/.api/mcp", content=iter([b"x" * (1 << 20)] * 5)).status_code == 413
    big = PING | {"params": {"_meta": {"note": "x" * (3 << 20)}}}
    assert post(served.service, "/.api/mcp", json=big).status_code == 200


@pytest.mark.parametrize(
    ("headers", "body", "status"),
    [
        ({"Content-Type": "text/plain"}, b"{}", 400),
        ({"Accept": "application/json"}, None, 406),
        ({}, b"{", 400),
        ({}, b"[]", 400),
        ({}, b"\xff", 400),
        ({"MCP-Protocol-Version": "1999-01-01"}, None, 400),
        ({"MCP-Protocol-Version": "2026-07-28"}, None, 400),
    ],
)
def test_what_is_no_message_is_refused(
    served: Served, headers: dict[str, str], body: bytes | None, status: int
) -> None:
    arguments: dict[str, Any] = {"content": body} if body is not None else {"json": PING}
    kind = {"Content-Type": "application/json"}
    assert post(served.service, "/.api/mcp", headers=kind | headers, **arguments).status_code == status


@pytest.mark.parametrize("path", ["", *ENDPOINTS])
def test_each_endpoint_has_its_document(served: Served, path: str) -> None:
    answer = served.service.client.get(f"{METADATA}{path}", headers={"Authorization": ""})
    assert answer.json() == {
        "resource": f"{served.service.url}{path or '/.api/mcp'}",
        "authorization_servers": [served.service.url],
        "scopes_supported": ["mcp", "user:all"],
        "bearer_methods_supported": ["header"],
        "resource_name": "sourcelight",
    }
    assert served.service.client.get(f"{METADATA}/.api/search").status_code == 404
    assert served.service.client.post(f"{METADATA}{path}").status_code == 405


def test_addresses_are_those_of_the_external_url(engine: LocalEngine, serve: Serve) -> None:
    service = serve(engine, Settings(external_url="https://code.example.org/sub"))
    answer = call(f"{service.url}/.api/mcp", TOKEN, "list_repos", {"query": "one"})
    assert answer.content["repos"][0]["url"].startswith("https://code.example.org/sub/example.org/team/one")
    challenge = post(service, "/.api/mcp", None).headers["www-authenticate"]
    assert re.search(r'resource_metadata="https://code\.example\.org/sub/\.well-known/', challenge)


def test_nobody_learns_of_tokens_from_answers(served: Served) -> None:
    answer = post(served.service, "/.api/mcp", "slp_made-up-secret")
    assert "made-up-secret" not in f"{answer.text}{answer.headers}"
