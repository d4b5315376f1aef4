"""Run a search in its own thread and hand its events to the event loop through a bounded buffer.

One thread starts, advances and closes the engine's generator, so that it releases object readers and index files where
it opened them. A full buffer makes the engine wait: a slow reader costs a bounded amount of memory.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import secrets
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Literal

from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.cancellation import AMPLE_S, Cancellation, DeadlineExceeded, run_with_deadline
from sourcelight.core.errors import BadParameter, Cancelled, PatternError, QueryError
from sourcelight.core.markup import capitalize
from sourcelight.core.wire.events import SEARCH_FAILED, Alert, Done, Event, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer
from sourcelight.server.http.pacing import Cadence, EncodedMatches, Pacer, frames_at_once
from sourcelight.server.http.ranked_search import is_ranked, ranked_events
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.trace import Trace

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

_MAX_IDLE_THREADS = 2

# Estimated bytes of an event without matches, so that at most 256 of them wait in the buffer.
_EVENT_BYTES = 16 * 1024

# Encoding a smaller batch takes a few milliseconds; one with a line of megabytes may take seconds.
_LARGE_BYTES = 4 * 1024 * 1024

# Added to the time limit: the engine may end its last step slightly after it.
_GRACE_S = 0.2


class SearchThreads:
    """Runs each task in a thread at once, in an idle one if possible.

    Starting a thread, and waiting until it runs, takes longer than a short search. At most two idle threads stay; they
    end with the process, or with `stop`.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._orders: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = 0
        self._stopped = False

    def run(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise."""
        with self._guard:
            # `_idle` counts threads without work: one task for each decrement, so no task waits behind a search.
            if self._idle:
                self._idle -= 1
                self._orders.put(work)
                return
        threading.Thread(target=self._serve, args=(work,), daemon=True).start()

    def stop(self) -> None:
        """End idle threads now, and busy ones after their task."""
        with self._guard:
            self._stopped = True
            for _ in range(self._idle):
                self._orders.put(None)
            self._idle = 0

    def _serve(self, work: Callable[[], None] | None) -> None:
        thread = threading.current_thread()
        while work is not None:
            # Names show in a debugger, and tests count threads by them.
            thread.name = "sourcelight-search"
            work()

            # Release the task's references before the thread waits.
            work = None
            with self._guard:
                thread.name = "sourcelight-idle"
                if self._stopped or self._idle >= _MAX_IDLE_THREADS:
                    return
                self._idle += 1

            work = self._orders.get()


log = logging.getLogger("sourcelight.service")

Item = EncodedMatches | Event
EncodeBatch = Callable[[MatchBatch, Mapping[str, RepositoryInfo]], Iterator[bytes]]


@dataclass(slots=True)
class EventCounts:
    """Counts of a search so far, for the access log."""

    events: int = 0
    rows: int = 0
    error: str = ""


@dataclass(slots=True, eq=False)
class Producer:
    """Runs one search; `take` returns its new events.

    Parameters
    ----------
    engine, request, viewer
        The engine, the search, and whose repositories exist.
    cancellation
        Stops the engine; `stop` uses it.
    encode_batch
        Renders a batch as JSON arrays of matches.
    trace
        Receives timings; None without a trace.
    buffer_bytes
        Encoded bytes that may wait for the reader before the engine has to.

    Attributes
    ----------
    is_waiting
        Whether the engine waits for the reader.
    ended_by
        The reason for an early end, for the reader; empty without one.
    """

    engine: Engine
    request: SearchRequest
    viewer: Viewer
    cancellation: Cancellation
    encode_batch: EncodeBatch
    trace: Trace | None = None
    buffer_bytes: int = 4 * 1024 * 1024
    counts: EventCounts = field(default_factory=EventCounts)
    finished: bool = False
    is_waiting: bool = False
    ended_by: str = ""
    _progress: Progress | None = None
    _items: deque[tuple[Item, int]] = field(default_factory=deque)
    _size: int = 0
    _drained: threading.Condition = field(default_factory=threading.Condition)
    _wake: asyncio.Event = field(default_factory=asyncio.Event)
    _quiet_until: float = 0.0
    _loop: asyncio.AbstractEventLoop | None = None

    def start(self, threads: SearchThreads, on_end: Callable[[], Any], *, quiet_s: float = 0.0) -> None:
        """Start in one of `threads`; call `on_end` on the event loop afterwards.

        For `quiet_s` seconds, events don't wake the reader before the search has ended; the first `take` must wait as
        long. Two threads that take turns cost a short search more than its own work.
        """
        # Written before the thread starts, so no lock is needed to read it there.
        self._quiet_until = time.monotonic() + quiet_s
        self._loop = asyncio.get_running_loop()
        threads.run(lambda: self._run(on_end))

    def stop(self) -> None:
        """Stop the engine, even one that waits for a full buffer. Callable from any thread, more than once."""
        # Idempotent: the reader's task, the endpoint and a stopping service may all call it.
        if self.finished:
            return
        self.cancellation.cancel()
        with self._drained:
            self._drained.notify_all()
        self.wake()

    def end(self, reason: str) -> None:
        """Stop, and give `reason` to the reader."""
        self.ended_by = self.ended_by or reason
        self.stop()

    def wake(self) -> None:
        """Wake a waiting `take`. Callable from any thread."""
        self._call_on_loop(self._wake.set)

    async def take(self, timeout_s: float) -> list[Item]:
        """Return the events since the last call, after waiting for them at most `timeout_s`."""
        if not self._items and not self.finished and timeout_s > 0:
            # As `asyncio.timeout` does, without a task to cancel: each search comes by here.
            overdue = asyncio.get_running_loop().call_later(timeout_s, self._wake.set)
            try:
                await self._wake.wait()
            finally:
                overdue.cancel()

        # Cleared before the items are taken: an item that arrives in between wakes the next call.
        self._wake.clear()
        with self._drained:
            items = [item for item, _ in self._items]
            self._items.clear()
            self._size = 0
            self._drained.notify_all()

        return items

    def _run(self, on_end: Callable[[], Any]) -> None:
        try:
            self._search()
        except Cancelled:
            self.counts.error = self.counts.error or "cancelled"
        except (QueryError, PatternError) as exc:
            self.counts.error = "query"
            self._end(query_error_events(exc))
        except Exception as exc:  # noqa: BLE001 - the last handler: the reader gets an id, the log the error
            self.counts.error = type(exc).__name__
            self._end(internal_error_events(exc))
        finally:
            # Before the loop is notified: `_pump` reads it without a lock, and looks for items after it.
            self.finished = True
            self._call_on_loop(self._finish, on_end)

    def _finish(self, on_end: Callable[[], Any]) -> None:
        self._wake.set()
        on_end()

    def _call_on_loop(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call something on the event loop."""
        # A closed loop means that the process is about to end: no reader is left.
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):
                self._loop.call_soon_threadsafe(work, *arguments)

    def _search(self) -> None:
        self._mark("search thread started")
        infos: dict[str, RepositoryInfo] = {}
        find = partial(ranked_events, self.engine) if is_ranked(self.request) else self.engine.stream
        stream: Any = find(self.request, self.viewer, self.cancellation)
        with contextlib.closing(stream):
            for event in stream:
                self.counts.events += 1
                if isinstance(event, MatchBatch):
                    # The engine describes a repository once per search; every later batch may need the description.
                    infos.update((info.name, info) for info in event.repositories)
                    self.counts.rows += event.rows
                    self._mark(f"batch of {event.rows} rows found")
                    self._encode(event, infos)
                else:
                    self._mark(f"{type(event).__name__.lower()} event")
                    if isinstance(event, Progress):
                        self._progress = event
                    self._put(event, _EVENT_BYTES)

        self._mark("search ended")

    def _encode(self, event: MatchBatch, infos: Mapping[str, RepositoryInfo]) -> None:
        """Put the matches of a batch; report repositories to the engine when there is no time to encode them."""
        payloads = self.encode_batch(event, infos)
        remaining_s = self.cancellation.remaining_s
        limited = event.nbytes > _LARGE_BYTES and remaining_s is not None and remaining_s < AMPLE_S
        try:
            while (payload := self._next(payloads, limited=limited)) is not None:
                self._put(EncodedMatches(payload), len(payload))
            self._mark("batch encoded")
        except DeadlineExceeded:
            column = event.batch.column(event.batch.schema.get_field_index("repository"))
            self.cancellation.unsent_repositories.update(column.unique().to_pylist())
            self._mark("no time to encode the batch")

    def _next(self, payloads: Iterator[bytes], *, limited: bool) -> bytes | None:
        if not limited:
            return next(payloads, None)
        return run_with_deadline(lambda: next(payloads, None), self.cancellation, _GRACE_S)

    def _put(self, item: Item, size: int) -> None:
        with self._drained:
            self.cancellation.check()
            # An item larger than the buffer passes once the buffer is empty, or it would wait for ever.
            while self._size and self._size + size > self.buffer_bytes:
                self.is_waiting = True
                self.wake()
                # A deadline sends no notification, so the check below runs at least once a second.
                self._drained.wait(1.0)
                self.cancellation.check()

            self.is_waiting = False
            self._items.append((item, size))
            self._size += size

        if time.monotonic() >= self._quiet_until:
            self.wake()

    def closing(self, ending: list[Event]) -> list[Event]:
        """Return the end of a stopped stream: the final progress, if the search had begun, and then `ending`."""
        last = self._progress or Progress(done=False, match_count=0, duration_ms=0)
        if last.done or not self.counts.events:
            return ending
        return [replace(last, done=True), *ending]

    def _end(self, ending: list[Event]) -> None:
        with self._drained:
            self._items.extend((item, _EVENT_BYTES) for item in self.closing(ending))

    def _mark(self, label: str) -> None:
        if self.trace is not None:
            self.trace.mark(label)


def stop_events(title: str, message: str) -> list[Event]:
    """Return the end of a stream after an error: an alert and ``done``.

    No ``error`` event: one client in the field throws on it, and two show the message twice.
    """
    return [Alert(title, message, kind="error"), Done()]


def query_error_events(exc: QueryError | PatternError) -> list[Event]:
    """Return the end of a stream whose query can't run."""
    message = str(exc)
    if message.startswith("expected operand at "):
        message = "I'm having trouble understanding that query. Putting parentheses around the search pattern may help."
    title = "Bad Parameter" if isinstance(exc, BadParameter) else "Unable To Process Query"
    return stop_events(title, capitalize(message))


def internal_error_events(exc: BaseException) -> list[Event]:
    """Return the end of a stream after an internal error; only the log has the details."""
    error_id = secrets.token_hex(6)
    log.error("search failed, id %s", error_id, exc_info=exc)
    return stop_events(SEARCH_FAILED, f"internal error, id {error_id}: see the log of the service")


def batch_encoder(request: SearchRequest, diff_type: Literal["diff", "commit"], settings: Settings) -> EncodeBatch:
    """Return a function that renders the batches of a search as JSON."""

    def encode_batch(batch: MatchBatch, infos: Mapping[str, RepositoryInfo]) -> Iterator[bytes]:
        yield from encode_matches(
            batch,
            infos,
            chunk_text=settings.chunk_text,
            chunk_matches=request.chunk_matches,
            diff_type=diff_type,
            symbol_lines=request.symbol_lines,
        )

    return encode_batch


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    """All frames of a stream, and their counts for the access log."""

    frames: list[bytes]
    counts: EventCounts

    @property
    def outcome(self) -> str:
        """The outcome for the access log."""
        return self.counts.error or "done"


def small_answer(
    engine: Engine, request: SearchRequest, viewer: Viewer, encode_batch: EncodeBatch, cadence: Cadence
) -> SmallAnswer | None:
    """Return the whole stream of a small search, or None if it needs a thread.

    Parameters
    ----------
    engine, request, viewer
        The engine, the search, and whose repositories exist.
    encode_batch
        Renders a batch as JSON arrays of matches.
    cadence
        As of streams: it frames events, and none waits for a tick.
    """
    counts = EventCounts()
    try:
        events: list[Any] | None = engine.answer_at_once(request, viewer)
        if events is None:
            return None

        items: list[Any] = []
        for event in events:
            counts.events += 1
            if isinstance(event, MatchBatch):
                counts.rows += event.rows
                infos = {info.name: info for info in event.repositories}
                items += [EncodedMatches(payload) for payload in encode_batch(event, infos)]
            else:
                items.append(event)

        frames = frames_at_once(items)
        if frames is not None:
            return SmallAnswer(frames, counts)

        pacer = Pacer(cadence, start_s=time.monotonic())
        for item in items:
            pacer.add(item)
    except Exception as exc:  # noqa: BLE001 - the last handler: the reader gets an id, the log the error
        counts.error = type(exc).__name__
        pacer = Pacer(cadence, start_s=time.monotonic())
        for error_event in internal_error_events(exc):
            pacer.add(error_event)

    return SmallAnswer(pacer.take(time.monotonic()), counts)
