"""Notebook output: live progress, and results as text and HTML that hostile text can't abuse.

This room knows frames and markup, no clients or services; widgets with a kernel are in `widgets`. ipywidgets and
IPython load in a notebook only. Start reading in `result_text` for results and in `state` for progress.
"""

from sourcelight.display.notebook.call_state import AskState, CallState, IndexState
from sourcelight.display.notebook.painter import Painter, ProgressChoice, make_painter
from sourcelight.display.notebook.state import Phase, ProgressSnapshot, SearchState

__all__ = [
    "AskState",
    "CallState",
    "IndexState",
    "Painter",
    "Phase",
    "ProgressChoice",
    "ProgressSnapshot",
    "SearchState",
    "make_painter",
]
