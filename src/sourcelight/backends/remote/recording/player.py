"""A recording that answers in the place of its service: the same bytes in the same portions and order."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from sourcelight.backends.remote.recording.format import RecordedReply, RecordedRequest, fault_of, lines_of
from sourcelight.backends.remote.recording.recorder import Hidden, Note
from sourcelight.core.errors import NotRecorded, RecordingInvalid

_MOST_NAMED = 8
_LOOK_S = 0.001
_MOST_LOOKS = 30


class _RecordedCall:
    """A recorded request, and what was said to it."""

    def __init__(self, asked: RecordedRequest) -> None:
        self.asked = asked
        self.said: list[RecordedReply] = []


class Player:
    """Answers from a recording; the n-th time that something is asked, what was said the n-th time.

    What was asked at the same time is answered in the order of the recording, so that rows come in the same order.

    Parameters
    ----------
    path
        The recording.
    speed
        1: answers take the time that they took; 2: half of it. None: no time.

    Raises
    ------
    RecordingInvalid
        For what is no recording, or a damaged one.
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
        for line in sorted(lines_of(data, str(self.path)), key=lambda line: line.at):
            if isinstance(line, RecordedRequest):
                entries[line.number] = _RecordedCall(line)
                self._by_key.setdefault(line.key, []).append(entries[line.number])
            else:
                entries[line.number].said.append(line)
        self._entries = list(entries.values())
        # Where in the order of things each request that is to come, or under way, goes on.
        self._awaited = {entry.asked.number: entry.asked.at for entry in self._entries}

    @property
    def asked(self) -> list[str]:
        """The recorded requests in words."""
        return [entry.asked.words for entry in self._entries]

    @property
    def endpoints(self) -> tuple[str, ...]:
        """Addresses of the services that were asked."""
        return tuple(
            dict.fromkeys(entry.asked.where for entry in self._entries if entry.asked.kind == "stream")
        ) or tuple(dict.fromkeys(entry.asked.where.partition("/.api/")[0] for entry in self._entries))

    def close(self) -> None:
        """Nothing is held."""

    def _found(self, kind: str, where: str, what: Any) -> _RecordedCall:
        asked = RecordedRequest(1, 1, kind, where, what)
        with self._lock:
            there = self._by_key.get(asked.key)
            if not there:
                raise self._missing(asked)
            at = self._next.get(asked.key, 0)
            self._next[asked.key] = at + 1
            return there[min(at, len(there) - 1)]

    def _missing(self, asked: RecordedRequest) -> NotRecorded:
        others = list(dict.fromkeys(e.asked.words for e in self._entries if e.asked.kind == asked.kind))
        elsewhere = [
            e.asked.where for e in self._entries if e.asked.where != asked.where and e.asked.what == asked.what
        ]
        named = "; ".join(others[:_MOST_NAMED]) + ("; \u2026" if len(others) > _MOST_NAMED else "")
        there = f"recorded are {named}" if others else "nothing of this kind is recorded"
        if elsewhere:
            there = f"it was asked of {elsewhere[0]}, not of {asked.where}"
        return NotRecorded(f"{self.path} has no answer to {asked.words}; {there}", asked=asked.words, recorded=others)

    async def _turn(self, number: int, place: int) -> None:
        """Wait until all that was said before `place` is said again, but not for what nobody asks for."""
        looks, before = 0, None
        # Looks are counted and not time: work on this loop that takes long holds up all that wait alike.
        while earlier := {n: at for n, at in list(self._awaited.items()) if at < place and n != number}:
            looks, before = (looks + 1, before) if earlier == before else (0, earlier)
            if looks > _MOST_LOOKS:
                for late in earlier:
                    self._awaited.pop(late, None)
                break
            await asyncio.sleep(_LOOK_S)

    async def _said(self, entry: _RecordedCall) -> AsyncIterator[RecordedReply]:
        number, began = entry.asked.number, None
        loop = asyncio.get_running_loop()
        first = entry.said[0].ms if entry.said else 0
        try:
            for said, following in pairwise([*entry.said, None]):
                if said is None:
                    break
                self._awaited[number] = said.at
                if self._speed:
                    began = loop.time() if began is None else began
                    await asyncio.sleep(max(0.0, began + (said.ms - first) / 1000 / self._speed - loop.time()))
                await self._turn(number, said.at)
                await asyncio.sleep(0)
                if following is None:
                    self._awaited.pop(number, None)
                else:
                    self._awaited[number] = following.at
                yield said
        finally:
            self._awaited.pop(number, None)

    @asynccontextmanager
    async def stream(
        self, where: str, what: Any, live: AbstractAsyncContextManager[AsyncIterator[bytes]], hidden: Hidden
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """The recorded portions; `live` is not entered."""
        del live, hidden
        entry = self._found("stream", where, what)
        said = self._said(entry)
        try:
            first = await anext(said, None)
            if first is not None and first.kind == "fault":
                raise fault_of(first.content)
            yield self._portions(entry, first, said)
        finally:
            await said.aclose()  # type: ignore[attr-defined]

    async def _portions(
        self, entry: _RecordedCall, first: RecordedReply | None, rest: AsyncIterator[RecordedReply]
    ) -> AsyncIterator[bytes]:
        one: RecordedReply | None = first
        while one is not None:
            if one.kind == "fault":
                raise fault_of(one.content)
            if one.kind == "end" and one.content == "done":
                return
            if one.kind == "bytes":
                yield one.content
            one = await anext(rest, None)
        raise self._cut(entry)

    def _cut(self, entry: _RecordedCall) -> NotRecorded:
        words = entry.asked.words
        return NotRecorded(
            f"{self.path} has only the beginning of the answer to {words}: it was stopped while it was recorded",
            asked=words,
            recorded=(words,),
        )

    async def ask(
        self, kind: str, where: str, what: Any, live: Callable[[Note], Awaitable[Any]], note: Note, hidden: Hidden
    ) -> Any:
        """The recorded answer; `live` is not called."""
        del live, hidden
        entry = self._found(kind, where, what)
        said = self._said(entry)
        try:
            async for one in said:
                if one.kind == "note":
                    note(one.content)
                elif one.kind == "value":
                    return one.content
                elif one.kind == "fault":
                    raise fault_of(one.content)
        finally:
            await said.aclose()  # type: ignore[attr-defined]
        raise self._cut(entry)
