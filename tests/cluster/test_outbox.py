"""What a worker sends, and when it ends."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from sourcelight.backends.cluster.worker.outbox import Outbox
from sourcelight.core.batches import Cancellation


async def _taken(pieces: int) -> list[tuple[list[Any], bool]]:
    """What is taken while another thread puts pieces and closes."""
    outbox = Outbox(asyncio.get_running_loop(), Cancellation())

    def work() -> None:
        for number in range(pieces):
            outbox.put(number, urgent=True)
        outbox.close("end")

    thread = threading.Thread(target=work)
    thread.start()
    found: list[tuple[list[Any], bool]] = []
    while not found or not found[-1][1]:
        found.append(await outbox.take())
    await asyncio.to_thread(thread.join)
    return found


def test_the_last_word_is_known_to_be_the_last_whenever_it_is_taken() -> None:
    """A connection is used again after it: what came behind would be taken for an answer to the next question."""
    for turn in range(200):
        found = asyncio.run(_taken(turn % 4))  # noqa: TID251 - a loop of its own for each turn
        said = [piece for pieces, _ in found for piece in pieces]
        assert said == [*range(turn % 4), "end"]
        assert found[-1][0][-1] == "end"
        assert [last for _, last in found] == [False] * (len(found) - 1) + [True]
