"""The text engine: indexes of file contents on this machine, and searches of them.

`index` holds the files on disk, `scan` runs one query over open indexes, and `ranking` orders files for questions.
Query text, git history and viewers live in other rooms. Start with `model` (queries and results) and `store`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sourcelight.engines.search.model import (
        FileFilter,
        FileTerm,
        IndexStatus,
        LanguageFilter,
        Searcher,
        SearchOptions,
        SearchPart,
        Target,
        TextQuery,
    )
    from sourcelight.engines.search.store import IndexStore
    from sourcelight.engines.storage.index_update import IndexReport

__all__ = [
    "FileFilter",
    "FileTerm",
    "IndexReport",
    "IndexStatus",
    "IndexStore",
    "LanguageFilter",
    "SearchOptions",
    "SearchPart",
    "Searcher",
    "Target",
    "TextQuery",
]


def __getattr__(name: str) -> object:
    if name in {
        "FileFilter",
        "FileTerm",
        "IndexStatus",
        "LanguageFilter",
        "SearchOptions",
        "SearchPart",
        "Searcher",
        "Target",
        "TextQuery",
    }:
        from sourcelight.engines.search import model

        return getattr(model, name)

    if name == "IndexReport":
        from sourcelight.engines.storage.index_update import IndexReport

        return IndexReport

    if name == "IndexStore":
        from sourcelight.engines.search import store

        return getattr(store, name)

    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
