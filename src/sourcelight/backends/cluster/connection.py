"""A service's connection to a cluster: its storage, generations and workers, and what one search sees of them."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

from sourcelight.backends.cluster.coordinator.members import WorkerDirectory, WorkerInfo
from sourcelight.backends.cluster.coordinator.streams import SILENCE_S
from sourcelight.backends.cluster.storage.generation import Generation, StoredShard, current_id, read_generation
from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.transport.connections import ConnectionPool, check_address, require_distributed
from sourcelight.core.errors import ClusterError, ConfigurationError
from sourcelight.engines.execution.plan import Plan
from sourcelight.engines.execution.plan_cache import PlanCache
from sourcelight.repos import Catalog, Repository, RepositoryKey

GENERATION_S = 5.0
"""Seconds between two checks of storage for a newer generation. Without searches there are no checks."""

_STOP_S = 5.0
"""Seconds to wait for the thread of the loop; it is a daemon, so that a stuck one ends with the process."""

T = TypeVar("T")

ClusterPlanCache = PlanCache[tuple[list[Plan], list[str]]]
"""Plans of a query, and the names of their repositories."""


class ClusterConnection:
    """The workers and shards of a cluster. Safe to share between threads; `close` it.

    Parameters
    ----------
    schedulers
        Address of the scheduler of each cell: one, or two with a replica each.
    storage
        URL of the shards.
    tls
        Files ``ca``, ``cert`` and ``key`` for addresses with ``tls://``.
    silence_s
        Seconds without a message after which a worker counts as dead.

    Raises
    ------
    ConfigurationError
        If the address is invalid or not encrypted, or storage has no generation.
    MissingExtra
        When Dask distributed or fsspec is not installed.
    StorageError
        When storage can't be read.
    """

    def __init__(
        self,
        schedulers: Sequence[str],
        storage: str,
        *,
        tls: Mapping[str, str] | None = None,
        silence_s: float = SILENCE_S,
    ) -> None:
        require_distributed()
        if not schedulers:
            raise ConfigurationError("no scheduler address given; pass one, such as tls://HOST:PORT")

        for address in schedulers:
            check_address(address, tls)

        self.schedulers = tuple(schedulers)
        self.tls = tls
        self.storage = ShardStorage(storage)
        self.silence_s = silence_s
        self._generation = self._read("")
        self._read_at = time.monotonic()
        self._guard = threading.Lock()
        self._refreshing = threading.Lock()

        # Its own loop in its own thread: callers are threads, and may themselves run inside a loop, as in a notebook.
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="sourcelight-cluster", daemon=True)
        self._thread.start()
        self.members = self.run(self._connect(tls))

    @property
    def generation(self) -> Generation:
        """The generation that searches run over; a newer one is noticed within `GENERATION_S` seconds of a search."""
        with self._guard:
            current, age = self._generation, time.monotonic() - self._read_at
        # Storage may be slow or unreachable, so a search never waits for it: it starts a thread, one at a time, and
        # runs over the current generation.
        if age > GENERATION_S and self._refreshing.acquire(blocking=False):
            threading.Thread(target=self._refresh, name="sourcelight-generation", daemon=True).start()
        return current

    def refresh(self) -> Generation:
        """Read the newest generation now; raises `StorageError`."""
        newest = self._read(self._generation.id)
        with self._guard:
            self._generation, self._read_at = newest, time.monotonic()
        return newest

    def holders(self, of: Generation | None = None) -> dict[str, tuple[WorkerInfo, ...]]:
        """Return the workers that hold the shard of each repository of a generation, by default of the newest."""
        generation = of or self.generation

        async def list_holders() -> dict[str, tuple[WorkerInfo, ...]]:
            await self.members.ready()
            return self.members.holding(generation)

        return self.run(list_holders())

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine on the loop of the cluster, and wait for its result."""
        return self.start(work).result()

    def start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Start a coroutine on the loop of the cluster."""
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def close(self) -> None:
        """End all connections and the loop."""
        if self._loop.is_closed():
            return

        async def end() -> None:
            await self.members.close()
            # A connection that is cancelled while it is made would leave its socket open; `connections.close` ends
            # these.
            spared = {asyncio.current_task(), *self.members.connections.beginning}
            tasks = [task for task in asyncio.all_tasks() if task not in spared]
            for task in tasks:
                task.cancel()

            await asyncio.gather(*tasks, return_exceptions=True)
            await self.members.connections.close()
            await asyncio.sleep(0)  # sockets are closed by what they left to the loop

        self.run(end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_STOP_S)
        self._loop.close()

    async def _connect(self, tls: Mapping[str, str] | None) -> WorkerDirectory:
        return WorkerDirectory(ConnectionPool(tls), self.schedulers)

    def _refresh(self) -> None:
        try:
            self.refresh()
        except ClusterError:  # the current generation stays, and storage is read again later
            with self._guard:
                self._read_at = time.monotonic()
        finally:
            self._refreshing.release()

    def _read(self, known_id: str) -> Generation:
        current = current_id(self.storage)
        if not current:
            raise ConfigurationError(
                f"there are no shards at {self.storage!r} yet: run `sourcelight index --cluster … --storage …` first"
            )
        if current == known_id:
            return self._generation
        return read_generation(self.storage, current)


@dataclass(frozen=True)
class ClusterSnapshot:
    """One generation of a cluster, and the workers.

    A search or call uses one snapshot from start to end, so its plans, names and shards belong to the same generation
    even if a newer one appears meanwhile.

    Parameters
    ----------
    fleet
        Connection to the workers.
    generation
        Generation to search.
    plan_cache
        Plans of earlier searches.
    """

    fleet: ClusterConnection
    generation: Generation
    plan_cache: ClusterPlanCache

    @cached_property
    def catalog(self) -> Catalog:
        """The repositories that have a shard, as a catalog with no place on this machine."""
        return catalog_of(self.generation)

    def holders(self) -> dict[str, tuple[WorkerInfo, ...]]:
        """Return the workers that hold the shard of each repository of the generation."""
        return self.fleet.holders(self.generation)


def catalog_of(generation: Generation) -> Catalog:
    """Return the repositories of a generation that have a shard."""
    return Catalog.from_repositories(
        repositories_of(generation.searchable), contexts=generation.contexts, skipped=generation.skipped
    )


def repositories_of(entries: Iterable[StoredShard]) -> list[Repository]:
    """Return the repositories of some shards; they have no directory here."""
    return [
        Repository(
            info=entry.info,
            key=RepositoryKey(entry.shard),
            kind="git",
            git_dir="",
            worktree="",
            incomplete=entry.incomplete,
            lender_names=entry.lenders,
        )
        for entry in entries
    ]
