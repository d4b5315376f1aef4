"""Fetch mirrors on a schedule: each by itself, later after each failure in a row, by one process at a time.

The state of each mirror is in a file of its directory, so a restart continues where the last process ended. Times
are wall-clock times. Neither files nor messages contain credentials.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass
from functools import partial
from typing import TypeAlias

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled, RepositoryError
from sourcelight.core.markup import one_line
from sourcelight.repos.file_locks import lock_file
from sourcelight.repos.mirrors.remotes import check_address
from sourcelight.repos.mirrors.update import clone, find_mirrors, update_mirror
from sourcelight.repos.private_files import make_private_folder, open_private

STATE_FILE = ".sourcelight-sync.json"
LOCK_FILE = ".sourcelight-sync.lock"
MAX_DELAY_S = 86_400.0
"""Seconds after which a failed mirror is fetched again at the latest, unless its own interval is longer."""

_MAX_STATE_BYTES = 64 * 1024 * 1024
"""Bytes that are read of the file with the state of all mirrors."""

_MAX_ERROR_CHARS = 500
"""Characters that are stored of git's message about a failed fetch."""

_SAVE_S = 2.0
"""Seconds between two writes of the state."""

_MIN_WAIT_S = 0.05
"""Seconds of the shortest wait, so that a mirror that is due but has no free worker keeps no core busy."""

_LOOK_S = 30.0
"""Seconds after which the list of addresses is reread, even if no mirror is due."""


_Fetch: TypeAlias = Callable[[Cancellation], str]


@dataclass(slots=True)
class MirrorState:
    """The state of the mirror of an address.

    Attributes
    ----------
    address
        Where it is fetched from, without credentials.
    mirror
        Path of the mirror; empty before the first fetch.
    fetched_at_s
        Time of the last fetch that did not fail, in seconds since 1970; 0: none.
    failures
        Failures in a row.
    due_at_s
        When it is fetched next.
    error
        Why the last fetch failed; empty when it did not.
    """

    address: str
    mirror: str = ""
    fetched_at_s: float = 0.0
    failures: int = 0
    due_at_s: float = 0.0
    error: str = ""


class _Locked(Exception):
    """Raised when another process fetches into the directory."""


def delay_s(interval_s: float, failures: int) -> float:
    """Return the seconds to the next fetch: twice as many after each failure in a row, at most a day.

    A tenth to either side, a quarter after failures, is left to chance, so that fetches of one start spread.
    """
    spread = 0.25 if failures else 0.1
    return _mean_delay_s(interval_s, failures) * random.uniform(1 - spread, 1 + spread)  # noqa: S311 - no secret


def _mean_delay_s(interval_s: float, failures: int) -> float:
    # 2**64 intervals are beyond the limit; many more would be too large for a float.
    return max(min(interval_s * 2.0 ** min(failures, 64), MAX_DELAY_S), interval_s)


def read_states(folder: str) -> dict[str, MirrorState]:
    """Return the records of a directory's mirrors, by address; empty if the file is missing or damaged."""
    try:
        with open(os.path.join(folder, STATE_FILE), "rb") as file:
            entries = json.loads(file.read(_MAX_STATE_BYTES))["mirrors"]

        states = [
            MirrorState(
                address=str(entry["address"]),
                mirror=str(entry["mirror"]),
                fetched_at_s=float(entry["fetched_at_s"]),
                failures=int(entry["failures"]),
                due_at_s=float(entry["due_at_s"]),
                error=str(entry["error"]),
            )
            for entry in entries
        ]
    # The directory is the user's, so the file may hold anything: deep nesting raises RecursionError, and `int(1e999)`
    # Overflow.
    except (OSError, ValueError, KeyError, TypeError, RecursionError, OverflowError):
        return {}  # every mirror is due then: fetching it again does no harm

    # JSON of Python has NaN, which is never due.
    return {state.address: state for state in states if math.isfinite(state.due_at_s + state.fetched_at_s)}


class MirrorSchedule:
    """Fetches the mirrors of a directory when they are due.

    Parameters
    ----------
    folder
        The directory of mirrors; created if absent.
    read_addresses
        Returns the addresses by their form without credentials, as `AddressList.addresses`; called before each round,
        so a list may change meanwhile. None: the mirrors that the directory has, from their origins.
    interval_s
        Seconds between two fetches of a mirror.
    timeout_s
        Seconds after which a fetch is stopped.
    jobs
        Number of parallel fetches.
    report
        Called after each fetch, in the thread of the caller.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        read_addresses: Callable[[], dict[str, str]] | None,
        *,
        interval_s: float,
        timeout_s: float,
        jobs: int,
        report: Callable[[MirrorState], None],
    ) -> None:
        self.folder = os.path.abspath(os.path.expanduser(os.fspath(folder)))
        self._read_addresses = read_addresses
        self._interval_s = interval_s
        self._timeout_s = timeout_s
        self._jobs = jobs
        self._report = report
        self.states: dict[str, MirrorState] = {}
        self._fetches: dict[str, _Fetch] = {}

        # Monotonic times, which a change of the clock can't move. `due_at_s` is wall time, since it has to survive a
        # restart.
        self._read_s = -math.inf
        self._saved_s = -math.inf
        self._running: dict[Future[str], tuple[MirrorState, Cancellation]] = {}

    @contextlib.contextmanager
    def lock(self) -> Iterator[None]:
        """Be the one process that fetches into the directory.

        Raises
        ------
        RepositoryError
            When another process does.
        """
        make_private_folder(self.folder)
        with contextlib.ExitStack() as stack:
            # Append mode creates the file without truncating it, so that a process that holds the lock loses nothing.
            file = stack.enter_context(open_private(os.path.join(self.folder, LOCK_FILE), "a+b"))
            try:
                stack.enter_context(lock_file(file, _refuse))
            except _Locked:
                raise RepositoryError(
                    f"another sync is running in {self.folder}; stop it, or use another directory"
                ) from None
            self.states = read_states(self.folder)
            yield

    @staticmethod
    def is_locked(folder: str) -> bool:
        """Return whether a process fetches into a directory."""
        try:
            with open(os.path.join(folder, LOCK_FILE), "r+b") as file, lock_file(file, _refuse):
                pass
        except FileNotFoundError:
            pass
        except _Locked:
            return True

        return False

    def run(self, *, once: bool = False) -> None:
        """Fetch mirrors when they are due, until an exception ends it, such as from a signal handler.

        Stops running fetches then and doesn't count them. A remote that hangs occupies one of the `jobs` until its
        timeout and doesn't delay the others.

        Parameters
        ----------
        once
            Fetch each mirror once and return; skips mirrors that wait after failures.
        """
        with ThreadPoolExecutor(self._jobs, "sourcelight-fetch") as pool:
            try:
                # Submitted only when a job is free: a queue inside the pool would run fetches of addresses that were
                # removed meanwhile.
                pending = self._due(once=once)
                while not once or pending or self._running:
                    while pending and len(self._running) < self._jobs:
                        state, fetch = pending.pop(0)
                        # The time starts when the fetch is submitted, which is when a job is free for it.
                        cancellation = Cancellation(self._timeout_s)
                        self._running[pool.submit(fetch, cancellation)] = state, cancellation
                    self._wait(is_full=bool(pending))
                    if not once and not pending:
                        pending = self._due()
            finally:
                # Before the pool is left, which waits for its threads: a fetch that hangs would otherwise hold up the
                # exit.
                for _, cancellation in self._running.values():
                    cancellation.cancel()
                self._save()

    def _due(self, *, once: bool = False) -> list[tuple[MirrorState, _Fetch]]:
        """Read the addresses again; return what to fetch now, the longest due first."""
        if time.monotonic() - self._read_s >= min(_LOOK_S, self._interval_s):
            self._fetches, self._read_s = self._find_fetches(), time.monotonic()
            # Addresses that were removed are dropped, and with them their failures: added again, they start over.
            self.states = {address: self.states.get(address) or MirrorState(address) for address in self._fetches}

        running = {state.address for state, _ in self._running.values()}
        now_s = time.time()
        for state in self.states.values():
            # A clock that was wrong, or an interval that is shorter now.
            state.due_at_s = min(state.due_at_s, now_s + 1.25 * _mean_delay_s(self._interval_s, state.failures))

        due = [
            state
            for state in self.states.values()
            if state.address not in running and (state.due_at_s <= now_s or (once and not state.failures))
        ]
        return [(state, self._fetches[state.address]) for state in sorted(due, key=lambda state: state.due_at_s)]

    def _find_fetches(self) -> dict[str, _Fetch]:
        """Return how to fetch each mirror, by address without credentials."""
        if self._read_addresses is None:
            return {
                check_address(origin, allow_local=True): partial(_update, path)
                for path, origin in find_mirrors(self.folder).items()
            }
        return {name: partial(_clone, address, self.folder) for name, address in self._read_addresses().items()}

    def _wait(self, *, is_full: bool) -> None:
        """Wait for a fetch to end, or for the next to be due unless the schedule is full."""
        running = {state.address for state, _ in self._running.values()}
        next_s = min((state.due_at_s for state in self.states.values() if state.address not in running), default=0.0)
        timeout_s = min(max(next_s - time.time(), _MIN_WAIT_S), _LOOK_S)
        if not self._running:
            time.sleep(timeout_s)
            return

        # No timeout while all jobs are busy: nothing can start then, and each fetch has its own timeout.
        done, _ = wait(self._running, None if is_full else timeout_s, FIRST_COMPLETED)
        for future in done:
            self._finish(future)

    def _finish(self, future: Future[str]) -> None:
        """Record the result of a fetch, and when its mirror is due next."""
        state, _ = self._running.pop(future)
        error = future.exception()
        state.error = "" if error is None else self._reason(error)
        if error is None:
            state.mirror, state.fetched_at_s, state.failures = future.result(), time.time(), 0
        else:
            state.failures += 1

        # From the end of the fetch: an interval that is shorter than a slow fetch must not start the next one at once.
        state.due_at_s = time.time() + delay_s(self._interval_s, state.failures)
        # A state that a kill loses costs one more fetch; writing a long list after each one would cost more.
        if time.monotonic() - self._saved_s > _SAVE_S:
            self._save()

        self._report(state)

    def _reason(self, error: BaseException) -> str:
        match error:
            case Cancelled():
                text = f"stopped after {self._timeout_s:g} s"
            case RepositoryError():
                text = str(error)
            case OSError():
                text = error.strerror or str(error)
            case _:
                text = f"{type(error).__name__}: {error}"

        message = "; ".join(filter(None, map(str.strip, text.splitlines())))
        return one_line(message.replace(":; ", ": "), _MAX_ERROR_CHARS)

    def _save(self) -> None:
        """Replace the file of states at once: a reader sees the old one or the new one."""
        path = os.path.join(self.folder, STATE_FILE)
        temporary = f"{path}.new"  # one process writes, by the lock
        with open_private(temporary, "wb") as file:
            file.write(json.dumps({"mirrors": [asdict(state) for state in self.states.values()]}, indent=1).encode())
        os.replace(temporary, path)
        self._saved_s = time.monotonic()


def _refuse() -> None:
    raise _Locked


def _clone(address: str, folder: str, cancellation: Cancellation) -> str:
    return clone(address, folder, cancellation=cancellation)


def _update(path: str, cancellation: Cancellation) -> str:
    return update_mirror(path, cancellation=cancellation)
