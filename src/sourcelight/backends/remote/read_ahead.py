"""Reading a stream as fast as it comes, however slowly it is used.

A service frees the engine of a reader that takes nothing, and closes its connection in the end. A loop in a notebook
that looks at each batch for a minute must not be such a reader: what comes is kept, in memory at first and then in a
file without a name, up to a bound; from there on the service has to wait.
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
FILE_BYTES = 512 * 1024 * 1024
_PORTION_BYTES = 1024 * 1024
_END_S = 0.05
"""Longest wait for the end of an answer whose last event was read."""


class Spool:
    """Bytes in the order they came: some in memory, and what goes beyond in a file until all was taken.

    Parameters
    ----------
    memory_bytes, file_bytes
        What each of the two may hold.
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
        """Keep a portion; False when there is no room for it, on the disk either."""
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
        except OSError:  # a full disk is no more room
            return False
        self._write_offset += len(portion)
        return True

    def take(self) -> bytes:
        """The next bytes; empty when there are none."""
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
        """Let everything go."""
        self._portions.clear()
        if self._file is not None:
            self._file.close()
        self._read_offset = self._write_offset = 0


@asynccontextmanager
async def read_ahead(
    source: AsyncGenerator[bytes, None], spool: Spool | None = None
) -> AsyncIterator[AsyncIterator[bytes]]:
    """Take from `source` in a task of its own; gives what it gave, and raises what it raised, in order."""
    spool = Spool() if spool is None else spool
    reader = _StreamReader(source, spool)
    task = asyncio.create_task(reader.run(), name="sourcelight-read-ahead")
    try:
        yield reader.portions()
        # After its last event a service ends the answer: a connection that is read to its end can be used again.
        await asyncio.wait({task}, timeout=_END_S)
    finally:
        reader.stop()
        with anyio.CancelScope(shield=True):
            await task
        spool.close()


class _StreamReader:
    def __init__(self, source: AsyncGenerator[bytes, None], spool: Spool) -> None:
        self._source = source
        self._spool = spool
        self._scope = anyio.CancelScope()
        self._arrived, self._taken = asyncio.Event(), asyncio.Event()
        self._is_over = False
        self._fault: Exception | None = None

    async def run(self) -> None:
        """Read until the source ends, fails, or nobody wants more, and close it.

        The HTTP library shields the closing of a connection from scopes, and from nothing else: a task that is
        cancelled while it closes leaves its connection in the pool for good.
        """
        try:
            with self._scope:
                async for portion in self._source:
                    while not self._spool.put(portion):
                        self._taken.clear()
                        await self._taken.wait()
                    self._arrived.set()
        except Exception as fault:  # noqa: BLE001 - raised where the portions are taken, after all that came before it
            self._fault = fault
        finally:
            try:
                await self._source.aclose()
            finally:
                self._is_over = True
                self._arrived.set()

    def stop(self) -> None:
        """Have `run` end soon."""
        self._scope.cancel()

    async def portions(self) -> AsyncGenerator[bytes, None]:
        """What was read, in order."""
        while True:
            while portion := self._spool.take():
                self._taken.set()
                yield portion
            if self._is_over:
                if self._spool:
                    continue
                if self._fault is not None:
                    fault, self._fault = self._fault, None
                    raise fault
                return
            self._arrived.clear()
            if not self._spool:
                await self._arrived.wait()
