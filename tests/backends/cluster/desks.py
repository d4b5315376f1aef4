"""A cluster inside this process: Dask's own servers and comms, our desks behind them, and faults put in between."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from distributed.core import Server

from sourcelight.backends.cluster.connection import ClusterConnection
from sourcelight.backends.cluster.engine import ClusterEngine
from sourcelight.backends.cluster.storage import ShardStorage
from sourcelight.backends.cluster.transport.exchange import serve_orders
from sourcelight.backends.cluster.worker.handler import RequestHandler

WORKERS = ("w1", "w2", "w3")
T = TypeVar("T")
Message = dict[str, Any]
Messages = AsyncGenerator[Message, None]
Harm = Callable[[Messages], Messages]
"""Given what a worker would say: what it says in place of it."""


class HarmedDesk:
    """The desk of a worker, with `harm` between it and the wire; with `versions` the other side has others than it.

    Unless it `keeps`, shards come when they are asked for, one after another, so that each can be harmed.
    """

    def __init__(self, desk: RequestHandler) -> None:
        self.desk = desk
        self.harm: Harm | None = None
        self.request_count = 0
        self.busy = 0
        self.versions = ""
        self.keeps = False

    def keep(self, order: Mapping[str, Any]) -> None:
        if self.keeps:
            self.desk.keep(order)

    def hello(self) -> Message:
        return {**self.desk.hello(), **({"versions": self.versions} if self.versions else {})}

    async def messages(self, operation: str, order: Mapping[str, Any]) -> Messages:
        self.request_count += 1
        self.busy += 1
        request = {**order, "versions": self.versions} if self.versions else order
        reply: Messages = self.desk.messages(operation, request)
        if self.harm is not None:
            reply = self.harm(reply)
        try:
            async for message in reply:
                yield message
        finally:
            await reply.aclose()
            self.busy -= 1


class DeskCell:
    """A scheduler, as far as services ask it, and workers; each with a server of its own on one loop."""

    def __init__(self, storage: str, folder: Path, names: tuple[str, ...] = WORKERS) -> None:
        self.desks = {name: HarmedDesk(RequestHandler(ShardStorage(storage), folder / name)) for name in names}
        self.servers: dict[str, Server] = {}
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="desk-cell")
        self._thread.start()
        self.address = self.run(self._serve())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run something on the loop of the servers."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(20)

    def vanish(self, name: str) -> None:
        """End a worker's server as a killed process does: its port is closed, its connections are cut."""
        self.run(self._finished(self.servers[name]))

    def close(self) -> None:
        """End everything; waits for what is searched."""
        for server in self.servers.values():
            self.run(self._finished(server))
        for desk in self.desks.values():
            desk.desk.close()
        self.run(self._idle())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(20)
        self._loop.close()

    async def _serve(self) -> str:
        for name, desk in self.desks.items():
            server = self.servers[name] = Server({})
            serve_orders(server, desk)
            await server.listen("tcp://127.0.0.1:0")
        scheduler = self.servers["scheduler"] = Server({"identity": self._identity})
        await scheduler.listen("tcp://127.0.0.1:0")
        return str(scheduler.address)

    def _identity(self, n_workers: int) -> Message:
        del n_workers
        return {"workers": {str(self.servers[name].address): {"name": name} for name in self.desks}}

    async def _finished(self, server: Server) -> None:
        await server.close()

    async def _idle(self) -> None:
        remaining = [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]
        for task in remaining:
            task.cancel()
        await asyncio.gather(*remaining, return_exceptions=True)


@contextmanager
def desk_cluster(
    storage: str, folder: Path, *, keeps: bool = False, max_bytes: int | None = None
) -> Iterator[tuple[ClusterEngine, DeskCell]]:
    """Workers without any shard yet, which fetch what is placed on them if they `keeps`, and an engine over them."""
    cell = DeskCell(storage, folder)
    for desk in cell.desks.values():
        desk.keeps = keeps
        desk.desk.cache.max_bytes = max_bytes
    try:
        engine = ClusterEngine(ClusterConnection([cell.address], storage, silence_s=100.0))
        try:
            yield engine, cell
        finally:
            engine.close()
    finally:
        cell.close()
