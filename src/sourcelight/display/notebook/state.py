"""State of a search, and the snapshots that displays draw of any long work.

The working thread writes it, the drawing one reads it.

This module touches no widget. It replaces fields as a whole, so a reader on another thread sees the old or the new
value.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from sourcelight.core.batches import events
from sourcelight.core.completeness import Status, limits, reason_of, skipped_text, status_of
from sourcelight.core.former_names import refuses_former_names
from sourcelight.core.markup.counts import join_lines
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Filters, Progress, Skipped, SuggestedFilter

Phase = Literal["running", "complete", "partial", "limited", "unparsed", "interrupted", "failed"]
"""``running``, or how the work ended."""

_MAX_OTHER = 10_000
"""Other matches whose payloads are kept; `SearchState.skipped` has the number of all."""

_MAX_STATEMENTS = 10_000
_MAX_STATEMENT_CHARS = 32 << 20
"""Events of progress that are kept, the newest ones, and about how many characters they have together."""

_STATEMENT_CHARS = 64
"""Characters that an empty skipped item of such an event counts."""

_COUNT = re.compile(r"(?:^|[\s(])count:(\d{1,9})(?=[\s)]|$)")
"""The filter in ``retry count:100``."""


@refuses_former_names("ProgressSnapshot")
@dataclass(frozen=True, slots=True)
class ProgressSnapshot:
    """A snapshot of a running operation, which callables passed as ``progress`` get.

    Attributes
    ----------
    title
        Name of the operation, such as the query.
    phase
        ``running``, or how the operation ended.
    elapsed_s
        Seconds since the start.
    done, total
        Amount of finished work, and of all work; `total` is None when it is unknown.
    unit
        Unit of `done`, such as ``matches``.
    fields
        Pairs of name and text to display.
    notices
        Pairs of severity and text, such as skipped work and alerts.
    activity
        Text to display while the phase is ``running``.
    """

    title: str
    phase: Phase
    elapsed_s: float
    done: int
    total: int | None
    unit: str
    fields: tuple[tuple[str, str], ...] = ()
    notices: tuple[tuple[str, str], ...] = ()
    activity: str = "Searching"

    @property
    def fraction(self) -> float | None:
        """Share of the total that is done, 0 to 1; None if the total is unknown."""
        if not self.total:
            return None
        return min(self.done / self.total, 1.0)

    @property
    def text(self) -> str:
        """One line for a terminal."""
        amount = f"{self.done:,}"
        if self.total and self.phase == "running":
            amount += f" of {self.total:,}"
        texts = [f"{self.phase}: {amount} {self.unit}"]
        texts += [f"{text} {name}" for name, text in self.fields]
        return ", ".join(texts)


class _SearchParts(NamedTuple):
    """The parts of a search that is split, and the matches that arrived from them."""

    done: int
    total: int
    match_count: int


class _SearchEnd(NamedTuple):
    """The final status of a search, and the reasons why it is not complete."""

    status: Status
    reasons: tuple[str, ...]


class SearchState:
    """The state of a running or finished search.

    Parameters
    ----------
    query
        Text of the query; ``count:N`` in it gives the progress its total.
    pattern_type
        Pattern type of the query.
    display
        Maximum number of matches that the request asks for; -1: all. Reaching it makes the result partial.
    clock
        Returns seconds and never goes back; tests pass their own.
    """

    def __init__(
        self,
        query: str,
        *,
        pattern_type: str = "standard",
        display: int = -1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.query = query
        self._pattern_type = pattern_type
        self._display = display
        count_filter = _COUNT.search(query)
        self.total = int(count_filter[1]) if count_filter else None
        self.matches = 0
        self.rows = 0
        self._repository_names: set[str] = set()
        self.repository_count = 0
        self.repositories_count: int | None = None
        self.progress: tuple[Progress, ...] = ()
        self._statement_chars = 0
        self.filters: tuple[SuggestedFilter, ...] = ()
        self.skipped: tuple[Skipped, ...] = ()
        self.alerts: tuple[Alert, ...] = ()
        self.errors: tuple[str, ...] = ()
        self.services: tuple[events.ServiceStatus, ...] = ()
        self.other: tuple[events.OtherMatch, ...] = ()
        self.done = False
        self._parts: _SearchParts | None = None
        self._end: _SearchEnd | None = None
        self._clock = clock
        self._started = clock()
        self._elapsed: float | None = None

    def update(self, event: events.Event) -> None:
        """Record the next event of the stream."""
        if isinstance(event, events.MatchBatch):
            self._count(event)
        elif isinstance(event, Progress):
            self._add_progress(event)
            # Not added up: each event of progress has the whole list.
            self.skipped = event.skipped
            self.repositories_count = event.repositories_count
        elif isinstance(event, Filters):
            self.filters = event.filters
        elif isinstance(event, Alert):
            self.alerts = (*self.alerts, event)
        elif isinstance(event, ErrorEvent):
            self.errors = (*self.errors, event.message)
        elif isinstance(event, events.ServiceStatuses):
            self.services = event.services
        elif isinstance(event, events.OtherMatches):
            self.other = (*self.other, *event.matches[: _MAX_OTHER - len(self.other)])
        elif isinstance(event, Done):
            self.done = True

    def _count(self, event: events.MatchBatch) -> None:
        from sourcelight.core.batches.rows import match_count

        self.rows += event.batch.num_rows
        self.matches += match_count(event.batch)
        if event.repositories:
            # Only their number is for readers on other threads: they would see the set change while they iterate.
            self._repository_names.update(info.name for info in event.repositories)
            self.repository_count = len(self._repository_names)

    def _add_progress(self, event: Progress) -> None:
        """Keep the newest events: a stream may send some for hours, each with megabytes of skipped items."""
        self._statement_chars += _chars_of(event)
        start = max(0, len(self.progress) + 1 - _MAX_STATEMENTS)
        self._statement_chars -= sum(map(_chars_of, self.progress[:start]))
        while self._statement_chars > _MAX_STATEMENT_CHARS and start < len(self.progress):
            self._statement_chars -= _chars_of(self.progress[start])
            start += 1
        # A new tuple for each event, as a reader may be iterating over the previous one.
        self.progress = (*self.progress[start:], event)

    def set_parts(self, done: int, total: int, arrived: int) -> None:
        """Record the parts of a search: `done` of `total`, with `arrived` matches."""
        self._parts = _SearchParts(done, total, arrived)

    def set_count(self, matches: int, repositories: int | None = None, skipped: tuple[Skipped, ...] = ()) -> None:
        """Record the matches and repositories that the backend counted without sending any, and what it left out."""
        self.matches = matches
        self.skipped = skipped
        self.repositories_count = repositories

    def finish(self) -> None:
        """Derive the status from the events of the ended stream."""
        # With `display`, a service counts more matches than it sends.
        match_count = self.progress[-1].match_count if self.progress else 0
        status, reasons = status_of(
            self.query,
            self._pattern_type,
            max(self.matches, match_count),
            self.skipped,
            self.alerts,
            display=self._display,
            errors=self.errors,
        )
        self._settle(status, reasons)

    def interrupt(self) -> None:
        """Record that the caller stopped the work; rows that arrived stay valid."""
        self._settle("interrupted", ("interrupted", *limits(self.skipped, self.alerts)))

    def fail(self, reason: str) -> None:
        """Record that the work failed; rows that arrived stay valid."""
        self._settle("failed", (reason,))

    def _settle(self, status: Status, reasons: tuple[str, ...]) -> None:
        # The first ending counts. An interrupt on the waiting thread and the end of the stream on the loop may both
        # arrive.
        if self._end is not None:
            return

        self._elapsed = self._clock() - self._started
        self._end = _SearchEnd(status, reasons)
        services: list[events.ServiceStatus] = []
        for service in self.services:
            if service.status == "running":
                services.append(replace(service, status=status, reasons=reasons))
            else:
                services.append(service)
        self.services = tuple(services)

    @property
    def status(self) -> Status:
        """The final status; ``interrupted`` as long as nothing ended the work."""
        return self._end.status if self._end else "interrupted"

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the status is not complete; empty if it is."""
        return self._end.reasons if self._end else ("still running",)

    @property
    def phase(self) -> Phase:
        """The status, or ``running``."""
        return self._end.status if self._end else "running"

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or until the end."""
        if self._elapsed is None:
            return self._clock() - self._started
        return self._elapsed

    def snapshot(self) -> ProgressSnapshot:
        """Return a snapshot to draw."""
        done = self.matches
        if self._parts is not None:
            done = max(done, self._parts.match_count)

        total = None
        # At the end, "20 of 20 matches" of a `count:20` would say that there are no more.
        if self.phase == "running":
            total = self.total

        return ProgressSnapshot(
            title=self.query,
            phase=self.phase,
            elapsed_s=self.elapsed_s,
            done=done,
            total=total,
            unit="match" if self.matches == 1 else "matches",
            fields=self._fields(),
            notices=self._notices(),
        )

    def _fields(self) -> tuple[tuple[str, str], ...]:
        fields: list[tuple[str, str]] = []
        if self._parts is not None:
            fields.append(("parts", f"{self._parts.done:,} of {self._parts.total:,}"))

        repository_count = max(self.repository_count, self.repositories_count or 0)
        fields.append((repository_unit(repository_count), f"{repository_count:,}"))
        if self.services:
            done_count = sum(service.status != "running" for service in self.services)
            fields.append(("services", f"{done_count} of {len(self.services)}"))

        elapsed = self.elapsed_s
        rate = self.matches / elapsed if elapsed > 0 else 0.0
        fields.append(("s", f"{elapsed:.1f}"))
        fields.append(("matches/s", f"{rate:,.0f}"))
        return tuple(fields)

    def _notices(self) -> tuple[tuple[str, str], ...]:
        notices = [(item.severity, _note(item)) for item in self.skipped]
        notices += [(alert.kind or "info", join_lines(alert.text)) for alert in self.alerts]
        if self._end is None:
            return tuple(notices)

        # Reasons of the status repeat skipped work and alerts; each is shown once.
        repeated = {reason_of(item) for item in self.skipped}
        repeated.update(text for _, text in notices)
        severity = {"failed": "error", "partial": "info"}.get(self._end.status, "warning")
        for reason in self._end.reasons:
            if reason not in repeated and not reason.startswith("alert: "):
                notices.append((severity, reason))
        return tuple(notices)


def _chars_of(event: Progress) -> int:
    """Return about how many characters the skipped items of an event have."""
    chars = 0
    for item in event.skipped:
        chars += _STATEMENT_CHARS + len(item.reason) + len(item.title) + len(item.message)
    return chars


def repository_unit(count: int) -> str:
    """Return the name of a progress's unit, for `count` of them."""
    return "repository" if count == 1 else "repositories"


def _note(item: Skipped) -> str:
    text = skipped_text(item)
    if item.suggested is None:
        return text
    return f"{text} ({item.suggested.query_expression})"
