"""Messages of interrupts: where a client keeps the rows that had arrived."""

from __future__ import annotations

from typing import Any

from sourcelight.display.notebook import CallState
from sourcelight.display.notebook.cell_errors import short_in_cells, variable_of

_KEPT_IN = {
    "search": "last_result",
    "search_many": "last_result",
    "search_to": "last_export",
    "deepsearch": "last_answer",
    "deepsearch_read": "",
    "deepsearch_list": "",
    "deepsearch_change": "",
    "count": "",
    "explain": "",
    "repositories": "",
}
"""Attributes in which a client keeps the partial result of a method; every other method keeps a DataFrame."""


def interrupted_text(client: Any, method: str) -> str:
    """Message of an interrupt, with the attribute that holds the partial result where there is one."""
    name = _KEPT_IN.get(method, "last_frame")
    partial = getattr(client, name, None) if name else None
    if partial is None:
        return "interrupted"
    rows = getattr(partial, "rows", None) if name == "last_export" else None
    rows = len(partial) if name in {"last_result", "last_frame"} else rows
    count = "" if rows is None else f" ({rows:,} row{'' if rows == 1 else 's'})"
    return f"interrupted; the rows so far are in {variable_of(client) or 'client'}.{name}{count}"


def note_interrupt(exc: BaseException, client: Any, state: Any) -> None:
    """Give the cancellation of an awaited call the message of an interrupt; `state` is the call's."""
    newest = getattr(client, "_last", None)
    is_search = newest is not None and newest.state is state
    method = "search" if is_search else "" if isinstance(state, CallState) else "count"
    exc.args = (interrupted_text(client, method),)
    short_in_cells(exc)
