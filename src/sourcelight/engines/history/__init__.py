"""The history engine: commits, changed lines, and who changed them when, in memory-mapped files per repository.

`store` builds and opens the files, `search` finds commits and changed lines, `compare` compares two revisions, `blame`
finds the commit of each line. Viewers and query text live in other rooms. Start with `history`, an opened history.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.history.history import History
    from sourcelight.engines.history.model import ALL_REFS, HEAD_ONLY, HistoryProgress, HistoryStore
    from sourcelight.engines.history.store.store import LocalHistoryStore

__all__ = [
    "ALL_REFS",
    "HEAD_ONLY",
    "History",
    "HistoryProgress",
    "HistoryStore",
    "LocalHistoryStore",
]


def __getattr__(name: str) -> object:
    if name == "History":
        from sourcelight.engines.history import history

        return getattr(history, name)

    if name in {"ALL_REFS", "HEAD_ONLY", "HistoryProgress", "HistoryStore"}:
        from sourcelight.engines.history import model

        return getattr(model, name)

    if name == "LocalHistoryStore":
        from sourcelight.engines.history.store import store

        return getattr(store, name)

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
