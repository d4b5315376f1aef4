"""One search over many workers: a stream from each, failover to the next replica, a second try for a slow one."""

from __future__ import annotations

import asyncio
import contextlib
import statistics
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.backends.cluster.asking.members import Member, Members
from sourcelight.backends.cluster.asking.slots import Copy, Slots
from sourcelight.backends.cluster.asking.tried import GONE, RETRIED, Tried, poisoned
from sourcelight.backends.cluster.messages import SEARCH, Order, fault_from_plain
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.backends.cluster.worker.search import Failed, Outcome, Passed
from sourcelight.core.errors import ClusterError, SourcelightError

SILENCE_S = 2.0
"""Seconds without a message after which a worker is taken for dead: it sends one every `outbox.BEAT_S`."""

HEDGE_S, HEDGE_TIMES = 0.3, 3.0
"""A worker that takes longer than this, and than so many times the median of the others, is not waited for alone."""

_PAUSE_S = 0.02


@dataclass(slots=True)
class _Stream:
    member: Member
    copies: dict[str, Copy]
    began: float
    task: asyncio.Task[None] | None = None
    hedged: bool = False
    paused: bool = False


@dataclass(slots=True)
class Streams:
    """The streams of one search. On the event loop of `members`; what arrives is put into `slots`.

    Attributes
    ----------
    told
        What workers said beside their matches, each with the repositories that it told whole before others.
    tried
        By repository the workers that did not tell it whole, in the order in which they were asked.
    """

    members: Members
    generation: Generation
    order: Order
    holders: Mapping[str, tuple[Member, ...]]
    slots: Slots
    silence_s: float = SILENCE_S
    told: list[tuple[Outcome, frozenset[str]]] = field(default_factory=list)
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _open: list[_Stream] = field(default_factory=list)
    _durations: list[float] = field(default_factory=list)
    _asked: dict[str, set[str]] = field(default_factory=dict)
    _looked: set[str] = field(default_factory=set)

    async def run(self) -> None:
        """Ask until every repository is told whole or given up; cancelling ends all work at the workers."""
        try:
            self._assign(self.slots.names)
            while self._running:
                await asyncio.wait(self._running, timeout=HEDGE_S / 3, return_when=asyncio.FIRST_COMPLETED)
                self._hedge()
        finally:
            for task in list(self._running):
                task.cancel()
            await asyncio.gather(*self._running, return_exceptions=True)

    def _assign(self, names: Sequence[str]) -> None:
        """Begin a stream at the next worker of each repository; give up those without one."""
        groups: dict[Member, list[str]] = {}
        lost = []
        for name in names:
            member = self._next(name)
            if member is None:
                lost.append(name)
            else:
                groups.setdefault(member, []).append(name)
        if lost:
            self._spawn(self._last_try(lost))
        for member, own in groups.items():
            self._begin(member, own)

    async def _last_try(self, names: Sequence[str]) -> None:
        """Ask the schedulers who is there now, and with it who holds these; give up those that nobody new holds."""
        again = [name for name in names if name not in self._looked and not poisoned(self.tried.get(name, ()))]
        self._looked.update(again)
        if again:
            await self.members.look()
            self.holders = {**self.holders, **self.members.holding(self.generation)}
        found = [name for name in again if self._next(name) is not None]
        self.slots.give_up([name for name in names if name not in found])
        if found:
            self._assign(found)

    def _next(self, name: str) -> Member | None:
        """The next worker to ask; None when all were, or it is no use."""
        if poisoned(self.tried.get(name, ())):
            return None
        asked = self._asked.get(name, set())
        live = {member.address for member in self.members.live}
        return next((m for m in self.holders.get(name, ()) if m.address in live and m.address not in asked), None)

    def _begin(self, member: Member, names: Sequence[str]) -> None:
        for name in names:
            self._asked.setdefault(name, set()).add(member.address)
        stream = _Stream(member, self.slots.open(names), time.monotonic())
        self._open.append(stream)
        stream.task = self._spawn(self._follow(stream))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return task

    async def _follow(self, stream: _Stream) -> None:
        try:
            await self._read(stream, replace(self.order, names=tuple(sorted(stream.copies))))
        except RETRIED as error:
            if isinstance(error, GONE):
                self.members.drop(stream.member)
            self._retry(stream, stream.copies, Tried.of(stream.member.name, error, self.silence_s))
        except SourcelightError as error:
            self.slots.fail(error)
        except Exception as error:  # noqa: BLE001 - a fault of ours must end the search, not hang it
            self.slots.fail(ClusterError(f"{type(error).__name__}: {error}"))
        finally:
            self._open.remove(stream)
            self.slots.drop(stream.copies)
        self._durations.append(time.monotonic() - stream.began)

    async def _read(self, stream: _Stream, order: Order) -> None:
        answers = self.members.connections.ask(stream.member.address, SEARCH, order.to_plain())
        async with contextlib.aclosing(answers):
            while True:
                while self.slots.full(list(stream.copies)):
                    stream.paused = True
                    await asyncio.sleep(_PAUSE_S)
                stream.paused = False
                message = await asyncio.wait_for(anext(answers), self.silence_s)
                if self._take(stream, message):
                    return

    def _take(self, stream: _Stream, message: Mapping[str, Any]) -> bool:
        """Keep what a message says; True for the last one."""
        kind = message["kind"]
        if kind == "pieces":
            for piece in message["pieces"]:
                if isinstance(piece, Passed):
                    self.slots.passed(stream.copies, piece.repositories)
                elif isinstance(piece, Failed):
                    for name, reason in piece.reasons.items():
                        self._retry(stream, (name,), Tried(stream.member.name, reason, engine=True))
                else:
                    self.slots.add(stream.copies, piece)
        elif kind == "fault":
            raise fault_from_plain(message)
        elif kind == "end":
            self._ended(stream, Outcome(**message["outcome"]))
            return True
        return False

    def _ended(self, stream: _Stream, outcome: Outcome) -> None:
        whole = [name for name in stream.copies if name not in outcome.failed]
        first = self.slots.complete(stream.copies, whole)
        self.told.append((outcome, frozenset(first)))
        for name, reason in outcome.failed.items():
            self._retry(stream, (name,), Tried(stream.member.name, reason, engine=True))
        # What another worker told whole by now need not be told twice.
        for other in self._open:
            if other is not stream and other.task is not None and self._told_by_others(other):
                other.task.cancel()

    def _told_by_others(self, stream: _Stream) -> bool:
        return all(self.slots.slots[name].complete for name in stream.copies)

    def _retry(self, stream: _Stream, names: Iterable[str], tried: Tried) -> None:
        """Ask the next worker for what this one did not tell whole, unless another is asked for it already."""
        lost = self.slots.drop({name: stream.copies[name] for name in names})
        for name in lost:
            self.tried.setdefault(name, []).append(tried)
        others = {name for other in self._open if other is not stream for name in other.copies}
        self._assign([name for name in lost if name not in others])

    def _hedge(self) -> None:
        """Ask a second worker for what a slow one has not told whole, once the others have ended."""
        if not self._durations:
            return
        limit = max(HEDGE_S, HEDGE_TIMES * statistics.median(self._durations))
        now = time.monotonic()
        for stream in list(self._open):
            if stream.hedged or stream.paused or now - stream.began < limit:
                continue
            stream.hedged = True
            groups: dict[Member, list[str]] = {}
            for name in stream.copies:
                member = None if self.slots.slots[name].complete else self._next(name)
                if member is not None:
                    groups.setdefault(member, []).append(name)
            for member, names in groups.items():
                self._begin(member, names)
