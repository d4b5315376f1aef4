"""``GET /.api/search/stream``: a search as a stream of events.

An error is part of the stream, with status 200: an alert of kind ``error``, an ``error`` event with the same message,
and ``done``. Only credentials and overload have their own HTTP status.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import time
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.batches.encode import encode_matches
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import SEARCH_ENDED_EARLY, SERVICE_STOPPING, Event
from sourcelight.core.wire.request import SearchRequest
from sourcelight.server.http.connections import PENDING_BYTES
from sourcelight.server.http.middleware import notes_of, plain_response
from sourcelight.server.http.pacing import Cadence, Pacer
from sourcelight.server.http.producer import (
    EncodeBatch,
    Producer,
    SearchEngine,
    SearchThreads,
    query_error_events,
    stop_events,
)
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.trace import PATH as TRACE_PATH
from sourcelight.server.http.trace import Trace, TraceLog
from sourcelight.server.identity import Authenticator, FairQueue, Principal, QueueFull, Refusal

_SHORT_S = 0.02
_SHORT_BYTES = 1024
_HEAD = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
    (b"vary", b"Authorization, Accept-Encoding"),
)
_COMPRESS_IN_THREAD_BYTES = 256 * 1024
_LARGE_FRAME_BYTES = 64 * 1024
_WORDS = {"1": True, "t": True, "true": True, "0": False, "f": False, "false": False}
_CODING = re.compile(r"\s*(gzip|\*)\s*(?:;\s*q\s*=\s*([0-9.]+)\s*)?$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StreamLimits:
    """Limits of one service.

    Parameters
    ----------
    searches
        Concurrent searches; others wait, accounts in turn.
    searches_per_account
        Concurrent searches of one account, or of one address for readers without an account.
    streams_per_account
        Open streams of one account, including waiting ones and finished searches with unread bytes; one more gets 429.
    queue_s
        Seconds that a search waits for its turn before it gets 429.
    unread_s
        Seconds that the engine waits for a reader who reads no byte. Then the search ends; the reader can still read
        its events so far.
    recheck_s
        Seconds after which an unchanged credential is checked again: it may have expired.
    stop_grace_s
        Seconds that a stopping service waits for the engine before it ends the stream.
    """

    searches: int = 32
    searches_per_account: int = 8
    streams_per_account: int = 32
    queue_s: float = 10.0
    unread_s: float = 2.0
    recheck_s: float = 1.0
    stop_grace_s: float = 3.0


class SearchStream:
    """The ASGI endpoint of the stream.

    Parameters
    ----------
    engine
        The engine that searches.
    settings
        Site configuration.
    authenticator
        Identifies the sender of a request.
    traces
        Traces of requests.
    cadence, limits
        Times and sizes; parameters so that tests don't have to wait.
    """

    def __init__(
        self,
        engine: SearchEngine,
        settings: Settings,
        authenticator: Authenticator,
        traces: TraceLog,
        *,
        cadence: Cadence,
        limits: StreamLimits,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._authenticator = authenticator
        self._traces = traces
        self._cadence = cadence
        self._limits = limits
        self._running: set[Producer] = set()
        self._queue = FairQueue(limits.searches, limits.searches_per_account, limits.streams_per_account)
        self._streams: Counter[str] = Counter()
        self._threads = SearchThreads()
        self._stop_by: float | None = None

    @property
    def running(self) -> int:
        """Number of searches with a live thread."""
        return len(self._running)

    @property
    def stopping(self) -> bool:
        """Whether the service is stopping."""
        return self._stop_by is not None

    def stop(self) -> None:
        """End all streams within a deadline, each with ``done``, and refuse new requests."""
        self._stop_by = time.monotonic() + self._limits.stop_grace_s
        for producer in list(self._running):
            producer.stop()
        self._threads.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        headers = Headers(scope=scope)
        principal = self._authenticator.for_search(headers)
        notes = notes_of(scope)
        if isinstance(principal, Refusal):
            await plain_response(principal.status, principal.text)(scope, receive, send)
            return
        notes.name(principal)
        if self.stopping:
            await plain_response(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return
        reader = principal.account or f"anonymous {(scope.get('client') or ('',))[0]}"
        if self._streams[reader] >= self._limits.streams_per_account:
            text = f"You have {self._limits.streams_per_account} open searches, the maximum"
            await plain_response(429, f"{text}; read or close one first.", {"Retry-After": "1"})(scope, receive, send)
            return
        self._streams[reader] += 1
        try:
            await self._answer(scope, receive, send, principal, reader)
        finally:
            self._streams[reader] -= 1
            if not self._streams[reader]:
                del self._streams[reader]

    async def _answer(self, scope: Scope, receive: Receive, send: Send, principal: Principal, reader: str) -> None:
        headers, notes = Headers(scope=scope), notes_of(scope)
        wire = _Wire(send, zipped=_accepts_gzip(headers.get("accept-encoding", "")))
        try:
            request = _request(scope["query_string"])
        except QueryError as exc:
            notes.query = next((value for name, value in _pairs(scope["query_string"]) if name == "q"), "")
            notes.outcome = "query"
            await _answer(wire, query_error_events(exc), self._cadence)
            return
        notes.query = request.query
        trace_header = headers.get("x-sourcegraph-should-trace")
        if trace_header is not None:
            request = replace(request, trace=_WORDS.get(trace_header.lower(), request.trace))
        try:
            await self._queue.acquire(reader, self._limits.queue_s)
        except QueueFull:
            text = f"{self._limits.searches} searches are running, the maximum; retry in a moment."
            await plain_response(429, text, {"Retry-After": "1"})(scope, receive, send)
            return
        if self.stopping:
            self._queue.release(reader)
            await plain_response(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return
        trace = self._traces.open(principal, request.query) if request.trace else None
        await self._search(request, principal, trace, wire, scope, receive, reader)

    async def _search(
        self,
        request: SearchRequest,
        principal: Principal,
        trace: Trace | None,
        wire: _Wire,
        scope: Scope,
        receive: Receive,
        slot_owner: str,
    ) -> None:
        started = time.monotonic()
        notes = notes_of(scope)
        producer = Producer(
            self._engine,
            request,
            principal.viewer,
            Cancellation(),
            self._encoder(request),
            trace,
        )
        url = f"{self._base(scope)}{TRACE_PATH}{trace.id}" if trace is not None else ""
        pacer = Pacer(self._cadence, start_s=started, trace_url=url)
        wire.head({"X-Trace": trace.id, "X-Trace-URL": url} if trace is not None else {})
        self._running.add(producer)

        def on_end() -> None:
            self._running.discard(producer)
            self._queue.release(slot_owner)

        producer.start(self._threads, on_end, quiet_s=_SHORT_S)
        reader = _RequestReader(receive, producer)
        wire.watch_for(lambda: self._free_engine(producer), self._limits.unread_s, scope)
        access = _Access(self._authenticator, Headers(scope=scope), principal, self._limits.recheck_s)
        try:
            await self._pump(producer, pacer, wire, reader, access)
        except OSError:
            # The reader has stopped reading, or has disconnected.
            notes.outcome = "stalled"
        finally:
            await reader.let_go()
            producer.stop()
            disconnected = "disconnected" if reader.is_gone and not pacer.has_done else ""
            notes.outcome = notes.outcome or disconnected or producer.counts.error or "done"
            notes.events, notes.rows = producer.counts.events, producer.counts.rows
            if trace is not None:
                trace.mark(f"{wire.sent} bytes sent, outcome {notes.outcome}")

    def _free_engine(self, producer: Producer) -> None:
        """End the search of a reader that reads nothing, so that others can use the engine."""
        if producer.is_waiting and not producer.finished:
            producer.end(f"the reader read nothing for {self._limits.unread_s:g} s; this answer is not complete")

    async def _pump(
        self, producer: Producer, pacer: Pacer, wire: _Wire, reader: _RequestReader, access: _Access
    ) -> None:
        items = await producer.take(_SHORT_S)
        if not producer.finished:
            # A search that ends at once doesn't need a task that watches for a disconnect.
            reader.watch()
            await wire.start()
        frames: list[bytes] = []
        has_ended = False
        while not pacer.has_done:
            if items and not access.holds():
                producer.end("your access has ended or changed; this answer is not complete")
                items, has_ended = [], True
            for item in items:
                pacer.add(item)
            overdue = self._stop_by is not None and time.monotonic() >= self._stop_by
            if (overdue or (has_ended and not items)) and not pacer.has_done:
                for event in producer.closing(self._early_end(producer.ended_by)):
                    pacer.add(event)
            if (frames := pacer.take(time.monotonic())) and not pacer.has_done:
                await wire.write(frames)
            if reader.is_gone:
                return
            if not pacer.has_done:
                has_ended = producer.finished
                items = await producer.take(0.0 if has_ended else self._wait_s(pacer))
        await wire.end(frames)

    def _wait_s(self, pacer: Pacer) -> float:
        now_s = time.monotonic()
        wait_s = pacer.wait_s(now_s)
        return wait_s if self._stop_by is None else min(wait_s, max(0.0, self._stop_by - now_s))

    def _early_end(self, reason: str) -> list[Event]:
        if reason:
            return stop_events(SEARCH_ENDED_EARLY, f"the service ended the search: {reason}")
        if self.stopping:
            return stop_events(SERVICE_STOPPING, "the service is stopping; this answer is not complete, retry later")
        return stop_events(SEARCH_ENDED_EARLY, "the search ended early; this answer is not complete")

    def _encoder(self, request: SearchRequest) -> EncodeBatch:
        def encode_batch(batch: MatchBatch, infos: Mapping[str, RepositoryInfo]) -> Iterator[bytes]:
            yield from encode_matches(
                batch,
                infos,
                chunk_text=self._settings.chunk_text,
                chunk_matches=request.chunk_matches,
                diff_type=self._settings.diff_match_type,
            )

        return encode_batch

    def _base(self, scope: Scope) -> str:
        return self._settings.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"


class _Wire:
    """The response: its head, its portions (compressed and flushed one by one) and its end."""

    def __init__(self, send: Send, *, zipped: bool) -> None:
        self._send = send
        # wbits 31 is the gzip container; level 1 because the reader is waiting.
        self._packer = zlib.compressobj(1, zlib.DEFLATED, 31) if zipped else None
        self._unread: Callable[[], None] = lambda: None
        self._unread_s = 0.0
        self._pending_bytes: Callable[[], int] = lambda: 0
        self._extra: Mapping[str, str] = {}
        self._started = False
        self.sent = 0

    def head(self, extra: Mapping[str, str]) -> None:
        """Set extra headers."""
        self._extra = extra

    def watch_for(self, unread: Callable[[], None], unread_s: float, scope: Scope) -> None:
        """Call `unread` whenever the reader reads none of its pending bytes for `unread_s` seconds."""
        self._unread, self._unread_s = unread, unread_s
        self._pending_bytes = scope.get("extensions", {}).get(PENDING_BYTES, self._pending_bytes)

    async def start(self) -> None:
        """Send the head once."""
        if self._started:
            return
        self._started = True
        more = {"Content-Encoding": "gzip", **self._extra} if self._packer is not None else self._extra
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in more.items()]
        await self._pass({"type": "http.response.start", "status": 200, "headers": [*_HEAD, *raw]})

    async def write(self, frames: list[bytes]) -> None:
        """Send frames after the head."""
        await self.start()
        for data in [b"".join(frames)] if self._packer is not None else _portions(frames):
            if len(data) > _COMPRESS_IN_THREAD_BYTES and self._packer is not None:
                data = await asyncio.to_thread(self._pack, data)  # noqa: PLW2901 - the same, packed
            else:
                data = self._pack(data)  # noqa: PLW2901 - as above
            self.sent += len(data)
            await self._pass({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, frames: list[bytes]) -> None:
        """Send the last frames."""
        await self.start()
        if sum(map(len, frames)) > _COMPRESS_IN_THREAD_BYTES:
            await self.write(frames)
            frames = []
        tail = b"".join(frames)
        if self._packer is not None:
            tail = self._packer.compress(tail) + self._packer.flush(zlib.Z_FINISH)
        self.sent += len(tail)
        await self._pass({"type": "http.response.body", "body": tail, "more_body": False})

    def _pack(self, data: bytes) -> bytes:
        if self._packer is None:
            return data
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    async def _pass(self, message: Message) -> None:
        # The socket usually accepts all bytes at once; then there is nothing to wait for or to time.
        sending = self._send(message).__await__()
        try:
            waits_for = next(sending)
        except StopIteration:
            return
        if not self._unread_s:
            await _RemainingAwait(sending, waits_for)
            return
        loop, timer, pending = asyncio.get_running_loop(), None, self._pending_bytes()

        def look() -> None:
            nonlocal timer, pending
            now = self._pending_bytes()
            if now >= pending:
                self._unread()
            pending = now
            timer = loop.call_later(self._unread_s, look)

        timer = loop.call_later(self._unread_s, look)
        try:
            await _RemainingAwait(sending, waits_for)
        finally:
            timer.cancel()


class _RemainingAwait:
    """The rest of an awaitable that has started."""

    def __init__(self, begun: Generator[Any, Any, Any], waits_for: Any) -> None:
        self._begun = begun
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        """Wait for its current future, then continue it."""
        with contextlib.suppress(StopIteration):
            while True:
                try:
                    got = yield self._waits_for
                except BaseException as fault:  # noqa: BLE001 - the awaitable handles it
                    self._waits_for = self._begun.throw(fault)
                else:
                    self._waits_for = self._begun.send(got)


def _request(query: bytes) -> SearchRequest:
    """Parse the request of an address, with a cache for short ones. Raises `QueryError`."""
    return _short_request(query) if len(query) < _SHORT_BYTES else SearchRequest.from_params(_pairs(query))


@functools.lru_cache(maxsize=256)
def _short_request(query: bytes) -> SearchRequest:
    return SearchRequest.from_params(_pairs(query))


def _pairs(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)


def _portions(frames: list[bytes]) -> Iterator[bytes]:
    """Yield small frames joined and large ones unchanged: joining those would only copy them."""
    small: list[bytes] = []
    for frame in frames:
        if len(frame) < _LARGE_FRAME_BYTES:
            small.append(frame)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield frame
    if small:
        yield b"".join(small)


async def _answer(wire: _Wire, events: list[Event], cadence: Cadence) -> None:
    now = time.monotonic()
    pacer = Pacer(cadence, start_s=now)
    for event in events:
        pacer.add(event)
    await wire.end(pacer.take(now))


class _Access:
    """Checks whether the account of a stream still has its access.

    It checks after every change of the state, and at an interval, since credentials expire.
    """

    def __init__(self, authenticator: Authenticator, headers: Headers, principal: Principal, recheck_s: float) -> None:
        self._authenticator = authenticator
        self._headers = headers
        self._principal = principal
        self._recheck_s = recheck_s
        self._version = authenticator.version
        self._checked = time.monotonic()

    def holds(self) -> bool:
        """Tell whether the access is still valid."""
        version, now = self._authenticator.version, time.monotonic()
        if version == self._version and now - self._checked < self._recheck_s:
            return True
        self._version, self._checked = version, now
        current = self._authenticator.for_search(self._headers)
        return isinstance(current, Principal) and current.covers(self._principal)


class _RequestReader:
    """Watches the reader and stops the search on a disconnect."""

    def __init__(self, receive: Receive, producer: Producer) -> None:
        self._receive = receive
        self._producer = producer
        self._task: asyncio.Task[None] | None = None
        self.is_gone = False

    def watch(self) -> None:
        """Start to watch for a disconnect."""
        self._task = asyncio.create_task(self._watch())

    async def let_go(self) -> None:
        """Stop watching."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.is_gone = True
        self._producer.stop()


def _accepts_gzip(header: str) -> bool:
    """Tell whether an ``Accept-Encoding`` header allows gzip; a weight of 0 forbids it."""
    verdicts: dict[str, bool] = {}
    for part in header.split(",") if header else ():
        if match := _CODING.match(part):
            try:
                verdicts[match[1].lower()] = float(match[2] or 1) > 0
            except ValueError:
                continue
    return verdicts.get("gzip", verdicts.get("*", False))
