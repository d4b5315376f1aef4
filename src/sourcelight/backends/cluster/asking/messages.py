"""What one worker says to an order, message by message."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, Mapping
from typing import Any

from sourcelight.backends.cluster.asking.members import Member, Members
from sourcelight.backends.cluster.messages import fault_from_plain

Message = Mapping[str, Any]


async def messages_of(
    members: Members, operation: str, order: Mapping[str, Any], member: Member, silence_s: float
) -> AsyncGenerator[Message]:
    """Give the messages of a worker; that of kind ``end`` is the last. Closing the iterator stops its work.

    Raises
    ------
    TimeoutError
        When it says nothing for `silence_s` seconds, once it has the order.
    WorkersUnreachable
        When there is no connection, or it breaks.
    SourcelightError
        What the worker says that the order raises.
    """
    async with contextlib.aclosing(members.connections.ask(member.address, operation, order, silence_s)) as said:
        async for message in said:
            if message["kind"] == "fault":
                raise fault_from_plain(message)
            yield message
