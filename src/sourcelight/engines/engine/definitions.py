"""Definitions found in the background for symbol searches, and how long a search waits for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Skipped
from sourcelight.engines.engine.limits import amount
from sourcelight.engines.search import IndexStore, Target

WAIT_S = 2.0
"""Seconds that a search waits for definitions unless it asks for every match; it goes on with those that are there."""

_STEP_S = 0.1

RETRY_S = 10.0
"""Seconds after which definitions that could not be found are looked for again: their files may have been deleted."""

_Key = tuple[str, str]


class DefinitionsUpdate:
    """Finds what is missing in one thread, whoever asks; stops with the process.

    Parameters
    ----------
    store
        The index whose definitions are kept.
    """

    def __init__(self, store: IndexStore) -> None:
        self._store = store
        self._waiting: dict[_Key, Target] = {}
        self._tried: dict[_Key, float] = {}
        self._running = False
        self._cancellation = Cancellation()
        self._changed = threading.Condition()

    def start(self, targets: Sequence[Target]) -> set[_Key]:
        """Begin with what is missing for `targets`; give the keys of those that are not ready."""
        stale = {(t.repository.key, t.commit): t for t in targets if not self._store.symbols_current(t)}
        with self._changed:
            now = time.monotonic()
            fresh = {key: one for key, one in stale.items() if now - self._tried.get(key, -RETRY_S) >= RETRY_S}
            self._waiting.update(fresh)
            self._tried.update(dict.fromkeys(fresh, now))
            if self._waiting and not self._running:
                self._running = True
                threading.Thread(target=self._work, name="sourcelight-definitions", daemon=True).start()
        return set(stale)

    def stop(self, wait_s: float = 2.0) -> None:
        """End the work at its next check, and wait so long for that; what is ready stays, and `start` begins again."""
        with self._changed:
            self._waiting.clear()
            self._tried.clear()
            self._cancellation.cancel()
            self._changed.wait_for(lambda: not self._running, wait_s)
            self._cancellation = Cancellation()

    def wait(self, targets: Sequence[Target], cancellation: Cancellation, wait_s: float | None) -> Iterator[int]:
        """Wait for the definitions of `targets`, giving how many are not ready from time to time.

        Ends when all are ready or given up, after `wait_s` seconds (None: no limit), or when `cancellation` stops.
        """
        missing = self.start(targets)
        ends = None if wait_s is None else time.monotonic() + wait_s
        while missing and not cancellation.stopped and (ends is None or time.monotonic() < ends):
            with self._changed:
                if not self._running:
                    return
                self._changed.wait(_STEP_S)
            missing = {key for key in missing if not self._ready(key, targets)}
            if missing:
                yield len(missing)

    def _ready(self, key: _Key, targets: Sequence[Target]) -> bool:
        return all(self._store.symbols_current(t) for t in targets if (t.repository.key, t.commit) == key)

    def _work(self) -> None:
        while True:
            with self._changed:
                batch, cancellation = list(self._waiting.values()), self._cancellation
                self._waiting.clear()
                if not batch:
                    self._running = False
                    self._changed.notify_all()
                    return
            # One batch that fails must not end the others; a search says which files have no definitions.
            with suppress(Exception):
                self._store.update_symbols(batch, cancellation=cancellation)
            with self._changed:
                for target in batch:
                    if self._store.symbols_current(target):  # tables that are deleted later are built anew at once
                        self._tried.pop((target.repository.key, target.commit), None)


def under_way(repositories: int) -> Skipped:
    """Repositories whose definitions are being found while the search waits."""
    return Skipped(
        reason="symbols-pending",
        title=f"{amount(repositories)} without definitions yet",
        message=f"Definitions are being found in {repositories:,} repositories.",
    )
