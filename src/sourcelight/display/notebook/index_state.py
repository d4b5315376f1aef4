"""State of an index build, or of the clone before it: written by the working thread, read by the drawing one."""

from __future__ import annotations

import time
from collections.abc import Callable

from sourcelight.core.batches.events import CloneProgress, IndexProgress
from sourcelight.display.notebook.state import Phase, ProgressSnapshot, repository_unit


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
