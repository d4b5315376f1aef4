"""A question to deep search as a piece of long work: what is searched and read, as it happens."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sourcelight.core.batches.results import CallProgress
from sourcelight.core.markup import one_line
from sourcelight.display.notebook.call_state import CallState
from sourcelight.display.notebook.state import Snapshot

_SHOWN, _KEPT, _TAIL = 6, 1_000, 280

WRITING = "writing"
"""The stage whose details are pieces of the answer, as a model writes it."""


class AskState(CallState):
    """A question as far as it has come.

    Attributes
    ----------
    turns
        (what, about what) of each step that was told: a tool and what it gave, evidence and where it stands.
    written
        What a model wrote so far, before anything of it was checked.
    """

    def __init__(self, title: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(title, clock=clock)
        self.turns: tuple[tuple[str, str], ...] = ()
        self.address = ""
        self.written = ""

    def update(self, progress: CallProgress) -> None:
        """Take in how far the work has come; safe from any thread."""
        if progress.stage == WRITING:
            self.written += progress.detail
            progress = replace(progress, detail="")
        super().update(progress)
        step = (progress.stage, progress.detail)
        if progress.detail and not progress.total and step not in self.turns[-1:] and len(self.turns) < _KEPT:
            self.turns = (*self.turns, step)

    def snapshot(self) -> Snapshot:
        """Read this moment, to be drawn."""
        moment = super().snapshot()
        if moment.phase != "running":
            unit = "source" if moment.done == 1 else "sources"
            return replace(moment, unit=unit if moment.unit.startswith("row") else moment.unit)
        where = (("info", f"answer at {self.address}"),) if self.address else ()
        steps = tuple(("info", f"{what}: {about}") for what, about in self.turns[-_SHOWN:])
        if self._latest.stage == WRITING:
            # The end of it, from the beginning of a word.
            tail = self.written[-_TAIL:]
            tail = f"…{tail.partition(' ')[2]}" if len(tail) < len(self.written) else tail
            steps = (*steps, ("info", f"unchecked: {one_line(' '.join(tail.split()), _TAIL)}"))
        notes = (*where, *steps, *moment.notes)
        moment = replace(moment, title=self.title, notes=notes, doing="Researching")
        return moment if moment.total else replace(moment, done=len(self.turns), unit="steps")
