"""A call of a tool or an analysis as a piece of long work."""

from __future__ import annotations

import time
from collections.abc import Callable

from sourcelight.core.batches.answers import Answer, CallProgress
from sourcelight.display.notebook.state import Phase, Snapshot


class CallState:
    """A call as far as it has come.

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

    def finish(self, answer: Answer) -> None:
        """The answer is there."""
        self._rows = answer.table.num_rows
        kind = "info" if answer.complete else "warning"
        self._settle("complete" if answer.complete else "limited", *((kind, text) for text in answer.notices))

    def interrupt(self) -> None:
        """The caller stopped the call; nothing of it is kept."""
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
        answered = self._phase in {"complete", "limited"}
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
