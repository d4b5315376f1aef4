"""Painters for the progress of long work: a widget, plain lines, a user's callable, or none.

A painter can be made in any thread, and draws nothing until `paint`, which must run in the calling thread.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Protocol

from sourcelight.core.extras import with_first_frame
from sourcelight.display.notebook import html_pages
from sourcelight.display.notebook.html_pages import ProgressPage, in_kernel, progress_setting
from sourcelight.display.notebook.state import ProgressSnapshot

ProgressChoice = bool | Callable[[ProgressSnapshot], object] | None
INTERVAL_S = 0.1
"""Seconds between two drawings: ten a second look continuous."""

_LINE_INTERVAL_S = 1.0


class ProgressState(Protocol):
    """The state that a painter draws."""

    def snapshot(self) -> ProgressSnapshot:
        """Return the current state."""

    def interrupt(self) -> None:
        """Record an interrupt by the caller."""


class Surface(Protocol):
    """The surface on which a painter draws."""

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Draw a snapshot."""


class Painter:
    """Draws one piece of work at most ten times a second, and always its last state.

    Parameters
    ----------
    watched
        The work.
    open_surface
        Makes the surface at the first paint, in the painting thread; may return None. None to draw nothing.
    clock
        Returns monotonic seconds; tests pass their own.
    after_s
        Seconds before the first paint; shorter work is never drawn.
    """

    def __init__(
        self,
        watched: ProgressState,
        open_surface: Callable[[], Surface | None] | None,
        clock: Callable[[], float] = time.monotonic,
        after_s: float = 0.0,
    ) -> None:
        self.watched = watched
        self._open_surface = open_surface
        self._surface: Surface | None = None
        self._clock = clock
        self._due = 0.0
        self._start_s = clock() + after_s

    def interrupt(self) -> None:
        """Record an interrupt by the caller."""
        self.watched.interrupt()

    def paint(self) -> None:
        """Draw if the last paint is long enough ago."""
        if self._surface is not None:
            if self._clock() >= self._due:
                self._draw()
        elif self._clock() >= self._start_s:
            self._draw()

    def finish(self) -> None:
        """Draw the last state."""
        if self._surface is not None or self._clock() >= self._start_s:
            self._draw()

    def _draw(self) -> None:
        if self._surface is None and self._open_surface is not None:
            self._surface = self._open_surface()
            # Opened once: a surface that can't be made, such as a missing widget, isn't tried ten times a second.
            self._open_surface = None

        if self._surface is not None:
            self._surface.draw(self.watched.snapshot())

        # After drawing, so that a slow front end gets pauses as well.
        self._due = self._clock() + INTERVAL_S


class CallbackSurface:
    """Passes each snapshot to a callable of the user."""

    def __init__(self, call: Callable[[ProgressSnapshot], object]) -> None:
        self._call = call

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Draw; called with the time."""
        self._call(snapshot)


class LineSurface:
    """One plain line per second on standard error, and one at the end."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._due = clock() + _LINE_INTERVAL_S

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Print when a second has passed or the work is over."""
        if snapshot.phase == "running" and self._clock() < self._due:
            return
        self._due = self._clock() + _LINE_INTERVAL_S
        from sourcelight.core.markup import one_line

        notices = "".join(f"; {one_line(text, 100)}" for _, text in snapshot.notices[:3])
        sys.stderr.write(f"{snapshot.text}{notices}\n")
        sys.stderr.flush()


def _show_hidden_characters() -> None:
    # Loaded with the first frame: its views of cells take longer than a small search.
    from sourcelight.display.notebook.frame_views.table import show_hidden_characters

    show_hidden_characters()


with_first_frame(_show_hidden_characters)


def make_painter(
    watched: ProgressState, progress: ProgressChoice, *, on_stop: Callable[[], None] | None = None, after_s: float = 0.0
) -> Painter:
    """Return the painter for a piece of work.

    Parameters
    ----------
    watched
        The work.
    progress
        None: a widget in a notebook, plain lines on a terminal, else nothing. True: lines also if standard error isn't
        a terminal. False: nothing. A callable: called with each `ProgressSnapshot`.
        The environment variable ``SOURCELIGHT_PROGRESS`` sets it for a whole process: ``off``, ``widget``, ``html``
        or ``lines``.
    on_stop
        Called by a Stop button; None for no button. Only awaited calls can have one.
    after_s
        Seconds before the first paint, unless `progress` is set.
    """
    after_s = after_s if progress is None else 0.0
    if progress is not None and not isinstance(progress, bool):
        call = progress
        return Painter(watched, lambda: CallbackSurface(call))
    if progress is False or progress_setting() == "off":
        return Painter(watched, None)

    # Opened in the painting thread, because marimo identifies the cell by its thread.
    return Painter(watched, lambda: _surface(on_stop, lines=bool(progress)), after_s=after_s)


def _surface(on_stop: Callable[[], None] | None, *, lines: bool) -> Surface | None:
    """Return the display to draw on; with `lines`, lines of text if there is no other."""
    if html_pages.in_notebook() and progress_setting() != "lines":
        return _widget(on_stop)
    if lines or progress_setting() == "lines" or _is_terminal():
        return LineSurface()
    return None


def _is_terminal() -> bool:
    try:
        return sys.stderr.isatty()
    except (AttributeError, ValueError):  # no standard error at all, or a closed one
        return False


def _widget(on_stop: Callable[[], None] | None) -> Surface:
    """Return the progress widget of a notebook, or a page of plain HTML if widgets are missing or switched off."""
    if progress_setting() == "html" and in_kernel():
        return ProgressPage()
    try:
        from sourcelight.display.notebook.progress_box import ProgressBox
    except ImportError:
        return ProgressPage() if in_kernel() else LineSurface()
    return ProgressBox(on_stop)
