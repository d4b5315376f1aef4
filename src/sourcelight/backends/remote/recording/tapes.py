"""The recording or replay that runs in this process, at most one."""

from __future__ import annotations

import atexit
import os
import threading
from types import TracebackType
from typing import Self

from sourcelight.backends.remote.recording.player import Player
from sourcelight.backends.remote.recording.recorder import Recorder
from sourcelight.backends.remote.recording.routes import LIVE, Route
from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import RecordingError
from sourcelight.core.markup.counts import count_of

_lock = threading.Lock()
_running: Recording | None = None


class Recording:
    """A running recording or replay, from `sourcelight.record` or `sourcelight.replay`.

    It runs until `stop` or the end of its ``with`` block.
    """

    def __init__(self, deck: Recorder | Player) -> None:
        self.deck = deck

    @property
    def path(self) -> str:
        """Path of the file."""
        return str(self.deck.path)

    @property
    def requests(self) -> tuple[str, ...]:
        """The recorded requests as text, in order."""
        return tuple(self.deck.requests)

    @property
    def running(self) -> bool:
        """Whether it is running."""
        return _running is self

    def stop(self) -> None:
        """Stop it; later requests go to the services."""
        global _running  # noqa: PLW0603 - one per process
        with _lock:
            if _running is self:
                _running = None
        self.deck.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def __repr__(self) -> str:
        mode = "recording to" if isinstance(self.deck, Recorder) else "replay of"
        count = len(self.deck.requests)
        over = "" if self.running else ", stopped"
        return f"<{mode} {self.path}: {count_of(count, 'request')}{over}>"


def route() -> Route:
    """Return who answers a request of this moment: the running recording or replay, or services alone."""
    # Read once, without the lock: another thread may stop it between a check and its use.
    recording = _running
    return LIVE if recording is None else recording.deck


def _start(recording: Recording) -> Recording:
    global _running  # noqa: PLW0603 - one per process
    with _lock:
        _running = recording
    return recording


def _free(mode: str) -> None:
    if _running is not None and (mode == "record" or isinstance(_running.deck, Recorder)):
        raise RecordingError(f"{_running!r} is running; stop() it first")


@checks_arguments
def record(path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> Recording:
    """Record everything that services send from now on; a later `replay` needs no service.

    Kept are requests as they were asked and answers as they came: streams in their portions, tool calls with their
    progress, readings of deep search, faults. No header is kept, and credentials that an answer repeats are blotted
    out; what the answers say about your code is in the file. What this process searches itself is not recorded.

    Parameters
    ----------
    path
        The file; it grows with every answer, and what a kill leaves can be replayed.
    append
        Go on with a recording that is there.
    replace
        Replace the file when recording stops; until then the new one is ``NAME.new``.

    Returns
    -------
    Recording
        For ``with``, or to `stop` by hand.

    Raises
    ------
    RecordingInvalid
        When there is a file already and neither is asked for, or it can't be written.
    RecordingError
        When another tape runs.
    """
    _free("record")
    recording = _start(Recording(Recorder(path, append=append, replace=replace)))
    # With `replace=True`, the new file takes its final name only when it is closed.
    atexit.register(recording.deck.close)
    return recording


@checks_arguments
def replay(path: str | os.PathLike[str], *, speed: float | None = None) -> Recording:
    """Answer from a recording instead of services from now on; this sends nothing and needs no credential.

    `connect` needs no address where the recording is of one service, and signs no one in. The n-th time that something
    is asked, it is answered as it was the n-th time; from then on, as the last time.

    Parameters
    ----------
    path
        What `record` wrote.
    speed
        1: answers take the time that they took; 2: half of it. None: no time at all.

    Returns
    -------
    Recording
        For ``with``, or to `stop` by hand.

    Raises
    ------
    RecordingInvalid
        For what is no recording, a damaged one, or one of a newer version.
    RecordingError
        While something is recorded. A replay that runs is replaced.
    """
    _free("replay")
    if speed is not None and not speed > 0:
        raise ValueError(f"speed must be a positive number, or None to replay without delays; got {speed}")
    return _start(Recording(Player(path, speed=speed)))


def replayed_endpoint() -> str | None:
    """The service that a running replay is of, where that is one."""
    deck = None if _running is None else _running.deck
    return deck.endpoints[0] if isinstance(deck, Player) and len(deck.endpoints) == 1 else None


def replaying() -> bool:
    """Whether a replay is active, which needs no sign-in."""
    return _running is not None and isinstance(_running.deck, Player)
