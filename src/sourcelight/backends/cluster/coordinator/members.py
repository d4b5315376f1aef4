"""The workers of one or two cells, which shards they hold, and which replica to ask next.

Also when to stop asking: a repository that several workers died of is not tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.backends.cluster.messages import HELLO, KEEP, WorkerRequest, versions
from sourcelight.backends.cluster.placement import REPLICAS, place
from sourcelight.backends.cluster.storage.generation import Generation
from sourcelight.backends.cluster.storage.objects import ShardId
from sourcelight.backends.cluster.transport.connections import ConnectionPool
from sourcelight.backends.cluster.transport.exchange import ConnectionBroke
from sourcelight.core import errors

WORKER_GONE = (errors.WorkersUnreachable, TimeoutError)
"""Errors that mean that the worker is dead, not only that this request failed."""

RETRIED = (*WORKER_GONE, errors.ClusterError, errors.Cancelled)
"""Errors of a tool call that another worker may not have; all others belong to the call."""

REQUEST_ERRORS = (errors.QueryError, errors.PatternError)
"""Errors that belong to a search itself; another worker may not have any other."""

_NOT_OF_ENGINE = (errors.StorageError, errors.ShardDamaged, errors.Cancelled, *WORKER_GONE)
"""Errors that a worker reports and that are not of its engine: another worker may answer."""

REFRESH_S = 1.0
"""Seconds after which schedulers list their workers again, while searches arrive."""

ANSWER_S = 1.0
"""Seconds for a scheduler, or a worker that did not answer before, to reply."""

_MAX_MESSAGES = 8
"""Workers that get their list of shards at the same time; searches take precedence."""


@dataclass(frozen=True, slots=True)
class FailedAttempt:
    """A worker that did not answer, and why.

    Attributes
    ----------
    worker, reason
        Its name, and its error or action.
    engine
        Its engine failed at the work.
    died
        It vanished with the work in hand.
    """

    worker: str
    reason: str
    engine: bool = False
    died: bool = False

    @classmethod
    def of(cls, worker: str, error: BaseException, silence_s: float) -> FailedAttempt:
        """Return the attempt that an error describes, at a worker that may be silent for `silence_s` seconds."""
        if isinstance(error, errors.WorkersUnreachable):
            return cls(worker, error.reason, died=isinstance(error, ConnectionBroke))
        if isinstance(error, TimeoutError):
            return cls(worker, f"it sent nothing for {silence_s:g} s")
        return cls(worker, str(error) or type(error).__name__, engine=not isinstance(error, _NOT_OF_ENGINE))


def reasons(attempts: Iterable[FailedAttempt]) -> str:
    """Return a text of the workers that were asked, and why none answered."""
    return "; ".join(f"{attempt.worker}: {attempt.reason}" for attempt in attempts) or "none of its workers answers"


def is_poisoned(failed_attempts: Iterable[FailedAttempt]) -> bool:
    """Return whether two workers died or failed in the same way, so that a third one probably would too."""
    attempts = list(failed_attempts)
    # Equal reasons from two workers point to the request. Different ones may be two broken machines.
    failure_reasons = [attempt.reason for attempt in attempts if attempt.engine]
    has_equal_reasons = len(failure_reasons) > len(set(failure_reasons))
    deaths = sum(attempt.died for attempt in attempts)
    return has_equal_reasons or deaths > 1


@dataclass(frozen=True, slots=True)
class WorkerInfo:
    """A worker: its name, which stays the same when it starts again, and its address, which does not."""

    name: str
    address: str
    cell: int = 0


@dataclass(slots=True)
class _Cell:
    """The workers of one scheduler, at its address."""

    address: str
    members: tuple[WorkerInfo, ...] = ()


Holders: TypeAlias = dict[str, tuple[WorkerInfo, ...]]
"""By repository the workers that hold its shard, the preferred one first."""


@dataclass(frozen=True, slots=True)
class _Placement:
    """The holders of a generation's shards among some workers."""

    generation_id: str
    workers: tuple[WorkerInfo, ...]
    holders: Holders


@dataclass(slots=True)
class WorkerDirectory:
    """The workers of all cells. On one event loop.

    Parameters
    ----------
    connections
        To schedulers and workers.
    schedulers
        Address of each cell's scheduler. With one cell each shard has `placement.REPLICAS` workers in it; with
        several it has one in each.
    """

    connections: ConnectionPool
    schedulers: Sequence[str]
    _cells: list[_Cell] = field(init=False)
    _dropped: dict[str, FailedAttempt] = field(default_factory=dict)
    _live: tuple[WorkerInfo, ...] | None = None
    _addresses: frozenset[str] = frozenset()
    _refreshed_s: float = 0.0
    _refresh_task: asyncio.Task[None] | None = None
    _slots: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(_MAX_MESSAGES))
    _messages: set[asyncio.Task[None]] = field(default_factory=set)
    _placement: _Placement | None = None

    def __post_init__(self) -> None:
        self._cells = [_Cell(address) for address in self.schedulers]

    @property
    def live(self) -> tuple[WorkerInfo, ...]:
        """The workers that answered the last query, of all cells."""
        if self._live is None:
            # Cached until a worker is dropped or a refresh ends: a search asks for it several times, a cluster has
            # hundreds.
            self._live = tuple(member for member in self._members() if member.address not in self._dropped)
            self._addresses = frozenset(member.address for member in self._live)

        return self._live

    @property
    def addresses(self) -> frozenset[str]:
        """Their addresses."""
        return self._addresses if self.live else frozenset()

    async def ready(self) -> None:
        """Look up the workers: wait the first time, later in the background, so no search waits for a scheduler."""
        # Shielded: others wait for the same refresh, and a search that is cancelled must not end it.
        if not self._refreshed_s:
            await asyncio.shield(self._start_refresh())
        elif time.monotonic() - self._refreshed_s > REFRESH_S:
            self._start_refresh()

    async def refresh(self) -> None:
        """Query schedulers and dropped workers again, within twice `ANSWER_S`."""
        if self._refresh_task is not None and not self._refresh_task.done():
            # It may have begun before the news for which the caller refreshes; others wait for it too.
            await asyncio.wait([self._refresh_task])
        await asyncio.shield(self._start_refresh())

    @property
    def absent(self) -> tuple[FailedAttempt, ...]:
        """Workers that schedulers know but that were dropped, and why."""
        present = {member.address for member in self._members()}
        return tuple(attempt for address, attempt in sorted(self._dropped.items()) if address in present)

    def drop(self, member: WorkerInfo, attempt: FailedAttempt) -> None:
        """Stop asking a worker until it answers again."""
        # By address: the process failed. Its successor has another address and is used at once.
        self._dropped[member.address] = attempt
        self._live = None
        self._start_refresh()

    def holding(self, generation: Generation) -> Holders:
        """Return the live workers that hold each repository."""
        live, placement = self.live, self._placement
        # Placement is a pure function of generation and workers, so one entry is enough while neither changes.
        if placement is not None and (placement.generation_id, placement.workers) == (generation.id, live):
            return placement.holders

        holders = self._place(generation, live)
        self._placement = _Placement(generation.id, live, holders)
        self._send_placement(generation, holders)
        return holders

    async def close(self) -> None:
        """Stop the refresh, and messages to workers."""
        for task in self._messages:
            task.cancel()
        await asyncio.gather(*self._messages, return_exceptions=True)
        if self._refresh_task is not None:
            self._refresh_task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._refresh_task

    def _members(self) -> Iterator[WorkerInfo]:
        """Yield the workers that schedulers know, dropped ones included."""
        for cell in self._cells:
            yield from cell.members

    def _send_placement(self, generation: Generation, holders: Holders) -> None:
        """Send each worker the shards to hold, its preferred shards first."""
        names: dict[WorkerInfo, list[str]] = {}
        # Replica by replica, so that a worker gets its preferred shards before its spare copies.
        for replica in range(max(map(len, holders.values()), default=0)):
            for name, members in holders.items():
                if replica < len(members):
                    names.setdefault(members[replica], []).append(name)

        for member, repository_names in names.items():
            task = asyncio.get_running_loop().create_task(
                self._send(member, WorkerRequest(generation.id, tuple(repository_names)))
            )
            # asyncio keeps only weak references to tasks: without this set, one may be collected while it runs.
            self._messages.add(task)
            task.add_done_callback(self._messages.discard)

    async def _send(self, member: WorkerInfo, order: WorkerRequest) -> None:
        with contextlib.suppress(Exception):  # a worker that doesn't accept it fetches shards on demand
            async with (
                self._slots,
                asyncio.timeout(ANSWER_S),
                contextlib.aclosing(self.connections.ask(member.address, KEEP, order.to_plain())) as messages,
            ):
                async for _ in messages:
                    pass

    def _place(self, generation: Generation, live: tuple[WorkerInfo, ...]) -> Holders:
        sizes = {entry.shard: entry.size for entry in generation.searchable}
        # Two cells hold one replica each: a dead scheduler costs a cell, not the answer.
        replicas = REPLICAS if len(self._cells) == 1 else 1
        holders: dict[ShardId, list[WorkerInfo]] = {shard: [] for shard in sizes}
        for cell in range(len(self._cells)):
            # By name and not by address: a worker that restarts keeps the shards on its disk.
            by_name = {member.name: member for member in live if member.cell == cell}
            for shard, names in place(sizes, list(by_name), replicas=replicas).items():
                holders[shard] += [by_name[name] for name in names]

        return {entry.name: tuple(holders[entry.shard]) for entry in generation.searchable}

    def _start_refresh(self) -> asyncio.Task[None]:
        # One at a time: searches that arrive together share its answers.
        if self._refresh_task is None or self._refresh_task.done():
            self._refresh_task = asyncio.get_running_loop().create_task(self._refresh())
        return self._refresh_task

    async def _refresh(self) -> None:
        try:
            await asyncio.gather(*(self._query_cell(number, cell) for number, cell in enumerate(self._cells)))
            present = {member.address for member in self._members()}
            # A worker that restarts has a new address, so entries of old ones would stay for ever.
            self._dropped = {address: attempt for address, attempt in self._dropped.items() if address in present}
        finally:
            self._live = None
            # Also after a failure: schedulers that don't answer are asked once in REFRESH_S, not in every search.
            self._refreshed_s = time.monotonic()

    async def _query_cell(self, number: int, cell: _Cell) -> None:
        back = [member for member in cell.members if member.address in self._dropped]
        addresses, answers = await asyncio.gather(
            self._known_to(number, cell.address), asyncio.gather(*(self._answers(member) for member in back))
        )
        for member, alive in zip(back, answers, strict=True):
            if alive:
                self._dropped.pop(member.address, None)

        self._live = None
        # Without its scheduler a Dask worker ends; workers that still answer can be used until then.
        cell.members = cell.members if addresses is None else addresses
        self._live = None

    async def _known_to(self, number: int, scheduler: str) -> tuple[WorkerInfo, ...] | None:
        """Return the workers that a scheduler knows, or None when it does not answer properly."""
        with contextlib.suppress(Exception):
            async with asyncio.timeout(ANSWER_S):
                workers = await self.connections.workers(scheduler)
            return tuple(WorkerInfo(name, address, number) for name, address in sorted(workers.items()))
        return None

    async def _answers(self, member: WorkerInfo) -> bool:
        with contextlib.suppress(Exception):
            async with (
                asyncio.timeout(ANSWER_S),
                contextlib.aclosing(self.connections.ask(member.address, HELLO)) as messages,
            ):
                async for hello in messages:
                    # A worker that came back with other versions is not used: its answers may differ from those of
                    # its replicas.
                    return bool(hello["versions"] == versions())

        return False


@dataclass(slots=True)
class ReplicaOrder:
    """The workers of some repositories, and the attempts to ask them.

    Parameters
    ----------
    members
        Who is there.
    holders
        By repository its workers, in the order in which they are to be asked.

    Attributes
    ----------
    failed_attempts
        By repository the workers that did not answer for it, in the order in which they were asked.
    requested
        By repository the addresses that were asked.
    """

    members: WorkerDirectory
    holders: Mapping[str, tuple[WorkerInfo, ...]] = field(default_factory=dict)
    failed_attempts: dict[str, list[FailedAttempt]] = field(default_factory=dict)
    requested: dict[str, set[str]] = field(default_factory=dict)

    def next(self, name: str) -> WorkerInfo | None:
        """Return the next worker to ask, or None when all were asked, or the work is poisoned."""
        if name in self.failed_attempts and is_poisoned(self.failed_attempts[name]):
            return None

        asked_workers = self.requested.get(name, ())
        live = self.members.addresses
        for member in self.holders.get(name, ()):
            if member.address in live and member.address not in asked_workers:
                return member

        return None

    def groups(self, names: Sequence[str]) -> tuple[dict[WorkerInfo, list[str]], list[str]]:
        """Return the repositories by their next worker, and those without one."""
        groups: dict[WorkerInfo, list[str]] = {}
        unplaced = []
        live = self.members.addresses
        for name in names:
            holders = self.holders.get(name)
            # At the start of a search no worker was asked or failed, and the preferred one is nearly always there.
            is_new = name not in self.requested and name not in self.failed_attempts
            if holders and is_new and holders[0].address in live:
                member: WorkerInfo | None = holders[0]
            else:
                member = self.next(name)

            if member is None:
                unplaced.append(name)
            else:
                groups.setdefault(member, []).append(name)

        return groups, unplaced

    def add_request(self, member: WorkerInfo, names: Sequence[str]) -> None:
        """Record that a worker got a request for these repositories."""
        for name in names:
            self.requested.setdefault(name, set()).add(member.address)

    def failures(self, name: str) -> tuple[FailedAttempt, ...]:
        """Return the failed attempts for a repository, or else the dropped workers with their reasons."""
        return tuple(self.failed_attempts.get(name, ())) or self.members.absent

    def add_failure(self, name: str, attempt: FailedAttempt) -> None:
        """Record that a worker did not answer for a repository."""
        self.failed_attempts.setdefault(name, []).append(attempt)
