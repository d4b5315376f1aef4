"""One service's part in one search, as far as it has come."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sourcelight.client.federation.service import Service
from sourcelight.core.batches import Services, ServiceState
from sourcelight.core.completeness import Status, faults, limits
from sourcelight.core.errors import SearchFailed, SourcelightError, TimedOut
from sourcelight.core.wire.events import Alert, ErrorEvent, Filter, Filters, Progress, Skipped


@dataclass(slots=True)
class Part:
    """What a service has said, and what became of it.

    Attributes
    ----------
    number
        Place of the service among all, from 0.
    matches, rows
        Those of the answer that are of this service.
    found
        Matches that it sent.
    duplicates, repeated
        Rows, and matches in them, that another service had given before.
    fault
        What broke its search; None: nothing did.
    batches
        All that it sent, where this is kept.
    """

    number: int
    service: Service
    began: float
    ended: float | None = None
    status: Status | None = None
    reasons: tuple[str, ...] = ()
    matches: int = 0
    rows: int = 0
    found: int = 0
    duplicates: int = 0
    repeated: int = 0
    progress: Progress | None = None
    filters: tuple[Filter, ...] = ()
    alerts: list[Alert] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    fault: SourcelightError | None = None
    batches: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Name of the service."""
        return self.service.name

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Work that it left out, as it last said."""
        return self.progress.skipped if self.progress else ()

    def note(self, event: Any) -> None:
        """Take in what a service says beside its matches."""
        if isinstance(event, Progress):
            self.progress = event
        elif isinstance(event, Filters):
            self.filters = event.filters
        elif isinstance(event, Alert):
            self.alerts.append(event)
        elif isinstance(event, ErrorEvent):
            self.errors.append(event.message)

    def end(self, now: float, fault: SourcelightError | None = None) -> None:
        """Its search is over, by a fault or at its end."""
        self.ended = now
        said = faults(self.alerts, self.errors)
        if fault is None and said:
            fault = SearchFailed("; ".join(said))
        self.fault = fault
        if fault is not None:
            self.status, self.reasons = "failed", (str(fault),)
            return
        self.reasons = limits(self.skipped, self.alerts)
        self.status = "limited" if self.reasons else "complete"

    def state(self, now: float) -> ServiceState:
        """Read this moment."""
        return ServiceState(
            self.name,
            self.service.backend.name,
            self.status or "running",
            self.reasons,
            self.matches,
            self.rows,
            self.duplicates,
            (self.ended or now) - self.began,
        )

    def left_out(self, told: frozenset[str]) -> Iterator[Skipped]:
        """What is missing in the answer for its sake; `told`: reasons that are said of the whole answer."""
        if self.fault is not None:
            late = isinstance(self.fault, TimedOut)
            kept = " What it had sent is kept." if self.found else ""
            yield Skipped(
                reason="service-timeout" if late else "service-failed",
                title=f"{self.name}: {self.fault}",
                message=f"`{self.name}` did not come to its end.{kept}",
                severity="error",
            )
        for item in self.skipped:
            if item.reason not in told:
                title = f"{self.name}: {item.title}" if item.title else self.name
                yield Skipped(item.reason, title, item.message, item.severity, item.suggested)


def services_of(parts: list[Part], now: float) -> Services:
    """How far all services are."""
    return Services(tuple(part.state(now) for part in parts))
