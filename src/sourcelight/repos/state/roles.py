"""Roles: named sets of permissions, given to accounts."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database

MCP_ACCESS = "MCP#ACCESS"
PERMISSIONS = (MCP_ACCESS,)
USER = "User"
SITE_ADMINISTRATOR = "Site Administrator"
USER_ID, ADMINISTRATOR_ID = 1, 2
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,62}[^\s\x00-\x1f\x7f])?")


@dataclass(frozen=True, slots=True)
class Role:
    """A role; `accounts` are those it was given to, empty for ``User``, which everyone has."""

    id: int
    name: str
    permissions: tuple[str, ...]
    built_in: bool
    accounts: tuple[str, ...]


class Roles:
    """The roles of one state file.

    ``User`` is everyone's; its permissions can be changed. ``Site Administrator`` always has all permissions and sees
    all repositories; it can't be changed. Both are built in and can't be deleted.
    """

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def create(self, name: str) -> Role:
        """Make a role without permissions; raises `StateError` when the name is taken (case does not count)."""
        if not _NAME.fullmatch(name):
            raise StateError(f"role name {name!r} can't be used: 1 to 64 characters, no blank at either end")
        try:
            self._database.change("INSERT INTO roles (name, created_at) VALUES (?, ?)", name, int(self._clock()))
        except sqlite3.IntegrityError as fault:
            raise StateError(f"there is a role {name!r} already") from fault
        return self.get(name)

    def get(self, name: str) -> Role:
        """The role of this name; raises `StateError` when there is none."""
        row = self._database.one("SELECT id, name, built_in FROM roles WHERE name = ?", name)
        if row is None:
            known = ", ".join(repr(role.name) for role in self.all())
            raise StateError(f"there is no role {name!r}; there are {known}")
        return self._role(*row)

    def all(self) -> list[Role]:
        """All roles, the built-in ones first, then by name."""
        rows = self._database.all("SELECT id, name, built_in FROM roles ORDER BY built_in DESC, name")
        return [self._role(*row) for row in rows]

    def delete(self, name: str) -> None:
        """Delete a role; what only it granted is lost. Raises `StateError` for a built-in one."""
        role = self.get(name)
        if role.built_in:
            raise StateError(f"the role {role.name!r} is built in and can't be deleted")
        self._database.change("DELETE FROM roles WHERE id = ?", role.id)

    def allow(self, name: str, permission: str) -> None:
        """Add a permission; a second time changes nothing."""
        role = self._editable(name, permission)
        self._database.change("INSERT OR IGNORE INTO role_permissions VALUES (?, ?)", role.id, permission)

    def disallow(self, name: str, permission: str) -> None:
        """Take a permission away; changes nothing when the role has it not."""
        role = self._editable(name, permission)
        self._database.change("DELETE FROM role_permissions WHERE role = ? AND permission = ?", role.id, permission)

    def assign(self, name: str, account: str) -> None:
        """Give a role to an account; a second time changes nothing."""
        role, account_id = self.get(name), self._account(account)
        if role.id == USER_ID:
            raise StateError(f"every account has the role {USER!r}")
        self._database.change("INSERT OR IGNORE INTO account_roles VALUES (?, ?)", account_id, role.id)

    def unassign(self, name: str, account: str) -> None:
        """Take a role from an account; raises `StateError` for ``User``, and for the owner's administration."""
        role, account_id = self.get(name), self._account(account)
        if role.id == USER_ID:
            raise StateError(f"every account has the role {USER!r}; it can't be taken away")
        if role.id == ADMINISTRATOR_ID and account_id == 1:
            raise StateError(f"the owner always has the role {SITE_ADMINISTRATOR!r}")
        self._database.change("DELETE FROM account_roles WHERE account = ? AND role = ?", account_id, role.id)

    def _editable(self, name: str, permission: str) -> Role:
        if permission not in PERMISSIONS:
            raise StateError(f"there is no permission {permission!r}; there are {', '.join(PERMISSIONS)}")
        role = self.get(name)
        if role.id == ADMINISTRATOR_ID:
            raise StateError(f"the role {SITE_ADMINISTRATOR!r} always has all permissions; it can't be changed")
        return role

    def _account(self, name: str) -> int:
        row = self._database.one("SELECT id FROM accounts WHERE name = ?", name)
        if row is None:
            raise StateError(f"there is no account {name!r}")
        return int(row[0])

    def _role(self, role_id: int, name: str, built_in: int) -> Role:
        rows = self._database.all("SELECT permission FROM role_permissions WHERE role = ? ORDER BY 1", role_id)
        holders = self._database.all(
            "SELECT name FROM accounts JOIN account_roles ON account = id WHERE role = ? ORDER BY 1", role_id
        )
        permissions = PERMISSIONS if role_id == ADMINISTRATOR_ID else tuple(row[0] for row in rows)
        return Role(role_id, name, permissions, bool(built_in), tuple(row[0] for row in holders))
