"""Copies of the state: whole, private, checked, and restored under a state that is in use."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from sourcelight.cli import main
from sourcelight.core.errors import StateError
from sourcelight.repos.state import ScryptCost, State
from sourcelight.repos.state.migrations import MIGRATIONS

CHEAP = ScryptCost(2, 1, 1)


def test_a_restored_copy_has_the_accounts_and_credentials_of_then(tmp_path: Path) -> None:
    with State(str(tmp_path / "state.sqlite"), cost=CHEAP) as state:
        state.accounts.create("ann", "a long password")
        issued, token = state.tokens.create("ann")
        state.database.copy_to(str(tmp_path / "copy"))
        assert (tmp_path / "copy").stat().st_mode & 0o777 == 0o600
        assert sorted(path.name for path in tmp_path.glob("copy*")) == ["copy"]
        state.accounts.create("bob")
        state.tokens.revoke(issued.id)
        # Another process, such as a running service.
        with State(str(tmp_path / "state.sqlite"), cost=CHEAP) as service:
            assert service.credentials.find(token) is None
            version = service.database.version
            state.database.replace_from(str(tmp_path / "copy"))
            assert service.database.version != version
            assert [account.name for account in service.accounts.all() if account.name != "owner"] == ["ann"]
            assert service.credentials.find(token) is not None
            assert service.accounts.check_password("ann", "a long password") is not None
            service.accounts.create("cem")
        assert "cem" in {account.name for account in state.accounts.all()}


def test_a_copy_of_an_earlier_version_is_brought_forward(tmp_path: Path) -> None:
    with State(str(tmp_path / "old.sqlite"), cost=CHEAP) as old:
        old.accounts.create("ann")
        old.database.copy_to(str(tmp_path / "copy"))
    with closing(sqlite3.connect(tmp_path / "copy")) as copy:
        copy.execute("DROP TABLE saved_answers")
        copy.execute(f"PRAGMA user_version = {len(MIGRATIONS) - 1}")
        copy.commit()
    with State(str(tmp_path / "state.sqlite"), cost=CHEAP) as state:
        state.database.replace_from(str(tmp_path / "copy"))
        assert state.saved_answers.save("ann", "x", "", {}, b"rows")


def test_what_is_no_whole_copy_changes_nothing(tmp_path: Path) -> None:
    with State(str(tmp_path / "state.sqlite"), cost=CHEAP) as state:
        state.accounts.create("ann")
        state.database.copy_to(str(tmp_path / "copy"))
        everything = (tmp_path / "copy").read_bytes()
        (tmp_path / "text").write_text("not a database")
        (tmp_path / "half").write_bytes(everything[: len(everything) // 2])
        (tmp_path / "empty").write_bytes(b"")
        with closing(sqlite3.connect(tmp_path / "other")) as other:
            other.execute("CREATE TABLE accounts (name TEXT)")
        (tmp_path / "later").write_bytes(everything)
        with closing(sqlite3.connect(tmp_path / "later")) as later:
            later.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
        for name in ("text", "half", "empty", "other", "later", "absent"):
            with pytest.raises(StateError):
                state.database.replace_from(str(tmp_path / name))
            assert "ann" in {account.name for account in state.accounts.all()}, name
        with pytest.raises(StateError, match="already exists"):
            state.database.copy_to(str(tmp_path / "text"))
        assert (tmp_path / "text").read_text() == "not a database"


def test_the_commands_back_up_and_restore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SOURCELIGHT_HOME", str(tmp_path / "home"))
    copy = str(tmp_path / "copy")
    assert main(["admin", "user", "create", "ann"]) == 0
    assert main(["admin", "backup", copy]) == 0
    assert main(["admin", "user", "delete", "ann"]) == 0
    assert main(["admin", "restore", copy]) == 2
    assert main(["admin", "restore", copy, "--yes"]) == 0
    capsys.readouterr()
    assert main(["admin", "user", "list"]) == 0
    assert "ann" in capsys.readouterr().out
    assert len(list((tmp_path / "home").glob("state.sqlite.before-*"))) == 1
