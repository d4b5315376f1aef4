"""Optional libraries, and the message about how to install one."""

from __future__ import annotations

import sys
from importlib.util import find_spec

from sourcelight.core.errors import MissingExtra


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
