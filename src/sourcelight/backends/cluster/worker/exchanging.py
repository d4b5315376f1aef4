"""Numbers that a ranking has to know of all repositories, while each worker knows its own."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcelight.backends.cluster.messages import ADD, MOST
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ClusterError

WAIT_S = 30.0
"""Seconds after which a ranking is given up when the numbers of the other workers do not come."""

_STEP_S = 0.1


class Posts:
    """Numbers for rankings that wait for them, by token. Safe to share between threads."""

    def __init__(self) -> None:
        self._waiting: dict[str, queue.SimpleQueue[list[Any]]] = {}
        self._guard = threading.Lock()

    def open(self, token: str) -> queue.SimpleQueue[list[Any]]:
        """Where the numbers for a ranking arrive, until `close`."""
        with self._guard:
            return self._waiting.setdefault(token, queue.SimpleQueue())

    def close(self, token: str) -> None:
        """Nothing more is wanted."""
        with self._guard:
            self._waiting.pop(token, None)

    def tell(self, plain: Mapping[str, Any]) -> None:
        """Pass on what a service says; nobody may wait for it any more."""
        with self._guard:
            waiting = self._waiting.get(str(plain["token"]))
        if waiting is not None:
            waiting.put(list(plain["numbers"]))


@dataclass(frozen=True, slots=True)
class Meeting:
    """The `Exchange` of one ranking: says its numbers to whoever asked, and waits for those of all."""

    say: Callable[[Mapping[str, Any]], None]
    heard: queue.SimpleQueue[list[Any]]
    cancellation: Cancellation

    def add(self, numbers: Sequence[int]) -> list[int]:
        """The sums of what all workers have."""
        return self._met(ADD, numbers)

    def most(self, numbers: Sequence[float]) -> list[float]:
        """The greatest of what all workers have."""
        return self._met(MOST, numbers)

    def _met(self, how: str, numbers: Sequence[Any]) -> list[Any]:
        self.say({"kind": "share", "how": how, "numbers": list(numbers)})
        ends = time.monotonic() + WAIT_S
        while time.monotonic() < ends:
            self.cancellation.check()
            try:
                return self.heard.get(timeout=_STEP_S)
            except queue.Empty:
                continue
        raise ClusterError(f"the numbers of the other workers did not come within {WAIT_S:g} s")
