"""Sign-in of command-line clients: RFC 8628 as stock clients speak it, and what an attacker would try."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import httpx2
import pytest

from server.oauth.flow import CALLBACK, OAUTH, PASSWORD, Clock, Flow, hidden_fields
from server.running_service import ScriptedEngine, Service, running
from sourcelight.repos.state import State
from sourcelight.repos.state.devices import COMMAND_LINE_CLIENT, DEVICE_CODE_S, INTERVAL_S, MAX_PENDING
from sourcelight.server.http.settings import Settings

GRANT = "urn:ietf:params:oauth:grant-type:device_code"
SCOPES = "email offline_access openid profile user:all"


@pytest.fixture(autouse=True)
def no_codes(state: State, service: Service) -> Iterator[None]:
    del service
    yield
    state.database.change("DELETE FROM device_codes")


def start(flow: Flow, client: str = COMMAND_LINE_CLIENT, scope: str = SCOPES) -> httpx2.Response:
    return flow.browser.post(f"{OAUTH}/device_authorization", data={"client_id": client, "scope": scope})


def started(flow: Flow, **extra: str) -> dict[str, Any]:
    answer = start(flow, **extra)
    assert answer.status_code == 200, answer.text
    value: dict[str, Any] = answer.json()
    return value


def poll(flow: Flow, device_code: str, client: str = COMMAND_LINE_CLIENT) -> httpx2.Response:
    form = {"grant_type": GRANT, "device_code": device_code, "client_id": client}
    return flow.browser.post(f"{OAUTH}/token", data=form)


def error_of(answer: httpx2.Response) -> str:
    assert answer.status_code == 400
    return str(answer.json()["error"])


def open_page(flow: Flow, address: str, name: str = "ann") -> httpx2.Response:
    """The page of an address, after signing in where that is asked."""
    page = flow.follow(flow.browser.get(address))
    return flow.follow(flow.sign_in(page, name, PASSWORD)) if "Sign in to" in page.text else page


def decide(flow: Flow, page: httpx2.Response, decision: str, **extra: str) -> httpx2.Response:
    return flow.browser.post("/.auth/device", data=hidden_fields(page.text) | {"decision": decision} | extra)


def test_a_terminal_gets_tokens_once_its_user_allows_it(flow: Flow) -> None:
    document = flow.browser.get("/.well-known/openid-configuration").json()
    assert document["device_authorization_endpoint"] == f"{flow.url}{OAUTH}/device_authorization"
    assert GRANT in document["grant_types_supported"]
    request = started(flow)
    assert (request["interval"], request["expires_in"]) == (INTERVAL_S, DEVICE_CODE_S)
    assert error_of(poll(flow, request["device_code"])) == "authorization_pending"
    page = open_page(flow, request["verification_uri_complete"])
    assert request["user_code"] in page.text
    assert "Command-line client" in page.text
    assert "signed in" in decide(flow, page, "allow").text
    tokens = poll(flow, request["device_code"]).json()
    assert tokens["scope"] == "user:all"
    assert flow.search_status(tokens["access_token"]) == 200
    renewed = flow.refresh(COMMAND_LINE_CLIENT, tokens["refresh_token"]).json()
    assert flow.search_status(renewed["access_token"]) == 200
    assert error_of(poll(flow, request["device_code"])) == "expired_token"


def test_a_code_can_be_typed_in_any_spelling(flow: Flow) -> None:
    request = started(flow)
    form = open_page(flow, request["verification_uri"])
    assert 'name="user_code"' in form.text
    typed = request["user_code"].lower().replace("-", " ")
    page = flow.browser.get("/.auth/device", params={"user_code": typed})
    decide(flow, page, "allow")
    assert poll(flow, request["device_code"]).status_code == 200


def test_a_denied_request_ends(flow: Flow) -> None:
    request = started(flow)
    decide(flow, open_page(flow, request["verification_uri_complete"]), "deny")
    assert error_of(poll(flow, request["device_code"])) == "access_denied"


def test_opening_a_link_decides_nothing(flow: Flow) -> None:
    request = started(flow)
    page = open_page(flow, request["verification_uri_complete"])
    assert "If someone sent you this link, deny it." in page.text
    assert error_of(poll(flow, request["device_code"])) == "authorization_pending"


def test_forms_of_other_pages_decide_nothing(flow: Flow) -> None:
    request = started(flow)
    page = open_page(flow, request["verification_uri_complete"])
    fields = hidden_fields(page.text) | {"decision": "allow"}
    for headers in ({"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}):
        assert flow.browser.post("/.auth/device", data=fields, headers=headers).status_code == 400
    assert decide(flow, page, "allow", mark="x" * 43).status_code == 400
    other = started(flow)
    assert decide(flow, page, "allow", user_code=other["user_code"]).status_code == 400
    for item in (request, other):
        assert error_of(poll(flow, item["device_code"])) == "authorization_pending"


def test_polling_too_fast_is_slowed_down(flow: Flow, clock: Clock) -> None:
    request = started(flow)
    assert error_of(poll(flow, request["device_code"])) == "authorization_pending"
    assert error_of(poll(flow, request["device_code"])) == "slow_down"
    clock.ahead_s += INTERVAL_S
    assert error_of(poll(flow, request["device_code"])) == "slow_down"
    clock.ahead_s += INTERVAL_S * 3
    assert error_of(poll(flow, request["device_code"])) == "authorization_pending"


def test_a_code_ends_with_its_time(flow: Flow, clock: Clock) -> None:
    request = started(flow)
    page = open_page(flow, request["verification_uri_complete"])
    clock.ahead_s += DEVICE_CODE_S + 1
    assert error_of(poll(flow, request["device_code"])) == "expired_token"
    assert decide(flow, page, "allow").status_code == 404


def test_codes_of_other_clients_are_unknown(flow: Flow, state: State) -> None:
    client, _ = state.clients.create("Other tool", [CALLBACK], scopes=["mcp"])
    request = started(flow, client=client.id, scope="mcp")
    decide(flow, open_page(flow, request["verification_uri_complete"]), "allow")
    assert error_of(poll(flow, request["device_code"], COMMAND_LINE_CLIENT)) == "expired_token"
    assert poll(flow, request["device_code"], client.id).json()["scope"] == "mcp"


def test_clients_that_nobody_vouches_for_are_refused(flow: Flow, state: State) -> None:
    confidential, _ = state.clients.create("Server", [CALLBACK], confidential=True)
    for client in (flow.client(), confidential.id, "unknown", ""):
        assert start(flow, client=client, scope="mcp").status_code == 401
        assert poll(flow, "x", client).status_code in {400, 401}
    narrow, _ = state.clients.create("Narrow", [CALLBACK], scopes=["mcp"])
    assert error_of(start(flow, client=narrow.id, scope="user:all")) == "invalid_scope"


def test_user_codes_can_not_be_guessed(flow: Flow) -> None:
    request = started(flow)
    open_page(flow, request["verification_uri"])
    guesses = [
        flow.browser.get("/.auth/device", params={"user_code": f"BBBB-BBB{letter}"}) for letter in "BCDFGHJKLMNP"
    ]
    assert [answer.status_code for answer in guesses] == [404] * 10 + [429] * 2
    assert flow.browser.get("/.auth/device", params={"user_code": request["user_code"]}).status_code == 429


def test_waiting_sign_ins_are_bounded(flow: Flow, state: State) -> None:
    first = started(flow)
    for _ in range(29):
        started(flow)
    assert start(flow).status_code == 429
    for _ in range(MAX_PENDING - 30):
        state.devices.start(COMMAND_LINE_CLIENT, ["mcp"])
    state.database.change("DELETE FROM attempts")
    assert start(flow).status_code == 503
    assert error_of(poll(flow, first["device_code"])) == "authorization_pending"


def test_a_deleted_account_gets_no_tokens(flow: Flow, state: State) -> None:
    state.accounts.create("leaver", PASSWORD)
    request = started(flow)
    with Flow(flow.url).browser as browser:
        other = Flow(flow.url)
        other.browser = browser
        decide(other, open_page(other, request["verification_uri_complete"], "leaver"), "allow")
    state.accounts.delete("leaver")
    assert error_of(poll(flow, request["device_code"])) == "expired_token"


def test_the_address_of_token_settings_says_how_to_get_one(flow: Flow) -> None:
    for address in ("/user/settings/tokens", "/user/settings/tokens/new/callback?requestFrom=x"):
        page = flow.browser.get(address)
        assert page.status_code == 200
        assert "sourcelight admin token create" in page.text
        style = page.text.split('rel="stylesheet" href="')[1].split('"')[0]
        assert flow.browser.get(str(page.url.join(style))).headers["content-type"].startswith("text/css")


def test_an_operator_can_turn_it_off(state: State) -> None:
    with running(ScriptedEngine(lambda *_: iter(())), Settings(device_sign_in=False), state=state) as service:
        flow = Flow(service.url)
        with flow.browser:
            assert start(flow).status_code == 404
            assert poll(flow, "x").status_code == 401
            document = flow.browser.get("/.well-known/openid-configuration").json()
    assert "device_authorization_endpoint" not in document
    assert GRANT not in document["grant_types_supported"]
