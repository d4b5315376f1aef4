"""One piece of work that looks at no clock, held to the time limit of what it belongs to."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TypeVar

from sourcelight.core.batches.events__cancellation import Cancellation

GRACE_S = 0.1
"""How long work may go on after its time limit to come to its end, or its next check, by itself."""

AMPLE_S = 30.0
"""Time to the limit that no single step takes up, so that none needs to be left behind, or a thread of its own."""

_Result = TypeVar("_Result")


class Late(Exception):
    """Raised when work was not done by the end of its time."""


def within(work: Callable[[], _Result], cancellation: Cancellation, grace_s: float = GRACE_S) -> _Result:
    """Give what `work` gives, done in a thread of its own; in this one where there is no time limit.

    Work that is late is left behind: what it gives, or raises, is dropped when it ends.

    Raises
    ------
    Late
        `grace_s` seconds after the limit.
    """
    remaining_s = cancellation.remaining_s
    if remaining_s is None:
        return work()
    if remaining_s + grace_s <= 0:
        raise Late
    done = threading.Event()
    results: list[_Result] = []
    faults: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as fault:  # noqa: BLE001 - raised again in the caller's thread
            faults.append(fault)
        finally:
            done.set()

    threading.Thread(target=run, name="sourcelight-within", daemon=True).start()
    if not done.wait(remaining_s + grace_s):
        raise Late
    if faults:
        raise faults[0]
    return results[0]
