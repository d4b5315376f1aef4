"""One order to one worker, and to the next when it does not answer: calls of tools, and counts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sourcelight.backends.cluster.asking.members import Member, Members
from sourcelight.backends.cluster.asking.messages import messages_of
from sourcelight.backends.cluster.asking.tried import GONE, RETRIED, Tried, poisoned, reasons
from sourcelight.backends.cluster.messages import Order
from sourcelight.core.errors import ClusterError

Message = Mapping[str, Any]


class NoAnswer(ClusterError):
    """Raised when none of the workers that could answer did; `tried` says why."""

    def __init__(self, what: str, tried: Sequence[Tried]) -> None:
        self.tried = tuple(dict.fromkeys(tried))
        super().__init__(f"{what} could not be answered. Asked: {reasons(self.tried)}. Try again in a moment.")


async def ask_one(
    members: Members,
    operation: str,
    order: Order,
    candidates: Sequence[Member],
    *,
    what: str,
    silence_s: float,
    heard: Callable[[Message], None] = lambda _: None,
) -> Message:
    """The last message of the first worker that answers.

    Parameters
    ----------
    members
        Where a worker that is gone is dropped.
    operation, order
        What is asked.
    candidates
        Workers in the order in which they are asked.
    what
        Named when nobody answers.
    silence_s
        Seconds without a message after which a worker is taken for dead.
    heard
        Called with each message before the last; none is repeated when another worker is asked.

    Raises
    ------
    NoAnswer
        When no worker answers, or two fail alike.
    SourcelightError
        What the call itself raises.
    """
    tried: list[Tried] = []
    for member in candidates:
        if poisoned(tried):
            break
        try:
            return await _asked(members, operation, order, member, silence_s, heard)
        except RETRIED as error:
            tried.append(Tried.of(member.name, error, silence_s))
            if isinstance(error, GONE):
                members.drop(member, tried[-1])
    raise NoAnswer(what, tried or members.absent)


async def _asked(
    members: Members,
    operation: str,
    order: Order,
    member: Member,
    silence_s: float,
    heard: Callable[[Message], None],
) -> Message:
    async with contextlib.aclosing(messages_of(members, operation, order.to_plain(), member, silence_s)) as said:
        async for message in said:
            if message["kind"] != "end":
                heard(message)
            elif message.get("failed"):
                name, reason = next(iter(message["failed"].items()))
                raise ClusterError(f"{name}: {reason}")
            else:
                return message
    raise AssertionError("an answer ends with its last message")
