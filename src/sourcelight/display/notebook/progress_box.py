"""The live progress box of a notebook. Loads anywidget; only the calling thread touches it.

Python draws, and the browser updates the differences (``programs/progress.js``). During a cell, a kernel can't find out
whether its front end draws widgets. Until one reports back, a page of plain HTML stands next to the widget; a drawn
widget hides the page. At the end the page takes the widget's place: a saved notebook has no model for a widget, and
JupyterLab would show "model not found" above every result.
"""

from __future__ import annotations

import sys
import threading
import time
import uuid
from collections.abc import Callable, Mapping
from typing import Any

import anywidget
import traitlets

from sourcelight.display.notebook import html_pages
from sourcelight.display.notebook.programs import program, style
from sourcelight.display.notebook.progress_drawing import progress_parts
from sourcelight.display.notebook.state import ProgressSnapshot

_FRONT_END_DRAWS = threading.Event()  # set once a front end of this kernel has drawn a box


class ProgressBox(anywidget.AnyWidget):  # type: ignore[misc]  # anywidget's bases ship no types
    """A bar, a line of numbers, notices, and a Stop button where one can work.

    The state has the last moment and the program that draws it: short texts, and no more than eight notices.

    Parameters
    ----------
    on_stop
        Called when Stop is pressed, on whatever thread the kernel uses; None: no button. marimo has none: it gives a
        widget's messages to Python only between cells.
    front_end_draws
        Set by the first box that a front end has drawn, so that no later one shows a page meanwhile. None: the event of
        this kernel, which has one front end.
    """

    _esm = program("progress")
    _css = style("progress")
    drawing = traitlets.List().tag(sync=True)
    stoppable = traitlets.Bool(default_value=False).tag(sync=True)
    page = traitlets.Unicode().tag(sync=True)

    def __init__(
        self, on_stop: Callable[[], None] | None = None, front_end_draws: threading.Event | None = None
    ) -> None:
        self._front_end_draws = front_end_draws or _FRONT_END_DRAWS
        self._on_stop = None if html_pages.in_marimo() else on_stop
        self._displayed_at: float | None = None
        self._output: Any = None
        name = uuid.uuid4().hex

        # Notebooks that are compared with stored ones ask for widgets alone: a page has times in it.
        has_page = not html_pages.in_marimo() and html_pages.progress_setting() != "widget"
        self._page = html_pages.ProgressPage(name) if has_page else None
        super().__init__(stoppable=self._on_stop is not None, page=name)
        self.on_msg(self._on_message)

    def __repr__(self) -> str:
        return html_pages.PROGRESS_TEXT

    def draw(self, snapshot: ProgressSnapshot) -> None:
        """Show a moment; the first one displays the box."""
        with self.hold_sync():
            self.drawing = progress_parts(snapshot)  # unchanged parts send nothing
            if snapshot.phase != "running":
                self.stoppable = False

        now = time.monotonic()
        if self._displayed_at is None:
            self._displayed_at = now
            self._display()

        is_unseen = not self._front_end_draws.is_set() and now - self._displayed_at >= html_pages.PAGE_INTERVAL_S
        if self._page is None:
            return

        if snapshot.phase != "running":
            self._page.take_place_of(self._output)
            self._page.draw(snapshot)
            self.close()  # else the kernel keeps its model, and a front end may save it with the notebook
        elif is_unseen:
            self._page.draw(snapshot)

    def _display(self) -> None:
        if html_pages.in_marimo():
            sys.modules["marimo"].output.append(self)
        else:
            from IPython.display import display

            self._output = display(self, display_id=True)

    def _on_message(self, _widget: Any, message: Any, _buffers: Any) -> None:
        kind = message.get("kind") if isinstance(message, Mapping) else None
        if kind == "drawn":
            self._front_end_draws.set()
        elif kind == "stop" and self._on_stop is not None:
            self._on_stop()
