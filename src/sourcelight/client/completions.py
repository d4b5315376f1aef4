"""Names seen in answers, for completion, and the clients that are open in this process.

It sends no requests and drops the oldest names. A magic without a client takes the open one.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from itertools import count
from typing import Any

from sourcelight.core.wire.events import SuggestedFilter

_MAX_NAMES = 20_000
"""Names of each kind that are offered; the oldest are dropped."""

_MAX_DICTIONARY_VALUES = 5_000
"""Values that are read of the dictionary of a column, which may have those of many rows."""

_COLUMNS = {
    "repository": ("repository", "target", "source"),
    "language": ("language",),
    "author": ("author", "committer"),
    "path": ("path",),
}
"""Columns of DataFrames that have names of each kind."""


class Completions:
    """Repositories, languages, authors and paths that were seen, the newest last; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, dict[str, None]] = {kind: {} for kind in _COLUMNS}

    def names(self, kind: str) -> tuple[str, ...]:
        """Return names of a kind, the newest first: ``repository``, ``language``, ``author`` or ``path``."""
        with self._lock:
            return tuple(reversed(self._names[kind]))

    def add(self, kind: str, names: Iterable[str | None]) -> None:
        """Add names; null and empty ones are skipped."""
        with self._lock:
            seen_names = self._names[kind]
            for name in names:
                if name:
                    # Removed first, so that a name that is seen again becomes the newest.
                    seen_names.pop(name, None)
                    seen_names[name] = None
            while len(seen_names) > _MAX_NAMES:
                del seen_names[next(iter(seen_names))]

    def learn(self, table: Any) -> None:
        """Add the names of a record batch or an Arrow table from its dictionaries, without reading rows."""
        for kind, columns in _COLUMNS.items():
            for column in columns:
                index = table.schema.get_field_index(column)
                if index >= 0:
                    self._from_dictionaries(kind, table.column(index))

    def _from_dictionaries(self, kind: str, column: Any) -> None:
        import pyarrow as pa

        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else [column]:
            # A dictionary may have values that no row uses: they are names all the same.
            if isinstance(chunk, pa.DictionaryArray):
                self.add(kind, chunk.dictionary.slice(0, _MAX_DICTIONARY_VALUES).to_pylist())

    def learn_filters(self, filters: Iterable[SuggestedFilter]) -> None:
        """Add the names in suggested filters."""
        for item in filters:
            kind = {"repo": "repository", "lang": "language", "author": "author"}.get(item.kind)
            if kind is not None:
                self.add(kind, [item.label])


_lock = threading.Lock()
_opening_numbers = count()
_clients: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def register(client: Any) -> None:
    """Register a new blocking client."""
    with _lock:
        _clients[client] = next(_opening_numbers)


def unregister(client: Any) -> None:
    """Remove a client that was closed."""
    with _lock:
        _clients.pop(client, None)


def opening_order(client: Any) -> int:
    """Return how many clients were opened before a client, or -1 if it is closed or not a client."""
    with _lock:
        try:
            return _clients.get(client, -1)
        except TypeError:  # neither hashable nor to be referred to weakly: no client
            return -1
