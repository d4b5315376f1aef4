"""A time limit that a loop without time does not use up."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest

from sourcelight.backends.cluster.transport.connections import patient


def test_nobody_is_waited_for_longer_than_was_said() -> None:
    async def wait() -> None:
        async with patient(0.2):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        anyio.run(wait)


def test_what_comes_after_a_loop_was_busy_is_in_time() -> None:
    async def hear() -> str:
        reply: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        async with patient(0.5):
            for _ in range(2):
                threading.Event().wait(0.6)  # the loop is kept from all else
                await asyncio.sleep(0)
            asyncio.get_running_loop().call_soon(reply.set_result, "here")
            return await reply

    assert anyio.run(hear) == "here"
