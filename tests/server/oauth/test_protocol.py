"""The authorization server as clients see it."""

from __future__ import annotations

import base64
import dataclasses
import re
from typing import Any
from urllib.parse import parse_qsl

import httpx2
import pytest

from server.oauth.flow import CALLBACK, OAUTH, PASSWORD, VERIFIER, Clock, Flow
from server.running_service import ScriptedEngine, running
from sourcelight.repos.state import State
from sourcelight.server.http.settings import Settings
from sourcelight.server.identity import WRONG_TOKEN, Authenticator, Principal

SECRET_OF_NOBODY = "slr_nothing-that-was-ever-given-to-anyone"


def test_a_client_registers_asks_is_allowed_and_uses_the_mcp_endpoints_alone(flow: Flow) -> None:
    client = flow.client()
    page = flow.follow(flow.ask(client))
    page = flow.follow(flow.sign_in(page, "ann"))
    assert "Allow Lamp reader to use your account?" in page.text
    answer = flow.answer(flow.decide(page))
    assert answer.keys() == {"code", "state", "iss"}
    assert (answer["state"], answer["iss"]) == ("mark of the client", flow.url)
    tokens = flow.exchange(client, answer["code"], resource=f"{flow.url}/.api/mcp")
    assert tokens.headers["cache-control"] == "no-store"
    body = tokens.json()
    assert body.keys() == {"access_token", "token_type", "expires_in", "scope", "refresh_token"}
    assert (body["token_type"], body["expires_in"], body["scope"]) == ("Bearer", 3600, "mcp")
    assert flow.mcp_status(body["access_token"]) == 200
    assert flow.search_status(body["access_token"]) == 401


def test_a_user_who_denies_sends_the_client_back_with_that(flow: Flow) -> None:
    page = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client())), "ann"))
    answer = flow.answer(flow.decide(page, "deny"))
    assert (answer["error"], answer["state"], answer["iss"]) == ("access_denied", "mark of the client", flow.url)
    assert "code" not in answer


@pytest.mark.parametrize("rest", ["", "/.api/mcp", "/.api/mcp/deepsearch"])
@pytest.mark.parametrize("name", ["oauth-authorization-server", "openid-configuration"])
def test_the_metadata_say_what_is_served(flow: Flow, name: str, rest: str) -> None:
    answer = flow.browser.get(f"/.well-known/{name}{rest}")
    body = answer.json()
    assert answer.headers["access-control-allow-origin"] == "*"
    assert body["issuer"] == flow.url
    assert body["code_challenge_methods_supported"] == ["S256"]
    assert "none" in body["token_endpoint_auth_methods_supported"]
    assert body["registration_endpoint"] == f"{flow.url}/.auth/idp/oauth/register"
    assert body["authorization_response_iss_parameter_supported"] is True
    for key in ("authorization_endpoint", "token_endpoint", "revocation_endpoint"):
        assert body[key].startswith(f"{flow.url}{OAUTH}/")


@pytest.mark.parametrize("path", ["", "/.api/mcp", "/.api/mcp/v1", "/.api/mcp/all", "/.api/mcp/deepsearch"])
def test_each_endpoint_names_its_authorization_server(flow: Flow, path: str) -> None:
    body = flow.browser.get(f"/.well-known/oauth-protected-resource{path}").json()
    assert body["authorization_servers"] == [flow.url]
    assert body["resource"] == f"{flow.url}{path or '/.api/mcp'}"
    assert body["scopes_supported"] == ["mcp", "user:all"]


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        ({"scope": "user:all"}, "invalid_client_metadata"),
        ({"scope": "openid offline_access"}, "invalid_client_metadata"),
        ({"redirect_uris": ["javascript:alert(1)"]}, "invalid_redirect_uri"),
        ({"redirect_uris": ["http://app.example/cb"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [CALLBACK, "https://app.example/#x"]}, "invalid_redirect_uri"),
        ({"redirect_uris": [f"https://app.example/{n}" for n in range(11)]}, "invalid_redirect_uri"),
        ({"redirect_uris": []}, "invalid_client_metadata"),
        ({"redirect_uris": None}, "invalid_client_metadata"),
        ({"grant_types": ["client_credentials"]}, "invalid_client_metadata"),
        ({"grant_types": ["refresh_token"]}, "invalid_client_metadata"),
        ({"response_types": ["code", "token"]}, "invalid_client_metadata"),
        ({"token_endpoint_auth_method": "private_key_jwt"}, "invalid_client_metadata"),
        ({"client_name": "n" * 201}, "invalid_client_metadata"),
    ],
)
def test_a_registration_out_of_bounds_is_refused(flow: Flow, extra: dict[str, Any], error: str) -> None:
    answer = flow.register(**extra)
    assert (answer.status_code, answer.json()["error"]) == (400, error)


def test_a_registration_is_narrowed_and_told_what_it_got(flow: Flow) -> None:
    requests = {"scope": "mcp user:all openid offline_access vendor.words", "grant_types": [
        "authorization_code", "refresh_token", "client_credentials", "urn:ietf:params:oauth:grant-type:device_code",
    ]}  # fmt: skip
    answer = flow.register(**requests)
    body = answer.json()
    assert answer.status_code == 201
    assert (body["scope"], sorted(body["grant_types"])) == ("mcp", ["authorization_code", "refresh_token"])
    tokens = flow.tokens(body["client_id"], "ann", scope="mcp openid offline_access user:all")
    assert tokens["scope"] == "mcp"
    assert flow.search_status(tokens["access_token"]) == 401
    renewal = flow.refresh(body["client_id"], tokens["refresh_token"], scope="mcp offline_access").json()
    assert renewal["scope"] == "mcp"


def test_a_client_that_names_no_method_authenticates_by_basic(flow: Flow) -> None:
    body = flow.register(token_endpoint_auth_method=None).json()
    assert body["token_endpoint_auth_method"] == "client_secret_basic"
    form = {"grant_type": "authorization_code", "code": flow.code(body["client_id"], "ann"),
            "code_verifier": VERIFIER, "redirect_uri": CALLBACK}  # fmt: skip
    answer = flow.browser.post(f"{OAUTH}/token", data=form, auth=(body["client_id"], body["client_secret"]))
    assert answer.status_code == 200


def test_error_descriptions_have_only_allowed_characters(flow: Flow) -> None:
    allowed = re.compile(r"[\x20\x21\x23-\x5b\x5d-\x7e]*")
    answers = [flow.register(redirect_uris=['"x"']), flow.register(response_types=["é\n"]), flow.register(scope='"\\')]
    for answer in answers:
        assert allowed.fullmatch(answer.json()["error_description"])
    location = flow.ask(flow.client(), response_type='t"o\nken').headers["location"]
    assert allowed.fullmatch(dict(parse_qsl(location.partition("?")[2]))["error_description"])


def test_every_scope_is_in_the_metadata_and_pages_may_ask_first(flow: Flow) -> None:
    for document in ("oauth-authorization-server", "openid-configuration", "oauth-protected-resource"):
        address = f"/.well-known/{document}"
        assert flow.browser.get(address).json()["scopes_supported"] == ["mcp", "user:all"]
        preflight = flow.browser.options(address, headers={"Origin": "https://chat.example"})
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (204, "*")


def test_a_registration_that_is_no_json_is_refused(flow: Flow) -> None:
    answer = flow.browser.post(f"{OAUTH}/register", content=b"{")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_client_metadata")
    assert flow.browser.post(f"{OAUTH}/register", content=b" " * 70_000).status_code == 413
    assert flow.browser.get(f"{OAUTH}/register").status_code == 405


def test_a_registered_client_with_a_secret_needs_it_and_only_its_hash_is_kept(flow: Flow, state: State) -> None:
    body = flow.register(token_endpoint_auth_method="client_secret_basic").json()
    client, secret = body["client_id"], body["client_secret"]
    with state.database.read() as connection:
        assert secret not in "\n".join(connection.iterdump())
    code = flow.code(client, "ann")
    assert flow.exchange(client, code).status_code == 401
    assert flow.exchange(client, code, client_secret="wrong").status_code == 401
    basic = base64.b64encode(f"{client}:{secret}".encode()).decode()
    form = {"grant_type": "authorization_code", "code": code, "code_verifier": VERIFIER, "redirect_uri": CALLBACK}
    wrong = flow.browser.post(f"{OAUTH}/token", data=form, auth=(client, "wrong"))
    assert (wrong.status_code, wrong.json()["error"]) == (401, "invalid_client")
    assert wrong.headers["www-authenticate"].startswith("Basic")
    answer = flow.browser.post(f"{OAUTH}/token", data=form, headers={"Authorization": f"Basic {basic}"})
    assert answer.status_code == 200


@pytest.mark.parametrize(
    "off", [{"mcp_enabled": False}, {"dynamic_client_registration": False}], ids=lambda o: next(iter(o))
)
def test_without_registration_it_is_not_found_and_what_it_gave_ends(
    flow: Flow, state: State, off: dict[str, bool]
) -> None:
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    fixed, _ = state.clients.create("Bridge", [CALLBACK])
    fixed_tokens = flow.tokens(fixed.id, "ann")
    settings = dataclasses.replace(Settings(), **off)  # type: ignore[arg-type]
    with running(ScriptedEngine(lambda *_: iter(())), settings, state=state) as other:
        later = Flow(other.url)
        answer = later.register()
        assert (answer.status_code, answer.text) == (404, "not found\n")
        assert later.browser.get(f"{OAUTH}/register").status_code == 404
        assert "registration_endpoint" not in later.browser.get("/.well-known/oauth-authorization-server").json()
        assert later.ask(client).status_code == 400
        assert later.refresh(client, tokens["refresh_token"]).status_code == 401
        if off.get("mcp_enabled", True):
            assert later.ask(fixed.id).status_code == 302
            assert later.refresh(fixed.id, fixed_tokens["refresh_token"]).status_code == 200
        else:
            assert later.mcp_status(fixed_tokens["access_token"]) == 404
        later.browser.close()
    strict = Authenticator(state, dynamic_clients=False)
    headers = {"host": flow.url.removeprefix("http://"), "authorization": f"Bearer {tokens['access_token']}"}
    assert strict.for_mcp(headers) == WRONG_TOKEN
    assert isinstance(Authenticator(state).for_mcp(headers), Principal)


@pytest.mark.parametrize(
    ("extra", "error"),
    [
        ({"code_challenge": None, "code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": None}, "invalid_request"),
        ({"code_challenge_method": "plain"}, "invalid_request"),
        ({"code_challenge": "short"}, "invalid_request"),
        ({"response_type": "token"}, "unsupported_response_type"),
        ({"response_type": None}, "invalid_request"),
        ({"scope": "user:all"}, "invalid_scope"),
        ({"scope": "openid offline_access"}, "invalid_scope"),
        ({"resource": "https://other.example/.api/mcp"}, "invalid_target"),
        ({"state": "s" * 2001}, "invalid_request"),
    ],
)
def test_a_wrong_question_is_sent_back_to_its_client(flow: Flow, extra: dict[str, Any], error: str) -> None:
    response = flow.ask(flow.client(), **extra)
    assert response.status_code == 302
    assert response.headers["location"].startswith(f"{CALLBACK}?")
    answer = flow.answer(response)
    assert (answer["error"], answer["iss"]) == (error, flow.url)
    assert answer["state"] == extra.get("state", "mark of the client")


@pytest.mark.parametrize(
    "extra",
    [
        {"client_id": "unknown<script>"},
        {"redirect_uri": "https://evil.example/cb"},
        {"redirect_uri": "javascript:alert(1)"},
        {"redirect_uri": "http://127.0.0.1:3334/oauth/callback"},
        {"redirect_uri": CALLBACK + "?more=1"},
    ],
)
def test_a_question_of_an_unsure_origin_is_sent_nowhere(flow: Flow, extra: dict[str, Any]) -> None:
    response = flow.ask(flow.client(), **extra)
    assert response.status_code == 400
    assert "location" not in response.headers
    assert "can&#x27;t continue" in response.text
    assert "<script>" not in response.text


def test_a_repeated_parameter_is_refused(flow: Flow) -> None:
    client = flow.client()
    response = flow.browser.get(f"{OAUTH}/authorize?client_id={client}&client_id=x&redirect_uri={CALLBACK}")
    assert response.status_code == 400


def test_any_port_of_this_machine_is_right(flow: Flow) -> None:
    client = flow.client()
    assert flow.tokens(client, "ann", redirect_uri="http://localhost:51234/oauth/callback")["scope"] == "mcp"


@pytest.mark.parametrize(
    ("extra", "status", "error"),
    [
        ({"code_verifier": "w" * 50}, 400, "invalid_grant"),
        ({"code_verifier": None}, 400, "invalid_request"),
        ({"redirect_uri": "http://localhost:1/oauth/callback"}, 400, "invalid_request"),
        ({"client_id": "unknown"}, 401, "invalid_client"),
        ({"client_id": None}, 401, "invalid_client"),
        ({"grant_type": "password"}, 400, "unsupported_grant_type"),
        ({"grant_type": None}, 400, "invalid_request"),
        ({"code": "slk_wrong"}, 400, "invalid_grant"),
        ({"resource": "https://other.example/.api/mcp"}, 400, "invalid_target"),
    ],
)
def test_a_code_is_good_for_what_it_was_given_for(flow: Flow, extra: dict[str, Any], status: int, error: str) -> None:
    client = flow.client()
    form = {"code": flow.code(client, "ann")} | extra
    answer = flow.exchange(client, **form)
    assert (answer.status_code, answer.json()["error"]) == (status, error)


def test_a_code_of_another_client_is_none(flow: Flow) -> None:
    first, second = flow.client(), flow.client()
    answer = flow.exchange(second, flow.code(first, "ann"))
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_grant")


def test_a_code_is_good_for_a_minute(flow: Flow, clock: Clock) -> None:
    client = flow.client()
    code = flow.code(client, "ann")
    clock.ahead_s += 61
    assert flow.exchange(client, code).json()["error"] == "invalid_grant"


def test_a_code_that_comes_twice_ends_what_the_first_gave(flow: Flow) -> None:
    client = flow.client()
    code = flow.code(client, "ann")
    tokens = flow.exchange(client, code).json()
    assert flow.mcp_status(tokens["access_token"]) == 200
    assert flow.exchange(client, code).json()["error"] == "invalid_grant"
    assert flow.mcp_status(tokens["access_token"]) == 401
    assert flow.refresh(client, tokens["refresh_token"]).status_code == 400


def test_refresh_tokens_rotate_and_one_that_comes_twice_ends_its_family(flow: Flow) -> None:
    client = flow.client()
    first = flow.tokens(client, "ann")
    second = flow.refresh(client, first["refresh_token"]).json()
    assert second["refresh_token"] != first["refresh_token"]
    assert flow.mcp_status(first["access_token"]) == 401
    assert flow.mcp_status(second["access_token"]) == 200
    repeated = flow.refresh(client, first["refresh_token"])
    assert (repeated.status_code, repeated.json()["error"]) == (400, "invalid_grant")
    assert flow.mcp_status(second["access_token"]) == 401
    assert flow.refresh(client, second["refresh_token"]).status_code == 400
    third = flow.tokens(client, "ann")
    assert flow.mcp_status(third["access_token"]) == 200


def test_access_tokens_last_an_hour_and_refresh_tokens_thirty_days(flow: Flow, clock: Clock) -> None:
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    clock.ahead_s += 3600
    assert flow.mcp_status(tokens["access_token"]) == 401
    tokens = flow.refresh(client, tokens["refresh_token"]).json()
    assert flow.mcp_status(tokens["access_token"]) == 200
    clock.ahead_s += 30 * 86400
    assert flow.refresh(client, tokens["refresh_token"]).json()["error"] == "invalid_grant"


def test_a_refresh_may_not_widen_what_was_allowed(flow: Flow) -> None:
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    answer = flow.refresh(client, tokens["refresh_token"], scope="user:all")
    assert (answer.status_code, answer.json()["error"]) == (400, "invalid_scope")


def test_tokens_are_not_refresh_tokens_nor_the_other_way_round(flow: Flow) -> None:
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    assert flow.refresh(client, tokens["access_token"]).status_code == 400
    assert flow.mcp_status(tokens["refresh_token"]) == 401


@pytest.mark.parametrize("kind", ["access_token", "refresh_token"])
def test_a_public_client_revokes_by_either_token(flow: Flow, kind: str) -> None:
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    answer = flow.browser.post(f"{OAUTH}/revoke", data={"token": tokens[kind], "client_id": client})
    assert (answer.status_code, answer.content) == (200, b"")
    assert flow.mcp_status(tokens["access_token"]) == 401
    assert flow.refresh(client, tokens["refresh_token"]).status_code == 400


def test_revoking_says_nothing_of_foreign_and_unknaccount_tokens(flow: Flow) -> None:
    first, second = flow.client(), flow.client()
    tokens = flow.tokens(first, "ann")
    for token in (tokens["access_token"], SECRET_OF_NOBODY):
        answer = flow.browser.post(f"{OAUTH}/revoke", data={"token": token, "client_id": second})
        assert (answer.status_code, answer.content) == (200, b"")
    assert flow.mcp_status(tokens["access_token"]) == 200
    assert flow.browser.post(f"{OAUTH}/revoke", data={"token": "x", "client_id": "unknown"}).status_code == 401
    assert flow.browser.post(f"{OAUTH}/revoke", data={"client_id": first}).status_code == 400


def test_a_client_of_an_administrator_may_have_everything(flow: Flow, state: State) -> None:
    client, secret = state.clients.create("Report", [CALLBACK], scopes=["user:all"], confidential=True)
    code = flow.code(client.id, "ann", scope="user:all")
    tokens = flow.exchange(client.id, code, client_secret=secret).json()
    assert tokens["scope"] == "user:all"
    assert flow.search_status(tokens["access_token"]) == 200
    assert flow.mcp_status(tokens["access_token"]) == 200
    narrow = flow.exchange(client.id, flow.code(client.id, "ann", scope="mcp"), client_secret=secret).json()
    assert narrow["scope"] == "mcp"
    assert flow.search_status(narrow["access_token"]) == 401


def test_deleting_the_client_the_account_or_the_grant_ends_its_tokens(flow: Flow, state: State) -> None:
    state.accounts.create("bob", PASSWORD)
    first, second = flow.client(), flow.client()
    tokens = flow.tokens(first, "ann")
    state.clients.delete(first)
    assert flow.mcp_status(tokens["access_token"]) == 401
    tokens = flow.tokens(second, "ann")
    state.authorizations.end(state.authorizations.all("ann")[-1].id)
    assert flow.mcp_status(tokens["access_token"]) == 401
    flow.browser.cookies.clear()
    tokens = flow.tokens(second, "bob")
    assert flow.mcp_status(tokens["access_token"]) == 200
    state.accounts.delete("bob")
    assert flow.mcp_status(tokens["access_token"]) == 401


def test_too_many_registrations_are_told_to_wait(flow: Flow) -> None:
    answers = [flow.register(redirect_uris=[]) for _ in range(31)]
    assert [answer.status_code for answer in answers[:30]] == [400] * 30
    assert answers[30].status_code == 429
    assert int(answers[30].headers["retry-after"]) > 0


def test_a_browser_application_may_call_from_its_own_page(flow: Flow) -> None:
    for name in ("register", "token", "revoke"):
        answer = flow.browser.options(f"{OAUTH}/{name}", headers={"Origin": "https://app.example"})
        assert answer.status_code == 204
        assert answer.headers["access-control-allow-origin"] == "*"
    answer = flow.browser.options(f"{OAUTH}/authorize", headers={"Origin": "https://app.example"})
    assert answer.status_code == 405


def test_nothing_is_told_of_faults_inside(flow: Flow) -> None:
    for method, path in (("POST", "token"), ("POST", "revoke"), ("GET", "authorize"), ("POST", "authorize")):
        answer: httpx2.Response = flow.browser.request(method, f"{OAUTH}/{path}", content=b"\xff\x00%zz=&=&&")
        assert 400 <= answer.status_code < 500
        assert "Traceback" not in answer.text
