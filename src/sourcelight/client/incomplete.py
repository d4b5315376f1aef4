"""Warnings of answers that are not all there is: each once a cell in a notebook, as Python's filters say elsewhere."""

from __future__ import annotations

from sourcelight.client.portal import current_board
from sourcelight.client.warned import show


class IncompleteCount(UserWarning):
    """Warns that a count is of an answer that is not complete; says why."""


class IncompleteAnswer(UserWarning):
    """Warns that a tool's or an analysis's answer is not all there is; says why."""


def warn(warning: Warning, stacklevel: int = 3) -> None:
    """Warn at the line that called the client: by the thread that waits, if one does."""
    board = current_board()
    if board is not None:
        board.warnings.append(warning)
    else:
        show(warning, stacklevel=stacklevel)
