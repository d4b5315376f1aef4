"""Work that takes a while, in a thread of its own, while its caller tells how far it is or keeps to its time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

from sourcelight.core.batches.events__cancellation import Cancellation
from sourcelight.core.batches.within import AMPLE_S, GRACE_S

_Part = TypeVar("_Part")


class Worker:
    """A thread for steps that may be left behind; started for the first one."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[..., Any], *given: Any) -> Future[Any]:
        """Do `work` there."""
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, "sourcelight-timed")
        return self._pool.submit(work, *given)

    def shutdown(self) -> None:
        """Take no more work; what runs is not waited for."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


def on_time(
    parts: Generator[_Part, None, None],
    cancellation: Cancellation,
    worker: ThreadPoolExecutor | Worker,
    *,
    brief: bool = False,
) -> Generator[_Part, None, None]:
    """Give `parts`, and end soon after the time limit even in the middle of one.

    One step can be a call into a library that nothing stops: an expensive regular expression over a line of a megabyte
    takes a second. Steps run in `worker`, one when it is asked for; the one that is late is left behind and ends at
    its next check. Without a time limit, while it is `AMPLE_S` away, or where steps are `brief` or look at the time
    themselves, `worker` rests.
    """
    if brief or cancellation.remaining_s is None:
        yield from parts
        return
    end = object()
    left = False
    try:
        while True:
            allowed_s = cancellation.remaining_s
            if allowed_s is None or allowed_s > AMPLE_S:
                part = next(parts, end)
                if part is end:
                    return
                yield part  # type: ignore[misc]  # anything but the end is a part
                continue
            step = worker.submit(next, parts, end)
            wait([step], None if allowed_s is None else max(allowed_s, 0.0) + GRACE_S)
            left = not step.done()
            part = end if left else step.result()
            if part is end:
                return
            yield part  # type: ignore[misc]  # anything but the end is a part
    finally:
        if not left:
            parts.close()


def watched(work: Callable[[Cancellation], None], cancellation: Cancellation, every_s: float) -> Iterator[None]:
    """Do `work` in a thread; yield at once and then every `every_s` seconds until it is done.

    When `cancellation` stops, or the caller loses interest, the work is asked to end and waited for. What it raises is
    raised here.
    """
    inner = Cancellation()
    faults: list[BaseException] = []

    def run() -> None:
        try:
            work(inner)
        except BaseException as fault:  # noqa: BLE001 - raised again in the caller's thread
            faults.append(fault)

    thread = threading.Thread(target=run, name="sourcelight-index", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            yield
            thread.join(every_s)
            if cancellation.stopped:
                inner.cancel()
    finally:
        inner.cancel()
        thread.join()
    if faults:
        raise faults[0]
