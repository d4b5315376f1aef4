"""OAuth clients: those that an administrator made, and those that registered themselves."""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.secrets_kept import digest_of, make_token
from sourcelight.repos.state.tokens import MCP, SCOPES

UNUSED_S = 24 * 3600
"""Seconds after which a client that registered itself and that nobody ever allowed anything is forgotten."""


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """A client: a public one has no `secret` (SHA-256), a dynamic one has registered itself.

    `metadata` is what it said of itself at its registration (RFC 7591); `created_at` is in seconds since 1970, UTC.
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
        """Make a client; the caller has checked its redirect addresses.

        Returns
        -------
        tuple[OAuthClient, str]
            The client, and its secret, which is kept nowhere; "" for a public client.

        Raises
        ------
        StateError
            For an unknown scope, no scope, or no address.
        """
        wanted, places = tuple(dict.fromkeys(scopes)), tuple(dict.fromkeys(redirect_uris))
        for scope in wanted:
            if scope not in SCOPES:
                raise StateError(f"there is no scope {scope!r}; there are {', '.join(SCOPES)}")
        if not wanted or not places or not name.strip():
            raise StateError("a client needs a name, a scope and a redirect address")
        secret = make_token("s") if confidential else ""
        client = OAuthClient(
            f"slc_{secrets.token_hex(12)}",
            name.strip(),
            digest_of(secret) if secret else None,
            places,
            wanted,
            dynamic=False,
            metadata={},
            created_at=int(self._clock()),
        )
        self.keep(client)
        return client, secret

    def keep(self, client: OAuthClient) -> None:
        """Keep a client, and forget those that registered themselves long ago and were never used."""
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
        """The client of this id, if there is one."""
        found = self._read("WHERE id = ?", client_id)
        return found[0] if found else None

    def all(self) -> list[OAuthClient]:
        """All clients, oldest first."""
        return self._read("")

    def delete(self, client_id: str) -> None:
        """Delete a client; all its tokens end. Raises `StateError` when there is none."""
        if not self._database.change("DELETE FROM oauth_clients WHERE id = ?", client_id):
            raise StateError(f"there is no OAuth client {client_id!r}")

    def _read(self, where: str, *values: object) -> list[OAuthClient]:
        rows = self._database.all(
            "SELECT id, name, secret, redirect_uris, scopes, dynamic, metadata, created_at FROM oauth_clients "  # noqa: S608
            f"{where} ORDER BY created_at, id",
            *values,
        )
        return [
            OAuthClient(
                each,
                name,
                secret,
                tuple(json.loads(places)),
                tuple(scopes.split()),
                bool(dynamic),
                json.loads(more),
                at,
            )
            for each, name, secret, places, scopes, dynamic, more, at in rows
        ]
