"""Errors and warnings in a cell: those of the reader's own lines, and each warning once a run.

IPython asks an exception itself for its lines (``_render_traceback_``), so nothing needs to be loaded. Plain
Python shows tracebacks as usual.

Python shows a warning once for each line of a module, for as long as the process lives: in a notebook a cell that runs
again would not warn again, and one with two calls would warn twice of the same.
"""

from __future__ import annotations

import linecache
import os
import sys
import traceback
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any, TypeVar

from sourcelight.core.errors import SourcelightError
from sourcelight.core.markup import one_line, visible

_PACKAGE = os.fspath(Path(__file__).parents[2]) + os.sep
_FIRST_CHARS = 200
"""Characters of the first line of an error, which is followed by its calls."""

_MAX_CHARS = 4_000
"""Characters of the message of an error."""

_MAX_FRAMES = 5
"""Calls of an error that are shown, the innermost."""

_FULL_MODES = frozenset({"Verbose", "Docs"})
_RED, _GREEN, _PLAIN = "\x1b[31m", "\x1b[32m", "\x1b[39m"
_FULL_TRACEBACK = "_sourcelight_whole_traceback"
E = TypeVar("E", bound=BaseException)

_seen: tuple[object, set[tuple[type[Warning], str]]] = (None, set())


def short_in_cells(exc: E) -> E:
    """Make IPython show another kind of exception as it shows those of this package; return it."""
    # Without a reference to the exception, which would be a cycle that keeps its frames: IPython notes the last one.
    exc._render_traceback_ = _last_error_lines  # type: ignore[attr-defined]
    return exc


def show_in_full(exc: E) -> E:
    """Make IPython show the whole traceback of an exception; return it."""
    setattr(exc, _FULL_TRACEBACK, True)
    return exc


def error_lines(exc: BaseException) -> list[str]:
    """Return the lines that IPython prints for an exception; all of them in ``%xmode Verbose`` and ``%tb Verbose``."""
    shell = current_shell()
    mode = str(getattr(getattr(shell, "InteractiveTB", None), "mode", ""))
    if mode in _FULL_MODES or getattr(exc, _FULL_TRACEBACK, False):
        lines: list[str] = shell.InteractiveTB.structured_traceback(type(exc), exc, exc.__traceback__)
        return lines

    red, green, reset = (_RED, _GREEN, _PLAIN) if _is_colored(shell) else ("", "", "")
    name = f"{red}{type(exc).__name__}{reset}"
    message = visible(str(exc))[:_MAX_CHARS]
    notes = [visible(str(note))[:_MAX_CHARS] for note in getattr(exc, "__notes__", ())]
    last = f"{name}: {message}" if message else name
    if mode == "Minimal":
        return [last, *notes]

    calls = list(_calls(exc, shell, green, reset))
    first = f"{name}: {one_line(message.partition(chr(10))[0], _FIRST_CHARS)}" if message else name
    if calls:
        return [first, "", *calls, *notes, "(%tb Verbose shows all frames)", last]
    return [*notes, last]


def current_shell() -> Any:
    """Return the running IPython shell; None outside of one."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython is not None else None


def variable_of(value: object) -> str:
    """Return the name of the reader's variable that holds `value`; empty for none."""
    names = getattr(current_shell(), "user_ns", {})
    return next(
        (n for n, candidate in list(names.items()) if candidate is value and n.isidentifier() and n[0] != "_"), ""
    )


def _calls(exc: BaseException, shell: Any, green: str, reset: str) -> Iterator[str]:
    """Yield the frames outside of this package that led into it, each with its line; the last five."""
    frames = []
    for frame, number in traceback.walk_tb(exc.__traceback__):
        file = frame.f_code.co_filename
        if file.startswith(_PACKAGE):
            break
        if f"{os.sep}IPython{os.sep}" not in file:
            frames.append((file, number, frame.f_code.co_name))

    for file, number, function in frames[-_MAX_FRAMES:]:
        location = _cell_name(shell, file) or f"{file} in {function}"
        yield f"{location}, line {number}"
        line = linecache.getline(file, number).strip()
        if line:
            yield f"{green}----> {number}{reset} {visible(line)}"


def _cell_name(shell: Any, file: str) -> str:
    """Return the name of a cell's code, such as ``Cell In[3]``; empty for a file."""
    cell_name = getattr(getattr(shell, "compile", None), "format_code_name", lambda _: None)(file)
    return " ".join(cell_name) if cell_name else ""


def _is_colored(shell: Any) -> bool:
    return str(getattr(shell, "colors", "nocolor")).lower() != "nocolor"


def _last_error_lines() -> list[str]:
    exc = getattr(sys, "last_value", None) or sys.exc_info()[1]
    return error_lines(exc) if isinstance(exc, BaseException) else []


def show_warning(warning: Warning) -> None:
    """Warn at the line that called this package; in IPython once for each run of a cell."""
    global _seen  # noqa: PLW0603 - state of the current cell
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
        # Without `module_globals`: IPython's have no `__spec__`, which CPython 3.12 and later refuse.
    )
    _seen[1].add(key)


def _calling_frame() -> tuple[FrameType, int]:
    """Return the innermost frame outside this package, and how many calls above `show_warning` it is."""
    frame = sys._getframe(1)  # noqa: SLF001 - `warnings.warn` counts calls, which differ between the two clients
    level = 0
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("sourcelight."):
        frame, level = frame.f_back, level + 1
    return frame, level


def _cell() -> object:
    """Return a key for the current run of a cell; None outside IPython, and for code that runs outside a cell."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return None if shell is None else (id(shell), shell.execution_count)


SourcelightError._render_traceback_ = error_lines  # type: ignore[attr-defined]
