"""Accounts, roles, tokens, grants: the rules of who is what."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from sourcelight.core.errors import StateError
from sourcelight.repos.state import MCP, MCP_ACCESS, OWNER, SITE_ADMINISTRATOR, USER, USER_ALL, ScryptCost, State
from sourcelight.repos.state.credentials import password_hash, password_matches

PASSWORD = "correct horse battery"


class Clock:
    """A time that stands still until it is moved."""

    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def state(clock: Clock) -> Iterator[State]:
    with State(clock=clock, cost=ScryptCost(2, 1, 1)) as state:
        yield state


def _may(state: State, name: str) -> frozenset[str]:
    rights = state.rights.for_account(state.accounts.get(name).id)
    assert rights is not None
    return rights.permissions


def test_the_owner_is_there_and_stays(state: State) -> None:
    (owner,) = state.accounts.all()
    assert (owner.name, owner.roles, owner.built_in, owner.has_password) == (OWNER, (SITE_ADMINISTRATOR,), True, False)
    with pytest.raises(StateError, match="built in"):
        state.accounts.delete(OWNER)
    with pytest.raises(StateError, match="owner always"):
        state.roles.unassign(SITE_ADMINISTRATOR, OWNER)


def test_names_are_unique_whatever_their_case(state: State) -> None:
    state.accounts.create("ann")
    state.roles.create("Readers")
    makes: list[Callable[[], object]] = [lambda: state.accounts.create("ANN"), lambda: state.roles.create("readers")]
    for make in makes:
        with pytest.raises(StateError, match="already"):
            make()
    assert state.accounts.get("Ann").name == "ann"


@pytest.mark.parametrize("name", ["", " ann", "a b", "-x", "x" * 65, "a/b", "a\nb", "änn", "<b>"])
def test_unfit_account_names_are_refused(state: State, name: str) -> None:
    with pytest.raises(StateError, match="is invalid"):
        state.accounts.create(name)


def test_the_role_of_everyone_can_be_changed_and_not_given_or_taken(state: State) -> None:
    state.accounts.create("ann")
    assert _may(state, "ann") == {MCP_ACCESS}
    state.roles.disallow(USER, MCP_ACCESS)
    assert _may(state, "ann") == frozenset()
    assert _may(state, OWNER) == {MCP_ACCESS}
    refusals: list[Callable[[], None]] = [
        lambda: state.roles.delete(USER),
        lambda: state.roles.assign(USER, "ann"),
        lambda: state.roles.unassign(USER, "ann"),
        lambda: state.roles.delete(SITE_ADMINISTRATOR),
        lambda: state.roles.disallow(SITE_ADMINISTRATOR, MCP_ACCESS),
        lambda: state.roles.allow("nothing", MCP_ACCESS),
        lambda: state.roles.allow(USER, "REPOS#ALL"),
    ]
    for refused in refusals:
        with pytest.raises(StateError):
            refused()
    state.roles.create("agents")
    state.roles.allow("agents", MCP_ACCESS)
    state.roles.assign("agents", "ann")
    assert _may(state, "ann") == {MCP_ACCESS}
    state.roles.delete("agents")
    assert _may(state, "ann") == frozenset()


def test_an_administrator_may_everything_and_sees_all(state: State) -> None:
    account = state.accounts.create("ann")
    state.roles.disallow(USER, MCP_ACCESS)
    state.roles.assign(SITE_ADMINISTRATOR, "ann")
    rights = state.rights.for_account(account.id)
    assert rights is not None
    assert rights.is_administrator
    assert rights.permissions == {MCP_ACCESS}


def dump_of(state: State) -> str:
    """All that a database holds, as SQL."""
    with state.database.read() as connection:
        return "\n".join(connection.iterdump())


def join_writing() -> None:
    """Wait for the thread that writes the last uses of credentials."""
    for thread in threading.enumerate():
        if thread.name == "sourcelight-last-use":
            thread.join(5)


def test_a_password_is_kept_as_scrypt_and_matches_itself_alone(state: State) -> None:
    state.accounts.create("ann", PASSWORD)
    dump = dump_of(state)
    assert PASSWORD not in dump
    assert "scrypt:2:1:1:" in dump
    assert state.accounts.check_password("ANN", PASSWORD) is not None
    assert state.accounts.check_password("ann", PASSWORD + " ") is None
    assert state.accounts.check_password("ann", "") is None
    assert state.accounts.check_password(OWNER, "") is None
    state.accounts.set_password("ann", "")
    assert state.accounts.check_password("ann", PASSWORD) is None
    with pytest.raises(StateError, match="10 to 1000"):
        state.accounts.set_password("ann", "short")


def test_the_real_cost_is_that_of_the_advice() -> None:
    stored_hash = password_hash(PASSWORD)
    assert stored_hash.startswith("scrypt:16384:8:5:")
    assert password_matches(PASSWORD, stored_hash)
    began = time.perf_counter()
    assert not password_matches(PASSWORD, "")
    absent_s = time.perf_counter() - began
    began = time.perf_counter()
    assert not password_matches("another one", stored_hash)
    assert absent_s > 0.2 * (time.perf_counter() - began)


def test_tokens_are_kept_as_digests_and_listed_without(state: State, clock: Clock) -> None:
    state.accounts.create("ann")
    token, secret = state.tokens.create("ann", [MCP], note="laptop", lifetime_s=3600)
    assert secret.startswith("slp_")
    assert secret not in dump_of(state)
    assert secret not in repr(state.tokens.all())
    assert (token.scopes, token.note, token.expires_at) == ((MCP,), "laptop", clock.now + 3600)
    assert token.state(clock.now) == "active"
    assert token.state(clock.now + 3600) == "expired"
    assert state.tokens.revoke(token.id).state(clock.now) == "revoked"
    for scopes in ([], ["user:none"]):
        with pytest.raises(StateError, match="scope"):
            state.tokens.create("ann", scopes)
    with pytest.raises(StateError, match="doesn't exist"):
        state.tokens.create("bob")
    with pytest.raises(StateError, match="doesn't exist"):
        state.tokens.revoke(99)


def test_the_last_use_is_written_once_in_a_while(state: State, clock: Clock) -> None:
    token, secret = state.tokens.create(OWNER)
    assert token.last_used_at is None
    for _ in range(3):
        result = state.credentials.find(secret)
        assert result is not None
        assert result.scopes == {USER_ALL}
    join_writing()
    state.credentials.flush()
    first = state.tokens.get(token.id).last_used_at
    assert first == clock.now
    before = state.database.version
    clock.now += 200
    state.credentials.find(secret)
    state.credentials.flush()
    assert state.database.version == before
    clock.now += 200
    state.credentials.find(secret)
    join_writing()
    state.credentials.flush()
    assert state.tokens.get(token.id).last_used_at == clock.now
    assert not [thread for thread in threading.enumerate() if thread.name == "sourcelight-last-use"]


def test_grants_go_to_accounts_and_roles_and_leave_with_them(state: State) -> None:
    account = state.accounts.create("ann")
    state.roles.create("readers")
    state.roles.assign("readers", "ann")
    state.grants.add("a/one", account="ann")
    state.grants.add("a/one", account="ann")
    state.grants.add("a/two", role="readers")
    state.grants.add("a/three", role=USER)
    rights = state.rights.for_account(account.id)
    assert rights is not None
    assert rights.repositories == {"a/one", "a/two", "a/three"}
    assert [(grant.repository, grant.account, grant.role) for grant in state.grants.all()] == [
        ("a/one", "ann", ""),
        ("a/three", "", "User"),
        ("a/two", "", "readers"),
    ]
    wrongs: list[Callable[[], object]] = [
        lambda: state.grants.add("a", account="ann", role="readers"),
        lambda: state.grants.add("a"),
        lambda: state.grants.add("", account="ann"),
        lambda: state.grants.add("a", account="bob"),
        lambda: state.grants.add("a", role=SITE_ADMINISTRATOR),
        lambda: state.grants.remove("a/four", account="ann"),
    ]
    for wrong in wrongs:
        with pytest.raises(StateError):
            wrong()
    state.roles.delete("readers")
    state.grants.remove("a/one", account="ann")
    rights = state.rights.for_account(account.id)
    assert rights is not None
    assert rights.repositories == {"a/three"}
    state.accounts.delete("ann")
    assert state.rights.for_account(account.id) is None


def test_what_is_expired_or_unused_is_forgotten(state: State, clock: Clock) -> None:
    unused, _ = state.clients.create("Fixed", ["https://app.example/cb"])
    state.database.change("INSERT INTO oauth_clients SELECT 'self', name, secret, redirect_uris, scopes, 1, metadata, "
                          "created_at FROM oauth_clients")  # fmt: skip
    clock.now += 25 * 3600
    state.clients.create("Other", ["https://app.example/cb"])
    assert [client.name for client in state.clients.all()] == ["Fixed", "Other"]

    def allow() -> str:
        return state.authorizations.grant(
            1, unused.id, [MCP], resource="", redirect_uri="x", redirect_uri_given=True, challenge="y"
        )

    pair = state.authorizations.exchange_code(allow())
    assert pair is not None
    clock.now += 31 * 86400
    allow()
    assert len(state.authorizations.all()) == 1
    assert state.database.first_row("SELECT count(*) FROM oauth_tokens") == (0,)
