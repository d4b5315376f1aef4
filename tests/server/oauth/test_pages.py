"""The pages: signing in, deciding, signing out, and who may not."""

from __future__ import annotations

import json
import re
from urllib.parse import urljoin

import pytest

from server.oauth.flow import CALLBACK, OAUTH, PASSWORD, Clock, Flow, hidden_fields
from server.running_service import TOKEN
from sourcelight.repos.state import MCP, MCP_ACCESS, USER, State
from sourcelight.server.oauth.forms import PENDING_S


def test_pages_allow_no_script_no_frame_and_no_foreign_form(flow: Flow) -> None:
    sign_in = flow.follow(flow.ask(flow.client()))
    consent = flow.follow(flow.sign_in(sign_in, "ann"))
    for page, forms in ((sign_in, "'self'"), (consent, "'self' http://localhost:3334")):
        policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
        assert policy == {
            "default-src": "'none'",
            "style-src": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
            "form-action": forms,
        }
        assert page.headers["x-frame-options"] == "DENY"
        assert page.headers["cache-control"] == "no-store"
        assert page.headers["x-content-type-options"] == "nosniff"
        assert "<script" not in page.text
        assert " style=" not in page.text
        assert re.search(r"\son\w+=", page.text) is None
        style = flow.browser.get(
            urljoin(str(page.url), re.findall(r'<link rel="stylesheet" href="([^"]+)"', page.text)[0])
        )
        assert (style.status_code, style.headers["content-type"]) == (200, "text/css; charset=utf-8")


def test_every_input_has_a_label_and_every_page_a_language_and_a_title(flow: Flow) -> None:
    page = flow.follow(flow.ask(flow.client()))
    texts = re.findall(r'<input id="(\w+)"', page.text)
    assert texts == ["name", "password"]
    assert re.findall(r'<label for="(\w+)">', page.text) == texts
    assert '<html lang="en">' in page.text
    assert "<title>Sign in" in page.text


def test_what_a_client_says_of_itself_can_not_act_on_the_page(flow: Flow) -> None:
    hostile = '<img src=x onerror=alert(1)>"\u202egnp'
    page = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client(client_name=hostile))), "ann"))
    assert "<img" not in page.text
    assert "\u202e" not in page.text
    assert "registered itself" in page.text


def test_the_client_of_an_administrator_is_not_warned_of(flow: Flow, state: State) -> None:
    client, _ = state.clients.create("Bridge", [CALLBACK])
    page = flow.follow(flow.sign_in(flow.follow(flow.ask(client.id)), "ann"))
    assert "Allow Bridge" in page.text
    assert "registered itself" not in page.text


@pytest.mark.parametrize(
    ("name", "password"),
    [
        ("ann", "wrong password"),
        ("nobody", PASSWORD),
        ("owner", PASSWORD),
        ("ann", TOKEN),
        ("", ""),
        ("ann", "x" * 2000),
    ],
)
def test_a_wrong_password_is_refused_in_one_sentence_whatever_was_wrong(flow: Flow, name: str, password: str) -> None:
    answer = flow.sign_in(flow.browser.get("/.auth/sign-in"), name, password)
    assert answer.status_code == 403
    assert "Wrong account or password." in answer.text
    assert "sourcelight-session" not in answer.headers.get("set-cookie", "")


@pytest.mark.parametrize("path", ["sign-in", "sign-out", "device"])
def test_a_form_of_too_many_fields_is_refused(flow: Flow, path: str) -> None:
    answer = flow.browser.post(f"/.auth/{path}", data={f"field{number}": "1" for number in range(21)})
    assert answer.status_code == 400
    assert "more than 20 fields" in answer.text


def test_the_owner_signs_in_with_the_token_and_anyone_with_their_own(flow: Flow, state: State) -> None:
    assert "Signed in as owner" in flow.follow(flow.sign_in(flow.browser.get("/.auth/sign-in"), "Owner", TOKEN)).text
    flow.browser.cookies.clear()
    token, secret = state.tokens.create("ann")
    assert "Signed in as ann" in flow.follow(flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann", secret)).text
    state.tokens.revoke(token.id)
    assert "Sign in to" in flow.browser.get("/.auth/sign-in").text
    _, narrow = state.tokens.create("ann", (MCP,))
    assert flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann", narrow).status_code == 403


def test_the_token_of_an_oauth_client_signs_no_one_in(flow: Flow, state: State) -> None:
    client, _ = state.clients.create("All", [CALLBACK], scopes=["user:all"])
    tokens = flow.tokens(client.id, "ann", scope="user:all")
    flow.browser.cookies.clear()
    assert flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann", tokens["access_token"]).status_code == 403


def test_guessing_is_slowed_down(flow: Flow) -> None:
    page = flow.browser.get("/.auth/sign-in")
    tries = [flow.sign_in(page, "ann", f"wrong password {n}") for n in range(6)]
    assert [answer.status_code for answer in tries] == [403] * 5 + [429]
    assert int(tries[5].headers["retry-after"]) > 200
    assert flow.sign_in(page, "ann").status_code == 429
    assert flow.sign_in(page, "nobody", "wrong password").status_code == 403


def test_cookies_are_for_these_pages_and_for_no_script(flow: Flow) -> None:
    page = flow.browser.get("/.auth/sign-in")
    assert re.search(r"sourcelight-form=\S+; HttpOnly; Path=/\.auth; SameSite=strict", page.headers["set-cookie"])
    answer = flow.sign_in(page, "ann")
    cookies = answer.headers.get_list("set-cookie")
    assert re.search(r"sourcelight-session=slw_\S+; HttpOnly; Path=/\.auth; SameSite=lax$", cookies[0])
    search = flow.browser.get("/.api/search/stream", params={"q": "x"})
    assert search.status_code == 401


def test_a_session_begins_anew_with_each_sign_in_and_lasts_half_a_day(flow: Flow, state: State, clock: Clock) -> None:
    flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann")
    first = flow.browser.cookies["sourcelight-session"]
    assert "Signed in as ann" in flow.browser.get("/.auth/sign-in").text
    flow.browser.cookies.clear()
    flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann")
    assert flow.browser.cookies["sourcelight-session"] != first
    clock.ahead_s += 12 * 3600
    assert "Sign in to" in flow.browser.get("/.auth/sign-in").text
    assert state.sessions.find(first) is None


def test_a_new_password_ends_sessions(flow: Flow, state: State) -> None:
    flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann")
    state.accounts.set_password("ann", PASSWORD)
    assert "Sign in to" in flow.browser.get("/.auth/sign-in").text


def test_signing_out_ends_the_session_and_keeps_the_question(flow: Flow) -> None:
    consent = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client())), "ann"))
    session = flow.browser.cookies["sourcelight-session"]
    answer = flow.browser.post("/.auth/sign-out", data=hidden_fields(consent.text, 1))
    page = flow.follow(answer)
    assert "Sign in to" in page.text
    assert "Lamp reader" in page.text
    flow.browser.cookies.set("sourcelight-session", session)
    assert "Sign in to" in flow.browser.get("/.auth/sign-in").text


def test_forms_without_their_mark_do_nothing(flow: Flow, state: State) -> None:
    consent = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client())), "ann"))
    before = len(state.authorizations.all())
    good = hidden_fields(consent.text) | {"decision": "allow"}
    for fields in (good | {"mark": ""}, good | {"mark": "x"}, good | {"mark": hidden_fields(consent.text, 1)["mark"]}):
        assert flow.browser.post(f"{OAUTH}/consent", data=fields).status_code == 400
    assert flow.browser.post("/.auth/sign-out", data={"mark": "x"}).status_code == 400
    assert "Signed in as ann" in flow.browser.get("/.auth/sign-in").text
    other = Flow(flow.url)
    with other.browser:
        page = other.browser.get("/.auth/sign-in")
        other.browser.cookies.clear()
        assert other.sign_in(page, "ann").status_code == 400
    assert len(state.authorizations.all()) == before


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
    ids=str,
)
def test_forms_of_foreign_pages_do_nothing(flow: Flow, headers: dict[str, str]) -> None:
    consent = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client())), "ann"))
    fields = hidden_fields(consent.text) | {"decision": "allow"}
    assert flow.browser.post(f"{OAUTH}/consent", data=fields, headers=headers).status_code == 400
    page = flow.browser.get("/.auth/sign-in")
    assert flow.browser.post("/.auth/sign-out", data=hidden_fields(page.text), headers=headers).status_code == 400
    fields = {"name": "ann", "password": PASSWORD, "mark": "x"}
    assert flow.browser.post("/.auth/sign-in", data=fields, headers=headers).status_code == 400


def test_a_question_that_was_changed_or_is_too_old_ends(flow: Flow, clock: Clock) -> None:
    answer = flow.ask(flow.client())
    sealed = answer.headers["location"].partition("=")[2]
    page = flow.follow(flow.sign_in(flow.follow(answer), "ann"))
    for altered in (sealed[:-2] + "xx", "x" + sealed, sealed.partition(".")[0], "", "\u00e4."):
        response = flow.browser.get(f"{OAUTH}/consent", params={"request": altered})
        assert (response.status_code, "location" in response.headers) == (400, False)
    clock.ahead_s += PENDING_S + 1
    assert "expired" in flow.decide(page).text


def test_the_answer_of_one_user_is_not_taken_from_another(flow: Flow, state: State) -> None:
    if "bea" not in {account.name for account in state.accounts.all()}:
        state.accounts.create("bea", PASSWORD)
    page = flow.follow(flow.sign_in(flow.follow(flow.ask(flow.client())), "ann"))
    flow.browser.cookies.clear()
    flow.sign_in(flow.browser.get("/.auth/sign-in"), "bea")
    assert flow.decide(page).status_code == 400


def test_a_user_without_mcp_is_told_so_and_the_endpoints_refuse(flow: Flow, state: State) -> None:
    state.roles.disallow(USER, MCP_ACCESS)
    try:
        client = flow.client()
        page = flow.follow(flow.sign_in(flow.follow(flow.ask(client)), "ann"))
        assert "has no access to the MCP tools" in page.text
        tokens = flow.exchange(client, flow.answer(flow.decide(page))["code"]).json()
        assert flow.mcp_status(tokens["access_token"]) == 403
    finally:
        state.roles.allow(USER, MCP_ACCESS)
    assert flow.mcp_status(tokens["access_token"]) == 200


def test_pages_name_neither_secrets_nor_passwords(flow: Flow, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    client = flow.client()
    tokens = flow.tokens(client, "ann")
    flow.sign_in(flow.browser.get("/.auth/sign-in"), "ann", "a wrong password")
    logged = "\n".join(record.getMessage() for record in caplog.records)
    for secret in (PASSWORD, "a wrong password", *(str(tokens[name]) for name in ("access_token", "refresh_token"))):
        assert secret not in logged
    lines = [json.loads(line) for line in logged.splitlines() if line.startswith("{")]
    assert all("?" not in line["path"] for line in lines)
