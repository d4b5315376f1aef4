"""Shows a warning once a cell.

Python shows a warning once for each line of a module, for as long as the process lives: in a notebook a cell that runs
again would not warn again, and one with two calls would warn twice of the same.
"""

from __future__ import annotations

import sys
import warnings

_seen: tuple[object, set[tuple[type[Warning], str]]] = (None, set())


def show(warning: Warning, *, stacklevel: int = 2) -> None:
    """Warn at the line `stacklevel` calls up, as `warnings.warn` counts; in IPython once for each run of a cell."""
    global _seen  # noqa: PLW0603 - what the present cell was told
    cell = _cell()
    if cell is None:
        warnings.warn(warning, stacklevel=stacklevel + 1)
        return
    if _seen[0] != cell:
        _seen = (cell, set())
    told = (type(warning), str(warning))
    if told in _seen[1]:
        return
    frame = sys._getframe(stacklevel)  # noqa: SLF001 - what warnings.warn does, without its memory of lines
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
    _seen[1].add(told)


def _cell() -> object:
    """What tells the run of a cell from others; None outside of IPython, and for code that no cell runs."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else (id(shell), shell.execution_count)
