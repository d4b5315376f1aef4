"""Slowing down those who guess."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable

_KEYS = 10_000


class Throttle:
    """Counts events by key and says when one more is too many.

    Parameters
    ----------
    limit
        Events that a key may have within `window_s`.
    window_s
        Seconds after which an event no longer counts.
    clock
        A steady clock, in seconds.

    Notes
    -----
    Kept in memory: each process of a service counts for itself, and a restart forgets. Of more than 10,000 keys, the
    one that was quiet for longest is forgotten.
    """

    def __init__(self, limit: int, window_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = limit
        self._window_s = window_s
        self._clock = clock
        self._events: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait_s(self, key: str) -> float:
        """Seconds until `key` may have another event; 0 when it may now."""
        with self._lock:
            events = self._live(key)
            return events[0] + self._window_s - self._clock() if len(events) >= self._limit else 0.0

    def count(self, key: str) -> None:
        """Note an event."""
        with self._lock:
            events = self._live(key)
            events.append(self._clock())
            if len(events) > self._limit:
                events.popleft()
            self._events[key] = events
            self._events.move_to_end(key)
            while len(self._events) > _KEYS:
                self._events.popitem(last=False)

    def forget(self, key: str) -> None:
        """Forget the events of `key`."""
        with self._lock:
            self._events.pop(key, None)

    def _live(self, key: str) -> deque[float]:
        events = self._events.get(key, deque())
        while events and events[0] <= self._clock() - self._window_s:
            events.popleft()
        return events
