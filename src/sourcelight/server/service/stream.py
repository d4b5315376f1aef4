"""``GET /.api/search/stream``: a search as a stream of events.

Whatever stops a search is told inside the stream, with status 200: an alert of kind ``error``, an ``error`` event
with the same message, and ``done``. Only credentials and overload have an HTTP status of their own.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import time
import zlib
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl

from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from sourcelight.core.batches import Cancellation, MatchBatch, RepositoryFacts
from sourcelight.core.batches.encode import encode_matches
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import SEARCH_ENDED_EARLY, SERVICE_STOPPING, Event
from sourcelight.core.wire.request import SearchRequest
from sourcelight.server.identity import Authenticator, Principal, Refusal
from sourcelight.server.service.answers import plain
from sourcelight.server.service.guards import notes_of
from sourcelight.server.service.pacing import Cadence, Pacer
from sourcelight.server.service.producer import EncodeBatch, Producer, SearchEngine, query_fault, stopped
from sourcelight.server.service.settings import Settings
from sourcelight.server.service.threads import SearchThreads
from sourcelight.server.service.trace import PATH as TRACE_PATH
from sourcelight.server.service.trace import Trace, TraceBook

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
    """Bounds of one service.

    Parameters
    ----------
    searches
        Searches that may run at the same time; one more is answered with 429.
    stall_s
        Seconds for which a reader may take nothing before its search is stopped.
    stop_grace_s
        Seconds for which a stopping service waits for an engine before it ends the stream without it.
    """

    searches: int = 32
    stall_s: float = 120.0
    stop_grace_s: float = 3.0


class SearchStream:
    """The ASGI endpoint of the stream.

    Parameters
    ----------
    engine
        What searches.
    settings
        Site configuration.
    authenticator
        Tells who asks.
    traces
        Where traces of requests are kept.
    cadence, limits
        Times and sizes; constructor parameters so that tests need not wait.
    """

    def __init__(
        self,
        engine: SearchEngine,
        settings: Settings,
        authenticator: Authenticator,
        traces: TraceBook,
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
        self._threads = SearchThreads()
        self._stop_by: float | None = None

    @property
    def running(self) -> int:
        """Searches whose thread is alive."""
        return len(self._running)

    @property
    def stopping(self) -> bool:
        """Whether `stop` was called."""
        return self._stop_by is not None

    def stop(self) -> None:
        """End all streams within a bound: each gets its ``done``. New requests are turned away."""
        self._stop_by = time.monotonic() + self._limits.stop_grace_s
        for producer in list(self._running):
            producer.stop()
        self._threads.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        headers = Headers(scope=scope)
        principal = self._authenticator.for_search(headers)
        notes = notes_of(scope)
        if isinstance(principal, Refusal):
            await plain(principal.status, principal.text)(scope, receive, send)
            return
        notes.viewer = principal.account or "anonymous"
        if self.stopping:
            await plain(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return
        if len(self._running) >= self._limits.searches:
            text = f"As many searches as may be ({self._limits.searches}) are running; try again in a moment."
            await plain(429, text, {"Retry-After": "1"})(scope, receive, send)
            return
        wire = _Wire(send, zipped=_accepts_gzip(headers.get("accept-encoding", "")), stall_s=self._limits.stall_s)
        try:
            request = _request(scope["query_string"])
        except QueryError as fault:
            notes.query = next((value for name, value in _pairs(scope["query_string"]) if name == "q"), "")
            notes.outcome = "query"
            await _answer(wire, query_fault(fault), self._cadence)
            return
        notes.query = request.query
        asked = headers.get("x-sourcegraph-should-trace")
        if asked is not None:
            request = replace(request, trace=_WORDS.get(asked.lower(), request.trace))
        trace = self._traces.open(principal, request.query) if request.trace else None
        await self._search(request, principal, trace, wire, scope, receive)

    async def _search(
        self,
        request: SearchRequest,
        principal: Principal,
        trace: Trace | None,
        wire: _Wire,
        scope: Scope,
        receive: Receive,
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
        pacer = Pacer(self._cadence, started=started, trace_url=url)
        wire.head({"X-Trace": trace.id, "X-Trace-URL": url} if trace is not None else {})
        self._running.add(producer)
        producer.start(self._threads, lambda: self._running.discard(producer), quiet_s=_SHORT_S)
        reader = _Reader(receive, producer)
        try:
            await self._pump(producer, pacer, wire, reader)
        except OSError:
            # The reader takes nothing any more (a passed time limit is an OSError, too), or is gone.
            notes.outcome = "stalled"
        finally:
            await reader.let_go()
            producer.stop()
            gone = "disconnected" if reader.gone and not pacer.has_done else ""
            notes.outcome = notes.outcome or gone or producer.counts.fault or "done"
            notes.events, notes.rows = producer.counts.events, producer.counts.rows
            if trace is not None:
                trace.mark(f"{wire.sent} bytes sent, outcome {notes.outcome}")

    async def _pump(self, producer: Producer, pacer: Pacer, wire: _Wire, reader: _Reader) -> None:
        items = await producer.take(_SHORT_S)
        if not producer.finished:
            # A search that is over in a moment needs nobody to look whether its reader is still there.
            reader.watch()
            await wire.start()
        frames: list[bytes] = []
        ended = False
        while not pacer.has_done:
            for item in items:
                pacer.add(item)
            overdue = self._stop_by is not None and time.monotonic() >= self._stop_by
            if (overdue or (ended and not items)) and not pacer.has_done:
                for event in producer.closing(self._early_end()):
                    pacer.add(event)
            if (frames := pacer.take(time.monotonic())) and not pacer.has_done:
                await wire.write(frames)
            if reader.gone:
                return
            if not pacer.has_done:
                ended = producer.finished
                items = await producer.take(0.0 if ended else self._wait_s(pacer))
        await wire.end(frames)

    def _wait_s(self, pacer: Pacer) -> float:
        now = time.monotonic()
        wait_s = pacer.wait_s(now)
        return wait_s if self._stop_by is None else min(wait_s, max(0.0, self._stop_by - now))

    def _early_end(self) -> list[Event]:
        if self.stopping:
            return stopped(SERVICE_STOPPING, "the service is stopping: this answer is not complete, ask again")
        return stopped(SEARCH_ENDED_EARLY, "the search ended early: this answer is not complete")

    def _encoder(self, request: SearchRequest) -> EncodeBatch:
        def encode_batch(batch: MatchBatch, facts: Mapping[str, RepositoryFacts]) -> Iterator[bytes]:
            yield from encode_matches(
                batch,
                facts,
                chunk_text=self._settings.chunk_text,
                chunk_matches=request.chunk_matches,
                diff_type=self._settings.diff_match_type,
            )

        return encode_batch

    def _base(self, scope: Scope) -> str:
        return self._settings.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"


class _Wire:
    """The response: its start, its portions (compressed and flushed one by one) and its end."""

    def __init__(self, send: Send, *, zipped: bool, stall_s: float) -> None:
        self._send = send
        # wbits 31 is the gzip container; level 1 because the reader waits for it.
        self._packer = zlib.compressobj(1, zlib.DEFLATED, 31) if zipped else None
        self._stall_s = stall_s
        self._extra: Mapping[str, str] = {}
        self._started = False
        self.sent = 0

    def head(self, extra: Mapping[str, str]) -> None:
        """Set the headers beyond those of each stream."""
        self._extra = extra

    async def start(self) -> None:
        """Send the head, unless that was done."""
        if self._started:
            return
        self._started = True
        more = {"Content-Encoding": "gzip", **self._extra} if self._packer is not None else self._extra
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in more.items()]
        await self._pass({"type": "http.response.start", "status": 200, "headers": [*_HEAD, *raw]})

    async def write(self, frames: list[bytes]) -> None:
        """Send frames, after the head."""
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
        # Nearly always the socket takes all at once: then there is nothing to wait for, and no time to measure.
        sending = self._send(message).__await__()
        try:
            waits_for = next(sending)
        except StopIteration:
            return
        async with asyncio.timeout(self._stall_s):
            await _Rest(sending, waits_for)


class _Rest:
    """What is left to wait for of something that was begun."""

    def __init__(self, begun: Generator[Any, Any, Any], waits_for: Any) -> None:
        self._begun = begun
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        """Wait for what it waits for, and then go on with it."""
        with contextlib.suppress(StopIteration):
            while True:
                try:
                    got = yield self._waits_for
                except BaseException as fault:  # noqa: BLE001 - what was begun says what comes of it
                    self._waits_for = self._begun.throw(fault)
                else:
                    self._waits_for = self._begun.send(got)


def _request(query: bytes) -> SearchRequest:
    """What an address asks; that of short ones is remembered. Raises `QueryError` as `SearchRequest.from_params`."""
    return _short_request(query) if len(query) < _SHORT_BYTES else SearchRequest.from_params(_pairs(query))


@functools.lru_cache(maxsize=256)
def _short_request(query: bytes) -> SearchRequest:
    return SearchRequest.from_params(_pairs(query))


def _pairs(query: bytes) -> list[tuple[str, str]]:
    return parse_qsl(query.decode("latin-1"), keep_blank_values=True)


def _portions(frames: list[bytes]) -> Iterator[bytes]:
    """Small frames together, large ones as they are: joining those would only copy them once more."""
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
    pacer = Pacer(cadence, started=now)
    for event in events:
        pacer.add(event)
    await wire.end(pacer.take(now))


class _Reader:
    """Whoever reads the answer: stops the search when they are gone."""

    def __init__(self, receive: Receive, producer: Producer) -> None:
        self._receive = receive
        self._producer = producer
        self._task: asyncio.Task[None] | None = None
        self.gone = False

    def watch(self) -> None:
        """Begin to look whether the reader is still there."""
        self._task = asyncio.create_task(self._watch())

    async def let_go(self) -> None:
        """End looking."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])

    async def _watch(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.gone = True
        self._producer.stop()


def _accepts_gzip(header: str) -> bool:
    """Whether an ``Accept-Encoding`` header allows gzip; a weight of 0 forbids it."""
    verdicts: dict[str, bool] = {}
    for part in header.split(",") if header else ():
        if match := _CODING.match(part):
            try:
                verdicts[match[1].lower()] = float(match[2] or 1) > 0
            except ValueError:
                continue
    return verdicts.get("gzip", verdicts.get("*", False))
