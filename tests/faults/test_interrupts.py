"""Interrupts in the phases that no other test presses them in: connecting, and building the frame."""

from __future__ import annotations

import signal
import sys
import threading
import time

import pytest

import sourcelight as sl
from sourcelight.testing.scripted_service import SILENCE, ScriptedReply, ScriptedService

POSIX = pytest.mark.skipif(sys.platform == "win32", reason="signals to a thread are POSIX")


def press_when(ready: threading.Event) -> threading.Thread:
    """Interrupt the calling thread once `ready` is set."""
    main = threading.get_ident()

    def press() -> None:
        if ready.wait(10):
            signal.pthread_kill(main, signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    return thread


@POSIX
def test_an_interrupt_while_connecting_is_short_and_the_client_lives() -> None:
    done = (
        b'event: progress\ndata: {"done":true,"matchCount":0,"durationMs":1,"skipped":[]}\n\nevent: done\ndata: {}\n\n'
    )
    silent, spoken = ScriptedReply([SILENCE], status=0), ScriptedReply([done])
    with ScriptedService(silent, spoken) as service, sl.connect(service.url, retries=0) as client:
        event = threading.Event()

        def watch() -> None:
            bound = time.monotonic() + 10
            while not service.received and time.monotonic() < bound:
                threading.Event().wait(0.01)
            event.set()

        watcher = threading.Thread(target=watch)
        watcher.start()
        presser = press_when(event)
        with pytest.raises(KeyboardInterrupt):
            client.search("foo")
        watcher.join(10)
        presser.join(10)
        assert client.last is not None
        assert client.last.status == "interrupted"
        assert service.hung_up.wait(5)
        assert client.search("foo").status == "complete"


@POSIX
def test_an_interrupt_while_the_frame_is_built_loses_nothing(embedded: sl.Client) -> None:
    result = embedded.search("needle count:all")
    rows = len(result)
    begun = threading.Event()

    def build_for_ever() -> None:
        begun.set()
        while True:
            # The frame is kept once built; forgetting it makes the moment of the interrupt fall into the building.
            vars(result).pop("matches", None)
            vars(result).pop("arrow", None)
            assert len(result.matches) == rows

    presser = press_when(begun)
    with pytest.raises(KeyboardInterrupt):
        build_for_ever()
    presser.join(10)
    assert (len(result.matches), result.status) == (rows, "complete")
