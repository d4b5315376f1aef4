"""From headers to principals."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import pytest

from sourcelight.repos import Viewer
from sourcelight.repos.state import MCP, MCP_ACCESS, USER, USER_ALL, ScryptCost, State
from sourcelight.server.identity import (
    FORBIDDEN,
    MALFORMED,
    NO_CREDENTIAL,
    SUDO,
    WRONG_SCOPE,
    WRONG_TOKEN,
    Authenticator,
    OwnerToken,
    Principal,
    Refusal,
)
from sourcelight.server.identity.authentication import same_service

TOKEN = "slo_a-token-made-up-for-tests"


@dataclass
class Clock:
    now: float = 1_700_000_000.0
    cost: ScryptCost = field(default_factory=lambda: ScryptCost(2, 1, 1))

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> Iterator[State]:
    with State(clock=clock, cost=clock.cost) as state:
        yield state


@pytest.fixture
def authenticator(state: State) -> Authenticator:
    return Authenticator(state, owner=OwnerToken.of(TOKEN))


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


def _headers(token: str) -> dict[str, str]:
    return {"authorization": f"token {token}"}


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (None, ""),
        ("", ""),
        ("   ", ""),
        ("Digest x", ""),
        (TOKEN, ""),
        (f"token {TOKEN}", "owner"),
        (f"Token   {TOKEN}", "owner"),
        (f"Bearer {TOKEN}", "owner"),
        (f"bearer {TOKEN} ", "owner"),
        (_basic(f"{TOKEN}:"), "owner"),
        (_basic(f":{TOKEN}"), "owner"),
        ("token wrong", WRONG_TOKEN),
        ("Bearer wrong", WRONG_TOKEN),
        (_basic("wrong:"), WRONG_TOKEN),
        ("token", MALFORMED),
        ("Bearer ", MALFORMED),
        (f"token {TOKEN} {TOKEN}", MALFORMED),
        ("Basic !!", MALFORMED),
        (f'token-sudo user="x",token="{TOKEN}"', SUDO),
        ("token \udcff", WRONG_TOKEN),
    ],
)
def test_a_header_tells_who_asks(authenticator: Authenticator, header: str | None, expected: str | Refusal) -> None:
    result = authenticator.authenticate({} if header is None else {"authorization": header})
    if isinstance(expected, Refusal):
        assert result == expected
    else:
        assert isinstance(result, Principal)
        assert (result.account, result.is_anonymous) == (expected, not expected)


def test_the_owner_sees_and_may_everything(authenticator: Authenticator) -> None:
    owner = authenticator.authenticate(_headers(TOKEN))
    assert owner == Principal("owner", Viewer.owner(), frozenset({USER_ALL}), frozenset({MCP_ACCESS}), "owner")


def test_anonymous_readers_pass_only_where_the_service_is_public(state: State) -> None:
    private, public = Authenticator(state), Authenticator(state, public=True)
    assert private.for_search({}) == NO_CREDENTIAL
    assert public.for_search({}) == Principal.anonymous()
    assert public.for_search(_headers("wrong")) == WRONG_TOKEN
    assert public.for_mcp({}) == NO_CREDENTIAL


def test_an_mcp_token_is_good_on_the_mcp_endpoints_alone(state: State, authenticator: Authenticator) -> None:
    state.accounts.create("ann")
    _, narrow = state.tokens.create("ann", (MCP,))
    _, wide = state.tokens.create("ann")
    assert authenticator.for_search(_headers(narrow)) == WRONG_SCOPE
    assert isinstance(authenticator.for_mcp(_headers(narrow)), Principal)
    assert isinstance(authenticator.for_search(_headers(wide)), Principal)
    assert isinstance(authenticator.for_mcp(_headers(wide)), Principal)


def test_without_the_permission_mcp_is_forbidden_and_search_is_not(state: State, authenticator: Authenticator) -> None:
    state.accounts.create("ann")
    _, token = state.tokens.create("ann")
    state.roles.disallow(USER, MCP_ACCESS)
    assert authenticator.for_mcp(_headers(token)) == FORBIDDEN
    assert isinstance(authenticator.for_search(_headers(token)), Principal)
    state.roles.create("agents")
    state.roles.allow("agents", MCP_ACCESS)
    state.roles.assign("agents", "ann")
    assert isinstance(authenticator.for_mcp(_headers(token)), Principal)


def test_expired_and_revoked_tokens_are_wrong_tokens(state: State, authenticator: Authenticator, clock: Clock) -> None:
    first, revoked = state.tokens.create("owner")
    _, short = state.tokens.create("owner", lifetime_s=60)
    assert isinstance(authenticator.for_search(_headers(revoked)), Principal)
    assert isinstance(authenticator.for_search(_headers(short)), Principal)
    state.tokens.revoke(first.id)
    clock.now += 60
    assert authenticator.for_search(_headers(revoked)) == WRONG_TOKEN
    assert authenticator.for_search(_headers(short)) == WRONG_TOKEN


@pytest.mark.parametrize("end", ["grant", "account", "role", "registration"])
def test_a_running_request_outlives_its_oauth_token_but_not_its_grant(state: State, clock: Clock, end: str) -> None:
    """Clients renew a token while a call runs that began with it. The call lost its answer."""
    account = state.accounts.create("ann")
    state.roles.create("readers")
    state.grants.add("secret/one", role="readers")
    state.roles.assign("readers", "ann")
    client, _ = state.clients.create("lamp", ["http://localhost/callback"], scopes=(USER_ALL,))
    state.clients.store(replace(client, id="dynamic", dynamic=True))
    authenticator = Authenticator(state)
    with state.database.write() as connection:
        pair = state.authorizations.issue(connection, account.id, "dynamic", (USER_ALL,))
    headers = _headers(pair.access)
    principal = authenticator.for_search(headers)
    assert isinstance(principal, Principal)

    def still(authenticator: Authenticator = authenticator) -> set[bool]:
        return {authenticator.still_searches(headers, principal), authenticator.still_uses_mcp(headers, principal)}

    clock.now += 3601
    assert authenticator.for_search(headers) == WRONG_TOKEN
    assert still() == {True}
    assert state.authorizations.exchange_refresh_token(pair.refresh, (USER_ALL,)) is not None
    assert still() == {True}

    if end == "grant":
        state.authorizations.end(principal.grant)
    elif end == "account":
        state.accounts.delete("ann")
    elif end == "role":
        state.roles.unassign("readers", "ann")
    else:
        authenticator = Authenticator(state, dynamic_clients=False)
    assert still(authenticator) == {False}


def test_a_running_request_ends_with_its_access_token(state: State, authenticator: Authenticator, clock: Clock) -> None:
    """Nobody renews an access token: its end is what an administrator chose."""
    headers = _headers(state.tokens.create("owner", lifetime_s=60)[1])
    principal = authenticator.for_search(headers)
    assert isinstance(principal, Principal)
    assert authenticator.still_searches(headers, principal)
    clock.now += 60
    assert not authenticator.still_searches(headers, principal)
    assert not authenticator.still_uses_mcp(headers, principal)


def test_grants_reach_the_viewer_at_once(state: State, authenticator: Authenticator) -> None:
    state.accounts.create("ann")
    _, token = state.tokens.create("ann")
    headers = _headers(token)

    def granted() -> frozenset[str]:
        result = authenticator.authenticate(headers)
        assert isinstance(result, Principal)
        return result.viewer.granted

    assert granted() == frozenset()
    state.grants.add("secret/one", account="ann")
    state.grants.add("secret/two", role=USER)
    assert granted() == {"secret/one", "secret/two"}
    state.grants.remove("secret/one", account="ann")
    assert granted() == {"secret/two"}


def test_the_tokens_of_a_deleted_account_are_wrong_tokens(state: State, authenticator: Authenticator) -> None:
    state.accounts.create("ann")
    _, token = state.tokens.create("ann")
    assert authenticator.account_token(token) is not None
    state.accounts.delete("ann")
    assert authenticator.authenticate(_headers(token)) == WRONG_TOKEN
    assert authenticator.account_token(token) is None


def test_a_principal_never_holds_its_secret(state: State, authenticator: Authenticator) -> None:
    _, token = state.tokens.create("owner")
    assert token not in repr(authenticator.authenticate(_headers(token)))


@pytest.mark.parametrize(
    ("resource", "base", "same"),
    [
        ("https://code.example/.api/mcp", "https://code.example", True),
        ("https://code.example", "https://code.example", True),
        ("https://code.example/", "https://code.example", True),
        ("https://CODE.example:443/.api/mcp", "https://code.example", True),
        ("https://code.example.evil/.api/mcp", "https://code.example", False),
        ("https://code.example@evil/.api/mcp", "https://code.example", False),
        ("http://code.example/.api/mcp", "https://code.example", False),
        ("https://code.example:444/x", "https://code.example", False),
        ("https://code.example/base/.api/mcp", "https://code.example/base", True),
        ("https://code.example/baser/.api/mcp", "https://code.example/base", False),
        ("https://code.example/.api/mcp#f", "https://code.example", False),
        ("http://localhost:7080/.api/mcp", "//127.0.0.1:7080", True),
        ("http://localhost:7081/.api/mcp", "//127.0.0.1:7080", False),
        ("http://[::1]:7080/.api/mcp", "//localhost:7080", True),
        ("urn:x", "https://code.example", False),
        ("https://code.example:x/", "https://code.example", False),
        ("", "https://code.example", False),
    ],
)
def test_a_resource_belongs_to_this_service_or_not(resource: str, base: str, *, same: bool) -> None:
    assert same_service(resource, base) is same
