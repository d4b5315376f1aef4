"""Names that answers have brought: what completion offers. It asks nobody, and forgets the oldest.

Which clients are open in this process, for a magic that was not told which one to use.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable
from itertools import count
from typing import Any

from sourcelight.core.wire.events import SuggestedFilter

_MOST = 20_000
_LONGEST_DICTIONARY = 5_000
_COLUMNS = {
    "repository": ("repository", "target", "source"),
    "language": ("language",),
    "author": ("author", "committer"),
    "path": ("path",),
}


class Completions:
    """Repositories, languages, authors and paths that were seen, the newest last; safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._names: dict[str, dict[str, None]] = {kind: {} for kind in _COLUMNS}

    def names(self, kind: str) -> tuple[str, ...]:
        """Names of a kind, the newest first: ``repository``, ``language``, ``author`` or ``path``."""
        with self._lock:
            return tuple(reversed(self._names[kind]))

    def add(self, kind: str, names: Iterable[str | None]) -> None:
        """Take in names; null and empty ones are left out."""
        with self._lock:
            kept = self._names[kind]
            for name in names:
                if name:
                    kept.pop(name, None)
                    kept[name] = None
            while len(kept) > _MOST:
                del kept[next(iter(kept))]

    def learn(self, table: Any) -> None:
        """Take in the names of a record batch or an Arrow table, from its dictionaries: no row is read."""
        for kind, columns in _COLUMNS.items():
            for column in columns:
                at = table.schema.get_field_index(column)
                if at >= 0:
                    self._from_dictionaries(kind, table.column(at))

    def _from_dictionaries(self, kind: str, column: Any) -> None:
        for chunk in getattr(column, "chunks", None) or [column]:
            words = getattr(chunk, "dictionary", None)
            if words is not None:
                self.add(kind, words.slice(0, _LONGEST_DICTIONARY).to_pylist())

    def learn_filters(self, filters: Iterable[SuggestedFilter]) -> None:
        """Take in the names in suggested filters."""
        for one in filters:
            kind = {"repo": "repository", "lang": "language", "author": "author"}.get(one.kind)
            if kind is not None:
                self.add(kind, [one.label])


_lock = threading.Lock()
_order = count()
_clients: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()


def opened(client: Any) -> None:
    """A blocking client was made."""
    with _lock:
        _clients[client] = next(_order)


def closed(client: Any) -> None:
    """It was closed."""
    with _lock:
        _clients.pop(client, None)


def age(client: Any) -> int:
    """Which client this was, counted from 0; -1 for one that is closed, or no client at all."""
    with _lock:
        try:
            return _clients.get(client, -1)
        except TypeError:  # neither hashable nor to be referred to weakly: no client
            return -1
