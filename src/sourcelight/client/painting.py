"""Has work drawn while it runs: by the thread that waits for it, or, when it is awaited, on its own loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress

from sourcelight.client.portal import SLICE_S, current_board
from sourcelight.display.notebook import Painter, ProgressChoice, make_painter
from sourcelight.display.notebook.painter import Watched


async def _tick(painter: Painter) -> None:
    while True:
        await asyncio.sleep(SLICE_S)
        painter.paint()


@asynccontextmanager
async def painting(
    watched: Watched, progress: ProgressChoice, stop: Callable[[], None] | None = None, after_s: float = 0.0
) -> AsyncIterator[None]:
    """Draw `watched` while the block runs, and its last state.

    Parameters
    ----------
    watched
        The work; it must have settled its status when the block ends.
    progress
        See `sourcelight.display.notebook.make_painter`.
    stop
        What a Stop button calls; ignored when a thread waits, since a click would be handled after the work.
    after_s
        Work that is over sooner is not drawn, unless `progress` asks for it.
    """
    board = current_board()
    if board is not None:
        board.add(make_painter(watched, progress, after_s=after_s))
        yield
        return
    painter = make_painter(watched, progress, stop=stop, after_s=after_s)
    painter.paint()
    ticker = asyncio.create_task(_tick(painter))
    try:
        yield
    finally:
        ticker.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(ticker, return_exceptions=True)
        painter.finish()
    if not ticker.cancelled() and (fault := ticker.exception()) is not None:
        raise fault
