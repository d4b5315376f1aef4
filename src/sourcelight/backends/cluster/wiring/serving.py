"""A Dask worker that takes the orders of services."""

from __future__ import annotations

import contextlib
from typing import Any

from sourcelight.backends.cluster.messages import CALL, HELLO, KEEP, SEARCH, TELL
from sourcelight.backends.cluster.wiring.packing import unpacked, wrapped_message


def serve_orders(worker: Any, desk: Any) -> None:
    """Let a Dask worker's own server take the orders of services."""
    from distributed.core import Status

    def handler(operation: str) -> Any:
        async def take(comm: Any, order: bytes) -> Any:
            messages = desk.messages(operation, unpacked(order))
            try:
                async with contextlib.aclosing(messages):
                    async for message in messages:
                        await comm.write(wrapped_message(message), serializers=["dask", "pickle"])
                        if comm.stream is not None and comm.stream.writing():
                            await comm.stream.write(b"")  # Dask waits for no socket: what is not read would pile up
            except OSError:
                comm.abort()  # whoever asked is gone; the work was stopped
            return Status.dont_reply

        return take

    async def hello(comm: Any) -> Any:
        await comm.write(desk.hello())
        return Status.dont_reply

    async def keep(comm: Any, order: bytes) -> Any:
        desk.keep(unpacked(order))
        await comm.write({"kind": "end"})
        return Status.dont_reply

    worker.handlers[SEARCH] = handler(SEARCH)
    worker.handlers[CALL] = handler(CALL)
    worker.handlers[TELL] = handler(TELL)
    worker.handlers[KEEP] = keep
    worker.handlers[HELLO] = hello
