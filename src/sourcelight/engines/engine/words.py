"""The words that ranking reads, made known in the background, so that no question has to wait for them."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sourcelight.core.cancellation import Cancellation
from sourcelight.engines.engine import natural
from sourcelight.engines.search import Target

if TYPE_CHECKING:
    from sourcelight.engines.engine.engine import Engine


class WordsUpdate:
    """Finds what is missing in one thread, one repository after another; stops with the process.

    Parameters
    ----------
    engine
        Whose index is meant. A question that comes meanwhile finds the words of its own repositories itself.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._waiting: dict[tuple[str, str], Target] = {}
        self._thread: threading.Thread | None = None
        self._cancellation = Cancellation()
        self._guard = threading.Lock()

    def start(self, targets: Sequence[Target]) -> None:
        """Begin with what is missing for `targets`, definitions first."""
        with self._guard:
            self._waiting.update({(target.repository.key, target.commit): target for target in targets})
            if self._waiting and self._thread is None:
                self._thread = threading.Thread(target=self._work, name="sourcelight-words", daemon=True)
                self._thread.start()

    def stop(self, wait_s: float = 2.0) -> None:
        """End the work at its next check, and wait so long for that; what is ready stays, and `start` begins again."""
        with self._guard:
            self._waiting.clear()
            self._cancellation.cancel()
            thread = self._thread
        if thread is not None:
            thread.join(wait_s)

    def _work(self) -> None:
        while True:
            with self._guard:
                if self._cancellation.cancelled:
                    self._cancellation = Cancellation()
                if not self._waiting:
                    self._thread = None
                    return
                target, cancellation = self._waiting.pop(next(iter(self._waiting))), self._cancellation
            # One repository that fails must not end the others; a question says which ones can't be ranked.
            with suppress(Exception):
                for _ in self._engine.definitions.wait([target], cancellation, None):
                    pass
                natural.prepare(self._engine, [target], cancellation)
