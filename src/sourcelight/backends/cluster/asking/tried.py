"""Workers that did not answer, and when it is no use to ask another one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from sourcelight.core.errors import Cancelled, ClusterError, WorkersUnreachable

GONE = (WorkersUnreachable, TimeoutError)
"""What says that the worker itself is gone, and not only this work at it."""

RETRIED = (*GONE, ClusterError, Cancelled)
"""What another worker may not meet; anything else belongs to the question, and another would say the same."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A worker that did not answer, and why; `engine` when its engine failed at the work."""

    worker: str
    reason: str
    engine: bool = False

    @classmethod
    def of(cls, worker: str, error: BaseException, silence_s: float) -> Tried:
        """What one of `RETRIED` says of a worker that may be silent for `silence_s` seconds."""
        if isinstance(error, WorkersUnreachable):
            return cls(worker, error.reason)
        if isinstance(error, TimeoutError):
            return cls(worker, f"it said nothing for {silence_s:g} s")
        return cls(worker, str(error), engine=isinstance(error, ClusterError))


def poisoned(tried: Iterable[Tried]) -> bool:
    """Whether two workers failed alike, so that a third would too."""
    faults = [one.reason for one in tried if one.engine]
    return len(faults) > len(set(faults))
