"""Accounts with their passwords, roles and permissions, and sign-in sessions."""

from __future__ import annotations

import hashlib
import hmac
import re
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state import credentials
from sourcelight.repos.state.database import Database

MCP_ACCESS = "MCP#ACCESS"
PERMISSIONS = (MCP_ACCESS,)
USER = "User"
SITE_ADMINISTRATOR = "Site Administrator"
# Rows of the first migration; they are never renumbered, because grants refer to them.
USER_ID, ADMINISTRATOR_ID = 1, 2
_NAME = re.compile(r"[^\s\x00-\x1f\x7f](?:[^\x00-\x1f\x7f]{0,62}[^\s\x00-\x1f\x7f])?")
"""The name of a role: 1 to 64 characters, without blanks at its ends."""

OWNER = "owner"
_ACCOUNT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
"""The name of an account, which is a part of addresses and logs."""

SESSION_S = 12 * 3600
"""Lifetime of a browser session: a working day with its breaks."""

_LIVE = """SELECT a.id, a.name FROM sessions s JOIN accounts a ON a.id = s.account
    LEFT JOIN access_tokens t ON t.id = s.token
    WHERE s.digest = ? AND s.expires_at > ?
    AND (t.id IS NULL OR (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?)))"""


@dataclass(frozen=True, slots=True)
class Role:
    """A role; `accounts` are its members, empty for ``User``, which everyone has."""

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
        """Make a role without permissions; raises `StateError` when the name is taken (ignoring case)."""
        if not _NAME.fullmatch(name):
            raise StateError(f"role name {name!r} is invalid; use 1 to 64 characters without a blank at either end")
        try:
            self._database.change("INSERT INTO roles (name, created_at) VALUES (?, ?)", name, int(self._clock()))
        except sqlite3.IntegrityError as exc:
            raise StateError(f"role {name!r} already exists") from exc
        return self.get(name)

    def get(self, name: str) -> Role:
        """Return the role of this name; raises `StateError` when there is none."""
        row = self._database.first_row("SELECT id, name, built_in FROM roles WHERE name = ?", name)
        if row is None:
            names = ", ".join(repr(role.name) for role in self.all())
            raise StateError(f"unknown role {name!r}; available: {names}")
        return self._role(*row)

    def all(self) -> list[Role]:
        """Return all roles, the built-in ones first, then by name."""
        rows = self._database.all("SELECT id, name, built_in FROM roles ORDER BY built_in DESC, name")
        return [self._role(*row) for row in rows]

    def delete(self, name: str) -> None:
        """Delete a role and the permissions that only it gave. Raises `StateError` for a built-in one."""
        role = self.get(name)
        if role.built_in:
            raise StateError(f"the role {role.name!r} is built in and can't be deleted")
        self._database.change("DELETE FROM roles WHERE id = ?", role.id)

    def allow(self, name: str, permission: str) -> None:
        """Add a permission; a second time changes nothing."""
        role = self._find_editable(name, permission)
        self._database.change("INSERT OR IGNORE INTO role_permissions VALUES (?, ?)", role.id, permission)

    def disallow(self, name: str, permission: str) -> None:
        """Remove a permission; no change if the role doesn't have it."""
        role = self._find_editable(name, permission)
        self._database.change("DELETE FROM role_permissions WHERE role = ? AND permission = ?", role.id, permission)

    def assign(self, name: str, account: str) -> None:
        """Assign a role to an account; a second time changes nothing."""
        role, account_id = self.get(name), self._account(account)
        if role.id == USER_ID:
            raise StateError(f"every account already has the role {USER!r}")
        self._database.change("INSERT OR IGNORE INTO account_roles VALUES (?, ?)", account_id, role.id)

    def unassign(self, name: str, account: str) -> None:
        """Remove a role from an account; raises `StateError` for ``User``, and for the owner's administration."""
        role, account_id = self.get(name), self._account(account)
        if role.id == USER_ID:
            raise StateError(f"every account has the role {USER!r}; it can't be removed")
        if role.id == ADMINISTRATOR_ID and account_id == 1:
            raise StateError(f"the owner always has the role {SITE_ADMINISTRATOR!r}")
        self._database.change("DELETE FROM account_roles WHERE account = ? AND role = ?", account_id, role.id)

    def _find_editable(self, name: str, permission: str) -> Role:
        if permission not in PERMISSIONS:
            raise StateError(f"unknown permission {permission!r}; available: {', '.join(PERMISSIONS)}")
        role = self.get(name)
        if role.id == ADMINISTRATOR_ID:
            raise StateError(f"the role {SITE_ADMINISTRATOR!r} always has all permissions; it can't be changed")
        return role

    def _account(self, name: str) -> int:
        row = self._database.first_row("SELECT id FROM accounts WHERE name = ?", name)
        if row is None:
            raise StateError(f"account {name!r} doesn't exist")
        return int(row[0])

    def _role(self, role_id: int, name: str, built_in: int) -> Role:
        rows = self._database.all("SELECT permission FROM role_permissions WHERE role = ? ORDER BY 1", role_id)
        holders = self._database.all(
            "SELECT name FROM accounts JOIN account_roles ON account = id WHERE role = ? ORDER BY 1", role_id
        )
        # Not from the table: permissions of later versions then belong to administrators without a migration.
        permissions = PERMISSIONS if role_id == ADMINISTRATOR_ID else tuple(row[0] for row in rows)
        return Role(
            id=role_id,
            name=name,
            permissions=permissions,
            built_in=bool(built_in),
            accounts=tuple(row[0] for row in holders),
        )


@dataclass(frozen=True, slots=True)
class Account:
    """An account; `roles` leave out ``User``, which everyone has.

    Times are seconds since 1970, UTC.
    """

    id: int
    name: str
    roles: tuple[str, ...]
    has_password: bool
    built_in: bool
    created_at: int


class Accounts:
    """The accounts of one state file; ``owner`` always exists and can't be deleted."""

    def __init__(self, database: Database, clock: Callable[[], float], cost: credentials.ScryptCost) -> None:
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
        if not _ACCOUNT_NAME.fullmatch(name):
            raise StateError(
                f"account name {name!r} is invalid; use 1 to 64 letters, digits and . _ @ + -, a letter or digit first"
            )

        # Hashed before the transaction: a quarter of a second under the write lock would stop every other writer.
        password_hash = self._hash(password) if password else ""
        try:
            self._database.change(
                "INSERT INTO accounts (name, password, created_at) VALUES (?, ?, ?)",
                name,
                password_hash,
                int(self._clock()),
            )
        except sqlite3.IntegrityError as exc:
            raise StateError(f"account {name!r} already exists") from exc

        return self.get(name)

    def get(self, name: str) -> Account:
        """Return the account of this name; raises `StateError` when there is none."""
        accounts = self._read("WHERE a.name = ?", name)
        if not accounts:
            raise StateError(f"account {name!r} doesn't exist")
        return accounts[0]

    def all(self) -> list[Account]:
        """Return all accounts by name, the owner first."""
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
        password_hash = self._hash(password) if password else ""
        with self._database.write() as connection:
            connection.execute("UPDATE accounts SET password = ? WHERE id = ?", (password_hash, account.id))
            # In the same transaction: a user of the old password must not stay signed in.
            connection.execute("DELETE FROM sessions WHERE account = ?", (account.id,))

    def check_password(self, name: str, password: str) -> Account | None:
        """Return the account if the password is right; takes as long (0.25 s) if the account doesn't exist."""
        row = self._database.first_row("SELECT password FROM accounts WHERE name = ?", name)
        # Compared also without an account, with the same work: the time must not reveal which names exist.
        right = credentials.password_matches(password, row[0] if row else "")
        return self.get(name) if right and row else None

    def _hash(self, password: str) -> str:
        if not credentials.MIN_PASSWORD_CHARS <= len(password) <= credentials.MAX_PASSWORD_CHARS:
            raise StateError(
                f"a password must have {credentials.MIN_PASSWORD_CHARS} to {credentials.MAX_PASSWORD_CHARS} characters"
            )
        return credentials.password_hash(password, self._cost)

    def _read(self, condition: str, *values: object) -> list[Account]:
        rows = self._database.all(
            "SELECT a.id, a.name, a.password <> '', a.built_in, a.created_at, r.name FROM accounts a "  # noqa: S608
            "LEFT JOIN account_roles ar ON ar.account = a.id LEFT JOIN roles r ON r.id = ar.role "
            f"{condition} ORDER BY a.built_in DESC, a.name, r.name",
            *values,
        )
        roles: dict[int, list[str]] = {}
        for row in rows:
            roles.setdefault(row[0], []).extend([row[5]] if row[5] is not None else [])

        # The join has a row per role; otherwise all rows of an account are equal.
        first = {row[0]: row for row in reversed(rows)}
        return [
            Account(
                id=account_id,
                name=first[account_id][1],
                roles=tuple(names),
                has_password=bool(first[account_id][2]),
                built_in=bool(first[account_id][3]),
                created_at=first[account_id][4],
            )
            for account_id, names in roles.items()
        ]


@dataclass(frozen=True, slots=True)
class BrowserSession:
    """The account of a session."""

    account: int
    name: str


class Sessions:
    """The sign-in sessions of one state file; a session that began with an access token ends with it."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def start(self, account: str, token: int | None = None) -> str:
        """Start a session and return its secret, for a cookie; `token` is the access token behind it, if any."""
        secret, now_s = credentials.make_token("w"), int(self._clock())
        with self._database.write() as connection:
            # Here and not by a timer: sessions accumulate only when new ones begin.
            connection.execute("DELETE FROM sessions WHERE expires_at <= ?", (now_s,))
            row = connection.execute("SELECT id FROM accounts WHERE name = ?", (account,)).fetchone()
            if row is None:
                raise StateError(f"account {account!r} doesn't exist")
            connection.execute(
                "INSERT INTO sessions (digest, account, token, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
                (credentials.digest_of(secret), row[0], token, now_s, now_s + SESSION_S),
            )

        return secret

    def find(self, secret: str) -> BrowserSession | None:
        """Return the session of a secret, or None if there is none or it has ended."""
        now_s = int(self._clock())
        row = self._database.first_row(_LIVE, credentials.digest_of(secret), now_s, now_s) if secret else None
        return None if row is None else BrowserSession(*row)

    def reader(self, secret: str) -> str:
        """Return a read-only substitute for `secret`, from which the session can't be derived.

        It names the same account and ends with the session, but decides nothing: no page that takes a decision knows
        it.
        """
        digest = credentials.digest_of(secret)
        return f"{digest.hex()}.{self._reader_mark(digest)}"

    def find_reader(self, cookie: str) -> BrowserSession | None:
        """Return the session behind a value of `reader`, or None if it is forged or the session has ended."""
        text, _, signature = cookie.partition(".")
        try:
            digest = bytes.fromhex(text)
        except ValueError:
            return None

        # Checked before the database: a forged cookie costs one hash.
        if len(digest) != 32 or not hmac.compare_digest(signature.encode(), self._reader_mark(digest).encode()):
            return None

        now_s = int(self._clock())
        row = self._database.first_row(_LIVE, digest, now_s, now_s)
        return None if row is None else BrowserSession(*row)

    def _reader_mark(self, digest: bytes) -> str:
        # The label keeps this apart from other signatures that are made with the same key.
        return hmac.new(self.page_key, b"reader\0" + digest, hashlib.sha256).hexdigest()

    def end(self, secret: str) -> None:
        """End one session."""
        self._database.change("DELETE FROM sessions WHERE digest = ?", credentials.digest_of(secret))

    def end_all(self, account: str) -> int:
        """End all sessions of an account and return how many there were."""
        return self._database.change(
            "DELETE FROM sessions WHERE account = (SELECT id FROM accounts WHERE name = ?)", account
        )

    @property
    def page_key(self) -> bytes:
        """Return the key that seals page data; the same for all processes that share the file."""
        row = self._database.first_row("SELECT value FROM keys WHERE name = 'pages'")
        if row is None:
            raise StateError("the state lacks its key for pages; restore a backup with `sourcelight admin restore`")
        return bytes(row[0])
