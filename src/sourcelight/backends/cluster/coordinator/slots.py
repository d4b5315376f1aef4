"""Merge the rows of all workers into the order in which one machine would return them.

The order is by phase, then by name of the repository. Each pair has its turn: rows of the turn are yielded as they
arrive, and those of later ones wait in memory up to `MAX_BYTES`. Replicas hold equal rows in equal order, so any copy
of a repository can continue where another one stopped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from sourcelight.backends.cluster.batch_merge import JoinedRows
from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.backends.cluster.worker.phases import COMMITS, FILES, REPOSITORIES, SYMBOLS
from sourcelight.core.errors import ClusterError

PHASES = (REPOSITORIES, COMMITS, SYMBOLS, FILES)
_OVER = len(PHASES)

MAX_BYTES = 64 * 1024 * 1024
"""Maximum bytes in the buffer. Beyond it, only the stream that the reader waits for may continue."""

FIRST_S, TOGETHER_S = 0.01, 0.05
"""Seconds that the first rows, and later ones, wait for rows of other workers to fill a batch."""

_FIRST_BYTES, _TOGETHER_BYTES = 32 * 1024, 1024 * 1024
"""Bytes of the first batch, and of later ones, that are yielded without waiting."""


@dataclass(slots=True)
class _PhasePart:
    """Rows of one repository, as a range of a batch; yielded rows keep only their number."""

    phase: int
    rows: int
    size: int
    batch: Any
    start: int


@dataclass(slots=True)
class _WorkerPosition:
    """The phase and the repository of the last row of a worker, shared by its copies.

    Within a phase, a worker sends repositories by name, so all before that one have no more rows of it.
    """

    phase: int = 0
    name: str = ""

    def advance(self, phase: int, name: str) -> None:
        """Move to a later row."""
        self.phase, self.name = max((self.phase, self.name), (phase, name))


@dataclass(slots=True, eq=False)
class ReplicaStream:
    """The rows of one repository from one worker so far. All copies hold the same rows in the same order.

    Only the worker's last message sets `complete`.
    """

    name: str
    position: _WorkerPosition
    parts: list[_PhasePart] = field(default_factory=list)
    rows: int = 0
    complete: bool = False
    finished: bool = False

    @property
    def phase(self) -> int:
        """The first unfinished phase."""
        # Computed, so that a batch of a worker with a thousand repositories doesn't have to visit all of them.
        if self.finished:
            return _OVER
        return self.position.phase + (self.name < self.position.name)


@dataclass(slots=True)
class RepositorySlot:
    """One repository: its copies, the number of yielded rows, and whether it was given up."""

    copies: list[ReplicaStream] = field(default_factory=list)
    rows_yielded: int = 0
    given_up: bool = False

    @property
    def complete(self) -> bool:
        """Whether a worker has sent all rows."""
        # Loops and no generators here and in `over`: a search asks several times for each of a thousand repositories.
        for copy in self.copies:  # noqa: SIM110
            if copy.complete:
                return True
        return False

    def over(self, phase: int) -> bool:
        """Return whether no more rows of a phase will arrive."""
        for copy in self.copies:
            if copy.phase > phase:
                return True
        return self.given_up


class OrderedMerge:
    """The repositories of one search; one thread adds rows, and another reads them in order.

    Parameters
    ----------
    names
        Names of the repositories.
    phases
        Phases that may have rows.
    """

    def __init__(self, names: Sequence[str], phases: Sequence[int] = PHASES) -> None:
        self.names = sorted(names)
        self.slots = {name: RepositorySlot() for name in self.names}

        # One condition for all slots: the event loop adds results, and the reader waits for the next turn.
        self.changed = threading.Condition()
        # Bytes of rows that are not yielded yet, of all copies. `changed` guards it; `full` reads an estimate without
        # the lock.
        self.bytes = 0
        self.waiting = False
        self.error: Exception | None = None
        self._phases = phases

        # Index into the sequence of all (phase, repository) turns; only the reader moves it.
        self._position = 0
        # A counter, because `is_settled` is read for every result and must not visit all slots.
        self._unsettled = len(self.names)
        self._has_yielded = False

    def open(self, names: Sequence[str]) -> dict[str, ReplicaStream]:
        """Open new copies for a worker to fill."""
        with self.changed:
            position = _WorkerPosition()
            copies = {name: ReplicaStream(name, position) for name in names}
            for name, copy in copies.items():
                self.slots[name].copies.append(copy)
            return copies

    def add(self, copies: dict[str, ReplicaStream], result: ResultBatch) -> None:
        """Add a result, and finish all slots that precede it in the order; unrequested repositories are ignored.

        Raises `ClusterError` for rows of a finished phase, which would be out of order.
        """
        with self.changed:
            start = 0
            # Slices share the buffers of the batch, so its bytes are split by rows.
            share = result.nbytes / max(result.batch.num_rows, 1)
            for name, end in zip(result.repositories, result.ends, strict=True):
                stream = copies.get(name)
                if stream is not None:
                    if stream.phase > result.phase or result.phase not in self._phases:
                        raise ClusterError(f"rows of {name} arrived out of order")
                    stream.parts.append(
                        _PhasePart(
                            phase=result.phase,
                            rows=end - start,
                            size=int(share * (end - start)),
                            batch=result.batch,
                            start=start,
                        )
                    )
                    stream.rows += end - start
                    self.bytes += stream.parts[-1].size

                start = end

            for copy in islice(copies.values(), 1):
                copy.position.advance(result.phase, result.repositories[-1])

            self._notify_reader()

    def finish(self, copies: dict[str, ReplicaStream], names: Sequence[str]) -> None:
        """Record that all files of these repositories have arrived."""
        with self.changed:
            for name in names:
                if name in copies:
                    copies[name].finished = True
            self._notify_reader()

    def complete(self, copies: dict[str, ReplicaStream]) -> list[str]:
        """Mark copies as complete, after the last message; return the copies that no other worker had completed."""
        with self.changed:
            first = [name for name in copies if not self.slots[name].complete]
            self._unsettled -= sum(not self.slots[name].given_up for name in first)
            for copy in copies.values():
                copy.complete = copy.finished = True
            self._notify_reader()
            return first

    def drop(self, copies: dict[str, ReplicaStream]) -> list[str]:
        """Drop a worker's incomplete copies; return the repositories that no worker has completed."""
        with self.changed:
            incomplete = []
            for name, copy in copies.items():
                slot = self.slots[name]
                # A complete copy stays valid without its worker.
                if copy.complete or copy not in slot.copies:
                    continue
                slot.copies.remove(copy)
                self.bytes -= sum(part.size for part in copy.parts)
                if not slot.complete:
                    incomplete.append(name)

            self._notify_reader()
            return incomplete

    def give_up(self, names: Sequence[str]) -> None:
        """Give up repositories that no remaining worker has."""
        with self.changed:
            for name in names:
                slot = self.slots[name]
                self._unsettled -= not (slot.complete or slot.given_up)
                slot.given_up = True
            self._notify_reader()

    def fail(self, error: Exception) -> None:
        """Fail the whole search; the reader raises the first error."""
        with self.changed:
            self.error = self.error or error
            self._notify_reader()

    @property
    def is_settled(self) -> bool:
        """Whether every repository is complete or has failed for good."""
        return self._unsettled <= 0

    def full(self, names: Collection[str]) -> bool:
        """Return whether the worker of these repositories should wait: the buffer is full, and others come first."""
        if self.bytes <= MAX_BYTES:
            return False
        turn = self._turn
        # The stream that the reader waits for is never paused, or the search would never end.
        return not (self.waiting and turn is not None and turn[1] in names)

    @property
    def left(self) -> frozenset[str]:
        """Repositories that the reader has not read completely."""
        count, phases = len(self.names), len(self._phases)
        if not count or self._position >= count * phases:
            return frozenset()
        seen = self._position - count * (phases - 1)
        return frozenset(self.names[max(seen, 0) :])

    def batches(self, stopped: Callable[[], bool]) -> Iterator[Any]:
        """Yield all rows by phase and repository; end early when `stopped` returns True, and raise the first error.

        A batch can have the rows of several repositories.
        """
        gathered = JoinedRows()
        has_more = True
        yield_at = time.monotonic() + FIRST_S
        while has_more:
            with self.changed:
                has_more = self._gather(gathered, stopped, yield_at)
            yield_at = time.monotonic() + TOGETHER_S
            # Outside the lock: a slow reader must not block the event loop, which adds rows.
            for batch in gathered.batches():
                self._has_yielded = True
                yield batch

    @property
    def _turn(self) -> tuple[int, str] | None:
        """The phase and the repository whose rows come next; None after the last."""
        phase, index = divmod(self._position, len(self.names) or 1)
        if phase < len(self._phases) and self.names:
            return (self._phases[phase], self.names[index])
        return None

    def _gather(self, gathered: JoinedRows, stopped: Callable[[], bool], yield_at: float) -> bool:
        """Wait for enough rows, or for any after `yield_at`; return False when there are no more."""
        while True:
            if self.error is not None:
                raise self.error
            if stopped():
                return False

            turn = self._take_turns(gathered)
            if turn is None:
                return False

            now = time.monotonic()
            if gathered.rows:
                # A partly yielded repository comes from one worker, so waiting for others can't fill the first batch.
                is_alone = not self._has_yielded and self.slots[turn[1]].rows_yielded > 0
                if gathered.size >= self._min_batch_bytes or now >= yield_at or is_alone:
                    return True
            elif now >= yield_at:
                yield_at = now + TOGETHER_S

            # The writer notifies only a waiting reader: the reader doesn't need most results next.
            self.waiting = True
            self.changed.wait(yield_at - now)
            self.waiting = False

    def _take_turns(self, gathered: JoinedRows) -> tuple[int, str] | None:
        """Take rows until a repository has to send more or there are enough; return whose rows come next."""
        # Only the slot whose turn it is yields rows. So the order doesn't depend on the speed of workers.
        count = len(self.names)
        end = count * len(self._phases)
        while self._position < end and gathered.size < _TOGETHER_BYTES:
            phase_index, index = divmod(self._position, count)
            phase, slot = self._phases[phase_index], self.slots[self.names[index]]
            if slot.copies:
                self._take_rows(phase, slot, gathered)
            if not slot.over(phase):
                break
            self._position += 1

        return self._turn

    @property
    def _min_batch_bytes(self) -> int:
        """Bytes that are yielded without waiting for more."""
        return _TOGETHER_BYTES if self._has_yielded else _FIRST_BYTES

    def _take_rows(self, phase: int, slot: RepositorySlot, gathered: JoinedRows) -> None:
        """Take the remaining rows of a phase from the most advanced copy."""
        copies = slot.copies
        # Shards never change, so all copies hold the same rows in the same order, and any copy can continue.
        copy = copies[0] if len(copies) == 1 else max(copies, key=lambda item: (item.complete, item.phase, item.rows))
        if copy.rows <= slot.rows_yielded:
            return

        row_index = 0
        for part in copy.parts:
            if part.phase > phase:
                break
            if row_index + part.rows > slot.rows_yielded:
                skipped = max(slot.rows_yielded - row_index, 0)
                gathered.add(phase, part.batch, part.start + skipped, part.start + part.rows, part.size)
                self.bytes -= part.size
                # Free the memory, but keep the row count.
                part.batch, part.size = None, 0
            row_index += part.rows

        slot.rows_yielded = max(slot.rows_yielded, row_index)

    def _notify_reader(self) -> None:
        """Wake the reader if the search has ended, or if enough rows of the next repository are here."""
        if not self.waiting:
            return

        if self.is_settled or self.error is not None:
            self.changed.notify_all()
        elif self.bytes >= self._min_batch_bytes and (turn := self._turn) is not None:
            slot = self.slots[turn[1]]
            if slot.over(turn[0]) or any(copy.rows > slot.rows_yielded for copy in slot.copies):
                self.changed.notify_all()
