"""A call of a tool or an analysis as a piece of long work."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sourcelight.core.batches.results import Answer, CallProgress
from sourcelight.core.completeness import Status
from sourcelight.display.notebook.state import Phase, Snapshot


class CallState:
    """A call as far as it has come; `rows` are the Arrow tables of rows that it told on the way.

    Parameters
    ----------
    title
        What is called, with what; shown as it stands.
    clock
        Seconds that only grow; tests pass their own.
    """

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self._latest = CallProgress("working")
        self.rows: tuple[Any, ...] = ()
        self._phase: Phase = "running"
        self._notes: tuple[tuple[str, str], ...] = ()
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

    def update(self, progress: CallProgress) -> None:
        """Take in how far the work has come; safe from any thread."""
        self._latest = progress
        if progress.rows is not None:
            self.rows = (*self.rows, progress.rows)

    def finish(self, answer: Answer, status: Status | None = None) -> None:
        """The answer is there; `status` is what it comes to, where that is more than whether it is complete."""
        self.end(answer.table.num_rows, answer.notices, status=status or ("complete" if answer.complete else "limited"))

    def end(self, rows: int, notices: tuple[str, ...] = (), *, status: Status = "complete") -> None:
        """The work has given so many `rows`."""
        self._rows = rows
        kind = "warning" if status == "limited" else "info"
        self._settle(status, *((kind, text) for text in notices))

    def interrupt(self) -> None:
        """The caller stopped the call; what it told on the way is in `rows`."""
        self._settle("interrupted")

    def fail(self, reason: str) -> None:
        """The call broke."""
        self._settle("failed", ("error", reason))

    def _settle(self, phase: Phase, *notes: tuple[str, str]) -> None:
        if self._phase == "running":
            self._elapsed = self._clock() - self._started
            self._phase, self._notes = phase, notes

    def snapshot(self) -> Snapshot:
        """Read this moment, to be drawn."""
        at, running = self._latest, self._phase == "running"
        answered = self._phase in {"complete", "partial", "limited"}
        elapsed = self._clock() - self._started if self._elapsed is None else self._elapsed
        doing = f" \u00b7 {at.detail}" if running and at.detail else ""
        return Snapshot(
            title=f"{self.title}{doing}",
            phase=self._phase,
            elapsed_s=elapsed,
            done=self._rows if answered else at.done,
            total=None if answered else at.total or None,
            unit=("row" if self._rows == 1 else "rows") if answered else at.stage,
            facts=(("s", f"{elapsed:.1f}"),),
            notes=self._notes,
            doing="Working",
        )
