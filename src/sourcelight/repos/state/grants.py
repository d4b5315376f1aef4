"""Which private repositories exist for whom."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.repositories import RepositoryRegister, is_place
from sourcelight.repos.state.roles import ADMINISTRATOR_ID, SITE_ADMINISTRATOR


@dataclass(frozen=True, slots=True)
class RepositoryGrant:
    """One private repository granted to an account or to a role (the other is empty).

    Parameters
    ----------
    repository
        The name it has, or had when it was granted.
    place
        Its canonical path, which is what counts; empty while no service has seen a repository of that name.
    """

    repository: str
    account: str
    role: str
    created_at: int
    place: str = ""


class RepositoryGrants:
    """Grants of one state file.

    A grant is to a place. One by a name that no service has seen waits until the next start of a service, and is then
    tied to the place that has the name: what comes later under this name is not granted.
    """

    def __init__(self, database: Database, clock: Callable[[], float], register: RepositoryRegister) -> None:
        self._database = database
        self._clock = clock
        self._register = register

    def add(self, repository: str, *, account: str = "", role: str = "", place: str = "") -> RepositoryGrant:
        """Let a private repository exist for an account, or for all who have a role; twice changes nothing.

        Parameters
        ----------
        repository
            Its name, or its place.
        account, role
            For whom; one of the two.
        place
            Its canonical path, when `repository` is a name that several folders claim or that no service has seen.

        Raises
        ------
        StateError
            If there is no such account or role, or several folders claim the name.
        """
        if not repository:
            raise StateError("a grant needs the name of a repository")
        column, holder = self._holder(account, role)
        if column == "role" and holder == ADMINISTRATOR_ID:
            raise StateError(f"{SITE_ADMINISTRATOR!r} sees all repositories")
        record = self._register.resolve(place or repository)
        if record is not None:
            repository, place = record.name, record.place
        elif not place and is_place(repository):
            place = repository
        now = int(self._clock())
        self._database.change(
            f"INSERT OR IGNORE INTO repository_grants (repository, {column}, created_at, place) "  # noqa: S608
            "VALUES (?, ?, ?, ?)",
            repository,
            holder,
            now,
            place,
        )
        return RepositoryGrant(repository, account, role, now, place)

    def remove(self, repository: str, *, account: str = "", role: str = "") -> None:
        """Take a grant back, by name or place; raises `StateError` when there is none."""
        column, holder = self._holder(account, role)
        sql = (
            "DELETE FROM repository_grants WHERE (repository = ?1 OR place = ?1 OR place IN "  # noqa: S608
            f"(SELECT place FROM repositories WHERE name = ?1)) AND {column} = ?2"
        )
        if not self._database.change(sql, repository, holder):
            raise StateError(f"{repository!r} is not granted to the {column} {account or role!r}")

    def all(self, repository: str | None = None) -> list[RepositoryGrant]:
        """All grants, or those of one repository by name or place, by repository, account and role."""
        rows = self._database.all(
            "SELECT ifnull(k.name, g.repository), ifnull(a.name, ''), ifnull(r.name, ''), g.created_at, g.place "
            "FROM repository_grants g LEFT JOIN repositories k ON k.place = g.place "
            "LEFT JOIN accounts a ON a.id = g.account LEFT JOIN roles r ON r.id = g.role ORDER BY 1, 2, 3"
        )
        grants = [RepositoryGrant(*row) for row in rows]
        return [each for each in grants if repository is None or repository in {each.repository, each.place}]

    def _holder(self, account: str, role: str) -> tuple[str, int]:
        if bool(account) == bool(role):
            raise StateError("name an account or a role, one of the two")
        column, table, name = ("account", "accounts", account) if account else ("role", "roles", role)
        row = self._database.one(f"SELECT id FROM {table} WHERE name = ?", name)  # noqa: S608
        if row is None:
            raise StateError(f"there is no {column} {name!r}")
        return column, int(row[0])
