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
    """Return the current route of requests: the running recording or replay, or services alone."""
    # Read once, without the lock: another thread may stop it between a check and its use.
    recording = _running
    return LIVE if recording is None else recording.deck


@checks_arguments
def record(path: str | os.PathLike[str], *, append: bool = False, replace: bool = False) -> Recording:
    """Record everything that services send from now on; a later `replay` needs no service.

    The file has each request, and each answer as it arrived: the blocks of a stream, tool calls with their progress,
    polls of deep search, errors. It has no headers, and credentials that an answer repeats are masked. It does contain
    the answers, with what they reveal of your code. Searches in this process are not recorded.

    Parameters
    ----------
    path
        The file. It grows with every answer, so that a replay works even if this process is killed.
    append
        Continue an existing recording.
    replace
        Replace the file when recording stops; until then the new one is ``NAME.new``.

    Returns
    -------
    Recording
        For ``with``, or to `stop` by hand.

    Raises
    ------
    RecordingInvalid
        If the file exists and neither `append` nor `replace` is set, or if it can't be written.
    RecordingError
        If another recording or a replay is running.
    """
    _check_free("record")
    recording = _start(Recording(Recorder(path, append=append, replace=replace)))
    # With `replace=True`, the new file takes its final name only when it is closed.
    atexit.register(recording.deck.close)
    return recording


def _check_free(mode: str) -> None:
    if _running is not None and (mode == "record" or isinstance(_running.deck, Recorder)):
        raise RecordingError(f"{_running!r} is running; stop() it first")


def _start(recording: Recording) -> Recording:
    global _running  # noqa: PLW0603 - one per process
    with _lock:
        _running = recording
    return recording


@checks_arguments
def replay(path: str | os.PathLike[str], *, speed: float | None = None) -> Recording:
    """Answer from a recording instead of services from now on; this sends nothing and needs no credential.

    `connect` needs no address if the recording is of one service, and signs no one in. The n-th request of a kind gets
    the n-th recorded answer; later ones get the last.

    Parameters
    ----------
    path
        A file that `record` wrote.
    speed
        1: answers take as long as recorded; 2: half as long. None: no delay.

    Returns
    -------
    Recording
        For ``with``, or to `stop` by hand.

    Raises
    ------
    RecordingInvalid
        If the file is no recording, is damaged, or is of a newer version.
    RecordingError
        While a recording runs. A running replay is replaced.
    """
    _check_free("replay")
    if speed is not None and not speed > 0:
        raise ValueError(f"speed must be a positive number, or None to replay without delays; got {speed}")
    return _start(Recording(Player(path, speed=speed)))


def replayed_endpoint() -> str | None:
    """Return the service of the running replay, or None without a replay, or if it has several services."""
    deck = None if _running is None else _running.deck
    if isinstance(deck, Player) and len(deck.endpoints) == 1:
        return deck.endpoints[0]
    return None


def replaying() -> bool:
    """Return whether a replay is active, which needs no sign-in."""
    return _running is not None and isinstance(_running.deck, Player)
