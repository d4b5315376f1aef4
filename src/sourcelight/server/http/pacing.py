"""Pacing of a stream: decides which events to send now, without a clock or a socket.

The first matches go out at once; later ones after 32 KiB or a tick. Within a flush the order is filters, matches,
progress; a newer ``filters`` or ``progress`` replaces an unsent one. A quiet stream repeats its last progress every
five seconds, with the current duration.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sourcelight.core.wire.encode import MAX_EVENT_BYTES, encode
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Event, Filters, Progress, UnknownEvent

_JOIN_BYTES = 1024 * 1024
_HEAD, _TAIL = b"event: matches\ndata: ", b"\n\n"
_DONE = encode(Done())


@dataclass(frozen=True, slots=True)
class EncodedMatches:
    """A JSON array of match objects, as bytes."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Cadence:
    """Times and sizes: `tick_s` between flushes, `heartbeat_s` between progress events of a quiet stream."""

    tick_s: float = 0.1
    flush_bytes: int = 32 * 1024
    heartbeat_s: float = 5.0


class Pacer:
    """Decides which events of a stream to send; the caller passes the time (seconds, monotonic).

    Parameters
    ----------
    cadence
        Ticks, sizes and the heartbeat.
    start_s
        Start of the request.
    trace_url
        Address of the trace of this request, for each progress; empty without a trace.
    """

    def __init__(self, cadence: Cadence, *, start_s: float, trace_url: str = "") -> None:
        self._cadence = cadence
        self._start_s = start_s
        self._trace_url = trace_url
        self._filters: Filters | None = None
        self._progress: Progress | None = None
        self._matches: list[bytes] = []
        self._size = 0
        self._ready: list[bytes] = []
        self._urgent = False
        self._flushed = -math.inf
        self._first_sent = False
        self._latest = Progress(done=False, match_count=0, duration_ms=0)
        self._latest_is_new = False
        self._progressed = start_s
        self.oversized = 0
        self.has_done = False

    def add(self, item: EncodedMatches | Event) -> None:
        """Add an event; ignores events after ``done``."""
        if self.has_done:
            return

        match item:
            case EncodedMatches(payload):
                # `[]` holds no matches.
                if len(payload) > 2:
                    self._matches.append(payload)
                    self._size += len(payload)
                    self._urgent = self._urgent or not self._first_sent or self._size >= self._cadence.flush_bytes
            case Filters():
                self._filters = item
            case Progress(done=False):
                self._progress = item
            case Progress() | Alert() | ErrorEvent() | Done() | UnknownEvent():
                # Waiting matches go out before an event that may end the stream.
                self._gather()
                self._close(item)
            case _:
                raise TypeError(f"not an event of this stream: {type(item).__name__}")

    def wait_s(self, now_s: float) -> float:
        """Return the seconds until an event is due; 0 when one is due already."""
        if self._ready or self._urgent:
            return 0.0
        due = self._progressed + self._cadence.heartbeat_s
        if self._matches or self._filters is not None or self._progress is not None:
            due = min(due, self._flushed + self._cadence.tick_s)
        return max(0.0, due - now_s)

    def take(self, now_s: float) -> list[bytes]:
        """Return the events that are due, as bytes on the wire; empty without one."""
        if self.wait_s(now_s) > 0:
            return []

        if not self._ready:
            self._gather()

        if not self._ready:
            # The engine takes its own time: a duration must not go back from one progress event to the next.
            elapsed = max(self._latest.duration_ms, round((now_s - self._start_s) * 1000))
            self._write(self._with_trace(replace(self._latest, duration_ms=elapsed)))
            self._progressed = now_s

        ready, self._ready = self._ready, []
        self._flushed = now_s
        if self._latest_is_new:
            self._progressed, self._latest_is_new = now_s, False

        return ready

    def _gather(self) -> None:
        # The order on the wire: filters, matches, progress.
        if self._filters is not None:
            self._write(self._filters)
            self._filters = None

        self._join_matches()
        if self._progress is not None:
            self._latest, self._latest_is_new = self._progress, True
            self._write(self._with_trace(self._progress))
            self._progress = None

        self._urgent = False

    def _join_matches(self) -> None:
        group: list[bytes] = []
        size = 0
        for payload in self._matches:
            # Joined payloads become one event; a single large one stays alone.
            if group and size + len(payload) > _JOIN_BYTES:
                self._write_matches(group)
                group, size = [], 0
            group.append(payload)
            size += len(payload)

        if group:
            self._write_matches(group)

        self._matches, self._size = [], 0

    def _write_matches(self, group: list[bytes]) -> None:
        if len(_HEAD) + sum(map(len, group)) + len(_TAIL) >= MAX_EVENT_BYTES:
            self.oversized += 1
            return

        parts: list[bytes | memoryview] = [_HEAD]
        for number, payload in enumerate(group):
            # Drops the brackets of each payload to join the arrays into one. A memoryview avoids a copy of megabytes.
            parts += [b"," if number else b"[", memoryview(payload)[1:-1]]

        self._ready.append(b"".join([*parts, b"]", _TAIL]))
        self._first_sent = True

    def _close(self, item: Progress | Alert | ErrorEvent | Done | UnknownEvent) -> None:
        if isinstance(item, Progress):
            self._latest, self._latest_is_new = item, True
            item = self._with_trace(item)
        elif isinstance(item, Done):
            self.has_done = True
            if self.oversized:
                self._write(_too_large(self.oversized))

        self._write(item)

    def _with_trace(self, progress: Progress) -> Progress:
        return replace(progress, trace=self._trace_url) if self._trace_url else progress

    def _write(self, event: Event) -> None:
        self._ready.append(encode(event))


def frames_at_once(items: Sequence[EncodedMatches | Event]) -> list[bytes] | None:
    """Return the frames that a `Pacer` gives for a whole short answer; None for another one.

    A short answer has at most one array of matches and some filters, and then other events up to ``done``.
    """
    if not items or not isinstance(items[-1], Done):
        return None

    frames: list[bytes] = []
    last = len(items) - 1
    for number, item in enumerate(items):
        if isinstance(item, EncodedMatches):
            if number or not 2 < len(item.payload) < _JOIN_BYTES:
                return None
            frames.append(b"%b%b%b" % (_HEAD, item.payload, _TAIL))
        elif isinstance(item, Filters):
            # Filters go before the matches, and a `Pacer` replaces earlier ones.
            if number and not (number == 1 and isinstance(items[0], EncodedMatches)):
                return None
            frames.insert(0, encode(item))
        elif number == last:
            frames.append(_DONE)
        elif isinstance(item, Alert) or (isinstance(item, Progress) and item.done):
            frames.append(encode(item))
        else:
            return None
    return frames


def _too_large(count: int) -> Alert:
    return Alert(
        title="Some matches could not be sent",
        description=f"{count:,} {'group' if count == 1 else 'groups'} of matches exceeded the 10 MiB "
        "of one event. Pass a smaller `cl`, or `max-line-len`.",
        kind="warning",
    )
