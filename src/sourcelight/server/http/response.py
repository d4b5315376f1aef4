"""The response of a stream: its head, its portions, and how long its reader leaves them unread.

Portions are compressed and flushed one by one, so that a reader sees each as soon as it is written.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import zlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Iterator, Mapping
from typing import Any

import anyio
from starlette.responses import StreamingResponse
from starlette.types import Message, Receive, Scope, Send

from sourcelight.server.http.connections import PENDING_BYTES

STREAM_HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache"),
    (b"connection", b"keep-alive"),
    (b"x-accel-buffering", b"no"),
    (b"vary", b"Authorization, Accept-Encoding"),
)
COMPRESS_IN_THREAD_BYTES = 256 * 1024
_LARGE_FRAME_BYTES = 64 * 1024
_CODING = re.compile(r"\s*(gzip|\*)\s*(?:;\s*q\s*=\s*([0-9.]+)\s*)?$", re.IGNORECASE)


class StreamResponse:
    """The response of one stream, in gzip or uncompressed.

    Parameters
    ----------
    send
        The sender of the ASGI server.
    zipped
        Whether to compress.

    Attributes
    ----------
    sent
        Bytes that were sent.
    """

    def __init__(self, send: Send, *, zipped: bool) -> None:
        self._send = send
        self._packer = _new_packer() if zipped else None
        self._unread: Callable[[], None] = lambda: None
        self._unread_s = 0.0
        self._pending_bytes: Callable[[], int] = lambda: 0
        self._extra: Mapping[str, str] = {}
        self._started = False
        self.sent = 0

    def head(self, extra: Mapping[str, str]) -> None:
        """Set extra headers."""
        self._extra = extra

    def watch_for(self, unread: Callable[[], None], unread_s: float, scope: Scope) -> None:
        """Call `unread` whenever the reader reads none of its pending bytes for `unread_s` seconds."""
        self._unread, self._unread_s = unread, unread_s
        self._pending_bytes = scope.get("extensions", {}).get(PENDING_BYTES, self._pending_bytes)

    async def start(self) -> None:
        """Send the head once."""
        if self._started:
            return
        self._started = True
        headers = {"Content-Encoding": "gzip", **self._extra} if self._packer is not None else self._extra
        raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._pass({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS, *raw]})

    async def write(self, frames: list[bytes]) -> None:
        """Send frames after the head."""
        await self.start()
        for data in [b"".join(frames)] if self._packer is not None else _portions(frames):
            if len(data) > COMPRESS_IN_THREAD_BYTES and self._packer is not None:
                data = await asyncio.to_thread(self._pack, data)  # noqa: PLW2901 - the same, packed
            else:
                data = self._pack(data)  # noqa: PLW2901 - as above
            self.sent += len(data)
            await self._pass({"type": "http.response.body", "body": data, "more_body": True})

    async def end(self, frames: list[bytes]) -> None:
        """Send the last frames."""
        await self.start()
        if sum(map(len, frames)) > COMPRESS_IN_THREAD_BYTES:
            await self.write(frames)
            frames = []

        tail = b"".join(frames)
        if self._packer is not None:
            tail = self._packer.compress(tail) + self._packer.flush(zlib.Z_FINISH)

        self.sent += len(tail)
        await self._pass({"type": "http.response.body", "body": tail, "more_body": False})

    def _pack(self, data: bytes) -> bytes:
        if self._packer is None:
            return data
        return self._packer.compress(data) + self._packer.flush(zlib.Z_SYNC_FLUSH)

    async def _pass(self, message: Message) -> None:
        # The socket usually accepts all bytes at once; then there is nothing to wait for or to time.
        sending = self._send(message).__await__()
        try:
            # The coroutine is driven by hand: most sends complete without waiting, and then no timer is made.
            waits_for = next(sending)
        except StopIteration:
            return

        if not self._unread_s:
            await RemainingAwait(sending, waits_for)
            return

        loop, timer, pending = asyncio.get_running_loop(), None, self._pending_bytes()

        def look() -> None:
            nonlocal timer, pending
            now = self._pending_bytes()
            # The peer has acknowledged nothing since the last look, so its reader has stopped.
            if now >= pending:
                self._unread()
            pending = now
            timer = loop.call_later(self._unread_s, look)

        timer = loop.call_later(self._unread_s, look)
        try:
            await RemainingAwait(sending, waits_for)
        finally:
            timer.cancel()


class EventStream(StreamingResponse):
    """Events that a page or a program listens to.

    Parameters
    ----------
    frames
        Yields the events; closed when the reader leaves, not by the garbage collector.
    headers
        Headers of the response.
    end
        Called after the response, also for a reader who left before its first event, when `frames` never ran.
    """

    def __init__(
        self, frames: AsyncGenerator[bytes, None], headers: Mapping[str, str], end: Callable[[], Awaitable[None]]
    ) -> None:
        # X-Accel-Buffering: nginx otherwise collects the stream before it passes it on.
        super().__init__(frames, media_type="text/event-stream", headers={**headers, "X-Accel-Buffering": "no"})
        self._frames = frames
        self._end = end

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            with anyio.CancelScope(shield=True):
                try:
                    await self._frames.aclose()
                finally:
                    await self._end()


class RemainingAwait:
    """The rest of an awaitable that has started."""

    def __init__(self, generator: Generator[Any, Any, Any], waits_for: Any) -> None:
        self._generator = generator
        self._waits_for = waits_for

    def __await__(self) -> Generator[Any, Any, None]:
        """Wait for its current future, then continue it."""
        with contextlib.suppress(StopIteration):
            while True:
                try:
                    got = yield self._waits_for
                except BaseException as exc:  # noqa: BLE001 - the awaitable handles it
                    self._waits_for = self._generator.throw(exc)
                else:
                    self._waits_for = self._generator.send(got)


def _portions(frames: list[bytes]) -> Iterator[bytes]:
    """Yield small frames joined and large ones unchanged: joining those would only copy them."""
    small: list[bytes] = []
    for frame in frames:
        if len(frame) < _LARGE_FRAME_BYTES:
            small.append(frame)
            continue
        if small:
            yield b"".join(small)
            small = []
        yield frame

    if small:
        yield b"".join(small)


def compress(data: bytes) -> bytes:
    """Return a whole body in gzip, as `StreamResponse` sends a finished stream."""
    packer = _new_packer()
    return packer.compress(data) + packer.flush(zlib.Z_FINISH)


def _new_packer() -> zlib._Compress:
    # wbits 31 is the gzip container; level 1 because the reader is waiting.
    return zlib.compressobj(1, zlib.DEFLATED, 31)


def accepts_gzip(header: str) -> bool:
    """Return whether an ``Accept-Encoding`` header allows gzip; a weight of 0 forbids it."""
    verdicts: dict[str, bool] = {}
    for part in header.split(",") if header else ():
        if match := _CODING.match(part):
            try:
                verdicts[match[1].lower()] = float(match[2] or 1) > 0
            except ValueError:
                continue

    return verdicts.get("gzip", verdicts.get("*", False))
