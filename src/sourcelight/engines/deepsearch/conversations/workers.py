"""The threads and processes that work on questions.

Accounts take turns in the threads of a service: none waits for all that another one has asked. A question in the store
has the name of its process, so that another process can see whether somebody still works on it.
"""

from __future__ import annotations

import os
import secrets
import socket
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
        Prefix of the names of its threads.
    """

    def __init__(self, workers: int, name: str) -> None:
        self._workers = workers
        self._max_per_account = max(1, workers // 2)
        self._threads = ThreadPoolExecutor(workers, thread_name_prefix=name)
        # By account. The account that has waited longest comes first in `_waiting`.
        self._running: Counter[str] = Counter()
        self._waiting: OrderedDict[str, deque[Callable[[], None]]] = OrderedDict()
        self._lock = threading.Lock()
        self._is_closed = False

    def submit(self, account: str, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise, when the account's turn comes."""
        with self._lock:
            self._waiting.setdefault(account, deque()).append(work)
            self._start()

    def shutdown(self) -> None:
        """Wait for running jobs, and drop pending ones."""
        with self._lock:
            self._is_closed = True
            self._waiting.clear()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _start(self) -> None:
        """Start the jobs that may run; the caller holds the lock."""
        while not self._is_closed and self._running.total() < self._workers:
            account = next((name for name in self._waiting if self._running[name] < self._max_per_account), None)
            if account is None:
                return

            work = self._take_next(account)
            self._running[account] += 1
            self._threads.submit(self._run, account, work)

    def _take_next(self, account: str) -> Callable[[], None]:
        """Take the oldest job of an account, whose other jobs then wait behind those of all other accounts."""
        queue = self._waiting[account]
        work = queue.popleft()
        if queue:
            self._waiting.move_to_end(account)
        else:
            del self._waiting[account]
        return work

    def _run(self, account: str, work: Callable[[], None]) -> None:
        try:
            work()
        finally:
            with self._lock:
                self._running[account] -= 1
                if not self._running[account]:
                    del self._running[account]
                self._start()


def new_process_id() -> str:
    """Return a unique name for this process."""
    return f"{socket.gethostname()}/{os.getpid()}/{secrets.token_hex(8)}"


def is_alive(process_id: str) -> bool:
    """Return whether the process of that name may still run; True if unknown."""
    host, _, process = process_id.rpartition("/")[0].rpartition("/")
    if not process.isdigit():
        return False
    if host != socket.gethostname() or os.name != "posix":
        return True

    try:
        # Signal 0 only checks (kill(2)): EPERM means that the process exists and is another user's.
        os.kill(int(process), 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True

    return True
