"""Merge the streams of several services into one, with one list of skipped parts."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from sourcelight.client.federation.fan_out import first_of
from sourcelight.client.federation.row_merge import DuplicateFilter, order_parts
from sourcelight.client.federation.service import Service
from sourcelight.core.batches import (
    Event,
    MatchBatch,
    OtherMatches,
    RepositoryInfo,
    ServiceStatus,
    ServiceStatuses,
)
from sourcelight.core.batches.columns import add_service
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.completeness import Status, failures, limits, title_text
from sourcelight.core.errors import QueryError, SearchFailed, SourcelightError, StreamBroken, TimedOut
from sourcelight.core.query import parse
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Filters, Progress, Skipped, SuggestedFilter
from sourcelight.core.wire.request import SearchRequest, display_limit, match_limit

_FIRST = ("utility", "type")
_EMPTY_SCOPE = re.compile(r"no (repositories|results)", re.IGNORECASE)
_MAX_NAMED = 20
_AHEAD = 8  # events that services may be ahead of their reader; each holds a batch

PROGRESS_EVERY_S = 0.1
"""Seconds between two events of progress while rows arrive."""


@dataclass(slots=True)
class ServiceStream:
    """The events of one service so far, and its status.

    Attributes
    ----------
    number
        Place of the service among all, from 0.
    matches, rows
        Matches and rows of the answer that come from this service.
    match_count
        Matches that it sent.
    duplicates, repeated
        Rows that another service sent before, and the matches in them.
    error
        The error that ended its search; None without one.
    batches
        All batches that it sent, if they are kept.
    """

    number: int
    service: Service
    began: float
    end_s: float | None = None
    status: Status | None = None
    reasons: tuple[str, ...] = ()
    matches: int = 0
    rows: int = 0
    match_count: int = 0
    duplicates: int = 0
    repeated: int = 0
    progress: Progress | None = None
    filters: tuple[SuggestedFilter, ...] = ()
    alerts: list[Alert] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    error: SourcelightError | None = None
    batches: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the service."""
        return self.service.name

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Skipped items, as last reported by the service."""
        return self.progress.skipped if self.progress else ()

    def note(self, event: Any) -> None:
        """Record events of a service other than matches."""
        if isinstance(event, Progress):
            self.progress = event
        elif isinstance(event, Filters):
            self.filters = event.filters
        elif isinstance(event, Alert):
            self.alerts.append(event)
        elif isinstance(event, ErrorEvent):
            self.errors.append(event.message)

    def end(self, now: float, error: SourcelightError | None = None) -> None:
        """Set the status at the end of the search; `error` is what ended it early."""
        self.end_s = now
        messages = failures(self.alerts, self.errors)
        if error is None and messages:
            error = SearchFailed("; ".join(messages))

        self.error = error
        if error is not None:
            self.status, self.reasons = "failed", (str(error),)
            return

        self.reasons = limits(self.skipped, self.alerts)
        self.status = "limited" if self.reasons else "complete"

    def state(self, now: float) -> ServiceStatus:
        """Return the status at a moment."""
        return ServiceStatus(
            self.name,
            self.service.backend.name,
            self.status or "running",
            self.reasons,
            self.matches,
            self.rows,
            self.duplicates,
            (self.end_s or now) - self.began,
        )

    def left_out(self, skipped_reasons: frozenset[str]) -> Iterator[Skipped]:
        """Yield the missing parts of this service, except for `skipped_reasons`, which apply to the whole answer."""
        if self.error is not None:
            timed_out = isinstance(self.error, TimedOut)
            rows_text = " Its rows so far are kept." if self.match_count else ""
            yield Skipped(
                reason="service-timeout" if timed_out else "service-failed",
                title=f"{self.name}: {self.error}",
                message=f"`{self.name}` did not finish.{rows_text}",
                severity="error",
            )

        for item in self.skipped:
            if item.reason not in skipped_reasons:
                title = f"{title_text(item) or item.reason} (service {self.name})"
                yield Skipped(item.reason, title, item.message, item.severity, item.suggested)


def services_of(parts: list[ServiceStream], now: float) -> ServiceStatuses:
    """Return the progress of all services."""
    return ServiceStatuses(tuple(part.state(now) for part in parts))


def filters_of(parts: Sequence[ServiceStream], *, is_complete: bool) -> tuple[SuggestedFilter, ...]:
    """Return suggested filters with the sums of their counts, in the order of the wire.

    A row that several services send counts once for each of them. If there is such a row, or without `is_complete`, no
    count is marked as exhaustive.
    """
    # Services don't count duplicates per filter, so a sum with duplicates may be too high.
    exact = is_complete and not any(part.duplicates or part.error for part in parts)
    filters: dict[tuple[str, str, str], SuggestedFilter] = {}
    for part in parts:
        for item in part.filters:
            key = item.kind, item.value, item.label
            existing = filters.get(key)
            count = item.count + (existing.count if existing else 0)
            exhaustive = exact and item.exhaustive and (existing is None or existing.exhaustive)
            filters[key] = replace(item, count=count, exhaustive=exhaustive)

    return tuple(sorted(filters.values(), key=lambda item: (item.kind not in _FIRST, -item.count, item.value)))


def alerts_of(parts: Sequence[ServiceStream], duplicates: DuplicateFilter) -> Iterator[Alert]:
    """Yield the alerts of services with their names, except "no match" of one service if another has matches."""
    living = [part for part in parts if part.error is None]
    has_matches = any(part.match_count for part in living)
    for part in living:
        for alert in part.alerts:
            if all(alert in other.alerts for other in living):
                if part is living[0]:
                    yield alert
            elif not (has_matches and not part.match_count and _EMPTY_SCOPE.match(alert.title)):
                yield replace(alert, title=f"{part.name}: {alert.title}")

    if conflicting := duplicates.conflicting_commits:
        names = {part.number: part.name for part in parts}
        lines = [
            f"- `{repository}{f'@{revision}' if revision else ''}`: "
            + ", ".join(f"{commit[:10]} at {names[number]}" for number, commit in sorted(commits.items()))
            for (repository, revision), commits in sorted(conflicting.items())
        ]
        omitted = [f"- and {len(lines) - _MAX_NAMED:,} more"] if len(lines) > _MAX_NAMED else []
        many = f"{len(conflicting):,} repositor{'y' if len(conflicting) == 1 else 'ies'}"
        yield Alert(
            f"{many} at different commits",
            "Services have them at different commits, so rows of each are included: `commit` and `service` distinguish "
            "them.\n" + "\n".join([*lines[:_MAX_NAMED], *omitted]),
            "info",
        )


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
        queue: asyncio.Queue[tuple[ServiceStream, Event | None]] = asyncio.Queue(_AHEAD)
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
        names = [part.name for part in self._parts]
        parts, repeated = [part.batches for part in self._parts], any(part.duplicates for part in self._parts)
        ordered = order_parts(
            parts, names, is_complete=self._is_complete, limit=self._smallest_limit, repeated=repeated
        )
        for index, part in enumerate(self._parts):
            part.matches, part.rows, part.duplicates = (
                ordered.matches[index],
                ordered.rows[index],
                ordered.duplicates[index],
            )
            part.batches.clear()

        return ordered.batches, services_of(self._parts, time.monotonic())

    def undelivered_batches(self) -> Iterator[MatchBatch]:
        """Yield rows that services had but did not yield yet, as far as known."""
        for part in self._parts:
            for event in part.service.recover():
                yield from (out_event for out_event in self._rows(part, event) if isinstance(out_event, MatchBatch))

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

    def _rows(self, part: ServiceStream, event: MatchBatch) -> Iterator[Event]:
        batch, sent = event.batch, match_count(event.batch)
        if self._keeps_rows and (
            self._smallest_limit is None or part.match_count - part.repeated < self._smallest_limit
        ):
            part.batches.append(batch)

        part.match_count += sent
        self._pending_infos += [info for info in event.repositories if info.name not in self._introduced]
        self._introduced.update(info.name for info in event.repositories)
        is_new, matches = self._duplicates.fresh(part.number, batch), sent
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
        match_count = self._match_count()
        hidden = 0 <= self._request.display < match_count
        skipped_reasons = {"shard-match-limit"} if capped else set()
        for part in self._parts:
            yield from part.left_out(frozenset(skipped_reasons | ({"display"} if hidden else set())))

        if capped:
            yield match_limit(self._limit, "The answer of all services together stops")

        if hidden:
            yield display_limit(self._request.display, match_count)

    def _match_count(self) -> int:
        """Return matches of all services, duplicates once."""
        # A service may count more than it sends, and progress may lag behind its matches.
        received = sum(max(part.match_count, part.progress.match_count if part.progress else 0) for part in self._parts)
        return min(max(received - sum(part.repeated for part in self._parts), self._yielded_matches), self._limit)

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
