"""Bounded decompression of response bodies.

HTTP libraries decompress a whole portion at once, through every coding that a response names, so a few kilobytes can
become gigabytes. This module undoes one coding in small portions and counts the result.
"""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from sourcelight.core.errors import ProtocolError, SourcelightError, StreamBroken
from sourcelight.core.wire.sse import MAX_EVENT_BYTES, MAX_EVENT_LINES

MAX_BODY_BYTES = 64 << 20
"""Decompressed bytes of a response, or of each event of a stream."""

MAX_BODY_VALUES = 4_000_000
"""Commas in a response, or in an event, beyond its first 4 MiB: `{},` takes 3 bytes, and 70 as an object of Python."""

FORM_ERRORS = (AttributeError, LookupError, OverflowError, RecursionError, TypeError, ValueError)
"""Errors of Python for an answer with a field of another type than its name says, or nested thousands of times."""

_UNCOUNTED_BYTES = 4 << 20
"""Bytes of a body up to which its values are not counted: so few can't fill the memory."""

_PORTION_BYTES = 1 << 18
"""Bytes that are unpacked at a time, so that a small compressed body can't fill the memory at once."""

_GZIP = 16 + zlib.MAX_WBITS
_MAGIC = b"\x1f\x8b"


def bound_bodies(
    stream_base: Any, on_fault: Callable[[SourcelightError], None] = lambda _: None
) -> Callable[[Any], Awaitable[None]]:
    """Return a response hook for an HTTP client that bounds bodies before anything reads them.

    Parameters
    ----------
    stream_base
        ``AsyncByteStream`` of the client's library.
    on_fault
        Receives the errors of bodies, for a reader that hides them.

    Returns
    -------
    callable
        For ``event_hooks={"response": [...]}``, before other hooks. It raises `ProtocolError` for a coding that the
        client didn't accept. Reading raises it for a body that is too large, and `StreamBroken` for a damaged one.
    """

    class Bounded(stream_base):  # type: ignore[misc]  # the base is that of the library in use
        def __init__(self, stream: Any, *, packed: bool, by_event: bool, host: str) -> None:
            self._stream = stream
            self._packed = packed
            self._size = _EventSize(host) if by_event else _BodySize(host)
            self._host = host

        async def __aiter__(self) -> AsyncIterator[bytes]:
            try:
                async for portion in self._portions():
                    yield portion
            except SourcelightError as error:
                on_fault(error)
                raise

        async def _portions(self) -> AsyncIterator[bytes]:
            unpacker = _Unpacker(self._host) if self._packed else None
            async for raw in self._stream:
                if unpacker is None:
                    self._size.add(raw)
                    if raw:
                        yield raw
                    continue
                for portion in unpacker.feed(raw):
                    self._size.add(portion)
                    yield portion

        async def aclose(self) -> None:
            await self._stream.aclose()

    async def limit_body(response: Any) -> None:
        coding = response.headers.get("Content-Encoding", "").strip().lower()
        host = response.request.url.host

        # httpx2 would decode other codings itself, without a bound.
        if coding not in {"", "identity", "gzip", "x-gzip"}:
            await response.aclose()
            error = ProtocolError(f"{host} uses a content coding that the client didn't accept: {coding[:40]!r}")
            on_fault(error)
            raise error

        if coding:
            # The body is decompressed here, portion by portion; with the header, httpx2 would do it again.
            del response.headers["Content-Encoding"]

        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        response.stream = Bounded(
            response.stream, packed=coding.endswith("gzip"), by_event=kind == "text/event-stream", host=host
        )

    return limit_body


class _Unpacker:
    """Decompresses gzip in small portions: all members of it (RFC 1952, 2.2), and no padding behind them."""

    def __init__(self, host: str) -> None:
        self._host = host
        # 16 + MAX_WBITS: zlib then expects and checks a gzip header instead of its own.
        self._member = zlib.decompressobj(_GZIP)
        self._start = b""

    def feed(self, raw: bytes) -> Iterator[bytes]:
        """Yield decompressed portions, none of them empty."""
        remaining = raw
        while remaining:
            if self._member.eof:
                start = self._start + remaining
                if not _MAGIC.startswith(start[: len(_MAGIC)]):
                    return  # padding
                if len(start) < len(_MAGIC):
                    self._start = start
                    return
                self._member, self._start, remaining = zlib.decompressobj(_GZIP), b"", start

            try:
                # The second argument bounds the output. What was not used comes back in `unconsumed_tail` and is fed
                # again.
                portion = self._member.decompress(remaining, _PORTION_BYTES)
            except zlib.error as error:
                raise StreamBroken(f"the stream from {self._host} broke: damaged gzip: {error}") from None

            remaining = self._member.unused_data if self._member.eof else self._member.unconsumed_tail
            if portion:
                yield portion


class _BodySize:
    """Size of a response that is not a stream."""

    def __init__(self, host: str) -> None:
        self._host = host
        self._bytes = self._values = 0

    def add(self, portion: bytes) -> None:
        """Count a portion; raises `ProtocolError` above a limit."""
        self._grow(portion)

    def _grow(self, portion: bytes) -> None:
        self._bytes += len(portion)
        if self._bytes > MAX_BODY_BYTES:
            raise ProtocolError(f"{self._host} sent more than {MAX_BODY_BYTES:,} bytes at once")
        if self._bytes > _UNCOUNTED_BYTES:
            self._values += portion.count(b",")
            if self._values > MAX_BODY_VALUES:
                raise ProtocolError(f"{self._host} sent more than {MAX_BODY_VALUES:,} values at once")


class _EventSize(_BodySize):
    """Bytes and lines of a stream since its last event.

    Decoders read line by line, about a microsecond each. Counting newlines of a portion costs almost nothing.
    """

    def __init__(self, host: str) -> None:
        super().__init__(host)
        self._lines = 0
        self._has_data = False
        self._tail = b"\n"

    def add(self, portion: bytes) -> None:
        """Count a portion; raises `ProtocolError` above a limit."""
        text = self._tail + portion
        # The end of the last portion: a line `\ndata` may be split between two. Five bytes are its length without the
        # last one.
        self._tail = text[-5:]
        self._has_data = self._has_data or b"\ndata" in text or b"\rdata" in text
        self._lines += portion.count(b"\n") or portion.count(b"\r")
        if self._lines > MAX_EVENT_LINES:
            raise ProtocolError(f"{self._host} sent more than {MAX_EVENT_LINES:,} lines without an event")

        end = max(text.rfind(b"\n\n"), text.rfind(b"\n\r\n"), text.rfind(b"\r\r"))
        if end >= 0 and self._has_data:
            self._lines, self._has_data = 0, False

        if end < 0 or self._bytes + end > MAX_EVENT_BYTES:
            # The decoder bounds each event; the first of a portion is bounded here, with what came before.
            self._grow(portion)
        else:
            self._bytes, self._values = len(text) - end, 0
