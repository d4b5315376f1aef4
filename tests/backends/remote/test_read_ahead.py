"""A reader that takes its time is not cut off: what comes is kept for it, up to a bound."""

from __future__ import annotations

import asyncio
import random
import socket
import threading
from collections.abc import AsyncGenerator, Iterator

import pytest

from server.running_service import TOKEN, ScriptedEngine
from sourcelight.backends.remote import RemoteBackend, stream_limits
from sourcelight.backends.remote.read_ahead import Spool, read_ahead
from sourcelight.core.batches import Event
from sourcelight.core.errors import StreamBroken
from sourcelight.core.wire import SearchRequest
from sourcelight.core.wire.events import Alert, Done, Progress
from sourcelight.server.http.app import create_app
from sourcelight.server.http.connections import ConnectionLimits
from sourcelight.server.http.listener import address_of, bind
from sourcelight.server.http.run import HttpServer
from sourcelight.server.http.settings import Settings
from sourcelight.server.http.stream import StreamLimits


@pytest.mark.parametrize("seed", range(8))
def test_bytes_come_out_in_the_order_they_went_in(seed: int) -> None:
    """Compared with a list, whatever is in memory and whatever is in the file."""
    chance = random.Random(seed)  # noqa: S311 - a fixed seed
    spool, naive = Spool(memory_bytes=50, file_bytes=400), bytearray()
    output, put = bytearray(), bytearray()
    for number in range(2_000):
        if chance.random() < 0.55:
            portion = bytes([number % 251]) * chance.randrange(1, 40)
            if spool.put(portion):
                naive += portion
                put += portion
        else:
            portion = spool.take()
            output += portion
            assert naive.startswith(portion)
            del naive[: len(portion)]
        assert bool(spool) is bool(naive)
        assert len(naive) <= 50 + 400 + 40
    while portion := spool.take():
        output += portion
    assert output == put
    spool.close()


def test_no_more_is_kept_than_may_be_and_faults_come_last() -> None:
    read: list[int] = []

    async def source() -> AsyncGenerator[bytes, None]:
        for number in range(100):
            read.append(number)
            yield b"x" * 10
        raise StreamBroken("the line broke")

    async def work() -> int:
        read_bytes = 0
        async with read_ahead(source(), Spool(memory_bytes=100, file_bytes=100)) as portions:
            await asyncio.sleep(0.05)
            assert len(read) <= 22, "the source waits"
            with pytest.raises(StreamBroken):  # noqa: PT012 - what came before it counts
                async for portion in portions:
                    read_bytes += len(portion)
        return read_bytes

    with asyncio.Runner() as runner:
        assert runner.run(work()) == 1_000


def test_leaving_ends_the_reading() -> None:
    endings = []

    async def source() -> AsyncGenerator[bytes, None]:
        try:
            while True:
                yield b"x"
                await asyncio.sleep(0)
        finally:
            endings.append(True)

    async def work() -> None:
        async with read_ahead(source()) as portions:
            async for _ in portions:
                break
        assert endings == [True]
        assert [task for task in asyncio.all_tasks() if task.get_name() == "sourcelight-read-ahead"] == []

    with asyncio.Runner() as runner:
        runner.run(work())


def test_a_slow_loop_in_a_notebook_is_not_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes longer than the service waits for a reader, over an answer that fits no buffer of a connection."""
    alerts = 1_500
    # Alerts are the bulk of this answer, and a search keeps fewer.
    monkeypatch.setattr(stream_limits, "MAX_ALERTS", alerts)
    monkeypatch.setattr(stream_limits, "MAX_KEPT_CHARS", 1 << 30)
    text = random.Random(1).randbytes(8_000).hex()  # noqa: S311 - hardly smaller when it is packed

    def script(*_: object) -> Iterator[Event]:
        yield Progress(done=False, match_count=0, duration_ms=1)
        for _number in range(alerts):
            yield Alert(text)
        yield Progress(done=True, match_count=0, duration_ms=1)
        yield Done()

    async def loop(url: str) -> int:
        result = 0
        backend = RemoteBackend(url, TOKEN)
        async for event in backend.stream(SearchRequest("x")):
            result += isinstance(event, Alert)
            if result in {1, 2}:
                await asyncio.sleep(1.2)
        await backend.aclose()
        return result

    app = create_app(ScriptedEngine(script), Settings(), owner_token=TOKEN, limits=StreamLimits(unread_s=0.3))
    listener = bind("127.0.0.1", 0)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65_536)
    server = HttpServer(app, connections=ConnectionLimits(stall_s=0.6))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with asyncio.Runner() as runner:
            assert runner.run(loop(address_of(listener))) == alerts
    finally:
        server.should_exit = True
        thread.join(15)
        listener.close()
