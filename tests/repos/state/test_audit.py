"""Every change of accounts, rights and credentials is noted with it, and stays noted."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.state import State


def test_each_change_is_noted_with_who_made_it(tmp_path: Path) -> None:
    with State(str(tmp_path / "state.sqlite"), actor="admin:ada") as state:
        state.accounts.create("ann", "a password of some length")
        state.roles.create("Readers")
        state.roles.allow("Readers", "MCP#ACCESS")
        state.roles.assign("Readers", "ann")
        state.grants.add("example.org/private", account="ann")
        state.grants.add("example.org/private", role="Readers")
        token, secret = state.tokens.create("ann", ("user:all",))
        state.tokens.revoke(token.id)
        state.accounts.set_password("ann", "another password")
        state.sessions.start("ann")
        state.grants.remove("example.org/private", account="ann")
        state.accounts.delete("ann")
        state.roles.delete("Readers")
        entries = [(entry.actor, f"{entry.action}: {entry.subject}") for entry in state.audit.entries()]
        assert {actor for actor, _ in entries} == {"admin:ada"}
        assert secret not in str(entries)
        seen = [text for _, text in entries]
    for text in (
        "account created: ann",
        "role created: Readers",
        "permission allowed: MCP#ACCESS to Readers",
        "role assigned: Readers to ann",
        "repository granted: example.org/private to ann",
        "repository granted: example.org/private to role Readers",
        f"token created: token:{token.id} of ann, user:all",
        f"token revoked: token:{token.id}",
        "password changed: ann",
        "signed in: ann",
        "repository revoked: example.org/private to ann",
        "account deleted: ann",
        "role deleted: Readers",
    ):
        assert seen.count(text) == 1, text
    assert len([text for text in seen if text.startswith("role unassigned")]) == 1, "what goes with an account, too"


def test_a_change_that_fails_is_not_noted_and_nothing_is_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "state.sqlite"
    with State(str(path), actor="service") as state:
        state.accounts.create("ann")
        before = state.audit.entries()
        with pytest.raises(Exception, match="already"):
            state.accounts.create("ann")
        assert state.audit.entries() == before
        for statement in ("DELETE FROM audit", "UPDATE audit SET actor = 'nobody'"):
            with pytest.raises((StateUnusable, sqlite3.IntegrityError)):
                state.database.change(statement)
        assert state.audit.entries() == before
    other = sqlite3.connect(path)
    with other:
        other.execute("INSERT INTO accounts (name, created_at) VALUES ('mallory', 1)")
    other.close()
    with State(str(path)) as state:
        last = state.audit.entries()[-1]
        assert (last.actor, last.action, last.subject) == ("", "account created", "mallory"), "by nobody of ours"


def test_clients_that_register_themselves_do_not_fill_the_log() -> None:
    with State() as state:
        before = len(state.audit.entries())
        state.clients.create("Own", ["https://x.example/callback"])
        assert len(state.audit.entries()) == before + 1
        with state.database.write() as connection:
            connection.execute(
                "INSERT INTO oauth_clients (id, name, redirect_uris, scopes, dynamic, created_at) "
                "VALUES ('x', 'x', '[]', 'mcp', 1, 1)"
            )
        assert len(state.audit.entries()) == before + 1
