"""The rows of one call's answer, given as they are found."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

from sourcelight.client.backend import Backend
from sourcelight.client.painting import painting
from sourcelight.core.batches.results import Answer, CallProgress
from sourcelight.display.notebook import CallState, ProgressChoice


async def arriving(
    backend: Backend, columns: str, name: str, arguments: Mapping[str, Any], progress: ProgressChoice
) -> AsyncGenerator[Answer, None]:
    """Give the rows of an answer in parts, each as soon as the backend tells it; nothing is kept.

    The last part has the attributes, the status and the notices of the whole answer, and the rows that were not told
    before: all of them where the backend tells none on the way. Leaving the loop ends the call.

    Parameters
    ----------
    backend
        What answers.
    columns
        Name of the columns of the answer.
    name, arguments
        What is called.
    progress
        As in `AsyncClient.stream`.
    """
    state = CallState(f"{name}({', '.join(f'{key}={value!r}' for key, value in arguments.items())})")
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[Any] = asyncio.Queue()
    told = 0

    def observe(at: CallProgress) -> None:
        state.update(at)
        if at.rows is not None and at.rows.num_rows:
            # The loop is closed when the process is about to end: nobody is left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(news.put_nowait, at.rows)

    async with painting(state, progress):
        call = loop.create_task(backend.call(name, arguments, observe))
        # Behind whatever the working thread has told: both go through the loop's own queue, in order.
        call.add_done_callback(lambda _: news.put_nowait(None))
        try:
            while (rows := await news.get()) is not None:
                told += rows.num_rows
                yield Answer(columns, rows)
            answer = await call
            state.finish(answer)
        except Exception as exc:
            state.fail(str(exc))
            raise
        finally:
            state.interrupt()
            call.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await call
        yield replace(answer, table=answer.table.slice(0, 0) if told else answer.table)
