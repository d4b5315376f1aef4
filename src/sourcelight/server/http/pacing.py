"""When to send what: the cadence of a stream, without a clock or a socket of its own.

The first matches go out at once; later ones when 32 KiB have gathered or a tick has passed. Within a flush the order
is filters, matches, progress; a newer ``filters`` or ``progress`` replaces one that has not gone out yet. Silence is
broken by the last progress, with its duration brought up to date, every five seconds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from sourcelight.core.wire.encode import MAX_EVENT_BYTES, encode
from sourcelight.core.wire.events import Alert, Done, ErrorEvent, Event, Filters, Progress, UnknownEvent

_JOIN_BYTES = 1024 * 1024
_HEAD, _TAIL = b"event: matches\ndata: ", b"\n\n"


@dataclass(frozen=True, slots=True)
class EncodedMatches:
    """A JSON array of match objects, as bytes."""

    payload: bytes


@dataclass(frozen=True, slots=True)
class Cadence:
    """Times in seconds and sizes in bytes: `tick_s` between flushes, `heartbeat_s` of longest silence."""

    tick_s: float = 0.1
    flush_bytes: int = 32 * 1024
    heartbeat_s: float = 5.0


class Pacer:
    """Decides what of a stream goes out now; the caller says what time it is (seconds, monotonic).

    Parameters
    ----------
    cadence
        Ticks, sizes and the heartbeat.
    started
        When the request began.
    trace_url
        Where the trace of this request stands; empty without one. It is added to each progress.
    """

    def __init__(self, cadence: Cadence, *, started: float, trace_url: str = "") -> None:
        self._cadence = cadence
        self._started = started
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
        self._progressed = started
        self.oversized = 0
        self.has_done = False

    def add(self, item: EncodedMatches | Event) -> None:
        """Take an event; nothing after ``done`` is taken."""
        if self.has_done:
            return
        match item:
            case EncodedMatches(payload):
                if len(payload) > 2:
                    self._matches.append(payload)
                    self._size += len(payload)
                    self._urgent = self._urgent or not self._first_sent or self._size >= self._cadence.flush_bytes
            case Filters():
                self._filters = item
            case Progress(done=False):
                self._progress = item
            case Progress() | Alert() | ErrorEvent() | Done() | UnknownEvent():
                self._gather()
                self._close(item)
            case _:
                raise TypeError(f"no event of this stream: {type(item).__name__}")

    def wait_s(self, now: float) -> float:
        """Seconds until something is due; 0 when it already is."""
        if self._ready or self._urgent:
            return 0.0
        due = self._progressed + self._cadence.heartbeat_s
        if self._matches or self._filters is not None or self._progress is not None:
            due = min(due, self._flushed + self._cadence.tick_s)
        return max(0.0, due - now)

    def take(self, now: float) -> list[bytes]:
        """The events that are due, as bytes on the wire; an empty list when nothing is."""
        if self.wait_s(now) > 0:
            return []
        if not self._ready:
            self._gather()
        if not self._ready:
            elapsed = max(self._latest.duration_ms, round((now - self._started) * 1000))
            self._write(self._traced(replace(self._latest, duration_ms=elapsed)))
            self._progressed = now
        ready, self._ready = self._ready, []
        self._flushed = now
        if self._latest_is_new:
            self._progressed, self._latest_is_new = now, False
        return ready

    def _gather(self) -> None:
        if self._filters is not None:
            self._write(self._filters)
            self._filters = None
        self._join_matches()
        if self._progress is not None:
            self._latest, self._latest_is_new = self._progress, True
            self._write(self._traced(self._progress))
            self._progress = None
        self._urgent = False

    def _join_matches(self) -> None:
        group: list[bytes] = []
        size = 0
        for payload in self._matches:
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
            # Without the bracket that a comma, or nothing, takes the place of; one copy of megabytes, not three.
            parts += [b"," if number else b"[", memoryview(payload)[1:-1]]
        self._ready.append(b"".join([*parts, b"]", _TAIL]))
        self._first_sent = True

    def _close(self, item: Progress | Alert | ErrorEvent | Done | UnknownEvent) -> None:
        if isinstance(item, Progress):
            self._latest, self._latest_is_new = item, True
            item = self._traced(item)
        elif isinstance(item, Done):
            self.has_done = True
            if self.oversized:
                self._write(_too_large(self.oversized))
        self._write(item)

    def _traced(self, progress: Progress) -> Progress:
        return replace(progress, trace=self._trace_url) if self._trace_url else progress

    def _write(self, event: Event) -> None:
        self._ready.append(encode(event))


def _too_large(count: int) -> Alert:
    return Alert(
        title="Some matches could not be sent",
        description=f"{count} {'match takes' if count == 1 else 'groups of matches take'} more than the 10 MiB "
        "that one event may have. Ask with a smaller `cl` or with `max-line-len`.",
        kind="warning",
    )
