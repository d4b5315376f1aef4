"""Progress of one call: its painting, messages to a person, and warnings of incomplete answers.

The thread that waits paints, or the event loop if the call is awaited. In a notebook, a warning appears once per cell;
elsewhere, Python's filters apply.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from typing import Any

from sourcelight.client.portal import SLICE_S, current_board, note_interrupt
from sourcelight.core.backend import Backend
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.markup import visible
from sourcelight.display.notebook import CallState, Painter, ProgressChoice, make_painter
from sourcelight.display.notebook.cell_messages import show_warning
from sourcelight.display.notebook.painter import ProgressState


@asynccontextmanager
async def painting(
    watched: ProgressState, progress: ProgressChoice, on_stop: Callable[[], None] | None = None, after_s: float = 0.0
) -> AsyncIterator[None]:
    """Draw `watched` while the block runs, and its last state.

    Parameters
    ----------
    watched
        The work; it must have settled its status when the block ends.
    progress
        See `sourcelight.display.notebook.make_painter`.
    on_stop
        Callback of a Stop button. Ignored when a thread waits, because a click would be handled after the work.
    after_s
        Work that is over sooner is not drawn, unless `progress` asks for it.
    """
    board = current_board()
    if board is not None:
        board.add(make_painter(watched, progress, after_s=after_s))
        yield
        return

    painter = make_painter(watched, progress, on_stop=on_stop, after_s=after_s)
    painter.paint()
    ticker = asyncio.create_task(_tick(painter))
    try:
        yield
    finally:
        ticker.cancel()
        with suppress(asyncio.CancelledError):
            await asyncio.gather(ticker, return_exceptions=True)
        painter.finish()

    # An error of the drawing itself; normally the ticker was cancelled above.
    error = None if ticker.cancelled() else ticker.exception()
    if error is not None:
        raise error


async def _tick(painter: Painter) -> None:
    while True:
        await asyncio.sleep(SLICE_S)
        painter.paint()


async def arriving(
    backend: Backend, columns: str, name: str, arguments: Mapping[str, Any], progress: ProgressChoice
) -> AsyncGenerator[ToolResult, None]:
    """Yield the rows of an answer in parts as they arrive; none is kept.

    The last part has the attributes, status and notices of the answer, and all rows that were not reported before.
    Leaving the loop ends the call.

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
    arguments_text = ", ".join(f"{key}={value!r}" for key, value in arguments.items())
    state = CallState(f"{name}({arguments_text})")
    loop = asyncio.get_running_loop()
    news: asyncio.Queue[Any] = asyncio.Queue()
    reported = 0

    def observe(event: ToolProgress) -> None:
        state.update(event)
        if event.rows is not None and event.rows.num_rows:
            # The loop is closed when the process ends, so nobody needs the result.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(news.put_nowait, event.rows)

    async with painting(state, progress):
        call = loop.create_task(backend.call(name, arguments, observe))
        # After all reports of the working thread: both go through the loop's queue, in order.
        call.add_done_callback(lambda _: news.put_nowait(None))
        try:
            rows = await news.get()
            while rows is not None:
                reported += rows.num_rows
                yield ToolResult(columns, rows)
                rows = await news.get()

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

        yield replace(answer, table=answer.table.slice(0, 0) if reported else answer.table)


class _Sentence:
    """A text that is written once; a board draws it like the progress of work."""

    def __init__(self, text: str) -> None:
        self._text = text

    def paint(self) -> None:
        """Write it, the first time."""
        text, self._text = self._text, ""
        if text:
            sys.stdout.write(f"{text}\n")
            sys.stdout.flush()

    def finish(self) -> None:
        """Write it, unless it is written."""
        self.paint()

    def interrupt(self) -> None:
        """Do nothing: there is no state to mark."""


def say(address: str) -> None:
    """Show the address to open, below the cell or on the terminal."""
    sentence, board = _Sentence(f"Open this address to sign in:\n{address}"), current_board()
    if board is None:
        sentence.paint()
    else:
        board.add(sentence)


class IncompleteCountWarning(UserWarning):
    """Warns that a count comes from an incomplete answer, and why."""

    def __str__(self) -> str:
        return visible(super().__str__())


class RepeatedCommitsWarning(UserWarning):
    """Warns that commits count more than once, because several repositories have them."""


class IncompleteResultWarning(UserWarning):
    """Warns that an answer of a tool or an analysis is incomplete, and why."""

    def __str__(self) -> str:
        # A service has a part in the reasons, and Python prints them to terminals, which obey escape sequences.
        return visible(super().__str__())


def warn(warning: Warning) -> None:
    """Warn at the line that called the client: by the thread that waits, if one does."""
    board = current_board()
    if board is not None:
        board.warnings.append(warning)
    else:
        show_warning(warning)


async def watch(
    state: ProgressState,
    work: Coroutine[Any, Any, None],
    progress: ProgressChoice,
    after_s: float = 0.0,
    *,
    client: Any,
) -> None:
    """Await work under a painter; a Stop button, if there is one, ends it without an error.

    Parameters
    ----------
    state
        The awaited work; `interrupt` is called when it is stopped.
    work
        The work; it is awaited here alone.
    progress
        As in `AsyncClient.search`.
    after_s
        Seconds before the first drawing.
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
