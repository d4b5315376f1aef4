"""Part of a module."""

from __future__ import annotations

import threading
import time

from sourcelight.core.errors import Cancelled


class Cancellation:
    """A request to stop, shared by the one who asks and the work that is asked.

    Parameters
    ----------
    timeout_s
        Seconds from now after which `expired` is True; None: never.

    Attributes
    ----------
    untold
        Repositories of which matches were found that whoever takes them could not pass on in time.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self._event = threading.Event()
        self._deadline = None if timeout_s is None else time.monotonic() + timeout_s
        self.untold: set[str] = set()

    def limit(self, timeout_s: float | None) -> None:
        """Let the work `expire` no later than `timeout_s` seconds from now; an earlier limit stays. None: no change."""
        if timeout_s is not None:
            deadline = time.monotonic() + timeout_s
            self._deadline = deadline if self._deadline is None else min(self._deadline, deadline)

    def cancel(self) -> None:
        """Ask the work to stop at its next check."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether someone asked to stop."""
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
        """Whether to stop, for either reason. Cheap: call it between units of work of some milliseconds."""
        return self._event.is_set() or self.expired

    def check(self) -> None:
        """Raise `Cancelled` if someone asked to stop (a passed time limit alone does not raise)."""
        if self._event.is_set():
            raise Cancelled("stopped on request")
