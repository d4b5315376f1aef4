"""Rate limits against guessing, shared by all processes of one state file.

An attempt is counted before its work is done, in the transaction that checked its limits. However many processes guess
at the same time, they try only as many guesses as the limit allows.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sourcelight.core.errors import StateError
from sourcelight.repos.state.database import Database


@dataclass(frozen=True, slots=True)
class AttemptLimit:
    """The maximum number of attempts of a kind for one key.

    Parameters
    ----------
    kind
        The kind of attempt, such as ``sign-in by address``.
    key
        Whose attempts are counted together; only a keyed hash of it is stored, since people type passwords as names.
    limit
        Attempts allowed within `window_s`; at least 1.
    window_s
        Seconds for which an attempt counts.
    """

    kind: str
    key: str
    limit: int
    window_s: int

    def __post_init__(self) -> None:
        # SQLite reads the negative OFFSET of a limit of 0 as none, so that limit would admit an attempt.
        if self.limit < 1:
            raise ValueError(f"{self.kind}: limit must be at least 1, got {self.limit}")


@dataclass(frozen=True, slots=True)
class Admission:
    """Whether an attempt may proceed: at once (`wait_s` 0), or in `wait_s` seconds at the earliest."""

    wait_s: float
    row_ids: tuple[int, ...] = ()

    @property
    def is_granted(self) -> bool:
        """Whether the attempt was counted and may be made."""
        return self.wait_s <= 0


class Attempts:
    """The attempts that are counted in one state file."""

    def __init__(self, database: Database, clock: Callable[[], float]) -> None:
        self._database = database
        self._clock = clock

    def admit(self, limits: Sequence[AttemptLimit]) -> Admission:
        """Count an attempt against all of `limits`, or against none of them when one is used up."""
        # Wall time, since the limits hold for several processes and across restarts.
        now_ms = int(self._clock() * 1000)
        with self._database.write() as connection:
            row = connection.execute("SELECT value FROM keys WHERE name = 'pages'").fetchone()
            if row is None:
                raise StateError("the state lacks its key for pages; restore a backup with `sourcelight admin restore`")

            digests = [_digest(bytes(row[0]), limit) for limit in limits]
            # Expired rows go first, so that the table stays as small as the open windows.
            connection.execute("DELETE FROM attempts WHERE ends_ms <= ?", (now_ms,))
            wait_ms = 0
            for limit, digest in zip(limits, digests, strict=True):
                # The newest `limit` of them count: a key may have more, when its limit was larger before.
                ends_at = connection.execute(
                    "SELECT ends_ms FROM attempts WHERE digest = ? ORDER BY ends_ms DESC LIMIT 1 OFFSET ?",
                    (digest, limit.limit - 1),
                ).fetchone()
                wait_ms = max(wait_ms, ends_at[0] - now_ms if ends_at else 0)

            if wait_ms > 0:
                return Admission(wait_ms / 1000)

            row_ids = [
                connection.execute(
                    "INSERT INTO attempts (digest, ends_ms) VALUES (?, ?)", (digest, now_ms + limit.window_s * 1000)
                ).lastrowid
                for limit, digest in zip(limits, digests, strict=True)
            ]

        return Admission(0.0, tuple(row_id for row_id in row_ids if row_id is not None))

    def withdraw(self, admission: Admission) -> None:
        """Withdraw an attempt that succeeded or was never made."""
        with self._database.write() as connection:
            connection.executemany("DELETE FROM attempts WHERE id = ?", [(row_id,) for row_id in admission.row_ids])

    def forget(self, limit: AttemptLimit) -> None:
        """Forget all attempts of one key."""
        row = self._database.first_row("SELECT value FROM keys WHERE name = 'pages'")
        if row is not None:
            self._database.change("DELETE FROM attempts WHERE digest = ?", _digest(bytes(row[0]), limit))


def _digest(secret: bytes, limit: AttemptLimit) -> bytes:
    # A keyed hash: a backup of the table must not reveal which names or addresses were tried.
    text = f"attempt\0{limit.kind}\0{limit.key}".encode("utf-8", "surrogatepass")
    return hmac.new(secret, text, hashlib.sha256).digest()
