"""Bring things up to date in one background thread for all callers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from typing import Generic, TypeVar

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.storage import worker_pool

K = TypeVar("K", bound=Hashable)
W = TypeVar("W")

_POLL_S = 0.1
"""Seconds between two looks at what is missing."""


class BackgroundUpdater(Generic[K, W]):
    """A queue of work by key, and the thread that does it.

    The thread starts with the first request and ends when nothing is left. It is a daemon: it stops with the process,
    so whatever `work` writes must be usable after a kill at any moment. Safe to share between threads.

    Parameters
    ----------
    name
        What is brought up to date: the thread is called ``sourcelight-<name>``.
    work
        Does the work of some keys; returns why it failed, by key. An exception is the reason for all of them.
    is_ready
        Whether the work of a key is done; called at each request and wait, so it must be cheap. None: every request
        is queued, and `work` skips what is done.
    batch
        Whether `work` gets all that is queued at once; otherwise one key at a time, oldest first.
    retry_s
        Seconds for which a key is not tried again after a failure, so that a repeated search
        doesn't start hopeless work every time.

    Notes
    -----
    `_changed` guards every attribute. A key is in `_queue` from its request until the thread takes it, then in
    `_active` until its work is done: it is pending as long as it is in either, and no other key is waited for.
    """

    def __init__(
        self,
        name: str,
        work: Callable[[Sequence[W], Cancellation], Mapping[K, str]],
        *,
        is_ready: Callable[[W], bool] | None = None,
        batch: bool = False,
        retry_s: float = 0.0,
    ) -> None:
        self._name = name
        self._work = work
        self._is_ready = is_ready
        self._batch = batch
        self._retry_s = retry_s
        self._queue: dict[K, W] = {}
        self._active: dict[K, W] = {}
        self._failures: dict[K, str] = {}
        self._tried_s: dict[K, float] = {}
        self._running = False
        self._rounds = 0
        self._cancellation = Cancellation()
        self._changed = threading.Condition()

    def request(self, requested: Mapping[K, W]) -> set[K]:
        """Queue the work that is not done, and return its keys; keys that failed recently are not queued again."""
        is_ready = self._is_ready
        while True:
            rounds = self._rounds
            # Outside the lock: `is_ready` reads files, and the thread must not wait for that.
            stale = {key: item for key, item in requested.items() if is_ready is None or not is_ready(item)}
            with self._changed:
                # Work that ended between the two looks is done, although it was not ready: look again.
                if is_ready is None or rounds == self._rounds:
                    self._enqueue(stale)
                    return set(stale)

    def _enqueue(self, stale: Mapping[K, W]) -> None:
        now = time.monotonic()
        for key, item in stale.items():
            is_due = not self._retry_s or now - self._tried_s.get(key, -self._retry_s) >= self._retry_s
            if is_due and key not in self._active:
                self._tried_s[key] = now
                self._failures.pop(key, None)
                self._queue[key] = item

        if self._queue and not self._running:
            self._running = True
            threading.Thread(target=self._run, name=f"sourcelight-{self._name}", daemon=True).start()

    def wait(
        self, requested: Mapping[K, W], cancellation: Cancellation, timeout_s: float | None = None
    ) -> Iterator[frozenset[K]]:
        """Request work and wait for it, yielding what is missing about every 0.1 s.

        Ends when everything is done or has failed, after `timeout_s` seconds (None: no limit), when `cancellation`
        stops, or after `stop`.
        """
        missing = self.request(requested)
        deadline = None if timeout_s is None else time.monotonic() + timeout_s
        while missing and not cancellation.stopped and (deadline is None or time.monotonic() < deadline):
            with self._changed:
                if self._pending(missing):
                    self._changed.wait(_POLL_S)
                missing = self._pending(missing)
            if self._batch and self._is_ready is not None:
                # A batch ends with its slowest key; the others are usable before.
                missing = {key for key in missing if not self._is_ready(requested[key])}
            if missing:
                yield frozenset(missing)

    def failures(self, keys: Collection[K]) -> dict[K, str]:
        """Return why the last work of these keys failed; keys without a failure are left out."""
        with self._changed:
            return {key: self._failures[key] for key in keys if key in self._failures}

    def stop(self, timeout_s: float = 2.0) -> None:
        """Drop the queue and stop the work at its next check, waiting up to `timeout_s` seconds for that.

        Finished work stays, and a later `request` starts again.
        """
        with self._changed:
            self._queue.clear()
            self._tried_s.clear()
            self._cancellation.cancel()
            self._changed.wait_for(lambda: not self._running, timeout_s)
            # Work that has not stopped yet is left behind: what is requested from now on is not covered by it.
            self._active = {}
            self._cancellation = Cancellation()
            self._changed.notify_all()

    def _pending(self, keys: Collection[K]) -> set[K]:
        return {key for key in keys if key in self._queue or key in self._active}

    def _run(self) -> None:
        while True:
            with self._changed:
                keys = list(self._queue) if self._batch else list(self._queue)[:1]
                active = self._active = {key: self._queue.pop(key) for key in keys}
                # Taken with the work: `stop` replaces it, and what was queued after that must not be cancelled.
                cancellation = self._cancellation
                if not active:
                    # In the same block as the check: a request that comes later finds no thread and starts one.
                    self._running = False
                    self._changed.notify_all()
                    return

            failures = self._try(active, cancellation)
            with self._changed:
                self._failures.update(failures)
                for key, item in active.items():
                    # What was built, and is deleted later, is built again at once.
                    if self._retry_s and self._is_ready is not None and self._is_ready(item):
                        self._tried_s.pop(key, None)
                self._active = {}
                self._rounds += 1
                self._changed.notify_all()

    def _try(self, active: Mapping[K, W], cancellation: Cancellation) -> Mapping[K, str]:
        try:
            with worker_pool.in_background():
                return self._work(list(active.values()), cancellation)
        except Exception as error:  # noqa: BLE001 - one key must not end the others; the reason is reported
            return dict.fromkeys(active, f"{type(error).__name__}: {error}")
