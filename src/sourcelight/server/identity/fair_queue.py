"""Whose turn it is: work of many accounts, so much of it at a time, no account's before another's for long."""

from __future__ import annotations

import asyncio
from collections import Counter, OrderedDict, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class QueueFull(Exception):
    """Raised when an account has as much work waiting as may, or waited for as long as may."""


class FairQueue:
    """Slots that accounts take in turns; used in one event loop.

    Parameters
    ----------
    limit
        Slots in all.
    per_account
        Slots that one account may have.
    max_waiting
        Pieces of work of one account that may wait.

    Notes
    -----
    A free slot goes to the accounts in turn, whatever number of pieces each has waiting.
    """

    def __init__(self, limit: int, per_account: int, max_waiting: int) -> None:
        self._limit = limit
        self._per_account = per_account
        self._max_waiting = max_waiting
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[asyncio.Future[None]]] = OrderedDict()

    @property
    def running(self) -> int:
        """Slots that are taken."""
        return self._running.total()

    @asynccontextmanager
    async def slot(self, account: str, timeout_s: float | None = None) -> AsyncIterator[None]:
        """A slot for the time of the context; raises as `acquire`."""
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
            When too much work of the account waits already, or the time is over.
        """
        own = self._waiting.get(account)
        if not own and self._fits(account):
            self._running[account] += 1
            return
        if timeout_s == 0 or len(own or ()) >= self._max_waiting:
            raise QueueFull
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(account, deque()).append(turn)
        try:
            await asyncio.wait_for(asyncio.shield(turn), timeout_s)
        except BaseException as fault:
            if turn.done():  # its turn came at the same moment
                self.release(account)
            else:
                turn.cancel()
                self._forget(account, turn)
            if isinstance(fault, TimeoutError):
                raise QueueFull from None
            raise

    def release(self, account: str) -> None:
        """Give a slot back."""
        self._running[account] -= 1
        if self._running[account] <= 0:
            del self._running[account]
        while self._next():
            pass

    def _fits(self, account: str) -> bool:
        return self.running < self._limit and self._running[account] < self._per_account

    def _next(self) -> bool:
        """Let one piece of work begin, of the account whose turn it is; whether there was one."""
        for account, own in self._waiting.items():
            if self._fits(account):
                turn = own.popleft()
                self._running[account] += 1
                if own:
                    self._waiting.move_to_end(account)
                else:
                    del self._waiting[account]
                turn.set_result(None)
                return True
        return False

    def _forget(self, account: str, turn: asyncio.Future[None]) -> None:
        own = self._waiting.get(account)
        if own is not None and turn in own:
            own.remove(turn)
            if not own:
                del self._waiting[account]
