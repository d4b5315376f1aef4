"""What is sent and has to wait goes on where it was, and is told what happens while it waits."""

from __future__ import annotations

import asyncio

import pytest

from sourcelight.server.http.response import RemainingAwait

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


class Sent:
    """Waits for two futures, one after the other, and notes what happens."""

    def __init__(self) -> None:
        loop = asyncio.get_running_loop()
        self.first, self.second = loop.create_future(), loop.create_future()
        self.seen: list[object] = []

    async def send(self) -> None:
        for future in (self.first, self.second):
            try:
                self.seen.append(await future)
            except OSError as exc:
                self.seen.append(exc)
            except asyncio.CancelledError:
                self.seen.append("cancelled")
                raise


async def waiting(sent: Sent) -> None:
    begun = sent.send().__await__()
    await RemainingAwait(begun, next(begun))


async def test_it_goes_on_when_what_it_waits_for_has_come() -> None:
    sent = Sent()
    task = asyncio.create_task(waiting(sent))
    await asyncio.sleep(0)
    sent.first.set_result(1)
    await asyncio.sleep(0)
    sent.second.set_result(2)
    await task
    assert sent.seen == [1, 2]


async def test_it_is_told_of_faults_and_of_being_cancelled() -> None:
    sent, error = Sent(), OSError("gone")
    task = asyncio.create_task(waiting(sent))
    await asyncio.sleep(0)
    sent.first.set_exception(error)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sent.seen == [error, "cancelled"]


async def test_a_time_limit_ends_it() -> None:
    sent = Sent()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await waiting(sent)
    assert sent.seen == ["cancelled"]
