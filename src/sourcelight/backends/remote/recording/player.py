"""Replay a recording: the same bytes in the same portions and order.

The n-th equal request gets the n-th recorded reply, and the last one again after that. Replies of concurrent requests
keep the order of the recording: each waits for earlier ones, unless these aren't requested this time.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from sourcelight.backends.remote.recording.format import RecordedReply, RecordedRequest, error_from_json, lines_of
from sourcelight.backends.remote.recording.routes import HideSecrets, Note
from sourcelight.core.errors import NotRecorded, RecordingInvalid

_MAX_LISTED_REQUESTS = 8
"""Recorded requests that an error message names."""

_LOOK_S = 0.001
"""Seconds between looks at whether earlier replies have been replayed."""

_MAX_LOOKS = 30
"""Looks without a change: a request that the notebook doesn't make this time would block the others forever."""


class _RecordedCall:
    """A recorded request with its replies."""

    def __init__(self, request: RecordedRequest) -> None:
        self.request = request
        self.replies: list[RecordedReply] = []


class Player:
    """Answers requests from a recording: the n-th equal request gets the n-th recorded reply.

    Concurrent requests get replies in the order of the recording, so that rows come in the same order.

    Parameters
    ----------
    path
        The recording.
    speed
        1: replies take the recorded time; 2: half of it. None: no time.

    Raises
    ------
    RecordingInvalid
        For other files, and for a damaged recording.
    """

    def __init__(self, path: str | os.PathLike[str], *, speed: float | None = None) -> None:
        self.path = Path(path).expanduser()
        self._speed = speed
        self._lock = threading.Lock()
        self._by_key: dict[str, list[_RecordedCall]] = {}
        self._next: dict[str, int] = {}
        self._awaited: dict[int, int] = {}
        entries: dict[int, _RecordedCall] = {}
        try:
            data = self.path.read_bytes()
        except OSError as exc:
            raise RecordingInvalid(str(self.path), f"can't be read: {exc.strerror or exc}") from exc

        for line in sorted(lines_of(data, str(self.path)), key=lambda line: line.position):
            if isinstance(line, RecordedRequest):
                entries[line.number] = _RecordedCall(line)
                self._by_key.setdefault(line.key, []).append(entries[line.number])
            else:
                entries[line.number].replies.append(line)

        self._entries = list(entries.values())
        # The next event number of each pending or running request.
        self._awaited = {entry.request.number: entry.request.position for entry in self._entries}

    @property
    def requests(self) -> list[str]:
        """The recorded requests as text."""
        return [entry.request.summary for entry in self._entries]

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Addresses of the recorded services."""
        addresses = [entry.request.address for entry in self._entries if entry.request.kind == "stream"]
        if not addresses:
            # Other requests have the address of a page below the service's.
            addresses = [entry.request.address.partition("/.api/")[0] for entry in self._entries]
        return tuple(dict.fromkeys(addresses))

    def close(self) -> None:
        """Do nothing: a player holds no file."""

    def _find(self, kind: str, address: str, parameters: Any) -> _RecordedCall:
        request = RecordedRequest(number=1, position=1, kind=kind, address=address, content=parameters)
        with self._lock:
            calls = self._by_key.get(request.key)
            if not calls:
                raise self._not_recorded(request)
            index = self._next.get(request.key, 0)
            self._next[request.key] = index + 1
            # A cell that runs more often than in the recording gets the last reply again.
            return calls[min(index, len(calls) - 1)]

    def _not_recorded(self, request: RecordedRequest) -> NotRecorded:
        summaries = [entry.request.summary for entry in self._entries if entry.request.kind == request.kind]
        recorded = list(dict.fromkeys(summaries))
        other_address = ""
        for entry in self._entries:
            is_elsewhere = entry.request.address != request.address
            if is_elsewhere and entry.request.content == request.content and not other_address:
                other_address = entry.request.address

        if other_address:
            reason = f"it was recorded from {other_address}, not from {request.address}"
        elif recorded:
            reason = f"it has {'; '.join(recorded[:_MAX_LISTED_REQUESTS])}"
            if len(recorded) > _MAX_LISTED_REQUESTS:
                reason += "; \u2026"
        else:
            reason = "it has no request of this kind"

        return NotRecorded(
            f"{self.path} has no reply to {request.summary}; {reason}", request=request.summary, recorded=recorded
        )

    async def _wait_for_turn(self, number: int, position: int) -> None:
        """Wait until all replies before `position` have been replayed, except those that aren't requested."""
        looks = 0
        previous: dict[int, int] = {}
        # Counts looks, not time: slow work on this loop delays all waiting requests alike.
        while looks <= _MAX_LOOKS:
            earlier = self._earlier_replies(number, position)
            if not earlier:
                return

            if earlier == previous:
                looks += 1
            else:
                looks = 0
                previous = earlier
            await asyncio.sleep(_LOOK_S)

        for waiting_number in previous:
            self._awaited.pop(waiting_number, None)

    def _earlier_replies(self, number: int, position: int) -> dict[int, int]:
        """Return the awaited positions before `position`, by the numbers of other requests."""
        # A copy, as threads of other clients change the dictionary.
        positions = dict(self._awaited)
        positions.pop(number, None)
        return {other: awaited for other, awaited in positions.items() if awaited < position}

    async def _timed_replies(self, entry: _RecordedCall) -> AsyncIterator[RecordedReply]:
        number = entry.request.number
        loop = asyncio.get_running_loop()
        start_s = loop.time()
        # A reply is removed from the front when its turn has come.
        remaining = deque(entry.replies)
        first_ms = remaining[0].ms if remaining else 0
        try:
            while remaining:
                reply = remaining[0]
                self._awaited[number] = reply.position
                if self._speed:
                    replay_s = start_s + (reply.ms - first_ms) / 1000 / self._speed
                    await asyncio.sleep(max(0.0, replay_s - loop.time()))

                await self._wait_for_turn(number, reply.position)
                await asyncio.sleep(0)
                remaining.popleft()
                if remaining:
                    self._awaited[number] = remaining[0].position
                else:
                    self._awaited.pop(number, None)

                yield reply
        finally:
            self._awaited.pop(number, None)

    @asynccontextmanager
    async def stream(
        self,
        address: str,
        content: Any,
        live: AbstractAsyncContextManager[AsyncIterator[bytes]],
        hide_secrets: HideSecrets,
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Yield the recorded portions; doesn't enter `live`."""
        del live, hide_secrets
        entry = self._find("stream", address, content)
        replies = self._timed_replies(entry)
        try:
            first = await anext(replies, None)
            if first is not None and first.kind == "fault":
                raise error_from_json(first.content)
            yield self._portions(entry, first, replies)
        finally:
            await replies.aclose()  # type: ignore[attr-defined]

    async def _portions(
        self, entry: _RecordedCall, first: RecordedReply | None, remaining: AsyncIterator[RecordedReply]
    ) -> AsyncIterator[bytes]:
        reply: RecordedReply | None = first
        while reply is not None:
            if reply.kind == "fault":
                raise error_from_json(reply.content)
            if reply.kind == "end" and reply.content == "done":
                return
            if reply.kind == "bytes":
                yield reply.content
            reply = await anext(remaining, None)

        raise self._incomplete(entry)

    def _incomplete(self, entry: _RecordedCall) -> NotRecorded:
        summary = entry.request.summary
        return NotRecorded(
            f"{self.path} has only the start of the reply to {summary}: the recording stopped in the middle",
            request=summary,
            recorded=(summary,),
        )

    async def ask(
        self,
        kind: str,
        address: str,
        content: Any,
        live: Callable[[Note], Awaitable[Any]],
        note: Note,
        hide_secrets: HideSecrets,
    ) -> Any:
        """Return the recorded answer; `live` is not called."""
        del live, hide_secrets
        entry = self._find(kind, address, content)
        replies = self._timed_replies(entry)
        try:
            async for reply in replies:
                if reply.kind == "note":
                    note(reply.content)
                elif reply.kind == "value":
                    return reply.content
                elif reply.kind == "fault":
                    raise error_from_json(reply.content)
        finally:
            await replies.aclose()  # type: ignore[attr-defined]

        raise self._incomplete(entry)
