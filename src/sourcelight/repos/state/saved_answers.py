"""Answers of searches that people saved, to share what they saw.

A link is a random name of 128 bits. Reading an answer takes the permission for each repository in it at that
time: this room stores rows, and the pages leave out what a reader may not see.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database

MAX_ANSWERS, MAX_BYTES, MAX_ANSWER_BYTES = 100, 32 << 20, 4 << 20
"""Limits of one account: number of answers, bytes of all answers, bytes of one answer."""

LIFETIME_S = 90 * 86_400
"""Seconds after which a saved answer is deleted."""

_COLUMNS = "s.token, a.name, s.query, s.pattern_type, s.facts, s.saved_at, s.expires_at"


class TooManyAnswers(StateError):
    """An account has saved as much as it may."""


@dataclass(frozen=True, slots=True)
class SavedAnswer:
    """A saved answer without its rows.

    Parameters
    ----------
    token
        Its name in addresses.
    owner
        Account that saved it.
    query, pattern_type
        The query.
    attributes
        Status, counts and notes of the answer.
    saved_at, expires_at
        Seconds since 1970.
    """

    token: str
    owner: str
    query: str
    pattern_type: str
    attributes: Mapping[str, Any]
    saved_at: int
    expires_at: int


class SavedAnswers:
    """The saved answers of one state file."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def save(self, owner: str, query: str, pattern_type: str, attributes: Mapping[str, Any], rows: bytes) -> str | None:
        """Save an answer for 90 days; return its token; return None when the account does not exist.

        Raises
        ------
        TooManyAnswers
            When the account has `MAX_ANSWERS` or `MAX_BYTES` already, or this one is larger than `MAX_ANSWER_BYTES`.
        """
        if len(rows) > MAX_ANSWER_BYTES:
            raise TooManyAnswers(f"this answer has {len(rows):,} bytes; at most {MAX_ANSWER_BYTES:,} are saved")

        now, token = int(self._clock()), secrets.token_urlsafe(16)
        with self._database.write() as connection:
            connection.execute("DELETE FROM saved_answers WHERE expires_at <= ?", (now,))
            account = connection.execute("SELECT id FROM accounts WHERE name = ?", (owner,)).fetchone()
            if account is None:
                return None

            # In the transaction of the insert: two requests can't both use the last free bytes.
            count, size = connection.execute(
                "SELECT count(*), coalesce(sum(length(rows)), 0) FROM saved_answers WHERE account = ?", account
            ).fetchone()
            if count >= MAX_ANSWERS or size + len(rows) > MAX_BYTES:
                raise TooManyAnswers(
                    f"you have saved {count:,} answers of {size:,} bytes; at most {MAX_ANSWERS} of {MAX_BYTES:,} bytes "
                    "in all are stored: delete one first"
                )

            connection.execute(
                "INSERT INTO saved_answers (token, account, query, pattern_type, facts, rows, saved_at, expires_at) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (token, account[0], query, pattern_type, json.dumps(attributes), rows, now, now + LIFETIME_S),
            )

        return token

    def list_for_owner(self, owner: str) -> list[SavedAnswer]:
        """Return the answers of an account, newest first."""
        rows = self._database.all(
            f"SELECT {_COLUMNS} FROM saved_answers AS s JOIN accounts AS a ON a.id = s.account "  # noqa: S608 - constants
            "WHERE a.name = ? AND s.expires_at > ? ORDER BY s.saved_at DESC, s.rowid DESC",
            owner,
            int(self._clock()),
        )
        return [_record(row) for row in rows]

    def find(self, token: str) -> tuple[SavedAnswer, bytes] | None:
        """Return an answer with its rows, or None if it is missing or has expired."""
        row = self._database.first_row(
            f"SELECT {_COLUMNS}, s.rows FROM saved_answers AS s JOIN accounts AS a ON a.id = s.account "  # noqa: S608 - as above
            "WHERE s.token = ? AND s.expires_at > ?",
            token,
            int(self._clock()),
        )
        return None if row is None else (_record(row[:-1]), bytes(row[-1]))

    def delete(self, token: str, owner: str) -> bool:
        """Delete an answer of an account; return whether there was one."""
        sql = "DELETE FROM saved_answers WHERE token = ? AND account = (SELECT id FROM accounts WHERE name = ?)"
        return self._database.change(sql, token, owner) > 0


def _record(row: tuple[Any, ...]) -> SavedAnswer:
    token, owner, query, pattern_type, attributes, saved_at, expires_at = row
    return SavedAnswer(token, owner, query, pattern_type, json.loads(attributes), saved_at, expires_at)
