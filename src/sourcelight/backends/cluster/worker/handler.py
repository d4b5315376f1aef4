"""Run requests in threads of a worker, and send their messages meanwhile.

Each request has a thread and an outbox, from which the event loop sends. A reader that leaves cancels the thread and
waits for it, so that no shard is closed under it. Replicas are fetched by one more thread, which a newer list of shards
stops.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from sourcelight.backends.cluster.messages import (
    CALL,
    PROTOCOL,
    SEARCH,
    TELL,
    RepositoriesDone,
    RepositoriesFailed,
    ResultBatch,
    WorkerRequest,
    error_to_plain,
    non_default_fields,
    versions,
)
from sourcelight.backends.cluster.storage.objects import ShardStorage
from sourcelight.backends.cluster.worker.engines import EngineCache, formats
from sourcelight.backends.cluster.worker.outbox import Outbox
from sourcelight.backends.cluster.worker.search import shard_search, viewer_of
from sourcelight.backends.cluster.worker.shard_cache import ShardCache
from sourcelight.backends.cluster.worker.tool_calls import StatsMailbox, call_tool
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, ClusterError, SourcelightError

Message = dict[str, Any]
# More than cores: many requests wait for storage or for the numbers of other workers.
_THREADS = 32


class RequestHandler:
    """Runs requests concurrently in its own threads.

    Parameters
    ----------
    storage
        Of the generations and shards.
    folder
        The cache of this worker alone.
    max_bytes
        Bytes that the cache may take; None: no bound.
    """

    def __init__(self, storage: ShardStorage, folder: str | os.PathLike[str], max_bytes: int | None = None) -> None:
        self.cache = ShardCache(storage, folder, max_bytes)
        self._engines = EngineCache(storage, self.cache)
        self._posts = StatsMailbox()
        self._threads = ThreadPoolExecutor(_THREADS, "sourcelight-worker")

        # A thread of its own: fetching replicas in the background must not take threads from searches.
        self._keeping = ThreadPoolExecutor(1, "sourcelight-keeping")
        self._shutdown = Cancellation()

        # Guarded by `_guard`, since requests end in threads of the pool and on the loop.
        self._running: set[Cancellation] = set()
        self._closed = False
        self._guard = threading.Lock()

    def hello(self) -> Message:
        """Return versions and formats, and the ids of cached shards."""
        return {
            "protocol": PROTOCOL,
            "versions": versions(),
            "formats": formats(),
            "shards": sorted(self.cache.shard_sizes()),
            "process": os.getpid(),
        }

    def keep(self, payload: Mapping[str, Any]) -> None:
        """Fetch the shards of an order in the background, so that a replica is here before it is needed.

        A newer order ends the work on an older one. Shards for which others would have to go are left where they are.
        """
        with self._guard:
            if self._closed:
                return
            # The older order; its thread ends at the next file.
            self._shutdown.cancel()
            self._shutdown = cancellation = Cancellation()
            self._keeping.submit(self._fetch_all, payload, cancellation)

    async def messages(self, operation: str, payload: Mapping[str, Any]) -> AsyncGenerator[Message]:
        """Run a request and yield its messages; closing the iterator stops the work at its next check.

        Every message has ``kind``: ``results``, ``progress``, ``beat`` (a proof of life), and last ``end`` or
        ``fault``.
        """
        # Without a thread: all of them may be rankings that wait for such numbers.
        if operation == TELL:
            self._posts.tell(payload)
            yield {"kind": "end"}
            return

        # A search gets its time limit when it begins, from its query.
        cancellation = Cancellation(payload.get("allowed_s") if operation == CALL else None)
        outbox = Outbox(asyncio.get_running_loop(), cancellation)
        work = {SEARCH: self._search, CALL: self._call}[operation]

        def run() -> None:
            try:
                last = work(WorkerRequest.from_plain(payload), cancellation, outbox)
            except BaseException as error:  # noqa: BLE001 - told to the one that asked
                last = {"kind": "fault", **error_to_plain(error)}
            outbox.close(last)

        # Without this, a request that never got a thread would wait for an end that never comes.
        def unheard(done: Future[None]) -> None:
            if done.cancelled():  # it waited for a thread until the worker stopped
                outbox.close(_stop_message())

        with self._guard:
            closed = self._closed
            if not closed:
                self._running.add(cancellation)
                done = self._threads.submit(run)

        if closed:
            yield _stop_message()
            return

        done.add_done_callback(unheard)
        try:
            last = False
            while not last:
                items, last = await outbox.take()
                for message in _join_results(items):
                    yield message
        finally:
            cancellation.cancel()
            with self._guard:
                self._running.discard(cancellation)
            # The thread still uses the engine; a worker must not close its shards before the thread has seen the
            # cancellation.
            if not outbox.closed:
                await asyncio.wait([asyncio.wrap_future(done)])

    def close(self) -> None:
        """Stop all requests and release the cache."""
        with self._guard:
            self._closed = True
            for cancellation in (*self._running, self._shutdown):
                cancellation.cancel()

        # Without waiting: a thread in the middle of a long step would hold up the exit of the process.
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._keeping.shutdown(wait=False, cancel_futures=True)
        self.cache.close()

    def _fetch_all(self, payload: Mapping[str, Any], cancellation: Cancellation) -> None:
        with contextlib.suppress(SourcelightError, OSError):  # another version asks, or storage fails
            order = WorkerRequest.from_plain(payload)
            for entry in self._engines.readable(order.generation, order.names):
                cancellation.check()
                with contextlib.suppress(ClusterError, OSError):  # who asks for it is told why it is not here
                    self.cache.keep(entry, cancellation.check)

    def _search(self, order: WorkerRequest, cancellation: Cancellation, outbox: Outbox) -> Message:
        with self._engines.over(order.generation, order.names, cancellation) as (engine, missing):
            if order.counts:
                return self._count(order, engine, missing, cancellation)

            if missing:
                outbox.put(RepositoriesFailed(dict(missing), unfit=True))

            search = shard_search(engine, order, cancellation)
            for item in search.results(order.limit):
                outbox.put(item, item.nbytes if isinstance(item, ResultBatch) else 0)

            outcome = search.outcome
            outcome.unfit = dict(missing)
            for name in outcome.failed:
                self.cache.distrust(name)

            return {"kind": "end", "outcome": non_default_fields(outcome)}

    def _count(
        self, order: WorkerRequest, engine: Any, missing: Mapping[str, str], cancellation: Cancellation
    ) -> Message:
        if missing or order.request is None:
            return {"kind": "end", "counted": None, "failed": dict(missing)}
        table = engine.count(order.request, order.by, viewer_of(order), cancellation)
        if cancellation.cancelled:
            raise Cancelled("the worker stopped")
        return {"kind": "end", "counted": table is not None, "table": table, "failed": {}}

    def _call(self, order: WorkerRequest, cancellation: Cancellation, outbox: Outbox) -> Message:
        with self._engines.over(order.generation, order.names, cancellation) as (engine, missing):
            return call_tool(order, engine, missing, cancellation, outbox, self._posts, self.cache.distrust)


def _stop_message() -> Message:
    return {"kind": "fault", **error_to_plain(Cancelled("the worker stopped"))}


def _join_results(items: list[Any]) -> list[Message]:
    """Join items of a search and its end into one message; without items, return a proof of life."""
    if not items:
        return [{"kind": "beat"}]

    messages: list[Message] = []
    for item in items:
        if isinstance(item, (ResultBatch, RepositoriesDone, RepositoriesFailed)):
            if not messages or messages[-1]["kind"] != "results":
                messages.append({"kind": "results", "results": []})
            messages[-1]["results"].append(item)
        # The end travels with the last rows: one message less for a small answer.
        elif item["kind"] == "end" and messages and messages[-1]["kind"] == "results":
            messages[-1] = {**messages[-1], **item}
        else:
            messages.append(item)

    return messages
