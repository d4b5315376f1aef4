"""Sign-in of command-line clients (RFC 8628): device codes, the short codes that people type, and their decisions.

A device code is stored as a hash, and works once. A user code has eight consonants, so that it spells no word (RFC
8628, 6.1). It has 34 bits, and at most `MAX_PENDING` are open for ten minutes each.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from sourcelight.core.errors import StateError
from sourcelight.repos.state.credentials import USER_ALL, digest_of, make_token
from sourcelight.repos.state.database import Database
from sourcelight.repos.state.oauth import Authorizations, TokenPair

DEVICE_CODE_S = 600
"""Lifetime of a code: time to open a browser and sign in."""

INTERVAL_S = 5
"""Seconds between two requests of a client for its token, the default of RFC 8628."""

MAX_PENDING = 1_000
"""Open sign-ins at a time."""

COMMAND_LINE_CLIENT = "sgo_cid_sourcegraph-cli"
"""The client id of the stock command-line client, which every service knows without registration."""

_LETTERS = "BCDFGHJKLMNPQRSTVWXZ"
_CODE_LENGTH = 8
"""Letters of a user code."""

_SLOW_DOWN_S = 5
"""Seconds that are added to the interval of a client that asks too early (RFC 8628, 3.5)."""

Refused = Literal["authorization_pending", "slow_down", "access_denied", "expired_token"]


@dataclass(frozen=True, slots=True)
class DeviceRequest:
    """A request that waits for its user: who asks, and for what."""

    user_code: str
    client: str
    scopes: tuple[str, ...]


class DeviceCodes:
    """The device codes of one state file."""

    def __init__(self, database: Database, authorizations: Authorizations, clock: Callable[[], float]) -> None:
        self._database = database
        self._authorizations = authorizations
        self._clock = clock

    def start(self, client: str, scopes: Iterable[str]) -> tuple[str, str]:
        """Store a request; return its device code and its user code. Raises `StateError` when too many wait."""
        device_code, now_s = make_token("d"), int(self._clock())
        with self._database.write() as connection:
            # Kept for a while after they expire, so that a late poll gets "expired" and not "unknown".
            connection.execute("DELETE FROM device_codes WHERE expires_at < ?", (now_s - DEVICE_CODE_S,))
            (pending,) = connection.execute("SELECT count(*) FROM device_codes").fetchone()

            # More open codes make it easier to guess one, and anyone may start requests.
            if pending >= MAX_PENDING:
                raise StateError("too many pending sign-ins; try again in a few minutes")

            if client == COMMAND_LINE_CLIENT:
                connection.execute(
                    # Created on first use, so that services without such sign-ins list no client.
                    "INSERT OR IGNORE INTO oauth_clients "
                    "(id, name, secret, redirect_uris, scopes, dynamic, metadata, created_at) "
                    "VALUES (?, 'Command-line client', NULL, '[]', ?, 0, '{}', ?)",
                    (client, USER_ALL, now_s),
                )

            user_code = "".join(secrets.choice(_LETTERS) for _ in range(_CODE_LENGTH))
            connection.execute(
                "INSERT INTO device_codes (digest, user_code, client, scopes, expires_at, interval_s) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (digest_of(device_code), user_code, client, " ".join(scopes), now_s + DEVICE_CODE_S, INTERVAL_S),
            )

        return device_code, format_user_code(user_code)

    def pending(self, user_code: str) -> DeviceRequest | None:
        """Return the request of a user code, or None if it is unknown, expired or decided."""
        code = plain_user_code(user_code)
        row = self._database.first_row(
            "SELECT client, scopes FROM device_codes WHERE user_code = ? AND expires_at >= ? AND decision IS NULL",
            code,
            int(self._clock()),
        )
        if row is None:
            return None
        return DeviceRequest(format_user_code(code), row[0], tuple(row[1].split()))

    def decide(self, user_code: str, account: int, *, is_allowed: bool) -> bool:
        """Store the decision of a user, once; False if the request has ended."""
        with self._database.write() as connection:
            changed = connection.execute(
                "UPDATE device_codes SET decision = ?, account = ? "
                "WHERE user_code = ? AND expires_at >= ? AND decision IS NULL",
                ("allow" if is_allowed else "deny", account, plain_user_code(user_code), int(self._clock())),
            ).rowcount
        return bool(changed)

    def exchange(self, device_code: str, client: str) -> TokenPair | Refused:
        """Return tokens for an allowed request, once; otherwise why there are none yet, or never will be."""
        digest, now_s = digest_of(device_code), self._clock()
        with self._database.write() as connection:
            row = connection.execute(
                "SELECT scopes, expires_at, interval_s, polled_at, decision, account FROM device_codes "
                "WHERE digest = ? AND client = ?",
                (digest, client),
            ).fetchone()
            if row is None or row[1] < now_s:
                return "expired_token"

            scopes, _, interval_s, polled_at, decision, account = row
            if decision is None:
                # A tolerance of a second: clients wait their interval after the answer, not after their request.
                is_early = polled_at is not None and now_s - polled_at < interval_s - 1
                connection.execute(
                    "UPDATE device_codes SET polled_at = ?, interval_s = interval_s + ? WHERE digest = ?",
                    (now_s, _SLOW_DOWN_S if is_early else 0, digest),
                )
                return "slow_down" if is_early else "authorization_pending"

            connection.execute("DELETE FROM device_codes WHERE digest = ?", (digest,))
            if decision != "allow":
                return "access_denied"

            return self._authorizations.issue(connection, account, client, tuple(scopes.split()))


def format_user_code(code: str) -> str:
    """Return the displayed form of a code, in two halves."""
    half = _CODE_LENGTH // 2
    return f"{code[:half]}-{code[half:]}"


def plain_user_code(text: str) -> str:
    """Normalize a typed code: capitals, without blanks and hyphens."""
    return "".join(letter for letter in text.upper() if letter in _LETTERS)[: _CODE_LENGTH + 1]
