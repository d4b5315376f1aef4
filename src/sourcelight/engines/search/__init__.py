"""The text engine: indexes of file contents on this machine, and searching them.

`model` says what is asked and answered, `IndexStore` keeps the indexes and is the searcher. Below, `index/` knows files
on disk and no query; `scan/` answers a query from one repository's index. Ranking and the query language live higher.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.search.model import (
        And,
        FileFilter,
        FileTerm,
        IndexProgress,
        IndexReport,
        IndexStatus,
        LanguageFilter,
        Not,
        Or,
        Searcher,
        SearchOptions,
        SearchPart,
        Target,
        TextQuery,
    )
    from sourcelight.engines.search.store import IndexStore

__all__ = [
    "And",
    "FileFilter",
    "FileTerm",
    "IndexProgress",
    "IndexReport",
    "IndexStatus",
    "IndexStore",
    "LanguageFilter",
    "Not",
    "Or",
    "SearchOptions",
    "SearchPart",
    "Searcher",
    "Target",
    "TextQuery",
]


def __getattr__(name: str) -> object:
    if name in {
        "And",
        "FileFilter",
        "FileTerm",
        "IndexProgress",
        "IndexReport",
        "IndexStatus",
        "LanguageFilter",
        "Not",
        "Or",
        "SearchOptions",
        "SearchPart",
        "Searcher",
        "Target",
        "TextQuery",
    }:
        from sourcelight.engines.search import model

        return getattr(model, name)
    if name == "IndexStore":
        from sourcelight.engines.search import store

        return getattr(store, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
