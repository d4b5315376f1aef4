"""Grants of private repositories to accounts and roles, and the permissions that follow from them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.accounts import ADMINISTRATOR_ID, PERMISSIONS, SITE_ADMINISTRATOR, USER_ID
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.repositories import RepositoryRegister, is_canonical_path

_GRANTED = """SELECT g.repository, g.place, ifnull(k.name, g.repository) FROM repository_grants g
    LEFT JOIN repositories k ON k.place = g.place WHERE g.account = ? OR g.role = ?
    OR g.role IN (SELECT role FROM account_roles WHERE account = ?)"""

_ALLOWED = """SELECT DISTINCT permission FROM role_permissions WHERE role = ?
    OR role IN (SELECT role FROM account_roles WHERE account = ?)"""

_KEPT = 1000
"""Accounts whose permissions are cached."""


@dataclass(frozen=True, slots=True)
class RepositoryGrant:
    """One private repository granted to an account or to a role (the other is empty).

    Parameters
    ----------
    repository
        The name it has, or had when it was granted.
    canonical_path
        Its location, which the grant refers to; empty until a service has seen a repository of that name.
    """

    repository: str
    account: str
    role: str
    created_at: int
    canonical_path: str = ""


class RepositoryGrants:
    """Grants of one state file.

    A grant refers to a canonical path. If no service has seen the name of a grant, the next start of a service ties the
    grant to the path of the repository with that name. A later repository of this name doesn't inherit it.
    """

    def __init__(self, database: Database, clock: Callable[[], float], register: RepositoryRegister) -> None:
        self._database = database
        self._clock = clock
        self._register = register

    def add(self, repository: str, *, account: str = "", role: str = "", canonical_path: str = "") -> RepositoryGrant:
        """Grant a private repository to an account or a role; a second time changes nothing.

        Parameters
        ----------
        repository
            Its name, or its canonical path.
        account, role
            For whom; one of the two.
        canonical_path
            Where it is, when `repository` is a name that several directories claim or that no service has seen.

        Raises
        ------
        StateError
            If the account or the role does not exist, or several directories claim the name.
        """
        if not repository:
            raise StateError("a grant needs the name of a repository")

        column, holder = self._holder(account, role)
        if column == "role" and holder == ADMINISTRATOR_ID:
            raise StateError(f"the role {SITE_ADMINISTRATOR!r} already sees all repositories; it needs no grant")

        # Tied to the directory now: a name can be taken by another repository later, which must not inherit the grant.
        record = self._register.resolve(canonical_path or repository)
        if record is not None:
            repository, canonical_path = record.name, record.canonical_path
        elif not canonical_path and is_canonical_path(repository):
            canonical_path = repository

        now_s = int(self._clock())
        self._database.change(
            f"INSERT OR IGNORE INTO repository_grants (repository, {column}, created_at, place) "  # noqa: S608
            "VALUES (?, ?, ?, ?)",
            repository,
            holder,
            now_s,
            canonical_path,
        )
        return RepositoryGrant(repository, account, role, now_s, canonical_path)

    def remove(self, repository: str, *, account: str = "", role: str = "") -> None:
        """Revoke a grant, by name or canonical path; raises `StateError` if it doesn't exist."""
        column, holder = self._holder(account, role)
        sql = (
            # By name and by path: a grant from before a repository was moved has its old name.
            "DELETE FROM repository_grants WHERE (repository = ? OR place = ? OR place IN "  # noqa: S608
            f"(SELECT place FROM repositories WHERE name = ?)) AND {column} = ?"
        )
        if not self._database.change(sql, repository, repository, repository, holder):
            raise StateError(f"{repository!r} is not granted to the {column} {account or role!r}")

    def all(self, repository: str | None = None) -> list[RepositoryGrant]:
        """Return all grants, or one repository's by name or canonical path, ordered by repository, account and role."""
        rows = self._database.all(
            "SELECT ifnull(k.name, g.repository), ifnull(a.name, ''), ifnull(r.name, ''), g.created_at, g.place "
            "FROM repository_grants g LEFT JOIN repositories k ON k.place = g.place "
            "LEFT JOIN accounts a ON a.id = g.account LEFT JOIN roles r ON r.id = g.role ORDER BY 1, 2, 3"
        )
        grants = [RepositoryGrant(*row) for row in rows]
        return [
            grant for grant in grants if repository is None or repository in {grant.repository, grant.canonical_path}
        ]

    def _holder(self, account: str, role: str) -> tuple[str, int]:
        if bool(account) == bool(role):
            raise StateError("pass either an account or a role")

        # Constants of this line only go into the SQL; the value is a parameter.
        column, table, name = ("account", "accounts", account) if account else ("role", "roles", role)
        row = self._database.first_row(f"SELECT id FROM {table} WHERE name = ?", name)  # noqa: S608
        if row is None:
            raise StateError(f"{column} {name!r} doesn't exist")

        return column, int(row[0])


@dataclass(frozen=True, slots=True)
class Permissions:
    """The permissions of an account at one moment.

    Parameters
    ----------
    account
        Its name.
    is_administrator
        Whether all repositories exist for it.
    permissions
        What its roles allow.
    canonical_paths
        Those of the private repositories that are granted.
    waiting
        Names that are granted and tied to no path, since no service has seen them.
    names
        Names of all that is granted, for a service whose repositories are not on this machine.
    """

    account: str
    is_administrator: bool
    permissions: frozenset[str]
    canonical_paths: frozenset[str] = frozenset()
    waiting: frozenset[str] = frozenset()
    names: frozenset[str] = frozenset()

    @property
    def repositories(self) -> frozenset[str]:
        """All granted repositories, by canonical path, or by name if it has none."""
        return self.canonical_paths | self.waiting


class PermissionReader:
    """Reads permissions, and caches them until any process has changed the state file.

    Reading ten thousand granted repositories takes about 20 ms; cached ones cost nothing.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._cached: tuple[int, dict[int, Permissions]] = (-1, {})

    def for_account(self, account_id: int) -> Permissions | None:
        """Return the permissions of an account, or None if it was deleted."""
        version = self._database.version
        read_at, cached = self._cached

        # The version changes with every write of any process (PRAGMA data_version), so permissions are never older than
        # the last change.
        if read_at != version or len(cached) >= _KEPT:
            cached = {}
            self._cached = (version, cached)

        if account_id not in cached:
            rights = self._read(account_id)
            # Not cached: an account that is created later may get a new id, but never this one.
            if rights is None:
                return None
            cached[account_id] = rights

        return cached[account_id]

    def _read(self, account_id: int) -> Permissions | None:
        row = self._database.first_row("SELECT name FROM accounts WHERE id = ?", account_id)
        if row is None:
            return None

        administrator = self._database.first_row(
            "SELECT 1 FROM account_roles WHERE account = ? AND role = ?", account_id, ADMINISTRATOR_ID
        )
        if administrator:
            return Permissions(row[0], is_administrator=True, permissions=frozenset(PERMISSIONS))

        allowed = self._database.all(_ALLOWED, USER_ID, account_id)
        granted = self._database.all(_GRANTED, account_id, USER_ID, account_id)
        return Permissions(
            row[0],
            is_administrator=False,
            permissions=frozenset(permission for (permission,) in allowed),
            canonical_paths=frozenset(path for _, path, _ in granted if path),
            waiting=frozenset(name for name, path, _ in granted if not path),
            names=frozenset(name for _, _, name in granted),
        )
