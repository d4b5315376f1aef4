"""Merge the streams of several services into one, with one list of skipped parts.

`StreamMerge` reads all services at once. What it knows of each of them is in its `ServiceStream`.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pyarrow as pa

from sourcelight.client.federation.fan_out import first_of
from sourcelight.client.federation.row_merge import DuplicateFilter, order_parts
from sourcelight.client.federation.service import Service
from sourcelight.client.federation.service_stream import ServiceStream, alerts_of, filters_of, services_of
from sourcelight.core.batches import Event, MatchBatch, OtherMatches, RepositoryInfo, ServiceStatuses
from sourcelight.core.batches.columns import add_service
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.errors import QueryError, SourcelightError, StreamBroken, TimedOut
from sourcelight.core.query import parse
from sourcelight.core.wire.events import Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import SearchRequest, display_limit, match_limit

_MAX_AHEAD = 8
"""Events that services may be ahead of their reader; each holds a batch."""

PROGRESS_EVERY_S = 0.1
"""Seconds between two events of progress while rows arrive."""


class StreamMerge:
    """A search under way.

    Yields rows as they arrive, without duplicates of another service, up to the limit of the query.

    Parameters
    ----------
    services
        The services, in the order in which they win for equal rows.
    request
        The search.
    idle_timeout_s
        Seconds without any event after which a service outside of this process is given up.
    keeps_rows
        Whether all rows are kept for `arrange`.
    """

    def __init__(
        self, services: Sequence[Service], request: SearchRequest, *, idle_timeout_s: float, keeps_rows: bool
    ) -> None:
        self._request, self._idle_timeout_s, self._keeps_rows = request, idle_timeout_s, keeps_rows
        self._began = time.monotonic()
        self._parts = [ServiceStream(number, service, self._began) for number, service in enumerate(services)]
        self._limit, self._is_complete = limit_of(request)

        # The display limit is applied here: a service doesn't know which rows others send, too.
        limits = [n for n in (self._limit, request.display) if 0 <= n < sys.maxsize]
        self._smallest_limit = min(limits, default=None)
        self._duplicates = DuplicateFilter()
        self._received = self._yielded_matches = 0
        self._introduced: set[str] = set()
        self._pending_infos: list[RepositoryInfo] = []
        self._reported_s = 0.0

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield all events, `Done` last.

        Raises
        ------
        SourcelightError
            If no service finished: the error of the first, with the errors of the others as notes.
        """
        # Bounded, so a slow reader slows all services down.
        queue: asyncio.Queue[tuple[ServiceStream, Event | None]] = asyncio.Queue(_MAX_AHEAD)
        tasks = [asyncio.create_task(self._ask(part, queue)) for part in self._parts]
        running = len(tasks)
        try:
            while running:
                part, event = await queue.get()
                # None marks the end of a service, so each part sends it exactly once, also after an error.
                running -= event is None
                for out_event in self._take(part, event):
                    yield out_event
            for task in tasks:
                # Raises a bug of `_ask`; faults of services are in their parts.
                task.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        failures = [(part.name, part.error) for part in self._parts if part.error is not None]
        error = first_of(failures) if len(failures) == len(self._parts) else None
        if not isinstance(error, QueryError):
            yield services_of(self._parts, time.monotonic())

        if error is not None:
            raise error

        for out_event in self._closing():
            yield out_event

    def arrange(self) -> tuple[list[Any], ServiceStatuses]:
        """Return all rows in their order, and the status of each service; see `order_parts`."""
        ordered = order_parts(
            [part.batches for part in self._parts],
            [part.name for part in self._parts],
            is_complete=self._is_complete,
            limit=self._smallest_limit,
            repeated=any(part.duplicates for part in self._parts),
        )
        for index, part in enumerate(self._parts):
            part.matches = ordered.matches[index]
            part.rows = ordered.rows[index]
            part.duplicates = ordered.duplicates[index]
            part.batches.clear()

        return ordered.batches, services_of(self._parts, time.monotonic())

    def undelivered_batches(self) -> Iterator[MatchBatch]:
        """Yield rows that services had but did not yield yet, as far as known."""
        for part in self._parts:
            for event in part.service.recover():
                yield from self._rows(part, event)

    async def _ask(self, part: ServiceStream, queue: asyncio.Queue[tuple[ServiceStream, Event | None]]) -> None:
        """Hand over the events of one service, and None at the end, however it comes."""
        error: SourcelightError | None = None
        idle_timeout_s = None if part.service.backend.local else self._idle_timeout_s

        # All rows of each service: a limit can be applied only after duplicates are removed.
        request = replace(self._request, display=-1)
        try:
            async with aclosing(part.service.backend.stream(request)) as events:
                done = False
                while not done:
                    # The limit is per event: a long search may take hours, but not be silent.
                    async with asyncio.timeout(idle_timeout_s):
                        event = await anext(events)
                    done = isinstance(event, Done)
                    if not done:
                        await queue.put((part, event))
        except StopAsyncIteration:
            error = StreamBroken("the stream ended without its last event")
        except TimeoutError:
            error = TimedOut(f"it sent nothing for {idle_timeout_s:g} s")
        except SourcelightError as exc:
            error = exc
        # A bug, not a fault of the service: send the end marker first, or the reader would wait forever.
        except Exception:
            await queue.put((part, None))
            raise

        part.end(time.monotonic(), error)
        await queue.put((part, None))

    def _take(self, part: ServiceStream, event: Event | None) -> Iterator[Event]:
        if event is not None:
            part.note(event)

        if isinstance(event, MatchBatch):
            yield from self._rows(part, event)
        elif isinstance(event, OtherMatches):
            yield event

        now = time.monotonic()
        if event is not None and now - self._reported_s >= PROGRESS_EVERY_S:
            self._reported_s = now
            yield from self._filters(is_complete=False)
            yield self._progress(done=False, skipped=tuple(self._left_out(capped=False)))
            yield services_of(self._parts, now)

    def _rows(self, part: ServiceStream, event: MatchBatch) -> Iterator[MatchBatch]:
        """Yield the rows of a batch that no other service sent before, up to the limit."""
        batch, sent = event.batch, match_count(event.batch)

        # No more rows of a service can be in the answer than its limit.
        is_below_limit = self._smallest_limit is None or part.match_count - part.repeated < self._smallest_limit
        if self._keeps_rows and is_below_limit:
            part.batches.append(batch)

        part.match_count += sent
        self._pending_infos += [info for info in event.repositories if info.name not in self._introduced]
        self._introduced.update(info.name for info in event.repositories)
        matches = sent
        is_new = self._duplicates.find_new(part.number, batch)
        if not is_new.all():
            part.duplicates += int((~is_new).sum())
            batch = batch.filter(pa.array(is_new))
            matches = match_count(batch)
            part.repeated += sent - matches

        # Count before the cut: the rows that arrived decide whether the limit was reached, not the displayed rows.
        self._received += matches
        if self._smallest_limit is not None and matches > self._smallest_limit - self._yielded_matches:
            batch = first_matches(batch, self._smallest_limit - self._yielded_matches)
            matches = match_count(batch)

        if not batch.num_rows:
            return

        self._yielded_matches += matches
        part.matches += matches
        part.rows += batch.num_rows
        repositories, self._pending_infos = tuple(self._pending_infos), []
        yield MatchBatch(add_service(batch, part.name), repositories)

    def _closing(self) -> Iterator[Event]:
        capped = self._received >= self._limit
        yield from self._filters(is_complete=not capped)
        yield self._progress(done=True, skipped=tuple(self._left_out(capped=capped)))
        yield from alerts_of(self._parts, self._duplicates)
        yield Done()

    def _filters(self, *, is_complete: bool) -> Iterator[Event]:
        suggested = filters_of(self._parts, is_complete=is_complete)
        if suggested:
            yield Filters(suggested)

    def _left_out(self, *, capped: bool) -> Iterator[Skipped]:
        """Yield the missing parts of the answer: those of each service, then the limits of all together."""
        match_count = self._match_count()
        is_hidden = 0 <= self._request.display < match_count
        of_all = set()
        if capped:
            of_all.add("shard-match-limit")
        if is_hidden:
            of_all.add("display")

        for part in self._parts:
            yield from part.left_out(frozenset(of_all))
        if capped:
            yield match_limit(self._limit, "The answer of all services together stops")
        if is_hidden:
            yield display_limit(self._request.display, match_count)

    def _match_count(self) -> int:
        """Return matches of all services, duplicates once."""
        distinct = sum(part.reported_matches - part.repeated for part in self._parts)
        return min(max(distinct, self._yielded_matches), self._limit)

    def _progress(self, *, done: bool, skipped: tuple[Skipped, ...] = ()) -> Progress:
        counts = [part.progress.repositories_count or 0 for part in self._parts if part.progress]
        repositories = max([len(self._introduced), *counts])
        elapsed_ms = round(1000 * (time.monotonic() - self._began))
        return Progress(done, self._match_count(), elapsed_ms, repositories or None, skipped)


def limit_of(request: SearchRequest) -> tuple[int, bool]:
    """Return the limit of matches in a query, `sys.maxsize` without one, and whether it requests all matches."""
    try:
        query = parse(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return sys.maxsize, False  # the services report the error

    counts = [alternative.count_limit(default=-1) for alternative in query.plan]
    limits = [sys.maxsize if count is None else count for count in counts]
    if not limits or -1 in limits:
        return sys.maxsize, False

    return max(limits), max(limits) == sys.maxsize
