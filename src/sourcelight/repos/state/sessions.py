"""Signed-in browsers, and the key with which pages are sealed."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.secrets_kept import digest_of, make_token

SESSION_S = 12 * 3600

_LIVE = """SELECT a.id, a.name FROM sessions s JOIN accounts a ON a.id = s.account
    LEFT JOIN access_tokens t ON t.id = s.token
    WHERE s.digest = ?1 AND s.expires_at > ?2
    AND (t.id IS NULL OR (t.revoked_at IS NULL AND (t.expires_at IS NULL OR t.expires_at > ?2)))"""


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Whose session it is."""

    account: int
    name: str


class Sessions:
    """The sign-in sessions of one state file; one that began with an access token ends with it."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def begin(self, account: str, token: int | None = None) -> str:
        """A new session; its secret, for a cookie. `token` is the access token it was begun with, if any."""
        secret, now = make_token("w"), int(self._clock())
        with self._database.write() as connection:
            connection.execute("DELETE FROM sessions WHERE expires_at <= ?", (now,))
            row = connection.execute("SELECT id FROM accounts WHERE name = ?", (account,)).fetchone()
            if row is None:
                raise StateError(f"there is no account {account!r}")
            connection.execute(
                "INSERT INTO sessions (digest, account, token, created_at, expires_at) VALUES (?, ?, ?, ?, ?)",
                (digest_of(secret), row[0], token, now, now + SESSION_S),
            )
        return secret

    def find(self, secret: str) -> SignedIn | None:
        """Whose session this is; None when there is none or it is over."""
        row = self._database.one(_LIVE, digest_of(secret), int(self._clock())) if secret else None
        return None if row is None else SignedIn(*row)

    def reader(self, secret: str) -> str:
        """What a browser shows in place of `secret` where it only reads: the session can't be told from it.

        It names the same account and ends with the session, but decides nothing: no page that takes a decision knows
        it.
        """
        digest = digest_of(secret)
        return f"{digest.hex()}.{self._reader_mark(digest)}"

    def find_reader(self, shown: str) -> SignedIn | None:
        """Whose session it is that `reader` made this of; None when it is forged, or the session is over."""
        text, _, mark = shown.partition(".")
        try:
            digest = bytes.fromhex(text)
        except ValueError:
            return None
        if len(digest) != 32 or not hmac.compare_digest(mark.encode(), self._reader_mark(digest).encode()):
            return None
        row = self._database.one(_LIVE, digest, int(self._clock()))
        return None if row is None else SignedIn(*row)

    def _reader_mark(self, digest: bytes) -> str:
        return hmac.new(self.page_key, b"reader\0" + digest, hashlib.sha256).hexdigest()

    def end(self, secret: str) -> None:
        """End one session."""
        self._database.change("DELETE FROM sessions WHERE digest = ?", digest_of(secret))

    def end_all(self, account: str) -> int:
        """End all sessions of an account, and tell how many there were."""
        return self._database.change(
            "DELETE FROM sessions WHERE account = (SELECT id FROM accounts WHERE name = ?)", account
        )

    @property
    def page_key(self) -> bytes:
        """The key that seals what pages carry; the same for all processes that share the file."""
        row = self._database.one("SELECT value FROM keys WHERE name = 'pages'")
        if row is None:
            raise StateError("the key of pages is missing")
        return bytes(row[0])
