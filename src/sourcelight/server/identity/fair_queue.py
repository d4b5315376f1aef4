"""A queue with slots that accounts take in turns."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class QueueFull(Exception):
    """An account has too many waiting tasks, or waited too long."""


class FairQueue:
    """Slots that accounts take in turns; used in one event loop.

    Parameters
    ----------
    limit
        Total slots.
    per_account
        Slots of one account.
    max_waiting
        Waiting tasks of one account.

    Notes
    -----
    A free slot goes to the accounts in turn, however many tasks each has waiting.
    """

    def __init__(self, limit: int, per_account: int, max_waiting: int) -> None:
        self._limit = limit
        self._per_account = per_account
        self._max_waiting = max_waiting
        # No locks: all methods run on one event loop, and there is no await between a check and its change.
        self._running: Counter[str] = Counter()
        self._queues: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def running(self) -> int:
        """Slots in use."""
        return self._running.total()

    @asynccontextmanager
    async def slot(self, account: str, timeout_s: float | None = None) -> AsyncIterator[None]:
        """Hold a slot during the context; raises like `acquire`."""
        await self.acquire(account, timeout_s)
        try:
            yield
        finally:
            self.release(account)

    async def acquire(self, account: str, timeout_s: float | None = None) -> None:
        """Take a slot, after waiting for it at most `timeout_s` seconds (None: no limit).

        Raises
        ------
        QueueFull
            When too many tasks of the account are waiting, or after the timeout.
        """
        if self.has_room(account):
            self._running[account] += 1
            return

        queue = self._queues.get(account)
        if timeout_s == 0 or len(queue or ()) >= self._max_waiting:
            raise QueueFull

        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queues.setdefault(account, deque()).append(turn)
        try:
            # Shielded: `wait_for` would cancel the future, and a slot that is given at that moment would be lost.
            await asyncio.wait_for(asyncio.shield(turn), timeout_s)
        except BaseException as exc:
            if turn.done():  # its turn came at the same moment
                self.release(account)
            else:
                turn.cancel()
                self._forget(account, turn)
            if isinstance(exc, TimeoutError):
                raise QueueFull from None
            raise

    def has_room(self, account: str) -> bool:
        """Return whether `acquire` would give a slot at once."""
        # Behind its own waiting tasks, so that tasks of an account start in the order they came.
        return not self._queues.get(account) and self._fits(account)

    def release(self, account: str) -> None:
        """Release a slot."""
        self._running[account] -= 1
        if self._running[account] <= 0:
            # Accounts without a task leave no entry, or the counter would grow with every name that was ever seen.
            del self._running[account]
        while self._next():
            pass

    def _fits(self, account: str) -> bool:
        return self.running < self._limit and self._running[account] < self._per_account

    def _next(self) -> bool:
        """Start a task of the next account; return whether there was one."""
        for account, queue in self._queues.items():
            if self._fits(account):
                turn = queue.popleft()
                self._running[account] += 1
                if queue:
                    # Round robin: the account that was served goes to the end.
                    self._queues.move_to_end(account)
                else:
                    del self._queues[account]

                # The slot is counted here, before the waiter runs: otherwise another task could take it in between.
                turn.set_result(None)
                return True

        return False

    def _forget(self, account: str, turn: asyncio.Future[None]) -> None:
        queue = self._queues.get(account)
        if queue is not None and turn in queue:
            queue.remove(turn)
            if not queue:
                del self._queues[account]
