"""From bytes in any portions to raw events: the line layer of the stream.

Written for what services really send: lines that end with LF, CRLF or CR (as the standard of event streams allows), no
blank after a colon, several data lines, comments, ids, an event without data, and a last event without its blank line
are all read. Only size is refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sourcelight.core.errors import ProtocolError

#: Services cap an event at 10 MiB; this leaves room for those that don't, and still bounds memory.
MAX_EVENT_BYTES = 64 * 1024 * 1024

#: Lines up to the end of an event, comments and blank lines before it included. A service sends a comment every few
#: seconds to keep a connection open, and each event as one line of data; reading a line costs about a microsecond, so
#: that without this bound 64 MiB of empty comments take more than a minute.
MAX_EVENT_LINES = 250_000

_EXCERPT_BYTES = 120
"""Bytes of an event that an error quotes."""


class RawEvent(NamedTuple):
    """An event before its JSON is read; several data lines are joined by newlines. `name` is ``message`` if unsaid."""

    name: str
    data: bytes


class SseDecoder:
    """Splits a stream of bytes into events, however the bytes are cut into portions.

    Parameters
    ----------
    max_event_bytes
        Largest event, framing included and a line end as one byte, that is read before `ProtocolError` is raised.
    max_event_lines
        Most lines without an event that are read before `ProtocolError` is raised; comments and blank lines count.

    Notes
    -----
    `feed` is a generator: run it to its end before feeding more. The same bytes give the same events and the same
    error at the same event, whatever the portions.
    """

    def __init__(self, *, max_event_bytes: int = MAX_EVENT_BYTES, max_event_lines: int = MAX_EVENT_LINES) -> None:
        self._max_bytes = max_event_bytes
        self._max_lines = max_event_lines
        self._lines = 0
        self._buffer = bytearray()
        self._scanned = 0
        self._start = True
        self._after_return = False
        self._clear()

    def _clear(self) -> None:
        self._name: str | None = None
        self._data: list[bytes] = []
        self._has_data = False
        self._size = 0

    @property
    def incomplete(self) -> bool:
        """Whether there are bytes of an unfinished event."""
        return bool(self._buffer) or self._name is not None or self._has_data

    def feed(self, portion: bytes) -> Iterator[RawEvent]:
        """Yield the events that `portion` completes.

        Raises
        ------
        ProtocolError
            If an event has more bytes or lines than allowed; events before it are yielded first. The decoder is of no
            use after it.
        """
        buffer = self._buffer
        buffer += self._with_newlines(portion)
        position = 0
        try:
            # From `_scanned`: a line of megabytes arrives in many portions, and is searched for its end only once.
            while (newline := buffer.find(b"\n", max(position, self._scanned))) >= 0:
                line = bytes(memoryview(buffer)[position:newline])  # a slice of a bytearray would copy twice
                self._grow(newline + 1 - position)
                position = newline + 1
                self._lines += 1
                if self._lines > self._max_lines:
                    raise ProtocolError(f"more than {self._max_lines:,} lines without an event", event=self._name or "")
                if (event := self._line(line)) is not None:
                    yield event

            # The unfinished line counts towards the limit now, and towards the event once its end is here.
            self._grow(len(buffer) - position, keep=False)
        finally:
            # Once for each portion, not for each line: the rest of the buffer moves with every deletion.
            del buffer[:position]
            self._scanned = len(buffer)

    def close(self) -> Iterator[RawEvent]:
        """Yield the last event if only its blank line (or line end) is missing; `incomplete` covers other cases.

        An event cut inside its JSON is never yielded: the start of a JSON object or array is not itself JSON.
        """
        remaining = bytes(self._buffer)
        self._buffer.clear()
        self._scanned = 0
        pending = remaining
        if remaining and (event := self._line(remaining)) is not None:
            yield event
            pending = b""

        if self._name is not None and self._has_data and _is_json(b"\n".join(self._data)):
            yield self._finish()
            pending = b""

        self._buffer += pending

    def _with_newlines(self, portion: bytes) -> bytes:
        """Return a portion whose lines all end with LF; what is JSON has no CR but between its values.

        A CR at the end of a portion ends its line at once, since nothing more may come for a while. If the next portion
        then starts with LF, that belongs to the same end.
        """
        if not portion:
            return portion
        if self._after_return and portion.startswith(b"\n"):
            portion = portion[1:]
        self._after_return = portion.endswith(b"\r")
        if b"\r" in portion:
            return portion.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        return portion

    def _grow(self, size: int, *, keep: bool = True) -> None:
        if self._size + size > self._max_bytes:
            raise ProtocolError(
                f"an event of more than {self._max_bytes} bytes; raise max_event_bytes if the service is trusted",
                event=self._name or "",
                excerpt=b"".join(self._data[:1])[:_EXCERPT_BYTES].decode(errors="replace"),
            )

        if keep:
            self._size += size

    def _line(self, line: bytes) -> RawEvent | None:
        if self._start:
            self._start = False
            line = line.removeprefix(b"\xef\xbb\xbf")

        if not line:
            if self._name is not None or self._has_data:
                return self._finish()
            self._clear()
            return None

        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            self._name = value.decode(errors="replace")
        elif field == b"data":
            self._has_data = True
            self._data.append(value)

        return None

    def _finish(self) -> RawEvent:
        event = RawEvent(self._name or "message", self._data[0] if len(self._data) == 1 else b"\n".join(self._data))
        self._clear()
        self._lines = 0
        return event


def _is_json(data: bytes) -> bool:
    import orjson

    if not data.lstrip().startswith((b"{", b"[", b"null")):
        return False

    try:
        orjson.loads(data)
    except orjson.JSONDecodeError:
        return False

    return True
