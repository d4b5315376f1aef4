"""Queue messages between the thread that searches and the socket: short answers as one message, long ones streamed.

Rows rest for some milliseconds, so that most answers are one message. The first large batch is sent at once, and the
search waits for it. If the socket is slow, the search waits too; if it is silent, a message without rows shows that the
worker is alive.
"""

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

MAX_SEND_S = 1.0
"""Seconds for which a search waits until such first rows are sent."""

BEAT_S = 0.25
"""Seconds after which a message without rows is sent, which proves that the worker is alive."""

_STEP_S = 0.1
"""Seconds between two looks at the cancellation while a reader is slow."""


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
        self._is_resting = True
        self._start_s = loop.time()
        self._last_sent_s = 0.0
        self._first_rows_sent = False
        self._is_urgent = False
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
            has_many_first_rows = not self._last_sent_s and self._bytes >= FIRST_BYTES
            self._is_urgent = self._is_urgent or urgent or has_many_first_rows
            self._wake_loop()
            deadline = self._loop.time() + MAX_SEND_S

            # The first rows wait for the event loop to take them. A search thread that continues at once keeps the
            # interpreter lock, and the rows would wait for its next switch.
            while (
                has_many_first_rows
                and not (self._first_rows_sent or self._cancellation.cancelled)
                and self._loop.time() < deadline
            ):
                self._changed.wait(_STEP_S)

    def close(self, last: Any) -> None:
        """Add the last item and close the queue in one step, because nothing may follow the last item."""
        with self._changed:
            self._items.append(last)
            self.closed = True
            self._wake_loop()

    async def take(self) -> tuple[list[Any], bool]:
        """Return the items to send, and whether they are the last; no items after `BEAT_S` seconds of silence.

        The items of the previous call must have been sent.
        """
        if self._last_sent_s and not self._first_rows_sent:
            with self._changed:
                self._first_rows_sent = True
                self._changed.notify_all()

        # The coordinator takes a longer silence for a dead worker, so a message without rows is sent in time.
        silence_end_s = self._loop.time() + BEAT_S
        rest_end_s = self._last_sent_s + GATHER_S if self._last_sent_s else self._start_s + REST_S
        await self._until(rest_end_s, resting=True)

        if not self._items:
            await self._until(silence_end_s, resting=False)
            if not self._items:
                return [], False
            await self._until(self._loop.time() + LINGER_S, resting=True)

        with self._changed:
            # Swapped under the lock: the returned list is never written again.
            items, last = self._items, self.closed
            self._items, self._bytes, self._is_urgent = [], 0, False
            self._changed.notify_all()

        self._last_sent_s = self._loop.time()
        return items, last

    @property
    def _due(self) -> bool:
        """Whether to send the buffered rows now."""
        return self.closed or self._is_urgent or self._bytes >= MAX_BYTES // 2

    async def _until(self, moment: float, *, resting: bool) -> None:
        """Wait for due items, or for any unless `resting`; at most until `moment` on the clock of the loop."""
        while self._loop.time() < moment:
            with self._changed:
                # Checked under the lock: a later item finds `_is_notified` False and wakes the loop. `_wake` runs on
                # this loop, so only after the future below exists: no wake-up is lost.
                if self._due or (self._items and not resting):
                    return
                self._is_resting, self._is_notified = resting, False

            self._waiter = self._loop.create_future()
            timer = self._loop.call_at(moment, self._wake)
            try:
                await self._waiter
            finally:
                timer.cancel()
                self._waiter = None

    def _wake_loop(self) -> None:
        """Wake the loop once; while it rests, only for items that end the rest."""
        if self._is_notified or (self._is_resting and not self._due):
            return
        self._is_notified = True
        try:
            self._loop.call_soon_threadsafe(self._wake)
        except RuntimeError:
            self._cancellation.cancel()  # the loop is closed, so nothing reads the items

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
