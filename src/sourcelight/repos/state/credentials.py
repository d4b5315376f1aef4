"""From the secret of a request to the account behind it: the one look-up for tokens of both kinds."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.errors import StateUnusable
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.secrets_kept import digest_of

FRESH_S = 300
"""A last use is written when the one on record is older than this, in seconds."""

_PERSONAL = """SELECT id, account, scopes, last_used_at FROM access_tokens
    WHERE digest = ?1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > ?2)"""
_OAUTH = """SELECT g.id, g.account, t.scopes, g.last_used_at, g.client, g.resource, c.dynamic
    FROM oauth_tokens t JOIN oauth_grants g ON g.id = t.family JOIN oauth_clients c ON c.id = g.client
    WHERE t.digest = ?1 AND t.kind = 'access' AND t.expires_at > ?2 AND g.revoked_at IS NULL"""


@dataclass(frozen=True, slots=True)
class Credential:
    """A token that is good: its kind, its row, and what it allows."""

    kind: Literal["token", "oauth"]
    id: int
    account: int
    scopes: frozenset[str]
    client: str = ""
    resource: str = ""
    dynamic: bool = False


class Credentials:
    """Recognises access tokens and OAuth access tokens; keeps track of last uses without a write per request."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock
        self._used: dict[tuple[str, int], int] = {}
        self._lock = threading.Lock()
        self._writing: threading.Thread | None = None

    def find(self, secret: str) -> Credential | None:
        """The credential of this secret; None when there is none, or it is expired or revoked."""
        digest, now = digest_of(secret), int(self._clock())
        row = self._database.one(_PERSONAL, digest, now)
        if row is not None:
            self._note("token", row[0], row[3], now)
            return Credential("token", row[0], row[1], frozenset(row[2].split()))
        row = self._database.one(_OAUTH, digest, now)
        if row is None:
            return None
        self._note("oauth", row[0], row[3], now)
        return Credential("oauth", row[0], row[1], frozenset(row[2].split()), row[4], row[5], bool(row[6]))

    def flush(self) -> None:
        """Write the uses that are noted; called in a thread of its own, and at the end of a service."""
        with self._lock:
            used, self._used = self._used, {}
        if not used:
            return
        with self._database.write() as connection:
            for (kind, row), at in used.items():
                table = "access_tokens" if kind == "token" else "oauth_grants"
                connection.execute(
                    f"UPDATE {table} SET last_used_at = max(ifnull(last_used_at, 0), ?) WHERE id = ?",  # noqa: S608
                    (at, row),
                )

    def _note(self, kind: str, row: int, last: int | None, now: int) -> None:
        if last is not None and now - last < FRESH_S:
            return
        with self._lock:
            known = (kind, row) in self._used
            self._used[kind, row] = now
            if known or (self._writing is not None and self._writing.is_alive()):
                return
            self._writing = threading.Thread(target=self._write, name="sourcelight-last-use", daemon=True)
            self._writing.start()

    def _write(self) -> None:
        try:
            self.flush()
        except StateUnusable:
            # A last use is a hint; the request that noted it has been answered.
            return
