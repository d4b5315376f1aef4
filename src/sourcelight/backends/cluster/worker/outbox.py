"""Between the thread that searches and the socket: the first piece leaves at once, later ones are gathered."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from sourcelight.core.batches import Cancellation

MOST_BYTES = 16 * 1024 * 1024
"""Bytes that may wait for the socket; then the search waits."""

LINGER_S, GATHER_S = 0.003, 0.05
"""Seconds for which the first piece, and later ones, wait for others to go with them: most searches end in between."""

BEAT_S = 0.25
"""Seconds after which something is sent although nothing was found: it proves that the worker lives."""

_STEP_S = 0.1


class Outbox:
    """Pieces on their way from one thread to one task of `loop`."""

    def __init__(self, loop: asyncio.AbstractEventLoop, cancellation: Cancellation) -> None:
        self._loop = loop
        self._cancellation = cancellation
        self._pieces: list[Any] = []
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition()
        self._arrived = asyncio.Event()
        self._told = False
        self._gathering = False
        self._sent = 0.0
        self._urgent = False

    def put(self, piece: Any, size: int = 0, *, urgent: bool = False) -> None:
        """Add a piece, waiting while too many bytes wait; from the thread that searches.

        An urgent one is not kept for others to go with it.
        """
        with self._changed:
            while self._bytes > MOST_BYTES and not self._cancellation.cancelled:
                self._changed.wait(_STEP_S)
            self._pieces.append(piece)
            self._bytes += size
            self._urgent = self._urgent or urgent
            self._tell()

    def close(self, last: Any) -> None:
        """Add the last piece and say that nothing more comes, in one step: after the last word nothing may be sent."""
        with self._changed:
            self._pieces.append(last)
            self._closed = True
            self._tell()

    async def take(self) -> tuple[list[Any], bool]:
        """What is to be sent now, and whether it is the last; nothing at all after `BEAT_S` seconds of silence."""
        if not self._closed:
            ends = time.monotonic() + BEAT_S
            while not self._pieces:
                if not await self._told_within(ends - time.monotonic()):
                    return [], False
            ends = max(time.monotonic() + LINGER_S, self._sent + GATHER_S if self._sent else 0.0)
            with self._changed:
                self._gathering = True
            while not self._due and (left := ends - time.monotonic()) > 0:
                await self._told_within(left)
        with self._changed:
            pieces, last = self._pieces, self._closed
            self._pieces, self._bytes = [], 0
            self._urgent = self._gathering = False
            self._heard()
            self._changed.notify_all()
        self._sent = time.monotonic()
        return pieces, last

    @property
    def _due(self) -> bool:
        """Whether what is here is worth sending without waiting for more."""
        return self._closed or self._urgent or self._bytes >= MOST_BYTES // 2

    async def _told_within(self, wait_s: float) -> bool:
        try:
            async with asyncio.timeout(wait_s):
                await self._arrived.wait()
        except TimeoutError:
            return bool(self._pieces)
        with self._changed:
            self._heard()
        return True

    def _heard(self) -> None:
        self._arrived.clear()
        self._told = False

    def _tell(self) -> None:
        """Wake the loop: once, and while it gathers only for what ends that."""
        if self._told or (self._gathering and not self._due):
            return
        self._told = True
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            self._cancellation.cancel()  # the loop is closed: nobody listens any more
