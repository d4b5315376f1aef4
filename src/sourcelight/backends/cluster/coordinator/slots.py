"""Merge what workers sent of each repository into the order in which one machine would return it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.backends.cluster.batch_merge import JoinedRows
from sourcelight.backends.cluster.messages import ResultBatch
from sourcelight.backends.cluster.worker.search import COMMITS, FILES, REPOSITORIES, SYMBOLS
from sourcelight.core.errors import ClusterError

PHASES = (REPOSITORIES, COMMITS, SYMBOLS, FILES)
_OVER = len(PHASES)
MAX_BYTES = 64 * 1024 * 1024
"""Bytes that wait for their turn, or for the reader; then nothing is read on but what the reader waits for."""

FIRST_S, TOGETHER_S = 0.01, 0.05
"""Seconds for which the first rows, and later ones, wait for those of other workers to share a batch with."""

_FIRST_BYTES, _TOGETHER_BYTES = 32 * 1024, 1024 * 1024
"""Bytes of the first rows, and of later ones, that wait for no others."""


@dataclass(slots=True)
class _PhasePart:
    """Rows of one repository in a batch that may contain others; of yielded rows only the number remains."""

    phase: int
    rows: int
    size: int
    batch: Any
    start: int


@dataclass(slots=True, eq=False)
class ReplicaStream:
    """The rows of one repository from one worker so far. All copies hold the same rows in the same order.

    `phase` is the first that is not finished; `complete` is set by the worker's last message alone.
    """

    parts: list[_PhasePart] = field(default_factory=list)
    rows: int = 0
    phase: int = 0
    complete: bool = False


@dataclass(slots=True)
class RepositorySlot:
    """One repository: its copies, the number of its yielded rows, and why it was given up, if it was."""

    copies: list[ReplicaStream] = field(default_factory=list)
    rows_yielded: int = 0
    given_up: bool = False

    @property
    def complete(self) -> bool:
        """Whether a worker has sent all of it."""
        return any(copy.complete for copy in self.copies)

    def over(self, phase: int) -> bool:
        """Return whether no more rows of a phase will arrive."""
        return self.given_up or any(copy.phase > phase for copy in self.copies)


class OrderedMerge:
    """The repositories of one search; filled by one thread, and read in order by another.

    Parameters
    ----------
    names
        Of the repositories.
    phases
        Those in which there may be rows.
    """

    def __init__(self, names: Sequence[str], phases: Sequence[int] = PHASES) -> None:
        self.names = sorted(names)
        self.slots = {name: RepositorySlot() for name in self.names}
        # One condition for all slots: the loop's thread adds results, the reader's thread waits for the next turn.
        self.changed = threading.Condition()
        # Bytes of rows that are not yielded yet, of all copies; guarded by `changed`, read without it in `full` as an
        # estimate.
        self.bytes = 0
        self.waiting = False
        self.error: Exception | None = None
        self._phases = phases
        # Index into the sequence of all (phase, repository) turns; only the reader moves it.
        self._position = 0
        # Counted down instead of looking at all slots: `is_settled` is asked for every result.
        self._unsettled = len(self.names)
        self._has_yielded = False

    def open(self, names: Sequence[str]) -> dict[str, ReplicaStream]:
        """Open new copies for a worker to fill."""
        with self.changed:
            copies = {name: ReplicaStream() for name in names}
            for name, copy in copies.items():
                self.slots[name].copies.append(copy)
            return copies

    def add(self, copies: dict[str, ReplicaStream], result: ResultBatch) -> None:
        """Add a result, and release everything that precedes it in the order; unrequested results are ignored.

        Raises `ClusterError` for rows of what was told to its end before: given on, they would be out of order.
        """
        with self.changed:
            start = 0
            # Slices share the buffers of the batch, so its bytes are split by rows.
            share = result.batch.nbytes / max(result.batch.num_rows, 1)
            for name, end in zip(result.repositories, result.ends, strict=True):
                stream = copies.get(name)
                if stream is not None:
                    if stream.phase > result.phase or result.phase not in self._phases:
                        raise ClusterError(f"rows of {name} arrived out of order")
                    stream.parts.append(
                        _PhasePart(result.phase, end - start, int(share * (end - start)), result.batch, start)
                    )
                    stream.rows += end - start
                    self.bytes += stream.parts[-1].size
                start = end
            last = result.repositories[-1]
            for name, copy in copies.items():
                # A worker sends repositories by name within a phase: those before the last one of the result are
                # finished in it.
                copy.phase = max(copy.phase, result.phase + (name < last))
            self._tell()

    def finish(self, copies: dict[str, ReplicaStream], names: Sequence[str]) -> None:
        """Record that all files of these repositories have arrived."""
        with self.changed:
            for name in names:
                if name in copies:
                    copies[name].phase = _OVER
            self._tell()

    def complete(self, copies: dict[str, ReplicaStream]) -> list[str]:
        """Mark copies as complete, after the last message; return those that no other worker had completed."""
        with self.changed:
            first = [name for name in copies if not self.slots[name].complete]
            self._unsettled -= sum(not self.slots[name].given_up for name in first)
            for copy in copies.values():
                copy.complete = True
                copy.phase = _OVER
            self._tell()
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
            self._tell()
            return incomplete

    def give_up(self, names: Sequence[str]) -> None:
        """Give up repositories that no worker is left for."""
        with self.changed:
            for name in names:
                slot = self.slots[name]
                self._unsettled -= not (slot.complete or slot.given_up)
                slot.given_up = True
            self._tell()

    def fail(self, error: Exception) -> None:
        """Fail the whole search; the reader raises the first error."""
        with self.changed:
            self.error = self.error or error
            self._tell()

    @property
    def is_settled(self) -> bool:
        """Whether every repository is complete or has failed for good."""
        return self._unsettled <= 0

    def full(self, names: Collection[str]) -> bool:
        """Return whether the worker that sends these rows should wait: the buffer is full, and others come first."""
        if self.bytes <= MAX_BYTES:
            return False
        turn = self._turn
        # The stream that the reader waits for is never paused, or the search would wait for ever.
        return not (self.waiting and turn is not None and turn[1] in names)

    @property
    def left(self) -> frozenset[str]:
        """Repositories that the reader saw incompletely: those whose turn has not come or is not over."""
        count, phases = len(self.names), len(self._phases)
        if not count or self._position >= count * phases:
            return frozenset()
        seen = self._position - count * (phases - 1)
        return frozenset(self.names[max(seen, 0) :])

    def batches(self, stopped: Callable[[], bool]) -> Iterator[Any]:
        """Yield all rows by phase and repository; end early when `stopped` returns True, and raise the fault.

        Rows of many repositories come in one batch where they are few.
        """
        gathered = JoinedRows()
        has_more = True
        look = time.monotonic() + FIRST_S
        while has_more:
            with self.changed:
                has_more = self._gather(gathered, stopped, look)
            look = time.monotonic() + TOGETHER_S
            # Outside the lock: a slow reader must not keep the event loop from adding rows.
            for batch in gathered.batches():
                self._has_yielded = True
                yield batch

    @property
    def _turn(self) -> tuple[int, str] | None:
        """The phase and the repository whose rows come next; None after the last."""
        phase, index = divmod(self._position, len(self.names) or 1)
        return (self._phases[phase], self.names[index]) if phase < len(self._phases) and self.names else None

    def _gather(self, gathered: JoinedRows, stopped: Callable[[], bool], look: float) -> bool:
        """Wait for enough rows, and after `look` for any; return False when there are no more."""
        while True:
            if self.error is not None:
                raise self.error
            if stopped():
                return False
            # The order is fixed by phase and name. Rows leave only for the slot whose turn it is, so answers are the
            # same however fast workers are.
            while (turn := self._turn) is not None and gathered.size < _TOGETHER_BYTES:
                phase, slot = turn[0], self.slots[turn[1]]
                self._take_rows(phase, slot, gathered)
                if not slot.over(phase):
                    break
                self._position += 1
            if turn is None:
                return False
            now = time.monotonic()
            if gathered.rows:
                # What is half told comes from one worker alone: no other's rows can come beside its first ones.
                is_alone = not self._has_yielded and self.slots[turn[1]].rows_yielded > 0
                if gathered.size >= self._enough or now >= look or is_alone:
                    return True
            elif now >= look:
                look = now + TOGETHER_S
            # The writer notifies only a waiting reader: most results are not the ones that the reader needs next.
            self.waiting = True
            self.changed.wait(look - now)
            self.waiting = False

    @property
    def _enough(self) -> int:
        """Bytes that wait for no others."""
        return _TOGETHER_BYTES if self._has_yielded else _FIRST_BYTES

    def _take_rows(self, phase: int, slot: RepositorySlot, gathered: JoinedRows) -> None:
        """Take rows of this phase that were not yielded yet, from the most advanced copy."""
        if not slot.copies:
            return
        # Copies hold the same rows in the same order, as shards never change. So any copy can continue after `given`
        # rows.
        copy = max(slot.copies, key=lambda candidate: (candidate.complete, candidate.phase, candidate.rows))
        row_index = 0
        for part in copy.parts:
            if part.phase > phase:
                break
            if row_index + part.rows > slot.rows_yielded:
                skipped = max(slot.rows_yielded - row_index, 0)
                gathered.add(phase, part.batch, part.start + skipped, part.start + part.rows, part.size)
                self.bytes -= part.size
                # The rows stay counted, and their memory is given back.
                part.batch, part.size = None, 0
            row_index += part.rows
        slot.rows_yielded = max(slot.rows_yielded, row_index)

    def _tell(self) -> None:
        """Wake the reader if the rows it waits for are here: the end, or enough of the next repository."""
        if not self.waiting:
            return
        if self.is_settled or self.error is not None:
            self.changed.notify_all()
        elif self.bytes >= self._enough and (turn := self._turn) is not None:
            slot = self.slots[turn[1]]
            if slot.over(turn[0]) or any(copy.rows > slot.rows_yielded for copy in slot.copies):
                self.changed.notify_all()
