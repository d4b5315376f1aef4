"""Shows a warning once a cell.

Python shows a warning once for each line of a module, for as long as the process lives: in a notebook a cell that runs
again would not warn again, and one with two calls would warn twice of the same.
"""

from __future__ import annotations

import sys
import warnings
from types import FrameType

_seen: tuple[object, set[tuple[type[Warning], str]]] = (None, set())


def show(warning: Warning) -> None:
    """Warn at the line that called this package; in IPython once for each run of a cell."""
    global _seen  # noqa: PLW0603 - what the present cell was told
    cell = _cell()
    frame, level = _calling_frame()
    if cell is None:
        warnings.warn(warning, stacklevel=level + 1)
        return
    if _seen[0] != cell:
        _seen = (cell, set())
    key = (type(warning), str(warning))
    if key in _seen[1]:
        return
    # Filters apply, so that a warning can still be ignored or be an error; only the memory of lines is new each time.
    warnings.warn_explicit(
        warning,
        type(warning),
        frame.f_code.co_filename,
        frame.f_lineno,
        module=str(frame.f_globals.get("__name__", "")),
        registry={},
        module_globals=frame.f_globals,
    )
    _seen[1].add(key)


def _calling_frame() -> tuple[FrameType, int]:
    """Return the innermost frame outside this package, and how many calls above `show` it is."""
    frame = sys._getframe(1)  # noqa: SLF001 - `warnings.warn` counts calls, which differ between the two clients
    level = 0
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("sourcelight."):
        frame, level = frame.f_back, level + 1
    return frame, level


def _cell() -> object:
    """A key for the current run of a cell; None outside IPython, and for code that runs outside a cell."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else (id(shell), shell.execution_count)
