"""Access tokens: long-lived secrets that an account sends in place of a password."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.secrets_kept import digest_of, make_token

USER_ALL = "user:all"
MCP = "mcp"
SCOPES = (USER_ALL, MCP)


@dataclass(frozen=True, slots=True)
class AccessToken:
    """What is known of a token, its secret excepted.

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

    def state(self, now: float) -> str:
        """``active``, ``expired`` or ``revoked``."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now else "active"


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
            What it is for.
        lifetime_s
            Seconds until it expires; None: never.

        Returns
        -------
        tuple[AccessToken, str]
            The token's facts, and its secret, which is kept nowhere.

        Raises
        ------
        StateError
            If there is no such account or scope, or the lifetime is not above 0.
        """
        wanted = tuple(dict.fromkeys(scopes))
        for scope in wanted:
            if scope not in SCOPES:
                raise StateError(f"there is no scope {scope!r}; there are {', '.join(SCOPES)}")
        if not wanted:
            raise StateError(f"a token needs a scope out of {', '.join(SCOPES)}")
        if lifetime_s is not None and lifetime_s <= 0:
            raise StateError("a token that expires needs a lifetime above 0")
        secret = make_token("p")
        return self.keep(account, digest_of(secret), wanted, note=note, lifetime_s=lifetime_s), secret

    def keep(
        self,
        account: str,
        digest: bytes,
        scopes: tuple[str, ...],
        *,
        note: str = "",
        lifetime_s: float | None = None,
    ) -> AccessToken:
        """Keep a token of which the SHA-256 is known; one that is kept already stays as it is."""
        now = self._clock()
        expires = None if lifetime_s is None else int(now + lifetime_s)
        with self._database.write() as connection:
            row = connection.execute("SELECT id FROM accounts WHERE name = ?", (account,)).fetchone()
            if row is None:
                raise StateError(f"there is no account {account!r}")
            connection.execute(
                "INSERT OR IGNORE INTO access_tokens (account, digest, note, scopes, created_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (row[0], digest, note, " ".join(scopes), int(now), expires),
            )
            (token_id,) = connection.execute("SELECT id FROM access_tokens WHERE digest = ?", (digest,)).fetchone()
        return self.get(token_id)

    def create_first(self, account: str, *, note: str) -> str:
        """Make a token of scope ``user:all`` if the account has none that is good; its secret, or "" if it has one.

        Of several processes that ask at the same moment, one makes a token.
        """
        secret = make_token("o")
        now = int(self._clock())
        with self._database.write() as connection:
            made = connection.execute(
                "INSERT INTO access_tokens (account, digest, note, scopes, created_at) "
                "SELECT id, ?1, ?2, ?3, ?4 FROM accounts WHERE name = ?5 AND NOT EXISTS (SELECT 1 FROM access_tokens "
                "WHERE account = accounts.id AND scopes = ?3 AND revoked_at IS NULL "
                "AND (expires_at IS NULL OR expires_at > ?4))",
                (digest_of(secret), note, USER_ALL, now, account),
            ).rowcount
        return secret if made else ""

    def get(self, token_id: int) -> AccessToken:
        """The token of this number; raises `StateError` when there is none."""
        found = self._read("WHERE t.id = ?", token_id)
        if not found:
            raise StateError(f"there is no token {token_id}")
        return found[0]

    def all(self, account: str | None = None) -> list[AccessToken]:
        """All tokens, or those of one account, oldest first; expired and revoked ones included."""
        return self._read("WHERE a.name = ?", account) if account is not None else self._read("")

    def revoke(self, token_id: int) -> AccessToken:
        """Make a token worthless from the next request on; the first time counts."""
        self.get(token_id)
        self._database.change(
            "UPDATE access_tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", int(self._clock()), token_id
        )
        return self.get(token_id)

    def _read(self, where: str, *values: object) -> list[AccessToken]:
        rows = self._database.all(
            "SELECT t.id, a.name, t.note, t.scopes, t.created_at, t.expires_at, t.revoked_at, t.last_used_at "  # noqa: S608
            f"FROM access_tokens t JOIN accounts a ON a.id = t.account {where} ORDER BY t.id",
            *values,
        )
        return [
            AccessToken(each, name, note, tuple(scopes.split()), created, expires, revoked, used)
            for each, name, note, scopes, created, expires, revoked, used in rows
        ]
