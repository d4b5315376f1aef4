"""Requests to stop, deadlines, and threads for steps that don't look at the clock.

`Cancellation` carries a request and a time limit. `run_with_deadline` and `steps_with_deadline` leave a step behind
that takes too long; scans take a callable (`Stopped`) and raise `ScanStopped`.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias, TypeVar

from sourcelight.core.errors import Cancelled

GRACE_S = 0.1
"""Seconds that work may continue after its time limit, to finish or to reach its next check."""

AMPLE_S = 30.0
"""Time to the limit that no single step takes up, so that no step needs a thread, or is abandoned."""


class WorkLimitReached(Cancelled):
    """Raised by `Cancellation.check` when a thread has used the processor time that it was given."""


@dataclass(slots=True)
class _WorkLimit:
    """The processor time at which a thread is to stop."""

    thread: int
    limit_s: float
    next_look_s: float = 0.0

    def is_reached(self) -> bool:
        # Until as much time has passed as is left, it can't be used up. The clock of a thread is a call of the system.
        if self.thread != threading.get_ident() or time.monotonic() < self.next_look_s:
            return False

        remaining_s = self.limit_s - time.thread_time()
        self.next_look_s = time.monotonic() + max(remaining_s, 0.0)
        return remaining_s <= 0


class Cancellation:
    """A request to stop, shared by the caller and the running work.

    Parameters
    ----------
    timeout_s
        Seconds from now after which `expired` is True; None: never.

    Attributes
    ----------
    unsent_repositories
        Repositories whose matches did not reach the reader in time.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self._event = threading.Event()
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self._work: _WorkLimit | None = None
        self.unsent_repositories: set[str] = set()

    def limit(self, timeout_s: float | None) -> None:
        """Set the time limit to at most `timeout_s` seconds from now; an earlier limit stays. None: no change."""
        if timeout_s is not None:
            deadline = time.monotonic() + timeout_s
            # No lock: it is set before work starts or by the thread that does it, and read by others as one reference.
            self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)

    @contextmanager
    def work_limit(self, work_s: float) -> Iterator[None]:
        """Within this block, limit the processor time of this thread to `work_s` seconds: then `check` raises.

        Unlike a time limit, it ends no search early: whatever a caller gets is complete. Waiting for other processes
        and a busy machine don't count.
        """
        before = self._work
        self._work = _WorkLimit(threading.get_ident(), time.thread_time() + work_s)
        try:
            yield
        finally:
            self._work = before

    def end_work(self, reason: str) -> NoReturn:
        """Raise `WorkLimitReached`, and let `check` raise it up to the end of the block of `work_limit`."""
        if self._work is not None:
            self._work.limit_s = self._work.next_look_s = 0.0
        raise WorkLimitReached(reason)

    def cancel(self) -> None:
        """Ask the work to stop at its next check."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether a stop was requested."""
        return self._event.is_set()

    @property
    def remaining_s(self) -> float | None:
        """Seconds until the time limit, negative when it has passed; None without a limit."""
        return None if self._deadline is None else self._deadline - time.monotonic()

    @property
    def expired(self) -> bool:
        """Whether the time limit has passed."""
        return self._deadline is not None and time.monotonic() >= self._deadline

    @property
    def stopped(self) -> bool:
        """Whether to stop, for either reason. Cheap: check it between steps of a few milliseconds."""
        return self._event.is_set() or self.expired

    def check(self) -> None:
        """Raise `Cancelled` if a stop was requested (a passed time limit alone does not raise).

        Raises `WorkLimitReached` within `work_limit`, in its thread, when its processor time is used up.
        """
        if self._event.is_set():
            raise Cancelled("stopped on request")
        if self._work is not None and self._work.is_reached():
            raise WorkLimitReached("the processor time is used up")


_Result = TypeVar("_Result")


class DeadlineExceeded(Exception):
    """Raised when work was not done by the end of its time."""


def run_with_deadline(work: Callable[[], _Result], cancellation: Cancellation, grace_s: float = GRACE_S) -> _Result:
    """Run `work` in a separate thread and return its result; in this thread without a time limit.

    Late work is abandoned: its result or error is dropped when it ends.

    Raises
    ------
    DeadlineExceeded
        `grace_s` seconds after the limit.
    """
    remaining_s = cancellation.remaining_s
    if remaining_s is None:
        return work()
    if remaining_s + grace_s <= 0:
        raise DeadlineExceeded

    done = threading.Event()
    results: list[_Result] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)
        finally:
            done.set()

    # A thread for each call: a pooled one could still be busy with a step that was left behind.
    threading.Thread(target=run, name="sourcelight-within", daemon=True).start()
    if not done.wait(remaining_s + grace_s):
        raise DeadlineExceeded
    if errors:
        raise errors[0]

    return results[0]


_Part = TypeVar("_Part")


class StepThread:
    """A thread for steps that may be left behind; started for the first one."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None

    def submit(self, work: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Run `work` in the thread."""
        if self._pool is None:
            # One thread, so that steps of a generator never run at the same time.
            self._pool = ThreadPoolExecutor(1, "sourcelight-timed")
        return self._pool.submit(work, *arguments)

    def shutdown(self) -> None:
        """Accept no more work, without waiting for running work."""
        if self._pool is not None:
            self._pool.shutdown(wait=False)


def steps_with_deadline(
    parts: Generator[_Part, None, None],
    cancellation: Cancellation,
    worker: ThreadPoolExecutor | StepThread,
    *,
    brief: bool = False,
) -> Generator[_Part, None, None]:
    """Yield `parts`, and end soon after the time limit even in the middle of one.

    One step can be a library call that can't be stopped: an expensive regular expression over a line of a megabyte
    takes a second. Steps run in `worker`, each when it is asked for; a late one is left behind and ends at its next
    check. They run in this thread without a time limit, while the limit is `AMPLE_S` away, or if all are `brief`.
    """
    if brief or cancellation.remaining_s is None:
        return parts
    return _timed_steps(parts, cancellation, worker)


def _timed_steps(
    parts: Generator[_Part, None, None], cancellation: Cancellation, worker: ThreadPoolExecutor | StepThread
) -> Generator[_Part, None, None]:
    end = object()
    is_abandoned = False
    try:
        while True:
            allowed_s = cancellation.remaining_s
            if allowed_s is None or allowed_s > AMPLE_S:
                item = next(parts, end)
                if item is end:
                    return
                yield item  # type: ignore[misc]  # anything but the end is a part
                continue

            step = worker.submit(next, parts, end)
            wait([step], None if allowed_s is None else max(allowed_s, 0.0) + GRACE_S)

            # The step still runs the generator, so it must be neither advanced nor closed from here.
            is_abandoned = not step.done()
            item = end if is_abandoned else step.result()
            if item is end:
                return

            yield item  # type: ignore[misc]  # anything but the end is a part
    finally:
        if not is_abandoned:
            parts.close()


def run_in_thread(work: Callable[[Cancellation], None], cancellation: Cancellation, every_s: float) -> Iterator[None]:
    """Run `work` in a thread; yield at once and then every `every_s` seconds until it is done.

    When `cancellation` stops, or the caller loses interest, the work is asked to end and waited for. What it raises is
    raised here.
    """
    # A cancellation of its own: leaving the loop early has to stop the work, but must not cancel the caller's request.
    inner = Cancellation()
    errors: list[BaseException] = []

    def run() -> None:
        try:
            work(inner)
        except BaseException as error:  # noqa: BLE001 - raised again in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, name="sourcelight-index", daemon=True)
    thread.start()
    try:
        while thread.is_alive():
            yield
            # Also the wait between two yields: it returns at once when the work ends.
            thread.join(every_s)
            if cancellation.stopped:
                inner.cancel()
    finally:
        inner.cancel()
        thread.join()

    if errors:
        raise errors[0]


Stopped: TypeAlias = Callable[[], bool]
"""Asked about every 10 ms of scanning whether to stop; once True it stays True."""


class ScanStopped(Exception):
    """Raised out of a scan that its caller stops: the matches so far are incomplete, and not returned."""


def never() -> bool:
    """Return False: nothing stops the scan."""
    return False


def check_stopped(stopped: Stopped) -> None:
    """Raise `ScanStopped` when it is time to stop."""
    if stopped():
        raise ScanStopped
