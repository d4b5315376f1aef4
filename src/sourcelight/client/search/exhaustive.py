"""Everything from a service that caps its answers: a capped query is cut into parts until none is capped.

Each capped answer tells how to cut: the repositories, languages and paths that it names become parts of their own,
and the rest a part without them (see `query_parts`). Parts are queries like any other, asked a few at a time, each as a
task. The rows of a part wait until it is complete, so that a file has one state; a part that can be cut no further
gives what it has at the end, with the reason. A failed part is named and not cut: that would only add load.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.client.search.query_parts import QueryPart, finds_names, seen_in
from sourcelight.core.backend import Backend, BackendWrapper
from sourcelight.core.batches import Event, MatchBatch, OtherMatches, RepositoryInfo
from sourcelight.core.batches.schema import conform
from sourcelight.core.completeness import failures, limits
from sourcelight.core.errors import QueryError, SourcelightError, StreamBroken
from sourcelight.core.markup.counts import count_of
from sourcelight.core.query import And, Filter, Node, Predicate, Query, parse
from sourcelight.core.query.build import Expression
from sourcelight.core.query.fields import FilterScope, names_of
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Filters, Progress, Skipped
from sourcelight.core.wire.events import SuggestedFilter as Suggestion
from sourcelight.core.wire.request import SearchRequest

MAX_REQUESTS = 1000
"""Requests of one exhaustive search."""

MAX_CONCURRENT = 4
"""Requests at a time: other users share the service."""

_CAP = re.compile(
    r"match-limit|^display$|time(d)? ?-?out|repository-limit|result-limit|^matches-not-sent$", re.IGNORECASE
)
"""Reasons for skipped matches that a smaller query would not have."""

_TIMEOUT = re.compile(r"time(d)? ?-?out", re.IGNORECASE)
"""A title of an alert about a timeout."""

_FILE = ("type", "repository", "revision", "commit", "path")
_REPOSITORY_FIELDS = names_of(FilterScope.REPOSITORY)
_MAX_NAMED = 50
"""Incomplete parts that are listed with their reasons; all others have one row together."""

_POLL_S = 0.2
"""Seconds between events of progress while all requests are slow."""

OnProgress = Callable[[int, int, int], None]


@dataclass(slots=True)
class _Answer:
    """The result of one request."""

    batches: list[Any] = field(default_factory=list)
    infos: list[RepositoryInfo] = field(default_factory=list)
    progress: Progress | None = None
    filters: tuple[Suggestion, ...] = ()
    alerts: list[Alert] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    other: list[OtherMatches] = field(default_factory=list)
    error: str = ""
    matches: int = 0

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        return self.progress.skipped if self.progress else ()

    @property
    def reasons(self) -> tuple[str, ...]:
        """The reason why matches are missing; empty if none are."""
        broken = ((self.error,) if self.error else ()) or failures(self.alerts, self.errors)
        return broken or limits(self.skipped, self.alerts)

    @property
    def caps(self) -> tuple[str, ...]:
        """Limits that smaller questions may stay below."""
        reasons = [item.reason for item in self.skipped if _CAP.search(item.reason)]
        return (*reasons, *(alert.title for alert in self.alerts if _TIMEOUT.search(alert.title)))

    @property
    def broken(self) -> bool:
        return bool(self.error or failures(self.alerts, self.errors))


class ExhaustiveSearch(BackendWrapper):
    """A backend that returns all results of a backend that caps its answers; see `AsyncClient.search`.

    The rows of a part are yielded when it is complete, so that each file has one state; until then they stay in memory.
    Files in two parts are yielded once.

    Parameters
    ----------
    backend
        The backend that answers each part.
    on_progress
        Called with the parts that are done, the parts known so far, and the matches that arrived.
    max_requests
        Maximum requests; remaining parts are reported as skipped.
    concurrency
        Requests under way at the same time.
    """

    def __init__(
        self,
        backend: Backend,
        *,
        on_progress: OnProgress | None = None,
        max_requests: int = MAX_REQUESTS,
        concurrency: int = MAX_CONCURRENT,
    ) -> None:
        super().__init__(backend)
        self.on_progress = on_progress or _ignore_progress
        self._max_requests = max_requests
        self._concurrency = concurrency
        self._work: _PartQueue | None = None

    def undelivered_batches(self) -> list[MatchBatch]:
        """Return rows that arrived for the newest search but were not yielded before it stopped."""
        return [] if self._work is None else list(self._work.undelivered_batches())

    async def stream(self, request: SearchRequest) -> AsyncGenerator[Event, None]:
        """Yield events of a search that is split into as many parts as it needs.

        Raises
        ------
        QueryError
            When the query can't be parsed, or limits its own results.
        """
        query = check_unlimited(request)
        work = self._work = _PartQueue(
            self.backend, request, query, self.on_progress, self._max_requests, self._concurrency
        )
        async with aclosing(work.events()) as events:
            async for event in events:
                yield event


def _ignore_progress(done: int, total: int, matches: int) -> None:
    """Do nothing, where no caller follows the progress."""
    del done, total, matches


def check_unlimited(request: SearchRequest) -> Query:
    """Return the query of a request for everything; raise `QueryError` if the query limits its own results."""
    query = parse(request.query, request.pattern_type, version=request.version)
    if query.root is None:
        raise QueryError("no query found", query=request.query, position=0, hint="enter text or a filter")

    if request.display >= 0 or any(alternative.count_limit(default=None) is not None for alternative in query.plan):
        limit_name = "limit" if request.display >= 0 else "count:"
        raise QueryError(
            f"exhaustive=True requests all matches, but {limit_name} only a part of them",
            query=request.query,
            hint=f"leave out {limit_name} or exhaustive=True",
            stage="parse",
        )

    return query


class _PartQueue:
    """One exhaustive search under way."""

    def __init__(
        self,
        backend: Backend,
        request: SearchRequest,
        query: Query,
        on_progress: OnProgress,
        max_requests: int,
        concurrency: int,
    ) -> None:
        self._backend, self._request, self._query = backend, request, query
        self._on_progress, self._max_requests, self._concurrency = on_progress, max_requests, concurrency
        self._pending: deque[QueryPart] = deque([QueryPart()])
        self._running: dict[asyncio.Task[None], tuple[QueryPart, _Answer]] = {}
        self._incomplete: list[tuple[QueryPart, _Answer]] = []

        # Answers that were split. Their rows are given only after an interrupt, because their parts find them again.
        self._split_answers: list[_Answer] = []
        # Files by `_FILE`. A file is given once and whole, so a key for each row isn't needed.
        self._yielded_keys: set[tuple[Any, ...]] = set()
        self._sent_repositories: set[str] = set()
        self._skipped: dict[tuple[str, str], Skipped] = {}
        self._filters: Counter[tuple[str, str, str]] = Counter()
        self._alerts: list[Event] = []

        # Whether files may come twice: only after a part was split, because its own rows were already given.
        self._has_repetitions = False
        self._matches = 0
        self._request_count = 0
        self._finished_count = 0
        self._started_s = time.monotonic()

    async def events(self) -> AsyncGenerator[Event, None]:
        """Yield all events, `Done` last."""
        try:
            while self._pending or self._running:
                self._start()
                # The limit of requests is reached, and parts are left over.
                if not self._running:
                    break

                # The timeout lets progress move while all requests are slow.
                done, _ = await asyncio.wait(self._running, timeout=_POLL_S, return_when=asyncio.FIRST_COMPLETED)
                for task in done:
                    part, answer = self._running.pop(task)
                    # Raises what `_ask` raised: a bug, or the fault of the first request.
                    task.result()
                    for batch in await self._collect(part, answer):
                        yield batch

                    # The parts of a split answer send them again.
                    if not any(answer is split_answer for split_answer in self._split_answers):
                        for other in answer.other:
                            yield other

                self._report_progress()
                yield self._progress(done=False)
        finally:
            for task in self._running:
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

        for _, answer in self._incomplete:
            for batch in self._new_batches(answer):
                yield batch

        yield Filters(tuple(self._suggestions()))
        yield self._progress(done=True)
        for alert in self._alerts:
            yield alert

        yield Done()

    def undelivered_batches(self) -> Iterator[MatchBatch]:
        """Yield the rows of incomplete parts, for a caller that can't wait for the rest."""
        under_way = [answer for _, answer in (*self._incomplete, *self._running.values())]
        for answer in (*under_way, *self._split_answers):
            yield from self._new_batches(answer)

    def _start(self) -> None:
        while self._pending and len(self._running) < self._concurrency and self._request_count < self._max_requests:
            part, answer = self._pending.popleft(), _Answer()
            self._request_count += 1
            text = part.text(self._query)
            # Its own task, so that a slow part holds up no other.
            task = asyncio.create_task(
                self._ask(replace(self._request, query=text), answer, first=self._request_count == 1)
            )
            self._running[task] = part, answer

    async def _ask(self, request: SearchRequest, answer: _Answer, *, first: bool = False) -> None:
        done = False
        try:
            async with aclosing(self._backend.stream(request)) as events:
                async for event in events:
                    done = isinstance(event, Done)
                    _note(answer, event)
            if not done:
                raise StreamBroken("the stream ended without its last event")
        except SourcelightError as exc:
            # The first request has the whole query: if that fails, nothing was found. Later ones are parts, and are
            # named instead.
            if first and (isinstance(exc, QueryError) or not answer.batches):
                raise
            answer.error = str(exc)

    async def _collect(self, part: QueryPart, answer: _Answer) -> list[MatchBatch]:
        """Return the batches that an answer adds to the stream; split the request of a capped answer instead."""
        # A broken answer isn't split: smaller questions to a service that fails would only add load.
        subparts = await self._split(part, answer) if answer.caps and not answer.broken else ()
        self._finished_count += 1
        for item in answer.skipped:
            if (part == QueryPart() or limits((item,), ())) and not _CAP.search(item.reason):
                self._skipped.setdefault((item.reason, item.title), item)

        if subparts:
            self._pending.extend(subparts)
            self._split_answers.append(answer)
            # Parts by path or language find files only, so matches of repository names would be lost: they are taken
            # from the answer that was split.
            if any(subpart.step != "repository" for subpart in subparts) and not finds_names(self._query):
                return list(self._new_batches(answer, kind="repo"))
            return []

        if answer.caps or answer.broken:
            # It can't be split further. Its rows come at the end, since a later part may still give the same files
            # whole.
            self._incomplete.append((part, answer))
            return []

        self._alerts += [alert for alert in answer.alerts if alert not in self._alerts]
        for suggested in answer.filters:
            self._filters[suggested.kind, suggested.value, suggested.label] += suggested.count

        return list(self._new_batches(answer))

    async def _split(self, part: QueryPart, answer: _Answer) -> tuple[QueryPart, ...]:
        seen = seen_in(answer.batches, answer.filters)
        # A capped answer names only the repositories with the first matches. After a timeout, others may not have been
        # searched at all, so the service lists them.
        if part == QueryPart() and (not seen.repositories or any(_TIMEOUT.search(cap) for cap in answer.caps)):
            seen = replace(seen, repositories=tuple(dict.fromkeys((*seen.repositories, *await self._enumerate()))))
        return part.split(self._query, seen)

    async def _enumerate(self) -> tuple[str, ...]:
        """Return names of the repositories that the query searches, as the service lists them; none when it can't."""
        text = listing_query(self._query)
        if not text or self._request_count >= self._max_requests:
            return ()
        self._request_count += 1
        answer = _Answer()
        await self._ask(replace(self._request, query=text, chunk_matches=False), answer)
        return seen_in(answer.batches, ()).repositories

    def _new_batches(self, answer: _Answer, kind: str = "") -> Iterator[MatchBatch]:
        """Yield batches of an answer without files that were already yielded."""
        import pyarrow as pa

        from sourcelight.core.batches.rows import match_count

        new: set[tuple[Any, ...]] = set()
        new_repositories = [item for item in answer.infos if item.name not in self._sent_repositories]
        self._sent_repositories.update(item.name for item in new_repositories)

        for batch in answer.batches:
            table = conform([batch], visible_only=True).select(list(_FILE))
            # Compared before any of this answer is added: rows of one file may span several batches, and all of them
            # are new.
            keys = list(zip(*(table.column(name).to_pylist() for name in _FILE), strict=True))
            keep = [key not in self._yielded_keys and kind in {"", key[0]} for key in keys]
            new.update(key for key, is_kept in zip(keys, keep, strict=True) if is_kept)
            self._has_repetitions |= not kind and not all(keep)
            new_rows = batch if all(keep) else batch.filter(pa.array(keep, pa.bool_()))
            if new_rows.num_rows:
                self._matches += match_count(new_rows)
                yield MatchBatch(new_rows, tuple(new_repositories))
                # Facts travel with the first batch only; the reader keeps them.
                new_repositories = []

        # Not before the loop ended, see above; an interrupted loop gives its files again.
        self._yielded_keys |= new

    def _suggestions(self) -> Iterator[Suggestion]:
        is_complete = not self._incomplete and not self._pending and not self._has_repetitions
        for (kind, value, label), count in sorted(self._filters.items(), key=lambda item: (-item[1], item[0])):
            yield Suggestion(value, label, count, is_complete, kind)

    def _progress(self, *, done: bool) -> Progress:
        repositories = len({key[1] for key in self._yielded_keys})
        elapsed = round(1000 * (time.monotonic() - self._started_s))
        return Progress(
            done=done,
            match_count=self._matches,
            duration_ms=elapsed,
            repositories_count=repositories,
            skipped=tuple(self._left_out()) if done else (),
        )

    def _left_out(self) -> Iterator[Skipped]:
        yield from self._skipped.values()
        for part, answer in self._incomplete[:_MAX_NAMED]:
            reasons = "; ".join(answer.reasons)
            yield Skipped(
                reason="part-incomplete",
                title=f"{part.label}: {reasons}",
                message="This part can't be split further.",
                severity="warn",
            )

        if unnamed := self._incomplete[_MAX_NAMED:]:
            names = "\n".join(f"- `{part.label}`" for part, _ in unnamed)
            yield Skipped(
                reason="part-incomplete", title=f"{len(unnamed):,} more parts", message=names, severity="warn"
            )

        if self._pending:
            names = "\n".join(f"- `{part.label}`" for part in list(self._pending)[:_MAX_NAMED])
            title = (
                f"{count_of(len(self._pending), 'part')} not requested after {count_of(self._request_count, 'request')}"
            )
            yield Skipped(reason="request-limit", title=title, message=names, severity="warn")

    def _report_progress(self) -> None:
        under_way = sum(answer.matches for _, answer in self._running.values())
        part_count = self._finished_count + len(self._running) + len(self._pending)
        self._on_progress(self._finished_count, part_count, self._matches + under_way)


def _note(answer: _Answer, event: Event) -> None:
    from sourcelight.core.batches.rows import match_count

    if isinstance(event, MatchBatch):
        answer.batches.append(event.batch)
        answer.infos.extend(event.repositories)
        answer.matches += match_count(event.batch)
    elif isinstance(event, Progress):
        answer.progress = event
    elif isinstance(event, Filters):
        answer.filters = event.filters
    elif isinstance(event, Alert):
        answer.alerts.append(event)
    elif isinstance(event, ErrorEvent):
        answer.errors.append(event.message)
    elif isinstance(event, OtherMatches):
        answer.other.append(event)


def listing_query(query: Query) -> str:
    """Return a query for the repositories that `query` searches; empty if its alternatives search different ones."""
    if len(query.plan) != 1:
        return ""

    filters: list[Node] = [
        item
        for item in query.plan[0].filters
        if (item.on if isinstance(item, Predicate) else item.name) in _REPOSITORY_FIELDS
    ]
    return str(Expression(And((*filters, Filter("type", "repo"), Filter("count", "99999999")))))
