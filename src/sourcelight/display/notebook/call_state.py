"""State of long work other than a single search: several searches, a tool call, a deep-search question."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from sourcelight.core.batches.events import OtherMatch, ServiceStatus
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.completeness import Status
from sourcelight.core.markup import count_of, one_line
from sourcelight.core.wire.events import Alert, Progress, Skipped, SuggestedFilter
from sourcelight.display.notebook.state import Phase, ProgressSnapshot, SearchState

_WORST: tuple[Status, ...] = ("interrupted", "failed", "limited", "partial")
_MAX_RUNNING = 3

_SHOWN, _KEPT, _TAIL = 6, 1_000, 280
_MAX_DETAIL_CHARS = 2_000
_MAX_DRAFT_CHARS = 1 << 20

WRITING = "writing"
"""The stage whose details are pieces of the answer, as a model writes it."""


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
            self._over, self._elapsed = True, self._clock() - self._started

    @property
    def status(self) -> Status:
        """The worst status of all searches."""
        statuses = {state.status for state in self.states.values()}
        return next((status for status in _WORST if status in statuses), "complete")

    @property
    def reasons(self) -> tuple[str, ...]:
        """Reasons why the status is not complete, by search."""
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
        """The reported progress, search by search."""
        return tuple(item for state in self.states.values() for item in state.progress)

    @property
    def filters(self) -> tuple[SuggestedFilter, ...]:
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
    def other(self) -> tuple[OtherMatch, ...]:
        """Matches that aren't rows, search by search."""
        return tuple(item for state in self.states.values() for item in state.other)

    @property
    def services(self) -> tuple[ServiceStatus, ...]:
        """Each service of a federation over all searches: the worst of its statuses, and the sums of its rows."""
        by_name: dict[str, ServiceStatus] = {}
        for name, state in self.states.items():
            # A service takes part in each search, so its reasons need the name of the search.
            for service in state.services:
                with_reasons = replace(service, reasons=tuple(f"{name}: {reason}" for reason in service.reasons))
                existing = by_name.get(service.name)
                by_name[service.name] = with_reasons if existing is None else _add(existing, with_reasons)

        return tuple(by_name.values())

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or until the end."""
        return self._clock() - self._started if self._elapsed is None else self._elapsed

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        elapsed = self.elapsed_s
        running = [name for name in self.states if name in self._begun and self.states[name].phase == "running"]
        done_count = sum(state.phase != "running" for state in self.states.values())
        doing = f": {', '.join(running[:_MAX_RUNNING])}" if running else ""
        return ProgressSnapshot(
            title=f"{count_of(len(self.states), 'search')}{doing}",
            phase=self.phase,
            elapsed_s=elapsed,
            done=done_count,
            total=len(self.states),
            unit="searches",
            fields=(("matches", f"{self.matches:,}"), ("s", f"{elapsed:.1f}")),
            notices=tuple(("warning", reason) for reason in self.reasons) if self._over else (),
        )


def _add(first: ServiceStatus, second: ServiceStatus) -> ServiceStatus:
    statuses = {first.status, second.status}
    return replace(
        first,
        status=next((status for status in ("running", *_WORST) if status in statuses), "complete"),
        reasons=(*first.reasons, *second.reasons),
        matches=first.matches + second.matches,
        rows=first.rows + second.rows,
        duplicates=first.duplicates + second.duplicates,
        elapsed_s=max(first.elapsed_s, second.elapsed_s),
    )


class CallState:
    """The progress of a call; `rows` are the Arrow tables of rows that it reported.

    Parameters
    ----------
    title
        What is called, with what; shown verbatim.
    clock
        Seconds that only grow; tests pass their own.
    """

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self._latest = ToolProgress("working")
        self.rows: tuple[Any, ...] = ()
        self._phase: Phase = "running"
        self._notices: tuple[tuple[str, str], ...] = ()
        self._rows = 0
        self._clock = clock
        self._started = clock()
        self._elapsed: float | None = None

    @property
    def phase(self) -> Phase:
        """The status, or ``running``."""
        return self._phase

    @property
    def elapsed_s(self) -> float:
        """Seconds since the start, or until the end."""
        return self._clock() - self._started if self._elapsed is None else self._elapsed

    def update(self, progress: ToolProgress) -> None:
        """Record the progress of the work; safe from any thread."""
        self._latest = progress
        # Tables are kept, not joined: most calls are never interrupted and need no partial rows.
        if progress.rows is not None:
            self.rows = (*self.rows, progress.rows)

    def finish(self, answer: ToolResult, status: Status | None = None) -> None:
        """Record that the answer has arrived; `status` overrides the one derived from completeness."""
        self.end(answer.table.num_rows, answer.notices, status=status or ("complete" if answer.complete else "limited"))

    def end(self, rows: int, notices: tuple[str, ...] = (), *, status: Status = "complete") -> None:
        """Record that the work has returned `rows` rows."""
        self._rows = rows
        kind = "warning" if status in {"limited", "unparsed"} else "info"
        self._settle(status, *((kind, text) for text in notices))

    def interrupt(self) -> None:
        """Record that the caller stopped the call; `rows` has the reported rows."""
        self._settle("interrupted")

    def fail(self, reason: str) -> None:
        """Record that the call failed."""
        self._settle("failed", ("error", reason))

    def _settle(self, phase: Phase, *notices: tuple[str, str]) -> None:
        if self._phase == "running":
            self._elapsed = self._clock() - self._started
            self._phase, self._notices = phase, notices

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        latest, running = self._latest, self._phase == "running"
        is_answered = self._phase in {"complete", "partial", "limited", "unparsed"}
        elapsed = self._clock() - self._started if self._elapsed is None else self._elapsed
        doing = f" \u00b7 {latest.detail}" if running and latest.detail else ""
        return ProgressSnapshot(
            title=f"{self.title}{doing}",
            phase=self._phase,
            elapsed_s=elapsed,
            done=self._rows if is_answered else latest.done,
            total=None if is_answered else latest.total or None,
            unit=("row" if self._rows == 1 else "rows") if is_answered else latest.stage,
            fields=(("s", f"{elapsed:.1f}"),),
            notices=self._notices,
            activity="Working",
        )


class AskState(CallState):
    """A question as far as it has come.

    Attributes
    ----------
    turns
        (what, about what) of each reported step: a tool and its result, evidence and its location.
    draft_text
        What a model wrote so far, before anything of it was checked.
    """

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(title, clock=clock)
        self.turns: tuple[tuple[str, str], ...] = ()
        self.address = ""
        self.draft_text = ""

    def update(self, progress: ToolProgress) -> None:
        """Record the progress of the work; safe from any thread."""
        if progress.stage == WRITING:
            # The end of it: the whole answer comes later, and a service may write for hours.
            self.draft_text = (self.draft_text + progress.detail)[-_MAX_DRAFT_CHARS:]
            progress = replace(progress, detail="")

        super().update(progress)
        step = (progress.stage[:_MAX_DETAIL_CHARS], progress.detail[:_MAX_DETAIL_CHARS])

        # Progress with a total is a count and no step. A step is often reported again with a newer count, and is
        # recorded once.
        if progress.detail and not progress.total and step not in self.turns[-1:] and len(self.turns) < _KEPT:
            self.turns = (*self.turns, step)

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        moment = super().snapshot()
        if moment.phase != "running":
            unit = "source" if moment.done == 1 else "sources"
            return replace(moment, unit=unit if moment.unit.startswith("row") else moment.unit)

        address_line = (("info", f"answer at {self.address}"),) if self.address else ()
        steps = tuple(("info", f"{activity}: {about}") for activity, about in self.turns[-_SHOWN:])
        if self._latest.stage == WRITING:
            # The end of it, from the beginning of a word.
            tail = self.draft_text[-_TAIL:]
            tail = f"…{tail.partition(' ')[2]}" if len(tail) < len(self.draft_text) else tail
            steps = (*steps, ("info", f"unchecked: {one_line(' '.join(tail.split()), _TAIL)}"))

        notices = (*address_line, *steps, *moment.notices)
        moment = replace(moment, title=self.title, notices=notices, activity="Researching")
        if moment.total:
            return moment
        return replace(moment, done=len(self.turns), unit="steps")
