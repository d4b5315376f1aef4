"""OAuth clients, the consents of accounts, and the codes and tokens that follow from each.

All that follows from one consent is a family. A code or refresh token that comes a second time was stolen, or its
answer got lost: the two can't be distinguished, so the family ends (OAuth 2.1, 4.1.3 and 4.3.1).

An administrator creates a client, or it registers itself.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sourcelight.core.errors import StateError
from sourcelight.repos.state.credentials import MCP, SCOPES, digest_of, make_token
from sourcelight.repos.state.database import Database

# OAuth 2.1 recommends at most 10 minutes for a code; clients redeem it at once, so a minute is enough.
CODE_S = 60
ACCESS_S = 3600
"""Lifetime of an access token: a stolen one is of use no longer."""

REFRESH_S = 30 * 24 * 3600
"""Lifetime of a refresh token: a client that is not used for longer signs in again."""

UNUSED_S = 24 * 3600
"""Seconds after which a self-registered client without any consent is deleted."""


@dataclass(frozen=True, slots=True)
class OAuthGrant:
    """One consent; times in seconds since 1970, UTC."""

    id: int
    account: str
    client: str
    client_name: str
    scopes: tuple[str, ...]
    resource: str
    created_at: int
    revoked_at: int | None
    last_used_at: int | None


@dataclass(frozen=True, slots=True)
class IssuedCode:
    """A known code or refresh token: its family, scopes, expiry, and whether it was used."""

    family: int
    client: str
    scopes: tuple[str, ...]
    resource: str
    expires_at: int
    is_used: bool
    redirect_uri: str = ""
    redirect_uri_given: bool = True
    challenge: str = ""

    @classmethod
    def of_row(cls, row: Sequence[Any]) -> IssuedCode:
        """Return the record of a row with the first six attributes."""
        family, client, scopes, resource, expires_at, is_used = row
        return cls(family, client, tuple(scopes.split()), resource, expires_at, bool(is_used))


@dataclass(frozen=True, slots=True)
class TokenPair:
    """A new access token and the refresh token that renews it; `expires_in` in seconds."""

    access: str
    refresh: str
    scopes: tuple[str, ...]
    expires_in: int = ACCESS_S


class Authorizations:
    """The OAuth grants of one state file."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def grant(
        self,
        account: int,
        client: str,
        scopes: Iterable[str],
        *,
        resource: str,
        redirect_uri: str,
        redirect_uri_given: bool,
        challenge: str,
    ) -> str:
        """Store a consent and return its authorization code, valid once and for a minute."""
        code, now_s = make_token("k"), int(self._clock())
        with self._database.write() as connection:
            _forget(connection, now_s)
            family = connection.execute(
                "INSERT INTO oauth_grants (account, client, scopes, resource, created_at) VALUES (?, ?, ?, ?, ?)",
                (account, client, " ".join(scopes), resource, now_s),
            ).lastrowid
            connection.execute(
                "INSERT INTO oauth_codes VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (digest_of(code), family, redirect_uri, int(redirect_uri_given), challenge, now_s + CODE_S),
            )

        return code

    def code(self, code: str) -> IssuedCode | None:
        """Return the record of a code, or None if it is unknown or its family has ended."""
        row = self._database.first_row(
            "SELECT g.id, g.client, g.scopes, g.resource, c.expires_at, c.used_at IS NOT NULL, "
            "c.redirect_uri, c.redirect_uri_given, c.challenge FROM oauth_codes c "
            "JOIN oauth_grants g ON g.id = c.family WHERE c.digest = ? AND g.revoked_at IS NULL",
            digest_of(code),
        )
        if row is None:
            return None

        *grant, redirect_uri, is_uri_given, challenge = row
        issued = IssuedCode.of_row(grant)
        return replace(issued, redirect_uri=redirect_uri, redirect_uri_given=bool(is_uri_given), challenge=challenge)

    def refresh_token(self, token: str) -> IssuedCode | None:
        """Return the record of a refresh token, or None if it is unknown or its family has ended."""
        row = self._database.first_row(
            "SELECT g.id, g.client, t.scopes, g.resource, t.expires_at, t.used_at IS NOT NULL "
            "FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.family "
            "WHERE t.digest = ? AND t.kind = 'refresh' AND g.revoked_at IS NULL",
            digest_of(token),
        )
        return None if row is None else IssuedCode.of_row(row)

    def exchange_code(self, code: str) -> TokenPair | None:
        """Exchange a code for tokens; a second use ends the family and returns None."""
        issued = self.code(code)
        if issued is None:
            return None

        # Expiry and redirect address are checked by the caller, which knows the request; here only the single use
        # counts.
        digest, now_s = digest_of(code), int(self._clock())
        with self._database.write() as connection:
            is_used = connection.execute(
                # The update decides who was first, also between processes: of two requests with one code, the second
                # finds no row.
                "UPDATE oauth_codes SET used_at = ? WHERE digest = ? AND used_at IS NULL",
                (now_s, digest),
            ).rowcount
            if not is_used:
                _revoke(connection, issued.family, now_s)
                return None

            return self._issue(connection, issued.family, issued.scopes, issued.scopes)

    def exchange_refresh_token(self, token: str, scopes: Iterable[str]) -> TokenPair | None:
        """Exchange a refresh token for new tokens; a second use ends the family and returns None.

        `scopes` may be fewer than granted: they hold for the access token, while the refresh token keeps all.
        """
        issued = self.refresh_token(token)
        if issued is None:
            return None

        digest, now_s = digest_of(token), int(self._clock())
        with self._database.write() as connection:
            is_used = connection.execute(
                "UPDATE oauth_tokens SET used_at = ? WHERE digest = ? AND used_at IS NULL", (now_s, digest)
            ).rowcount
            if not is_used:
                _revoke(connection, issued.family, now_s)
                return None
            # Access tokens of the previous exchange end here: one refresh token leads to one valid access token.
            connection.execute("DELETE FROM oauth_tokens WHERE family = ? AND kind = 'access'", (issued.family,))
            return self._issue(connection, issued.family, tuple(scopes), issued.scopes)

    def revoke(self, token: str, client: str) -> bool:
        """End the family of an access or refresh token of `client`; False when it has no such token."""
        row = self._database.first_row(
            "SELECT g.id FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.family "
            "WHERE t.digest = ? AND g.client = ?",
            digest_of(token),
            client,
        )
        if row is not None:
            self.end(row[0])

        return row is not None

    def end(self, family: int) -> None:
        """End a family with all its codes and tokens. Raises `StateError` if it doesn't exist."""
        if self._database.first_row("SELECT 1 FROM oauth_grants WHERE id = ?", family) is None:
            raise StateError(f"OAuth grant {family} doesn't exist; `sourcelight admin oauth-client grants` lists them")
        with self._database.write() as connection:
            _revoke(connection, family, int(self._clock()))

    def all(self, account: str | None = None) -> list[OAuthGrant]:
        """Return all grants, or the grants of one account, oldest first."""
        condition, values = ("WHERE a.name = ?", (account,)) if account is not None else ("", ())
        rows = self._database.all(
            "SELECT g.id, a.name, g.client, c.name, g.scopes, g.resource, g.created_at, g.revoked_at, g.last_used_at "  # noqa: S608
            "FROM oauth_grants g JOIN accounts a ON a.id = g.account JOIN oauth_clients c ON c.id = g.client "
            f"{condition} ORDER BY g.id",
            *values,
        )
        return [
            OAuthGrant(
                id=family,
                account=name,
                client=client,
                client_name=client_name,
                scopes=tuple(scopes.split()),
                resource=resource,
                created_at=created,
                revoked_at=revoked,
                last_used_at=is_used,
            )
            for family, name, client, client_name, scopes, resource, created, revoked, is_used in rows
        ]

    def issue(self, connection: sqlite3.Connection, account: int, client: str, scopes: tuple[str, ...]) -> TokenPair:
        """Store a consent in the caller's transaction and return its tokens; the device flow needs no second code."""
        now_s = int(self._clock())
        _forget(connection, now_s)
        family = connection.execute(
            "INSERT INTO oauth_grants (account, client, scopes, resource, created_at) VALUES (?, ?, ?, '', ?)",
            (account, client, " ".join(scopes), now_s),
        ).lastrowid
        assert family is not None  # noqa: S101 - a row was inserted
        return self._issue(connection, family, scopes, scopes)

    def _issue(
        self, connection: sqlite3.Connection, family: int, scopes: tuple[str, ...], all_scopes: tuple[str, ...]
    ) -> TokenPair:
        # The access token may have fewer scopes than the grant; the refresh token keeps them all.
        access, refresh, now_s = make_token("a"), make_token("r"), int(self._clock())
        for token, kind, token_hash, lifetime in (
            (access, "access", scopes, ACCESS_S),
            (refresh, "refresh", all_scopes, REFRESH_S),
        ):
            connection.execute(
                "INSERT INTO oauth_tokens VALUES (?, ?, ?, ?, ?, ?, NULL)",
                (digest_of(token), family, kind, " ".join(token_hash), now_s, now_s + lifetime),
            )

        return TokenPair(access, refresh, scopes)


def _revoke(connection: sqlite3.Connection, family: int, now_s: int) -> None:
    connection.execute("UPDATE oauth_grants SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL", (now_s, family))


def _forget(connection: sqlite3.Connection, now_s: int) -> None:
    """Delete expired codes and tokens, and families without any."""
    connection.execute("DELETE FROM oauth_tokens WHERE expires_at < ?", (now_s,))
    # Used codes stay until their access token has expired: a second use must still be recognized and end the family.
    connection.execute("DELETE FROM oauth_codes WHERE expires_at < ?", (now_s - ACCESS_S,))
    connection.execute(
        "DELETE FROM oauth_grants WHERE created_at < ? AND id NOT IN (SELECT family FROM oauth_tokens) "
        "AND id NOT IN (SELECT family FROM oauth_codes)",
        (now_s - ACCESS_S,),
    )


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client: a public one has no `secret` (SHA-256), a dynamic one registered itself.

    `metadata` is the metadata of its registration (RFC 7591); `created_at` is in seconds since 1970, UTC.
    """

    id: str
    name: str
    secret: bytes | None
    redirect_uris: tuple[str, ...]
    scopes: tuple[str, ...]
    dynamic: bool
    metadata: Mapping[str, Any]
    created_at: int


class OAuthClients:
    """The clients of one state file."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def create(
        self, name: str, redirect_uris: Iterable[str], *, scopes: Iterable[str] = (MCP,), confidential: bool = False
    ) -> tuple[OAuthClient, str]:
        """Create a client; the caller has checked its redirect addresses.

        Returns
        -------
        tuple[OAuthClient, str]
            The client, and its secret, which is kept nowhere; "" for a public client.

        Raises
        ------
        StateError
            For an unknown scope, no scope, or no address.
        """
        unique_scopes, unique_uris = tuple(dict.fromkeys(scopes)), tuple(dict.fromkeys(redirect_uris))
        for scope in unique_scopes:
            if scope not in SCOPES:
                raise StateError(f"unknown scope {scope!r}; available: {', '.join(SCOPES)}")

        if not unique_scopes or not unique_uris or not name.strip():
            raise StateError("a client needs a name, a scope and a redirect address; pass all three")

        secret = make_token("s") if confidential else ""
        client = OAuthClient(
            id=f"slc_{secrets.token_hex(12)}",
            name=name.strip(),
            secret=digest_of(secret) if secret else None,
            redirect_uris=unique_uris,
            scopes=unique_scopes,
            dynamic=False,
            metadata={},
            created_at=int(self._clock()),
        )
        self.store(client)
        return client, secret

    def store(self, client: OAuthClient) -> None:
        """Store a client, and delete old dynamic clients that were never used."""
        with self._database.write() as connection:
            connection.execute(
                "DELETE FROM oauth_clients WHERE dynamic = 1 AND created_at < ? "
                "AND id NOT IN (SELECT client FROM oauth_grants)",
                (int(self._clock()) - UNUSED_S,),
            )
            connection.execute(
                "INSERT INTO oauth_clients (id, name, secret, redirect_uris, scopes, dynamic, metadata, created_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    client.id,
                    client.name,
                    client.secret,
                    json.dumps(client.redirect_uris),
                    " ".join(client.scopes),
                    int(client.dynamic),
                    json.dumps(client.metadata),
                    client.created_at,
                ),
            )

    def find(self, client_id: str) -> OAuthClient | None:
        """Return the client of this id, if there is one."""
        clients = self._read("WHERE id = ?", client_id)
        return clients[0] if clients else None

    def all(self) -> list[OAuthClient]:
        """Return all clients, oldest first."""
        return self._read("")

    def delete(self, client_id: str) -> None:
        """Delete a client; all its tokens end. Raises `StateError` when there is none."""
        if not self._database.change("DELETE FROM oauth_clients WHERE id = ?", client_id):
            raise StateError(
                f"OAuth client {client_id!r} doesn't exist; `sourcelight admin oauth-client list` lists them"
            )

    def _read(self, condition: str, *values: object) -> list[OAuthClient]:
        rows = self._database.all(
            "SELECT id, name, secret, redirect_uris, scopes, dynamic, metadata, created_at FROM oauth_clients "  # noqa: S608
            f"{condition} ORDER BY created_at, id",
            *values,
        )
        return [
            OAuthClient(
                id=identifier,
                name=name,
                secret=secret,
                redirect_uris=tuple(json.loads(redirect_uris)),
                scopes=tuple(scopes.split()),
                dynamic=bool(dynamic),
                metadata=json.loads(metadata),
                created_at=created_at,
            )
            for identifier, name, secret, redirect_uris, scopes, dynamic, metadata, created_at in rows
        ]
