"""Queue messages between the thread that searches and the socket: short answers as one message, long ones streamed."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from sourcelight.core.cancellation import Cancellation

MAX_BYTES = 16 * 1024 * 1024
"""Bytes that may wait for the socket; then the search waits."""

REST_S, GATHER_S = 0.01, 0.05
"""Seconds that a few rows wait for more, at the start and after each message: most searches end before."""

LINGER_S = 0.003
"""Seconds that the first rows after that wait for more rows."""

FIRST_BYTES = 64 * 1024
"""Bytes of first rows that don't wait for more."""

HANDED_S = 1.0
"""Seconds that a search waits until these are sent."""

BEAT_S = 0.25
"""Seconds after which a message without rows is sent, which proves that the worker is alive."""

_STEP_S = 0.1


class Outbox:
    """Queue of items from one thread to one task of `loop`, which wakes only to send."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cancellation: Cancellation) -> None:
        self._loop = loop
        self._cancellation = cancellation
        self._items: list[Any] = []
        self._bytes = 0
        self._changed = threading.Condition()
        self._waiter: asyncio.Future[None] | None = None
        self._is_notified = False
        self._resting = True
        self._began = loop.time()
        self._sent_bytes = 0.0
        self._handed = False
        self._urgent = False
        self.closed = False

    def put(self, item: Any, size: int = 0, *, urgent: bool = False) -> None:
        """Add an item from the thread that searches; block while too many bytes wait for the socket.

        An urgent item doesn't wait for others. If there are many first rows, they have been sent when this returns: a
        thread that continued its search would keep the loop from sending them.
        """
        with self._changed:
            # Back-pressure: a slow reader stops the search here, before memory fills.
            while self._bytes > MAX_BYTES and not self._cancellation.cancelled:
                self._changed.wait(_STEP_S)
            self._items.append(item)
            self._bytes += size
            first = not self._sent_bytes and self._bytes >= FIRST_BYTES
            self._urgent = self._urgent or urgent or first
            self._tell()
            deadline = self._loop.time() + HANDED_S
            # The first rows wait for the event loop to take them. A search thread that continues at once keeps the
            # interpreter lock, and the rows would wait for its next switch.
            while first and not (self._handed or self._cancellation.cancelled) and self._loop.time() < deadline:
                self._changed.wait(_STEP_S)

    def close(self, last: Any) -> None:
        """Add the last item and close the queue in one step, because nothing may follow the last item."""
        with self._changed:
            self._items.append(last)
            self.closed = True
            self._tell()

    async def take(self) -> tuple[list[Any], bool]:
        """Return the items to send, and whether they are the last; no items after `BEAT_S` seconds of silence.

        The items of the previous call must have been sent.
        """
        if self._sent_bytes and not self._handed:
            with self._changed:
                self._handed = True
                self._changed.notify_all()
        # The coordinator takes a longer silence for a dead worker, so a message without rows is sent in time.
        silent = self._loop.time() + BEAT_S
        await self._until(self._sent_bytes + GATHER_S if self._sent_bytes else self._began + REST_S, resting=True)
        if not self._items:
            await self._until(silent, resting=False)
            if not self._items:
                return [], False
            await self._until(self._loop.time() + LINGER_S, resting=True)
        with self._changed:
            # Swapped under the lock: the returned list is never written again.
            items, last = self._items, self.closed
            self._items, self._bytes, self._urgent = [], 0, False
            self._changed.notify_all()
        self._sent_bytes = self._loop.time()
        return items, last

    @property
    def _due(self) -> bool:
        """Whether to send the buffered rows now."""
        return self.closed or self._urgent or self._bytes >= MAX_BYTES // 2

    async def _until(self, moment: float, *, resting: bool) -> None:
        """Wait for due items, or for any unless `resting`; at most until `moment` on the clock of the loop."""
        while self._loop.time() < moment:
            with self._changed:
                # Checked under the lock: a later item finds `_is_notified` False and wakes the loop. `_wake` runs on
                # this loop, so only after the future below exists: no wake-up is lost.
                if self._due or (self._items and not resting):
                    return
                self._resting, self._is_notified = resting, False
            self._waiter = self._loop.create_future()
            timer = self._loop.call_at(moment, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None

    def _tell(self) -> None:
        """Wake the loop once; while it rests, only for items that end the rest."""
        if self._is_notified or (self._resting and not self._due):
            return
        self._is_notified = True
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            self._cancellation.cancel()  # the loop is closed, so nothing reads the items

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
