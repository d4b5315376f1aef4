"""What workers sent of each repository, given on in the order in which one machine would give it."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from sourcelight.backends.cluster.worker.search import FILES, Piece

PHASES = FILES + 1
MOST_BYTES = 64 * 1024 * 1024
"""Bytes that wait for their turn, or for the reader; then nothing is read on but what the reader waits for."""

_STEP_S = 0.1


@dataclass(slots=True, eq=False)
class Copy:
    """What one worker sent of one repository so far. All copies hold the same rows in the same order.

    `phase` is the one that is not told whole yet; `complete` is set by the worker's last message alone.
    """

    pieces: list[Piece] = field(default_factory=list)
    rows: int = 0
    phase: int = 0
    complete: bool = False


@dataclass(slots=True)
class Slot:
    """One repository: its copies, how many rows of it were given on, and why it was given up, if it was."""

    copies: list[Copy] = field(default_factory=list)
    given: int = 0
    given_up: bool = False

    @property
    def complete(self) -> bool:
        """Whether a worker told all of it."""
        return any(copy.complete for copy in self.copies)


class Slots:
    """The repositories of one search; filled by one thread, and read in order by another."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = sorted(names)
        self.slots = {name: Slot() for name in self.names}
        self.changed = threading.Condition()
        self.bytes = 0
        self.turn = (0, self.names[0] if self.names else "")
        self.waiting = False
        self.fault: Exception | None = None

    def open(self, names: Sequence[str]) -> dict[str, Copy]:
        """New copies for a worker to fill."""
        with self.changed:
            copies = {name: Copy() for name in names}
            for name, copy in copies.items():
                self.slots[name].copies.append(copy)
            return copies

    def add(self, copies: dict[str, Copy], piece: Piece) -> None:
        """Keep a piece: what comes before it in the order is told. One that was not asked for is left alone."""
        with self.changed:
            for name, copy in copies.items():
                copy.phase = max(copy.phase, piece.phase + (name < piece.repository))
            own = copies.get(piece.repository)
            if own is not None:
                own.pieces.append(piece)
                own.rows += piece.batch.num_rows
                self.bytes += piece.batch.nbytes
            self.changed.notify_all()

    def passed(self, copies: dict[str, Copy], names: Sequence[str]) -> None:
        """The files of these are told."""
        with self.changed:
            for name in names:
                if name in copies:
                    copies[name].phase = PHASES
            self.changed.notify_all()

    def complete(self, copies: dict[str, Copy]) -> list[str]:
        """These are told whole, by the worker's last word; gives those that no other worker told before."""
        with self.changed:
            first = [name for name in copies if not self.slots[name].complete]
            for copy in copies.values():
                copy.complete = True
                copy.phase = PHASES
            self.changed.notify_all()
            return first

    def drop(self, copies: dict[str, Copy]) -> list[str]:
        """Forget what a worker sent of repositories that it did not tell whole; gives those that nobody told whole."""
        with self.changed:
            lost = []
            for name, copy in copies.items():
                slot = self.slots[name]
                if copy.complete or copy not in slot.copies:
                    continue
                slot.copies.remove(copy)
                self.bytes -= sum(piece.batch.nbytes for piece in copy.pieces)
                if not slot.complete:
                    lost.append(name)
            self.changed.notify_all()
            return lost

    def give_up(self, names: Sequence[str]) -> None:
        """No worker is left to ask for these."""
        with self.changed:
            for name in names:
                self.slots[name].given_up = True
            self.changed.notify_all()

    def fail(self, fault: Exception) -> None:
        """The search as a whole can't be answered."""
        with self.changed:
            self.fault = self.fault or fault
            self.changed.notify_all()

    def full(self, names: Collection[str]) -> bool:
        """Whether a worker that sends these should wait: enough is here, and nobody waits for what it sends."""
        return self.bytes > MOST_BYTES and not (self.waiting and self.turn[1] in names)

    def batches(self, stopped: Any) -> Iterator[Any]:
        """All rows: by phase, in each by repository; ends early when `stopped` says so, and raises the fault."""
        for phase in range(PHASES):
            for name in self.names:
                with self.changed:
                    self.turn = (phase, name)
                    self.changed.notify_all()
                yield from self._unit(phase, self.slots[name], stopped)
                if stopped():
                    return

    def _unit(self, phase: int, slot: Slot, stopped: Any) -> Iterator[Any]:
        while True:
            with self.changed:
                while True:
                    if self.fault is not None:
                        raise self.fault
                    if stopped():
                        return
                    batches = self._more(phase, slot)
                    over = slot.given_up or any(copy.phase > phase for copy in slot.copies)
                    if batches or over:
                        break
                    self.waiting = True
                    self.changed.wait(_STEP_S)
                self.waiting = False
            yield from batches
            if over and not batches:
                return

    def _more(self, phase: int, slot: Slot) -> list[Any]:
        """Rows of this phase that were not given yet, from the copy that has most."""
        if not slot.copies:
            return []
        copy = max(slot.copies, key=lambda one: (one.complete, one.phase, one.rows))
        found = []
        at = 0
        for place, piece in enumerate(copy.pieces):
            if piece.phase > phase:
                break
            rows = piece.batch.num_rows
            if at + rows > slot.given:
                found.append(piece.batch.slice(max(slot.given - at, 0)))
                self.bytes -= piece.batch.nbytes
                # The rows stay counted, and their memory is given back.
                copy.pieces[place] = Piece(piece.phase, piece.repository, _Counted(rows))
            at += rows
        slot.given = max(slot.given, at)
        return found


@dataclass(frozen=True, slots=True)
class _Counted:
    """A batch of which only the number of rows is still known."""

    num_rows: int
    nbytes: int = 0

    def slice(self, start: int) -> Any:
        raise AssertionError(f"row {start} was given on before")
