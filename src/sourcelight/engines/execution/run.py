"""One running search: from batches to events, with counts and notices on the way."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.core.arrays import distinct, to_numpy
from sourcelight.core.batches import Event, MatchBatch, RepositoryInfo
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, RawMatches
from sourcelight.core.batches.rows import first_matches, match_count
from sourcelight.core.errors import Cancelled
from sourcelight.core.wire.events import Alert, Done, Filters, Progress, Skipped
from sourcelight.core.wire.request import display_limit, match_limit
from sourcelight.engines.execution import protocol
from sourcelight.engines.execution.advice import notices
from sourcelight.engines.execution.protocol import Limits
from sourcelight.engines.execution.results.tally import Tally
from sourcelight.engines.execution.source import SearchSource, SearchTask, SourceReport

PROGRESS_EVERY_S = 0.1
"""Seconds between events of progress while matches arrive."""

SHORT_S = 0.02
"""Seconds of a search within which its first matches wait for no filters: it will end, or send them, soon."""


@dataclass(slots=True)
class SearchExecution:
    """One search under way: counts and limits what a source yields, and puts it in the order of the wire.

    Parameters
    ----------
    source
        Where plans and matches come from.
    task
        The search.
    limits
        Bounds of every search.
    finds
        Whether another query over the same repositories has a match; called if this query has none.
    may_find_in_any_case
        Whether this query may have a match without regard to case; asked before `finds`.
    """

    source: SearchSource
    task: SearchTask
    limits: Limits
    finds: Callable[[str], bool]
    may_find_in_any_case: Callable[[], bool] = lambda: True
    tally: Tally = field(init=False)
    _displayed_matches: int = field(init=False, default=0)
    _limit_hit: bool = field(init=False, default=False)
    _sent_names: set[str] = field(init=False, default_factory=set)
    _last_progress_s: float = field(init=False, default=0.0)

    def __post_init__(self) -> None:
        self.tally = Tally(typed=not any(alternative.select() for alternative in self.task.query.plan))

    def events(self) -> Generator[Event, None, None]:
        """Yield events in wire order: matches and progress, the final filters and progress, an alert, done."""
        source, cancellation = self.source, self.task.cancellation
        for item in source.prepare():
            yield self._progress(done=False, skipped=(item,))

        limit = self.task.match_limit(self.limits)
        allowed_s = self.task.allowed_s(self.limits)

        # Reading the query has used up part of the time limit already.
        # Set only now: `prepare` waits for the first indexing, which no time limit of a search should end.
        cancellation.limit(None if allowed_s is None else allowed_s - self.task.read_s)
        try:
            for item in source.resolve():
                yield self._progress(done=False, skipped=(item,))
        except Cancelled:
            return

        self._last_progress_s = time.monotonic()
        yield from self._match_events(limit)
        if cancellation.cancelled:
            return

        yield from self._final_events(limit, allowed_s)

    def _match_events(self, limit: int) -> Iterator[Event]:
        """Yield visible matches and progress; end after `limit` matches."""
        display = self.task.request.display
        # `display` bounds what is sent and `count:` what is found: the search continues and counts what it no longer
        # sends.
        visible_limit = limit if display < 0 else min(limit, display)
        for batch in self.source.batches(limit):
            if self.task.cancellation.cancelled:
                return
            if isinstance(batch, RawMatches):
                yield from self._raw_matches(batch)
                continue
            if isinstance(batch, Skipped):
                yield self._progress(done=False, skipped=(batch,))
                continue

            visible = batch
            if self.tally.matches + match_count(batch) >= limit:
                visible = first_matches(batch, limit - self.tally.matches)
                self._limit_hit = True

            self.tally.add(visible)
            remaining = visible_limit - self._displayed_matches
            if remaining > 0:
                visible_part = first_matches(visible, remaining)
                if not self._displayed_matches:
                    yield from self._filters(exhaustive=False)
                self._displayed_matches += match_count(visible_part)
                yield MatchBatch(visible_part, self._infos_of(visible_part))

            if self._limit_hit:
                return

            yield from self._periodic_progress()

    def _raw_matches(self, matches: RawMatches) -> Iterator[Event]:
        """Yield matches in the order of the engine, all of which are shown."""
        self.tally.add_raw(matches)
        if not self._displayed_matches and time.monotonic() - self.task.started > SHORT_S:
            yield from self._filters(exhaustive=False)
        self._displayed_matches = self.tally.matches
        yield RawMatchBatch(matches, self._unsent_infos(matches.repositories))
        yield from self._periodic_progress()

    def _periodic_progress(self) -> Iterator[Event]:
        if time.monotonic() - self._last_progress_s >= PROGRESS_EVERY_S:
            self._last_progress_s = time.monotonic()
            yield from self._filters(exhaustive=False)
            yield self._progress(done=False)

    def _infos_of(self, batch: Any) -> tuple[RepositoryInfo, ...]:
        column = batch.column(batch.schema.get_field_index("repository"))
        # The dictionary may have names that no row of this slice uses.
        codes = distinct(to_numpy(column.indices))
        values = column.dictionary.to_pylist()
        return self._unsent_infos([values[code] for code in codes])

    def _unsent_infos(self, names: Sequence[str]) -> tuple[RepositoryInfo, ...]:
        """Return information about repositories that was not sent before."""
        unsent = [name for name in names if name not in self._sent_names]
        self._sent_names.update(unsent)
        info = self.source.summary.infos
        return tuple(info[name] for name in unsent if name in info)

    def _progress(self, *, done: bool, skipped: Sequence[Skipped] = ()) -> Progress:
        if not done:
            activity = () if skipped else self.source.activity()
            skipped = (*skipped, *activity, *self._excluded_items())

        return Progress(
            done=done,
            match_count=self.tally.matches,
            duration_ms=round((time.monotonic() - self.task.started) * 1000),
            repositories_count=len(self.tally.repositories) or None,
            skipped=tuple(skipped),
        )

    def _filters(self, *, exhaustive: bool) -> Iterator[Event]:
        summary = self.source.summary
        filters = self.tally.filters(exhaustive=exhaustive, forks=len(summary.forks), archived=len(summary.archived))
        if filters:
            yield Filters(filters)

    def _final_events(self, limit: int, allowed_s: float | None) -> Iterator[Event]:
        cancellation = self.task.cancellation
        report = self.source.report(self.tally.repositories, limit_hit=self._limit_hit)

        # `unsent_repositories` has repositories that an engine thread had still in hand when the deadline passed.
        timed_out = sorted(cancellation.unsent_repositories.union(report.late_repositories))
        skipped = report.skipped
        capped = limit if self._limit_hit else report.capped
        if capped:
            skipped.append(match_limit(capped))

        if timed_out and self.tally.matches:
            skipped.append(protocol.timeout_item(timed_out, allowed_s, cancellation.unsent_repositories))

        skipped += self._excluded_items()
        # Only then are the counts of filters exact, and only then is "no match" a statement about the code.
        exhaustive = not (capped or timed_out) and report.is_complete
        yield from self._filters(exhaustive=exhaustive)
        yield self._progress(done=True, skipped=skipped)
        alert = self._alert(report, timed_out, allowed_s)
        if alert is None:
            alert = self._hint(report, exhaustive=exhaustive)

        if alert is not None:
            yield alert

        yield Done()

    def _excluded_items(self) -> Iterator[Skipped]:
        """Yield the items that the search skips by default; they are known before it ends."""
        summary, display = self.source.summary, self.task.request.display
        yield from protocol.excluded_items(summary.forks, summary.archived)
        if 0 <= display < self.tally.matches:
            yield display_limit(display, self.tally.matches)

    def _hint(self, report: SourceReport, *, exhaustive: bool) -> Alert | None:
        """Return the notice about missing CODEOWNERS, or about a search without a match."""
        query = self.task.query
        alert = report.owners_alert or notices.without_effect(query)
        if alert is not None:
            return alert
        if self.tally.matches or not exhaustive:
            return notices.read_as_text(query)
        return notices.advice_of(query, report.advice, self.finds, self.may_find_in_any_case)

    def _alert(self, report: SourceReport, timed_out: list[str], allowed_s: float | None) -> Alert | None:
        if timed_out and not self.tally.matches:
            return notices.timed_out(self.task.query, timed_out, allowed_s)
        if report.scope_alert is not None:
            return report.scope_alert

        if not any(plan.targets for plan in self.source.plans):
            # Forks, archived repositories or a context may be the reason that nothing is left to search; the alert
            # names it.
            context = next((item.context for item in self.task.scoped if item.context), "")
            forks, archived = bool(self.source.summary.forks), bool(self.source.summary.archived)
            return notices.no_repositories(self.task.query, forks=forks, archived=archived, context=context)

        return None
