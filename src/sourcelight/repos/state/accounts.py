"""Accounts and their passwords."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.secrets_kept import (
    LONGEST_PASSWORD,
    SHORTEST_PASSWORD,
    Cost,
    password_hash,
    password_matches,
)

OWNER = "owner"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")


@dataclass(frozen=True, slots=True)
class Account:
    """An account: its roles are those it was given, without the role ``User``, which everyone has.

    Times are seconds since 1970, UTC.
    """

    id: int
    name: str
    roles: tuple[str, ...]
    has_password: bool
    built_in: bool
    created_at: int


class Accounts:
    """The accounts of one state file; ``owner`` is there from the start and can't be deleted."""

    def __init__(self, database: Database, clock: Callable[[], float], cost: Cost) -> None:
        self._database = database
        self._clock = clock
        self._cost = cost

    def create(self, name: str, password: str = "") -> Account:
        """Make an account; without a password it can't sign in on pages, but can have tokens.

        Raises
        ------
        StateError
            If the name is taken (case does not count) or malformed, or the password too short.
        """
        if not _NAME.fullmatch(name):
            raise StateError(
                f"account name {name!r} can't be used: 1 to 64 letters, digits and . _ @ + -, a letter or digit first"
            )
        kept = self._hash(password) if password else ""
        try:
            self._database.change(
                "INSERT INTO accounts (name, password, created_at) VALUES (?, ?, ?)", name, kept, int(self._clock())
            )
        except sqlite3.IntegrityError as fault:
            raise StateError(f"there is an account {name!r} already") from fault
        return self.get(name)

    def get(self, name: str) -> Account:
        """The account of this name; raises `StateError` when there is none."""
        found = self._read("WHERE a.name = ?", name)
        if not found:
            raise StateError(f"there is no account {name!r}")
        return found[0]

    def all(self) -> list[Account]:
        """All accounts by name, the owner first."""
        return self._read("")

    def delete(self, name: str) -> None:
        """Delete an account with its tokens, sessions and grants; raises `StateError` for the owner."""
        account = self.get(name)
        if account.built_in:
            raise StateError(f"the account {account.name!r} is built in and can't be deleted")
        self._database.change("DELETE FROM accounts WHERE id = ?", account.id)

    def set_password(self, name: str, password: str) -> None:
        """Set the password (empty: none any more) and end the account's sign-in sessions; tokens stay."""
        account = self.get(name)
        kept = self._hash(password) if password else ""
        with self._database.write() as connection:
            connection.execute("UPDATE accounts SET password = ? WHERE id = ?", (kept, account.id))
            connection.execute("DELETE FROM sessions WHERE account = ?", (account.id,))

    def check_password(self, name: str, password: str) -> Account | None:
        """The account if the password is right; takes as long (a quarter of a second) when there is no such account."""
        row = self._database.one("SELECT password FROM accounts WHERE name = ?", name)
        right = password_matches(password, row[0] if row else "")
        return self.get(name) if right and row else None

    def _hash(self, password: str) -> str:
        if not SHORTEST_PASSWORD <= len(password) <= LONGEST_PASSWORD:
            raise StateError(f"a password has {SHORTEST_PASSWORD} to {LONGEST_PASSWORD} characters")
        return password_hash(password, self._cost)

    def _read(self, where: str, *values: object) -> list[Account]:
        rows = self._database.all(
            "SELECT a.id, a.name, a.password <> '', a.built_in, a.created_at, r.name FROM accounts a "  # noqa: S608
            "LEFT JOIN account_roles ar ON ar.account = a.id LEFT JOIN roles r ON r.id = ar.role "
            f"{where} ORDER BY a.built_in DESC, a.name, r.name",
            *values,
        )
        roles: dict[int, list[str]] = {}
        for row in rows:
            roles.setdefault(row[0], []).extend([row[5]] if row[5] is not None else [])
        first = {row[0]: row for row in reversed(rows)}
        return [
            Account(each, first[each][1], tuple(names), bool(first[each][2]), bool(first[each][3]), first[each][4])
            for each, names in roles.items()
        ]
