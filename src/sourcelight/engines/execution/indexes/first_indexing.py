"""The first indexing of a service, in a thread, so that the service answers meanwhile; how searches wait for it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from sourcelight.core.batches.events import IndexProgress
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.execution.protocol import format_count, markdown_list
from sourcelight.engines.storage import worker_pool

_STEP_S = 0.1
"""Seconds between two reports of progress."""

INDEXING_WAIT_S = 10.0
"""Seconds that a search waits for the first indexing; it continues with the repositories that are indexed."""

_FIRST_SEARCH_S = 0.5
"""Seconds that it leaves for a first search to begin, so that a command that opens and searches has both cores."""

_MAX_DELAY_S = 10.0
"""Seconds that it waits for the first search to end."""


class FirstIndexing:
    """The first indexing of an engine's repositories, in one thread; stops with the process.

    Attributes
    ----------
    wait_s
        Seconds that a search waits for it.
    failure
        The error that stopped it as a whole, such as a read-only directory; None without one.
    """

    def __init__(self) -> None:
        self.wait_s = INDEXING_WAIT_S
        self.failure: Exception | None = None
        self._finished = threading.Event()

        # An engine that never indexes in the background has nothing to wait for.
        self._finished.set()
        self._cancellation = Cancellation()
        self._latest: IndexProgress | None = None
        self._thread: threading.Thread | None = None
        self._may_start = threading.Event()
        self._is_searched = False
        self._is_on_demand = False

    @property
    def is_running(self) -> bool:
        """Whether it has started and not ended."""
        return not self._finished.is_set()

    def start(
        self,
        index: Callable[[Callable[[IndexProgress], None], Cancellation], object],
        on_end: Callable[[], None],
        *,
        on_demand: bool = False,
    ) -> None:
        """Call `index` in a thread with low-priority processes, and `on_end` after it, also after a failure.

        A search that begins at once reads the repositories itself and has all cores: `index` begins when it has ended.
        With `on_demand`, it begins when a call waits for it, and otherwise never.
        """
        self._finished.clear()
        self._is_on_demand = on_demand

        def work() -> None:
            if on_demand:
                self._may_start.wait()
            # Later searches share the machine with it: a build that paused for each would get little done.
            elif not self._may_start.wait(_FIRST_SEARCH_S) and self._is_searched:
                self._may_start.wait(_MAX_DELAY_S)

            try:
                if not self._cancellation.cancelled:
                    with worker_pool.in_background():
                        index(self._note, self._cancellation)
            except Exception as exc:  # noqa: BLE001 - searches name the repositories that are missing
                self.failure = exc
            finally:
                self._finished.set()

            # After `stop` the engine is closing: `on_end` would start more background work.
            if not self._cancellation.cancelled:
                on_end()

        self._thread = threading.Thread(target=work, name="sourcelight-index", daemon=True)
        self._thread.start()

    @contextmanager
    def searching(self) -> Iterator[None]:
        """Let the first indexing begin after the block, which searches what is not indexed yet."""
        self._is_searched = True
        try:
            yield
        finally:
            if not self._is_on_demand:
                self._may_start.set()

    def stop(self, wait_s: float = 2.0) -> None:
        """Stop it at its next check, and wait at most `wait_s` seconds for that; finished indexes are kept."""
        self._cancellation.cancel()
        self._may_start.set()
        if self._thread is not None:
            self._thread.join(wait_s)

    def wait(self, cancellation: Cancellation) -> Iterator[Skipped]:
        """Wait at most `wait_s` seconds, with an item for ``skipped`` from time to time."""
        self._may_start.set()
        deadline = time.monotonic() + self.wait_s
        while self.is_running and not cancellation.stopped and time.monotonic() < deadline:
            yield self.item()
            self._finished.wait(_STEP_S)

    def missing(self, repositories: Sequence[str]) -> Skipped:
        """Return the item for repositories that a search left out because they are not indexed yet."""
        return Skipped(
            reason="repository-indexing",
            title=f"{format_count(len(repositories))} not indexed yet",
            message="These repositories are being indexed for the first time and were not searched; "
            f"repeat the search in a moment:\n{markdown_list(list(repositories))}",
            severity="warn",
        )

    def _note(self, progress: IndexProgress) -> None:
        self._latest = progress

    def item(self) -> Skipped:
        """Return the item with its progress."""
        latest = self._latest
        done = "" if latest is None else f" {latest.repositories_done:,} of {latest.repositories_total:,} are done."
        return Skipped(
            reason="repository-indexing",
            title="indexing",
            message=f"The repositories are being indexed for the first time.{done}",
        )
