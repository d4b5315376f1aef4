"""Run one search over many workers: a stream from each, failover to replicas, a second try for a slow one.

All streams start at once, each with the repositories that its worker holds. A repository that a worker can't answer
goes to the next replica, then once to any worker that can fetch its shard, and is given up after that. A silent worker
is dropped; beside a slow one, a second one is asked, and the first complete copy counts.
"""

from __future__ import annotations

import asyncio
import math
import statistics
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.backends.cluster import messages
from sourcelight.backends.cluster.coordinator import members
from sourcelight.backends.cluster.coordinator.slots import OrderedMerge, ReplicaStream
from sourcelight.backends.cluster.placement import REPLICAS, ranking
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.backends.cluster.storage.objects import ShardId
from sourcelight.backends.cluster.transport.exchange import WorkerExchange
from sourcelight.backends.cluster.worker.outbox import BEAT_S
from sourcelight.backends.cluster.worker.search import SearchOutcome
from sourcelight.backends.cluster.worker_reports import WorkerReport

SILENCE_S = 2.0
"""Seconds without a message after which a worker is taken for dead: it sends one every `outbox.BEAT_S`."""

HEDGE_S = 0.3
HEDGE_TIMES = 3.0
"""Seconds, and multiple of the median of the other streams, after which a second worker is asked too (a hedge)."""

QUIET_S = 3 * BEAT_S
"""Seconds without a message after which a second worker is asked, even if no stream has ended yet."""

MAX_HEDGES = 8
STREAMS_PER_HEDGE = 10
"""Maximum hedges at a time: 8, or one for 10 streams. Where all workers are slow, twice the work doesn't help."""

_PAUSE_S = 0.02
"""Seconds between looks at whether a full reader has room again."""

_CHECK_S = 0.1
"""Seconds between checks for slow and silent workers."""


@dataclass(slots=True, eq=False)
class _Stream:
    """One request to one worker.

    `copies` are its repositories that it has not lost to another worker, `heard_s` is the time of its last message, and
    `silent_checks` counts the checks since then. `has_hedge` says that a second worker has its repositories too,
    `is_hedge` that it is such a second stream, and `is_paused` that its reader is full.
    """

    member: members.WorkerInfo
    copies: dict[str, ReplicaStream]
    started_s: float
    heard_s: float
    task: asyncio.Task[None] | None = None
    exchange: WorkerExchange | None = None
    silent_checks: int = 0
    has_hedge: bool = False
    is_hedge: bool = False
    is_paused: bool = False


@dataclass(slots=True)
class WorkerStreams:
    """The streams of one search, on the event loop of `replicas.members`; arriving results go into `slots`.

    Attributes
    ----------
    reports
        What workers reported besides their matches, in the order in which they ended.
    """

    replicas: members.ReplicaOrder
    generation: Generation
    order: messages.WorkerRequest
    slots: OrderedMerge
    silence_s: float = SILENCE_S
    reports: list[WorkerReport] = field(default_factory=list)
    _running: set[asyncio.Task[None]] = field(default_factory=set)
    _open: set[_Stream] = field(default_factory=set)
    _durations: list[float] = field(default_factory=list)
    _retried: set[str] = field(default_factory=set)
    _dropped_addresses: set[str] = field(default_factory=set)
    _error: BaseException | None = None
    _run: asyncio.Task[None] | None = None
    _idle: asyncio.Future[None] | None = None
    _timer: asyncio.TimerHandle | None = None
    _order_fields: Mapping[str, Any] = field(init=False)

    def __post_init__(self) -> None:
        # Once for all workers; only the names differ.
        self._order_fields = self.order.to_plain()

    async def run(self) -> None:
        """Run until every repository is complete or given up; canceling ends all work."""
        loop = asyncio.get_running_loop()
        self._run = asyncio.current_task()
        try:
            await self.replicas.members.ready()
            self.replicas.holders = self.replicas.members.holding(self.generation)

            # All streams start at once: a worker that has to wait for its turn would delay the first rows of its
            # repositories.
            self._assign(self.slots.names)
            self._timer = loop.call_later(_CHECK_S, self._check)

            # `_idle` is a new future each time: whatever ends or starts a stream resolves it, and the condition is
            # checked again.
            while self._running:
                self._idle = loop.create_future()
                await self._idle
        except Exception as error:  # noqa: BLE001 - a bug here fails the search, as an error of a worker does
            self._error = error
        finally:
            if self._timer is not None:
                self._timer.cancel()
            if self._running:
                for task in list(self._running):
                    task.cancel()
                # Waits for the cancelled tasks, so that their connections are closed before the search returns.
                await asyncio.gather(*self._running, return_exceptions=True)
            self._give_up_unfinished()

    async def stop(self) -> None:
        """Cancel `run`, and wait until its connections are closed."""
        # A loop begins tasks in the order in which they were made, so `run` has begun if it was started before.
        if self._run is not None:
            self._run.cancel()
            await asyncio.wait([self._run])

    def _give_up_unfinished(self) -> None:
        """Give up repositories without a pending request; there are some only after an internal error."""
        if self.slots.is_settled:
            return

        incomplete = [name for name, slot in self.slots.slots.items() if not slot.complete and not slot.given_up]
        if self._error is not None:
            reason = f"the request failed ({type(self._error).__name__}: {self._error})"
            for name in incomplete:
                self.replicas.add_failure(name, members.FailedAttempt("service", reason))

        self.slots.give_up(incomplete)

    def _assign(self, names: Sequence[str]) -> None:
        """Start a stream at the next worker of each repository; try those without one a last time."""
        groups, unplaced = self.replicas.groups(names)
        if unplaced:
            self._spawn(self._last_try(unplaced))
        for member, names_here in groups.items():
            self._start(member, names_here)

    async def _last_try(self, names: Sequence[str]) -> None:
        """Look up the workers again, assign the repositories that they can fetch, and give up the others."""
        # Once per repository: otherwise a repository that no worker can fetch would keep the search running.
        retried = [name for name in names if name not in self._retried and not self._is_poisoned(name)]
        self._retried.update(retried)
        if retried:
            await self._find_workers(retried)

        placed = [name for name in retried if self.replicas.next(name) is not None]
        self.slots.give_up([name for name in names if name not in placed])
        if placed:
            self._assign(placed)

    def _is_poisoned(self, name: str) -> bool:
        """Return whether a repository ended the workers that were asked about it."""
        return members.is_poisoned(self.replicas.failed_attempts.get(name, ()))

    async def _find_workers(self, names: Iterable[str]) -> None:
        """Look up the workers again, and make those that can search `names` their holders."""
        replicas = self.replicas
        await replicas.members.refresh()
        current_holders = replicas.members.holding(self.generation)
        shards = {entry.name: entry.shard for entry in self.generation.searchable}
        holders = dict(replicas.holders)
        for name in names:
            holders[name] = self._other_workers(name, shards[name], current_holders.get(name, ()))
        replicas.holders = holders

    def _other_workers(
        self, name: str, shard: ShardId, holders: Sequence[members.WorkerInfo]
    ) -> tuple[members.WorkerInfo, ...]:
        """Return workers to ask after all: new holders, busy ones, and those that can fetch the shard."""
        live = self.replicas.members.live
        asked_workers = self.replicas.requested.setdefault(name, set())

        # A worker that was gone and lives has answered in the meantime.
        # In place: `replicas.requested` holds this set.
        asked_workers -= self._dropped_addresses.intersection(member.address for member in live)

        # Workers fetch a shard in the order of its placement, so that few of them come to have it.
        names_in_order = ranking(shard, sorted({member.name for member in live}))
        by_rank = sorted(live, key=lambda member: names_in_order.index(member.name))
        candidates = dict.fromkeys([*holders, *by_rank])
        unasked = [member for member in candidates if member.address not in asked_workers]
        return tuple(unasked[:REPLICAS])

    def _start(self, member: members.WorkerInfo, names: Sequence[str], *, is_hedge: bool = False) -> None:
        self.replicas.add_request(member, names)
        now = time.monotonic()
        stream = _Stream(member=member, copies=self.slots.open(names), started_s=now, heard_s=now, is_hedge=is_hedge)
        self._open.add(stream)
        # After the stream is in `_open`, since `_follow` may end before this line returns to the loop.
        stream.task = self._spawn(self._follow(stream))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        # asyncio keeps only weak references to tasks.
        self._running.add(task)
        task.add_done_callback(self._on_done)
        return task

    def _on_done(self, task: asyncio.Task[None]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            # A bug of this process: errors of workers were handled in `_follow`.
            self._error = task.exception()
        if not self._running:
            self._wake()

    async def _follow(self, stream: _Stream) -> None:
        try:
            await self._read(stream)
        except members.REQUEST_ERRORS as error:
            # The query itself is at fault, so another worker would give the same error.
            self.slots.fail(error)
        except Exception as error:  # noqa: BLE001 - another worker may succeed; if none does, the reason is reported
            attempt = members.FailedAttempt.of(stream.member.name, error, self.silence_s)
            if isinstance(error, members.WORKER_GONE):
                self._dropped_addresses.add(stream.member.address)
                self.replicas.members.drop(stream.member, attempt)
            self._retry(stream, list(stream.copies), attempt)
        finally:
            self._open.discard(stream)
            self.slots.drop(stream.copies)

        # Failed streams count too: they also show how long a stream takes.
        self._durations.append(time.monotonic() - stream.started_s)

    async def _read(self, stream: _Stream) -> None:
        # Sorted: the worker sends its repositories in this order, and the merge relies on it.
        order = {**self._order_fields, "names": sorted(stream.copies)}
        exchange = self.replicas.members.connections.exchange(stream.member.address, messages.SEARCH, order)
        stream.exchange = exchange
        try:
            await exchange.start()
            while not self._store(stream, await exchange.receive()):
                # Not reading is the back-pressure: the socket fills, then the worker's outbox, and then its search
                # waits.
                while self.slots.full(stream.copies):
                    stream.is_paused = True
                    await asyncio.sleep(_PAUSE_S)
                stream.is_paused = False
                stream.heard_s = time.monotonic()
                stream.silent_checks = 0
        finally:
            # Closing before the last message aborts the connection, which cancels the worker's search.
            exchange.close()

    def _store(self, stream: _Stream, message: Mapping[str, Any]) -> bool:
        """Store the content of a message; return True for the last one. Raises the error that the worker reports."""
        if message["kind"] == "fault":
            raise messages.error_from_plain(message)

        for result in message.get("results", ()):
            if isinstance(result, messages.RepositoriesDone):
                # All files of these have arrived; the stream itself continues with others.
                self.slots.finish(stream.copies, result.repositories)
            elif isinstance(result, messages.RepositoriesFailed):
                for name, reason in result.reasons.items():
                    self._retry(
                        stream, (name,), members.FailedAttempt(stream.member.name, reason, engine=not result.unfit)
                    )
            else:
                self.slots.add(stream.copies, result)

        if message["kind"] != "end":
            return False

        self._finish(stream, SearchOutcome(**message["outcome"]))
        return True

    def _finish(self, stream: _Stream, outcome: SearchOutcome) -> None:
        for name, reason in (outcome.failed | outcome.unfit).items():
            self._retry(
                stream, (name,), members.FailedAttempt(stream.member.name, reason, engine=name in outcome.failed)
            )

        # Within the lock: a reader that sees the end must also see its report.
        with self.slots.changed:
            first = self.slots.complete(stream.copies)
            self.reports.append(WorkerReport(outcome, frozenset(first)))

        # Only hedges and retries make a second copy, so most streams look no further.
        has_second_copy = any(len(self.slots.slots[name].copies) > 1 for name in stream.copies)
        if has_second_copy:
            self._cancel_redundant(stream)

    def _cancel_redundant(self, stream: _Stream) -> None:
        """Cancel other streams whose repositories all are complete: they need not be sent twice."""
        for other in self._open:
            if other is not stream and other.task is not None and self._is_redundant(other):
                other.task.cancel()

    def _is_redundant(self, stream: _Stream) -> bool:
        return all(self.slots.slots[name].complete for name in stream.copies)

    def _retry(self, stream: _Stream, names: Iterable[str], attempt: members.FailedAttempt) -> None:
        """Ask the next worker for repositories that this one can't answer, unless another stream has them."""
        copies = {name: stream.copies.pop(name) for name in names if name in stream.copies}
        dropped = self.slots.drop(copies)
        for name in dropped:
            self.replicas.add_failure(name, attempt)

        # A hedge may be under way for the same repository; a third copy would only be twice the work.
        pending: set[str] = set()
        for other in self._open:
            pending.update(other.copies)
        self._assign([name for name in dropped if name not in pending])

    def _wake(self) -> None:
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    def _check(self) -> None:
        """Check for silent and slow workers, every `_CHECK_S` seconds."""
        self._timer = asyncio.get_running_loop().call_later(_CHECK_S, self._check)
        self._drop_silent()
        self._hedge()

    def _drop_silent(self) -> None:
        """Give up workers that have their request and sent nothing for `silence_s` seconds."""
        for stream in self._open:
            if stream.exchange is not None and stream.exchange.is_waiting:
                # Checks, not seconds: an event loop that was busy for two seconds checks once, and heard no worker in
                # that time.
                stream.silent_checks += 1
                if (stream.silent_checks - 1) * _CHECK_S >= self.silence_s:
                    stream.exchange.give_up()

    def _hedge(self) -> None:
        """Ask a second worker where one is slow compared with the others, or silent."""
        max_duration_s = math.inf
        if self._durations:
            # The median, not the mean: one very slow stream must not raise the bar that it is measured against.
            max_duration_s = max(HEDGE_S, HEDGE_TIMES * statistics.median(self._durations))

        # Few second attempts at a time: under a general load all streams are slow, and doubling the work would make it
        # worse.
        max_hedges = max(MAX_HEDGES, len(self._open) // STREAMS_PER_HEDGE)
        remaining = max_hedges - sum(stream.is_hedge for stream in self._open)
        now = time.monotonic()
        for stream in list(self._open):
            if remaining <= 0:
                return

            is_slow = now - stream.started_s >= max_duration_s or now - stream.heard_s >= QUIET_S
            # A paused stream waits for its reader, not for its worker.
            if stream.has_hedge or stream.is_paused or not is_slow:
                continue

            stream.has_hedge = True
            groups = self._next_workers(stream)
            for member, names in groups.items():
                self._start(member, names, is_hedge=True)
            remaining -= len(groups)

    def _next_workers(self, stream: _Stream) -> dict[members.WorkerInfo, list[str]]:
        """Return the next worker for each repository that a stream has not completed; they may be several."""
        groups: dict[members.WorkerInfo, list[str]] = {}
        for name in stream.copies:
            if self.slots.slots[name].complete:
                continue
            member = self.replicas.next(name)
            if member is not None:
                groups.setdefault(member, []).append(name)
        return groups
