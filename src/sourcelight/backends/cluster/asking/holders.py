"""One call over many workers: each answers for the repositories that it holds, others for those that it does not."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sourcelight.backends.cluster.asking.members import Member, Members
from sourcelight.backends.cluster.asking.tried import GONE, RETRIED, Tried, poisoned
from sourcelight.backends.cluster.messages import CALL, TELL, Order, fault_from_plain
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.core.errors import ClusterError

Message = Mapping[str, Any]
_ADD = "add"


@dataclass(slots=True)
class Holders:
    """The workers of a call's repositories, and what became of asking them. On the event loop of `members`.

    Parameters
    ----------
    members, generation, holders
        Who is there, and who holds what.
    order
        What is asked of each worker, for its own repositories.
    silence_s
        Seconds without a message after which a worker is taken for dead.
    heard
        Called with messages on the way.

    Attributes
    ----------
    tried
        By repository the workers that did not answer for it, in the order in which they were asked.
    skipped
        Repositories that no worker answers for.
    """

    members: Members
    generation: Generation
    order: Order
    holders: Mapping[str, tuple[Member, ...]]
    silence_s: float
    heard: Callable[[Message], None] = lambda _: None
    tried: dict[str, list[Tried]] = field(default_factory=dict)
    skipped: list[str] = field(default_factory=list)
    _asked: dict[str, set[str]] = field(default_factory=dict)
    _looked: bool = False

    async def each(self) -> list[Message]:
        """The last message of each worker; those whose worker did not answer are asked of the next.

        Raises what the call itself raises.
        """
        messages: list[Message] = []
        open_ = list(self.order.names)
        while groups := await self._groups(open_):
            outcomes = await asyncio.gather(
                *(self._follow(member, own, self.order) for member, own in groups.items()), return_exceptions=True
            )
            open_ = []
            for (member, own), outcome in zip(groups.items(), outcomes, strict=True):
                if isinstance(outcome, BaseException):
                    self._failed(member, own, outcome)
                    open_ += own
                else:
                    messages.append(outcome)
                    open_ += self._missing(member, outcome)
        return messages

    async def together(self) -> list[Message]:
        """The last message of each worker, where all wait for the numbers of all on the way.

        When one does not answer all begin again, its repositories at the next worker. Raises what the call itself
        raises.
        """
        while groups := await self._groups(self._left()):
            order = replace(self.order, token=os.urandom(8).hex())
            meeting = _Meeting(self, order.token, len(groups))
            tasks = {
                asyncio.get_running_loop().create_task(self._follow(member, own, order, meeting.met)): (member, own)
                for member, own in groups.items()
            }
            try:
                await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            again = False
            for task, (member, own) in tasks.items():
                fault = asyncio.CancelledError() if task.cancelled() else task.exception()
                if isinstance(fault, asyncio.CancelledError):
                    again = True
                elif fault is not None:
                    self._failed(member, own, fault)
                    again = True
                elif self._missing(member, task.result()):
                    again = True
            if not again:
                return [task.result() for task in tasks]
        return []

    async def _groups(self, names: Sequence[str]) -> dict[Member, list[str]]:
        """The next worker of each repository; those without one are skipped, once the schedulers were asked again."""
        lost = [name for name in names if self._next(name) is None]
        if lost and not self._looked:
            self._looked = True
            await self.members.look()
            self.holders = {**self.holders, **self.members.holding(self.generation)}
        groups: dict[Member, list[str]] = {}
        for name in names:
            member = self._next(name)
            if member is None:
                self.skipped.append(name)
            else:
                groups.setdefault(member, []).append(name)
        return groups

    def _left(self) -> list[str]:
        skipped = set(self.skipped)
        return [name for name in self.order.names if name not in skipped]

    def _next(self, name: str) -> Member | None:
        if poisoned(self.tried.get(name, ())):
            return None
        asked = self._asked.get(name, set())
        live = {member.address for member in self.members.live}
        return next((m for m in self.holders.get(name, ()) if m.address in live and m.address not in asked), None)

    def _failed(self, member: Member, names: Sequence[str], fault: BaseException) -> None:
        """Note why a worker did not answer; raises what another would say too."""
        if not isinstance(fault, RETRIED):
            raise fault
        if isinstance(fault, GONE):
            self.members.drop(member)
        for name in names:
            self._note(member, name, Tried.of(member.name, fault, self.silence_s))

    def _missing(self, member: Member, message: Message) -> list[str]:
        """Repositories that a worker answered without, as it could not have their shards."""
        for name, reason in message.get("failed", {}).items():
            self._note(member, name, Tried(member.name, reason, engine=True))
        return list(message.get("failed", {}))

    def _note(self, member: Member, name: str, tried: Tried) -> None:
        self._asked.setdefault(name, set()).add(member.address)
        self.tried.setdefault(name, []).append(tried)

    async def _follow(
        self,
        member: Member,
        names: Sequence[str],
        order: Order,
        met: Callable[[Member, Message], Awaitable[None]] | None = None,
    ) -> Message:
        order = replace(order, names=tuple(names))
        answers = self.members.connections.ask(member.address, CALL, order.to_plain())
        async with contextlib.aclosing(answers):
            while True:
                message = await asyncio.wait_for(anext(answers), self.silence_s)
                kind = message["kind"]
                if kind == "fault":
                    raise fault_from_plain(message)
                if kind == "end":
                    return message
                if kind == "share" and met is not None:
                    await met(member, message)
                else:
                    self.heard(message)


class _Meeting:
    """Numbers of all workers of one ranking, put together when the last of them has said its own."""

    def __init__(self, holders: Holders, token: str, count: int) -> None:
        self._holders, self._token, self._count = holders, token, count
        self._said: list[Sequence[Any]] = []
        self._whole: asyncio.Future[list[Any]] = asyncio.get_running_loop().create_future()

    async def met(self, member: Member, message: Message) -> None:
        """Take one worker's numbers, and tell it those of all once they are known."""
        whole = self._whole
        self._said.append(message["numbers"])
        if len({len(said) for said in self._said}) > 1:
            raise ClusterError("the workers do not rank by the same rules")
        if len(self._said) == self._count:
            join = sum if message["how"] == _ADD else max
            whole.set_result([join(column) for column in zip(*self._said, strict=True)])
            self._said, self._whole = [], asyncio.get_running_loop().create_future()
        told = {"token": self._token, "numbers": await whole}
        answers = self._holders.members.connections.ask(member.address, TELL, told)
        async with contextlib.aclosing(answers):
            await asyncio.wait_for(anext(answers), self._holders.silence_s)
