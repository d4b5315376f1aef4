"""Work that takes a while, in a thread of its own, while its caller goes on telling how far it is."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from sourcelight.core.batches import Cancellation


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
