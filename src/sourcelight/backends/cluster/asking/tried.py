"""Workers that did not answer, and when it is no use to ask another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.backends.cluster.wiring.exchanges import ConnectionBroke
from sourcelight.core.errors import (
    Cancelled,
    ClusterError,
    PatternError,
    QueryError,
    ShardDamaged,
    StorageError,
    WorkersUnreachable,
)

GONE = (WorkersUnreachable, TimeoutError)
"""What says that the worker itself is gone, and not only this work at it."""

RETRIED = (*GONE, ClusterError, Cancelled)
"""What another worker may not meet when a tool is called; anything else belongs to the call."""

ASKED_WRONG = (QueryError, PatternError)
"""What belongs to a search itself; whatever else a worker meets, another may not."""

_ELSEWHERE = (StorageError, ShardDamaged, Cancelled, *GONE)


@dataclass(frozen=True, slots=True)
class Tried:
    """A worker that did not answer, and why.

    Attributes
    ----------
    worker, reason
        Its name, and what it said or did.
    engine
        Its engine failed at the work.
    died
        It vanished with the work in hand.
    """

    worker: str
    reason: str
    engine: bool = False
    died: bool = False

    @classmethod
    def of(cls, worker: str, error: BaseException, silence_s: float) -> Tried:
        """What an error says of a worker that may be silent for `silence_s` seconds."""
        if isinstance(error, WorkersUnreachable):
            return cls(worker, error.reason, died=isinstance(error, ConnectionBroke))
        if isinstance(error, TimeoutError):
            return cls(worker, f"it said nothing for {silence_s:g} s")
        return cls(worker, str(error) or type(error).__name__, engine=not isinstance(error, _ELSEWHERE))


def reasons(tried: Iterable[Tried]) -> str:
    """Who was asked, and why none of them answered, in words."""
    return "; ".join(f"{one.worker}: {one.reason}" for one in tried) or "no worker that holds it answers"


def poisoned(tried: Iterable[Tried]) -> bool:
    """Whether two workers failed alike, or died at the work, so that a third would too."""
    found = list(tried)
    faults = [one.reason for one in found if one.engine]
    return len(faults) > len(set(faults)) or sum(one.died for one in found) > 1
