"""Run asynchronous calls from blocking code, in one event loop of a background thread.

The thread starts with the first call, is shared by all threads, is closed at exit, and is forgotten by a forked child,
which starts its own. A waiting caller wakes ten times a second: it draws progress, and an interrupt reaches it on every
platform.

`blocking` derives the methods of `Client` from `AsyncClient`, with signature and docstring. The message of an
interrupt says where the client has the rows that arrived.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Sized
from concurrent.futures import CancelledError, Future
from contextlib import aclosing, suppress
from contextvars import ContextVar
from functools import wraps
from queue import Empty, SimpleQueue
from typing import Any, Concatenate, Generic, ParamSpec, Protocol, TypeVar, runtime_checkable

from sourcelight.display.notebook import CallState
from sourcelight.display.notebook.cell_messages import short_in_cells, show_warning, variable_of

T = TypeVar("T")
SLICE_S = 0.1
"""Seconds of a wait, after which an interrupt of the cell is noticed; ten drawings a second look continuous."""

# A slice of 0.1 s and this wait together stay below the 0.3 s within which `call` raises KeyboardInterrupt.
_UNWIND_AFTER_INTERRUPT_S = 0.15
_UNWIND_AFTER_BREAK_S = 2.0
"""Seconds for a search to clean up after a ``break``."""

_AHEAD = 8  # events that a producer may be ahead of its consumer; each holds a batch

_KEEPS_NOTHING = frozenset(
    {
        "count",
        "count_by",
        "deepsearch_cancel",
        "deepsearch_delete",
        "deepsearch_list",
        "deepsearch_read",
        "deepsearch_reset_link",
        "deepsearch_update",
        "explain",
    }
)
"""Methods after which ``last`` has no partial result."""

P = ParamSpec("P")


class Drawable(Protocol):
    """Something that the waiting thread draws; see `sourcelight.display.notebook.Painter`."""

    def paint(self) -> None:
        """Draw if it is time to."""

    def finish(self) -> None:
        """Draw the last state."""

    def interrupt(self) -> None:
        """Record an interrupt by the caller."""


class WakeEvent:
    """Wakes the one thread that waits for it.

    An interrupt in the middle of waiting leaves nothing locked. A `threading.Event` may stay locked for ever where one
    comes between taking its lock and noting that it is taken, and then stops the loop, which wants to set it.
    """

    def __init__(self) -> None:
        self._rung: SimpleQueue[None] = SimpleQueue()

    def ring(self) -> None:
        """Wake the thread, now or when it waits next."""
        self._rung.put(None)

    def wait(self, most_s: float) -> None:
        """Return when it rings, if it rang since the last wait, or after `most_s` seconds."""
        with suppress(Empty):
            self._rung.get(timeout=most_s)
            while True:
                self._rung.get_nowait()


class PaintBoard:
    """Drawings and warnings that a coroutine leaves to the thread that waits for it."""

    def __init__(self) -> None:
        self.bell = WakeEvent()
        self.warnings: list[Warning] = []
        self._drawables: tuple[Drawable, ...] = ()

    def add(self, drawable: Drawable) -> None:
        """Draw something from now on."""
        self._drawables = (*self._drawables, drawable)
        self.bell.ring()

    def paint(self) -> None:
        """Draw everything that is due; only the waiting thread calls this."""
        for drawable in self._drawables:
            drawable.paint()

    def interrupt(self) -> None:
        """Mark all work as interrupted."""
        for drawable in self._drawables:
            drawable.interrupt()

    def finish(self) -> None:
        """Draw all last states; only the waiting thread calls this."""
        for drawable in self._drawables:
            drawable.finish()


_board: ContextVar[PaintBoard | None] = ContextVar("sourcelight_board", default=None)


def has_ended() -> bool:
    """Return whether the interpreter is exiting, so that the background loop has ended."""
    return _Loop.is_closed


def current_board() -> PaintBoard | None:
    """Return the board of the thread that waits for the running coroutine, or None in an `await` call."""
    return _board.get()


# The lock guards the start only. Everything after it is read without the lock: `loop` and `end` are set together,
# before any caller gets them, and change only at exit and in a forked child.
class _Loop:
    """The one background loop; class attributes, since there is one per process."""

    lock = threading.Lock()
    loop: asyncio.AbstractEventLoop | None = None
    end: asyncio.Event | None = None
    thread: threading.Thread | None = None
    is_closed = False

    @classmethod
    def forget(cls) -> None:
        """Start over: in a forked child the thread does not exist."""
        # A new lock: in the child the old one may be held by a thread that the fork didn't copy, and would never be
        # released.
        cls.lock = threading.Lock()
        cls.loop = cls.end = cls.thread = None

    @classmethod
    def running(cls) -> asyncio.AbstractEventLoop:
        """Return the loop, started if needed; refuse callers that run on the loop themselves."""
        with cls.lock:
            if cls.loop is None or cls.thread is None or not cls.thread.is_alive():
                if cls.is_closed:  # a thread that is started now never runs, and waiting for it never ends
                    raise RuntimeError("the interpreter is exiting; no further requests are possible")
                ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
                # A daemon, because `threading._shutdown` joins other threads before `atexit` runs, and this one ends
                # only in `close`.
                cls.thread = threading.Thread(target=_run_loop, args=(ready,), name="sourcelight-loop", daemon=True)
                cls.thread.start()
                cls.loop, cls.end = ready.result(timeout=10)

            if cls.thread is threading.current_thread():
                raise RuntimeError("blocking call on the background loop itself: await the AsyncClient there")

            return cls.loop

    @classmethod
    def close(cls) -> None:
        """Cancel running work, let it clean up, and end the thread, because the interpreter is exiting."""
        cls.is_closed = True
        loop, end, thread = cls.loop, cls.end, cls.thread
        if loop is None or end is None or thread is None or not thread.is_alive():
            return

        cls.forget()
        with suppress(RuntimeError):  # the loop has just ended
            loop.call_soon_threadsafe(end.set)

        # Bounded, so that a task that ignores its cancellation can't hold up the exit.
        thread.join(timeout=2)


def _run_loop(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    """Run the loop until it is stopped, cancel what still runs, and wait for it."""
    # It cancels what still runs when `_serve` returns, and waits until that has closed its connections.
    asyncio.run(_serve(ready))  # noqa: TID251 - the one loop that blocking calls go through


async def _serve(ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    loop, end = asyncio.get_running_loop(), asyncio.Event()
    ready.set_result((loop, end))
    await end.wait()
    # The interpreter is exiting. Python 3.12 starts no thread then, and asyncio would start one to wait for the threads
    # of its executor, which `concurrent.futures` has joined by now.
    loop.shutdown_default_executor = _skip_shutdown  # type: ignore[method-assign]


async def _skip_shutdown(timeout: float | None = None) -> None:  # noqa: ASYNC109 - the signature of asyncio
    del timeout


atexit.register(_Loop.close)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Loop.forget)


class _Task(Generic[T]):
    """A coroutine on the background loop, and the thread that waits for it."""

    def __init__(self, function: Callable[[], Awaitable[T]]) -> None:
        self.board = PaintBoard()
        self.unwound = False
        self._function = function
        self._cancelled = False
        self._task: asyncio.Task[Any] | None = None

        # A list, because None is a valid result. Empty means no result yet.
        self._done: list[T] = []
        self._error: BaseException | None = None

    def start(self) -> None:
        """Start; separate from the constructor, because an interrupt may come before the caller has the object."""
        loop = _Loop.running()
        # The task gets a copy of the calling thread's context variables, as a call there would have them. `cancel` has
        # the task itself, so the future that this returns isn't needed.
        coroutine = self._run()
        try:
            asyncio.run_coroutine_threadsafe(coroutine, loop)
        except RuntimeError:  # the loop has just ended
            coroutine.close()
            raise

    async def _run(self) -> None:
        # A context variable and not an attribute of the loop: several calls run on the loop at once, each with its own
        # board.
        token = _board.set(self.board)
        self._task = asyncio.current_task()
        try:
            if self._cancelled:
                # The interrupt came before the task began, when there was nothing to cancel yet.
                raise asyncio.CancelledError  # noqa: TRY301 - as if it had been cancelled
            self._done.append(await self._function())
        except BaseException as exc:
            self._error = exc
            raise
        finally:
            _board.reset(token)
            # Before the bell: the waiting thread reads the flag after each ring, and a ring without the flag would cost
            # it a slice.
            self.unwound = True
            self.board.bell.ring()

    def look(self) -> None:
        """Wait for news, a tenth of a second at most, and draw."""
        self.board.bell.wait(SLICE_S)
        self.board.paint()

    def result(self) -> T:
        """Return or raise the outcome of a task that has unwound."""
        # Taken out of the object: the traceback of the error refers to this task, and the two would keep each other
        # alive.
        error, self._error = self._error, None
        try:
            if isinstance(error, asyncio.CancelledError):
                raise CancelledError from error
            if error is not None:
                raise error
        finally:
            del error  # its frames hold this one

        return self._done[0]

    def soon(self, function: Callable[[], object]) -> None:
        """Run something on the loop of the task, which must have begun; nothing happens on a loop that has ended."""
        if self._task is not None:
            with suppress(RuntimeError):
                self._task.get_loop().call_soon_threadsafe(function)

    def cancel(self, wait_s: float) -> None:
        """Cancel the coroutine once, and wait at most `wait_s` until it has cleaned up."""
        self._cancelled = True
        if self._task is not None:
            self.soon(self._task.cancel)
        # Not `Event.wait` once: the bell also rings for drawings, so one ring doesn't mean that the task has unwound.
        until = time.monotonic() + wait_s
        while not self.unwound and (left_s := until - time.monotonic()) > 0:
            self.board.bell.wait(left_s)

    def interrupt(self) -> None:
        """Stop for an interrupt: what arrived is marked at once, whether or not the work has stopped already."""
        self.board.interrupt()
        self.cancel(_UNWIND_AFTER_INTERRUPT_S)
        self.board.finish()


def call(function: Callable[..., Awaitable[T]], /, *args: Any, **kwargs: Any) -> T:
    """Run a coroutine function on the background loop and return its result; draw for it while waiting.

    Raises
    ------
    KeyboardInterrupt
        Within 0.3 s of an interrupt, without the history of this room's waiting.
    RuntimeError
        On the background loop itself.
    """
    # Outside of the `try`: nothing runs yet, so an interrupt here has nothing to clean up.
    task = _Task(lambda: function(*args, **kwargs))
    try:
        task.start()
        # In slices: a thread that blocks without a timeout doesn't see KeyboardInterrupt on every platform.
        while not task.unwound:
            task.look()
    except KeyboardInterrupt:
        task.interrupt()
        raise short_in_cells(KeyboardInterrupt("interrupted")) from None
    except BaseException:
        # A second interrupt, or an error while drawing: the work still gets a moment to close its connections.
        task.cancel(_UNWIND_AFTER_INTERRUPT_S)
        raise

    task.board.finish()
    for warning in task.board.warnings:
        show_warning(warning)

    try:
        return task.result()
    except (ValueError, TypeError, OSError) as exc:  # arguments at fault; other errors are ours, and shown whole
        short_in_cells(exc)
        raise


def iterate(generator: Callable[..., AsyncGenerator[T, None]], *args: Any, **kwargs: Any) -> Generator[T, None, None]:
    """Yield the items of an async generator, which one task runs from start to end.

    The task is at most eight items ahead. Leaving the loop early, by `break`, an error or an interrupt, cancels it and
    waits, bounded, until it has cleaned up.
    """
    # append() and popleft() of a deque are thread-safe. The semaphore isn't, so it is released on the loop.
    items: deque[T] = deque()
    # Back-pressure: a consumer that stops reading stops the producer eight items later, and with it the search.
    slots = asyncio.Semaphore(_AHEAD)

    async def produce() -> None:
        board = current_board()
        async with aclosing(generator(*args, **kwargs)) as source:
            async for item in source:
                await slots.acquire()
                items.append(item)
                if board is not None:
                    board.bell.ring()

    task = _Task(produce)
    try:
        task.start()
        # `unwound` is read first: an item that comes between the two reads would be lost the other way round.
        while not task.unwound or items:
            if items:
                item = items.popleft()
                task.soon(slots.release)
                task.board.paint()
                yield item
            else:
                task.look()
    except KeyboardInterrupt:
        task.interrupt()
        raise short_in_cells(KeyboardInterrupt("interrupted")) from None
    except BaseException:
        task.cancel(_UNWIND_AFTER_BREAK_S)
        task.board.finish()
        raise

    task.board.finish()
    task.result()


@runtime_checkable
class Written(Protocol):
    """A file that rows were written to, as `Export` is."""

    rows: int


def interrupted_text(client: Any, method: str) -> str:
    """Return the message of an interrupt; it names ``last`` where the client kept a partial result."""
    partial = None if method in _KEEPS_NOTHING else client.last
    if partial is None:
        return "interrupted"
    if isinstance(partial, Sized):
        rows = len(partial)
    elif isinstance(partial, Written):
        rows = partial.rows
    else:
        rows = None
    count = "" if rows is None else f" ({rows:,} row{'' if rows == 1 else 's'})"
    return f"interrupted; the rows so far are in {variable_of(client) or 'client'}.last{count}"


def note_interrupt(exc: BaseException, client: Any, state: Any) -> None:
    """Set the message of an interrupt on the cancellation of an awaited call; `state` is the call's."""
    newest = client._last  # noqa: SLF001 - one room; an awaited client
    is_search = newest is not None and newest.state is state
    if is_search:
        method = "search"
    elif isinstance(state, CallState):
        method = ""
    else:
        method = "count"
    exc.args = (interrupted_text(client, method),)
    short_in_cells(exc)


def blocking(method: Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]) -> Callable[Concatenate[Any, P], T]:
    """Return the blocking twin of a coroutine method; it draws while it waits and can be interrupted.

    It belongs in a class whose ``_client`` is the `AsyncClient` that has the method.
    """

    @wraps(method)
    def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return call(method, self._client, *args, **kwargs)
        except KeyboardInterrupt as exc:
            exc.args = (interrupted_text(self, method.__name__),)
            raise

    return twin


def blocking_generator(
    method: Callable[Concatenate[Any, P], AsyncGenerator[T, None]],
) -> Callable[Concatenate[Any, P], Generator[T, None, None]]:
    """Return the twin of an async generator method for plain ``for`` loops; see `blocking`."""

    @wraps(method)
    def twin(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Generator[T, None, None]:
        return iterate(method, self._client, *args, **kwargs)

    return twin
