"""One progress bar for the calls of a report, drawn by the thread that waits for them.

The stages have a fixed order, and a stage that took time becomes a notice when the next one starts. Errors of a call
get the name of the report, because its caller didn't call that method.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any, Self

from sourcelight.client import RepeatedCommitsWarning
from sourcelight.core.errors import ToolError
from sourcelight.display.notebook import Phase, ProgressChoice, ProgressSnapshot, make_painter
from sourcelight.lab.reports.model import Frame

_SHOW_AFTER_S = 0.5
"""Seconds after which progress is displayed: a report that takes less needs none."""


class ReportProgress:
    """The progress of a report, which is drawn while the report is made and once at its end.

    Parameters
    ----------
    title
        The name of the report.
    names
        The stages in their order.
    report
        Name of the function that makes it, which errors of its calls have.
    draw
        Who draws; see `sourcelight.display.notebook.make_painter`.
    clock
        Seconds that only grow; tests pass their own.
    """

    def __init__(
        self,
        title: str,
        names: tuple[str, ...],
        *,
        report: str,
        draw: ProgressChoice = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.title = title
        self._names = names
        self._report = report
        self._done = 0
        self._activity = ""
        self._notices: tuple[tuple[str, str], ...] = ()
        self._phase: Phase = "running"
        self._clock = clock
        self._began = self._stage_start_s = clock()
        self._elapsed: float | None = None
        self._painter = make_painter(self, draw, after_s=_SHOW_AFTER_S)

    def ask(self, stage: str, call: Callable[..., Frame], *args: Any, **kwargs: Any) -> Frame:
        """Return the result of a client's method, with the progress bar meanwhile.

        Raises
        ------
        ToolError
            What the call raises, in the name of the report: the caller did not call the method.
        """
        self._enter(stage)
        try:
            with warnings.catch_warnings():
                # A report says so in its introduction.
                warnings.simplefilter("ignore", RepeatedCommitsWarning)
                return call(*args, **kwargs, progress=self._take)
        except ToolError as error:
            # Its kinds describe limits of a service or a file, which belong to the method.
            prefix, message = f"{error.tool}: ", str(error)
            if type(error) is not ToolError or not message.startswith(prefix):
                raise
            raise ToolError(
                f"{self._report}: {message.removeprefix(prefix)}",
                tool=self._report,
                argument=error.argument,
                accepted=error.accepted,
            ) from error

    def _enter(self, stage: str) -> None:
        index = self._names.index(stage)
        if index == self._done and self._activity:
            return

        entered_at = self._clock()
        if index and self._activity:
            self._notices = (
                *self._notices,
                ("info", f"{self._names[self._done]}: {entered_at - self._stage_start_s:.1f} s"),
            )

        self._done, self._stage_start_s, self._activity = index, entered_at, stage

    def _take(self, snapshot: ProgressSnapshot) -> None:
        counts = f"{snapshot.done:,}" + (f" of {snapshot.total:,}" if snapshot.total else "")
        stage = self._names[self._done]
        self._activity = f"{stage}, {counts} {snapshot.unit}" if snapshot.done else stage
        self._painter.paint()

    def interrupt(self) -> None:
        """Record that the caller stopped the work; nothing of the report is kept."""
        self._settle("interrupted")

    def _settle(self, phase: Phase) -> None:
        if self._phase == "running":
            self._elapsed = self._clock() - self._began
            self._phase = phase

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        running = self._phase == "running"
        elapsed = self._clock() - self._began if self._elapsed is None else self._elapsed
        return ProgressSnapshot(
            title=f"{self.title} \u00b7 {self._activity}" if running and self._activity else self.title,
            phase=self._phase,
            elapsed_s=elapsed,
            done=len(self._names) if self._phase == "complete" else self._done,
            total=len(self._names),
            unit="stages",
            fields=(("s", f"{elapsed:.1f}"),),
            notices=self._notices,
            activity="Working",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, exc: BaseException | None, _: object) -> None:
        if kind is None:
            self._settle("complete")
        elif issubclass(kind, KeyboardInterrupt):
            self._settle("interrupted")
        else:
            self._notices = (*self._notices, ("error", str(exc) or kind.__name__))
            self._settle("failed")

        self._painter.finish()
