"""The part of one service in a search of several, and what all services together report.

Filters, alerts and the status of services are added up here; their rows are merged in
`sourcelight.client.federation.stream_merge`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sourcelight.client.federation.row_merge import DuplicateFilter
from sourcelight.client.federation.service import Service
from sourcelight.core.batches import Event, ServiceStatus, ServiceStatuses
from sourcelight.core.completeness import Status, failures, limits, title_text
from sourcelight.core.errors import SearchFailed, SourcelightError, TimedOut
from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.events import Alert, ErrorEvent, Filters, Progress, Skipped, SuggestedFilter

if TYPE_CHECKING:
    import pyarrow as pa

_FIRST = ("utility", "type")
"""Kinds of filters that come before all others."""

_EMPTY_SCOPE = re.compile(r"no (repositories|results)", re.IGNORECASE)
"""Titles of alerts that a service without a match sends; of several services, one may have matches."""

_MAX_NAMED = 20
"""Repositories that an alert names."""


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
    batches: list[pa.RecordBatch] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the service."""
        return self.service.name

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Skipped items, as last reported by the service."""
        return self.progress.skipped if self.progress else ()

    @property
    def reported_matches(self) -> int:
        """Matches that it sent or counted."""
        # A service may count more than it sends, and progress may lag behind its matches.
        if self.progress is None:
            return self.match_count
        return max(self.match_count, self.progress.match_count)

    def note(self, event: Event) -> None:
        """Record events of a service other than matches."""
        match event:
            case Progress():
                self.progress = event
            case Filters():
                self.filters = event.filters
            case Alert():
                self.alerts.append(event)
            case ErrorEvent():
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
            message = f"`{self.name}` did not finish."
            if self.match_count:
                message += " Its rows so far are kept."

            yield Skipped(
                reason="service-timeout" if isinstance(self.error, TimedOut) else "service-failed",
                title=f"{self.name}: {self.error}",
                message=message,
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
                continue

            is_needless = has_matches and not part.match_count and _EMPTY_SCOPE.match(alert.title)
            if not is_needless:
                yield replace(alert, title=f"{part.name}: {alert.title}")

    if duplicates.conflicting_commits:
        yield _conflict_alert(parts, duplicates)


def _conflict_alert(parts: Sequence[ServiceStream], duplicates: DuplicateFilter) -> Alert:
    """Return an alert about repositories that services have at different commits."""
    names = {part.number: part.name for part in parts}
    lines = []
    for (repository, revision), commits in sorted(duplicates.conflicting_commits.items()):
        target = f"{repository}@{revision}" if revision else repository
        commit_texts = [f"{commit[:10]} at {names[number]}" for number, commit in sorted(commits.items())]
        lines.append(f"- `{target}`: {', '.join(commit_texts)}")

    total = count_of(len(lines), "repository")
    if len(lines) > _MAX_NAMED:
        lines[_MAX_NAMED:] = [f"- and {len(lines) - _MAX_NAMED:,} more"]

    return Alert(
        f"{total} at different commits",
        "Services have them at different commits, so rows of each are included: `commit` and `service` distinguish "
        "them.\n" + "\n".join(lines),
        "info",
    )
