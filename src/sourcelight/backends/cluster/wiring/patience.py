"""Time limits that a busy machine does not use up: what counts is how long the event loop had nothing to do."""

from __future__ import annotations

import asyncio
import contextlib
import math
from collections.abc import AsyncGenerator

_TICK_S = 0.1


@contextlib.asynccontextmanager
async def patient(seconds: float) -> AsyncGenerator[None]:
    """Raise `TimeoutError` in what is done here once it took `seconds`, by a clock that ticks on the event loop.

    A loop that is busy, or a process that gets no core, ticks late, and each tick counts for a tenth of a second:
    whoever can't listen takes nobody for silent.
    """
    loop = asyncio.get_running_loop()
    ticking: asyncio.TimerHandle | None = None

    def tick(left: int) -> None:
        nonlocal ticking
        if left > 0:
            ticking = loop.call_later(_TICK_S, tick, left - 1)
        else:
            limit.reschedule(loop.time())

    async with asyncio.timeout(None) as limit:
        tick(max(math.ceil(seconds / _TICK_S), 1))
        try:
            yield
        finally:
            if ticking is not None:
                ticking.cancel()
