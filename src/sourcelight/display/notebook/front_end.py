"""What shows the output of this process: a Jupyter kernel's front end, marimo, or neither. Nothing is imported here."""

from __future__ import annotations

import os
import sys


def in_kernel() -> bool:
    """Whether this process is a Jupyter kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and getattr(shell, "kernel", None) is not None


def in_marimo() -> bool:
    """Whether this code runs in a cell of marimo."""
    marimo = sys.modules.get("marimo")
    return marimo is not None and bool(marimo.running_in_notebook())


def progress_setting() -> str:
    """What the environment asks of progress: ``off``, ``on``, ``widget``, ``html``, ``lines``, or an empty text."""
    setting = os.environ.get("SOURCELIGHT_PROGRESS", "").lower()
    return "off" if setting in {"0", "no", "false"} else setting
