"""The progress of a call that is no search: a tool call, a deep-search question, or the build of an index.

The working thread writes the state, the drawing one reads it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from sourcelight.core.batches.events import CloneProgress, IndexProgress
from sourcelight.core.batches.results import ToolProgress, ToolResult
from sourcelight.core.completeness import Status
from sourcelight.core.markup import one_line
from sourcelight.display.notebook.state import Phase, ProgressSnapshot, repository_unit

_MAX_VISIBLE_STEPS = 6
"""Steps of a question that are drawn, the latest; all of them would move the page with each one."""

_MAX_STEPS = 1_000
_MAX_DETAIL_CHARS = 2_000
_MAX_DRAFT_CHARS = 1 << 20
"""Bounds on what a service may make this process keep."""

_VISIBLE_DRAFT_CHARS = 280
"""Characters of a draft that are drawn: about three lines."""

_ANSWERED = frozenset({"complete", "partial", "limited", "unparsed"})
"""Phases in which the rows of the answer are known."""

WRITING = "writing"
"""The stage whose details are pieces of the answer, as a model writes it."""


class IndexState:
    """The state of an index build.

    `update` takes the progress of the index, or of a clone before it.
    """

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.title = title
        self._latest: IndexProgress | CloneProgress | None = None
        self._phase: Phase = "running"
        self._reason = ""
        self._repositories = 0
        self._in_background = False
        self._clock = clock
        self._started = clock()
        self._elapsed: float | None = None

    def update(self, event: IndexProgress | CloneProgress) -> None:
        """Record the newest progress of the index build; safe from any thread."""
        self._latest = event

    def finish(self, repositories: int = 0, *, in_background: bool = False) -> None:
        """Record that the index of `repositories` repositories is ready, or is still being built in the background."""
        self._repositories = repositories
        self._in_background = in_background
        self._settle("complete")

    def interrupt(self) -> None:
        """Record that the caller stopped the build; finished repositories stay."""
        self._settle("interrupted")

    def fail(self, reason: str) -> None:
        """Record that the build failed."""
        self._reason = self._reason or reason
        self._settle("failed")

    def _settle(self, phase: Phase) -> None:
        if self._phase == "running":
            self._elapsed = self._clock() - self._started
            self._phase = phase

    def snapshot(self) -> ProgressSnapshot:
        """Return a snapshot to draw."""
        latest = self._latest
        index = IndexProgress(repositories_done=0, repositories_total=0, files=0, text_bytes=0)
        step = ""
        if isinstance(latest, IndexProgress):
            index = latest
            step = latest.repository
        elif isinstance(latest, CloneProgress):
            # git's name for its step, with its count.
            step = f"{latest.step} {latest.done:,} of {latest.total:,}"

        title = self.title
        if step and self._phase == "running":
            title = f"{self.title}: {step}"

        done = index.repositories_done
        total = index.repositories_total
        fields: list[tuple[str, str]] = []
        # A finished build without work found a current index; show that instead of "0 files".
        if done or total or self._phase != "complete":
            fields.append(("files", f"{index.files:,}"))
            fields.append(("MB", f"{index.text_bytes / 1e6:,.1f}"))
        elif self._repositories:
            done = self._repositories
            total = self._repositories
            fields.append(("in the background", "indexing") if self._in_background else ("index", "current"))

        elapsed = self._elapsed
        if elapsed is None:
            elapsed = self._clock() - self._started
        fields.append(("s", f"{elapsed:.1f}"))

        return ProgressSnapshot(
            title=title,
            phase=self._phase,
            elapsed_s=elapsed,
            done=done,
            total=total or None,
            unit=repository_unit(total or done),
            fields=tuple(fields),
            notices=(("error", self._reason),) if self._reason else (),
            activity="Indexing",
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
        if self._phase != "running":
            return
        self._elapsed = self._clock() - self._started
        self._phase = phase
        self._notices = notices

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        # Read once: another thread may replace it.
        latest = self._latest
        elapsed = self.elapsed_s
        title = self.title
        if self._phase == "running" and latest.detail:
            title = f"{title} \u00b7 {latest.detail}"

        moment = ProgressSnapshot(
            title=title,
            phase=self._phase,
            elapsed_s=elapsed,
            done=latest.done,
            total=latest.total or None,
            unit=latest.stage,
            fields=(("s", f"{elapsed:.1f}"),),
            notices=self._notices,
            activity="Working",
        )
        if self._phase in _ANSWERED:
            return replace(moment, done=self._rows, total=None, unit="row" if self._rows == 1 else "rows")
        return moment


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
        if progress.detail and not progress.total and step not in self.turns[-1:] and len(self.turns) < _MAX_STEPS:
            self.turns = (*self.turns, step)

    def snapshot(self) -> ProgressSnapshot:
        """Read this moment, to be drawn."""
        moment = super().snapshot()
        if moment.phase != "running":
            unit = "source" if moment.done == 1 else "sources"
            return replace(moment, unit=unit if moment.unit.startswith("row") else moment.unit)

        address_line = (("info", f"answer at {self.address}"),) if self.address else ()
        steps = tuple(("info", f"{activity}: {about}") for activity, about in self.turns[-_MAX_VISIBLE_STEPS:])
        if self._latest.stage == WRITING:
            steps = (*steps, ("info", f"unchecked: {self._draft_tail()}"))

        notices = (*address_line, *steps, *moment.notices)
        moment = replace(moment, title=self.title, notices=notices, activity="Researching")
        if moment.total:
            return moment
        return replace(moment, done=len(self.turns), unit="step" if len(self.turns) == 1 else "steps")

    def _draft_tail(self) -> str:
        """Return the end of the draft as one line, from the beginning of a word."""
        tail = self.draft_text[-_VISIBLE_DRAFT_CHARS:]
        if len(tail) < len(self.draft_text):
            tail = f"…{tail.partition(' ')[2]}"
        return one_line(" ".join(tail.split()), _VISIBLE_DRAFT_CHARS)
