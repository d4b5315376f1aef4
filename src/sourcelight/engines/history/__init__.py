"""The history engine: commits, changed lines, who made them and when, kept per repository in mapped files.

`store` builds and opens the files, `search` finds commits and changed lines in them; comparisons, blame and identities
stand in rooms beside these. git is spawned here, to read history. No viewer is known: callers ask for repositories
that they may see. Heavy libraries load with the names below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.history.model import (
        ALL_REFS,
        HEAD_ONLY,
        HistoryProgress,
        HistoryReport,
        HistoryStore,
    )
    from sourcelight.engines.history.snapshot import Blocks, Changes, Commits, History, Identities
    from sourcelight.engines.history.store.local import LocalHistoryStore

__all__ = [
    "ALL_REFS",
    "HEAD_ONLY",
    "Blocks",
    "Changes",
    "Commits",
    "History",
    "HistoryProgress",
    "HistoryReport",
    "HistoryStore",
    "Identities",
    "LocalHistoryStore",
]

_HOMES = {
    "model": ("ALL_REFS", "HEAD_ONLY", "HistoryProgress", "HistoryReport", "HistoryStore"),
    "snapshot": ("Blocks", "Changes", "Commits", "History", "Identities"),
    "store.local": ("LocalHistoryStore",),
}


def __getattr__(name: str) -> object:
    from importlib import import_module

    for home, names in _HOMES.items():
        if name in names:
            return getattr(import_module(f"{__name__}.{home}"), name)
    raise AttributeError(name)
