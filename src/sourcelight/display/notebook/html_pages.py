"""Render plain HTML for front ends without widgets, for exported files, and for progress.

The page is an output of its own, since an export takes the widget of an output and drops its HTML. The widget's program
hides the page once its kernel has answered. If the kernel is gone, the page hides the widget's error message.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from sourcelight.core.markup import escape, one_line
from sourcelight.display.notebook.progress_drawing import progress_html
from sourcelight.display.notebook.state import ProgressSnapshot

_WIDGET = "application/vnd.jupyter.widget-view+json"

_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
# The colors of JupyterLab's themes, by the names that its cells use.
_STYLE = """:root{color-scheme:light dark}
body{margin:0 auto;padding:1.5rem 1rem;font:1rem/1.55 system-ui,sans-serif;background:Canvas;color:CanvasText}
a{overflow-wrap:anywhere}
@media (prefers-color-scheme:dark){:root{--jp-content-link-color:#90caf9;--jp-brand-color1:#90caf9;
--jp-ui-font-color2:#bdbdbd;--jp-success-color1:#66bb6a;--jp-warn-color0:#ffb74d;--jp-warn-color1:#ffb74d;
--jp-error-color1:#ef9a9a}}"""

# Without a kernel, JupyterLab writes "model not found" into a widget's output, and only then gives it this class. A
# style that hides such an output keeps a live widget, also if its page is reloaded; replacing the output wouldn't.
_HIDE_LOST_WIDGET = (
    "<style>.jp-OutputArea-child:has(> .jp-OutputArea-output.jupyter-widgets)"
    ":has(+ .jp-OutputArea-child .sl-static){display:none}</style>"
)

PROGRESS_TEXT = "sourcelight progress"
"""The box as plain text. Stored notebooks compare it, so it never changes."""

PAGE_INTERVAL_S = 1.0


def display_widget(bundle: Mapping[str, Any], text: str, html: str) -> Any:
    """Display a widget and its page; only `text` without widgets. Returns the handle of the page, if any.

    Parameters
    ----------
    bundle
        MIME bundle of the widget.
    text
        Plain text of the same.
    html
        The page, escaped.
    """
    from IPython.display import display

    if not in_notebook() or _WIDGET not in bundle:
        display({"text/plain": text}, raw=True)
        return None
    display({_WIDGET: bundle[_WIDGET], "text/plain": text.partition("\n")[0]}, raw=True)
    return display(_page(text, html), raw=True, display_id=True)


def replace_page(handle: Any, text: str, html: str) -> None:
    """Replace a displayed page by another; call it from any thread."""
    handle.update(_page(text, html), raw=True)


def _page(text: str, html: str) -> dict[str, str]:
    return {"text/html": f'<div class="sl-static">{_HIDE_LOST_WIDGET}{html}</div>', "text/plain": text}


def html_page(title: str, body: str, *, width: str = "60rem") -> str:
    """Return a page that needs nothing else and runs nothing.

    Parameters
    ----------
    title
        Plain text.
    body
        HTML with its own styles, escaped.
    width
        How wide it may be, in CSS.
    """
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" '
        f'content="{_POLICY}"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(one_line(title, 120))}</title><style>{_STYLE}\nbody{{max-width:{width}}}</style></head>"
        f"<body>{body}</body></html>\n"
    )


class ProgressPage:
    """A box that is updated in place, once a second and at the end.

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

    def take_place_of(self, output: Any) -> None:
        """Replace the output of a widget from now on, where nothing hides the page.

        Parameters
        ----------
        output
            Handle of the widget's output. A page that is displayed already stays where it is, and the output is
            emptied.
        """
        if not self._name:
            return
        self._name = ""  # by which the widget hid the page
        if self._handle is None:
            self._handle = output
        else:
            output.update({"text/html": "", "text/plain": ""}, raw=True)

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


def in_kernel() -> bool:
    """Return whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def in_marimo() -> bool:
    """Return whether this code runs in a cell of marimo."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def progress_setting() -> str:
    """Return the environment's setting of progress: ``off``, ``on``, ``widget``, ``html``, ``lines`` or empty."""
    setting = os.environ.get("SOURCELIGHT_PROGRESS", "").lower()
    return "off" if setting in {"0", "no", "false"} else setting


def in_notebook() -> bool:
    """Return whether this process is a kernel of Jupyter or marimo whose front end may show widgets."""
    return in_kernel() or in_marimo()
