"""Answers of small searches, made in the thread of the event loop.

A search in a thread of its own costs two changes of threads, a buffer, a task and timers, which is more than a search
for a word takes. `Engine.answer_at_once` says which searches need none of these.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from sourcelight.core.batches import MatchBatch, RepositoryInfo
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.wire.request import SearchRequest
from sourcelight.repos import Viewer
from sourcelight.server.http.pacing import Cadence, EncodedMatches, Pacer
from sourcelight.server.http.producer import EncodeBatch, EventCounts, internal_error_events
from sourcelight.server.http.settings import Settings

if TYPE_CHECKING:
    from sourcelight.engines.execution import Engine


def batch_encoder(request: SearchRequest, diff_type: Literal["diff", "commit"], settings: Settings) -> EncodeBatch:
    """Return what renders the batches of a search as JSON."""

    def encode_batch(batch: MatchBatch, infos: Mapping[str, RepositoryInfo]) -> Iterator[bytes]:
        yield from encode_matches(
            batch,
            infos,
            chunk_text=settings.chunk_text,
            chunk_matches=request.chunk_matches,
            diff_type=diff_type,
            symbol_lines=request.symbol_lines,
        )

    return encode_batch


@dataclass(frozen=True, slots=True)
class SmallAnswer:
    """All frames of a stream, and their counts for the access log."""

    frames: list[bytes]
    counts: EventCounts

    @property
    def outcome(self) -> str:
        """The outcome for the access log."""
        return self.counts.error or "done"


def small_answer(
    engine: Engine, request: SearchRequest, viewer: Viewer, encode_batch: EncodeBatch, cadence: Cadence
) -> SmallAnswer | None:
    """Return the whole stream of a small search; None for one that needs a thread.

    Parameters
    ----------
    engine, request, viewer
        The engine, the search, and whose repositories exist.
    encode_batch
        Renders a batch as JSON arrays of matches.
    cadence
        As of streams: it frames events, and none waits for a tick.
    """
    counts = EventCounts()
    pacer = Pacer(cadence, start_s=time.monotonic())
    try:
        events: list[Any] | None = engine.answer_at_once(request, viewer)
        if events is None:
            return None
        for event in events:
            counts.events += 1
            if isinstance(event, MatchBatch):
                counts.rows += event.rows
                for payload in encode_batch(event, {info.name: info for info in event.repositories}):
                    pacer.add(EncodedMatches(payload))
            else:
                pacer.add(event)
    except Exception as exc:  # noqa: BLE001 - the last handler: the reader gets an id, the log the error
        counts.error = type(exc).__name__
        pacer = Pacer(cadence, start_s=time.monotonic())
        for error_event in internal_error_events(exc):
            pacer.add(error_event)
    return SmallAnswer(pacer.take(time.monotonic()), counts)
