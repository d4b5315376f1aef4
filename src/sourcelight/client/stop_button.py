"""Runs work under a painter, with a Stop button where there is one."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from sourcelight.client.portal import current_board, note_interrupt
from sourcelight.client.progress import painting
from sourcelight.display.notebook import ProgressChoice
from sourcelight.display.notebook.painter import ProgressState


async def watch(
    state: ProgressState,
    work: Coroutine[Any, Any, None],
    progress: ProgressChoice,
    after_s: float = 0.0,
    *,
    client: Any,
) -> None:
    """Await work under a painter; a Stop button, where there is one, ends it without an error.

    Parameters
    ----------
    state
        What the work has come to; `interrupt` is called when it is stopped.
    work
        The work; it is awaited here alone.
    progress
        As in `AsyncClient.search`.
    after_s
        Seconds for which nothing is drawn.
    client
        Who asks: an interrupt names its attribute that has the rows so far.
    """
    if current_board() is not None:
        async with painting(state, progress, after_s=after_s):
            await work
        return
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    stopped = False

    def stop() -> None:
        nonlocal stopped
        stopped = True
        loop.call_soon_threadsafe(task.cancel)

    async with painting(state, progress, stop, after_s):
        try:
            await task
        except asyncio.CancelledError as exc:
            state.interrupt()
            current = asyncio.current_task()
            if not stopped or (current is not None and current.cancelling()):
                task.cancel()
                note_interrupt(exc, client, state)
                raise
