"""Decode the bytes of a stream to events, and report what is missing in it.

A service counts all matches, but leaves out events that are too large, and may send types of matches that this version
doesn't know. The reader compares the count with the matches that arrived, and reports the difference as skipped.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from sourcelight.backends.remote.stream_limits import ItemLimits, cut_progress, without_secrets
from sourcelight.core.batches import Event, OtherMatch, OtherMatches
from sourcelight.core.batches.codecs.decode import UNKNOWN_TYPE, MatchDecoder
from sourcelight.core.errors import ProtocolError, QueryError, StreamBroken
from sourcelight.core.markup.counts import capitalize, count_of, join_words
from sourcelight.core.query import parse
from sourcelight.core.wire import SseDecoder, decode_event
from sourcelight.core.wire.events import OWN_FAULTS, Alert, Done, ErrorEvent, Filters, Matches, Progress, Skipped

MAX_UNREQUESTED = 1_000_000
"""Matches beyond the count of a query that end a stream: a service that never stops would fill the memory."""

_MAX_OTHER = 10_000
"""Matches of types that this version does not know, which are collected until the end of the search."""

_MAX_OTHER_BYTES = 64 << 20
"""Bytes of these matches."""

_MAX_TYPES = 100
"""Types that are counted by their own names; a service may send a new one with each match."""

_MAX_TYPE_CHARS = 100
"""Characters of the name of a type."""

_OTHER_TYPES = "other types"


class EventReader:
    """Decodes bytes into events; delays alerts and errors until it is clear that the search ran.

    Parameters
    ----------
    query
        Text of the query, for errors.
    display
        Number of matches that the request asked for; -1 for all.
    pattern_type
        How the query is read.
    default_matches
        Number of matches that a query without ``count:`` asks for; None if the service decides.
    hide_secrets
        Removes credentials from a text of the service.
    """

    def __init__(
        self,
        query: str,
        display: int = -1,
        pattern_type: str = "standard",
        *,
        default_matches: int | None = None,
        hide_secrets: Callable[[str], str] = str,
    ) -> None:
        self._query = query
        self._pattern_type = pattern_type
        self._display = display
        self._default_matches = default_matches
        self._hide_secrets = hide_secrets
        self._framing = SseDecoder()
        self._matches = MatchDecoder()
        self._delayed: list[Alert | ErrorEvent] = []
        self._is_running = False
        self._progress: Progress | None = None
        self._received_matches = 0
        self._said_error = ""
        self._other: Counter[str] = Counter()
        self._unknown_types: Counter[str] = Counter()
        self._limits = ItemLimits()
        self._other_count = self._other_bytes = 0
        self.done = False
        self.seen = 0

    def delayed_events(self) -> list[Event]:
        """Return and clear the delayed events."""
        delayed_events, self._delayed = list[Event](self._delayed), []
        return delayed_events

    def feed(self, portion: bytes) -> Iterator[Event]:
        """Yield the events that `portion` completes."""
        return self._events(self._framing.feed(portion))

    def close(self) -> Iterator[Event]:
        """Yield the last event if only its end is missing; raise `StreamBroken` without ``done``."""
        yield from self._events(self._framing.close())
        if not self.done:
            position = "inside an event" if self._framing.incomplete else "without its last event"
            message = f"the stream ended {position}, after {self.seen} events"
            raise self.with_reason(StreamBroken(message, events_seen=self.seen))

    def with_reason(self, broken: StreamBroken) -> StreamBroken:
        """Return an error with the message of the last ``error`` event, if the service sent one before the break."""
        if not self._said_error or broken.reason:
            return broken
        message = f"{broken}; the service said: {self._said_error}"
        return StreamBroken(message, events_seen=broken.events_seen, reason=self._said_error)

    def _events(self, raw_events: Iterator[Any]) -> Iterator[Event]:
        # Decoding matches that arrived together is cheaper than one by one.
        pending: list[bytes] = []
        try:
            for raw in raw_events:
                self.seen += 1
                if raw.name == "matches":
                    pending.append(raw.data)
                    continue
                yield from self._decode_matches(pending)
                yield from self._pass_on(decode_event(raw))
                if self.done:
                    return

            yield from self._decode_matches(pending)
        except ProtocolError as exc:
            # The matches before the unreadable one arrived intact, and the user keeps them.
            yield from self._decode_readable(pending)
            message = f"the stream became unreadable: {exc}"
            raise self.with_reason(StreamBroken(message, events_seen=self.seen)) from exc

    def _decode_matches(self, pending: list[bytes]) -> Iterator[Event]:
        if pending:
            batches = self._matches.decode(*pending)
            size = sum(map(len, pending))
            pending.clear()
            self._is_running = True
            yield from self.delayed_events()
            yield from batches
            yield from self._take_other(size)
            arrived = self._count_arrived()
            if arrived > MAX_UNREQUESTED and arrived > self._requested + MAX_UNREQUESTED:
                raise ProtocolError(f"{arrived:,} matches arrived, and the query asks for {self._requested:,.0f}")

    def _count_arrived(self) -> int:
        return self._matches.matches + self._unknown_types.total() + self._other.total()

    @functools.cached_property
    def _requested(self) -> float:
        """The number of matches after which the service should stop; infinite for ``count:all``."""
        try:
            alternatives = parse(self._query, self._pattern_type).plan
        except QueryError:
            return math.inf
        counts = [alternative.count_limit(self._default_matches) for alternative in alternatives]
        return math.inf if None in counts else float(sum(count or 0 for count in counts))

    def _take_other(self, size: int) -> Iterator[Event]:
        """Count the matches that are no rows, of events of `size` bytes, and yield as many as a search keeps."""
        other = self._matches.take_other()
        for match in other:
            if match.reason == UNKNOWN_TYPE:
                self._unknown_types[self._type_of(match)] += 1
            else:
                self._other[match.reason.partition(":")[0]] += 1

        self._other_bytes += size if other else 0
        matches = other[: _MAX_OTHER - self._other_count] if self._other_bytes <= _MAX_OTHER_BYTES else ()
        self._other_count += len(matches)
        if matches:
            yield OtherMatches(matches)

    def _type_of(self, match: OtherMatch) -> str:
        """Return the type under which a match is counted: a service may send a new one with each match."""
        kind = match.type[:_MAX_TYPE_CHARS]
        return kind if kind in self._unknown_types or len(self._unknown_types) < _MAX_TYPES else _OTHER_TYPES

    def _decode_readable(self, pending: list[bytes]) -> Iterator[Event]:
        """Yield the readable matches before the one that can't be decoded."""
        for data in pending:
            try:
                batches = self._matches.decode(data)
            except ProtocolError:
                return
            yield from self.delayed_events()
            yield from batches

    def _pass_on(self, event: Any) -> Iterator[Event]:
        if isinstance(event, Progress):
            short = cut_progress(self._with_former(event))
            event = self._progress = without_secrets(short, self._hide_secrets)
        elif isinstance(event, Filters):
            event = self._limits.cut_filters(event)
        elif isinstance(event, Alert | ErrorEvent):
            # Before texts are cut, which could leave a part of a credential.
            event = self._limits.cut_alert(without_secrets(event, self._hide_secrets))
            if event is None:
                return
            if isinstance(event, ErrorEvent):
                self._said_error = event.message

        # An error before any other event means a rejected query, which is raised instead of yielded.
        if isinstance(event, Alert | ErrorEvent) and not self._is_running:
            self._delayed.append(event)
            return

        if isinstance(event, Done):
            self.done = True
            # Some services answer 200 and put the reason of a refusal into an alert, with nothing else in the stream.
            if not self._is_running and not self._service_failed() and (message := self._query_error()):
                raise _refusal(message, self._query, self._pattern_type)

        self._is_running = True
        yield from self.delayed_events()
        if isinstance(event, Done):
            yield from self._notices()

        if not isinstance(event, Matches):
            yield event

    def _with_former(self, progress: Progress) -> Progress:
        """Return statistics that never contradict earlier ones: counts only grow, and a final statement stays."""
        previous = self._progress
        self._received_matches = max(self._received_matches, progress.match_count)
        if previous is None or not (previous.done and progress.done):
            return progress
        skipped = tuple(dict.fromkeys((*previous.skipped, *progress.skipped)))
        return replace(progress, match_count=max(previous.match_count, progress.match_count), skipped=skipped)

    def _notices(self) -> Iterator[Event]:
        """Yield alerts and skipped items for matches that are missing or changed in a complete stream."""
        if self._matches.replaced_events:
            events = count_of(self._matches.replaced_events, "event")
            yield Alert("Invalid UTF-8 was replaced", f"{events} had invalid UTF-8, which is shown as U+FFFD.", "info")
        skipped = tuple(self._missing())
        if skipped:
            last = self._progress or Progress(done=False, match_count=self._matches.matches, duration_ms=0)
            yield replace(last, done=True, skipped=(*last.skipped, *skipped))

    def _missing(self) -> Iterator[Skipped]:
        last = self._progress
        if (last is None or not last.done) and not self._said_error:
            yield Skipped(
                reason="no-final-progress",
                title="no final statistics",
                message="The service ended the stream without its final statistics: matches may be missing.",
                severity="warn",
            )

        if self._unknown_types:
            types = join_words([f"`{kind}`" for kind in self._unknown_types])
            title = f"{count_of(self._unknown_types.total(), 'match')} of unknown types ({types})".replace("`", "")
            yield Skipped(
                reason="unknown-match-type",
                title=title,
                message=f"`result.other` has the matches of type {types}.",
                severity="warn",
            )

        yield from self._limits.report_dropped()
        for reason, count in self._other.items():
            title = f"{count_of(count, 'match')} with {reason}"
            yield Skipped(
                reason="unreadable-match",
                title=title,
                message="`result.other` has them as they were sent.",
                severity="warn",
            )

        arrived = self._count_arrived()
        received = self._received_matches
        expected = min(received, self._display) if self._display >= 0 else received
        if arrived < expected and not any(item.reason == "display" for item in (last.skipped if last else ())):
            yield Skipped(
                reason="matches-not-sent",
                title=f"{count_of(expected - arrived, 'match')} of {expected:,} not sent",
                message=f"The service counts {count_of(expected, 'match')} and sent {arrived:,}. "
                "Services omit files that are too large for an event; search its repositories or paths one by one.",
                severity="warn",
            )

    def _service_failed(self) -> bool:
        """Return whether the service reports an error of its own, rather than of the query."""
        return any(isinstance(event, Alert) and event.title in OWN_FAULTS for event in self._delayed)

    def _query_error(self) -> str:
        """Return the reason for a search that ended without progress; empty without one."""
        for event in self._delayed:
            if isinstance(event, ErrorEvent):
                return event.message
        for event in self._delayed:
            if isinstance(event, Alert) and event.kind in {"", "error"}:
                return event.description or event.title
        return ""


def _refusal(message: str, query: str, pattern_type: str) -> QueryError:
    """Return the error of a refused query, with the advice of our parser if it refuses the query for the same reason.

    Alerts of the protocol have only the reason; what to write instead can't be sent in them.
    """
    try:
        parse(query, pattern_type).plan  # noqa: B018 - the property validates
    except QueryError as error:
        if capitalize(error.message) == capitalize(message):
            return QueryError(message, query=query, position=error.position, hint=error.hint, stage=error.stage)
    return QueryError(message, query=query)
