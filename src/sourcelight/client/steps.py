"""Steps of a search that a client awaits: to its end, to a part without events, and work that nothing breaks off."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from sourcelight.client.run import Run
from sourcelight.core.batches import MatchBatch


async def consume(run: Run, take: Callable[[MatchBatch], Awaitable[None]]) -> None:
    """Run a search to its end, and hand over its matches."""
    async with aclosing(run.events()) as events:
        async for event in events:
            if isinstance(event, MatchBatch):
                try:
                    await take(event)
                except Exception as exc:
                    run.state.fail(f"{type(exc).__name__}: {exc}")
                    raise


async def settled(run: Run, work: Awaitable[Any]) -> Any:
    """Await a part of a search that sends no events; its end, if it does not come well, is that of the search."""
    try:
        return await work
    except asyncio.CancelledError:
        run.state.interrupt()
        raise
    except Exception as exc:
        run.state.fail(str(exc))
        raise


async def unbroken(work: Coroutine[Any, Any, Any]) -> Any:
    """Await work to its end even when this task is cancelled meanwhile; the cancellation follows."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        await asyncio.wait([task])
        raise
