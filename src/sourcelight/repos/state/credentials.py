"""Access tokens and other secrets: how they are made, stored as hashes, and resolved to accounts.

Tokens are 256 random bits, so their plain SHA-256 can't be guessed at; passwords are chosen by people, so they go
through scrypt (RFC 7914) with the cost that OWASP's password storage page gives for 16 MiB (N 2**14, r 8, p 5).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import secrets
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.errors import StateError, StateUnusable
from sourcelight.repos.state.database import Database

MIN_PASSWORD_CHARS = 10
"""Minimum characters of a password."""

MAX_PASSWORD_CHARS = 1000
"""Maximum characters of a password, because anyone may send one, and all of it is hashed."""

# OpenSSL refuses scrypt above 32 MiB by default. The cost above needs 16 MiB and a little more; a stored hash may have
# been made with a higher one.
_MEMORY = 64 * 1024 * 1024

USER_ALL = "user:all"
MCP = "mcp"
SCOPES = (USER_ALL, MCP)

FRESH_S = 300
"""A last use is written when the one on record is older than this, in seconds."""

_PERSONAL = """SELECT id, account, scopes, last_used_at FROM access_tokens
    WHERE digest = ? AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"""

_OAUTH = """SELECT g.id, g.account, t.scopes, g.last_used_at, g.client, g.resource, c.dynamic
    FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.family JOIN oauth_clients c ON c.id = g.client
    WHERE t.digest = ? AND t.kind = 'access' AND t.expires_at > ? AND g.revoked_at IS NULL"""

_GRANT = """SELECT g.account, g.scopes, g.client, g.resource, c.dynamic
    FROM oauth_grants g JOIN oauth_clients c ON c.id = g.client WHERE g.id = ? AND g.revoked_at IS NULL"""


def make_token(kind: str) -> str:
    """Make a secret: ``sl``, the letter `kind` and ``_`` in front, so that scanners can recognize it."""
    return f"sl{kind}_{secrets.token_urlsafe(32)}"


def digest_of(token: str) -> bytes:
    """Return the hash that is stored for a token."""
    return hashlib.sha256(token.encode("utf-8", "surrogateescape")).digest()


@dataclass(frozen=True, slots=True)
class ScryptCost:
    """The cost of checking a password: scrypt's N, r and p. Memory: 128 x N x r bytes."""

    n: int = 2**14
    r: int = 8
    p: int = 5


def password_hash(password: str, cost: ScryptCost | None = None) -> str:
    """Return the text that is stored for a password: the cost, a salt and scrypt's result."""
    cost = cost or ScryptCost()
    salt = os.urandom(16)
    key = _scrypt(password, salt, cost)
    return f"scrypt:{cost.n}:{cost.r}:{cost.p}:{base64.b64encode(salt).decode()}:{base64.b64encode(key).decode()}"


def password_matches(password: str, stored: str) -> bool:
    """Return whether `stored` was made of `password`; empty `stored` matches none.

    Takes the same time without a stored password, so that timing doesn't reveal whether an account exists or has a
    password.
    """
    parts = stored.split(":")
    # The long password is cut before it is hashed: scrypt's first step would otherwise hash megabytes for a caller
    # without an account.
    if len(parts) != 6 or parts[0] != "scrypt" or len(password) > MAX_PASSWORD_CHARS:
        _scrypt(password[:MAX_PASSWORD_CHARS], b"0" * 16, ScryptCost())
        return False

    cost = ScryptCost(int(parts[1]), int(parts[2]), int(parts[3]))
    computed = _scrypt(password, base64.b64decode(parts[4]), cost)
    return hmac.compare_digest(computed, base64.b64decode(parts[5]))


def _scrypt(password: str, salt: bytes, cost: ScryptCost) -> bytes:
    # A form can send any code point; one that UTF-8 lacks must give a wrong password, not an error.
    text = password.encode("utf-8", "surrogatepass")
    return hashlib.scrypt(text, salt=salt, n=cost.n, r=cost.r, p=cost.p, maxmem=_MEMORY, dklen=32)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """A stored token, without its secret.

    Times are seconds since 1970, UTC; `last_used_at` is right to a few minutes. None: never.
    """

    id: int
    account: str
    note: str
    scopes: tuple[str, ...]
    created_at: int
    expires_at: int | None
    revoked_at: int | None
    last_used_at: int | None

    def state(self, now_s: float) -> str:
        """Return ``active``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        if self.expires_at is not None and self.expires_at <= now_s:
            return "expired"
        return "active"


class AccessTokens:
    """The access tokens of one state file."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def create(
        self, account: str, scopes: Iterable[str] = (USER_ALL,), *, note: str = "", lifetime_s: float | None = None
    ) -> tuple[AccessToken, str]:
        """Make a token for an account.

        Parameters
        ----------
        account
            Its name.
        scopes
            ``user:all`` (everything the account may do) or ``mcp`` (the MCP endpoints alone).
        note
            Its purpose.
        lifetime_s
            Seconds until it expires; None: never.

        Returns
        -------
        tuple[AccessToken, str]
            The token's record, and its secret, which is stored nowhere.

        Raises
        ------
        StateError
            If the account or the scope does not exist, or the lifetime is not above 0.
        """
        unique_scopes = tuple(dict.fromkeys(scopes))
        for scope in unique_scopes:
            if scope not in SCOPES:
                raise StateError(f"unknown scope {scope!r}; available: {', '.join(SCOPES)}")

        if not unique_scopes:
            raise StateError(f"a token needs a scope: {' or '.join(SCOPES)}")
        if lifetime_s is not None and lifetime_s <= 0:
            raise StateError(f"lifetime_s must be above 0, got {lifetime_s}")

        secret = make_token("p")
        return self.store(account, digest_of(secret), unique_scopes, note=note, lifetime_s=lifetime_s), secret

    def store(
        self,
        account: str,
        digest: bytes,
        scopes: tuple[str, ...],
        *,
        note: str = "",
        lifetime_s: float | None = None,
    ) -> AccessToken:
        """Store a token by its SHA-256; no change if it is stored already."""
        now_s = self._clock()
        expires = None if lifetime_s is None else int(now_s + lifetime_s)
        with self._database.write() as connection:
            row = connection.execute("SELECT id FROM accounts WHERE name = ?", (account,)).fetchone()
            if row is None:
                raise StateError(f"account {account!r} doesn't exist")

            connection.execute(
                # IGNORE and the SELECT below make this repeatable: a start that crashed after the insert stores the
                # same token again.
                "INSERT OR IGNORE INTO access_tokens (account, digest, note, scopes, created_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (row[0], digest, note, " ".join(scopes), int(now_s), expires),
            )
            (token_id,) = connection.execute("SELECT id FROM access_tokens WHERE digest = ?", (digest,)).fetchone()

        return self.get(token_id)

    def create_first(self, account: str, *, note: str) -> str:
        """Create a token of scope ``user:all`` unless the account has a valid one; return its secret, or "".

        Of several processes that ask at the same moment, one makes a token.
        """
        secret = make_token("o")
        now_s = int(self._clock())
        with self._database.write() as connection:
            inserted = connection.execute(
                # One statement decides and inserts, so two processes that start at the same moment can't both make a
                # token.
                "INSERT INTO access_tokens (account, digest, note, scopes, created_at) "
                "SELECT id, ?, ?, ?, ? FROM accounts WHERE name = ? AND NOT EXISTS (SELECT 1 FROM access_tokens "
                "WHERE account = accounts.id AND scopes = ? AND revoked_at IS NULL "
                "AND (expires_at IS NULL OR expires_at > ?))",
                (digest_of(secret), note, USER_ALL, now_s, account, USER_ALL, now_s),
            ).rowcount

        return secret if inserted else ""

    def get(self, token_id: int) -> AccessToken:
        """Return the token of this number; raises `StateError` when there is none."""
        tokens = self._read("WHERE t.id = ?", token_id)
        if not tokens:
            raise StateError(f"token {token_id} doesn't exist; `sourcelight admin token list` lists them")
        return tokens[0]

    def all(self, account: str | None = None) -> list[AccessToken]:
        """Return all tokens, or the tokens of one account, oldest first, including expired and revoked ones."""
        if account is not None:
            return self._read("WHERE a.name = ?", account)
        return self._read("")

    def revoke(self, token_id: int) -> AccessToken:
        """Revoke a token from the next request on; the first time counts."""
        self.get(token_id)
        self._database.change(
            "UPDATE access_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", int(self._clock()), token_id
        )
        return self.get(token_id)

    def _read(self, condition: str, *values: object) -> list[AccessToken]:
        rows = self._database.all(
            "SELECT t.id, a.name, t.note, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at "  # noqa: S608
            f"FROM access_tokens t JOIN accounts a ON a.id = t.account {condition} ORDER BY t.id",
            *values,
        )
        return [
            AccessToken(
                id=token_id,
                account=name,
                note=note,
                scopes=tuple(scopes.split()),
                created_at=created,
                expires_at=expires,
                revoked_at=revoked,
                last_used_at=last_used,
            )
            for token_id, name, note, scopes, created, expires, revoked, last_used in rows
        ]


@dataclass(frozen=True, slots=True)
class VerifiedCredential:
    """A valid token: its kind, its row, and what it allows."""

    kind: Literal["token", "oauth"]
    id: int
    account: int
    scopes: frozenset[str]
    client: str = ""
    resource: str = ""
    dynamic: bool = False


class Credentials:
    """Finds access tokens and OAuth access tokens, and notes their last use without a write per request."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._last_used: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._writing: threading.Thread | None = None

    def find(self, secret: str) -> VerifiedCredential | None:
        """Return the credential of this secret, or None if it is unknown, expired or revoked."""
        digest, now_s = digest_of(secret), int(self._clock())
        # Looked up by hash, so the time of the comparison reveals nothing of the secret.
        row = self._database.first_row(_PERSONAL, digest, now_s)
        if row is not None:
            self._note("token", row[0], row[3], now_s)
            return VerifiedCredential(kind="token", id=row[0], account=row[1], scopes=frozenset(row[2].split()))

        row = self._database.first_row(_OAUTH, digest, now_s)
        if row is None:
            return None

        self._note("oauth", row[0], row[3], now_s)
        return VerifiedCredential(
            kind="oauth",
            id=row[0],
            account=row[1],
            scopes=frozenset(row[2].split()),
            client=row[4],
            resource=row[5],
            dynamic=bool(row[6]),
        )

    def find_grant(self, grant: int) -> VerifiedCredential | None:
        """Return what an OAuth grant allows, or None if it was revoked or is gone; its tokens may have expired."""
        row = self._database.first_row(_GRANT, grant)
        if row is None:
            return None

        account, scopes, client, resource, is_dynamic = row
        return VerifiedCredential(
            kind="oauth",
            id=grant,
            account=account,
            scopes=frozenset(scopes.split()),
            client=client,
            resource=resource,
            dynamic=bool(is_dynamic),
        )

    def flush(self) -> None:
        """Write the noted uses; called in a separate thread, and when a service ends."""
        with self._lock:
            # Swapped under the lock and written outside of it: requests go on noting uses while the database is busy.
            last_used, self._last_used = self._last_used, {}

        if not last_used:
            return

        with self._database.write() as connection:
            for (kind, row), used_at in last_used.items():
                table = "access_tokens" if kind == "token" else "oauth_grants"
                connection.execute(
                    f"UPDATE {table} SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?",  # noqa: S608
                    (used_at, row),
                )

    def _note(self, kind: str, row: int, last: int | None, now_s: int) -> None:
        if last is not None and now_s - last < FRESH_S:
            return

        with self._lock:
            # One thread at a time, and one note per token until it has been written: a busy token would otherwise start
            # a thread for each request.
            is_noted = (kind, row) in self._last_used
            self._last_used[kind, row] = now_s
            if is_noted or (self._writing is not None and self._writing.is_alive()):
                return
            self._writing = threading.Thread(target=self._write, name="sourcelight-last-use", daemon=True)
            self._writing.start()

    def _write(self) -> None:
        try:
            self.flush()
        except StateUnusable:
            # A last use is a hint; the request that noted it has been answered.
            return
