"""Streams of events free their slot, however their reader leaves."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from starlette.requests import ClientDisconnect

from sourcelight.server.http.response import EventStream


@pytest.mark.parametrize("message", ["http.response.start", "http.response.body"])
def test_a_reader_who_leaves_at_any_message_frees_the_slot(message: str) -> None:
    """One who leaves before the first event never runs the generator, so that its `finally` would never run either."""
    endings: list[str] = []

    async def frames() -> AsyncGenerator[bytes, None]:
        while True:
            yield b": \n\n"

    async def end() -> None:
        endings.append("end")

    async def send(sent: Any) -> None:
        if sent["type"] == message:
            raise OSError("gone")

    async def receive() -> dict[str, Any]:
        await asyncio.sleep(60)
        return {"type": "http.disconnect"}

    async def work() -> None:
        scope = {"type": "http", "asgi": {"spec_version": "2.4"}}
        with pytest.raises((ClientDisconnect, OSError)):
            await EventStream(frames(), {}, end)(scope, receive, send)

    with asyncio.Runner() as runner:
        runner.run(work())
    assert endings == ["end"]
