"""Read a stream ahead of its consumer, into memory and then into a temporary file.

A service ends the search of a reader that stops reading, and later closes its connection. A notebook loop that spends a
minute on each batch must not look like such a reader. When the spool is full, the service has to wait.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from typing import IO

import anyio

MEMORY_BYTES = 8 * 1024 * 1024
"""Bytes of a stream that wait in memory for a slow reader; what exceeds them goes to a file."""

FILE_BYTES = 512 * 1024 * 1024
"""Bytes that wait in the file; then the service has to wait."""

_PORTION_BYTES = 1024 * 1024
"""Bytes that are read from the file at a time."""

_END_S = 0.05
"""Maximum wait for the end of a response after its last event."""


class Spool:
    """A queue of bytes: in memory up to a size, then in a file until it is empty.

    Parameters
    ----------
    memory_bytes, file_bytes
        Capacity of memory and file.
    """

    def __init__(self, memory_bytes: int = MEMORY_BYTES, file_bytes: int = FILE_BYTES) -> None:
        self._memory_bytes = memory_bytes
        self._file_bytes = file_bytes
        self._portions: deque[bytes] = deque()
        self._size = 0
        self._file: IO[bytes] | None = None
        self._read_offset = self._write_offset = 0

    def __bool__(self) -> bool:
        return bool(self._portions) or self._read_offset < self._write_offset

    def put(self, portion: bytes) -> bool:
        """Add a portion; return False when neither memory nor disk has space."""
        # Once the file has bytes, newer ones must follow them there to stay in order.
        is_spilling = self._read_offset < self._write_offset
        if not is_spilling and (not self._portions or self._size + len(portion) <= self._memory_bytes):
            self._portions.append(portion)
            self._size += len(portion)
            return True

        if self._write_offset + len(portion) > self._file_bytes:
            return False

        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="sourcelight-")  # noqa: SIM115 - closed by `close`
            self._file.seek(self._write_offset)
            self._file.write(portion)
        except OSError:  # such as a full disk: the reader waits for the consumer, as for a full file
            return False

        self._write_offset += len(portion)
        return True

    def take(self) -> bytes:
        """Remove and return the next bytes; empty without any."""
        if self._portions:
            portion = self._portions.popleft()
            self._size -= len(portion)
            return portion

        if self._file is None or self._read_offset >= self._write_offset:
            return b""

        self._file.seek(self._read_offset)
        portion = self._file.read(min(_PORTION_BYTES, self._write_offset - self._read_offset))
        self._read_offset += len(portion)
        if self._read_offset >= self._write_offset:
            self._read_offset = self._write_offset = 0
            self._file.truncate(0)

        return portion

    def close(self) -> None:
        """Release memory and file."""
        self._portions.clear()
        if self._file is not None:
            self._file.close()
        self._read_offset = self._write_offset = 0


@asynccontextmanager
async def read_ahead(
    source: AsyncGenerator[bytes, None], spool: Spool | None = None
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Read `source` in its own task; yield its portions and raise its error, in order."""
    spool = Spool() if spool is None else spool
    reader = _StreamReader(source, spool)
    task = asyncio.create_task(reader.run(), name="sourcelight-read-ahead")
    try:
        yield reader.portions()
        # Wait for the end of the response: only a connection that is read to its end can be reused.
        await asyncio.wait({task}, timeout=_END_S)
    finally:
        reader.stop()
        # Shielded, so that a canceled consumer still waits until the connection is closed.
        with anyio.CancelScope(shield=True):
            await task
        spool.close()


class _StreamReader:
    def __init__(self, source: AsyncGenerator[bytes, None], spool: Spool) -> None:
        self._source = source
        self._spool = spool
        self._scope = anyio.CancelScope()
        self._has_data_event, self._space_freed = asyncio.Event(), asyncio.Event()
        self._is_over = False
        self._error: Exception | None = None

    async def run(self) -> None:
        """Read until the source ends or fails, or until `stop`, and close it.

        The HTTP library shields the closing of a connection from cancel scopes only: a task that is cancelled while it
        closes leaves its connection in the pool forever.
        """
        try:
            with self._scope:
                async for portion in self._source:
                    while not self._spool.put(portion):
                        self._space_freed.clear()
                        await self._space_freed.wait()
                    self._has_data_event.set()
        except Exception as exc:  # noqa: BLE001 - raised to the consumer, after the portions before it
            self._error = exc
        finally:
            try:
                await self._source.aclose()
            finally:
                self._is_over = True
                self._has_data_event.set()

    def stop(self) -> None:
        """End `run` soon."""
        self._scope.cancel()

    async def portions(self) -> AsyncGenerator[bytes, None]:
        """Yield the portions in order."""
        while True:
            while portion := self._spool.take():
                self._space_freed.set()
                yield portion

            if self._is_over:
                if self._spool:
                    continue
                if self._error is not None:
                    exc, self._error = self._error, None
                    raise exc
                return

            # No await between the last look at the spool and `clear`, so no portion arrives unnoticed.
            self._has_data_event.clear()
            if not self._spool:
                await self._has_data_event.wait()
