"""``GET /.api/search/stream``: a search as a stream of events.

An error is part of the stream, with status 200: an alert of kind ``error``, and ``done``. Only credentials and overload
have their own HTTP status.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from starlette.datastructures import Headers
from starlette.types import Receive, Scope, Send

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import SEARCH_ENDED_EARLY, SERVICE_STOPPING, Event
from sourcelight.core.wire.request import SearchRequest
from sourcelight.server.http.middleware.access_log import RequestNotes, notes_of
from sourcelight.server.http.middleware.guards import plain_response, search_refusal
from sourcelight.server.http.pacing import Cadence, Pacer
from sourcelight.server.http.producer import (
    EncodeBatch,
    Producer,
    SearchThreads,
    SmallAnswer,
    batch_encoder,
    query_error_events,
    small_answer,
    stop_events,
)
from sourcelight.server.http.reader import SHORT_S, Access, RequestReader, Sender, headers_of, reader_of
from sourcelight.server.http.requests import TRACE_HEADER, diff_type_of, pairs_of, read_request
from sourcelight.server.http.response import StreamResponse, accepts_gzip
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.trace import PATH as TRACE_PATH
from sourcelight.server.http.trace import Trace, TraceLog
from sourcelight.server.identity import Authenticator, FairQueue, Principal, QueueFull, Refusal

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine

NOT_SMALL = "sourcelight.not_small"
"""Key of a request that the engine couldn't answer at once a moment ago."""


class Fallback(Enum):
    """The reason to send a request through the whole endpoint."""

    NOT_TRIED = "its check or its refusal does"
    NOT_SMALL = "the engine can't answer it at once"


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
        engine: Engine,
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

        # All on one event loop: no lock guards these counts.
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
        headers = headers_of(scope)
        principal = self._authenticator.for_search(headers)
        notes = notes_of(scope)
        if isinstance(principal, Refusal):
            await search_refusal(principal)(scope, receive, send)
            return

        notes.name(principal)
        if self.stopping:
            await plain_response(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return

        reader = reader_of(principal, scope.get("client"))
        if self._streams[reader] >= self._limits.streams_per_account:
            text = f"You have {self._limits.streams_per_account} open searches, the maximum"
            await plain_response(429, f"{text}; read or close one first.", {"Retry-After": "1"})(scope, receive, send)
            return

        # No `await` between the check and this line: two requests can't both take the last place.
        self._streams[reader] += 1
        try:
            await self._answer(scope, receive, send, headers, principal, reader)
        finally:
            self._streams[reader] -= 1
            if not self._streams[reader]:
                del self._streams[reader]

    def answer_at_once(self, query: bytes, sender: Sender, notes: RequestNotes) -> SmallAnswer | Fallback:
        """Answer a request with all checks of the endpoint if it needs no wait; otherwise return the reason.

        Parameters
        ----------
        query, sender
            The query string, and where the request came from.
        notes
            Gets the fields of the access log; they count only with an answer.
        """
        headers = sender.headers
        principal = sender.authenticate(self._authenticator)
        if isinstance(principal, Refusal) or self.stopping or TRACE_HEADER in headers:
            return Fallback.NOT_TRIED

        reader = reader_of(principal, sender.client)
        # All on the event loop, and without a wait from here to the answer: no place needs to be taken.
        if self._streams[reader] >= self._limits.streams_per_account or not self._queue.has_room(reader):
            return Fallback.NOT_TRIED

        try:
            request = read_request(query, headers)
        except QueryError:
            return Fallback.NOT_TRIED

        notes.name(principal)
        notes.query = request.query
        small = self._small_answer(request, principal, headers, notes)
        return Fallback.NOT_SMALL if small is None else small

    def _small_answer(
        self, request: SearchRequest, principal: Principal, headers: Mapping[str, str], notes: RequestNotes
    ) -> SmallAnswer | None:
        encode_batch = self._encoder(request, headers)
        small = small_answer(self._engine, request, principal.viewer, encode_batch, self._cadence)
        if small is not None:
            notes.outcome, notes.events, notes.rows = small.outcome, small.counts.events, small.counts.rows
        return small

    def _encoder(self, request: SearchRequest, headers: Mapping[str, str]) -> EncodeBatch:
        return batch_encoder(request, diff_type_of(headers, self._settings.diff_match_type), self._settings)

    async def _answer(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        headers: Mapping[str, str],
        principal: Principal,
        reader: str,
    ) -> None:
        notes = notes_of(scope)
        response = StreamResponse(send, zipped=accepts_gzip(headers.get("accept-encoding", "")))
        try:
            # After the principal is known: parsing costs CPU time, which strangers shouldn't be able to spend.
            request = read_request(scope["query_string"], headers)
        except QueryError as exc:
            notes.query = next((value for name, value in pairs_of(scope["query_string"]) if name == "q"), "")
            notes.outcome = "query"
            await _answer(response, query_error_events(exc), self._cadence)
            return

        notes.query = request.query
        # Before the wait for a place, which may be long.
        access = Access(self._authenticator, headers, principal, self._limits.recheck_s)
        try:
            await self._queue.acquire(reader, self._limits.queue_s)
        except QueueFull:
            text = f"{self._limits.searches} searches are running, the maximum; retry in a moment."
            await plain_response(429, text, {"Retry-After": "1"})(scope, receive, send)
            return

        if self.stopping:
            # The service began to stop while this request waited in the queue.
            self._queue.release(reader)
            await plain_response(503, "The service is stopping.", {"Retry-After": "5"})(scope, receive, send)
            return

        # If the access has ended, the search below reports it.
        is_new = scope.get(NOT_SMALL) is None
        small = self._small_answer(request, principal, headers, notes) if is_new and access.holds() else None
        if small is not None:
            self._queue.release(reader)
            await response.end(small.frames)
            return

        trace = self._traces.open(principal, request.query) if request.trace else None
        encode_batch = self._encoder(request, headers)
        await self._search(request, principal, trace, encode_batch, response, scope, receive, access, reader)

    async def _search(
        self,
        request: SearchRequest,
        principal: Principal,
        trace: Trace | None,
        encode_batch: EncodeBatch,
        response: StreamResponse,
        scope: Scope,
        receive: Receive,
        access: Access,
        slot_owner: str,
    ) -> None:
        started = time.monotonic()
        notes = notes_of(scope)
        producer = Producer(
            engine=self._engine,
            request=request,
            viewer=principal.viewer,
            cancellation=Cancellation(),
            encode_batch=encode_batch,
            trace=trace,
        )
        url = f"{self._base(scope)}{TRACE_PATH}{trace.id}" if trace is not None else ""
        pacer = Pacer(self._cadence, start_s=started, trace_url=url)
        response.head({"X-Trace": trace.id, "X-Trace-URL": url} if trace is not None else {})
        self._running.add(producer)

        def on_end() -> None:
            self._running.discard(producer)
            self._queue.release(slot_owner)

        # Both times are the same `SHORT_S`: the first `take` below waits as long as the producer stays quiet.
        producer.start(self._threads, on_end, quiet_s=SHORT_S)
        reader = RequestReader(receive, producer)
        response.watch_for(lambda: self._free_engine(producer), self._limits.unread_s, scope)

        try:
            await self._pump(producer, pacer, response, reader, access)
        except OSError:
            # The reader has stopped reading, or has disconnected.
            notes.outcome = "stalled"
        finally:
            # Before `producer.stop`: its task holds the `receive` of a request that is over.
            await reader.let_go()
            producer.stop()
            disconnected = "disconnected" if reader.is_gone and not pacer.has_done else ""
            notes.outcome = notes.outcome or disconnected or producer.counts.error or "done"
            notes.events, notes.rows = producer.counts.events, producer.counts.rows
            if trace is not None:
                trace.mark(f"{response.sent} bytes sent, outcome {notes.outcome}")

    def _free_engine(self, producer: Producer) -> None:
        """End the search of a reader that reads nothing, so that others can use the engine."""
        if producer.is_waiting and not producer.finished:
            producer.end(f"the client read nothing for {self._limits.unread_s:g} s; this answer is incomplete")

    async def _pump(
        self, producer: Producer, pacer: Pacer, response: StreamResponse, reader: RequestReader, access: Access
    ) -> None:
        items = await producer.take(SHORT_S)
        if not producer.finished:
            # A search that ends at once doesn't need a task that watches for a disconnect.
            reader.watch()
            await response.start()

        frames: list[bytes] = []
        has_ended = False
        while not pacer.has_done:
            # Before each batch: a token that was revoked a second ago must not read on.
            if items and not access.holds():
                producer.end("your access has ended or changed; this answer is not complete")
                items, has_ended = [], True

            for item in items:
                pacer.add(item)

            overdue = self._stop_by is not None and time.monotonic() >= self._stop_by
            if (overdue or (has_ended and not items)) and not pacer.has_done:
                for event in producer.closing(self._early_end(producer.ended_by)):
                    pacer.add(event)

            # The last frames wait for `end`, which sends them with the end of the body in one message.
            if (frames := pacer.take(time.monotonic())) and not pacer.has_done:
                await response.write(frames)

            if reader.is_gone:
                return

            if not pacer.has_done:
                has_ended = producer.finished
                items = await producer.take(0.0 if has_ended else self._wait_s(pacer))

        await response.end(frames)

    def _wait_s(self, pacer: Pacer) -> float:
        now_s = time.monotonic()
        wait_s = pacer.wait_s(now_s)
        if self._stop_by is None:
            return wait_s
        return min(wait_s, max(0.0, self._stop_by - now_s))

    def _early_end(self, reason: str) -> list[Event]:
        if reason:
            return stop_events(SEARCH_ENDED_EARLY, f"the service ended the search: {reason}")
        if self.stopping:
            return stop_events(SERVICE_STOPPING, "the service is stopping; this answer is not complete, retry later")
        return stop_events(SEARCH_ENDED_EARLY, "the search ended early; this answer is not complete")

    def _base(self, scope: Scope) -> str:
        return self._settings.external_url or f"{scope['scheme']}://{Headers(scope=scope).get('host', 'localhost')}"


async def _answer(response: StreamResponse, events: list[Event], cadence: Cadence) -> None:
    now = time.monotonic()
    pacer = Pacer(cadence, start_s=now)
    for event in events:
        pacer.add(event)
    await response.end(pacer.take(now))
