"""The log of changes: written by triggers in the transaction of each change, and only read here."""

from __future__ import annotations

from dataclasses import dataclass

from sourcelight.repos.state.database import Database


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """A change: its number, when (seconds since 1970, UTC), who made it, what it was and of what.

    `actor` is ``admin:NAME`` (a user of the machine), ``service``, or empty where something else wrote to the file.
    """

    id: int
    at: int
    actor: str
    action: str
    subject: str


class AuditLog:
    """Reads the log of one state file."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def entries(self, limit: int = 1_000) -> list[AuditEntry]:
        """The newest `limit` entries, oldest first."""
        rows = self._database.all("SELECT id, at, actor, action, subject FROM audit ORDER BY id DESC LIMIT ?", limit)
        return [AuditEntry(*row) for row in reversed(rows)]
