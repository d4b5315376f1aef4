"""The answer to a tool call or an analysis, and the progress of one: the same embedded and remote."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Answer:
    """A table with what is to be known about it.

    Attributes
    ----------
    columns
        Name of the table's columns in `sourcelight.core.batches.tables.TABLES`.
    table
        Arrow table with exactly these columns, in order; the same for an empty answer.
    attributes
        JSON-like facts beside the rows: what was asked, the resolved commits and dates, totals, cursors.
    complete
        Whether the table is all there is.
    notices
        Why not, and what else the reader has to know: one sentence each, safe to show as text.
    """

    columns: str
    table: Any
    attributes: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    notices: tuple[str, ...] = ()


REPOSITORIES_COUNTED = b"repositories"
"""In the metadata of a table of counts: how many repositories have matches, whatever was counted by."""


@dataclass(frozen=True, slots=True)
class CallProgress:
    """How far a call has come: `done` of `total` units (0: not known) of `stage`, such as "reading history".

    `rows` is an Arrow table of the rows that were found since the last time that some were told, for calls that give
    them as they are found; with the columns of the answer.
    """

    stage: str
    done: int = 0
    total: int = 0
    detail: str = ""
    rows: Any = None


CallObserver = Callable[[CallProgress], None]
"""Called from the thread that works, a few times a second at most; has to return at once."""
