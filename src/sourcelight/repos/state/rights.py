"""What an account may do, gathered from its roles and grants."""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.repos.state.database import Database
from sourcelight.repos.state.roles import ADMINISTRATOR_ID, PERMISSIONS, USER_ID

_GRANTED = """SELECT g.repository, g.place, ifnull(k.name, g.repository) FROM repository_grants g
    LEFT JOIN repositories k ON k.place = g.place WHERE g.account = ?1 OR g.role = ?2
    OR g.role IN (SELECT role FROM account_roles WHERE account = ?1)"""
_ALLOWED = """SELECT DISTINCT permission FROM role_permissions WHERE role = ?2
    OR role IN (SELECT role FROM account_roles WHERE account = ?1)"""
_KEPT = 1000


@dataclass(frozen=True, slots=True)
class Rights:
    """An account's rights at one moment.

    Parameters
    ----------
    account
        Its name.
    is_administrator
        Whether all repositories exist for it.
    permissions
        What its roles allow.
    places
        Places of the private repositories that are granted.
    waiting
        Names that are granted and tied to no place, since no service has seen them.
    names
        Names of all that is granted, for a service whose repositories have no places on this machine.
    """

    account: str
    is_administrator: bool
    permissions: frozenset[str]
    places: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @property
    def repositories(self) -> frozenset[str]:
        """All that is granted, by place, or by name where it has none."""
        return self.places | self.waiting


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
            return Rights(row[0], is_administrator=True, permissions=frozenset(PERMISSIONS))
        allowed = self._database.all(_ALLOWED, account_id, USER_ID)
        granted = self._database.all(_GRANTED, account_id, USER_ID)
        return Rights(
            row[0],
            is_administrator=False,
            permissions=frozenset(each for (each,) in allowed),
            places=frozenset(place for _, place, _ in granted if place),
            waiting=frozenset(name for name, place, _ in granted if not place),
            names=frozenset(name for _, _, name in granted),
        )
