"""A least-recently-used cache for threads: cachetools evicts and weighs, one lock makes it safe to share."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from cachetools import LRUCache

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")
_T = TypeVar("_T")


class LruCache(Generic[K, V]):
    """Values by key, within a size; the least recently used go first. Safe to share between threads.

    A value that alone weighs more than `max_size` stays until the next one arrives, so that a caller who comes back for
    the same thing pays for it once.

    Parameters
    ----------
    max_size
        Sum of the weights of all values.
    weigh
        Weight of a value when it is put in; None: every value weighs 1.
    on_evict
        Called with each key and value that makes room for others, after the lock is released. A value that is replaced
        or discarded is not reported.
    """

    def __init__(
        self,
        max_size: int,
        *,
        weigh: Callable[[V], int] | None = None,
        on_evict: Callable[[K, V], None] | None = None,
    ) -> None:
        self._lock = threading.Lock()
        self._on_evict = on_evict
        # The library refuses a value above the whole size: capped, it takes the place of all others.
        sizes = None if weigh is None else (lambda value: min(weigh(value), max_size))
        self._entries: _Entries[K, V] = _Entries(max_size, sizes)

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, key: K) -> bool:
        return key in self._entries

    def get(self, key: K) -> V | None:
        """Return the value of `key` and mark it as used, or None if it is not in the cache."""
        # Not `.get()`: the library's looks the key up twice, which is half of the time of a hit.
        with self._lock:
            try:
                return self._entries[key]
            except KeyError:
                return None

    def get_or_make(self, key: K, make: Callable[[], V], *, keep: Callable[[V], bool] | None = None) -> V:
        """Return the value of `key`, made by `make` if it is not in the cache.

        Parameters
        ----------
        make
            Runs without the lock: two threads that miss the same key at once both make it, and the last one stays.
        keep
            Asked about a new value whether to store it; None: always.
        """
        with self._lock:
            try:
                return self._entries[key]
            except KeyError:
                pass  # made below, without the lock

        value = make()
        if keep is None or keep(value):
            self.put(key, value)

        return value

    def put(self, key: K, value: V) -> None:
        """Store `value` with its current weight, as the most recently used one."""
        with self._lock:
            self._entries[key] = value
            evicted, self._entries.evicted = self._entries.evicted, []
        if self._on_evict is not None:
            for item in evicted:
                self._on_evict(*item)

    def values(self) -> list[V]:
        """Return all values, without marking them as used."""
        with self._lock:
            return [value for _, value in self._entries.snapshot()]

    def pop(self, key: K) -> V | None:
        """Remove `key` and return its value; None if it is not in the cache."""
        with self._lock:
            return self._entries.pop(key, None)

    def discard_where(self, predicate: Callable[[K], bool]) -> None:
        """Remove the keys for which `predicate` holds; it runs under the lock, so it must not use this cache."""
        with self._lock:
            for key in [key for key in self._entries if predicate(key)]:
                del self._entries[key]

    def clear(self) -> None:
        """Remove everything."""
        with self._lock:
            self._entries.clear()


class IdentityCache(Generic[_T, V]):
    """Values that were made from one object each, looked up by which object it is.

    For large tuples that stay the same while nothing changes: to compare them would cost more than the cache saves. An
    entry holds its object, so no other object has that id while the entry stays.

    Parameters
    ----------
    max_entries
        Values to store.
    """

    def __init__(self, max_entries: int) -> None:
        self._cache: LruCache[tuple[int, Hashable], tuple[_T, V]] = LruCache(max_entries)

    def get(self, owner: _T, key: Hashable = None) -> V | None:
        """Return the value that was stored for this very object, and this key."""
        entry = self._cache.get((id(owner), key))
        return entry[1] if entry is not None and entry[0] is owner else None

    def put(self, owner: _T, value: V, key: Hashable = None) -> None:
        """Store the value of an object; `key` distinguishes several values of one object."""
        self._cache.put((id(owner), key), (owner, value))

    def clear(self) -> None:
        """Remove everything."""
        self._cache.clear()


class _Entries(LRUCache[K, V]):
    """The library's cache, which also records evictions."""

    def __init__(self, max_size: int, sizes: Callable[[V], float] | None) -> None:
        super().__init__(max_size, sizes)
        self.evicted: list[tuple[K, V]] = []

    def popitem(self) -> tuple[K, V]:
        item = super().popitem()
        self.evicted.append(item)
        return item

    def snapshot(self) -> list[tuple[K, V]]:
        # `items()` reads through `__getitem__`, which would count as a use.
        return [(key, super(LRUCache, self).__getitem__(key)) for key in self]


class Memo:
    """Values computed from one immutable object, by keys of any kind: an `LruCache` whose values differ in type.

    Parameters
    ----------
    max_entries
        Values to store. 48: a query needs about ten of an opened commit, so four of them in turn find theirs again.
    """

    def __init__(self, max_entries: int = 48) -> None:
        self._cache: LruCache[Any, Any] = LruCache(max_entries)

    def remember(self, key: Any, make: Callable[[], _T], *, keep: Callable[[_T], bool] | None = None) -> _T:
        """Return the value of `key`, as `LruCache.get_or_make` does; each key has values of one type."""
        value: _T = self._cache.get_or_make(key, make, keep=keep)
        return value
