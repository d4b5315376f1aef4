"""What a client shows: live progress, and answers as text and HTML that no repository can abuse.

Knows frames and markup, never clients or services. ipywidgets and IPython are loaded only in a notebook.
"""

from sourcelight.display.notebook.call_state import AskState, CallState
from sourcelight.display.notebook.painter import Painter, ProgressChoice, make_painter
from sourcelight.display.notebook.state import IndexState, Phase, ProgressSnapshot, SearchState

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
