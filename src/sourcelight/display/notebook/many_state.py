"""The progress of several named searches as one, and its status: the worst of theirs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain

from sourcelight.core.batches.events import OtherMatch, ServiceStatus
from sourcelight.core.completeness import Status, title_text
from sourcelight.core.markup import count_of
from sourcelight.core.wire.events import Alert, Progress, Skipped, SuggestedFilter
from sourcelight.display.notebook.state import Phase, ProgressSnapshot, SearchState

_WORST: tuple[Status, ...] = ("interrupted", "failed", "limited", "partial")
"""Statuses other than ``complete``, the worst first."""

_MAX_RUNNING = 3
"""Names of running searches in the title, so that it stays one line."""


class ManyState:
    """The progress of named searches.

    Parameters
    ----------
    states
        The state of each search by its name, those that have not begun included.
    clock
        Seconds that only grow; tests pass their own.
    """

    def __init__(self, states: Mapping[str, SearchState], *, clock: Callable[[], float] = time.monotonic) -> None:
        self.states = dict(states)
        self._begun: frozenset[str] = frozenset()
        self._over = False
        self._clock = clock
        self._started = clock()
        self._elapsed: float | None = None

    def start(self, name: str) -> None:
        """Record that the search `name` begins."""
        self._begun |= {name}

    def finish(self) -> None:
        """Record that all searches have ended; the rest counts as interrupted."""
        # States that ended keep their status, because the first ending counts.
        self.interrupt()

    def interrupt(self) -> None:
        """Record that the caller stopped the work; finished searches stay."""
        for state in self.states.values():
            state.interrupt()
        if not self._over:
            self._over = True
            self._elapsed = self._clock() - self._started

    @property
    def status(self) -> Status:
        """The worst status of all searches."""
        return _worst(state.status for state in self.states.values())

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the status is not complete, by search."""
        reasons = []
        for name, state in self.states.items():
            if state.status != "complete":
                reasons.append(f"{name}: {'; '.join(state.reasons)}")

        return tuple(reasons)

    @property
    def phase(self) -> Phase:
        """The status, or ``running``."""
        return self.status if self._over else "running"

    @property
    def matches(self) -> int:
        """Matches of all searches."""
        return sum(state.matches for state in self.states.values())

    @property
    def progress(self) -> tuple[Progress, ...]:
        """The reported progress, search by search."""
        return tuple(chain.from_iterable(state.progress for state in self.states.values()))

    @property
    def filters(self) -> tuple[SuggestedFilter, ...]:
        """Suggested filters, search by search."""
        return tuple(chain.from_iterable(state.filters for state in self.states.values()))

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Work that was left out; titles end with the name of the search: ``61 binary files (search a)``."""
        items = []
        for name, state in self.states.items():
            for item in state.skipped:
                # A name in front would stand between the verb and its object: "skipped a: 61 binary files".
                title = f"{title_text(item) or item.reason} (search {name})"
                items.append(replace(item, title=title))

        return tuple(items)

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Alerts; titles begin with the name of the search."""
        alerts = []
        for name, state in self.states.items():
            alerts += [replace(alert, title=f"{name}: {alert.title}") for alert in state.alerts]

        return tuple(alerts)

    @property
    def other(self) -> tuple[OtherMatch, ...]:
        """Matches that aren't rows, search by search."""
        return tuple(chain.from_iterable(state.other for state in self.states.values()))

    @property
    def services(self) -> tuple[ServiceStatus, ...]:
        """Each service of a federation over all searches: the worst of its statuses, and the sums of its rows."""
        by_name: dict[str, ServiceStatus] = {}
        for name, state in self.states.items():
            # A service takes part in each search, so its reasons need the name of the search.
            for service in state.services:
                reasons = tuple(f"{name}: {reason}" for reason in service.reasons)
                status = replace(service, reasons=reasons)
                if service.name in by_name:
                    status = _add(by_name[service.name], status)
                by_name[service.name] = status

        return tuple(by_name.values())

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or until the end."""
        if self._elapsed is not None:
            return self._elapsed
        return self._clock() - self._started

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        elapsed = self.elapsed_s
        unfinished = [name for name, state in self.states.items() if state.phase == "running"]
        running = [name for name in unfinished if name in self._begun]
        title = count_of(len(self.states), "search")
        if running:
            title += f": {', '.join(running[:_MAX_RUNNING])}"

        return ProgressSnapshot(
            title=title,
            phase=self.phase,
            elapsed_s=elapsed,
            done=len(self.states) - len(unfinished),
            total=len(self.states),
            unit="searches",
            fields=(("matches", f"{self.matches:,}"), ("s", f"{elapsed:.1f}")),
            notices=tuple(("warning", reason) for reason in self.reasons) if self._over else (),
        )


def _worst(statuses: Iterable[str]) -> Status:
    """Return the worst of some statuses, ``complete`` without any."""
    present = set(statuses)
    for status in _WORST:
        if status in present:
            return status

    return "complete"


def _add(first: ServiceStatus, second: ServiceStatus) -> ServiceStatus:
    """Return the part of one service in two searches."""
    statuses = {first.status, second.status}
    return replace(
        first,
        status="running" if "running" in statuses else _worst(statuses),
        reasons=(*first.reasons, *second.reasons),
        matches=first.matches + second.matches,
        rows=first.rows + second.rows,
        duplicates=first.duplicates + second.duplicates,
        elapsed_s=max(first.elapsed_s, second.elapsed_s),
    )
