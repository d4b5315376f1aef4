"""The progress box as plain HTML: for front ends without widgets, and for exported notebooks."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from sourcelight.display.notebook.progress_drawing import progress_html
from sourcelight.display.notebook.state import ProgressSnapshot

PROGRESS_TEXT = "sourcelight progress"
"""The box as plain text. Stored notebooks compare it, so it never changes."""
PAGE_INTERVAL_S = 1.0


class ProgressPage:
    """A box that is updated in its place: once a second, and at the end.

    Parameters
    ----------
    name
        Lets a widget beside it hide the page; hexadecimal digits.
    clock
        Seconds that only grow; tests pass their own.
    """

    def __init__(self, name: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self._name = name
        self._clock = clock
        self._due = 0.0
        self._handle: Any = None

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Show a moment; the first one displays the page."""
        now = self._clock()
        if snapshot.phase == "running" and now < self._due:
            return
        self._due = now + PAGE_INTERVAL_S
        bundle = {"text/html": progress_html(snapshot, self._name), "text/plain": PROGRESS_TEXT}
        if self._handle is None:
            from IPython.display import display

            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)
