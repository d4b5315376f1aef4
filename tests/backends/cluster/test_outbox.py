"""What a worker sends, and when it ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from sourcelight.backends.cluster.worker.outbox import FIRST_BYTES, Outbox
from sourcelight.core.cancellation import Cancellation


async def _collect(blocks: int) -> list[tuple[list[Any], bool]]:
    """What is taken while another thread puts pieces and closes."""
    outbox = Outbox(asyncio.get_running_loop(), Cancellation())

    def work() -> None:
        for number in range(blocks):
            outbox.put(number, urgent=True)
        outbox.close("end")

    thread = threading.Thread(target=work)
    thread.start()
    results: list[tuple[list[Any], bool]] = []
    while not results or not results[-1][1]:
        results.append(await outbox.take())
    await asyncio.to_thread(thread.join)
    return results


def test_the_last_word_is_known_to_be_the_last_whenever_it_is_taken() -> None:
    """A connection is used again after it: what came behind would be taken for an answer to the next question."""
    for turn in range(200):
        result = asyncio.run(_collect(turn % 4))  # noqa: TID251 - a loop of its own for each turn
        messages = [block for blocks, _ in result for block in blocks]
        assert messages == [*range(turn % 4), "end"]
        assert result[-1][0][-1] == "end"
        assert [last for _, last in result] == [False] * (len(result) - 1) + [True]


def test_a_thread_that_found_many_rows_goes_on_when_they_are_sent() -> None:
    """Else the loop would wait for the thread's turn to end, several times, before they leave."""

    async def follow() -> list[str]:
        happened = []
        outbox = Outbox(asyncio.get_running_loop(), Cancellation())

        def work() -> None:
            outbox.put("rows", FIRST_BYTES)
            happened.append("goes on")
            outbox.close("end")

        working = asyncio.get_running_loop().run_in_executor(None, work)
        assert await outbox.take() == (["rows"], False)
        happened.append("sent")
        assert await outbox.take() == (["end"], True)
        await working
        return happened

    for _ in range(5):
        assert asyncio.run(follow()) == ["sent", "goes on"]  # noqa: TID251 - a loop of its own for each turn


def test_nobody_waits_for_rows_to_be_sent_to_somebody_who_went_away() -> None:
    async def follow() -> None:
        cancellation = Cancellation()
        outbox = Outbox(asyncio.get_running_loop(), cancellation)
        working = asyncio.get_running_loop().run_in_executor(None, outbox.put, "rows", FIRST_BYTES)
        assert await outbox.take() == (["rows"], False)
        cancellation.cancel()
        await working

    asyncio.run(follow())  # noqa: TID251 - a loop of its own


def test_a_search_that_ends_soon_is_told_in_one_message() -> None:
    async def follow() -> tuple[list[Any], bool]:
        outbox = Outbox(asyncio.get_running_loop(), Cancellation())
        for number in range(3):
            outbox.put(number)
        outbox.close("end")
        return await outbox.take()

    assert asyncio.run(follow()) == ([0, 1, 2, "end"], True)  # noqa: TID251 - a loop of its own
