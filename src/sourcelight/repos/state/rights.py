"""What an account may do, gathered from its roles and grants."""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.repos.state.database import Database
from sourcelight.repos.state.roles import ADMINISTRATOR_ID, PERMISSIONS, USER_ID

_GRANTED = """SELECT repository FROM repository_grants WHERE account = ?1 OR role = ?2
    OR role IN (SELECT role FROM account_roles WHERE account = ?1)"""
_ALLOWED = """SELECT DISTINCT permission FROM role_permissions WHERE role = ?2
    OR role IN (SELECT role FROM account_roles WHERE account = ?1)"""
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Rights:
    """An account's rights at one moment."""

    account: str
    is_administrator: bool
    permissions: frozenset[str]
    repositories: frozenset[str]


class RightsReader:
    """Reads rights, and keeps them until any process has changed the state file.

    Ten thousand granted repositories take some 20 ms to read, and nothing to look at again.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._kept: tuple[int, dict[int, Rights]] = (-1, {})

    def of(self, account_id: int) -> Rights | None:
        """The rights of an account; None when it is gone."""
        version = self._database.version
        at, kept = self._kept
        if at != version or len(kept) >= _KEPT:
            kept = {}
            self._kept = (version, kept)
        if account_id not in kept:
            rights = self._read(account_id)
            if rights is None:
                return None
            kept[account_id] = rights
        return kept[account_id]

    def _read(self, account_id: int) -> Rights | None:
        row = self._database.one("SELECT name FROM accounts WHERE id = ?", account_id)
        if row is None:
            return None
        administrator = self._database.one(
            "SELECT 1 FROM account_roles WHERE account = ? AND role = ?", account_id, ADMINISTRATOR_ID
        )
        if administrator:
            return Rights(row[0], is_administrator=True, permissions=frozenset(PERMISSIONS), repositories=frozenset())
        allowed = self._database.all(_ALLOWED, account_id, USER_ID)
        granted = self._database.all(_GRANTED, account_id, USER_ID)
        return Rights(
            row[0],
            is_administrator=False,
            permissions=frozenset(each for (each,) in allowed),
            repositories=frozenset(each for (each,) in granted),
        )
