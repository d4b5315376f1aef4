"""Between the thread that searches and the socket: the first piece leaves at once, later ones are gathered."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

from sourcelight.core.batches import Cancellation

MOST_BYTES = 16 * 1024 * 1024
"""Bytes that may wait for the socket; then the search waits."""

GATHER_S = 0.05
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
        self._sent = 0.0

    def put(self, piece: Any, size: int = 0, *, urgent: bool = False) -> None:
        """Add a piece, waiting while too many bytes wait; from the thread that searches.

        An urgent one is not kept for others to go with it.
        """
        with self._changed:
            while self._bytes > MOST_BYTES and not self._cancellation.cancelled:
                self._changed.wait(_STEP_S)
            self._pieces.append(piece)
            self._bytes += size
            if urgent:
                self._sent = 0.0
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
            if not self._pieces:
                try:
                    await asyncio.wait_for(self._arrived.wait(), BEAT_S)
                except TimeoutError:
                    return [], False
            wait_s = self._sent + GATHER_S - time.monotonic()
            if self._sent and wait_s > 0 and not self._closed:
                await self._closing_within(wait_s)
        with self._changed:
            pieces, last = self._pieces, self._closed
            self._pieces, self._bytes = [], 0
            self._arrived.clear()
            self._changed.notify_all()
        self._sent = time.monotonic()
        return pieces, last

    async def _closing_within(self, wait_s: float) -> None:
        ends = time.monotonic() + wait_s
        while not self._closed and (left := ends - time.monotonic()) > 0 and self._bytes < MOST_BYTES // 2:
            self._arrived.clear()
            try:
                await asyncio.wait_for(self._arrived.wait(), left)
            except TimeoutError:
                return

    def _tell(self) -> None:
        try:
            self._loop.call_soon_threadsafe(self._arrived.set)
        except RuntimeError:
            self._cancellation.cancel()  # the loop is closed: nobody listens any more
