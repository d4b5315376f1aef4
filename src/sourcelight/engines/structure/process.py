"""A process that runs ast-grep, and the thread that reads its answers.

Several processes may work for one search. They put their answers into its queue, each with the process it is from, so
that the search waits for whichever is done first.
"""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from typing import TypeAlias

import msgspec

from sourcelight.engines.storage.worker_pool import start_process
from sourcelight.engines.structure import worker
from sourcelight.repos.git.command import limit_process

MAX_DATA_BYTES = 2 << 30
"""Memory that a process may write to, where the system can limit it."""

_MAX_JOIN_S = 1.0
"""Seconds to wait for the thread of a process that was killed: its output ends at once."""

AnswerQueue: TypeAlias = "queue.SimpleQueue[tuple[StructureProcess, bytes | None]]"
"""Answers, each with its process; None for the end of a process."""


class StructureProcess:
    """A running process; see `worker` for its requests and answers.

    Attributes
    ----------
    last_answer_s, idle_since_s
        Times of the monotonic clock: of the last request or answer, and since when no search uses the process.
    """

    def __init__(self) -> None:
        self.last_answer_s = self.idle_since_s = time.monotonic()
        self._answers: AnswerQueue = queue.SimpleQueue()
        self._process = start_process(worker.MODULE)
        limit_process(self._process.pid, data_bytes=MAX_DATA_BYTES)
        self._listener = threading.Thread(target=self._listen, name="structure answers", daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        output = self._process.stdout
        with contextlib.suppress(OSError, ValueError):
            while output is not None and (data := worker.read_message(output)) is not None:
                self._answers.put((self, data))

        # The output ends when the process does, for whatever reason: a search must not wait for it any longer.
        self._answers.put((self, None))

    def send(self, request: worker.ReadRequest | worker.FindRequest, answers: AnswerQueue) -> None:
        """Send a request, whose answers go to a queue; a process that died reports it there."""
        self._answers = answers
        self.last_answer_s = time.monotonic()
        with contextlib.suppress(OSError, ValueError):
            if self._process.stdin is not None:
                worker.write_message(self._process.stdin, msgspec.msgpack.encode(request))

        if self._process.poll() is not None:
            answers.put((self, None))

    def end(self) -> None:
        """Kill the process; its search gets no further answer."""
        # The listener may still read an answer; nobody takes it from this queue.
        self._answers = queue.SimpleQueue()
        self._process.kill()
        self._process.wait()
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()

        self._listener.join(_MAX_JOIN_S)
        if self._process.stdout is not None:
            self._process.stdout.close()
