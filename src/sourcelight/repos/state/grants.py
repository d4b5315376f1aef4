"""Which private repositories exist for whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.roles import ADMINISTRATOR_ID, SITE_ADMINISTRATOR


@dataclass(frozen=True, slots=True)
class RepositoryGrant:
    """One private repository, by name, granted to an account or to a role (the other is empty)."""

    repository: str
    account: str
    role: str
    created_at: int


class RepositoryGrants:
    """Grants of one state file. A name may be granted before there is a repository of that name."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def add(self, repository: str, *, account: str = "", role: str = "") -> None:
        """Let a private repository exist for an account, or for all who have a role; twice changes nothing."""
        if not repository:
            raise StateError("a grant needs the name of a repository")
        column, holder = self._holder(account, role)
        if column == "role" and holder == ADMINISTRATOR_ID:
            raise StateError(f"{SITE_ADMINISTRATOR!r} sees all repositories")
        self._database.change(
            f"INSERT OR IGNORE INTO repository_grants (repository, {column}, created_at) VALUES (?, ?, ?)",  # noqa: S608
            repository,
            holder,
            int(self._clock()),
        )

    def remove(self, repository: str, *, account: str = "", role: str = "") -> None:
        """Take a grant back; raises `StateError` when there is none."""
        column, holder = self._holder(account, role)
        sql = f"DELETE FROM repository_grants WHERE repository = ? AND {column} = ?"  # noqa: S608
        if not self._database.change(sql, repository, holder):
            raise StateError(f"{repository!r} is not granted to the {column} {account or role!r}")

    def all(self, repository: str | None = None) -> list[RepositoryGrant]:
        """All grants, or those of one repository, by repository, account and role."""
        where, values = ("WHERE g.repository = ?", (repository,)) if repository is not None else ("", ())
        rows = self._database.all(
            "SELECT g.repository, ifnull(a.name, ''), ifnull(r.name, ''), g.created_at FROM repository_grants g "  # noqa: S608
            f"LEFT JOIN accounts a ON a.id = g.account LEFT JOIN roles r ON r.id = g.role {where} ORDER BY 1, 2, 3",
            *values,
        )
        return [RepositoryGrant(*row) for row in rows]

    def _holder(self, account: str, role: str) -> tuple[str, int]:
        if bool(account) == bool(role):
            raise StateError("name an account or a role, one of the two")
        column, table, name = ("account", "accounts", account) if account else ("role", "roles", role)
        row = self._database.one(f"SELECT id FROM {table} WHERE name = ?", name)  # noqa: S608
        if row is None:
            raise StateError(f"there is no {column} {name!r}")
        return column, int(row[0])
