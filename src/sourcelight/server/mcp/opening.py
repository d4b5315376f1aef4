"""An engine that a thread opens, so that clients can connect at once.

Clients give up when the first answer takes long: two stock ones after 5 and 15 s. Finding the repositories of a large
directory alone can take longer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import ToolError

if TYPE_CHECKING:
    from sourcelight.core.batches.results import CallObserver
    from sourcelight.engines.execution import Engine
    from sourcelight.engines.tools import Conversations

WAIT_S = 20.0
"""Seconds that a call waits for the repositories: below the 60 s after which clients give up a call."""

_STEP_S = 0.1
"""Seconds between two looks at the cancellation while engines open."""

_REPORT_S = 1.0


class ToolSources(NamedTuple):
    """The engines of tools: an engine, and deep search (None without it)."""

    engine: Engine
    conversations: Conversations | None = None


class EngineOpening:
    """Opens an engine in a thread; a call that comes meanwhile waits for it.

    Parameters
    ----------
    open_sources
        Opens the resources of tools, and registers their closing on the stack.
    wait_s
        Seconds that a call waits.
    is_shared
        Whether callers may be others than the user of this process. A failure then is final, and its text, which may
        name paths, is for the log. Else the next call tries again, and its caller gets the text.
    """

    def __init__(
        self, open_sources: Callable[[ExitStack], ToolSources], *, wait_s: float = WAIT_S, is_shared: bool = False
    ) -> None:
        self._open_sources = open_sources
        self._wait_s = wait_s
        self._is_shared = is_shared
        self._guard = threading.Lock()
        self._finished = threading.Event()
        self._thread: threading.Thread | None = None
        self._sources: ToolSources | None = None
        self._closers = ExitStack()
        self._failure: Exception | None = None
        self._is_closed = False

    @property
    def failure(self) -> Exception | None:
        """The error of the last attempt to open the engine; None while it runs, or after it succeeded."""
        return self._failure if self._finished.is_set() else None

    @property
    def is_open(self) -> bool:
        """Whether calls need not wait."""
        return self._sources is not None

    def start(self) -> None:
        """Open the engine in a thread, unless it is open or a thread is opening it."""
        with self._guard:
            if self._sources is not None or self._is_closed or (self._thread is not None and self._thread.is_alive()):
                return
            self._finished.clear()
            self._failure = None
            self._thread = threading.Thread(target=self._open, name="sourcelight-open", daemon=True)
            self._thread.start()

    def get(self, cancellation: Cancellation, observer: CallObserver | None = None) -> ToolSources:
        """Return the engine and deep search, after waiting for them.

        Parameters
        ----------
        cancellation
            Ends the wait.
        observer
            Called once a second while the call waits.

        Raises
        ------
        ToolError
            When it is not open yet, or callers must not know why it can't be opened.
        SourcelightError
            When it can't be opened, such as `NoRepositories`.
        Cancelled
            After ``cancellation.cancel()``.
        """
        # The previous attempt failed: start another one, and wait for its result.
        if self._finished.is_set() and self._sources is None and not self._is_shared:
            self.start()

        self._wait(cancellation, observer)
        if self._failure is not None:
            if self._is_shared:
                raise ToolError("the service can't open its repositories; its log has the reason") from self._failure
            raise self._failure

        if self._sources is None:
            raise ToolError("the service is stopping")

        return self._sources

    def _wait(self, cancellation: Cancellation, observer: CallObserver | None) -> None:
        start_s = time.monotonic()
        reported_s = 0.0

        # Waits in short steps to notice a cancellation meanwhile.
        while not self._finished.wait(_STEP_S):
            cancellation.check()
            waited_s = time.monotonic() - start_s
            if cancellation.expired or waited_s >= self._wait_s:
                raise ToolError("still looking for repositories in the served directories; retry in a moment")
            if observer is not None and waited_s - reported_s >= _REPORT_S:
                # Loaded late: a service imports this module before its first answer.
                from sourcelight.core.batches.results import ToolProgress

                reported_s = waited_s
                observer(ToolProgress("opening repositories"))

    def close(self) -> None:
        """Close the engine; an engine that opens later is closed at once."""
        with self._guard:
            self._is_closed = True
            self._closers.close()

    def _open(self) -> None:
        try:
            with ExitStack() as closers:
                sources = self._open_sources(closers)
                with self._guard:
                    # After `close`, the stack stays here, so that leaving this block closes the new engine.
                    if not self._is_closed:
                        self._sources, self._closers = sources, closers.pop_all()
        except Exception as exc:  # noqa: BLE001 - raised in the thread of each call that waits
            self._failure = exc
        finally:
            self._finished.set()
