"""Optional libraries: the message about how to install one, and what is done when pandas is first needed."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec

from sourcelight.core.errors import MissingExtra

_FIRST: list[Callable[[], None]] = []


def has_library(name: str) -> bool:
    """Return whether a library is installed; loads nothing."""
    return sys.modules.get(name) is not None or find_spec(name) is not None


def require_notebook(library: str, purpose: str) -> None:
    """Raise `MissingExtra` where a library of notebooks is not installed; loads nothing.

    Parameters
    ----------
    library
        Name to import: ``pandas``, ``matplotlib``, ``IPython``, ``anywidget`` ….
    purpose
        What needs it, as the beginning of a sentence.
    """
    if not has_library(library):
        raise MissingExtra("sourcelight", purpose, library=library)


def with_first_frame(action: Callable[[], None]) -> None:
    """Run an action when the first frame is made, which loads pandas; immediately if pandas is loaded."""
    if sys.modules.get("pandas") is not None:
        action()
    else:
        _FIRST.append(action)


def run_frame_actions() -> None:
    """Run what `with_first_frame` was given, once: a frame is about to be made."""
    while _FIRST:
        _FIRST.pop()()
