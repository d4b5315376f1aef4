"""Worker processes for one update: they read what they are told, and are gone when it ends."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

from sourcelight.core.batches import Cancellation
from sourcelight.core.errors import IndexFault
from sourcelight.engines.history.store.worker import Order

_GRACE_S = 5.0
_SLICE_S = 0.1


class _Worker:
    """A process and the thread that reads what it says."""

    def __init__(self, number: int, answers: queue.SimpleQueue[tuple[int, dict[str, Any] | None]]) -> None:
        self.order: Order | None = None
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sourcelight.engines.history.store.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        )

        def listen() -> None:
            output = self._process.stdout
            with contextlib.suppress(OSError, ValueError):
                for line in output or ():
                    answers.put((number, json.loads(line)))
            answers.put((number, None))

        self._listener = threading.Thread(target=listen, name=f"history worker {number}", daemon=True)
        self._listener.start()

    def send(self, order: Order) -> None:
        self.order = order
        # A worker that is gone says so through its listener.
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.write(order.line())
                self._process.stdin.flush()

    def fate(self) -> str:
        code = self._process.wait(_GRACE_S)
        if code < 0:
            return f"the process that read it was killed by signal {-code} (not enough memory?)"
        return f"the process that read it ended with status {code}"

    def end(self, *, kill: bool) -> None:
        if kill:
            self._process.kill()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        try:
            self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait(_GRACE_S)
        self._listener.join(_GRACE_S)
        if self._process.stdout is not None:
            self._process.stdout.close()


def run(
    orders: Sequence[Order], workers: int, done: Callable[[Order, list[str], list[int]], None], stop: Cancellation
) -> None:
    """Have the orders carried out; `done` gets each with its files and the commits that could not be read.

    Raises `IndexFault` when one fails or its worker dies, and `Cancelled`; the workers are then killed.
    """
    answers: queue.SimpleQueue[tuple[int, dict[str, Any] | None]] = queue.SimpleQueue()
    waiting = deque(orders)
    team: dict[int, _Worker] = {}
    finished = False
    try:
        for number in range(min(workers, len(waiting))):
            team[number] = _Worker(number, answers)
            team[number].send(waiting.popleft())
        left = len(orders)
        while left:
            stop.check()
            try:
                number, answer = answers.get(timeout=_SLICE_S)
            except queue.Empty:
                continue
            worker = team[number]
            order = worker.order
            if answer is None or order is None:
                raise IndexFault("", worker.fate())
            if answer["event"] != "done":
                raise IndexFault(order.folder, answer["reason"])
            done(order, answer["files"], answer["unread"])
            left -= 1
            worker.order = None
            if waiting:
                worker.send(waiting.popleft())
        finished = True
    finally:
        for worker in team.values():
            worker.end(kill=not finished)
