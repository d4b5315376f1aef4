"""Threads for searches: one for each, kept for the next one when it is over."""

from __future__ import annotations

import threading
from collections.abc import Callable
from queue import SimpleQueue

_KEPT = 2


class SearchThreads:
    """Runs each piece of work in a thread at once, in an idle one if there is one.

    Starting a thread, and waiting until it runs, takes longer than a short search. At most two idle threads are kept;
    they end with the process, or with `stop`.
    """

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._orders: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._idle = 0
        self._stopped = False

    def run(self, work: Callable[[], None]) -> None:
        """Run `work`, which must not raise."""
        with self._guard:
            if self._idle:
                self._idle -= 1
                self._orders.put(work)
                return
        threading.Thread(target=self._serve, args=(work,), daemon=True).start()

    def stop(self) -> None:
        """Let idle threads end, and others when their work is over."""
        with self._guard:
            self._stopped = True
            for _ in range(self._idle):
                self._orders.put(None)
            self._idle = 0

    def _serve(self, work: Callable[[], None] | None) -> None:
        thread = threading.current_thread()
        while work is not None:
            thread.name = "sourcelight-search"
            work()
            # What the work held is let go of before the thread waits.
            work = None
            with self._guard:
                thread.name = "sourcelight-idle"
                if self._stopped or self._idle >= _KEPT:
                    return
                self._idle += 1
            work = self._orders.get()
