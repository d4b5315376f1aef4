"""Threads for questions, which accounts take in turns: none waits for all that another has asked."""

from __future__ import annotations

import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor


class FairExecutor:
    """Runs work of accounts in threads.

    Parameters
    ----------
    workers
        Pieces of work at the same time; one account has half of them at most, when there are several.
    name
        What the names of its threads begin with.
    """

    def __init__(self, workers: int, name: str) -> None:
        self._workers = workers
        self._per_account = max(1, workers // 2)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix=name)
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[Callable[[], None]]] = OrderedDict()
        self._guard = threading.Lock()
        self._is_closed = False

    def submit(self, account: str, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise, when the account's turn comes."""
        with self._guard:
            self._waiting.setdefault(account, deque()).append(work)
            self._start()

    def shutdown(self) -> None:
        """Wait for what runs, and let go of what waits."""
        with self._guard:
            self._is_closed = True
            self._waiting.clear()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> None:
        """Start what may run; with the guard held."""
        while not self._is_closed and self._running.total() < self._workers:
            account = next((name for name in self._waiting if self._running[name] < self._per_account), None)
            if account is None:
                return
            own = self._waiting[account]
            work = own.popleft()
            if own:
                self._waiting.move_to_end(account)
            else:
                del self._waiting[account]
            self._running[account] += 1
            self._threads.submit(self._run, account, work)

    def _run(self, account: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._guard:
                self._running[account] -= 1
                if not self._running[account]:
                    del self._running[account]
                self._start()
