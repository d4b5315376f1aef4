"""Several searches as one piece of long work."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace

from sourcelight.core.batches.events import ServiceState
from sourcelight.core.completeness import Status
from sourcelight.core.wire.events import Alert, Filter, Progress, Skipped
from sourcelight.display.notebook.state import Phase, SearchState, Snapshot

_WORST: tuple[Status, ...] = ("interrupted", "failed", "limited", "partial")
_MOST_RUNNING = 3


class ManyState:
    """Searches under names, as far as they have come.

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

    def begin(self, name: str) -> None:
        """The search `name` begins."""
        self._begun |= {name}

    def finish(self) -> None:
        """No search is under way any more; those that never ended count as interrupted."""
        self.interrupt()

    def interrupt(self) -> None:
        """The caller stopped the work; searches that have ended stay as they are."""
        for state in self.states.values():
            state.interrupt()
        if not self._over:
            self._over, self._elapsed = True, self._clock() - self._started

    @property
    def status(self) -> Status:
        """The worst status of all searches."""
        found = {state.status for state in self.states.values()}
        return next((status for status in _WORST if status in found), "complete")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the status is not complete, by search."""
        return tuple(
            f"{name}: {'; '.join(state.reasons)}" for name, state in self.states.items() if state.status != "complete"
        )

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
        """What services said, search by search."""
        return tuple(item for state in self.states.values() for item in state.progress)

    @property
    def filters(self) -> tuple[Filter, ...]:
        """Suggested filters, search by search."""
        return tuple(item for state in self.states.values() for item in state.filters)

    @property
    def skipped(self) -> tuple[Skipped, ...]:
        """Work that was left out; titles begin with the name of the search."""
        return tuple(
            replace(item, title=f"{name}: {item.title}" if item.title else name)
            for name, state in self.states.items()
            for item in state.skipped
        )

    @property
    def alerts(self) -> tuple[Alert, ...]:
        """Alerts; titles begin with the name of the search."""
        return tuple(
            replace(item, title=f"{name}: {item.title}") for name, state in self.states.items() for item in state.alerts
        )

    @property
    def services(self) -> tuple[ServiceState, ...]:
        """Each service of a federation over all searches: the worst of its statuses, and the sums of its rows."""
        found: dict[str, ServiceState] = {}
        for name, state in self.states.items():
            for one in state.services:
                told = replace(one, reasons=tuple(f"{name}: {reason}" for reason in one.reasons))
                held = found.get(one.name)
                found[one.name] = told if held is None else _added(held, told)
        return tuple(found.values())

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or until the end."""
        return self._clock() - self._started if self._elapsed is None else self._elapsed

    def snapshot(self) -> Snapshot:
        """Read this moment, to be drawn."""
        elapsed = self.elapsed_s
        running = [name for name in self.states if name in self._begun and self.states[name].phase == "running"]
        ended = sum(state.phase != "running" for state in self.states.values())
        doing = f": {', '.join(running[:_MOST_RUNNING])}" if running else ""
        return Snapshot(
            title=f"{searches(len(self.states))}{doing}",
            phase=self.phase,
            elapsed_s=elapsed,
            done=ended,
            total=len(self.states),
            unit="searches",
            facts=(("matches", f"{self.matches:,}"), ("s", f"{elapsed:.1f}")),
            notes=tuple(("warning", reason) for reason in self.reasons) if self._over else (),
        )


def searches(count: int) -> str:
    """So many searches, in words."""
    return "1 search" if count == 1 else f"{count:,} searches"


def _added(one: ServiceState, other: ServiceState) -> ServiceState:
    statuses = {one.status, other.status}
    return replace(
        one,
        status=next((status for status in ("running", *_WORST) if status in statuses), "complete"),
        reasons=(*one.reasons, *other.reasons),
        matches=one.matches + other.matches,
        rows=one.rows + other.rows,
        duplicates=one.duplicates + other.duplicates,
        elapsed_s=max(one.elapsed_s, other.elapsed_s),
    )
